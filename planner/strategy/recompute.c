#include <stdlib.h>
#include <string.h>

#include "planner/strategy/cost.h"

/* A stage whose layers to recompute are sought. */
struct fitting {
	const struct cost_problem *p;
	const struct memory_model *m;
	const struct strategy *s;
	int64_t micro_batches;
	struct memory_parts states; /* of its run */
};

static double bytes_with(const struct fitting *f, int64_t n, struct stage_run *stage)
{
	struct memory_parts parts;

	strategy_recompute_first(&f->p->model, f->s, n, stage);
	parts = stage_memory_beside(f->p, f->m, f->s, stage, f->micro_batches, &f->states);
	return memory_total(&parts);
}

/* A stage fits from some number of recomputed layers of each chunk on, or not at all: more of them store
 * less, and what one layer needs while it is replayed is needed from the first on. What does not fit either
 * way takes the leaner one; *out_fits says which it is. sure: it fits with `high` recomputed. */
static int64_t fewest_of(const struct fitting *f, int64_t high, bool sure, struct stage_run *stage,
                         bool *out_fits)
{
	double most = (double)(f->s->recompute_bytes > 0 ? f->s->recompute_bytes : f->p->memory_bytes);
	double none = bytes_with(f, 0, stage);
	int64_t low = 1;

	*out_fits = true;
	if (none <= most)
		return 0;
	if (!sure) {
		double all = bytes_with(f, high, stage);

		*out_fits = all <= most;
		if (all > most)
			return all < none ? high : 0;
	}
	while (low < high) {
		int64_t mid = low + (high - low) / 2;

		if (bytes_with(f, mid, stage) <= most)
			high = mid;
		else
			low = mid + 1;
	}
	return high;
}

static int64_t layers_of(const struct stage_run *run)
{
	int64_t layers = 0;

	for (int k = 0; k < LAYER_KINDS; k++)
		layers += run->layers[k];
	return layers;
}

/* The layers of the longest chunk. */
static int64_t longest_chunk(const struct model *m, const struct strategy *s, const struct stage_run *run)
{
	int64_t longest = 0;

	if (s->vpp == 1)
		return layers_of(run);
	if (!run->uneven)
		return run->chunk + (run->longer > 0);
	for (int64_t j = 0; j < s->vpp; j++) {
		int64_t n = strategy_slice_layers(s, m->layers, j * s->pp + run->first);

		longest = n > longest ? n : longest;
	}
	return longest;
}

static struct fitting fitting_of(const struct cost_problem *p, const struct memory_model *m,
                                 const struct strategy *s, int64_t micro_batches, const struct stage_run *run)
{
	return (struct fitting){p, m, s, micro_batches, stage_states(p, m, s, run)};
}

/* Layers of the stage. */
static int64_t fewest(const struct cost_problem *p, const struct memory_model *m, const struct strategy *s,
                      int64_t micro_batches, struct stage_run *stage)
{
	const struct fitting f = fitting_of(p, m, s, micro_batches, stage);
	int64_t kept = 0;
	bool fits;

	strategy_recompute_first(
	    &p->model, s, fewest_of(&f, longest_chunk(&p->model, s, stage), false, stage, &fits), stage);
	for (int k = 0; k < LAYER_KINDS; k++)
		kept += stage->kept[k];
	return layers_of(stage) - kept;
}

bool strategy_fit_first(const struct cost_problem *p, const struct memory_model *m, const struct strategy *s,
                        int64_t micro_batches, struct stage_run *first, double *out_bytes)
{
	const struct fitting f = fitting_of(p, m, s, micro_batches, first);
	bool fits;
	int64_t n = fewest_of(&f, longest_chunk(&p->model, s, first), false, first, &fits);

	*out_bytes = bytes_with(&f, n, first);
	return fits;
}

/* Equal stages hold fewer micro-batches the later they stand. The first that needs nothing stands for all
 * behind it; and where the layers are alike (else those that are recomputed first may be others), none needs
 * more than the one before it. */
int64_t strategy_fit_runs(const struct cost_problem *p, const struct memory_model *m,
                          const struct strategy *s, int64_t micro_batches, const struct stage_run *runs,
                          int64_t count, bool only_fitting, struct stage_run *out)
{
	int64_t written = 0;

	for (int64_t r = 0; r < count; r++) {
		const struct fitting f = fitting_of(p, m, s, micro_batches, &runs[r]);
		int64_t layers = layers_of(&runs[r]), most = longest_chunk(&p->model, s, &runs[r]);
		bool alike = stage_only_kind(&runs[r]) < LAYER_KINDS, sure = false;

		for (int64_t i = 0; i < runs[r].count; i++) {
			struct stage_run one = runs[r], *before = written > 0 ? &out[written - 1] : NULL;
			bool fits;
			int64_t n;

			one.first += i;
			one.start += i * layers;
			one.count = 1;
			n = fewest_of(&f, most, sure, &one, &fits);
			if (only_fitting && !fits)
				return 0;
			strategy_recompute_first(&p->model, s, n, &one);
			if (alike) {
				most = n;
				sure = fits;
			}
			if (n == 0)
				one.count = runs[r].count - i;
			if (i > 0 && memcmp(before->kept, one.kept, sizeof(one.kept)) == 0)
				before->count += one.count;
			else
				out[written++] = one;
			i += one.count - 1;
		}
	}
	return written;
}

int64_t strategy_costed_runs(const struct cost_problem *p, const struct memory_model *m,
                             const struct strategy *s, struct stage_run *out_runs)
{
	struct stage_run *whole = out_runs + s->pp;
	int64_t count = strategy_runs(&p->model, s, out_runs);

	if (!s->recompute_fit)
		return count;
	memcpy(whole, out_runs, (size_t)count * sizeof(*whole));
	return strategy_fit_runs(p, m, s, strategy_micro_batches(s, p->sequences), whole, count, false,
	                         out_runs);
}

int strategy_recomputed(const struct cost_problem *p, const struct strategy *s, int64_t *out,
                        struct sb_error *err)
{
	const struct memory_model m = memory_model_of(p, s);
	struct stage_run *runs = calloc((size_t)s->pp, sizeof(*runs)), one;
	int64_t count, at = 0;

	if (!runs)
		return sb_no_memory(err);
	count = strategy_runs(&p->model, s, runs);
	for (int64_t r = 0; r < count; r++) {
		for (int64_t i = 0; i < runs[r].count; i++, at++) {
			int64_t layers = layers_of(&runs[r]);

			one = runs[r];
			one.first += i;
			one.start += i * layers;
			one.count = 1;
			out[at] = s->recompute == RECOMPUTE_NONE ? 0
			          : s->stage_recompute           ? s->stage_recompute[at]
			          : s->recompute_fit
			              ? fewest(p, &m, s, strategy_micro_batches(s, p->sequences), &one)
			              : layers;
		}
	}
	free(runs);
	return SB_OK;
}
