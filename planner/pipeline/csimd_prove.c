#include "planner/pipeline/csimd_division.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define LINES 6
#define LABELS_MAX 100000
#define NONE UINT32_MAX
#define ROUND 1e-13 /* sums of the same layers in another order */

/* One pass behind some stage: when the first run has left it, if its micro-batches had waited for none, and
 * the most that one of them took; and for micro-batch q of the rest (from 0) the time max of base + q slope.
 */
struct flow {
	double done, most;
	int lines;
	struct {
		double base, slope;
	} line[LINES];
};

/* A division of the first `at` layers. */
struct label {
	struct flow of[CSIMD_PASSES];
	uint32_t parent, next;
	int32_t at;
};

struct proof {
	const struct csimd_costs *c;
	struct label *labels;
	size_t count;
	uint32_t *before, *now;        /* lists by position */
	int64_t low, high;             /* positions of the lists of now that are not empty */
	double *largest[CSIMD_PASSES]; /* weight of a layer, of those from here on */
	double *fastest, *speeds;      /* of the stages from here on */
	double link;                   /* the least of the rest */
	double target;
	uint32_t best;
	int64_t *steps;
	bool given_up;
};

/* Through one more machine. false: more lines than there is room for. */
static bool pass_through(struct flow *f, double first, double rest, double first_count)
{
	double base, slope = rest;
	int n = 0;

	f->done += first;
	f->most = fmax(f->most, first);
	base = f->done + (first_count - 1) * f->most + rest;
	for (int i = 0; i < f->lines; i++) {
		double b = f->line[i].base + rest, s = fmax(f->line[i].slope, rest);

		if (b >= base) {
			base = -INFINITY; /* no line is flatter than the new one */
		} else if (s <= slope) {
			continue;
		}
		while (n > 0 && f->line[n - 1].slope <= s)
			n--; /* lines lie by falling slope and rising base */
		f->line[n].base = b;
		f->line[n++].slope = s;
	}
	if (base > -INFINITY) {
		if (n == LINES)
			return false;
		f->line[n].base = base;
		f->line[n++].slope = slope;
	}
	f->lines = n;
	return true;
}

static double end_of(const struct csimd_costs *c, const struct flow *f)
{
	double end = 0;

	for (int i = 0; i < f->lines; i++)
		end = fmax(end, f->line[i].base + (c->rest_count - 1) * f->line[i].slope);
	return end;
}

/* What no division of the layers from `at` on over the stages from `stage` on can be below. */
static double least_end(const struct proof *x, const struct flow *f, enum csimd_pass pass, int64_t stage,
                        int64_t at)
{
	const struct csimd_costs *c = x->c;
	int64_t n = c->p->layers;
	double rest = c->of_rest[pass][n] - c->of_rest[pass][at], speeds = x->speeds[stage];
	double first = c->of_first[pass][n] - c->of_first[pass][at];
	double links = (double)(c->p->stages - stage - 1) * x->link;
	double once = (c->once[pass][n] - c->once[pass][at]) / x->fastest[stage] + links;
	double tail = rest / x->fastest[stage] + links;
	double weight =
	    fmax((c->to[pass][n] - c->to[pass][at]) / speeds, x->largest[pass][at] / x->fastest[stage]);
	double end = f->done + once +
	             fmax(weight, (c->first_count - 1) * f->most + first / speeds +
	                              (c->rest_count - 1) * rest / speeds);

	for (int i = 0; i < f->lines; i++)
		end = fmax(end, f->line[i].base + tail +
		                    (c->rest_count - 1) * fmax(f->line[i].slope, rest / speeds));
	return end;
}

/* The same when `from` up to `to` is one stage of them. Never less with more layers in it, and never more
 * when it begins later. */
static double least_through(const struct proof *x, const struct flow *f, enum csimd_pass pass, int64_t at,
                            int64_t from, int64_t to)
{
	const struct csimd_costs *c = x->c;
	const double *u = c->of_first[pass], *w = c->of_rest[pass], *once = c->once[pass];
	int64_t n = c->p->layers;
	double speed = c->p->speeds ? c->p->speeds[0] : 1;
	double first = (u[to] - u[from]) / speed, rest = (w[to] - w[from]) / speed;
	double more = (u[from] - u[at] - (once[from] - once[at])) / speed;
	double end = f->done + (once[n] - once[at]) / speed + more + first +
	             (c->first_count - 1) * fmax(f->most, first) + (c->rest_count - 1) * rest;

	for (int i = 0; i < f->lines; i++)
		end = fmax(end, f->line[i].base + (w[n] - w[at]) / speed +
		                    (c->rest_count - 1) * fmax(f->line[i].slope, rest));
	return end;
}

/* Whether the stages from `stage` on can hold the layers behind a label so that no one of them alone is too
 * much; where all stages are alike, so that each may take what it can. */
static bool hopeful(const struct proof *x, const struct label *l, int64_t stage)
{
	const struct csimd_problem *p = x->c->p;
	int64_t from = l->at;

	for (; stage < p->stages; stage++) {
		int64_t low = from, high = p->layers - (p->stages - stage - 1);

		while (low < high) {
			int64_t mid = low + (high - low + 1) / 2;
			double end = 0;

			*x->steps -= 16;
			for (int d = 0; d < CSIMD_PASSES; d++)
				end += least_through(x, &l->of[d], (enum csimd_pass)d, l->at, from, mid);
			if (end < x->target - CSIMD_ROUNDING * x->target &&
			    (!p->memory || x->c->bytes[mid] - x->c->bytes[from] <= p->memory[stage]))
				low = mid;
			else
				high = mid - 1;
		}
		if (low == from)
			return false;
		from = low;
	}
	return from == p->layers;
}

/* Whether a is nowhere later than b. */
static bool no_later(const struct csimd_costs *c, const struct flow *a, const struct flow *b)
{
	double q = c->rest_count - 1, more = 1 + ROUND;

	if (a->done > b->done * more ||
	    a->done + (c->first_count - 1) * a->most > (b->done + (c->first_count - 1) * b->most) * more ||
	    a->most > b->most * more)
		return false;
	for (int i = 0; i < a->lines; i++) {
		int k = 0;

		while (k < b->lines && (a->line[i].base > b->line[k].base * more ||
		                        a->line[i].base + q * a->line[i].slope >
		                            (b->line[k].base + q * b->line[k].slope) * more))
			k++;
		if (k == b->lines)
			return false;
	}
	return true;
}

static bool beaten(struct proof *x, const struct label *l)
{
	for (uint32_t i = x->now[l->at]; i != NONE; i = x->labels[i].next) {
		const struct label *o = &x->labels[i];

		*x->steps -= 16;
		if (no_later(x->c, &o->of[0], &l->of[0]) && no_later(x->c, &o->of[1], &l->of[1]))
			return true;
	}
	return false;
}

static int keep(struct proof *x, struct label *l, int64_t stage)
{
	const struct csimd_problem *p = x->c->p;
	double end = 0;

	for (int d = 0; d < CSIMD_PASSES; d++)
		end += stage < p->stages ? least_end(x, &l->of[d], (enum csimd_pass)d, stage, l->at)
		                         : end_of(x->c, &l->of[d]);
	if (end >= x->target - CSIMD_ROUNDING * x->target || beaten(x, l) ||
	    (x->c->uniform && stage < p->stages && !hopeful(x, l, stage)))
		return SB_OK;
	if (x->count == LABELS_MAX || *x->steps <= 0) {
		x->given_up = true;
		return SB_OK;
	}
	if (sb_grow(&x->labels, x->count, sizeof(*x->labels)) != SB_OK)
		return SB_ENOMEM;
	l->next = x->now[l->at];
	x->now[l->at] = (uint32_t)x->count;
	x->low = l->at < x->low ? l->at : x->low;
	x->high = l->at > x->high ? l->at : x->high;
	x->labels[x->count++] = *l;
	if (stage == p->stages) {
		x->target = end;
		x->best = (uint32_t)(x->count - 1);
	}
	return SB_OK;
}

/* The layers of a label's next stage, from `l->at` up to j, and the link behind it. */
static bool add_stage(struct proof *x, const struct label *l, int64_t stage, int64_t j, struct label *out)
{
	const struct csimd_costs *c = x->c;
	double speed = c->p->speeds ? c->p->speeds[stage] : 1;

	*out = *l;
	out->at = (int32_t)j;
	for (int d = 0; d < CSIMD_PASSES; d++) {
		double rest = (c->of_rest[d][j] - c->of_rest[d][l->at]) / speed, once;
		int64_t link = csimd_link(c->p, stage, j);

		if (!pass_through(&out->of[d], (c->of_first[d][j] - c->of_first[d][l->at]) / speed, rest,
		                  c->first_count))
			return false;
		if (!c->p->send_fixed || j == c->p->layers)
			continue;
		once = c->link_work[link] / CSIMD_PASSES;
		if (!pass_through(&out->of[d],
		                  (c->link_weight[link] - (c->rest_count - 1) * once) / c->first_count, once,
		                  c->first_count))
			return false;
	}
	return true;
}

static int extend(struct proof *x, uint32_t from, int64_t stage)
{
	const struct csimd_problem *p = x->c->p;
	struct label l = x->labels[from], next;
	double speed = p->speeds ? p->speeds[stage] : 1, known = 0;
	int64_t last = p->layers - (p->stages - stage - 1);
	int rc = SB_OK;

	for (int d = 0; d < CSIMD_PASSES; d++)
		known += l.of[d].done + (x->c->once[d][p->layers] - x->c->once[d][l.at]) / x->fastest[stage];
	for (int64_t j = stage + 1 == p->stages ? last : l.at + 1; j <= last && rc == SB_OK && !x->given_up;
	     j++) {
		double weight = 0;

		*x->steps -= 32;
		for (int d = 0; d < CSIMD_PASSES; d++)
			weight += (x->c->to[d][j] - x->c->to[d][l.at]) / speed;
		/* only more with more layers */
		if (known + weight >= x->target ||
		    (p->memory && x->c->bytes[j] - x->c->bytes[l.at] > p->memory[stage]))
			break;
		if (!add_stage(x, &l, stage, j, &next)) {
			x->given_up = true;
			break;
		}
		next.parent = from;
		rc = keep(x, &next, stage + 1);
	}
	return rc;
}

static int by_stage(struct proof *x)
{
	const struct csimd_problem *p = x->c->p;
	struct label none = {.parent = NONE, .next = NONE};
	int rc = sb_grow(&x->labels, 0, sizeof(*x->labels));

	if (rc != SB_OK)
		return rc;
	memset(x->before, 0xff, 2 * (size_t)(p->layers + 1) * sizeof(*x->before)); /* both */
	x->labels[x->count++] = none;
	x->now[0] = 0;
	for (int64_t k = 0; k < p->stages && !x->given_up; k++) {
		uint32_t *swap = x->before;
		int64_t low = x->low, high = x->high;

		x->before = x->now;
		x->now = swap;
		x->low = p->layers;
		x->high = -1;
		for (int64_t i = low; i <= high; i++) {
			for (uint32_t l = x->before[i]; l != NONE && rc == SB_OK && !x->given_up;
			     l = x->labels[l].next)
				rc = extend(x, l, k);
			x->before[i] = NONE;
		}
	}
	return rc;
}

/* Bounds on what is still to come. */
static void prepare(struct proof *x)
{
	const struct csimd_costs *c = x->c;
	const struct csimd_problem *p = c->p;

	x->fastest[p->stages] = x->speeds[p->stages] = 0;
	for (int64_t k = p->stages; k-- > 0;) {
		double speed = p->speeds ? p->speeds[k] : 1;

		x->fastest[k] = fmax(x->fastest[k + 1], speed);
		x->speeds[k] = x->speeds[k + 1] + speed;
	}
	x->link = p->send_fixed ? INFINITY : 0;
	for (int64_t i = 0; p->send_fixed && i < csimd_links(p); i++)
		x->link = fmin(x->link, c->link_work[i] / 2);
	for (int d = 0; d < CSIMD_PASSES; d++) {
		x->largest[d][p->layers] = 0;
		for (int64_t i = p->layers; i-- > 0;)
			x->largest[d][i] = fmax(x->largest[d][i + 1], c->to[d][i + 1] - c->to[d][i]);
	}
}

static void take(struct proof *x, double cutoff, struct csimd_division *out)
{
	if (x->best != NONE) {
		uint32_t l = x->best;

		out->makespan = x->target;
		for (int64_t k = x->c->p->stages; k >= 0; k--) {
			out->cuts[k] = x->labels[l].at;
			l = x->labels[l].parent;
		}
	}
	if (!x->given_up)
		out->lower_bound = fmin(out->makespan, cutoff);
}

int csimd_prove_division(const struct csimd_costs *c, double cutoff, int64_t *steps,
                         struct csimd_division *out)
{
	size_t n = (size_t)c->p->layers + 1, k = (size_t)c->p->stages + 1;
	double *room = malloc((2 * n + 2 * k) * sizeof(*room));
	uint32_t *lists = malloc(2 * n * sizeof(*lists));
	struct proof x = {.c = c,
	                  .before = lists,
	                  .now = lists + n,
	                  .largest = {room, room + n},
	                  .fastest = room + 2 * n,
	                  .speeds = room + 2 * n + k,
	                  .target = fmin(cutoff, out->makespan),
	                  .best = NONE,
	                  .steps = steps};
	int rc = room && lists ? SB_OK : SB_ENOMEM;

	if (rc == SB_OK) {
		prepare(&x);
		*steps -= 8 * (int64_t)n;
		rc = by_stage(&x);
		if (rc == SB_OK)
			take(&x, cutoff, out);
	}
	free(x.labels);
	free(room);
	free(lists);
	return rc;
}
