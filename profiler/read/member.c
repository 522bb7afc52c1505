#include <stdlib.h>
#include <string.h>

#include "profiler/read/source.h"

/* A member of an archive in memory, so that another thread can read it while the walk inflates the next. */
struct waiting {
	struct source source;
	struct stream base;
	char *data;
	size_t len, at;
	int64_t size; /* counted as buffered */
	int depth;
	int rc; /* what ended the member early, told behind its bytes */
	struct sb_error err;
	char path[SOURCE_PATH_MAX];
};

static void waiting_free(struct waiting *w)
{
	atomic_fetch_sub(&w->source.budget.shared->buffered, w->size);
	free(w->data);
	free(w);
}

static int next_block(struct stream *s, const char **out_data, size_t *out_len, struct sb_error *err)
{
	struct waiting *w = (struct waiting *)((char *)s - offsetof(struct waiting, base));
	size_t n = w->len - w->at;
	int rc = budget_go_on(&w->source.budget, s->path, err);

	*out_len = 0;
	if (rc != SB_OK)
		return rc;
	if (n == 0 && w->rc != SB_OK && err)
		*err = w->err;
	if (n == 0)
		return w->rc;
	if (n > SOURCE_BLOCK)
		n = SOURCE_BLOCK;
	*out_data = w->data + w->at;
	*out_len = n;
	w->at += n;
	w->source.budget.stored += (int64_t)n;
	return SB_OK;
}

static void read_waiting(void *arg)
{
	struct waiting *w = arg;
	const struct archive_place place = {.fd = -1, .depth = w->depth};
	struct sb_error err = {.offset = -1};
	int rc = source_stream(&w->source, &w->base, &place, 0, &err);

	if (rc != SB_OK) {
		source_stop(w->source.budget.shared);
		w->source.sink->fatal(w->source.sink->self, &w->source, &err);
	}
	waiting_free(w);
}

/* Takes the bytes of the member out of its stream. An error that only ends the member is kept for later. */
static int fill(struct waiting *w, struct stream *in, struct sb_error *err)
{
	const char *data;
	size_t len;

	for (;;) {
		w->rc = in->next(in, &data, &len, &w->err);
		if (source_fatal(&w->source, w->rc)) {
			if (err)
				*err = w->err;
			return w->rc;
		}
		if (w->rc != SB_OK || len == 0)
			return SB_OK;
		if (len > (size_t)w->size - w->len)
			len = (size_t)w->size - w->len; /* never: the stream keeps to the size */
		memcpy(w->data + w->len, data, len);
		w->len += len;
	}
}

static int take_in(const struct source *child, struct stream *in, int64_t size, struct waiting **out,
                   struct sb_error *err)
{
	struct waiting *w = calloc(1, sizeof(*w));
	int rc = SB_ENOMEM;

	if (!w)
		return sb_no_memory(err);
	w->source = *child;
	w->size = size;
	atomic_fetch_add(&child->budget.shared->buffered, size);
	w->data = malloc(size > 0 ? (size_t)size : 1);
	if (w->data)
		rc = fill(w, in, err);
	else
		sb_no_memory(err);
	if (rc != SB_OK) {
		waiting_free(w);
		return rc;
	}
	w->source.budget.stored = 0;
	strncpy(w->path, in->path, sizeof(w->path) - 1);
	w->base = (struct stream){.next = next_block, .path = w->path};
	*out = w;
	return SB_OK;
}

int member_defer(const struct source *child, struct stream *in, int64_t size, int depth, bool *out_taken,
                 struct sb_error *err)
{
	struct source_shared *shared = child->budget.shared;
	const struct sb_executor *x = shared->hooks ? shared->hooks->executor : NULL;
	struct waiting *w = NULL;
	int rc;

	*out_taken = false;
	if (!x || size < 0 || size > SOURCE_MEMBER_MAX ||
	    atomic_load(&shared->buffered) + size > SOURCE_BUFFERED_MAX)
		return SB_OK;
	rc = take_in(child, in, size, &w, err);
	if (rc != SB_OK)
		return rc;
	w->depth = depth;
	*out_taken = true;
	if (!x->submit(x->self, read_waiting, w))
		read_waiting(w);
	return SB_OK;
}
