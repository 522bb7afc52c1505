#include "server/paths.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 32

static int add_file(struct path_list *list, const char *disk_path, const char *label, int64_t bytes)
{
	struct path_file *f;

	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 16;

		f = realloc(list->files, capacity * sizeof(*f));
		if (!f)
			return SB_ENOMEM;
		list->files = f;
		list->capacity = capacity;
	}
	f = &list->files[list->count];
	*f = (struct path_file){.disk_path = strdup(disk_path), .label = strdup(label), .bytes = bytes};
	if (!f->disk_path || !f->label) {
		free(f->disk_path);
		free(f->label);
		return SB_ENOMEM;
	}
	list->count++;
	list->bytes += bytes;
	return SB_OK;
}

static void close_dir(DIR **d)
{
	if (*d)
		closedir(*d);
}

static int walk(struct path_list *list, const char *disk_path, const char *label, int depth,
                struct sb_error *err);

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX ends it */
static int walk_entry(struct path_list *list, const char *dir, const char *dir_label, const char *name,
                      int depth, struct sb_error *err)
{
	char disk_path[PATH_MAX], label[PATH_MAX];
	struct stat st;

	if (snprintf(disk_path, sizeof(disk_path), "%s/%s", dir, name) >= (int)sizeof(disk_path) ||
	    snprintf(label, sizeof(label), "%s/%s", dir_label, name) >= (int)sizeof(label))
		return sb_fail(err, SB_ELIMIT, "path_too_long", "%s: a path below it is too long", dir);
	if (lstat(disk_path, &st) != 0)
		return SB_OK; /* gone since the folder was listed */
	if (S_ISDIR(st.st_mode))
		return walk(list, disk_path, label, depth + 1, err);
	if (!S_ISREG(st.st_mode))
		return SB_OK;
	if (list->count >= PATH_FILES_MAX)
		return sb_fail(err, SB_ELIMIT, "too_many_files", "more than %d files", PATH_FILES_MAX);
	return add_file(list, disk_path, label, st.st_size);
}

/* NOLINTNEXTLINE(misc-no-recursion): DEPTH_MAX ends it */
static int walk(struct path_list *list, const char *disk_path, const char *label, int depth,
                struct sb_error *err)
{
	__attribute__((cleanup(close_dir))) DIR *d = opendir(disk_path);
	const struct dirent *e;
	int rc = SB_OK;

	if (!d)
		return sb_fail(err, SB_EIO, "not_readable", "%s: %s", disk_path, strerrordesc_np(errno));
	if (depth > DEPTH_MAX)
		return sb_fail(err, SB_ELIMIT, "too_deep", "%s: folders nested more than %d deep", disk_path,
		               DEPTH_MAX);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own */
	while (rc == SB_OK && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			rc = walk_entry(list, disk_path, label, e->d_name, depth, err);
	}
	return rc;
}

/* The name a path is known by: its last part, with "." and ".." resolved, since a rank's folder is told by
 * its name. */
static int label_of(const char *path, char label[PATH_MAX], struct sb_error *err)
{
	char real[PATH_MAX];
	const char *slash;

	if (!realpath(path, real))
		return sb_fail(err, errno == ENOENT ? SB_ENOENT : SB_EIO, "not_found", "%s: %s", path,
		               strerrordesc_np(errno));
	slash = strrchr(real, '/');
	snprintf(label, PATH_MAX, "%s", slash && slash[1] ? slash + 1 : real);
	return SB_OK;
}

static int by_label(const void *a, const void *b)
{
	const struct path_file *x = a, *y = b;
	int order = strcmp(x->label, y->label);

	return order != 0 ? order : strcmp(x->disk_path, y->disk_path);
}

static int collect_one(struct path_list *list, const char *path, struct sb_error *err)
{
	char label[PATH_MAX];
	struct stat st;
	int rc = label_of(path, label, err);

	if (rc != SB_OK)
		return rc;
	if (stat(path, &st) != 0)
		return sb_fail(err, SB_EIO, "not_readable", "%s: %s", path, strerrordesc_np(errno));
	if (S_ISDIR(st.st_mode))
		return walk(list, path, label, 0, err);
	if (!S_ISREG(st.st_mode))
		return sb_fail(err, SB_EINVAL, "not_a_file", "%s is neither a file nor a folder", path);
	return add_file(list, path, label, st.st_size);
}

int paths_collect(char *const *paths, size_t count, struct path_list *out, struct sb_error *err)
{
	struct path_list list = {0};
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < count; i++)
		rc = collect_one(&list, paths[i], err);
	if (rc == SB_OK && list.count == 0)
		rc = sb_fail(err, SB_EINVAL, "empty", "there is no file in what was named");
	if (rc != SB_OK) {
		paths_free(&list);
		return rc;
	}
	if (list.count > 1)
		qsort(list.files, list.count, sizeof(*list.files), by_label);
	*out = list;
	return SB_OK;
}

void paths_free(struct path_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->files[i].disk_path);
		free(list->files[i].label);
	}
	free(list->files);
	*list = (struct path_list){0};
}
