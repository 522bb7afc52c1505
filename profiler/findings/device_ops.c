#include "profiler/findings/device_ops.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void device_ops_free(struct device_ops *o)
{
	free(o->items);
	free(o->stream);
}

static int add(struct device_ops *o, const struct sequence_op *op, uint32_t stream)
{
	if (sb_grow(&o->items, o->count, sizeof(*o->items)) != SB_OK ||
	    sb_grow(&o->stream, o->stream_count, sizeof(*o->stream)) != SB_OK)
		return SB_ENOMEM;
	o->stream[o->stream_count++] = stream;
	/* sorted by it first, then put back where it belongs */
	o->items[o->count++] = *op;
	return SB_OK;
}

static int visit(void *self, size_t event)
{
	struct device_ops *o = self;
	const struct trace *t = &o->v->c->trace;

	if (t->kind[event] != EVENT_KERNEL)
		return SB_OK;
	return add(o,
	           &(struct sequence_op){.name = t->name[event],
	                                 .index = (uint32_t)event,
	                                 .start_ns = interval_bound(t->start_ns[event]),
	                                 .dur_ns = t->dur_ns[event]},
	           t->lane[event]);
}

/* What a row spends on transfers of the vector core, as far as its largest pipe tells. */
static int64_t memory_of(const struct capture *c, const struct kernel *k)
{
	const char *pipe = trace_text(&c->trace, k->pipe, NULL);

	if (!(k->pipe_ratio > 0) || strncmp(pipe, "aiv_mte", 7) != 0)
		return 0;
	return ns_at_most((double)k->dur_ns * (double)k->pipe_ratio, k->dur_ns);
}

static int list_rows(struct device_ops *o)
{
	const struct capture *c = o->v->c;
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < c->kernel_count; i++) {
		const struct kernel *k = &c->kernels[i];

		if (k->communication || k->start_ns == SB_NULL || k->dur_ns < 0)
			continue;
		rc = add(o,
		         &(struct sequence_op){.name = k->type ? k->type : k->name,
		                               .index = (uint32_t)i,
		                               .start_ns = interval_bound(k->start_ns),
		                               .dur_ns = k->dur_ns,
		                               .memory_ns = memory_of(c, k)},
		         0);
	}
	return rc;
}

struct placed {
	struct sequence_op op;
	uint32_t stream;
};

static int by_stream_and_time(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	return sb_compare((const int64_t[]){x->stream, x->op.start_ns, x->op.index},
	                  (const int64_t[]){y->stream, y->op.start_ns, y->op.index}, 3);
}

/* In order of their streams, broken where the device did something else for long. */
static int order(struct device_ops *o, int64_t long_ns)
{
	struct placed *p = calloc(o->count + 1, sizeof(*p));

	if (!p)
		return SB_ENOMEM;
	for (size_t i = 0; i < o->count; i++)
		p[i] = (struct placed){o->items[i], o->stream[i]};
	qsort(p, o->count, sizeof(*p), by_stream_and_time);
	for (size_t i = 0; i < o->count; i++) {
		o->items[i] = p[i].op;
		o->items[i].breaks =
		    i == 0 || p[i].stream != p[i - 1].stream ||
		    p[i].op.start_ns - interval_end(p[i - 1].op.start_ns, p[i - 1].op.dur_ns) >= long_ns;
	}
	free(p);
	return SB_OK;
}

int device_ops_list(const struct rank_view *v, int64_t long_ns, struct device_ops *out)
{
	int rc;

	*out = (struct device_ops){.v = v, .rows = v->c->kernel_count > 0};
	rc = out->rows ? list_rows(out) : device_work_each(v, visit, out);
	return rc == SB_OK ? order(out, long_ns) : rc;
}
