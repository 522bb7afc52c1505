/* oracles/strategy: the Pareto sets of vectors.json, and the intra-operator problems that Alpa's integer
 * program was given (alpa_intraop_ilp.json), drawn again from their seed. */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "planner/frontier/option_graph.h"

#define NODES_MAX 160
#define EDGES_MAX 256
#define OPTIONS 12

struct drawn {
	struct option_graph g;
	struct option_node nodes[NODES_MAX];
	struct option_edge edges[EDGES_MAX];
	double time[NODES_MAX][OPTIONS], memory[NODES_MAX][OPTIONS], edge_time[EDGES_MAX][OPTIONS * OPTIONS];
};

static double number_at(const json_t *list, size_t i)
{
	return json_number_value(json_array_get(list, i));
}

/* nodes: [[[memory, time] per option] per node]; matrices: one for each edge. */
static void read_graph(const json_t *o, struct drawn *d)
{
	const json_t *nodes = json_object_get(o, "node_mem_time"),
	             *matrices = json_object_get(o, "edge_time");
	const json_t *edges = json_object_get(o, "edges");

	*d = (struct drawn){.g = {.nodes = d->nodes, .edges = d->edges}};
	d->g.node_count = (int64_t)json_array_size(nodes);
	d->g.edge_count = (int64_t)json_array_size(matrices);
	assert_true(d->g.node_count <= NODES_MAX && d->g.edge_count <= EDGES_MAX && d->g.edge_count > 0);
	for (size_t n = 0; n < (size_t)d->g.node_count; n++) {
		const json_t *options = json_array_get(nodes, n);

		d->nodes[n] =
		    (struct option_node){(int64_t)json_array_size(options), d->time[n], d->memory[n]};
		for (size_t k = 0; k < json_array_size(options); k++) {
			d->memory[n][k] = number_at(json_array_get(options, k), 0);
			d->time[n][k] = number_at(json_array_get(options, k), 1);
		}
	}
	for (size_t e = 0; e < (size_t)d->g.edge_count; e++) {
		const json_t *ends = json_array_get(edges, e), *rows = json_array_get(matrices, e);
		int64_t from = edges ? (int64_t)number_at(ends, 0) : (int64_t)e;
		int64_t to = edges ? (int64_t)number_at(ends, 1) : (int64_t)e + 1;
		size_t columns = (size_t)d->nodes[to].options;

		d->edges[e] = (struct option_edge){from, to, d->edge_time[e], NULL};
		for (size_t i = 0; i < columns * (size_t)d->nodes[from].options; i++)
			d->edge_time[e][i] = number_at(json_array_get(rows, i / columns), i % columns);
	}
}

static void check_case(const json_t *o, struct drawn *d)
{
	const json_t *expected = json_object_get(o, "frontier_mem_time"),
	             *cap = json_object_get(o, "memory_cap");
	OPTION_FRONT_AUTO f = {0};

	read_graph(o, d);
	assert_int_equal(option_graph_solve(&d->g, OPTION_WORK, &f), SB_OK);
	assert_true(f.whole);
	assert_int_equal(f.count, json_array_size(expected));
	for (size_t i = 0; i < f.count; i++) {
		assert_true(f.points[i].memory == number_at(json_array_get(expected, i), 0));
		assert_true(f.points[i].time == number_at(json_array_get(expected, i), 1));
	}
	if (!cap)
		return;
	assert_true(f.points[option_front_within(&f, json_number_value(cap))].time ==
	            json_number_value(json_object_get(o, "min_time_under_cap")));
	assert_true(f.points[f.count - 1].time == json_number_value(json_object_get(o, "min_time_uncapped")));
}

static void test_vectors(void **state)
{
	json_t *v = load("oracles/strategy/vectors.json");
	static const char *const groups[] = {"frontier_chain", "frontier_dag"};
	struct drawn *d = calloc(1, sizeof(*d));

	(void)state;
	for (int k = 0; k < 2; k++) {
		const json_t *cases = json_object_get(json_object_get(v, groups[k]), "cases");

		assert_int_equal(json_array_size(cases), 15);
		for (size_t i = 0; i < json_array_size(cases); i++)
			check_case(json_array_get(cases, i), d);
	}
	free(d);
	json_decref(v);
}

/* numpy's default_rng(0): PCG64 (XSL-RR 128/64, O'Neill 2014) in the state that its seed sequence gives 0. */
__extension__ typedef unsigned __int128 wide;
struct pcg {
	wide state, inc;
};
#define WIDE(high, low) ((wide)(high) << 64 | (low))

static struct pcg default_rng(void)
{
	return (struct pcg){WIDE(0x1aa1b5345996452du, 0x09585eb7a69561e3u),
	                    WIDE(0x418ddadb3af71a82u, 0x588133bc447873a9u)};
}

static double uniform(struct pcg *p, double low, double high)
{
	uint64_t folded;
	unsigned turn;

	p->state = p->state * WIDE(2549297995355413924u, 4865540595714422341u) + p->inc;
	folded = (uint64_t)(p->state >> 64) ^ (uint64_t)p->state;
	turn = (unsigned)(p->state >> 122);
	folded = folded >> turn | folded << (-turn & 63);
	return low + (high - low) * ((double)(folded >> 11) * 0x1p-53);
}

/* Costs c and d of all nodes, as many numbers that the problem has no use for (memory), then a matrix for
 * each edge with zeros on its diagonal; a chain in which every fourth node also leads to the fourth after it.
 */
static void draw_problem(int64_t nodes, int64_t options, struct drawn *d)
{
	struct pcg p = default_rng();

	*d = (struct drawn){.g = {.nodes = d->nodes, .edges = d->edges, .node_count = nodes}};
	for (int turn = 0; turn < 3; turn++)
		for (int64_t n = 0; n < nodes; n++)
			for (int64_t o = 0; o < options; o++)
				d->time[n][o] += (turn < 2 ? 1 : 0) * uniform(&p, 0, 1);
	for (int64_t n = 0; n < nodes; n++) {
		d->nodes[n] = (struct option_node){options, d->time[n], NULL};
		for (int64_t to = n + 1; to < nodes; to += 3) {
			double *matrix = d->edge_time[d->g.edge_count];

			if (to > n + 1 && (to > n + 4 || n % 4 != 0))
				break;
			d->edges[d->g.edge_count++] = (struct option_edge){n, to, matrix, NULL};
			for (int64_t i = 0; i < options * options; i++)
				matrix[i] = uniform(&p, 0.2, 2) * (i % (options + 1) != 0);
		}
	}
}

static void test_alpa_problems(void **state)
{
	json_t *v = load("oracles/strategy/alpa_intraop_ilp.json");
	const json_t *runs = json_object_get(v, "runs");
	struct drawn *d = calloc(1, sizeof(*d));

	(void)state;
	assert_int_equal(json_array_size(runs), 5);
	for (size_t i = 0; i < json_array_size(runs); i++) {
		const json_t *run = json_array_get(runs, i);
		double objective = json_number_value(json_object_get(run, "objective"));
		OPTION_FRONT_AUTO f = {0};

		draw_problem(integer(run, "nodes", 0), integer(run, "strategies", 0), d);
		assert_int_equal(d->g.edge_count, integer(run, "edges", 0));
		assert_int_equal(option_graph_solve(&d->g, OPTION_WORK, &f), SB_OK);
		/* the same problem: exactly the optimum that the integer program was proved to reach */
		assert_true(f.whole && f.count == 1);
		assert_true(fabs(f.points[0].time - objective) <= 1e-9 * objective);
	}
	free(d);
	json_decref(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors),
	                                   cmocka_unit_test(test_alpa_problems)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
