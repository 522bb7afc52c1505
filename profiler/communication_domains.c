#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/communication_parts.h"

/* One operator on one rank. */
struct transmission {
	int64_t rank, step;
	uint32_t group, name;
	double us;
	size_t at; /* row: sums must not depend on how ties are sorted */
};

static int by_operator(const void *a, const void *b)
{
	const struct transmission *x = a, *y = b;
	int64_t left[] = {x->group, null_last(x->step), x->name, x->rank, (int64_t)x->at};
	int64_t right[] = {y->group, null_last(y->step), y->name, y->rank, (int64_t)y->at};

	return sb_compare(left, right, 5);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static size_t rank_index(const struct domain *d, int64_t rank)
{
	const int64_t *at = bsearch(&rank, d->ranks, d->rank_count, sizeof(*d->ranks), by_value);

	return (size_t)(at - d->ranks);
}

/* Adds one operator to the ranks' totals, if every rank of the domain has it: sums over different sets of
 * operators could not be compared. */
static void add_operator(const struct domain *d, const struct transmission *items, size_t n, double *totals,
                         double *one, bool *out_any)
{
	for (size_t r = 0; r < d->rank_count; r++)
		one[r] = NAN;
	for (size_t i = 0; i < n; i++) {
		size_t r = rank_index(d, items[i].rank);

		one[r] = isnan(one[r]) ? items[i].us : one[r] + items[i].us;
	}
	for (size_t r = 0; r < d->rank_count; r++)
		if (isnan(one[r]))
			return;
	for (size_t r = 0; r < d->rank_count; r++)
		totals[r] += one[r];
	*out_any = true;
}

static void judge(struct domain *d, const double *totals, double threshold)
{
	double sum = 0, most = 0;
	size_t slow = 0;

	for (size_t r = 0; r < d->rank_count; r++) {
		sum += totals[r];
		if (totals[r] > most) {
			most = totals[r];
			slow = r;
		}
	}
	if (!(most > 0))
		return;
	d->r_wait = 1 - sum / (double)d->rank_count / most;
	if (d->r_wait > threshold)
		d->slow_rank = d->ranks[slow];
}

static int fill_domain(struct domain *d, const struct transmission *items, size_t n, double threshold)
{
	double *totals;
	bool any = false;

	d->ranks = calloc(n, sizeof(*d->ranks));
	if (!d->ranks)
		return SB_ENOMEM;
	for (size_t i = 0; i < n; i++)
		d->ranks[i] = items[i].rank;
	qsort(d->ranks, n, sizeof(*d->ranks), by_value);
	for (size_t i = 0; i < n; i++)
		if (d->rank_count == 0 || d->ranks[d->rank_count - 1] != d->ranks[i])
			d->ranks[d->rank_count++] = d->ranks[i];
	if (d->rank_count < 2)
		return SB_OK;
	totals = calloc(2 * d->rank_count, sizeof(*totals));
	if (!totals)
		return SB_ENOMEM;
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1;
		     to < n && items[to].step == items[from].step && items[to].name == items[from].name;)
			to++;
		/* an operator that some rank lacks is not worth the walk over all ranks */
		if (to - from >= d->rank_count)
			add_operator(d, items + from, to - from, totals, totals + d->rank_count, &any);
	}
	if (any)
		judge(d, totals, threshold);
	free(totals);
	return SB_OK;
}

static bool is_point_to_point(const char *name)
{
	return strncmp(name, "hcom_send", 9) == 0 || strncmp(name, "hcom_receive", 12) == 0 ||
	       strncmp(name, "hcom_batchSendRecv", 18) == 0;
}

static size_t collect(const struct communication_report *r, struct transmission *items)
{
	size_t n = 0;

	for (size_t i = 0; i < r->row_count; i++) {
		const struct communication_row *row = &r->rows[i];

		/* the two ends of a send do not synchronise a domain */
		if (row->rank == SB_NULL || is_point_to_point(sb_strings_get(r->strings, row->name, NULL)))
			continue;
		items[n++] =
		    (struct transmission){row->rank, row->step, row->group, row->name, row->transit_us, i};
	}
	qsort(items, n, sizeof(*items), by_operator);
	return n;
}

int communication_domains(struct communication_parts *parts, double r_wait_threshold)
{
	struct communication_report *r = &parts->report;
	struct transmission *items = calloc(r->row_count + 1, sizeof(*items));
	size_t n, groups = 0;
	int rc = SB_OK;

	if (!items)
		return SB_ENOMEM;
	n = collect(r, items);
	for (size_t i = 0; i < n; i++)
		groups += i == 0 || items[i].group != items[i - 1].group;
	r->domains = calloc(groups + 1, sizeof(*r->domains));
	if (!r->domains)
		rc = SB_ENOMEM;
	for (size_t from = 0, to = 0; from < n && rc == SB_OK; from = to) {
		struct domain *d = &r->domains[r->domain_count++];

		while (to < n && items[to].group == items[from].group)
			to++;
		*d = (struct domain){.group = items[from].group, .r_wait = NAN, .slow_rank = SB_NULL};
		rc = fill_domain(d, items + from, to - from, r_wait_threshold);
	}
	free(items);
	return rc;
}

/* A domain on its way to its use. */
struct purpose {
	struct domain *domain; /* NULL: no domain has this text as its group */
	bool mixed;            /* it was told to be for two things */
};

static int add_purpose(struct communication_parts *parts, const struct capture *c, struct purpose *by_text)
{
	struct communication_report *r = &parts->report;
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < c->group_use_count; i++) {
		size_t len;
		const char *group = trace_text(&c->trace, c->group_uses[i].group, &len);
		uint32_t at = sb_strings_find(r->strings, group, len), use;
		struct purpose *p = &by_text[at];

		if (at == 0 || !p->domain)
			continue;
		rc = communication_text(parts, c, c->group_uses[i].use, &use);
		if (rc != SB_OK)
			break;
		p->mixed = p->mixed || (p->domain->parallelism != 0 && p->domain->parallelism != use);
		p->domain->parallelism = use;
	}
	return rc;
}

int communication_parallelism(struct communication_parts *parts, const struct profile *p)
{
	struct communication_report *r = &parts->report;
	size_t texts = sb_strings_count(r->strings), uses = 0;
	struct purpose *by_text = NULL;
	int rc = SB_OK;

	for (size_t i = 0; i < p->count; i++)
		uses += p->captures[i].group_use_count;
	if (uses == 0 || r->domain_count == 0)
		return SB_OK;
	/* uses are texts too: those that come now have larger numbers, and are no groups */
	by_text = calloc(texts + uses + 1, sizeof(*by_text));
	if (!by_text)
		return SB_ENOMEM;
	for (size_t i = 0; i < r->domain_count; i++)
		by_text[r->domains[i].group].domain = &r->domains[i];
	for (size_t i = 0; rc == SB_OK && i < p->count; i++)
		rc = add_purpose(parts, &p->captures[i], by_text);
	for (size_t i = 0; i < texts; i++)
		if (by_text[i].mixed)
			by_text[i].domain->parallelism = 0;
	free(by_text);
	return rc;
}
