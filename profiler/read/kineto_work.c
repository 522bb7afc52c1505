#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "profiler/flops.h"
#include "profiler/read/kineto_impl.h"

/* Shapes of the few host operators whose kernels do most of the arithmetic. All others' args are skipped:
 * that is what keeps reading fast. */

enum formula { GEMM, GEMM_BIAS, CONVOLUTION, CONVOLUTION_BACKWARD, ATTENTION, ATTENTION_BACKWARD };

struct shaped {
	const char *name;
	size_t len;
	enum formula formula;
	int first;       /* the first operand's place among the inputs */
	int causal;      /* the flag's place, -1 = none */
	bool heads_last; /* attention as [batch, sequence, heads, size] */
};

#define NAME(text) text, sizeof(text) - 1
/* The innermost operators, which launch the kernels: signatures of PyTorch's native functions. */
static const struct shaped SHAPED[] = {
    {NAME("aten::mm"), GEMM, 0, -1, false},
    {NAME("aten::bmm"), GEMM, 0, -1, false},
    {NAME("aten::_int_mm"), GEMM, 0, -1, false},
    {NAME("aten::_scaled_mm"), GEMM, 0, -1, false},
    {NAME("aten::addmm"), GEMM_BIAS, 1, -1, false},
    {NAME("aten::addmm_"), GEMM_BIAS, 1, -1, false},
    {NAME("aten::baddbmm"), GEMM_BIAS, 1, -1, false},
    {NAME("aten::_addmm_activation"), GEMM_BIAS, 1, -1, false},
    {NAME("aten::convolution"), CONVOLUTION, 0, -1, false},
    {NAME("aten::_convolution"), CONVOLUTION, 0, -1, false},
    {NAME("aten::convolution_backward"), CONVOLUTION_BACKWARD, 0, -1, false},
    {NAME("aten::_scaled_dot_product_flash_attention"), ATTENTION, 0, 4, false},
    {NAME("aten::_scaled_dot_product_efficient_attention"), ATTENTION, 0, 6, false},
    {NAME("aten::_scaled_dot_product_cudnn_attention"), ATTENTION, 0, 6, false},
    {NAME("aten::_scaled_dot_product_flash_attention_backward"), ATTENTION_BACKWARD, 1, 11, false},
    {NAME("aten::_scaled_dot_product_efficient_attention_backward"), ATTENTION_BACKWARD, 1, 11, false},
    {NAME("aten::_scaled_dot_product_cudnn_attention_backward"), ATTENTION_BACKWARD, 1, 14, false},
    {NAME("flash_attn::_flash_attn_forward"), ATTENTION, 0, 5, true},
};
#define SHAPED_COUNT (sizeof(SHAPED) / sizeof(SHAPED[0]))

static const struct shaped *shaped_of(const char *name, size_t len)
{
	/* most other names have another beginning or none of these lengths */
	if (len < 8 || (name[0] != 'a' && name[0] != 'f'))
		return NULL;
	for (size_t i = 0; i < SHAPED_COUNT; i++)
		if (SHAPED[i].len == len && memcmp(name, SHAPED[i].name, len) == 0)
			return &SHAPED[i];
	return NULL;
}

bool kineto_wants_shapes(const char *name, size_t len)
{
	return shaped_of(name, len) != NULL;
}

struct part {
	const char *text;
	size_t len;
};

/* The index-th item of a list "[…]", with its own brackets or quotes; len 0 when there is none. */
static struct part item_of(const struct chrome_text *list, int index)
{
	const char *p = list->text, *end = list->text + list->len, *from;
	int depth = 0, at = 0;
	bool quoted = false;

	if (list->len < 2 || *p != '[')
		return (struct part){"", 0};
	for (from = ++p; p < end; p++) {
		if (*p == '"')
			quoted = !quoted;
		if (quoted)
			continue;
		if ((*p == ',' || *p == ']') && depth == 0) {
			if (at++ == index)
				return (struct part){from, (size_t)(p - from)};
			from = p + 1;
		}
		depth += *p == '[' ? 1 : *p == ']' ? -1 : 0;
	}
	return (struct part){"", 0};
}

static struct part without_ends(struct part p)
{
	return p.len >= 2 ? (struct part){p.text + 1, p.len - 2} : (struct part){"", 0};
}

static struct shape shape_at(const struct chrome_event *e, int index)
{
	struct part p = item_of(&e->args[ARG_INPUT_DIMS], index);

	if (p.len < 2 || p.text[0] != '[')
		return (struct shape){.count = -1};
	p = without_ends(p);
	return shape_parse(p.text, p.len);
}

static bool flag_at(const struct chrome_event *e, int index)
{
	struct part p = without_ends(item_of(&e->args[ARG_CONCRETE_INPUTS], index));

	return index >= 0 && p.len == 4 && strncasecmp(p.text, "true", 4) == 0;
}

/* "[2, 2]" as a shape of two numbers: stride, padding and dilation are written so. One number holds for all.
 */
static struct shape numbers_at(const struct chrome_event *e, int index)
{
	struct part p = without_ends(without_ends(item_of(&e->args[ARG_CONCRETE_INPUTS], index)));
	char text[128];
	size_t n = 0;

	if (p.len == 0 || p.len >= sizeof(text))
		return (struct shape){.count = -1};
	for (size_t i = 0; i < p.len; i++)
		if (p.text[i] != ' ')
			text[n++] = p.text[i];
	return shape_parse(text, n);
}

static int64_t of(const struct shape *s, int i)
{
	return s->dims[s->count == 1 ? 0 : i];
}

/* The output of a convolution, by the arithmetic of PyTorch's Conv2d and ConvTranspose2d. */
static struct shape convolved(const struct chrome_event *e, const struct shape *input,
                              const struct shape *weight, bool transposed)
{
	static const struct shape bad = {.count = -1};
	const struct shape stride = numbers_at(e, 3), padding = numbers_at(e, 4), dilation = numbers_at(e, 5);
	struct shape out = *input;
	int spatial = input->count - 2;

	if (spatial < 1 || weight->count != input->count)
		return bad;
	for (int i = 0; i < 3; i++) {
		const struct shape *s = i == 0 ? &stride : i == 1 ? &padding : &dilation;

		if (s->count != 1 && s->count != spatial)
			return bad;
	}
	out.dims[1] = weight->dims[transposed ? 1 : 0];
	for (int i = 0; i < spatial; i++) {
		double in = (double)input->dims[i + 2], step = (double)of(&stride, i);
		double window = (double)of(&dilation, i) * ((double)weight->dims[i + 2] - 1) + 1;
		double pad = 2 * (double)of(&padding, i), v;

		if (step < 1)
			return bad;
		v = transposed ? (in - 1) * step - pad + window : floor((in + pad - window) / step) + 1;
		if (!(v >= 0 && v < 1e12))
			return bad;
		out.dims[i + 2] = (int64_t)v;
	}
	return out;
}

static struct work convolution(const struct chrome_event *e, double size)
{
	const struct shape input = shape_at(e, 0), weight = shape_at(e, 1);
	bool transposed = flag_at(e, 6);
	const struct shape output = convolved(e, &input, &weight, transposed);

	return work_of_convolution(&input, &weight, &output, transposed, size);
}

/* Two products of the size of the forward one, for the gradients of the input and of the weight: one where
 * the mask says that the input needs none. Each tensor's gradient is as large as the tensor. */
static struct work convolution_backward(const struct chrome_event *e, double size)
{
	const struct shape output = shape_at(e, 0), input = shape_at(e, 1), weight = shape_at(e, 2);
	struct part mask = without_ends(item_of(&e->args[ARG_CONCRETE_INPUTS], 10));
	bool one = mask.len > 6 && strncasecmp(mask.text, "[False", 6) == 0;
	struct work w = work_of_convolution(&input, &weight, &output, flag_at(e, 7), size);

	w.bytes += size * (shape_elements(&weight) + (one ? 0 : shape_elements(&input)));
	w.flops *= one ? 1 : 2;
	return w;
}

static struct shape heads_second(struct shape s)
{
	if (s.count == 4) {
		int64_t heads = s.dims[2];

		s.dims[2] = s.dims[1];
		s.dims[1] = heads;
	}
	return s;
}

static struct work attention(const struct chrome_event *e, const struct shaped *o, double size)
{
	struct shape q = shape_at(e, o->first), k = shape_at(e, o->first + 1), v = shape_at(e, o->first + 2);

	if (o->heads_last) {
		q = heads_second(q);
		k = heads_second(k);
		v = heads_second(v);
	}
	return work_of_attention(&q, &k, &v, flag_at(e, o->causal), o->formula == ATTENTION_BACKWARD, size);
}

static struct work work_of(const struct chrome_event *e, const struct shaped *o, double size)
{
	struct shape a, b;

	switch (o->formula) {
	case CONVOLUTION: return convolution(e, size);
	case CONVOLUTION_BACKWARD: return convolution_backward(e, size);
	case ATTENTION:
	case ATTENTION_BACKWARD: return attention(e, o, size);
	case GEMM:
	case GEMM_BIAS: break;
	}
	a = shape_at(e, o->first);
	b = shape_at(e, o->first + 1);
	return work_of_gemm(&a, &b, o->formula == GEMM_BIAS, size);
}

static enum precision precision_of(const char *type, size_t len)
{
	static const struct {
		const char *begins;
		enum precision p;
	} TYPES[] = {{"half", PRECISION_FP16},  {"bfloat16", PRECISION_FP16},
	             {"float8", PRECISION_FP8}, {"float16", PRECISION_FP16},
	             {"float", PRECISION_FP32}, {"signed char", PRECISION_INT8},
	             {"int8", PRECISION_INT8}};

	for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
		size_t n = strlen(TYPES[i].begins);

		if (len >= n && strncasecmp(type, TYPES[i].begins, n) == 0)
			return TYPES[i].p;
	}
	return PRECISION_UNKNOWN;
}

int kineto_work(struct kineto *k, const struct chrome_event *e)
{
	const struct shaped *o = shaped_of(e->name.text, e->name.len);
	struct part type;
	int64_t size;
	struct work w;
	enum precision p;

	if (!o || e->args[ARG_INPUT_DIMS].len == 0)
		return SB_OK;
	type = without_ends(item_of(&e->args[ARG_INPUT_TYPE], o->first));
	if (type.len > 5 && strncasecmp(type.text, "c10::", 5) == 0)
		type = (struct part){type.text + 5, type.len - 5};
	p = precision_of(type.text, type.len);
	size = p == PRECISION_INT8 ? 1 : kineto_dtype_bytes(type.text, type.len);
	if (p == PRECISION_UNKNOWN || size == 0)
		return SB_OK;
	w = work_of(e, o, (double)size);
	if (!(w.flops > 0) || !isfinite(w.flops))
		return SB_OK;
	if (sb_grow(&k->works, k->work_count, sizeof(*k->works)) != SB_OK)
		return SB_ENOMEM;
	k->works[k->work_count++] =
	    (struct host_work){.event = (uint32_t)k->trace.count - 1,
	                       .precision = (uint8_t)p,
	                       .whole = o->causal >= 0 && e->args[ARG_CONCRETE_INPUTS].len == 0,
	                       .flops = w.flops,
	                       .bytes = w.bytes};
	return SB_OK;
}

/* Kernels of one name are launched alike: what they fill is summed by name, not kept for each. */
int kineto_fill(struct kineto *k, const struct chrome_event *e, const struct event *span)
{
	const struct chrome_text *blocks = &e->args[ARG_BLOCKS], *occupancy = &e->args[ARG_OCCUPANCY];
	double per_sm, percent, ns = (double)span->dur_ns;
	struct id_key key = {span->name, 0, 0};
	struct kernel_fill *f;
	uint32_t at;

	if (blocks->len == 0 || occupancy->len == 0 || ns <= 0 ||
	    sb_parse_double(blocks->text, blocks->len, &per_sm) != SB_OK || per_sm <= 0 ||
	    sb_parse_double(occupancy->text, occupancy->len, &percent) != SB_OK || percent < 0)
		return SB_OK;
	if (!id_map_get(&k->fill_places, key, &at)) {
		at = (uint32_t)k->fill_count;
		if (sb_grow(&k->fills, k->fill_count, sizeof(*k->fills)) != SB_OK ||
		    id_map_put(&k->fill_places, key, at) != SB_OK)
			return SB_ENOMEM;
		k->fills[k->fill_count++] = (struct kernel_fill){.name = span->name};
	}
	f = &k->fills[at];
	f->ns += ns;
	f->blocks_ns += ns * (per_sm < 1 ? per_sm : 1);
	f->occupancy_ns += ns * (percent < 100 ? percent / 100 : 1);
	return SB_OK;
}
