#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/grow.h"
#include "base/search.h"
#include "profiler/findings/links.h"

/* Transfers inside a node that are slow while a matrix product runs, because both want the memory's bandwidth
 * (Hermes 5.4): held against transfers of the same size that run alone, else against the link's rate. */

#define ALONE 0.05 /* share of a transfer beside products up to which it counts as alone */
#define BESIDE 0.5 /* … from which on it counts as beside them */
#define ENOUGH 3   /* transfers alone that make a measure */
#define CARRIERS 8 /* collectives that began before a transfer and may be its own: of groups side by side */

struct transfer {
	int64_t start, dur, bytes;
	uint32_t link;  /* text id of the capture; transfers of two links are two sorts */
	double beside;  /* share of it */
	double lost_ns; /* above the measure */
};
struct transfers {
	struct transfer *items;
	size_t count;
	double *scratch;
};

/* What the slow transfers of a capture add up to. */
struct contended {
	double slow_ns, lost_ns;           /* of those that meet a product; above the measure */
	double beside_ns, reached, should; /* of those beside products, and their bytes per second by time */
	size_t slow;                       /* beside products */
	bool judged, alone;                /* something could be compared; with transfers alone */
	struct interval_set when;          /* … that meet a product */
};

static int by_start(const void *a, const void *b)
{
	const struct transfer *x = a, *y = b;
	const int64_t left[] = {x->start, x->dur, x->bytes, x->link};
	const int64_t right[] = {y->start, y->dur, y->bytes, y->link};

	return sb_compare(left, right, 4);
}

static int by_sort(const void *a, const void *b)
{
	const struct transfer *x = a, *y = b;
	const int64_t left[] = {x->link, x->bytes}, right[] = {y->link, y->bytes};
	int order = sb_compare(left, right, 2);

	return order ? order : by_start(a, b);
}

static void release(struct transfers *t)
{
	free(t->items);
	free(t->scratch);
}

/* Links of one node: a copy on the chip and what goes to another node are no part of it. */
static bool inside_node(const char *link)
{
	return *link && !strcasestr(link, "chip") && !strcasestr(link, "local") &&
	       !strcasestr(link, "rdma") && !strcasestr(link, "roce");
}

static int collect(const struct capture *c, struct transfers *to)
{
	const struct trace *t = &c->trace;

	for (size_t i = 0; i < t->detail_count; i++) {
		const struct event_detail *d = &t->details[i];

		if (d->event >= t->count || t->kind[d->event] != EVENT_COMMUNICATION_TASK || d->bytes <= 0 ||
		    t->dur_ns[d->event] <= 0 || !inside_node(trace_text(t, d->type, NULL)))
			continue;
		if (sb_grow(&to->items, to->count, sizeof(*to->items)) != SB_OK)
			return SB_ENOMEM;
		to->items[to->count++] = (struct transfer){.start = interval_bound(t->start_ns[d->event]),
		                                           .dur = interval_end(0, t->dur_ns[d->event]),
		                                           .bytes = d->bytes,
		                                           .link = d->type};
	}
	to->scratch = calloc(to->count + 1, sizeof(*to->scratch));
	return to->scratch ? SB_OK : SB_ENOMEM;
}

static bool is_product(const char *type)
{
	return strcasestr(type, "matmul") || strcasestr(type, "gemm");
}

static int products(const struct capture *c, struct interval_set *out)
{
	int rc = SB_OK;

	for (size_t i = 0; i < c->kernel_count && rc == SB_OK; i++) {
		const struct kernel *k = &c->kernels[i];

		if (!k->communication && is_product(trace_text(&c->trace, k->type ? k->type : k->name, NULL)))
			rc = intervals_add(out, interval_bound(k->start_ns),
			                   interval_end(k->start_ns, k->dur_ns));
	}
	for (size_t i = 0; i < c->trace.count && c->kernel_count == 0 && rc == SB_OK; i++)
		if (c->trace.kind[i] == EVENT_KERNEL &&
		    is_product(trace_text(&c->trace, c->trace.name[i], NULL)))
			rc = intervals_add(out, interval_bound(c->trace.start_ns[i]),
			                   interval_end(c->trace.start_ns[i], c->trace.dur_ns[i]));
	intervals_normalise(out);
	return rc;
}

static double rate_of(const struct transfer *t)
{
	return (double)t->bytes / ((double)t->dur / 1e9);
}

/* Transfers [from, to) of one link and size. */
static int judge_sort(const struct check_context *ctx, const struct rank_view *v, struct transfers *t,
                      size_t from, size_t to, struct contended *k)
{
	size_t alone = 0;
	double should;
	int rc = SB_OK;

	for (size_t i = from; i < to; i++)
		if (t->items[i].beside <= ALONE)
			t->scratch[alone++] = rate_of(&t->items[i]);
	should = alone >= ENOUGH ? sb_median(t->scratch, alone) : NAN;
	/* a small packet does not reach the link's rate at any time */
	if (isnan(should) && (double)t->items[from].bytes > limit(ctx, "contention_least_bytes"))
		should = link_standard(v->c, "HCCS");
	k->judged = k->judged || !isnan(should);
	k->alone = k->alone || alone >= ENOUGH;
	for (size_t i = from; i < to && rc == SB_OK; i++) {
		struct transfer *x = &t->items[i];
		double rate = rate_of(x), ns = (double)x->dur;

		if (!(x->beside > ALONE) || !(rate < limit(ctx, "link_utilization") * should))
			continue;
		/* one that is past the products for the most part has still lost what it is longer */
		x->lost_ns = ns * (1 - rate / should);
		k->slow_ns += ns;
		k->lost_ns += x->lost_ns;
		rc = intervals_add(&k->when, x->start, x->start + x->dur);
		if (!(x->beside >= BESIDE))
			continue;
		k->slow++;
		k->beside_ns += ns;
		k->reached += rate * ns;
		k->should += should * ns;
	}
	return rc;
}

/* A collective of the timeline, and its transfers. */
struct carrier {
	int64_t start, end;
	size_t event;
	double all_ns, lost_ns;
};

static int by_beginning(const void *a, const void *b)
{
	const struct carrier *x = a, *y = b;
	const int64_t left[] = {x->start, (int64_t)x->event}, right[] = {y->start, (int64_t)y->event};

	return sb_compare(left, right, 2);
}

/* The collective that a transfer is part of: of those around it, the one that began last. */
static struct carrier *carrier_of(struct carrier *items, size_t n, const struct transfer *x)
{
	size_t at = SB_BISECT(i, 0, n, items[i].start <= x->start);

	for (size_t back = 0; back < CARRIERS && back < at; back++)
		if (items[at - 1 - back].end >= x->start + x->dur)
			return &items[at - 1 - back];
	return NULL;
}

/* Each collective without what its own transfers lost. */
static void relieve(struct check_context *ctx, struct finding *f, const struct rank_view *v,
                    const struct transfers *t)
{
	const struct trace *trace = &v->c->trace;
	struct carrier *items = NULL;
	size_t n = 0;

	for (size_t i = 0; i < trace->count && ctx->failed == SB_OK; i++) {
		if (trace->kind[i] != EVENT_COMMUNICATION)
			continue;
		ctx->failed = sb_grow(&items, n, sizeof(*items));
		if (ctx->failed == SB_OK)
			items[n++] =
			    (struct carrier){interval_bound(trace->start_ns[i]),
			                     interval_end(trace->start_ns[i], trace->dur_ns[i]), i, 0, 0};
	}
	if (n > 0 && ctx->failed == SB_OK)
		qsort(items, n, sizeof(*items), by_beginning);
	for (size_t i = 0; i < t->count && ctx->failed == SB_OK; i++) {
		struct carrier *c = carrier_of(items, n, &t->items[i]);

		if (c) {
			c->all_ns += (double)t->items[i].dur;
			c->lost_ns += t->items[i].lost_ns;
		}
	}
	for (size_t i = 0; i < n && ctx->failed == SB_OK; i++)
		if (items[i].lost_ns > 0)
			finding_relief(ctx, f, v, RELIEF_EVENT, items[i].event,
			               1 - items[i].lost_ns / items[i].all_ns);
	free(items);
}

static void report(struct check_context *ctx, const struct rank_view *v, const struct transfers *t,
                   struct contended *k)
{
	struct finding *f;
	double cost;

	intervals_normalise(&k->when);
	/* transfers of several lanes run side by side */
	cost = (double)intervals_total(&k->when) * k->lost_ns / k->slow_ns;
	f = finding_new(ctx, "communication.contention", v, true);
	finding_cost(ctx, f, v, exposed_at_most(v, cost));
	finding_gain(f, v, exposed_at_most(v, cost));
	if (f && f->gain_method)
		f->gain_method = "transfers beside products as fast as alone, no replay: an upper bound";
	relieve(ctx, f, v, t);
	if (!k->alone)
		finding_at_most(f, CONFIDENCE_MEDIUM);
	finding_evidence(ctx, f, "bandwidth_ratio_beside_products", k->reached / k->should, "ratio",
	                 "link_utilization");
	finding_evidence(ctx, f, "bandwidth_beside_products", k->reached / k->beside_ns, "bytes_per_second",
	                 NULL);
	finding_evidence(ctx, f, k->alone ? "bandwidth_alone" : "bandwidth_of_the_link",
	                 k->should / k->beside_ns, "bytes_per_second", NULL);
	finding_evidence(ctx, f, "slow_transfers", (double)k->slow, "events", NULL);
	finding_evidence(ctx, f, "lost_us", cost / 1000, "us", NULL);
}

static int judge(struct check_context *ctx, const struct rank_view *v, struct transfers *t,
                 struct contended *k)
{
	INTERVALS_AUTO set = {0};
	COVERED_AUTO covered = {0};
	int rc = collect(v->c, t);

	if (rc == SB_OK && t->count > 0)
		rc = products(v->c, &set);
	if (rc == SB_OK)
		rc = covered_of(&set, &covered);
	if (rc != SB_OK || t->count == 0)
		return rc;
	for (size_t i = 0; i < t->count; i++) {
		struct transfer *x = &t->items[i];

		x->beside = (double)covered_ns(&covered, x->start, x->start + x->dur) / (double)x->dur;
	}
	qsort(t->items, t->count, sizeof(*t->items), by_sort);
	for (size_t from = 0, to = 0; from < t->count && rc == SB_OK; from = to) {
		while (to < t->count && t->items[to].link == t->items[from].link &&
		       t->items[to].bytes == t->items[from].bytes)
			to++;
		rc = judge_sort(ctx, v, t, from, to, k);
	}
	return rc;
}

void check_link_contention(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++) {
		struct transfers t = {0};
		struct contended k = {0};

		ctx->failed = judge(ctx, &ctx->views[i], &t, &k);
		*out_judged = *out_judged || k.judged;
		if (ctx->failed == SB_OK && k.slow > 0)
			report(ctx, &ctx->views[i], &t, &k);
		release(&t);
		intervals_free(&k.when);
	}
}
