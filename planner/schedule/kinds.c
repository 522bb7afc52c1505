#include <stdio.h>
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
    [SCHEDULE_1F1B_EARLY_RECOMPUTE] = {.name = "1f1b-early-recompute", .chunks = 1, .recomputes = true},
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

int64_t schedule_stage(const struct schedule_shape *s, int64_t device, int64_t chunk)
{
	const struct schedule_facts *f = &FACTS[s->kind];

	if (chunk == 1 && f->two_way)
		return s->devices - 1 - device;
	if (chunk == 1 && f->vee)
		return 2 * s->devices - 1 - device;
	return chunk * s->devices + device;
}

int64_t schedule_chunk(const struct schedule_shape *s, int64_t device, int64_t stage)
{
	return FACTS[s->kind].two_way ? stage != device : stage / s->devices;
}

double schedule_operations(const struct schedule_shape *s)
{
	const struct schedule_facts *f = &FACTS[s->kind];

	return (f->splits || f->recomputes ? 3 : 2) * (double)schedule_stages(s) * (double)s->micro_batches *
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

static int out_of_range(struct sb_error *err, const char *field, const char *text)
{
	return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", field, "%s", text);
}

static int check_sizes(const struct schedule_shape *s, struct sb_error *err)
{
	if (s->devices < 1 || s->devices > UINT16_MAX)
		return out_of_range(err, "stages", "must lie between 1 and 65535");
	if (s->micro_batches < 1 || s->micro_batches > UINT32_MAX)
		return out_of_range(err, "micro_batches", "must lie between 1 and 2^32 - 1");
	if (s->chunks < 1 || s->chunks > UINT16_MAX / s->devices)
		return out_of_range(err, "chunks", "must be at least 1, and at most 65535 in all");
	if (s->slices < 1 || s->slices > UINT16_MAX)
		return out_of_range(err, "slices", "must lie between 1 and 65535");
	if (schedule_operations(s) > SCHEDULE_OPERATIONS_MAX)
		return out_of_range(err, "micro_batches", "the schedule has more than 2^22 operations");
	return SB_OK;
}

/* Of a short last group the order has a device wait for a chunk that waits for the device itself, unless the
 * group is nearly full, or there are but two chunks and one micro-batch to take in turn. */
bool schedule_interleaves(int64_t devices, int64_t chunks, int64_t micro_batches)
{
	int64_t rest = micro_batches % devices;

	return micro_batches <= devices || rest == 0 || rest + 2 >= devices || (rest == 1 && chunks == 2);
}

/* Do the sizes fit the kind? */
static int check_fit(const struct schedule_shape *s, const struct schedule_facts *f, struct sb_error *err)
{
	char text[120];

	if (f->chunks > 0 ? s->chunks != f->chunks : s->chunks < 2)
		return out_of_range(err, "chunks",
		                    f->chunks == 1   ? "must be 1 with this schedule"
		                    : f->chunks == 2 ? "must be 2 with this schedule"
		                                     : "must be at least 2 with this schedule");
	if (s->slices > 1 && !f->sliced)
		return out_of_range(err, "slices", "must be 1: this schedule does not cut sequences");
	if (f->two_way && s->devices % 2 != 0)
		return out_of_range(err, "stages",
		                    "must be even: half of the micro-batches come the other way");
	if (f->two_way && s->micro_batches % 2 != 0)
		return out_of_range(err, "micro_batches", "must be even: half of them come the other way");
	if (s->kind == SCHEDULE_INTERLEAVED && !schedule_interleaves(s->devices, s->chunks, s->micro_batches))
		return out_of_range(
		    err, "micro_batches",
		    "must be a multiple of the stages, or one or two short of it: with such a "
		    "last group the interleaved order deadlocks");
	if (s->micro_batches >= least_micro_batches(s))
		return SB_OK;
	(void)snprintf(text, sizeof(text), "must be at least %lld with this schedule on so many stages",
	               (long long)least_micro_batches(s));
	return out_of_range(err, "micro_batches", text);
}

int schedule_check(const struct schedule_shape *s, struct sb_error *err)
{
	const struct schedule_facts *f = schedule_facts(s->kind);
	int rc = f ? check_sizes(s, err) : out_of_range(err, "schedule", "is no schedule");

	return rc == SB_OK ? check_fit(s, f, err) : rc;
}
