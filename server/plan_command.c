#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/http.h"
#include "api/plans/plans.h"
#include "server/commands.h"

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

static int run(int argc, char **argv)
{
	struct plan_output wanted = {0};
	struct sb_error err = {0};
	int c;

	while ((c = command_next(&PLAN_COMMAND, argc, argv, &err)) == 'e' || c == 's') {
		if (c == 'e')
			wanted.format = optarg;
		else
			wanted.schedule = true;
	}
	if (c == -1 && wanted.format && wanted.schedule)
		sb_fail(&err, SB_EINVAL, "usage", "--export and --schedule are two answers: ask for one");
	if (err.code != SB_OK || optind != argc - 1)
		return command_misused(&PLAN_COMMAND, &err);
	return plan(argv[optind], &wanted);
}

static const struct command_option OPTIONS[] = {
    {.name = "export",
     .value = "FORMAT",
     .letter = 'e',
     .meaning = "print the plan for a launcher instead: megatron, mindspeed, deepspeed, mindformers, "
                "torchtitan or env of a strategy; mindformers, megatron or sapp of a pipeline"},
    {.name = "schedule",
     .letter = 's',
     .meaning = "print what each device of a pipeline runs when instead, as JSON"},
    {0}};

const struct command PLAN_COMMAND = {
    .name = "plan",
    .arguments = "FILE|-",
    .purpose =
        "Answers a planning problem without a service. FILE, or standard input for \"-\", holds in JSON "
        "what POST /v1/plans takes; what that answers is printed.",
    .options = OPTIONS,
    .status =
        "0 planned; 1 there is no plan: a wrong request or a problem without an answer, the reason is on "
        "stderr; 2 wrong usage.",
    .run = run,
};
