/* A strategy that is given as a launcher's text: "explain my configuration". */
#include <stdlib.h>
#include <string.h>

#include "api/plans/schema.h"
#include "api/plans/strategy_export.h"

bool strategy_is_text(const json_t *value)
{
	return parse_given(value, "text") || parse_given(value, "format");
}

static int read_members(const json_t *value, const struct place *at, const struct launch_format **out_format,
                        const char **out_text, int64_t *devices, struct sb_error *err)
{
	static const char *const members[] = {"format", "text", "devices", NULL};
	int format = 0, rc = parse_members(value, at, members, err);

	if (rc == SB_OK)
		rc = parse_word(value, at, "format", REQUIRED, launch_format_names, &format, err);
	if (rc == SB_OK)
		rc = parse_text(value, at, "text", REQUIRED, out_text, err);
	if (rc == SB_OK)
		rc = parse_integer(value, at, "devices", OPTIONAL, 1, *devices, devices, err);
	if (rc == SB_OK)
		*out_format = launch_format_named(launch_format_names[format]);
	return rc;
}

/* The same error, at the member `text`. */
static int at_text(const struct place *at, int rc, const struct sb_error *found, struct sb_error *err)
{
	struct place p = place_member(at, "text");

	return sb_fail_field(err, rc, found->word, p.pointer, "%s", found->text);
}

int strategy_from_text(const json_t *value, const struct place *at, const struct cost_problem *p,
                       struct strategy *io, int64_t **out_stages, bool *out_attention, struct sb_error *err)
{
	static const enum attention other[] = {ATTENTION_FLASH, ATTENTION_UNFUSED};
	const struct launch_format *format = NULL;
	const char *text = NULL;
	struct sb_error found = {0};
	struct launch_plan first = {.model = &p->model, .cluster = &p->cluster, .strategy = *io};
	int64_t devices = cluster_devices(&p->cluster);
	int rc = read_members(value, at, &format, &text, &devices, err);

	*out_stages = NULL;
	if (rc != SB_OK)
		return rc;
	first.devices = devices;
	{
		LAUNCH_AUTO second = first;

		/* A text that says nothing about the kernel leaves either one. */
		second.strategy.attention = other[io->attention];
		rc = launch_read(format, text, strlen(text), &second, &found);
		if (rc == SB_OK)
			rc = launch_read(format, text, strlen(text), &first, &found);
		*out_attention = second.strategy.attention == first.strategy.attention;
	}
	if (rc == SB_OK && first.sequences > 0 && first.sequences != p->sequences)
		rc = sb_fail(&found, SB_EIMPOSSIBLE, "batch",
		             "it trains %lld sequences a step, and batch.global_sequences is %lld",
		             (long long)first.sequences, (long long)p->sequences);
	if (rc != SB_OK) {
		launch_free(&first);
		return at_text(at, rc, &found, err);
	}
	*io = first.strategy;
	*out_stages = first.stages;
	return SB_OK;
}

json_t *strategy_text_schema(void)
{
	static const char *const required[] = {"format", "text", NULL};

	return schema_object(json_pack("{s:o,s:{s:s,s:s},s:o}", "format", schema_words(launch_format_names),
	                               "text", "type", "string", "description",
	                               "a launcher's arguments or configuration, as text", "devices",
	                               schema_integer(1, INT64_MAX)),
	                     required);
}
