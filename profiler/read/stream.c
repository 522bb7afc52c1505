#include "profiler/read/stream.h"

static int next_block(struct stream *s, const char **out_data, size_t *out_len, struct sb_error *err)
{
	struct memory_stream *m = (struct memory_stream *)s;
	size_t n = m->len - m->at;

	(void)err;
	if (m->block > 0 && n > m->block)
		n = m->block;
	*out_data = m->data + m->at;
	*out_len = n;
	m->at += n;
	return SB_OK;
}

void memory_stream_init(struct memory_stream *m, const char *path, const char *data, size_t len, size_t block)
{
	*m = (struct memory_stream){
	    .base = {.next = next_block, .path = path}, .data = data, .len = len, .block = block};
}
