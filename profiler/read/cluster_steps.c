#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend.h"
#include "profiler/read/cluster_analysis.h"

/* cluster_step_trace_time.csv (research page ascend-formats 4). A row of type stage is the maximum of each
 * column over its ranks: it belongs to nobody, and tells only which ranks make up the stage. */

/* Rows hold within 1 us (samples: expected.md 6.2): each number lost its last digits on its own. */
#define TOLERANCE_NS 1000

static const char *const MARKS[] = {"Step", "Type", "Index", "Computing", NULL};
/* newer versions name the place of a rank in each kind of group */
static const char *const STAGE[] = {"pp_index", NULL};

struct member {
	int64_t rank, first; /* the lowest rank of its stage */
};

struct reading {
	struct read_context *ctx;
	struct stream *in;
	struct csv *c;
	struct sb_error *err;
	struct known {
		int64_t rank;
		struct capture *cap;
	} * ranks;
	size_t rank_count;
	struct member *members;
	size_t member_count;
};

static void free_reading(struct reading *r)
{
	csv_free(&r->c);
	free(r->ranks);
	free(r->members);
}

static int sniff(const struct sniff *s)
{
	bool named = path_is(s->path, "cluster_step_trace_time", ".csv");

	if (!sniff_columns(s, MARKS))
		return SNIFF_NO;
	return named ? SNIFF_SURE : SNIFF_CONTENT;
}

static int no_memory(struct reading *r)
{
	return sb_fail(r->err, SB_ENOMEM, "no_memory", "out of memory");
}

static int rank_row(struct reading *r)
{
	struct known k;
	const char *column = "";
	int64_t stage;
	int rc;

	if (csv_int(r->c, csv_column(r->c, "Index"), &k.rank) != SB_OK || k.rank < 0 || k.rank > INT32_MAX) {
		ascend_bad_value(r->ctx, r->c, r->in, "Index", "the row is left out");
		return SB_OK;
	}
	rc = cluster_capture(r->ctx, r->in->path, k.rank, &k.cap, r->err);
	if (rc != SB_OK)
		return rc;
	rc = ascend_step_row(k.cap, r->c, &column);
	if (rc == SB_ENOENT) {
		ascend_bad_value(r->ctx, r->c, r->in, column, "the row is left out");
		return SB_OK;
	}
	if (rc != SB_OK)
		return no_memory(r);
	ascend_step_check(r->ctx, r->c, r->in, k.cap, TOLERANCE_NS);
	if (csv_int(r->c, csv_column_any(r->c, STAGE), &stage) == SB_OK && stage >= 0)
		k.cap->stage = stage;
	if (sb_grow(&r->ranks, r->rank_count, sizeof(k)) != SB_OK)
		return no_memory(r);
	r->ranks[r->rank_count++] = k;
	return SB_OK;
}

static int stage_row(struct reading *r)
{
	size_t len, at = 0, from = r->member_count;
	const char *text = csv_trimmed(r->c, csv_column(r->c, "Index"), &len);
	struct member m = {.first = SB_NULL};
	int64_t first = INT64_MAX;

	while ((m.rank = cluster_next_rank(text, len, &at)) != SB_NULL) {
		if (sb_grow(&r->members, r->member_count, sizeof(m)) != SB_OK)
			return no_memory(r);
		r->members[r->member_count++] = m;
		first = m.rank < first ? m.rank : first;
	}
	for (size_t i = from; i < r->member_count; i++)
		r->members[i].first = first;
	return SB_OK;
}

static int one_row(struct reading *r)
{
	size_t len;
	const char *type = csv_trimmed(r->c, csv_column(r->c, "Type"), &len);

	if (len == 4 && memcmp(type, "rank", 4) == 0)
		return rank_row(r);
	if (len == 5 && memcmp(type, "stage", 5) == 0)
		return stage_row(r);
	ascend_bad_value(r->ctx, r->c, r->in, "Type", "the row is left out");
	return SB_OK;
}

static int by_first(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	const int64_t left[] = {x->first, x->rank}, right[] = {y->first, y->rank};

	return sb_compare(left, right, 2);
}

static int by_rank(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Stages are numbered by their lowest ranks: Megatron gives the first stage the first ranks. */
static void set_stages(struct reading *r)
{
	int64_t stage = -1;

	if (r->member_count == 0 || r->rank_count == 0)
		return;
	qsort(r->members, r->member_count, sizeof(*r->members), by_first);
	qsort(r->ranks, r->rank_count, sizeof(*r->ranks), by_rank);
	for (size_t i = 0; i < r->member_count; i++) {
		const struct known want = {.rank = r->members[i].rank};
		const struct known *k;

		stage += i == 0 || r->members[i].first != r->members[i - 1].first;
		k = bsearch(&want, r->ranks, r->rank_count, sizeof(*r->ranks), by_rank);
		if (k && k->cap->stage == SB_NULL)
			k->cap->stage = stage;
	}
}

static int read_steps(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	__attribute__((cleanup(free_reading))) struct reading r = {.ctx = ctx, .in = in, .err = err};
	bool more = true;
	int rc = ascend_csv_open(in, MARKS, &r.c, err);

	if (rc == SB_OK)
		ascend_columns(ctx, r.c, in, ASCEND_STEPS);
	while (rc == SB_OK && more) {
		rc = ascend_csv_row(ctx, r.c, in, &more, err);
		if (rc == SB_OK && more)
			rc = one_row(&r);
	}
	if (rc == SB_OK)
		set_stages(&r);
	return rc;
}

const struct format_reader CLUSTER_STEPS_READER = {.name = "cluster_step_trace_time.csv",
                                                   .format = FORMAT_CLUSTER_ANALYSIS,
                                                   .sniff = sniff,
                                                   .read = read_steps};
