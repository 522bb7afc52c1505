#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "planner/network/resharding.h"

#define ROUNDS 100
#define ORDERS 4 /* tried for each set */

/* Equal tasks, of which a set can have one. */
struct group {
	const struct reshard_task *task;
	size_t first, count; /* in the list of tasks */
	size_t taken;        /* in this round */
	double critical;     /* what the busiest of its hosts must still do */
};

/* Groups that share no host. */
struct set {
	uint32_t *group, *sender; /* [place] */
	size_t count;
	double spread; /* of the seconds that its senders have sent with it */
};

/* The ways to order the groups of which a set is filled. */
enum order { LONGEST_FIRST, CRITICAL_FIRST, RANDOM };

/* What one call needs, allocated once. */
struct greedy {
	const struct reshard_problem *p;
	struct reshard_effort *effort;
	uint64_t seed;
	uint32_t *task; /* group by group */
	size_t tasks;
	struct group *groups;
	size_t group_count;
	uint32_t *remaining, *order; /* groups */
	size_t count;                /* of both */
	struct set set, best;
	double *sent;   /* seconds that each host has sent so far */
	double *must;   /* what each host must still receive, or send alone */
	uint32_t *busy; /* of each host: the last set that it is in */
	uint32_t stamp;
	struct reshard_plan plan;
};

static void greedy_free(struct greedy *g)
{
	free(g->task);
	free(g->groups);
	free(g->remaining);
	free(g->order);
	free(g->set.group);
	free(g->set.sender);
	free(g->best.group);
	free(g->best.sender);
	free(g->sent);
	free(g->must);
	free(g->busy);
	reshard_plan_free(&g->plan);
}

static int greedy_open(struct greedy *g)
{
	size_t hosts = (size_t)g->p->hosts + 1;
	uint32_t **const lists[] = {&g->remaining,  &g->order,      &g->set.group,
	                            &g->set.sender, &g->best.group, &g->best.sender};
	int rc = reshard_plan_new(g->p, &g->plan);

	g->task = reshard_longest_first(g->p, &g->tasks);
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		*lists[i] = calloc(g->tasks + 1, sizeof(**lists[i]));
		rc = *lists[i] ? rc : SB_ENOMEM;
	}
	g->groups = calloc(g->tasks + 1, sizeof(*g->groups));
	g->sent = calloc(hosts, sizeof(*g->sent));
	g->must = calloc(hosts, sizeof(*g->must));
	g->busy = calloc(hosts, sizeof(*g->busy));
	return g->task && g->groups && g->sent && g->must && g->busy ? rc : SB_ENOMEM;
}

static int by_hosts(const void *a, const void *b, void *context)
{
	const struct reshard_task *const *t = context;
	const struct reshard_task *x = &(*t)[*(const uint32_t *)a], *y = &(*t)[*(const uint32_t *)b];
	int order;

	if (x->seconds != y->seconds)
		return x->seconds > y->seconds ? -1 : 1;
	if (x->sender_count != y->sender_count)
		return x->sender_count < y->sender_count ? -1 : 1;
	if (x->receiver_count != y->receiver_count)
		return x->receiver_count < y->receiver_count ? -1 : 1;
	order = memcmp(x->senders, y->senders, x->sender_count * sizeof(*x->senders));
	if (order == 0)
		order = memcmp(x->receivers, y->receivers, x->receiver_count * sizeof(*x->receivers));
	if (order == 0)
		order = x < y ? -1 : x > y;
	return order;
}

/* Longest first, equal tasks behind one another. */
static void find_groups(struct greedy *g)
{
	const struct reshard_task *tasks = g->p->tasks;

	qsort_r(g->task, g->tasks, sizeof(*g->task), by_hosts, &tasks);
	for (size_t i = 0; i < g->tasks; i++) {
		const struct reshard_task *t = &tasks[g->task[i]];

		if (i == 0 || !reshard_equal(t, g->groups[g->group_count - 1].task))
			g->groups[g->group_count++] = (struct group){.task = t, .first = i};
		g->groups[g->group_count - 1].count++;
	}
}

static void shuffle(struct greedy *g)
{
	for (size_t i = g->count; i > 1; i--) {
		size_t k = (size_t)(sb_random(&g->seed) % i);
		uint32_t t = g->order[i - 1];

		g->order[i - 1] = g->order[k];
		g->order[k] = t;
	}
}

static int by_critical(const void *a, const void *b, void *context)
{
	const struct group *groups = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (groups[i].critical != groups[k].critical)
		return groups[i].critical > groups[k].critical ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void order_groups(struct greedy *g, enum order how)
{
	memcpy(g->order, g->remaining, g->count * sizeof(*g->order));
	if (how == RANDOM)
		shuffle(g);
	if (how != CRITICAL_FIRST)
		return;
	for (size_t i = 0; i < g->count; i++) {
		struct group *x = &g->groups[g->order[i]];
		const struct reshard_task *t = x->task;

		x->critical = t->sender_count == 1 ? g->must[t->senders[0]] : 0;
		for (uint32_t r = 0; r < t->receiver_count; r++)
			x->critical = fmax(x->critical, g->must[t->receivers[r]]);
		g->effort->left -= 2 + (int64_t)t->receiver_count;
	}
	qsort_r(g->order, g->count, sizeof(*g->order), by_critical, g->groups);
}

/* The free holder that has sent least; false when nobody can send the task in this set. */
static bool find_sender(struct greedy *g, const struct reshard_task *t, uint32_t *out)
{
	bool found = false;

	for (uint32_t r = 0; r < t->receiver_count; r++) {
		g->effort->left--;
		if (g->busy[t->receivers[r]] == g->stamp)
			return false;
	}
	g->effort->left -= t->sender_count;
	for (uint32_t s = 0; s < t->sender_count; s++) {
		uint32_t h = t->senders[s];

		if (g->busy[h] != g->stamp && (!found || g->sent[h] < g->sent[*out])) {
			*out = h;
			found = true;
		}
	}
	return found;
}

/* First come, first served. */
static void fill_set(struct greedy *g)
{
	double most = 0, least = INFINITY;

	g->stamp++;
	g->set.count = 0;
	g->effort->looked++;
	for (size_t i = 0; i < g->count; i++) {
		const struct reshard_task *t = g->groups[g->order[i]].task;
		uint32_t sender = 0;

		if (!find_sender(g, t, &sender))
			continue;
		for (uint32_t r = 0; r < t->receiver_count; r++)
			g->busy[t->receivers[r]] = g->stamp;
		g->busy[sender] = g->stamp;
		g->set.group[g->set.count] = g->order[i];
		g->set.sender[g->set.count++] = sender;
		most = fmax(most, g->sent[sender] + t->seconds);
		least = fmin(least, g->sent[sender] + t->seconds);
	}
	g->set.spread = most - least;
}

static void choose_set(struct greedy *g, enum order how)
{
	g->best.count = 0;
	for (int k = 0; k < (how == RANDOM ? ORDERS : 1); k++) {
		struct set other = g->best;

		order_groups(g, how);
		fill_set(g);
		if (g->set.count < other.count ||
		    (g->set.count == other.count && g->set.spread >= other.spread))
			continue;
		g->best = g->set;
		g->set = other;
	}
}

/* Moves a task of each chosen group into the plan. */
static void take_set(struct greedy *g, size_t *place)
{
	size_t kept = 0;

	for (size_t k = 0; k < g->best.count; k++) {
		struct group *x = &g->groups[g->best.group[k]];
		uint32_t task = g->task[x->first + x->taken++], sender = g->best.sender[k];

		g->plan.order[(*place)++] = task;
		g->plan.sender[task] = sender;
		g->sent[sender] += x->task->seconds;
		if (x->task->sender_count == 1)
			g->must[sender] -= x->task->seconds;
		for (uint32_t r = 0; r < x->task->receiver_count; r++)
			g->must[x->task->receivers[r]] -= x->task->seconds;
	}
	for (size_t i = 0; i < g->count; i++)
		if (g->groups[g->remaining[i]].taken < g->groups[g->remaining[i]].count)
			g->remaining[kept++] = g->remaining[i];
	g->count = kept;
}

static void start_round(struct greedy *g)
{
	memset(g->sent, 0, g->p->hosts * sizeof(*g->sent));
	memset(g->must, 0, g->p->hosts * sizeof(*g->must));
	g->count = g->group_count;
	for (uint32_t k = 0; k < g->group_count; k++) {
		struct group *x = &g->groups[k];
		double all = x->task->seconds * (double)x->count;

		x->taken = 0;
		g->remaining[k] = k;
		if (x->task->sender_count == 1)
			g->must[x->task->senders[0]] += all;
		for (uint32_t r = 0; r < x->task->receiver_count; r++)
			g->must[x->task->receivers[r]] += all;
		g->effort->left -= x->task->receiver_count;
	}
	g->effort->left -= g->p->hosts;
}

/* Out of effort: one of each group that is left, in each other's way or not. */
static void choose_all(struct greedy *g)
{
	order_groups(g, CRITICAL_FIRST);
	g->best.count = g->count;
	for (size_t i = 0; i < g->count; i++) {
		g->stamp++; /* nobody is busy */
		g->best.group[i] = g->order[i];
		(void)find_sender(g, g->groups[g->order[i]].task, &g->best.sender[i]);
	}
}

/* One order of all tasks, set by set. */
static void make_plan(struct greedy *g, enum order how)
{
	size_t place = 0;

	start_round(g);
	while (g->count > 0) {
		reshard_ask(g->p, g->effort);
		if (g->effort->left > 0)
			choose_set(g, how);
		else
			choose_all(g);
		take_set(g, &place);
	}
	reshard_place_rest(g->p, place, &g->plan);
}

static int run_rounds(struct greedy *g, double bound, struct reshard_plan *io)
{
	int rc = SB_OK;

	for (int round = 0; rc == SB_OK && round < ROUNDS && g->effort->left > 0; round++) {
		g->seed = (uint64_t)round;
		make_plan(g, round == 0 ? CRITICAL_FIRST : round == 1 ? LONGEST_FIRST : RANDOM);
		rc = reshard_evaluate(g->p, &g->plan, NULL);
		if (rc == SB_OK && g->plan.makespan < io->makespan)
			reshard_plan_copy(g->p, &g->plan, io);
		if (!reshard_less(bound, io->makespan))
			break;
	}
	return rc;
}

int reshard_greedy(const struct reshard_problem *p, double bound, struct reshard_effort *effort,
                   struct reshard_plan *io)
{
	struct greedy g = {.p = p, .effort = effort};
	int rc = greedy_open(&g);

	if (rc == SB_OK) {
		find_groups(&g);
		rc = run_rounds(&g, bound, io);
	}
	greedy_free(&g);
	return rc;
}
