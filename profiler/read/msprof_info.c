#include <stdio.h>
#include <string.h>

#include "profiler/read/msprof.h"

/* info.json.N and start_info.N (research page ascend-formats 3): which chip it was. */

static int sniff(const struct sniff *s)
{
	if (sniff_first(s) != '{')
		return SNIFF_NO;
	if (sniff_has(s, "\"DeviceInfo\"") || sniff_has(s, "\"platform_version\""))
		return SNIFF_CONTENT;
	return msprof_place(s->path).info ? SNIFF_PATH : SNIFF_NO;
}

/* msprof's own numbers of chip families (CANN, platform types), as the names that its tables use. */
static const char *family(const char *text, size_t len)
{
	static const struct {
		const char *number, *name;
	} families[] = {{"0", "Ascend310"},
	                {"1", "Ascend910A"},
	                {"4", "Ascend310P"},
	                {"5", "Ascend910B"},
	                {"7", "Ascend310B"}};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (len == strlen(families[i].number) && memcmp(text, families[i].number, len) == 0)
			return families[i].name;
	return "";
}

static int read_members(struct jpull *j, char *out_chip, size_t size, struct sb_error *err)
{
	struct jpull_value key;
	const char *text;
	size_t len;
	bool more = false;
	int rc = object_enter(j, &more, err);

	while (object_member(j, &rc, &more, &key, err)) {
		bool named = key_is(&key, "chip_name") || key_is(&key, "soc_version");

		if (!named && !key_is(&key, "platform_version")) {
			rc = value_skip(j, err);
			continue;
		}
		rc = value_scalar(j, &text, &len, err);
		if (rc != SB_OK)
			break;
		if (named && len > 0)
			snprintf(out_chip, size, "%.*s", (int)(len < size ? len : size - 1), text);
		else if (!named && out_chip[0] == '\0')
			snprintf(out_chip, size, "%s", family(text, len));
	}
	return rc;
}

/* The file lies in device_N of PROF_*, which is the capture before 2023 and only a part of it today. */
static int set_chip(struct read_context *ctx, const struct stream *in, const char *chip, struct sb_error *err)
{
	const char *base = path_base(in->path);
	struct capture *cap;
	char key[2048];
	int rc = msprof_capture(ctx, in, &cap, err);

	if (rc != SB_OK)
		return rc;
	snprintf(cap->chip, sizeof(cap->chip), "%s", chip);
	if (ascend_directory(in->path) > 0 || base == in->path)
		return SB_OK;
	snprintf(key, sizeof(key), "%.*s", (int)(base - in->path - 1), in->path);
	rc = ctx->capture(ctx, key, FORMAT_MSPROF_TEXT, &cap);
	if (rc != SB_OK)
		return sb_fail(err, rc, "no_memory", "out of memory");
	snprintf(cap->chip, sizeof(cap->chip), "%s", chip);
	return SB_OK;
}

static int read_info(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	JPULL_AUTO j = NULL;
	struct sb_error got = {.offset = -1};
	char chip[64] = "";
	int rc;

	if (jpull_new(in, &j) != SB_OK)
		return sb_no_memory(err);
	rc = read_members(j, chip, sizeof(chip), &got);
	rc = ascend_json_end(ctx, in, rc, chip[0] != '\0', &got, err);
	return rc == SB_OK && chip[0] != '\0' ? set_chip(ctx, in, chip, err) : rc;
}

const struct format_reader MSPROF_INFO_READER = {
    .name = "info.json", .format = FORMAT_MSPROF_TEXT, .sniff = sniff, .read = read_info};
