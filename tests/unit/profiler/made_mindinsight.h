#ifndef SB_TESTS_UNIT_PROFILER_MADE_MINDINSIGHT_H
#define SB_TESTS_UNIT_PROFILER_MADE_MINDINSIGHT_H
#include "tests/unit/profiler/judged.h"
#include "tests/unit/profiler/made_profile.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define STEP_HEAD "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail"
#define REDUCE(s) ",stream_" s "_start_point,stream_" s "_end_point,stream_" s

static inline void read_files(const struct text_file *files, size_t count, struct profile *p)
{
	struct sb_error err;

	if (read_texts(files, count, p, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
}

static inline void read_one(const char *path, const char *text, struct profile *p)
{
	const struct text_file f = {path, text, 0};

	read_files(&f, 1, p);
	assert_int_equal(p->count, 1);
	assert_int_equal(p->captures[0].format, FORMAT_MINDINSIGHT);
}

static inline const struct queue *queue_named(const struct capture *c, const char *name)
{
	for (size_t i = 0; i < c->queue_count; i++)
		if (strcmp(text_of(c, c->queues[i].name), name) == 0)
			return &c->queues[i];
	fail_msg("no queue %s", name);
	return NULL;
}
#endif
