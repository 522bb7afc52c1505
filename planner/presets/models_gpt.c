#include "planner/presets/models.h"

/* GPT-2 and GPT-3, and the mixture that was made of one. */

#define GPT2 "Radford et al. 2019, table 2, and the published configuration (openai/gpt-2)"
#define GPT3 "Brown et al. 2020 (arXiv:2005.14165), table 2.1; vocabulary of GPT-2"

static const struct model_preset rows[] = {
    {"gpt2-124m", GPT2, {SHAPE(12, 768, 12, 12, 64, 3072, 50257, 1024), GPT}},
    {"gpt2-355m", GPT2, {SHAPE(24, 1024, 16, 16, 64, 4096, 50257, 1024), GPT}},
    {"gpt2-774m", GPT2, {SHAPE(36, 1280, 20, 20, 64, 5120, 50257, 1024), GPT}},
    {"gpt2-1.5b", GPT2, {SHAPE(48, 1600, 25, 25, 64, 6400, 50257, 1024), GPT}},
    {"gpt3-125m", GPT3, {SHAPE(12, 768, 12, 12, 64, 3072, 50257, 2048), GPT}},
    {"gpt3-350m", GPT3, {SHAPE(24, 1024, 16, 16, 64, 4096, 50257, 2048), GPT}},
    {"gpt3-760m", GPT3, {SHAPE(24, 1536, 16, 16, 96, 6144, 50257, 2048), GPT}},
    {"gpt3-1.3b",
     GPT3 "; the table's 24 heads of 128 do not make its hidden size of 2048: 16 heads, which give the "
          "parameters of its table D.1",
     {SHAPE(24, 2048, 16, 16, 128, 8192, 50257, 2048), GPT}},
    {"gpt3-2.7b", GPT3, {SHAPE(32, 2560, 32, 32, 80, 10240, 50257, 2048), GPT}},
    {"gpt3-6.7b", GPT3, {SHAPE(32, 4096, 32, 32, 128, 16384, 50257, 2048), GPT}},
    {"gpt3-13b",
     GPT3 "; the table's hidden size of 5140 is not 40 heads of 128: 5120, which gives the parameters of its "
          "table D.1",
     {SHAPE(40, 5120, 40, 40, 128, 20480, 50257, 2048), GPT}},
    {"gpt3-175b",
     "Brown et al. 2020 (arXiv:2005.14165), table 2.1; vocabulary padded to 51200",
     {SHAPE(96, 12288, 96, 96, 128, 49152, 51200, 2048), GPT}},
    {"ted-6.7b-16e",
     "DeepSpeed-TED (arXiv:2303.06318): GPT-3 6.7B with 16 experts in every second layer, named 40B there; "
     "one expert a token, and which layers hold experts, are not verified; the biases of experts are left "
     "out",
     {SHAPE(32, 4096, 32, 32, 128, 16384, 50257, 2048), GPT, SECOND(16, 16384)}},
};

const struct model_family gpt_models = FAMILY_OF(rows);
