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
	struct sb_error err;

	memory_stream_init(&m, "rank1.json", text, len, block);
	return KINETO_READER.read(&ctx, &m.base, &err);
}

static void check(const struct trace *t)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->lane[i] >= t->lane_count || t->kind[i] >= EVENT_KIND_COUNT || t->dur_ns[i] < 0 ||
		    t->name[i] >= sb_strings_count(t->strings))
			abort();
	}
	for (size_t i = 0; i < t->detail_count; i++) {
		if (t->details[i].event >= t->count ||
		    (i > 0 && t->details[i].event <= t->details[i - 1].event))
			abort();
	}
}

static void compare(const struct profile *a, const struct profile *b)
{
	const struct trace *x = &a->captures[0].trace, *y = &b->captures[0].trace;

	if (x->count != y->count || x->lane_count != y->lane_count || x->detail_count != y->detail_count ||
	    a->warnings.count != b->warnings.count || a->captures[0].step_count != b->captures[0].step_count)
		abort();
	if (memcmp(x->start_ns, y->start_ns, x->count * sizeof(*x->start_ns)) != 0 ||
	    memcmp(x->name, y->name, x->count * sizeof(*x->name)) != 0)
		abort();
	check(x);
}

/* The first byte picks the size of the blocks: the answer must not depend on it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	PROFILE_AUTO whole = {0};
	PROFILE_AUTO pieces = {0};
	struct sniff s = {.path = "x"};
	const char *text;
	size_t len;
	int rc;

	if (size < 1)
		return 0;
	text = (const char *)data + 1;
	len = size - 1;
	s.head = text;
	s.len = len < SNIFF_BYTES ? len : SNIFF_BYTES;
	s.whole = s.len == len;
	(void)KINETO_READER.sniff(&s);
	rc = read_blocks(text, len, 0, &whole);
	if (read_blocks(text, len, (size_t)data[0] % 64 + 1, &pieces) != rc)
		abort();
	if (rc == SB_OK)
		compare(&whole, &pieces);
	return 0;
}
