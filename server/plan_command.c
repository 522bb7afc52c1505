#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/http.h"
#include "api/plans/plans.h"
#include "server/commands.h"

static int usage(void)
{
	fputs("usage: signalbox plan FILE|- [--export FORMAT | --schedule]\n", stderr);
	return 2;
}

static int plan(const char *path, const struct plan_output *wanted)
{
	SB_BUF_AUTO request = {0};
	struct sb_error err = {0};
	char *text = NULL, *extra = NULL;
	int status;

	sb_buf_init(&request, (size_t)API_LIMITS_DEFAULT.request_bytes);
	if (command_read(path, &request, &err) != SB_OK)
		return command_fail(&err, 1);
	if (plan_text(request.data ? request.data : "", request.len, path, wanted, &text, &extra, &err) ==
	    SB_OK) {
		status = command_print(text, "plan");
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
