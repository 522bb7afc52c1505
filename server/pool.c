#include "server/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct pool_item *first, **last;
	bool stop;
	int threads;
	pthread_t ids[];
};

int pool_threads(int wanted)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (wanted > 0)
		return wanted;
	return cores > 2 ? (int)(2 * cores) : 4;
}

static void *pool_thread(void *arg)
{
	struct pool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct pool_item *item = p->first;

		if (!item && p->stop)
			break;
		if (!item) {
			pthread_cond_wait(&p->work, &p->lock);
			continue;
		}
		p->first = item->next;
		if (!p->first)
			p->last = &p->first;
		pthread_mutex_unlock(&p->lock);
		item->run(item);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int pool_new(int threads, struct pool **out)
{
	struct pool *p = calloc(1, sizeof(*p) + (size_t)threads * sizeof(p->ids[0]));

	if (!p)
		return SB_ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	p->last = &p->first;
	while (p->threads < threads && pthread_create(&p->ids[p->threads], NULL, pool_thread, p) == 0)
		p->threads++;
	if (p->threads < threads) {
		pool_free(&p);
		return SB_EIO;
	}
	*out = p;
	return SB_OK;
}

void pool_free(struct pool **pp)
{
	struct pool *p = *pp;

	*pp = NULL;
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->threads; i++)
		pthread_join(p->ids[i], NULL);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void pool_push(struct pool *p, struct pool_item *item)
{
	item->next = NULL;
	pthread_mutex_lock(&p->lock);
	*p->last = item;
	p->last = &item->next;
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}
