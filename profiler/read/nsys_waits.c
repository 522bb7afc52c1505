#include <stdlib.h>

#include "base/grow.h"
#include "base/num.h"
#include "base/search.h"
#include "profiler/read/nsys_impl.h"

/* A wait for an event names it by its number, and newer exports the very record by a synchronisation id
 * (eventSyncId, as in CUpti_ActivityCudaEvent2); the records are a table of their own, which is there when
 * events were traced. */

enum { EVENT_ID, SYNC_ID, CORRELATION, STREAM, CONTEXT, GLOBAL_PID, COLUMNS };

/* An event by number is recorded again and again: the record that a wait means is the last before it. */
struct nsys_record {
	int64_t id, context; /* of synchronisation: context is -1, and one record has the id */
	int64_t correlation, stream;
	uint32_t pid;
};

static int by_id(const void *a, const void *b)
{
	const struct nsys_record *x = a, *y = b;

	return sb_compare((const int64_t[]){x->pid, x->context, x->id, x->correlation, x->stream},
	                  (const int64_t[]){y->pid, y->context, y->id, y->correlation, y->stream}, 5);
}

/* CUPTI writes UINT32_MAX for none. */
static bool is_id(int64_t id)
{
	return id >= 0 && id < UINT32_MAX;
}

static struct nsys_record name_record(uint32_t pid, int64_t event, int64_t sync, int64_t context)
{
	bool exact = is_id(sync);

	return (struct nsys_record){.id = exact ? sync : event, .context = exact ? -1 : context, .pid = pid};
}

int nsys_read_records(struct nsys *n, struct sb_error *err)
{
	static const char *const NAMES[] = {
	    [EVENT_ID] = "eventId", [SYNC_ID] = "eventSyncId", [CORRELATION] = "correlationId",
	    [STREAM] = "streamId",  [CONTEXT] = "contextId",   [GLOBAL_PID] = "globalPid",
	    [COLUMNS] = NULL};
	DATABASE_ROWS_AUTO r = NULL;
	bool more = true;
	int rc = nsys_select(n->db, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", NAMES, &r, err);

	while (r && rc == SB_OK && (rc = database_next(r, &more, err)) == SB_OK && more) {
		struct nsys_record x =
		    name_record(nsys_pid(database_int(r, GLOBAL_PID)), database_int(r, EVENT_ID),
		                database_int(r, SYNC_ID), database_int(r, CONTEXT));

		x.correlation = database_int(r, CORRELATION);
		x.stream = database_int(r, STREAM);
		if (!is_id(x.id) || x.correlation <= 0 || x.correlation > UINT32_MAX)
			continue;
		if (sb_grow(&n->records, n->record_count, sizeof(x)) != SB_OK)
			return sb_fail(err, SB_ENOMEM, "no_memory", "The events do not fit into memory.");
		n->records[n->record_count++] = x;
	}
	if (n->record_count > 0)
		qsort(n->records, n->record_count, sizeof(*n->records), by_id);
	return rc;
}

/* The last record of that name whose correlation is below the one given. */
static const struct nsys_record *find_record(const struct nsys *n, struct nsys_record key, int64_t before)
{
	const struct nsys_record *found;
	size_t lo;

	key.correlation = before;
	key.stream = INT64_MIN;
	lo = SB_BISECT(i, 0, n->record_count, by_id(&n->records[i], &key) < 0);
	found = lo > 0 ? &n->records[lo - 1] : NULL;
	return found && found->pid == key.pid && found->context == key.context && found->id == key.id ? found
	                                                                                              : NULL;
}

int nsys_add_wait(struct nsys *n, int64_t global_pid, const struct nsys_wait *w)
{
	struct nsys_record key = name_record(nsys_pid(global_pid), w->event_id, w->sync_id, w->context);
	const struct nsys_record *found =
	    is_id(key.id) && w->correlation > 0 ? find_record(n, key, w->correlation) : NULL;
	struct event_detail d = {.bytes = SB_NULL};
	int rc;

	if (!found)
		return SB_OK;
	d.sequence = found->correlation;
	rc = nsys_stream_name(n, found->stream, global_pid, &d.group);
	return rc == SB_OK ? trace_append_detail(&n->trace, &d) : rc;
}

void nsys_link_waits(struct trace *t)
{
	for (size_t i = 0; i < t->detail_count; i++) {
		struct event_detail *d = &t->details[i];

		if (t->kind[d->event] == EVENT_DEVICE_WAIT && d->sequence > 0)
			d->sequence =
			    t->link[d->event] < 0
			        ? SB_NULL
			        : (int64_t)((uint64_t)t->link[d->event] >> 32 << 32 | (uint64_t)d->sequence);
	}
}
