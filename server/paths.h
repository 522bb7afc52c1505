#ifndef SB_SERVER_PATHS_H
#define SB_SERVER_PATHS_H
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The files that a command line names: files as they are, directories walked. Symbolic links inside a
 * directory, and what is no regular file, are passed over. */
struct path_file {
	char *disk_path; /* where it lies */
	char *label;     /* relative, '/'-separated, starting with the last part of the path that was named */
	int64_t bytes;
};
struct path_list {
	struct path_file *files; /* by label */
	size_t count, capacity;
	int64_t bytes; /* sum */
};

#define PATH_FILES_MAX 100000 /* as many as the service takes */

/* SB_ENOENT (a path is not there), SB_EIO (not readable), SB_ELIMIT (too many files), SB_EINVAL (no file at
 * all). */
int paths_collect(char *const *paths, size_t count, struct path_list *out, struct sb_error *err);
void paths_free(struct path_list *list);
#define PATHS_AUTO __attribute__((cleanup(paths_free))) struct path_list
#endif
