#include "planner/presets/models.h"

/* Encoders, and the language halves of multimodal models. The planner's model is one stack of layers: a
 * multimodal model is two presets, NAME-vision and NAME-language, planned one by one; one of an encoder and a
 * decoder is NAME-encoder and NAME-decoder. A decoder layer that attends to the encoder too stands as one of
 * twice the heads: beside as many tokens in both that is its parameters and products to the digit, less one
 * norm, while a fused kernel is costed as causal in the half that looks at the encoder. In a vision tower the
 * projection of patches (3 channels of patch x patch pixels) stands as a tied vocabulary: it has as many
 * parameters, and the head's product is as much work. */

#define PATCH(p) (3 * (p) * (p))
#define BERT "Devlin et al. 2018 (arXiv:1810.04805) and the published configuration; sequence of 512"
#define BERT_LEFT                                                                                            \
	"; the pooler, the head's transform and the second kind of embedding are left out (at most "         \
	"1 % of all)"
#define VIT "Zhai et al. 2021 (arXiv:2106.04560), table 2; images of 224 pixels, patches of 14"
#define INTERNVL "InternVL 1.5 (arXiv:2404.16821) and the published configuration: "
#define QWEN2VL "Qwen2-VL (arXiv:2409.12191) and the published configuration: "
#define T5                                                                                                   \
	"T5 (arXiv:1910.10683), section 3.7, and the published configuration; sequence of 512; the table "   \
	"of "                                                                                                \
	"relative positions is left out"
#define ZCODE                                                                                                \
	"DeepSpeed MoE (arXiv:2109.10465), Z-code M3 of 10 billion; 24 layers and 12, width of 1024, 64 "    \
	"experts in every second layer, one a token, vocabulary of 128000 and sequence of 512 are not "      \
	"verified (they give 10.1 billion)"
#define SHARED "; the embedding is the encoder's too"
#define NO_HEAD "; a head is costed, which an encoder lacks (its product is 1 % of the work or less)"
#define T5_BLOCK .tied_embedding = true, .dropout = true
#define OMNI "MegaScale-Omni (arXiv:2605.08962), read second hand; "
#define OMNI_LLAMA OMNI "which LLaMA of 70 billion is not told: Llama 2's"
#define OMNI_VIT                                                                                             \
	OMNI "only the size of its ViT is told: layers and width are chosen here for that, with 1024 "       \
	     "patches "                                                                                      \
	     "of 14 x 14 an image"

static const struct model_preset rows[] = {
    {"bert-base", BERT BERT_LEFT, {SHAPE(12, 768, 12, 12, 64, 3072, 30522, 512), GPT, ENCODER}},
    {"bert-large", BERT BERT_LEFT, {SHAPE(24, 1024, 16, 16, 64, 4096, 30522, 512), GPT, ENCODER}},
    {"vit-g14-vision", VIT, {SHAPE(40, 1408, 16, 16, 88, 6144, PATCH(14), 256), GPT, ENCODER}},
    {"vit-gg14-vision", VIT, {SHAPE(48, 1664, 16, 16, 104, 8192, PATCH(14), 256), GPT, ENCODER}},
    {"internvl1.5-26b-vision",
     INTERNVL "InternViT-6B of 45 layers, 1024 patches of an image of 448 pixels",
     {SHAPE(45, 3200, 25, 25, 128, 12800, PATCH(14), 1024), ENCODER, .tied_embedding = true,
      .learned_positions = true}},
    {"internvl1.5-26b-language",
     INTERNVL "InternLM2-20B; the projector between the two (0.12 billion) is left out",
     {SHAPE(48, 6144, 48, 8, 128, 16384, 92544, 4096), LLAMA}},
    {"qwen2-vl-7b-vision",
     QWEN2VL "a patch has two frames, 1024 of them here; the merger (45 of its 675 million) is left out",
     {SHAPE(32, 1280, 16, 16, 80, 5120, 2 * PATCH(14), 1024), ENCODER, .tied_embedding = true, .biases = true,
      .layer_norm = true}},
    {"qwen2-vl-7b-language",
     QWEN2VL "Qwen2-7B; the biases of Q, K and V are left out; sequence of 4096 chosen here",
     {SHAPE(28, 3584, 28, 4, 128, 18944, 152064, 4096), LLAMA}},
    {"t5-large-encoder", T5 NO_HEAD, {SHAPE(24, 1024, 16, 16, 64, 4096, 32128, 512), T5_BLOCK, ENCODER}},
    {"t5-large-decoder", T5 SHARED, {SHAPE(24, 1024, 32, 32, 64, 4096, 32128, 512), T5_BLOCK}},
    {"t5-3b-encoder", T5 NO_HEAD, {SHAPE(24, 1024, 32, 32, 128, 16384, 32128, 512), T5_BLOCK, ENCODER}},
    {"t5-3b-decoder", T5 SHARED, {SHAPE(24, 1024, 64, 64, 128, 16384, 32128, 512), T5_BLOCK}},
    {"t5-11b-encoder", T5 NO_HEAD, {SHAPE(24, 1024, 128, 128, 128, 65536, 32128, 512), T5_BLOCK, ENCODER}},
    {"t5-11b-decoder", T5 SHARED, {SHAPE(24, 1024, 256, 256, 128, 65536, 32128, 512), T5_BLOCK}},
    {"zcode-m3-10b-encoder",
     ZCODE NO_HEAD,
     {SHAPE(24, 1024, 16, 16, 64, 4096, 128000, 512), T5_BLOCK, ENCODER, .biases = true, .layer_norm = true,
      SECOND(64, 4096)}},
    {"zcode-m3-10b-decoder",
     ZCODE SHARED,
     {SHAPE(12, 1024, 32, 32, 64, 4096, 128000, 512), T5_BLOCK, .biases = true, .layer_norm = true,
      SECOND(64, 4096)}},
    {"megascale-omni-a-vision",
     OMNI "which ViT of a billion is not told: ViT-g/14's shape, with 1024 patches an image",
     {SHAPE(40, 1408, 16, 16, 88, 6144, PATCH(14), 1024), GPT, ENCODER}},
    {"megascale-omni-a-language",
     OMNI
     "which LLaMA of 12 billion is not told: the shape of Mistral NeMo 12B, its nearest relative of that "
     "size",
     {SHAPE(40, 5120, 32, 8, 128, 14336, 131072, 16384), LLAMA}},
    {"megascale-omni-b-vision",
     OMNI_VIT,
     {SHAPE(48, 2048, 16, 16, 128, 8192, PATCH(14), 1024), GPT, ENCODER}},
    {"megascale-omni-b-language", OMNI_LLAMA, {SHAPE(80, 8192, 64, 8, 128, 28672, 32000, 16384), LLAMA}},
    {"megascale-omni-c-vision",
     OMNI_VIT,
     {SHAPE(50, 4096, 32, 32, 128, 16384, PATCH(14), 1024), GPT, ENCODER}},
    {"megascale-omni-c-language", OMNI_LLAMA, {SHAPE(80, 8192, 64, 8, 128, 28672, 32000, 8192), LLAMA}},
    {"megascale-omni-d-vision",
     OMNI_VIT,
     {SHAPE(50, 4096, 32, 32, 128, 16384, PATCH(14), 1024), GPT, ENCODER}},
    {"megascale-omni-d-language",
     OMNI "GPT of 175 billion, here the shape of GPT-3",
     {SHAPE(96, 12288, 96, 96, 128, 49152, 51200, 8192), GPT}},
};

const struct model_family encoder_models = FAMILY_OF(rows);
