#include "profiler/whatif.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/activity.h"
#include "profiler/kernel_name.h"

/* Spans of an operator on a lane of the host. */
struct span {
	uint32_t lane;
	int64_t start, end;
};

struct asking {
	const struct replay_graph *g;
	struct whatif_change *change;
	struct relief **reliefs;
	size_t *count;
	struct span *spans;
	size_t span_count;
};

static int add(struct asking *a, enum relief_kind kind, uint32_t capture, size_t index, double factor)
{
	if (*a->count >= WHATIF_RELIEFS_MAX)
		return SB_ELIMIT;
	if (sb_grow(a->reliefs, *a->count, sizeof(**a->reliefs)) != SB_OK)
		return SB_ENOMEM;
	(*a->reliefs)[(*a->count)++] = (struct relief){kind, capture, (uint32_t)index, (float)factor};
	return SB_OK;
}

/* Does the text hold the word, where only letters and digits count? A word without any is in no text. */
static bool holds_word(const char *text, const char *word)
{
	while (*word && !isalnum((unsigned char)*word))
		word++;
	if (!*word)
		return false;
	for (; *text; text++) {
		const char *t = text, *w = word;

		for (;;) {
			while (*w && !isalnum((unsigned char)*w))
				w++;
			while (*t && !isalnum((unsigned char)*t))
				t++;
			if (!*w)
				return true;
			if (!*t || tolower((unsigned char)*t) != tolower((unsigned char)*w))
				break;
			t++;
			w++;
		}
	}
	return false;
}

static bool is_operation(const struct trace *t, size_t event, const char *word)
{
	const struct event_detail *d = trace_detail(t, (uint32_t)event);

	return holds_word(trace_text(t, t->name[event], NULL), word) ||
	       (d && d->type && holds_word(trace_text(t, d->type, NULL), word));
}

/* A kernel by its name or its type. */
static bool is_kernel(const struct trace *t, size_t event, const char *name)
{
	size_t len;
	const char *text = trace_text(t, t->name[event], &len);
	char type[1024];

	if (strcmp(text, name) == 0)
		return true;
	(void)kernel_type(text, len, type, sizeof(type));
	return strcmp(type, name) == 0;
}

/* All collectives, or those of an operation, or copies. */
static int ask_events(struct asking *a, uint32_t capture, const struct trace *t)
{
	struct whatif_change *c = a->change;
	int rc = SB_OK;

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		bool is = c->about == WHATIF_COPY
		              ? t->kind[i] == EVENT_MEMCPY || t->kind[i] == EVENT_MEMSET
		              : t->kind[i] == EVENT_COMMUNICATION && is_operation(t, i, c->name);

		if (!is)
			continue;
		c->matched++;
		rc = add(a, RELIEF_EVENT, capture, i, c->factor);
	}
	return rc;
}

static int by_lane(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	return sb_compare((const int64_t[]){a->lane, a->start, a->end},
	                  (const int64_t[]){b->lane, b->start, b->end}, 3);
}

/* The host's events of that name, made disjoint. */
static int find_spans(struct asking *a, uint32_t capture, const struct trace *t, uint32_t name)
{
	size_t kept = 0;
	int rc = SB_OK;

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		if (t->name[i] != name || t->kind[i] < EVENT_HOST_OP || t->kind[i] > EVENT_HOST_GARBAGE)
			continue;
		a->change->matched++;
		rc = add(a, RELIEF_EVENT, capture, i, a->change->factor);
		if (rc == SB_OK)
			rc = sb_grow(&a->spans, a->span_count, sizeof(*a->spans));
		if (rc == SB_OK)
			a->spans[a->span_count++] = (struct span){t->lane[i], t->start_ns[i],
			                                          sb_add_sat(t->start_ns[i], t->dur_ns[i])};
	}
	if (rc != SB_OK || a->span_count == 0)
		return rc;
	qsort(a->spans, a->span_count, sizeof(*a->spans), by_lane);
	for (size_t i = 0; i < a->span_count; i++) {
		struct span *last = kept > 0 ? &a->spans[kept - 1] : NULL;

		if (last && last->lane == a->spans[i].lane && a->spans[i].start < last->end)
			last->end = a->spans[i].end > last->end ? a->spans[i].end : last->end;
		else
			a->spans[kept++] = a->spans[i];
	}
	a->span_count = kept;
	return SB_OK;
}

static bool in_span(const struct asking *a, uint32_t lane, int64_t time)
{
	size_t at =
	    SB_BISECT(i, 0, a->span_count,
	              a->spans[i].lane < lane || (a->spans[i].lane == lane && a->spans[i].start <= time));

	return at > 0 && a->spans[at - 1].lane == lane && time < a->spans[at - 1].end;
}

static int ask_operator(struct asking *a, uint32_t capture, const struct trace *t)
{
	LAUNCHES_AUTO launches = {0};
	uint32_t name = sb_strings_find(t->strings, a->change->name, strlen(a->change->name));
	int rc = launches_build(t, &launches);

	a->span_count = 0;
	if (rc == SB_OK && name != 0)
		rc = find_spans(a, capture, t, name);
	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		const struct launch *by;

		if (!event_is_device_work(t->kind[i]))
			continue;
		by = a->span_count > 0 ? launches_find(&launches, t->link[i]) : NULL;
		if (!(by && in_span(a, t->lane[by->event], by->start)) && !is_kernel(t, i, a->change->name))
			continue;
		a->change->matched++;
		rc = add(a, RELIEF_EVENT, capture, i, a->change->factor);
	}
	return rc;
}

static int ask_whole(struct asking *a, uint32_t capture)
{
	const struct replay_totals t = replay_total(a->g, capture);
	struct whatif_change *c = a->change;

	c->matched += c->about == WHATIF_COMPUTE         ? t.kernels
	              : c->about == WHATIF_COMMUNICATION ? t.collectives
	                                                 : t.launches;
	return add(a,
	           c->about == WHATIF_COMPUTE         ? RELIEF_DEVICE
	           : c->about == WHATIF_COMMUNICATION ? RELIEF_LINK
	                                              : RELIEF_HOST,
	           capture, 0, c->factor);
}

static int by_number(const void *x, const void *y)
{
	const double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* The middle of the others' totals over the rank's own, at most 1: no rank is made slower. */
static double as_fast(double *others, size_t n, double own)
{
	double middle;

	if (n == 0 || !(own > 0))
		return 1;
	qsort(others, n, sizeof(*others), by_number);
	middle = n % 2 ? others[n / 2] : (others[n / 2 - 1] + others[n / 2]) / 2;
	return middle < own ? middle / own : 1;
}

static int ask_rank(struct asking *a)
{
	const struct profile *p = replay_profile(a->g);
	struct whatif_change *c = a->change;
	double *compute = calloc(p->count + 1, sizeof(*compute));
	double *host = calloc(p->count + 1, sizeof(*host));
	struct replay_totals own = {0};
	uint32_t capture = UINT32_MAX;
	size_t n = 0;
	int rc = compute && host ? SB_OK : SB_ENOMEM;

	for (uint32_t i = 0; rc == SB_OK && i < p->count; i++) {
		const struct replay_totals t = replay_total(a->g, i);

		if (!replay_holds(a->g, i))
			continue;
		if (p->captures[i].rank == c->rank && capture == UINT32_MAX) {
			capture = i;
			own = t;
			continue;
		}
		compute[n] = (double)t.compute_ns;
		host[n++] = (double)t.host_ns;
	}
	if (rc == SB_OK && capture != UINT32_MAX && n > 0) {
		c->compute_factor = as_fast(compute, n, (double)own.compute_ns);
		c->host_factor = as_fast(host, n, (double)own.host_ns);
		c->matched = own.kernels + own.launches;
		rc = add(a, RELIEF_DEVICE, capture, 0, c->compute_factor);
		if (rc == SB_OK)
			rc = add(a, RELIEF_HOST, capture, 0, c->host_factor);
	}
	free(compute);
	free(host);
	return rc;
}

int whatif_add(const struct replay_graph *g, struct whatif_change *change, struct relief **reliefs,
               size_t *count)
{
	struct asking a = {.g = g, .change = change, .reliefs = reliefs, .count = count};
	const struct profile *p = replay_profile(g);
	int rc = SB_OK;

	change->matched = 0;
	change->compute_factor = change->host_factor = NAN;
	if (change->about == WHATIF_RANK)
		return ask_rank(&a);
	for (uint32_t i = 0; i < p->count && rc == SB_OK; i++) {
		const struct capture *c = &p->captures[i];

		if (!replay_holds(g, i) || (change->rank != SB_NULL && c->rank != change->rank))
			continue;
		if (change->about == WHATIF_OPERATOR)
			rc = ask_operator(&a, i, &c->trace);
		else if (change->about == WHATIF_COPY || change->name)
			rc = ask_events(&a, i, &c->trace);
		else
			rc = ask_whole(&a, i);
	}
	free(a.spans);
	return rc;
}
