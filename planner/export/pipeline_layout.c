#include <string.h>

#include "planner/export/pipeline.h"

/* Longest text that a layout may unroll to. */
#define UNROLLED_MAX ((size_t)1 << 16)

static int no_layout(struct sb_error *err, const char *why)
{
	return sb_fail(err, SB_EIMPOSSIBLE, "no_layout", "is no layout: %s", why);
}

/* The "*N" behind a part; 1 without. *at moves behind it. 0 for a number that is none. */
static size_t times_of(const char **at)
{
	size_t n = 0;

	if (**at != '*')
		return 1;
	for ((*at)++; **at >= '0' && **at <= '9' && n < UNROLLED_MAX; (*at)++)
		n = 10 * n + (size_t)(**at - '0');
	return n;
}

static int repeat(struct sb_buf *out, const char *part, size_t len, const char **at, struct sb_error *err)
{
	size_t times = times_of(at);

	if (times == 0)
		return no_layout(err, "a number above 0 must follow *");
	for (size_t i = 0; i < times && out->status == SB_OK; i++)
		sb_buf_add(out, part, len);
	return out->status == SB_OK ? SB_OK : no_layout(err, "it is too long");
}

/* Groups first, then single letters, as Megatron does (PipelineParallelLayerLayout.parse_str_to_list). Commas
 * and blanks are for the reader. */
static int unroll_groups(const char *text, struct sb_buf *out, struct sb_error *err)
{
	int rc = SB_OK;

	while (*text && rc == SB_OK) {
		const char *end = *text == '(' ? strchr(text, ')') : NULL;

		if (*text == '(' && !end)
			return no_layout(err, "a bracket is not closed");
		if (end) {
			const char *part = text + 1;

			text = end + 1;
			rc = repeat(out, part, (size_t)(end - part), &text, err);
		} else {
			if (!strchr(", ", *text))
				sb_buf_add(out, text, 1);
			text++;
		}
	}
	return rc == SB_OK && out->status != SB_OK ? no_layout(err, "it is too long") : rc;
}

static int unroll_letters(const char *text, struct sb_buf *out, struct sb_error *err)
{
	int rc = SB_OK;

	while (*text && rc == SB_OK) {
		const char *part = text++;

		if (strchr(", ", *part))
			continue;
		if (!strchr("EtmL|", *part))
			return no_layout(err, "it is made of E, t, m, L, |, * and brackets");
		rc = repeat(out, part, 1, &text, err);
	}
	return rc;
}

static int count_stages(const char *text, int64_t stages, int64_t *out, struct sb_error *err)
{
	size_t len = strlen(text);
	int64_t stage = 0;

	if (len < 2 || text[0] != 'E' || text[len - 1] != 'L' || strchr(text + 1, 'E') ||
	    strchr(text, 'L') != text + len - 1)
		return no_layout(err, "E must be its first letter and L its last, and both stand once");
	out[0] = 0;
	for (const char *c = text + 1; c < text + len - 1; c++) {
		if (*c != '|')
			out[stage]++;
		else if (++stage < stages)
			out[stage] = 0;
		else
			break;
	}
	if (stage + 1 != stages)
		return sb_fail(err, SB_EIMPOSSIBLE, "wrong_stages",
		               "the layout must have %lld stages, one a chunk of each device",
		               (long long)stages);
	return SB_OK;
}

static int unroll(const char *text, struct sb_buf *letters, struct sb_error *err)
{
	SB_BUF_AUTO groups;
	int rc;

	sb_buf_init(&groups, UNROLLED_MAX);
	sb_buf_init(letters, UNROLLED_MAX);
	rc = unroll_groups(text, &groups, err);
	return rc == SB_OK && groups.len > 0 ? unroll_letters(groups.data, letters, err) : rc;
}

int megatron_layout_parse(const char *text, int64_t stages, int64_t *out, struct sb_error *err)
{
	SB_BUF_AUTO letters;
	int rc = unroll(text, &letters, err);

	return rc == SB_OK ? count_stages(letters.len > 0 ? letters.data : "", stages, out, err) : rc;
}

int megatron_layout_stages(const char *text, int64_t *out, struct sb_error *err)
{
	SB_BUF_AUTO letters;
	int rc = unroll(text, &letters, err);

	if (rc != SB_OK)
		return rc;
	*out = 1;
	for (size_t i = 0; i < letters.len; i++)
		*out += letters.data[i] == '|';
	return SB_OK;
}
