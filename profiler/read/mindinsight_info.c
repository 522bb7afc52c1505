#include <string.h>

#include "base/num.h"
#include "profiler/read/mindinsight.h"

/* step_trace_point_info*.json: the operators that bound an iteration's parts; profiler_info_{id}.json: which
 * rank this is. */

static int sniff_points(const struct sniff *s)
{
	if (sniff_first(s) == '{' && (sniff_has(s, "\"fp_start\"") || sniff_has(s, "\"bp_end\"")))
		return SNIFF_SURE;
	return SNIFF_NO;
}

static int sniff_info(const struct sniff *s)
{
	bool own = sniff_has(s, "\"rank_size\"") &&
	           (sniff_has(s, "\"context_mode\"") || sniff_has(s, "\"parallel_mode\""));

	return sniff_first(s) == '{' && own ? SNIFF_SURE : SNIFF_NO;
}

/* The next value as a text of the capture. */
static int read_text(struct jpull *j, struct capture *cap, uint32_t *out, struct sb_error *err)
{
	const char *text;
	size_t len;
	int rc = value_scalar(j, &text, &len, err);

	if (rc == SB_OK && len > 0 && sb_strings_add(cap->trace.strings, text, len, out) != SB_OK)
		rc = sb_no_memory(err);
	return rc;
}

static int read_number(struct jpull *j, int64_t least, int64_t *out, struct sb_error *err)
{
	const char *text;
	size_t len;
	int64_t v;
	int rc = value_scalar(j, &text, &len, err);

	if (rc == SB_OK && sb_parse_int(text, len, &v) == SB_OK && v >= least && v <= INT32_MAX)
		*out = v;
	return rc;
}

static int read_member(struct jpull *j, const struct jpull_value *key, struct capture *cap, bool points,
                       struct sb_error *err)
{
	if (points && key_is(key, "fp_start"))
		return read_text(j, cap, &cap->forward_start, err);
	if (points && key_is(key, "bp_end"))
		return read_text(j, cap, &cap->backward_end, err);
	if (!points && key_is(key, "rank_id"))
		return read_number(j, 0, &cap->rank, err);
	if (!points && key_is(key, "rank_size"))
		return read_number(j, 1, &cap->world_size, err);
	return value_skip(j, err);
}

static int read_object(struct read_context *ctx, struct stream *in, bool points, struct sb_error *err)
{
	JPULL_AUTO j = NULL;
	struct sb_error got = {.offset = -1};
	struct jpull_value key;
	struct capture *cap;
	bool more = false;
	int rc = mindinsight_capture(ctx, in, &cap, err);

	if (rc != SB_OK)
		return rc;
	if (jpull_new(in, &j) != SB_OK)
		return sb_no_memory(err);
	cap->rank_from = RANK_INFO;
	rc = object_enter(j, &more, &got);
	while (object_member(j, &rc, &more, &key, &got))
		rc = read_member(j, &key, cap, points, &got);
	return ascend_json_end(ctx, in, rc, true, &got, err);
}

static int read_points(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	return read_object(ctx, in, true, err);
}

static int read_info(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	return read_object(ctx, in, false, err);
}

const struct format_reader MINDINSIGHT_POINTS_READER = {.name = "step_trace_point_info.json",
                                                        .format = FORMAT_MINDINSIGHT,
                                                        .sniff = sniff_points,
                                                        .read = read_points};
const struct format_reader MINDINSIGHT_INFO_READER = {
    .name = "profiler_info.json", .format = FORMAT_MINDINSIGHT, .sniff = sniff_info, .read = read_info};
