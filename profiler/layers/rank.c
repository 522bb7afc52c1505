#include "profiler/layers/rank.h"

#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"

struct measurer {
	const struct capture *c;
	const struct layer_ops *o;
	const struct layer_cut *cut;
	const double *seconds;
	const struct memory_series *memory; /* NULL = none */
	struct rank_layers *out;
};

struct vote {
	uint64_t signature;
	size_t pass, passes;
};

static int by_signature(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;

	if (x->signature != y->signature)
		return x->signature < y->signature ? -1 : 1;
	return (x->pass > y->pass) - (x->pass < y->pass);
}

static const struct layer_range *last_range(const struct layer_cut *cut, const struct layer_pass *p)
{
	return &cut->ranges[p->range_first + p->range_count - 1];
}

/* Does a backward go through the layers of a forward? Either may see one more at its end, not quite like the
 * others, where the other pass begins and sees none. */
static bool fits(const struct layer_cut *cut, const struct layer_pass *forward,
                 const struct layer_pass *backward)
{
	size_t f = forward->range_count, b = backward->range_count;

	return f == b || (b == f + 1 && last_range(cut, backward)->rounded) ||
	       (f == b + 1 && last_range(cut, forward)->rounded);
}

/* The pass that most of one phase are like, the first of them; of those that fit a forward where one is
 * given. NULL = none. */
static int choose_pass(const struct layer_cut *cut, enum layer_phase phase, const struct layer_pass *forward,
                       const struct layer_pass **out)
{
	struct vote *votes = malloc((cut->pass_count + 1) * sizeof(*votes)), best = {0};
	size_t n = 0;

	*out = NULL;
	if (!votes)
		return SB_ENOMEM;
	for (size_t i = 0; i < cut->pass_count; i++)
		if (cut->passes[i].phase == phase && (!forward || fits(cut, forward, &cut->passes[i])))
			votes[n++] = (struct vote){cut->passes[i].signature, i, 0};
	if (n > 0)
		qsort(votes, n, sizeof(*votes), by_signature);
	for (size_t from = 0, to = 0; from < n; from = to) {
		while (to < n && votes[to].signature == votes[from].signature)
			to++;
		if (to - from > best.passes || (to - from == best.passes && votes[from].pass < best.pass))
			best = (struct vote){votes[from].signature, votes[from].pass, to - from};
	}
	free(votes);
	if (best.passes > 0)
		*out = &cut->passes[best.pass];
	return SB_OK;
}

static int64_t computing(const struct measurer *m, const struct layer_range *r)
{
	int64_t n = 0;

	for (size_t i = r->first; i < r->end; i++)
		n += m->o->items[i].kind == LAYER_COMPUTE;
	return n;
}

static int name_of(const struct measurer *m, const struct layer_range *r, struct sb_strings *texts,
                   uint32_t *out)
{
	size_t len;
	const char *text = sb_strings_get(m->o->texts, r->class, &len);

	*out = 0;
	return r->class ? sb_strings_add(texts, text, len, out) : SB_OK;
}

/* Neighbours of one type are one row. */
static int make_rows(struct measurer *m, const struct layer_pass *p, struct sb_strings *texts)
{
	struct rank_layers *out = m->out;
	int rc = SB_OK;

	out->signature = TOKEN_START;
	out->layers = p->range_count;
	for (size_t i = 0; i < p->range_count && rc == SB_OK; i++) {
		const struct layer_range *r = &m->cut->ranges[p->range_first + i];
		struct rank_row *last = out->count > 0 ? &out->rows[out->count - 1] : NULL;

		out->signature = token_of(out->signature, &r->type, sizeof(r->type));
		if (last && last->type == r->type) {
			last->count++;
			continue;
		}
		rc = sb_grow(&out->rows, out->count, sizeof(*out->rows));
		if (rc != SB_OK)
			break;
		out->rows[out->count++] = (struct rank_row){.type = r->type,
		                                            .count = 1,
		                                            .each = 1,
		                                            .operators = computing(m, r),
		                                            .repeats = r->repeats};
		rc = name_of(m, r, texts, &out->rows[out->count - 1].name);
		if (rc == SB_OK && r->repeats && r->class == 0)
			rc = layers_alternating(m->o->items, r, &out->rows[out->count - 1].each);
	}
	return rc;
}

/* ---- what they take ---- */

/* Bytes allocated at a time of the host; NaN before the first record. */
static double allocated_at(const struct memory_series *s, int64_t time)
{
	size_t at = SB_BISECT(i, 0, s->count, s->points[i].time_ns <= time);

	return at > 0 && s->points[at - 1].allocated != SB_NULL ? (double)s->points[at - 1].allocated : NAN;
}

/* What is allocated when the next layer begins and was not when this one did: forward leaves it for backward.
 */
static double kept_by(const struct measurer *m, const struct layer_range *r)
{
	if (!m->memory || !m->o->launches || r->end >= m->o->count)
		return NAN;
	return allocated_at(m->memory, m->o->items[r->end].issued) -
	       allocated_at(m->memory, m->o->items[r->first].issued);
}

static int measure_forward(struct measurer *m, const struct layer_pass *p)
{
	struct rank_layers *out = m->out;
	const struct layer_range *r = &m->cut->ranges[p->range_first];
	size_t row = 0;
	int64_t in_row = 0;
	int rc = SB_OK;

	for (size_t i = 0; i < p->range_count && rc == SB_OK; i++) {
		rc = samples_add(&out->rows[row].forward, layer_sum(m->seconds, r[i].first, r[i].end));
		if (rc == SB_OK)
			rc = samples_add(&out->rows[row].activation, kept_by(m, &r[i]));
		if (++in_row == out->rows[row].count) {
			in_row = 0;
			row++;
		}
	}
	if (rc == SB_OK && !p->open_before)
		rc = samples_add(&out->head_forward, layer_sum(m->seconds, p->first, r[0].first));
	if (rc == SB_OK && !p->open_behind)
		rc =
		    samples_add(&out->tail_forward, layer_sum(m->seconds, r[p->range_count - 1].end, p->end));
	out->open |= p->open_before || p->open_behind;
	return rc;
}

/* Backward goes through the layers from the last to the first. */
static int measure_backward(struct measurer *m, const struct layer_pass *p)
{
	struct rank_layers *out = m->out;
	const struct layer_range *r = &m->cut->ranges[p->range_first];
	size_t row = out->count - 1, n = p->range_count;
	int64_t left = out->rows[row].count;
	int rc = SB_OK;

	/* the last layer of forward, or the last of backward, that the other one does not see */
	if (n < out->layers)
		left--;
	n = n > out->layers ? out->layers : n;
	for (size_t i = 0; i < n && rc == SB_OK; i++, left--) {
		if (left == 0)
			left = out->rows[--row].count;
		rc = samples_add(&out->rows[row].backward, layer_sum(m->seconds, r[i].first, r[i].end));
	}
	if (rc == SB_OK && !p->open_before)
		rc = samples_add(&out->tail_backward, layer_sum(m->seconds, p->first, r[0].first));
	if (rc == SB_OK && !p->open_behind)
		rc = samples_add(&out->head_backward, layer_sum(m->seconds, r[n - 1].end, p->end));
	out->open |= p->open_before || p->open_behind;
	return rc;
}

static int count_micro_batches(struct measurer *m, uint64_t signature)
{
	const struct layer_cut *cut = m->cut;
	int rc = SB_OK;

	for (size_t from = 0, to = 0; from < cut->pass_count && rc == SB_OK; from = to) {
		double n = 0;

		for (; to < cut->pass_count && cut->passes[to].step == cut->passes[from].step; to++)
			n += cut->passes[to].phase == PHASE_FORWARD && cut->passes[to].signature == signature;
		if (n > 0)
			rc = samples_add(&m->out->micro_batches, n);
	}
	return rc;
}

static int measure(struct measurer *m, const struct layer_pass *forward, const struct layer_pass *backward)
{
	int rc = count_micro_batches(m, forward->signature);

	for (size_t i = 0; i < m->cut->pass_count && rc == SB_OK; i++) {
		const struct layer_pass *p = &m->cut->passes[i];

		if (p->phase == PHASE_FORWARD && p->signature == forward->signature)
			rc = measure_forward(m, p);
		else if (backward && p->phase == PHASE_BACKWARD && p->signature == backward->signature)
			rc = measure_backward(m, p);
	}
	return rc;
}

/* The memory of the framework on the device, the series with most records. */
static const struct memory_series *memory_of(const struct capture *c)
{
	const struct memory_series *best = NULL;

	for (size_t i = 0; i < c->memory_count; i++) {
		const struct memory_series *s = &c->memories[i];

		if (s->device != MEMORY_HOST && s->count > (best ? best->count : 0))
			best = s;
	}
	return best;
}

/* Have more than a tenth of the forward passes other layers? Fewer are taken for what they are not, such as
 * the optimizer's repetitions. */
static bool passes_differ(const struct layer_cut *cut, uint64_t signature)
{
	size_t all = 0, same = 0;

	for (size_t i = 0; i < cut->pass_count; i++) {
		all += cut->passes[i].phase == PHASE_FORWARD;
		same += cut->passes[i].phase == PHASE_FORWARD && cut->passes[i].signature == signature;
	}
	return 10 * (all - same) > all;
}

static int summarise(struct measurer *m, struct sb_strings *texts)
{
	const struct layer_pass *forward, *backward = NULL, *any = NULL;
	int rc = choose_pass(m->cut, PHASE_FORWARD, NULL, &forward);

	if (rc != SB_OK || !forward)
		return rc;
	rc = choose_pass(m->cut, PHASE_BACKWARD, forward, &backward);
	if (rc == SB_OK)
		rc = choose_pass(m->cut, PHASE_BACKWARD, NULL, &any);
	if (rc != SB_OK)
		return rc;
	m->out->no_backward = !any;
	m->out->unmatched = any && !backward;
	m->out->named = m->cut->named;
	/* without a backward nothing is kept for it */
	m->memory = any ? memory_of(m->c) : NULL;
	m->out->differ = passes_differ(m->cut, forward->signature);
	rc = make_rows(m, forward, texts);
	if (rc == SB_OK && m->out->exchanges)
		rc = layer_chunks_find(m->o, m->seconds, m->cut, forward->signature, &m->out->chunks);
	return rc == SB_OK ? measure(m, forward, backward) : rc;
}

int rank_layers_find(const struct profile *p, uint32_t capture, struct sb_strings *texts,
                     struct rank_layers *out)
{
	LAYER_OPS_AUTO o = {0};
	LAYER_CUT_AUTO cut = {0};
	double *seconds = NULL;
	struct measurer m = {.c = &p->captures[capture], .o = &o, .cut = &cut, .out = out};
	int rc = layer_ops_collect(p, capture, &o);

	*out = (struct rank_layers){
	    .chunks = 1, .stage = m.c->stage, .ranks = 1, .first_rank = m.c->rank, .signature = TOKEN_START};
	if (rc == SB_OK)
		rc = layer_op_seconds(&o, &seconds);
	if (rc == SB_OK)
		rc = layer_cut_find(&o, seconds, &cut);
	m.seconds = seconds;
	for (size_t i = 0; i < o.count; i++)
		out->exchanges |= o.items[i].kind == LAYER_EXCHANGE;
	if (rc == SB_OK)
		rc = summarise(&m, texts);
	free(seconds);
	return rc;
}

int rank_layers_join(struct rank_layers *to, struct rank_layers *from)
{
	int rc = SB_OK;

	for (size_t i = 0; i < to->count; i++) {
		samples_join(&to->rows[i].forward, &from->rows[i].forward, &rc);
		samples_join(&to->rows[i].backward, &from->rows[i].backward, &rc);
		samples_join(&to->rows[i].activation, &from->rows[i].activation, &rc);
	}
	samples_join(&to->head_forward, &from->head_forward, &rc);
	samples_join(&to->head_backward, &from->head_backward, &rc);
	samples_join(&to->tail_forward, &from->tail_forward, &rc);
	samples_join(&to->tail_backward, &from->tail_backward, &rc);
	samples_join(&to->micro_batches, &from->micro_batches, &rc);
	to->ranks += from->ranks;
	to->unmatched |= from->unmatched;
	to->no_backward |= from->no_backward;
	to->open |= from->open;
	to->differ |= from->differ;
	to->chunks = from->chunks > to->chunks ? from->chunks : to->chunks;
	rank_layers_free(from);
	return rc;
}

void rank_layers_free(struct rank_layers *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->rows[i].forward.items);
		free(r->rows[i].backward.items);
		free(r->rows[i].activation.items);
	}
	free(r->rows);
	free(r->head_forward.items);
	free(r->head_backward.items);
	free(r->tail_forward.items);
	free(r->tail_backward.items);
	free(r->micro_batches.items);
	*r = (struct rank_layers){0};
}
