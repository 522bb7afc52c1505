#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/communication.h"
#include "profiler/efficiency/efficiency.h"

/* Collectives by size. Of those of one size the shortest tells the transfer: in the others a rank waits for
 * the rest. */

struct sized {
	struct collective_rate of; /* kind, ranks and span alone */
	struct rate_point point;
};
struct sizes {
	struct sized *items;
	size_t count;
};

/* How many ranks a list names, and how far they lie apart. A list that was cut short ("...") tells nothing.
 */
static void read_ranks(const char *list, int64_t *out_ranks, int64_t *out_span)
{
	int64_t first = INT64_MAX, last = -1, n = 0;

	*out_ranks = 0;
	*out_span = -1;
	if (strstr(list, ".."))
		return;
	while (*list) {
		size_t digits = strspn(list, "0123456789");
		int64_t rank;

		if (digits > 0 && sb_parse_int(list, digits, &rank) == SB_OK) {
			first = rank < first ? rank : first;
			last = rank > last ? rank : last;
			n++;
		}
		list += digits + (list[digits] != '\0');
	}
	*out_ranks = n;
	if (n > 0)
		*out_span = last - first;
}

static int add(struct sizes *s, enum collective_kind kind, int64_t ranks, int64_t span, double bytes,
               double seconds)
{
	if (kind == COLLECTIVE_OTHER || ranks < 2 || !(bytes > 0) || !(seconds > 0))
		return SB_OK;
	if (sb_grow(&s->items, s->count, sizeof(*s->items)) != SB_OK)
		return SB_ENOMEM;
	s->items[s->count++] =
	    (struct sized){{.kind = kind, .ranks = ranks, .span = span}, {bytes, seconds, 1}};
	return SB_OK;
}

/* A timeline of GPUs: bytes are those of the whole buffer. */
static int add_events(const struct capture *c, struct sizes *s)
{
	const struct trace *t = &c->trace;
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < t->detail_count; i++) {
		const struct event_detail *d = &t->details[i];
		enum collective_kind kind;
		int64_t ranks, span;

		if (t->kind[d->event] != EVENT_COMMUNICATION || d->bytes == SB_NULL || d->ranks == 0)
			continue;
		kind = collective_kind_of(trace_text(t, d->type ? d->type : t->name[d->event], NULL));
		read_ranks(trace_text(t, d->ranks, NULL), &ranks, &span);
		rc = add(s, kind, ranks, span, (double)d->bytes * bus_factor(kind, (double)ranks),
		         (double)t->dur_ns[d->event] / 1e9);
	}
	return rc;
}

static int by_place(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;
	const int64_t left[] = {x->of.kind, x->of.ranks, x->of.span};
	const int64_t right[] = {y->of.kind, y->of.ranks, y->of.span};

	return sb_compare(left, right, 3);
}

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
			if (op->links[k].bytes >= LINK_LEAST_BYTES && op->links[k].transit_us > 0)
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
