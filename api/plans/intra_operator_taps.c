#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/intra_operator_split.h"
#include "api/plans/intra_operator_tables.h"
#include "api/plans/problem.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_json.h"

/* Method `taps`: what each link carries, at the rate of that link. */

/* The links as the request tells them; what software reaches of them only where it says so. */
static struct intra_rates rates_of(const struct cluster *c, enum intra_cost cost)
{
	struct intra_rates r = {.least = INFINITY, .cost = cost};

	for (int i = 0; i < LINK_SCOPES; i++) {
		double share = isnan(c->link_efficiency[i]) ? 1 : c->link_efficiency[i];
		double rate = share * c->links[i].bytes_per_second;

		r.seconds_per_byte[i] = rate > 0 ? 1 / rate : NAN;
		if (rate > 0)
			r.least = fmin(r.least, 1 / rate);
	}
	return r;
}

static json_t *tables_solution(const struct intra_case *c, const uint16_t *options)
{
	return intra_tables_solution(c->self, options);
}

/* Beside the plan that sends least: the one that is fastest on these links, where it is another. */
static int add_fastest(const struct intra_case *c, const uint16_t *least, json_t *answer)
{
	struct option_graph told = *c->told;
	OPTION_FRONT_AUTO f = {0};
	size_t nodes = (size_t)c->graph->node_count;
	uint16_t *options = calloc(nodes, sizeof(*options));
	int64_t fastest;
	int rc;

	told.watch = c->watch;
	rc = options ? option_graph_solve(&told, OPTION_WORK, &f) : SB_ENOMEM;
	fastest = rc == SB_OK ? option_front_within(&f, c->memory) : -1;
	if (fastest >= 0)
		rc = option_front_options(&f, c->graph, (size_t)fastest, options);
	if (fastest >= 0 && rc == SB_OK && memcmp(options, least, nodes * sizeof(*options)) != 0)
		intra_alternative(c, answer, intra_objective(c, least), options,
		                  "the plan that is fastest by topology: it sends more");
	free(options);
	return rc == SB_ENOMEM ? rc : SB_OK;
}

static int read_cluster(const json_t *request, struct cluster *out, bool *out_given, struct sb_error *err)
{
	struct place at = place_of("/cluster");
	const json_t *value = parse_given(request, "cluster");

	*out_given = value != NULL;
	return value ? cluster_from_json(value, &at, out, err) : SB_OK;
}

/* Options as tables. */
static int solve_tables(const json_t *request, struct intra_case *c, const struct cluster *cluster,
                        enum intra_cost cost, double start, json_t **out, json_t **out_extra,
                        struct sb_error *err)
{
	struct intra_rates rates = rates_of(cluster, cost);
	INTRA_TABLES_AUTO t = {0};
	uint16_t *options = NULL;
	int rc = intra_tables_read(request, &rates, &t, err);

	if (rc != SB_OK)
		return rc;
	*c = (struct intra_case){.graph = &t.graph,
	                         .told = cost == INTRA_VOLUME ? &t.told : NULL,
	                         .sized = t.sized,
	                         .memory = c->memory,
	                         .memory_error = c->memory_error,
	                         .solution = tables_solution,
	                         .self = &t,
	                         .watch = c->watch};
	rc = intra_answer(c, start, out, out_extra, &options, err);
	if (rc == SB_OK && c->told && add_fastest(c, options, *out) != SB_OK)
		rc = sb_no_memory(err);
	free(options);
	return rc;
}

static json_t *operators_solution(const struct intra_case *c, const uint16_t *options)
{
	return split_solution(c->self, options);
}

/* Operators with shapes: all ways to split them are options. */
static int solve_operators(const json_t *request, struct intra_case *c, const struct cluster *cluster,
                           enum intra_cost cost, double start, json_t **out, json_t **out_extra,
                           struct sb_error *err)
{
	struct constants constants = constants_for(cluster);
	SPLIT_INPUT_AUTO in = {.mesh = split_mesh_of(cluster, &constants)};
	uint16_t *options = NULL;
	double fastest = 0;
	int rc;

	for (int l = 0; l < in.mesh.cost.network.levels; l++)
		fastest = fmax(fastest, in.mesh.cost.network.bandwidth[l]);
	in.second_per_byte = cost == INTRA_VOLUME ? 1 / fastest : 0;
	rc = split_input_read(request, &in, err);
	if (rc != SB_OK)
		return rc;
	c->graph = &in.graph;
	c->told = cost == INTRA_VOLUME ? &in.told : NULL;
	c->sized = true;
	c->solution = operators_solution;
	c->self = &in;
	rc = intra_answer(c, start, out, out_extra, &options, err);
	if (rc == SB_OK)
		split_predicted(&in, options, json_object_get(*out, "predicted"));
	if (rc == SB_OK && c->told && add_fastest(c, options, *out) != SB_OK)
		rc = sb_no_memory(err);
	free(options);
	return rc;
}

int intra_taps(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
               struct sb_error *err)
{
	static const char *const members[] = {"kind",     "method",        "cluster",      "cost",
	                                      "nodes",    "edges",         "memory_bytes", "memory_error",
	                                      "training", "element_bytes", "operators",    NULL};
	struct place root = place_of("");
	struct intra_case c = {.watch = watch};
	struct cluster cluster = {0};
	bool given = false, operators = parse_given(request, "operators") != NULL;
	double start = plan_clock();
	int cost = INTRA_TOPOLOGY, rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = parse_word(request, &root, "cost", OPTIONAL, intra_cost_words, &cost, err);
	if (rc == SB_OK)
		rc = intra_memory_from_json(request, &c, err);
	if (rc == SB_OK)
		rc = read_cluster(request, &cluster, &given, err);
	if (rc == SB_OK && operators && parse_given(request, "nodes"))
		rc = parse_fail(err, SB_EINVAL, "unknown_member", &root, "nodes",
		                "cannot be given beside operators");
	if (rc == SB_OK && operators && !given)
		rc = parse_missing(err, request, &root, "cluster");
	if (rc != SB_OK)
		return rc;
	return operators
	           ? solve_operators(request, &c, &cluster, (enum intra_cost)cost, start, out, out_extra, err)
	           : solve_tables(request, &c, &cluster, (enum intra_cost)cost, start, out, out_extra, err);
}

json_t *intra_taps_members(void)
{
	json_t *p = json_object();

	json_object_set_new(p, "cluster",
	                    json_pack("{s:[o,{s:s}]}", "anyOf", cluster_schema(), "type", "string"));
	json_object_set_new(p, "cost", schema_words(intra_cost_words));
	intra_tables_members(p);
	split_members(p);
	return p;
}
