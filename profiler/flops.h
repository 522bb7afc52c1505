#ifndef SB_PROFILER_FLOPS_H
#define SB_PROFILER_FLOPS_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/chips.h"

/* Floating-point operations and least traffic of operators, from the shapes of their tensors (research page
 * analyses 8: the formulas of TraceLens). A multiply-add counts as two. */

#define SHAPE_DIMS_MAX 8
struct shape {
	int count;                    /* dimensions; 0 = a scalar or nothing; -1 = not usable */
	int64_t dims[SHAPE_DIMS_MAX]; /* each >= 0 */
};

/* Elements of a shape; NaN when it is not usable. A scalar has one. */
double shape_elements(const struct shape *s);
/* Reads "32,3,224,224" of the first `len` bytes; anything else gives a shape that is not usable. */
struct shape shape_parse(const char *text, size_t len);

/* What one call has to do. NaN where the shapes do not fit the operator. */
struct work {
	double flops, bytes;
};
#define WORK_UNKNOWN ((struct work){NAN, NAN})

/* C = A B (+ a bias that is added once an element of C), with a leading batch or without: A is […, m, k], B
 * […, k, n]. 2 b m n k, and b m n more with a bias. */
struct work work_of_gemm(const struct shape *a, const struct shape *b, bool bias, double element_bytes);
/* Forward convolution: input [n, c, …], weight [k, c / groups, …] (transposed: [c, k / groups, …]), output
 * [n, k, …]. 2 x elements of the output x what one element sums over. */
struct work work_of_convolution(const struct shape *input, const struct shape *weight,
                                const struct shape *output, bool transposed, double element_bytes);
/* Attention, q [b, h, sq, d], k and v [b, hk, sk, d]: 2 b h sq sk (dqk + dv); half of it when causal with sq
 * = sk. Backward (flash): three products of the size of q k and two of that of p v. */
struct work work_of_attention(const struct shape *q, const struct shape *k, const struct shape *v,
                              bool causal, bool backward, double element_bytes);
#endif
