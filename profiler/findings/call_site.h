#ifndef SB_PROFILER_FINDINGS_CALL_SITE_H
#define SB_PROFILER_FINDINGS_CALL_SITE_H
#include "profiler/trace.h"

/* Where in a program a call of the host stands: the operator around it and the user's own Python frames, by
 * containment on its thread, or from the call stack that the source wrote beside an operator. */

#define CALL_SITE_FRAMES 2
#define CALL_SITE_TEXT_MAX 160

struct call_site {
	uint32_t event;
	uint32_t op; /* the event that names the outermost operator around it, or the event */
	uint32_t frames[CALL_SITE_FRAMES]; /* events of the innermost frames of the user; CALL_SITE_NONE */
	uint32_t inner;                    /* the innermost frame of all, where no frame is the user's */
	uint32_t stack;    /* text id of the call stack that the innermost operator with one has; 0 = none */
	uint32_t stack_op; /* that operator's event */
};
#define CALL_SITE_NONE UINT32_MAX

/* Fills op, frames, inner and stack of sites whose event is set; sorts them by start. O(events log sites),
 * and more where a frame holds many of them. SB_ENOMEM. */
int call_sites_find(const struct trace *t, struct call_site *sites, size_t count);
/* "aten::item < train.py(42): step < train.py(10): main", cut to CALL_SITE_TEXT_MAX - 1 bytes; directories
 * are left out, for they name people. */
void call_site_text(const struct trace *t, const struct call_site *s, char out[CALL_SITE_TEXT_MAX]);
#endif
