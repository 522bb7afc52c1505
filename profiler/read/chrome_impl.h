#ifndef SB_PROFILER_READ_CHROME_IMPL_H
#define SB_PROFILER_READ_CHROME_IMPL_H
#include "profiler/read/chrome.h"

/* Inside of the walk over Chrome events: chrome.c and chrome_event.c only. */

enum chrome_phase {
	PHASE_START,
	PHASE_BEFORE, /* in the top-level object, no events seen */
	PHASE_EVENTS,
	PHASE_AFTER, /* behind the events */
	PHASE_DONE
};

/* Texts of one event, all members together. */
#define CHROME_TEXT_MAX ((size_t)1048576)
#define CHROME_BUCKETS 64

struct chrome {
	struct jpull *j;
	struct stream *in;
	struct warnings *warnings;
	struct chrome_options options;
	enum chrome_phase phase;
	bool bare;     /* the document is the list of events */
	bool reported; /* the warnings are written */
	int depth;     /* of the list of events */
	struct chrome_counts counts;
	struct jpull_flaw lost, broken_metadata, not_event, duplicate, long_text;
	struct chrome_event event;
	struct sb_error err;
	char *text; /* CHROME_TEXT_MAX bytes */
	size_t used;
	/* wanted args: by bucket, index + 1 of the first; then of the next in the same bucket */
	uint8_t bucket[CHROME_BUCKETS], next[CHROME_ARGS_MAX];
	size_t len[CHROME_ARGS_MAX];
	size_t arg_count;
	uint32_t args_seen; /* bit i: args[i] was set by the present event */
};

/* Reads the event whose brace was read last, into c->event. *out_any: has it any member? */
int chrome_read_event(struct chrome *c, int64_t offset, bool *out_any);
/* Reads the rest of a list, whose bracket was read last, and keeps its text if it is short. */
int chrome_keep_list(struct chrome *c, struct chrome_text *out);
/* Prepares the look-up of wanted args. */
void chrome_index_args(struct chrome *c);
#endif
