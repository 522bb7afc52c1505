#include <getopt.h>
#include <stdio.h>

#include "server/client.h"
#include "server/commands.h"

enum { PROBE_SECONDS = 5 };

static int probe(const char *server)
{
	CLIENT_ANSWER_AUTO answer = {0};
	CLIENT_AUTO client = {0};
	struct sb_error err = {0};
	int rc = client_open(server, &client, &err);

	if (rc == SB_OK)
		rc = client_get(&client, "/readyz", PROBE_SECONDS, &answer, &err);
	if (rc != SB_OK)
		return command_fail(&err, rc == SB_EINVAL ? 2 : 1);
	if (answer.status == 200)
		return 0;
	sb_fail(&err, SB_EBUSY, "not_ready", "not ready, status %ld", answer.status);
	return command_fail(&err, 1);
}

static int run(int argc, char **argv)
{
	const char *server = "http://127.0.0.1:8080";
	struct sb_error err = {0};
	int c;

	while ((c = command_next(&HEALTHCHECK_COMMAND, argc, argv, &err)) == 's')
		server = optarg;
	if (c != -1 || optind < argc)
		return command_misused(&HEALTHCHECK_COMMAND, &err);
	return probe(server);
}

static const struct command_option OPTIONS[] = {{.name = "server",
                                                 .value = "URL",
                                                 .letter = 's',
                                                 .meaning = "of the service (default http://127.0.0.1:8080)"},
                                                {0}};

const struct command HEALTHCHECK_COMMAND = {
    .name = "healthcheck",
    .arguments = "",
    .purpose =
        "Asks a running service whether it is ready, for a container's or a supervisor's probe. Gives up "
        "after 5 seconds.",
    .options = OPTIONS,
    .status = "0 ready; 1 not ready, or not there; 2 wrong usage.",
    .run = run,
};
