#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http.h"
#include "api/plans/plans.h"
#include "base/buf.h"
#include "server/clock.h"
#include "server/commands.h"
#include "storage/store.h"

static void json_release(json_t **j)
{
	json_decref(*j);
}
#define JSON_AUTO __attribute__((cleanup(json_release))) json_t *

static int usage(void)
{
	fputs("usage: signalbox plan FILE|- [--export FORMAT]\n", stderr);
	return 2;
}

static int read_all(FILE *from, struct sb_buf *out, struct sb_error *err)
{
	char piece[16384];
	size_t n;

	while ((n = fread(piece, 1, sizeof(piece), from)) > 0)
		if (sb_buf_add(out, piece, n) != SB_OK)
			return sb_fail(err, SB_ELIMIT, "too_large", "the request is longer than %zu bytes",
			               out->max);
	return ferror(from) ? sb_fail(err, SB_EIO, "read_failed", "the request cannot be read") : SB_OK;
}

static int read_request(const char *path, json_t **out, struct sb_error *err)
{
	SB_BUF_AUTO text = {0};
	json_error_t where;
	FILE *from = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
	int rc;

	sb_buf_init(&text, (size_t)API_LIMITS_DEFAULT.request_bytes);
	if (!from)
		return sb_fail(err, SB_ENOENT, "not_found", "%s: %s", path, strerrordesc_np(errno));
	rc = read_all(from, &text, err);
	if (from != stdin)
		fclose(from);
	if (rc != SB_OK)
		return rc;
	*out = json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES, &where);
	if (!*out)
		return sb_fail_at(err, SB_EINVAL, "not_json", path, where.line, where.position, "%s",
		                  where.text);
	return SB_OK;
}

static int fail(const struct sb_error *err, const json_t *extra)
{
	char *more = extra ? json_dumps(extra, JSON_COMPACT) : NULL;

	fputs("signalbox: ", stderr);
	if (err->file[0])
		fprintf(stderr, "%s: line %lld: ", err->file, (long long)err->line);
	if (err->field[0])
		fprintf(stderr, "%s: ", err->field);
	fprintf(stderr, "%s\n", err->text[0] ? err->text : sb_strerror(err->code));
	if (more)
		fprintf(stderr, "%s\n", more);
	free(more);
	return 1;
}

static int print_text(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (!text || fputs(text, stdout) < 0 ||
	    ((len == 0 || text[len - 1] != '\n') && putchar('\n') == EOF) || fflush(stdout) != 0) {
		fputs("signalbox: cannot write the plan\n", stderr);
		return 1;
	}
	return 0;
}

/* As the service answers: with an identity and a time in their places. */
static json_t *with_identity(json_t *plan)
{
	JSON_AUTO rest = json_copy(plan);
	char id[STORE_ID_MAX], now[32];
	json_t *out;

	store_new_id(id);
	store_time_text(clock_wall_us(), now);
	out = json_pack("{s:s, s:O?, s:O?, s:s}", "id", id, "kind", json_object_get(plan, "kind"), "method",
	                json_object_get(plan, "method"), "created_at", now);
	if (out && (!rest || json_object_update_missing(out, rest) != 0)) {
		json_decref(out);
		out = NULL;
	}
	return out;
}

static int print_plan(json_t *plan, const char *format)
{
	JSON_AUTO whole = format ? NULL : with_identity(plan);
	struct sb_error err = {0};
	const char *type;
	char *text = NULL;
	int status;

	if (format) {
		if (plan_export(plan, format, &text, &type, &err) != SB_OK)
			return fail(&err, NULL);
	} else {
		text = whole ? json_dumps(whole, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
	}
	status = print_text(text);
	free(text);
	return status;
}

int plan_command(int argc, char **argv)
{
	static const struct option options[] = {{"export", required_argument, NULL, 'e'}, {NULL, 0, NULL, 0}};
	JSON_AUTO request = NULL;
	JSON_AUTO plan = NULL;
	JSON_AUTO extra = NULL;
	const struct plan_lookup lookup = {0};
	struct sb_error err = {0};
	const char *format = NULL;
	int c;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet */
	while ((c = getopt_long(argc, argv, "", options, NULL)) == 'e')
		format = optarg;
	if (c != -1 || optind != argc - 1)
		return usage();
	if (read_request(argv[optind], &request, &err) != SB_OK ||
	    plan_solve(&lookup, request, &plan, &extra, &err) != SB_OK)
		return fail(&err, extra);
	return print_plan(plan, format);
}
