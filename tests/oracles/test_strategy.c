/* The planner against measured runs, from $SIGNALBOX_SHARED. Prints the errors of every set; the bounds
 * asserted are those that the project promises. */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "api/plans/parse.h"
#include "api/plans/plans.h"

#define ROWS_MAX 256
#define FAMILIES_MAX 8

static json_t *model_of(const json_t *m)
{
	json_int_t hidden = integer(m, "hidden", 0);

	return json_pack("{s:I,s:I,s:I,s:I,s:b,s:I,s:I}", "layers", integer(m, "layers", 0), "hidden", hidden,
	                 "heads", integer(m, "heads", 0), "ffn_hidden", integer(m, "ffn", 4 * hidden),
	                 "gated_ffn", 0, "vocab", integer(m, "vocab", 51200), "seq_len",
	                 integer(m, "seq", 2048));
}

static json_t *cluster_of(const char *device, json_int_t devices, double network)
{
	double node = strcmp(device, "h100-80g") == 0 ? 450e9 : 300e9;

	return json_pack("{s:I,s:i,s:s,s:[{s:s,s:f},{s:s,s:f}]}", "nodes", (devices + 7) / 8,
	                 "devices_per_node", 8, "device", device, "links", "scope", "node",
	                 "bytes_per_second", node, "scope", "cluster", "bytes_per_second", network);
}

static json_t *solve(json_t *request)
{
	struct sb_error err = {0};
	json_t *answer = NULL;

	if (plan_solve(NULL, request, &answer, NULL, &err) != SB_OK)
		fail_msg("%s at %s", err.text, err.field);
	json_decref(request);
	return answer;
}

static double step_of(const json_t *answer)
{
	return json_number_value(json_object_get(json_object_get(answer, "predicted"), "step_seconds"));
}

static double estimate(const json_t *model, json_t *cluster, json_int_t sequences, json_t *strategy)
{
	json_t *answer = solve(json_pack("{s:s,s:o,s:o,s:{s:I},s:o}", "kind", "estimate", "model",
	                                 model_of(model), "cluster", cluster, "batch", "global_sequences",
	                                 sequences, "strategy", strategy));
	double seconds = step_of(answer);

	json_decref(answer);
	return seconds;
}

static json_t *strategy_of(const json_t *plan, const char *recompute, int sequence_parallel, int zero)
{
	const char *given = json_string_value(json_object_get(plan, "recompute"));
	const json_t *sp = json_object_get(plan, "sequence_parallel");

	return json_pack("{s:I,s:I,s:I,s:I,s:I,s:s,s:b,s:I}", "dp", integer(plan, "dp", 1), "tp",
	                 integer(plan, "tp", 1), "pp", integer(plan, "pp", 1), "vpp", integer(plan, "vpp", 1),
	                 "micro_batch", integer(plan, "micro_batch", 1), "recompute",
	                 given ? given : recompute, "sequence_parallel",
	                 sp ? json_is_true(sp) : sequence_parallel, "zero", integer(plan, "zero", zero));
}

struct errors {
	double relative[ROWS_MAX]; /* predicted / measured - 1 */
	int count;
};

/* The rows of all four sets that the promise of the whole is about, the anomalies of vTrain included. */
static struct errors promised;

static void note(struct errors *e, const char *id, double predicted, double measured)
{
	assert_true(e->count < ROWS_MAX);
	e->relative[e->count++] = predicted / measured - 1;
	print_message("  %-48s predicted %8.3f s, measured %8.3f s, %+6.1f %%\n", id, predicted, measured,
	              100 * (predicted / measured - 1));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void promise(const struct errors *e)
{
	for (int i = 0; i < e->count; i++) {
		assert_true(promised.count < ROWS_MAX);
		promised.relative[promised.count++] = e->relative[i];
	}
}

/* Mean, median and worst absolute relative error. */
struct summary {
	double mean, median, worst;
};

static struct summary summary(const char *set, const struct errors *e)
{
	double sorted[ROWS_MAX] = {0}, mean = 0, bias = 0;

	assert_true(e->count > 0);
	for (int i = 0; i < e->count; i++) {
		sorted[i] = fabs(e->relative[i]);
		mean += sorted[i] / e->count;
		bias += e->relative[i] / e->count;
	}
	qsort(sorted, (size_t)e->count, sizeof(sorted[0]), by_value);
	print_message("%s: %d rows, mean %.1f %%, median %.1f %%, bias %+.1f %%, worst %.1f %%\n", set,
	              e->count, 100 * mean, 100 * sorted[e->count / 2], 100 * bias,
	              100 * sorted[e->count - 1]);
	return (struct summary){mean, sorted[e->count / 2], sorted[e->count - 1]};
}

/* Predicts the rows of a file of runs on A100s that recompute everything. What was measured is the number
 * `member` in the part `group` of a row. */
static void predict_rows(const char *name, const char *group, const char *member, struct errors *e)
{
	JSON_AUTO file = load(name);
	size_t i;
	json_t *row;

	json_array_foreach(json_object_get(file, "rows"), i, row)
	{
		const json_t *plan = json_object_get(row, "plan");
		json_int_t n = integer(json_object_get(row, "cluster"), "devices", 0);

		note(e, json_string_value(json_object_get(row, "id")),
		     estimate(json_object_get(row, "model"), cluster_of("a100-80g", n, 25e9),
		              integer(plan, "global_batch", 0), strategy_of(plan, "full", 0, 0)),
		     json_number_value(json_object_get(json_object_get(row, group), member)));
	}
}

/* Narayanan et al. 2021, table 1: the promise of the project. */
static void test_megatron_sc21(void **state)
{
	struct errors e = {.count = 0};
	struct summary s;

	(void)state;
	predict_rows("validation/megatron_sc21.json", "derived", "iteration_s", &e);
	promise(&e);
	s = summary("megatron_sc21", &e);
	assert_true(s.worst <= 0.10);
	assert_true(s.mean <= 0.055);
}

static void test_korthikanti(void **state)
{
	struct errors e = {.count = 0};

	(void)state;
	predict_rows("validation/korthikanti_time.json", "measured", "iteration_s", &e);
	promise(&e);
	assert_true(summary("korthikanti_time", &e).mean <= 0.03);
}

/* Its Megatron-LM rows; the other rows are different software (parallel blocks, overlapped tensor
 * parallelism) and only printed. */
static void test_megascale(void **state)
{
	JSON_AUTO file = load("validation/megascale.json");
	struct errors e = {.count = 0}, other = {.count = 0};
	size_t i;
	json_t *row;

	(void)state;
	json_array_foreach(json_object_get(file, "rows"), i, row)
	{
		const json_t *plan = json_object_get(row, "plan");
		const char *id = json_string_value(json_object_get(row, "id"));
		json_int_t n = integer(json_object_get(row, "cluster"), "devices", 0);

		note(strstr(id, "megatron-lm") ? &e : &other, id,
		     estimate(json_object_get(row, "model"), cluster_of("a100-80g", n, 25e9),
		              integer(plan, "global_batch", 0), strategy_of(plan, "selective", 1, 1)),
		     json_number_value(json_object_get(json_object_get(row, "measured"), "iteration_s")));
	}
	(void)summary("megascale, its own software (not modelled)", &other);
	promise(&e);
	assert_true(summary("megascale, Megatron-LM", &e).mean <= 0.055);
}

/* The runs of one model on one number of devices. */
struct family {
	json_int_t hidden, layers, devices;
	double predicted[ROWS_MAX], measured[ROWS_MAX];
	int count;
};

static void join(struct family *families, int *count, const json_t *row, double predicted, double measured)
{
	json_int_t hidden = integer(row, "hidden", 0), layers = integer(row, "layers", 0);
	json_int_t devices = integer(row, "devices", 0);
	int f = 0;

	while (f < *count && (families[f].hidden != hidden || families[f].layers != layers ||
	                      families[f].devices != devices))
		f++;
	if (f == *count) {
		assert_true(f < FAMILIES_MAX);
		families[f] = (struct family){.hidden = hidden, .layers = layers, .devices = devices};
		(*count)++;
	}
	families[f].predicted[families[f].count] = predicted;
	families[f].measured[families[f].count++] = measured;
}

/* How many of the n values lie below x: its rank. */
static int below(const double *values, int n, double x)
{
	int rank = 0;

	for (int i = 0; i < n; i++)
		rank += values[i] < x;
	return rank;
}

/* How much longer the chosen plan really took than the best one, and the best among the five that are
 * predicted to be fastest. */
static double regret(const struct family *f)
{
	double best = INFINITY, first = INFINITY, five = INFINITY, ranks = 0;
	int n = f->count;

	for (int i = 0; i < n; i++) {
		int rank = below(f->predicted, n, f->predicted[i]);
		int apart = rank - below(f->measured, n, f->measured[i]);

		best = fmin(best, f->measured[i]);
		if (rank == 0)
			first = fmin(first, f->measured[i]);
		if (rank < 5)
			five = fmin(five, f->measured[i]);
		ranks += (double)apart * apart;
	}
	print_message(
	    "  h %lld on %lld devices, %d plans: Spearman %.2f, regret %.1f %%, best of 5 %.1f %%\n",
	    (long long)f->hidden, (long long)f->devices, n, 1 - 6 * ranks / ((double)n * ((double)n * n - 1)),
	    100 * (first / best - 1), 100 * (five / best - 1));
	return first / best - 1;
}

static void test_vtrain(void **state)
{
	JSON_AUTO file = load("validation/vtrain_multi.json");
	static struct family families[FAMILIES_MAX];
	struct errors e = {.count = 0}, odd = {.count = 0};
	int count = 0;
	size_t i;
	json_t *row;

	(void)state;
	json_array_foreach(json_object_get(file, "rows"), i, row)
	{
		const char *id = json_string_value(json_object_get(row, "id"));
		/* The two anomalies that the file itself names. */
		int known = strstr(id, "t8d8p1_gb512_mb64") ||
		            (integer(row, "hidden", 0) == 8192 && integer(row, "tp", 0) == 2);

		double measured = json_number_value(json_object_get(row, "iteration_ms")) / 1000;
		double predicted = estimate(row, cluster_of("a100-80g", integer(row, "devices", 0), 12.5e9),
		                            integer(row, "global_batch", 0), strategy_of(row, "full", 0, 0));

		note(known ? &odd : &e, id, predicted, measured);
		join(families, &count, row, predicted, measured);
	}
	for (int f = 0; f < count; f++)
		assert_true(regret(&families[f]) <= 0.05);
	(void)summary("vtrain_multi, known anomalies", &odd);
	assert_true(summary("vtrain_multi without them", &e).mean <= 0.05);
	promise(&e);
	promise(&odd);
}

/* The promise of the project: one set of constants for all of them. */
static void test_all_of_them(void **state)
{
	struct summary s = summary("all rows, the known anomalies included", &promised);

	(void)state;
	assert_true(s.mean <= 0.055);
	assert_true(s.median <= 0.03);
}

/* The micro-batch is not published: 1 is assumed, so the errors say little (printed only, a loose bound). */
static void test_megatron_core_h100(void **state)
{
	JSON_AUTO file = load("validation/megatron_core_h100.json");
	struct errors e = {.count = 0};
	size_t i;
	json_t *row;

	(void)state;
	json_array_foreach(json_object_get(file, "rows"), i, row)
	{
		const json_t *plan = json_object_get(row, "plan");
		json_int_t n = integer(json_object_get(row, "cluster"), "devices", 0);
		json_t *s = strategy_of(plan, "none", integer(plan, "tp", 1) > 1, 1);

		json_object_set_new(s, "gradient_dtype", json_string("bf16"));
		note(&e, json_string_value(json_object_get(row, "id")),
		     estimate(json_object_get(row, "model"), cluster_of("h100-80g", n, 50e9),
		              integer(plan, "global_batch", 0), s),
		     json_number_value(json_object_get(json_object_get(row, "derived"), "iteration_s")));
	}
	assert_true(summary("megatron_core_h100", &e).mean <= 0.30);
}

static json_t *search_310b(const json_t *row, json_int_t nodes)
{
	return json_pack("{s:s,s:o,s:o,s:{s:I}}", "kind", "strategy", "model",
	                 model_of(json_object_get(row, "model")), "cluster",
	                 cluster_of("a100-80g", 8 * nodes, 25e9), "batch", "global_sequences",
	                 integer(json_object_get(row, "plan"), "global_batch", 0));
}

static void test_search_310b(void **state)
{
	JSON_AUTO file = load("validation/megatron_sc21.json");
	const json_t *row = NULL, *solution, *plan;
	JSON_AUTO answer = NULL;
	JSON_AUTO request = NULL;
	JSON_AUTO extra = NULL;
	json_t *none = NULL, *more = NULL;
	struct sb_error err;
	double own;
	size_t i;
	json_t *r;

	(void)state;
	json_array_foreach(json_object_get(file, "rows"), i, r)
	{
		if (strcmp(json_string_value(json_object_get(r, "id")), "sc21/310B") == 0)
			row = r;
	}
	assert_non_null(row);
	plan = json_object_get(row, "plan");
	own = estimate(json_object_get(row, "model"), cluster_of("a100-80g", 1920, 25e9),
	               integer(plan, "global_batch", 0), strategy_of(plan, "full", 0, 0));
	answer = solve(search_310b(row, 240));
	solution = json_object_get(answer, "solution");
	print_message("310B on 240 nodes: %.2f s (its own plan %.2f s), tp %lld pp %lld dp %lld\n",
	              step_of(answer), own, (long long)integer(solution, "tp", 0),
	              (long long)integer(solution, "pp", 0), (long long)integer(solution, "dp", 0));
	assert_true(step_of(answer) <= own);
	assert_int_equal(integer(solution, "tp", 0), 8);
	assert_true(integer(json_object_get(answer, "predicted"), "memory_bytes", 0) < 80000000000);
	request = search_310b(row, 1);
	assert_int_equal(plan_solve(NULL, request, &none, &more, &err), SB_EINFEASIBLE);
	extra = more;
	assert_true(integer(extra, "least_memory_bytes", 0) > 80000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_megatron_sc21), cmocka_unit_test(test_korthikanti),
	    cmocka_unit_test(test_megascale),     cmocka_unit_test(test_vtrain),
	    cmocka_unit_test(test_all_of_them),   cmocka_unit_test(test_megatron_core_h100),
	    cmocka_unit_test(test_search_310b),
	};

	return cmocka_run_group_tests_name("strategy", tests, NULL, NULL);
}
