#include "planner/network/resharding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Together about a quarter of a second. */
#define GREEDY_STEPS 40000000
#define SEARCH_STEPS 20000000

bool reshard_is_sent(const struct reshard_task *t)
{
	return t->receiver_count > 0 && t->seconds > 0;
}

bool reshard_equal(const struct reshard_task *a, const struct reshard_task *b)
{
	return a->seconds == b->seconds && a->sender_count == b->sender_count &&
	       a->receiver_count == b->receiver_count &&
	       memcmp(a->senders, b->senders, a->sender_count * sizeof(*a->senders)) == 0 &&
	       memcmp(a->receivers, b->receivers, a->receiver_count * sizeof(*a->receivers)) == 0;
}

bool reshard_less(double a, double b)
{
	return a < b - 1e-12 * b;
}

int reshard_plan_new(const struct reshard_problem *p, struct reshard_plan *out)
{
	*out = (struct reshard_plan){.order = calloc(p->count + 1, sizeof(*out->order)),
	                             .sender = calloc(p->count + 1, sizeof(*out->sender)),
	                             .makespan = INFINITY};
	return out->order && out->sender ? SB_OK : SB_ENOMEM;
}

void reshard_plan_free(struct reshard_plan *plan)
{
	if (!plan)
		return;
	free(plan->order);
	free(plan->sender);
	*plan = (struct reshard_plan){0};
}

void reshard_plan_copy(const struct reshard_problem *p, const struct reshard_plan *from,
                       struct reshard_plan *to)
{
	memcpy(to->order, from->order, p->count * sizeof(*to->order));
	memcpy(to->sender, from->sender, p->count * sizeof(*to->sender));
	to->makespan = from->makespan;
}

void reshard_place_rest(const struct reshard_problem *p, size_t place, struct reshard_plan *io)
{
	for (uint32_t i = 0; i < p->count; i++) {
		if (!reshard_is_sent(&p->tasks[i])) {
			io->order[place++] = i;
			io->sender[i] = p->tasks[i].senders[0];
		}
	}
}

int reshard_evaluate(const struct reshard_problem *p, struct reshard_plan *plan, double *out_start)
{
	double *clock = calloc((size_t)p->hosts + 1, sizeof(*clock));

	if (!clock)
		return SB_ENOMEM;
	plan->makespan = 0;
	for (size_t k = 0; k < p->count; k++) {
		const struct reshard_task *t = &p->tasks[plan->order[k]];
		uint32_t sender = plan->sender[plan->order[k]];
		double start = reshard_is_sent(t) ? clock[sender] : 0;

		if (reshard_is_sent(t)) {
			for (uint32_t r = 0; r < t->receiver_count; r++)
				start = fmax(start, clock[t->receivers[r]]);
			for (uint32_t r = 0; r < t->receiver_count; r++)
				clock[t->receivers[r]] = start + t->seconds;
			clock[sender] = start + t->seconds;
			plan->makespan = fmax(plan->makespan, start + t->seconds);
		}
		if (out_start)
			out_start[plan->order[k]] = start;
	}
	free(clock);
	return SB_OK;
}

/* The context of qsort_r() is the address of the list of tasks. */
static int by_length(const void *a, const void *b, void *context)
{
	const struct reshard_task *const *t = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if ((*t)[i].seconds != (*t)[k].seconds)
		return (*t)[i].seconds > (*t)[k].seconds ? -1 : 1;
	return i < k ? -1 : i > k;
}

uint32_t *reshard_longest_first(const struct reshard_problem *p, size_t *out_count)
{
	uint32_t *list = malloc((p->count + 1) * sizeof(*list));
	const struct reshard_task *tasks = p->tasks;

	*out_count = 0;
	for (uint32_t i = 0; list && i < p->count; i++)
		if (reshard_is_sent(&p->tasks[i]))
			list[(*out_count)++] = i;
	if (list)
		qsort_r(list, *out_count, sizeof(*list), by_length, &tasks);
	return list;
}

/* In the given order, from the first holder. */
static int naive(const struct reshard_problem *p, struct reshard_plan *out)
{
	for (uint32_t i = 0; i < p->count; i++) {
		out->order[i] = i;
		out->sender[i] = p->tasks[i].senders[0];
	}
	return reshard_evaluate(p, out, NULL);
}

/* Longest first, ties by number, each from the holder with the least to send and to receive so far. */
static int least_loaded(const struct reshard_problem *p, struct reshard_plan *out)
{
	double *load = calloc((size_t)p->hosts + 1, sizeof(*load));
	size_t count;
	uint32_t *list = reshard_longest_first(p, &count);
	int rc = load && list ? SB_OK : SB_ENOMEM;

	for (size_t k = 0; rc == SB_OK && k < count; k++) {
		const struct reshard_task *t = &p->tasks[list[k]];
		uint32_t best = t->senders[0];

		for (uint32_t s = 1; s < t->sender_count; s++)
			if (load[t->senders[s]] < load[best])
				best = t->senders[s];
		load[best] += t->seconds;
		out->order[k] = list[k];
		out->sender[list[k]] = best;
	}
	if (rc == SB_OK)
		reshard_place_rest(p, count, out);
	free(load);
	free(list);
	return rc == SB_OK ? reshard_evaluate(p, out, NULL) : rc;
}

void reshard_answer_free(struct reshard_answer *a)
{
	reshard_plan_free(&a->plan);
}

/* Takes over a plan that is better, or the first one. */
static void offer(const struct reshard_problem *p, const struct reshard_plan *plan, enum reshard_method by,
                  struct reshard_answer *out)
{
	if (!(plan->makespan < out->plan.makespan))
		return;
	reshard_plan_copy(p, plan, &out->plan);
	out->found_by = by;
}

void reshard_ask(const struct reshard_problem *p, struct reshard_effort *effort)
{
	if (sb_stopped(p->watch))
		effort->left = 0;
}

/* The two searches start from the best plan so far, and only replace it by a better one. */
static int search(const struct reshard_problem *p, enum reshard_method by, struct reshard_answer *out)
{
	struct reshard_effort effort = {.left = by == RESHARD_GREEDY ? GREEDY_STEPS : SEARCH_STEPS};
	double before = out->plan.makespan, bound = out->bound.seconds;
	bool whole = false;
	int rc;

	if (!reshard_less(bound, before))
		return SB_OK;
	rc = by == RESHARD_GREEDY ? reshard_greedy(p, bound, &effort, &out->plan)
	                          : reshard_depth_first(p, bound, &effort, &out->plan, &whole);
	if (out->plan.makespan < before)
		out->found_by = by;
	out->proved = whole;
	out->cut_short = out->cut_short || (by == RESHARD_DEPTH_FIRST && !whole);
	out->candidates += effort.looked;
	return rc;
}

/* scratch: room for one more plan. */
static int solve(const struct reshard_problem *p, enum reshard_method method, struct reshard_plan *scratch,
                 struct reshard_answer *out)
{
	int rc = naive(p, scratch);

	out->naive = scratch->makespan;
	out->candidates = 1;
	if (rc == SB_OK && (method == RESHARD_BEST || method == RESHARD_NAIVE))
		offer(p, scratch, RESHARD_NAIVE, out);
	if (rc == SB_OK && method != RESHARD_NAIVE) {
		rc = least_loaded(p, scratch);
		offer(p, scratch, method == RESHARD_BEST ? RESHARD_LEAST_LOADED : method, out);
		out->candidates++;
	}
	if (rc == SB_OK && (method == RESHARD_BEST || method == RESHARD_GREEDY))
		rc = search(p, RESHARD_GREEDY, out);
	if (rc == SB_OK && (method == RESHARD_BEST || method == RESHARD_DEPTH_FIRST))
		rc = search(p, RESHARD_DEPTH_FIRST, out);
	return rc;
}

int reshard_solve(const struct reshard_problem *p, enum reshard_method method, struct reshard_answer *out)
{
	struct reshard_plan scratch = {0};
	int rc;

	*out = (struct reshard_answer){.found_by = method};
	rc = reshard_plan_new(p, &out->plan);
	if (rc == SB_OK)
		rc = reshard_plan_new(p, &scratch);
	if (rc == SB_OK)
		rc = reshard_lower_bound(p, &out->bound);
	if (rc == SB_OK)
		rc = solve(p, method, &scratch, out);
	reshard_plan_free(&scratch);
	if (rc != SB_OK)
		return rc;
	out->proved = out->proved || !reshard_less(out->bound.seconds, out->plan.makespan);
	out->lower_bound = out->proved ? out->plan.makespan : fmin(out->bound.seconds, out->plan.makespan);
	return SB_OK;
}
