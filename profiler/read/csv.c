#include "profiler/read/csv_impl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

static const char MARK[3] = {'\xEF', '\xBB', '\xBF'};

int csv_new(struct stream *in, struct csv **out)
{
	struct csv *c = calloc(1, sizeof(*c));

	if (!c)
		return SB_ENOMEM;
	c->in = in;
	c->line = 1;
	sb_buf_init(&c->record.text, CSV_RECORD_MAX);
	sb_buf_init(&c->header.text, CSV_RECORD_MAX);
	*out = c;
	return SB_OK;
}

void csv_free(struct csv **c)
{
	if (!*c)
		return;
	sb_buf_free(&(*c)->record.text);
	sb_buf_free(&(*c)->header.text);
	free(*c);
	*c = NULL;
}

static int refill(struct csv *c, struct sb_error *err)
{
	int rc;

	c->offset += (int64_t)c->len;
	c->len = c->at = 0;
	rc = c->in->next(c->in, &c->block, &c->len, err);
	if (rc == SB_OK && c->len == 0)
		c->at_end = true;
	return rc;
}

static int too_large(const struct csv *c, struct sb_error *err, const char *what)
{
	return sb_fail_at(err, SB_ELIMIT, "record_too_large", c->in->path, c->record_line,
	                  c->offset + (int64_t)c->at, "the record that begins here has too %s", what);
}

static int put(struct csv *c, const char *text, size_t n, struct sb_error *err)
{
	int rc = sb_buf_add(&c->record.text, text, n);

	return rc == SB_ELIMIT ? too_large(c, err, "many bytes") : rc;
}

static int end_field(struct csv *c, struct sb_error *err)
{
	struct fields *f = &c->record;
	int rc;

	if (f->count == CSV_FIELDS_MAX)
		return too_large(c, err, "many fields");
	rc = put(c, "", 1, err);
	if (rc != SB_OK)
		return rc;
	f->count++;
	f->start[f->count] = (uint32_t)f->text.len;
	c->place = PLACE_START;
	return SB_OK;
}

static bool plain_stop(char ch)
{
	return ch == ',' || ch == '\n' || ch == '\r';
}

/* Takes the longest run of bytes that mean nothing special where the scanner stands. */
static int take_run(struct csv *c, struct sb_error *err)
{
	const char *p = c->block + c->at, *end = c->block + c->len, *q = p;

	if (c->place == PLACE_QUOTED) {
		q = memchr(p, '"', (size_t)(end - p));
		if (!q)
			q = end;
		for (const char *line = p; (line = memchr(line, '\n', (size_t)(q - line))); line++)
			c->line++;
	} else {
		while (q < end && !plain_stop(*q))
			q++;
	}
	if (q == p)
		return SB_OK;
	c->at += (size_t)(q - p);
	return put(c, p, (size_t)(q - p), err);
}

/* A byte after a quote that stood inside quotes. */
static int after_quote(struct csv *c, char ch, struct sb_error *err)
{
	if (ch == '"') {
		c->place = PLACE_QUOTED;
		c->at++;
		return put(c, "\"", 1, err);
	}
	/* whatever follows the closing quote up to the comma belongs to the field (blanks, mostly) */
	c->place = PLACE_PLAIN;
	return SB_OK;
}

/* A comma or a line break outside quotes. */
static int take_stop(struct csv *c, char ch, bool *out_done, struct sb_error *err)
{
	c->at++;
	if (ch == ',')
		return end_field(c, err);
	if (ch == '\r' && c->ending == ENDING_LF) {
		/* it is dropped at the line feed, if one follows */
		c->place = PLACE_AFTER_CR;
		return SB_OK;
	}
	if (ch == '\n' && c->ending == ENDING_CR) {
		c->place = PLACE_PLAIN;
		return put(c, "\n", 1, err);
	}
	if (ch == '\r' && c->ending == ENDING_UNKNOWN) {
		c->place = PLACE_AFTER_CR;
		return SB_OK;
	}
	if (c->ending == ENDING_UNKNOWN)
		c->ending = ENDING_LF;
	c->line++;
	*out_done = true;
	return end_field(c, err);
}

static int after_cr(struct csv *c, char ch, bool *out_done, struct sb_error *err)
{
	if (ch == '\n') {
		c->at++;
		c->ending = ENDING_LF;
	} else if (c->ending == ENDING_LF) {
		c->place = PLACE_PLAIN;
		return put(c, "\r", 1, err);
	} else {
		c->ending = ENDING_CR;
	}
	c->line++;
	*out_done = true;
	return end_field(c, err);
}

/* The mark may be cut between two blocks; what only looked like one is data. */
static int take_mark(struct csv *c, char ch, struct sb_error *err)
{
	if (ch == MARK[c->mark]) {
		c->at++;
		c->mark++;
		c->begun = c->mark == sizeof(MARK);
		return SB_OK;
	}
	c->begun = true;
	if (c->mark == 0)
		return SB_OK;
	c->place = PLACE_PLAIN;
	return put(c, MARK, c->mark, err);
}

static int step(struct csv *c, bool *out_done, struct sb_error *err)
{
	char ch = c->block[c->at];

	if (!c->begun)
		return take_mark(c, ch, err);
	switch (c->place) {
	case PLACE_QUOTE: return after_quote(c, ch, err);
	case PLACE_AFTER_CR: return after_cr(c, ch, out_done, err);
	case PLACE_START:
		if (ch == '"') {
			c->place = PLACE_QUOTED;
			c->at++;
			return SB_OK;
		}
		c->place = PLACE_PLAIN;
		return SB_OK;
	case PLACE_QUOTED:
		if (ch == '"') {
			c->place = PLACE_QUOTE;
			c->at++;
			return SB_OK;
		}
		return take_run(c, err);
	case PLACE_PLAIN: break;
	}
	if (plain_stop(ch))
		return take_stop(c, ch, out_done, err);
	return take_run(c, err);
}

static void begin_record(struct csv *c)
{
	c->record.text.len = 0;
	c->record.count = 0;
	c->record.start[0] = 0;
	c->record_line = c->line;
	c->place = PLACE_START;
}

/* The end of the file ends the last record too, unless it stands inside quotes. */
static int finish(struct csv *c, bool *out_done, struct sb_error *err)
{
	bool half_mark = !c->begun && c->mark > 0;
	bool empty = c->record.count == 0 && c->place == PLACE_START && !half_mark;
	int rc;

	c->begun = true;
	rc = half_mark ? put(c, MARK, c->mark, err) : SB_OK;
	if (rc != SB_OK)
		return rc;
	if (c->place == PLACE_QUOTED)
		return sb_fail_at(err, SB_EFORMAT, "truncated", c->in->path, c->record_line, c->offset,
		                  "the file ends inside a quoted field");
	if (empty)
		return SB_OK;
	*out_done = true;
	c->open_end = c->place != PLACE_AFTER_CR;
	return end_field(c, err);
}

static bool only_empty(const struct csv *c)
{
	return c->record.count == 1 && c->record.start[1] == 1;
}

static int read_record(struct csv *c, bool *out_done, struct sb_error *err)
{
	int rc = SB_OK;

	begin_record(c);
	while (rc == SB_OK && !*out_done) {
		if (c->at == c->len && !c->at_end) {
			rc = refill(c, err);
			continue;
		}
		if (c->ending == ENDING_LF && (c->place == PLACE_START || c->place == PLACE_PLAIN) &&
		    csv_fast(c)) {
			*out_done = true;
			break;
		}
		if (c->at_end)
			return finish(c, out_done, err);
		if (c->at < c->len)
			rc = step(c, out_done, err);
	}
	return rc;
}

int csv_next(struct csv *c, bool *out_more, struct sb_error *err)
{
	bool done;
	int rc;

	do {
		done = false;
		rc = read_record(c, &done, err);
		if (rc != SB_OK) {
			begin_record(c);
			c->cut = c->cut || rc == SB_EFORMAT;
			return rc == SB_ENOMEM ? sb_fail(err, rc, "no_memory", "out of memory") : rc;
		}
	} while (done && only_empty(c));
	c->cut = c->cut || (done && c->open_end && c->record.count < c->header.count);
	*out_more = done;
	return SB_OK;
}

size_t csv_count(const struct csv *c)
{
	return c->record.count;
}

static const char *field_of(const struct fields *f, size_t i, size_t *out_len)
{
	if (i >= f->count) {
		*out_len = 0;
		return "";
	}
	*out_len = f->start[i + 1] - f->start[i] - 1;
	return f->text.data + f->start[i];
}

const char *csv_field(const struct csv *c, size_t i, size_t *out_len)
{
	return field_of(&c->record, i, out_len);
}

bool csv_open_end(const struct csv *c)
{
	return c->open_end;
}

bool csv_cut(const struct csv *c)
{
	return c->cut;
}

int64_t csv_line(const struct csv *c)
{
	return c->record_line;
}

int csv_header(struct csv *c)
{
	c->header.text.len = 0;
	if (sb_buf_add(&c->header.text, c->record.text.data, c->record.text.len) != SB_OK)
		return SB_ENOMEM;
	memcpy(c->header.start, c->record.start, sizeof(c->header.start));
	c->header.count = c->record.count;
	return SB_OK;
}

const char *csv_trimmed(const struct csv *c, int column, size_t *out_len)
{
	const char *text = field_of(&c->record, column < 0 ? SIZE_MAX : (size_t)column, out_len);

	sb_trim(&text, out_len);
	return text;
}

size_t csv_header_count(const struct csv *c)
{
	return c->header.count;
}

int csv_column(const struct csv *c, const char *name)
{
	size_t want = strlen(name);

	for (size_t i = 0; i < c->header.count && i < INT_MAX; i++) {
		size_t len;
		const char *text = field_of(&c->header, i, &len);

		sb_trim(&text, &len);
		if (len == want && memcmp(text, name, len) == 0)
			return (int)i;
	}
	return -1;
}
