#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/plans/plans.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/json_mutator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed);

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

/* A watch that stops after so many questions. */
static bool asked_enough(void *left)
{
	size_t *n = left;

	return *n == 0 || --*n == 0;
}

static void no_progress(void *left, double share)
{
	(void)left;
	must(share >= 0 && share <= 1);
}

static void check_refusal(const struct sb_error *err)
{
	must(err->text[0] && (!err->field[0] || err->field[0] == '/'));
}

/* Whatever a launcher's text is wanted of, it is there or it is said why not. */
static void check_exports(json_t *answer)
{
	static const char *const formats[] = {"megatron",   "mindspeed", "deepspeed", "mindformers",
	                                      "torchtitan", "env",       "sapp",      "none"};
	const struct plan_view view = PLAN_VIEW_WHOLE;
	json_t *plan = plan_document("00000000-0000-7000-8000-000000000000", 0, answer);
	struct sb_error err;
	struct sb_buf rows;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		const char *type = NULL;
		char *text = NULL;

		err = (struct sb_error){0};
		if (plan_export(plan, formats[i], &text, &type, &err) == SB_OK)
			must(text && type);
		else
			check_refusal(&err);
		free(text);
	}
	sb_buf_init(&rows, PLAN_SCHEDULE_MAX);
	err = (struct sb_error){0};
	if (plan_schedule(plan, &view, &rows, &err) != SB_OK)
		check_refusal(&err);
	sb_buf_free(&rows);
	json_decref(plan);
}

/* An answer can be written, and says what is foretold; a refusal says why, and where if somewhere. */
static int check_solve(const json_t *request, const struct sb_watch *watch)
{
	const struct plan_lookup lookup = {.watch = watch};
	struct sb_error err = {0};
	json_t *answer = NULL, *extra = NULL;
	int rc = plan_solve(&lookup, request, &answer, &extra, &err);

	json_decref(extra);
	if (rc != SB_OK) {
		must(!answer && rc != SB_EIO);
		if (rc != SB_ECANCELED)
			check_refusal(&err);
		return rc;
	}
	if (!watch) {
		char *text = json_write(answer, NULL);

		must(text && json_is_object(json_object_get(answer, "predicted")));
		free(text);
		check_exports(json_incref(answer));
	}
	json_decref(answer);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t left = size % 256;
	const struct sb_watch watch = {&left, asked_enough, no_progress};
	json_error_t error;
	json_t *request;

	if (size > REQUEST_MAX)
		return 0;
	request = json_read_request((const char *)data, size, &error);
	if (json_is_object(request)) {
		check_canonical(request);
		/* who stops early leaves nothing behind */
		if (check_solve(request, NULL) == SB_OK)
			check_solve(request, &watch);
	}
	json_decref(request);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
	static struct json_mutator mutator;
	static json_t *kinds;

	if (!kinds) {
		kinds = plan_kinds();
		json_mutator_learn(&mutator, kinds);
	}
	return json_mutator_run(&mutator, data, size, size_max, seed);
}
