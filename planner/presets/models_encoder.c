#include "planner/presets/models.h"

/* Encoders, and the language halves of multimodal models. The planner's model is one stack of layers: a
 * multimodal model is two presets, NAME-vision and NAME-language, planned one by one. In a vision tower the
 * projection of patches (3 channels of patch x patch pixels) stands as a tied vocabulary: it has as many
 * parameters, and the head's product is as much work. */

#define CAUSAL "; a fused attention kernel is costed as causal, half of what an encoder's takes"

#define PATCH(p) (3 * (p) * (p))
#define BERT "Devlin et al. 2018 (arXiv:1810.04805) and the published configuration; sequence of 512"
#define BERT_LEFT                                                                                            \
	"; the pooler, the head's transform and the second kind of embedding are left out (at most "         \
	"1 % of all)" CAUSAL
#define VIT "Zhai et al. 2021 (arXiv:2106.04560), table 2; images of 224 pixels, patches of 14" CAUSAL
#define INTERNVL "InternVL 1.5 (arXiv:2404.16821) and the published configuration: "
#define QWEN2VL "Qwen2-VL (arXiv:2409.12191) and the published configuration: "
#define OMNI "MegaScale-Omni (arXiv:2605.08962), read second hand; "
#define OMNI_LLAMA OMNI "which LLaMA of 70 billion is not told: Llama 2's"

static const struct model_preset rows[] = {
    {"bert-base", BERT BERT_LEFT, {SHAPE(12, 768, 12, 12, 64, 3072, 30522, 512), GPT}},
    {"bert-large", BERT BERT_LEFT, {SHAPE(24, 1024, 16, 16, 64, 4096, 30522, 512), GPT}},
    {"vit-g14-vision", VIT, {SHAPE(40, 1408, 16, 16, 88, 6144, PATCH(14), 256), GPT}},
    {"vit-gg14-vision", VIT, {SHAPE(48, 1664, 16, 16, 104, 8192, PATCH(14), 256), GPT}},
    {"internvl1.5-26b-vision",
     INTERNVL "InternViT-6B of 45 layers, 1024 patches of an image of 448 pixels" CAUSAL,
     {SHAPE(45, 3200, 25, 25, 128, 12800, PATCH(14), 1024), .tied_embedding = true,
      .learned_positions = true}},
    {"internvl1.5-26b-language",
     INTERNVL "InternLM2-20B; the projector between the two (0.12 billion) is left out",
     {SHAPE(48, 6144, 48, 8, 128, 16384, 92544, 4096), LLAMA}},
    {"qwen2-vl-7b-vision",
     QWEN2VL
     "a patch has two frames, 1024 of them here; the merger (45 of its 675 million) is left out" CAUSAL,
     {SHAPE(32, 1280, 16, 16, 80, 5120, 2 * PATCH(14), 1024), .tied_embedding = true, .biases = true,
      .layer_norm = true}},
    {"qwen2-vl-7b-language",
     QWEN2VL "Qwen2-7B; the biases of Q, K and V are left out; sequence of 4096 chosen here",
     {SHAPE(28, 3584, 28, 4, 128, 18944, 152064, 4096), LLAMA}},
    {"megascale-omni-b-language",
     OMNI_LLAMA "; the shape of its ViT of 2.4 billion was not found",
     {SHAPE(80, 8192, 64, 8, 128, 28672, 32000, 16384), LLAMA}},
    {"megascale-omni-c-language",
     OMNI_LLAMA "; the shape of its ViT of 10 billion was not found",
     {SHAPE(80, 8192, 64, 8, 128, 28672, 32000, 8192), LLAMA}},
    {"megascale-omni-d-language",
     OMNI "GPT of 175 billion, here the shape of GPT-3; the shape of its ViT of 10 billion was not found",
     {SHAPE(96, 12288, 96, 96, 128, 49152, 51200, 8192), GPT}},
};

const struct model_family encoder_models = FAMILY_OF(rows);
