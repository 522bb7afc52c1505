#include "api/profiles/breakdown_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "base/grow.h"
#include "base/num.h"

/* Past these a number is no time of ours: it would not fit a nanosecond count. */
#define US_MAX 9e15

int64_t json_int_of(const json_t *object, const char *member)
{
	const json_t *v = json_object_get(object, member);

	return json_is_integer(v) ? json_integer_value(v) : SB_NULL;
}

int64_t json_ns_of(const json_t *object, const char *member)
{
	const json_t *v = json_object_get(object, member);
	double us = json_is_number(v) ? json_number_value(v) : NAN;

	return fabs(us) <= US_MAX ? llround(us * 1000) : SB_NULL;
}

static struct breakdown_row row_of(const json_t *v, size_t capture)
{
	return (struct breakdown_row){
	    .rank = json_int_of(v, "rank"),
	    .device = json_int_of(v, "device"),
	    .step = json_int_of(v, "step"),
	    .step_ns = json_ns_of(v, "step_us"),
	    .span_ns = json_ns_of(v, "span_us"),
	    .busy_ns = json_ns_of(v, "busy_us"),
	    .compute_ns = json_ns_of(v, "compute_us"),
	    .communication_ns = json_ns_of(v, "communication_us"),
	    .exposed_ns = json_ns_of(v, "communication_exposed_us"),
	    .overlap_ns = json_ns_of(v, "overlap_us"),
	    .copy_ns = json_ns_of(v, "copy_us"),
	    .copy_exposed_ns = json_ns_of(v, "copy_exposed_us"),
	    .free_ns = json_ns_of(v, "free_us"),
	    .bubble_ns = json_ns_of(v, "bubble_us"),
	    .preparing_ns = json_ns_of(v, "preparing_us"),
	    .capture = capture,
	};
}

/* One row at a time is made a value of: all together would take ten times their text. */
int breakdown_read(const char *text, size_t len, struct breakdown *out)
{
	static const char begin[] = "{\"rows\":[";
	BREAKDOWN_AUTO b = {0};
	size_t at = sizeof(begin) - 1, capture = 0;

	if (len < at || memcmp(text, begin, at) != 0)
		return SB_EFORMAT;
	while (at < len && text[at] == '{') {
		json_error_t e;
		JSON_AUTO row = json_loadb(text + at, len - at, JSON_DISABLE_EOF_CHECK, &e);

		if (!row)
			return SB_EFORMAT;
		if (sb_grow(&b.rows, b.count, sizeof(*b.rows)) != SB_OK)
			return SB_ENOMEM;
		b.rows[b.count] = row_of(row, capture);
		capture += b.rows[b.count++].step == SB_NULL;
		at += (size_t)e.position;
		at += at < len && text[at] == ',';
	}
	if (at >= len || text[at] != ']')
		return SB_EFORMAT;
	*out = b;
	/* NOLINTNEXTLINE(clang-analyzer-deadcode.DeadStores): the cleanup attribute reads it */
	b = (struct breakdown){0};
	return SB_OK;
}
