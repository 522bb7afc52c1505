#ifndef SB_PROFILER_READ_ASCEND_LINKS_H
#define SB_PROFILER_READ_ASCEND_LINKS_H
#include "profiler/read/ascend.h"

/* Parts of the reader of communication.json. */
struct communication_reading {
	struct read_context *ctx;
	struct stream *in;
	struct jpull *j;
	struct capture *cap;
	struct sb_error *err;
};

/* The next value, decimal milliseconds, as microseconds; NaN when it is no number. */
int communication_us(struct communication_reading *r, double *out);
/* The next value, "Communication Bandwidth Info": the links with their packets. */
int communication_links(struct communication_reading *r, struct communication_op *op);
#endif
