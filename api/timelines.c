#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/internal.h"

/* Opened side files of timelines. Opening is quick, but what was checked and mapped once need not be so
 * again: who looks at a timeline looks at it a hundred times. */

#define OPEN_MAX 16

struct timelines {
	pthread_mutex_t lock;
	struct opened *open[OPEN_MAX]; /* the one used last stands first */
	size_t count;
};

struct timelines *timelines_new(void)
{
	struct timelines *all = calloc(1, sizeof(*all));

	if (all)
		pthread_mutex_init(&all->lock, NULL);
	return all;
}

static void drop(struct opened *o)
{
	if (--o->users > 0)
		return;
	timeline_close(&o->timeline);
	free(o);
}

static void remove_at(struct timelines *all, size_t i)
{
	drop(all->open[i]);
	all->count--;
	for (; i < all->count; i++)
		all->open[i] = all->open[i + 1];
}

/* Puts a file in front of the first n. */
static void put_first(struct timelines *all, struct opened *o, size_t n)
{
	for (; n > 0; n--)
		all->open[n] = all->open[n - 1];
	all->open[0] = o;
}

void timelines_free(struct timelines **p)
{
	struct timelines *all = *p;

	if (!all)
		return;
	while (all->count > 0)
		remove_at(all, all->count - 1);
	pthread_mutex_destroy(&all->lock);
	free(all);
	*p = NULL;
}

/* A file that was cut or written over since would end the process by SIGBUS, or show what no checksum was
 * held against: such a one is opened anew, which says what is wrong with it. */
static bool is_same(const struct opened *o, const char *id, const struct stat *st)
{
	return strcmp(o->id, id) == 0 && o->device == st->st_dev && o->inode == st->st_ino &&
	       o->bytes == st->st_size && o->changed.tv_sec == st->st_mtim.tv_sec &&
	       o->changed.tv_nsec == st->st_mtim.tv_nsec;
}

/* Moves the file to the front, if it is there. Under the lock. */
static struct opened *use(struct timelines *all, const char *id, const struct stat *st)
{
	for (size_t i = 0; i < all->count; i++) {
		struct opened *o = all->open[i];

		if (!is_same(o, id, st))
			continue;
		put_first(all, o, i);
		o->users++;
		return o;
	}
	return NULL;
}

/* Puts a file in front and takes it, unless somebody did so meanwhile. Under the lock. */
static struct opened *enter(struct timelines *all, struct opened *fresh, const struct stat *st)
{
	struct opened *o = use(all, fresh->id, st);

	if (o) {
		drop(fresh);
		return o;
	}
	if (all->count == OPEN_MAX)
		remove_at(all, OPEN_MAX - 1);
	put_first(all, fresh, all->count++);
	fresh->users++;
	return fresh;
}

static int open_fresh(struct timelines *all, const char *id, int fd, const struct stat *st,
                      struct opened **out, struct sb_error *err)
{
	struct opened *fresh = calloc(1, sizeof(*fresh));
	int rc;

	if (!fresh)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "The service is out of memory.");
	rc = timeline_open(fd, &fresh->timeline, err);
	if (rc != SB_OK) {
		free(fresh);
		return rc;
	}
	memcpy(fresh->id, id, strnlen(id, STORE_ID_MAX - 1));
	fresh->device = st->st_dev;
	fresh->inode = st->st_ino;
	fresh->bytes = st->st_size;
	fresh->changed = st->st_mtim;
	fresh->users = 1;
	pthread_mutex_lock(&all->lock);
	*out = enter(all, fresh, st);
	pthread_mutex_unlock(&all->lock);
	return SB_OK;
}

int timelines_take(struct api_service *s, const char *id, struct opened **out, struct sb_error *err)
{
	struct timelines *all = s->timelines;
	struct opened *o;
	struct stat st;
	int fd, rc = store_side_open(s->config.store, id, "timeline", &fd, err);

	if (rc != SB_OK)
		return rc;
	if (fstat(fd, &st) != 0) {
		close(fd);
		return sb_fail(err, SB_EIO, "read_failed", "The side file of the timeline cannot be read.");
	}
	pthread_mutex_lock(&all->lock);
	o = use(all, id, &st);
	pthread_mutex_unlock(&all->lock);
	if (o)
		*out = o;
	else
		rc = open_fresh(all, id, fd, &st, out, err);
	close(fd);
	return rc;
}

void timelines_give(struct api_service *s, struct opened *o)
{
	pthread_mutex_lock(&s->timelines->lock);
	drop(o);
	pthread_mutex_unlock(&s->timelines->lock);
}

void timelines_forget(struct api_service *s, const char *id)
{
	struct timelines *all = s->timelines;

	pthread_mutex_lock(&all->lock);
	for (size_t i = all->count; i-- > 0;) {
		if (strcmp(all->open[i]->id, id) == 0)
			remove_at(all, i);
	}
	pthread_mutex_unlock(&all->lock);
}
