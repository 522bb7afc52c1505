#include "server/jobs.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "server/clock.h"
#include "server/job_list.h"
#include "server/pool.h"
#include "server/readers.h"

struct lane {
	struct job_queue *queue;
	struct job_list queued;
	pthread_cond_t wake;
	int started;
	pthread_t *threads;
};

struct job_queue {
	struct job_queue_config config;
	struct job_work work;
	pthread_mutex_t lock; /* over everything below and in the jobs */
	void *by_id;          /* tree of tsearch(3) */
	struct lane lanes[JOB_LANES];
	struct job_list ended;
	int64_t running;
	int64_t by_state[5]; /* ended states: since the start */
	struct job_waiters waiters;
	bool stop;
	struct readers *readers;
};

/* The request of a plan is held in memory until its turn. */
const struct job_queue_config JOB_QUEUE_DEFAULT = {
    .lanes = {[JOB_LANE_PROFILE] = {.threads = 2, .queued_max = 10000}, [JOB_LANE_PLAN] = {.queued_max = 64}},
    .read_threads = -1,
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

static void forget(struct job_queue *q, struct job *j)
{
	tdelete(j, &q->by_id, by_id);
	free(j);
}

static void forget_old(struct job_queue *q, int64_t now_ns)
{
	while (q->ended.first && (q->ended.count > q->config.ended_max ||
	                          now_ns - q->ended.first->ended_ns > q->config.keep_ns))
		forget(q, job_list_pop(&q->ended));
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
	job_list_push(&q->ended, j);
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
	woken = job_waiters_take(&q->waiters, id, 0);
	pthread_mutex_unlock(&q->lock);
	job_waiters_wake(woken);
}

static void *job_thread(void *arg)
{
	struct lane *l = arg;
	struct job_queue *q = l->queue;

	pthread_mutex_lock(&q->lock);
	while (!q->stop) {
		struct job *j = job_list_pop(&l->queued);

		if (!j) {
			pthread_cond_wait(&l->wake, &q->lock);
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

static enum job_lane lane_of(const char *kind)
{
	return strcmp(kind, "plan") == 0 ? JOB_LANE_PLAN : JOB_LANE_PROFILE;
}

static int add_job(struct job_queue *q, const struct job_status *status)
{
	enum job_lane at = lane_of(status->kind);
	struct lane *l = &q->lanes[at];
	struct job *j = find(q, status->id);

	if (j && j->status.state <= JOB_RUNNING)
		return SB_ECONFLICT;
	if (q->stop || l->queued.count >= (size_t)q->config.lanes[at].queued_max)
		return SB_EBUSY;
	if (j) {
		job_list_remove(&q->ended, j);
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
	job_list_push(&l->queued, j);
	pthread_cond_signal(&l->wake);
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

/* A job that waits is ended here, by its own work: only that can record the end in the store, and the threads
 * of its lane may be busy for long. Held to begin with, and again in the end: the lock. */
static void end_queued(struct job_queue *q, struct job *j)
{
	job_list_remove(&q->lanes[lane_of(j->status.kind)].queued, j);
	begin(q, j);
	pthread_mutex_unlock(&q->lock);
	run_one(q, j);
	pthread_mutex_lock(&q->lock);
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
		j->canceled = true;
	if (rc == SB_OK && j->status.state == JOB_QUEUED && q->work.run)
		end_queued(q, j);
	pthread_mutex_unlock(&q->lock);
	return rc;
}

static void ops_counts(struct job_queue *q, int64_t out_by_state[5])
{
	pthread_mutex_lock(&q->lock);
	memcpy(out_by_state, q->by_state, sizeof(q->by_state));
	out_by_state[JOB_QUEUED] = 0;
	for (int i = 0; i < JOB_LANES; i++)
		out_by_state[JOB_QUEUED] += (int64_t)q->lanes[i].queued.count;
	out_by_state[JOB_RUNNING] = q->running;
	pthread_mutex_unlock(&q->lock);
}

const struct job_ops JOB_OPS = {
    .submit = ops_submit, .status = ops_status, .cancel = ops_cancel, .counts = ops_counts};

int jobs_new(const struct job_queue_config *config, struct job_queue **out)
{
	struct job_queue *q = calloc(1, sizeof(*q));
	bool made = q != NULL;

	if (!q)
		return SB_ENOMEM;
	q->config = *config;
	pthread_mutex_init(&q->lock, NULL);
	for (int i = 0; i < JOB_LANES; i++) {
		struct lane *l = &q->lanes[i];
		int threads = pool_threads(config->lanes[i].threads);

		q->config.lanes[i].threads = threads;
		l->queue = q;
		l->threads = calloc((size_t)threads, sizeof(*l->threads));
		made = made && l->threads;
		pthread_cond_init(&l->wake, NULL);
	}
	if (!made) {
		jobs_free(&q);
		return SB_ENOMEM;
	}
	*out = q;
	return SB_OK;
}

int jobs_start(struct job_queue *q, struct job_work work)
{
	if (readers_new(q->config.read_threads, &q->readers) != SB_OK)
		return SB_EIO;
	q->work = work;
	for (int i = 0; i < JOB_LANES; i++) {
		struct lane *l = &q->lanes[i];

		for (; l->started < q->config.lanes[i].threads; l->started++)
			if (pthread_create(&l->threads[l->started], NULL, job_thread, l) != 0)
				return SB_EIO;
	}
	return SB_OK;
}

void jobs_stop(struct job_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	for (int i = 0; i < JOB_LANES; i++)
		pthread_cond_broadcast(&q->lanes[i].wake);
	pthread_mutex_unlock(&q->lock);
	jobs_wake_all(q);
	for (int i = 0; i < JOB_LANES; i++)
		for (struct lane *l = &q->lanes[i]; l->started > 0; l->started--)
			pthread_join(l->threads[l->started - 1], NULL);
}

void jobs_free(struct job_queue **qq)
{
	struct job_queue *q = *qq;

	*qq = NULL;
	if (!q)
		return;
	jobs_stop(q);
	readers_free(&q->readers);
	for (struct job *j; (j = job_list_pop(&q->ended));)
		forget(q, j);
	for (int i = 0; i < JOB_LANES; i++) {
		struct lane *l = &q->lanes[i];

		for (struct job *j; (j = job_list_pop(&l->queued));)
			forget(q, j);
		pthread_cond_destroy(&l->wake);
		free(l->threads);
	}
	pthread_mutex_destroy(&q->lock);
	free(q);
}

void jobs_wait(struct job_queue *q, struct job_waiter *w)
{
	struct job *j;
	bool wait;

	pthread_mutex_lock(&q->lock);
	j = find(q, w->id);
	wait = j && j->status.state <= JOB_RUNNING && !q->stop;
	if (wait)
		job_waiters_add(&q->waiters, w);
	pthread_mutex_unlock(&q->lock);
	if (!wait)
		w->wake(w);
}

void jobs_expire(struct job_queue *q, int64_t now_ns)
{
	struct job_waiter *woken;

	pthread_mutex_lock(&q->lock);
	woken = job_waiters_take(&q->waiters, NULL, now_ns);
	pthread_mutex_unlock(&q->lock);
	job_waiters_wake(woken);
}

void jobs_wake_all(struct job_queue *q)
{
	jobs_expire(q, INT64_MAX);
}
