#include "server/jobs.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "server/clock.h"
#include "server/readers.h"

struct job {
	struct job_status status; /* first: the tree compares by status.id */
	struct job *next, *prev;  /* in the list of its state: queued or ended */
	struct job_queue *queue;
	bool canceled;
	int64_t ended_ns;
};

struct job_list {
	struct job *first, *last;
	size_t count;
};

struct job_queue {
	struct job_queue_config config;
	struct job_work work;
	pthread_mutex_t lock; /* over everything below and in the jobs */
	pthread_cond_t wake;
	void *by_id; /* tree of tsearch(3) */
	struct job_list queued, ended;
	int64_t running;
	int64_t by_state[5]; /* ended states: since the start */
	struct job_waiter *waiters;
	bool stop;
	int started;
	pthread_t *threads;
	struct readers *readers;
};

const struct job_queue_config JOB_QUEUE_DEFAULT = {.threads = 2,
                                                   .read_threads = -1,
                                                   .queued_max = 10000,
                                                   .ended_max = 10000,
                                                   .keep_ns = 3600 * CLOCK_SECOND_NS};

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct job_status *)a)->id, ((const struct job_status *)b)->id);
}

static struct job *find(struct job_queue *q, const char *id)
{
	struct job_status key = {0};
	struct job **at;

	if (strlen(id) >= sizeof(key.id))
		return NULL;
	memcpy(key.id, id, strlen(id) + 1);
	at = tfind(&key, &q->by_id, by_id);
	return at ? *at : NULL;
}

static void list_push(struct job_list *l, struct job *j)
{
	j->next = NULL;
	j->prev = l->last;
	*(l->last ? &l->last->next : &l->first) = j;
	l->last = j;
	l->count++;
}

static void list_remove(struct job_list *l, struct job *j)
{
	*(j->prev ? &j->prev->next : &l->first) = j->next;
	*(j->next ? &j->next->prev : &l->last) = j->prev;
	l->count--;
}

static struct job *list_pop(struct job_list *l)
{
	struct job *j = l->first;

	if (j)
		list_remove(l, j);
	return j;
}

static void forget(struct job_queue *q, struct job *j)
{
	tdelete(j, &q->by_id, by_id);
	free(j);
}

static void forget_old(struct job_queue *q, int64_t now_ns)
{
	while (q->ended.first && (q->ended.count > q->config.ended_max ||
	                          now_ns - q->ended.first->ended_ns > q->config.keep_ns))
		forget(q, list_pop(&q->ended));
}

static void waiter_remove(struct job_queue *q, struct job_waiter *w)
{
	if (w->prev)
		w->prev->next = w->next;
	else
		q->waiters = w->next;
	if (w->next)
		w->next->prev = w->prev;
}

/* Takes the waiters of a job (id), or those before a deadline, out of the queue; called with the lock held.
 * They are woken by wake_list() after it was released: a waiter may call the queue again. */
static struct job_waiter *take_waiters(struct job_queue *q, const char *id, int64_t before_ns)
{
	struct job_waiter *taken = NULL;

	for (struct job_waiter *w = q->waiters, *next; w; w = next) {
		next = w->next;
		if (id ? strcmp(w->id, id) != 0 : w->deadline_ns > before_ns)
			continue;
		waiter_remove(q, w);
		w->next = taken;
		taken = w;
	}
	return taken;
}

static void wake_list(struct job_waiter *w)
{
	while (w) {
		struct job_waiter *next = w->next;

		w->wake(w);
		w = next;
	}
}

static void control_progress(void *self, double share)
{
	struct job *j = self;

	pthread_mutex_lock(&j->queue->lock);
	if (share > j->status.progress)
		j->status.progress = share < 1 ? share : 1;
	pthread_mutex_unlock(&j->queue->lock);
}

static bool control_canceled(void *self)
{
	struct job *j = self;
	bool canceled;

	pthread_mutex_lock(&j->queue->lock);
	canceled = j->canceled || j->queue->stop;
	pthread_mutex_unlock(&j->queue->lock);
	return canceled;
}

static void begin(struct job_queue *q, struct job *j)
{
	j->status.state = JOB_RUNNING;
	j->status.started_us = clock_wall_us();
	q->running++;
}

static void end(struct job_queue *q, struct job *j, int rc, const struct sb_error *err)
{
	j->status.state = rc == SB_OK ? JOB_DONE : rc == SB_ECANCELED ? JOB_CANCELED : JOB_FAILED;
	if (rc == SB_OK)
		j->status.progress = 1;
	else
		j->status.error = *err;
	j->status.ended_us = clock_wall_us();
	j->ended_ns = clock_now_ns();
	q->running--;
	q->by_state[j->status.state]++;
	list_push(&q->ended, j);
	forget_old(q, j->ended_ns);
}

static void run_one(struct job_queue *q, struct job *j)
{
	struct reader_team team;
	struct job_control control = {j, control_progress, control_canceled, &team.executor};
	struct sb_error err = {0};
	char id[STORE_ID_MAX];
	struct job_waiter *woken;
	int rc;

	memcpy(id, j->status.id, sizeof(id));
	reader_team_init(&team, q->readers);
	rc = q->work.run(q->work.self, j->status.kind, j->status.object, &control, &err);
	reader_team_end(&team);
	if (rc != SB_OK && err.code == SB_OK)
		sb_fail(&err, rc, "job_failed", "%s", sb_strerror(rc));
	pthread_mutex_lock(&q->lock);
	end(q, j, rc, &err);
	woken = take_waiters(q, id, 0);
	pthread_mutex_unlock(&q->lock);
	wake_list(woken);
}

static void *job_thread(void *arg)
{
	struct job_queue *q = arg;

	pthread_mutex_lock(&q->lock);
	while (!q->stop) {
		struct job *j = list_pop(&q->queued);

		if (!j) {
			pthread_cond_wait(&q->wake, &q->lock);
			continue;
		}
		begin(q, j);
		pthread_mutex_unlock(&q->lock);
		run_one(q, j);
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

static int add_job(struct job_queue *q, const struct job_status *status)
{
	struct job *j = find(q, status->id);

	if (j && j->status.state <= JOB_RUNNING)
		return SB_ECONFLICT;
	if (q->stop || q->queued.count >= q->config.queued_max)
		return SB_EBUSY;
	if (j) {
		list_remove(&q->ended, j);
		forget(q, j);
	}
	j = calloc(1, sizeof(*j));
	if (!j)
		return SB_ENOMEM;
	j->status = *status;
	j->queue = q;
	if (!tsearch(j, &q->by_id, by_id)) {
		free(j);
		return SB_ENOMEM;
	}
	list_push(&q->queued, j);
	pthread_cond_signal(&q->wake);
	return SB_OK;
}

static int ops_submit(struct job_queue *q, const char *id, const char *kind, const char *object)
{
	struct job_status s = {.state = JOB_QUEUED, .created_us = clock_wall_us()};
	int rc;

	if (strlen(id) >= sizeof(s.id) || strlen(kind) >= sizeof(s.kind) ||
	    strlen(object) >= sizeof(s.object))
		return SB_EINVAL;
	memcpy(s.id, id, strlen(id) + 1);
	memcpy(s.kind, kind, strlen(kind) + 1);
	memcpy(s.object, object, strlen(object) + 1);
	pthread_mutex_lock(&q->lock);
	rc = add_job(q, &s);
	pthread_mutex_unlock(&q->lock);
	return rc;
}

static int ops_status(struct job_queue *q, const char *id, struct job_status *out)
{
	struct job *j;

	pthread_mutex_lock(&q->lock);
	forget_old(q, clock_now_ns());
	j = find(q, id);
	if (j)
		*out = j->status;
	pthread_mutex_unlock(&q->lock);
	return j ? SB_OK : SB_ENOENT;
}

static int ops_cancel(struct job_queue *q, const char *id)
{
	struct job *j;
	int rc = SB_OK;

	pthread_mutex_lock(&q->lock);
	j = find(q, id);
	if (!j)
		rc = SB_ENOENT;
	else if (j->status.state > JOB_RUNNING)
		rc = SB_ECONFLICT;
	else
		/* A queued job still gets its turn: only its work can record the end in the store. */
		j->canceled = true;
	pthread_mutex_unlock(&q->lock);
	return rc;
}

static void ops_counts(struct job_queue *q, int64_t out_by_state[5])
{
	pthread_mutex_lock(&q->lock);
	memcpy(out_by_state, q->by_state, sizeof(q->by_state));
	out_by_state[JOB_QUEUED] = (int64_t)q->queued.count;
	out_by_state[JOB_RUNNING] = q->running;
	pthread_mutex_unlock(&q->lock);
}

const struct job_ops JOB_OPS = {
    .submit = ops_submit, .status = ops_status, .cancel = ops_cancel, .counts = ops_counts};

int jobs_new(const struct job_queue_config *config, struct job_queue **out)
{
	struct job_queue *q = calloc(1, sizeof(*q));

	if (!q)
		return SB_ENOMEM;
	q->config = *config;
	q->threads = calloc((size_t)config->threads, sizeof(*q->threads));
	if (!q->threads) {
		free(q);
		return SB_ENOMEM;
	}
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->wake, NULL);
	*out = q;
	return SB_OK;
}

int jobs_start(struct job_queue *q, struct job_work work)
{
	if (readers_new(q->config.read_threads, &q->readers) != SB_OK)
		return SB_EIO;
	q->work = work;
	for (; q->started < q->config.threads; q->started++)
		if (pthread_create(&q->threads[q->started], NULL, job_thread, q) != 0)
			return SB_EIO;
	return SB_OK;
}

void jobs_stop(struct job_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_broadcast(&q->wake);
	pthread_mutex_unlock(&q->lock);
	jobs_wake_all(q);
	for (; q->started > 0; q->started--)
		pthread_join(q->threads[q->started - 1], NULL);
}

void jobs_free(struct job_queue **qq)
{
	struct job_queue *q = *qq;

	*qq = NULL;
	if (!q)
		return;
	jobs_stop(q);
	readers_free(&q->readers);
	for (struct job *j; (j = list_pop(&q->queued)) || (j = list_pop(&q->ended));)
		forget(q, j);
	pthread_cond_destroy(&q->wake);
	pthread_mutex_destroy(&q->lock);
	free(q->threads);
	free(q);
}

void jobs_wait(struct job_queue *q, struct job_waiter *w)
{
	struct job *j;
	bool wait;

	pthread_mutex_lock(&q->lock);
	j = find(q, w->id);
	wait = j && j->status.state <= JOB_RUNNING && !q->stop;
	if (wait) {
		w->prev = NULL;
		w->next = q->waiters;
		if (q->waiters)
			q->waiters->prev = w;
		q->waiters = w;
	}
	pthread_mutex_unlock(&q->lock);
	if (!wait)
		w->wake(w);
}

void jobs_expire(struct job_queue *q, int64_t now_ns)
{
	struct job_waiter *woken;

	pthread_mutex_lock(&q->lock);
	woken = take_waiters(q, NULL, now_ns);
	pthread_mutex_unlock(&q->lock);
	wake_list(woken);
}

void jobs_wake_all(struct job_queue *q)
{
	jobs_expire(q, INT64_MAX);
}
