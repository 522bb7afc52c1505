#include "planner/presets/models.h"

#include <string.h>

static const struct model_family *const families[] = {&gpt_models,      &megatron_models, &llama_models,
                                                      &deepseek_models, &qwen_models,     &pangu_models,
                                                      &encoder_models};

const struct model_preset *model_preset_at(size_t i)
{
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		if (i < families[f]->count)
			return &families[f]->rows[i];
		i -= families[f]->count;
	}
	return NULL;
}

const struct model_preset *model_preset(const char *name)
{
	const struct model_preset *p;

	for (size_t i = 0; (p = model_preset_at(i)); i++) {
		if (strcmp(p->name, name) == 0)
			return p;
	}
	return NULL;
}
