#include "profiler/findings/io_queues.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double value_of(const struct thresholds *t, const char *name)
{
	const struct threshold *x = threshold_get(t, name);

	return x ? x->value : NAN;
}

static void look(const struct queue *q, struct queue_look *to)
{
	for (size_t i = 0; i < q->sample_count; i++) {
		if (q->samples[i].size == SB_NULL)
			continue;
		to->samples++;
		to->empty += q->samples[i].size == 0;
	}
}

static double empty_share(const struct queue_look *l)
{
	return l->samples > 0 ? (double)l->empty / (double)l->samples : NAN;
}

static bool is_empty(const struct thresholds *t, const struct queue_look *l)
{
	return empty_share(l) > value_of(t, "queue_empty_share");
}

/* Mean size over capacity, NaN when not known. */
static double usage_of(const struct queue *q)
{
	double sum = 0;
	int64_t n = 0;

	if (q->capacity == SB_NULL || q->capacity <= 0)
		return NAN;
	for (size_t i = 0; i < q->sample_count; i++) {
		if (q->samples[i].size == SB_NULL)
			continue;
		sum += (double)q->samples[i].size;
		n++;
	}
	return n > 0 ? sum / (double)n / (double)q->capacity : NAN;
}

/* An operator of the data pipeline. */
struct node {
	int64_t id, parent;
	const struct queue *queue;
	double usage, fullest_child; /* NaN = not known, none */
	bool leaf;
};

static int by_id(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->queue && y->queue ? (x->queue > y->queue) - (x->queue < y->queue) : 0;
}

static struct node *node_of(struct node *nodes, size_t n, int64_t id)
{
	const struct node key = {.id = id};

	return n > 0 && id != SB_NULL ? bsearch(&key, nodes, n, sizeof(*nodes), by_id) : NULL;
}

/* The pipeline as nodes by id; *out is to be freed. */
static int list_operators(const struct capture *c, struct node **out, size_t *out_count)
{
	struct node *nodes = calloc(c->queue_count + 1, sizeof(*nodes));
	size_t n = 0;

	if (!nodes)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->queue_count; i++) {
		const struct queue *q = &c->queues[i];

		if (q->kind == QUEUE_OPERATOR && q->operator_id != SB_NULL)
			nodes[n++] = (struct node){q->operator_id, q->parent_id, q, usage_of(q), NAN, true};
	}
	if (n > 0)
		qsort(nodes, n, sizeof(*nodes), by_id);
	for (size_t i = 0; i < n; i++) {
		struct node *parent = node_of(nodes, n, nodes[i].parent);

		if (!parent || parent == &nodes[i])
			continue;
		parent->leaf = false;
		if (!(nodes[i].usage <= parent->fullest_child))
			parent->fullest_child = nodes[i].usage;
	}
	*out = nodes;
	*out_count = n;
	return SB_OK;
}

/* The root has no queue of its own: the Host Queue takes what it gives. */
static double own_usage(const struct node *n, double host_usage)
{
	return isnan(n->usage) && (n->parent == SB_NULL || n->parent == n->id) ? host_usage : n->usage;
}

static void find_bottleneck(const struct thresholds *t, const struct node *nodes, size_t n, double host_usage,
                            struct queue_operator *out)
{
	double low = value_of(t, "queue_low_usage"), high = value_of(t, "queue_high_usage");

	for (size_t i = 0; i < n; i++) {
		double usage = own_usage(&nodes[i], host_usage);

		if (usage < low && nodes[i].fullest_child > high && (!out->queue || usage < out->usage))
			*out = (struct queue_operator){nodes[i].queue, usage};
	}
}

static int look_at_pipeline(const struct thresholds *t, const struct capture *c, double host_usage,
                            struct io_verdict *v)
{
	struct node *nodes = NULL;
	size_t n = 0;
	int rc = list_operators(c, &nodes, &n);

	if (rc != SB_OK)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (nodes[i].leaf)
			look(nodes[i].queue, &v->data);
	find_bottleneck(t, nodes, n, host_usage, &v->bottleneck);
	free(nodes);
	return SB_OK;
}

static int64_t beyond(int64_t ns, double limit_us)
{
	int64_t most = (int64_t)(limit_us * 1000);

	return ns > most ? ns - most : 0;
}

static void add_intervals(const struct thresholds *t, const struct capture *c, struct io_verdict *v)
{
	double most = value_of(t, "iteration_interval_us");
	int64_t waiting = 0;

	for (size_t i = 0; i < c->iteration_count; i++) {
		const struct iteration *x = &c->iterations[i];

		if (x->interval_ns == SB_NULL || x->interval_ns < 0 || x->total_ns <= 0)
			continue;
		v->intervals++;
		v->interval_ns = sb_add_sat(v->interval_ns, x->interval_ns);
		v->total_ns = sb_add_sat(v->total_ns, x->total_ns);
		waiting = sb_add_sat(waiting, beyond(x->interval_ns, most));
	}
	v->waiting_known = v->intervals > 0;
	v->waiting_ns = v->waiting_known ? waiting : SB_NULL;
}

/* What the device waited in GetNext, where the intervals between iterations are not told. */
static void add_get_next(const struct thresholds *t, const struct capture *c, struct io_verdict *v)
{
	double most = value_of(t, "iteration_interval_us");

	for (size_t i = 0; i < c->queue_count && !v->waiting_known; i++) {
		const struct queue *q = &c->queues[i];

		for (size_t k = 0; q->kind == QUEUE_DEVICE && k < q->sample_count; k++) {
			if (q->samples[k].get_ns == SB_NULL || q->samples[k].get_ns < 0)
				continue;
			v->waiting_ns = sb_add_sat(v->waiting_ns == SB_NULL ? 0 : v->waiting_ns,
			                           beyond(q->samples[k].get_ns, most));
		}
	}
}

static const char *code_of(const struct thresholds *t, const struct io_verdict *v)
{
	if (v->host.samples > 0 && !is_empty(t, &v->host))
		return "io.fetching";
	/* what the reader gives is there, so the operators behind it are slow; the stage before the Host
	 * Queue is told only together with it */
	if (v->data.samples > 0 && v->host.samples > 0)
		return is_empty(t, &v->data) ? "io.reading" : "io.processing";
	if (v->data.samples > 0 && is_empty(t, &v->data))
		return "io.reading";
	return "io.loading";
}

static bool waits(const struct thresholds *t, const struct io_verdict *v)
{
	return v->waiting_known &&
	       (double)v->interval_ns / 1000 / (double)v->intervals > value_of(t, "iteration_interval_us");
}

int io_judge(const struct thresholds *t, const struct capture *c, struct io_verdict *out)
{
	struct io_verdict v = {.waiting_ns = SB_NULL};
	double host_usage = NAN;
	int rc;

	for (size_t i = 0; i < c->queue_count; i++) {
		const struct queue *q = &c->queues[i];

		if (q->kind == QUEUE_OPERATOR)
			continue;
		look(q, q->kind == QUEUE_DEVICE ? &v.device : &v.host);
		if (q->kind == QUEUE_HOST && isnan(host_usage))
			host_usage = usage_of(q);
	}
	rc = look_at_pipeline(t, c, host_usage, &v);
	if (rc != SB_OK)
		return rc;
	add_intervals(t, c, &v);
	add_get_next(t, c, &v);
	v.device_by_waiting = v.device.samples == 0;
	if (!v.device_by_waiting) {
		v.queues_known = true;
		v.code = is_empty(t, &v.device) ? code_of(t, &v) : NULL;
	} else if (v.waiting_known) {
		v.queues_known = v.host.samples > 0 || v.data.samples > 0;
		v.code = waits(t, &v) ? code_of(t, &v) : NULL;
	} else if (v.host.samples > 0) {
		/* MindInsight's rule: an empty queue on the host is slow preparation of the data */
		v.queues_known = true;
		v.code = is_empty(t, &v.host) ? code_of(t, &v) : NULL;
	}
	*out = v;
	return SB_OK;
}

/* The view of the capture, over the iterations where they are told: a timeline may show but some of them. */
static struct rank_view view_of(const struct check_context *ctx, const struct capture *c,
                                const struct io_verdict *x, struct rank_view **out_own)
{
	struct rank_view v = {
	    .c = c, .rank = c->rank, .device = SB_NULL, .step = SB_NULL, .steps = 1, .preparing_ns = SB_NULL};

	*out_own = NULL;
	for (size_t i = 0; i < ctx->view_count && !*out_own; i++)
		if (ctx->views[i].c == c)
			*out_own = &ctx->views[i];
	if (*out_own)
		v = **out_own;
	if (x->waiting_known && x->total_ns > 0) {
		v.total_ns = x->total_ns;
		v.steps = (size_t)x->intervals;
		v.step = SB_NULL;
	}
	return v;
}

/* The time that the device lacked data: between iterations, in GetNext, before the first work of a step. */
static int64_t cost_of(const struct io_verdict *x, const struct rank_view *v)
{
	if (x->waiting_ns != SB_NULL)
		return x->waiting_ns;
	return v->host.loading_ns > 0 ? v->host.loading_ns : v->preparing_ns;
}

static void add_evidence(const struct check_context *ctx, struct finding *f, const struct io_verdict *x)
{
	double interval = x->intervals > 0 ? (double)x->interval_ns / 1000 / (double)x->intervals : NAN;

	if (x->device.samples > 0)
		finding_evidence(ctx, f, "device_queue_empty_share", empty_share(&x->device), "share",
		                 "queue_empty_share");
	if (x->intervals > 0)
		finding_evidence(ctx, f, "iteration_interval_us", interval, "us", "iteration_interval_us");
	if (x->host.samples > 0)
		finding_evidence(ctx, f, "host_queue_empty_share", empty_share(&x->host), "share",
		                 "queue_empty_share");
	if (x->data.samples > 0)
		finding_evidence(ctx, f, "data_queue_empty_share", empty_share(&x->data), "share",
		                 "queue_empty_share");
	if (x->device.samples + x->host.samples + x->data.samples > 0)
		finding_evidence(ctx, f, "looks_at_the_queues",
		                 (double)(x->device.samples + x->host.samples + x->data.samples), "looks",
		                 NULL);
	if (!x->bottleneck.queue)
		return;
	finding_evidence(ctx, f, "slow_operator_queue_usage", x->bottleneck.usage, "share",
	                 "queue_low_usage");
	if (x->bottleneck.queue->workers != SB_NULL)
		finding_evidence(ctx, f, "slow_operator_workers", (double)x->bottleneck.queue->workers,
		                 "workers", NULL);
}

/* A stage that was looked at a few times only is weak evidence. */
static bool few(const struct check_context *ctx, const struct queue_look *l)
{
	return l->samples > 0 && (double)l->samples < limit(ctx, "steps_for_high_confidence");
}

void io_report(struct check_context *ctx, const struct capture *c, const struct io_verdict *x)
{
	struct rank_view *own;
	const struct rank_view v = view_of(ctx, c, x, &own);
	struct finding *f = finding_new(ctx, x->code, &v, true);
	int64_t cost = cost_of(x, &v);

	if (cost != SB_NULL && v.total_ns > 0) {
		finding_cost(ctx, f, &v, cost);
		finding_gain(f, &v, cost);
		/* the device's idle time has this cause, and no other finding may have it again */
		if (own && own->free_ns != SB_NULL)
			own->host.explained_ns = sb_add_sat(own->host.explained_ns, cost);
	}
	add_evidence(ctx, f, x);
	if (x->bottleneck.queue)
		finding_operator(ctx, f, trace_text(&c->trace, x->bottleneck.queue->name, NULL), NAN);
	if (few(ctx, &x->device) || few(ctx, &x->host) || (x->data.samples == 1))
		finding_at_most(f, CONFIDENCE_LOW);
	else if (x->device_by_waiting)
		/* the time between iterations may have another cause */
		finding_at_most(f, x->host.samples > 0 && strcmp(x->code, "io.fetching") == 0
		                       ? CONFIDENCE_LOW
		                       : CONFIDENCE_MEDIUM);
}
