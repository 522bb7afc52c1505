#include "profiler/read/signalbox_impl.h"

/* An element of "events" as it is read. */
struct event_item {
	struct event event;
	struct event_detail detail;
	int64_t lane, record;
	bool kind_known, placed, long_enough; /* kind, start and duration were there */
};

enum {
	MEMBER_LANE,
	MEMBER_KIND,
	MEMBER_NAME,
	MEMBER_START,
	MEMBER_DURATION,
	MEMBER_LINK,
	MEMBER_BYTES,
	MEMBER_COLLECTIVE,
	MEMBER_DIRECTION,
	MEMBER_GROUP,
	MEMBER_SEQUENCE,
	MEMBER_RECORD
};
static const struct word EVENT_WORDS[] = {
    WORD("lane", MEMBER_LANE),
    WORD("kind", MEMBER_KIND),
    WORD("name", MEMBER_NAME),
    WORD("start_ns", MEMBER_START),
    WORD("duration_ns", MEMBER_DURATION),
    WORD("link", MEMBER_LINK),
    WORD("bytes", MEMBER_BYTES),
    WORD("collective", MEMBER_COLLECTIVE),
    WORD("direction", MEMBER_DIRECTION),
    WORD("group", MEMBER_GROUP),
    WORD("sequence", MEMBER_SEQUENCE),
    WORD("record", MEMBER_RECORD),
};

static const struct word KIND_WORDS[] = {
    WORD("kernel", EVENT_KERNEL),
    WORD("host_op", EVENT_HOST_OP),
    WORD("host_call", EVENT_HOST_RUNTIME),
    WORD("python", EVENT_HOST_PYTHON),
    WORD("communication", EVENT_COMMUNICATION),
    WORD("memcpy", EVENT_MEMCPY),
    WORD("memset", EVENT_MEMSET),
    WORD("wait", EVENT_DEVICE_WAIT),
    WORD("device_annotation", EVENT_DEVICE_ANNOTATION),
    WORD("device_other", EVENT_DEVICE_OTHER),
    WORD("communication_task", EVENT_COMMUNICATION_TASK),
    WORD("host_annotation", EVENT_HOST_ANNOTATION),
    WORD("host_queue", EVENT_HOST_QUEUE),
    WORD("host_wait", EVENT_HOST_WAIT),
    WORD("data_loading", EVENT_HOST_LOADING),
    WORD("garbage_collection", EVENT_HOST_GARBAGE),
    WORD("other", EVENT_OTHER),
};
#define KIND_COUNT (sizeof(KIND_WORDS) / sizeof(KIND_WORDS[0]))

/* In the spelling of the other sources, so that copies of one direction add up. */
static const char *const DIRECTIONS[] = {"HtoD", "DtoH", "DtoD", "HtoH", "PtoP"};
static const struct word DIRECTION_WORDS[] = {WORD("host_to_device", 0), WORD("device_to_host", 1),
                                              WORD("device_to_device", 2), WORD("host_to_host", 3),
                                              WORD("peer_to_peer", 4)};
#define DIRECTION_COUNT (sizeof(DIRECTION_WORDS) / sizeof(DIRECTION_WORDS[0]))

static void take_kind(struct signalbox *s, struct event_item *e, const struct jpull_value *v)
{
	size_t at =
	    v->token == JPULL_STRING ? word_find(KIND_WORDS, KIND_COUNT, 0, v->text, v->len) : KIND_COUNT;

	e->kind_known = v->token == JPULL_STRING;
	e->event.kind = at < KIND_COUNT ? (enum event_kind)KIND_WORDS[at].value : EVENT_OTHER;
	if (e->kind_known && at == KIND_COUNT)
		jpull_note(&s->flaws.unknown_kind, v->offset);
}

static int take_direction(struct signalbox *s, struct event_item *e, const struct jpull_value *v)
{
	size_t at = v->token == JPULL_STRING ? word_find(DIRECTION_WORDS, DIRECTION_COUNT, 0, v->text, v->len)
	                                     : DIRECTION_COUNT;

	if (at == DIRECTION_COUNT) {
		if (v->token != JPULL_NULL)
			jpull_note(&s->flaws.bad_value, v->offset);
		return SB_OK;
	}
	return sb_strings_add(s->trace.strings, DIRECTIONS[at], 4, &e->detail.type);
}

static int take_event(struct signalbox *s, void *item, uint8_t member, const struct jpull_value *v,
                      struct sb_error *err)
{
	struct event_item *e = item;

	(void)err;
	switch (member) {
	case MEMBER_LANE:
		if (!signalbox_int(v, &e->lane))
			e->lane = SB_NULL;
		break;
	case MEMBER_KIND: take_kind(s, e, v); break;
	case MEMBER_NAME: return signalbox_text(s, v, &e->event.name);
	case MEMBER_START: e->placed = signalbox_int(v, &e->event.start_ns); break;
	case MEMBER_DURATION: e->long_enough = signalbox_int(v, &e->event.dur_ns); break;
	case MEMBER_LINK:
		e->event.link = signalbox_optional(s, v, 0);
		if (e->event.link == SB_NULL)
			e->event.link = -1;
		break;
	case MEMBER_BYTES: e->detail.bytes = signalbox_optional(s, v, 0); break;
	case MEMBER_COLLECTIVE: return signalbox_text(s, v, &e->detail.type);
	case MEMBER_DIRECTION: return take_direction(s, e, v);
	case MEMBER_GROUP: return signalbox_text(s, v, &e->detail.group);
	case MEMBER_RECORD: e->record = signalbox_optional(s, v, 0); break;
	default: e->detail.sequence = signalbox_optional(s, v, 0); break;
	}
	return SB_OK;
}

static void take_duration(struct signalbox *s, struct event_item *e, int64_t offset)
{
	if (!e->long_enough)
		jpull_note(&s->flaws.no_duration, offset);
	else if (e->event.dur_ns < 0)
		jpull_note(&s->flaws.negative_duration, offset);
	if (!e->long_enough || e->event.dur_ns < 0)
		e->event.dur_ns = 0;
}

static int add_event(struct signalbox *s, struct event_item *e)
{
	struct event_detail *d = &e->detail;
	int rc = SB_OK;

	/* of a wait it is the record that has this place, and no group's stream is meant */
	if (e->event.kind == EVENT_DEVICE_WAIT) {
		d->sequence = e->record;
		d->group = 0;
	}

	if (s->trace.count == 0 || e->lane != s->last_number) {
		rc = signalbox_lane(s, e->lane, &s->last_lane);
		s->last_number = e->lane;
	}
	e->event.lane = s->last_lane;
	if (rc == SB_OK)
		rc = trace_append(&s->trace, &e->event);
	if (rc != SB_OK || (d->type == 0 && d->group == 0 && d->bytes == SB_NULL && d->sequence == SB_NULL))
		return rc;
	return trace_append_detail(&s->trace, d);
}

int signalbox_event_item(struct signalbox *s, int64_t offset, struct sb_error *err)
{
	static const struct shape SHAPE = {EVENT_WORDS, sizeof(EVENT_WORDS) / sizeof(EVENT_WORDS[0]),
	                                   take_event};
	struct event_item e = {.event = {.link = -1},
	                       .detail = {.bytes = SB_NULL, .sequence = SB_NULL},
	                       .lane = SB_NULL,
	                       .record = SB_NULL};
	int rc = signalbox_object(s, &SHAPE, &e, err);

	if (rc != SB_OK)
		return rc;
	if (e.lane == SB_NULL || !e.kind_known || !e.placed) {
		jpull_note(&s->flaws.bad_event, offset);
		return SB_OK;
	}
	take_duration(s, &e, offset);
	clock_see(&s->range, e.event.start_ns, e.event.dur_ns, offset);
	return add_event(s, &e);
}
