#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "base/grow.h"
#include "profiler/layers/rank.h"

int samples_add(struct samples *s, double value)
{
	if (isnan(value))
		return SB_OK;
	if (sb_grow(&s->items, s->count, sizeof(*s->items)) != SB_OK)
		return SB_ENOMEM;
	s->items[s->count++] = value;
	return SB_OK;
}

double samples_median(struct samples *s)
{
	return sb_median(s->items, s->count);
}

void samples_keep_upper(struct samples *s, int64_t of)
{
	size_t kept = s->count / (size_t)of;

	if (of < 2 || kept == 0)
		return;
	qsort(s->items, s->count, sizeof(*s->items), sb_by_double);
	for (size_t i = 0; i < kept; i++)
		s->items[i] = s->items[s->count - kept + i];
	s->count = kept;
}

void samples_join(struct samples *to, struct samples *from, int *rc)
{
	for (size_t i = 0; i < from->count && *rc == SB_OK; i++)
		*rc = samples_add(to, from->items[i]);
}
