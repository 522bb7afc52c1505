#include "planner/presets/models.h"

/* Models that were trained on Ascend: PanGu, TeleChat, CodeGeeX, Hypertron's. Of TeleChat3's larger models
 * (to over a trillion parameters) neither the report's abstract nor the repository tells a shape: none is
 * here. */

#define ALPHA                                                                                                \
	"PanGu-alpha (arXiv:2104.12369), table 1, and MindSpore's model zoo; its last layer's query layer "  \
	"is "                                                                                                \
	"counted as a layer of the others' kind"
#define HYPERTRON                                                                                            \
	"Hypertron (SC 2025) tells no more than the size; the shape of a published model of that size, not " \
	"verified: "
#define TELECHAT3 "TeleChat3 (arXiv:2512.24157) and the README of Tele-AI/TeleChat3; "

static const struct model_preset rows[] = {
    {"pangu-alpha-2.6b", ALPHA, {SHAPE(32, 2560, 32, 32, 80, 10240, 40000, 1024), GPT}},
    {"pangu-alpha-13b", ALPHA, {SHAPE(40, 5120, 40, 40, 128, 20480, 40000, 1024), GPT}},
    {"pangu-alpha-200b", ALPHA, {SHAPE(64, 16384, 128, 128, 128, 65536, 40000, 1024), GPT}},
    {"pangu-sigma-1t",
     "PanGu-Sigma (arXiv:2303.10845): the 13B of PanGu-alpha with experts in its upper 8 layers; 640 experts "
     "a "
     "layer, one a token, are not verified but give the published 1.085e12 parameters; the vocabulary is "
     "PanGu-alpha's, not verified; its routes are fixed at random, so that a learned router counts too much",
     {SHAPE(40, 5120, 40, 40, 128, 20480, 40000, 1024), GPT, MOE(640, 1, 20480, 0, 20480, 32)}},
    {"pangu-ultra-135b",
     "Pangu Ultra (arXiv:2504.07866), section 2: 94 layers, vocabulary of 153376; the hidden size of 12288, "
     "FFN of 28672, 96 heads and 8 of keys and values are not verified (they give 133.9 of the published 135 "
     "billion); the two more norms a layer of its sandwich are left out; sequence of 4096 chosen here",
     {SHAPE(94, 12288, 96, 8, 128, 28672, 153376, 4096), LLAMA}},
    {"pangu-ultra-moe-718b",
     "Pangu Ultra MoE (arXiv:2505.04519) and the published configuration of openPangu-Ultra-MoE-718B; "
     "without the multi-token prediction module; the two more norms a layer of its sandwich are left out; "
     "sequence of 4096 chosen here",
     {SHAPE(61, 7680, 128, 128, 128, 18432, 153600, 4096), LLAMA, MOE(256, 8, 2048, 1, 2048, 3),
      MLA(1536, 512, 128, 64, 128)}},
    {"telechat3-36b",
     TELECHAT3 "heads, vocabulary and sequence from its finetune_telechat3_36b.yaml",
     {SHAPE(64, 6144, 48, 8, 128, 24576, 131072, 8192), LLAMA}},
    {"telechat3-105b-a4.7b",
     TELECHAT3 "heads, ranks and the experts' width from the published Megatron-Core script of its training; "
               "the tokenizer is that of 36B; without the multi-token prediction module",
     {SHAPE(45, 2560, 32, 32, 128, 7680, 131072, 4096), LLAMA, MOE(192, 4, 1536, 1, 1536, 1), ROUTER_BIAS,
      MLA(1536, 512, 128, 64, 128)}},
    {"hypertron-141b",
     HYPERTRON "Mixtral 8x22B",
     {SHAPE(56, 6144, 48, 8, 128, 16384, 32768, 4096), LLAMA, MOE(8, 2, 16384, 0, 16384, 0)}},
    {"hypertron-310b",
     HYPERTRON "Narayanan et al. 2021 (arXiv:2104.04473), table 1",
     {SHAPE(96, 16384, 128, 128, 128, 65536, 51200, 2048), GPT}},
    {"codegeex-13b",
     "CodeGeeX repository README: 40 layers, hidden 5120, 40 heads, sequence 2048",
     {SHAPE(40, 5120, 40, 40, 128, 20480, 52224, 2048), GPT}},
};

const struct model_family pangu_models = FAMILY_OF(rows);
