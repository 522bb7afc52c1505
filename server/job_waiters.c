#include "server/job_waiters.h"

#include <stddef.h>
#include <string.h>

void job_waiters_add(struct job_waiters *all, struct job_waiter *w)
{
	w->prev = NULL;
	w->next = all->first;
	if (all->first)
		all->first->prev = w;
	all->first = w;
}

static void take(struct job_waiters *all, struct job_waiter *w)
{
	*(w->prev ? &w->prev->next : &all->first) = w->next;
	if (w->next)
		w->next->prev = w->prev;
}

struct job_waiter *job_waiters_take(struct job_waiters *all, const char *id, int64_t until_ns)
{
	struct job_waiter *taken = NULL;

	for (struct job_waiter *w = all->first, *next; w; w = next) {
		next = w->next;
		if (id ? strcmp(w->id, id) != 0 : w->deadline_ns > until_ns)
			continue;
		take(all, w);
		w->next = taken;
		taken = w;
	}
	return taken;
}

void job_waiters_wake(struct job_waiter *w)
{
	while (w) {
		struct job_waiter *next = w->next;

		w->wake(w);
		w = next;
	}
}
