#include <stdlib.h>

#include "api/plans/strategy_json.h"

#define MOST_LAYERS (1 << 20)
#define MOST_SLICES (1 << 16)

/* What is read of a pipeline's stages. */
struct stages {
	struct strategy *s;
	int64_t *recomputed, *slices; /* layers of each stage, of each slice */
	bool partly;                  /* some stage recomputes not all of its layers */
};

static int read_chunk(const json_t *chunk, const struct place *at, int64_t *out_layers, int64_t *io_first,
                      struct sb_error *err)
{
	static const char *const members[] = {"first_layer", "layers", NULL};
	int rc = parse_members(chunk, at, members, err);

	if (rc == SB_OK)
		rc = parse_integer(chunk, at, "layers", REQUIRED, 0, MOST_LAYERS, out_layers, err);
	return rc == SB_OK ? parse_integer(chunk, at, "first_layer", OPTIONAL, 0, MOST_LAYERS, io_first, err)
	                   : rc;
}

/* The chunks of stage i, which hold its layers. */
static int read_chunks(struct stages *x, const json_t *stage, const struct place *at, int64_t i,
                       int64_t layers, struct sb_error *err)
{
	const json_t *chunks = json_object_get(stage, "chunks");
	struct place here = place_member(at, "chunks");
	int64_t sum = 0, first = 0;

	if (!x->slices || !json_is_array(chunks) || (int64_t)json_array_size(chunks) != x->s->vpp)
		return parse_fail(err, SB_EIMPOSSIBLE, "stages", &here, NULL,
		                  "must list vpp chunks, of every stage or of none");
	for (int64_t j = 0; j < x->s->vpp; j++) {
		struct place p = place_index(&here, (size_t)j);
		int64_t *n = &x->slices[j * x->s->pp + i];
		int rc = read_chunk(json_array_get(chunks, (size_t)j), &p, n, &first, err);

		if (rc != SB_OK)
			return rc;
		sum += *n;
	}
	if (sum != layers)
		return parse_fail(err, SB_EIMPOSSIBLE, "stages", at, "layers", "is not what its chunks hold");
	return SB_OK;
}

static int read_stage(struct stages *x, const json_t *stage, const struct place *at, int64_t i,
                      int64_t *out_layers, struct sb_error *err)
{
	static const char *const members[] = {"first_layer",      "layers", "recompute",
	                                      "recompute_layers", "chunks", NULL};
	int64_t *recomputed = &x->recomputed[i], first = 0;
	int own = (int)x->s->recompute, rc = parse_members(stage, at, members, err);

	if (rc == SB_OK)
		rc = parse_integer(stage, at, "layers", REQUIRED, 0, MOST_LAYERS, out_layers, err);
	if (rc == SB_OK)
		rc = parse_integer(stage, at, "first_layer", OPTIONAL, 0, MOST_LAYERS, &first, err);
	if (rc == SB_OK)
		rc = parse_word(stage, at, "recompute", OPTIONAL, recompute_words, &own, err);
	if (rc != SB_OK)
		return rc;
	if (own != (int)x->s->recompute && own != RECOMPUTE_NONE)
		return parse_fail(err, SB_EIMPOSSIBLE, "recompute", at, "recompute",
		                  "stages of different recomputation belong to the kind pipeline");
	*recomputed = own == RECOMPUTE_NONE ? 0 : *out_layers;
	rc = parse_integer(stage, at, "recompute_layers", OPTIONAL, 0, *recomputed, recomputed, err);
	x->partly = x->partly || *recomputed != *out_layers;
	if (rc == SB_OK && (parse_given(stage, "chunks") || (x->slices && x->s->vpp > 1)))
		rc = read_chunks(x, stage, at, i, *out_layers, err);
	else if (rc == SB_OK && x->slices)
		x->slices[i] = *out_layers;
	return rc;
}

/* What is said of a first layer follows from the slices before it. */
static int check_first(const json_t *o, const struct place *at, int64_t first, struct sb_error *err)
{
	int64_t said = first;
	int rc = parse_integer(o, at, "first_layer", OPTIONAL, 0, MOST_LAYERS, &said, err);

	if (rc != SB_OK || said == first)
		return rc;
	return parse_fail(err, SB_EIMPOSSIBLE, "stages", at, "first_layer",
	                  "does not follow the stage before it");
}

static int check_first_layers(const struct stages *x, const json_t *list, const struct place *here,
                              struct sb_error *err)
{
	int64_t pp = x->s->pp, next = 0;
	int rc = SB_OK;

	for (int64_t i = 0; rc == SB_OK && i < pp * x->s->vpp; i++) {
		const json_t *stage = json_array_get(list, (size_t)(i % pp));
		struct place at = place_index(here, (size_t)(i % pp)), chunks = place_member(&at, "chunks");
		struct place chunk = place_index(&chunks, (size_t)(i / pp));

		if (i < pp)
			rc = check_first(stage, &at, next, err);
		if (rc == SB_OK && parse_given(stage, "chunks"))
			rc = check_first(json_array_get(json_object_get(stage, "chunks"), (size_t)(i / pp)),
			                 &chunk, next, err);
		next += x->slices[i];
	}
	return rc;
}

/* Of stage i, which was read already: a number without a fraction. */
static int64_t layers_of(const json_t *list, int64_t i)
{
	return (int64_t)json_number_value(json_object_get(json_array_get(list, (size_t)i), "layers"));
}

/* Stages of an interleaved pipeline whose chunks are not said: as an even cut has them. */
static int check_even(const struct strategy *s, const json_t *list, const struct place *here,
                      struct sb_error *err)
{
	struct strategy even = {.pp = s->pp, .vpp = s->vpp};
	int64_t layers = 0, next = 0;
	int rc = SB_OK;

	for (int64_t i = 0; i < s->pp; i++)
		layers += layers_of(list, i);
	for (int64_t i = 0; rc == SB_OK && i < s->pp && strategy_slices_fit(s->pp, s->vpp, layers); i++) {
		struct place at = place_index(here, (size_t)i);

		if (layers_of(list, i) != strategy_stage_layers(&even, layers, i))
			return parse_fail(err, SB_EIMPOSSIBLE, "stages", &at, "layers",
			                  "is not what an even cut into chunks has: give its chunks");
		rc = check_first(json_array_get(list, (size_t)i), &at, next, err);
		next += strategy_slice_layers(&even, layers, i);
	}
	return rc;
}

static int read_list(struct stages *x, const json_t *list, const struct place *here, struct sb_error *err)
{
	int rc = SB_OK;

	for (int64_t i = 0; rc == SB_OK && i < x->s->pp; i++) {
		struct place at = place_index(here, (size_t)i);
		int64_t layers;

		rc = read_stage(x, json_array_get(list, (size_t)i), &at, i, &layers, err);
	}
	if (rc == SB_OK)
		rc = x->slices ? check_first_layers(x, list, here, err) : check_even(x->s, list, here, err);
	if (rc != SB_OK)
		return rc;
	x->s->slice_layers = x->slices;
	if (x->s->recompute != RECOMPUTE_NONE && x->partly)
		x->s->stage_recompute = x->recomputed;
	return SB_OK;
}

int stages_from_json(const json_t *value, const struct place *at, struct strategy *s, int64_t **out_stages,
                     struct sb_error *err)
{
	const json_t *list = parse_given(value, "stages");
	struct place here = place_member(at, "stages");
	struct stages x = {.s = s};
	bool told;

	if (!list)
		return SB_OK;
	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must be a list");
	if ((int64_t)json_array_size(list) != s->pp)
		return parse_fail(err, SB_EIMPOSSIBLE, "stages", &here, NULL, "must have pp entries");
	if (s->pp * s->vpp > MOST_SLICES)
		return parse_fail(err, SB_EIMPOSSIBLE, "stages", &here, NULL, "are too many");
	told = s->vpp == 1 || parse_given(json_array_get(list, 0), "chunks");
	*out_stages = calloc((size_t)(s->pp + s->pp * s->vpp), sizeof(**out_stages));
	if (!*out_stages)
		return sb_no_memory(err);
	x.recomputed = *out_stages;
	x.slices = told ? *out_stages + s->pp : NULL;
	return read_list(&x, list, &here, err);
}
