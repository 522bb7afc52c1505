#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/num.h"
#include "profiler/findings/contention.h"

static int by_name(const void *a, const void *b)
{
	const struct named_mean *x = a, *y = b;

	return sb_compare((const int64_t[]){x->name, x->capture}, (const int64_t[]){y->name, y->capture}, 2);
}

int name_means_add(struct name_means *m, struct sb_strings *names, const struct capture *c, uint32_t capture,
                   const struct name_sum *sums, size_t texts)
{
	for (size_t i = 1; i < texts; i++) {
		struct named_mean x = {.capture = capture};
		uint32_t count = sums[i].count[0] + sums[i].count[1];
		const char *text;
		size_t len;
		int rc;

		if (count == 0)
			continue;
		x.mean = (sums[i].ns[0] + sums[i].ns[1]) / count;
		text = trace_text(&c->trace, (uint32_t)i, &len);
		rc = sb_strings_add(names, text, len, &x.name);
		if (rc == SB_OK)
			rc = sb_grow(&m->items, m->count, sizeof(x));
		if (rc != SB_OK)
			return rc;
		m->items[m->count++] = x;
	}
	return SB_OK;
}

/* What one capture's names take over the median of the other captures' same names: appended to ratios, which
 * belong to captures. */
struct ratio_row {
	uint32_t capture;
	double ratio;
};

static int by_capture(const void *a, const void *b)
{
	const struct ratio_row *x = a, *y = b;

	if (x->capture != y->capture)
		return x->capture < y->capture ? -1 : 1;
	return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

/* The median of the others in a sorted list without the element at `skip`. */
static double median_without(const double *sorted, size_t count, size_t skip)
{
	size_t n = count - 1, half = n / 2;
	size_t a = half < skip ? half : half + 1;
	size_t b = half > 0 && half - 1 < skip ? half - 1 : half;

	if (n % 2)
		return sorted[a];
	return (sorted[a] + sorted[b]) / 2;
}

struct mean_place {
	double mean;
	uint32_t capture;
};

static int by_mean(const void *a, const void *b)
{
	const struct mean_place *x = a, *y = b;

	if (x->mean != y->mean)
		return x->mean < y->mean ? -1 : 1;
	return (x->capture > y->capture) - (x->capture < y->capture);
}

static size_t ratios_of_name(const struct named_mean *items, size_t count, struct mean_place *places,
                             double *sorted, struct ratio_row *out)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		places[i] = (struct mean_place){items[i].mean, items[i].capture};
	qsort(places, count, sizeof(*places), by_mean);
	for (size_t i = 0; i < count; i++)
		sorted[i] = places[i].mean;
	for (size_t i = 0; i < count; i++) {
		double others = median_without(sorted, count, i);

		if (others > 0 && places[i].mean > 0)
			out[n++] = (struct ratio_row){places[i].capture, places[i].mean / others};
	}
	return n;
}

int name_means_compare(struct name_means *m, size_t captures, double slow, double *by_capture_ratio,
                       size_t *by_capture_names, size_t *by_capture_slow)
{
	struct ratio_row *rows = calloc(m->count + 1, sizeof(*rows));
	struct mean_place *places = calloc(captures + 1, sizeof(*places));
	double *values = calloc(m->count + captures + 1, sizeof(*values));
	size_t n = 0;
	int rc = rows && places && values ? SB_OK : SB_ENOMEM;

	if (rc == SB_OK && m->count > 0)
		qsort(m->items, m->count, sizeof(*m->items), by_name);
	for (size_t from = 0, to = 0; rc == SB_OK && from < m->count; from = to) {
		while (to < m->count && m->items[to].name == m->items[from].name)
			to++;
		if (to - from >= 2 && to - from <= captures)
			n += ratios_of_name(&m->items[from], to - from, places, values, rows + n);
	}
	for (size_t i = 0; rc == SB_OK && i < captures; i++)
		by_capture_ratio[i] = NAN;
	if (rc == SB_OK && n > 0)
		qsort(rows, n, sizeof(*rows), by_capture);
	for (size_t from = 0, to = 0; rc == SB_OK && from < n; from = to) {
		for (; to < n && rows[to].capture == rows[from].capture; to++) {
			values[to - from] = rows[to].ratio;
			if (by_capture_slow)
				by_capture_slow[rows[from].capture] += rows[to].ratio >= slow;
		}
		by_capture_names[rows[from].capture] = to - from;
		if (to - from >= NAMES_LEAST)
			by_capture_ratio[rows[from].capture] = sb_median(values, to - from);
	}
	free(rows);
	free(places);
	free(values);
	return rc;
}
