#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "planner/pipeline/lightest.h"
#include "planner/pipeline/straight.h"

/* Labels that differ by rounding alone are the same: sums over many stages, in other orders. */
#define SAME 1e-12
/* Of one state: beyond, a search of 1,024 layers takes longer than its last digits are worth. */
#define LABELS_MAX 64
#define STATES_MAX (1 << 22)

struct label {
	double number[STRAIGHT_NUMBERS], bound;
	int32_t count; /* layers of the stage in front */
	int32_t next;  /* the label behind it */
};

/* All that the stages from one on can be for the layers from one on. */
struct state {
	struct label *labels;
	size_t count;
};

struct search {
	struct straight *s;
	const struct straight_rule *rule;
	int64_t stages, layers, least; /* least: layers of a stage */
	struct state *states;          /* [stage * (layers + 1) + first], and one stage more */
	double *work;                  /* of all layers before one, in the quickest way */
	double value, dropped;         /* best so far; least bound of the labels that found no place */
	int32_t best;                  /* label of the first state; -1 = none is below the first value */
	int64_t candidates;
};

static void search_free(struct search *q)
{
	for (int64_t i = 0; q->states && i < (q->stages + 1) * (q->layers + 1); i++)
		free(q->states[i].labels);
	free(q->states);
	free(q->work);
}

static struct state *state_of(const struct search *q, int64_t stage, int64_t first)
{
	return &q->states[stage * (q->layers + 1) + first];
}

static double quickest(const struct pipeline_body *b)
{
	double least = INFINITY;

	for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
		if (!isnan(b->backward[r]) && !isnan(b->activation[r]))
			least = fmin(least, b->backward[r]);
	return b->forward + least;
}

static int search_open(struct search *q, struct sb_error *err)
{
	const struct pipeline_problem *p = straight_problem(q->s);
	int64_t at = 0;

	if ((double)(q->stages + 1) * (double)(q->layers + 1) > STATES_MAX)
		return sb_fail(err, SB_ELIMIT, "too_large", "stages times layers are more than 2^22");
	q->states = calloc((size_t)((q->stages + 1) * (q->layers + 1)), sizeof(*q->states));
	q->work = malloc(((size_t)q->layers + 1) * sizeof(*q->work));
	if (!q->states || !q->work)
		return SB_ENOMEM;
	q->work[0] = p->head.forward + p->head.backward;
	for (int64_t b = 0; b < p->body_count; b++)
		for (int64_t i = 0; i < p->bodies[b].count; i++, at++)
			q->work[at + 1] = q->work[at] + quickest(&p->bodies[b]);
	return SB_OK;
}

/* Is it nowhere above? */
static bool covers(const struct search *q, const double *a, const double *b)
{
	for (int i = 0; i < q->rule->numbers; i++)
		if (a[i] > b[i] + SAME * fabs(b[i]))
			return false;
	return true;
}

static bool is_covered(const struct search *q, const struct state *t, const double *number)
{
	for (size_t i = 0; i < t->count; i++)
		if (covers(q, t->labels[i].number, number))
			return true;
	return false;
}

static bool is_worse(const struct search *q, double value)
{
	return value >= q->value - SAME * fabs(q->value);
}

/* Drops the labels that a new one covers; where there is no room, the one of highest bound goes. */
static int keep(struct search *q, struct state *t, const struct label *l)
{
	struct label *worst = NULL;
	size_t kept = 0;
	int rc;

	for (size_t i = 0; i < t->count; i++)
		if (!covers(q, l->number, t->labels[i].number))
			t->labels[kept++] = t->labels[i];
	t->count = kept;
	if (kept < LABELS_MAX) {
		rc = sb_grow(&t->labels, t->count, sizeof(*t->labels));
		if (rc == SB_OK)
			t->labels[t->count++] = *l;
		return rc;
	}
	for (size_t i = 0; i < kept; i++)
		if (!worst || t->labels[i].bound > worst->bound)
			worst = &t->labels[i];
	q->dropped = fmin(q->dropped, fmax(worst->bound, l->bound));
	if (l->bound < worst->bound)
		*worst = *l;
	return SB_OK;
}

/* Puts a stage in front of all that is behind it. */
static int put_in_front(struct search *q, int64_t stage, const struct straight_stage *x)
{
	struct state *t = state_of(q, stage, x->first);
	const struct state *behind = state_of(q, stage + 1, x->first + x->count);
	int rc = SB_OK;

	for (size_t i = 0; i < behind->count && rc == SB_OK; i++) {
		struct label l = {.count = (int32_t)x->count, .next = (int32_t)i};

		q->rule->extend(q->s, stage, x, behind->labels[i].number, l.number);
		q->candidates++;
		l.bound = stage > 0 ? q->rule->bound(q->s, l.number, q->work[x->first], stage)
		                    : q->rule->value(q->s, l.number);
		if (is_worse(q, l.bound) || is_covered(q, t, l.number))
			continue;
		if (stage == 0) {
			/* the last one that is kept is the best: one that is not below was left out */
			q->value = l.bound;
			q->best = 0;
			t->count = 0;
		}
		rc = keep(q, t, &l);
	}
	return rc;
}

/* No stage with these layers and more leads to anything new. */
static bool is_enough(const struct search *q, int64_t stage, struct straight_stage x)
{
	static const double nothing[STRAIGHT_NUMBERS];
	double alone[STRAIGHT_NUMBERS];

	x.hop = x.toll = 0;
	q->rule->extend(q->s, stage, &x, nothing, alone);
	return is_covered(q, state_of(q, stage, x.first), alone) ||
	       is_worse(q, q->rule->bound(q->s, alone, 0, stage));
}

/* out_stop: more layers in this stage lead to nothing. */
static int add_stage(struct search *q, int64_t stage, int64_t first, int64_t count, bool *out_stop)
{
	struct straight_stage x;
	bool fits;
	int rc;

	*out_stop = false;
	if (state_of(q, stage + 1, first + count)->count == 0)
		return SB_OK;
	*out_stop = is_enough(q, stage, straight_quickest(q->s, stage, first, count));
	if (*out_stop)
		return SB_OK;
	rc = straight_stage(q->s, stage, first, count, &x, &fits);
	if (rc != SB_OK)
		return rc;
	*out_stop = !fits || is_enough(q, stage, x);
	return *out_stop ? SB_OK : put_in_front(q, stage, &x);
}

static int fill_stage(struct search *q, int64_t stage)
{
	int64_t behind = q->least * (q->stages - 1 - stage); /* that the stages behind need at least */
	int64_t last = stage == 0 ? 0 : q->layers - behind - q->least;
	bool stop = false;
	int rc = SB_OK;

	for (int64_t first = q->least * stage; first <= last && rc == SB_OK; first++, stop = false)
		for (int64_t n = q->least; n <= q->layers - behind - first && rc == SB_OK && !stop; n++)
			rc = add_stage(q, stage, first, n, &stop);
	return rc;
}

/* The last stage takes all that is left: so the fewest layers come first. */
static int fill_last(struct search *q)
{
	int64_t stage = q->stages - 1, first = q->layers - q->least, low = q->least * stage;
	bool stop = false;
	int rc = SB_OK;

	if (stage == 0)
		return add_stage(q, 0, 0, q->layers, &stop);
	for (; first >= low && rc == SB_OK && !stop; first--)
		rc = add_stage(q, stage, first, q->layers - first, &stop);
	return rc;
}

static int fill(struct search *q)
{
	struct state *end = state_of(q, q->stages, q->layers);
	int rc = sb_grow(&end->labels, 0, sizeof(*end->labels));

	if (rc != SB_OK)
		return rc;
	end->labels[end->count++] = (struct label){.count = 0};
	rc = fill_last(q);
	for (int64_t stage = q->stages - 2; stage >= 0 && rc == SB_OK; stage--)
		rc = fill_stage(q, stage);
	return rc;
}

/* No cut goes below, whatever its stages recompute. */
static double bound_of_all(const struct search *q)
{
	static const double nothing[STRAIGHT_NUMBERS];
	const struct pipeline_end *tail = &straight_problem(q->s)->tail;
	double work = q->work[q->layers] + tail->forward + tail->backward;

	return q->rule->bound(q->s, nothing, work, q->stages);
}

/* The value of a plan by the rule. */
static double value_of(const struct search *q, const struct straight_stage *stages)
{
	double label[STRAIGHT_NUMBERS] = {0}, more[STRAIGHT_NUMBERS] = {0};

	for (int64_t i = q->stages - 1; i >= 0; i--) {
		q->rule->extend(q->s, i, &stages[i], label, more);
		for (int n = 0; n < STRAIGHT_NUMBERS; n++)
			label[n] = more[n];
	}
	return q->rule->value(q->s, label);
}

static int read_plan(const struct search *q, struct straight_stage *out)
{
	int64_t first = 0;
	int32_t at = q->best;
	int rc = SB_OK;

	for (int64_t i = 0; i < q->stages && rc == SB_OK; i++) {
		const struct label *l = &state_of(q, i, first)->labels[at];
		bool fits;

		rc = straight_stage(q->s, i, first, l->count, &out[i], &fits);
		first += l->count;
		at = l->next;
	}
	return rc;
}

/* The stages that a cut comes to; out_fits: all of them fit. */
static int fit_counts(struct search *q, struct straight_stage *stages, bool *out_fits)
{
	int64_t first = 0;
	int rc = SB_OK;

	*out_fits = true;
	for (int64_t i = 0; i < q->stages && rc == SB_OK && *out_fits; i++) {
		int64_t count = stages[i].count;

		rc = straight_stage(q->s, i, first, count, &stages[i], out_fits);
		first += count;
	}
	return rc;
}

/* Where every layer keeps as little as can be, a search is quick. */
static int lightest_cut(struct search *q, struct straight_stage *out, struct sb_error *err)
{
	LIGHTEST_AUTO light = {0};
	STRAIGHT_AUTO s = NULL;
	struct pipeline_proof proof;
	int rc = lightest_open(straight_problem(q->s), &light);

	if (rc == SB_OK && light.simpler) {
		rc = straight_open(&light.p, &s, err);
		return rc == SB_OK ? straight_search(s, q->rule, out, &proof, err) : rc;
	}
	for (int64_t i = 0; i < q->stages; i++)
		out[i].count = q->layers / q->stages + (i < q->layers % q->stages);
	return rc;
}

/* A first plan: most labels are not below it. There may be none that is found at once. */
static int first_plan(struct search *q, struct straight_stage *out, struct pipeline_proof *proof,
                      struct sb_error *err)
{
	bool fits;
	int rc = q->rule->numbers > 1 ? straight_search(q->s, &straight_slowest, out, proof, err)
	                              : lightest_cut(q, out, err);

	if (rc == SB_OK)
		rc = fit_counts(q, out, &fits);
	if (rc == SB_OK && fits)
		q->value = value_of(q, out);
	return rc;
}

int straight_search(struct straight *s, const struct straight_rule *rule, struct straight_stage *out,
                    struct pipeline_proof *proof, struct sb_error *err)
{
	const struct pipeline_problem *p = straight_problem(s);
	__attribute__((cleanup(search_free))) struct search q = {.s = s,
	                                                         .rule = rule,
	                                                         .stages = p->shape.devices,
	                                                         .layers = straight_layers(s),
	                                                         .least = p->allow_empty ? 0 : 1,
	                                                         .value = INFINITY,
	                                                         .dropped = INFINITY,
	                                                         .best = -1};
	int rc = pipeline_check_layers(p, err);

	if (rc == SB_OK)
		rc = first_plan(&q, out, proof, err);
	if (rc == SB_OK)
		rc = search_open(&q, err);
	if (rc == SB_OK)
		rc = fill(&q);
	if (rc == SB_OK && q.best >= 0)
		rc = read_plan(&q, out);
	/* a way that was left out might have been quicker */
	if (rc == SB_OK && straight_thinned(s))
		q.dropped = fmin(q.dropped, bound_of_all(&q));
	if (rc == SB_ENOMEM)
		return sb_fail(err, rc, "no_memory", "out of memory");
	if (rc == SB_OK && isinf(q.value))
		return sb_fail(err, SB_EINFEASIBLE, "infeasible",
		               "no cut fits the memory of the devices, even with all recomputed");
	if (rc == SB_OK)
		*proof = (struct pipeline_proof){.objective = rule->objective,
		                                 .value = q.value,
		                                 .lower_bound = fmin(q.value, q.dropped),
		                                 .optimal = q.dropped >= q.value,
		                                 .candidates = q.candidates};
	return rc;
}

int straight_plan(const struct pipeline_problem *p, const struct straight_rule *rule,
                  struct pipeline_stage *out, struct pipeline_proof *proof, struct sb_error *err)
{
	STRAIGHT_AUTO s = NULL;
	struct straight_stage *stages = NULL;
	int rc = straight_open(p, &s, err);

	if (rc != SB_OK)
		return rc;
	stages = malloc((size_t)p->shape.devices * sizeof(*stages));
	if (!stages)
		return sb_no_memory(err);
	rc = straight_search(s, rule, stages, proof, err);
	if (rc == SB_OK && straight_write(s, stages, out) != SB_OK)
		rc = sb_no_memory(err);
	free(stages);
	return rc;
}
