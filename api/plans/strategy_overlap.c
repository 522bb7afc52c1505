#include "api/plans/strategy_overlap.h"

#include <string.h>

#include "api/plans/schema.h"

static const char *const words[] = {"gradients", "tensor", "expert", "sends", NULL};
#define WORDS 4
static const char *const dispatch_words[] = {"bf16", "fp8", NULL};

static bool *flag_of(struct strategy *s, int word)
{
	bool *const flags[WORDS] = {&s->overlap_gradients, &s->overlap_tensor, &s->overlap_expert,
	                            &s->overlap_sends};

	return flags[word];
}

static int read_word(const json_t *word, const struct place *at, struct strategy *io, struct sb_error *err)
{
	const char *text = json_string_value(word);

	if (!text)
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "must be a text");
	for (int i = 0; i < WORDS; i++) {
		if (strcmp(words[i], text) == 0) {
			*flag_of(io, i) = true;
			return SB_OK;
		}
	}
	return parse_unknown(err, SB_EIMPOSSIBLE, "unknown_value", at, NULL, words);
}

static int read_list(const json_t *list, const struct place *at, struct strategy *io, struct sb_error *err)
{
	int rc = SB_OK;

	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "must be a list of words");
	if (json_array_size(list) > WORDS)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, NULL,
		                  "has more words than there are");
	for (int i = 0; i < WORDS; i++)
		*flag_of(io, i) = false;
	for (size_t i = 0; rc == SB_OK && i < json_array_size(list); i++) {
		struct place here = place_index(at, i);

		rc = read_word(json_array_get(list, i), &here, io, err);
	}
	return rc;
}

int overlap_from_json(const json_t *value, const struct place *at, struct strategy *io, bool *out_given,
                      struct sb_error *err)
{
	const json_t *list = parse_given(value, "overlap");
	struct place here = place_member(at, "overlap");
	bool gradients;
	int dispatch = io->dispatch_fp8, rc = SB_OK;

	*out_given = list != NULL;
	if (*out_given)
		rc = read_list(list, &here, io, err);
	gradients = io->overlap_gradients;
	if (rc == SB_OK)
		rc = parse_boolean(value, at, "overlap_gradients", &io->overlap_gradients, err);
	if (rc == SB_OK && *out_given && io->overlap_gradients != gradients)
		return parse_fail(err, SB_EIMPOSSIBLE, "overlap", at, "overlap_gradients",
		                  "says otherwise than overlap");
	if (rc == SB_OK)
		rc = parse_word(value, at, "dispatch_dtype", OPTIONAL, dispatch_words, &dispatch, err);
	io->dispatch_fp8 = dispatch == 1;
	return rc;
}

void overlap_to_json(const struct strategy *s, json_t *solution)
{
	struct strategy own = *s;
	json_t *list = json_array();

	for (int i = 0; i < WORDS; i++)
		if (*flag_of(&own, i))
			json_array_append_new(list, json_string(words[i]));
	json_object_set_new(solution, "overlap_gradients", json_boolean(s->overlap_gradients));
	json_object_set_new(solution, "overlap", list);
	json_object_set_new(solution, "dispatch_dtype", json_string(dispatch_words[s->dispatch_fp8]));
}

void overlap_schema(json_t *properties)
{
	json_object_set_new(properties, "overlap",
	                    json_pack("{s:s,s:i,s:o,s:s}", "type", "array", "maxItems", WORDS, "items",
	                              schema_words(words), "description",
	                              "what the software stack runs under compute; default: gradients from "
	                              "zero 1 on"));
	json_object_set_new(properties, "dispatch_dtype", schema_words(dispatch_words));
}
