#ifndef SB_TESTS_EXECUTORS_H
#define SB_TESTS_EXECUTORS_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "profiler/read.h"

/* Two ways to read beside each other that no real pool would choose, so that every order is met. */

#define EXECUTOR_ROOM 4096

struct late_work {
	void (*run)(void *arg);
	void *arg;
};

/* Runs nothing before wait(), and then the newest first. */
struct late_executor {
	struct sb_executor base;
	struct late_work items[EXECUTOR_ROOM];
	size_t count;
	size_t taken; /* in all */
};

static inline bool late_submit(void *self, void (*run)(void *arg), void *arg)
{
	struct late_executor *e = self;

	if (e->count == EXECUTOR_ROOM)
		return false;
	e->items[e->count++] = (struct late_work){run, arg};
	e->taken++;
	return true;
}

static inline void late_wait(void *self)
{
	struct late_executor *e = self;

	while (e->count > 0) {
		struct late_work w = e->items[--e->count];

		w.run(w.arg);
	}
}

static inline void late_init(struct late_executor *e)
{
	*e = (struct late_executor){.base = {.self = e, .submit = late_submit, .wait = late_wait}};
}

/* A thread for each piece of work, at most `room` at a time. */
#define THREADS_ROOM 4
struct thread_slot {
	struct late_work work;
	pthread_t id;
	bool used, waited; /* waited: thread_wait() joins it */
	atomic_bool ended;
};

struct thread_executor {
	struct sb_executor base;
	pthread_mutex_t lock;
	struct thread_slot slots[THREADS_ROOM];
	size_t room;
	size_t taken;
};

static inline void *thread_run(void *arg)
{
	struct thread_slot *s = arg;

	s->work.run(s->work.arg);
	atomic_store(&s->ended, true);
	return NULL;
}

static inline bool thread_submit(void *self, void (*run)(void *arg), void *arg)
{
	struct thread_executor *e = self;
	bool taken = false;

	pthread_mutex_lock(&e->lock);
	for (size_t i = 0; !taken && i < e->room; i++) {
		struct thread_slot *s = &e->slots[i];

		if (s->used && !s->waited && atomic_load(&s->ended)) {
			pthread_join(s->id, NULL);
			s->used = false;
		}
		if (s->used)
			continue;
		s->work = (struct late_work){run, arg};
		atomic_store(&s->ended, false);
		taken = pthread_create(&s->id, NULL, thread_run, s) == 0;
		s->used = taken;
	}
	e->taken += taken;
	pthread_mutex_unlock(&e->lock);
	return taken;
}

static inline void thread_wait(void *self)
{
	struct thread_executor *e = self;

	/* work may bring new work as long as it runs */
	for (bool any = true; any;) {
		any = false;
		for (size_t i = 0; i < e->room; i++) {
			struct thread_slot *s = &e->slots[i];

			pthread_mutex_lock(&e->lock);
			s->waited = s->used;
			pthread_mutex_unlock(&e->lock);
			if (!s->waited)
				continue;
			pthread_join(s->id, NULL);
			any = true;
			pthread_mutex_lock(&e->lock);
			s->used = s->waited = false;
			pthread_mutex_unlock(&e->lock);
		}
	}
}

static inline void threads_init(struct thread_executor *e, size_t room)
{
	*e = (struct thread_executor){.base = {.self = e, .submit = thread_submit, .wait = thread_wait},
	                              .room = room < THREADS_ROOM ? room : THREADS_ROOM};
	pthread_mutex_init(&e->lock, NULL);
}
#endif
