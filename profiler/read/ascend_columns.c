#include <string.h>

#include "profiler/read/ascend.h"

/* Which columns the tables of the research page (ascend-formats 1.1 to 1.5, 3) have. */

static const char *const KERNELS[] = {"Device_id",
                                      "Step Id",
                                      "Model ID",
                                      "Model Name",
                                      "Infer ID",
                                      "Index ID",
                                      "Task ID",
                                      "Stream ID",
                                      "Context ID",
                                      "Name",
                                      "Op Name",
                                      "Type",
                                      "OP Type",
                                      "OP State",
                                      "Accelerator Core",
                                      "Task Type",
                                      "Start Time(us)",
                                      "Task Start Time(us)",
                                      "Task Start Time",
                                      "Duration(us)",
                                      "Task Duration(us)",
                                      "Wait Time(us)",
                                      "Task Wait Time(us)",
                                      "Block Dim",
                                      "Block Num",
                                      "Mix Block Dim",
                                      "Mix Block Num",
                                      "HF32 Eligible",
                                      "Input Shapes",
                                      "Input Data Types",
                                      "Input Formats",
                                      "Output Shapes",
                                      "Output Data Types",
                                      "Output Formats",
                                      NULL};
static const char *const STEPS[] = {"Device_id",  "Step",
                                    "Type",       "Index",
                                    "Computing",  "Communication(Not Overlapped)",
                                    "Overlapped", "Communication",
                                    "Free",       "Stage",
                                    "Bubble",     "Communication(Not Overlapped and Exclude Receive)",
                                    "Preparing",  NULL};
static const char *const OPERATORS[] = {
    "Device_id",    "Model Name",   "OP Type",      "Core Type", "Count", "Total Time(us)",
    "Min Time(us)", "Avg Time(us)", "Max Time(us)", "Ratio(%)",  NULL};
static const char *const APIS[] = {"Device_id", "Level",   "API Name", "Time(us)", "Count",
                                   "Avg(us)",   "Min(us)", "Max(us)",  "Variance", NULL};

static const char *const *const COLUMNS[] = {
    [ASCEND_KERNELS] = KERNELS,
    [ASCEND_STEPS] = STEPS,
    [ASCEND_OPERATORS] = OPERATORS,
    [ASCEND_APIS] = APIS,
};

static const char *find(const char *const *names, const char *text, size_t len)
{
	for (; *names; names++)
		if (strlen(*names) == len && memcmp(*names, text, len) == 0)
			return *names;
	return NULL;
}

/* Counters (aic_mac_ratio, mac_exe_ratio …) and places in groups (dp_index) begin with a small letter: there
 * are too many to list, and new ones come with each chip. */
static bool is_counter(const char *text, size_t len)
{
	return len > 0 && text[0] >= 'a' && text[0] <= 'z';
}

void ascend_columns(struct read_context *ctx, const struct csv *c, const struct stream *in,
                    enum ascend_table table)
{
	struct warnings *w = &ctx->profile->warnings;

	for (size_t i = 0; i < csv_header_count(c); i++) {
		size_t len;
		const char *text = csv_trimmed(c, (int)i, &len);
		const char *known = find(COLUMNS[table], text, len);

		if (known && csv_column(c, known) != (int)i)
			warnings_add(w, "duplicate_column", in->path, csv_line(c), -1,
			             "Column \"%s\" stands in the table twice: the first is used.", known);
		else if (!known && len > 0 && !is_counter(text, len))
			warnings_add(w, "unknown_column", in->path, csv_line(c), -1,
			             "Column \"%.*s\" is not known and is not used.",
			             (int)(len < 80 ? len : 80), text);
	}
}
