#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/http.h"
#include "api/plans/plans.h"
#include "base/buf.h"
#include "server/commands.h"

static int usage(void)
{
	fputs("usage: signalbox plan FILE|- [--export FORMAT | --schedule]\n", stderr);
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

static int read_request(const char *path, struct sb_buf *out, struct sb_error *err)
{
	FILE *from = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
	int rc;

	if (!from)
		return sb_fail(err, SB_ENOENT, "not_found", "%s: %s", path, strerrordesc_np(errno));
	rc = read_all(from, out, err);
	if (from != stdin)
		fclose(from);
	return rc;
}

static int print(const char *text)
{
	size_t len = strlen(text);
	struct sb_error err;

	if (fputs(text, stdout) >= 0 && ((len > 0 && text[len - 1] == '\n') || putchar('\n') != EOF) &&
	    fflush(stdout) == 0)
		return 0;
	sb_fail(&err, SB_EIO, "write_failed", "cannot write the plan");
	return command_fail(&err, 1);
}

static int plan(const char *path, const struct plan_output *wanted)
{
	SB_BUF_AUTO request = {0};
	struct sb_error err = {0};
	char *text = NULL, *extra = NULL;
	int status;

	sb_buf_init(&request, (size_t)API_LIMITS_DEFAULT.request_bytes);
	if (read_request(path, &request, &err) != SB_OK)
		return command_fail(&err, 1);
	if (plan_text(request.data ? request.data : "", request.len, path, wanted, &text, &extra, &err) ==
	    SB_OK) {
		status = print(text);
	} else {
		status = command_fail(&err, 1);
		if (extra)
			fprintf(stderr, "%s\n", extra);
	}
	free(text);
	free(extra);
	return status;
}

int plan_command(int argc, char **argv)
{
	static const struct option options[] = {{"export", required_argument, NULL, 'e'},
	                                        {"schedule", no_argument, NULL, 's'},
	                                        {NULL, 0, NULL, 0}};
	struct plan_output wanted = {0};
	int c;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet */
	while ((c = getopt_long(argc, argv, "", options, NULL)) == 'e' || c == 's') {
		if (c == 'e')
			wanted.format = optarg;
		else
			wanted.schedule = true;
	}
	if (c != -1 || optind != argc - 1 || (wanted.format && wanted.schedule))
		return usage();
	return plan(argv[optind], &wanted);
}
