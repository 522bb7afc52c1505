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
	out->left_out = false;
	for (int64_t d = 1; d * d <= n && !out->left_out; d++) {
		if (n % d != 0)
			continue;
		out->left_out = out->count + more + 2 > VALUES_MAX;
		if (out->left_out)
			break;
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

void stack_apply(const struct stack *k, struct strategy *s)
{
	s->overlap_gradients = k->given ? k->gradients : s->zero > 0;
	s->overlap_tensor = k->tensor;
	s->overlap_expert = k->expert;
	s->overlap_sends = k->sends;
	s->dispatch_fp8 = k->dispatch_fp8;
}

struct strategy search_default(const struct search_request *r)
{
	struct strategy s = strategy_default(&r->problem.model, &r->problem.cluster);

	s.attention = r->attention;
	s.gradient_bytes = r->gradient_bytes;
	stack_apply(&r->stack, &s);
	return s;
}

bool sequence_parallel_allowed(const struct search_request *r, const struct strategy *s)
{
	bool sp = s->sequence_parallel;

	return allowed_value(r, ONLY_SEQUENCE_PARALLEL, sp) && (!sp || s->tp > 1) &&
	       (sp || s->tp == 1 || (s->tp_x <= 1 && !r->problem.model.has_moe)) &&
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

static void one_dimension(const struct search_request *r, struct search_result *out, struct values *v)
{
	const struct model *m = &r->problem.model;
	int64_t devices = cluster_devices(&r->problem.cluster);
	struct strategy s = search_default(r);

	for (s.tp = 1; s.tp <= devices && s.tp <= m->heads && !v->left_out; s.tp++) {
		enum misfit f;

		if (!allowed_value(r, ONLY_TP, s.tp))
			continue;
		f = strategy_fit_tensor(m, &s);
		if (f != FIT_OK)
			count_rejection(out, f == MISFIT_HEADS ? REJECT_HEADS : REJECT_WIDTH, 1, &s, NAN);
		else if (v->count == VALUES_MAX)
			v->left_out = true;
		else
			v->value[v->count++] = s.tp;
	}
}

/* tp_y as tp in one dimension; tp_x divides the hidden size. */
static void grids(const struct search_request *r, struct search_result *out, struct tensor_values *v)
{
	const struct model *m = &r->problem.model;
	int64_t devices = cluster_devices(&r->problem.cluster);
	struct strategy s = search_default(r);
	struct values x, y;

	s.sequence_parallel = true;
	divisors(m->hidden, &x);
	divisors(m->heads, &y);
	v->tp.left_out = v->tp.left_out || x.left_out || y.left_out;
	for (int i = 0; i < x.count * y.count; i++) {
		int64_t inner = y.value[i % y.count];
		enum misfit f;

		s.tp_x = x.value[i / y.count];
		if (s.tp_x == 1 || s.tp_x > devices / inner || !allowed_value(r, ONLY_TP_X, s.tp_x) ||
		    !allowed_value(r, ONLY_TP, s.tp_x * inner))
			continue;
		s.tp = s.tp_x * inner;
		f = strategy_fit_tensor(m, &s);
		if (f != FIT_OK) {
			count_rejection(out,
			                f == MISFIT_HEADS      ? REJECT_HEADS
			                : f == MISFIT_SEQUENCE ? REJECT_SEQUENCE
			                : f == MISFIT_GRID     ? REJECT_ATTENTION
			                                       : REJECT_WIDTH,
			                1, &s, NAN);
		} else if (v->tp.count == VALUES_MAX) {
			v->tp.left_out = true;
			return;
		} else {
			v->x[v->tp.count] = s.tp_x;
			v->tp.value[v->tp.count++] = s.tp;
		}
	}
}

void tensor_values(const struct search_request *r, struct search_result *out, struct tensor_values *v)
{
	bool asked = (r->only[ONLY_TP_X].count > 0 || r->only[ONLY_TENSOR].count > 0) &&
	             allowed_value(r, ONLY_TENSOR, 1);

	v->tp.count = 0;
	v->tp.left_out = false;
	if (allowed_value(r, ONLY_TP_X, 1))
		one_dimension(r, out, &v->tp);
	for (int i = 0; i < v->tp.count; i++)
		v->x[i] = 1;
	if (asked)
		grids(r, out, v);
}

void context_values(const struct search_request *r, const struct strategy *tensor, struct search_result *out,
                    struct values *v)
{
	int64_t devices = cluster_devices(&r->problem.cluster);
	int64_t len = r->problem.model.seq_len, x = tensor_grid_of(tensor).x;
	struct strategy s = search_default(r);

	s.tp = tensor->tp;
	s.tp_x = tensor->tp_x;
	v->count = 0;
	for (s.cp = 1; s.cp * s.tp <= devices && (s.cp == 1 || len / s.cp >= LEAST_TOKENS); s.cp *= 2) {
		if (!allowed_value(r, ONLY_CP, s.cp))
			continue;
		if (s.cp > 1 && r->attention == ATTENTION_UNFUSED)
			count_rejection(out, REJECT_ATTENTION, 1, &s, NAN);
		else if (s.cp * x > 1 && len % (2 * s.cp * x) != 0)
			count_rejection(out, REJECT_SEQUENCE, 1, &s, NAN);
		else
			v->value[v->count++] = s.cp;
	}
}

int64_t most_last_fewer(const struct model *m)
{
	struct layer_flops f = model_layer_flops(m, m->has_moe ? LAYER_MOE : LAYER_DENSE);

	double layers = ceil(model_head_flops(m) / (f.linear + model_kappa(m) * f.scores));

	return layers < MOST_FEWER ? (int64_t)layers : MOST_FEWER;
}

int64_t most_first_more(const struct model *m)
{
	if (!m->has_moe)
		return 0;
	return m->moe.first_dense < MOST_FEWER ? m->moe.first_dense : MOST_FEWER;
}

void pipeline_values(const struct search_request *r, struct values *v)
{
	int64_t layers = r->problem.model.layers, devices = cluster_devices(&r->problem.cluster);

	v->count = 0;
	v->left_out = false;
	for (int64_t p = 1; p <= layers && p <= devices && !v->left_out; p++) {
		if (!allowed_value(r, ONLY_PP, p))
			continue;
		v->left_out = v->count == VALUES_MAX;
		if (!v->left_out)
			v->value[v->count++] = p;
	}
}

static void allowed_divisors(const struct search_request *r, enum constraint c, int64_t n, struct values *v)
{
	struct values all;

	divisors(n, &all);
	v->count = 0;
	v->left_out = all.left_out;
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
