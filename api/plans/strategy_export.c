#include "api/plans/strategy_export.h"

#include <stdio.h>
#include <string.h>

#include "api/plans/kinds.h"

const char *const launch_format_names[] = {"megatron",   "mindspeed", "deepspeed", "mindformers",
                                           "torchtitan", "env",       NULL};
static const struct launch_format *const formats[] = {&launch_megatron,   &launch_mindspeed,
                                                      &launch_deepspeed,  &launch_mindformers,
                                                      &launch_torchtitan, &launch_env};

const struct launch_format *launch_format_named(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	}
	return NULL;
}

/* The plan's model, cluster and strategy again. */
static int read_plan(const json_t *plan, struct cost_problem *p, struct launch_plan *out,
                     struct sb_error *err)
{
	struct place root = place_of(""), solution = place_of("/solution");
	const json_t *problem, *value;
	int64_t micro;
	int rc = parse_object(plan, &root, "problem", REQUIRED, &problem, err);

	if (rc == SB_OK)
		rc = parse_object(plan, &root, "solution", REQUIRED, &value, err);
	if (rc == SB_OK)
		rc = cost_problem_from_json(problem, p, &micro, err);
	if (rc != SB_OK)
		return rc;
	if (!json_object_get(value, "dp"))
		return sb_fail_field(err, SB_EIMPOSSIBLE, "stages_differ", "/solution",
		                     "the stages of this plan differ in what no launcher here can say");
	out->model = &p->model;
	out->cluster = &p->cluster;
	out->sequences = p->sequences;
	out->strategy = strategy_default(&p->model, &p->cluster);
	rc = strategy_from_json(value, &solution, &out->strategy, &out->stages, err);
	out->devices = strategy_devices(&out->strategy);
	return rc;
}

/* The formats that take the plan, behind the reason why one does not. */
static void tell_others(const struct launch_format *refused, const struct launch_plan *launch,
                        struct sb_error *io)
{
	const char *before = "; it can be exported as: ";

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t n = strlen(io->text);
		SB_BUF_AUTO text;

		sb_buf_init(&text, OPTIONS_TEXT_MAX);
		if (formats[i] == refused || launch_write(formats[i], launch, &text, NULL) != SB_OK)
			continue;
		snprintf(io->text + n, sizeof(io->text) - n, "%s%s", before, formats[i]->name);
		before = ", ";
	}
}

int strategy_export(const json_t *plan, const char *format, char **out_text, const char **out_type,
                    struct sb_error *err)
{
	const struct launch_format *f = launch_format_named(format);
	LAUNCH_AUTO launch = {0};
	SB_BUF_AUTO text;
	struct sb_error why = {0};
	struct cost_problem p;
	int rc;

	sb_buf_init(&text, OPTIONS_TEXT_MAX);
	if (!f)
		return sb_fail(err, SB_ENOENT, "unknown_format",
		               "this plan can be exported as: megatron, mindspeed, deepspeed, mindformers, "
		               "torchtitan, env");
	rc = read_plan(plan, &p, &launch, err);
	if (rc != SB_OK)
		return rc;
	rc = launch_write(f, &launch, &text, &why);
	if (rc != SB_OK) {
		struct place solution = place_of("/solution"), at = place_member(&solution, why.field);

		tell_others(f, &launch, &why);
		return sb_fail_field(err, rc, why.word, why.field[0] ? at.pointer : "", "%s", why.text);
	}
	*out_text = sb_buf_take(&text);
	*out_type = f->type;
	return SB_OK;
}
