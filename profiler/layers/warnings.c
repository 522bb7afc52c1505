#include <stddef.h>

#include "profiler/layers/layers.h"

static const struct {
	enum layers_warning warning;
	const char *code, *text;
} WARNINGS[] = {
    {LAYERS_NO_BACKWARD, "no_backward",
     "No layers were found in backward: where backward is null, a plan takes twice forward."},
    {LAYERS_BACKWARD_UNMATCHED, "backward_unmatched",
     "Backward does not go through as many layers as forward: where backward is null, a plan takes twice "
     "forward."},
    {LAYERS_ENDS_OPEN, "ends_open",
     "Where a pass begins or ends is not seen: head and tail may lack a part, or have one of the optimizer."},
    {LAYERS_RANKS_DIFFER, "ranks_differ",
     "Ranks of one stage have other layers: those of most ranks, or of the first one, are shown."},
    {LAYERS_STAGES_GUESSED, "stages_guessed",
     "The profile does not tell the stages of its ranks: they follow from who sends first to whom, or else "
     "from "
     "the order of the ranks."},
    {LAYERS_NO_ACTIVATION, "no_activation",
     "No memory was recorded that layers keep from forward to backward: a plan that is to keep within a "
     "memory needs activation_bytes."},
    {LAYERS_BETWEEN, "between_types",
     "What stands between two types of layers is a layer of its own, such as the block that halves an "
     "image."},
    {LAYERS_STAGES_MISSING, "stages_missing",
     "Of some stages of the pipeline there is no rank: their layers are not in the list."},
    {LAYERS_ALTERNATE, "layers_alternate",
     "Layers of like types alternate: a row counts their groups, and its name says how many one has."},
    {LAYERS_INTERLEAVED, "interleaved",
     "Stages hold several chunks of the model: each micro-batch passes them as often."},
    {LAYERS_PASSES_DIFFER, "passes_differ",
     "Some forward passes run other layers than most do; those are not in the list."},
    {LAYERS_NO_PARAMETERS, "no_parameters",
     "A profile does not hold the sizes of parameters: a plan that is to keep within a memory needs "
     "parameters_bytes."},
};

const char *layers_warning_code(enum layers_warning w)
{
	for (size_t i = 0; i < sizeof(WARNINGS) / sizeof(WARNINGS[0]); i++)
		if (WARNINGS[i].warning == w)
			return WARNINGS[i].code;
	return "";
}

const char *layers_warning_text(enum layers_warning w)
{
	for (size_t i = 0; i < sizeof(WARNINGS) / sizeof(WARNINGS[0]); i++)
		if (WARNINGS[i].warning == w)
			return WARNINGS[i].text;
	return "";
}
