#include "server/job_list.h"

#include <stddef.h>

void job_list_push(struct job_list *l, struct job *j)
{
	j->next = NULL;
	j->prev = l->last;
	*(l->last ? &l->last->next : &l->first) = j;
	l->last = j;
	l->count++;
}

void job_list_remove(struct job_list *l, struct job *j)
{
	*(j->prev ? &j->prev->next : &l->first) = j->next;
	*(j->next ? &j->next->prev : &l->last) = j->prev;
	l->count--;
}

struct job *job_list_pop(struct job_list *l)
{
	struct job *j = l->first;

	if (j)
		job_list_remove(l, j);
	return j;
}
