#include "tests/generate/ascend.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 84 % of what an Ascend 910B can do, 313 TFLOP/s and 1.6 TB/s: a slice of a layer of 4096, for 12288 tokens
 * in products. */
const struct ascend_work ascend_works[] = {
    {"RmsNorm", "AI_VECTOR_CORE", "npu_rms_norm", "4096,4096;4096", "4096,4096", "ND;ND", "ND;ND", 49000,
     51000, 48},
    {"MatMulV2", "AI_CORE", "aten::matmul", "12288,4096;4096,512", "12288,512", "ND;ND", "ND", 193000, 199000,
     24},
    {"FlashAttentionScore", "MIX_AIC", "npu_fusion_attention", "1,4096,512;1,4096,512;1,4096,512",
     "1,4096,512", "ND;ND;ND", "ND", 128000, 134000, 24},
    {"MatMulV2", "AI_CORE", "aten::matmul", "12288,256;256,4096", "12288,4096", "ND;ND", "ND", 96500, 99500,
     24},
    {"Add", "AI_VECTOR_CORE", "aten::add", "4096,4096;4096,4096", "4096,4096", "ND;ND", "ND", 74000, 76000,
     48},
    {"MatMulV2", "AI_CORE", "aten::matmul", "12288,4096;4096,768", "12288,768", "ND;ND", "ND", 290000, 298000,
     24},
    {"SwiGlu", "AI_VECTOR_CORE", "npu_swiglu", "4096,2048", "4096,1024", "ND", "ND", 18500, 19500, 48},
    {"MatMulV2", "AI_CORE", "aten::matmul", "12288,256;256,4096", "12288,4096", "ND;ND", "ND", 96500, 99500,
     24},
    {"TransData", "AI_VECTOR_CORE", "npu_format_cast", "4096,4096", "4096,4096", "ND", "FRACTAL_NZ", 50000,
     90000, 48},
    {"Unique2", "AI_CPU", "aten::unique_consecutive", "8192", "8192;8192;8192", "ND", "ND;ND;ND", 300000,
     900000, 1},
    {"GroupedMatmul", "AI_CORE", "npu_grouped_matmul", "10240,4096;16,4096,2816", "10240,2816", "ND;ND", "ND",
     900000, 900000, 24},
    {"Cast", "AI_VECTOR_CORE", "aten::to", "8192", "8192", "ND", "ND", 4000, 6000, 1},
    {"Mul", "AI_VECTOR_CORE", "aten::mul", "8192;8192", "8192", "ND;ND", "ND", 4000, 6000, 1},
    {"Sub", "AI_VECTOR_CORE", "aten::sub", "8192;8192", "8192", "ND;ND", "ND", 4000, 6000, 1},
    {"Exp", "AI_VECTOR_CORE", "aten::exp", "8192", "8192", "ND", "ND", 4000, 6000, 1},
    {"RealDiv", "AI_VECTOR_CORE", "aten::div", "8192;8192", "8192", "ND;ND", "ND", 4000, 6000, 1},
    {"Sigmoid", "AI_VECTOR_CORE", "aten::sigmoid", "8192", "8192", "ND", "ND", 4000, 6000, 1},
    {"MoeGatingTopKSoftmax", "AI_VECTOR_CORE", "npu_moe_gating_top_k_softmax", "1280,64",
     "1280,8;1280,8;1280,8", "ND", "ND;ND;ND", 9000, 11000, 40},
};
const int ascend_work_count = sizeof(ascend_works) / sizeof(ascend_works[0]);
const int ascend_plain_works = 8;
const int ascend_trans_work = 8;
const int ascend_aicpu_work = 9;
const int ascend_grouped_work = 10;
const int ascend_small_work = 11;
const int ascend_gate_work = 17;

int64_t ascend_culprit(const struct ascend_options *o)
{
	return o->culprit < o->ranks ? o->culprit : o->ranks - 1;
}

int64_t ascend_group_first(const struct ascend_options *o, const struct ascend_rank *r)
{
	return o->shape == ASCEND_PIPELINE && r->rank >= o->ranks / 2 ? o->ranks / 2 : 0;
}

int64_t ascend_group_end(const struct ascend_options *o, const struct ascend_rank *r)
{
	return o->shape == ASCEND_PIPELINE && r->rank < o->ranks / 2 ? o->ranks / 2 : o->ranks;
}

const char *ascend_group_name(const struct ascend_options *o, const struct ascend_rank *r)
{
	return ascend_group_first(o, r) == 0 ? "9021077551983401622" : "6614209873350127518";
}

const char *ascend_link_group(const struct ascend_options *o, const struct ascend_rank *r,
                              const struct ascend_link *l)
{
	return l->experts ? "3340912778560019243" : ascend_group_name(o, r);
}

void ascend_kernel_name(const struct ascend_options *o, const struct ascend_rank *r, int64_t index,
                        char *name, int64_t size)
{
	const struct ascend_kernel *k = &r->kernels[index];
	const char *type = ascend_works[k->work].type;

	if (k->first && o->name)
		snprintf(name, (size_t)size, "%s", o->name);
	else if (k->work == ascend_trans_work)
		snprintf(name, (size_t)size, "trans_TransData_%" PRId64, index % 512);
	else
		snprintf(name, (size_t)size, "aclnn%s_%sAiCore_%s", type, type, type);
}

void ascend_shapes(const struct ascend_options *o, const struct ascend_kernel *k, char *text, int64_t size)
{
	const char *shapes = ascend_works[k->work].shapes;
	const char *from = shapes;
	size_t at = 0;

	if (k->tokens > 0) {
		snprintf(text, (size_t)size, "%" PRId64 ",4096;16,4096,2816", k->tokens);
		return;
	}
	/* the inner axis of a product in bad shape: four more than a multiple of 256 */
	while (*from && at + 8 < (size_t)size) {
		const char *next = strchr(from, ';');
		size_t axis = next ? strspn(next + 1, "0123456789") : 0;

		if (o->faults.size[FAULT_AFFINITY] > 0 &&
		    strcmp(ascend_works[k->work].type, "MatMulV2") == 0 && next && axis > 0 &&
		    (size_t)(next - from) == axis && strncmp(from, next + 1, axis) == 0) {
			long inner = strtol(from, NULL, 10) + 4;

			at += (size_t)snprintf(text + at, (size_t)size - at, "%ld;%ld", inner, inner);
			from = next + 1 + axis;
		} else {
			text[at++] = *from++;
		}
	}
	text[at] = '\0';
}

void ascend_dims(const struct ascend_options *o, const struct ascend_kernel *k, const char *end, char *text,
                 size_t size)
{
	char shapes[400];
	size_t at = 0;

	ascend_shapes(o, k, shapes, sizeof(shapes));
	for (const char *c = shapes; *c && at + strlen(end) + 2 < size; c++) {
		text[at++] = *c;
		if (*c == ';')
			at += (size_t)snprintf(text + at, size - at, "%s", end);
	}
	text[at] = '\0';
}

/* Pipes of a kernel that is slower than it need be do the same work in more time. */
bool ascend_pipe_ratios(const struct ascend_options *o, const struct ascend_kernel *k, int cube[5],
                        int vector[4])
{
	const struct ascend_work *w = &ascend_works[k->work];
	double slower = 1 + o->faults.size[FAULT_UNDERUTILIZED];
	bool is_vector = strcmp(w->core, "AI_VECTOR_CORE") == 0;
	double memory = is_vector ? 1 + o->faults.size[FAULT_MEMORY_BOUND] : 1;
	bool aicpu = k->work == ascend_aicpu_work;

	if (strcmp(w->type, "MatMulV2") == 0)
		slower *= 1 + o->faults.size[FAULT_AFFINITY];
	for (int i = 0; i < 5; i++) {
		static const int ratios[5] = {820, 90, 410, 547, 60};

		cube[i] = aicpu || is_vector ? 0 : (int)(ratios[i] / slower);
	}
	for (int i = 0; i < 4; i++) {
		static const int healthy[4] = {820, 80, 610, 400};
		static const int bound[4] = {820, 80, 960, 620};
		bool mte = i >= 2;

		vector[i] = aicpu || !is_vector ? 0
		            : memory > 1        ? (int)((mte ? bound[i] : healthy[i] / memory) / slower)
		                                : (int)(healthy[i] / slower);
	}
	return !aicpu;
}

int ascend_megahertz(const struct ascend_options *o, const struct ascend_rank *r)
{
	return r->rank == ascend_culprit(o) ? (int)(1800 * (1 - o->faults.size[FAULT_FREQUENCY])) : 1800;
}

const char *ascend_call_name(const struct ascend_call *c)
{
	static const char *const names[] = {[CALL_GARBAGE] = "GC",
	                                    [CALL_COMPILE] = "aclopCompileAndExecute",
	                                    [CALL_FREE] = "aclrtFreePhysical",
	                                    [CALL_TAKE] = "aclMallocMemInner"};

	return names[c->kind];
}

void ascend_write_environment(const struct ascend_options *o, struct out *out)
{
	out_fmt(out,
	        "{\"ASCEND_GLOBAL_LOG_LEVEL\": \"%s\", \"HCCL_RDMA_TC\": \"\", \"HCCL_RDMA_SL\": \"\", "
	        "\"ACLNN_CACHE_LIMIT\": \"\", \"ASCEND_LAUNCH_BLOCKING\": \"\", \"HCCL_ALGO\": \"%s\"}",
	        o->faults.size[FAULT_ENVIRONMENT] > 0 ? "0" : "",
	        o->faults.size[FAULT_CONFIGURATION] > 0 ? "level0:NA;level1:ring" : "");
}
