#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "server/commands.h"

static int version(int argc, char **argv);

static const struct command VERSION_COMMAND = {
    .name = "version",
    .arguments = "",
    .purpose = "Prints the name of the program and its version.",
    .options = (const struct command_option[]){{0}},
    .status = "0 done; 2 wrong usage.",
    .run = version,
};

static const struct command *const COMMANDS[] = {
    &SERVE_COMMAND, &ANALYZE_COMMAND, &PLAN_COMMAND,        &CALIBRATE_COMMAND,
    &PUSH_COMMAND,  &VERSION_COMMAND, &HEALTHCHECK_COMMAND,
};
enum { COMMAND_COUNT = sizeof(COMMANDS) / sizeof(COMMANDS[0]) };

static int version(int argc, char **argv)
{
	struct sb_error none = {0};

	(void)argv;
	if (argc > 1)
		return command_misused(&VERSION_COMMAND, &none);
	return puts("signalbox " SB_VERSION) < 0 || fflush(stdout) != 0 ? 1 : 0;
}

static int usage(FILE *to, int status)
{
	char term[40], first[200];

	fputs("usage:\n", to);
	for (int i = 0; i < COMMAND_COUNT; i++) {
		const char *purpose = COMMANDS[i]->purpose;

		snprintf(term, sizeof(term), "signalbox %s", COMMANDS[i]->name);
		snprintf(first, sizeof(first), "%.*s", (int)(strchr(purpose, '.') - purpose), purpose);
		command_entry(to, term, first);
	}
	fputs("\nsignalbox COMMAND --help tells the options of a command.\n", to);
	return status;
}

static bool asks_help(const char *argument)
{
	return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static const struct command *find(const char *name)
{
	for (int i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(name, COMMANDS[i]->name) == 0)
			return COMMANDS[i];
	return NULL;
}

int main(int argc, char **argv)
{
	bool help = argc > 1 && (asks_help(argv[1]) || strcmp(argv[1], "help") == 0);
	const char *name = argc > 1 + help ? argv[1 + help] : NULL;
	const struct command *command = name ? find(name) : NULL;

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return version(1, argv);
	if (!name)
		return help ? usage(stdout, 0) : usage(stderr, 2);
	if (!command) {
		fprintf(stderr, "signalbox: unknown command \"%s\"\n", name);
		return usage(stderr, 2);
	}
	/* the last argument, too: as an afterthought to a long line */
	if (help || (argc > 2 && (asks_help(argv[2]) || asks_help(argv[argc - 1]))))
		return command_help(command);
	return command->run(argc - 1, argv + 1);
}
