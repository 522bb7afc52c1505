#include "profiler/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/chips.h"

static int64_t capacity_of(const struct capture *c, const struct memory_series *s)
{
	const struct chip *chip;

	if (s->device == MEMORY_HOST)
		return SB_NULL;
	if (s->capacity_bytes != SB_NULL)
		return s->capacity_bytes;
	chip = chip_find(c->chip);
	return chip && chip->memory_bytes > 0 ? (int64_t)chip->memory_bytes : SB_NULL;
}

struct memory_row memory_peak(const struct capture *c, const struct memory_series *s)
{
	struct memory_row r = {.capture = c,
	                       .series = s,
	                       .peak_bytes = SB_NULL,
	                       .peak_at_ns = SB_NULL,
	                       .reserved_at_peak = SB_NULL,
	                       .reserved_peak_bytes = SB_NULL,
	                       .capacity_bytes = capacity_of(c, s)};

	for (size_t i = 0; i < s->count; i++) {
		const struct memory_point *p = &s->points[i];

		/* SB_NULL is below everything */
		if (p->allocated > r.peak_bytes) {
			r.peak_bytes = p->allocated;
			r.peak_at_ns = p->time_ns;
			r.reserved_at_peak = p->reserved;
		}
		if (p->reserved > r.reserved_peak_bytes)
			r.reserved_peak_bytes = p->reserved;
	}
	return r;
}

/* The allocations of one device that are held at a time, by operator. */
struct holder {
	uint32_t name;
	int64_t bytes, count;
};

static int by_name(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return (x->name > y->name) - (x->name < y->name);
}

static int by_bytes(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return by_name(a, b);
}

static size_t collect(const struct capture *c, const struct memory_row *r, struct holder *out)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < c->allocation_count; i++) {
		const struct allocation *a = &c->allocations[i];

		if ((int64_t)a->device == r->series->device && a->start_ns <= r->peak_at_ns && a->name != 0 &&
		    (a->end_ns == SB_NULL || a->end_ns > r->peak_at_ns))
			out[n++] = (struct holder){a->name, a->bytes, 1};
	}
	if (n > 0)
		qsort(out, n, sizeof(*out), by_name);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && out[kept - 1].name == out[i].name) {
			out[kept - 1].bytes = sb_add_sat(out[kept - 1].bytes, out[i].bytes);
			out[kept - 1].count++;
		} else {
			out[kept++] = out[i];
		}
	}
	if (kept > 0)
		qsort(out, kept, sizeof(*out), by_bytes);
	return kept;
}

/* Only the framework's allocator serves operators: PTA on Ascend, MindSpore's own, the nameless one. */
static bool serves_operators(const struct capture *c, const struct memory_series *s)
{
	const char *name = trace_text(&c->trace, s->component, NULL);

	return *name == '\0' || strcmp(name, "PTA") == 0 || strcmp(name, "MindSpore") == 0;
}

static int name_holders(struct memory_row *r)
{
	const struct capture *c = r->capture;
	struct holder *held;
	size_t n;

	if (c->allocation_count == 0 || r->peak_at_ns == SB_NULL || !serves_operators(c, r->series))
		return SB_OK;
	held = calloc(c->allocation_count, sizeof(*held));
	if (!held)
		return SB_ENOMEM;
	n = collect(c, r, held);
	for (size_t i = 0; i < n && i < MEMORY_OPERATORS_MAX; i++)
		r->operators[r->operator_count++] = (struct memory_operator){
		    trace_text(&c->trace, held[i].name, NULL), held[i].bytes, held[i].count};
	free(held);
	return SB_OK;
}

int memory_compute(const struct profile *p, struct memory_report *out, struct sb_error *err)
{
	struct memory_report made = {0};
	size_t count = 0;
	int rc = SB_OK;

	for (size_t i = 0; i < p->count; i++)
		count += p->captures[i].memory_count;
	made.rows = calloc(count + 1, sizeof(*made.rows));
	if (!made.rows)
		rc = SB_ENOMEM;
	for (size_t i = 0; i < p->count && rc == SB_OK; i++) {
		const struct capture *c = &p->captures[i];

		for (size_t k = 0; k < c->memory_count && rc == SB_OK; k++) {
			made.rows[made.count] = memory_peak(c, &c->memories[k]);
			rc = name_holders(&made.rows[made.count++]);
		}
	}
	if (rc != SB_OK) {
		memory_free(&made);
		return sb_fail(err, rc, "no_memory", "out of memory");
	}
	*out = made;
	return SB_OK;
}

void memory_free(struct memory_report *r)
{
	free(r->rows);
	*r = (struct memory_report){0};
}

static bool leads(const struct memory_point *p, const struct memory_point *best)
{
	return p->allocated != best->allocated ? p->allocated > best->allocated
	                                       : p->allocated == SB_NULL && p->reserved > best->reserved;
}

int memory_curve(const struct memory_point *points, size_t count, size_t columns, struct memory_point **out,
                 size_t *out_count)
{
	size_t room = count < columns ? count : columns, n = 0, last = SIZE_MAX;
	struct memory_point *curve = calloc(room + 1, sizeof(*curve));
	double span = count > 0 ? (double)points[count - 1].time_ns - (double)points[0].time_ns : 0;

	if (!curve)
		return SB_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		size_t column = i;

		if (count > columns)
			column = span > 0 ? (size_t)(((double)points[i].time_ns - (double)points[0].time_ns) /
			                             span * (double)columns)
			                  : 0;
		column = column < columns ? column : columns - 1;
		if (column != last && n < room) {
			curve[n++] = points[i];
			last = column;
			continue;
		}
		/* what is not told, SB_NULL, is below everything */
		int64_t reserved = sb_larger(points[i].reserved, curve[n - 1].reserved);

		if (leads(&points[i], &curve[n - 1]))
			curve[n - 1] = points[i];
		curve[n - 1].reserved = reserved;
	}
	*out = curve;
	*out_count = n;
	return SB_OK;
}
