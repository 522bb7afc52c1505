#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/profiles/report.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A whole profile of several files, and everything that is computed from it: what holds for every profile
 * must hold, and the order of the files must not matter. */

#define FILES_MAX 6

struct upload {
	struct read_input inputs[FILES_MAX];
	char paths[FILES_MAX][64];
	size_t count;
};

/* A 0xFF byte ends a file; its first line is its path. */
static void split(const uint8_t *data, size_t size, struct upload *u)
{
	while (size > 0 && u->count < FILES_MAX) {
		const uint8_t *end = memchr(data, 0xFF, size);
		size_t n = end ? (size_t)(end - data) : size;
		const uint8_t *line = memchr(data, '\n', n);
		size_t name = line ? (size_t)(line - data) : 0, skip = line ? name + 1 : 0;
		char *path = u->paths[u->count];
		int fd = memfd_create("fuzz", MFD_CLOEXEC);

		name = name < 63 ? name : 63;
		memcpy(path, data, name);
		path[name] = '\0';
		must(fd >= 0 && write(fd, data + skip, n - skip) == (ssize_t)(n - skip));
		u->inputs[u->count++] =
		    (struct read_input){.path = path, .fd = fd, .length = (int64_t)(n - skip)};
		n += end != NULL;
		data += n;
		size -= n;
	}
}

/* All documents of a profile as one text, or the error's word. */
static char *answers(const struct upload *u)
{
	const struct read_limits limits = {
	    .inflated_bytes = 4 << 20, .ratio = 100, .ratio_from = 1 << 18, .archive_files = 200};
	RESULTS_AUTO r = {0};
	struct sb_error err = {0};
	struct sb_buf all;
	json_t *read;

	if (results_compute(u->inputs, u->count, &limits, NULL, &THRESHOLDS_DEFAULT, &r, &err) != SB_OK) {
		must(err.word[0] != '\0' && err.text[0] != '\0');
		return strdup(err.word);
	}
	for (size_t i = 0; i < r.breakdown.count; i++) {
		const struct breakdown_row *b = &r.breakdown.rows[i];

		if (b->communication_ns != SB_NULL && b->overlap_ns != SB_NULL && b->exposed_ns != SB_NULL)
			must(b->communication_ns == b->exposed_ns + b->overlap_ns);
	}
	sb_buf_init(&all, REPORT_MAX);
	must(report_json(&r, "name", 1, &all) == SB_OK);
	read = json_loadb(all.data, all.len, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
	must(read);
	json_decref(read);
	return sb_buf_take(&all);
}

static bool same_paths(const struct upload *u)
{
	for (size_t i = 0; i < u->count; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(u->paths[i], u->paths[k]) == 0)
				return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct upload u = {0};
	char *first, *second;

	split(data, size, &u);
	first = answers(&u);
	for (size_t i = 0; i < u.count / 2; i++) {
		struct read_input swap = u.inputs[i];

		u.inputs[i] = u.inputs[u.count - 1 - i];
		u.inputs[u.count - 1 - i] = swap;
	}
	second = answers(&u);
	/* of two files with one path the first is used, whichever that is */
	must(same_paths(&u) || strcmp(first, second) == 0);
	free(first);
	free(second);
	for (size_t i = 0; i < u.count; i++)
		close(u.inputs[i].fd);
	return 0;
}
