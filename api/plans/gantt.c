#include "api/plans/gantt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is worked on: the whole schedule simulated, and the part in view. */
struct picture {
	const struct gantt *g;
	const struct schedule_program *p;
	double makespan;
	double *start, *end, *busy, *peak; /* of each device */
	double *op_start;
	double from, to;
	int64_t first, last;  /* devices */
	size_t *begin, *stop; /* operations in view of each of these devices */
	bool truncated;
	/* The device that is written. works: its first operation in view of each kind of work; work_of: the
	 * number of a kind + 1 by kind, chunk and slice, 0 = none in view. */
	int64_t device;
	size_t *works, work_count;
	uint32_t *work_of;
	size_t keys;
};

static void picture_clear(struct picture *v)
{
	free(v->start);
	free(v->op_start);
	free(v->begin);
	free(v->works);
	free(v->work_of);
}

static int no_memory(struct sb_error *err)
{
	return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
}

static int simulate(struct picture *v, struct sb_error *err)
{
	size_t devices = (size_t)v->p->shape.devices;
	struct schedule_result r = {0};
	int rc;

	v->start = calloc(4 * devices, sizeof(*v->start));
	v->op_start = calloc(v->p->first[devices] + 1, sizeof(*v->op_start));
	if (!v->start || !v->op_start)
		return no_memory(err);
	v->end = v->start + devices;
	v->busy = v->start + 2 * devices;
	v->peak = v->start + 3 * devices;
	r = (struct schedule_result){
	    .start = v->start, .end = v->end, .busy = v->busy, .op_start = v->op_start};
	rc = schedule_simulate(v->p, v->g->times, &r, err);
	if (rc != SB_OK)
		return rc;
	v->makespan = r.makespan;
	schedule_peaks(v->p, v->g->activation, v->peak);
	return SB_OK;
}

/* ---- the view ---- */

static double op_end(const struct picture *v, size_t op)
{
	return v->op_start[op] + schedule_op_seconds(v->p, v->g->times, op);
}

/* The first operation of a device that starts after a time (by_end: that ends at it or later). */
static size_t seek(const struct picture *v, int64_t device, double time, bool by_end)
{
	size_t low = v->p->first[device], high = v->p->first[device + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		bool before = by_end ? op_end(v, middle) < time : v->op_start[middle] <= time;

		if (before)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int bad_view(struct sb_error *err, const char *parameter, const char *text)
{
	return sb_fail_field(err, SB_EINVAL, "bad_view", parameter, "%s", text);
}

static int choose_devices(struct picture *v, const struct plan_view *view, struct sb_error *err)
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
static void cut(struct picture *v)
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

static int choose(struct picture *v, const struct plan_view *view, struct sb_error *err)
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
		return no_memory(err);
	v->stop = v->begin + devices;
	cut(v);
	return SB_OK;
}

/* ---- kinds of work ---- */

/* The number of an operation's kind of work on the device that is written. */
static size_t work_of(struct picture *v, size_t op)
{
	const struct schedule_shape *s = &v->p->shape;
	const struct schedule_op *o = &v->p->ops[op];
	int64_t kind = o->kind, key;

	if (kind == OP_PAIR)
		kind += schedule_chunk(s, v->device, o->other_stage);
	key = (kind * s->chunks + schedule_chunk(s, v->device, o->stage)) * s->slices + o->slice;
	if (v->work_of[key] == 0) {
		v->works[v->work_count++] = op;
		v->work_of[key] = (uint32_t)v->work_count;
	}
	return v->work_of[key] - 1;
}

static void find_works(struct picture *v, int64_t device)
{
	v->device = device;
	v->work_count = 0;
	memset(v->work_of, 0, v->keys * sizeof(*v->work_of));
	for (size_t i = v->begin[device - v->first]; i < v->stop[device - v->first]; i++)
		(void)work_of(v, i);
}

/* ---- writing ---- */

enum { EXACT = 15, DRAWN = 12 }; /* digits: of what is said once, of the long columns */

static void add_number(struct sb_buf *b, double x, int digits)
{
	if (x == floor(x) && fabs(x) < 1e15)
		sb_buf_addf(b, "%lld", (long long)x);
	else
		sb_buf_addf(b, "%.*g", digits, x);
}

static void add_member(struct sb_buf *b, const char *name, double x)
{
	sb_buf_addf(b, ",\"%s\":", name);
	if (isfinite(x))
		add_number(b, x, EXACT);
	else
		sb_buf_adds(b, "null");
}

/* What a column says of an operation. */
typedef void cell(struct picture *v, size_t op, struct sb_buf *b);

static void cell_kind(struct picture *v, size_t op, struct sb_buf *b)
{
	static const char *const names[] = {"\"forward\"", "\"backward\"",  "\"backward_input\"",
	                                    "\"weight\"",  "\"recompute\"", "\"pair\""};

	sb_buf_adds(b, names[v->p->ops[op].kind]);
}

static void cell_stage(struct picture *v, size_t op, struct sb_buf *b)
{
	sb_buf_addf(b, "%u", v->p->ops[op].stage);
}

static void cell_slice(struct picture *v, size_t op, struct sb_buf *b)
{
	sb_buf_addf(b, "%u", v->p->ops[op].slice);
}

static void cell_length(struct picture *v, size_t op, struct sb_buf *b)
{
	add_number(b, schedule_op_seconds(v->p, v->g->times, op), EXACT);
}

static void cell_recompute(struct picture *v, size_t op, struct sb_buf *b)
{
	const struct schedule_op *o = &v->p->ops[op];
	size_t at = (size_t)o->stage * (size_t)v->p->shape.slices + o->slice;

	bool early = schedule_facts(v->p->shape.kind)->recomputes;
	bool does = early ? o->kind == OP_RECOMPUTE : o->kind == OP_BACKWARD || o->kind == OP_BACKWARD_INPUT;

	add_number(b, does ? v->g->recompute[at] : 0, EXACT);
}

static void cell_work(struct picture *v, size_t op, struct sb_buf *b)
{
	sb_buf_addf(b, "%zu", work_of(v, op));
}

static void cell_micro_batch(struct picture *v, size_t op, struct sb_buf *b)
{
	sb_buf_addf(b, "%u", v->p->ops[op].micro_batch);
}

static void cell_start(struct picture *v, size_t op, struct sb_buf *b)
{
	add_number(b, v->op_start[op], DRAWN);
}

/* Of the other half of a pair. */
static void add_other(struct picture *v, size_t op, uint32_t what, struct sb_buf *b)
{
	if (v->p->ops[op].kind == OP_PAIR)
		sb_buf_addf(b, "%u", what);
	else
		sb_buf_adds(b, "null");
}

static void cell_other_stage(struct picture *v, size_t op, struct sb_buf *b)
{
	add_other(v, op, v->p->ops[op].other_stage, b);
}

static void cell_other_micro_batch(struct picture *v, size_t op, struct sb_buf *b)
{
	add_other(v, op, v->p->ops[op].other_micro_batch, b);
}

/* ops: those that the rows are of; NULL = all from `begin` on. */
static void add_column(struct picture *v, const char *name, const size_t *ops, size_t begin, size_t count,
                       cell *write, struct sb_buf *b)
{
	sb_buf_addf(b, "%s\"%s\":[", b->len > 0 && b->data[b->len - 1] == '{' ? "" : ",", name);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			sb_buf_add(b, ",", 1);
		write(v, ops ? ops[i] : begin + i, b);
	}
	sb_buf_add(b, "]", 1);
}

static void add_works(struct picture *v, struct sb_buf *b)
{
	sb_buf_adds(b, ",\"works\":{");
	add_column(v, "kind", v->works, 0, v->work_count, cell_kind, b);
	add_column(v, "stage", v->works, 0, v->work_count, cell_stage, b);
	if (schedule_facts(v->p->shape.kind)->pairs)
		add_column(v, "other_stage", v->works, 0, v->work_count, cell_other_stage, b);
	if (v->p->shape.slices > 1)
		add_column(v, "slice", v->works, 0, v->work_count, cell_slice, b);
	add_column(v, "length", v->works, 0, v->work_count, cell_length, b);
	if (v->g->recompute)
		add_column(v, "recompute", v->works, 0, v->work_count, cell_recompute, b);
	sb_buf_adds(b, "}");
}

static void add_operations(struct picture *v, struct sb_buf *b)
{
	size_t begin = v->begin[v->device - v->first], count = v->stop[v->device - v->first] - begin;

	sb_buf_adds(b, ",\"operations\":{");
	add_column(v, "work", NULL, begin, count, cell_work, b);
	add_column(v, "micro_batch", NULL, begin, count, cell_micro_batch, b);
	if (schedule_facts(v->p->shape.kind)->pairs)
		add_column(v, "other_micro_batch", NULL, begin, count, cell_other_micro_batch, b);
	add_column(v, "start", NULL, begin, count, cell_start, b);
	sb_buf_adds(b, "}");
}

static void add_memory(const struct picture *v, struct sb_buf *b)
{
	struct schedule_level levels[GANTT_LEVELS_MAX + 2];
	double fixed = v->g->fixed ? v->g->fixed[v->device] : 0;
	size_t n = schedule_levels(v->p, v->g->times, v->op_start, v->g->activation, v->device, v->from,
	                           v->to, GANTT_LEVELS_MAX, levels);

	sb_buf_adds(b, ",\"memory\":{\"time\":[");
	for (size_t i = 0; i < n; i++) {
		sb_buf_adds(b, i > 0 ? "," : "");
		add_number(b, levels[i].time, DRAWN);
	}
	sb_buf_adds(b, "],\"held\":[");
	for (size_t i = 0; i < n; i++) {
		sb_buf_adds(b, i > 0 ? "," : "");
		add_number(b, fixed + levels[i].held, EXACT);
	}
	sb_buf_adds(b, "]}");
}

static void add_device(struct picture *v, int64_t device, struct sb_buf *b)
{
	const struct gantt *g = v->g;

	find_works(v, device);
	sb_buf_addf(b, "%s{\"device\":%lld,\"stages\":[", device > v->first ? "," : "", (long long)device);
	for (int64_t k = 0; k < v->p->shape.chunks; k++)
		sb_buf_addf(b, "%s%lld", k > 0 ? "," : "",
		            (long long)schedule_stage(&v->p->shape, device, k));
	sb_buf_adds(b, "]");
	add_member(b, "start", v->start[device]);
	add_member(b, "end", v->end[device]);
	add_member(b, "busy", v->busy[device]);
	add_member(b, "bubble", v->makespan - v->busy[device]);
	add_member(b, "peak", (g->fixed ? g->fixed[device] : 0) + v->peak[device]);
	add_member(b, "cap", g->cap ? g->cap[device] : NAN);
	add_works(v, b);
	add_operations(v, b);
	add_memory(v, b);
	sb_buf_adds(b, "}");
}

int gantt_write(const struct gantt *g, const struct plan_view *view, struct sb_buf *out, struct sb_error *err)
{
	__attribute__((cleanup(picture_clear))) struct picture v = {.g = g, .p = g->program};
	const struct schedule_shape *s = &g->program->shape;
	int rc = simulate(&v, err);

	if (rc == SB_OK)
		rc = choose(&v, view, err);
	if (rc != SB_OK)
		return rc;
	sb_buf_addf(out, "{\"schedule\":\"%s\",\"micro_batches\":%lld,\"chunks\":%lld,\"slices\":%lld",
	            schedule_facts(s->kind)->name, (long long)s->micro_batches, (long long)s->chunks,
	            (long long)s->slices);
	sb_buf_addf(out, ",\"device_count\":%lld,\"operation_count\":%zu", (long long)s->devices,
	            v.p->first[s->devices]);
	add_member(out, "makespan", v.makespan);
	add_member(out, "from", v.from);
	add_member(out, "to", v.to);
	sb_buf_addf(out, ",\"truncated\":%s,\"memory_unit\":\"%s\",\"devices\":[",
	            v.truncated ? "true" : "false", g->activation ? "bytes" : "units");
	for (int64_t d = v.first; d <= v.last; d++)
		add_device(&v, d, out);
	sb_buf_adds(out, "]}");
	return out->status == SB_OK ? SB_OK
	                            : sb_fail(err, out->status, "too_large", "the answer is too large");
}
