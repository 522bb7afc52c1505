#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/report.h"
#include "server/commands.h"

static int print_results(const struct profile_results *r, const char *name, int64_t bytes, bool json)
{
	SB_BUF_AUTO text;
	struct sb_error err;
	int rc;

	sb_buf_init(&text, REPORT_MAX);
	rc = json ? report_json(r, name, bytes, &text) : report_text(r, name, &text);
	if (rc == SB_OK &&
	    (fputs(text.data, stdout) < 0 || (json && putchar('\n') == EOF) || fflush(stdout) != 0))
		rc = SB_EIO;
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

static void list_thresholds(FILE *to)
{
	char term[64], text[256];

	fputs("\nThresholds, as they are by default:\n", to);
	for (const struct threshold *t = THRESHOLDS_DEFAULT.items; t->name; t++) {
		snprintf(term, sizeof(term), "%s=%g", t->name, t->value);
		snprintf(text, sizeof(text), "%s (%s; %s)", t->meaning, t->unit, origin_name(t->origin));
		command_entry(to, term, text);
	}
}

static int run(int argc, char **argv)
{
	struct thresholds thresholds = THRESHOLDS_DEFAULT;
	PATHS_AUTO files = {0};
	struct sb_error err = {.offset = -1};
	const char *name = NULL;
	bool json = false;
	int c;

	while ((c = command_next(&ANALYZE_COMMAND, argc, argv, &err)) != -1) {
		if (c == 'j')
			json = true;
		else if (c == 'n')
			name = optarg;
		else if (c != 't')
			return command_misused(&ANALYZE_COMMAND, &err);
		else if (threshold_set_text(&thresholds, optarg, &err) != SB_OK)
			return command_fail(&err, 2);
	}
	if (optind >= argc)
		return command_misused(&ANALYZE_COMMAND, &err);
	if (paths_collect(argv + optind, (size_t)(argc - optind), &files, &err) != SB_OK)
		return command_fail(&err, 1);
	return analyze(&files, &thresholds, name ? name : argv[optind], json);
}

static const struct command_option OPTIONS[] = {
    {.name = "json",
     .letter = 'j',
     .meaning = "print one JSON object with all that the API tells of a profile, instead of a report"},
    {.name = "name", .value = "NAME", .letter = 'n', .meaning = "of the profile (default the first PATH)"},
    {.name = "threshold",
     .value = "NAME=VALUE",
     .letter = 't',
     .repeated = true,
     .meaning = "change what a finding is judged by: one of the thresholds below"},
    {0}};

const struct command ANALYZE_COMMAND = {
    .name = "analyze",
    .arguments = "PATH...",
    .purpose = "Reads a capture without a service and prints its breakdown, verdict, findings and "
               "advice. A PATH is a file, a directory or an archive; all are one profile.",
    .options = OPTIONS,
    .status = "0 done, whatever was found; 1 the capture cannot be read; 2 wrong usage.",
    .more = list_thresholds,
    .run = run,
};
