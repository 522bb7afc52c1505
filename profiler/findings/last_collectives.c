#include "profiler/findings/last_collectives.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/num.h"
#include "profiler/findings/host_part.h"

struct piece {
	int64_t step, order, start, end; /* order: within the step */
};

struct pieces {
	const struct rank_view *v;
	struct step_windows windows;
	struct piece *items;
	size_t count;
	struct interval_set compute;
	bool untimed; /* when they started is not known */
};

static void pieces_free(struct pieces *p)
{
	step_windows_free(&p->windows);
	free(p->items);
	intervals_free(&p->compute);
}

static int add(struct pieces *p, int64_t step, int64_t start, int64_t end)
{
	if (sb_grow(&p->items, p->count, sizeof(*p->items)) != SB_OK)
		return SB_ENOMEM;
	p->items[p->count++] = (struct piece){step, end, start, end};
	return SB_OK;
}

static int add_events(struct pieces *p, uint8_t wanted)
{
	const struct trace *t = &p->v->c->trace;
	int rc = SB_OK;

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		int64_t start = interval_bound(t->start_ns[i]), end;
		int32_t device;

		if (t->kind[i] != wanted && t->kind[i] != EVENT_KERNEL && t->kind[i] != EVENT_LANE_COMPUTE)
			continue;
		end = interval_end(t->start_ns[i], t->dur_ns[i]);
		device = t->lane[i] < t->lane_count ? t->lanes[t->lane[i]].device : -1;
		if (device >= 0 && p->v->device != SB_NULL && device != p->v->device)
			continue;
		rc = t->kind[i] == wanted
		         ? add(p, collective_step(p->v->c, &p->v->part->launches, &p->windows, i), start, end)
		         : intervals_add(&p->compute, start, end);
	}
	return rc;
}

static int add_rows(struct pieces *p, bool communication)
{
	const struct capture *c = p->v->c;
	int rc = SB_OK;

	for (size_t i = 0; i < c->kernel_count && rc == SB_OK; i++) {
		const struct kernel *k = &c->kernels[i];
		int64_t start = interval_bound(k->start_ns), end = interval_end(k->start_ns, k->dur_ns);

		if (k->start_ns == SB_NULL ||
		    (k->device > 0 && p->v->device != SB_NULL && k->device - 1 != p->v->device))
			continue;
		if (!k->communication)
			rc = intervals_add(&p->compute, start, end);
		else if (communication)
			rc = add(p, k->step, start, end);
	}
	return rc;
}

static int add_operations(struct pieces *p)
{
	const struct capture *c = p->v->c;
	int rc = SB_OK;

	for (size_t i = 0; i < c->communication_count && rc == SB_OK; i++) {
		const struct communication_op *op = &c->communications[i];

		if (op->point_to_point || !(op->elapse_us >= 0))
			continue;
		rc = add(p, op->step, 0, ns_at_most(op->elapse_us * 1000, INT64_MAX));
		if (rc == SB_OK)
			p->items[p->count - 1].order = (int64_t)i;
	}
	return rc;
}

/* Of equal ends the later start comes last, so that the order of the file does not show. */
static int by_step(const void *a, const void *b)
{
	return sb_compare(a, b, 4);
}

/* The best source that tells collectives one by one. */
static int collect(struct pieces *p)
{
	static const uint8_t kinds[] = {EVENT_COMMUNICATION, EVENT_LANE_COMMUNICATION};
	int rc = step_windows_build(p->v->c, &p->windows);

	for (size_t i = 0; i < 2 && rc == SB_OK && p->count == 0; i++) {
		p->compute.count = 0;
		rc = add_events(p, kinds[i]);
	}
	if (rc == SB_OK)
		rc = add_rows(p, p->count == 0);
	p->untimed = p->count == 0;
	if (rc == SB_OK && p->untimed)
		rc = add_operations(p);
	return rc;
}

/* From the first to the last collective of each step, all of them, and the last ones. */
struct stretches {
	struct interval_set steps, all, last;
	int64_t untimed_ns; /* what the last ones took */
};

static void stretches_free(struct stretches *s)
{
	intervals_free(&s->steps);
	intervals_free(&s->all);
	intervals_free(&s->last);
}

/* The pieces are sorted by step and end; those of no step come first. */
static int stretch(const struct pieces *p, struct stretches *out)
{
	bool steps = p->count > 0 && p->items[p->count - 1].step != SB_NULL;
	int64_t first = INT64_MAX;
	int rc = SB_OK;

	for (size_t i = 0; i < p->count && rc == SB_OK; i++) {
		const struct piece *x = &p->items[i];

		rc = intervals_add(&out->all, x->start, x->end);
		/* before, between or after the steps: together they are no step */
		if (steps && x->step == SB_NULL)
			continue;
		first = x->start < first ? x->start : first;
		if (i + 1 < p->count && p->items[i + 1].step == x->step)
			continue;
		out->untimed_ns = sb_add_sat(out->untimed_ns, x->end - x->start);
		if (rc == SB_OK)
			rc = intervals_add(&out->last, x->start, x->end);
		if (rc == SB_OK)
			rc = intervals_add(&out->steps, first, x->end);
		first = INT64_MAX;
	}
	intervals_normalise(&out->steps);
	intervals_normalise(&out->all);
	intervals_normalise(&out->last);
	return rc;
}

int last_collectives_find(const struct rank_view *v, struct last_collectives *out)
{
	__attribute__((cleanup(pieces_free))) struct pieces p = {.v = v};
	__attribute__((cleanup(stretches_free))) struct stretches s = {{0}, {0}, {0}, 0};
	INTERVALS_AUTO alone = {0};
	int rc = collect(&p);

	if (p.count > 0)
		qsort(p.items, p.count, sizeof(*p.items), by_step);
	if (rc == SB_OK)
		rc = stretch(&p, &s);
	if (rc != SB_OK)
		return rc;
	*out = (struct last_collectives){s.untimed_ns, SB_NULL};
	if (p.untimed)
		return SB_OK;
	intervals_normalise(&p.compute);
	out->exposed_ns = intervals_total(&s.last) - intervals_common(&s.last, &p.compute);
	rc = intervals_difference(&p.compute, &s.all, &alone);
	if (rc == SB_OK)
		out->idle_link_ns = intervals_common(&alone, &s.steps);
	return rc;
}
