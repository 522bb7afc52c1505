#include "server/command.h"

#include <getopt.h>
#include <string.h>

#include "server/commands.h"

enum { COLUMNS = 80, INDENT = 26 };

int command_next(const struct command *c, int argc, char **argv, struct sb_error *err)
{
	struct option options[COMMAND_OPTIONS_MAX + 1] = {{0}};
	const char *written;
	int letter;

	for (size_t i = 0; i < COMMAND_OPTIONS_MAX && c->options[i].name; i++)
		options[i] = (struct option){.name = c->options[i].name,
		                             .has_arg = c->options[i].value ? required_argument : no_argument,
		                             .val = c->options[i].letter};
	opterr = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet */
	letter = getopt_long(argc, argv, ":", options, NULL);
	if (letter != ':' && letter != '?')
		return letter;
	written = argv[optind - 1];
	/* of "-xy" getopt_long() has read a part only */
	if (written[0] != '-' && optind < argc)
		written = argv[optind];
	if (letter == ':')
		sb_fail(err, SB_EINVAL, "usage", "%s needs a value", written);
	else
		sb_fail(err, SB_EINVAL, "usage", "unknown option \"%s\"", written);
	return '?';
}

void command_synopsis(const struct command *c, FILE *to)
{
	fprintf(to, "signalbox %s", c->name);
	for (const struct command_option *o = c->options; o->name; o++)
		if (o->needed)
			fprintf(to, " --%s %s", o->name, o->value);
	if (*c->arguments)
		fprintf(to, " %s", c->arguments);
	for (const struct command_option *o = c->options; o->name; o++)
		if (!o->needed)
			fprintf(to, " [--%s%s%s]%s", o->name, o->value ? " " : "", o->value ? o->value : "",
			        o->repeated ? "..." : "");
	fputc('\n', to);
}

/* Words from a column on, further lines from indent on, with an end of line. */
static void put_words(FILE *to, const char *text, int column, int indent)
{
	bool first = true;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (!first && column + 1 + len > COLUMNS) {
			fprintf(to, "\n%*s", indent, "");
			column = indent;
			first = true;
		}
		column += fprintf(to, "%s%.*s", first ? "" : " ", len, text);
		first = false;
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}

void command_entry(FILE *to, const char *term, const char *meaning)
{
	fprintf(to, "  %-*s", INDENT - 2, term);
	if (strlen(term) > INDENT - 4)
		fprintf(to, "\n%*s", INDENT, "");
	put_words(to, meaning, INDENT, INDENT);
}

int command_help(const struct command *c)
{
	char term[64];

	fputs("usage: ", stdout);
	command_synopsis(c, stdout);
	fputc('\n', stdout);
	put_words(stdout, c->purpose, 0, 0);
	if (c->options->name)
		fputc('\n', stdout);
	for (const struct command_option *o = c->options; o->name; o++) {
		snprintf(term, sizeof(term), "--%s%s%s", o->name, o->value ? " " : "",
		         o->value ? o->value : "");
		command_entry(stdout, term, o->meaning);
	}
	if (c->more)
		c->more(stdout);
	put_words(stdout, c->status, printf("\nExit status: ") - 1, 0);
	return fflush(stdout) != 0 ? 1 : 0;
}

int command_misused(const struct command *c, const struct sb_error *err)
{
	if (err->code != SB_OK)
		command_fail(err, 2);
	fputs("usage: ", stderr);
	command_synopsis(c, stderr);
	fprintf(stderr, "signalbox %s --help says more\n", c->name);
	return 2;
}
