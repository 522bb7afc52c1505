#include "profiler/read/queues.h"

#include <string.h>

#include "base/grow.h"
#include "profiler/read/ascend.h"

int queue_add(struct capture *cap, const char *path, const char *name, const struct queue *q,
              struct queue **out)
{
	struct queue new = *q;
	const char *base = path_base(path);
	int rc = sb_strings_add(cap->trace.strings, name, strlen(name), &new.name);

	if (rc == SB_OK)
		rc = sb_strings_add(cap->trace.strings, base, strlen(base), &new.file);
	if (rc == SB_OK)
		rc = sb_grow(&cap->queues, cap->queue_count, sizeof(new));
	if (rc != SB_OK)
		return rc;
	cap->queues[cap->queue_count] = new;
	*out = &cap->queues[cap->queue_count++];
	return SB_OK;
}

int queue_add_sample(struct queue *q, const struct queue_sample *s)
{
	if (sb_grow(&q->samples, q->sample_count, sizeof(*s)) != SB_OK)
		return SB_ENOMEM;
	q->samples[q->sample_count++] = *s;
	return SB_OK;
}

int queue_add_get_next(struct capture *cap, const char *path, int64_t get_ns, int64_t size)
{
	struct queue_sample s = QUEUE_SAMPLE_UNKNOWN;
	struct queue new = QUEUE_UNKNOWN, *q = NULL;
	int rc = SB_OK;

	if (cap->queue_count > 0) {
		struct queue *last = &cap->queues[cap->queue_count - 1];

		if (last->kind == QUEUE_DEVICE &&
		    strcmp(trace_text(&cap->trace, last->file, NULL), path_base(path)) == 0)
			q = last;
	}
	new.kind = QUEUE_DEVICE;
	if (!q)
		rc = queue_add(cap, path, "get_next", &new, &q);
	s.size = size;
	s.get_ns = get_ns;
	return rc == SB_OK ? queue_add_sample(q, &s) : rc;
}
