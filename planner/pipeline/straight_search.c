#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "planner/pipeline/straight.h"

/* Labels that differ by rounding alone are the same: sums over many stages, in other orders. */
#define SAME 1e-12
/* Of one state; the sets of 96 layers on 16 stages with five kinds of recomputing stay far below. */
#define LABELS_MAX 1024
#define STATES_MAX (1 << 22)

struct label {
	double number[STRAIGHT_NUMBERS];
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

static int keep(struct search *q, struct state *t, const struct label *l, double bound)
{
	size_t kept = 0;
	int rc;

	for (size_t i = 0; i < t->count; i++)
		if (!covers(q, l->number, t->labels[i].number))
			t->labels[kept++] = t->labels[i];
	t->count = kept;
	if (kept == LABELS_MAX) {
		q->dropped = fmin(q->dropped, bound);
		return SB_OK;
	}
	rc = sb_grow(&t->labels, t->count, sizeof(*t->labels));
	if (rc == SB_OK)
		t->labels[t->count++] = *l;
	return rc;
}

/* Puts a stage in front of all that is behind it. */
static int put_in_front(struct search *q, int64_t stage, const struct straight_stage *x)
{
	struct state *t = state_of(q, stage, x->first);
	const struct state *behind = state_of(q, stage + 1, x->first + x->count);
	int rc = SB_OK;

	for (size_t i = 0; i < behind->count && rc == SB_OK; i++) {
		struct label l = {.count = (int32_t)x->count, .next = (int32_t)i};
		double bound;

		q->rule->extend(q->s, stage, x, behind->labels[i].number, l.number);
		q->candidates++;
		bound = stage > 0 ? q->rule->bound(q->s, l.number, q->work[x->first], stage)
		                  : q->rule->value(q->s, l.number);
		if (is_worse(q, bound) || is_covered(q, t, l.number))
			continue;
		if (stage == 0) {
			/* the last one that is kept is the best: one that is not below was left out */
			q->value = bound;
			q->best = 0;
			t->count = 0;
		}
		rc = keep(q, t, &l, bound);
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

static int fill_state(struct search *q, int64_t stage, int64_t first)
{
	int64_t most = q->layers - first - q->least * (q->stages - 1 - stage);
	int64_t count = stage == q->stages - 1 ? most : q->least;

	for (; count <= most; count++) {
		struct straight_stage x;
		bool fits;
		int rc;

		if (state_of(q, stage + 1, first + count)->count == 0)
			continue;
		rc = straight_stage(q->s, stage, first, count, &x, &fits);
		if (rc == SB_OK && (!fits || is_enough(q, stage, x)))
			return SB_OK;
		if (rc == SB_OK)
			rc = put_in_front(q, stage, &x);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

static int fill(struct search *q)
{
	int rc = sb_grow(&state_of(q, q->stages, q->layers)->labels, 0, sizeof(struct label));

	if (rc != SB_OK)
		return rc;
	state_of(q, q->stages, q->layers)->labels[0] = (struct label){{0}, 0, 0};
	state_of(q, q->stages, q->layers)->count = 1;
	for (int64_t stage = q->stages - 1; stage >= 0 && rc == SB_OK; stage--) {
		int64_t last = stage == 0 ? 0 : q->layers - q->least * (q->stages - stage);

		for (int64_t first = q->least * stage; first <= last && rc == SB_OK; first++)
			rc = fill_state(q, stage, first);
	}
	return rc;
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

int straight_search(struct straight *s, const struct straight_rule *rule, struct straight_stage *out,
                    struct pipeline_proof *proof, struct sb_error *err)
{
	__attribute__((cleanup(search_free))) struct search q = {.s = s,
	                                                         .rule = rule,
	                                                         .stages = straight_problem(s)->shape.devices,
	                                                         .layers = straight_layers(s),
	                                                         .least =
	                                                             straight_problem(s)->allow_empty ? 0 : 1,
	                                                         .value = INFINITY,
	                                                         .dropped = INFINITY,
	                                                         .best = -1};
	int rc = pipeline_check_layers(straight_problem(s), err);

	/* a first plan, that most labels are not below of */
	if (rc == SB_OK && rule->numbers > 1)
		rc = straight_search(s, &straight_slowest, out, proof, err);
	if (rc != SB_OK)
		return rc;
	if (rule->numbers > 1)
		q.value = value_of(&q, out);
	rc = search_open(&q, err);
	if (rc == SB_OK)
		rc = fill(&q);
	if (rc == SB_OK && q.best >= 0)
		rc = read_plan(&q, out);
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
		return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	rc = straight_search(s, rule, stages, proof, err);
	if (rc == SB_OK && straight_write(s, stages, out) != SB_OK)
		rc = sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	free(stages);
	return rc;
}
