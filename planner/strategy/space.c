#include "planner/strategy/space.h"

#include <math.h>

#define MOST_FEWER 8
#define LEAST_TOKENS                                                                                         \
	256 /* a context rank works on two slices of 128 tokens, one tile of a matrix product                \
	     */

bool allowed_value(const struct search_request *r, enum constraint c, int64_t value)
{
	const struct allowed *a = &r->only[c];

	for (int i = 0; i < a->count; i++) {
		if (a->value[i] == value)
			return true;
	}
	return a->count == 0;
}

void divisors(int64_t n, struct values *out)
{
	int64_t high[VALUES_MAX];
	int more = 0;

	out->count = 0;
	for (int64_t d = 1; d * d <= n && out->count + more < VALUES_MAX - 2; d++) {
		if (n % d != 0)
			continue;
		out->value[out->count++] = d;
		if (d != n / d)
			high[more++] = n / d;
	}
	while (more > 0)
		out->value[out->count++] = high[--more];
}

void count_rejection(struct search_result *out, enum rejection why, int64_t count,
                     const struct strategy *example, double seconds)
{
	struct rejected *r = &out->rejected[why];

	if (count <= 0)
		return;
	if (r->count == 0 || seconds < r->example_seconds) {
		r->example = *example;
		r->example_seconds = seconds;
	}
	r->count += count;
}

struct strategy search_default(const struct search_request *r)
{
	struct strategy s = strategy_default(&r->problem.model, &r->problem.cluster);

	s.attention = r->attention;
	s.gradient_bytes = r->gradient_bytes;
	return s;
}

bool sequence_parallel_allowed(const struct search_request *r, const struct strategy *s)
{
	bool sp = s->sequence_parallel;

	return allowed_value(r, ONLY_SEQUENCE_PARALLEL, sp) && (!sp || s->tp > 1) &&
	       (sp || s->tp == 1 || !r->problem.model.has_moe) &&
	       (!sp || r->problem.model.seq_len % (s->tp * s->cp) == 0);
}

int recompute_modes(const struct search_request *r)
{
	int modes = 0;

	for (int c = 0; c < RECOMPUTES; c++) {
		if (c == RECOMPUTE_SELECTIVE && r->attention == ATTENTION_FLASH)
			continue;
		modes += allowed_value(r, ONLY_RECOMPUTE, c) +
		         (c != RECOMPUTE_NONE && allowed_value(r, ONLY_RECOMPUTE, RECOMPUTES));
	}
	return modes;
}

static struct strategy with(const struct search_request *r, int64_t tp, int64_t cp)
{
	struct strategy s = strategy_default(&r->problem.model, &r->problem.cluster);

	s.tp = tp;
	s.cp = cp;
	return s;
}

void tensor_values(const struct search_request *r, struct search_result *out, struct values *v)
{
	const struct model *m = &r->problem.model;
	int64_t devices = cluster_devices(&r->problem.cluster);

	v->count = 0;
	for (int64_t t = 1; t <= devices && t <= m->heads && v->count < VALUES_MAX; t++) {
		struct strategy s = with(r, t, 1);
		enum misfit f;

		if (!allowed_value(r, ONLY_TP, t))
			continue;
		f = m->heads % t != 0 || (!m->has_mla && m->kv_heads % t != 0) ? MISFIT_HEADS
		    : m->ffn_hidden % t != 0 || m->hidden % t != 0             ? MISFIT_WIDTH
		                                                               : FIT_OK;
		if (f == FIT_OK && m->has_moe && (m->moe.shared_experts * m->moe.shared_ffn_hidden) % t != 0)
			f = MISFIT_WIDTH;
		if (f != FIT_OK)
			count_rejection(out, f == MISFIT_HEADS ? REJECT_HEADS : REJECT_WIDTH, 1, &s, NAN);
		else
			v->value[v->count++] = t;
	}
}

void context_values(const struct search_request *r, int64_t tp, struct search_result *out, struct values *v)
{
	int64_t devices = cluster_devices(&r->problem.cluster), len = r->problem.model.seq_len;

	v->count = 0;
	for (int64_t c = 1; c * tp <= devices && (c == 1 || len / c >= LEAST_TOKENS); c *= 2) {
		struct strategy s = with(r, tp, c);

		if (!allowed_value(r, ONLY_CP, c))
			continue;
		if (c > 1 && r->attention == ATTENTION_UNFUSED)
			count_rejection(out, REJECT_ATTENTION, 1, &s, NAN);
		else if (c > 1 && len % (2 * c) != 0)
			count_rejection(out, REJECT_SEQUENCE, 1, &s, NAN);
		else
			v->value[v->count++] = c;
	}
}

int64_t most_last_fewer(const struct model *m)
{
	struct layer_flops f = model_layer_flops(m, m->has_moe ? LAYER_MOE : LAYER_DENSE);

	double layers = ceil(model_head_flops(m) / (f.linear + f.scores));

	return layers < MOST_FEWER ? (int64_t)layers : MOST_FEWER;
}

void pipeline_values(const struct search_request *r, struct values *v)
{
	int64_t layers = r->problem.model.layers, devices = cluster_devices(&r->problem.cluster);

	v->count = 0;
	for (int64_t p = 1; p <= layers && p <= devices && v->count < VALUES_MAX; p++) {
		if (allowed_value(r, ONLY_PP, p))
			v->value[v->count++] = p;
	}
}

static void allowed_divisors(const struct search_request *r, enum constraint c, int64_t n, struct values *v)
{
	struct values all;

	divisors(n, &all);
	v->count = 0;
	for (int i = 0; i < all.count; i++) {
		if (allowed_value(r, c, all.value[i]))
			v->value[v->count++] = all.value[i];
	}
}

void expert_values(const struct search_request *r, struct values *ep, struct values *etp)
{
	const struct model *m = &r->problem.model;

	allowed_divisors(r, ONLY_EP, m->has_moe ? m->moe.experts : 1, ep);
	allowed_divisors(r, ONLY_ETP, m->has_moe ? m->moe.ffn_hidden : 1, etp);
}
