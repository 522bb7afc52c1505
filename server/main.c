#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "server/commands.h"

static int version_command(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		fputs("usage: signalbox version\n", stderr);
		return 2;
	}
	return puts("signalbox " SB_VERSION) < 0 || fflush(stdout) != 0 ? 1 : 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *usage;
} COMMANDS[] = {
    {"serve", serve_command,
     "[--listen HOST:PORT] [--data DIR] [--allow-remote] [--jobs N] [--limit NAME=VALUE]... "
     "[--threshold NAME=VALUE]... [--log LEVEL]"},
    {"analyze", analyze_command, "PATH... [--json] [--name NAME] [--threshold NAME=VALUE]..."},
    {"plan", plan_command, "FILE|- [--export FORMAT | --schedule]"},
    {"calibrate", calibrate_command, "--cluster NAME|FILE PATH..."},
    {"push", push_command, "--server URL PATH... [--name NAME] [--wait]"},
    {"version", version_command, ""},
    {"healthcheck", healthcheck_command, "[--server URL]"},
};
enum { COMMAND_COUNT = sizeof(COMMANDS) / sizeof(COMMANDS[0]) };

static int help(int command)
{
	printf("usage: signalbox %s%s%s\n", COMMANDS[command].name, *COMMANDS[command].usage ? " " : "",
	       COMMANDS[command].usage);
	return fflush(stdout) != 0 ? 1 : 0;
}

static int usage(FILE *to, int status)
{
	fputs("usage:\n", to);
	for (int i = 0; i < COMMAND_COUNT; i++)
		fprintf(to, "  signalbox %s%s%s\n", COMMANDS[i].name, *COMMANDS[i].usage ? " " : "",
		        COMMANDS[i].usage);
	return status;
}

static bool asks_help(const char *argument)
{
	return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr, 2);
	if (asks_help(argv[1]) || strcmp(argv[1], "help") == 0)
		return usage(stdout, 0);
	if (strcmp(argv[1], "--version") == 0)
		return version_command(argc - 1, argv + 1);
	for (int i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(argv[1], COMMANDS[i].name) == 0)
			return argc > 2 && asks_help(argv[2]) ? help(i) : COMMANDS[i].run(argc - 1, argv + 1);
	fprintf(stderr, "signalbox: unknown command \"%s\"\n", argv[1]);
	return usage(stderr, 2);
}
