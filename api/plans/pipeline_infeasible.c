#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/plans/pipeline.h"

/* More stages than layers: what would do. */
static json_t *nearest_stages(const struct pipeline_problem *p)
{
	int64_t layers = pipeline_layers(p), devices = p->shape.devices;
	int64_t chunks = schedule_stages(&p->shape) / devices;

	return json_pack("{s:b,s:I}", "allow_empty", 1, layers >= devices ? "interleave" : "stages",
	                 (json_int_t)(layers >= devices ? layers / devices : layers / chunks));
}

/* What each device must have at least: one number where all have as much now. */
static json_t *memory_of(const struct pipeline_problem *p, double least)
{
	json_t *list = json_array();
	bool equal = true;

	for (int64_t d = 0; d < p->shape.devices; d++) {
		equal = equal && p->memory[d] == p->memory[0];
		json_array_append_new(list, json_whole_or_real(fmax(least, floor(p->memory[d]))));
	}
	if (!equal)
		return list;
	json_decref(list);
	return json_whole_or_real(least);
}

static bool fits(const struct pipeline_problem *p, double bytes)
{
	for (int64_t d = 0; d < p->shape.devices; d++)
		if (bytes > p->memory[d])
			return false;
	return true;
}

/* Fewer chunks keep fewer micro-batches: the most of them that would fit, or 0. */
static int64_t nearest_interleave(const struct pipeline_problem *p)
{
	struct pipeline_problem other = *p;
	double bytes;

	if (schedule_facts(p->shape.kind)->chunks > 0)
		return 0;
	for (int64_t v = p->shape.chunks - 1; v >= 1; v--) {
		other.shape.chunks = v;
		if (v == 1)
			other.shape.kind = SCHEDULE_1F1B;
		if (pipeline_least_memory(&other, &bytes, NULL) == SB_OK && fits(p, bytes))
			return v;
	}
	return 0;
}

/* A plan of the user's own needs what it needs. */
static json_t *least_of_given(const struct pipeline_problem *p, const double *peaks)
{
	double most = 0;

	for (int64_t d = 0; d < p->shape.devices; d++)
		most = fmax(most, peaks[d]);
	return json_pack("{s:o,s:{s:o}}", "least_memory_bytes", json_whole_or_real(ceil(most)), "nearest",
	                 "memory_bytes", memory_of(p, ceil(most)));
}

int pipeline_explain(const struct pipeline_input *in, const struct pipeline_choice *c, json_t **out_extra,
                     struct sb_error *err)
{
	const struct pipeline_problem *p = &in->problem;
	int64_t interleave = 0;
	double least = 0;
	json_t *nearest;
	int rc;

	/* also where it is not proved: the text says so */
	(void)snprintf(err->word, sizeof(err->word), "infeasible");
	if (pipeline_check_layers(p, NULL) != SB_OK) {
		(void)snprintf(err->field, sizeof(err->field), "/%s",
		               p->shape.chunks > 1 ? "interleave" : "stages");
		*out_extra = json_pack("{s:o}", "nearest", nearest_stages(p));
		return SB_EINFEASIBLE;
	}
	if (c->method && strcmp(c->method, "given") == 0) {
		*out_extra = least_of_given(p, c->peaks);
		return SB_EINFEASIBLE;
	}
	rc = pipeline_least_memory(p, &least, NULL);

	if (rc == SB_ENOMEM)
		return sb_fail(err, rc, "no_memory", "out of memory");
	/* then memory is not the reason */
	if (rc != SB_OK)
		return SB_EINFEASIBLE;
	if (p->row_count > 0 && fits(p, least)) {
		(void)snprintf(err->field, sizeof(err->field), "/rows");
		return SB_EINFEASIBLE;
	}
	if (!err->field[0])
		(void)snprintf(err->field, sizeof(err->field), "/memory_bytes");
	nearest = json_object();
	if (fits(p, least)) {
		json_object_set_new(nearest, "method", json_string("bmpipe"));
	} else {
		json_object_set_new(nearest, "memory_bytes", memory_of(p, ceil(least)));
		interleave = nearest_interleave(p);
	}
	if (interleave == 1)
		json_object_set_new(nearest, "schedule", json_string("1f1b"));
	if (interleave > 0)
		json_object_set_new(nearest, "interleave", json_integer((json_int_t)interleave));
	*out_extra =
	    json_pack("{s:o,s:o}", "least_memory_bytes", json_whole_or_real(ceil(least)), "nearest", nearest);
	return SB_EINFEASIBLE;
}
