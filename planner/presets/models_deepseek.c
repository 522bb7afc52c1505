#include "planner/presets/models.h"

#define LLM "DeepSeek LLM (arXiv:2401.02954), table 2, and the published configuration"

static const struct model_preset rows[] = {
    {"deepseek-7b", LLM, {SHAPE(30, 4096, 32, 32, 128, 11008, 102400, 4096), LLAMA}},
    {"deepseek-67b", LLM, {SHAPE(95, 8192, 64, 8, 128, 22016, 102400, 4096), LLAMA}},
    {"deepseek-moe-16b",
     "DeepSeekMoE (arXiv:2401.06066), section 5.1.2, and the published configuration",
     {SHAPE(28, 2048, 16, 16, 128, 10944, 102400, 4096), LLAMA, MOE(64, 6, 1408, 2, 1408, 1)}},
    {"deepseek-v2-lite",
     "DeepSeek-V2 (arXiv:2405.04434), appendix B, and the published configuration",
     {SHAPE(27, 2048, 16, 16, 128, 10944, 102400, 4096), LLAMA, MOE(64, 6, 1408, 2, 1408, 1),
      MLA(0, 512, 128, 64, 128)}},
    {"deepseek-v2",
     "DeepSeek-V2 (arXiv:2405.04434), section 3.1.2, and the published configuration",
     {SHAPE(60, 5120, 128, 128, 128, 12288, 102400, 4096), LLAMA, MOE(160, 6, 1536, 2, 1536, 1), GROUPS(8, 3),
      MLA(1536, 512, 128, 64, 128)}},
    {"deepseek-v3",
     "DeepSeek-V3 (arXiv:2412.19437), section 4.2, and the published configuration; without the multi-token "
     "prediction module",
     {SHAPE(61, 7168, 128, 128, 128, 18432, 129280, 4096), LLAMA, MOE(256, 8, 2048, 1, 2048, 3), ROUTER_BIAS,
      GROUPS(8, 4), MLA(1536, 512, 128, 64, 128)}},
};

const struct model_family deepseek_models = FAMILY_OF(rows);
