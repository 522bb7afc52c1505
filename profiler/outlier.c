#include "profiler/outlier.h"

#include <math.h>
#include <stdlib.h>

#include "base/num.h"

#define DIXON_LEAST 3
#define DIXON_MOST 100
#define SIGMAS 3.0

double outlier_dixon_critical(size_t n)
{
	/* the ratio changes at 8, 11 and 14: all are listed up to there */
	static const struct {
		size_t n;
		double critical;
	} table[] = {{3, .994},  {4, .920},  {5, .823},  {6, .744},  {7, .680},  {8, .723},
	             {9, .676},  {10, .638}, {11, .707}, {12, .675}, {13, .649}, {14, .672},
	             {16, .629}, {18, .595}, {20, .568}, {24, .526}, {28, .496}, {32, .473},
	             {40, .439}, {50, .409}, {64, .382}, {80, .360}, {100, .341}};
	size_t i = 1;

	if (n <= table[0].n)
		return table[0].critical;
	while (i + 1 < sizeof(table) / sizeof(table[0]) && table[i].n < n)
		i++;
	if (n >= table[i].n)
		return table[i].critical;
	return table[i - 1].critical + (table[i].critical - table[i - 1].critical) *
	                                   (double)(n - table[i - 1].n) /
	                                   (double)(table[i].n - table[i - 1].n);
}

static double dixon_ratio(const double *x, size_t n)
{
	size_t low = n <= 10 ? 1 : 2, high = n <= 7 ? 1 : n <= 13 ? 2 : 3;

	return (x[low] - x[0]) / (x[n - high] - x[0]);
}

static struct outlier by_sigma(const double *x, size_t n)
{
	double mean = 0, squares = 0, sigma;
	struct outlier o = {.decided = true, .critical = SIGMAS};

	for (size_t i = 0; i < n; i++)
		mean += x[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (x[i] - mean) * (x[i] - mean) / (double)n;
	sigma = sqrt(squares);
	/* equal values differ from their mean by rounding */
	o.ratio = x[n - 1] > x[0] ? (mean - x[0]) / sigma : 0;
	o.found = o.ratio > o.critical;
	return o;
}

struct outlier outlier_low(double *values, size_t n)
{
	struct outlier o = {.ratio = NAN, .critical = NAN};
	size_t different = n > 0;

	if (n < DIXON_LEAST)
		return o;
	qsort(values, n, sizeof(*values), sb_by_double);
	if (n > DIXON_MOST)
		return by_sigma(values, n);
	for (size_t i = 1; i < n; i++)
		different += values[i] != values[i - 1];
	o.ratio = dixon_ratio(values, n);
	/* with more values than that the divisor is not 0 */
	if (different <= 3 || isnan(o.ratio)) {
		o.ratio = NAN;
		return o;
	}
	o.decided = true;
	o.critical = outlier_dixon_critical(n);
	o.found = o.ratio > o.critical;
	return o;
}
