#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/plans/plans.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Larger requests only take longer. */
#define REQUEST_MAX ((size_t)1 << 16)

/* The canonical text of a request does not depend on how it was written. */
static void check_canonical(const json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT), *first = NULL, *second = NULL;
	json_error_t error;
	json_t *again = text ? json_read_request(text, strlen(text), &error) : NULL;
	struct sb_error err = {0};
	int rc = plan_canonical(NULL, request, NULL, &first, &err);

	if (again && rc == SB_OK &&
	    (plan_canonical(NULL, again, NULL, &second, &err) != SB_OK || strcmp(first, second) != 0))
		abort();
	json_decref(again);
	free(text);
	free(first);
	free(second);
}

/* An answer can be written, and says what is foretold; a refusal says why, and where if somewhere. */
static void check_solve(const json_t *request)
{
	struct sb_error err = {0};
	json_t *answer = NULL, *extra = NULL;
	int rc = plan_solve(NULL, request, &answer, &extra, &err);
	char *text;

	if (rc == SB_OK) {
		text = json_write(answer, NULL);
		if (!text || !json_is_object(json_object_get(answer, "predicted")))
			abort();
		free(text);
	} else if (!err.text[0] || (err.field[0] && err.field[0] != '/')) {
		abort();
	}
	json_decref(answer);
	json_decref(extra);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_error_t error;
	json_t *request;

	if (size > REQUEST_MAX)
		return 0;
	request = json_read_request((const char *)data, size, &error);
	if (json_is_object(request)) {
		check_canonical(request);
		check_solve(request);
	}
	json_decref(request);
	return 0;
}
