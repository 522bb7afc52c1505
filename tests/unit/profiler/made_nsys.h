#ifndef SB_TESTS_UNIT_PROFILER_MADE_NSYS_H
#define SB_TESTS_UNIT_PROFILER_MADE_NSYS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

/* Exports of Nsight Systems made by statements. */

/* pid 7, threads 70 and 71; pid 8, thread 80 */
#define P7 "(7 << 24)"
#define T70 "((7 << 24) + 70)"
#define T80 "((8 << 24) + 80)"
#define STRINGS "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
#define KERNELS                                                                                              \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "            \
	"contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, "                    \
	"demangledName INTEGER, shortName INTEGER);"
#define CALLS                                                                                                \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "          \
	"correlationId INTEGER, nameId INTEGER);"
#define RANGES                                                                                               \
	"CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "               \
	"globalTid INTEGER, textId INTEGER);"

static inline int read_sql(const char *path, const char *sql, struct profile *out, struct sb_error *err)
{
	MADE_AUTO db = made_database(sql);
	const struct text_file file = {path, db.data, db.len};

	return read_texts(&file, 1, out, err);
}

/* The first event of this name; its index. */
static inline size_t event_of(const struct capture *c, const char *name)
{
	for (size_t i = 0; i < c->trace.count; i++) {
		if (strcmp(text_of(c, c->trace.name[i]), name) == 0)
			return i;
	}
	fail_msg("no event \"%s\"", name);
	return 0;
}

static inline void assert_event(const struct capture *c, const char *name, int kind, int64_t start,
                                int64_t dur)
{
	size_t i = event_of(c, name);

	assert_int_equal(c->trace.kind[i], kind);
	assert_int_equal(c->trace.start_ns[i], start);
	assert_int_equal(c->trace.dur_ns[i], dur);
}
#endif
