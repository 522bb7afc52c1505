#include "profiler/read/cluster_analysis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend_links.h"

#define NAMED_RANKS 8 /* a longer list is cut after these */

void cluster_key(const char *path, int64_t rank, char *out, size_t size)
{
	const char *base = path_base(path);

	snprintf(out, size, "%.*srank %" PRId64, (int)(base - path), path, rank);
}

int cluster_capture(struct read_context *ctx, const char *path, int64_t rank, struct capture **out,
                    struct sb_error *err)
{
	struct capture *cap;
	char key[2048];
	int rc;

	cluster_key(path, rank, key, sizeof(key));
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

/* A row and where it stands among those of its kind. */
struct row {
	int64_t step, name, group;
	size_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	const int64_t left[] = {x->step, x->name, x->group, (int64_t)x->at};
	const int64_t right[] = {y->step, y->name, y->group, (int64_t)y->at};

	return sb_compare(left, right, 4);
}

/* twice[i]: a row before row i has its key. SB_ENOMEM. */
static int find_twice(struct row *rows, size_t n, bool **out_twice)
{
	bool *twice = calloc(n + 1, sizeof(*twice));

	if (!twice)
		return SB_ENOMEM;
	qsort(rows, n, sizeof(*rows), by_key);
	for (size_t i = 1; i < n; i++)
		twice[rows[i].at] = rows[i].step == rows[i - 1].step && rows[i].name == rows[i - 1].name &&
		                    rows[i].group == rows[i - 1].group;
	*out_twice = twice;
	return SB_OK;
}

static int drop_steps(struct capture *c, struct row *rows)
{
	bool *twice;
	size_t kept = 0;

	for (size_t i = 0; i < c->step_trace_count; i++)
		rows[i] = (struct row){.step = c->step_traces[i].step, .at = i};
	if (find_twice(rows, c->step_trace_count, &twice) != SB_OK)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->step_trace_count; i++)
		if (!twice[i])
			c->step_traces[kept++] = c->step_traces[i];
	c->step_trace_count = kept;
	free(twice);
	return SB_OK;
}

static int drop_operators(struct capture *c, struct row *rows)
{
	bool *twice;
	size_t kept = 0;

	for (size_t i = 0; i < c->communication_count; i++) {
		const struct communication_op *op = &c->communications[i];

		rows[i] = (struct row){op->step, op->name, op->group, i};
	}
	if (find_twice(rows, c->communication_count, &twice) != SB_OK)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->communication_count; i++) {
		if (twice[i])
			communication_op_free(&c->communications[i]);
		else
			c->communications[kept++] = c->communications[i];
	}
	c->communication_count = kept;
	free(twice);
	return SB_OK;
}

int cluster_finish(struct capture *c)
{
	size_t n =
	    c->step_trace_count > c->communication_count ? c->step_trace_count : c->communication_count;
	struct row *rows;
	int rc;

	if (n < 2)
		return SB_OK;
	rows = calloc(n, sizeof(*rows));
	if (!rows)
		return SB_ENOMEM;
	rc = drop_steps(c, rows);
	if (rc == SB_OK)
		rc = drop_operators(c, rows);
	free(rows);
	return rc;
}
