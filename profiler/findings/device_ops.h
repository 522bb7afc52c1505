#ifndef SB_PROFILER_FINDINGS_DEVICE_OPS_H
#define SB_PROFILER_FINDINGS_DEVICE_OPS_H
#include "profiler/findings/host_part.h"
#include "profiler/findings/sequences.h"

/* The operators of one device in the order of their streams: rows of the kernel table where the capture has
 * one, else kernels of the timeline. The index of each is that of its row or event. */
struct device_ops {
	const struct rank_view *v;
	bool rows;
	struct sequence_op *items;
	size_t count;
	uint32_t *stream; /* of each, while they are listed */
	size_t stream_count;
};

/* An operator that begins long_ns or more behind the one before it breaks what was going on. v->part must be
 * there. *out is to be freed also after a failure. SB_ENOMEM. */
int device_ops_list(const struct rank_view *v, int64_t long_ns, struct device_ops *out);
void device_ops_free(struct device_ops *o);
#endif
