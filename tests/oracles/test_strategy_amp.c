/* oracles/strategy/amp_search.json: AMP's rankings of its three experiments, from its own layer profiles
 * (validation/amp_layer_profiles.json). */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "api/json.h"
#include "planner/methods/amp_places.h"

#define LAYERS_MAX 64
#define STAGES_MAX 16
#define NODES 4
#define GPUS 4
#define HIDDEN 1024.0
#define VOCAB 52256.0

/* TransGAN in AMP's third experiment: an input layer, 12 layers of width 1024 and 12 of a 64th of that,
 * between shapings that AMP leaves out; these are their places in its list of 56. */
#define TRANSGAN_LAYERS 25

struct experiment {
	struct amp_problem p;
	int64_t place[LAYERS_MAX]; /* of each layer in the list that cuts are written in */
	double between[NODES], inside[NODES];
	struct amp_layer layer[LAYERS_MAX];
	double seconds[3][LAYERS_MAX]; /* forward and backward of one sequence at tp 1, 2, 4 */
};

static void seconds_of(const void *self, int64_t tp, int64_t micro_batch, double *out)
{
	const struct experiment *x = self;
	int row = tp == 1 ? 0 : tp == 2 ? 1 : 2;

	for (int64_t l = 0; l < x->p.layers; l++)
		out[l] = (double)micro_batch * x->seconds[row][l];
}

/* Three times the forward; `share` of one profile and the rest of another (AMP's mixed cluster). */
static void add_profile(const json_t *data, const char *name, double share, struct experiment *x)
{
	static const int degrees[] = {1, 2, 4};

	for (int row = 0; row < 3; row++) {
		char full[40];
		const json_t *list, *v;
		size_t l;

		snprintf(full, sizeof(full), "%s_%d", name, degrees[row]);
		list = json_object_get(data, full);
		assert_true(json_array_size(list) > 0 && json_array_size(list) <= LAYERS_MAX);
		x->p.layers = (int64_t)json_array_size(list);
		json_array_foreach(list, l, v) x->seconds[row][l] += 3 * share * json_number_value(v);
	}
}

/* embedding, nothing, 24 layers, nothing, nothing, head, nothing */
static void gpt2(struct experiment *x)
{
	for (int64_t l = 0; l < x->p.layers; l++) {
		bool head = l >= 28;

		x->layer[l] =
		    (struct amp_layer){.sent = head ? 1024 * VOCAB : 1024 * HIDDEN, .sent_split = head};
		if (l == 0 || l == 28)
			x->layer[l].table = HIDDEN * VOCAB;
		else if (l >= 2 && l < 26)
			x->layer[l].parameters = 12 * HIDDEN * HIDDEN;
	}
}

static void set_links(struct experiment *x, double between, double inside)
{
	for (int i = 0; i < NODES; i++) {
		x->between[i] = between * 1e9 / 32;
		x->inside[i] = inside * 1e9 / 32;
	}
}

static void transgan(struct experiment *x)
{
	x->p.layers = TRANSGAN_LAYERS;
	x->p.sequences = 64;
	for (int64_t l = 0; l < TRANSGAN_LAYERS; l++) {
		double width = l <= 12 ? HIDDEN : HIDDEN / 64;

		x->place[l] = l == 0 ? 0 : l <= 12 ? 2 + l : 28 + l;
		x->layer[l] =
		    (struct amp_layer){.parameters = l > 0 ? 12 * width * width : 0, .sent = HIDDEN * 9 * 9};
		for (int row = 0; row < 3; row++)
			x->seconds[row][l] = x->seconds[row][x->place[l]];
	}
}

static void open_experiment(const char *name, const json_t *profiles, struct experiment *x)
{
	const json_t *data = json_object_get(profiles, "data");

	*x = (struct experiment){.p = {.nodes = NODES,
	                               .devices_per_node = GPUS,
	                               .between = x->between,
	                               .inside = x->inside,
	                               .layer = x->layer,
	                               .sequences = 32,
	                               .seconds = seconds_of,
	                               .self = x,
	                               .last_hop = true}};
	for (int64_t l = 0; l < LAYERS_MAX; l++)
		x->place[l] = l;
	if (strcmp(name, "het_model") == 0) {
		add_profile(data, "transgan_P3", 1, x);
		set_links(x, 10, 170);
		transgan(x);
		return;
	}
	if (strcmp(name, "homogeneous") == 0) {
		add_profile(data, "gpt2_G4", 1, x);
		set_links(x, 50, 50);
	} else {
		add_profile(data, "gpt2_P3", 0.75, x);
		add_profile(data, "gpt2_G4", 0.25, x);
		set_links(x, 10, 170);
		x->between[NODES - 1] = x->inside[NODES - 1] = 50e9 / 32;
	}
	gpt2(x);
}

/* Cuts, as places, as counts of layers. */
static void stages_of(const struct experiment *x, const json_t *cuts, int64_t *out)
{
	int64_t next = 0;

	for (size_t j = 0; j + 1 < json_array_size(cuts); j++) {
		out[j] = 0;
		while (next < x->p.layers &&
		       x->place[next] < json_integer_value(json_array_get(cuts, j + 1))) {
			out[j]++;
			next++;
		}
	}
	assert_int_equal(next, x->p.layers);
}

static void the_ranking(const char *name)
{
	JSON_AUTO all = load("oracles/strategy/amp_search.json");
	JSON_AUTO profiles = load("validation/amp_layer_profiles.json");
	const json_t *run = json_object_get(json_object_get(all, "runs"), name), *row;
	static struct experiment x;
	struct amp_candidate *candidates = calloc(AMP_CANDIDATES_MAX, sizeof(*candidates));
	static struct amp_places places;
	double usual = INFINITY, placed = INFINITY;
	int64_t effort = (int64_t)1 << 40;
	size_t i;

	assert_non_null(candidates);
	open_experiment(name, profiles, &x);
	assert_int_equal(amp_candidates(&x.p, candidates), integer(run, "candidates", -1));
	json_array_foreach(json_object_get(run, "ranking"), i, row)
	{
		struct amp_candidate c = {integer(row, "tp", 0), integer(row, "dp", 0), integer(row, "pp", 0),
		                          integer(row, "mbs", 0), 0};
		const json_t *cuts = json_object_get(row, "partition_cuts");
		double want = json_number_value(json_object_get(row, "predicted_s"));
		int64_t stages[STAGES_MAX];
		struct amp_cost theirs, ours, best;
		AMP_WIRES_AUTO w = {0};
		int place;

		c.micro_batches = x.p.sequences / c.dp / c.micro_batch;
		assert_int_equal(json_array_size(cuts), c.pp + 1);
		stages_of(&x, cuts, stages);
		assert_int_equal(amp_wires_of(&x.p, &c, NULL, &w), SB_OK);
		assert_int_equal(amp_cost_of(&x.p, &c, &w, stages, &theirs), SB_OK);
		/* written with four decimals, computed in single precision */
		if (fabs(theirs.seconds - want) > 6e-5 + 1e-6 * want)
			fail_msg("%s, rank %zu: %.6f, and AMP says %.4f", name, i, theirs.seconds, want);
		assert_int_equal(amp_cut(&x.p, &c, &w, &effort, stages, &ours), SB_OK);
		/* one micro-batch is cut evenly, by AMP over the 24 layers that compute */
		assert_true(c.micro_batches == 1 || ours.seconds <= theirs.seconds + 1e-9);
		assert_true(ours.lower_bound <= ours.seconds);
		/* no placement is worse than AMP's default, and which it is has been proved */
		assert_int_equal(amp_places_of(&x.p, &c, true, &places), SB_OK);
		assert_int_equal(amp_place_cut(&x.p, &c, &places, INFINITY, &effort, stages, &best, &place),
		                 SB_OK);
		assert_true(best.seconds <= ours.seconds && best.lower_bound == best.seconds);
		usual = fmin(usual, ours.seconds);
		placed = fmin(placed, best.seconds);
		amp_places_free(&places);
	}
	assert_int_equal(i, integer(run, "candidates", -1));
	print_message("%s: the best takes %.4f s, placed as well as can be %.4f s\n", name, usual, placed);
	free(candidates);
}

/* validation/amp_trials.json: what the candidates took on hardware. AMP's own prediction of each is met
 * again, and how well the cost ranks them is printed: how much longer the trial that it likes best took than
 * the best. */
static void rank_the_trials(const char *name)
{
	JSON_AUTO trials = load("validation/amp_trials.json");
	JSON_AUTO profiles = load("validation/amp_layer_profiles.json");
	static struct experiment x;
	double liked = INFINITY, liked_took = NAN, best = INFINITY;
	const json_t *row;
	size_t i, rows = 0;

	open_experiment(name, profiles, &x);
	json_array_foreach(json_object_get(trials, "rows"), i, row)
	{
		struct amp_candidate c = {integer(row, "tp", 0), integer(row, "dp", 0), integer(row, "pp", 0),
		                          integer(row, "micro_batch", 0), 0};
		double took = json_number_value(json_object_get(row, "measured_s"));
		double want = json_number_value(json_object_get(row, "amp_predicted_s"));
		int64_t stages[STAGES_MAX];
		struct amp_cost cost;
		AMP_WIRES_AUTO w = {0};

		if (strcmp(json_string_value(json_object_get(row, "experiment")), name) != 0)
			continue;
		c.micro_batches = x.p.sequences / c.dp / c.micro_batch;
		stages_of(&x, json_object_get(row, "partition_cuts"), stages);
		assert_int_equal(amp_wires_of(&x.p, &c, NULL, &w), SB_OK);
		assert_int_equal(amp_cost_of(&x.p, &c, &w, stages, &cost), SB_OK);
		assert_true(fabs(cost.seconds - want) <= 6e-5 + 1e-6 * want);
		rows++;
		if (!json_is_number(json_object_get(row, "measured_s")))
			continue;
		best = fmin(best, took);
		if (cost.seconds < liked) {
			liked = cost.seconds;
			liked_took = took;
		}
	}
	assert_true(rows > 0 && best > 0);
	print_message("%s: %zu trials, the one liked best took %.1f%% longer than the best\n", name, rows,
	              100 * (liked_took / best - 1));
}

static void the_trials(void **state)
{
	(void)state;
	rank_the_trials("homogeneous");
	rank_the_trials("het_cluster");
	rank_the_trials("het_model");
}

static void on_equal_nodes(void **state)
{
	(void)state;
	the_ranking("homogeneous");
}

static void on_unequal_nodes(void **state)
{
	(void)state;
	the_ranking("het_cluster");
}

static void of_an_uneven_model(void **state)
{
	(void)state;
	the_ranking("het_model");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(on_equal_nodes),
	    cmocka_unit_test(on_unequal_nodes),
	    cmocka_unit_test(of_an_uneven_model),
	    cmocka_unit_test(the_trials),
	};

	return cmocka_run_group_tests_name("AMP's rankings", tests, NULL, NULL);
}
