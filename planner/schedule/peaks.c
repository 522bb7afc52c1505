#include <stdlib.h>

#include "base/grow.h"
#include "planner/schedule/schedule.h"

/* What an operation adds to the live units of its device, and what it takes away. A pair does both, the
 * forward first: both are alive while they run. */
struct change {
	int64_t added, removed; /* stages; -1 = none */
};

static struct change change_of(const struct schedule_op *o)
{
	switch (o->kind) {
	case OP_FORWARD: return (struct change){o->stage, -1};
	case OP_BACKWARD:
	case OP_WEIGHT: return (struct change){-1, o->stage};
	case OP_PAIR: return (struct change){o->stage, o->other_stage};
	default: return (struct change){-1, -1};
	}
}

void schedule_peaks(const struct schedule_program *p, const double *activation, double *out)
{
	for (int64_t d = 0; d < p->shape.devices; d++) {
		double live = 0;

		out[d] = 0;
		for (size_t i = p->first[d]; i < p->first[d + 1]; i++) {
			struct change c = change_of(&p->ops[i]);

			if (c.added >= 0) {
				live += activation ? activation[c.added] : 1;
				out[d] = live > out[d] ? live : out[d];
			}
			if (c.removed >= 0)
				live -= activation ? activation[c.removed] : 1;
		}
	}
}

static bool reaches(const struct in_flight *a, const struct in_flight *b, int64_t chunks)
{
	for (int64_t k = 0; k < chunks; k++)
		if (a->of[k] < b->of[k])
			return false;
	return true;
}

/* Keeps a vector unless another one reaches it, and drops those that it reaches. */
static int keep(struct in_flight **list, size_t *count, const struct in_flight *x, int64_t chunks)
{
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		if (reaches(&(*list)[i], x, chunks))
			return SB_OK;
	for (size_t i = 0; i < *count; i++)
		if (!reaches(x, &(*list)[i], chunks))
			(*list)[kept++] = (*list)[i];
	*count = kept;
	if (sb_grow(list, *count, sizeof(**list)) != SB_OK)
		return SB_ENOMEM;
	(*list)[(*count)++] = *x;
	return SB_OK;
}

int schedule_in_flight(const struct schedule_program *p, int64_t device, struct in_flight **out,
                       size_t *out_count)
{
	struct in_flight now = {{0}}, *list = NULL;
	size_t count = 0;
	bool rose = false;
	int rc = p->shape.chunks > SCHEDULE_CHUNKS_MAX ? SB_ELIMIT : SB_OK;

	for (size_t i = p->first[device]; rc == SB_OK && i < p->first[device + 1]; i++) {
		struct change c = change_of(&p->ops[i]);

		if (c.added >= 0) {
			now.of[schedule_chunk(&p->shape, device, c.added)]++;
			rose = true;
		}
		/* only what is about to fall can be a peak */
		if (c.removed >= 0) {
			if (rose)
				rc = keep(&list, &count, &now, p->shape.chunks);
			rose = false;
			now.of[schedule_chunk(&p->shape, device, c.removed)]--;
		}
	}
	if (rc != SB_OK) {
		free(list);
		return rc;
	}
	*out = list;
	*out_count = count;
	return SB_OK;
}

/* A staircase while it is written. */
struct stairs {
	double from, to;
	size_t columns;                      /* 0 = every change is kept */
	struct schedule_level now;           /* the latest: one of the same instant may still rise above it */
	struct schedule_level highest, last; /* of the column that is under way */
	size_t column;
	bool begun; /* the column has a level */
	struct schedule_level *out;
	size_t count;
};

static void keep_level(struct stairs *s, struct schedule_level x)
{
	if (s->count == 0 || s->out[s->count - 1].held != x.held)
		s->out[s->count++] = x;
}

static void end_column(struct stairs *s)
{
	if (!s->begun)
		return;
	keep_level(s, s->highest);
	if (s->last.time > s->highest.time || s->last.held < s->highest.held)
		keep_level(s, s->last);
	s->begun = false;
}

static void pass_level(struct stairs *s, struct schedule_level x)
{
	double share = s->to > s->from ? (x.time - s->from) / (s->to - s->from) : 0;
	size_t column = (size_t)(share * (double)s->columns);

	if (s->columns == 0 || s->count == 0)
		keep_level(s, x); /* the first is where the view begins */
	if (s->columns == 0)
		return;
	column = column < s->columns ? column : s->columns - 1;
	if (column != s->column)
		end_column(s);
	if (!s->begun || x.held > s->highest.held)
		s->highest = x;
	s->column = column;
	s->last = x;
	s->begun = true;
}

/* A dip that lasts no time does not show: the device frees one unit and takes the next. */
static void add_level(struct stairs *s, double time, double held)
{
	if (time > s->now.time || held < s->now.held)
		pass_level(s, s->now);
	s->now = (struct schedule_level){time, held};
}

/* Calls `add` for every change up to the end of the view; those before it only set the level at its begin. */
static size_t walk(const struct schedule_program *p, const struct schedule_times *t, const double *op_start,
                   const double *activation, int64_t device, struct stairs *s)
{
	size_t changes = 0;
	double held = 0;

	for (size_t i = p->first[device]; i < p->first[device + 1] && op_start[i] <= s->to; i++) {
		struct change c = change_of(&p->ops[i]);
		double at[2] = {op_start[i], op_start[i] + schedule_op_seconds(p, t, i)};
		int64_t stage[2] = {c.added, c.removed};

		for (int k = 0; k < 2; k++) {
			if (stage[k] < 0 || at[k] > s->to)
				continue;
			held += (k == 0 ? 1 : -1) * (activation ? activation[stage[k]] : 1);
			if (at[k] < s->from)
				s->now.held = held;
			else if (s->out)
				add_level(s, at[k], held);
			changes += at[k] >= s->from;
		}
	}
	return changes;
}

size_t schedule_levels(const struct schedule_program *p, const struct schedule_times *t,
                       const double *op_start, const double *activation, int64_t device, double from,
                       double to, size_t most, struct schedule_level *out)
{
	struct stairs s = {.from = from, .to = to, .now = {from, 0}};

	if (walk(p, t, op_start, activation, device, &s) > most)
		s.columns = most / 2;
	s.now.held = 0;
	s.out = out;
	walk(p, t, op_start, activation, device, &s);
	pass_level(&s, s.now);
	end_column(&s);
	return s.count;
}
