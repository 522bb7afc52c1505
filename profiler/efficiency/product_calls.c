#include <stdlib.h>
#include <string.h>

#include "profiler/efficiency/efficiency.h"
#include "profiler/findings/compute_parts.h"
#include "profiler/gpu_works.h"

/* Names of fused attention: of the operators of PyTorch, and of CANN's kernels. */
static bool is_attention(const char *name)
{
	return strstr(name, "attention") || strstr(name, "_flash_attn") || strstr(name, "FlashAttention");
}

static bool is_convolution(const char *name)
{
	return strstr(name, "convolution") || strncmp(name, "Conv", 4) == 0;
}

static int calls_of_table(const struct capture *c, struct product_call **out, size_t *out_count)
{
	const struct rank_view v = {.c = c};
	struct product_call *calls = malloc((c->kernel_count + 1) * sizeof(*calls));
	size_t n = 0;

	if (!calls)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->kernel_count; i++) {
		const struct kernel *k = &c->kernels[i];
		const char *type = view_text(&v, k->type);
		bool attention = is_attention(type);
		double flops;

		if (k->communication || k->dur_ns <= 0 || !(attention || is_matrix_product(type)))
			continue;
		flops = kernel_work(&v, k).flops;
		if (flops > 0)
			calls[n++] = (struct product_call){
			    .flops = flops,
			    .start_ns = k->start_ns,
			    .dur_ns = k->dur_ns,
			    .name = k->type,
			    .shapes = k->input_shapes,
			    .precision = (uint8_t)kernel_precision(&v, k->input_types, 0),
			    .attention = attention,
			    .whole = attention};
	}
	*out = calls;
	*out_count = n;
	return SB_OK;
}

/* A call is a host operator with all its kernels. */
static int calls_of_timeline(const struct capture *c, struct product_call **out, size_t *out_count)
{
	const struct trace *t = &c->trace;
	struct product_call *calls = calloc(c->host_work_count + 1, sizeof(*calls));
	size_t n = 0;

	if (!calls)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->work_kernel_count; i++) {
		uint32_t e = c->work_kernels[i].event;
		struct product_call *call = &calls[c->work_kernels[i].work];

		if (call->dur_ns == 0 || t->start_ns[e] < call->start_ns) {
			call->start_ns = t->start_ns[e];
			call->name = t->name[e];
		}
		call->dur_ns = sb_add_sat(call->dur_ns, t->dur_ns[e]);
	}
	for (size_t i = 0; i < c->host_work_count; i++) {
		const struct host_work *h = &c->host_works[i];
		struct product_call call = calls[i];
		const char *name = trace_text(t, t->name[h->event], NULL);

		if (call.dur_ns <= 0 || !(h->flops > 0) || is_convolution(name))
			continue;
		call.flops = h->flops;
		call.precision = (uint8_t)gpu_work_precision(h);
		call.attention = is_attention(name);
		call.whole = h->whole;
		calls[n++] = call;
	}
	*out = calls;
	*out_count = n;
	return SB_OK;
}

int product_calls(const struct capture *c, struct product_call **out_calls, size_t *out_count)
{
	return c->kernel_count > 0 ? calls_of_table(c, out_calls, out_count)
	                           : calls_of_timeline(c, out_calls, out_count);
}
