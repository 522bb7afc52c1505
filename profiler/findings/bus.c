#include "base/num.h"
#include "profiler/findings/bus.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/chips.h"

/* A link that is slow for a whole group of GPUs: a ring is as fast as its slowest link, so all ranks see it.
 */

#define NODE 8 /* devices of one node, as their ranks are numbered */
/* Below this share of the links inside a node it is the network between nodes, whose rate is not known. */
#define BETWEEN_NODES 0.15

enum collective_kind collective_kind_of(const char *name)
{
	static const struct {
		const char *text;
		enum collective_kind kind;
	} kinds[] = {{"allreduce", COLLECTIVE_ALL_REDUCE},         {"allgather", COLLECTIVE_ALL_GATHER},
	             {"reducescatter", COLLECTIVE_REDUCE_SCATTER}, {"alltoall", COLLECTIVE_ALL_TO_ALL},
	             {"all2all", COLLECTIVE_ALL_TO_ALL},           {"alltoallv", COLLECTIVE_ALL_TO_ALL}};
	char plain[128];
	size_t n = 0;

	for (; *name && n + 1 < sizeof(plain); name++)
		if (*name != '_' && *name != '-' && *name != ' ')
			plain[n++] = (char)tolower((unsigned char)*name);
	plain[n] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(plain, kinds[i].text))
			return kinds[i].kind;
	return COLLECTIVE_OTHER;
}

double bus_factor(enum collective_kind k, double n)
{
	if (k == COLLECTIVE_OTHER || !(n > 1))
		return 1;
	return (k == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (n - 1) / n;
}

/* What a domain's large collectives reached. */
struct bus {
	uint32_t domain;
	int64_t ranks, first, span; /* how many, the lowest, and how far apart: domains that agree but for the
	                               lowest are of one kind */
	double bytes, ns;           /* on a link, and the time of the shortest rank of each collective */
	double standard;            /* bytes per second inside a node; NaN = not known */
};

static double rate_of(const struct bus *b)
{
	return b->bytes / (b->ns / 1e9);
}

static int by_kind(const void *a, const void *b)
{
	const struct bus *x = a, *y = b;
	const int64_t left[] = {x->ranks, x->span, x->first, x->domain};
	const int64_t right[] = {y->ranks, y->span, y->first, y->domain};

	return sb_compare(left, right, 4);
}

static bool same_kind(const struct bus *a, const struct bus *b)
{
	return a->ranks == b->ranks && a->span == b->span;
}

/* Devices of one node have different numbers; ranks of two nodes share some as a rule. */
static bool in_one_node(const struct collectives *m, const struct collective_domain *d)
{
	uint32_t seen = 0;

	if (d->count < 2 || (d->listed != SB_NULL && d->listed != (int64_t)d->count))
		return false;
	for (size_t i = 0; i < d->count; i++) {
		int32_t device = m->members[m->domain_members[d->first + i]].device;

		if (device < 0 || device >= 2 * NODE || (seen >> device & 1))
			return false;
		seen |= UINT32_C(1) << device;
	}
	return true;
}

/* The lowest and the highest rank: of the list if it is whole, else of the captures. */
static void find_place(const struct check_context *ctx, const struct collectives *m,
                       const struct collective_domain *d, struct bus *b)
{
	const char *list = sb_strings_get(m->texts, d->ranks, NULL);
	int64_t last = -1;

	b->first = INT64_MAX;
	b->ranks = d->listed == SB_NULL ? (int64_t)d->count : d->listed;
	for (size_t i = 0; d->listed == SB_NULL && i < d->count; i++) {
		const struct collective_member *member = &m->members[m->domain_members[d->first + i]];
		int64_t rank = ctx->p->captures[member->capture].rank;

		b->first = rank < b->first ? rank : b->first;
		last = rank > last ? rank : last;
	}
	for (const char *p = list; d->listed != SB_NULL && *p;) {
		size_t digits = strspn(p, "0123456789");
		int64_t rank;

		if (digits > 0 && sb_parse_int(p, digits, &rank) == SB_OK) {
			b->first = rank < b->first ? rank : b->first;
			last = rank > last ? rank : last;
		}
		p += digits + (p[digits] != '\0');
	}
	b->span = last >= 0 && b->first >= 0 && b->first <= last ? last - b->first : -1;
	if (b->span >= 0 && b->span < NODE && in_one_node(m, d))
		b->standard = chip_link_rate(
		    chip_find(ctx->p->captures[m->members[m->domain_members[d->first]].capture].chip),
		    "NVLink");
}

static void add_set(const struct check_context *ctx, const struct collectives *m,
                    const struct collective_set *set, struct bus *b)
{
	const struct collective *items = &m->items[set->first];
	double factor =
	    bus_factor(collective_kind_of(sb_strings_get(m->texts, set->what, NULL)), (double)b->ranks);
	int64_t least = items[0].dur_ns, bytes = items[0].bytes;

	if (!set->whole || set->pair)
		return;
	for (size_t i = 0; i < set->count; i++) {
		least = items[i].dur_ns < least ? items[i].dur_ns : least;
		bytes = items[i].bytes == SB_NULL || bytes == SB_NULL ? SB_NULL : bytes;
		if (items[i].source != COLLECTIVE_EVENT ||
		    capture_is_ascend(&ctx->p->captures[m->members[items[i].member].capture]))
			return;
	}
	/* a small one is all latency */
	if (bytes == SB_NULL || least <= 0 || (double)bytes < limit(ctx, "bus_least_bytes"))
		return;
	b->bytes += (double)bytes * factor;
	b->ns += (double)least;
}

static void report(struct check_context *ctx, const struct collectives *m, const struct bus *b, double others)
{
	const struct collective_domain *d = &m->domains[b->domain];
	double rate = rate_of(b), utilization = rate / b->standard;
	bool below_peers = rate <= (1 - limit(ctx, "link_gap")) * others;
	bool below_standard = utilization < limit(ctx, "bus_utilization") && utilization > BETWEEN_NODES;
	double should = below_peers ? others : limit(ctx, "link_utilization") * b->standard;

	for (size_t i = 0; i < d->count && (below_peers || below_standard); i++) {
		const struct rank_view *v =
		    findings_member_view(ctx, &m->members[m->domain_members[d->first + i]]);
		struct finding *f;

		if (!v)
			continue;
		f = finding_new(ctx, "communication.slow_link", v, true);
		finding_cost(ctx, f, v, exposed_at_most(v, b->ns * (1 - rate / should)));
		finding_gain(f, v, exposed_at_most(v, b->ns * (1 - rate / should)));
		finding_relief(ctx, f, v, RELIEF_LINK, 0, rate / should);
		if (below_peers)
			finding_evidence(ctx, f, "below_other_groups", 1 - rate / others, "ratio",
			                 "link_gap");
		if (!isnan(utilization))
			finding_evidence(ctx, f, "link_utilization", utilization, "ratio", "bus_utilization");
		finding_evidence(ctx, f, "bus_bandwidth", rate, "bytes_per_second", NULL);
		if (below_peers)
			finding_evidence(ctx, f, "bus_bandwidth_of_others", others, "bytes_per_second", NULL);
		finding_evidence(ctx, f, "ranks_in_domain", (double)b->ranks, "ranks", NULL);
	}
}

/* The median rate of the others of its kind; NaN = it is the only one. */
static double rate_of_others(const struct bus *of_kind, size_t n, size_t own, double *scratch)
{
	size_t others = 0;

	/* many groups: whether the own one is among them does not move the median */
	for (size_t i = 0; i < n; i++)
		if (i != own || n > 16)
			scratch[others++] = rate_of(&of_kind[i]);
	return sb_median(scratch, others);
}

static void judge_kind(struct check_context *ctx, const struct collectives *m, const struct bus *of_kind,
                       size_t n, double *scratch, bool *out_judged)
{
	double median = n > 16 ? rate_of_others(of_kind, n, 0, scratch) : NAN;

	for (size_t i = 0; i < n && ctx->failed == SB_OK; i++) {
		double others = n > 16 ? median : rate_of_others(of_kind, n, i, scratch);

		if (isnan(others) && isnan(of_kind[i].standard))
			continue;
		*out_judged = true;
		report(ctx, m, &of_kind[i], others);
	}
}

void check_slow_bus(struct check_context *ctx, bool *out_judged)
{
	const struct collectives *m = ctx->collectives;
	struct bus *buses;
	double *scratch;
	size_t n = 0;

	buses = calloc(m->domain_count + 1, sizeof(*buses));
	scratch = calloc(m->domain_count + 1, sizeof(*scratch));
	if (!buses || !scratch)
		ctx->failed = SB_ENOMEM;
	for (size_t i = 0; i < m->set_count && ctx->failed == SB_OK; i++) {
		if (n == 0 || buses[n - 1].domain != m->sets[i].domain || i == 0) {
			/* the place of a domain of which nothing counted is used again */
			n += n > 0 && buses[n - 1].ns > 0;
			n = n > 0 ? n : 1;
			buses[n - 1] = (struct bus){.domain = m->sets[i].domain, .standard = NAN};
			find_place(ctx, m, &m->domains[m->sets[i].domain], &buses[n - 1]);
		}
		add_set(ctx, m, &m->sets[i], &buses[n - 1]);
	}
	n -= n > 0 && !(buses[n - 1].ns > 0);
	if (ctx->failed == SB_OK)
		qsort(buses, n, sizeof(*buses), by_kind);
	for (size_t from = 0, to = 0; from < n && ctx->failed == SB_OK; from = to) {
		while (to < n && same_kind(&buses[from], &buses[to]))
			to++;
		judge_kind(ctx, m, buses + from, to - from, scratch, out_judged);
	}
	free(buses);
	free(scratch);
}
