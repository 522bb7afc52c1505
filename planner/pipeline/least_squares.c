#include "planner/pipeline/least_squares.h"

#include <math.h>

/* What a column of length 1 has left when the others make it up is rounding: about rows * 2^-52. Columns of
 * counts that differ at all leave more, also with ten thousands of layers. */
#define DEPENDENT 1e-10

struct qr {
	double *a, *b;
	size_t rows, columns;
	double scale[LEAST_SQUARES_COLUMNS_MAX];
	size_t column[LEAST_SQUARES_COLUMNS_MAX]; /* which of a's stands at each place */
};

static double *at(const struct qr *q, size_t row, size_t place)
{
	return &q->a[row * q->columns + q->column[place]];
}

/* Length of what is left of a column from a row on. */
static double length(const struct qr *q, size_t place, size_t from)
{
	double sum = 0;

	for (size_t i = from; i < q->rows; i++)
		sum = hypot(sum, *at(q, i, place));
	return sum;
}

static void scale_columns(struct qr *q)
{
	for (size_t k = 0; k < q->columns; k++) {
		double n = length(q, k, 0);

		q->scale[k] = n > 0 ? n : 1;
		for (size_t i = 0; i < q->rows; i++)
			*at(q, i, k) /= q->scale[k];
	}
}

/* The column with most left comes next. Returns its length. */
static double pivot(struct qr *q, size_t next)
{
	size_t best = next, column;
	double most = length(q, next, next);

	for (size_t k = next + 1; k < q->columns; k++) {
		double n = length(q, k, next);

		if (n > most) {
			most = n;
			best = k;
		}
	}
	column = q->column[next];
	q->column[next] = q->column[best];
	q->column[best] = column;
	return most;
}

/* Mirrors the rest of all columns and of b so that this column ends at its diagonal. */
static void reflect(struct qr *q, size_t k, double n)
{
	double alpha = *at(q, k, k) > 0 ? -n : n, lead = *at(q, k, k) - alpha, norm = 0;

	*at(q, k, k) = lead;
	for (size_t i = k; i < q->rows; i++)
		norm += *at(q, i, k) * *at(q, i, k);
	for (size_t j = k + 1; j <= q->columns; j++) {
		double dot = 0;

		for (size_t i = k; i < q->rows; i++)
			dot += *at(q, i, k) * (j < q->columns ? *at(q, i, j) : q->b[i]);
		for (size_t i = k; i < q->rows; i++)
			*(j < q->columns ? at(q, i, j) : &q->b[i]) -= 2 * dot / norm * *at(q, i, k);
	}
	*at(q, k, k) = alpha;
}

int least_squares(double *a, double *b, size_t rows, size_t columns, double *out, size_t *out_dependent)
{
	struct qr q = {.a = a, .b = b, .rows = rows, .columns = columns};

	for (size_t k = 0; k < columns; k++)
		q.column[k] = k;
	scale_columns(&q);
	for (size_t k = 0; k < columns; k++) {
		double left = pivot(&q, k);

		if (!(left > DEPENDENT)) {
			*out_dependent = q.column[k];
			return SB_EIMPOSSIBLE;
		}
		reflect(&q, k, left);
	}
	for (size_t k = columns; k-- > 0;) {
		double x = b[k];

		for (size_t j = k + 1; j < columns; j++)
			x -= *at(&q, k, j) * out[q.column[j]] * q.scale[q.column[j]];
		out[q.column[k]] = x / *at(&q, k, k) / q.scale[q.column[k]];
	}
	return SB_OK;
}
