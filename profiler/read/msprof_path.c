#include <stdio.h>
#include <string.h>

#include "profiler/read/msprof.h"

#define OUTPUT_DIR "mindstudio_profiler_output"

/* The folders of a path, from the last one back. */
struct part {
	const char *text;
	size_t len;
};

/* The folder that ends at `end` bytes of the path; empty at its beginning. */
static struct part part_before(const char *path, size_t end)
{
	size_t from = end;

	while (from > 0 && path[from - 1] != '/')
		from--;
	return (struct part){path + from, end - from};
}

static bool part_is(struct part p, const char *name)
{
	return p.len == strlen(name) && memcmp(p.text, name, p.len) == 0;
}

static bool part_starts(struct part p, const char *stem)
{
	size_t n = strlen(stem);

	return p.len > n && memcmp(p.text, stem, n) == 0;
}

/* The length of the path before a folder. */
static size_t length_before(const char *path, struct part p)
{
	size_t at = (size_t)(p.text - path);

	return at > 0 ? at - 1 : 0;
}

#define STAMP_DIGITS 14

/* "op_summary_20230101120000.csv", "op_summary_slice_0_20230101120000.csv", "op_summary_0_1_1.csv": a name of
 * the exporter and a number. Only files with a stamp are known to belong to their neighbours: other numbers
 * may tell ranks apart. */
static bool exporter_name(const char *base, bool *out_stamp)
{
	static const char *const names[] = {"op_summary_",
	                                    "op_statistic_",
	                                    "task_time_",
	                                    "api_statistic_",
	                                    "communication_statistic_",
	                                    "step_trace_",
	                                    "aicpu_mi_",
	                                    "aicpu_",
	                                    "dp_",
	                                    "l2_cache_",
	                                    "fusion_op_",
	                                    "msprof_"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);

		if (strncmp(base, names[i], n) != 0)
			continue;
		base += n;
		if (strncmp(base, "slice_", 6) == 0) {
			base += 6;
			base += strspn(base, "0123456789");
			base += *base == '_';
		}
		n = strspn(base, "0123456789");
		*out_stamp = n == STAMP_DIGITS;
		return n > 0 && (base[n] == '.' || base[n] == '_');
	}
	return false;
}

static bool info_name(const char *base)
{
	return strncmp(base, "info.json", 9) == 0 || strncmp(base, "start_info", 10) == 0;
}

static size_t prof_length(const char *path, size_t end)
{
	while (end > 0) {
		struct part p = part_before(path, end);

		if (part_starts(p, "PROF_"))
			return end;
		end = length_before(path, p);
	}
	return 0;
}

struct msprof_place msprof_place(const char *path)
{
	const char *base = path_base(path);
	size_t dir = base > path ? (size_t)(base - path) - 1 : 0;
	struct part last = part_before(path, dir), device;
	struct msprof_place place = {.prof = prof_length(path, dir)};
	bool old = part_is(last, "summary") || part_is(last, "timeline"), stamp = false;

	place.root = place.prof > 0 ? place.prof : dir;
	place.info = info_name(base);
	device = part_before(path, length_before(path, last));
	if (part_is(last, OUTPUT_DIR)) {
		place.output = true;
		if (place.prof == 0)
			place.root = length_before(path, last);
	} else if (old && part_starts(device, "device_")) {
		/* each device of that layout has its own files */
		place.output = true;
		place.root = length_before(path, last);
	} else {
		place.output = exporter_name(base, &stamp);
		place.alone = place.prof == 0 && !stamp;
	}
	return place;
}

bool msprof_path(const char *path)
{
	return msprof_place(path).output;
}

void msprof_key(const char *path, char *out, size_t size)
{
	struct msprof_place place = msprof_place(path);
	size_t outer = ascend_directory(path), len = outer > 0 ? outer : place.root;

	if (outer == 0 && place.alone)
		snprintf(out, size, "%s", path);
	else if (len == 0)
		snprintf(out, size, ".");
	else
		snprintf(out, size, "%.*s", (int)len, path);
}

int msprof_capture(struct read_context *ctx, const struct stream *in, struct capture **out,
                   struct sb_error *err)
{
	char key[2048];
	int rc;

	msprof_key(in->path, key, sizeof(key));
	rc = ctx->capture(ctx, key, FORMAT_MSPROF_TEXT, out);
	return rc == SB_OK ? SB_OK : sb_fail_at(err, rc, "no_memory", in->path, 0, -1, "out of memory");
}

int msprof_rows(struct read_context *ctx, struct stream *in, const char *const *needed, msprof_row *row,
                struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct capture *cap;
	bool more = true;
	int rc = ascend_csv_open(in, needed, &c, err);

	if (rc == SB_OK)
		rc = msprof_capture(ctx, in, &cap, err);
	while (rc == SB_OK && more) {
		rc = ascend_csv_row(ctx, c, in, &more, err);
		if (rc == SB_OK && more && row(ctx, cap, c, in) != SB_OK)
			return sb_no_memory(err);
	}
	return rc;
}

uint16_t msprof_device(const struct csv *c, int column)
{
	int64_t v;

	/* "host" is no device */
	return csv_int(c, column, &v) == SB_OK && v >= 0 && v < UINT16_MAX ? (uint16_t)(v + 1) : 0;
}
