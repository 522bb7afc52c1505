#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend.h"

char sniff_first(const struct sniff *s)
{
	size_t i = s->len >= 3 && memcmp(s->head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

	for (; i < s->len; i++) {
		if (!strchr(" \t\r\n", s->head[i]) || s->head[i] == '\0')
			return s->head[i];
	}
	return 0;
}

bool sniff_key(const struct sniff *s, const char *begin)
{
	const char *quote = s->len > 0 ? memchr(s->head, '"', s->len) : NULL;
	size_t n = strlen(begin);

	return quote && s->len - (size_t)(quote - s->head) > n && memcmp(quote + 1, begin, n) == 0;
}

bool sniff_has(const struct sniff *s, const char *text)
{
	return s->len > 0 && memmem(s->head, s->len, text, strlen(text)) != NULL;
}

/* The first record as the header; NULL when this is no table. */
static struct csv *first_record(const struct sniff *s)
{
	struct memory_stream m;
	struct csv *c = NULL;
	char first = sniff_first(s);
	bool more = false;

	if (first == 0 || first == '{' || first == '[' || first == '<' || memchr(s->head, '\0', s->len))
		return NULL;
	memory_stream_init(&m, s->path, s->head, s->len, 0);
	if (csv_new(&m.base, &c) != SB_OK)
		return NULL;
	/* the stream ends with this function: only the record that was read is used after it */
	if (csv_next(c, &more, NULL) != SB_OK || !more || csv_header(c) != SB_OK)
		csv_free(&c);
	return c;
}

bool sniff_columns(const struct sniff *s, const char *const *names)
{
	CSV_AUTO c = first_record(s);

	if (!c)
		return false;
	for (; *names; names++) {
		if (csv_column(c, *names) < 0)
			return false;
	}
	return true;
}

static bool holds_data(const struct csv *c)
{
	size_t numbers = 0, count = csv_count(c);

	for (size_t i = 0; i < count; i++) {
		double d;

		numbers += csv_double(c, (int)i, &d) == SB_OK;
	}
	return count >= 4 && numbers >= 2;
}

bool sniff_no_header(const struct sniff *s)
{
	CSV_AUTO c = first_record(s);

	return c && holds_data(c);
}

/* A header in one piece: why. */
static const char *odd_separator(const struct csv *c)
{
	size_t len;
	const char *text = csv_trimmed(c, 0, &len);

	if (len >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
		return "the table is in UTF-16, as spreadsheets and PowerShell write it: save it as UTF-8";
	if (csv_count(c) != 1 || (!memchr(text, ';', len) && !memchr(text, '\t', len)))
		return NULL;
	return "semicolons or TABs part the columns, as spreadsheets of some countries save them: save the "
	       "table with commas, and points in numbers";
}

int ascend_csv_open(struct stream *in, const char *const *needed, struct csv **out, struct sb_error *err)
{
	CSV_AUTO c = NULL;
	bool more = false;
	int rc;

	if (csv_new(in, &c) != SB_OK)
		return sb_no_memory(err);
	rc = csv_next(c, &more, err);
	if (rc != SB_OK)
		return rc;
	if (!more)
		return sb_fail_at(err, SB_EFORMAT, "empty", in->path, 1, 0, "the file is empty");
	if (csv_header(c) != SB_OK)
		return sb_no_memory(err);
	for (; *needed; needed++) {
		if (csv_column(c, *needed) >= 0)
			continue;
		if (holds_data(c))
			return sb_fail_at(err, SB_EFORMAT, "no_header", in->path, csv_line(c), 0,
			                  "the table has no header: its first line must name the columns");
		if (odd_separator(c))
			return sb_fail_at(err, SB_EFORMAT, "missing_column", in->path, csv_line(c), 0, "%s",
			                  odd_separator(c));
		sb_fail_at(err, SB_EFORMAT, "missing_column", in->path, csv_line(c), 0,
		           "the table has no column \"%s\"", *needed);
		if (err)
			snprintf(err->field, sizeof(err->field), "%s", *needed);
		return SB_EFORMAT;
	}
	*out = c;
	c = NULL;
	return SB_OK;
}

/* Values behind the last column; blank ones are what a comma at the end of each row leaves. */
static bool too_long(const struct csv *c)
{
	size_t len;

	for (size_t i = csv_header_count(c); i < csv_count(c); i++) {
		csv_trimmed(c, (int)i, &len);
		if (len > 0)
			return true;
	}
	return false;
}

int ascend_csv_row(struct read_context *ctx, struct csv *c, const struct stream *in, bool *out_more,
                   struct sb_error *err)
{
	struct warnings *w = &ctx->profile->warnings;
	struct sb_error local = {.offset = -1};
	int rc;

	for (;;) {
		rc = csv_next(c, out_more, &local);
		if (rc == SB_EFORMAT || (rc == SB_ELIMIT && strcmp(local.word, "record_too_large") == 0)) {
			warnings_add(w, local.word, in->path, csv_line(c), local.offset,
			             "The table is used up to here only: %s.", local.text);
			*out_more = false;
			return SB_OK;
		}
		if (rc != SB_OK) {
			if (err)
				*err = local;
			return rc;
		}
		if (*out_more && csv_count(c) >= csv_header_count(c) && csv_open_end(c))
			warnings_add(
			    w, "no_line_end", in->path, csv_line(c), -1,
			    "The last row has no end of line; if the file was cut off, its last value may be "
			    "cut, too.");
		if (!*out_more || (csv_count(c) >= csv_header_count(c) && !too_long(c)))
			return SB_OK;
		if (csv_count(c) < csv_header_count(c))
			warnings_add(
			    w, "short_row", in->path, csv_line(c), -1,
			    "A row with fewer fields than the header is left out; the file may be cut off.");
		else
			warnings_add(
			    w, "long_row", in->path, csv_line(c), -1,
			    "A row with more fields than the header is left out: a comma stands inside "
			    "a value, and which value is where cannot be told.");
	}
}

static void refuse(struct read_context *ctx, const struct csv *c, const struct stream *in, int column,
                   const char *name, const char *what)
{
	size_t len;
	const char *text = csv_trimmed(c, column, &len);

	if (ascend_precision_lost(text, len))
		warnings_add(&ctx->profile->warnings, "precision_lost", in->path, csv_line(c), -1,
		             "A number in column \"%s\" has lost its digits, as a spreadsheet does it; %s.",
		             name, what);
	else
		warnings_add(&ctx->profile->warnings, "bad_value", in->path, csv_line(c), -1,
		             "The value of column \"%s\" cannot be used; %s.", name, what);
}

void ascend_bad_value(struct read_context *ctx, const struct csv *c, const struct stream *in,
                      const char *column, const char *what)
{
	refuse(ctx, c, in, csv_column(c, column), column, what);
}

int ascend_text_like(struct capture *cap, const struct csv *c, int column, uint32_t like, uint32_t *out_id)
{
	size_t len, known;
	const char *text = csv_trimmed(c, column, &len);
	const char *last = sb_strings_get(cap->trace.strings, like, &known);

	/* shapes are quoted twice: what is left of it after the CSV reader */
	if (len >= 2 && text[0] == '"' && text[len - 1] == '"') {
		text++;
		len -= 2;
	}
	if (known == len && memcmp(last, text, len) == 0)
		*out_id = like;
	else if (csv_missing(text, len))
		*out_id = 0;
	else
		return sb_strings_add(cap->trace.strings, text, len, out_id);
	return SB_OK;
}

int ascend_text(struct capture *cap, const struct csv *c, int column, uint32_t *out_id)
{
	return ascend_text_like(cap, c, column, 0, out_id);
}

int ascend_exact_us(const struct csv *c, int column, int64_t *out_ns)
{
	size_t len;
	const char *text = csv_trimmed(c, column, &len);

	return ascend_precision_lost(text, len) ? SB_EINVAL : csv_us(c, column, out_ns);
}

bool ascend_time(struct read_context *ctx, const struct csv *c, const struct stream *in, int column,
                 const char *name, int64_t *out_ns)
{
	if (ascend_exact_us(c, column, out_ns) == SB_OK)
		return true;
	refuse(ctx, c, in, column, name, "the row is left out");
	return false;
}

void ascend_table_clock(struct read_context *ctx, const struct stream *in, struct capture *cap,
                        const struct clock_range *r, bool of_steps)
{
	const struct clock_file f = {
	    .warnings = &ctx->profile->warnings, .path = in->path, .unit = CLOCK_LINE, .of_steps = of_steps};

	clock_settle(cap, r, &f);
}

bool ascend_precision_lost(const char *text, size_t len)
{
	const char *e = memchr(text, 'E', len);
	const char *dot;
	int64_t exponent, digits = 0;
	size_t at;

	if (!e)
		e = memchr(text, 'e', len);
	if (!e)
		return false;
	at = (size_t)(e - text);
	dot = memchr(text, '.', at);
	if (dot)
		digits = (int64_t)(at - (size_t)(dot - text) - 1);
	at++;
	if (at < len && text[at] == '+')
		at++;
	/* the last digit that was written stands for whole microseconds or more */
	return sb_parse_int(text + at, len - at, &exponent) == SB_OK && exponent > digits;
}
