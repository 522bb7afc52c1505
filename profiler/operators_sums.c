#include <stdlib.h>

#include "profiler/operators_parts.h"

/* A source without calls has sums by operator, by type, or both. A type's sum is what counts; its operators
 * are told apart as far as they add up to it. */

/* What the operators of one type add up to. */
struct type_sum {
	int64_t count, total_ns;
	uint32_t core; /* one type may run on two units */
	bool more;     /* they go beyond the type's own sum: they are not of the same run */
};

static bool beyond(const struct type_sum *parts, const struct op_statistic *whole)
{
	/* each operator's time is rounded to the nanosecond */
	return parts->count > whole->count || sb_add_sat(parts->total_ns, -whole->total_ns) > parts->count;
}

static struct type_sum *add_up(const struct capture *c, size_t text_count)
{
	struct type_sum *sums = calloc(text_count + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < c->op_statistic_count; i++) {
		const struct op_statistic *s = &c->op_statistics[i];

		if (s->name == 0 || s->type >= text_count)
			continue;
		sums[s->type].core = s->core;
		sums[s->type].count = sb_add_sat(sums[s->type].count, s->count);
		sums[s->type].total_ns = sb_add_sat(sums[s->type].total_ns, s->total_ns);
	}
	for (size_t i = 0; sums && i < c->op_statistic_count; i++) {
		const struct op_statistic *s = &c->op_statistics[i];

		if (s->name == 0 && s->type < text_count && s->core == sums[s->type].core)
			sums[s->type].more = sums[s->type].more || beyond(&sums[s->type], s);
	}
	return sums;
}

int operator_sums(const struct capture *c, struct op_statistic **out, size_t *out_count)
{
	size_t texts = sb_strings_count(c->trace.strings), n = 0;
	struct type_sum *sums = add_up(c, texts);
	struct op_statistic *rows = calloc(c->op_statistic_count + 1, sizeof(*rows));

	if (!sums || !rows) {
		free(sums);
		free(rows);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < c->op_statistic_count; i++) {
		struct op_statistic s = c->op_statistics[i];
		const struct type_sum *parts = &sums[s.type < texts ? s.type : texts];

		if (s.name != 0 && parts->more)
			continue;
		if (s.name == 0 && parts->count > 0 && s.core == parts->core && !parts->more) {
			/* what the operators leave over */
			s.count -= parts->count;
			s.total_ns = s.total_ns > parts->total_ns ? s.total_ns - parts->total_ns : 0;
			s.min_ns = s.max_ns = SB_NULL;
		}
		if (s.count > 0)
			rows[n++] = s;
	}
	free(sums);
	*out = rows;
	*out_count = n;
	return SB_OK;
}
