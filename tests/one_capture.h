#ifndef SB_TESTS_ONE_CAPTURE_H
#define SB_TESTS_ONE_CAPTURE_H
#include <stdlib.h>
#include <string.h>

#include "profiler/read/reader.h"

/* read_context.capture for a reader that is run alone: the profile gets its one capture when it is asked for.
 * SB_ENOMEM; the profile owns the capture. */
static inline int one_capture(struct read_context *ctx, const char *key, enum capture_format format,
                              struct capture **out)
{
	struct capture *c = calloc(1, sizeof(*c));
	char *source = strdup(key);

	if (!c || !source) {
		free(c);
		free(source);
		return SB_ENOMEM;
	}
	c->source = source;
	c->format = format;
	ctx->profile->captures = c;
	ctx->profile->count = 1;
	*out = c;
	return SB_OK;
}
#endif
