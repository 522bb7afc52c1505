#ifndef SB_SERVER_PROGRESS_H
#define SB_SERVER_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

/* A progress bar on stderr, silent when stderr is no terminal. */
struct progress_bar {
	const char *label;
	bool terminal;
	int shown; /* per mille, -1 = nothing yet */
};

void progress_start(struct progress_bar *p, const char *label);
/* done of total; total <= 0: unknown, nothing is drawn. */
void progress_show(struct progress_bar *p, int64_t done, int64_t total);
/* Wipes the bar. */
void progress_end(struct progress_bar *p);
#endif
