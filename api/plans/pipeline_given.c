#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/pipeline.h"
#include "planner/export/pipeline.h"

/* A plan that the request brings along, to be scored: the cut as this service writes it, as MindFormers is
 * told it, or as Megatron is. All of them come down to layers of each stage by what they recompute. */
struct given {
	const struct pipeline_problem *p;
	int64_t chunks;        /* of layers that a device shows */
	int64_t *layers;       /* [stage] */
	int64_t *by_recompute; /* [stage * PIPELINE_RECOMPUTES + recompute] */
};

static int wrong_shape(const struct place *at, struct sb_error *err)
{
	return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, NULL,
	                  "must be [[one a stage], ... one a chunk of interleave]");
}

static int read_row(const json_t *row, const struct place *at, int64_t chunk, int64_t low,
                    const struct given *g, int64_t *out, struct sb_error *err)
{
	int rc = SB_OK;

	if (!json_is_array(row) || json_array_size(row) != (size_t)g->p->shape.devices)
		return wrong_shape(at, err);
	for (int64_t d = 0; rc == SB_OK && d < g->p->shape.devices; d++) {
		struct place here = place_index(at, (size_t)d);

		rc = parse_integer_value(json_array_get(row, (size_t)d), &here, low, PIPELINE_LAYERS_MAX,
		                         &out[schedule_stage(&g->p->shape, d, chunk)], err);
	}
	return rc;
}

/* [[per device] per chunk], or [per device] of the only chunk; each at least low. out: [stage]. */
static int read_rows(const json_t *rows, const struct place *at, int64_t low, const struct given *g,
                     int64_t *out, struct sb_error *err)
{
	int rc = SB_OK;

	if (!json_is_array(rows))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "must be a list");
	if (g->chunks == 1 && !json_is_array(json_array_get(rows, 0)))
		return read_row(rows, at, 0, low, g, out, err);
	if (json_array_size(rows) != (size_t)g->chunks)
		return wrong_shape(at, err);
	for (int64_t k = 0; rc == SB_OK && k < g->chunks; k++) {
		struct place here = place_index(at, (size_t)k);

		rc = read_row(json_array_get(rows, (size_t)k), &here, k, low, g, out, err);
	}
	return rc;
}

/* What recomputes nothing is what the other ways leave of each stage. */
static int fill_rest(const struct given *g, const struct place *at, struct sb_error *err)
{
	for (int64_t i = 0; i < schedule_stages(&g->p->shape); i++) {
		int64_t *of = &g->by_recompute[i * PIPELINE_RECOMPUTES], rest = g->layers[i];

		for (int r = KEEP_ALL + 1; r < PIPELINE_RECOMPUTES; r++)
			rest -= of[r];
		if (rest < 0 || (of[KEEP_ALL] != 0 && of[KEEP_ALL] != rest))
			return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", at->pointer,
			                     "does not add up to the %lld layers of stage %lld",
			                     (long long)g->layers[i], (long long)i);
		of[KEEP_ALL] = rest;
	}
	return SB_OK;
}

/* {none?, select?, ...}: lists of each way. */
static int read_recompute(const json_t *value, const struct place *at, const struct given *g, int64_t *room,
                          struct sb_error *err)
{
	struct place here = place_member(at, "recompute");
	const json_t *lists = NULL;
	int rc = parse_object(value, at, "recompute", OPTIONAL, &lists, err);

	if (rc == SB_OK && lists)
		rc = parse_members(lists, &here, pipeline_recompute_words, err);
	for (int r = 0; rc == SB_OK && lists && r < PIPELINE_RECOMPUTES; r++) {
		struct place p = place_member(&here, pipeline_recompute_words[r]);
		const json_t *rows = json_object_get(lists, pipeline_recompute_words[r]);

		if (rows)
			rc = read_rows(rows, &p, 0, g, room, err);
		for (int64_t i = 0; rows && rc == SB_OK && i < schedule_stages(&g->p->shape); i++)
			g->by_recompute[i * PIPELINE_RECOMPUTES + r] = room[i];
	}
	return rc == SB_OK ? fill_rest(g, &here, err) : rc;
}

static int assign(const struct given *g, const struct place *at, struct pipeline_stage *out,
                  struct sb_error *err)
{
	struct sb_error why = {0};
	int rc = pipeline_assign(g->p, g->by_recompute, out, &why);

	return rc == SB_OK ? SB_OK : parse_fail(err, rc, why.word, at, NULL, why.text);
}

/* A list of MindFormers that may be true (all layers) or false. */
static int read_switch(const json_t *value, const struct place *at, const char *member, const struct given *g,
                       int64_t *out, struct sb_error *err)
{
	struct place here = place_member(at, member);
	const json_t *v = parse_given(value, member);

	for (int64_t i = 0; i < schedule_stages(&g->p->shape); i++)
		out[i] = json_is_true(v) ? g->layers[i] : 0;
	return !v || json_is_boolean(v) ? SB_OK : read_rows(v, &here, 0, g, out, err);
}

/* select and comm count the layers that recompute all as well, and more of both are both
 * (internal_from_yaml() of sapp_ppb). */
static int read_mindformers(const json_t *value, const struct place *at, struct given *g, int64_t *room,
                            struct pipeline_stage *out, struct sb_error *err)
{
	static const char *const members[] = {
	    "offset",     "recompute", "select_recompute", "select_comm_recompute", "schedule",
	    "interleave", NULL};
	struct place here = place_member(at, "offset");
	int64_t stages = schedule_stages(&g->p->shape), even = pipeline_layers(g->p) / stages;
	int64_t *full = room, *select = room + stages, *comm = room + 2 * stages;
	const json_t *offset = json_object_get(value, "offset");
	int rc = parse_members(value, at, members, err);

	/* 0 = even; no other number is the offset of all stages */
	if (rc == SB_OK && json_is_integer(offset) && json_integer_value(offset) != 0)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                "must be 0, or list one number a stage");
	else if (rc == SB_OK && !json_is_integer(offset))
		rc = read_rows(offset, &here, -even, g, g->layers, err);
	for (int64_t i = 0; i < stages; i++)
		g->layers[i] += even;
	if (rc == SB_OK)
		rc = read_switch(value, at, "recompute", g, full, err);
	if (rc == SB_OK)
		rc = read_switch(value, at, "select_recompute", g, select, err);
	if (rc == SB_OK)
		rc = read_switch(value, at, "select_comm_recompute", g, comm, err);
	for (int64_t i = 0; rc == SB_OK && i < stages; i++) {
		int64_t *of = &g->by_recompute[i * PIPELINE_RECOMPUTES];
		int64_t selected = select[i] > full[i] ? select[i] - full[i] : 0;
		int64_t sent = comm[i] > full[i] ? comm[i] - full[i] : 0;

		of[REDO_FULL] = full[i];
		of[REDO_BOTH] = selected < sent ? selected : sent;
		of[REDO_SELECT] = selected - of[REDO_BOTH];
		of[REDO_COMM] = sent - of[REDO_BOTH];
	}
	if (rc == SB_OK)
		rc = fill_rest(g, at, err);
	return rc == SB_OK ? assign(g, at, out, err) : rc;
}

static int read_megatron(const json_t *value, const struct place *at, struct given *g, int64_t *room,
                         struct pipeline_stage *out, struct sb_error *err)
{
	static const char *const members[] = {"pipeline_model_parallel_layout", "recompute", "schedule",
	                                      "interleave", NULL};
	const char *text = "";
	struct sb_error why = {0};
	int rc = parse_members(value, at, members, err);

	if (rc == SB_OK)
		rc = parse_text(value, at, members[0], REQUIRED, &text, err);
	if (rc != SB_OK)
		return rc;
	rc = megatron_layout_parse(text, schedule_stages(&g->p->shape), g->layers, &why);
	if (rc != SB_OK)
		return parse_fail(err, rc, why.word, at, members[0], why.text);
	rc = read_recompute(value, at, g, room, err);
	return rc == SB_OK ? assign(g, at, out, err) : rc;
}

/* One type of layers after another, as a solution shows them. */
static int read_types(const json_t *list, const struct place *at, struct given *g, int64_t *room,
                      struct pipeline_stage *out, struct sb_error *err)
{
	static const char *const members[] = {"name", "layers", "recompute", NULL};
	int64_t stages = schedule_stages(&g->p->shape), bodies = g->p->body_count;
	int rc = SB_OK;

	if (!json_is_array(list) || json_array_size(list) != (size_t)bodies)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, NULL,
		                  "must have one entry a type of layers");
	for (int64_t b = 0; rc == SB_OK && b < bodies; b++) {
		struct place here = place_index(at, (size_t)b), layers = place_member(&here, "layers");
		const json_t *type = json_array_get(list, (size_t)b);

		memset(g->by_recompute, 0, (size_t)(stages * PIPELINE_RECOMPUTES) * sizeof(int64_t));
		rc = parse_members(type, &here, members, err);
		if (rc == SB_OK)
			rc = read_rows(json_object_get(type, "layers"), &layers, 0, g, g->layers, err);
		if (rc == SB_OK)
			rc = read_recompute(type, &here, g, room, err);
		for (int64_t i = 0; rc == SB_OK && i < stages * PIPELINE_RECOMPUTES; i++)
			out[i / PIPELINE_RECOMPUTES * bodies + b].layers[i % PIPELINE_RECOMPUTES] =
			    g->by_recompute[i];
	}
	return rc;
}

static int read_own(const json_t *value, const struct place *at, struct given *g, int64_t *room,
                    struct pipeline_stage *out, struct sb_error *err)
{
	static const char *const members[] = {"layers", "recompute", "types", "schedule", "interleave", NULL};
	struct place layers = place_member(at, "layers"), types = place_member(at, "types");
	int rc = parse_members(value, at, members, err);

	if (rc == SB_OK && parse_given(value, "types"))
		return read_types(json_object_get(value, "types"), &types, g, room, out, err);
	if (rc == SB_OK && !parse_given(value, "layers"))
		rc = parse_missing(err, value, at, "layers");
	if (rc == SB_OK)
		rc = read_rows(json_object_get(value, "layers"), &layers, 0, g, g->layers, err);
	if (rc == SB_OK)
		rc = read_recompute(value, at, g, room, err);
	return rc == SB_OK ? assign(g, at, out, err) : rc;
}

/* Every layer once and in the order of the model, in ways that it offers. */
static int check_plan(const struct pipeline_problem *p, const struct pipeline_stage *plan,
                      const struct place *at, struct sb_error *err)
{
	int64_t body = 0, left = p->bodies[0].count;

	for (int64_t cell = 0; cell < schedule_stages(&p->shape) * p->body_count; cell++) {
		int64_t b = cell % p->body_count, n = 0;

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++) {
			n += plan[cell].layers[r];
			if (plan[cell].layers[r] > 0 && isnan(p->bodies[b].activation[r]))
				return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", at->pointer,
				                     "a layer recomputes \"%s\", and its activation_bytes do "
				                     "not tell what it keeps then",
				                     pipeline_recompute_words[r]);
		}
		if (n > 0 && left == 0 && body + 1 < p->body_count)
			left = p->bodies[++body].count;
		if (n > (b == body ? left : 0))
			return parse_fail(err, SB_EIMPOSSIBLE, "wrong_layers", at, NULL,
			                  "must hold each layer once, in the order of the model");
		left -= n;
	}
	return left > 0 || body + 1 < p->body_count
	           ? parse_fail(err, SB_EIMPOSSIBLE, "wrong_layers", at, NULL, "does not hold all layers")
	           : SB_OK;
}

int pipeline_read_plan(const json_t *value, const struct place *at, const struct pipeline_problem *p,
                       struct pipeline_stage *out, struct sb_error *err)
{
	size_t stages = (size_t)schedule_stages(&p->shape);
	int64_t *room = calloc(stages * (4 + PIPELINE_RECOMPUTES), sizeof(*room));
	struct given g = {.p = p, .chunks = (int64_t)stages / p->shape.devices};
	int rc = SB_OK;

	if (!room)
		return sb_no_memory(err);
	g.layers = room + 3 * stages;
	g.by_recompute = room + 4 * stages;
	if (parse_given(value, "offset"))
		rc = read_mindformers(value, at, &g, room, out, err);
	else if (parse_given(value, "pipeline_model_parallel_layout"))
		rc = read_megatron(value, at, &g, room, out, err);
	else
		rc = read_own(value, at, &g, room, out, err);
	free(room);
	return rc == SB_OK ? check_plan(p, out, at, err) : rc;
}
