#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/device_ops.h"
#include "profiler/findings/idle.h"
#include "profiler/kernel_name.h"

/* Operators that cost more to launch than to run (Hermes, Table 2, operator dispatch): device work too small
 * for any host to keep ahead of, and sequences of operators worth fusing. */

struct found {
	struct device_ops ops;
	uint8_t *marks; /* of each operator */
	struct sequence sequences[SEQUENCES_MAX];
	size_t count;
	bool launch_bound;          /* small work in general waits for its launches */
	struct interval_set idle;   /* what the device idles for all that */
	int64_t idle_ns, memory_ns; /* what it costs: that idle time, and transfers that fusing would save */
};

static void found_free(struct found *f)
{
	device_ops_free(&f->ops);
	free(f->marks);
	intervals_free(&f->idle);
}

static int find_sequences(const struct check_context *ctx, struct found *f)
{
	const struct rank_view *v = f->ops.v;
	const struct sequence_rule rule = {.occurrences = (int64_t)limit(ctx, "fusible_occurrences"),
	                                   .wall_ns =
	                                       (int64_t)(limit(ctx, "fusible_share") * (double)v->total_ns),
	                                   .host_ratio = limit(ctx, "fusible_host_ratio"),
	                                   .memory_ratio = limit(ctx, "fusible_memory_ratio"),
	                                   .small_ns = (int64_t)(limit(ctx, "tiny_kernel_us") * 1000)};
	int rc = device_ops_list(v, (int64_t)(limit(ctx, "dispatch_gap_us") * 1000), &f->ops);

	if (rc == SB_OK)
		f->marks = malloc(f->ops.count + 1);
	if (rc == SB_OK && !f->marks)
		rc = SB_ENOMEM;
	if (rc == SB_OK)
		rc = sequences_find(f->ops.items, f->ops.count, &rule, f->sequences, &f->count, f->marks);
	for (size_t i = 0; rc == SB_OK && i < f->count; i++) {
		const struct sequence *s = &f->sequences[i];

		if (!s->host)
			/* one of n operators has to read and write (capabilities, 8.3) */
			f->memory_ns =
			    sb_add_sat(f->memory_ns, s->memory_ns - s->memory_ns / (int64_t)s->length);
	}
	return rc;
}

/* The times of the occurrences in which the device waits for the host. */
static int spans_of(const struct found *f, struct interval_set *out)
{
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < f->ops.count; i++) {
		const struct sequence *s;
		const struct sequence_op *last;

		if (f->marks[i] == SEQUENCE_NONE || !(f->marks[i] & SEQUENCE_FIRST))
			continue;
		s = &f->sequences[f->marks[i] & ~SEQUENCE_FIRST];
		last = &f->ops.items[i + s->length - 1];
		if (s->host)
			rc = intervals_add(out, f->ops.items[i].start_ns,
			                   interval_end(last->start_ns, last->dur_ns));
	}
	intervals_normalise(out);
	return rc;
}

static int add_common(const struct interval_set *a, const struct interval_set *b, struct interval_set *to)
{
	INTERVALS_AUTO both = {0};
	INTERVALS_AUTO sum = {0};
	int rc = intervals_intersection(a, b, &both);

	if (rc == SB_OK)
		rc = intervals_union(to, &both, &sum);
	if (rc == SB_OK) {
		struct interval_set old = *to;

		*to = sum;
		sum = old;
	}
	return rc;
}

/* Of idle time that is counted as a wait's, what lies between `spans`. The end of a wait is what the device
 * idled for there; but in a wait that goes on, somebody else launches, and in its wake the lead is missed
 * that the host would have lost over operators so small as well. */
static int take_from_waits(const struct rank_view *v, const struct interval_set *spans,
                           struct interval_set *to)
{
	const struct interval_set *waits = &v->part->of[HOST_SYNCHRONIZATION];
	INTERVALS_AUTO wake = {0};
	INTERVALS_AUTO inside = {0};
	size_t kept = 0, at = 0;
	int rc = intervals_difference(&v->waited, waits, &wake);

	if (rc == SB_OK)
		rc = intervals_intersection(&v->waited, waits, &inside);
	for (size_t i = 0; rc == SB_OK && i < inside.count; i++) {
		while (waits->items[at].end < inside.items[i].end)
			at++;
		if (waits->items[at].end > inside.items[i].end)
			inside.items[kept++] = inside.items[i];
	}
	inside.count = kept;
	if (rc == SB_OK)
		rc = add_common(spans, &wake, to);
	return rc == SB_OK ? add_common(spans, &inside, to) : rc;
}

/* The idle time between the operators of a sequence, and before small work that comes too late. */
static int find_idle(struct found *f)
{
	const struct rank_view *v = f->ops.v;
	INTERVALS_AUTO spans = {0};
	INTERVALS_AUTO starved = {0};
	int rc = spans_of(f, &spans);

	if (rc == SB_OK)
		rc = add_common(&spans, &v->left, &f->idle);
	if (rc == SB_OK)
		rc = take_from_waits(v, &spans, &f->idle);
	for (int64_t i = 0; rc == SB_OK && f->launch_bound && i < v->idle.starved; i++)
		rc = intervals_add(&starved, v->idle.starved_gaps[i].start, v->idle.starved_gaps[i].end);
	return rc == SB_OK ? add_common(&starved, &v->left, &f->idle) : rc;
}

/* Takes it from the waits, and from what is left for the host in general. */
static int claim(struct found *f, struct rank_view *v)
{
	INTERVALS_AUTO waited = {0};
	int64_t behind_waits = intervals_common(&f->idle, &v->waited), most = host_rest(v);
	int rc = intervals_difference(&v->waited, &f->idle, &waited);

	if (rc == SB_OK) {
		struct interval_set old = v->waited;

		v->waited = waited;
		waited = old;
		v->host.synchronization_ns -= behind_waits;
	}
	v->dispatch_ns = intervals_common(&f->idle, &v->left);
	if (v->dispatch_ns > most)
		v->dispatch_ns = most;
	f->idle_ns = sb_add_sat(v->dispatch_ns, behind_waits);
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

/* Of a sequence that is fused the first operator stays. Of one that is bound by memory a part of each does.
 */
static void relieve_sequences(struct check_context *ctx, struct finding *f, const struct found *x)
{
	enum relief_kind work = x->ops.rows ? RELIEF_KERNEL : RELIEF_EVENT;
	enum relief_kind launch = x->ops.rows ? RELIEF_KERNEL_LAUNCH : RELIEF_EVENT_LAUNCH;

	for (size_t i = 0; i < x->ops.count; i++) {
		const struct sequence *s;

		if (x->marks[i] == SEQUENCE_NONE)
			continue;
		s = &x->sequences[x->marks[i] & ~SEQUENCE_FIRST];
		if (!s->host)
			finding_relief(ctx, f, x->ops.v, work, x->ops.items[i].index,
			               1.0 / (double)s->length);
		if (!s->host || x->marks[i] & SEQUENCE_FIRST)
			continue;
		finding_relief(ctx, f, x->ops.v, work, x->ops.items[i].index, 0);
		finding_relief(ctx, f, x->ops.v, launch, x->ops.items[i].index, 0);
	}
}

static void relieve(struct check_context *ctx, struct finding *f, const struct found *x)
{
	const struct idle_sum *s = &x->ops.v->idle;

	relieve_sequences(ctx, f, x);
	for (int64_t i = 0; x->launch_bound && i < s->starved; i++)
		finding_relief(ctx, f, x->ops.v, RELIEF_EVENT_LAUNCH, s->starved_gaps[i].next, 0);
}

static void report(struct check_context *ctx, const struct found *x)
{
	const struct rank_view *v = x->ops.v;
	const struct idle_sum *s = &v->idle;
	int64_t cost = sb_add_sat(x->idle_ns, x->memory_ns), occurrences = 0, wall = 0;
	struct finding *f = finding_new(ctx, "cpu.dispatch", v, true);

	for (size_t i = 0; i < x->count; i++) {
		occurrences += x->sequences[i].occurrences;
		wall = sb_add_sat(wall, x->sequences[i].wall_ns);
	}
	finding_cost(ctx, f, v, cost);
	finding_gain(f, v, cost);
	if (v->part->graphs.unreliable)
		doubt_idle(ctx, f, v);
	if (x->count > 0)
		finding_evidence(ctx, f, "fusible_share", (double)wall / (double)v->total_ns, "share",
		                 "fusible_share");
	if (x->launch_bound)
		finding_evidence(ctx, f, "starved_share", (double)s->starved_ns / (double)v->total_ns,
		                 "share", "dispatch_share");
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
	relieve(ctx, f, x);
}

static bool is_launch_bound(const struct check_context *ctx, const struct rank_view *v)
{
	const struct idle_sum *s = &v->idle;

	return s->starved > 0 && (double)s->starved_ns > limit(ctx, "dispatch_share") * (double)v->total_ns &&
	       (double)s->starved_work_ns <= limit(ctx, "tiny_kernel_us") * 1000 * (double)s->starved;
}

static void judge(struct check_context *ctx, struct rank_view *v)
{
	__attribute__((cleanup(found_free))) struct found x = {.ops.v = v,
	                                                       .launch_bound = is_launch_bound(ctx, v)};
	int rc = find_sequences(ctx, &x);

	if (rc == SB_OK)
		rc = find_idle(&x);
	if (rc == SB_OK)
		rc = claim(&x, v);
	ctx->failed = rc;
	if (rc == SB_OK && x.idle_ns + x.memory_ns > 0)
		report(ctx, &x);
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
