#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/breakdown_read.h"
#include "api/profiles/comparison.h"
#include "api/profiles/documents.h"

static int read_loading(const json_t *document, struct loading_report *out)
{
	json_t *list = json_object_get(document, "rows"), *v;
	size_t i;

	out->rows = calloc(json_array_size(list) + 1, sizeof(*out->rows));
	if (!out->rows)
		return SB_ENOMEM;

	json_array_foreach(list, i, v)
	{
		int64_t steps = json_int_of(v, "steps");

		out->rows[out->count++] = (struct loading_row){.rank = json_int_of(v, "rank"),
		                                               .steps = steps > 0 ? steps : 0,
		                                               .loading_ns = json_ns_of(v, "loading_us"),
		                                               .calls = json_int_of(v, "calls")};
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
	int rc = read_loading(io->loading, &io->loaded);

	return rc == SB_OK ? read_findings(io->analysis, io) : rc;
}

void comparison_side_clear(struct comparison_side *s)
{
	json_decref(s->profile);
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
