#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/findings.h"

#define METHOD "replay of the dependency graph: "
static const char *const REPLAYED = METHOD "all ranks without this cause";
static const char *const REPLAYED_CAPPED =
    METHOD "all ranks without this cause; cut, because all findings together gain at most the step";
static const char *const REPLAYED_BESIDE =
    METHOD "all ranks without this cause; less what the cause behind it gains, which is counted there";
static const char *const OVERLAPPED =
    METHOD "no communication but the last of each step, or what compute alone could cover where that is less";
static const char *const JOINED = METHOD "counted with the worst rank of this cause, which tells the gain of "
                                         "removing it on all ranks";
static const char *const BOUND_CAPPED =
    "cost removed from the step, no replay: an upper bound; cut, because all findings together gain at most "
    "the step";
static const char *const BOUND_BESIDE =
    "cost removed from the step, no replay: an upper bound; less what the cause "
    "behind it gains, which is counted there";
static const char *const BOUND_JOINED = "counted with the worst rank of this cause";

/* The findings of one code: the items are in order of codes. */
struct group {
	size_t from, to, worst;
};

static double cost_of(const struct finding *f)
{
	return isnan(f->share_of_step) ? -1 : f->share_of_step;
}

static struct group group_at(const struct check_context *ctx, size_t from)
{
	struct group g = {from, from, from};

	for (; g.to < ctx->count && strcmp(ctx->items[g.to].code, ctx->items[from].code) == 0; g.to++)
		g.worst = cost_of(&ctx->items[g.to]) > cost_of(&ctx->items[g.worst]) ? g.to : g.worst;
	return g;
}

/* The reliefs of all findings of the group; *out is to be freed. *out_held: all of their captures are in the
 * graph. */
static int reliefs_of(const struct check_context *ctx, const struct group *g,
                      const struct replay_graph *graph, struct relief **out, size_t *out_count,
                      bool *out_held)
{
	size_t count = 0, n = 0;

	*out_held = graph != NULL;
	for (size_t i = g->from; i < g->to; i++)
		count += ctx->items[i].relief_count;
	*out = calloc(count + 1, sizeof(**out));
	if (!*out)
		return SB_ENOMEM;
	for (size_t i = g->from; i < g->to; i++) {
		const struct finding *f = &ctx->items[i];

		for (size_t k = 0; k < f->relief_count; k++) {
			(*out)[n] = ctx->reliefs[f->relief_first + k];
			*out_held = *out_held && replay_holds(graph, (*out)[n++].capture);
		}
	}
	*out_count = n;
	return SB_OK;
}

static int64_t step_of(const struct finding *f)
{
	return f->steps > 0 ? f->total_ns / (int64_t)f->steps : f->total_ns;
}

static void set_gain(struct finding *f, int64_t gain_ns, const char *method)
{
	int64_t step = step_of(f);

	/* a step cannot vanish: the rest of it must stay */
	if (gain_ns > step - 1)
		gain_ns = step - 1;
	if (gain_ns < 0)
		gain_ns = 0;
	f->gain_ns = gain_ns;
	f->speedup = step > 0 ? (double)step / (double)(step - gain_ns) : NAN;
	f->gain_method = method;
}

static void forget_gain(struct finding *f, const char *method)
{
	f->gain_ns = SB_NULL;
	f->speedup = NAN;
	f->gain_method = method;
}

static bool takes(enum relief_kind kind, const struct relief *reliefs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		/* a host that gets faster by a factor is a cause's own part already */
		if (reliefs[i].kind == kind && (kind != RELIEF_HOST || reliefs[i].factor == 0))
			return true;
	return false;
}

static bool group_takes_host(const struct check_context *ctx, const struct group *g)
{
	for (size_t i = g->from; i < g->to; i++)
		if (takes(RELIEF_HOST, ctx->reliefs + ctx->items[i].relief_first, ctx->items[i].relief_count))
			return true;
	return false;
}

/* A rank is late for a cause, which may have a finding of its own: the same time. */
static bool is_symptom(const struct finding *f)
{
	return strcmp(f->code, "communication.slow_rank") == 0;
}

static bool is_of_host(const struct finding *f)
{
	return strncmp(f->code, "cpu.", 4) == 0 || strncmp(f->code, "io.", 3) == 0 ||
	       strncmp(f->code, "memory.", 7) == 0;
}

static bool is_of_links(const struct finding *f)
{
	return strncmp(f->code, "communication.", 14) == 0 && !is_symptom(f);
}

static int64_t cost_ns(const struct finding *f)
{
	return ns_at_most(f->share_of_step * (double)step_of(f), step_of(f));
}

/* All of the host's time has many causes. Of what a replay without it gains, those that name their own calls
 * have theirs. */
static int64_t own_part(const struct check_context *ctx, const struct finding *f, int64_t gain_ns)
{
	int64_t cost = cost_ns(f), named = 0, left;

	for (size_t from = 0; from < ctx->count;) {
		struct group g = group_at(ctx, from);
		const struct finding *worst = &ctx->items[g.worst];

		from = g.to;
		if (is_of_host(worst) && worst->gain_ns != SB_NULL && !group_takes_host(ctx, &g))
			/* what it costs is its own even where a replay without it alone gains less */
			named = sb_add_sat(named,
			                   worst->gain_ns > cost_ns(worst) ? worst->gain_ns : cost_ns(worst));
	}
	left = sb_sub_sat(gain_ns, named);
	left = left > cost ? left : cost;
	return left < gain_ns ? left : gain_ns;
}

/* More than what the step would be shorter by cannot be at stake. */
static void lower_stakes(const struct check_context *ctx, const struct group *g, int64_t gain_ns)
{
	double most = (double)(gain_ns > 0 ? gain_ns : 0) / (double)step_of(&ctx->items[g->worst]);

	for (size_t i = g->from; i < g->to; i++)
		if (ctx->items[i].stake > most)
			ctx->items[i].stake = most;
}

/* What the replay says of the group. What costs much and would gain little is no more than an info, on every
 * rank. */
static void tell(const struct check_context *ctx, const struct group *g, const struct replay_result *r,
                 const struct relief *reliefs, size_t n)
{
	struct finding *worst = &ctx->items[g->worst];
	int64_t steps = (int64_t)worst->steps, rest = sb_sub_sat(step_of(worst), r->replayed_ns / steps);
	int64_t gain = sb_sub_sat(sb_sub_sat(r->measured_ns, r->replayed_ns) / steps, worst->kept_ns);
	enum severity most;

	/* the graph begins with the host's first call, which may be long before the step: what is won there
	 * is none of the step's, and what the replay still takes stays */
	if (takes(RELIEF_HOST, reliefs, n))
		gain = own_part(ctx, worst, gain < rest ? gain : rest);
	/* a collective may take far longer than it transmits, and only that is the link's */
	else if ((takes(RELIEF_LINK, reliefs, n) || is_of_links(worst)) && gain > cost_ns(worst))
		gain = cost_ns(worst);
	lower_stakes(ctx, g, gain);
	if (worst->gain_most_ns != SB_NULL && gain > worst->gain_most_ns)
		gain = worst->gain_most_ns;
	set_gain(worst, gain, worst->gain_most_ns == SB_NULL ? REPLAYED : OVERLAPPED);
	most = severity_of(ctx, finding_stake(worst));
	for (size_t i = g->from; i < g->to; i++) {
		struct finding *f = &ctx->items[i];

		if (i != g->worst)
			forget_gain(f, JOINED);
		if (f->severity > most)
			f->severity = most;
	}
}

static int replay_group(const struct check_context *ctx, const struct group *g,
                        const struct replay_graph *graph)
{
	struct relief *reliefs;
	struct replay_result r;
	size_t n;
	bool held;
	int rc = reliefs_of(ctx, g, graph, &reliefs, &n, &held);

	if (rc == SB_OK && n > 0 && held) {
		rc = replay_run(graph, reliefs, n, &r, NULL, NULL);
		if (rc == SB_OK)
			tell(ctx, g, &r, reliefs, n);
	}
	free(reliefs);
	return rc;
}

/* A gain that was not replayed: a cause that is removed on one rank only gains nothing where ranks wait for
 * one another. */
static void keep_worst(const struct check_context *ctx, const struct group *g)
{
	size_t best = g->from;

	for (size_t i = g->from; i < g->to; i++)
		best = ctx->items[i].gain_ns > ctx->items[best].gain_ns ? i : best;
	for (size_t i = g->from; i < g->to; i++) {
		struct finding *f = &ctx->items[i];
		enum severity most = severity_of(ctx, finding_stake(f));

		if (i == best || f->gain_ns == SB_NULL)
			continue;
		/* what would have been won on it is what it weighs, also when that is told elsewhere */
		if (f->severity > most)
			f->severity = most;
		forget_gain(f, BOUND_JOINED);
	}
}

/* What a cause must be worth of a rank's lateness to be behind it. */
#define MOST 0.5

bool finding_follows(const struct finding *f, const struct finding *cause)
{
	return is_symptom(f) && f->rank == cause->rank && cause->severity > SEVERITY_INFO &&
	       is_of_host(cause) && finding_stake(cause) >= MOST * finding_stake(f);
}

/* The finding with the largest gain of those that are not marked, symptoms last; SIZE_MAX when none is left.
 */
static size_t largest(const struct check_context *ctx, const bool *done)
{
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < ctx->count; i++) {
		const struct finding *f = &ctx->items[i];
		bool symptom = is_symptom(f), over = best == SIZE_MAX;

		if (done[i] || f->gain_ns == SB_NULL)
			continue;
		if (!over && symptom != is_symptom(&ctx->items[best]))
			over = !symptom;
		else if (!over)
			over = f->gain_ns > ctx->items[best].gain_ns;
		best = over ? i : best;
	}
	return best;
}

/* The mean step of all ranks; of all findings where no device's time is known. */
static int64_t mean_step(const struct check_context *ctx)
{
	size_t n = ctx->view_count > 0 ? ctx->view_count : ctx->count;
	double sum = 0;

	for (size_t i = 0; i < ctx->view_count; i++)
		sum += (double)ctx->views[i].total_ns / (double)ctx->views[i].steps;
	for (size_t i = 0; i < ctx->count && ctx->view_count == 0; i++)
		sum += (double)step_of(&ctx->items[i]);
	return n > 0 ? ns_at_most(sum / (double)n, INT64_MAX) : 0;
}

static bool is_replayed(const struct finding *f)
{
	return f->gain_method && strncmp(f->gain_method, METHOD, sizeof(METHOD) - 1) == 0;
}

/* What the findings of one rank that are marked gain together. */
static int64_t granted(const struct check_context *ctx, const bool *done, int64_t rank)
{
	int64_t sum = 0;

	for (size_t i = 0; i < ctx->count; i++)
		if (done[i] && ctx->items[i].rank == rank)
			sum = sb_add_sat(sum, ctx->items[i].gain_ns);
	return sum;
}

/* The largest gain of the causes that a late rank is late for: in what it would gain that is counted already.
 */
static int64_t gain_of_causes(const struct check_context *ctx, const struct finding *f)
{
	int64_t most = 0;

	for (size_t i = 0; i < ctx->count; i++) {
		const struct finding *cause = &ctx->items[i];

		if (cause->gain_ns > most && finding_follows(f, cause))
			most = cause->gain_ns;
	}
	return most;
}

/* A rank that is late for a cause with a finding of its own gains what is left of its lateness without that.
 * What is at stake stays. */
static void count_causes_once(struct check_context *ctx)
{
	for (size_t i = 0; i < ctx->count; i++) {
		struct finding *f = &ctx->items[i];
		int64_t counted = f->gain_ns == SB_NULL ? 0 : gain_of_causes(ctx, f);

		if (counted == 0)
			continue;
		f->stake = finding_stake(f);
		set_gain(f, f->gain_ns - counted, is_replayed(f) ? REPLAYED_BESIDE : BOUND_BESIDE);
	}
}

/* Two findings may name the same time: what all gain together is never more than the mean step of the job,
 * and those of one rank never more than its own step. At most one finding a code has a gain, so this is
 * quick. */
static int cap(struct check_context *ctx)
{
	bool *done = calloc(ctx->count + 1, sizeof(*done));
	int64_t left = mean_step(ctx);

	if (!done)
		return SB_ENOMEM;
	for (size_t i = largest(ctx, done); i != SIZE_MAX; i = largest(ctx, done)) {
		struct finding *f = &ctx->items[i];
		int64_t own = sb_sub_sat(step_of(f), granted(ctx, done, f->rank));
		int64_t most = own < left ? own : left;

		done[i] = true;
		if (f->gain_ns > most)
			set_gain(f, most, is_replayed(f) ? REPLAYED_CAPPED : BOUND_CAPPED);
		left -= f->gain_ns;
	}
	free(done);
	return SB_OK;
}

int findings_gain(struct check_context *ctx)
{
	REPLAY_AUTO graph = NULL;
	int rc = SB_OK;

	if (ctx->relief_count > 0)
		rc = replay_build(ctx->p, &graph, NULL);
	/* those that take all of the host's time last: what others gain of it is known then */
	for (int host = 0; host < 2; host++)
		for (size_t from = 0; from < ctx->count && rc == SB_OK;) {
			struct group g = group_at(ctx, from);

			from = g.to;
			if (group_takes_host(ctx, &g) != host)
				continue;
			keep_worst(ctx, &g);
			rc = replay_group(ctx, &g, graph);
		}
	if (rc != SB_OK)
		return rc;
	count_causes_once(ctx);
	return cap(ctx);
}
