#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/json.h"
#include "server/commands.h"

/* A text that came from a file or a service must not steer the terminal, and is shown as UTF-8. */
static void put(const char *from)
{
	JSON_AUTO valid = json_text(from, strlen(from));
	const char *text = valid ? json_string_value(valid) : "";

	for (; *text; text++) {
		unsigned char c = (unsigned char)text[0], next = (unsigned char)text[1];
		bool c1 = c == 0xC2 && next >= 0x80 && next < 0xA0;

		fputc(c < 0x20 || c == 0x7F || c1 ? '?' : c, stderr);
		text += c1;
	}
}

int command_fail(const struct sb_error *err, int status)
{
	char sentence[SB_ERROR_SENTENCE_MAX];

	fputs("signalbox: ", stderr);
	if (err->file[0]) {
		put(err->file);
		fputs(": ", stderr);
	}
	if (err->line > 0)
		fprintf(stderr, "line %lld: ", (long long)err->line);
	else if (err->offset >= 0 && err->file[0])
		fprintf(stderr, "byte %lld: ", (long long)err->offset);
	sb_error_sentence(err, sentence);
	put(sentence);
	fputc('\n', stderr);
	return status;
}
