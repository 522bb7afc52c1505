#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/network/resharding.h"

/* A host as the tasks placed so far leave it. */
struct host {
	double free; /* from then on */
	double must; /* seconds that it must still receive, or send alone */
};

struct search {
	const struct reshard_problem *p;
	struct reshard_effort *effort;
	uint32_t *task; /* longest first */
	size_t count;
	bool *placed, *same; /* [place in task]; same: equal to the one before */
	struct host *host;
	uint32_t *class; /* of each host: hosts of one class stand in for each other */
	bool *may_send;
	/* all senders together: when they are free, summed, and the work that is left for them */
	double senders, free_sum, work;
	struct reshard_cliques cliques; /* seconds: of what is not placed */
	struct host *saved;             /* what placing a task overwrote, a stack */
	size_t saved_count;
	struct reshard_plan plan, *best;
	double bound;
};

static void search_free(struct search *s)
{
	free(s->task);
	free(s->placed);
	free(s->same);
	free(s->host);
	free(s->class);
	free(s->may_send);
	free(s->saved);
	reshard_plan_free(&s->plan);
}

/* Room for splitting classes. */
struct refining {
	uint32_t *fresh, *pass; /* of each class: its new number, and the pass that gave it */
	uint32_t classes, passes;
};

/* Parts the hosts of a list from those outside of it. */
static void refine(struct refining *r, const uint32_t *hosts, uint32_t count, uint32_t *class)
{
	r->passes++;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *c = &class[hosts[i]];

		if (r->pass[*c] != r->passes) {
			r->pass[*c] = r->passes;
			r->fresh[*c] = r->classes++;
		}
		*c = r->fresh[*c];
	}
}

static int find_classes(struct search *s, size_t ends)
{
	struct refining r = {.fresh = calloc(ends + 1, sizeof(*r.fresh)),
	                     .pass = calloc(ends + 1, sizeof(*r.pass)),
	                     .classes = 1};
	int rc = r.fresh && r.pass ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; rc == SB_OK && i < s->count; i++) {
		const struct reshard_task *t = &s->p->tasks[s->task[i]];

		refine(&r, t->senders, t->sender_count, s->class);
		refine(&r, t->receivers, t->receiver_count, s->class);
	}
	free(r.fresh);
	free(r.pass);
	return rc;
}

static int search_open(struct search *s)
{
	size_t hosts = (size_t)s->p->hosts + 1, ends = 0, saves = 0;
	int rc = reshard_plan_new(s->p, &s->plan);

	s->placed = calloc(s->count + 1, sizeof(*s->placed));
	s->same = calloc(s->count + 1, sizeof(*s->same));
	s->host = calloc(hosts, sizeof(*s->host));
	s->class = calloc(hosts, sizeof(*s->class));
	s->may_send = calloc(hosts, sizeof(*s->may_send));
	if (rc != SB_OK || !s->placed || !s->same || !s->host || !s->class || !s->may_send)
		return SB_ENOMEM;
	for (size_t i = 0; i < s->count; i++) {
		const struct reshard_task *t = &s->p->tasks[s->task[i]];

		s->same[i] = i > 0 && reshard_equal(t, &s->p->tasks[s->task[i - 1]]);
		for (uint32_t r = 0; r < t->receiver_count; r++)
			s->host[t->receivers[r]].must += t->seconds;
		if (t->sender_count == 1)
			s->host[t->senders[0]].must += t->seconds;
		for (uint32_t k = 0; k < t->sender_count; k++) {
			s->senders += !s->may_send[t->senders[k]];
			s->may_send[t->senders[k]] = true;
		}
		s->work += t->seconds;
		saves += (size_t)t->receiver_count + 1;
		ends += (size_t)t->receiver_count + t->sender_count;
	}
	s->saved = malloc((saves + 1) * sizeof(*s->saved));
	rc = s->saved ? find_classes(s, ends) : SB_ENOMEM;
	return rc == SB_OK ? reshard_cliques(s->p, s->task, s->count, &s->cliques) : rc;
}

/* When all receivers of a task are free. */
static double receivers_free(struct search *s, const struct reshard_task *t)
{
	double at = 0;

	for (uint32_t r = 0; r < t->receiver_count; r++)
		at = fmax(at, s->host[t->receivers[r]].free);
	s->effort->left -= (int64_t)t->receiver_count + t->sender_count;
	return at;
}

/* When the first of all tasks that are left could have ended. */
static double first_end(struct search *s)
{
	double end = INFINITY;

	for (size_t i = 0; i < s->count; i++) {
		const struct reshard_task *t = &s->p->tasks[s->task[i]];
		double ready;

		if (s->placed[i])
			continue;
		ready = receivers_free(s, t);
		for (uint32_t k = 0; k < t->sender_count; k++)
			end = fmin(end, fmax(ready, s->host[t->senders[k]].free) + t->seconds);
	}
	return end;
}

/* A part of a plan: how many tasks are placed, the last one's start and place, when all have ended, and when
 * no plan that begins like this can have ended. */
struct part {
	size_t depth, last;
	double start, end, bound;
};

/* Keeps a host busy until `end`; what it must do besides then bounds the plan. */
static double occupy(struct search *s, uint32_t h, double end, double done)
{
	struct host *x = &s->host[h];

	s->saved[s->saved_count++] = *x;
	if (s->may_send[h])
		s->free_sum += end - x->free;
	x->free = end;
	x->must -= done;
	return end + x->must;
}

static void release(struct search *s, uint32_t h)
{
	struct host *x = &s->host[h];
	double end = x->free;

	*x = s->saved[--s->saved_count];
	if (s->may_send[h])
		s->free_sum -= end - x->free;
}

/* What is left of a set with this task follows it, one after the other; of any other set nothing starts
 * before the task does, as plans are listed by start. Returns the latest of all that. */
static double follow(struct search *s, size_t i, double start, double seconds)
{
	double bound = 0;

	s->effort->left -= s->cliques.count / 4;
	for (int k = 0; k < s->cliques.count; k++) {
		bool in = s->cliques.of[i] >> k & 1;

		if (in)
			s->cliques.seconds[k] -= seconds;
		bound = fmax(bound, s->cliques.seconds[k] + start + (in ? seconds : 0));
	}
	return bound;
}

static struct part place(struct search *s, const struct part *at, size_t i, uint32_t sender, double start)
{
	const struct reshard_task *t = &s->p->tasks[s->task[i]];
	double end = start + t->seconds;
	struct part next = {at->depth + 1, i, start, fmax(at->end, end), at->bound};

	s->placed[i] = true;
	s->plan.order[at->depth] = s->task[i];
	s->plan.sender[s->task[i]] = sender;
	for (uint32_t r = 0; r < t->receiver_count; r++)
		next.bound = fmax(next.bound, occupy(s, t->receivers[r], end, t->seconds));
	next.bound = fmax(next.bound, occupy(s, sender, end, t->sender_count == 1 ? t->seconds : 0));
	next.bound = fmax(next.bound, follow(s, i, start, t->seconds));
	s->work -= t->seconds;
	next.bound = fmax(next.bound, (s->free_sum + s->work) / s->senders);
	return next;
}

static void unplace(struct search *s, size_t i, uint32_t sender)
{
	const struct reshard_task *t = &s->p->tasks[s->task[i]];

	s->work += t->seconds;
	for (int k = 0; k < s->cliques.count; k++)
		if (s->cliques.of[i] >> k & 1)
			s->cliques.seconds[k] += t->seconds;
	release(s, sender);
	for (uint32_t r = t->receiver_count; r > 0; r--)
		release(s, t->receivers[r - 1]);
	s->placed[i] = false;
}

/* Has another holder of the same class, free as early, been tried before? */
static bool is_repeated(struct search *s, const struct reshard_task *t, uint32_t k)
{
	uint32_t h = t->senders[k];

	for (uint32_t e = 0; e < k; e++, s->effort->left--) {
		uint32_t g = t->senders[e];

		if (s->class[g] == s->class[h] && s->host[g].free == s->host[h].free)
			return true;
	}
	return false;
}

static void keep(struct search *s, double end)
{
	s->plan.makespan = end;
	reshard_place_rest(s->p, s->count, &s->plan);
	reshard_plan_copy(s->p, &s->plan, s->best);
}

/* As deep as there are tasks: RESHARD_SEARCH_MAX. */
/* NOLINTBEGIN(misc-no-recursion) */
static void visit(struct search *s, const struct part *at);

static void try_senders(struct search *s, const struct part *at, size_t i, double before)
{
	const struct reshard_task *t = &s->p->tasks[s->task[i]];
	double ready = receivers_free(s, t);

	for (uint32_t k = 0; k < t->sender_count && s->effort->left > 0; k++) {
		uint32_t sender = t->senders[k];
		double start = fmax(ready, s->host[sender].free);
		struct part next;

		/* plans are listed by start, and those of one start by place: each is seen once */
		if (start >= before || start < at->start || (start == at->start && i < at->last) ||
		    is_repeated(s, t, k))
			continue;
		next = place(s, at, i, sender, start);
		if (reshard_less(next.bound, s->best->makespan))
			visit(s, &next);
		unplace(s, i, sender);
	}
}

static void visit(struct search *s, const struct part *at)
{
	double before;

	s->effort->looked++;
	reshard_ask(s->p, s->effort);
	if (at->depth == s->count) {
		keep(s, at->end);
		return;
	}
	before = first_end(s);
	for (size_t i = 0; i < s->count && s->effort->left > 0; i++) {
		if (!reshard_less(at->bound, s->best->makespan) || !reshard_less(s->bound, s->best->makespan))
			return;
		if (!s->placed[i] && !(s->same[i] && !s->placed[i - 1]))
			try_senders(s, at, i, before);
	}
}

/* NOLINTEND(misc-no-recursion) */

int reshard_depth_first(const struct reshard_problem *p, double bound, struct reshard_effort *effort,
                        struct reshard_plan *io, bool *out_whole)
{
	struct search s = {.p = p, .effort = effort, .best = io, .bound = bound};
	struct part root = {.bound = bound};
	int rc;

	s.task = reshard_longest_first(p, &s.count);
	rc = !s.task ? SB_ENOMEM : s.count <= RESHARD_SEARCH_MAX ? search_open(&s) : SB_ELIMIT;
	if (rc == SB_OK && reshard_less(bound, io->makespan))
		visit(&s, &root);
	*out_whole = rc == SB_OK && effort->left > 0;
	search_free(&s);
	return rc == SB_OK ? reshard_evaluate(p, io, NULL) : rc == SB_ELIMIT ? SB_OK : rc;
}
