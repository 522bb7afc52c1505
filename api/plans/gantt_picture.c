#include "api/plans/gantt_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

void gantt_picture_clear(struct gantt_picture *v)
{
	free(v->start);
	free(v->op_start);
	free(v->begin);
	free(v->works);
	free(v->work_of);
}

static double op_end(const struct gantt_picture *v, size_t op)
{
	return v->op_start[op] + schedule_op_seconds(v->p, v->g->times, op);
}

/* What a simulation would have said besides. */
static void take_starts(struct gantt_picture *v)
{
	memcpy(v->op_start, v->g->op_start, v->p->first[v->p->shape.devices] * sizeof(*v->op_start));
	for (int64_t d = 0; d < v->p->shape.devices; d++) {
		for (size_t i = v->p->first[d]; i < v->p->first[d + 1]; i++)
			v->busy[d] += schedule_op_seconds(v->p, v->g->times, i);
		v->start[d] = v->op_start[v->p->first[d]];
		v->end[d] = op_end(v, v->p->first[d + 1] - 1);
		v->makespan = fmax(v->makespan, v->end[d]);
	}
}

static int simulate(struct gantt_picture *v, struct sb_error *err)
{
	size_t devices = (size_t)v->p->shape.devices;
	struct schedule_result r = {0};
	int rc;

	v->start = calloc(4 * devices, sizeof(*v->start));
	v->op_start = calloc(v->p->first[devices] + 1, sizeof(*v->op_start));
	if (!v->start || !v->op_start)
		return sb_no_memory(err);
	v->end = v->start + devices;
	v->busy = v->start + 2 * devices;
	v->peak = v->start + 3 * devices;
	schedule_peaks(v->p, v->g->activation, v->peak);
	if (v->g->op_start) {
		take_starts(v);
		return SB_OK;
	}
	r = (struct schedule_result){
	    .start = v->start, .end = v->end, .busy = v->busy, .op_start = v->op_start};
	rc = schedule_simulate(v->p, v->g->times, &r, err);
	if (rc != SB_OK)
		return rc;
	v->makespan = r.makespan;
	return SB_OK;
}

/* ---- the view ---- */

/* The first operation of a device that starts after a time (by_end: that ends at it or later). */
static size_t seek(const struct gantt_picture *v, int64_t device, double time, bool by_end)
{
	return SB_BISECT(i, v->p->first[device], v->p->first[device + 1],
	                 by_end ? op_end(v, i) < time : v->op_start[i] <= time);
}

static int bad_view(struct sb_error *err, const char *parameter, const char *text)
{
	return sb_fail_field(err, SB_EINVAL, "bad_view", parameter, "%s", text);
}

static int choose_devices(struct gantt_picture *v, const struct plan_view *view, struct sb_error *err)
{
	bool all = view->first_device < 0;

	v->first = all ? 0 : view->first_device;
	v->last = all ? v->p->shape.devices - 1 : view->last_device;
	if (v->first > v->last || v->last >= v->p->shape.devices)
		return bad_view(err, "devices", "The schedule has no such devices.");
	if (v->last - v->first >= GANTT_DEVICES_MAX) {
		v->last = v->first + GANTT_DEVICES_MAX - 1;
		v->truncated = true;
	}
	return SB_OK;
}

/* Every device shows all that it has up to the time where the first of them has shown its share. */
static void cut(struct gantt_picture *v)
{
	size_t share = (size_t)(GANTT_OPERATIONS_MAX / (v->last - v->first + 1));
	double to = v->to;

	for (int64_t d = v->first; d <= v->last; d++) {
		size_t *begin = &v->begin[d - v->first], *stop = &v->stop[d - v->first];

		*begin = seek(v, d, v->from, true);
		*stop = seek(v, d, v->to, false);
		if (*stop < *begin)
			*stop = *begin;
		if (*stop - *begin <= share)
			continue;
		*stop = *begin + share;
		to = fmin(to, fmax(v->from, v->op_start[*stop]));
		v->truncated = true;
	}
	v->to = to;
	for (int64_t d = v->first; d <= v->last; d++) {
		size_t *begin = &v->begin[d - v->first], *stop = &v->stop[d - v->first];
		size_t most = seek(v, d, to, false);

		*stop = *stop > most ? most : *stop;
		*stop = *stop < *begin ? *begin : *stop;
	}
}

static int choose(struct gantt_picture *v, const struct plan_view *view, struct sb_error *err)
{
	const struct schedule_shape *s = &v->p->shape;
	int rc = choose_devices(v, view, err);
	size_t devices;

	if (rc != SB_OK)
		return rc;
	v->from = isnan(view->from) ? 0 : view->from;
	v->to = isnan(view->to) ? v->makespan : view->to;
	if (v->from > v->to)
		return bad_view(err, isnan(view->to) ? "from" : "to", "The view must end after it begins.");
	devices = (size_t)(v->last - v->first + 1);
	v->keys = (size_t)(OP_PAIR + (schedule_facts(s->kind)->pairs ? 2 : 0)) * (size_t)s->chunks *
	          (size_t)s->slices;
	v->begin = calloc(2 * devices, sizeof(*v->begin));
	v->works = calloc(v->keys, sizeof(*v->works));
	v->work_of = calloc(v->keys, sizeof(*v->work_of));
	if (!v->begin || !v->works || !v->work_of)
		return sb_no_memory(err);
	v->stop = v->begin + devices;
	cut(v);
	return SB_OK;
}

int gantt_picture_open(const struct gantt *g, const struct plan_view *view, struct gantt_picture *out,
                       struct sb_error *err)
{
	int rc;

	*out = (struct gantt_picture){.g = g, .p = g->program};
	rc = simulate(out, err);
	return rc == SB_OK ? choose(out, view, err) : rc;
}
