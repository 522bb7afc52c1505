#ifndef SB_SERVER_COMMAND_H
#define SB_SERVER_COMMAND_H
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"

/* What a command takes: the one table that its arguments are read by and that its help is printed from. */

struct command_option {
	const char *name;  /* without dashes */
	const char *value; /* what follows it, NULL: nothing */
	char letter;       /* what command_next() answers */
	bool needed, repeated;
	const char *meaning; /* with its default */
};
struct command {
	const char *name;
	const char *arguments; /* beside the options, "" when there are none */
	const char *purpose;
	const struct command_option *options; /* ended by a NULL name */
	const char *status;                   /* when it is 0, when 1 */
	void (*more)(FILE *to);               /* the end of the help, NULL: nothing */
	int (*run)(int argc, char **argv);    /* argv[0] is the command's own name; returns the exit status */
};
#define COMMAND_OPTIONS_MAX 15

/* The letter of the next option, its value in optarg; -1 behind the last, optind is then at the first
 * argument (argv is reordered); '?' with *err for the user: unknown, or without its value. Not
 * thread-safe, as getopt. */
int command_next(const struct command *c, int argc, char **argv, struct sb_error *err);
/* One line: "signalbox NAME ARGUMENTS [--OPTION VALUE]...". */
void command_synopsis(const struct command *c, FILE *to);
/* The whole help, 80 columns wide. Returns the exit status. */
int command_help(const struct command *c);
/* Prints the error, if it has one, and the synopsis on stderr. Returns 2, the exit status of wrong usage. */
int command_misused(const struct command *c, const struct sb_error *err);
/* One entry of a list in a help: the term, and from column 26 on what it means, in lines of 80 columns. */
void command_entry(FILE *to, const char *term, const char *meaning);
#endif
