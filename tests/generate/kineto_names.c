#include "tests/generate/kineto.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ELEMENTWISE(op, type)                                                                                \
	"void at::native::vectorized_elementwise_kernel<4, at::native::" op "<" type                         \
	">, at::detail::Array<char*, 3> "                                                                    \
	">(int, at::native::" op "<" type ">, at::detail::Array<char*, 3>)"
#define GEMM(layout, tile)                                                                                   \
	"sm90_xmma_gemm_bf16bf16_bf16f32_f32_" layout "_tilesize" tile                                       \
	"_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas"
#define FLASH(pass)                                                                                          \
	"void flash_" pass "_kernel<Flash_" pass                                                             \
	"_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t, "                                \
	"Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, false, true, false, false, true, "     \
	"true, "                                                                                             \
	"false>(Flash_" pass "_params)"
#define MULTI(op)                                                                                            \
	"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "          \
	"namespace)::TensorListMetadata<4>, at::native::(anonymous namespace)::" op                          \
	"<float, float, 4>, at::native::" op "Math<float> >(at::native::(anonymous "                         \
	"namespace)::TensorListMetadata<4>, at::native::(anonymous namespace)::" op "<float, float, 4>)"

const struct work kineto_forward[] = {
    {"aten::layer_norm", "aten::native_layer_norm",
     "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
     "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)",
     9000, 16000, 4096, 256, 83},
    {"aten::linear", "aten::addmm", GEMM("tn_n", "128x256x64"), 52000, 130000, 1056, 384, 62},
    {"aten::scaled_dot_product_attention", "aten::_flash_attention_forward", FLASH("fwd"), 61000, 90000, 2048,
     128, 66},
    {"aten::linear", "aten::addmm", GEMM("tn_n", "128x128x64"), 31000, 70000, 528, 384, 60},
    {"aten::add", "aten::add", ELEMENTWISE("CUDAFunctor_add", "c10::BFloat16"), 7000, 12000, 8192, 128, 91},
    {"aten::linear", "aten::addmm", GEMM("tn_n", "256x128x64"), 60000, 150000, 1056, 384, 63},
    {"aten::gelu", "aten::gelu", ELEMENTWISE("GeluCUDAKernelImpl", "c10::BFloat16"), 8000, 15000, 8192, 128,
     92},
    {"aten::dropout", "aten::native_dropout",
     "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, unsigned int, "
     "1, 8, "
     "bool>(at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, "
     "at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, unsigned int, float, at::PhiloxCudaState)",
     8000, 14000, 4096, 256, 88},
};
const int kineto_forward_count = sizeof(kineto_forward) / sizeof(kineto_forward[0]);

const struct work kineto_backward[] = {
    {"autograd::engine::evaluate_function: NativeDropoutBackward0", "NativeDropoutBackward0",
     ELEMENTWISE("masked_scale", "c10::BFloat16"), 8000, 14000, 4096, 256, 88},
    {"autograd::engine::evaluate_function: AddmmBackward0", "aten::mm", GEMM("nn_n", "128x256x64"), 55000,
     140000, 1056, 384, 61},
    {"autograd::engine::evaluate_function: AddmmBackward0", "aten::mm", GEMM("nt_n", "128x256x64"), 55000,
     140000, 1056, 384, 61},
    {"autograd::engine::evaluate_function: GeluBackward0", "aten::gelu_backward",
     ELEMENTWISE("GeluBackwardCUDAKernelImpl", "c10::BFloat16"), 9000, 16000, 8192, 128, 92},
    {"autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0",
     "aten::_flash_attention_backward", FLASH("bwd"), 120000, 180000, 2048, 256, 55},
    {"autograd::engine::evaluate_function: NativeLayerNormBackward0", "aten::native_layer_norm_backward",
     "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, "
     "float>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, "
     "c10::BFloat16*, int)",
     12000, 22000, 4096, 256, 80},
};
const int kineto_backward_count = sizeof(kineto_backward) / sizeof(kineto_backward[0]);

const struct work kineto_optimizer[] = {
    {"aten::_foreach_mul_", "aten::_foreach_mul_", MULTI("BinaryOpScalarFunctor"), 40000, 60000, 2048, 512,
     90},
    {"aten::_fused_adamw_", "aten::_fused_adamw_", MULTI("FusedAdamMathFunctor"), 90000, 120000, 2048, 512,
     90},
};
const int kineto_optimizer_count = sizeof(kineto_optimizer) / sizeof(kineto_optimizer[0]);

#define SMALL(functor) ELEMENTWISE(functor, "float")
const struct work kineto_small[] = {
    {"aten::to", "aten::_to_copy", SMALL("CopyFunctor"), 1800, 2600, 16, 128, 6},
    {"aten::mul", "aten::mul", SMALL("MulFunctor"), 1800, 2600, 16, 128, 6},
    {"aten::sub", "aten::sub", SMALL("SubFunctor"), 1800, 2600, 16, 128, 6},
    {"aten::exp", "aten::exp", SMALL("ExpFunctor"), 1800, 2600, 16, 128, 6},
    {"aten::div", "aten::div", SMALL("DivFunctor"), 1800, 2600, 16, 128, 6},
    {"aten::sigmoid", "aten::sigmoid", SMALL("SigmoidFunctor"), 1800, 2600, 16, 128, 6},
};
const int kineto_small_count = sizeof(kineto_small) / sizeof(kineto_small[0]);

static const struct work experts = {"aten::_grouped_mm",
                                    "aten::_grouped_mm",
                                    "void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<"
                                    "cutlass::gemm::kernel::GemmUniversal<GroupedGemmProblemShape> > >",
                                    57600,
                                    57600,
                                    132,
                                    384,
                                    62};

static const struct work others[] = {
    [UNIT_COLLECTIVE] = {"c10d::allreduce_", "nccl:all_reduce",
                         "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 0, 0,
                         24, 544, 0},
    [UNIT_ALL_TO_ALL] = {"c10d::alltoall_base_", "nccl:all_to_allv",
                         "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 0, 0, 24, 544, 0},
    [UNIT_SEND] = {"c10d::send", "nccl:send 0->1", "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
                   0, 0, 8, 544, 0},
    [UNIT_RECEIVE] = {"c10d::recv_", "nccl:recv 1<-0",
                      "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 0, 0, 8, 544, 0},
    [UNIT_COPY_IN] = {"aten::to", "aten::copy_", "Memcpy HtoD (Pinned -> Device)", 60000, 90000, 0, 0, 0},
    [UNIT_COPY_OUT] = {"aten::item", "aten::_local_scalar_dense", "Memcpy DtoH (Device -> Pinned)", 1500,
                       2500, 0, 0, 0},
    [UNIT_CLEAR] = {"aten::zero_", "aten::zero_", "Memset (Device)", 2000, 4000, 0, 0, 0},
    [UNIT_PREFETCH] = {"aten::to", "aten::copy_", "Memcpy HtoD (Pageable -> Device)", 0, 0, 0, 0, 0},
};

const struct work *kineto_work(const struct unit *u)
{
	if (u->kind != UNIT_COMPUTE)
		return &others[u->kind];
	switch (u->phase) {
	case PHASE_FORWARD: return &kineto_forward[u->work];
	case PHASE_BACKWARD: return &kineto_backward[u->work];
	case PHASE_SMALL: return &kineto_small[u->work];
	case PHASE_EXPERTS: return &experts;
	default: return &kineto_optimizer[u->work];
	}
}

bool kineto_is_attention(const struct work *w)
{
	return strstr(w->kernel, "flash") != NULL;
}

bool kineto_is_link(const struct unit *u)
{
	return u->kind >= UNIT_COLLECTIVE && u->kind <= UNIT_RECEIVE;
}

static bool is_product(const struct work *w)
{
	return strstr(w->kernel, "gemm") != NULL;
}

bool kineto_is_dense(const struct work *w)
{
	return kineto_is_attention(w) || is_product(w);
}

/* 820 TFLOP/s and 2.8 TB/s of an H100: products of [rows, 4096] with [4096, 4096], attention of 32 heads of
 * 128, and elementwise work that reads two tensors and writes one. */
int64_t kineto_size(const struct work *w, int64_t ns)
{
	if (w == &experts)
		return 2048;
	if (kineto_is_attention(w))
		return llround(sqrt((double)ns * 820e3 / (strstr(w->kernel, "_bwd_") ? 40960 : 16384)));
	return is_product(w) ? llround((double)ns * 820e3 / (2.0 * 4096 * 4096))
	                     : ns * 2800 / (INT64_C(6) * 4096) + 1;
}

void kineto_dims(const struct unit *u, char *text, int64_t size)
{
	const struct work *w = kineto_work(u);
	int64_t n = u->size;

	if (u->phase == PHASE_EXPERTS)
		snprintf(text, (size_t)size, "[[%" PRId64 ", 4096], [16, 4096, 2816], []]", n);
	else if (kineto_is_attention(w))
		snprintf(text, (size_t)size,
		         "[[1, 32, %" PRId64 ", 128], [1, 32, %" PRId64 ", 128], [1, 32, %" PRId64 ", 128]]",
		         n, n, n);
	else if (strcmp(w->inner, "aten::addmm") == 0)
		snprintf(text, (size_t)size, "[[4096], [%" PRId64 ", 4096], [4096, 4096]]", n);
	else if (is_product(w))
		snprintf(text, (size_t)size, "[[%" PRId64 ", 4096], [4096, 4096], []]", n);
	else
		snprintf(text, (size_t)size, "[[%" PRId64 ", 4096], [%" PRId64 ", 4096], []]", n, n);
}

const char *kineto_call_name(const struct kineto_call *c)
{
	static const char *const names[] = {[CALL_GARBAGE] = "Python GC",
	                                    [CALL_FREE] = "cudaFree",
	                                    [CALL_TAKE] = "cudaMalloc",
	                                    [CALL_GRAPH] = "cudaGraphLaunch",
	                                    [CALL_COMPILE] = "cuModuleLoadData"};

	return names[c->kind];
}
