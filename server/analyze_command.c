#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/report.h"
#include "server/commands.h"

static int usage(void)
{
	fputs("usage: signalbox analyze PATH... [--json] [--name NAME] [--threshold NAME=VALUE]...\n",
	      stderr);
	return 2;
}

static int print_results(const struct profile_results *r, const char *name, int64_t bytes, bool json)
{
	SB_BUF_AUTO text;
	struct sb_error err;
	char *all = NULL;
	int rc;

	sb_buf_init(&text, REPORT_MAX);
	rc = json ? report_json(r, name, bytes, &all) : report_text(r, name, &text);
	if (rc == SB_OK && (fputs(json ? all : text.data, stdout) < 0 || (json && putchar('\n') == EOF) ||
	                    fflush(stdout) != 0))
		rc = SB_EIO;
	free(all);
	if (rc == SB_OK)
		return 0;
	sb_fail(&err, rc, "write_failed", "cannot write the result: %s", sb_strerror(rc));
	return command_fail(&err, 1);
}

static int analyze(const struct path_list *files, const struct thresholds *t, const char *name, bool json)
{
	struct sb_error err = {.offset = -1};
	RESULTS_AUTO results = {0};

	if (command_results(files, t, &results, &err) != SB_OK)
		return command_fail(&err, 1);
	return print_results(&results, name, files->bytes, json);
}

int analyze_command(int argc, char **argv)
{
	static const struct option options[] = {{"json", no_argument, NULL, 'j'},
	                                        {"name", required_argument, NULL, 'n'},
	                                        {"threshold", required_argument, NULL, 't'},
	                                        {NULL, 0, NULL, 0}};
	struct thresholds thresholds = THRESHOLDS_DEFAULT;
	PATHS_AUTO files = {0};
	struct sb_error err = {.offset = -1};
	const char *name = NULL;
	bool json = false;
	int c;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet */
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'j')
			json = true;
		else if (c == 'n')
			name = optarg;
		else if (c != 't')
			return usage();
		else if (threshold_set_text(&thresholds, optarg, &err) != SB_OK)
			return command_fail(&err, 2);
	}
	if (optind >= argc)
		return usage();
	if (paths_collect(argv + optind, (size_t)(argc - optind), &files, &err) != SB_OK)
		return command_fail(&err, 1);
	return analyze(&files, &thresholds, name ? name : argv[optind], json);
}
