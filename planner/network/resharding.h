#ifndef SB_PLANNER_NETWORK_RESHARDING_H
#define SB_PLANNER_NETWORK_RESHARDING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/watch.h"

/* Cross-mesh resharding (AlpaComm: Zhuang et al., MLSys 2023, section 3): pieces of a tensor go from the
 * hosts that hold them to the hosts that need them. Which of the holders sends a piece, and in which order
 * the pieces go, so that the last one arrives first. A host is whatever shares one network interface. */

/* One piece: its sender and all its receivers are busy with it at the same time, and with nothing else. */
struct reshard_task {
	double seconds;
	const uint32_t *senders;   /* who holds it: any one of them sends; ascending, at least one */
	const uint32_t *receivers; /* who needs it and does not hold it; ascending */
	uint32_t sender_count, receiver_count;
};
struct reshard_problem {
	const struct reshard_task *tasks;
	size_t count;
	uint32_t hosts;               /* all numbers of hosts lie below */
	const struct sb_watch *watch; /* stopped, the searches end with what they have; NULL: never */
};
#define RESHARD_TASKS_MAX 16384
#define RESHARD_HOSTS_MAX (1 << 17)

/* Does a task need the network? One without receivers, or of no length, is there from the beginning. */
bool reshard_is_sent(const struct reshard_task *t);

/* Tasks start in this order: start = max(free[sender], free[receivers]), and all of these are free again at
 * start + seconds. */
struct reshard_plan {
	uint32_t *order;  /* [place] */
	uint32_t *sender; /* [task] */
	double makespan;
};
/* Room for a plan. SB_ENOMEM. */
int reshard_plan_new(const struct reshard_problem *p, struct reshard_plan *out);
/* NULL-safe. */
void reshard_plan_free(struct reshard_plan *plan);
#define RESHARD_PLAN_AUTO __attribute__((cleanup(reshard_plan_free))) struct reshard_plan
/* The rule above, for any order and senders: what every answer is scored by. Sets plan->makespan. out_start:
 * one a task, may be NULL. SB_ENOMEM. */
int reshard_evaluate(const struct reshard_problem *p, struct reshard_plan *plan, double *out_start);

struct reshard_bound {
	double seconds; /* no plan ends before */
	uint32_t host;  /* the host that has most to receive and to send alone */
	double host_seconds;
};
/* The largest of: what a host must receive and only it can send; for the tasks that one set of m hosts holds,
 * and for all tasks and all senders, their sum with what those hosts must do besides over m, and ceil(j / m)
 * times the j-th longest of them; of up to RESHARD_SEARCH_MAX tasks also the sum of those that are pairwise
 * in each other's way (reshard_cliques()). SB_ENOMEM. */
int reshard_lower_bound(const struct reshard_problem *p, struct reshard_bound *out);

enum reshard_method {
	RESHARD_BEST,         /* the best of all below */
	RESHARD_LEAST_LOADED, /* longest task first, from the holder that has least to send so far */
	RESHARD_GREEDY,       /* rounds of tasks that are in nobody's way */
	RESHARD_DEPTH_FIRST,  /* all orders and senders, with pruning */
	RESHARD_NAIVE,        /* in the given order, from the first holder */
	RESHARD_METHODS
};
struct reshard_answer {
	struct reshard_plan plan;
	enum reshard_method found_by;
	double naive;               /* makespan of RESHARD_NAIVE */
	double lower_bound;         /* the plan's makespan where that is proved */
	struct reshard_bound bound; /* as reshard_lower_bound() */
	bool proved;                /* no plan is better, but for 1e-12 of rounding */
	bool cut_short;             /* a search gave up at its limit */
	int64_t candidates;         /* plans and parts of plans that were looked at */
};
/* *out is to be freed by reshard_answer_free(), also after a failure. Bounded by steps, not by a clock: the
 * same problem has the same answer everywhere. SB_ENOMEM. */
int reshard_solve(const struct reshard_problem *p, enum reshard_method method, struct reshard_answer *out);
void reshard_answer_free(struct reshard_answer *a);
#define RESHARD_ANSWER_AUTO __attribute__((cleanup(reshard_answer_free))) struct reshard_answer

/* ---- the searches (resharding_greedy.c, resharding_search.c, resharding_bound.c) ---- */

/* Steps that a search may still take: about one a host that it looks at. */
struct reshard_effort {
	int64_t left, looked; /* looked: plans or parts of plans */
};
/* Whom nobody waits for has no effort left. */
void reshard_ask(const struct reshard_problem *p, struct reshard_effort *effort);
/* 100 rounds. Each takes set after set of tasks that share no host, until none is left: in the first round by
 * the work that is left for the busiest host of a task, in the second longest first, then in random orders
 * with fixed seeds, of four of them the largest set, and of equals that with the smallest spread of what its
 * senders send. *io is the best plan so far. SB_ENOMEM. */
int reshard_greedy(const struct reshard_problem *p, double bound, struct reshard_effort *effort,
                   struct reshard_plan *io);
/* Branches over the next task and its sender by rising start. Only what starts before another task could have
 * ended is tried (else that one would go first for nothing), of equal tasks the first, of equal hosts the
 * first that is free as early. Pruned by what each host, and all senders together, still have to do. *io is
 * the best plan so far; *out_whole: all was searched, so that *io is optimal. More than RESHARD_SEARCH_MAX
 * tasks are not searched. SB_ENOMEM. */
int reshard_depth_first(const struct reshard_problem *p, double bound, struct reshard_effort *effort,
                        struct reshard_plan *io, bool *out_whole);
#define RESHARD_SEARCH_MAX 256
/* Sets of tasks of which no two can run at the same time, because both receive on one host, or only one host
 * can send them: the heaviest found, each host's and each task's own extended by the longest that fit. */
#define RESHARD_CLIQUES_MAX 64
struct reshard_cliques {
	uint64_t of[RESHARD_SEARCH_MAX]; /* [place in the list]: bit k = is in set k */
	double seconds[RESHARD_CLIQUES_MAX];
	int count;
};
/* list: longest first, at most RESHARD_SEARCH_MAX. SB_ENOMEM. */
int reshard_cliques(const struct reshard_problem *p, const uint32_t *list, size_t count,
                    struct reshard_cliques *out);
/* Same length, same holders, same receivers. */
bool reshard_equal(const struct reshard_task *a, const struct reshard_task *b);
/* Less by more than rounding. */
bool reshard_less(double a, double b);
/* Copies a plan into another one of the same problem. */
void reshard_plan_copy(const struct reshard_problem *p, const struct reshard_plan *from,
                       struct reshard_plan *to);
/* Places the tasks that are not sent behind those that are, from a place on. */
void reshard_place_rest(const struct reshard_problem *p, size_t place, struct reshard_plan *io);
/* Numbers of the tasks that are sent, longest first, ties by number; count of them in *out_count. To be
 * freed. NULL when out of memory. */
uint32_t *reshard_longest_first(const struct reshard_problem *p, size_t *out_count);
#endif
