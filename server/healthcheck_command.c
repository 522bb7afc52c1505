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

int healthcheck_command(int argc, char **argv)
{
	static const struct option options[] = {{"server", required_argument, NULL, 's'}, {NULL, 0, NULL, 0}};
	const char *server = "http://127.0.0.1:8080";
	int c;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet */
	while ((c = getopt_long(argc, argv, "", options, NULL)) == 's')
		server = optarg;
	if (c != -1 || optind < argc) {
		fputs("usage: signalbox healthcheck [--server URL]\n", stderr);
		return 2;
	}
	return probe(server);
}
