#ifndef SB_TESTS_UNIT_PROFILER_ASKED_H
#define SB_TESTS_UNIT_PROFILER_ASKED_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "profiler/activity.h"
#include "profiler/breakdown.h"
#include "profiler/communication.h"
#include "profiler/operators.h"
#include "tests/unit/profiler/made_profile.h"

/* Traces written down in a test, read as an upload is and asked for their answers. */
struct asked {
	struct profile p;
	struct breakdown b;
	struct operator_table o;
	struct communication_report c;
};

static inline void asked_free(struct asked *a)
{
	communication_free(&a->c);
	operators_free(&a->o);
	breakdown_free(&a->b);
	profile_free(&a->p);
}
#define ASKED_AUTO __attribute__((cleanup(asked_free))) struct asked

static inline void ask_files(const struct text_file *files, size_t count, struct asked *out)
{
	struct sb_error err = {0};

	if (read_texts(files, count, &out->p, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	assert_int_equal(breakdown_compute(&out->p, &out->p.warnings, &out->b, &err), SB_OK);
	assert_int_equal(operators_collect(&out->p, &out->o, &err), SB_OK);
	assert_int_equal(communication_compute(&out->p, 0.2, &out->c, &err), SB_OK);
}

static inline void ask(const char *name, const char *text, struct asked *out)
{
	const struct text_file file = {name, text, 0};

	ask_files(&file, 1, out);
}

/* The row of the whole capture, of the first device. */
static inline const struct breakdown_row *whole(const struct asked *a)
{
	for (size_t i = 0; i < a->b.count; i++)
		if (a->b.rows[i].step == SB_NULL)
			return &a->b.rows[i];
	fail_msg("there is no row of the whole capture");
	return NULL;
}

/* One event of each sort; times as they stand in the file. */
#define EVENT(cat, name, pid, tid, ts, dur, args)                                                            \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts \
	",\"dur\":" dur ",\"args\":{" args "}}"
#define CORRELATION(n) "\"correlation\":" n
#define HOST(name, ts, dur) EVENT("cpu_op", name, "9", "9", ts, dur, "")
#define LAUNCH(name, ts, dur, n) EVENT("cuda_runtime", name, "9", "9", ts, dur, CORRELATION(n))
#define KERNEL(name, ts, dur, n)                                                                             \
	EVENT("kernel", name, "0", "7", ts, dur, "\"device\":0,\"stream\":7," CORRELATION(n))
#define STEP(n, ts, dur) EVENT("user_annotation", "ProfilerStep#" n, "9", "9", ts, dur, "")
#define TRACE(events) "{\"schemaVersion\":1,\"traceEvents\":[" events "]}"
#endif
