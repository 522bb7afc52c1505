#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/commands.h"
#include "server/progress.h"
#include "server/readers.h"

static int read_all(FILE *from, struct sb_buf *out, struct sb_error *err)
{
	char piece[16384];
	size_t n;

	while ((n = fread(piece, 1, sizeof(piece), from)) > 0)
		if (sb_buf_add(out, piece, n) != SB_OK)
			return sb_fail(err, SB_ELIMIT, "too_large", "the request is longer than %zu bytes",
			               out->max);
	return ferror(from) ? sb_fail(err, SB_EIO, "read_failed", "the request cannot be read") : SB_OK;
}

int command_read(const char *path, struct sb_buf *out, struct sb_error *err)
{
	FILE *from = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
	int rc;

	if (!from)
		return sb_fail(err, SB_ENOENT, "not_found", "%s: %s", path, strerrordesc_np(errno));
	rc = read_all(from, out, err);
	if (from != stdin)
		fclose(from);
	return rc;
}

int command_print(const char *text, const char *what)
{
	size_t len = strlen(text);
	struct sb_error err = {.offset = -1};

	if (fputs(text, stdout) >= 0 && ((len > 0 && text[len - 1] == '\n') || putchar('\n') != EOF) &&
	    fflush(stdout) == 0)
		return 0;
	sb_fail(&err, SB_EIO, "write_failed", "cannot write the %s", what);
	return command_fail(&err, 1);
}

static void show(void *self, int64_t done, int64_t total)
{
	progress_show(self, done, total);
}

/* Reads with all cores. */
static int compute(const struct read_input *inputs, size_t count, const struct thresholds *t,
                   struct profile_results *out, struct sb_error *err)
{
	struct progress_bar bar;
	struct readers *readers = NULL;
	struct reader_team team;
	struct read_hooks hooks = {.self = &bar, .progress = show, .executor = &team.executor};
	int rc = readers_new(-1, &readers);

	if (rc != SB_OK)
		return sb_fail(err, rc, "start_failed", "cannot start threads: %s", sb_strerror(rc));
	reader_team_init(&team, readers);
	progress_start(&bar, "reading");
	rc = results_compute(inputs, count, &READ_LIMITS_DEFAULT, &hooks, t, out, err);
	progress_end(&bar);
	reader_team_end(&team);
	readers_free(&readers);
	return rc;
}

int command_results(const struct path_list *files, const struct thresholds *t, struct profile_results *out,
                    struct sb_error *err)
{
	struct read_input *inputs = calloc(files->count, sizeof(*inputs));
	int rc;

	if (!inputs)
		return sb_no_memory(err);
	for (size_t i = 0; i < files->count; i++)
		inputs[i] = (struct read_input){.path = files->files[i].label,
		                                .fd = -1,
		                                .disk_path = files->files[i].disk_path,
		                                .length = files->files[i].bytes};
	rc = compute(inputs, files->count, t, out, err);
	free(inputs);
	return rc;
}
