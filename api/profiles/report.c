#include "api/profiles/report.h"

#include <stdlib.h>
#include <string.h>

#include "api/profiles/report_parts.h"

static const struct operator_query ALL_BY_TYPE = {.rank = SB_NULL, .step = SB_NULL};

int report_json(const struct profile_results *r, const char *name, int64_t bytes, char **out_text)
{
	json_t *facts = document_facts(&r->profile, &r->analysis), *all = json_object();
	char *text;

	json_object_set_new(all, "profile",
	                    document_profile(NULL, name, "ready", 0, bytes, NULL, facts, NULL));
	json_object_set_new(all, "breakdown", document_breakdown(&r->breakdown));
	json_object_set_new(all, "operators", document_operators(&r->operators, &ALL_BY_TYPE));
	json_object_set_new(all, "communication", document_communication(&r->communication));
	json_object_set_new(all, "analysis", document_analysis(&r->analysis));
	json_object_set_new(all, "advice", document_advice(&r->profile, &r->analysis));
	text = json_object_size(all) == 6 ? json_write(all, NULL) : NULL;
	json_decref(all);
	json_decref(facts);
	if (!text)
		return SB_ENOMEM;
	*out_text = text;
	return SB_OK;
}

int report_text(const struct profile_results *r, const char *name, struct sb_buf *out)
{
	struct operator_query top = ALL_BY_TYPE;
	json_t *facts = document_facts(&r->profile, &r->analysis),
	       *breakdown = document_breakdown(&r->breakdown);
	json_t *analysis = document_analysis(&r->analysis),
	       *advice = document_advice(&r->profile, &r->analysis), *operators;
	int rc;

	top.limit = 12;
	operators = document_operators(&r->operators, &top);
	rc = facts && breakdown && analysis && advice && operators ? SB_OK : SB_ENOMEM;
	if (rc == SB_OK)
		rc = print_facts(name, facts, out);
	if (rc == SB_OK)
		rc = print_breakdown(breakdown, out);
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
	json_decref(facts);
	json_decref(breakdown);
	json_decref(analysis);
	json_decref(advice);
	json_decref(operators);
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
