#ifndef SB_BASE_WATCH_H
#define SB_BASE_WATCH_H
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Who follows long work: whether it is still wanted, and how far it is. Once it was told to stop, that stays,
 * and nobody looks at what the work returns. To ask takes a tenth of a microsecond.
 *
 * A problem carries its watch (NULL: nobody follows), and whatever works on it asks wherever a turn of a loop
 * takes more than some microseconds and all of them more than a tenth of a second. It then ends as it does
 * when its effort is used up, or with SB_ECANCELED where it has none (sb_watch_rc()). */
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

/* SB_ECANCELED once it was told to stop, else SB_OK. */
static inline int sb_watch_rc(const struct sb_watch *watch)
{
	return sb_stopped(watch) ? SB_ECANCELED : SB_OK;
}

static inline void sb_progress(const struct sb_watch *watch, double share)
{
	if (watch)
		watch->progress(watch->self, share);
}
#endif
