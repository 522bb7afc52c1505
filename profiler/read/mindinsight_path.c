#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/mindinsight.h"

#define ID_MAX INT32_MAX
#define OUTPUT_DIR "ASCEND_PROFILER_OUTPUT/"

/* The names behind which an {id} stands. */
static const char *const STEMS[] = {"step_trace_raw_",
                                    "step_trace_point_info",
                                    "profiler_info_",
                                    "minddata_pipeline_raw_",
                                    "pipeline_profiling_",
                                    "device_queue_profiling_",
                                    "dataset_iterator_profiling_",
                                    "minddata_aicpu_",
                                    "aicore_intermediate_",
                                    "aicpu_intermediate_",
                                    "framework_raw_",
                                    "hccl_raw_",
                                    "ascend_timeline_display_",
                                    "timeline_display_"};
#define CLUSTER_STEM "ascend_cluster_analyse_"

static size_t digits_at(const char *text)
{
	return strspn(text, "0123456789");
}

static int64_t number_of(const char *text, size_t len)
{
	int64_t v;

	return len > 0 && sb_parse_int(text, len, &v) == SB_OK && v <= ID_MAX ? v : SB_NULL;
}

/* The number in front of the suffix: {mode}_{stages}_{size}_{rank}.csv. */
static int64_t last_number(const char *base)
{
	const char *dot = strchr(base, '.');
	size_t len = dot ? (size_t)(dot - base) : strlen(base), digits = 0;

	while (digits < len && base[len - digits - 1] >= '0' && base[len - digits - 1] <= '9')
		digits++;
	return number_of(base + len - digits, digits);
}

/* Is this a name of the profiler's own? Its {id}, if it has one, in *out_id. */
static bool own_name(const char *path, int64_t *out_id)
{
	const char *base = path_base(path);

	*out_id = SB_NULL;
	if (path_is(path, CLUSTER_STEM, ".csv")) {
		*out_id = last_number(base);
		return true;
	}
	for (size_t i = 0; i < sizeof(STEMS) / sizeof(STEMS[0]); i++) {
		size_t n = strlen(STEMS[i]);

		if (strncmp(base, STEMS[i], n) != 0)
			continue;
		base += n + (base[n] == '_');
		*out_id = number_of(base, digits_at(base));
		return true;
	}
	return false;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(text + len - n, end, n) == 0;
}

/* The key of the capture of the newer profiler whose directory the file lies in; false when it lies in none.
 * Its directory decides, for the file's name says nothing: the older profiler has a profiler_info, too. */
static bool newer_key(const char *path, char *out, size_t size)
{
	size_t folder = (size_t)(path_base(path) - path), end = strlen(OUTPUT_DIR);
	bool output =
	    ends_with(path, folder, "/" OUTPUT_DIR) || (folder == end && memcmp(path, OUTPUT_DIR, end) == 0);
	char beside[2048];

	snprintf(beside, sizeof(beside), "%.*s%s", (int)folder, path, output ? "trace_view.json" : "?");
	ascend_key(beside, out, size);
	return strcmp(out, beside) != 0;
}

static void own_key(const char *path, char *out, size_t size)
{
	size_t folder = (size_t)(path_base(path) - path);
	int64_t id;

	if (!own_name(path, &id)) {
		snprintf(out, size, "%s", path);
		return;
	}
	folder -= folder > 0;
	if (id == SB_NULL)
		snprintf(out, size, "%.*s", folder > 0 ? (int)folder : 1, folder > 0 ? path : ".");
	else
		snprintf(out, size, "%.*s (id %lld)", folder > 0 ? (int)folder : 1, folder > 0 ? path : ".",
		         (long long)id);
}

int mindinsight_capture(struct read_context *ctx, const struct stream *in, struct capture **out,
                        struct sb_error *err)
{
	enum capture_format format = FORMAT_ASCEND_TEXT;
	char key[2048];
	int rc;

	if (!newer_key(in->path, key, sizeof(key))) {
		own_key(in->path, key, sizeof(key));
		format = FORMAT_MINDINSIGHT;
	}
	rc = ctx->capture(ctx, key, format, out);
	return rc == SB_OK ? SB_OK : sb_fail_at(err, rc, "no_memory", in->path, 0, -1, "out of memory");
}

int64_t mindinsight_id(const char *source)
{
	const char *mark = strrchr(source, '(');
	size_t digits;

	if (!mark || strncmp(mark, "(id ", 4) != 0)
		return SB_NULL;
	digits = digits_at(mark + 4);
	return strcmp(mark + 4 + digits, ")") == 0 ? number_of(mark + 4, digits) : SB_NULL;
}

static int64_t scaled(const char *text, size_t len, int digits)
{
	int64_t v;

	return sb_parse_scaled(text, len, digits, &v) == SB_OK && v >= 0 ? v : SB_NULL;
}

int64_t mindinsight_ticks(const char *text, size_t len)
{
	return scaled(text, len, 1);
}

int64_t mindinsight_ms(const char *text, size_t len)
{
	return scaled(text, len, 6);
}
