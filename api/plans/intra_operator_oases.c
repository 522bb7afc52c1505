#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/intra_operator.h"
#include "api/plans/schema.h"
#include "planner/intra/oases.h"

/* Method `oases`: measured times of half-layers in, the tensor degree of each out. */

#define ROWS_MAX 4096

static const char *const time_members[] = {"attention_forward", "attention_backward", "mlp_forward",
                                           "mlp_backward",      "communication",      NULL};
enum { ATTENTION_FORWARD, ATTENTION_BACKWARD, MLP_FORWARD, MLP_BACKWARD, COMMUNICATION, TIMES };

/* One measurement: a degree at a local batch. */
struct row {
	int64_t degree, batch;
	double times[TIMES], runtime;
};

struct oases_input {
	struct oases_problem problem;
	int64_t hidden, sequence, devices, sequences;
	struct row *rows;
	size_t count;
	struct oases_degree degrees[OASES_DEGREES_MAX];
	struct oases_graph graph;
};

static void input_clear(struct oases_input *in)
{
	free(in->rows);
	oases_graph_free(&in->graph);
}

static int read_row(const json_t *o, const struct place *at, struct row *r, struct sb_error *err)
{
	static const char *const members[] = {
	    "tp",          "batch",        "attention_forward", "attention_backward",
	    "mlp_forward", "mlp_backward", "communication",     "runtime_bytes",
	    NULL};
	int rc = parse_members(o, at, members, err);

	if (rc == SB_OK)
		rc = parse_integer(o, at, "tp", REQUIRED, 1, (int64_t)1 << 20, &r->degree, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "batch", REQUIRED, 1, (int64_t)1 << 30, &r->batch, err);
	for (int i = 0; rc == SB_OK && i < TIMES; i++)
		rc = parse_number(o, at, time_members[i], REQUIRED, 0, INTRA_SECONDS_MAX, &r->times[i], err);
	return rc == SB_OK
	           ? parse_number(o, at, "runtime_bytes", OPTIONAL, 0, INTRA_BYTES_MAX, &r->runtime, err)
	           : rc;
}

static int read_rows(const json_t *request, struct oases_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/measured");
	const json_t *list = json_object_get(request, "measured");
	int rc = SB_OK;

	if (!list)
		return parse_missing(err, request, &root, "measured");
	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &root, "measured", "must be a list");
	if (json_array_size(list) < 1 || json_array_size(list) > ROWS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "measured",
		                  "must hold 1 to 4096 measurements");
	in->count = json_array_size(list);
	in->rows = calloc(in->count, sizeof(*in->rows));
	if (!in->rows)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < in->count; i++) {
		struct place at = place_index(&here, i);

		rc = read_row(json_array_get(list, i), &at, &in->rows[i], err);
	}
	return rc;
}

static const struct row *row_of(const struct oases_input *in, int64_t degree, int64_t batch)
{
	for (size_t i = 0; i < in->count; i++)
		if (in->rows[i].degree == degree && in->rows[i].batch == batch)
			return &in->rows[i];
	return NULL;
}

/* A degree counts when each half of its local batch holds a sequence, and both batches were measured. */
static void choose_degrees(struct oases_input *in)
{
	struct oases_problem *p = &in->problem;

	p->degrees = in->degrees;
	p->published = true;
	for (int64_t t = 1; t <= in->devices && p->degree_count < OASES_DEGREES_MAX; t *= 2) {
		int64_t local = in->sequences * t / in->devices;
		const struct row *whole, *half;

		if (in->devices % t != 0 || in->sequences * t % in->devices != 0 || local < 2 ||
		    local % 2 != 0)
			continue;
		whole = row_of(in, t, local);
		half = row_of(in, t, local / 2);
		if (!whole || !half)
			continue;
		in->degrees[p->degree_count] = (struct oases_degree){
		    .degree = t,
		    .sequences = local,
		    .forward = {half->times[ATTENTION_FORWARD], half->times[MLP_FORWARD]},
		    .backward = {half->times[ATTENTION_BACKWARD], half->times[MLP_BACKWARD]},
		    .communication = half->times[COMMUNICATION],
		    .runtime_bytes = whole->runtime};
		oases_published_bytes(in->hidden, in->sequence, &in->degrees[p->degree_count++]);
	}
}

static int read_input(const json_t *request, struct oases_input *in, struct intra_case *c,
                      struct sb_error *err)
{
	static const char *const members[] = {"kind",         "method",       "hidden",   "layers",
	                                      "devices",      "batch",        "sequence", "schedule",
	                                      "memory_bytes", "memory_error", "measured", NULL};
	struct place root = place_of("");
	int schedule = OASES_FULL, rc = parse_members(request, &root, members, err);

	in->sequence = 1024; /* of the published profile */
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "hidden", REQUIRED, 1, 1 << 20, &in->hidden, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "layers", REQUIRED, 1, OASES_LAYERS_MAX,
		                   &in->problem.layers, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "devices", REQUIRED, 1, 1 << 20, &in->devices, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "batch", REQUIRED, 1, 1 << 30, &in->sequences, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "sequence", OPTIONAL, 1, 1 << 24, &in->sequence, err);
	if (rc == SB_OK)
		rc = parse_word(request, &root, "schedule", OPTIONAL, oases_schedule_words, &schedule, err);
	in->problem.schedule = (enum oases_schedule)schedule;
	if (rc == SB_OK)
		rc = intra_memory_from_json(request, c, err);
	if (rc == SB_OK)
		rc = read_rows(request, in, err);
	if (rc != SB_OK)
		return rc;
	choose_degrees(in);
	if (in->problem.degree_count == 0)
		return parse_fail(
		    err, SB_EIMPOSSIBLE, "no_degree", &root, "measured",
		    "holds no degree at its whole local batch (batch x tp / devices, even) and at "
		    "half of it");
	return SB_OK;
}

/* {degrees: [{nodes, tp}]}: runs of half-layers, attention and MLP in turn, of equal degree. */
static json_t *solution_of(const struct intra_case *c, const uint16_t *options)
{
	const struct oases_input *in = c->self;
	json_t *runs = json_array();
	int64_t n = c->graph->node_count, from = 0;

	for (int64_t i = 1; i <= n; i++) {
		if (i < n && options[i] == options[from])
			continue;
		json_array_append_new(runs, json_pack("{s:I,s:I}", "nodes", (json_int_t)(i - from), "tp",
		                                      (json_int_t)in->degrees[options[from]].degree));
		from = i;
	}
	return json_pack("{s:o,s:s}", "degrees", runs, "schedule",
	                 oases_schedule_words[in->problem.schedule]);
}

/* What simpler plans lose: one cut between two degrees, and one degree. */
static int add_others(const struct oases_input *in, const struct intra_case *c, json_t *answer,
                      uint16_t *options)
{
	static const char one[] = "one degree for all layers";
	const struct oases_problem *p = &in->problem;
	double best = intra_objective(c, options);
	int64_t n = c->graph->node_count;
	struct oases_cut cut;
	int rc = oases_best_cut(&in->graph, c->memory, &cut);

	if (rc == SB_ENOMEM)
		return rc;
	if (rc == SB_OK) {
		for (int64_t i = 0; i < n; i++)
			options[i] = (uint16_t)(i < 2 * cut.cut ? cut.first : cut.second);
		intra_alternative(c, answer, best, options,
		                  "the best with two degrees and one cut between layers, which the published "
		                  "run time can run");
	}
	for (int64_t k = 0; k < p->degree_count; k++) {
		double memory, time;

		for (int64_t i = 0; i < n; i++)
			options[i] = (uint16_t)k;
		option_graph_sum(c->graph, options, &memory, &time);
		if (memory <= c->memory)
			intra_alternative(c, answer, best, options, one);
		else
			json_array_append_new(json_object_get(answer, "rejected"),
			                      json_pack("{s:s,s:i,s:o}", "reason",
			                                "needs more memory than a device may use", "count", 1,
			                                "example", solution_of(c, options)));
	}
	return SB_OK;
}

int intra_oases(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                struct sb_error *err)
{
	__attribute__((cleanup(input_clear))) struct oases_input in = {0};
	struct intra_case c = {.sized = true, .solution = solution_of, .self = &in, .watch = watch};
	double start = plan_clock();
	uint16_t *options = NULL;
	int rc = read_input(request, &in, &c, err);

	if (rc != SB_OK)
		return rc;
	rc = oases_graph_open(&in.problem, &in.graph);
	if (rc != SB_OK)
		return sb_no_memory(err);
	c.graph = &in.graph.graph;
	rc = intra_answer(&c, start, out, out_extra, &options, err);
	if (rc == SB_OK && add_others(&in, &c, *out, options) != SB_OK)
		rc = sb_no_memory(err);
	free(options);
	return rc;
}

json_t *intra_oases_members(void)
{
	static const char *const needs[] = {
	    "tp",          "batch",        "attention_forward", "attention_backward",
	    "mlp_forward", "mlp_backward", "communication",     NULL};
	json_t *row = json_object(), *p = json_object();

	json_object_set_new(row, "tp", schema_integer(1, 1 << 20));
	json_object_set_new(row, "batch", schema_integer(1, 1 << 30));
	for (int i = 0; i < TIMES; i++)
		json_object_set_new(row, time_members[i], schema_number(0, INTRA_SECONDS_MAX, NULL));
	json_object_set_new(row, "runtime_bytes", schema_number(0, INTRA_BYTES_MAX, NULL));
	json_object_set_new(p, "hidden", schema_integer(1, 1 << 20));
	json_object_set_new(p, "layers", schema_integer(1, OASES_LAYERS_MAX));
	json_object_set_new(p, "devices", schema_integer(1, 1 << 20));
	json_object_set_new(p, "batch", schema_integer(1, 1 << 30));
	json_object_set_new(p, "sequence", schema_integer(1, 1 << 24));
	json_object_set_new(p, "schedule", schema_words(oases_schedule_words));
	json_object_set_new(
	    p, "measured",
	    schema_list(ROWS_MAX, schema_object(row, needs),
	                "oases: seconds of an attention block, an MLP block and a collective of one "
	                "of them, each tensor degree at several local batches; what does not "
	                "fit is left out"));
	return p;
}
