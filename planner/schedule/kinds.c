#include <string.h>

#include "planner/schedule/schedule.h"

static const struct schedule_facts FACTS[SCHEDULE_KINDS] = {
    [SCHEDULE_GPIPE] = {.name = "gpipe", .chunks = 1},
    [SCHEDULE_1F1B] = {.name = "1f1b", .chunks = 1},
    [SCHEDULE_EAGER_1F1B] = {.name = "eager-1f1b", .chunks = 1},
    [SCHEDULE_INTERLEAVED] = {.name = "interleaved"},
    [SCHEDULE_INTERLEAVED_LESS_MEMORY] = {.name = "interleaved-less-memory"},
    [SCHEDULE_ZB_H1] = {.name = "zb-h1", .chunks = 1, .splits = true},
    [SCHEDULE_ZB_H2] = {.name = "zb-h2", .chunks = 1, .splits = true},
    [SCHEDULE_ZB_V] = {.name = "zb-v", .chunks = 2, .splits = true, .vee = true},
    [SCHEDULE_DUALPIPE] = {.name = "dualpipe", .chunks = 2, .splits = true, .pairs = true, .two_way = true},
    [SCHEDULE_DUALPIPE_V] = {.name = "dualpipe-v", .chunks = 2, .splits = true, .pairs = true, .vee = true},
    [SCHEDULE_TERAPIPE] = {.name = "terapipe", .chunks = 1, .sliced = true},
    [SCHEDULE_SEQ_1F1B] = {.name = "seq1f1b", .chunks = 1, .sliced = true},
};

const struct schedule_facts *schedule_facts(enum schedule_kind kind)
{
	return kind >= 0 && kind < SCHEDULE_KINDS ? &FACTS[kind] : NULL;
}

int schedule_kind_of(const char *name, enum schedule_kind *out)
{
	for (int k = 0; k < SCHEDULE_KINDS; k++) {
		if (strcmp(FACTS[k].name, name) == 0) {
			*out = (enum schedule_kind)k;
			return SB_OK;
		}
	}
	return SB_ENOENT;
}

int64_t schedule_stages(const struct schedule_shape *s)
{
	return FACTS[s->kind].two_way ? s->devices : s->devices * s->chunks;
}

int64_t schedule_device(const struct schedule_shape *s, int64_t stage, bool second_way)
{
	const struct schedule_facts *f = &FACTS[s->kind];

	if (f->two_way)
		return second_way ? s->devices - 1 - stage : stage;
	if (f->vee && stage >= s->devices)
		return 2 * s->devices - 1 - stage;
	return stage % s->devices;
}

double schedule_operations(const struct schedule_shape *s)
{
	const struct schedule_facts *f = &FACTS[s->kind];

	return (f->splits ? 3 : 2) * (double)schedule_stages(s) * (double)s->micro_batches *
	       (double)s->slices;
}

/* The fewest micro-batches that fill the pattern of the schedule (schedules.md, "needs"). */
static int64_t least_micro_batches(const struct schedule_shape *s)
{
	switch (s->kind) {
	case SCHEDULE_ZB_H1: return s->devices;
	case SCHEDULE_ZB_H2: return 2 * s->devices - 1;
	case SCHEDULE_ZB_V:
	case SCHEDULE_DUALPIPE:
	case SCHEDULE_DUALPIPE_V: return 2 * s->devices;
	case SCHEDULE_SEQ_1F1B: return (s->devices + s->slices - 1) / s->slices;
	default: return 1;
	}
}

static int check_sizes(const struct schedule_shape *s, const struct schedule_facts *f, struct sb_error *err)
{
	if (s->devices < 1 || s->micro_batches < 1 || s->chunks < 1 || s->slices < 1)
		return sb_fail(err, SB_EINVAL, "out_of_range", "the schedule's sizes must be at least 1");
	if (s->devices > UINT16_MAX || s->chunks > UINT16_MAX || s->devices * s->chunks > UINT16_MAX ||
	    s->slices > UINT16_MAX || s->micro_batches > UINT32_MAX ||
	    schedule_operations(s) > SCHEDULE_OPERATIONS_MAX)
		return sb_fail(err, SB_ELIMIT, "too_large",
		               "the schedule has more than 2^24 operations, or 65535 stages or slices");
	if (f->chunks > 0 ? s->chunks != f->chunks : s->chunks < 2)
		return sb_fail(err, SB_EINVAL, "out_of_range", "the schedule %s has %s a device", f->name,
		               f->chunks == 1   ? "one chunk"
		               : f->chunks == 2 ? "two chunks"
		                                : "two chunks or more");
	if (s->slices > 1 && !f->sliced)
		return sb_fail(err, SB_EINVAL, "out_of_range", "the schedule %s does not cut sequences",
		               f->name);
	return SB_OK;
}

int schedule_check(const struct schedule_shape *s, struct sb_error *err)
{
	const struct schedule_facts *f = schedule_facts(s->kind);
	int rc = f ? check_sizes(s, f, err) : sb_fail(err, SB_EINVAL, "out_of_range", "no such schedule");

	if (rc != SB_OK)
		return rc;
	if (f->two_way && (s->devices % 2 != 0 || s->micro_batches % 2 != 0))
		return sb_fail(err, SB_EINVAL, "out_of_range",
		               "the schedule %s needs an even number of stages and of micro-batches",
		               f->name);
	if (s->micro_batches < least_micro_batches(s))
		return sb_fail(err, SB_EINVAL, "out_of_range",
		               "the schedule %s on %lld devices needs at least %lld micro-batches", f->name,
		               (long long)s->devices, (long long)least_micro_batches(s));
	return SB_OK;
}
