#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/network/resharding.h"

#define ROUNDS 100
#define ORDERS 4 /* tried for each set */

/* Tasks that share no host. */
struct set {
	uint32_t *task, *sender; /* [place] */
	size_t count;
	double spread; /* of the seconds that its senders have sent with it */
};

/* What one call needs, allocated once. */
struct greedy {
	const struct reshard_problem *p;
	struct reshard_effort *effort;
	uint64_t seed;
	uint32_t *remaining, *shuffled; /* tasks */
	size_t count;
	struct set set, best;
	bool *placed;   /* [task] */
	double *load;   /* seconds that each host has sent so far */
	uint32_t *busy; /* of each host: the last set that it is in */
	uint32_t stamp;
	struct reshard_plan plan;
};

static void greedy_free(struct greedy *g)
{
	free(g->remaining);
	free(g->shuffled);
	free(g->set.task);
	free(g->set.sender);
	free(g->best.task);
	free(g->best.sender);
	free(g->placed);
	free(g->load);
	free(g->busy);
	reshard_plan_free(&g->plan);
}

static int greedy_open(struct greedy *g, size_t count)
{
	size_t hosts = (size_t)g->p->hosts + 1;
	uint32_t **const lists[] = {&g->remaining,  &g->shuffled,  &g->set.task,
	                            &g->set.sender, &g->best.task, &g->best.sender};
	int rc = reshard_plan_new(g->p, &g->plan);

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		*lists[i] = calloc(count + 1, sizeof(**lists[i]));
		rc = *lists[i] ? rc : SB_ENOMEM;
	}
	g->placed = calloc(g->p->count + 1, sizeof(*g->placed));
	g->load = calloc(hosts, sizeof(*g->load));
	g->busy = calloc(hosts, sizeof(*g->busy));
	return g->placed && g->load && g->busy ? rc : SB_ENOMEM;
}

/* splitmix64 (Steele et al., OOPSLA 2014) */
static uint64_t next_random(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void shuffle(struct greedy *g)
{
	memcpy(g->shuffled, g->remaining, g->count * sizeof(*g->shuffled));
	for (size_t i = g->count; i > 1; i--) {
		size_t k = (size_t)(next_random(&g->seed) % i);
		uint32_t t = g->shuffled[i - 1];

		g->shuffled[i - 1] = g->shuffled[k];
		g->shuffled[k] = t;
	}
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

		if (g->busy[h] != g->stamp && (!found || g->load[h] < g->load[*out])) {
			*out = h;
			found = true;
		}
	}
	return found;
}

/* First come, first served. */
static void fill_set(struct greedy *g, const uint32_t *tasks)
{
	double most = 0, least = INFINITY;

	g->stamp++;
	g->set.count = 0;
	g->effort->looked++;
	for (size_t i = 0; i < g->count; i++) {
		const struct reshard_task *t = &g->p->tasks[tasks[i]];
		uint32_t sender = 0;

		if (!find_sender(g, t, &sender))
			continue;
		for (uint32_t r = 0; r < t->receiver_count; r++)
			g->busy[t->receivers[r]] = g->stamp;
		g->busy[sender] = g->stamp;
		g->set.task[g->set.count] = tasks[i];
		g->set.sender[g->set.count++] = sender;
		most = fmax(most, g->load[sender] + t->seconds);
		least = fmin(least, g->load[sender] + t->seconds);
	}
	g->set.spread = most - least;
}

static void choose_set(struct greedy *g, bool random)
{
	g->best.count = 0;
	for (int k = 0; k < (random ? ORDERS : 1); k++) {
		struct set other = g->best;

		if (random)
			shuffle(g);
		fill_set(g, random ? g->shuffled : g->remaining);
		if (g->set.count < other.count ||
		    (g->set.count == other.count && g->set.spread >= other.spread))
			continue;
		g->best = g->set;
		g->set = other;
	}
}

/* Moves the chosen set from what remains into the plan. */
static void take_set(struct greedy *g, size_t *place)
{
	size_t kept = 0;

	for (size_t k = 0; k < g->best.count; k++) {
		uint32_t task = g->best.task[k], sender = g->best.sender[k];

		g->plan.order[(*place)++] = task;
		g->plan.sender[task] = sender;
		g->load[sender] += g->p->tasks[task].seconds;
		g->placed[task] = true;
	}
	for (size_t i = 0; i < g->count; i++)
		if (!g->placed[g->remaining[i]])
			g->remaining[kept++] = g->remaining[i];
	g->count = kept;
}

/* One order of all tasks, set by set. False when the effort is used up before. */
static bool make_plan(struct greedy *g, const uint32_t *longest, size_t count, bool random)
{
	size_t place = 0;

	memset(g->load, 0, g->p->hosts * sizeof(*g->load));
	memset(g->placed, 0, g->p->count * sizeof(*g->placed));
	memcpy(g->remaining, longest, count * sizeof(*longest));
	g->count = count;
	g->effort->left -= g->p->hosts;
	while (g->count > 0) {
		if (g->effort->left <= 0)
			return false;
		choose_set(g, random);
		take_set(g, &place);
	}
	for (uint32_t i = 0; i < g->p->count; i++) {
		if (!g->placed[i]) {
			g->plan.order[place++] = i;
			g->plan.sender[i] = g->p->tasks[i].senders[0];
		}
	}
	return true;
}

int reshard_greedy(const struct reshard_problem *p, double bound, struct reshard_effort *effort,
                   struct reshard_plan *io)
{
	__attribute__((cleanup(greedy_free))) struct greedy g = {.p = p, .effort = effort};
	size_t count;
	uint32_t *longest = reshard_longest_first(p, &count);
	int rc = longest ? greedy_open(&g, count) : SB_ENOMEM;

	for (int round = 0; rc == SB_OK && round < ROUNDS && reshard_less(bound, io->makespan); round++) {
		g.seed = (uint64_t)round;
		if (!make_plan(&g, longest, count, round > 0))
			break;
		rc = reshard_evaluate(p, &g.plan, NULL);
		if (rc == SB_OK && g.plan.makespan < io->makespan)
			reshard_plan_copy(p, &g.plan, io);
	}
	free(longest);
	return rc;
}
