#ifndef SB_BASE_WATCH_H
#define SB_BASE_WATCH_H
#include <stdbool.h>
#include <stddef.h>

/* Who follows long work: whether it is still wanted, and how far it is. The work asks a few hundred times a
 * second at most; once it was told to stop, that stays, and nobody looks at what it returns. */
struct sb_watch {
	void *self;
	bool (*stopped)(void *self);
	void (*progress)(void *self, double share); /* 0..1 */
};

/* watch may be NULL: nobody does. */
static inline bool sb_stopped(const struct sb_watch *watch)
{
	return watch && watch->stopped(watch->self);
}

static inline void sb_progress(const struct sb_watch *watch, double share)
{
	if (watch)
		watch->progress(watch->self, share);
}
#endif
