#ifndef SB_BASE_STOP_H
#define SB_BASE_STOP_H
#include <stdbool.h>
#include <stddef.h>

/* How long work learns that nobody wants its result any more. Who does it asks now and then, a few hundred
 * times a second at most, and ends with SB_ECANCELED. */
struct sb_stop {
	void *self;
	bool (*asked)(void *self);
};

/* stop may be NULL: never. */
static inline bool sb_stopped(const struct sb_stop *stop)
{
	return stop && stop->asked(stop->self);
}
#endif
