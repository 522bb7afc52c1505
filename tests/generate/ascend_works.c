#include "tests/generate/ascend.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct ascend_work ascend_works[] = {
    {"RmsNorm", "AI_VECTOR_CORE", "npu_rms_norm", "8192,4096;4096", "ND;ND", "ND;ND", 30000, 45000, 48},
    {"MatMulV2", "AI_CORE", "aten::matmul", "8192,4096;4096,12288", "ND;ND", "ND", 150000, 230000, 24},
    {"FlashAttentionScore", "MIX_AIC", "npu_fusion_attention", "2,4096,4096;2,4096,4096;2,4096,4096",
     "ND;ND;ND", "ND", 160000, 240000, 24},
    {"MatMulV2", "AI_CORE", "aten::matmul", "8192,4096;4096,4096", "ND;ND", "ND", 90000, 120000, 24},
    {"Add", "AI_VECTOR_CORE", "aten::add", "8192,4096;8192,4096", "ND;ND", "ND", 40000, 60000, 48},
    {"MatMulV2", "AI_CORE", "aten::matmul", "8192,4096;4096,22016", "ND;ND", "ND", 190000, 280000, 24},
    {"SwiGlu", "AI_VECTOR_CORE", "npu_swiglu", "8192,22016", "ND", "ND", 60000, 90000, 48},
    {"MatMulV2", "AI_CORE", "aten::matmul", "8192,11008;11008,4096", "ND;ND", "ND", 110000, 150000, 24},
    {"TransData", "AI_VECTOR_CORE", "npu_format_cast", "8192,4096", "ND", "FRACTAL_NZ", 50000, 90000, 48},
    {"Unique2", "AI_CPU", "aten::unique_consecutive", "8192", "ND", "ND;ND;ND", 300000, 900000, 1},
    {"GroupedMatmul", "AI_CORE", "npu_grouped_matmul", "32768,4096;16,4096,2816", "ND;ND", "ND", 900000,
     900000, 24},
    {"Cast", "AI_VECTOR_CORE", "aten::to", "8192", "ND", "ND", 4000, 6000, 1},
    {"Mul", "AI_VECTOR_CORE", "aten::mul", "8192;8192", "ND;ND", "ND", 4000, 6000, 1},
    {"Sub", "AI_VECTOR_CORE", "aten::sub", "8192;8192", "ND;ND", "ND", 4000, 6000, 1},
    {"Exp", "AI_VECTOR_CORE", "aten::exp", "8192", "ND", "ND", 4000, 6000, 1},
    {"RealDiv", "AI_VECTOR_CORE", "aten::div", "8192;8192", "ND;ND", "ND", 4000, 6000, 1},
    {"Sigmoid", "AI_VECTOR_CORE", "aten::sigmoid", "8192", "ND", "ND", 4000, 6000, 1},
};
const int ascend_work_count = sizeof(ascend_works) / sizeof(ascend_works[0]);
const int ascend_plain_works = 8;
const int ascend_trans_work = 8;
const int ascend_aicpu_work = 9;
const int ascend_grouped_work = 10;
const int ascend_small_work = 11;
const int ascend_small_works = 6;

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
	/* the inner axis of a product in bad shape */
	while (*from && at + 5 < (size_t)size) {
		bool inner = o->faults.size[FAULT_AFFINITY] > 0 &&
		             strcmp(ascend_works[k->work].type, "MatMulV2") == 0 &&
		             strncmp(from, "4096;4096", 9) == 0;

		if (inner) {
			at += (size_t)snprintf(text + at, (size_t)size - at, "4100;4100");
			from += 9;
		} else {
			text[at++] = *from++;
		}
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
		static const int ratios[5] = {890, 90, 445, 593, 60};

		cube[i] = aicpu || is_vector ? 0 : (int)(ratios[i] / slower);
	}
	for (int i = 0; i < 4; i++) {
		static const int healthy[4] = {840, 80, 620, 410};
		static const int bound[4] = {840, 80, 960, 620};
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
