#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/findings/idle.h"
#include "profiler/findings/sequences.h"
#include "profiler/kernel_name.h"

/* Operators that cost more to launch than to run (Hermes, Table 2, operator dispatch): device work too small
 * for any host to keep ahead of, and sequences of operators worth fusing. */

struct ops {
	const struct rank_view *v;
	struct sequence_op *items;
	size_t count;
	uint32_t *stream; /* of each */
	size_t stream_count;
};

static void ops_free(struct ops *o)
{
	free(o->items);
	free(o->stream);
}

static int add(struct ops *o, const struct sequence_op *op, uint32_t stream)
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
	struct ops *o = self;
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

static int list_rows(struct ops *o)
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
static int order(struct ops *o, int64_t long_ns)
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

static int list_ops(const struct check_context *ctx, struct ops *o)
{
	bool rows = o->v->c->kernel_count > 0;
	int rc = rows ? list_rows(o) : device_work_each(o->v, visit, o);

	return rc == SB_OK ? order(o, (int64_t)(limit(ctx, "dispatch_gap_us") * 1000)) : rc;
}

struct found {
	struct ops ops;
	struct sequence sequences[SEQUENCES_MAX];
	size_t count;
	int64_t idle_ns, memory_ns; /* what fusing them would save: waits between operators, and transfers */
};

static int find(const struct check_context *ctx, struct found *f)
{
	const struct rank_view *v = f->ops.v;
	const struct sequence_rule rule = {.occurrences = (int64_t)limit(ctx, "fusible_occurrences"),
	                                   .wall_ns =
	                                       (int64_t)(limit(ctx, "fusible_share") * (double)v->total_ns),
	                                   .host_ratio = limit(ctx, "fusible_host_ratio"),
	                                   .memory_ratio = limit(ctx, "fusible_memory_ratio"),
	                                   .small_ns = (int64_t)(limit(ctx, "tiny_kernel_us") * 1000)};
	int rc = list_ops(ctx, &f->ops);

	if (rc == SB_OK)
		rc = sequences_find(f->ops.items, f->ops.count, &rule, f->sequences, &f->count);
	for (size_t i = 0; rc == SB_OK && i < f->count; i++) {
		const struct sequence *s = &f->sequences[i];

		if (s->host)
			f->idle_ns = sb_add_sat(f->idle_ns, s->wall_ns - s->work_ns);
		else
			/* one of n operators has to read and write (capabilities, 8.3) */
			f->memory_ns = sb_add_sat(f->memory_ns, s->work_ns - s->work_ns / (int64_t)s->length);
	}
	return rc;
}

static const char *name_of(const struct trace *t, uint32_t id, char out[64])
{
	const char *name = trace_text(t, id, NULL);
	size_t n = kernel_type(name, strlen(name), out, 64);

	/* it may have been cut inside a character */
	if (n == 63) {
		while (n > 0 && ((unsigned char)out[n - 1] & 0xC0) == 0x80)
			n--;
		n -= n > 0 && (unsigned char)out[n - 1] >= 0xC0;
	}
	out[n] = '\0';
	return n > 0 ? out : "?";
}

/* "Mul, Add, Cast", cut where a name more would be too long. */
static void show(struct check_context *ctx, struct finding *f, const struct found *x)
{
	for (size_t i = 0; i < x->count; i++) {
		const struct sequence *s = &x->sequences[i];
		char text[256] = "";
		size_t len = 0;

		for (size_t k = 0; k < s->length; k++) {
			char name[64];
			const char *one = name_of(&x->ops.v->c->trace, x->ops.items[s->first + k].name, name);

			if (len + strlen(one) + 8 > sizeof(text)) {
				(void)snprintf(text + len, sizeof(text) - len, ", …");
				break;
			}
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", k ? ", " : "", one);
		}
		finding_operator(ctx, f, text, (double)s->wall_ns / 1000);
	}
}

struct relief_target {
	struct check_context *ctx;
	struct finding *f;
	const struct rank_view *v;
	double factor;
};

static void relieve_row(void *self, const struct sequence_op *op)
{
	const struct relief_target *r = self;

	finding_relief(r->ctx, r->f, r->v, RELIEF_KERNEL, op->index, r->factor);
}

static void relieve(struct check_context *ctx, struct finding *f, const struct found *x, bool launch_bound)
{
	if (launch_bound || x->idle_ns > 0)
		finding_relief(ctx, f, x->ops.v, RELIEF_HOST, 0, 0);
	for (size_t i = 0; i < x->count && x->ops.v->c->kernel_count > 0; i++) {
		struct relief_target r = {ctx, f, x->ops.v, 1.0 / (double)x->sequences[i].length};

		if (!x->sequences[i].host)
			sequence_each(x->ops.items, x->ops.count, &x->sequences[i], relieve_row, &r);
	}
}

static void report(struct check_context *ctx, const struct found *x, bool launch_bound, int64_t idle_ns)
{
	const struct rank_view *v = x->ops.v;
	const struct idle_sum *s = &v->idle;
	int64_t cost = sb_add_sat(idle_ns, x->memory_ns), occurrences = 0, wall = 0;
	struct finding *f = finding_new(ctx, "cpu.dispatch", v, true);

	for (size_t i = 0; i < x->count; i++) {
		occurrences += x->sequences[i].occurrences;
		wall = sb_add_sat(wall, x->sequences[i].wall_ns);
	}
	finding_cost(ctx, f, v, cost);
	finding_gain(f, v, cost);
	if (v->part->graphs.unreliable)
		doubt_idle(ctx, f, v);
	if (launch_bound)
		finding_evidence(ctx, f, "starved_share", (double)s->starved_ns / (double)v->total_ns,
		                 "share", "dispatch_share");
	if (x->count > 0)
		finding_evidence(ctx, f, "fusible_share", (double)wall / (double)v->total_ns, "share",
		                 "fusible_share");
	if (s->starved > 0) {
		finding_evidence(ctx, f, "gaps_that_wait_for_a_launch", (double)s->starved, "events", NULL);
		finding_evidence(ctx, f, "mean_gap_us", (double)s->starved_ns / (double)s->starved / 1000,
		                 "us", NULL);
		finding_evidence(ctx, f, "mean_kernel_us",
		                 (double)s->starved_work_ns / (double)s->starved / 1000, "us",
		                 "tiny_kernel_us");
	}
	if (x->count > 0)
		finding_evidence(ctx, f, "sequences_repeated", (double)occurrences, "events", NULL);
	show(ctx, f, x);
	relieve(ctx, f, x, launch_bound);
}

static bool is_launch_bound(const struct check_context *ctx, const struct rank_view *v)
{
	const struct idle_sum *s = &v->idle;

	return s->starved > 0 && (double)s->starved_ns > limit(ctx, "dispatch_share") * (double)v->total_ns &&
	       (double)s->starved_work_ns <= limit(ctx, "tiny_kernel_us") * 1000 * (double)s->starved;
}

static void found_free(struct found *f)
{
	ops_free(&f->ops);
}

static void judge(struct check_context *ctx, struct rank_view *v)
{
	__attribute__((cleanup(found_free))) struct found x = {.ops.v = v};
	bool launch_bound = is_launch_bound(ctx, v);
	int64_t most = host_rest(v);

	ctx->failed = find(ctx, &x);
	if (ctx->failed != SB_OK)
		return;
	/* what sequences wait is a part of what short gaps hold, where launches tell which are the host's */
	v->dispatch_ns = launch_bound && v->idle.starved_ns > x.idle_ns ? v->idle.starved_ns : x.idle_ns;
	if (v->dispatch_ns > most)
		v->dispatch_ns = most;
	if ((launch_bound || x.count > 0) && v->dispatch_ns + x.memory_ns > 0)
		report(ctx, &x, launch_bound, v->dispatch_ns);
}

void check_dispatch(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++) {
		struct rank_view *v = &ctx->views[i];

		if (v->c->kernel_count == 0 && v->c->trace.count == 0)
			continue;
		*out_judged = true;
		/* launches that wait are the synchronisation's matter */
		if (!(v->part->blocked_ratio > limit(ctx, "launch_blocking_ratio")))
			judge(ctx, v);
	}
}
