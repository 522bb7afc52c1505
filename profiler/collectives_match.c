#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/num.h"
#include "profiler/collectives_parts.h"

/* The texts of one key: what may belong together. */
static int by_key(const struct draft *x, const struct draft *y)
{
	const int64_t left[] = {x->domain, x->what, x->pair, x->direction, x->number};
	const int64_t right[] = {y->domain, y->what, y->pair, y->direction, y->number};

	return sb_compare(left, right, 5);
}

static int by_member(const void *a, const void *b)
{
	const struct draft *x = a, *y = b;
	const int64_t left[] = {x->item.member, x->item.start_ns, x->item.index};
	const int64_t right[] = {y->item.member, y->item.start_ns, y->item.index};
	int order = by_key(x, y);

	return order ? order : sb_compare(left, right, 3);
}

/* Within one key: the steps apart. */
static int by_step(const void *a, const void *b)
{
	const struct draft *x = a, *y = b;
	int order = sb_compare(&x->item.step, &y->item.step, 1);

	return order ? order : by_member(a, b);
}

static int by_domain_and_member(const void *a, const void *b)
{
	const struct draft *x = a, *y = b;
	const int64_t left[] = {x->domain, x->item.member}, right[] = {y->domain, y->item.member};

	return sb_compare(left, right, 2);
}

/* Fills the members of each domain. */
static int list_members(struct drafts *d)
{
	struct collectives *out = &d->out;
	size_t n = 0;

	out->domain_members = calloc(d->count + 1, sizeof(*out->domain_members));
	if (!out->domain_members)
		return SB_ENOMEM;
	if (d->count > 0)
		qsort(d->items, d->count, sizeof(*d->items), by_domain_and_member);
	for (size_t i = 0; i < d->count; i++) {
		struct collective_domain *domain = &out->domains[d->items[i].domain];

		if (i > 0 && by_domain_and_member(&d->items[i - 1], &d->items[i]) == 0)
			continue;
		if (domain->count == 0)
			domain->first = n;
		domain->count++;
		out->domain_members[n++] = d->items[i].item.member;
	}
	return SB_OK;
}

/* The other one of a domain of two. */
static uint32_t other_of(const struct drafts *d, const struct collective_domain *domain, uint32_t member)
{
	uint32_t first = d->out.domain_members[domain->first];

	return first == member ? d->out.domain_members[domain->first + 1] : first;
}

/* A send or receive tells its partner only where there are but two. The others are dropped. */
static void direct_pairs(struct drafts *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->count; i++) {
		struct draft *x = &d->items[i];
		const struct collective_domain *domain = &d->out.domains[x->domain];

		if (x->pair) {
			if (domain->count != 2)
				continue;
			x->direction = x->item.member;
			if (!x->item.sends)
				x->direction = other_of(d, domain, x->item.member);
		}
		d->items[kept++] = *x;
	}
	d->count = kept;
}

/* One key's drafts, by member and start; how many members there are, and whether all have equally many. */
struct bucket {
	struct draft *items;
	size_t count, members;
	bool equal;
	bool same_steps; /* all members begin and end in the same step */
};

static struct bucket look(struct draft *items, size_t n)
{
	struct bucket b = {.items = items, .count = n, .equal = true, .same_steps = true};
	size_t first_len = 0;

	for (size_t from = 0, to = 0; from < n; from = to) {
		while (to < n && items[to].item.member == items[from].item.member)
			to++;
		if (b.members++ == 0)
			first_len = to;
		b.equal = b.equal && to - from == first_len;
		b.same_steps = b.same_steps && items[from].item.step == items[0].item.step &&
		               items[to - 1].item.step == items[first_len - 1].item.step;
	}
	return b;
}

/* The k-th of each member is one set. */
static int make_sets(struct drafts *d, const struct bucket *b)
{
	struct collectives *out = &d->out;
	size_t each = b->members > 0 ? b->count / b->members : 0;

	if (b->members < 2 || !b->equal)
		return SB_OK;
	for (size_t k = 0; k < each; k++) {
		const struct draft *first = &b->items[k];
		struct collective_set set = {.first = out->count,
		                             .count = b->members,
		                             .domain = first->domain,
		                             .what = first->what,
		                             .pair = first->pair,
		                             .whole = b->members == out->domains[first->domain].count};

		if (first->pair && (b->members != 2 || first->item.sends == b->items[each + k].item.sends))
			continue;
		if (out->set_count >= COLLECTIVE_NONE)
			return SB_ELIMIT;
		for (size_t m = 0; m < b->members; m++) {
			out->items[out->count] = b->items[m * each + k].item;
			out->items[out->count++].set = (uint32_t)out->set_count;
		}
		if (sb_grow(&out->sets, out->set_count, sizeof(set)) != SB_OK)
			return SB_ENOMEM;
		out->sets[out->set_count++] = set;
	}
	return SB_OK;
}

/* Several of one key on one member: their order tells, over the whole capture if all members have the same
 * steps, else step by step. */
static int match_bucket(struct drafts *d, struct draft *items, size_t n)
{
	struct bucket b = look(items, n);
	int rc = SB_OK;

	if (b.members < 2)
		return SB_OK;
	if (b.equal && (n == b.members || b.same_steps))
		return make_sets(d, &b);
	qsort(items, n, sizeof(*items), by_step);
	for (size_t from = 0, to = 0; from < n && rc == SB_OK; from = to) {
		struct bucket one;

		while (to < n && items[to].item.step == items[from].item.step)
			to++;
		one = look(items + from, to - from);
		rc = make_sets(d, &one);
	}
	return rc;
}

/* A set's place among those of its domain. */
struct place {
	int64_t domain, step, start;
	size_t set;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const int64_t left[] = {x->domain, x->step, x->start, (int64_t)x->set};
	const int64_t right[] = {y->domain, y->step, y->start, (int64_t)y->set};

	return sb_compare(left, right, 4);
}

/* Puts the sets in the order in which the first member came to them. */
static int order_sets(struct collectives *c)
{
	struct place *places = calloc(c->set_count + 1, sizeof(*places));
	struct collective *items = calloc(c->count + 1, sizeof(*items));
	struct collective_set *sets = calloc(c->set_count + 1, sizeof(*sets));
	size_t n = 0;

	if (!places || !items || !sets) {
		free(places);
		free(items);
		free(sets);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < c->set_count; i++) {
		const struct collective *first = &c->items[c->sets[i].first];

		places[i] = (struct place){c->sets[i].domain, first->step, first->start_ns, i};
	}
	qsort(places, c->set_count, sizeof(*places), by_place);
	for (size_t i = 0; i < c->set_count; i++) {
		const struct collective_set *from = &c->sets[places[i].set];

		sets[i] = *from;
		sets[i].first = n;
		for (size_t k = 0; k < from->count; k++) {
			items[n] = c->items[from->first + k];
			items[n++].set = (uint32_t)i;
		}
	}
	free(places);
	free(c->items);
	free(c->sets);
	c->items = items;
	c->sets = sets;
	return SB_OK;
}

/* What each member took part in. */
static int list_items(struct collectives *c)
{
	c->member_items = calloc(c->count + 1, sizeof(*c->member_items));
	c->first_item = calloc(c->member_count + 2, sizeof(*c->first_item));
	if (!c->member_items || !c->first_item)
		return SB_ENOMEM;
	/* counted one place further on, so that the counts are the places to fill, and then the ends */
	for (size_t i = 0; i < c->count; i++)
		c->first_item[c->items[i].member + 2]++;
	for (size_t m = 2; m < c->member_count + 2; m++)
		c->first_item[m] += c->first_item[m - 1];
	for (size_t i = 0; i < c->count; i++)
		c->member_items[c->first_item[c->items[i].member + 1]++] = (uint32_t)i;
	return SB_OK;
}

int collectives_pair_up(struct drafts *d)
{
	int rc = list_members(d);

	if (rc != SB_OK)
		return rc;
	direct_pairs(d);
	d->out.items = calloc(d->count + 1, sizeof(*d->out.items));
	if (!d->out.items)
		return SB_ENOMEM;
	if (d->count > 0)
		qsort(d->items, d->count, sizeof(*d->items), by_member);
	for (size_t from = 0, to = 0; from < d->count && rc == SB_OK; from = to) {
		while (to < d->count && by_key(&d->items[from], &d->items[to]) == 0)
			to++;
		rc = match_bucket(d, d->items + from, to - from);
	}
	if (rc == SB_OK)
		rc = order_sets(&d->out);
	return rc == SB_OK ? list_items(&d->out) : rc;
}

static void drafts_free(struct drafts *d)
{
	collectives_free(&d->out);
	free(d->items);
	free(d->domain_of_text);
}

int collectives_match(const struct profile *p, struct collectives *out)
{
	__attribute__((cleanup(drafts_free))) struct drafts d = {.count = 0};
	int rc = sb_strings_new(&d.out.texts);

	for (size_t i = 0; i < p->count && i < COLLECTIVE_NONE && rc == SB_OK; i++)
		rc = collectives_collect(&d, p, (uint32_t)i);
	if (rc == SB_OK)
		rc = collectives_pair_up(&d);
	if (rc != SB_OK)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
		return rc;
	*out = d.out;
	d.out = (struct collectives){0};
	return SB_OK;
}

void collectives_free(struct collectives *c)
{
	free(c->items);
	free(c->sets);
	free(c->domains);
	free(c->members);
	free(c->domain_members);
	free(c->member_items);
	free(c->first_item);
	sb_strings_free(&c->texts);
	*c = (struct collectives){0};
}
