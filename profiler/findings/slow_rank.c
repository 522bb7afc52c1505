#include "base/num.h"
#include "profiler/findings/slow_rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/outlier.h"

static double ratio(double part, double transit)
{
	return part + transit > 0 ? part / (part + transit) : 0;
}

size_t slow_rank_shortest(const struct check_context *ctx, const double *lengths, size_t n, double *scratch,
                          bool *outlier)
{
	size_t least = 0, rest = 0;
	struct outlier o;

	for (size_t i = 0; i < n; i++) {
		if (isnan(lengths[i]))
			return NOBODY;
		least = lengths[i] < lengths[least] ? i : least;
	}
	if (n < 2)
		return NOBODY;
	memcpy(scratch, lengths, n * sizeof(*scratch));
	o = outlier_low(scratch, n);
	if (outlier)
		*outlier = o.found;
	if (o.decided)
		return o.found ? least : NOBODY;
	/* too few for the test: the gap to the others */
	for (size_t i = 0; i < n; i++)
		if (i != least)
			scratch[rest++] = lengths[i];
	double others = sb_median(scratch, rest);

	return others - lengths[least] >= limit(ctx, "slow_rank_share") * others && others > lengths[least]
	           ? least
	           : NOBODY;
}

/* msprof's slow-rank rule: the largest wait ratio is over the limit. So is that rank's synchronisation ratio:
 * the rank that waits least is the one that all wait for; else the waiting is for the end of transmissions.
 */
static void ask_waits(const struct check_context *ctx, const struct rank_times *t, size_t n,
                      struct opinion *o)
{
	double largest = -1, sync_ratio = 0, least = INFINITY;
	size_t late = NOBODY;

	for (size_t i = 0; i < n; i++) {
		double r = ratio(t[i].wait, t[i].transit);

		if (isnan(r + t[i].wait + t[i].transit + t[i].synchronization))
			return;
		if (r > largest) {
			largest = r;
			sync_ratio = ratio(t[i].synchronization, t[i].transit);
		}
		if (r < least) {
			least = r;
			late = i;
		}
	}
	o->wait_ratio = largest;
	if (n < 2 || !(largest > limit(ctx, "wait_ratio")))
		return;
	if (sync_ratio > limit(ctx, "wait_ratio"))
		o->late_by_wait = late;
	else
		o->waits_for_sender = true;
}

static void ask_transmission(const struct check_context *ctx, const struct rank_times *t, size_t n,
                             struct opinion *o)
{
	double sum = 0, most = 0;
	size_t slow = NOBODY;

	for (size_t i = 0; i < n; i++) {
		if (isnan(t[i].transit))
			return;
		sum += t[i].transit;
		if (t[i].transit > most) {
			most = t[i].transit;
			slow = i;
		}
	}
	if (slow == NOBODY)
		return;
	o->r_wait = 1 - sum / (double)n / most;
	if (o->r_wait > limit(ctx, "r_wait"))
		o->slow_sender = slow;
}

struct opinion slow_rank_ask(const struct check_context *ctx, const struct rank_times *times, size_t n,
                             double *scratch)
{
	struct opinion o = {.late_by_wait = NOBODY,
	                    .late_by_length = NOBODY,
	                    .slow_sender = NOBODY,
	                    .wait_ratio = NAN,
	                    .r_wait = NAN};

	ask_waits(ctx, times, n, &o);
	ask_transmission(ctx, times, n, &o);
	for (size_t i = 0; i < n; i++)
		scratch[n + i] = times[i].length;
	o.late_by_length = slow_rank_shortest(ctx, scratch + n, n, scratch, &o.outlier);
	return o;
}

static void sums_free(struct rank_sums *s)
{
	free(s->views);
	free(s->all);
	free(s->step);
	free(s->last_in);
	free(s->wait_votes);
	free(s->length_votes);
	free(s->transit_votes);
	free(s->scratch);
}

static int sums_init(struct rank_sums *s, size_t n)
{
	s->n = n;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): it is a list of pointers */
	s->views = calloc(n, sizeof(*s->views));
	s->all = calloc(n, sizeof(*s->all));
	s->step = calloc(n, sizeof(*s->step));
	s->last_in = calloc(n, sizeof(*s->last_in));
	s->wait_votes = calloc(n, sizeof(*s->wait_votes));
	s->length_votes = calloc(n, sizeof(*s->length_votes));
	s->transit_votes = calloc(n, sizeof(*s->transit_votes));
	s->scratch = calloc(2 * n, sizeof(*s->scratch));
	return s->views && s->all && s->step && s->last_in && s->wait_votes && s->length_votes &&
	               s->transit_votes && s->scratch
	           ? SB_OK
	           : SB_ENOMEM;
}

static void add_times(struct rank_times *to, const struct rank_times *from)
{
	to->length += from->length;
	to->wait += from->wait;
	to->synchronization += from->synchronization;
	to->transit += from->transit;
}

static void add_set(const struct check_context *ctx, const struct collectives *m,
                    const struct collective_set *set, struct rank_sums *s)
{
	const struct collective *items = &m->items[set->first];
	size_t shortest = 0, longest = 0;

	for (size_t i = 0; i < set->count; i++) {
		const struct capture *c = &ctx->p->captures[m->members[items[i].member].capture];
		struct rank_times t = {(double)items[i].dur_ns, NAN, NAN, NAN};

		if (items[i].operation != COLLECTIVE_NONE) {
			const struct communication_op *op = &c->communications[items[i].operation];

			t.wait = op->wait_us * 1000;
			t.synchronization = op->synchronization_us * 1000;
			t.transit = op->transit_us * 1000;
		}
		add_times(&s->step[i], &t);
		shortest = items[i].dur_ns < items[shortest].dur_ns ? i : shortest;
		longest = items[i].dur_ns > items[longest].dur_ns ? i : longest;
	}
	if ((double)items[longest].dur_ns - (double)items[shortest].dur_ns >
	    limit(ctx, "wait_ratio") * (double)items[longest].dur_ns) {
		s->last_in[shortest]++;
		s->compared++;
	}
}

/* One step alone says little: each is asked, and the answers are counted. */
static void end_step(const struct check_context *ctx, struct rank_sums *s)
{
	struct opinion o = slow_rank_ask(ctx, s->step, s->n, s->scratch);

	s->steps++;
	if (o.late_by_wait != NOBODY)
		s->wait_votes[o.late_by_wait]++;
	if (o.late_by_length != NOBODY)
		s->length_votes[o.late_by_length]++;
	if (o.slow_sender != NOBODY)
		s->transit_votes[o.slow_sender]++;
	for (size_t i = 0; i < s->n; i++) {
		add_times(&s->all[i], &s->step[i]);
		s->step[i] = (struct rank_times){0};
	}
}

static int64_t step_of(const struct collectives *m, const struct collective_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (m->items[set->first + i].step != SB_NULL)
			return m->items[set->first + i].step;
	return SB_NULL;
}

/* Sums the sets [from, to), which are of one domain. False when none of them has all ranks. */
static bool sum_sets(const struct check_context *ctx, const struct collectives *m, size_t from, size_t to,
                     struct rank_sums *s)
{
	int64_t step = SB_NULL;
	bool any = false;

	for (size_t i = from; i < to; i++) {
		const struct collective_set *set = &m->sets[i];

		if (!set->whole || set->pair)
			continue;
		if (any && step_of(m, set) != step)
			end_step(ctx, s);
		step = step_of(m, set);
		add_set(ctx, m, set, s);
		any = true;
	}
	if (any)
		end_step(ctx, s);
	return any;
}

/* Ranks of different stages do different work, and wait for each other by the pipeline's design: who is last
 * among them says nothing of a slow rank. */
static bool spans_stages(const struct rank_sums *s)
{
	int64_t first = SB_NULL;

	for (size_t i = 0; i < s->n; i++) {
		int64_t stage = s->views[i] ? s->views[i]->c->stage : SB_NULL;

		if (stage != SB_NULL && first != SB_NULL && stage != first)
			return true;
		first = stage != SB_NULL ? stage : first;
	}
	return false;
}

/* How much of a view's communication is among what was compared. */
static void add_covered(const struct check_context *ctx, const struct rank_sums *s, double *covered)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->views[i])
			covered[s->views[i] - ctx->views] += s->all[i].length;
}

/* By view. */
struct by_view {
	double *covered_ns, *host_ns;
};

static void compare_domain(struct check_context *ctx, const struct collectives *m, size_t from, size_t to,
                           struct rank_sums *s, const struct by_view *x, bool *out_judged)
{
	const struct collective_domain *d = &m->domains[m->sets[from].domain];
	struct opinion o;

	for (size_t i = 0; i < s->n; i++)
		s->views[i] = findings_member_view(ctx, &m->members[m->domain_members[d->first + i]]);
	if (spans_stages(s) || !sum_sets(ctx, m, from, to, s))
		return;
	*out_judged = true;
	add_covered(ctx, s, x->covered_ns);
	o = slow_rank_ask(ctx, s->all, s->n, s->scratch);
	slow_rank_report(ctx, s, &o);
}

static void judge_domain(struct check_context *ctx, const struct collectives *m, size_t from, size_t to,
                         const struct by_view *x, bool *out_judged)
{
	const struct collective_domain *d = &m->domains[m->sets[from].domain];
	struct rank_sums s = {.missing = d->listed > (int64_t)d->count, .host_ns = x->host_ns};

	ctx->failed = sums_init(&s, d->count);
	if (ctx->failed == SB_OK)
		compare_domain(ctx, m, from, to, &s, x, out_judged);
	sums_free(&s);
}

static void judge_all(struct check_context *ctx, const struct collectives *m, struct by_view *x,
                      bool *out_judged)
{
	if (!x->covered_ns || !x->host_ns) {
		ctx->failed = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < ctx->view_count; i++)
		x->host_ns[i] = NAN;
	for (size_t from = 0, to = 0; from < m->set_count && ctx->failed == SB_OK; from = to) {
		while (to < m->set_count && m->sets[to].domain == m->sets[from].domain)
			to++;
		judge_domain(ctx, m, from, to, x, out_judged);
	}
	if (ctx->failed == SB_OK)
		slow_rank_by_tables(ctx, x->covered_ns, x->host_ns, out_judged);
}

void check_slow_rank(struct check_context *ctx, bool *out_judged)
{
	const struct collectives *m = ctx->collectives;
	struct by_view x;

	x.covered_ns = calloc(ctx->view_count + 1, sizeof(*x.covered_ns));
	x.host_ns = calloc(ctx->view_count + 1, sizeof(*x.host_ns));
	judge_all(ctx, m, &x, out_judged);
	free(x.covered_ns);
	free(x.host_ns);
}
