#include "api/plans/gantt.h"

#include <math.h>
#include <string.h>

#include "api/plans/gantt_picture.h"

/* ---- kinds of work ---- */

/* The number of an operation's kind of work on the device that is written. */
static size_t work_of(struct gantt_picture *v, size_t op)
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

static void find_works(struct gantt_picture *v, int64_t device)
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
typedef void cell(struct gantt_picture *v, size_t op, struct sb_buf *b);

static void cell_kind(struct gantt_picture *v, size_t op, struct sb_buf *b)
{
	static const char *const names[] = {"\"forward\"", "\"backward\"",  "\"backward_input\"",
	                                    "\"weight\"",  "\"recompute\"", "\"pair\""};

	sb_buf_adds(b, names[v->p->ops[op].kind]);
}

static void cell_stage(struct gantt_picture *v, size_t op, struct sb_buf *b)
{
	sb_buf_addf(b, "%u", v->p->ops[op].stage);
}

static void cell_slice(struct gantt_picture *v, size_t op, struct sb_buf *b)
{
	sb_buf_addf(b, "%u", v->p->ops[op].slice);
}

static void cell_length(struct gantt_picture *v, size_t op, struct sb_buf *b)
{
	add_number(b, schedule_op_seconds(v->p, v->g->times, op), EXACT);
}

static void cell_recompute(struct gantt_picture *v, size_t op, struct sb_buf *b)
{
	const struct schedule_op *o = &v->p->ops[op];
	size_t at = (size_t)o->stage * (size_t)v->p->shape.slices + o->slice;

	bool early = schedule_facts(v->p->shape.kind)->recomputes;
	bool does = early ? o->kind == OP_RECOMPUTE : o->kind == OP_BACKWARD || o->kind == OP_BACKWARD_INPUT;

	add_number(b, does ? v->g->recompute[at] : 0, EXACT);
}

static void cell_work(struct gantt_picture *v, size_t op, struct sb_buf *b)
{
	sb_buf_addf(b, "%zu", work_of(v, op));
}

static void cell_micro_batch(struct gantt_picture *v, size_t op, struct sb_buf *b)
{
	const struct schedule_op *o = &v->p->ops[op];

	sb_buf_addf(b, "%u", v->g->unequal ? o->slice : o->micro_batch);
}

static void cell_start(struct gantt_picture *v, size_t op, struct sb_buf *b)
{
	add_number(b, v->op_start[op], DRAWN);
}

/* Of the other half of a pair. */
static void add_other(struct gantt_picture *v, size_t op, uint32_t what, struct sb_buf *b)
{
	if (v->p->ops[op].kind == OP_PAIR)
		sb_buf_addf(b, "%u", what);
	else
		sb_buf_adds(b, "null");
}

static void cell_other_stage(struct gantt_picture *v, size_t op, struct sb_buf *b)
{
	add_other(v, op, v->p->ops[op].other_stage, b);
}

static void cell_other_micro_batch(struct gantt_picture *v, size_t op, struct sb_buf *b)
{
	add_other(v, op, v->p->ops[op].other_micro_batch, b);
}

/* ops: those that the rows are of; NULL = all from `begin` on. */
static void add_column(struct gantt_picture *v, const char *name, const size_t *ops, size_t begin,
                       size_t count, cell *write, struct sb_buf *b)
{
	sb_buf_addf(b, "%s\"%s\":[", b->len > 0 && b->data[b->len - 1] == '{' ? "" : ",", name);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			sb_buf_add(b, ",", 1);
		write(v, ops ? ops[i] : begin + i, b);
	}
	sb_buf_add(b, "]", 1);
}

static void add_works(struct gantt_picture *v, struct sb_buf *b)
{
	sb_buf_adds(b, ",\"works\":{");
	add_column(v, "kind", v->works, 0, v->work_count, cell_kind, b);
	add_column(v, "stage", v->works, 0, v->work_count, cell_stage, b);
	if (schedule_facts(v->p->shape.kind)->pairs)
		add_column(v, "other_stage", v->works, 0, v->work_count, cell_other_stage, b);
	if (v->p->shape.slices > 1 && !v->g->unequal)
		add_column(v, "slice", v->works, 0, v->work_count, cell_slice, b);
	add_column(v, "length", v->works, 0, v->work_count, cell_length, b);
	if (v->g->recompute)
		add_column(v, "recompute", v->works, 0, v->work_count, cell_recompute, b);
	sb_buf_adds(b, "}");
}

static void add_operations(struct gantt_picture *v, struct sb_buf *b)
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

static void add_memory(const struct gantt_picture *v, struct sb_buf *b)
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

static void add_device(struct gantt_picture *v, int64_t device, struct sb_buf *b)
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
	GANTT_PICTURE_AUTO v = {0};
	const struct schedule_shape *s = &g->program->shape;
	int rc = gantt_picture_open(g, view, &v, err);

	if (rc != SB_OK)
		return rc;
	sb_buf_addf(out, "{\"schedule\":\"%s\",\"micro_batches\":%lld,\"chunks\":%lld,\"slices\":%lld",
	            schedule_facts(g->unequal ? SCHEDULE_GPIPE : s->kind)->name,
	            (long long)(g->unequal ? s->slices : s->micro_batches), (long long)s->chunks,
	            (long long)(g->unequal ? 1 : s->slices));
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
