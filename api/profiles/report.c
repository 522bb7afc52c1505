#include "api/profiles/report.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_put.h"
#include "api/profiles/report_parts.h"

static const struct operator_query ALL_BY_TYPE = {.rank = SB_NULL, .step = SB_NULL};

static void put_value(struct sb_buf *b, const char *name, json_t *value)
{
	char *text = value ? json_write(value, NULL) : NULL;

	json_put_name(b, name);
	if (text)
		sb_buf_adds(b, text);
	else
		b->status = SB_ENOMEM;
	free(text);
	json_decref(value);
}

int report_json(const struct profile_results *r, const char *name, int64_t bytes, struct sb_buf *out)
{
	JSON_AUTO facts = document_facts(&r->profile, &r->analysis);
	int rc;

	json_put_open(out, NULL, '{');
	put_value(out, "profile", document_profile(NULL, name, "ready", 0, bytes, NULL, facts, NULL));
	json_put_name(out, "breakdown");
	document_breakdown(&r->breakdown, out);
	json_put_name(out, "operators");
	rc = document_operators(&r->operators, &ALL_BY_TYPE, out);
	json_put_name(out, "communication");
	document_communication(&r->communication, out);
	put_value(out, "analysis", document_analysis(&r->analysis));
	put_value(out, "advice", document_advice(&r->profile, &r->analysis));
	json_put_close(out, '}');
	return rc == SB_OK ? out->status : rc;
}

/* The first rows alone. */
static json_t *top_operators(const struct profile_results *r)
{
	struct operator_query top = ALL_BY_TYPE;
	SB_BUF_AUTO b;

	top.limit = 12;
	sb_buf_init(&b, JSON_PUT_MAX);
	if (document_operators(&r->operators, &top, &b) != SB_OK)
		return NULL;
	return json_loadb(b.data, b.len, JSON_ALLOW_NUL, NULL);
}

int report_text(const struct profile_results *r, const char *name, struct sb_buf *out)
{
	JSON_AUTO facts = document_facts(&r->profile, &r->analysis);
	JSON_AUTO analysis = document_analysis(&r->analysis);
	JSON_AUTO advice = document_advice(&r->profile, &r->analysis);
	JSON_AUTO operators = top_operators(r);
	int rc = facts && analysis && advice && operators ? SB_OK : SB_ENOMEM;

	if (rc == SB_OK)
		rc = print_facts(name, facts, out);
	if (rc == SB_OK)
		rc = print_breakdown(&r->breakdown, out);
	if (rc == SB_OK)
		rc = print_operators(operators, out);
	if (rc == SB_OK)
		rc = sb_buf_adds(out, "\n");
	if (rc == SB_OK)
		rc = print_verdict(analysis, out);
	if (rc == SB_OK)
		rc = print_findings(analysis, out);
	if (rc == SB_OK)
		rc = print_advice(advice, analysis, out);
	return rc;
}

int report_verdict(const char *analysis_json, const char *advice_json, struct sb_buf *out,
                   struct sb_error *err)
{
	json_t *analysis = json_loads(analysis_json, JSON_REJECT_DUPLICATES, NULL);
	json_t *advice = json_loads(advice_json, JSON_REJECT_DUPLICATES, NULL);
	int rc = SB_EFORMAT;

	if (json_is_object(analysis) && json_is_object(advice))
		rc = print_verdict(analysis, out);
	if (rc == SB_OK)
		rc = print_advice(advice, analysis, out);
	json_decref(analysis);
	json_decref(advice);
	return rc == SB_OK ? SB_OK
	                   : sb_fail(err, rc, "bad_answer",
	                             "the service answered with something else than an analysis");
}
