#include "storage/internal.h"

int reader_take(struct store *s, struct reader *out, struct sb_error *err)
{
	struct readers *r = &s->readers;
	struct conn *c = NULL;

	pthread_mutex_lock(&r->lock);
	while (r->idle_count == 0 && r->open_count == READERS_MAX)
		pthread_cond_wait(&r->free, &r->lock);
	if (r->idle_count > 0)
		c = r->idle[--r->idle_count];
	else
		r->open_count++;
	pthread_mutex_unlock(&r->lock);
	if (!c) {
		int rc = conn_open(s->database, CONN_READER, &c, err);

		if (rc != SB_OK) {
			pthread_mutex_lock(&r->lock);
			r->open_count--;
			pthread_cond_signal(&r->free);
			pthread_mutex_unlock(&r->lock);
			return rc;
		}
	}
	*out = (struct reader){.store = s, .c = c};
	return SB_OK;
}

void reader_give(struct reader *r)
{
	struct readers *pool;

	if (!r->c)
		return;
	pool = &r->store->readers;
	pthread_mutex_lock(&pool->lock);
	pool->idle[pool->idle_count++] = r->c;
	pthread_cond_signal(&pool->free);
	pthread_mutex_unlock(&pool->lock);
	r->c = NULL;
}
