#include "profiler/flops.h"

#include <math.h>

#include "base/err.h"
#include "base/num.h"

double shape_elements(const struct shape *s)
{
	double n = 1;

	if (s->count < 0)
		return NAN;
	for (int i = 0; i < s->count; i++)
		n *= (double)s->dims[i];
	return n;
}

struct shape shape_parse(const char *text, size_t len)
{
	static const struct shape bad = {.count = -1};
	struct shape s = {.count = 0};
	size_t at = 0;

	while (at < len) {
		size_t end = at;

		while (end < len && text[end] != ',')
			end++;
		if (s.count == SHAPE_DIMS_MAX ||
		    sb_parse_int(text + at, end - at, &s.dims[s.count]) != SB_OK || s.dims[s.count] < 0)
			return bad;
		s.count++;
		at = end + 1;
		if (end + 1 == len)
			return bad;
	}
	return s;
}

struct work work_of_gemm(const struct shape *a, const struct shape *b, bool bias, double element_bytes)
{
	double batch = 1, m, n, k, c;

	if (a->count < 2 || b->count != a->count)
		return WORK_UNKNOWN;
	for (int i = 0; i + 2 < a->count; i++) {
		if (a->dims[i] != b->dims[i])
			return WORK_UNKNOWN;
		batch *= (double)a->dims[i];
	}
	if (a->dims[a->count - 1] != b->dims[b->count - 2])
		return WORK_UNKNOWN;
	m = (double)a->dims[a->count - 2];
	k = (double)a->dims[a->count - 1];
	n = (double)b->dims[b->count - 1];
	c = batch * m * n;
	return (struct work){2 * c * k + (bias ? c : 0),
	                     element_bytes * (shape_elements(a) + shape_elements(b) + c)};
}

struct work work_of_convolution(const struct shape *input, const struct shape *weight,
                                const struct shape *output, bool transposed, double element_bytes)
{
	/* transposed, each element of the input is spread over the weights of its channel */
	const struct shape *each = transposed ? input : output;
	double sums, bytes;

	if (input->count < 3 || weight->count != input->count || output->count != input->count ||
	    weight->dims[0] <= 0)
		return WORK_UNKNOWN;
	sums = shape_elements(weight) / (double)weight->dims[0];
	bytes = element_bytes * (shape_elements(input) + shape_elements(weight) + shape_elements(output));
	return (struct work){2 * shape_elements(each) * sums, bytes};
}

struct work work_of_attention(const struct shape *q, const struct shape *k, const struct shape *v,
                              bool causal, bool backward, double element_bytes)
{
	double pairs, qk, pv, elements;

	if (q->count != 4 || k->count != 4 || v->count != 4 || q->dims[3] != k->dims[3] ||
	    q->dims[0] != k->dims[0] || k->dims[2] != v->dims[2])
		return WORK_UNKNOWN;
	pairs = (double)q->dims[0] * (double)q->dims[1] * (double)q->dims[2] * (double)k->dims[2];
	if (causal && q->dims[2] == k->dims[2])
		pairs /= 2;
	qk = 2 * pairs * (double)q->dims[3];
	pv = 2 * pairs * (double)v->dims[3];
	/* the output is as large as q; backward reads all four and the gradient, and writes three */
	elements = 2 * shape_elements(q) + shape_elements(k) + shape_elements(v);
	if (backward)
		elements = 2 * elements;
	return (struct work){backward ? 3 * qk + 2 * pv : qk + pv, element_bytes * elements};
}
