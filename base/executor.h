#ifndef SB_BASE_EXECUTOR_H
#define SB_BASE_EXECUTOR_H
#include <stdbool.h>

/* Threads that somebody lends, so that who uses them need not know any. */
struct sb_executor {
	void *self;
	/* Takes a piece of work that is run once, on any thread; false when it has no room: then the caller
	 * runs it. It may be called from inside such a piece, and from several threads. */
	bool (*submit)(void *self, void (*run)(void *arg), void *arg);
	/* Returns once all work that was taken has ended. Called outside of such work, by one thread. */
	void (*wait)(void *self);
};
#endif
