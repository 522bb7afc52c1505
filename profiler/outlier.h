#ifndef SB_PROFILER_OUTLIER_H
#define SB_PROFILER_OUTLIER_H
#include <stdbool.h>
#include <stddef.h>

/* Is the smallest of n values an outlier? */
struct outlier {
	bool decided; /* false: the test says nothing of so few or so equal values */
	bool found;   /* decided, and the smallest value is one */
	double ratio; /* Dixon's ratio, or how many standard deviations below the mean; NaN = not decided */
	double critical; /* what the ratio has to pass; NaN = not decided */
};

/* 3 to 100 values: Dixon's test on the low side at 99.5 % (W. J. Dixon, Biometrics 9 (1953); critical values
 * to n = 100 as in msprof-analyze's slow_rank, whose choice of ratios this is: r10 to n = 7, r11 to 10, r21
 * to 13, r22 above), not decided with three or fewer different values. Above 100: 3 standard deviations below
 * the mean. Values must be finite. Sorts `values`. */
struct outlier outlier_low(double *values, size_t n);
/* The critical value for n, 3 to 100; between listed n it is interpolated. */
double outlier_dixon_critical(size_t n);
#endif
