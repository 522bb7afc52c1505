#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/network/resharding.h"

#define WORDS (RESHARD_SEARCH_MAX / 64)

/* A set of the tasks of a list, by place. */
struct places {
	uint64_t bits[WORDS];
};

static bool has(const struct places *s, size_t i)
{
	return s->bits[i / 64] >> (i % 64) & 1;
}

static void add(struct places *s, size_t i)
{
	s->bits[i / 64] |= (uint64_t)1 << (i % 64);
}

static void join(struct places *s, const struct places *other)
{
	for (int w = 0; w < WORDS; w++)
		s->bits[w] |= other->bits[w];
}

static void meet(struct places *s, const struct places *other)
{
	for (int w = 0; w < WORDS; w++)
		s->bits[w] &= other->bits[w];
}

/* Hosts that a task needs whoever sends it: its receivers, and its only sender. */
static uint32_t forced_count(const struct reshard_task *t)
{
	return t->receiver_count + (t->sender_count == 1);
}

static uint32_t forced_host(const struct reshard_task *t, uint32_t k)
{
	return k < t->receiver_count ? t->receivers[k] : t->senders[0];
}

/* Takes up a set of tasks that must go one after the other, unless it is there, or lighter than all. */
static void enter(const struct places *s, double seconds, struct places *sets, struct reshard_cliques *out)
{
	int at = 0;

	for (int k = 0; k < out->count; k++)
		if (memcmp(&sets[k], s, sizeof(*s)) == 0)
			return;
	if (out->count < RESHARD_CLIQUES_MAX) {
		at = out->count++;
	} else {
		for (int k = 1; k < out->count; k++)
			at = out->seconds[k] < out->seconds[at] ? k : at;
		if (out->seconds[at] >= seconds)
			return;
	}
	sets[at] = *s;
	out->seconds[at] = seconds;
}

/* Adds to a set, longest task first, what cannot run beside any of it. */
static void extend(const struct reshard_problem *p, const uint32_t *list, size_t count,
                   const struct places *conflicts, struct places set, struct places *sets,
                   struct reshard_cliques *out)
{
	struct places open;
	double seconds = 0;

	memset(&open, 0xff, sizeof(open));
	for (size_t i = 0; i < count; i++)
		if (has(&set, i))
			meet(&open, &conflicts[i]);
	for (size_t i = 0; i < count; i++) {
		if (!has(&set, i) && has(&open, i)) {
			add(&set, i);
			meet(&open, &conflicts[i]);
		}
		seconds += has(&set, i) ? p->tasks[list[i]].seconds : 0;
	}
	enter(&set, seconds, sets, out);
}

int reshard_cliques(const struct reshard_problem *p, const uint32_t *list, size_t count,
                    struct reshard_cliques *out)
{
	struct places *on_host = calloc((size_t)p->hosts + 1, sizeof(*on_host)), sets[RESHARD_CLIQUES_MAX];
	struct places conflicts[RESHARD_SEARCH_MAX] = {{{0}}}, none = {{0}};

	*out = (struct reshard_cliques){0};
	if (!on_host)
		return SB_ENOMEM;
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < forced_count(&p->tasks[list[i]]); k++)
			add(&on_host[forced_host(&p->tasks[list[i]], k)], i);
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < forced_count(&p->tasks[list[i]]); k++)
			join(&conflicts[i], &on_host[forced_host(&p->tasks[list[i]], k)]);
	for (uint32_t h = 0; h < p->hosts; h++)
		if (memcmp(&on_host[h], &none, sizeof(none)) != 0)
			extend(p, list, count, conflicts, on_host[h], sets, out);
	for (size_t i = 0; i < count; i++) {
		struct places one = {{0}};

		add(&one, i);
		extend(p, list, count, conflicts, one, sets, out);
	}
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < out->count; k++)
			out->of[i] |= (uint64_t)has(&sets[k], i) << k;
	free(on_host);
	return SB_OK;
}

static int by_senders(const void *a, const void *b, void *context)
{
	const struct reshard_task *const *t = context;
	const struct reshard_task *x = &(*t)[*(const uint32_t *)a], *y = &(*t)[*(const uint32_t *)b];
	int order;

	if (x->sender_count != y->sender_count)
		return x->sender_count < y->sender_count ? -1 : 1;
	order = memcmp(x->senders, y->senders, x->sender_count * sizeof(*x->senders));
	if (order != 0)
		return order;
	return x->seconds > y->seconds ? -1 : x->seconds < y->seconds;
}

static bool same_senders(const struct reshard_task *x, const struct reshard_task *y)
{
	return x->sender_count == y->sender_count &&
	       memcmp(x->senders, y->senders, x->sender_count * sizeof(*x->senders)) == 0;
}

/* Tasks, longest first, each of which one of m hosts must send; besides: what these hosts must do anyway. */
static double bound_of_set(const struct reshard_problem *p, const uint32_t *tasks, size_t count, double m,
                           double besides)
{
	double sum = besides, bound = 0;

	for (size_t j = 0; j < count; j++) {
		double seconds = p->tasks[tasks[j]].seconds;

		sum += seconds;
		bound = fmax(bound, ceil((double)(j + 1) / m) * seconds);
	}
	return fmax(bound, sum / m);
}

/* What each host must receive, and what it alone can send, into must; whoever may send is marked. */
static void forced_work(const struct reshard_problem *p, double *must, bool *may_send)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct reshard_task *t = &p->tasks[i];

		if (!reshard_is_sent(t))
			continue;
		for (uint32_t r = 0; r < t->receiver_count; r++)
			must[t->receivers[r]] += t->seconds;
		if (t->sender_count == 1)
			must[t->senders[0]] += t->seconds;
		for (uint32_t s = 0; s < t->sender_count; s++)
			may_send[t->senders[s]] = true;
	}
}

static double bound_of_sets(const struct reshard_problem *p, uint32_t *tasks, size_t count,
                            const double *must)
{
	const struct reshard_task *all = p->tasks;
	double bound = 0;

	qsort_r(tasks, count, sizeof(*tasks), by_senders, &all);
	for (size_t first = 0, end; first < count; first = end) {
		const struct reshard_task *t = &p->tasks[tasks[first]];
		double besides = 0;

		for (end = first + 1; end < count && same_senders(t, &p->tasks[tasks[end]]); end++) {
		}
		if (t->sender_count == 1)
			continue; /* is in what the host must do */
		for (uint32_t s = 0; s < t->sender_count; s++)
			besides += must[t->senders[s]];
		bound = fmax(bound, bound_of_set(p, tasks + first, end - first, t->sender_count, besides));
	}
	return bound;
}

static int bound_of_cliques(const struct reshard_problem *p, const uint32_t *tasks, size_t count,
                            struct reshard_bound *out)
{
	struct reshard_cliques c;
	int rc = count <= RESHARD_SEARCH_MAX ? reshard_cliques(p, tasks, count, &c) : SB_ENOENT;

	for (int k = 0; rc == SB_OK && k < c.count; k++)
		out->seconds = fmax(out->seconds, c.seconds[k]);
	return rc == SB_ENOENT ? SB_OK : rc;
}

int reshard_lower_bound(const struct reshard_problem *p, struct reshard_bound *out)
{
	size_t count;
	uint32_t *tasks = reshard_longest_first(p, &count);
	double *must = calloc((size_t)p->hosts + 1, sizeof(*must)), senders = 0;
	bool *may_send = calloc((size_t)p->hosts + 1, sizeof(*may_send));
	int rc = tasks && must && may_send ? SB_OK : SB_ENOMEM;

	if (rc == SB_OK) {
		*out = (struct reshard_bound){0};
		forced_work(p, must, may_send);
		for (uint32_t h = 0; h < p->hosts; h++) {
			senders += may_send[h];
			if (must[h] > out->host_seconds)
				*out = (struct reshard_bound){.host = h, .host_seconds = must[h]};
		}
		out->seconds = out->host_seconds;
		if (count > 0)
			out->seconds = fmax(out->seconds, bound_of_set(p, tasks, count, senders, 0));
		rc = bound_of_cliques(p, tasks, count, out);
		out->seconds = fmax(out->seconds, bound_of_sets(p, tasks, count, must));
	}
	free(tasks);
	free(must);
	free(may_send);
	return rc;
}
