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

static int64_t chunk_of(const struct schedule_shape *s, int64_t device, int64_t stage)
{
	const struct schedule_facts *f = schedule_facts(s->kind);

	return f->two_way ? stage != device : stage / s->devices;
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
			now.of[chunk_of(&p->shape, device, c.added)]++;
			rose = true;
		}
		/* only what is about to fall can be a peak */
		if (c.removed >= 0) {
			if (rose)
				rc = keep(&list, &count, &now, p->shape.chunks);
			rose = false;
			now.of[chunk_of(&p->shape, device, c.removed)]--;
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
