#include "tests/generate/truth.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void append(struct spans *to, const struct spans *from)
{
	for (int64_t i = 0; i < from->count; i++)
		spans_add(to, from->items[i].start, from->items[i].end);
}

struct truth_row truth_measure(struct spans *work, struct spans *link, struct spans *copies)
{
	SPANS_AUTO both = {0};
	SPANS_AUTO all = {0};
	struct truth_row row = {.step_ns = -1, .bubble_ns = -1, .preparing_ns = -1};
	int64_t covered;

	spans_merge(work);
	spans_merge(link);
	spans_merge(copies);
	append(&both, work);
	append(&both, link);
	spans_merge(&both);
	append(&all, &both);
	append(&all, copies);
	spans_merge(&all);
	covered = spans_total(&both);
	row.busy_ns = spans_total(&all);
	row.span_ns = all.count ? all.items[all.count - 1].end - all.items[0].start : 0;
	row.compute_ns = spans_total(work);
	row.communication_ns = spans_total(link);
	row.communication_exposed_ns = covered - row.compute_ns;
	row.overlap_ns = row.communication_ns - row.communication_exposed_ns;
	row.copy_ns = spans_total(copies);
	row.copy_exposed_ns = row.busy_ns - covered;
	row.free_ns = row.span_ns - row.busy_ns;
	return row;
}

void truth_write_row(struct out *out, const struct truth_row *row)
{
	const struct {
		const char *name;
		int64_t value;
	} members[] = {
	    {"step_ns", row->step_ns},
	    {"span_ns", row->span_ns},
	    {"busy_ns", row->busy_ns},
	    {"compute_ns", row->compute_ns},
	    {"communication_ns", row->communication_ns},
	    {"communication_exposed_ns", row->communication_exposed_ns},
	    {"overlap_ns", row->overlap_ns},
	    {"copy_ns", row->copy_ns},
	    {"copy_exposed_ns", row->copy_exposed_ns},
	    {"free_ns", row->free_ns},
	    {"bubble_ns", row->bubble_ns},
	    {"preparing_ns", row->preparing_ns},
	};

	out_text(out, "{");
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		out_fmt(out, "%s\"%s\": ", i ? ", " : "", members[i].name);
		if (members[i].value < 0)
			out_text(out, "null");
		else
			out_int(out, members[i].value);
	}
	out_text(out, "}");
}

void truth_tally_add(struct truth_tally *t, const char *name, int64_t ns)
{
	int64_t i = 0;

	/* The generator knows a few dozen names: a walk is enough. */
	while (i < t->count && strcmp(t->items[i].name, name) != 0)
		i++;
	if (i == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->items = out_alloc(t->items, t->cap, sizeof(*t->items));
	}
	if (i == t->count) {
		t->items[i] = (struct truth_name){name, 0, 0, ns, ns};
		t->count++;
	}
	t->items[i].count++;
	t->items[i].total += ns;
	t->items[i].low = ns < t->items[i].low ? ns : t->items[i].low;
	t->items[i].high = ns > t->items[i].high ? ns : t->items[i].high;
}

void truth_tally_free(struct truth_tally *t)
{
	free(t->items);
	*t = (struct truth_tally){0};
}

void truth_write_tally(struct out *out, struct truth_tally *t)
{
	/* Insertion sort keeps equal totals in their order. */
	for (int64_t i = 1; i < t->count; i++) {
		struct truth_name x = t->items[i];
		int64_t j = i;

		for (; j > 0 && t->items[j - 1].total < x.total; j--)
			t->items[j] = t->items[j - 1];
		t->items[j] = x;
	}
	out_text(out, "[");
	for (int64_t i = 0; i < t->count; i++) {
		const struct truth_name *n = &t->items[i];

		out_fmt(out, "%s\n  {\"name\": ", i ? "," : "");
		out_json(out, n->name);
		out_fmt(out,
		        ", \"count\": %" PRId64 ", \"total_ns\": %" PRId64 ", \"min_ns\": %" PRId64
		        ", \"max_ns\": %" PRId64 "}",
		        n->count, n->total, n->low, n->high);
	}
	out_text(out, "]");
}
