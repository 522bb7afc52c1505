#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/communication.h"
#include "profiler/efficiency/efficiency.h"

/* Collectives by size. Of those of one size the shortest tells the transfer: in the others a rank waits for
 * the rest. */

struct sized {
	struct collective_rate of; /* kind, ranks, span and stride alone */
	uint32_t list;             /* text of the ranks */
	double bytes;              /* of the whole buffer */
	struct rate_point point;
};
struct sizes {
	struct sized *items;
	size_t count;
};

/* How many ranks a list names, and how they lie. A list that was cut short ("...") tells nothing. */
static void read_ranks(const char *list, struct collective_rate *of)
{
	int64_t lowest = INT64_MAX, highest = -1, last = -1, n = 0, stride = -1, rank;
	bool even = true;

	of->ranks = 0;
	of->span = of->stride = -1;
	if (strstr(list, ".."))
		return;
	for (; *list; list += *list != '\0') {
		size_t digits = strspn(list, "0123456789");

		if (digits == 0 || sb_parse_int(list, digits, &rank) != SB_OK)
			continue;
		if (n == 1)
			stride = rank - last;
		even = even && (n == 0 || rank - last == stride);
		lowest = rank < lowest ? rank : lowest;
		highest = rank > highest ? rank : highest;
		last = rank;
		n++;
		list += digits - 1;
	}
	of->ranks = n;
	of->span = n > 0 ? highest - lowest : -1;
	/* n - 1 strides are no more than the last rank, so n of them do not overflow by much */
	if (even && n > 1 && stride > 0 && highest < INT64_MAX / 2 && lowest % (n * stride) < stride)
		of->stride = stride;
}

static int by_list(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;

	return (x->list > y->list) - (x->list < y->list);
}

/* Looks at each list once, however many collectives name it, and drops those of which too little is known. */
static void place_ranks(const struct trace *t, size_t from, struct sizes *s)
{
	size_t n = from;

	if (s->count > from)
		qsort(s->items + from, s->count - from, sizeof(*s->items), by_list);
	for (size_t i = from; i < s->count; i++) {
		struct sized *x = &s->items[i];

		if (i > from && x->list == x[-1].list) {
			x->of.ranks = x[-1].of.ranks;
			x->of.span = x[-1].of.span;
			x->of.stride = x[-1].of.stride;
		} else {
			read_ranks(trace_text(t, x->list, NULL), &x->of);
		}
	}
	for (size_t i = from; i < s->count; i++) {
		struct sized x = s->items[i];

		x.point.amount = x.bytes * bus_factor(x.of.kind, (double)x.of.ranks);
		if (x.of.ranks >= 2)
			s->items[n++] = x;
	}
	s->count = n;
}

/* A timeline of GPUs: bytes are those of the whole buffer. */
static int add_events(const struct capture *c, struct sizes *s)
{
	const struct trace *t = &c->trace;
	size_t from = s->count;

	for (size_t i = 0; i < t->detail_count; i++) {
		const struct event_detail *d = &t->details[i];
		struct sized x = {.list = d->ranks, .bytes = (double)d->bytes, .point = {.calls = 1}};

		if (t->kind[d->event] != EVENT_COMMUNICATION || d->bytes == SB_NULL || d->bytes <= 0 ||
		    d->ranks == 0 || t->dur_ns[d->event] <= 0)
			continue;
		x.of.kind = collective_kind_of(trace_text(t, d->type ? d->type : t->name[d->event], NULL));
		if (x.of.kind == COLLECTIVE_OTHER)
			continue;
		x.point.seconds = (double)t->dur_ns[d->event] / 1e9;
		if (sb_grow(&s->items, s->count, sizeof(*s->items)) != SB_OK)
			return SB_ENOMEM;
		s->items[s->count++] = x;
	}
	place_ranks(t, from, s);
	return SB_OK;
}

static int by_place(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;
	const int64_t left[] = {x->of.kind, x->of.ranks, x->of.span, x->of.stride};
	const int64_t right[] = {y->of.kind, y->of.ranks, y->of.span, y->of.stride};

	return sb_compare(left, right, 4);
}

/* What starts a collective is at most about so long for each step of a ring (cost-model section 7: 40 to 90
 * us in all on eight A100). A line that needs more tells that the ranks waited for each other. */
#define STEP_SECONDS_MOST (100e-6)

static int add_place(const struct sized *of, size_t count, struct efficiency *e)
{
	struct rate_point *points = malloc(count * sizeof(*points));
	struct collective_rate *r = &e->collectives[e->collective_count];
	size_t n;

	if (!points)
		return SB_ENOMEM;
	for (size_t i = 0; i < count; i++)
		points[i] = of[i].point;
	n = rate_points_merge(points, count, true);
	*r = of[0].of;
	r->calls = (int64_t)count;
	r->largest_bytes = points[n - 1].amount;
	r->bus_bytes_per_second = points[n - 1].amount / points[n - 1].seconds;
	r->fit = rate_fit_of(points, n);
	if (r->fit.overhead > 2 * (double)(r->ranks - 1) * STEP_SECONDS_MOST)
		r->fit = (struct rate_fit){NAN, NAN, NAN};
	e->collective_count++;
	free(points);
	return SB_OK;
}

/* Small transfers tell the latency, not the rate. */
#define LINK_LEAST_BYTES (1 << 20)

static void add_link(const struct link *l, struct efficiency *e)
{
	size_t i = 0;

	while (i < e->link_count && strcmp(e->links[i].name, l->name) != 0)
		i++;
	if (i == LINKS_MAX)
		return;
	if (i == e->link_count)
		e->links[e->link_count++] = (struct link_rate_sum){.name = l->name};
	e->links[i].sum.calls++;
	e->links[i].sum.amount += (double)l->bytes;
	e->links[i].sum.seconds += l->transit_us / 1e6;
}

static void add_links(const struct capture *c, struct efficiency *e)
{
	for (size_t i = 0; i < c->communication_count; i++) {
		const struct communication_op *op = &c->communications[i];

		for (size_t k = 0; k < op->link_count; k++)
			if (op->links[k].bytes >= LINK_LEAST_BYTES && op->links[k].transit_us >= 1e-3)
				add_link(&op->links[k], e);
	}
}

int collective_rates(const struct profile *p, struct efficiency *e)
{
	struct sizes s = {0};
	int rc = SB_OK;
	size_t next;

	for (size_t i = 0; rc == SB_OK && i < p->count; i++) {
		add_links(&p->captures[i], e);
		if (!capture_is_ascend(&p->captures[i]))
			rc = add_events(&p->captures[i], &s);
	}
	if (s.count > 0)
		qsort(s.items, s.count, sizeof(*s.items), by_place);
	for (size_t i = 0; rc == SB_OK && i < s.count && e->collective_count < COLLECTIVE_RATES_MAX;
	     i = next) {
		for (next = i; next < s.count && by_place(&s.items[i], &s.items[next]) == 0; next++)
			;
		rc = add_place(&s.items[i], next - i, e);
	}
	free(s.items);
	return rc;
}
