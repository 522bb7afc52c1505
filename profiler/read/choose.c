#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend_counters.h"
#include "profiler/read/collect.h"
#include "profiler/read/merge.h"
#include "profiler/read/environment.h"
#include "profiler/read/group_use.h"
#include "profiler/read/mindinsight.h"

/* Sums by operator type are only there to be compared with events: alone they answer nothing. */
static bool without_data(const struct capture *c)
{
	/* … but such a capture may have nothing else to answer from */
	if (capture_format_facts(c->format)->sparse_timeline && c->op_statistic_count > 0)
		return false;
	return c->trace.count == 0 && c->kernel_count == 0 && c->step_trace_count == 0 &&
	       c->communication_count == 0 && c->api_count == 0 && c->iteration_count == 0 &&
	       c->queue_count == 0 && c->memory_count == 0;
}

int64_t capture_stamp(const char *source)
{
	static const char *const ends[] = {"_ascend_pt", "_ascend_ms"};
	size_t len = strlen(source), digits = 0;
	int64_t v;

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(ends[i]);

		if (len > n && strcmp(source + len - n, ends[i]) == 0)
			len -= n;
	}
	while (digits < len && source[len - digits - 1] >= '0' && source[len - digits - 1] <= '9')
		digits++;
	if (len == strlen(source) || (digits != 14 && digits != 17) ||
	    sb_parse_int(source + len - digits, digits, &v) != SB_OK)
		return 0;
	/* the older stamp ends with the second, the newer one with the millisecond */
	return digits == 14 ? v * 1000 : v;
}

static int64_t latest_start(const struct capture *c)
{
	int64_t latest = SB_NULL;

	for (size_t i = 0; i < c->trace.count; i++) {
		if (c->trace.start_ns[i] > latest)
			latest = c->trace.start_ns[i];
	}
	for (size_t i = 0; i < c->kernel_count; i++) {
		if (c->kernels[i].start_ns > latest)
			latest = c->kernels[i].start_ns;
	}
	return latest;
}

static bool has_events(const struct capture *c)
{
	return c->trace.count > 0 || c->kernel_count > 0;
}

/* Is a the better one of two captures of one rank? Both hold data. */
static bool better(const struct capture *a, const struct capture *b)
{
	int64_t x = capture_stamp(a->source), y = capture_stamp(b->source);

	if (has_events(a) != has_events(b))
		return has_events(a);
	if (x != 0 && y != 0 && x != y)
		return x > y;
	x = latest_start(a);
	y = latest_start(b);
	return x != y ? x > y : a->format < b->format;
}

static int by_source(const void *a, const void *b)
{
	const struct capture *x = *(struct capture *const *)a, *y = *(struct capture *const *)b;
	int c = strcmp(x->source, y->source);

	return c != 0 ? c : (int)x->format - (int)y->format;
}

static int by_rank(const void *a, const void *b)
{
	const struct capture *x = *(struct capture *const *)a, *y = *(struct capture *const *)b;

	if ((x->rank == SB_NULL) != (y->rank == SB_NULL))
		return x->rank == SB_NULL ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return by_source(a, b);
}

static int by_place(const void *a, const void *b)
{
	const struct warning *x = a, *y = b;
	int c = strcmp(x->file, y->file);

	if (c != 0)
		return c;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	c = strcmp(x->code, y->code);
	return c != 0 ? c : strcmp(x->detail, y->detail);
}

static void drop(struct gathering *g, size_t i, const char *reason)
{
	profile_left_out(&g->profile, g->list[i]->source, reason);
	capture_discard(&g->list[i]);
}

/* Moves what is left to the front. */
static void close_gaps(struct gathering *g)
{
	size_t kept = 0;

	for (size_t i = 0; i < g->count; i++) {
		if (g->list[i])
			g->list[kept++] = g->list[i];
	}
	g->count = kept;
}

static bool of_cluster(const struct capture *c)
{
	return capture_format_facts(c->format)->whole_cluster;
}

/* Files of a whole cluster name ranks that have no rows, and the chip of a PROF_* is told to the captures of
 * both its layouts: such a capture was never there for the user. */
static bool never_there(const struct capture *c)
{
	return of_cluster(c) || (c->format == FORMAT_MSPROF_TEXT && c->chip[0] != '\0');
}

static void drop_empty(struct gathering *g)
{
	for (size_t i = 0; i < g->count; i++) {
		struct capture *cap = g->list[i];

		if (!without_data(cap))
			continue;
		if (g->empty[0] == '\0' || strcmp(cap->source, g->empty) < 0)
			snprintf(g->empty, sizeof(g->empty), "%s", cap->source);
		g->sums_only = g->sums_only || cap->op_statistic_count > 0;
		if (never_there(cap))
			capture_discard(&g->list[i]);
		else
			drop(g, i, "a capture without any events or rows");
	}
	close_gaps(g);
}

static int lend_facts(struct capture *winner, const struct capture *loser)
{
	if (loser->rank != SB_NULL &&
	    (winner->rank == SB_NULL || (winner->rank_from == RANK_NAME && loser->rank_from != RANK_NAME))) {
		winner->rank = loser->rank;
		winner->rank_from = loser->rank_from;
	}
	capture_lend(winner, loser);
	return group_use_lend(winner, loser) == SB_OK ? environment_lend(winner, loser) : SB_ENOMEM;
}

/* Of the formats of one key, list[from] to list[end - 1] in their order: the first with events, else the
 * first with any data, else the first. */
static size_t best_format(const struct gathering *g, size_t from, size_t end)
{
	for (size_t i = from; i < end; i++) {
		if (has_events(g->list[i]))
			return i;
	}
	for (size_t i = from; i < end; i++) {
		if (!without_data(g->list[i]))
			return i;
	}
	return from;
}

static int drop_formats(struct gathering *g)
{
	if (g->count > 0)
		qsort(g->list, g->count, sizeof(struct capture *), by_source);
	for (size_t from = 0, end; from < g->count; from = end) {
		size_t best;
		char reason[sizeof(((struct left_out *)0)->reason)];

		for (end = from + 1; end < g->count; end++) {
			if (strcmp(g->list[end]->source, g->list[from]->source) != 0)
				break;
		}
		best = best_format(g, from, end);
		for (size_t i = from; i < end; i++) {
			if (i == best)
				continue;
			snprintf(reason, sizeof(reason), "%s: the same capture as %s is used instead",
			         capture_format_name(g->list[i]->format),
			         capture_format_name(g->list[best]->format));
			if (lend_facts(g->list[best], g->list[i]) != SB_OK)
				return SB_ENOMEM;
			/* files that only tell whose capture it is have done so */
			if (without_data(g->list[i]))
				capture_discard(&g->list[i]);
			else
				drop(g, i, reason);
		}
	}
	close_gaps(g);
	return SB_OK;
}

/* Captures of one rank, which follow each other, where only a name says that they are: names repeat from host
 * to host. Those of the names lose their rank and stay. */
static bool unsure(struct gathering *g, size_t from, size_t end)
{
	bool any = false;

	for (size_t i = from; i < end; i++) {
		struct capture *cap = g->list[i];

		if (cap->rank_from != RANK_NAME)
			continue;
		warnings_add(&g->profile.warnings, "rank_ambiguous", cap->source, 0, -1,
		             "Its name says rank %lld, and so does another capture: its rank is unknown.",
		             (long long)cap->rank);
		cap->rank = SB_NULL;
		any = true;
	}
	return any;
}

static size_t same_rank(const struct gathering *g, size_t from)
{
	size_t end = from + 1;

	while (end < g->count && g->list[from]->rank != SB_NULL && g->list[end]->rank == g->list[from]->rank)
		end++;
	return end;
}

static void sort_ranks(struct gathering *g)
{
	if (g->count > 0)
		qsort(g->list, g->count, sizeof(struct capture *), by_rank);
}

static void settle_names(struct gathering *g)
{
	bool any = false;

	for (size_t from = 0, end; from < g->count; from = end) {
		end = same_rank(g, from);
		if (end - from > 1 && unsure(g, from, end))
			any = true;
	}
	if (any)
		sort_ranks(g);
}

/* Of the captures of one rank only the newest stays. */
static int drop_older(struct gathering *g)
{
	for (size_t from = 0, end; from < g->count; from = end) {
		size_t best = from;

		end = same_rank(g, from);
		for (size_t i = from + 1; i < end; i++) {
			if (better(g->list[i], g->list[best]))
				best = i;
		}
		for (size_t i = from; i < end; i++) {
			if (i == best)
				continue;
			/* the analysis was made from the captures that it lies beside */
			if (of_cluster(g->list[i]) && !of_cluster(g->list[best])) {
				if (lend_facts(g->list[best], g->list[i]) != SB_OK)
					return SB_ENOMEM;
				drop(g, i, "a cluster analysis: the rank's own capture is used");
				continue;
			}
			warnings_add(&g->profile.warnings, "rank_conflict", g->list[i]->source, 0, -1,
			             "Rank %lld has a newer capture, %.100s: this one is not used.",
			             (long long)g->list[i]->rank, g->list[best]->source);
			drop(g, i, "an older capture of the same rank");
		}
	}
	close_gaps(g);
	return SB_OK;
}

static int move_captures(struct gathering *g, struct sb_error *err)
{
	struct profile *p = &g->profile;

	p->captures = calloc(g->count + 1, sizeof(*p->captures));
	if (!p->captures)
		return sb_no_memory(err);
	for (size_t i = 0; i < g->count; i++) {
		p->captures[i] = *g->list[i];
		free(g->list[i]);
	}
	p->count = g->count;
	g->count = 0;
	return SB_OK;
}

int choose_captures(struct gathering *g, struct sb_error *err)
{
	struct warnings *w = &g->profile.warnings;

	if (mindinsight_share(g->list, &g->count) != SB_OK)
		return sb_no_memory(err);
	if (drop_formats(g) != SB_OK)
		return sb_no_memory(err);
	drop_empty(g);
	sort_ranks(g);
	settle_names(g);
	/* before the older capture of a rank is dropped: the newer one may hold other counters */
	if (counters_share(g->list, g->count) != SB_OK || drop_older(g) != SB_OK)
		return sb_no_memory(err);
	if (w->count > 0)
		qsort(w->items, w->count, sizeof(*w->items), by_place);
	return move_captures(g, err);
}
