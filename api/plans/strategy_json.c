#include "api/plans/strategy_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/problem.h"
#include "api/plans/strategy_overlap.h"
#include "planner/cost/offload.h"

#define MOST_SEQUENCES ((int64_t)1 << 32)
#define USABLE_SHARE 0.95 /* the rest of the memory is left to the allocator and to what no model sees */

const char *const recompute_words[] = {"none", "selective", "full", NULL};
const char *const attention_words[] = {"unfused", "flash", NULL};
const char *const schedule_words[] = {"1f1b", "zb-h1", "dualpipe", NULL};
const char *const dtype_words[] = {"bf16", "fp32", NULL};
const char *const offload_members[] = {OFFLOAD_WORDS, NULL};
static const char *const dimension_words[] = {"tp", "cp", "dp", "pp", NULL};

static int read_batch(const json_t *request, struct cost_problem *p, int64_t *out_micro, struct sb_error *err)
{
	static const char *const members[] = {"global_sequences", "micro", NULL};
	struct place root = place_of(""), here = place_of("/batch");
	const json_t *batch;
	int rc = parse_object(request, &root, "batch", REQUIRED, &batch, err);

	*out_micro = 0;
	if (rc == SB_OK)
		rc = parse_members(batch, &here, members, err);
	if (rc == SB_OK)
		rc = parse_integer(batch, &here, "global_sequences", REQUIRED, 1, MOST_SEQUENCES,
		                   &p->sequences, err);
	return rc == SB_OK ? parse_integer(batch, &here, "micro", OPTIONAL, 1, MOST_SEQUENCES, out_micro, err)
	                   : rc;
}

int cost_problem_from_json(const json_t *request, struct cost_problem *out, int64_t *out_micro,
                           struct sb_error *err)
{
	struct place root = place_of(""), model = place_of("/model"), cluster = place_of("/cluster");
	struct place calibration = place_of("/calibration"), constraints = place_of("/constraints");
	const json_t *value;
	struct cost_problem p = {0};
	int rc = parse_object(request, &root, "model", REQUIRED, &value, err);

	if (rc == SB_OK)
		rc = model_from_json(value, &model, &p.model, err);
	if (rc == SB_OK)
		rc = parse_object(request, &root, "cluster", REQUIRED, &value, err);
	if (rc == SB_OK)
		rc = cluster_from_json(value, &cluster, &p.cluster, err);
	if (rc == SB_OK)
		rc = read_batch(request, &p, out_micro, err);
	if (rc != SB_OK)
		return rc;
	p.constants = constants_for(&p.cluster);
	rc = parse_object(request, &root, "calibration", OPTIONAL, &value, err);
	if (rc == SB_OK && value)
		rc = calibration_from_json(value, &calibration, &p.constants, err);
	p.memory_bytes = (int64_t)(USABLE_SHARE * (double)p.cluster.device.memory_bytes);
	if (rc == SB_OK)
		rc = parse_object(request, &root, "constraints", OPTIONAL, &value, err);
	if (rc == SB_OK && value)
		rc = parse_integer(value, &constraints, "memory_bytes", OPTIONAL, 1,
		                   p.cluster.device.memory_bytes, &p.memory_bytes, err);
	if (rc != SB_OK)
		return rc;
	p.network = network_of(&p.cluster, &p.constants);
	*out = p;
	return SB_OK;
}

static int read_order(const json_t *value, const struct place *at, struct strategy *s, struct sb_error *err)
{
	const json_t *order = parse_given(value, "order");
	struct place here = place_member(at, "order");
	bool seen[DIMS] = {false};
	size_t n = 0;

	if (!order)
		return SB_OK;
	if (!json_is_array(order))
		return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must be a list");
	for (size_t i = 0; i < json_array_size(order); i++) {
		const char *word = json_string_value(json_array_get(order, i));
		int d = 0;

		if (!word)
			return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must hold texts");
		if (strcmp(word, "ep") == 0) /* folds into cp and dp: its place follows from theirs */
			continue;
		while (dimension_words[d] && strcmp(dimension_words[d], word) != 0)
			d++;
		if (d == DIMS || seen[d])
			return parse_fail(err, SB_EIMPOSSIBLE, "unknown_value", &here, NULL,
			                  "must name tp, cp, dp and pp once each");
		seen[d] = true;
		s->order[n++] = (enum dimension)d;
	}
	if (n != DIMS)
		return parse_fail(err, SB_EIMPOSSIBLE, "unknown_value", &here, NULL,
		                  "must name tp, cp, dp and pp once each");
	return SB_OK;
}

/* Which node comes when is for a launcher's list of hosts: to the cost model all nodes are alike. */
static int check_node_order(const json_t *value, const struct place *at, struct sb_error *err)
{
	const json_t *order = parse_given(value, "node_order");
	struct place here = place_member(at, "node_order");

	if (!order)
		return SB_OK;
	if (!json_is_array(order))
		return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must be a list");
	for (size_t i = 0; i < json_array_size(order); i++) {
		struct place p = place_index(&here, i);

		if (!json_is_integer(json_array_get(order, i)))
			return parse_fail(err, SB_EINVAL, "wrong_type", &p, NULL, "must be a whole number");
	}
	return SB_OK;
}

/* tp_x, tp_y or both; what is left out of them and tp follows from the rest. */
static int read_grid(const json_t *value, const struct place *at, struct strategy *s, struct sb_error *err)
{
	int64_t x = 0, y = 0, tp = 0;
	int rc = parse_integer(value, at, "tp_x", OPTIONAL, 1, STRATEGY_MAX_DEGREE, &x, err);

	if (rc == SB_OK)
		rc = parse_integer(value, at, "tp_y", OPTIONAL, 1, STRATEGY_MAX_DEGREE, &y, err);
	if (rc == SB_OK)
		rc = parse_integer(value, at, "tp", OPTIONAL, 1, STRATEGY_MAX_DEGREE, &tp, err);
	if (rc != SB_OK || (x == 0 && y == 0))
		return rc;
	if (tp == 0)
		tp = (x > 0 ? x : 1) * (y > 0 ? y : 1);
	x = x > 0 ? x : tp / y;
	y = y > 0 ? y : tp / x;
	if (x * y != tp)
		return parse_fail(err, SB_EIMPOSSIBLE, "tensor_grid", at, "tp_x", "tp_x x tp_y is not tp");
	s->tp = tp;
	s->tp_x = x;
	return SB_OK;
}

static int read_degrees(const json_t *value, const struct place *at, struct strategy *s, struct sb_error *err)
{
	const struct {
		const char *member;
		int64_t *out;
	} rows[] = {{"dp", &s->dp}, {"tp", &s->tp},   {"cp", &s->cp},   {"pp", &s->pp},
	            {"ep", &s->ep}, {"vpp", &s->vpp}, {"etp", &s->etp}, {"micro_batch", &s->micro_batch}};
	int64_t zero = s->zero;
	int rc = read_grid(value, at, s, err);

	for (size_t i = 0; rc == SB_OK && i < sizeof(rows) / sizeof(rows[0]); i++)
		rc = parse_integer(value, at, rows[i].member, OPTIONAL, 1, STRATEGY_MAX_DEGREE, rows[i].out,
		                   err);
	if (rc == SB_OK)
		rc = parse_integer(value, at, "zero", OPTIONAL, 0, 3, &zero, err);
	s->zero = (int)zero;
	return rc;
}

/* "none", or shares from 0 to 1; those left out are 0. */
static int read_offload(const json_t *value, const struct place *at, struct offload *io, struct sb_error *err)
{
	static const char *const words[] = {"none", NULL};
	const json_t *shares = parse_given(value, "offload");
	struct place here = place_member(at, "offload");
	struct offload o = {0};
	double *const out[] = {&o.weights, &o.gradients, &o.optimizer, &o.activations};
	int none = 0, rc;

	if (!shares)
		return SB_OK;
	rc = json_is_object(shares) ? parse_members(shares, &here, offload_members, err)
	                            : parse_word(value, at, "offload", OPTIONAL, words, &none, err);
	for (int i = 0; rc == SB_OK && json_is_object(shares) && offload_members[i]; i++)
		rc = parse_number(shares, &here, offload_members[i], OPTIONAL, 0, 1, out[i], err);
	if (rc == SB_OK)
		*io = o;
	return rc;
}

static int read_options(const json_t *value, const struct place *at, struct strategy *s, struct sb_error *err)
{
	int recompute = (int)s->recompute, attention = (int)s->attention;
	int dtype = s->gradient_bytes == 4 ? 1 : 0, schedule = (int)s->schedule;
	bool overlap_given;
	int rc = parse_boolean(value, at, "sequence_parallel", &s->sequence_parallel, err);

	/* Stacks that shard the optimizer also hide its traffic; plain data parallelism waits for it. */
	s->overlap_gradients = s->zero > 0;
	if (rc == SB_OK)
		rc = overlap_from_json(value, at, s, &overlap_given, err);
	if (rc == SB_OK)
		rc = parse_word(value, at, "recompute", OPTIONAL, recompute_words, &recompute, err);
	if (rc == SB_OK)
		rc = parse_word(value, at, "schedule", OPTIONAL, schedule_words, &schedule, err);
	if (rc == SB_OK)
		rc = parse_word(value, at, "attention", OPTIONAL, attention_words, &attention, err);
	if (rc == SB_OK)
		rc = parse_word(value, at, "gradient_dtype", OPTIONAL, dtype_words, &dtype, err);
	if (rc == SB_OK)
		rc = read_offload(value, at, &s->offload, err);
	s->recompute = (enum recompute)recompute;
	s->schedule = (enum pipeline_schedule)schedule;
	s->attention = (enum attention)attention;
	s->gradient_bytes = dtype == 1 ? 4 : 2;
	return rc;
}

/* How many in all follows from the degrees. */
static int read_devices(const json_t *value, const struct place *at, struct strategy *s, struct sb_error *err)
{
	int64_t used = 0;
	int rc = parse_integer(value, at, "devices_per_node", OPTIONAL, 1, STRATEGY_MAX_DEGREE,
	                       &s->node_devices, err);

	if (rc == SB_OK)
		rc = parse_integer(value, at, "devices_used", OPTIONAL, 1, INT64_MAX, &used, err);
	if (rc == SB_OK && used > 0 &&
	    (double)used != (double)s->dp * (double)s->tp * (double)s->cp * (double)s->pp)
		return parse_fail(err, SB_EIMPOSSIBLE, "devices", at, "devices_used",
		                  "is not dp x tp x cp x pp");
	return rc;
}

int strategy_from_json(const json_t *value, const struct place *at, struct strategy *io, int64_t **out_stages,
                       struct sb_error *err)
{
	static const char *const members[] = {"devices_used",
	                                      "devices_per_node",
	                                      "dp",
	                                      "tp",
	                                      "tp_x",
	                                      "tp_y",
	                                      "cp",
	                                      "pp",
	                                      "vpp",
	                                      "schedule",
	                                      "ep",
	                                      "etp",
	                                      "zero",
	                                      "sequence_parallel",
	                                      "micro_batch",
	                                      "micro_batches",
	                                      "recompute",
	                                      "offload",
	                                      "order",
	                                      "node_order",
	                                      "stages",
	                                      "attention",
	                                      "overlap",
	                                      "overlap_gradients",
	                                      "dispatch_dtype",
	                                      "gradient_dtype",
	                                      NULL};
	struct strategy s = *io;
	int64_t ignored;
	int rc = parse_members(value, at, members, err);

	*out_stages = NULL;
	if (rc == SB_OK)
		rc = read_degrees(value, at, &s, err);
	if (rc == SB_OK)
		rc = read_options(value, at, &s, err);
	if (rc == SB_OK)
		rc = read_order(value, at, &s, err);
	if (rc == SB_OK)
		rc = check_node_order(value, at, err);
	if (rc == SB_OK)
		rc = read_devices(value, at, &s, err);
	if (rc == SB_OK)
		rc = parse_integer(value, at, "micro_batches", OPTIONAL, 1, INT64_MAX, &ignored, err);
	if (rc == SB_OK)
		rc = stages_from_json(value, at, &s, out_stages, err);
	if (rc != SB_OK) {
		free(*out_stages);
		*out_stages = NULL;
		return rc;
	}
	*io = s;
	return SB_OK;
}

int strategy_check(const struct cost_problem *p, const struct strategy *s, struct sb_error *err)
{
	struct place at = place_of("/strategy"), cluster = place_of("/cluster");
	enum misfit f = strategy_fit(&p->model, &p->cluster, s, p->sequences);
	struct sb_error why = {0};
	int rc = offload_check(&p->cluster, &s->offload, &why);

	if (f == FIT_OK && rc == SB_OK)
		return SB_OK;
	if (f == FIT_OK)
		return parse_fail(err, rc, why.word, &cluster, why.field, why.text);
	return parse_fail(err, SB_EIMPOSSIBLE, misfit_word(f), &at, misfit_field(f), misfit_text(f));
}
