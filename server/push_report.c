#include "server/push_report.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/progress.h"

enum { GET_SECONDS = 60, POLL_FIRST_US = 50000, POLL_LAST_US = 1000000, PARTS = 1000 };

static void json_release(json_t **j)
{
	json_decref(*j);
}
#define JSON_AUTO __attribute__((cleanup(json_release))) json_t *

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* A text from the service, without the control bytes that could drive a terminal. */
static void put(FILE *to, const char *text)
{
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 || *text == 0x7F ? ' ' : *text, to);
}

static json_t *parse(const struct client_answer *a)
{
	return json_loadb(a->text.data ? a->text.data : "", a->text.len, 0, NULL);
}

/* The reason in a problem document. */
static int refused(const struct client_answer *a, const json_t *problem, struct sb_error *err)
{
	const char *detail = text_of(problem, "detail");

	if (!*detail)
		detail = text_of(problem, "title");
	return sb_fail(err, SB_EIO, "refused", "the service answered %ld: %s", a->status, detail);
}

int push_accepted(const struct client_answer *a, char *out_id, size_t size, struct sb_error *err)
{
	JSON_AUTO body = parse(a);
	const char *id = text_of(body, "id");

	if (a->status < 200 || a->status > 299)
		return refused(a, body, err);
	if (!*id || strlen(id) >= size || id[strspn(id, "0123456789abcdefABCDEF-")] != '\0')
		return sb_fail(err, SB_EIO, "bad_answer", "the service gave no profile id");
	memcpy(out_id, id, strlen(id) + 1);
	return SB_OK;
}

static int get(struct client *c, const char *path, json_t **out, struct sb_error *err)
{
	CLIENT_ANSWER_AUTO answer = {0};
	JSON_AUTO body = NULL;
	int rc = client_get(c, path, GET_SECONDS, &answer, err);

	if (rc != SB_OK)
		return rc;
	body = parse(&answer);
	if (answer.status != 200)
		return refused(&answer, body, err);
	if (!json_is_object(body))
		return sb_fail(err, SB_EIO, "bad_answer", "the service's answer to %s is no JSON object",
		               path);
	*out = json_incref(body);
	return SB_OK;
}

static int failed(const json_t *profile, struct sb_error *err)
{
	const json_t *e = json_object_get(profile, "error");
	const char *file = text_of(e, "file"), *detail = text_of(e, "detail");

	return sb_fail(err, SB_EFORMAT, "profile_failed", "the profile cannot be read: %s%s%s", file,
	               *file ? ": " : "", *detail ? detail : "no reason was given");
}

static void show_progress(struct client *c, const char *id, struct progress_bar *bar)
{
	JSON_AUTO job = NULL;
	char path[128];

	snprintf(path, sizeof(path), "/v1/jobs/%s", id);
	if (bar->terminal && get(c, path, &job, NULL) == SB_OK)
		progress_show(bar, (int64_t)(json_number_value(json_object_get(job, "progress")) * PARTS),
		              PARTS);
}

int push_wait(struct client *c, const char *id, struct sb_error *err)
{
	struct progress_bar bar;
	char path[128];
	useconds_t pause = POLL_FIRST_US;
	int rc;

	snprintf(path, sizeof(path), "/v1/profiles/%s", id);
	progress_start(&bar, "reading");
	for (;;) {
		JSON_AUTO profile = NULL;

		rc = get(c, path, &profile, err);
		if (rc == SB_OK && strcmp(text_of(profile, "state"), "failed") == 0)
			rc = failed(profile, err);
		if (rc != SB_OK || strcmp(text_of(profile, "state"), "ready") == 0)
			break;
		show_progress(c, id, &bar);
		usleep(pause);
		pause = pause * 2 < POLL_LAST_US ? pause * 2 : POLL_LAST_US;
	}
	progress_end(&bar);
	return rc;
}

static void print_verdict(const json_t *analysis, FILE *to)
{
	const json_t *v = json_object_get(analysis, "verdict"), *share = json_object_get(v, "share_of_step");

	if (!json_is_string(json_object_get(v, "component"))) {
		fputs("verdict healthy: no bottleneck was found\n", to);
		return;
	}
	fputs("verdict ", to);
	put(to, text_of(v, "component"));
	fputc('.', to);
	put(to, text_of(v, "cause"));
	fputs(", confidence ", to);
	put(to, text_of(v, "confidence"));
	if (json_is_number(share))
		fprintf(to, ", %.1f %% of the step", 100 * json_number_value(share));
	fputc('\n', to);
}

static void print_item(const json_t *item, size_t number, FILE *to)
{
	const json_t *speedup = json_object_get(item, "estimated_speedup");
	const json_t *actions = json_object_get(item, "actions");

	fprintf(to, "%zu. ", number);
	put(to, text_of(item, "title"));
	if (json_is_number(speedup))
		fprintf(to, " (estimated speedup %.2f)", json_number_value(speedup));
	fputc('\n', to);
	for (size_t i = 0; i < json_array_size(actions); i++) {
		const json_t *action = json_array_get(actions, i);

		fputs("   - ", to);
		put(to, text_of(action, "summary"));
		if (*text_of(action, "how")) {
			fputs(": ", to);
			put(to, text_of(action, "how"));
		}
		fputc('\n', to);
	}
}

int push_print(struct client *c, const char *id, FILE *to, struct sb_error *err)
{
	JSON_AUTO analysis = NULL;
	JSON_AUTO advice = NULL;
	const json_t *items;
	char path[128];
	int rc;

	snprintf(path, sizeof(path), "/v1/profiles/%s/analysis", id);
	rc = get(c, path, &analysis, err);
	if (rc != SB_OK)
		return rc;
	snprintf(path, sizeof(path), "/v1/profiles/%s/advice", id);
	rc = get(c, path, &advice, err);
	if (rc != SB_OK)
		return rc;
	print_verdict(analysis, to);
	items = json_object_get(advice, "items");
	for (size_t i = 0; i < json_array_size(items); i++)
		print_item(json_array_get(items, i), i + 1, to);
	return fflush(to) == 0 ? SB_OK : sb_fail(err, SB_EIO, "write_failed", "cannot write");
}
