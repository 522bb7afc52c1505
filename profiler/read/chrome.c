#include "profiler/read/chrome.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/read/chrome_impl.h"

int chrome_open(struct stream *in, struct warnings *warnings, const struct chrome_options *options,
                struct chrome **out)
{
	struct chrome *c = calloc(1, sizeof(*c));

	if (!c)
		return SB_ENOMEM;
	c->in = in;
	c->warnings = warnings;
	c->options = *options;
	c->text = malloc(CHROME_TEXT_MAX);
	if (!c->text || jpull_new(in, &c->j) != SB_OK) {
		chrome_close(&c);
		return SB_ENOMEM;
	}
	chrome_index_args(c);
	*out = c;
	return SB_OK;
}

void chrome_close(struct chrome **c)
{
	if (!*c)
		return;
	jpull_free(&(*c)->j);
	free((*c)->text);
	free(*c);
	*c = NULL;
}

static int not_a_trace(struct chrome *c, const char *what)
{
	return sb_fail_at(&c->err, SB_EFORMAT, "not_a_trace", c->in->path, 0, jpull_offset(c->j),
	                  "The file is no trace: %s.", what);
}

/* Nothing may follow the document. */
static int expect_end(struct chrome *c)
{
	struct jpull_value v;
	int rc = jpull_next(c->j, &v, &c->err);

	if (rc == SB_OK)
		c->phase = PHASE_DONE;
	return rc;
}

static int read_start(struct chrome *c)
{
	struct jpull_value v;
	int rc = jpull_next(c->j, &v, &c->err);

	if (rc != SB_OK)
		return rc;
	if (v.token != JPULL_OBJECT && v.token != JPULL_ARRAY)
		return not_a_trace(c, "it holds neither an object nor a list");
	c->bare = v.token == JPULL_ARRAY;
	c->depth = c->bare ? 1 : 2;
	c->phase = c->bare ? PHASE_EVENTS : PHASE_BEFORE;
	return SB_OK;
}

/* The value of traceEvents. */
static int begin_events(struct chrome *c)
{
	struct jpull_value v;
	int rc = jpull_next(c->j, &v, &c->err);

	if (rc != SB_OK)
		return rc;
	if (v.token != JPULL_ARRAY)
		return not_a_trace(c, "its \"traceEvents\" is no list");
	c->phase = PHASE_EVENTS;
	return SB_OK;
}

static int read_member(struct chrome *c)
{
	struct jpull_value v;
	bool done = false;
	int rc = jpull_next(c->j, &v, &c->err);

	if (rc != SB_OK)
		return rc;
	if (v.token == JPULL_OBJECT_END)
		return c->phase == PHASE_BEFORE ? not_a_trace(c, "it has no \"traceEvents\"") : expect_end(c);
	if (v.len == 11 && memcmp(v.text, "traceEvents", 11) == 0) {
		if (c->phase == PHASE_BEFORE)
			return begin_events(c);
		/* the first list is used up by now: it cannot be taken back */
		jpull_note(&c->duplicate, v.offset);
	} else if (c->options.member) {
		rc = c->options.member(c->options.self, c->j, v.text, v.len, &done, &c->err);
		if (rc != SB_OK)
			return rc;
	}
	return done ? SB_OK : jpull_drop(c->j, &c->err);
}

static int read_element(struct chrome *c, bool *out_got)
{
	struct jpull_value v;
	bool any = false;
	int rc = jpull_next(c->j, &v, &c->err);

	if (rc != SB_OK)
		return rc;
	if (v.token == JPULL_ARRAY_END) {
		c->phase = PHASE_AFTER;
		return c->bare ? expect_end(c) : SB_OK;
	}
	if (v.token != JPULL_OBJECT) {
		jpull_note(&c->not_event, v.offset);
		return jpull_skip(c->j, &v, &c->err);
	}
	rc = chrome_read_event(c, v.offset, &any);
	if (rc == SB_OK && any) {
		c->counts.events++;
		*out_got = true;
	}
	return rc;
}

static bool is_word(const struct chrome *c, int rc, const char *word)
{
	return rc == SB_EFORMAT && strcmp(c->err.word, word) == 0;
}

static void end_cut(struct chrome *c)
{
	int64_t offset = c->err.offset >= 0 ? c->err.offset : jpull_offset(c->j);

	warnings_add(c->warnings, "truncated", c->in->path, 0, offset,
	             "The file ends too early, at byte %lld; the %llu events before that were read.",
	             (long long)offset, (unsigned long long)c->counts.events);
	c->counts.cut = true;
	c->phase = PHASE_DONE;
}

/* Looks for the next event behind a broken one. */
static int go_on(struct chrome *c)
{
	static const char *const KEYS[] = {"ph",   "cat", "name", "pid", "tid", "ts", "dur",
	                                   "args", "id",  "bp",   "s",   "tts", "sf", NULL};
	int rc = jpull_recover(c->j, c->depth, KEYS, &c->err);

	if (rc == SB_OK)
		c->phase = PHASE_EVENTS;
	return rc;
}

static int mend(struct chrome *c)
{
	int64_t offset = c->err.offset;
	int rc;

	switch (c->phase) {
	case PHASE_EVENTS:
		c->counts.lost++;
		jpull_note(&c->lost, offset);
		return go_on(c);
	case PHASE_BEFORE:
		jpull_note(&c->broken_metadata, offset);
		rc = jpull_recover_member(c->j, "traceEvents", NULL);
		if (rc != SB_OK)
			return SB_EFORMAT; /* the first error says more */
		return begin_events(c);
	case PHASE_AFTER:
		/* after a broken event the end of the list may have been a wrong guess */
		if (c->counts.lost > 0 && go_on(c) == SB_OK)
			return SB_OK;
		jpull_note(&c->broken_metadata, offset);
		c->phase = PHASE_DONE;
		return SB_OK;
	case PHASE_START:
	case PHASE_DONE: break;
	}
	return SB_EFORMAT;
}

static int step(struct chrome *c, bool *out_got)
{
	switch (c->phase) {
	case PHASE_START: return read_start(c);
	case PHASE_BEFORE:
	case PHASE_AFTER: return read_member(c);
	case PHASE_EVENTS: return read_element(c, out_got);
	case PHASE_DONE: break;
	}
	return SB_OK;
}

static void report(struct chrome *c)
{
	struct warnings *w = c->warnings;
	const char *path = c->in->path;

	if (c->reported)
		return;
	c->reported = true;
	jpull_warn(w, path, &c->lost, "broken_event", "An event is not JSON and was left out.");
	jpull_warn(w, path, &c->broken_metadata, "broken_metadata",
	           "A part beside the events is not JSON and was left out.");
	jpull_warn(w, path, &c->not_event, "not_an_event",
	           "The list of events holds something that is no event.");
	jpull_warn(w, path, &c->duplicate, "duplicate_key",
	           "A key stands twice in one object; the last one counts.");
	jpull_report(c->j, path, w);
	if (jpull_flaws(c->j)->long_string.count == 0)
		jpull_warn(w, path, &c->long_text, "long_text", "A text is too long and was cut.");
}

int chrome_next(struct chrome *c, const struct chrome_event **out_event, struct sb_error *err)
{
	bool got = false;

	while (!got && c->phase != PHASE_DONE) {
		int rc = step(c, &got);

		if (is_word(c, rc, "bad_json"))
			rc = mend(c);
		if (is_word(c, rc, "truncated") && (c->phase == PHASE_EVENTS || c->phase == PHASE_AFTER)) {
			end_cut(c);
			rc = SB_OK;
		}
		if (rc != SB_OK) {
			c->phase = PHASE_DONE;
			c->reported = true;
			if (err)
				*err = c->err;
			return rc;
		}
	}
	if (!got)
		report(c);
	*out_event = got ? &c->event : NULL;
	return SB_OK;
}

const struct chrome_counts *chrome_counts(const struct chrome *c)
{
	return &c->counts;
}

void chrome_warn(struct read_context *ctx, const struct stream *in, const struct chrome_event *e,
                 const char *code, const char *text)
{
	warnings_add(&ctx->profile->warnings, code, in->path, 0, e->offset, "%s", text);
}

int64_t chrome_int(const struct chrome_text *t)
{
	int64_t v;

	return sb_parse_int(t->text, t->len, &v) == SB_OK ? v : SB_NULL;
}

bool chrome_is(const struct chrome_text *t, const char *text)
{
	return t->len == strlen(text) && memcmp(t->text, text, t->len) == 0;
}
