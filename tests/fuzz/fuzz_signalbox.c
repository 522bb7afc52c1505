#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/reader.h"
#include "tests/one_capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_blocks(const char *text, size_t len, size_t block, struct profile *out)
{
	struct read_context ctx = {.profile = out, .capture = one_capture};
	struct memory_stream m;
	struct sb_error err = {0};
	int rc;

	memory_stream_init(&m, "a.json", text, len, block);
	rc = SIGNALBOX_READER.read(&ctx, &m.base, &err);
	if ((rc != SB_OK) != (err.word[0] != '\0') || (rc == SB_OK) != (out->count == 1))
		abort();
	return rc;
}

static void check(const struct capture *c)
{
	const struct trace *t = &c->trace;
	size_t texts = sb_strings_count(t->strings);

	if (t->count == 0)
		abort();
	for (size_t i = 0; i < t->count; i++) {
		if (t->lane[i] >= t->lane_count || t->kind[i] >= EVENT_KIND_COUNT || t->dur_ns[i] < 0 ||
		    t->name[i] >= texts || t->link[i] < -1)
			abort();
	}
	for (size_t i = 0; i < t->detail_count; i++) {
		const struct event_detail *d = &t->details[i];

		if (d->event >= t->count || (i > 0 && d->event <= t->details[i - 1].event) ||
		    d->type >= texts || d->group >= texts || d->ranks >= texts ||
		    (d->bytes < 0 && d->bytes != SB_NULL))
			abort();
	}
	for (size_t i = 0; i < t->lane_count; i++)
		if (t->lanes[i].process >= texts || t->lanes[i].thread >= texts || t->lanes[i].device < -1)
			abort();
	for (size_t i = 0; i < c->step_count; i++)
		if (c->steps[i].number < 0 || c->steps[i].dur_ns < 0)
			abort();
}

static void compare(const struct profile *a, const struct profile *b)
{
	const struct trace *x = &a->captures[0].trace, *y = &b->captures[0].trace;

	if (x->count != y->count || x->lane_count != y->lane_count || x->detail_count != y->detail_count ||
	    a->warnings.count != b->warnings.count ||
	    a->captures[0].step_count != b->captures[0].step_count ||
	    memcmp(x->start_ns, y->start_ns, x->count * sizeof(*x->start_ns)) != 0 ||
	    memcmp(x->name, y->name, x->count * sizeof(*x->name)) != 0)
		abort();
}

/* The first byte picks the size of the blocks: the answer must not depend on it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	PROFILE_AUTO whole = {0};
	PROFILE_AUTO pieces = {0};
	const char *text = (const char *)data + 1;
	int rc;

	if (size < 1)
		return 0;
	rc = read_blocks(text, size - 1, 0, &whole);
	if (read_blocks(text, size - 1, (size_t)data[0] % 64 + 1, &pieces) != rc)
		abort();
	if (rc == SB_OK) {
		check(&whole.captures[0]);
		compare(&whole, &pieces);
	}
	return 0;
}
