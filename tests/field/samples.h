#ifndef SB_TESTS_FIELD_SAMPLES_H
#define SB_TESTS_FIELD_SAMPLES_H
#include "tests/shared.h"

#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/read.h"

/* Every profile of $SIGNALBOX_SHARED/samples: each file of the kinds of one file, and each capture of several
 * files as a whole. What is no profile is passed over. */
#define FILES_MAX 400
typedef void sample_look(const char *name, struct profile *p);

struct files {
	struct read_input items[FILES_MAX];
	size_t count;
};

static inline void files_close(struct files *f)
{
	for (size_t i = 0; i < f->count; i++) {
		close(f->items[i].fd);
		/* NOLINTNEXTLINE(performance-no-int-to-ptr): the path is borrowed as const, but made here */
		free((void *)(uintptr_t)f->items[i].path);
	}
}
#define FILES_AUTO __attribute__((cleanup(files_close))) struct files

static inline void files_add(struct files *f, const char *path, const char *name)
{
	struct stat st = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(f->count < FILES_MAX && fd >= 0 && fstat(fd, &st) == 0);
	f->items[f->count++] = (struct read_input){.path = strdup(name), .fd = fd, .length = st.st_size};
}

/* Returns whether it is a profile. */
static inline bool files_look(const struct files *f, const char *name, sample_look *look)
{
	PROFILE_AUTO p = {0};
	struct sb_error err = {0};

	if (profile_read(f->items, f->count, NULL, NULL, &p, &err) != SB_OK)
		return false;
	look(name, &p);
	return true;
}

static inline int by_file_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The files of a folder, each alone or all together. Returns how many profiles it holds. */
static inline size_t look_at(const char *folder, bool together, sample_look *look)
{
	char *root = shared_path(folder);
	char *const roots[] = {root, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_file_name);
	FILES_AUTO all = {.count = 0};
	size_t looked = 0;

	assert_non_null(walk);
	for (FTSENT *e = fts_read(walk); e; e = fts_read(walk)) {
		const char *name = e->fts_path + strlen(root);
		FILES_AUTO one = {.count = 0};

		if (e->fts_info != FTS_F)
			continue;
		files_add(together ? &all : &one, e->fts_path, name);
		if (!together)
			looked += files_look(&one, name, look);
	}
	if (together)
		looked += files_look(&all, folder, look);
	fts_close(walk);
	free(root);
	return looked;
}

static inline void every_sample(sample_look *look)
{
	static const char *const captures[] = {
	    "samples/ascend/cluster_16ranks_pp2", "samples/ascend/mindinsight_era",
	    "samples/ascend/mpa_fixtures",        "samples/ascend/pt_db_L2_rank0",
	    "samples/ascend/pt_text_L0_rank0",    "samples/ascend/pt_text_L1_rank0",
	    "samples/ascend/raw_msprof"};

	assert_true(look_at("samples/kineto", false, look) > 20);
	assert_true(look_at("samples/nsys", false, look) > 1);
	assert_true(look_at("samples/ascend/bundles", false, look) > 2);
	for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		assert_int_equal(look_at(captures[i], true, look), 1);
}
#endif
