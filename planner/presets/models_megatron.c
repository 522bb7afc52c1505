#include "planner/presets/models.h"

/* The GPT models that Megatron-LM and MegaScale measured. */

#define SC21 "Narayanan et al. 2021 (arXiv:2104.04473), table 1; vocabulary padded to 51200"
#define MLM "Shoeybi et al. 2019 (arXiv:1909.08053), table 1; vocabulary padded to 51200"
#define MEGASCALE                                                                                            \
	"MegaScale (arXiv:2402.15627), table 1; vocabulary of 64000; its parallel block has one norm less "  \
	"a layer"

static const struct model_preset rows[] = {
    {"megatron-1.2b", MLM, {SHAPE(40, 1536, 16, 16, 96, 6144, 51200, 1024), GPT}},
    {"megatron-2.5b", MLM, {SHAPE(54, 1920, 20, 20, 96, 7680, 51200, 1024), GPT}},
    {"megatron-4.2b", MLM, {SHAPE(64, 2304, 24, 24, 96, 9216, 51200, 1024), GPT}},
    {"megatron-8.3b", MLM, {SHAPE(72, 3072, 32, 32, 96, 12288, 51200, 1024), GPT}},
    {"megatron-1.7b", SC21, {SHAPE(24, 2304, 24, 24, 96, 9216, 51200, 2048), GPT}},
    {"megatron-3.6b", SC21, {SHAPE(30, 3072, 32, 32, 96, 12288, 51200, 2048), GPT}},
    {"megatron-7.5b", SC21, {SHAPE(36, 4096, 32, 32, 128, 16384, 51200, 2048), GPT}},
    {"megatron-18b", SC21, {SHAPE(40, 6144, 48, 48, 128, 24576, 51200, 2048), GPT}},
    {"megatron-22b",
     "Korthikanti et al. 2022 (arXiv:2205.05198), table 3; vocabulary padded to 51200; its other sizes are "
     "gpt3-175b, megatron-530b and megatron-1t",
     {SHAPE(48, 6144, 64, 64, 96, 24576, 51200, 2048), GPT}},
    {"megatron-39b", SC21, {SHAPE(48, 8192, 64, 64, 128, 32768, 51200, 2048), GPT}},
    {"megatron-76b", SC21, {SHAPE(60, 10240, 80, 80, 128, 40960, 51200, 2048), GPT}},
    {"megatron-145b", SC21, {SHAPE(80, 12288, 96, 96, 128, 49152, 51200, 2048), GPT}},
    {"megatron-310b", SC21, {SHAPE(96, 16384, 128, 128, 128, 65536, 51200, 2048), GPT}},
    {"megatron-530b", SC21, {SHAPE(105, 20480, 128, 128, 160, 81920, 51200, 2048), GPT}},
    {"megatron-1t", SC21, {SHAPE(128, 25600, 160, 160, 160, 102400, 51200, 2048), GPT}},
    {"megascale-175b", MEGASCALE, {SHAPE(96, 12288, 128, 128, 96, 49152, 64000, 2048), GPT}},
    {"megascale-530b", MEGASCALE, {SHAPE(105, 20480, 160, 160, 128, 81920, 64000, 2048), GPT}},
};

const struct model_family megatron_models = FAMILY_OF(rows);
