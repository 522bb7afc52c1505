#include <stdlib.h>

#include "base/grow.h"
#include "profiler/read/kineto_impl.h"

int kineto_mark(struct kineto *k, const struct chrome_event *e, uint32_t event)
{
	struct kineto_pairs *p = &k->pairs;
	struct id_key key = {0};
	struct kineto_mark m = {.ts_ns = e->ts_ns, .offset = e->offset, .event = event, .order = p->count};
	int rc;

	if (e->ts != CHROME_TIME_OK) {
		jpull_note(&k->bad_ts, e->offset);
		return SB_OK;
	}
	rc = sb_strings_add(k->trace.strings, e->pid.text, e->pid.len, &key.a);
	if (rc == SB_OK)
		rc = sb_strings_add(k->trace.strings, e->tid.text, e->tid.len, &key.b);
	if (rc == SB_OK && !id_map_get(&p->places, key, &m.place)) {
		m.place = (uint32_t)p->places.count;
		rc = id_map_put(&p->places, key, m.place);
	}
	if (rc == SB_OK)
		rc = sb_grow(&p->marks, p->count, sizeof(*p->marks));
	if (rc == SB_OK)
		p->marks[p->count++] = m;
	return rc;
}

static int by_order(const void *a, const void *b)
{
	const struct kineto_mark *x = a, *y = b;
	const int64_t left[] = {x->place, (int64_t)x->order}, right[] = {y->place, (int64_t)y->order};

	return sb_compare(left, right, 2);
}

/* Ends first: of two spans that touch, the earlier one is over before the later one begins. */
static int by_time(const void *a, const void *b)
{
	const struct kineto_mark *x = a, *y = b;
	const int64_t left[] = {x->ts_ns, x->event != KINETO_END, (int64_t)x->order},
	              right[] = {y->ts_ns, y->event != KINETO_END, (int64_t)y->order};

	return sb_compare(left, right, 3);
}

/* Spans of one pid and tid that are open. */
struct open {
	const struct kineto_mark **stack;
	size_t depth;
};

static void close_top(struct kineto *k, struct open *o, int64_t ts)
{
	const struct kineto_mark *begin = o->stack[--o->depth];

	k->trace.dur_ns[begin->event] = sb_sub_sat(ts, begin->ts_ns);
}

/* Joins the marks of one place. Where the file is in order of time, that order is the nesting; else it is
 * lost, and an end that has nothing to close belongs to a span of no length that begins at the same time. */
static void join_place(struct kineto *k, struct kineto_mark *marks, size_t n, struct open *o,
                       struct jpull_flaw *unmatched, struct jpull_flaw *unclosed)
{
	bool in_order = true;
	size_t early = 0; /* ends, at the present time, that wait for their begin */

	for (size_t i = 1; i < n; i++)
		in_order = in_order && marks[i - 1].ts_ns <= marks[i].ts_ns;
	if (!in_order)
		qsort(marks, n, sizeof(*marks), by_time);
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && marks[i].ts_ns != marks[i - 1].ts_ns)
			early = 0;
		if (marks[i].event != KINETO_END) {
			o->stack[o->depth++] = &marks[i];
			if (early > 0) {
				close_top(k, o, marks[i].ts_ns);
				early--;
				unmatched->count--;
			}
		} else if (o->depth > 0) {
			close_top(k, o, marks[i].ts_ns);
		} else {
			jpull_note(unmatched, marks[i].offset);
			early += !in_order;
		}
	}
	while (o->depth > 0)
		jpull_note(unclosed, o->stack[--o->depth]->offset);
}

int kineto_join_marks(struct kineto *k)
{
	struct kineto_pairs *p = &k->pairs;
	struct open o = {0};
	struct jpull_flaw unmatched = {0}, unclosed = {0};

	if (p->count == 0)
		return SB_OK;
	o.stack = calloc(p->count, sizeof(struct kineto_mark *));
	if (!o.stack)
		return SB_ENOMEM;
	qsort(p->marks, p->count, sizeof(*p->marks), by_order);
	for (size_t from = 0, to; from < p->count; from = to) {
		for (to = from + 1; to < p->count && p->marks[to].place == p->marks[from].place;)
			to++;
		join_place(k, p->marks + from, to - from, &o, &unmatched, &unclosed);
	}
	free(o.stack);
	kineto_warn(k, &unmatched, "unmatched_end", "An end (ph E) closes nothing and was left out.");
	kineto_warn(k, &unclosed, "unclosed_span",
	            "A span begins (ph B) and does not end; it lasts to the end of the trace.");
	return SB_OK;
}

void kineto_close_spans(struct kineto *k)
{
	struct trace *t = &k->trace;
	int64_t end = INT64_MIN;

	if (k->pairs.count == 0)
		return;
	for (size_t i = 0; i < t->count; i++) {
		int64_t last = sb_add_sat(t->start_ns[i], t->dur_ns[i] > 0 ? t->dur_ns[i] : 0);

		end = last > end ? last : end;
	}
	for (size_t i = 0; i < t->count; i++)
		if (t->dur_ns[i] < 0)
			t->dur_ns[i] = sb_sub_sat(end, t->start_ns[i]);
}
