#ifndef SB_TESTS_FUZZ_SCRATCH_STORE_H
#define SB_TESTS_FUZZ_SCRATCH_STORE_H
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "storage/store.h"
#include "tests/fuzz/check.h"

/* A store that lives as long as the process. */

struct scratch_store {
	char dir[64];
	struct store *store;
};

static int scratch_store_drop_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline void scratch_store_open(struct scratch_store *s)
{
	char data[80];

	/* memory, where there is some: each write waits for the disk */
	snprintf(s->dir, sizeof(s->dir), "%s/signalbox-fuzz-XXXXXX",
	         access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	must(mkdtemp(s->dir) != NULL);
	snprintf(data, sizeof(data), "%s/data", s->dir);
	must(store_open(data, &s->store, NULL) == SB_OK);
}

static inline void scratch_store_drop(struct scratch_store *s)
{
	store_close(&s->store);
	nftw(s->dir, scratch_store_drop_entry, 8, FTW_DEPTH | FTW_PHYS);
}
#endif
