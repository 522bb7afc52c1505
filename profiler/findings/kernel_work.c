#include <math.h>
#include <string.h>

#include "profiler/findings/compute_parts.h"

/* The index-th part of a list with ';' between, or NULL. */
static const char *part_of(const char *list, int index, size_t *len)
{
	for (; index > 0; index--) {
		list = strchr(list, ';');
		if (!list)
			return NULL;
		list++;
	}
	*len = strcspn(list, ";");
	return list;
}

struct shape kernel_shape(const struct rank_view *v, uint32_t shapes, int index)
{
	size_t len = 0;
	const char *text = part_of(view_text(v, shapes), index, &len);

	return text && shapes ? shape_parse(text, len) : (struct shape){.count = -1};
}

/* Names of MindSpore and of CANN; bytes of one element, 0 = unknown. */
static const struct element {
	const char *name;
	enum precision precision;
	int bytes;
} ELEMENTS[] = {
    {"FLOAT16", PRECISION_FP16, 2},     {"DT_BF16", PRECISION_FP16, 2},   {"BFLOAT16", PRECISION_FP16, 2},
    {"DT_BFLOAT16", PRECISION_FP16, 2}, {"FLOAT", PRECISION_FP32, 4},     {"FLOAT32", PRECISION_FP32, 4},
    {"INT8", PRECISION_INT8, 1},        {"UINT8", PRECISION_UNKNOWN, 1},  {"BOOL", PRECISION_UNKNOWN, 1},
    {"INT16", PRECISION_UNKNOWN, 2},    {"UINT16", PRECISION_UNKNOWN, 2}, {"INT32", PRECISION_UNKNOWN, 4},
    {"UINT32", PRECISION_UNKNOWN, 4},   {"INT64", PRECISION_UNKNOWN, 8},  {"UINT64", PRECISION_UNKNOWN, 8},
    {"DOUBLE", PRECISION_UNKNOWN, 8},
};

static const struct element *element_of(const struct rank_view *v, uint32_t types, int index)
{
	size_t len = 0;
	const char *text = part_of(view_text(v, types), index, &len);

	for (size_t i = 0; text && i < sizeof(ELEMENTS) / sizeof(ELEMENTS[0]); i++)
		if (strlen(ELEMENTS[i].name) == len && memcmp(text, ELEMENTS[i].name, len) == 0)
			return &ELEMENTS[i];
	return NULL;
}

enum precision kernel_precision(const struct rank_view *v, uint32_t types, int index)
{
	const struct element *e = element_of(v, types, index);

	return e ? e->precision : PRECISION_UNKNOWN;
}

#define TENSORS_MAX 64

/* Bytes of all tensors of a list; NaN when one is not known. */
static double bytes_of(const struct rank_view *v, uint32_t shapes, uint32_t types)
{
	double sum = 0;
	size_t len;

	if (!shapes)
		return NAN;
	for (int i = 0; i < TENSORS_MAX && part_of(view_text(v, shapes), i, &len); i++) {
		const struct element *e = element_of(v, types, i);
		const struct shape s = kernel_shape(v, shapes, i);

		/* an empty place is an input that was not given */
		if (len > 0)
			sum += e ? shape_elements(&s) * e->bytes : NAN;
	}
	return part_of(view_text(v, shapes), TENSORS_MAX, &len) ? NAN : sum;
}

bool is_matrix_product(const char *type)
{
	return strncmp(type, "MatMul", 6) == 0 || strncmp(type, "BatchMatMul", 11) == 0;
}

/* With A of b m k, B of b k n and C of b m n elements, whatever is transposed: b m n k = sqrt(A B C / b). */
static double product_flops(const struct rank_view *v, const struct kernel *k)
{
	const struct shape a = kernel_shape(v, k->input_shapes, 0), b = kernel_shape(v, k->input_shapes, 1),
	                   c = kernel_shape(v, k->output_shapes, 0);
	double batch = 1;

	if (a.count < 2 || b.count < 2 || c.count < 2)
		return NAN;
	if (strncmp(view_text(v, k->type), "Batch", 5) == 0) {
		if (a.count != b.count || a.count != c.count)
			return NAN;
		for (int i = 0; i + 2 < c.count; i++)
			batch *= (double)c.dims[i];
	}
	return 2 * sqrt(shape_elements(&a) * shape_elements(&b) * shape_elements(&c) / batch);
}

/* Channels of an activation: NCHW, or NC1HWC0, where they are split in two. */
static double channels(const struct shape *s)
{
	return s->count == 5   ? (double)s->dims[1] * (double)s->dims[4]
	       : s->count == 4 ? (double)s->dims[1]
	                       : NAN;
}

/* Each element of the forward output sums over the weights of its channel; both backward operators do as
 * many. */
static double convolution_flops(const struct rank_view *v, const struct kernel *k)
{
	const char *type = view_text(v, k->type);
	struct shape y, w;

	if (strcmp(type, "Conv2DBackpropInput") == 0) {
		w = kernel_shape(v, k->input_shapes, 1);
		y = kernel_shape(v, k->input_shapes, 2);
	} else if (strcmp(type, "Conv2DBackpropFilter") == 0) {
		w = kernel_shape(v, k->output_shapes, 0);
		y = kernel_shape(v, k->input_shapes, 2);
	} else {
		w = kernel_shape(v, k->input_shapes, 1);
		y = kernel_shape(v, k->output_shapes, 0);
	}
	return 2 * shape_elements(&y) * shape_elements(&w) / channels(&y);
}

/* Layouts BSH and BNSD, or SBH and BSND: the longer of the two middle axes is the sequence. The mask is not
 * told: the whole square counts, so that a causal one looks twice as busy as it is. */
static double attention_flops(const struct rank_view *v, const struct kernel *k)
{
	const struct shape q = kernel_shape(v, k->input_shapes, 0), key = kernel_shape(v, k->input_shapes, 1);
	int at = q.count == 3 ? 0 : 1;
	double sk, forward;

	if ((q.count != 3 && q.count != 4) || key.count != q.count)
		return NAN;
	sk = (double)(key.dims[at] > key.dims[at + 1] ? key.dims[at] : key.dims[at + 1]);
	forward = 4 * shape_elements(&q) * sk;
	return strstr(view_text(v, k->type), "Grad") ? 2.5 * forward : forward;
}

struct work kernel_work(const struct rank_view *v, const struct kernel *k)
{
	const char *type = view_text(v, k->type);
	struct work w = {NAN, bytes_of(v, k->input_shapes, k->input_types) +
	                          bytes_of(v, k->output_shapes, k->output_types)};

	if (is_matrix_product(type))
		w.flops = product_flops(v, k);
	else if (strncmp(type, "Conv2D", 6) == 0)
		w.flops = convolution_flops(v, k);
	else if (strncmp(type, "FlashAttentionScore", 19) == 0)
		w.flops = attention_flops(v, k);
	if (!isfinite(w.flops)) /* no shapes of a tensor that a device could hold */
		w.flops = NAN;
	return w;
}
