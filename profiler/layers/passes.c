#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/layers/cut_parts.h"

int cutter_add(struct cutter *c, const struct layer_range *r)
{
	struct layer_cut *out = c->out;

	if (sb_grow(&out->ranges, out->range_count, sizeof(*out->ranges)) != SB_OK)
		return SB_ENOMEM;
	out->ranges[out->range_count++] = *r;
	return SB_OK;
}

static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 31) * UINT64_C(0x9E3779B97F4A7C15);
	return x ^ x >> 29;
}

static uint64_t type_of(const struct layer_op *ops, size_t first, size_t end)
{
	uint64_t sum = 0;

	for (size_t i = first; i < end; i++)
		if (ops[i].kind == LAYER_COMPUTE)
			sum += mixed(ops[i].token);
	return sum;
}

/* Neighbours that differ in few operators are of one type. Named ones may have some between them. */
static void join_alike(struct cutter *c, const struct layer_pass *p)
{
	size_t n[2] = {0};
	int now = 0;

	for (size_t i = p->range_first; i < c->out->range_count; i++, now = !now) {
		struct layer_range *r = &c->out->ranges[i];
		bool beside =
		    i > p->range_first && r->class == r[-1].class && (r->class != 0 || r->first == r[-1].end);

		r->type = type_of(c->o->items, r->first, r->end);
		n[now] = layer_tokens(c->o->items, r, c->sorted[now]);
		if (beside && layer_alike(c->sorted[!now], n[!now], c->sorted[now], n[now]) >= LAYERS_ALIKE)
			r->type = r[-1].type;
	}
}

int cutter_close(struct cutter *c, struct layer_pass *p)
{
	struct layer_cut *out = c->out;
	size_t n = out->range_count - p->range_first;
	double all = layer_sum(c->seconds, p->first, p->end);
	struct layer_range *copy;
	int rc = SB_OK;

	if (n == 0)
		return SB_OK;
	join_alike(c, p);
	copy = malloc(n * sizeof(*copy));
	if (!copy)
		return SB_ENOMEM;
	memcpy(copy, out->ranges + p->range_first, n * sizeof(*copy));
	out->range_count = p->range_first;
	for (size_t i = 0; i < n && rc == SB_OK; i++) {
		size_t next = i + 1 < n ? copy[i + 1].first : copy[i].end;
		bool trifle = layer_sum(c->seconds, copy[i].end, next) < LAYERS_TYPE_SHARE * all;
		struct layer_range between = {.first = copy[i].end, .end = next};

		if (trifle)
			copy[i].end = next;
		rc = cutter_add(c, &copy[i]);
		if (trifle || rc != SB_OK)
			continue;
		between.type = type_of(c->o->items, between.first, between.end);
		rc = cutter_add(c, &between);
	}
	free(copy);
	p->range_count = out->range_count - p->range_first;
	p->signature = TOKEN_START;
	for (size_t i = 0; i < p->range_count; i++) {
		const uint64_t type = out->ranges[p->range_first + i].type;

		p->signature = token_of(p->signature, &type, sizeof(type));
	}
	if (rc == SB_OK && sb_grow(&out->passes, out->pass_count, sizeof(*p)) != SB_OK)
		rc = SB_ENOMEM;
	if (rc == SB_OK)
		out->passes[out->pass_count++] = *p;
	return rc;
}

struct layer_pass cutter_pass(const struct cutter *c, size_t first, size_t end, uint8_t phase)
{
	return (struct layer_pass){.step = c->o->items[first].step,
	                           .first = first,
	                           .end = end,
	                           .range_first = c->out->range_count,
	                           .phase = phase};
}
