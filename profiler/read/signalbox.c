#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/ascend.h"
#include "profiler/read/signalbox_impl.h"

enum {
	MEMBER_VERSION,
	MEMBER_PRODUCER,
	MEMBER_RANK,
	MEMBER_WORLD_SIZE,
	MEMBER_CHIP,
	MEMBER_ORIGIN,
	MEMBER_LANES,
	MEMBER_GROUPS,
	MEMBER_STEPS,
	MEMBER_MEMORY,
	MEMBER_EVENTS
};
static const struct word MEMBER_WORDS[] = {
    WORD("signalbox_profile", MEMBER_VERSION),
    WORD("producer", MEMBER_PRODUCER),
    WORD("rank", MEMBER_RANK),
    WORD("world_size", MEMBER_WORLD_SIZE),
    WORD("chip", MEMBER_CHIP),
    WORD("origin_ns", MEMBER_ORIGIN),
    WORD("lanes", MEMBER_LANES),
    WORD("groups", MEMBER_GROUPS),
    WORD("steps", MEMBER_STEPS),
    WORD("memory", MEMBER_MEMORY),
    WORD("events", MEMBER_EVENTS),
};

static void signalbox_free(struct signalbox *s)
{
	trace_free(&s->trace);
	free(s->steps);
	capture_free(&s->memory);
	free(s->declared);
	id_map_free(&s->lanes);
	id_map_free(&s->groups);
	jpull_free(&s->j);
}

#define CANCEL_EVERY 4096

/* One of the lists. */
struct list {
	int (*item)(struct signalbox *s, int64_t offset, struct sb_error *err);
	const char *const keys[12]; /* that an element may begin with; ends with NULL */
};
static const struct list LANES = {signalbox_lane_item, {"id", "process", "thread", "device"}};
static const struct list GROUPS = {signalbox_group_item, {"name", "ranks"}};
static const struct list STEPS = {signalbox_step_item, {"number", "start_ns", "duration_ns"}};
static const struct list MEMORY = {
    signalbox_memory_item,
    {"device", "allocator", "time_ns", "allocated_bytes", "reserved_bytes", "capacity_bytes"}};
static const struct list EVENTS = {signalbox_event_item,
                                   {"lane", "kind", "name", "start_ns", "duration_ns", "link", "bytes",
                                    "collective", "direction", "group", "sequence"}};

/* The next element; false in *out_more at the end of the list. */
static int read_element(struct signalbox *s, const struct list *list, bool *out_more, struct sb_error *err)
{
	struct jpull_value v;
	int rc = jpull_next(s->j, &v, err);

	*out_more = rc == SB_OK && v.token != JPULL_ARRAY_END;
	if (!*out_more)
		return rc;
	if (v.token == JPULL_OBJECT)
		return list->item(s, v.offset, err);
	jpull_note(&s->flaws.not_event, v.offset);
	return jpull_skip(s->j, &v, err);
}

static int read_list(struct signalbox *s, const struct jpull_value *first, const struct list *list,
                     struct sb_error *err)
{
	int depth = jpull_depth(s->j), rc = SB_OK;
	bool more = true;

	if (first->token != JPULL_ARRAY) {
		if (first->token != JPULL_NULL)
			jpull_note(&s->flaws.bad_value, first->offset);
		return SB_OK;
	}
	for (uint64_t n = 0; rc == SB_OK && more; n++) {
		if (n % CANCEL_EVERY == 0 && read_canceled(s->ctx->hooks))
			return sb_fail(err, SB_ECANCELED, "canceled", "Reading was canceled.");
		rc = read_element(s, list, &more, err);
		/* where nothing follows, the first error says more */
		if (rc != SB_EFORMAT || strcmp(err->word, "bad_json") != 0 ||
		    jpull_recover(s->j, depth, list->keys, NULL) != SB_OK)
			continue;
		jpull_note(&s->flaws.broken, err->offset);
		rc = SB_OK;
		more = true;
	}
	return rc;
}

static void take_chip(struct signalbox *s, const struct jpull_value *v)
{
	if (v->token == JPULL_STRING)
		snprintf(s->chip, sizeof(s->chip), "%.*s",
		         (int)(v->len < sizeof(s->chip) ? v->len : sizeof(s->chip)), v->text);
	else if (v->token != JPULL_NULL)
		jpull_note(&s->flaws.bad_value, v->offset);
}

static int take_version(struct signalbox *s, const struct jpull_value *v, struct sb_error *err)
{
	if (signalbox_int(v, &s->version) && s->version == 1)
		return SB_OK;
	return sb_fail_at(err, SB_EFORMAT, "unsupported_version", s->path, 0, v->offset,
	                  "The file says signalbox_profile %.*s: version 1 is read.",
	                  (int)(v->len < 40 ? v->len : 40), v->text);
}

static int take_member(struct signalbox *s, void *item, uint8_t member, const struct jpull_value *v,
                       struct sb_error *err)
{
	(void)item;
	switch (member) {
	case MEMBER_VERSION: return take_version(s, v, err);
	case MEMBER_RANK: s->rank = signalbox_optional(s, v, 0); break;
	case MEMBER_WORLD_SIZE: s->world_size = signalbox_optional(s, v, 1); break;
	case MEMBER_CHIP: take_chip(s, v); break;
	case MEMBER_ORIGIN:
		s->origin_ns = signalbox_optional(s, v, INT64_MIN + 1);
		if (s->origin_ns == SB_NULL)
			s->origin_ns = 0;
		break;
	case MEMBER_LANES: return read_list(s, v, &LANES, err);
	case MEMBER_GROUPS: return read_list(s, v, &GROUPS, err);
	case MEMBER_STEPS: return read_list(s, v, &STEPS, err);
	case MEMBER_MEMORY: return read_list(s, v, &MEMORY, err);
	case MEMBER_EVENTS: return read_list(s, v, &EVENTS, err);
	default: break; /* the producer is for people */
	}
	return SB_OK;
}

static int read_document(struct signalbox *s, struct sb_error *err)
{
	static const struct shape SHAPE = {MEMBER_WORDS, sizeof(MEMBER_WORDS) / sizeof(MEMBER_WORDS[0]),
	                                   take_member};
	struct jpull_value v;
	int rc = jpull_next(s->j, &v, err);

	if (rc == SB_OK && v.token != JPULL_OBJECT)
		return sb_fail_at(err, SB_EFORMAT, "not_a_trace", s->path, 0, v.offset,
		                  "The file is no signalbox profile: it does not hold an object.");
	if (rc == SB_OK)
		rc = signalbox_object(s, &SHAPE, NULL, err);
	return rc == SB_OK ? jpull_next(s->j, &v, err) : rc;
}

/* What breaks off or is broken is used up to there. */
static int read_all(struct signalbox *s, struct sb_error *err)
{
	struct sb_error local = {.offset = -1};
	int rc = read_document(s, &local);

	if (rc == SB_EFORMAT && s->trace.count > 0 && strcmp(local.word, "unsupported_version") != 0) {
		warnings_add(&s->ctx->profile->warnings, local.word, s->path, 0, local.offset,
		             "The file is used up to here only, with %zu events: %.120s", s->trace.count,
		             local.text);
		return SB_OK;
	}
	if (rc == SB_ENOMEM || (rc == SB_ELIMIT && local.word[0] == '\0'))
		return sb_fail_at(err, rc, rc == SB_ELIMIT ? "too_many_events" : "no_memory", s->path, 0,
		                  jpull_offset(s->j), "The events do not fit into memory: %s.",
		                  sb_strerror(rc));
	if (rc != SB_OK && err)
		*err = local;
	return rc;
}

static void warn(struct signalbox *s, const struct jpull_flaw *f, const char *code, const char *what)
{
	jpull_warn(&s->ctx->profile->warnings, s->path, f, code, what);
}

static void report(struct signalbox *s)
{
	const struct signalbox_flaws *f = &s->flaws;
	char what[120];

	warn(s, &f->broken, "broken_event", "An element of a list is not JSON and was left out.");
	warn(s, &f->bad_event, "bad_event",
	     "An event lacks its lane, kind or start, or has one that cannot be read: it was left out.");
	warn(s, &f->bad_value, "bad_value", "A value has the wrong type or range and was taken as unknown.");
	warn(s, &f->bad_memory, "bad_value",
	     "A record of memory lacks its time or its bytes, or has ones that cannot be read: it was left "
	     "out.");
	warn(s, &f->unknown_kind, "unknown_kind",
	     "An event has a kind that is not known: it counts as other.");
	warn(s, &f->no_duration, "missing_duration", "An event has no readable duration; it counts as 0.");
	warn(s, &f->negative_duration, "negative_duration",
	     "An event has a negative duration; it counts as 0.");
	warn(s, &f->not_event, "not_an_event", "A list holds something that is no object.");
	warn(s, &f->duplicate, "duplicate_key", "A key stands twice in one object; the last one counts.");
	warn(s, &f->lane_twice, "duplicate_lane", "A lane is described twice; the last one counts.");
	snprintf(what, sizeof(what), "A member is not known and was passed over: \"%s\".", f->member);
	warn(s, &f->unknown_member, "unknown_member", what);
	jpull_report(s->j, s->path, &s->ctx->profile->warnings);
}

/* Hands everything over to the capture. */
static int deliver(struct signalbox *s)
{
	struct capture *c = NULL;
	int rc = s->ctx->capture(s->ctx, s->path, FORMAT_SIGNALBOX, &c);

	if (rc != SB_OK)
		return rc;
	trace_free(&c->trace);
	free(c->steps);
	c->trace = s->trace;
	c->steps = s->steps;
	c->step_count = s->step_count;
	c->rank = s->rank;
	c->world_size = s->world_size;
	c->event_count = (int64_t)s->trace.count;
	memcpy(c->chip, s->chip, sizeof(c->chip));
	s->trace = (struct trace){0};
	s->steps = NULL;
	signalbox_take_memory(s, c);
	return SB_OK;
}

static int signalbox_read(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	__attribute__((cleanup(signalbox_free))) struct signalbox s = {
	    .ctx = ctx, .path = in->path, .version = SB_NULL, .rank = SB_NULL, .world_size = SB_NULL};
	int rc = trace_init(&s.trace);

	if (rc == SB_OK)
		rc = jpull_new(in, &s.j);
	if (rc != SB_OK)
		return sb_fail(err, rc, "no_memory", "There is no memory left to read the profile.");
	rc = read_all(&s, err);
	if (rc != SB_OK)
		return rc;
	if (s.version == SB_NULL)
		return sb_fail_at(err, SB_EFORMAT, "not_a_trace", s.path, 0, -1,
		                  "The file is no signalbox profile: \"signalbox_profile\" is missing.");
	report(&s);
	if (s.trace.count == 0)
		return sb_fail_at(err, SB_EFORMAT, "no_events", s.path, 0, -1,
		                  "The file is a signalbox profile without any usable event.");
	rc = signalbox_head_end(&s);
	if (rc == SB_OK)
		rc = deliver(&s);
	return rc == SB_OK
	           ? rc
	           : sb_fail(err, rc, "no_memory", "The profile could not be kept: %s.", sb_strerror(rc));
}

static int signalbox_sniff(const struct sniff *s)
{
	return sniff_first(s) == '{' && sniff_has(s, "\"signalbox_profile\"") &&
	               !sniff_has(s, "\"traceEvents\"")
	           ? SNIFF_SURE
	           : SNIFF_NO;
}

const struct format_reader SIGNALBOX_READER = {.name = "signalbox profile",
                                               .format = FORMAT_SIGNALBOX,
                                               .sniff = signalbox_sniff,
                                               .read = signalbox_read};
