#ifndef SB_TESTS_UNIT_PROFILER_KINETO_TEXT_H
#define SB_TESTS_UNIT_PROFILER_KINETO_TEXT_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/gpu_works.h"
#include "tests/one_capture.h"

/* Kineto traces read from texts in memory, by their reader alone. */
static inline int read_in_blocks(const char *path, const char *text, size_t len, size_t block,
                                 struct profile *out, struct sb_error *err)
{
	struct read_context ctx = {.profile = out, .capture = one_capture};
	struct memory_stream m;

	memory_stream_init(&m, path, text, len, block);
	return KINETO_READER.read(&ctx, &m.base, err);
}

/* Reads a text that must be a trace, and joins its kernels as profile_read() does. */
static inline void read_ok(const char *text, struct profile *out)
{
	assert_int_equal(read_in_blocks("a.json", text, strlen(text), 0, out, NULL), SB_OK);
	assert_int_equal(out->count, 1);
	assert_int_equal(out->captures[0].format, FORMAT_KINETO);
	assert_int_equal(gpu_works_join(&out->captures[0]), SB_OK);
}

static inline const struct warning *warning_of(const struct profile *p, const char *code)
{
	for (size_t i = 0; i < p->warnings.count; i++) {
		if (strcmp(p->warnings.items[i].code, code) == 0)
			return &p->warnings.items[i];
	}
	return NULL;
}
#endif
