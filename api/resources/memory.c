#include <stdlib.h>

#include "api/internal.h"
#include "api/profiles/memory_json.h"

void memory_get(struct call *c)
{
	int64_t px = MEMORY_COLUMNS_DEFAULT;
	struct sb_error err = {0};
	JSON_AUTO document = NULL;
	char *text = NULL;
	size_t len = 0;
	int rc;

	if (!query_int(c, "px", 1, MEMORY_COLUMNS_MAX, &px))
		return;
	rc = store_document_get(c->s->config.store, c->param, "memory", &text, &len, &err);
	if (rc != SB_OK) {
		results_failed(c, rc, &err);
		return;
	}
	document = json_loadb(text, len, 0, NULL);
	free(text);
	if (!memory_json_fit(document, (size_t)px)) {
		sb_fail(&err, SB_ENOMEM, "out_of_memory", "out of memory");
		api_problem_from(c->res, &err);
		return;
	}
	reply_json(c, 200, document);
	document = NULL;
}
