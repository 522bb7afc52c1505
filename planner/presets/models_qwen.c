#include "planner/presets/models.h"

#define CARD " and the published configuration; the biases of Q, K and V are left out; "
#define SEQ "sequence of 4096 chosen here"
#define QWEN15 "Qwen1.5 model cards" CARD SEQ
#define QWEN2 "Qwen2 (arXiv:2407.10671), table 1," CARD SEQ
#define QWEN25 "Qwen2.5 (arXiv:2412.15115), table 1," CARD SEQ
#define QWEN3 "Qwen3 (arXiv:2505.09388), tables 1 and 2, and the published configuration"
#define TIED .tied_embedding = true

static const struct model_preset rows[] = {
    {"qwen1.5-0.5b", QWEN15, {SHAPE(24, 1024, 16, 16, 64, 2816, 151936, 4096), LLAMA, TIED}},
    {"qwen1.5-1.8b", QWEN15, {SHAPE(24, 2048, 16, 16, 128, 5504, 151936, 4096), LLAMA}},
    {"qwen1.5-4b", QWEN15, {SHAPE(40, 2560, 20, 20, 128, 6912, 151936, 4096), LLAMA}},
    {"qwen1.5-7b", QWEN15, {SHAPE(32, 4096, 32, 32, 128, 11008, 151936, 4096), LLAMA}},
    {"qwen1.5-14b", QWEN15, {SHAPE(40, 5120, 40, 40, 128, 13696, 152064, 4096), LLAMA}},
    {"qwen1.5-32b", QWEN15, {SHAPE(64, 5120, 40, 8, 128, 27392, 152064, 4096), LLAMA}},
    {"qwen1.5-72b", QWEN15, {SHAPE(80, 8192, 64, 64, 128, 24576, 152064, 4096), LLAMA}},
    {"qwen1.5-110b", QWEN15, {SHAPE(80, 8192, 64, 8, 128, 49152, 152064, 4096), LLAMA}},
    {"qwen1.5-moe-a2.7b",
     QWEN15,
     {SHAPE(24, 2048, 16, 16, 128, 5632, 151936, 4096), LLAMA, MOE(60, 4, 1408, 1, 5632, 0)}},
    {"qwen2-0.5b", QWEN2, {SHAPE(24, 896, 14, 2, 64, 4864, 151936, 4096), LLAMA, TIED}},
    {"qwen2-1.5b", QWEN2, {SHAPE(28, 1536, 12, 2, 128, 8960, 151936, 4096), LLAMA, TIED}},
    {"qwen2-7b", QWEN2, {SHAPE(28, 3584, 28, 4, 128, 18944, 152064, 4096), LLAMA}},
    {"qwen2-72b", QWEN2, {SHAPE(80, 8192, 64, 8, 128, 29568, 152064, 4096), LLAMA}},
    {"qwen2-57b-a14b",
     QWEN2,
     {SHAPE(28, 3584, 28, 4, 128, 18944, 151936, 4096), LLAMA, MOE(64, 8, 2560, 1, 20480, 0)}},
    {"qwen2.5-0.5b", QWEN25, {SHAPE(24, 896, 14, 2, 64, 4864, 151936, 4096), LLAMA, TIED}},
    {"qwen2.5-1.5b", QWEN25, {SHAPE(28, 1536, 12, 2, 128, 8960, 151936, 4096), LLAMA, TIED}},
    {"qwen2.5-3b", QWEN25, {SHAPE(36, 2048, 16, 2, 128, 11008, 151936, 4096), LLAMA, TIED}},
    {"qwen2.5-7b", QWEN25, {SHAPE(28, 3584, 28, 4, 128, 18944, 152064, 4096), LLAMA}},
    {"qwen2.5-14b", QWEN25, {SHAPE(48, 5120, 40, 8, 128, 13824, 152064, 4096), LLAMA}},
    {"qwen2.5-32b", QWEN25, {SHAPE(64, 5120, 40, 8, 128, 27648, 152064, 4096), LLAMA}},
    {"qwen2.5-72b", QWEN25, {SHAPE(80, 8192, 64, 8, 128, 29568, 152064, 4096), LLAMA}},
    {"qwen3-0.6b", QWEN3, {SHAPE(28, 1024, 16, 8, 128, 3072, 151936, 4096), LLAMA, TIED}},
    {"qwen3-1.7b", QWEN3, {SHAPE(28, 2048, 16, 8, 128, 6144, 151936, 4096), LLAMA, TIED}},
    {"qwen3-4b", QWEN3, {SHAPE(36, 2560, 32, 8, 128, 9728, 151936, 4096), LLAMA, TIED}},
    {"qwen3-8b", QWEN3, {SHAPE(36, 4096, 32, 8, 128, 12288, 151936, 4096), LLAMA}},
    {"qwen3-14b", QWEN3, {SHAPE(40, 5120, 40, 8, 128, 17408, 151936, 4096), LLAMA}},
    {"qwen3-32b", QWEN3, {SHAPE(64, 5120, 64, 8, 128, 25600, 151936, 4096), LLAMA}},
    {"qwen3-72b",
     "the example of mindspore-ai/hyper-parallel (hyper_qwen3_72b.yaml); no such model was published",
     {SHAPE(80, 8192, 64, 8, 128, 29696, 152064, 4096), LLAMA}},
    {"qwen3-30b-a3b",
     QWEN3,
     {SHAPE(48, 2048, 32, 4, 128, 6144, 151936, 4096), LLAMA, MOE(128, 8, 768, 0, 768, 0)}},
    {"qwen3-235b-a22b",
     QWEN3,
     {SHAPE(94, 4096, 64, 4, 128, 12288, 151936, 4096), LLAMA, MOE(128, 8, 1536, 0, 1536, 0)}},
    {"qwen3-coder-480b-a35b",
     "Qwen3-Coder model card and the published configuration; " SEQ,
     {SHAPE(62, 6144, 96, 8, 128, 8192, 151936, 4096), LLAMA, MOE(160, 8, 2560, 0, 2560, 0)}},
};

const struct model_family qwen_models = FAMILY_OF(rows);
