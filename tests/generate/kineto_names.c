#include "tests/generate/kineto.h"

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

static const struct work others[] = {
    [UNIT_COLLECTIVE] = {"c10d::allreduce_", "nccl:all_reduce",
                         "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 0, 0,
                         24, 544, 0},
    [UNIT_COPY_IN] = {"aten::to", "aten::copy_", "Memcpy HtoD (Pinned -> Device)", 60000, 90000, 0, 0, 0},
    [UNIT_COPY_OUT] = {"aten::item", "aten::_local_scalar_dense", "Memcpy DtoH (Device -> Pinned)", 1500,
                       2500, 0, 0, 0},
    [UNIT_CLEAR] = {"aten::zero_", "aten::zero_", "Memset (Device)", 2000, 4000, 0, 0, 0},
};

const struct work *kineto_work(const struct unit *u)
{
	if (u->kind != UNIT_COMPUTE)
		return &others[u->kind];
	if (u->phase == PHASE_FORWARD)
		return &kineto_forward[u->work];
	return u->phase == PHASE_BACKWARD ? &kineto_backward[u->work] : &kineto_optimizer[u->work];
}
