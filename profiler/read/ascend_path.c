#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend.h"
#include "profiler/read/msprof.h"

#define OUTPUT_DIR "ASCEND_PROFILER_OUTPUT"

static const char *const OWN_NAMES[] = {"trace_view.json",           "kernel_details.csv",
                                        "step_trace_time.csv",       "op_statistic.csv",
                                        "api_statistic.csv",         "communication.json",
                                        "memory_record.csv",         "operator_memory.csv",
                                        "npu_module_mem.csv",        "profiler_metadata.json",
                                        "profiler_info.json",        "analysis.db",
                                        "communication_analyzer.db", NULL};

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static size_t base_len(const char *base)
{
	size_t n = strlen(base);

	return n > 3 && strcmp(base + n - 3, ".gz") == 0 ? n - 3 : n;
}

int64_t path_number(const char *digits, char end)
{
	size_t n = strspn(digits, "0123456789");
	int64_t v;

	return digits[n] == end && sb_parse_int(digits, n, &v) == SB_OK && v <= INT32_MAX ? v : SB_NULL;
}

bool path_is(const char *path, const char *stem, const char *suffix)
{
	const char *base = path_base(path);
	size_t n = base_len(base), a = strlen(stem), b = strlen(suffix);

	return n >= a + b && memcmp(base, stem, a) == 0 && memcmp(base + n - b, suffix, b) == 0;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(text + len - n, end, n) == 0;
}

size_t ascend_directory(const char *path)
{
	size_t found = 0;

	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		size_t len = (size_t)(p - path);

		if (ends_with(path, len, "_ascend_pt") || ends_with(path, len, "_ascend_ms"))
			found = len;
	}
	return found;
}

bool ascend_raw_path(const char *path)
{
	size_t dir = ascend_directory(path), out = strlen(OUTPUT_DIR);
	const char *rest = path + dir + 1, *slash;
	struct msprof_place place = msprof_place(path);

	if (place.prof > 0 && (place.output || place.info || path_is(path, "msprof_", ".db")))
		return false;
	if (dir == 0)
		return place.prof > 0 &&
		       (strstr(path + place.prof, "/data/") || strstr(path + place.prof, "/sqlite/"));
	slash = strchr(rest, '/');
	if (!slash)
		return false;
	return (size_t)(slash - rest) != out || memcmp(rest, OUTPUT_DIR, out) != 0;
}

/* Has the file a name that the exporter gives, so that its neighbours belong to it? */
static bool own_name(const char *path)
{
	const char *base = path_base(path);
	size_t n = base_len(base);

	for (size_t i = 0; OWN_NAMES[i]; i++) {
		if (n == strlen(OWN_NAMES[i]) && memcmp(base, OWN_NAMES[i], n) == 0)
			return true;
	}
	return path_is(path, "profiler_info_", ".json");
}

void ascend_key(const char *path, char *out, size_t size)
{
	const char *base = path_base(path);
	size_t dir = ascend_directory(path), len = (size_t)(base - path), end = strlen(OUTPUT_DIR "/");

	if (dir == 0 && own_name(path)) {
		/* the files of the output directory and those beside it are one capture */
		if (ends_with(path, len, "/" OUTPUT_DIR "/") ||
		    (len == end && memcmp(path, OUTPUT_DIR, end - 1) == 0))
			len -= end;
		dir = len > 0 ? len - 1 : 0;
		if (dir == 0) {
			snprintf(out, size, ".");
			return;
		}
	} else if (dir == 0) {
		dir = strlen(path);
	}
	snprintf(out, size, "%.*s", (int)dir, path);
}

int ascend_capture(struct read_context *ctx, const struct stream *in, struct capture **out,
                   struct sb_error *err)
{
	char key[2048];
	int rc;

	if (msprof_path(in->path))
		return msprof_capture(ctx, in, out, err);
	ascend_key(in->path, key, sizeof(key));
	rc = ctx->capture(ctx, key, FORMAT_ASCEND_TEXT, out);
	return rc == SB_OK ? SB_OK : sb_fail_at(err, rc, "no_memory", in->path, 0, -1, "out of memory");
}
