#include "planner/pipeline/relax.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX (1 << 22)
/* Bytes for the ways of all runs of layers, where each run has its own. */
#define RUNS_MAX (128e6)

size_t relax_cell(const struct relaxation *r, int64_t stage, int64_t first, int64_t count)
{
	return ((size_t)stage * (size_t)(r->s->layers + 1) + (size_t)first) * (size_t)(r->most + 1) +
	       (size_t)count;
}

size_t relax_point(const struct relaxation *r, int64_t stage, int64_t layers)
{
	return (size_t)stage * (size_t)(r->s->layers + 1) + (size_t)layers;
}

struct relax_range relax_range(const struct relaxation *r, int64_t stage)
{
	int64_t layers = r->s->layers, after = r->s->stages - stage;

	if (stage == 0)
		return (struct relax_range){0, 0, r->s->p->allow_empty ? 0 : 1};
	if (r->s->p->allow_empty)
		return (struct relax_range){0, layers, 0};
	return (struct relax_range){stage, layers - after, 1};
}

size_t relax_hull(const struct relaxation *r, int64_t first, int64_t count)
{
	return (size_t)(r->s->p->body_count == 1 ? 0 : first) * (size_t)(r->most + 1) + (size_t)count;
}

void relax_free(struct relaxation *r)
{
	size_t hulls = r->s ? relax_hull(r, r->s->layers, r->most) + 1 : 0;

	for (size_t i = 0; r->hulls && i < hulls; i++) {
		free(r->hulls[i].backward);
		free(r->hulls[i].way);
	}
	for (int64_t i = 0; r->limits && i < r->s->stages; i++)
		stage_limit_free(&r->limits[i]);
	free(r->limits);
	free(r->hulls);
	free(r->forward);
	free(r->parameters);
	free(r->hop);
	free(r->least);
	free(r->value);
	free(r->struck);
	free(r->ahead);
	free(r->behind);
	free(r->from);
	free(r->memory_price);
	free(r->moment);
	free(r->activation_price);
	free(r->parameter_price);
	*r = (struct relaxation){0};
}

static bool left_turn(const struct cell_ways *w, size_t a, size_t b, size_t c)
{
	return (w->activation[b] - w->activation[a]) * (w->backward[c] - w->backward[a]) <
	       (w->activation[c] - w->activation[a]) * (w->backward[b] - w->backward[a]);
}

static int build_hull(const struct cell_ways *w, struct hull *out)
{
	struct hull h = {.backward = malloc(2 * w->count * sizeof(double)),
	                 .way = malloc(w->count * sizeof(*h.way))};

	if (!h.backward || !h.way) {
		free(h.backward);
		free(h.way);
		return SB_ENOMEM;
	}
	h.activation = h.backward + w->count;
	for (size_t i = 0; i < w->count; i++) {
		while (h.count >= 2 &&
		       !left_turn(w, (size_t)h.way[h.count - 2], (size_t)h.way[h.count - 1], i))
			h.count--;
		h.way[h.count++] = (int32_t)i;
	}
	for (int32_t i = 0; i < h.count; i++) {
		h.backward[i] = w->backward[h.way[i]];
		h.activation[i] = w->activation[h.way[i]];
	}
	*out = h;
	return SB_OK;
}

/* How often a device runs a stage. */
static double runs_of(const struct drafts *s)
{
	double m = (double)s->p->shape.micro_batches;

	return schedule_facts(s->p->shape.kind)->two_way ? m / 2 : m;
}

/* The most layers that keep a device no longer than the bound, wherever they stand. */
static int count_most(struct relaxation *r, double bound)
{
	struct drafts *s = r->s;
	double share = bound * (1 + PIPELINE_ROUNDING) / runs_of(s);
	int64_t end = 0;

	for (int64_t j = 0; j < s->layers; j++) {
		for (end = end > j ? end : j; end < s->layers; end++) {
			struct cell_ways w;
			int rc = cells_ways(s->cells, j, end + 1 - j, &w);
			double saved;

			if (rc != SB_OK)
				return rc;
			/* its forwards may save half of it, and its backwards the other half */
			saved = s->pairs ? fmax(0, s->saved[end + 1] - s->saved[j]) : 0;
			if (r->forward[end + 1] - r->forward[j] + w.backward[0] - saved > share)
				break;
		}
		r->most = end - j > r->most ? end - j : r->most;
	}
	return SB_OK;
}

/* The lightest and the heaviest parameters of so many layers in a row. */
static void bound_parameters(const struct relaxation *r, int64_t count, double *out_least, double *out_most)
{
	*out_least = INFINITY;
	*out_most = 0;
	for (int64_t j = 0; j + count <= r->s->layers; j++) {
		double parameters = r->parameters[j + count] - r->parameters[j];

		*out_least = fmin(*out_least, parameters);
		*out_most = fmax(*out_most, parameters);
	}
}

/* What each stage may keep of each number of layers, [stage * (most + 1) + layers]: at the least, and at the
 * most. Most cells need no closer look. */
static int bound_limits(struct relaxation *r, double **out_least, double **out_most)
{
	size_t stages = (size_t)r->s->stages, counts = (size_t)r->most + 1;
	double light, heavy;
	int rc = SB_OK;

	r->limits = calloc(stages, sizeof(*r->limits));
	*out_least = malloc(2 * stages * counts * sizeof(**out_least));
	if (!r->limits || !*out_least)
		return SB_ENOMEM;
	*out_most = *out_least + stages * counts;
	for (size_t i = 0; i < stages && rc == SB_OK; i++)
		rc = stage_limit_open(r->s, (int64_t)i, &r->limits[i]);
	for (size_t n = 0; n < counts && rc == SB_OK; n++) {
		bound_parameters(r, (int64_t)n, &light, &heavy);
		for (size_t i = 0; i < stages; i++) {
			(*out_least)[i * counts + n] = stage_limit(&r->limits[i], heavy);
			(*out_most)[i * counts + n] = stage_limit(&r->limits[i], light);
		}
	}
	return rc;
}

/* A run of layers in all stages that may begin with its first. */
static int fill_run(struct relaxation *r, const double *least, const double *most, int64_t first,
                    int64_t count)
{
	struct drafts *s = r->s;
	double parameters = r->parameters[first + count] - r->parameters[first];
	struct cell_ways w;
	int rc = cells_ways(s->cells, first, count, &w);

	if (rc != SB_OK)
		return rc;
	r->thinned = r->thinned || w.thinned;
	for (int64_t i = 0; i < s->stages; i++) {
		struct relax_range range = relax_range(r, i);
		size_t cell = relax_cell(r, i, first, count), bounds = (size_t)(i * (r->most + 1) + count);
		int64_t way = 0;

		if (first < range.low || first > range.high)
			continue;
		/* with one type of layers it is one for all */
		if (s->p->body_count == 1 && first > range.low) {
			r->least[cell] = r->least[relax_cell(r, i, range.low, count)];
			continue;
		}
		if (w.activation[w.count - 1] > most[bounds])
			way = -1;
		else if (w.activation[0] > least[bounds])
			way = cells_way_within(&w, stage_limit(&r->limits[i], parameters));
		/* a thinned list may be of sums of thinned lists: only its first and its last are known to be
		 * the best */
		if (w.thinned && way > 0)
			way = 0;
		r->least[cell] =
		    way < 0 ? INFINITY : w.backward[way] + s->devices[s->device[i]].end_backward[s->chunk[i]];
	}
	return r->single || r->hulls[relax_hull(r, first, count)].way
	           ? SB_OK
	           : build_hull(&w, &r->hulls[relax_hull(r, first, count)]);
}

static int fill_cells(struct relaxation *r)
{
	double *least = NULL, *most = NULL;
	int rc = bound_limits(r, &least, &most);

	for (int64_t j = 0; j <= r->s->layers; j++)
		for (int64_t n = r->s->p->allow_empty ? 0 : 1;
		     n <= r->most && j + n <= r->s->layers && rc == SB_OK; n++)
			rc = fill_run(r, least, most, j, n);
	free(least);
	return rc;
}

/* May the ways of every run be worked out? With one type of layers there is one run of each length. */
static int check_runs(const struct relaxation *r)
{
	const struct drafts *s = r->s;
	double bytes = 0;

	if (s->p->body_count == 1)
		return SB_OK;
	for (int64_t j = 0; j < s->layers; j += r->most) {
		int64_t count = s->layers - j < r->most ? s->layers - j : r->most;
		struct cell_ways w;
		int rc = cells_ways(s->cells, j, count, &w);

		if (rc != SB_OK)
			return rc;
		/* those that begin with the next layers, and the shorter ones, have about as many each */
		bytes += (double)w.count * 20 * (double)count * (double)count;
	}
	return bytes <= RUNS_MAX ? SB_OK : SB_ELIMIT;
}

static int make_room(struct relaxation *r)
{
	size_t stages = (size_t)r->s->stages, points = (stages + 1) * (size_t)(r->s->layers + 1);
	size_t cells = points * (size_t)(r->most + 1), moments = 0;

	if (cells > CELLS_MAX)
		return SB_ELIMIT;
	r->moment = calloc((size_t)r->s->device_count + 1, sizeof(*r->moment));
	if (!r->moment)
		return SB_ENOMEM;
	for (int64_t d = 0; d < r->s->device_count; d++) {
		moments += r->s->devices[d].peak_count;
		r->moment[d + 1] = moments;
	}
	r->hop = calloc(points, sizeof(*r->hop));
	r->least = malloc(cells * sizeof(*r->least));
	r->value = malloc(cells * sizeof(*r->value));
	r->struck = calloc(cells, sizeof(*r->struck));
	r->hulls = calloc(relax_hull(r, r->s->layers, r->most) + 1, sizeof(*r->hulls));
	r->ahead = malloc(points * sizeof(*r->ahead));
	r->behind = malloc(points * sizeof(*r->behind));
	r->from = calloc(points, sizeof(*r->from));
	r->memory_price = calloc(moments + 1, sizeof(*r->memory_price));
	r->activation_price = calloc(stages, sizeof(*r->activation_price));
	r->parameter_price = calloc(stages, sizeof(*r->parameter_price));
	return r->hop && r->least && r->value && r->struck && r->hulls && r->ahead && r->behind && r->from &&
	               r->memory_price && r->activation_price && r->parameter_price
	           ? SB_OK
	           : SB_ENOMEM;
}

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): the cleanup attribute frees them */
int relax_open(struct drafts *s, double bound, struct relaxation *out)
{
	RELAX_AUTO r = {.s = s, .single = s->p->shape.chunks == 1, .most = 1};
	size_t layers = (size_t)s->layers;
	int rc;

	r.forward = calloc(layers + 1, sizeof(*r.forward));
	r.parameters = calloc(layers + 1, sizeof(*r.parameters));
	if (!r.forward || !r.parameters)
		return SB_ENOMEM;
	for (size_t i = 0; i <= layers; i++) {
		r.forward[i] = cells_forward(s->cells, 0, (int64_t)i);
		r.parameters[i] = cells_parameters(s->cells, 0, (int64_t)i);
	}
	rc = count_most(&r, bound);
	if (rc == SB_OK)
		rc = check_runs(&r);
	if (rc == SB_OK)
		rc = make_room(&r);
	if (rc != SB_OK)
		return rc;
	for (int64_t i = 0; i + 1 < s->stages; i++)
		for (int64_t j = 0; j <= s->layers; j++)
			r.hop[relax_point(&r, i, j)] = pipeline_hop(s->p, i, j, s->layers - j);
	rc = fill_cells(&r);
	if (rc != SB_OK)
		return rc;
	*out = r;
	r = (struct relaxation){0};
	return SB_OK;
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */
