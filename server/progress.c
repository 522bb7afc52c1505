#include "server/progress.h"

#include <stdio.h>
#include <unistd.h>

#define WIDTH 40

void progress_start(struct progress_bar *p, const char *label)
{
	*p = (struct progress_bar){.label = label, .terminal = isatty(STDERR_FILENO) == 1, .shown = -1};
}

void progress_show(struct progress_bar *p, int64_t done, int64_t total)
{
	int mille, filled;

	if (!p->terminal || total <= 0)
		return;
	mille = done >= total ? 1000 : (int)((double)done * 1000.0 / (double)total);
	if (mille == p->shown)
		return;
	p->shown = mille;
	filled = mille * WIDTH / 1000;
	fprintf(stderr, "\r%s [%.*s%*s] %3d %%", p->label, filled, "########################################",
	        WIDTH - filled, "", mille / 10);
	fflush(stderr);
}

void progress_end(struct progress_bar *p)
{
	if (p->terminal && p->shown >= 0)
		fprintf(stderr, "\r\033[K");
}
