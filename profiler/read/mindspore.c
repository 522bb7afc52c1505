#include <string.h>

#include "base/num.h"
#include "profiler/read/mindinsight.h"

/* MindSpore's profiler writes the directories of the PyTorch profiler under names of its own (research page
 * ascend-formats 2.1). */

#define SUFFIX "_ascend_ms"
#define RANK_MARK "rank-"

static bool by_directory(const char *source)
{
	size_t len = strlen(source), n = strlen(SUFFIX);

	return len >= n && strcmp(source + len - n, SUFFIX) == 0;
}

static bool by_lane(const struct trace *t)
{
	for (size_t i = 0; i < t->lane_count; i++)
		if (strcmp(trace_text(t, t->lanes[i].process, NULL), "MindSpore") == 0)
			return true;
	return false;
}

/* "rank-3_20240131101530123_ascend_ms", before directories were named by host and process. */
static int64_t rank_of_directory(const char *source)
{
	const char *base = path_base(source);
	size_t n = strlen(RANK_MARK);

	return strncmp(base, RANK_MARK, n) == 0 ? path_number(base + n, '_') : SB_NULL;
}

void mindspore_finish(struct capture *c)
{
	bool directory = by_directory(c->source);

	if (c->format == FORMAT_ASCEND_TEXT && (directory || c->mindspore || by_lane(&c->trace)))
		c->format = FORMAT_MINDSPORE_TEXT;
	/* {R} is the rank among all hosts: two such directories of one rank are captures of one rank */
	if (directory && c->rank == SB_NULL) {
		c->rank = rank_of_directory(c->source);
		c->rank_from = RANK_METADATA;
	}
	if (c->queue_count > 0)
		mindinsight_unite_queues(c);
}
