#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/findings/contention.h"
#include "profiler/findings/host_part.h"
#include "profiler/monitor.h"

/* A host that is slower than the others, or than itself at other times, over all its calls alike while the
 * device works as ever: something else uses its CPU (Hermes, Table 2 and the GPT-3 case). */

/* The work of the device may differ by so much and still count as equal. */
#define EQUAL_WORK 1.1

/* The names of one capture: by text id. Host calls and the device's kernels apart. */
struct host_sums {
	struct name_sum *host, *kernels;
	size_t texts;
	size_t slow_steps;
};

static void sums_free(struct host_sums *s)
{
	free(s->host);
	free(s->kernels);
	*s = (struct host_sums){0};
}

/* Waits last as long as the device makes them, and frames hold all that is below. */
static bool counts(const struct trace *t, size_t i, uint8_t *known, size_t texts)
{
	uint32_t id = t->name[i] < texts ? t->name[i] : (uint32_t)texts;

	if (t->kind[i] != EVENT_HOST_OP && t->kind[i] != EVENT_HOST_RUNTIME)
		return false;
	if (!known[id])
		known[id] = host_class_of(trace_text(t, t->name[i], NULL)) == HOST_NONE ? 1 : 2;
	return known[id] == 1;
}

struct adding {
	struct host_sums *s;
	const struct capture *c;
	struct step_windows windows;
	const bool *slow;
};

static bool in_slow_step(const struct adding *a, int64_t start)
{
	uint32_t step = a->slow ? step_windows_at(&a->windows, start) : NO_STEP;

	return step != NO_STEP && a->slow[step];
}

static void add(struct name_sum *sums, size_t texts, uint32_t id, int64_t dur, bool slow)
{
	if (id == 0 || id >= texts)
		return;
	sums[id].ns[slow] += (double)dur;
	sums[id].count[slow]++;
}

static void add_all(struct adding *a, uint8_t *known)
{
	const struct trace *t = &a->c->trace;
	size_t texts = a->s->texts;

	for (size_t i = 0; i < t->count; i++) {
		if (t->kind[i] == EVENT_KERNEL)
			add(a->s->kernels, texts, t->name[i], t->dur_ns[i], in_slow_step(a, t->start_ns[i]));
		else if (counts(t, i, known, texts))
			add(a->s->host, texts, t->name[i], t->dur_ns[i], in_slow_step(a, t->start_ns[i]));
	}
}

static int sums_of(const struct check_context *ctx, const struct capture *c, struct host_sums *out)
{
	struct adding a = {.s = out, .c = c};
	struct monitor_rule rule = MONITOR_DEFAULT;
	bool *slow = NULL;
	uint8_t *known;
	size_t n = 0;
	int rc;

	rule.limit = limit(ctx, "step_fluctuation");
	out->texts = sb_strings_count(c->trace.strings);
	out->host = calloc(out->texts + 1, sizeof(*out->host));
	out->kernels = calloc(out->texts + 1, sizeof(*out->kernels));
	known = calloc(out->texts + 1, 1);
	rc = out->host && out->kernels && known ? monitor_capture(&rule, c, &slow, &n) : SB_ENOMEM;
	if (rc == SB_OK && slow && c->step_count > 0) {
		a.slow = slow;
		rc = step_windows_build(c, &a.windows);
		for (size_t i = 0; i < n; i++)
			out->slow_steps += slow[i];
	}
	if (rc == SB_OK)
		add_all(&a, known);
	step_windows_free(&a.windows);
	free(known);
	free(slow);
	return rc;
}

static double mean(const struct name_sum *s, int kind)
{
	return s->count[kind] ? s->ns[kind] / s->count[kind] : NAN;
}

/* The median over the names of how much longer they take in the steps that stand out. */
static double ratio_of_steps(const struct name_sum *sums, size_t texts, double *values, size_t *out_names)
{
	size_t n = 0;

	for (size_t i = 0; i < texts; i++) {
		double slow = mean(&sums[i], 1), usual = mean(&sums[i], 0);

		if (slow > 0 && usual > 0)
			values[n++] = slow / usual;
	}
	*out_names = n;
	return n >= NAMES_LEAST ? sb_median(values, n) : NAN;
}

static bool same_kernels(double ratio)
{
	return isnan(ratio) || ratio <= EQUAL_WORK;
}

/* A capture against itself: the steps that stand out against the others. */
static int against_itself(const struct check_context *ctx, const struct host_sums *s, struct contention *out)
{
	double *values = calloc(s->texts + 1, sizeof(*values));
	size_t names, kernels;
	double ratio, work;

	if (!values)
		return SB_ENOMEM;
	ratio = ratio_of_steps(s->host, s->texts, values, &names);
	work = ratio_of_steps(s->kernels, s->texts, values, &kernels);
	free(values);
	if (s->slow_steps == 0 || !(ratio >= limit(ctx, "contention_ratio")) || !same_kernels(work))
		return SB_OK;
	*out = (struct contention){ratio, work, (int64_t)names, SB_NULL, (int64_t)s->slow_steps, 0};
	return SB_OK;
}

struct comparing {
	struct name_means host, kernels;
	struct sb_strings *names;
	double *host_ratio, *kernel_ratio;
	size_t *host_names, *kernel_names, *slow_names; /* slow: of the host's */
	struct contention *own;                         /* against itself, by capture */
};

static void comparing_free(struct comparing *x)
{
	free(x->host.items);
	free(x->kernels.items);
	free(x->host_ratio);
	free(x->kernel_ratio);
	free(x->host_names);
	free(x->kernel_names);
	free(x->slow_names);
	free(x->own);
	sb_strings_free(&x->names);
}

static int comparing_init(struct comparing *x, size_t captures)
{
	x->host_ratio = calloc(captures + 1, sizeof(double));
	x->kernel_ratio = calloc(captures + 1, sizeof(double));
	x->host_names = calloc(captures + 1, sizeof(size_t));
	x->kernel_names = calloc(captures + 1, sizeof(size_t));
	x->slow_names = calloc(captures + 1, sizeof(size_t));
	x->own = calloc(captures + 1, sizeof(*x->own));
	if (!x->host_ratio || !x->kernel_ratio || !x->host_names || !x->kernel_names || !x->slow_names ||
	    !x->own)
		return SB_ENOMEM;
	return sb_strings_new(&x->names);
}

static int add_capture(const struct check_context *ctx, struct comparing *x, uint32_t index)
{
	__attribute__((cleanup(sums_free))) struct host_sums s = {0};
	const struct capture *c = &ctx->p->captures[index];
	int rc = sums_of(ctx, c, &s);

	if (rc == SB_OK)
		rc = against_itself(ctx, &s, &x->own[index]);
	if (rc == SB_OK)
		rc = name_means_add(&x->host, x->names, c, index, s.host, s.texts);
	return rc == SB_OK ? name_means_add(&x->kernels, x->names, c, index, s.kernels, s.texts) : rc;
}

static void settle(const struct check_context *ctx, const struct comparing *x, struct rank_view *v)
{
	size_t i = (size_t)(v->c - ctx->p->captures);
	int64_t rest = host_rest(v);
	struct contention k = x->own[i];

	if (x->host_ratio[i] >= limit(ctx, "contention_ratio") && same_kernels(x->kernel_ratio[i]))
		k = (struct contention){x->host_ratio[i],
		                        x->kernel_ratio[i],
		                        (int64_t)x->host_names[i],
		                        (int64_t)x->slow_names[i],
		                        SB_NULL,
		                        0};
	if (!(k.ratio > 1))
		return;
	/* as fast as elsewhere, the host would leave the device idle for so much less */
	k.cost_ns = ns_at_most((double)rest * (1 - 1 / k.ratio), rest);
	v->contention = k;
}

int contention_fill(struct check_context *ctx)
{
	__attribute__((cleanup(comparing_free))) struct comparing x = {0};
	int rc = comparing_init(&x, ctx->p->count);

	for (size_t i = 0; rc == SB_OK && i < ctx->p->count; i++)
		if (ctx->hosts[i].c && ctx->hosts[i].seen.host_known)
			rc = add_capture(ctx, &x, (uint32_t)i);
	if (rc == SB_OK)
		rc = name_means_compare(&x.host, ctx->p->count, limit(ctx, "contention_ratio"), x.host_ratio,
		                        x.host_names, x.slow_names);
	if (rc == SB_OK)
		rc = name_means_compare(&x.kernels, ctx->p->count, INFINITY, x.kernel_ratio, x.kernel_names,
		                        NULL);
	for (size_t i = 0; rc == SB_OK && i < ctx->view_count; i++)
		settle(ctx, &x, &ctx->views[i]);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
	return rc;
}

static void report(struct check_context *ctx, const struct rank_view *v)
{
	const struct contention *k = &v->contention;
	struct finding *f = finding_new(ctx, "cpu.contention", v, true);

	finding_cost(ctx, f, v, k->cost_ns);
	finding_gain(f, v, k->cost_ns);
	/* the other process was not seen: only calls that are slower one like another, beside kernels that
	 * are not, leave no other explanation */
	if (isnan(k->kernel_ratio) || k->slow_names == SB_NULL)
		finding_at_most(f, CONFIDENCE_MEDIUM);
	else
		finding_agreement(f, (size_t)k->slow_names, (size_t)k->names);
	finding_evidence(ctx, f, k->slow_steps == SB_NULL ? "host_over_other_ranks" : "host_over_other_steps",
	                 k->ratio, "ratio", "contention_ratio");
	if (v->part->graphs.unreliable)
		doubt_idle(ctx, f, v);
	finding_evidence(ctx, f, "calls_compared", (double)k->names, "names", NULL);
	if (!isnan(k->kernel_ratio))
		finding_evidence(ctx, f, "kernels_over_the_same", k->kernel_ratio, "ratio", NULL);
	if (k->slow_steps != SB_NULL)
		finding_evidence(ctx, f, "slow_steps", (double)k->slow_steps, "steps", NULL);
	finding_evidence(ctx, f, "idle_of_the_slow_host_us", (double)k->cost_ns / 1000, "us", NULL);
	if (k->slow_steps == SB_NULL)
		finding_relief(ctx, f, v, RELIEF_HOST, 0, 1 / k->ratio);
}

/* Only where nothing nearer explains the idle time, which is what host_rest() leaves. */
void check_contention(struct check_context *ctx, bool *out_judged)
{
	size_t hosts = 0;

	for (size_t i = 0; i < ctx->p->count; i++) {
		hosts += ctx->hosts[i].c && ctx->hosts[i].seen.host_known;
		*out_judged = *out_judged || (ctx->hosts[i].c && ctx->hosts[i].seen.host_known &&
		                              ctx->p->captures[i].step_count > MONITOR_BASE_LEAST);
	}
	*out_judged = *out_judged || hosts > 1;
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++) {
		const struct rank_view *v = &ctx->views[i];

		if ((double)v->contention.cost_ns > limit(ctx, "recoverable_share") * (double)v->total_ns)
			report(ctx, v);
	}
}
