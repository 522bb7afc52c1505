#ifndef SB_TESTS_UNIT_PROFILER_MADE_PROFILE_H
#define SB_TESTS_UNIT_PROFILER_MADE_PROFILE_H
#include <string.h>

#include "profiler/read.h"
#include "tests/unit/profiler/made_archive.h"

/* Profiles read from texts in memory. */
struct text_file {
	const char *path;
	const char *text;
	size_t len; /* 0: strlen(text) */
};

#define MADE_FILES_MAX 16

static inline int read_texts(const struct text_file *files, size_t count, struct profile *out,
                             struct sb_error *err)
{
	struct read_input in[MADE_FILES_MAX];
	int rc;

	made_check(count <= MADE_FILES_MAX);
	for (size_t i = 0; i < count; i++) {
		size_t len = files[i].len ? files[i].len : strlen(files[i].text);

		in[i] = (struct read_input){
		    .path = files[i].path, .fd = made_fd(files[i].text, len), .length = (int64_t)len};
	}
	*err = (struct sb_error){0};
	rc = profile_read(in, count, NULL, NULL, out, err);
	for (size_t i = 0; i < count; i++)
		close(in[i].fd);
	return rc;
}

static inline const struct warning *warning_of(const struct profile *p, const char *code)
{
	for (size_t i = 0; i < p->warnings.count; i++) {
		if (strcmp(p->warnings.items[i].code, code) == 0)
			return &p->warnings.items[i];
	}
	return NULL;
}

static inline const char *text_of(const struct capture *c, uint32_t id)
{
	return trace_text(&c->trace, id, NULL);
}
#endif
