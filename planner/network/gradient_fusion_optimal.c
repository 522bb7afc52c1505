#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/network/gradient_fusion.h"

#define NONE UINT32_MAX

/* The prefixes whose last segment, up to the gradient at hand, has a size on one line of f. They follow each
 * other; in the queue are those that may still win, from the lowest, which is the best now. */
struct line_queue {
	uint32_t front, back;
	uint32_t next_line; /* the first prefix that is beyond this line no more */
};

struct search {
	const struct fusion_problem *p;
	double *ready, *end;      /* of each prefix */
	int64_t *sum;             /* bytes of each prefix */
	uint32_t *from;           /* where the last segment of each prefix begins */
	uint32_t *before, *after; /* neighbours in a queue; a prefix is in one at most */
	struct line_queue *queues;
	uint32_t latest;  /* the largest prefix that has ended when the gradient at hand is ready */
	uint32_t allowed; /* the smallest one from which a segment is not too large */
	int64_t weighed;
};

static void search_clear(struct search *s)
{
	free(s->ready);
	free(s->end);
	free(s->sum);
	free(s->from);
	free(s->before);
	free(s->after);
	free(s->queues);
}

static int search_init(struct search *s, const struct fusion_problem *p)
{
	size_t n = p->count + 1;

	*s = (struct search){.p = p};
	s->ready = calloc(n, sizeof(*s->ready));
	s->end = calloc(n, sizeof(*s->end));
	s->sum = calloc(n, sizeof(*s->sum));
	s->from = calloc(n, sizeof(*s->from));
	s->before = calloc(n, sizeof(*s->before));
	s->after = calloc(n, sizeof(*s->after));
	s->queues = calloc(p->cost.count, sizeof(*s->queues));
	if (!s->ready || !s->end || !s->sum || !s->from || !s->before || !s->after || !s->queues)
		return SB_ENOMEM;
	for (size_t i = 1; i < n; i++) {
		s->ready[i] = s->ready[i - 1] + p->gradients[i - 1].backward_seconds;
		s->sum[i] = s->sum[i - 1] + p->gradients[i - 1].bytes;
	}
	for (size_t i = 0; i < p->cost.count; i++)
		s->queues[i].front = s->queues[i].back = NONE;
	return SB_OK;
}

static double segment_seconds(const struct search *s, uint32_t i, uint32_t j)
{
	return curve_seconds(&s->p->cost, (double)(s->sum[j] - s->sum[i]));
}

static void drop_front(struct search *s, struct line_queue *q)
{
	q->front = s->after[q->front];
	if (q->front == NONE)
		q->back = NONE;
	else
		s->before[q->front] = NONE;
}

static double key(const struct search *s, double slope, uint32_t i)
{
	return s->end[i] - slope * (double)s->sum[i];
}

/* What is not better than the newcomer will leave before it: it can never win again. */
static void push(struct search *s, struct line_queue *q, double slope, uint32_t i)
{
	double k = key(s, slope, i);

	while (q->back != NONE && key(s, slope, q->back) > k) {
		q->back = s->before[q->back];
		if (q->back == NONE)
			q->front = NONE;
		else
			s->after[q->back] = NONE;
	}
	s->before[i] = q->back;
	s->after[i] = NONE;
	if (q->back == NONE)
		q->front = i;
	else
		s->after[q->back] = i;
	q->back = i;
}

/* Lets prefix j-1 in, and moves on what has left a line; prefixes below `low` are out of the race. */
static void move_on(struct search *s, uint32_t j, uint32_t low)
{
	const struct curve_piece *piece = s->p->cost.pieces;
	size_t lines = s->p->cost.count;

	push(s, &s->queues[0], piece[0].slope, j - 1);
	for (size_t l = 0; l < lines; l++) {
		struct line_queue *q = &s->queues[l];

		for (; l + 1 < lines && q->next_line < j &&
		       (double)(s->sum[j] - s->sum[q->next_line]) >= piece[l + 1].from_bytes;
		     q->next_line++) {
			if (q->front == q->next_line)
				drop_front(s, q);
			if (q->next_line >= low)
				push(s, &s->queues[l + 1], piece[l + 1].slope, q->next_line);
		}
		while (q->front != NONE && q->front < low)
			drop_front(s, q);
	}
}

static void weigh(struct search *s, uint32_t i, uint32_t j)
{
	double end = fmax(s->ready[j], s->end[i]) + segment_seconds(s, i, j);

	s->weighed++;
	if (end < s->end[j]) {
		s->end[j] = end;
		s->from[j] = i;
	}
}

static void best_of_prefix(struct search *s, uint32_t j)
{
	while (s->allowed + 1 < j && s->sum[j] - s->sum[s->allowed] > s->p->max_segment_bytes)
		s->allowed++;
	while (s->latest + 1 < j && s->end[s->latest + 1] <= s->ready[j])
		s->latest++;
	move_on(s, j, s->latest + 1 > s->allowed ? s->latest + 1 : s->allowed);
	s->end[j] = INFINITY;
	if (s->latest >= s->allowed)
		weigh(s, s->latest, j);
	/* the last line holds the lowest prefixes: of equals the longest segment wins */
	for (size_t l = s->p->cost.count; l-- > 0;) {
		if (s->queues[l].front != NONE)
			weigh(s, s->queues[l].front, j);
	}
}

static int read_plan(const struct search *s, struct fusion_plan *out)
{
	size_t n = s->p->count, left = n;

	out->segments = calloc(n, sizeof(*out->segments));
	if (!out->segments)
		return SB_ENOMEM;
	for (size_t j = n; j > 0; j = s->from[j])
		out->segments[--left] = (struct fusion_segment){s->from[j], j - s->from[j]};
	out->count = n - left;
	memmove(out->segments, out->segments + left, out->count * sizeof(*out->segments));
	return SB_OK;
}

/* When each segment may end at the latest without the whole ending later. */
static void deadlines(const struct search *s, const struct fusion_plan *plan, double *out)
{
	double latest = s->end[s->p->count];

	for (size_t k = plan->count; k-- > 0;) {
		const struct fusion_segment *g = &plan->segments[k];

		out[k] = latest;
		latest -= segment_seconds(s, (uint32_t)g->first, (uint32_t)(g->first + g->count));
	}
}

/* Fewer all-reduces that end as early are better: each has costs that no curve tells. */
static int join(const struct search *s, const struct fusion_plan *plan, struct fusion_plan *out)
{
	struct fusion_segment *joined = calloc(plan->count, sizeof(*joined));
	double *deadline = calloc(plan->count, sizeof(*deadline));
	double before = 0, end = 0; /* of the segment before the last one joined, and of that */
	size_t n = 0;

	if (!joined || !deadline) {
		free(joined);
		free(deadline);
		return SB_ENOMEM;
	}
	deadlines(s, plan, deadline);
	for (size_t k = 0; k < plan->count; k++) {
		const struct fusion_segment *g = &plan->segments[k];
		size_t stop = g->first + g->count, first = n > 0 ? joined[n - 1].first : 0;
		double fused =
		    fmax(s->ready[stop], before) + segment_seconds(s, (uint32_t)first, (uint32_t)stop);

		if (n > 0 && fused <= deadline[k] &&
		    s->sum[stop] - s->sum[first] <= s->p->max_segment_bytes) {
			joined[n - 1].count += g->count;
			end = fused;
			continue;
		}
		before = end;
		end = fmax(s->ready[stop], before) + segment_seconds(s, (uint32_t)g->first, (uint32_t)stop);
		joined[n++] = *g;
	}
	free(deadline);
	*out = (struct fusion_plan){joined, n};
	return SB_OK;
}

/* Joined where possible; rounding may spoil that, then it is left. */
static int finish(const struct search *s, struct fusion_plan *out)
{
	struct fusion_plan plan = {0}, joined = {0};
	struct fusion_time a, b;
	int rc = read_plan(s, &plan);

	if (rc == SB_OK)
		rc = join(s, &plan, &joined);
	if (rc == SB_OK)
		rc = fusion_evaluate(s->p, &plan, &a, NULL);
	if (rc == SB_OK)
		rc = fusion_evaluate(s->p, &joined, &b, NULL);
	if (rc != SB_OK) {
		fusion_plan_clear(&plan);
		fusion_plan_clear(&joined);
		return rc;
	}
	*out = b.end_seconds <= a.end_seconds ? joined : plan;
	fusion_plan_clear(b.end_seconds <= a.end_seconds ? &plan : &joined);
	return SB_OK;
}

int fusion_optimal(const struct fusion_problem *p, struct fusion_plan *out, int64_t *out_weighed)
{
	struct search s;
	int rc = search_init(&s, p);

	for (size_t j = 1; rc == SB_OK && j <= p->count; j++)
		best_of_prefix(&s, (uint32_t)j);
	if (rc == SB_OK)
		rc = finish(&s, out);
	if (rc == SB_OK)
		*out_weighed = s.weighed;
	search_clear(&s);
	return rc;
}
