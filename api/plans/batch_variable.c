#include <math.h>
#include <stdlib.h>

#include "api/plans/batch_schedule.h"
#include "api/plans/kinds.h"
#include "api/plans/schema.h"
#include "planner/batch/variable.h"

#define EPOCHS_LEAST 1e-6
#define EPOCHS_MAX 1e9
#define SAMPLES_MAX 1e15
#define RATE_LEAST 1e-9
#define RATE_MAX 1e12
#define SECONDS_MAX 1e6
#define LEARNING_RATE_MAX 1e9
#define WARMUP_EPOCHS 5 /* Goyal et al., "Accurate, large minibatch SGD", 2017, section 2.2 */

struct variable {
	struct batch_rate rate;
	struct batch_stage *stages;
	size_t count;
	double warmup_epochs;
	struct noise_series noise; /* empty when the stages are given */
};

static void variable_clear(struct variable *v)
{
	free(v->stages);
	noise_series_clear(&v->noise);
}
#define VARIABLE_AUTO __attribute__((cleanup(variable_clear))) struct variable

static int read_rate(const json_t *request, struct batch_rate *r, struct sb_error *err)
{
	struct place root = place_of("");
	int64_t devices = 0;
	int rc = parse_number(request, &root, "samples", REQUIRED, 1, SAMPLES_MAX, &r->samples, err);

	if (rc == SB_OK)
		rc = parse_integer(request, &root, "devices", REQUIRED, 1, (int64_t)1 << 27, &devices, err);
	r->devices = (double)devices;
	if (rc == SB_OK)
		rc = parse_number(request, &root, "samples_per_second", REQUIRED, RATE_LEAST, RATE_MAX,
		                  &r->speed, err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "exposed_seconds", OPTIONAL, 0, SECONDS_MAX, &r->exposed,
		                  err);
	return rc;
}

static int read_stage(const json_t *v, const struct place *at, struct batch_stage *out, struct sb_error *err)
{
	static const char *const members[] = {"epochs", "batch", "learning_rate", NULL};
	int rc = parse_members(v, at, members, err);

	out->learning_rate = NAN;
	if (rc == SB_OK)
		rc = parse_number(v, at, "epochs", REQUIRED, EPOCHS_LEAST, EPOCHS_MAX, &out->epochs, err);
	if (rc == SB_OK)
		rc = parse_integer(v, at, "batch", REQUIRED, 1, BATCH_MAX, &out->batch, err);
	if (rc == SB_OK)
		rc = parse_number(v, at, "learning_rate", OPTIONAL, 0, LEARNING_RATE_MAX, &out->learning_rate,
		                  err);
	return rc;
}

static int read_stages(const json_t *list, struct variable *v, struct sb_error *err)
{
	struct place here = place_of("/stages");
	size_t n = json_array_size(list);
	int rc = SB_OK;

	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must be a list");
	if (n < 1 || n > NOISE_POINTS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                  "must have 1 to 4096 entries");
	v->count = n;
	v->stages = calloc(n, sizeof(*v->stages));
	if (!v->stages)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place p = place_index(&here, i);

		rc = read_stage(json_array_get(list, i), &p, &v->stages[i], err);
	}
	return rc;
}

static int read_growth(const json_t *request, struct batch_growth *g, struct sb_error *err)
{
	struct place root = place_of("");
	int rc = parse_integer(request, &root, "batch", REQUIRED, 1, BATCH_MAX, &g->first, err);

	if (rc == SB_OK)
		rc = parse_integer(request, &root, "max_batch", OPTIONAL, g->first, BATCH_MAX, &g->most, err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "learning_rate", OPTIONAL, 0, LEARNING_RATE_MAX,
		                  &g->learning_rate, err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "linear_batch", OPTIONAL, 1, (double)BATCH_MAX,
		                  &g->linear_batch, err);
	return rc;
}

/* The tuner: the batch grows with the noise, and the stages follow. */
static int tune(const json_t *request, struct variable *v, struct sb_error *err)
{
	struct batch_growth g = {.most = BATCH_MAX, .learning_rate = NAN, .linear_batch = INFINITY};
	double *epochs = NULL;
	int rc = read_growth(request, &g, err);

	if (rc == SB_OK)
		rc = noise_from_json(request, &v->noise, err);
	if (rc != SB_OK)
		return rc;
	epochs = calloc(v->noise.count, sizeof(*epochs));
	v->stages = calloc(v->noise.count, sizeof(*v->stages));
	if (!epochs || !v->stages)
		rc = sb_no_memory(err);
	else
		rc = series_from_json(request, "epochs", REQUIRED, EPOCHS_LEAST, EPOCHS_MAX, epochs,
		                      v->noise.count, err);
	if (rc == SB_OK)
		v->count = batch_grow(&g, v->noise.phi, epochs, v->noise.count, v->stages);
	free(epochs);
	return rc;
}

static int read_variable(const json_t *request, struct variable *v, struct sb_error *err)
{
	static const char *const given[] = {
	    "kind",          "method", "samples", "devices", "samples_per_second", "exposed_seconds",
	    "warmup_epochs", "stages", NULL};
	static const char *const tuned[] = {"kind",
	                                    "method",
	                                    "samples",
	                                    "devices",
	                                    "samples_per_second",
	                                    "exposed_seconds",
	                                    "warmup_epochs",
	                                    "noise_scale",
	                                    "gradient_norms",
	                                    "smoothing",
	                                    "epochs",
	                                    "batch",
	                                    "max_batch",
	                                    "learning_rate",
	                                    "linear_batch",
	                                    NULL};
	struct place root = place_of("");
	const json_t *stages = parse_given(request, "stages");
	int rc = parse_members(request, &root, stages ? given : tuned, err);

	if (rc == SB_OK)
		rc = read_rate(request, &v->rate, err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "warmup_epochs", OPTIONAL, 0, EPOCHS_MAX, &v->warmup_epochs,
		                  err);
	if (rc != SB_OK)
		return rc;
	return stages ? read_stages(stages, v, err) : tune(request, v, err);
}

static json_t *stage_to_json(const struct variable *v, size_t i, const struct batch_stage *s)
{
	double warmup = i > 0 && s->batch != v->stages[i - 1].batch ? fmin(v->warmup_epochs, s->epochs) : 0;

	return json_pack("{s:f,s:I,s:o,s:o}", "epochs", s->epochs, "batch", (json_int_t)s->batch,
	                 "learning_rate", json_real_or_null(s->learning_rate), "warmup_iterations",
	                 json_whole_or_real(ceil(warmup * v->rate.samples / (double)s->batch)));
}

static json_t *time_to_json(const struct batch_time *t)
{
	return json_pack("{s:o,s:f,s:f}", "iterations", json_whole_or_real(t->iterations), "seconds",
	                 t->seconds, "samples_per_second", t->samples_per_second);
}

/* The same epochs, all with the first batch. */
static struct batch_stage flat_of(const struct variable *v)
{
	struct batch_stage s = v->stages[0];

	for (size_t i = 1; i < v->count; i++)
		s.epochs += v->stages[i].epochs;
	return s;
}

static json_t *answer_of(const struct variable *v, double seconds)
{
	json_t *stages = json_array(), *times = json_array(), *alternatives = json_array();
	json_t *warnings = json_array(), *predicted;
	struct batch_stage flat = flat_of(v);
	struct batch_time all = batch_time(&v->rate, v->stages, v->count);
	struct batch_time alone = batch_stage_time(&v->rate, &flat);

	for (size_t i = 0; i < v->count; i++) {
		struct batch_time t = batch_stage_time(&v->rate, &v->stages[i]);

		json_array_append_new(stages, stage_to_json(v, i, &v->stages[i]));
		json_array_append_new(times, time_to_json(&t));
	}
	predicted = time_to_json(&all);
	json_object_set_new(predicted, "stages", times);
	json_object_set_new(predicted, "speedup", json_real(alone.seconds / all.seconds));
	if (v->count > 1)
		json_array_append_new(
		    alternatives,
		    json_pack("{s:{s:[o]},s:o,s:f,s:s}", "solution", "stages", stage_to_json(v, 0, &flat),
		              "predicted", time_to_json(&alone), "loses_by",
		              fmax(alone.seconds / all.seconds - 1, 0), "reason",
		              "the first batch all along: what a step exposes is paid in more steps"));
	noise_warn(warnings, &v->noise);
	return json_pack("{s:{s:o},s:o,s:{s:n,s:n,s:n,s:I,s:f,s:n},s:o,s:[],s:[],s:o}", "solution", "stages",
	                 stages, "predicted", predicted, "quality", "optimal", "lower_bound", "gap",
	                 "candidates", (json_int_t)v->count, "search_seconds", seconds, "model_error",
	                 "alternatives", alternatives, "frontier", "rejected", "warnings", warnings);
}

int batch_variable(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                   struct sb_error *err)
{
	VARIABLE_AUTO v = {.warmup_epochs = WARMUP_EPOCHS};
	double start = plan_clock();
	int rc = read_variable(request, &v, err);

	(void)watch;
	(void)out_extra;
	if (rc != SB_OK)
		return rc;
	*out = answer_of(&v, plan_clock() - start);
	return *out ? SB_OK : sb_no_memory(err);
}

static json_t *stage_schema(void)
{
	static const char *const needs[] = {"epochs", "batch", NULL};

	return schema_object(json_pack("{s:o,s:o,s:o}", "epochs",
	                               schema_number(EPOCHS_LEAST, EPOCHS_MAX, NULL), "batch",
	                               schema_integer(1, BATCH_MAX), "learning_rate",
	                               schema_number(0, LEARNING_RATE_MAX, NULL)),
	                     needs);
}

json_t *batch_variable_schema(void)
{
	json_t *p = json_object();

	noise_schema(p);
	json_object_set_new(p, "samples", schema_number(1, SAMPLES_MAX, "of an epoch"));
	json_object_set_new(p, "devices", schema_integer(1, (int64_t)1 << 27));
	json_object_set_new(p, "samples_per_second", schema_number(RATE_LEAST, RATE_MAX, "of one device"));
	json_object_set_new(
	    p, "exposed_seconds",
	    schema_number(0, SECONDS_MAX, "of a step that no device's work hides; default 0"));
	json_object_set_new(p, "warmup_epochs",
	                    schema_number(0, EPOCHS_MAX,
	                                  "of the learning rate after each change of the batch; default 5 "
	                                  "(Goyal et al. 2017)"));
	json_object_set_new(p, "stages",
	                    schema_list(NOISE_POINTS_MAX, stage_schema(),
	                                "given stages to time; without them the batch grows with the noise"));
	json_object_set_new(p, "epochs", series_schema(EPOCHS_LEAST, EPOCHS_MAX, "that a noise scale lasts"));
	json_object_set_new(p, "batch", schema_integer(1, BATCH_MAX));
	json_object_set_new(p, "max_batch", schema_integer(1, BATCH_MAX));
	json_object_set_new(p, "learning_rate", schema_number(0, LEARNING_RATE_MAX, "at `batch`"));
	json_object_set_new(
	    p, "linear_batch",
	    schema_number(1, (double)BATCH_MAX,
	                  "up to here the learning rate is linear in the batch, beyond with its "
	                  "square root; default: always linear"));
	return p;
}
