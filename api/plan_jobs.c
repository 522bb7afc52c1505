#include "api/plan_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of jobs that have ended. */
#define ENDED_MAX 1000
#define ENDED_BYTES_MAX ((size_t)16 << 20) /* of their problem documents */
#define KEEP_SECONDS 3600.0

struct entry {
	struct entry *next;
	char id[STORE_ID_MAX];
	char *text; /* NULL once begun */
	bool canceled, told;
	double ended; /* when */
	struct plan_job job;
};

struct entry_list {
	struct entry *first, **last;
	size_t count;
};

struct plan_jobs {
	pthread_mutex_t lock;
	struct entry_list under_way, ended; /* the oldest first */
	size_t bytes;                       /* of what is ended */
};

static void list_init(struct entry_list *l)
{
	*l = (struct entry_list){.last = &l->first};
}

static void push(struct entry_list *l, struct entry *e)
{
	e->next = NULL;
	*l->last = e;
	l->last = &e->next;
	l->count++;
}

/* NULL when it is not there. */
static struct entry *take_out(struct entry_list *l, const char *id)
{
	struct entry **at = &l->first, *e;

	while (*at && strcmp((*at)->id, id) != 0)
		at = &(*at)->next;
	e = *at;
	if (!e)
		return NULL;
	*at = e->next;
	if (!e->next)
		l->last = at;
	l->count--;
	return e;
}

static void entry_free(struct entry *e)
{
	if (!e)
		return;
	free(e->text);
	free(e->job.problem);
	free(e);
}

static size_t bytes_of(const struct entry *e)
{
	return e->job.problem ? strlen(e->job.problem) : 0;
}

static struct entry *find(const struct plan_jobs *all, const char *id)
{
	for (struct entry *e = all->under_way.first; e; e = e->next)
		if (strcmp(e->id, id) == 0)
			return e;
	for (struct entry *e = all->ended.first; e; e = e->next)
		if (strcmp(e->id, id) == 0)
			return e;
	return NULL;
}

struct plan_jobs *plan_jobs_new(void)
{
	struct plan_jobs *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	pthread_mutex_init(&all->lock, NULL);
	list_init(&all->under_way);
	list_init(&all->ended);
	return all;
}

static void clear(struct entry_list *l)
{
	while (l->first)
		entry_free(take_out(l, l->first->id));
}

void plan_jobs_free(struct plan_jobs **pp)
{
	struct plan_jobs *all = *pp;

	*pp = NULL;
	if (!all)
		return;
	clear(&all->under_way);
	clear(&all->ended);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static int submit_new(struct api_service *s, const char *digest, const char *text, char out_id[STORE_ID_MAX])
{
	struct plan_jobs *all = s->plan_jobs;
	struct entry *e = calloc(1, sizeof(*e));
	int rc = SB_ENOMEM;

	if (e)
		e->text = strdup(text);
	if (e && e->text) {
		store_new_id(e->id);
		snprintf(e->job.digest, sizeof(e->job.digest), "%s", digest);
		push(&all->under_way, e);
		rc = s->config.job_ops->submit(s->config.jobs, e->id, "plan", e->id);
		if (rc == SB_OK) {
			memcpy(out_id, e->id, sizeof(e->id));
			return SB_OK;
		}
		take_out(&all->under_way, e->id);
	}
	entry_free(e);
	return rc;
}

int plan_jobs_enter(struct api_service *s, const char *digest, const char *text, char out_id[STORE_ID_MAX],
                    struct sb_error *err)
{
	struct plan_jobs *all = s->plan_jobs;
	struct entry *e;
	int rc = SB_OK;

	pthread_mutex_lock(&all->lock);
	e = all->under_way.first;
	while (e && (e->canceled || strcmp(e->job.digest, digest) != 0))
		e = e->next;
	if (e)
		memcpy(out_id, e->id, sizeof(e->id));
	else
		rc = submit_new(s, digest, text, out_id);
	pthread_mutex_unlock(&all->lock);
	if (rc == SB_ENOMEM)
		return sb_no_memory(err);
	if (rc != SB_OK)
		return sb_fail(err, SB_EBUSY, "busy", "Too many plans are waited for. Try again shortly.");
	return SB_OK;
}

char *plan_jobs_begin(struct plan_jobs *all, const char *id)
{
	struct entry *e;
	char *text = NULL;

	pthread_mutex_lock(&all->lock);
	e = find(all, id);
	if (e) {
		text = e->text;
		e->text = NULL;
	}
	pthread_mutex_unlock(&all->lock);
	return text;
}

static void forget_old(struct plan_jobs *all, double now)
{
	struct entry *e;

	while ((e = all->ended.first) && (all->ended.count > ENDED_MAX || now - e->ended > KEEP_SECONDS ||
	                                  (all->bytes > ENDED_BYTES_MAX && all->ended.count > 1))) {
		all->bytes -= bytes_of(e);
		entry_free(take_out(&all->ended, e->id));
	}
}

static void end(struct plan_jobs *all, const char *id, const char *plan, const struct sb_error *why,
                char *problem)
{
	struct entry *e;

	pthread_mutex_lock(&all->lock);
	e = take_out(&all->under_way, id);
	if (e) {
		e->job.ended = true;
		if (why)
			e->job.error = *why;
		e->job.problem = problem;
		snprintf(e->job.plan, sizeof(e->job.plan), "%.39s", plan);
		e->ended = monotonic_seconds();
		push(&all->ended, e);
		all->bytes += bytes_of(e);
		forget_old(all, e->ended);
	} else {
		free(problem);
	}
	pthread_mutex_unlock(&all->lock);
}

void plan_jobs_found(struct plan_jobs *all, const char *id, const char *plan)
{
	end(all, id, plan, NULL, NULL);
}

void plan_jobs_failed(struct plan_jobs *all, const char *id, const struct sb_error *why, char *problem)
{
	end(all, id, "", why, problem);
}

void plan_jobs_cancel(struct plan_jobs *all, const char *id)
{
	struct entry *e;

	pthread_mutex_lock(&all->lock);
	e = find(all, id);
	if (e)
		e->canceled = true;
	pthread_mutex_unlock(&all->lock);
}

bool plan_jobs_look(struct plan_jobs *all, const char *id, struct plan_job *out)
{
	struct entry *e;

	pthread_mutex_lock(&all->lock);
	e = find(all, id);
	if (e) {
		*out = e->job;
		out->problem = e->job.problem ? strdup(e->job.problem) : NULL;
	}
	pthread_mutex_unlock(&all->lock);
	return e != NULL;
}

bool plan_jobs_tell(struct plan_jobs *all, const char *id)
{
	struct entry *e;
	bool first;

	pthread_mutex_lock(&all->lock);
	e = find(all, id);
	first = e && !e->told;
	if (e)
		e->told = true;
	pthread_mutex_unlock(&all->lock);
	return first;
}
