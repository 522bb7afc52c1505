#include "planner/strategy/layout.h"

#include <string.h>

/* The degrees above 1, in the usual order. */
static int used_dimensions(const struct strategy *s, enum dimension used[DIMS])
{
	const int64_t size[DIMS] = {[DIM_TP] = s->tp, [DIM_CP] = s->cp, [DIM_DP] = s->dp, [DIM_PP] = s->pp};
	int count = 0;

	for (int d = 0; d < DIMS; d++) {
		if (size[d] > 1)
			used[count++] = (enum dimension)d;
	}
	return count;
}

/* The next permutation in lexicographic order; false after the last. */
static bool next_order(enum dimension *at, int count)
{
	int i = count - 2, k = count - 1;

	while (i >= 0 && at[i] > at[i + 1])
		i--;
	if (i < 0)
		return false;
	while (at[k] < at[i])
		k--;
	for (int low = i, high = k, first = 1; low < high; first = 0) {
		enum dimension held = at[low];

		at[low] = at[high];
		at[high] = held;
		if (first) {
			low = i + 1;
			high = count - 1;
		} else {
			low++;
			high--;
		}
	}
	return true;
}

int order_count(const struct strategy *s)
{
	enum dimension used[DIMS];
	int count = used_dimensions(s, used), all = 1;

	for (int i = 2; i <= count; i++)
		all *= i;
	return all;
}

/* Dimensions of one rank lie anywhere: the usual order where nothing else was asked for. */
static void complete(struct strategy *s, const enum dimension *used, int count)
{
	bool usual = true, seen[DIMS] = {false};
	int n = 0;

	for (int i = 1; i < count; i++)
		usual = usual && used[i] > used[i - 1];
	for (int i = 0; !usual && i < count; i++) {
		s->order[n++] = used[i];
		seen[used[i]] = true;
	}
	for (int d = 0; d < DIMS; d++) {
		if (!seen[d])
			s->order[n++] = (enum dimension)d;
	}
}

static bool same_group(const struct group *a, const struct group *b)
{
	return a->ranks == b->ranks && memcmp(a->inside, b->inside, sizeof(a->inside)) == 0;
}

static bool same_groups(const struct groups *a, const struct groups *b)
{
	return same_group(&a->tp, &b->tp) && same_group(&a->tp_x, &b->tp_x) &&
	       same_group(&a->tp_y, &b->tp_y) && same_group(&a->cp, &b->cp) && same_group(&a->pp, &b->pp) &&
	       same_group(&a->dp, &b->dp) && same_group(&a->ep, &b->ep) && same_group(&a->etp, &b->etp) &&
	       same_group(&a->edp, &b->edp);
}

/* Returns how many ranks it went through. */
static int64_t add_order(const struct network *n, const struct strategy *s, struct rank_order *out,
                         int *count)
{
	struct rank_order *o = &out[*count];
	struct groups g;
	int same = 0;

	if (!strategy_experts_line_up(s))
		return 0;
	memcpy(o->at, s->order, sizeof(o->at));
	g = o->groups = groups_of(n, s);
	while (same < *count && !same_groups(&out[same].groups, &o->groups))
		same++;
	*count += same == *count;
	return g.tp.examined + g.tp_x.examined + (s->tp_x > 1 ? g.tp_y.examined : 0) + g.cp.examined +
	       g.pp.examined + g.dp.examined + g.ep.examined + g.etp.examined + g.edp.examined;
}

int rank_orders(const struct network *n, const struct strategy *s, struct rank_order *out,
                int64_t *out_examined)
{
	struct strategy w = *s;
	enum dimension used[DIMS];
	int dims = used_dimensions(s, used), count = 0;

	*out_examined = 0;
	do {
		complete(&w, used, dims);
		*out_examined += add_order(n, &w, out, &count);
	} while (next_order(used, dims));
	return count;
}
