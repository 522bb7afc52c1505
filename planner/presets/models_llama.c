#include "planner/presets/models.h"

/* Llama and Mistral. */

#define LLAMA1 "Touvron et al. 2023 (arXiv:2302.13971), table 2, and the published configuration"
#define LLAMA2 "Touvron et al. 2023 (arXiv:2307.09288) and the published configuration"
#define LLAMA3 "Llama 3 (arXiv:2407.21783), table 3"
#define LLAMA32 "Llama 3.2 model card and the published configuration; sequence of 8192 chosen here"
#define MIXTRAL "Mixtral (arXiv:2401.04088) and the published configuration; sequence of 4096 chosen here"

static const struct model_preset rows[] = {
    {"llama-7b", LLAMA1, {SHAPE(32, 4096, 32, 32, 128, 11008, 32000, 2048), LLAMA}},
    {"llama-13b", LLAMA1, {SHAPE(40, 5120, 40, 40, 128, 13824, 32000, 2048), LLAMA}},
    {"llama-33b", LLAMA1, {SHAPE(60, 6656, 52, 52, 128, 17920, 32000, 2048), LLAMA}},
    {"llama-65b", LLAMA1, {SHAPE(80, 8192, 64, 64, 128, 22016, 32000, 2048), LLAMA}},
    {"llama2-7b", LLAMA2, {SHAPE(32, 4096, 32, 32, 128, 11008, 32000, 4096), LLAMA}},
    {"llama2-13b", LLAMA2, {SHAPE(40, 5120, 40, 40, 128, 13824, 32000, 4096), LLAMA}},
    {"llama2-34b",
     "Touvron et al. 2023 (arXiv:2307.09288); never published: the shape is Code Llama 34B's, which began "
     "from it",
     {SHAPE(48, 8192, 64, 8, 128, 22016, 32000, 4096), LLAMA}},
    {"llama2-70b", LLAMA2, {SHAPE(80, 8192, 64, 8, 128, 28672, 32000, 4096), LLAMA}},
    {"llama3-8b", LLAMA3, {SHAPE(32, 4096, 32, 8, 128, 14336, 128256, 8192), LLAMA}},
    {"llama3-70b", LLAMA3, {SHAPE(80, 8192, 64, 8, 128, 28672, 128256, 8192), LLAMA}},
    {"llama3-405b", LLAMA3, {SHAPE(126, 16384, 128, 8, 128, 53248, 128256, 8192), LLAMA}},
    {"llama3.2-1b", LLAMA32, {SHAPE(16, 2048, 32, 8, 64, 8192, 128256, 8192), LLAMA, .tied_embedding = true}},
    {"llama3.2-3b",
     LLAMA32,
     {SHAPE(28, 3072, 24, 8, 128, 8192, 128256, 8192), LLAMA, .tied_embedding = true}},
    {"mistral-7b",
     "Mistral 7B (arXiv:2310.06825), table 1; its sliding window is left out",
     {SHAPE(32, 4096, 32, 8, 128, 14336, 32000, 8192), LLAMA}},
    {"mixtral-8x7b",
     MIXTRAL,
     {SHAPE(32, 4096, 32, 8, 128, 14336, 32000, 4096), LLAMA, MOE(8, 2, 14336, 0, 14336, 0)}},
    {"mixtral-8x22b",
     MIXTRAL,
     {SHAPE(56, 6144, 48, 8, 128, 16384, 32768, 4096), LLAMA, MOE(8, 2, 16384, 0, 16384, 0)}},
};

const struct model_family llama_models = FAMILY_OF(rows);
