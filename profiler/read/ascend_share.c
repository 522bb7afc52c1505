#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "profiler/read/ascend_counters.h"
#include "profiler/read/id_map.h"

/* Counters of kernels with one name, type and shapes, over all captures. */
struct counted {
	double flops, bytes; /* sums */
	double flops_count, bytes_count;
};

struct sharing {
	struct sb_strings *texts; /* names of all captures: their own ids differ */
	struct id_map places;
	struct counted *items;
	size_t count;
};

static void sharing_free(struct sharing *s)
{
	sb_strings_free(&s->texts);
	id_map_free(&s->places);
	free(s->items);
}

static int common_id(struct sharing *s, const struct capture *c, uint32_t id, uint32_t *out)
{
	size_t len;
	const char *text = trace_text(&c->trace, id, &len);

	return sb_strings_add(s->texts, text, len, out);
}

static int key_of(struct sharing *s, const struct capture *c, const struct kernel *k, struct id_key *out)
{
	int rc = common_id(s, c, k->name, &out->a);

	if (rc == SB_OK)
		rc = common_id(s, c, k->type, &out->b);
	return rc == SB_OK ? common_id(s, c, k->input_shapes, &out->c) : rc;
}

static int collect(struct sharing *s, const struct capture *c, const struct kernel *k)
{
	struct id_key key;
	uint32_t at;
	int rc = key_of(s, c, k, &key);

	if (rc != SB_OK)
		return rc;
	if (!id_map_get(&s->places, key, &at)) {
		at = (uint32_t)s->count;
		if (sb_grow(&s->items, s->count, sizeof(*s->items)) != SB_OK ||
		    id_map_put(&s->places, key, at) != SB_OK)
			return SB_ENOMEM;
		s->items[s->count++] = (struct counted){0};
	}
	if (!isnan(k->flops)) {
		s->items[at].flops += k->flops;
		s->items[at].flops_count++;
	}
	if (!isnan(k->bytes)) {
		s->items[at].bytes += k->bytes;
		s->items[at].bytes_count++;
	}
	return SB_OK;
}

static int lend(struct sharing *s, const struct capture *c, struct kernel *k)
{
	struct id_key key;
	uint32_t at;
	int rc = key_of(s, c, k, &key);

	if (rc != SB_OK || !id_map_get(&s->places, key, &at))
		return rc;
	if (isnan(k->flops) && s->items[at].flops_count > 0)
		k->flops = (float)(s->items[at].flops / s->items[at].flops_count);
	if (isnan(k->bytes) && s->items[at].bytes_count > 0)
		k->bytes = (float)(s->items[at].bytes / s->items[at].bytes_count);
	return SB_OK;
}

/* What a capture counts: bit 0 operations, bit 1 bytes. */
static unsigned counts(const struct capture *c)
{
	unsigned what = 0;

	for (size_t i = 0; i < c->kernel_count && what != 3; i++)
		what |= (unsigned)!isnan(c->kernels[i].flops) | (unsigned)!isnan(c->kernels[i].bytes) << 1;
	return what;
}

int counters_share(struct capture **captures, size_t count)
{
	__attribute__((cleanup(sharing_free))) struct sharing s = {0};
	unsigned all = 0, each = 3;
	int rc;

	for (size_t i = 0; i < count; i++) {
		unsigned what = counts(captures[i]);

		all |= what;
		each &= captures[i]->kernel_count > 0 ? what : 3;
	}
	if (all == each)
		return SB_OK;
	rc = sb_strings_new(&s.texts);
	for (size_t i = 0; i < count && rc == SB_OK; i++)
		for (size_t k = 0; k < captures[i]->kernel_count && rc == SB_OK; k++) {
			const struct kernel *row = &captures[i]->kernels[k];

			if (!row->communication && (!isnan(row->flops) || !isnan(row->bytes)))
				rc = collect(&s, captures[i], row);
		}
	for (size_t i = 0; i < count && rc == SB_OK; i++) {
		if ((counts(captures[i]) & all) == all)
			continue;
		for (size_t k = 0; k < captures[i]->kernel_count && rc == SB_OK; k++)
			if (!captures[i]->kernels[k].communication)
				rc = lend(&s, captures[i], &captures[i]->kernels[k]);
	}
	return rc;
}
