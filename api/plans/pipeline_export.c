#include <stdlib.h>
#include <string.h>

#include "api/plans/pipeline.h"
#include "planner/export/pipeline.h"

#define EXPORT_MAX ((size_t)1 << 20)

static int sapp_file(const struct pipeline_input *in, struct sb_buf *out, struct sb_error *err)
{
	JSON_AUTO file = pipeline_sapp_export(in);
	char *text = file ? json_write_indented(file) : NULL;

	if (text)
		sb_buf_adds(out, text);
	free(text);
	return text && out->status == SB_OK ? SB_OK : sb_no_memory(err);
}

int pipeline_export(const json_t *plan, const char *format, char **out_text, const char **out_type,
                    struct sb_error *err)
{
	static const struct {
		const char *name, *type;
	} formats[] = {{"mindformers", "application/yaml"},
	               {"megatron", "text/plain; charset=utf-8"},
	               {"sapp", "application/json"}};
	PIPELINE_INPUT_AUTO in = {0};
	SB_BUF_AUTO text;
	struct pipeline_stage *stages = NULL;
	int i = 0, rc;

	sb_buf_init(&text, EXPORT_MAX);
	while (i < 3 && strcmp(formats[i].name, format) != 0)
		i++;
	if (i == 3)
		return sb_fail(err, SB_ENOENT, "unknown_format",
		               "this plan can be exported as: mindformers, megatron, sapp");
	rc = pipeline_of_document(plan, &in, &stages, err);
	if (rc == SB_OK && i == 0)
		rc = mindformers_yaml(&in.problem, stages, &text, err);
	else if (rc == SB_OK && i == 1)
		rc = megatron_pipeline(&in.problem, stages, &text, err);
	else if (rc == SB_OK)
		rc = sapp_file(&in, &text, err);
	free(stages);
	if (rc != SB_OK)
		return rc;
	*out_text = sb_buf_take(&text);
	*out_type = formats[i].type;
	return SB_OK;
}
