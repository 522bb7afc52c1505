#include <string.h>

#include "base/num.h"
#include "planner/export/options.h"
#include "planner/export/scan.h"

/* Words of a command line: what stands between blanks; quotes join, # starts a comment, a backslash at the
 * end of a line joins it with the next. Scripts keep their options in variables, MODEL_ARGS=( ... ) or
 * MODEL_ARGS="...": those quotes hold words of their own. */
struct words {
	const char *at, *end;
	const char *list_end; /* the quote behind the list that is read; NULL = none */
	int64_t line;
	struct sb_buf word;
};

/* The closing quote, when the quoted text at `at`, behind NAME=, holds options; else NULL. */
static const char *list_of_options(const struct words *w)
{
	const char *close = memchr(w->at, w->at[-1], (size_t)(w->end - w->at));
	bool named = w->word.len > 1 && w->word.data[0] != '-' && w->word.data[w->word.len - 1] == '=';

	for (const char *c = w->at; named && close && c + 2 < close; c++)
		if (c[0] == '-' && c[1] == '-' && (c == w->at || strchr(" \t\n", c[-1])))
			return close;
	return NULL;
}

static void skip_blanks(struct words *w)
{
	while (w->at < w->end) {
		bool joins = *w->at == '\\' && w->at + 1 < w->end && (w->at[1] == '\n' || w->at[1] == '\r');

		if (w->at == w->list_end || (!joins && !strchr(" \t\r\n", *w->at)))
			return;
		w->line += *w->at == '\n';
		w->at++;
	}
}

/* The next word; *out_there false at the end. */
static int next_word(struct words *w, struct options *o, bool *out_there, struct sb_error *err)
{
	char quote = 0;

	skip_blanks(w);
	while (w->at < w->end && *w->at == '#') {
		const char *newline = memchr(w->at, '\n', (size_t)(w->end - w->at));
		const char *stop = newline ? newline : w->end;
		int rc = options_comment(o, w->at + 1, (size_t)(stop - w->at - 1), w->line, err);

		if (rc != SB_OK)
			return rc;
		w->at = stop;
		skip_blanks(w);
	}
	*out_there = w->at < w->end;
	w->word.len = 0;
	sb_buf_add(&w->word, "", 0);
	if (w->at < w->end && w->at == w->list_end) {
		w->at++;
		w->list_end = NULL;
		sb_buf_adds(&w->word, ")");
		return SB_OK;
	}
	while (w->at < w->end && w->at != w->list_end && (quote || !strchr(" \t\r\n", *w->at))) {
		char c = *w->at++;

		if (!quote && !w->list_end && (c == '"' || c == '\'')) {
			w->list_end = list_of_options(w);
			if (w->list_end) {
				sb_buf_adds(&w->word, "(");
				return SB_OK;
			}
		}
		if (quote ? c == quote : c == '"' || c == '\'') {
			if (quote)
				quote = 0;
			else
				quote = c;
			continue;
		}
		w->line += c == '\n';
		sb_buf_add(&w->word, &c, 1);
	}
	if (quote)
		return scan_fail(err, w->line, "lacks a closing quote");
	return w->word.status == SB_OK ? SB_OK : sb_no_memory(err);
}

/* The option so far, and its values joined by blanks. */
struct pending {
	struct sb_buf name, value;
	int64_t line;
};

static int finish(struct options *out, struct pending *p, struct sb_error *err)
{
	int rc = SB_OK;

	if (p->name.len > 0)
		rc = options_add(out, p->name.data, p->name.len, p->value.len ? p->value.data : "",
		                 p->value.len, p->line, err);
	p->name.len = p->value.len = 0;
	return rc;
}

/* Brackets of a list, and what follows a command. */
static bool ends_options(const char *word, size_t len)
{
	static const char *const words[] = {")", "|", "||", "&&", ";", "&"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return strncmp(word, ">", 1) == 0 || strncmp(word, "2>", 2) == 0 || strncmp(word, "&>", 2) == 0 ||
	       (len > 1 && strcmp(word + len - 2, "=(") == 0);
}

static int take(struct options *out, struct pending *p, const struct words *w, struct sb_error *err)
{
	const char *word = w->word.data, *equals;
	int rc;

	if (ends_options(word, w->word.len))
		return finish(out, p, err);
	/* Options of a variable stand where it is set. */
	if (word[0] == '$')
		return SB_OK;
	if (w->word.len < 3 || word[0] != '-' || word[1] != '-') {
		/* What stands in front of the first option is the command. */
		if (p->name.len > 0 && p->value.len > 0)
			sb_buf_add(&p->value, " ", 1);
		if (p->name.len > 0)
			sb_buf_add(&p->value, word, w->word.len);
		return p->value.status == SB_OK ? SB_OK : sb_no_memory(err);
	}
	rc = finish(out, p, err);
	if (rc != SB_OK)
		return rc;
	equals = memchr(word, '=', w->word.len);
	p->line = w->line;
	sb_buf_add(&p->name, word + 2, (equals ? (size_t)(equals - word) : w->word.len) - 2);
	if (equals)
		sb_buf_add(&p->value, equals + 1, w->word.len - (size_t)(equals + 1 - word));
	return p->name.status == SB_OK && p->value.status == SB_OK ? SB_OK : sb_no_memory(err);
}

int options_from_arguments(const char *text, size_t len, struct options *out, struct sb_error *err)
{
	struct words w = {.at = text, .end = text + len, .line = 1};
	struct pending p = {.line = 0};
	bool there = true;
	int rc = options_check(text, len, err);

	sb_buf_init(&w.word, OPTIONS_TEXT_MAX);
	sb_buf_init(&p.name, OPTIONS_TEXT_MAX);
	sb_buf_init(&p.value, 2 * OPTIONS_TEXT_MAX);
	while (rc == SB_OK && there) {
		rc = next_word(&w, out, &there, err);
		if (rc == SB_OK && there)
			rc = take(out, &p, &w, err);
	}
	if (rc == SB_OK)
		rc = finish(out, &p, err);
	sb_buf_free(&w.word);
	sb_buf_free(&p.name);
	sb_buf_free(&p.value);
	return rc == SB_OK ? options_close(out, err) : rc;
}
