#include "planner/network/collective_curve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

static int out_of_memory(struct sb_error *err)
{
	return sb_no_memory(err);
}

int curve_from_link(double latency_seconds, double bytes_per_second, struct collective_curve *out,
                    struct sb_error *err)
{
	struct curve_piece *piece;

	if (!(latency_seconds >= 0 && latency_seconds <= CURVE_SECONDS_MAX))
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "latency_seconds",
		                     "must lie between 0 and %g", CURVE_SECONDS_MAX);
	if (!(bytes_per_second >= 1 && bytes_per_second <= 1e18))
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "bytes_per_second",
		                     "must lie between 1 and 1e18");
	piece = malloc(sizeof(*piece));
	if (!piece)
		return out_of_memory(err);
	*piece = (struct curve_piece){0, latency_seconds, 1 / bytes_per_second};
	out->pieces = piece;
	out->count = 1;
	out->measured_to = INFINITY;
	out->raised = false;
	return SB_OK;
}

static int check_rows(const struct curve_row *rows, size_t count, struct sb_error *err)
{
	char field[40];

	if (count < 1 || count > CURVE_ROWS_MAX)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "", "must have 1 to %d rows",
		                     CURVE_ROWS_MAX);
	for (size_t i = 0; i < count; i++) {
		bool bytes = rows[i].bytes >= 1 && rows[i].bytes <= CURVE_BYTES_MAX;

		if (bytes && rows[i].seconds >= 0 && rows[i].seconds <= CURVE_SECONDS_MAX)
			continue;
		snprintf(field, sizeof(field), "%zu/%s", i, bytes ? "seconds" : "bytes");
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", field,
		                     "must be a size from 1 to 2^40 bytes, with a time from 0 to %g seconds",
		                     CURVE_SECONDS_MAX);
	}
	return SB_OK;
}

/* By size, then by time: the mean of a size does not depend on the order of the rows. */
static int by_size(const void *a, const void *b)
{
	const struct curve_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* One piece a size, slopes still open. Returns their number. */
static size_t join_sizes(const struct curve_row *sorted, size_t count, struct curve_piece *pieces,
                         bool *out_raised)
{
	size_t n = 0;

	for (size_t i = 0, end; i < count; i = end) {
		double sum = 0, mean;

		for (end = i; end < count && sorted[end].bytes == sorted[i].bytes; end++)
			sum += sorted[end].seconds;
		mean = sum / (double)(end - i);
		if (n > 0 && mean < pieces[n - 1].seconds) {
			mean = pieces[n - 1].seconds;
			*out_raised = true;
		}
		pieces[n++] = (struct curve_piece){(double)sorted[i].bytes, mean, 0};
	}
	return n;
}

static void set_slopes(struct curve_piece *p, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		p[i].slope = (p[i + 1].seconds - p[i].seconds) / (p[i + 1].from_bytes - p[i].from_bytes);
	p[n - 1].slope = n > 1 ? p[n - 2].slope : 0;
	if (!(p[n - 1].slope > 0))
		p[n - 1].slope = p[n - 1].seconds / p[n - 1].from_bytes;
}

int curve_from_rows(const struct curve_row *rows, size_t count, struct collective_curve *out,
                    struct sb_error *err)
{
	struct curve_row *sorted;
	struct curve_piece *pieces;
	bool raised = false;
	size_t n;
	int rc = check_rows(rows, count, err);

	if (rc != SB_OK)
		return rc;
	sorted = malloc(count * sizeof(*sorted));
	pieces = malloc((count + 1) * sizeof(*pieces));
	if (!sorted || !pieces) {
		free(sorted);
		free(pieces);
		return out_of_memory(err);
	}
	memcpy(sorted, rows, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_size);
	n = join_sizes(sorted, count, pieces + 1, &raised);
	free(sorted);
	set_slopes(pieces + 1, n);
	pieces[0] = (struct curve_piece){0, pieces[1].seconds, 0};
	out->pieces = pieces;
	out->count = n + 1;
	out->measured_to = pieces[n].from_bytes;
	out->raised = raised;
	return SB_OK;
}

double curve_seconds(const struct collective_curve *c, double bytes)
{
	const struct curve_piece *p =
	    &c->pieces[SB_BISECT(i, 1, c->count, c->pieces[i].from_bytes <= bytes) - 1];

	return p->seconds + p->slope * (bytes - p->from_bytes);
}

void curve_clear(struct collective_curve *c)
{
	if (!c)
		return;
	free(c->pieces);
	*c = (struct collective_curve){0};
}
