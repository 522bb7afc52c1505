#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "api/profiles/comparison.h"

#define OPERATORS_DEFAULT 100
#define OPERATORS_MAX 10000

/* One stored document; NULL when it was answered. */
static json_t *load(struct call *c, const char *name, int *out_rc, struct sb_error *err)
{
	char *text = NULL;
	size_t len = 0;
	json_t *document = NULL;

	*out_rc = store_document_get(c->s->config.store, c->param, name, &text, &len, err);
	if (*out_rc == SB_OK)
		document = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	free(text);
	if (*out_rc == SB_OK && !document)
		*out_rc = sb_fail(err, SB_ENOMEM, "out_of_memory", "The service is out of memory.");
	return document;
}

/* What is missing makes the profile be read again, as any other call of its results would. */
static bool load_side(struct call *c, const char *parameter, struct comparison_side *out)
{
	const char *id = query_text(c, parameter);
	struct sb_error err = {0};
	int rc;

	if (!id || !*id) {
		problem_query(c->res, parameter, "Name the profiles to compare: base and target.");
		return false;
	}
	snprintf(c->param, sizeof(c->param), "%s", id);
	out->profile = load(c, "profile", &rc, &err);
	if (rc == SB_OK)
		rc = results_breakdown(c, c->param, &out->rows, &err);
	if (rc == SB_OK)
		out->analysis = load(c, "analysis", &rc, &err);
	if (rc == SB_OK)
		out->loading = load(c, "loading", &rc, &err);
	if (rc == SB_OK)
		rc = results_load_operators(c, &out->operators, &err);
	if (rc == SB_OK)
		rc = comparison_side_read(out);
	if (rc == SB_OK)
		return true;
	if (rc == SB_ENOMEM && err.code == SB_OK)
		sb_fail(&err, rc, "out_of_memory", "The service is out of memory.");
	results_failed(c, rc, &err);
	return false;
}

void comparisons_get(struct call *c)
{
	struct comparison_side base = {0}, target = {0};
	int64_t limit = OPERATORS_DEFAULT;

	if (query_int(c, "limit", 1, OPERATORS_MAX, &limit) && load_side(c, "base", &base) &&
	    load_side(c, "target", &target))
		reply_json(c, 200, document_comparison(&base, &target, (size_t)limit));
	comparison_side_clear(&base);
	comparison_side_clear(&target);
}
