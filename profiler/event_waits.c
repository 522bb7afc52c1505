#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/activity.h"
#include "profiler/event_waits_parts.h"

/* Streams that one piece of work waits for; of more those are kept whose work ended last. */
#define PENDING_MAX 8
/* Start and length may each be cut to whole us. */
#define ROUNDED_NS 1000
#define NOTHING EVENT_WAIT_NOTHING

/* What is done to the streams, each in the order in which the host does it: work, of which there is most and
 * which is in order as a rule, apart from records and waits. */
struct launched {
	int64_t at, link; /* of the call */
	int64_t start;    /* a graph launches many at once */
	uint32_t event;
};
enum command_kind { COMMAND_RECORD, COMMAND_STREAM_WAIT, COMMAND_HOST_WAIT };
struct command {
	int64_t at, link; /* of the call */
	uint32_t lane;
	uint32_t index; /* of a wait: its call */
	uint8_t kind;
	struct event_record *record;
};

struct stream {
	uint32_t last; /* work + 1; 0 = none */
	uint32_t count;
	uint32_t pending[PENDING_MAX]; /* what the next work waits for */
};

struct building {
	const struct trace *t;
	const struct launches *launches;
	struct event_records records;
	struct launched *works;
	size_t work_count;
	struct command *commands;
	size_t command_count;
	struct stream *streams; /* by lane */
	uint32_t *held;
	size_t held_count;
	struct event_waits out;
};

static int64_t start_of(const struct trace *t, uint32_t event)
{
	return interval_bound(t->start_ns[event]);
}

static int64_t end_of(const struct trace *t, uint32_t event)
{
	return interval_end(t->start_ns[event], t->dur_ns[event]);
}

static int by_launch(const void *a, const void *b)
{
	const struct launched *x = a, *y = b;

	return sb_compare((const int64_t[]){x->at, x->link, x->start, x->event},
	                  (const int64_t[]){y->at, y->link, y->start, y->event}, 4);
}

static int by_order(const void *a, const void *b)
{
	const struct command *x = a, *y = b;

	return sb_compare((const int64_t[]){x->at, x->link, x->kind, x->lane, x->index, x->record->link},
	                  (const int64_t[]){y->at, y->link, y->kind, y->lane, y->index, y->record->link}, 6);
}

static int list_works(struct building *b)
{
	const struct trace *t = b->t;
	size_t n = 0;
	bool sorted = true;

	for (size_t i = 0; i < t->count; i++)
		n += event_is_device_work(t->kind[i]);
	b->works = malloc((n + 1) * sizeof(*b->works));
	if (!b->works)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		const struct launch *by;

		if (!event_is_device_work(t->kind[i]) || t->lane[i] >= t->lane_count)
			continue;
		by = launches_find(b->launches, t->link[i]);
		if (by)
			b->works[b->work_count++] =
			    (struct launched){by->start, by->link, start_of(t, (uint32_t)i), (uint32_t)i};
	}
	for (size_t i = 1; i < b->work_count && sorted; i++)
		sorted = by_launch(&b->works[i - 1], &b->works[i]) <= 0;
	if (!sorted)
		qsort(b->works, b->work_count, sizeof(*b->works), by_launch);
	return SB_OK;
}

static void add_records(struct building *b)
{
	for (size_t i = 0; i < b->records.count; i++) {
		struct event_record *r = &b->records.items[i];
		const struct launch *by = launches_find(b->launches, r->link);

		if (by && r->lane < b->t->lane_count)
			b->commands[b->command_count++] =
			    (struct command){by->start, by->link, r->lane, by->event, COMMAND_RECORD, r};
	}
}

static void add_waits(struct building *b)
{
	const struct trace *t = b->t;

	for (size_t i = 0; i < t->detail_count; i++) {
		const struct event_detail *d = &t->details[i];
		const struct launch *by;
		struct command c;

		if (!event_names_record(t, d))
			continue;
		by = launches_find(b->launches, t->link[d->event]);
		c = (struct command){.at = by ? by->start : t->start_ns[d->event],
		                     .link = t->link[d->event],
		                     .lane = t->lane[d->event],
		                     .index = by ? by->event : NOTHING,
		                     .record = event_record_of(&b->records, d->sequence),
		                     .kind = COMMAND_STREAM_WAIT};
		if (strcmp(trace_text(t, t->name[d->event], NULL), "Event Sync") == 0)
			c.kind = COMMAND_HOST_WAIT;
		b->commands[b->command_count++] = c;
	}
}

static int list_commands(struct building *b, size_t waits)
{
	b->commands = malloc((b->records.count + waits + 1) * sizeof(*b->commands));
	if (!b->commands)
		return SB_ENOMEM;
	add_records(b);
	add_waits(b);
	qsort(b->commands, b->command_count, sizeof(*b->commands), by_order);
	return SB_OK;
}

/* ---- what each command waits for ---- */

static int emit(struct building *b, uint32_t event, uint32_t behind)
{
	int rc = sb_grow(&b->out.items, b->out.count, sizeof(*b->out.items));

	if (rc == SB_OK)
		b->out.items[b->out.count++] = (struct event_wait){event, behind};
	return rc;
}

static int hold(struct building *b, uint32_t work)
{
	int rc = sb_grow(&b->held, b->held_count, sizeof(*b->held));

	if (rc == SB_OK)
		b->held[b->held_count++] = work;
	return rc;
}

/* An event that is recorded behind a wait stands behind what is waited for, too. */
static int make_record(struct building *b, const struct command *c)
{
	const struct stream *s = &b->streams[c->lane];
	struct event_record *r = c->record;
	int rc = SB_OK;

	r->made = true;
	r->first = (uint32_t)b->held_count;
	if (s->last)
		rc = hold(b, s->last - 1);
	for (uint32_t i = 0; i < s->count && rc == SB_OK; i++)
		rc = hold(b, s->pending[i]);
	r->count = (uint32_t)b->held_count - r->first;
	return rc;
}

/* Of one stream the later work is enough; of too many streams that which ends first is given up. */
static void add_pending(const struct building *b, struct stream *s, uint32_t work)
{
	const struct trace *t = b->t;
	uint32_t at = s->count, first = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		if (t->lane[s->pending[i]] == t->lane[work])
			at = i;
		first = end_of(t, s->pending[i]) < end_of(t, s->pending[first]) ? i : first;
	}
	if (at == PENDING_MAX)
		at = first;
	if (at == s->count)
		s->pending[s->count++] = work;
	else if (end_of(t, s->pending[at]) < end_of(t, work))
		s->pending[at] = work;
}

static int wait_on_stream(struct building *b, const struct command *c)
{
	const struct event_record *r = c->record;
	struct stream *s = &b->streams[c->lane];

	for (uint32_t i = 0; i < r->count; i++)
		if (b->t->lane[b->held[r->first + i]] != c->lane)
			add_pending(b, s, b->held[r->first + i]);
	return c->index == NOTHING ? SB_OK : emit(b, c->index, NOTHING);
}

/* A question whether the event is reached is written like a wait: then the work may go on. */
static int wait_on_host(struct building *b, const struct command *c)
{
	const struct event_record *r = c->record;
	int rc = SB_OK;

	if (c->index == NOTHING)
		return SB_OK;
	for (uint32_t i = 0; i < r->count && rc == SB_OK; i++)
		if (end_of(b->t, b->held[r->first + i]) <= end_of(b->t, c->index) + ROUNDED_NS)
			rc = emit(b, c->index, b->held[r->first + i]);
	return rc == SB_OK && r->count == 0 ? emit(b, c->index, NOTHING) : rc;
}

static int do_work(struct building *b, uint32_t event)
{
	struct stream *s = &b->streams[b->t->lane[event]];
	int64_t start = start_of(b->t, event);
	int rc = SB_OK;

	for (uint32_t i = 0; i < s->count && rc == SB_OK; i++)
		if (start_of(b->t, s->pending[i]) < start &&
		    end_of(b->t, s->pending[i]) <= start + ROUNDED_NS)
			rc = emit(b, event, s->pending[i]);
	s->count = 0;
	s->last = event + 1;
	return rc;
}

static int do_command(struct building *b, const struct command *c)
{
	if (c->kind == COMMAND_RECORD)
		return make_record(b, c);
	if (!c->record->made)
		return SB_OK;
	return c->kind == COMMAND_HOST_WAIT ? wait_on_host(b, c) : wait_on_stream(b, c);
}

static int run(struct building *b)
{
	size_t work = 0;
	int rc = SB_OK;

	b->streams = calloc(b->t->lane_count + 1, sizeof(*b->streams));
	if (!b->streams)
		return SB_ENOMEM;
	for (size_t i = 0; i < b->command_count && rc == SB_OK; i++) {
		const struct command *c = &b->commands[i];

		for (; work < b->work_count && rc == SB_OK; work++) {
			const struct launched *w = &b->works[work];

			if (w->at > c->at || (w->at == c->at && w->link > c->link))
				break;
			rc = do_work(b, w->event);
		}
		if (rc == SB_OK)
			rc = do_command(b, c);
	}
	for (; work < b->work_count && rc == SB_OK; work++)
		rc = do_work(b, b->works[work].event);
	return rc;
}

static int by_event(const void *a, const void *b, void *building)
{
	const struct event_wait *x = a, *y = b;
	const struct trace *t = ((const struct building *)building)->t;
	int64_t ends[2] = {x->behind == NOTHING ? INT64_MIN : end_of(t, x->behind),
	                   y->behind == NOTHING ? INT64_MIN : end_of(t, y->behind)};

	return sb_compare((const int64_t[]){x->event, ends[1], x->behind},
	                  (const int64_t[]){y->event, ends[0], y->behind}, 3);
}

static void building_free(struct building *b)
{
	event_records_free(&b->records);
	free(b->works);
	free(b->commands);
	free(b->streams);
	free(b->held);
	event_waits_free(&b->out);
}

int event_waits_build(const struct trace *t, const struct launches *l, struct event_waits *out)
{
	__attribute__((cleanup(building_free))) struct building b = {.t = t, .launches = l};
	size_t waits = 0;
	int rc;

	*out = (struct event_waits){0};
	for (size_t i = 0; i < t->detail_count; i++)
		waits += event_names_record(t, &t->details[i]);
	if (waits == 0)
		return SB_OK;
	rc = event_records_find(t, waits, &b.records);
	if (rc == SB_OK)
		rc = list_commands(&b, waits);
	if (rc == SB_OK)
		rc = list_works(&b);
	if (rc == SB_OK)
		rc = run(&b);
	if (rc != SB_OK)
		return rc;
	if (b.out.count > 0)
		qsort_r(b.out.items, b.out.count, sizeof(*b.out.items), by_event, &b);
	*out = b.out;
	b.out = (struct event_waits){0};
	return SB_OK;
}

const struct event_wait *event_waits_of(const struct event_waits *w, uint32_t event, size_t *out_count)
{
	size_t n = 0, at = SB_BISECT(i, 0, w->count, w->items[i].event < event);

	while (at + n < w->count && w->items[at + n].event == event)
		n++;
	*out_count = n;
	return n > 0 ? &w->items[at] : NULL;
}

void event_waits_free(struct event_waits *w)
{
	free(w->items);
	*w = (struct event_waits){0};
}
