#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "profiler/breakdown_parts.h"

/* A stretch of device time and the step that it starts in. */
struct piece {
	int64_t start, dur;
	uint32_t step;
	uint8_t kind; /* EVENT_LANE_*; EVENT_KERNEL, EVENT_COMMUNICATION; PIECE_RECEIVE */
};
#define PIECE_RECEIVE EVENT_KIND_COUNT

struct pieces {
	struct piece *items; /* by step, NO_STEP last */
	size_t count;
};

static void pieces_free(struct pieces *p)
{
	free(p->items);
}

struct numbered {
	int64_t number;
	uint32_t step;
};

struct ascend {
	const struct capture *c;
	struct step_windows windows;
	struct numbered *numbers; /* by number, then index */
	size_t number_count;
	const struct step_trace **csv; /* of each step; NULL = none */
	bool reduces_only; /* the kernels are the reduces of msprof's step_trace: compute is unknown */
};

static void ascend_free(struct ascend *a)
{
	step_windows_free(&a->windows);
	free(a->numbers);
	free(a->csv);
}

static int by_number(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

static uint32_t step_numbered(const struct ascend *a, int64_t number)
{
	size_t at = SB_BISECT(i, 0, a->number_count, a->numbers[i].number < number);

	return number != SB_NULL && at < a->number_count && a->numbers[at].number == number
	           ? a->numbers[at].step
	           : NO_STEP;
}

static int ascend_init(struct ascend *a)
{
	a->numbers = calloc(a->c->step_count + 1, sizeof(*a->numbers));
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	a->csv = calloc(a->c->step_count + 1, sizeof(*a->csv));
	if (!a->numbers || !a->csv)
		return SB_ENOMEM;
	for (size_t i = 0; i < a->c->step_count; i++)
		if (a->c->steps[i].number != SB_NULL)
			a->numbers[a->number_count++] = (struct numbered){a->c->steps[i].number, (uint32_t)i};
	qsort(a->numbers, a->number_count, sizeof(*a->numbers), by_number);
	for (size_t i = 0; i < a->c->step_trace_count; i++) {
		uint32_t step = step_numbered(a, a->c->step_traces[i].step);

		if (step != NO_STEP && !a->csv[step])
			a->csv[step] = &a->c->step_traces[i];
	}
	return step_windows_build(a->c, &a->windows);
}

static int by_step(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static bool is_receive(const struct capture *c, uint32_t name)
{
	return strncmp(trace_text(&c->trace, name, NULL), "hcom_receive", 12) == 0;
}

/* Which piece an event is for this source, or -1. */
static int piece_kind(const struct capture *c, enum ascend_source source, size_t i)
{
	uint8_t kind = c->trace.kind[i];

	if (source == ASCEND_LANE && kind >= EVENT_LANE_COMPUTE && kind <= EVENT_LANE_FREE)
		return kind;
	if (source == ASCEND_LANE && kind == EVENT_COMMUNICATION && is_receive(c, c->trace.name[i]))
		return PIECE_RECEIVE;
	if (source == ASCEND_DEVICE && (kind == EVENT_KERNEL || kind == EVENT_COMMUNICATION))
		return kind;
	return -1;
}

static void pieces_of_trace(const struct ascend *a, enum ascend_source source, struct pieces *out)
{
	const struct trace *t = &a->c->trace;

	for (size_t i = 0; i < t->count; i++) {
		int kind = piece_kind(a->c, source, i);
		struct piece p = {t->start_ns[i], t->dur_ns[i], NO_STEP, (uint8_t)kind};

		if (kind < 0)
			continue;
		p.step = step_windows_at(&a->windows, p.start);
		out->items[out->count++] = p;
		if (kind != EVENT_COMMUNICATION || !is_receive(a->c, t->name[i]))
			continue;
		p.kind = PIECE_RECEIVE;
		out->items[out->count++] = p;
	}
}

static void pieces_of_kernels(const struct ascend *a, struct pieces *out)
{
	for (size_t i = 0; i < a->c->kernel_count; i++) {
		const struct kernel *k = &a->c->kernels[i];
		uint32_t step = step_numbered(a, k->step);

		if (step == NO_STEP)
			step = step_windows_at(&a->windows, k->start_ns);
		out->items[out->count++] = (struct piece){
		    k->start_ns, k->dur_ns, step, k->communication ? EVENT_COMMUNICATION : EVENT_KERNEL};
		/* MindSpore names a row by its node, and the operator by its type */
		if (k->communication && (is_receive(a->c, k->name) || is_receive(a->c, k->type)))
			out->items[out->count++] =
			    (struct piece){k->start_ns, k->dur_ns, step, PIECE_RECEIVE};
	}
}

static int collect_pieces(const struct ascend *a, enum ascend_source source, struct pieces *out)
{
	size_t n = 2 * a->c->kernel_count;

	if (source == ASCEND_LANE || source == ASCEND_DEVICE) {
		n = 0;
		for (size_t i = 0; i < a->c->trace.count; i++)
			n += piece_kind(a->c, source, i) >= 0 ? 2 : 0;
	} else if (source != ASCEND_KERNELS) {
		n = 0;
	}
	out->items = malloc((n + 1) * sizeof(*out->items));
	if (!out->items)
		return SB_ENOMEM;
	if (source == ASCEND_KERNELS)
		pieces_of_kernels(a, out);
	else if (n > 0)
		pieces_of_trace(a, source, out);
	qsort(out->items, out->count, sizeof(*out->items), by_step);
	return SB_OK;
}

/* What the pieces of one row add up to. */
struct sums {
	int64_t of[EVENT_KIND_COUNT + 1];
	int64_t first, last; /* of all lanes */
	int64_t first_work;  /* of compute and communication */
	size_t count;        /* receive operators not counted */
};

static int add_up(const struct piece *items, size_t n, struct sums *s, struct activity *a)
{
	int rc = SB_OK;

	*s = (struct sums){.first = SB_NULL, .last = SB_NULL, .first_work = SB_NULL};
	for (size_t i = 0; i < n && rc == SB_OK; i++) {
		const struct piece *p = &items[i];
		int64_t start = interval_bound(p->start), end = interval_end(p->start, p->dur);

		s->of[p->kind] = sb_add_sat(s->of[p->kind], end - start);
		if (p->kind == PIECE_RECEIVE)
			continue;
		s->count++;
		if (s->first == SB_NULL || start < s->first)
			s->first = start;
		if (s->last == SB_NULL || end > s->last)
			s->last = end;
		if (p->kind == EVENT_LANE_EXPOSED || p->kind == EVENT_LANE_FREE)
			continue;
		if (s->first_work == SB_NULL || start < s->first_work)
			s->first_work = start;
		rc = activity_add(a, p->kind, p->start, p->dur);
	}
	activity_normalise(a);
	return rc;
}

static void fill_row(const struct sums *s, const struct activity *a, bool lane, struct breakdown_row *row)
{
	int64_t total = s->last - s->first, bubble = s->of[PIECE_RECEIVE];
	int64_t compute = s->of[EVENT_LANE_COMPUTE], exposed = s->of[EVENT_LANE_EXPOSED];
	int64_t communication = s->of[EVENT_LANE_COMMUNICATION], free_ns = s->of[EVENT_LANE_FREE];

	/* The lane's own sums are the definition. Where they do not tile the span (cut at a step's edge, a
	 * damaged lane), or there is no lane, the unions of compute and communication do. */
	if (!lane || sb_add_sat(sb_add_sat(compute, exposed), free_ns) != total || communication < exposed) {
		compute = intervals_total(&a->compute);
		communication = intervals_total(&a->communication);
		exposed = communication - intervals_common(&a->communication, &a->compute);
		free_ns = total - compute - exposed;
	}
	row->bubble_ns = bubble < total ? bubble : total;
	row->span_ns = total - row->bubble_ns;
	row->busy_ns = total - free_ns;
	row->compute_ns = compute;
	row->communication_ns = communication;
	row->exposed_ns = exposed;
	row->overlap_ns = communication - exposed;
	row->free_ns = free_ns;
}

/* Fills a row from pieces, NO_STEP for the whole capture; false in *out_filled when there are none, or too
 * few to know more than the communication. */
static int row_of_pieces(const struct ascend *ascend, const struct piece *items, size_t n, bool lane,
                         uint32_t step, struct breakdown_row *row, bool *out_filled)
{
	const struct capture *c = ascend->c;
	ACTIVITY_AUTO a = ACTIVITY_NONE;
	int64_t step_start = step == NO_STEP ? SB_NULL : c->steps[step].start_ns;
	struct sums s;
	int rc = add_up(items, n, &s, &a);

	*out_filled = rc == SB_OK && s.count > 0;
	if (!*out_filled)
		return rc;
	if (ascend->reduces_only ||
	    (capture_format_facts(c->format)->sparse_timeline && !mindinsight_covers(c, step, &a))) {
		*out_filled = false;
		if (a.communication.count > 0)
			row->communication_ns = intervals_total(&a.communication);
		return SB_OK;
	}
	fill_row(&s, &a, lane, row);
	if (step_start != SB_NULL && s.first_work != SB_NULL)
		row->preparing_ns = s.first_work - interval_bound(step_start);
	return SB_OK;
}

static int64_t device_of(const struct trace *t)
{
	int32_t device = -1;

	for (size_t i = 0; i < t->lane_count; i++) {
		if (t->lanes[i].device < 0 || t->lanes[i].device == device)
			continue;
		if (device >= 0)
			return SB_NULL;
		device = t->lanes[i].device;
	}
	return device < 0 ? SB_NULL : device;
}

struct source_pieces {
	struct pieces from[ASCEND_NOTHING]; /* by source */
	enum ascend_source order[ASCEND_NOTHING];
	enum ascend_source whole; /* source of the whole capture */
};

static void sources_free(struct source_pieces *s)
{
	for (size_t i = 0; i < ASCEND_NOTHING; i++)
		pieces_free(&s->from[i]);
}

/* Rows of the steps: each from the best source that knows it. at[] runs along with the steps. */
static int step_row(const struct ascend *a, const struct source_pieces *sources, size_t *at, uint32_t step,
                    struct warnings *warnings, struct breakdown_row *row)
{
	const struct step_trace *csv = a->csv[step];
	bool filled = false;
	int rc = SB_OK;

	for (size_t i = 0; i < ASCEND_NOTHING && rc == SB_OK; i++) {
		size_t s = sources->order[i], from = at[s];
		const struct pieces *p = &sources->from[s];

		while (at[s] < p->count && p->items[at[s]].step == step)
			at[s]++;
		if (!filled)
			rc = row_of_pieces(a, p->items + from, at[s] - from, s == ASCEND_LANE, step, row,
			                   &filled);
		if (rc == SB_OK && s == ASCEND_CSV && !filled && csv) {
			row_of_csv(a->c, csv, warnings, row);
			filled = true;
		}
	}
	return rc;
}

static int whole_row(const struct ascend *a, const struct source_pieces *sources, struct warnings *warnings,
                     struct breakdown_row *row)
{
	const struct pieces *p;
	bool filled = false;

	if (sources->whole == ASCEND_NOTHING && !a->reduces_only)
		return SB_OK;
	if (sources->whole == ASCEND_CSV) {
		capture_of_csv(a->c, warnings, row);
		return SB_OK;
	}
	p = &sources->from[a->reduces_only ? ASCEND_KERNELS : sources->whole];
	return row_of_pieces(a, p->items, p->count, sources->whole == ASCEND_LANE, NO_STEP, row, &filled);
}

static int ascend_rows(const struct ascend *a, const struct profile *p, size_t capture,
                       const struct source_pieces *sources, struct warnings *warnings, struct row_list *out)
{
	size_t at[ASCEND_NOTHING] = {0};
	int64_t device = device_of(&a->c->trace);
	struct breakdown_row row;
	int rc = SB_OK;

	for (uint32_t step = 0; step < a->c->step_count && rc == SB_OK; step++) {
		row = row_empty(p, capture, device, step);
		rc = step_row(a, sources, at, step, warnings, &row);
		if (rc == SB_OK && row.step != SB_NULL)
			rc = rows_add(out, &row);
	}
	row = row_empty(p, capture, device, NO_STEP);
	if (rc == SB_OK)
		rc = whole_row(a, sources, warnings, &row);
	return rc == SB_OK ? rows_add(out, &row) : rc;
}

static bool only_reduces(const struct capture *c)
{
	for (size_t i = 0; i < c->kernel_count; i++)
		if (c->kernels[i].origin != KERNEL_REDUCE)
			return false;
	return c->kernel_count > 0;
}

int breakdown_ascend(const struct profile *p, size_t capture, struct warnings *warnings, struct row_list *out)
{
	__attribute__((cleanup(ascend_free))) struct ascend a = {.c = &p->captures[capture]};
	__attribute__((cleanup(sources_free))) struct source_pieces sources = {.whole =
	                                                                           ascend_source_of(a.c)};
	int rc = ascend_init(&a);

	ascend_source_order(a.c, sources.order);
	a.reduces_only = sources.whole == ASCEND_NOTHING && only_reduces(a.c);
	for (size_t s = 0; s < ASCEND_NOTHING && rc == SB_OK; s++)
		/* a timeline knows more than they do */
		if (s != ASCEND_KERNELS || a.reduces_only || !only_reduces(a.c))
			rc = collect_pieces(&a, (enum ascend_source)s, &sources.from[s]);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
	return rc == SB_OK ? ascend_rows(&a, p, capture, &sources, warnings, out) : rc;
}
