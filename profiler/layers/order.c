#include "profiler/layers/order.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/activity.h"
#include "profiler/critical_path_parts.h"
#include "profiler/gpu_works.h"

/* Launches give the order where most operators have one: those without were launched before the capture
 * began.
 */
#define LAUNCHED 0.5

struct reader {
	const struct capture *c;
	struct layer_ops *out;
	struct path_devices devices;
	struct path_works works;
	struct step_windows windows;
	struct launches launches;
	struct host_spans spans;
	struct op_name *names; /* by text id of the capture */
};

static void reader_clear(struct reader *r)
{
	path_devices_free(&r->devices);
	path_works_free(&r->works);
	step_windows_free(&r->windows);
	launches_free(&r->launches);
	host_spans_free(&r->spans);
	free(r->names);
}

static int read_works(struct reader *r, const struct profile *p, uint32_t capture)
{
	size_t best = 0;
	int rc = path_devices_find(r->c, &r->devices);

	for (size_t i = 1; rc == SB_OK && i < r->devices.count; i++)
		if (r->devices.first[i + 1] - r->devices.first[i] >
		    r->devices.first[best + 1] - r->devices.first[best])
			best = i;
	if (rc != SB_OK || r->devices.count == 0)
		return rc;
	return path_works_collect(p, capture, &r->devices, best, &r->works);
}

static const struct op_name *name_of(struct reader *r, uint32_t id, int *rc)
{
	struct op_name *n = &r->names[id];

	if (!n->known)
		*rc = op_name_read(trace_text(&r->c->trace, id, NULL), r->out->texts, n);
	return n;
}

/* What tells one operator from another, from the row of the kernel table or the event. */
static int identify(struct reader *r, const struct path_work *w, struct layer_op *op)
{
	const struct trace *t = &r->c->trace;
	const struct kernel *k = r->works.kernels ? &r->c->kernels[w->index] : NULL;
	const struct event_detail *d = k ? NULL : trace_detail(t, w->index);
	bool collective = w->part == PATH_COMMUNICATION;
	int rc = SB_OK;
	const struct op_name *own = name_of(r, w->name, &rc);
	uint32_t type = k && !collective ? k->type : collective && d ? d->type : 0;
	const struct op_name *what = type && rc == SB_OK ? name_of(r, type, &rc) : own;

	op->token = what->token;
	op->scope = own->scope;
	op->class = own->class;
	op->phase = own->phase;
	op->gradient = own->gradient || what->gradient;
	op->kind = !collective ? LAYER_COMPUTE : what->exchange ? LAYER_EXCHANGE : LAYER_COLLECTIVE;
	if (collective && d && d->group) {
		size_t len;
		const char *group = trace_text(t, d->group, &len);

		op->token = token_of(op->token, group, len);
	}
	if (k && k->input_shapes) {
		size_t len;
		const char *shapes = trace_text(t, k->input_shapes, &len);

		op->token = token_of(op->token, shapes, len);
	}
	return rc;
}

/* The work of a host operator stands for its shapes: kernels of one name on other shapes are others. */
static void shape(const struct reader *r, const struct path_work *w, struct layer_op *op)
{
	const struct host_work *h = r->works.kernels ? NULL : gpu_work_of(r->c, w->index);

	if (h) {
		const double work[] = {h->flops, h->bytes};

		op->token = token_of(op->token, work, sizeof(work));
	}
}

static void place(struct reader *r, const struct path_work *w, struct layer_op *op)
{
	const struct trace *t = &r->c->trace;
	const struct launch *l = w->link >= 0 ? launches_find(&r->launches, w->link) : NULL;
	const struct host_span *x;
	uint32_t step;

	op->start = w->start;
	op->end = w->end;
	op->issued = l ? interval_bound(l->start) : w->start;
	op->lane = l ? t->lane[l->event] : UINT32_MAX;
	step = step_windows_at(&r->windows, op->issued);
	op->step = step == NO_STEP ? SB_NULL : r->c->steps[step].number;
	if (r->works.kernels && r->c->kernels[w->index].step != SB_NULL)
		op->step = r->c->kernels[w->index].step;
	if (!l)
		return;
	shape(r, w, op);
	x = host_span_at(r->spans.phases, r->spans.phase_count, op->lane, op->issued);
	/* one launch of a whole graph stands for its passes together */
	if (op->phase == PHASE_UNKNOWN && r->spans.operators &&
	    !strstr(trace_text(t, t->name[l->event], NULL), "GraphLaunch"))
		op->phase = x ? x->phase : PHASE_FORWARD;
}

static int by_order(const void *a, const void *b)
{
	const struct layer_op *x = a, *y = b;

	return sb_compare((const int64_t[]){x->step, x->issued, x->start, x->end, (int64_t)(x->token >> 1)},
	                  (const int64_t[]){y->step, y->issued, y->start, y->end, (int64_t)(y->token >> 1)},
	                  5);
}

/* Leaves out what lies outside all steps, where there are some, and what has no launch, where those count. */
static void leave_out(struct layer_ops *o, bool stepped)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->count; i++) {
		const struct layer_op *op = &o->items[i];

		if ((stepped && op->step == SB_NULL) || (o->launches && op->lane == UINT32_MAX))
			continue;
		o->items[kept++] = *op;
	}
	o->count = kept;
}

/* In the order of the launches, or where too few are known in that of the device. */
static void order(struct layer_ops *o)
{
	size_t launched = 0;
	bool stepped = false;

	for (size_t i = 0; i < o->count; i++) {
		launched += o->items[i].lane != UINT32_MAX;
		stepped |= o->items[i].step != SB_NULL;
	}
	o->launches = launched > 0 && (double)launched >= LAUNCHED * (double)o->count;
	for (size_t i = 0; i < o->count && !o->launches; i++) {
		o->items[i].issued = o->items[i].start;
		o->items[i].lane = UINT32_MAX;
	}
	leave_out(o, stepped);
	/* most captures are in order */
	for (size_t i = 1; i < o->count; i++)
		if (by_order(&o->items[i - 1], &o->items[i]) > 0) {
			qsort(o->items, o->count, sizeof(*o->items), by_order);
			break;
		}
}

static int list_ops(struct reader *r)
{
	struct layer_ops *o = r->out;
	int rc = SB_OK;

	o->items = malloc((r->works.count + 1) * sizeof(*o->items));
	if (!o->items)
		return SB_ENOMEM;
	for (size_t i = 0; i < r->works.count && rc == SB_OK; i++) {
		const struct path_work *w = &r->works.items[i];
		struct layer_op *op = &o->items[o->count];

		if (w->part != PATH_COMPUTE && w->part != PATH_COMMUNICATION)
			continue;
		rc = identify(r, w, op);
		if (rc == SB_OK)
			place(r, w, op);
		o->count++;
	}
	if (rc != SB_OK)
		return rc;
	order(o);
	rc = layer_phases_settle(o);
	if (rc == SB_OK)
		rc = host_spans_scopes(&r->spans, o);
	for (size_t i = 0; i < o->count; i++) {
		o->phases |= o->items[i].phase != PHASE_UNKNOWN;
		o->scopes |= o->items[i].scope != 0;
	}
	return rc;
}

int layer_ops_collect(const struct profile *p, uint32_t capture, struct layer_ops *out)
{
	const struct capture *c = &p->captures[capture];
	__attribute__((cleanup(reader_clear))) struct reader r = {.c = c, .out = out};
	int rc = sb_strings_new(&out->texts);

	if (rc == SB_OK)
		rc = read_works(&r, p, capture);
	if (rc != SB_OK || r.works.count == 0)
		return rc;
	r.names = calloc(sb_strings_count(c->trace.strings) + 1, sizeof(*r.names));
	rc = r.names ? step_windows_build(c, &r.windows) : SB_ENOMEM;
	if (rc == SB_OK)
		rc = launches_build(&c->trace, &r.launches);
	if (rc == SB_OK)
		rc = host_spans_find(&c->trace, out->texts, &r.spans);
	return rc == SB_OK ? list_ops(&r) : rc;
}

void layer_ops_free(struct layer_ops *o)
{
	free(o->items);
	sb_strings_free(&o->texts);
	*o = (struct layer_ops){0};
}
