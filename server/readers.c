#include "server/readers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

/* Pieces of work a thread that may wait. More would only hold memory: who has more reads himself. */
#define PIECES 4
#define THREADS_MAX 256

struct piece {
	struct reader_team *team;
	void (*run)(void *arg);
	void *arg;
};

struct readers {
	pthread_mutex_t lock; /* over everything below, and in the teams */
	pthread_cond_t work;
	struct piece *pieces; /* the oldest first */
	size_t count, room;
	bool stop;
	int threads;
	pthread_t ids[];
};

static struct piece take(struct readers *r, size_t i)
{
	struct piece p = r->pieces[i];

	r->count--;
	memmove(&r->pieces[i], &r->pieces[i + 1], (r->count - i) * sizeof(p));
	return p;
}

/* Called with the lock held, which is released meanwhile. */
static void run(struct readers *r, size_t i)
{
	struct piece p = take(r, i);

	pthread_mutex_unlock(&r->lock);
	p.run(p.arg);
	pthread_mutex_lock(&r->lock);
	if (--p.team->waiting == 0)
		pthread_cond_signal(&p.team->ended);
}

static void *reader_thread(void *arg)
{
	struct readers *r = arg;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		if (r->count > 0)
			run(r, 0);
		else if (r->stop)
			break;
		else
			pthread_cond_wait(&r->work, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

static int cores_less_one(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	return cores > THREADS_MAX ? THREADS_MAX : cores > 1 ? (int)cores - 1 : 0;
}

static int start(int threads, struct readers **out)
{
	struct readers *r = calloc(1, sizeof(*r) + (size_t)threads * sizeof(r->ids[0]));

	if (!r)
		return SB_ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, NULL);
	r->room = (size_t)threads * PIECES;
	r->pieces = calloc(r->room + 1, sizeof(*r->pieces));
	while (r->pieces && r->threads < threads &&
	       pthread_create(&r->ids[r->threads], NULL, reader_thread, r) == 0)
		r->threads++;
	if (!r->pieces || r->threads < threads) {
		int rc = r->pieces ? SB_EIO : SB_ENOMEM;

		readers_free(&r);
		return rc;
	}
	*out = r;
	return SB_OK;
}

int readers_new(int threads, struct readers **out)
{
	return start(threads >= 0 ? threads : cores_less_one(), out);
}

void readers_free(struct readers **rr)
{
	struct readers *r = *rr;

	*rr = NULL;
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_broadcast(&r->work);
	pthread_mutex_unlock(&r->lock);
	for (int i = 0; i < r->threads; i++)
		pthread_join(r->ids[i], NULL);
	pthread_cond_destroy(&r->work);
	pthread_mutex_destroy(&r->lock);
	free(r->pieces);
	free(r);
}

static bool team_submit(void *self, void (*work)(void *arg), void *arg)
{
	struct reader_team *t = self;
	struct readers *r = t->readers;
	bool taken;

	pthread_mutex_lock(&r->lock);
	taken = r->count < r->room;
	if (taken) {
		r->pieces[r->count++] = (struct piece){.team = t, .run = work, .arg = arg};
		t->waiting++;
		pthread_cond_signal(&r->work);
	}
	pthread_mutex_unlock(&r->lock);
	return taken;
}

/* The oldest piece of the team's own, or count. */
static size_t own_piece(const struct readers *r, const struct reader_team *t)
{
	size_t i = 0;

	while (i < r->count && r->pieces[i].team != t)
		i++;
	return i;
}

static void team_wait(void *self)
{
	struct reader_team *t = self;
	struct readers *r = t->readers;

	pthread_mutex_lock(&r->lock);
	while (t->waiting > 0) {
		size_t i = own_piece(r, t);

		if (i < r->count)
			run(r, i);
		else
			pthread_cond_wait(&t->ended, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
}

void reader_team_init(struct reader_team *t, struct readers *r)
{
	*t = (struct reader_team){.readers = r};
	t->executor = (struct sb_executor){.self = t, .submit = team_submit, .wait = team_wait};
	pthread_cond_init(&t->ended, NULL);
}

void reader_team_end(struct reader_team *t)
{
	pthread_cond_destroy(&t->ended);
}
