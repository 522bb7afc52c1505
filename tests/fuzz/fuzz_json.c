#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a run over the tokens comes to: equal for equal input, whatever the blocks. */
struct outcome {
	uint64_t hash, tokens;
	int rc;
	int64_t offset;
	struct jpull_flaws flaws;
};

static void mix(struct outcome *o, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		o->hash = (o->hash ^ p[i]) * 1099511628211u;
}

static struct outcome read_tokens(const char *text, size_t len, size_t block)
{
	struct outcome o = {.hash = 14695981039346656037u};
	static const char *const KEYS[] = {"ph", "name", "ts", "cat", NULL};
	struct memory_stream m;
	struct jpull_value v = {0};
	struct sb_error err = {0};
	JPULL_AUTO j = NULL;

	memory_stream_init(&m, "fuzz", text, len, block);
	if (jpull_new(&m.base, &j) != SB_OK)
		abort();
	do {
		o.rc = jpull_next(j, &v, &err);
		if (o.rc != SB_OK)
			break;
		mix(&o, &v.token, sizeof(v.token));
		mix(&o, &v.offset, sizeof(v.offset));
		mix(&o, v.text, v.len);
		if (++o.tokens > 2 * len + 2)
			abort();
	} while (v.token != JPULL_END);
	o.offset = o.rc == SB_OK ? -1 : err.offset;
	o.flaws = *jpull_flaws(j);
	/* going on after an error must end, too */
	while (o.rc == SB_EFORMAT && strcmp(err.word, "bad_json") == 0 &&
	       jpull_recover(j, 2, KEYS, &err) == SB_OK) {
		while ((o.rc = jpull_next(j, &v, &err)) == SB_OK && v.token != JPULL_END)
			mix(&o, v.text, v.len);
		mix(&o, &o.rc, sizeof(o.rc));
	}
	return o;
}

static struct outcome drop_all(const char *text, size_t len, size_t block)
{
	struct outcome o = {0};
	struct memory_stream m;
	struct jpull_value v = {0};
	struct sb_error err = {0};
	JPULL_AUTO j = NULL;

	memory_stream_init(&m, "fuzz", text, len, block);
	if (jpull_new(&m.base, &j) != SB_OK)
		abort();
	o.rc = jpull_drop(j, &err);
	if (o.rc == SB_OK)
		o.rc = jpull_next(j, &v, &err);
	o.offset = o.rc == SB_OK ? -1 : err.offset;
	o.flaws = *jpull_flaws(j);
	return o;
}

/* The first byte picks the size of the blocks. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, pieces, dropped;
	const char *text;
	size_t block;

	if (size < 1)
		return 0;
	block = (size_t)data[0] % 64 + 1;
	text = (const char *)data + 1;
	whole = read_tokens(text, size - 1, 0);
	pieces = read_tokens(text, size - 1, block);
	dropped = drop_all(text, size - 1, block);
	if (whole.hash != pieces.hash || whole.tokens != pieces.tokens || whole.rc != pieces.rc ||
	    whole.offset != pieces.offset || memcmp(&whole.flaws, &pieces.flaws, sizeof(whole.flaws)) != 0)
		abort();
	if (dropped.offset != whole.offset || memcmp(&whole.flaws, &dropped.flaws, sizeof(whole.flaws)) != 0)
		abort();
	return 0;
}
