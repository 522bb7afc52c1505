#include "planner/presets/models.h"

/* Encoders, and the language halves of multimodal models. The planner's model is one stack of layers: a
 * multimodal model is two presets, NAME-vision and NAME-language, planned one by one. In a vision tower the
 * projection of patches (3 channels of patch x patch pixels) stands as a tied vocabulary: it has as many
 * parameters, and the head's product is as much work. */

#define PATCH(p) (3 * (p) * (p))
#define BERT "Devlin et al. 2018 (arXiv:1810.04805) and the published configuration; sequence of 512"
#define BERT_LEFT                                                                                            \
	"; the pooler, the head's transform and the second kind of embedding (0.3 to 1 % of all) are left "  \
	"out"
#define VIT "Zhai et al. 2021 (arXiv:2106.04560), table 2; images of 224 pixels, patches of 14"
#define OMNI "MegaScale-Omni (arXiv:2605.08962), read second hand; "
#define OMNI_LLAMA OMNI "which LLaMA of 70 billion is not told: Llama 2's"

static const struct model_preset rows[] = {
    {"bert-base", BERT BERT_LEFT, {SHAPE(12, 768, 12, 12, 64, 3072, 30522, 512), GPT}},
    {"bert-large", BERT BERT_LEFT, {SHAPE(24, 1024, 16, 16, 64, 4096, 30522, 512), GPT}},
    {"vit-g14-vision", VIT, {SHAPE(40, 1408, 16, 16, 88, 6144, PATCH(14), 256), GPT}},
    {"vit-gg14-vision", VIT, {SHAPE(48, 1664, 16, 16, 104, 8192, PATCH(14), 256), GPT}},
    {"megascale-omni-b-language",
     OMNI_LLAMA "; its ViT of 2.4 billion has no published shape",
     {SHAPE(80, 8192, 64, 8, 128, 28672, 32000, 16384), LLAMA}},
    {"megascale-omni-c-language",
     OMNI_LLAMA "; its ViT of 10 billion has no published shape",
     {SHAPE(80, 8192, 64, 8, 128, 28672, 32000, 8192), LLAMA}},
    {"megascale-omni-d-language",
     OMNI "GPT of 175 billion, here the shape of GPT-3; its ViT of 10 billion has no published shape",
     {SHAPE(96, 12288, 96, 96, 128, 49152, 51200, 8192), GPT}},
};

const struct model_family encoder_models = FAMILY_OF(rows);
