#include "profiler/read/cluster_analysis.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend.h"

#define NAMED_RANKS 8 /* a longer list is cut after these */

int cluster_capture(struct read_context *ctx, const char *path, int64_t rank, struct capture **out,
                    struct sb_error *err)
{
	struct capture *cap;
	char key[2048];
	int rc;

	snprintf(key, sizeof(key), "%.*srank %" PRId64, (int)(path_base(path) - path), path, rank);
	rc = ctx->capture(ctx, key, FORMAT_CLUSTER_ANALYSIS, &cap);
	if (rc != SB_OK)
		return sb_fail_at(err, rc, "no_memory", path, 0, -1, "out of memory");
	cap->rank = rank;
	*out = cap;
	return SB_OK;
}

static bool is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

int64_t cluster_next_rank(const char *text, size_t len, size_t *at)
{
	size_t from;
	int64_t v;

	while (*at < len && !is_digit(text[*at]))
		(*at)++;
	from = *at;
	while (*at < len && is_digit(text[*at]))
		(*at)++;
	if (from == *at)
		return SB_NULL;
	if (sb_parse_int(text + from, *at - from, &v) == SB_OK && v <= INT32_MAX)
		return v;
	*at = len;
	return SB_NULL;
}

/* 64-bit FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t mix(uint64_t sum, int64_t rank)
{
	for (int i = 0; i < 4; i++)
		sum = (sum ^ (uint64_t)(rank >> (8 * i) & 0xff)) * UINT64_C(0x100000001b3);
	return sum;
}

void cluster_group_name(const char *text, size_t len, char *out, size_t size)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);
	char first[NAMED_RANKS * 13];
	size_t at = 0, used = 0, count = 0;
	int64_t rank;

	if (len == 0 || (text[0] != '(' && text[0] != '[')) {
		snprintf(out, size, "%.*s", (int)(len < CLUSTER_GROUP_MAX ? len : CLUSTER_GROUP_MAX), text);
		return;
	}
	while ((rank = cluster_next_rank(text, len, &at)) != SB_NULL) {
		if (count < NAMED_RANKS)
			used += (size_t)snprintf(first + used, sizeof(first) - used, "%s%" PRId64,
			                         count > 0 ? ", " : "", rank);
		sum = mix(sum, rank);
		count++;
	}
	if (count <= NAMED_RANKS)
		snprintf(out, size, "(%.*s)", (int)used, first);
	else
		snprintf(out, size, "(%.*s, ... %zu ranks, %08" PRIx32 ")", (int)used, first, count,
		         (uint32_t)(sum ^ sum >> 32));
}
