#ifndef SB_SERVER_LIFECYCLE_H
#define SB_SERVER_LIFECYCLE_H
#include <stdatomic.h>
#include <stdbool.h>

/* The signals of the process and its supervisor. */
struct lifecycle {
	atomic_bool draining;
};

/* Blocks SIGTERM and SIGINT in this thread and all it starts, and ignores SIGPIPE. Call before any thread
 * starts. */
void lifecycle_block_signals(void);
/* Waits for SIGTERM or SIGINT, sets draining; from then on a second signal ends the process at once. */
int lifecycle_wait(struct lifecycle *l);
/* For struct api_config. */
bool lifecycle_draining(void *l);
/* Tells the supervisor ("READY=1", "STOPPING=1") by sd_notify's protocol, when there is one. */
void lifecycle_notify(const char *state);
#endif
