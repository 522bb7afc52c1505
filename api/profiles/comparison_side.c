#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/comparison.h"
#include "api/profiles/documents.h"

/* Past these a number is no time of ours: it would not fit a nanosecond count. */
#define US_MAX 9e15

static int64_t integer_of(const json_t *object, const char *member)
{
	const json_t *v = json_object_get(object, member);

	return json_is_integer(v) ? json_integer_value(v) : SB_NULL;
}

static int64_t ns_of(const json_t *object, const char *member)
{
	const json_t *v = json_object_get(object, member);
	double us = json_is_number(v) ? json_number_value(v) : NAN;

	return fabs(us) <= US_MAX ? llround(us * 1000) : SB_NULL;
}

/* The stored rows come by capture, device and step; the last of a device is the one without a step. */
static int read_breakdown(const json_t *document, struct breakdown *out)
{
	json_t *list = json_object_get(document, "rows"), *v;
	size_t i, capture = 0;

	if (!json_is_array(list))
		return SB_EFORMAT;
	out->rows = calloc(json_array_size(list) + 1, sizeof(*out->rows));
	if (!out->rows)
		return SB_ENOMEM;

	json_array_foreach(list, i, v)
	{
		out->rows[out->count++] = (struct breakdown_row){
		    .rank = integer_of(v, "rank"),
		    .device = integer_of(v, "device"),
		    .step = integer_of(v, "step"),
		    .step_ns = ns_of(v, "step_us"),
		    .span_ns = ns_of(v, "span_us"),
		    .busy_ns = ns_of(v, "busy_us"),
		    .compute_ns = ns_of(v, "compute_us"),
		    .communication_ns = ns_of(v, "communication_us"),
		    .exposed_ns = ns_of(v, "communication_exposed_us"),
		    .overlap_ns = ns_of(v, "overlap_us"),
		    .copy_ns = ns_of(v, "copy_us"),
		    .copy_exposed_ns = ns_of(v, "copy_exposed_us"),
		    .free_ns = ns_of(v, "free_us"),
		    .bubble_ns = ns_of(v, "bubble_us"),
		    .preparing_ns = ns_of(v, "preparing_us"),
		    .capture = capture,
		};
		capture += out->rows[out->count - 1].step == SB_NULL;
	}
	return SB_OK;
}

static int read_loading(const json_t *document, struct loading_report *out)
{
	json_t *list = json_object_get(document, "rows"), *v;
	size_t i;

	out->rows = calloc(json_array_size(list) + 1, sizeof(*out->rows));
	if (!out->rows)
		return SB_ENOMEM;

	json_array_foreach(list, i, v)
	{
		int64_t steps = integer_of(v, "steps");

		out->rows[out->count++] = (struct loading_row){.rank = integer_of(v, "rank"),
		                                               .steps = steps > 0 ? steps : 0,
		                                               .loading_ns = ns_of(v, "loading_us"),
		                                               .calls = integer_of(v, "calls")};
	}
	return SB_OK;
}

static int by_code(const void *a, const void *b)
{
	const struct compare_finding *x = a, *y = b;
	int order = strcmp(x->code, y->code);

	if (order != 0)
		return order;
	/* the worst first; what is not known last */
	return (isnan(x->share) ? -1 : x->share) < (isnan(y->share) ? -1 : y->share) ? 1 : -1;
}

static int read_findings(const json_t *document, struct comparison_side *io)
{
	json_t *list = json_object_get(document, "findings"), *v;
	size_t i, n = 0, kept = 0;

	if (!json_is_array(list))
		return SB_EFORMAT;
	io->findings = calloc(json_array_size(list) + 1, sizeof(*io->findings));
	if (!io->findings)
		return SB_ENOMEM;

	json_array_foreach(list, i, v)
	{
		const json_t *share = json_object_get(v, "share_of_step");
		const char *code = json_string_value(json_object_get(v, "code"));
		const char *severity = json_string_value(json_object_get(v, "severity"));
		const char *confidence = json_string_value(json_object_get(v, "confidence"));

		if (!code || !severity || !confidence)
			return SB_EFORMAT;
		io->findings[n++] = (struct compare_finding){
		    code, severity, confidence, json_is_number(share) ? json_number_value(share) : NAN};
	}
	qsort(io->findings, n, sizeof(*io->findings), by_code);
	for (i = 0; i < n; i++) {
		if (kept == 0 || strcmp(io->findings[kept - 1].code, io->findings[i].code) != 0)
			io->findings[kept++] = io->findings[i];
	}
	io->finding_count = kept;
	return SB_OK;
}

int comparison_side_read(struct comparison_side *io)
{
	int rc = read_breakdown(io->breakdown, &io->rows);

	if (rc == SB_OK)
		rc = read_loading(io->loading, &io->loaded);
	return rc == SB_OK ? read_findings(io->analysis, io) : rc;
}

void comparison_side_clear(struct comparison_side *s)
{
	json_decref(s->profile);
	json_decref(s->breakdown);
	json_decref(s->analysis);
	json_decref(s->loading);
	operators_free(&s->operators);
	breakdown_free(&s->rows);
	loading_report_free(&s->loaded);
	free(s->findings);
	*s = (struct comparison_side){0};
}

json_t *document_loading(const struct profile *p)
{
	LOADING_REPORT_AUTO report = {0};
	json_t *rows = json_array();

	if (loading_compute(p, &report) != SB_OK) {
		json_decref(rows);
		return NULL;
	}
	for (size_t i = 0; i < report.count; i++) {
		const struct loading_row *r = &report.rows[i];
		json_t *o = json_object();

		json_object_set_new(o, "rank", r->rank == SB_NULL ? json_null() : json_integer(r->rank));
		json_object_set_new(o, "steps", json_integer(r->steps));
		json_object_set_new(o, "loading_us", json_us(r->loading_ns));
		json_object_set_new(o, "calls", json_integer(r->calls));
		json_array_append_new(rows, o);
	}
	return json_pack("{s:o}", "rows", rows);
}
