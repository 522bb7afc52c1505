#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/grow.h"
#include "profiler/read/signalbox_impl.h"

static struct id_key halves(int64_t number)
{
	return (struct id_key){(uint32_t)((uint64_t)number >> 32), (uint32_t)number, 0};
}

int signalbox_lane(struct signalbox *s, int64_t number, uint32_t *out)
{
	const struct lane lane = {.device = -1};
	int rc;

	if (id_map_get(&s->lanes, halves(number), out))
		return SB_OK;
	if (sb_grow(&s->declared, s->trace.lane_count, sizeof(*s->declared)) != SB_OK)
		return SB_ENOMEM;
	s->declared[s->trace.lane_count] = false;
	rc = trace_add_lane(&s->trace, &lane, out);
	return rc == SB_OK ? id_map_put(&s->lanes, halves(number), *out) : rc;
}

/* An element of "lanes" as it is read. */
struct lane_item {
	int64_t id, device;
	uint32_t process, thread;
};

enum { LANE_ID, LANE_PROCESS, LANE_THREAD, LANE_DEVICE };
static const struct word LANE_WORDS[] = {WORD("id", LANE_ID), WORD("process", LANE_PROCESS),
                                         WORD("thread", LANE_THREAD), WORD("device", LANE_DEVICE)};

static int take_lane(struct signalbox *s, void *item, uint8_t member, const struct jpull_value *v,
                     struct sb_error *err)
{
	struct lane_item *l = item;

	(void)err;
	switch (member) {
	case LANE_ID: l->id = signalbox_optional(s, v, INT64_MIN + 1); break;
	case LANE_PROCESS: return signalbox_text(s, v, &l->process);
	case LANE_THREAD: return signalbox_text(s, v, &l->thread);
	default: l->device = signalbox_optional(s, v, 0); break;
	}
	return SB_OK;
}

int signalbox_lane_item(struct signalbox *s, int64_t offset, struct sb_error *err)
{
	static const struct shape SHAPE = {LANE_WORDS, sizeof(LANE_WORDS) / sizeof(LANE_WORDS[0]), take_lane};
	struct lane_item l = {.id = SB_NULL, .device = SB_NULL};
	uint32_t at;
	int rc = signalbox_object(s, &SHAPE, &l, err);

	if (rc != SB_OK)
		return rc;
	if (l.id == SB_NULL || l.device > INT32_MAX) {
		jpull_note(&s->flaws.bad_value, offset);
		return SB_OK;
	}
	rc = signalbox_lane(s, l.id, &at);
	if (rc != SB_OK)
		return rc;
	if (s->declared[at])
		jpull_note(&s->flaws.lane_twice, offset);
	s->declared[at] = true;
	s->trace.lanes[at] = (struct lane){
	    .process = l.process, .thread = l.thread, .device = l.device == SB_NULL ? -1 : (int32_t)l.device};
	return SB_OK;
}

enum { STEP_NUMBER, STEP_START, STEP_DURATION };
static const struct word STEP_WORDS[] = {WORD("number", STEP_NUMBER), WORD("start_ns", STEP_START),
                                         WORD("duration_ns", STEP_DURATION)};

static int take_step(struct signalbox *s, void *item, uint8_t member, const struct jpull_value *v,
                     struct sb_error *err)
{
	struct step *step = item;

	(void)err;
	switch (member) {
	case STEP_NUMBER: step->number = signalbox_optional(s, v, 0); break;
	case STEP_START: step->start_ns = signalbox_optional(s, v, INT64_MIN + 1); break;
	default: step->dur_ns = signalbox_optional(s, v, 0); break;
	}
	return SB_OK;
}

int signalbox_step_item(struct signalbox *s, int64_t offset, struct sb_error *err)
{
	static const struct shape SHAPE = {STEP_WORDS, sizeof(STEP_WORDS) / sizeof(STEP_WORDS[0]), take_step};
	struct step step = {SB_NULL, SB_NULL, SB_NULL};
	int rc = signalbox_object(s, &SHAPE, &step, err);

	if (rc != SB_OK)
		return rc;
	if (step.number == SB_NULL || step.start_ns == SB_NULL || step.dur_ns == SB_NULL) {
		jpull_note(&s->flaws.bad_value, offset);
		return SB_OK;
	}
	if (sb_grow(&s->steps, s->step_count, sizeof(*s->steps)) != SB_OK)
		return SB_ENOMEM;
	s->steps[s->step_count++] = step;
	return SB_OK;
}

struct group_item {
	uint32_t name, ranks;
};

/* The text of a million ranks. */
#define RANKS_MAX ((size_t)8 << 20)

/* The list as JSON text, which is the form that other sources give it in. */
static int take_ranks(struct signalbox *s, struct group_item *g, const struct jpull_value *first,
                      struct sb_error *err)
{
	SB_BUF_AUTO text = {0};
	struct jpull_value v;
	char number[32];
	int64_t rank;
	int rc = SB_OK;

	if (first->token != JPULL_ARRAY) {
		jpull_note(&s->flaws.bad_value, first->offset);
		return SB_OK;
	}
	sb_buf_init(&text, RANKS_MAX);
	while (rc == SB_OK) {
		rc = jpull_next(s->j, &v, err);
		if (rc != SB_OK || v.token == JPULL_ARRAY_END)
			break;
		if (!signalbox_int(&v, &rank) || rank < 0) {
			jpull_note(&s->flaws.bad_value, v.offset);
			rc = jpull_skip(s->j, &v, err);
			continue;
		}
		snprintf(number, sizeof(number), "%s%" PRId64, text.len > 0 ? ", " : "[", rank);
		rc = sb_buf_add(&text, number, strlen(number));
	}
	if (rc == SB_OK && text.len > 0)
		rc = sb_buf_add(&text, "]", 1);
	return rc == SB_OK && text.len > 0 ? sb_strings_add(s->trace.strings, text.data, text.len, &g->ranks)
	                                   : rc;
}

enum { GROUP_NAME, GROUP_RANKS };
static const struct word GROUP_WORDS[] = {WORD("name", GROUP_NAME), WORD("ranks", GROUP_RANKS)};

static int take_group(struct signalbox *s, void *item, uint8_t member, const struct jpull_value *v,
                      struct sb_error *err)
{
	struct group_item *g = item;

	return member == GROUP_NAME ? signalbox_text(s, v, &g->name) : take_ranks(s, g, v, err);
}

int signalbox_group_item(struct signalbox *s, int64_t offset, struct sb_error *err)
{
	static const struct shape SHAPE = {GROUP_WORDS, sizeof(GROUP_WORDS) / sizeof(GROUP_WORDS[0]),
	                                   take_group};
	struct group_item g = {0};
	int rc = signalbox_object(s, &SHAPE, &g, err);

	if (rc != SB_OK)
		return rc;
	if (g.name == 0) {
		jpull_note(&s->flaws.bad_value, offset);
		return SB_OK;
	}
	return id_map_put(&s->groups, (struct id_key){g.name, 0, 0}, g.ranks);
}

/* The origin may stand behind the events. */
static void add_origin(struct signalbox *s)
{
	for (size_t i = 0; s->origin_ns != 0 && i < s->trace.count; i++)
		s->trace.start_ns[i] = sb_add_sat(s->trace.start_ns[i], s->origin_ns);
	for (size_t i = 0; i < s->step_count; i++)
		s->steps[i].start_ns = sb_add_sat(s->steps[i].start_ns, s->origin_ns);
	steps_sort(s->steps, s->step_count);
}

static int name_lanes(struct signalbox *s)
{
	uint64_t count = 0;

	for (size_t i = 0; i < s->trace.lane_count; i++) {
		char name[40];
		int rc;

		if (s->declared[i])
			continue;
		count++;
		snprintf(name, sizeof(name), "lane %zu", i);
		rc = sb_strings_add(s->trace.strings, name, strlen(name), &s->trace.lanes[i].thread);
		if (rc != SB_OK)
			return rc;
	}
	if (count == 0)
		return SB_OK;
	warnings_add(&s->ctx->profile->warnings, "unknown_lane", s->path, 0, -1,
	             "%llu lanes that events name are not described in \"lanes\": their device is unknown.",
	             (unsigned long long)count);
	warnings_repeat(&s->ctx->profile->warnings, "unknown_lane", s->path, count - 1);
	return SB_OK;
}

static void drop_jumps(struct signalbox *s)
{
	const struct clock_file f = {
	    .warnings = &s->ctx->profile->warnings, .path = s->path, .unit = CLOCK_BYTE};
	struct clock_judge j;

	if (!clock_judge_trace(&s->trace, &s->range, &f, &j))
		return;
	clock_drop_events(&j, &s->trace);
	clock_drop_steps(&j, s->steps, &s->step_count);
}

int signalbox_head_end(struct signalbox *s)
{
	for (size_t i = 0; i < s->trace.detail_count; i++) {
		struct event_detail *d = &s->trace.details[i];

		if (d->group != 0)
			(void)id_map_get(&s->groups, (struct id_key){d->group, 0, 0}, &d->ranks);
	}
	drop_jumps(s);
	add_origin(s);
	return name_lanes(s);
}
