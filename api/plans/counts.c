#include "api/plans/counts.h"

#include <stdlib.h>

#include "api/plans/schema.h"
#include "base/num.h"

static int ascending(const void *a, const void *b)
{
	return sb_compare(a, b, 1);
}

int counts_from_json(const json_t *request, const char *member, int64_t most, int64_t *out, size_t *out_count,
                     struct sb_error *err)
{
	struct place root = place_of(""), here = place_member(&root, member);
	const json_t *list = parse_given(request, member);
	size_t n = json_array_size(list), kept = 0;
	int rc = SB_OK;

	if (!list)
		return SB_OK;
	if (json_is_array(list) && (n < 1 || n > SCALING_COUNTS_MAX))
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                  "must have 1 to 64 entries");
	if (!json_is_array(list))
		rc = parse_integer_value(list, &here, 1, most, out, err);
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place p = place_index(&here, i);

		rc = parse_integer_value(json_array_get(list, i), &p, 1, most, &out[i], err);
	}
	if (rc != SB_OK)
		return rc;
	n = json_is_array(list) ? n : 1;
	qsort(out, n, sizeof(*out), ascending);
	for (size_t i = 0; i < n; i++) {
		if (kept == 0 || out[i] != out[kept - 1])
			out[kept++] = out[i];
	}
	*out_count = kept;
	return SB_OK;
}

json_t *counts_schema(int64_t most, const char *description)
{
	return schema_either(schema_integer(1, most),
	                     schema_list(SCALING_COUNTS_MAX, schema_integer(1, most), description));
}
