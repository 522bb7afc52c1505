#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend.h"
#include "profiler/read/environment.h"
#include "profiler/read/group_use.h"

/* profiler_info_{rank}.json and profiler_metadata.json (research page ascend-formats 1.11): which rank this
 * is. -1 stands for "not distributed", so it is no rank. */

#define NUMBER_MAX INT32_MAX

static bool object_with(const struct sniff *s, const char *a, const char *b, const char *c)
{
	return sniff_first(s) == '{' && (sniff_has(s, a) || sniff_has(s, b) || sniff_has(s, c));
}

static int sniff_info(const struct sniff *s)
{
	bool named = path_is(s->path, "profiler_info", ".json");

	if (object_with(s, "\"common_config\"", "\"experimental_config\"", "\"profiler_parameters\""))
		return named ? SNIFF_SURE : SNIFF_CONTENT;
	return named && sniff_first(s) == '{' ? SNIFF_PATH : SNIFF_NO;
}

static int sniff_metadata(const struct sniff *s)
{
	bool named = path_is(s->path, "profiler_metadata", ".json");

	if (object_with(s, "\"ENV_VARIABLES\"", "\"distributed_args\"", "\"parallel_group_info\""))
		return named ? SNIFF_SURE : SNIFF_CONTENT;
	return named && sniff_first(s) == '{' ? SNIFF_PATH : SNIFF_NO;
}

/* The next value as a number from 0 on; SB_NULL in *out for anything else. */
static int read_number(struct jpull *j, int64_t *out, struct sb_error *err)
{
	const char *text;
	size_t len;
	int64_t v;
	int rc = value_scalar(j, &text, &len, err);

	if (rc != SB_OK)
		return rc;
	*out = sb_parse_int(text, len, &v) == SB_OK && v >= 0 && v <= NUMBER_MAX ? v : SB_NULL;
	return SB_OK;
}

/* What is wanted of an object: numbers by key. */
struct wanted {
	const char *key;
	int64_t value;
	bool seen;
};

static int read_members(struct jpull *j, struct wanted *wanted, size_t count, struct sb_error *err)
{
	struct jpull_value key;
	bool more = true;
	int rc = SB_OK;

	while (object_member(j, &rc, &more, &key, err)) {
		size_t i = 0;

		while (i < count && !key_is(&key, wanted[i].key))
			i++;
		if (i < count)
			wanted[i].seen = true;
		rc = i < count ? read_number(j, &wanted[i].value, err) : value_skip(j, err);
	}
	return rc;
}

/* The number in profiler_info_{rank}.json. */
static int64_t rank_of_name(const char *path)
{
	static const char stem[] = "profiler_info_";
	const char *base = path_base(path);
	size_t n = sizeof(stem) - 1;

	return strncmp(base, stem, n) == 0 ? path_number(base + n, '.') : SB_NULL;
}

static void set_rank(struct read_context *ctx, const struct stream *in, struct capture *cap, int64_t inside)
{
	int64_t named = rank_of_name(in->path);

	if (inside != SB_NULL && named != SB_NULL && inside != named)
		warnings_add(&ctx->profile->warnings, "rank_conflict", in->path, 0, -1,
		             "The file name says rank %lld, its rank_id %lld: rank_id is used.",
		             (long long)named, (long long)inside);
	if (inside != SB_NULL || named != SB_NULL)
		cap->rank = inside != SB_NULL ? inside : named;
	cap->rank_from = RANK_INFO;
}

static int read_info(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	JPULL_AUTO j = NULL;
	/* only MindSpore has the second one */
	struct wanted wanted[] = {{"rank_id", SB_NULL, false}, {"profiler_parameters", SB_NULL, false}};
	struct sb_error got = {.offset = -1};
	struct capture *cap;
	bool is = false;
	int rc = ascend_capture(ctx, in, &cap, err);

	if (rc != SB_OK)
		return rc;
	if (jpull_new(in, &j) != SB_OK)
		return sb_no_memory(err);
	rc = object_enter(j, &is, &got);
	if (rc == SB_OK && is)
		rc = read_members(j, wanted, 2, &got);
	cap->mindspore = cap->mindspore || wanted[1].seen;
	/* the name of a broken file still tells the rank */
	if (rc == SB_OK || rc == SB_EFORMAT)
		set_rank(ctx, in, cap, wanted[0].value);
	return ascend_json_end(ctx, in, rc, true, &got, err);
}

/* One group of HCCL's name: {"group_name": "pp", "group_rank": 1, "global_ranks": [0, 4]}. */
static int read_group(struct jpull *j, const char *id, size_t id_len, struct capture *cap,
                      struct sb_error *err)
{
	struct jpull_value key;
	const char *text;
	char use[64] = "";
	size_t len;
	int64_t place = SB_NULL;
	bool more = false;
	int rc = object_enter(j, &more, err);

	while (object_member(j, &rc, &more, &key, err)) {
		if (key_is(&key, "group_name")) {
			rc = value_scalar(j, &text, &len, err);
			if (rc == SB_OK)
				snprintf(use, sizeof(use), "%.*s", (int)(len < sizeof(use) ? len : 0), text);
		} else if (key_is(&key, "group_rank")) {
			rc = read_number(j, &place, err);
		} else {
			rc = value_skip(j, err);
		}
	}
	/* the place in the pipeline's group is the stage */
	if (strcmp(use, "pp") == 0 && place != SB_NULL)
		cap->stage = place;
	if (rc == SB_OK && group_use_add_id(cap, id, id_len, use, strlen(use)) != SB_OK)
		return sb_no_memory(err);
	return rc;
}

int ascend_groups(struct jpull *j, struct capture *cap, struct sb_error *err)
{
	struct jpull_value key;
	char id[256];
	bool more = false;
	int rc = object_enter(j, &more, err);

	while (object_member(j, &rc, &more, &key, err)) {
		size_t len = key.len < sizeof(id) ? key.len : 0;

		/* the key is gone with the next token */
		memcpy(id, key.text, len);
		rc = read_group(j, id, len, cap, err);
	}
	return rc;
}

int ascend_environment(struct jpull *j, struct capture *cap, struct sb_error *err)
{
	struct jpull_value key;
	char name[ENVIRONMENT_NAME_MAX];
	bool more = false;
	int rc = object_enter(j, &more, err);

	while (object_member(j, &rc, &more, &key, err)) {
		size_t len = key.len <= sizeof(name) ? key.len : 0, value_len;
		const char *value;

		/* the key is gone with the next token */
		memcpy(name, key.text, len);
		rc = value_scalar(j, &value, &value_len, err);
		if (rc == SB_OK && environment_add(cap, name, len, value, value_len) != SB_OK)
			return sb_no_memory(err);
	}
	return rc;
}

static int read_metadata(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	JPULL_AUTO j = NULL;
	struct wanted wanted[] = {{"world_size", SB_NULL, false}, {"rank", SB_NULL, false}};
	struct sb_error got = {.offset = -1};
	struct jpull_value key;
	struct capture *cap;
	bool more = false;
	int rc = ascend_capture(ctx, in, &cap, err);

	if (rc != SB_OK)
		return rc;
	if (jpull_new(in, &j) != SB_OK)
		return sb_no_memory(err);
	rc = object_enter(j, &more, &got);
	while (object_member(j, &rc, &more, &key, &got)) {
		bool is = false;

		if (key_is(&key, "parallel_group_info")) {
			rc = ascend_groups(j, cap, &got);
			continue;
		}
		if (key_is(&key, "ENV_VARIABLES")) {
			rc = ascend_environment(j, cap, &got);
			continue;
		}
		if (!key_is(&key, "distributed_args")) {
			rc = value_skip(j, &got);
			continue;
		}
		rc = object_enter(j, &is, &got);
		if (rc == SB_OK && is)
			rc = read_members(j, wanted, 2, &got);
	}
	if (wanted[0].value > 0)
		cap->world_size = wanted[0].value;
	cap->rank = wanted[1].value;
	cap->rank_from = RANK_METADATA;
	return ascend_json_end(ctx, in, rc, true, &got, err);
}

const struct format_reader ASCEND_INFO_READER = {
    .name = "profiler_info.json", .format = FORMAT_ASCEND_TEXT, .sniff = sniff_info, .read = read_info};
const struct format_reader ASCEND_METADATA_READER = {.name = "profiler_metadata.json",
                                                     .format = FORMAT_ASCEND_TEXT,
                                                     .sniff = sniff_metadata,
                                                     .read = read_metadata};
