#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "storage/internal.h"

/* One thread, one connection that writes and checkpoints. SQLite before 3.51.3 can lose pages when one
 * connection checkpoints while another commits; with one connection doing both there is no other party. */

#define BATCH_MAX 128
#define CHECKPOINT_PAGES 1000
#define TRUNCATE_PAGES 16384 /* 64 MiB of 4 KiB pages */

struct mutation {
	mutation_fn fn;
	void *arg;
	int rc;
	struct sb_error err;
	bool done;
	struct mutation *next;
};

struct writer {
	struct store *store;
	struct conn *c;
	pthread_t thread;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;  /* the writer: something to do */
	pthread_cond_t ended; /* the callers: a batch is through */
	struct mutation *first, **last;
	bool stopping;
	bool refusing;          /* health is final: no write is tried any more */
	struct sb_error health; /* code SB_OK while writes work */
	int64_t profiles, plans;
	/* of the writer thread alone */
	int wal_pages;
	bool counts_stale;
	bool ballast_gone;
};

static int on_wal(void *arg, sqlite3 *db, const char *name, int pages)
{
	struct writer *w = arg;

	(void)db;
	(void)name;
	w->wal_pages = pages;
	return SQLITE_OK;
}

/* Failures of the disk or the file concern the whole batch; the others only their own mutation. */
static bool is_fatal(int rc)
{
	return rc == SB_EIO || rc == SB_ENOSPC || rc == SB_EREADONLY;
}

static int run_one(struct writer *w, struct mutation *m)
{
	int rc = conn_exec(w->c, "SAVEPOINT m", &m->err);

	if (rc == SB_OK)
		rc = m->fn(w->c, m->arg, &m->err);
	m->rc = rc;
	if (rc != SB_OK && sqlite3_get_autocommit(conn_db(w->c)))
		return SB_EIO; /* SQLite has taken the whole transaction back */
	if (rc != SB_OK)
		conn_exec(w->c, "ROLLBACK TO m", NULL);
	if (conn_exec(w->c, "RELEASE m", NULL) != SB_OK)
		return SB_EIO;
	return is_fatal(rc) ? rc : SB_OK;
}

/* Runs and commits a batch. On failure *err holds the reason that all of them share. */
static int try_batch(struct writer *w, struct mutation *batch, struct sb_error *err)
{
	int rc = conn_exec(w->c, "BEGIN IMMEDIATE", err);

	if (rc != SB_OK)
		return rc;
	for (struct mutation *m = batch; m; m = m->next) {
		rc = run_one(w, m);
		if (rc != SB_OK) {
			*err = m->err;
			break;
		}
	}
	if (rc == SB_OK)
		rc = conn_exec(w->c, "COMMIT", err);
	if (rc != SB_OK) {
		if (err->code == SB_OK)
			conn_fail(w->c, err);
		if (!sqlite3_get_autocommit(conn_db(w->c)))
			conn_exec(w->c, "ROLLBACK", NULL);
		rc = err->code != SB_OK ? err->code : rc;
	}
	return rc;
}

static void checkpoint(struct writer *w, int mode)
{
	int log = 0, done = 0;

	if (sqlite3_wal_checkpoint_v2(conn_db(w->c), NULL, mode, &log, &done) == SQLITE_OK && log == done)
		w->wal_pages = 0;
}

static void run_batch(struct writer *w, struct mutation *batch)
{
	struct sb_error err = {0};
	int rc = try_batch(w, batch, &err);

	if (rc == SB_ENOSPC && ballast_drop(w->store)) {
		w->ballast_gone = true;
		err = (struct sb_error){0};
		rc = try_batch(w, batch, &err);
	}
	atomic_fetch_add(&w->store->commits, 1);
	pthread_mutex_lock(&w->lock);
	if (!w->refusing && (rc == SB_OK || is_fatal(rc)))
		w->health = err;
	/* writing on could only spread the damage */
	if (strcmp(w->health.word, "corrupt") == 0)
		w->refusing = true;
	while (batch) {
		struct mutation *next = batch->next;

		if (rc != SB_OK) {
			batch->rc = rc;
			batch->err = err;
		}
		batch->done = true;
		batch = next;
	}
	pthread_cond_broadcast(&w->ended);
	pthread_mutex_unlock(&w->lock);
	w->counts_stale = true;
	if (w->wal_pages >= TRUNCATE_PAGES)
		checkpoint(w, SQLITE_CHECKPOINT_TRUNCATE);
	else if (w->wal_pages >= CHECKPOINT_PAGES)
		checkpoint(w, SQLITE_CHECKPOINT_PASSIVE);
}

static void refresh_counts(struct writer *w)
{
	int64_t profiles, plans;

	if (conn_int(w->c, "SELECT count(*) FROM profiles", &profiles, NULL) != SB_OK ||
	    conn_int(w->c, "SELECT count(*) FROM plans", &plans, NULL) != SB_OK)
		return;
	pthread_mutex_lock(&w->lock);
	w->profiles = profiles;
	w->plans = plans;
	pthread_mutex_unlock(&w->lock);
	w->counts_stale = false;
}

/* Does a write go through again? */
static void probe(struct writer *w)
{
	struct sb_error err = {0};

	if (conn_exec(w->c, "BEGIN IMMEDIATE;CREATE TABLE probe(x);DROP TABLE probe;COMMIT", &err) != SB_OK &&
	    !sqlite3_get_autocommit(conn_db(w->c)))
		conn_exec(w->c, "ROLLBACK", NULL);
	pthread_mutex_lock(&w->lock);
	if (!w->refusing)
		w->health = err;
	pthread_mutex_unlock(&w->lock);
}

static void idle(struct writer *w)
{
	bool sick;

	pthread_mutex_lock(&w->lock);
	sick = w->health.code != SB_OK && !w->refusing;
	pthread_mutex_unlock(&w->lock);
	if (sick)
		probe(w);
	if (w->ballast_gone && ballast_make(w->store, NULL) == SB_OK)
		w->ballast_gone = false;
	if (w->counts_stale)
		refresh_counts(w);
	if (w->wal_pages > 0)
		checkpoint(w, SQLITE_CHECKPOINT_PASSIVE);
}

/* Takes up to BATCH_MAX mutations off the queue; the lock is held. */
static struct mutation *take_batch(struct writer *w)
{
	struct mutation *batch = w->first, *m = batch;
	size_t n = 1;

	if (!m)
		return NULL;
	while (m->next && n < BATCH_MAX) {
		m = m->next;
		n++;
	}
	w->first = m->next;
	if (!w->first)
		w->last = &w->first;
	m->next = NULL;
	return batch;
}

static void *writer_main(void *arg)
{
	struct writer *w = arg;

	for (;;) {
		struct mutation *batch;
		struct timespec until;
		int late = 0;
		bool stop;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += 1;
		pthread_mutex_lock(&w->lock);
		while (!w->first && !w->stopping && late == 0)
			late = pthread_cond_timedwait(&w->wake, &w->lock, &until);
		batch = take_batch(w);
		stop = w->stopping && !batch;
		pthread_mutex_unlock(&w->lock);
		if (stop)
			break;
		if (batch)
			run_batch(w, batch);
		else
			idle(w);
	}
	return NULL;
}

int writer_start(struct store *s, struct conn *c, struct writer **out, struct sb_error *err)
{
	struct writer *w = calloc(1, sizeof(*w));
	pthread_condattr_t attr;

	if (!w)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	w->store = s;
	w->c = c;
	w->last = &w->first;
	w->wal_pages = 1; /* a log left by a former run is worth a first checkpoint */
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_cond_init(&w->ended, &attr);
	pthread_condattr_destroy(&attr);
	sqlite3_wal_hook(conn_db(c), on_wal, w);
	refresh_counts(w);
	if (pthread_create(&w->thread, NULL, writer_main, w) != 0) {
		pthread_mutex_destroy(&w->lock);
		free(w);
		return sb_fail(err, SB_EIO, "thread", "the writer thread cannot be started");
	}
	*out = w;
	return SB_OK;
}

void writer_stop(struct writer **wp)
{
	struct writer *w = *wp;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	checkpoint(w, SQLITE_CHECKPOINT_TRUNCATE);
	conn_close(&w->c);
	pthread_cond_destroy(&w->wake);
	pthread_cond_destroy(&w->ended);
	pthread_mutex_destroy(&w->lock);
	free(w);
	*wp = NULL;
}

static void enqueue(struct writer *w, struct mutation *m)
{
	*w->last = m;
	w->last = &m->next;
	pthread_cond_signal(&w->wake);
}

int writer_do(struct writer *w, mutation_fn fn, void *arg, struct sb_error *err)
{
	struct mutation m = {.fn = fn, .arg = arg};

	pthread_mutex_lock(&w->lock);
	if (w->refusing || w->stopping) {
		if (w->refusing)
			m.err = w->health;
		else
			sb_fail(&m.err, SB_EBUSY, "stopping", "the store is being closed");
		m.rc = m.err.code;
	} else {
		enqueue(w, &m);
		while (!m.done)
			pthread_cond_wait(&w->ended, &w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	if (m.rc != SB_OK && err)
		*err = m.err;
	return m.rc;
}

void writer_refuse(struct writer *w, const struct sb_error *why)
{
	pthread_mutex_lock(&w->lock);
	w->refusing = true;
	w->health = *why;
	pthread_mutex_unlock(&w->lock);
}

int writer_health(struct writer *w, struct sb_error *err)
{
	int rc;

	pthread_mutex_lock(&w->lock);
	rc = w->health.code;
	if (rc != SB_OK && err)
		*err = w->health;
	pthread_mutex_unlock(&w->lock);
	return rc;
}

void writer_counts(struct writer *w, int64_t *out_profiles, int64_t *out_plans)
{
	pthread_mutex_lock(&w->lock);
	*out_profiles = w->profiles;
	*out_plans = w->plans;
	pthread_mutex_unlock(&w->lock);
}
