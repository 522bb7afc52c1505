#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "planner/pipeline/makespan_search.h"

#define BISECTIONS 8
#define ROUNDS 3
#define WAYS_BEHIND (1 << 20) /* doubles */

/* Strikes by one path; true: no cut remains. */
static bool strike(struct cuts *x, const struct price *path, double bound, double *work)
{
	/* three walks over all cells */
	*work -= 3 * (double)relax_cell(x->relaxed, x->s->stages, 0, 0);
	if (sb_stopped(x->s->p->watch))
		*work = 0;
	return relax_strike(x->relaxed, path, bound);
}

/* Does no cut remain when all cells are struck that no draft quicker than the bound has? */
static bool rules_out(struct cuts *x, double bound, double *work)
{
	size_t cells = relax_cell(x->relaxed, x->s->stages, 0, 0), before, after = 0;
	int64_t paths = x->path_count;

	for (int round = 0; round<ROUNDS && * work> 0; round++) {
		before = after;
		if (strike(x, x->price, bound, work))
			return true;
		for (int64_t age = paths; age > 0 && *work > 0; age--)
			if (strike(x, cuts_path(x, age), bound, work))
				return true;
		after = 0;
		for (size_t i = 0; i < cells; i++)
			after += x->relaxed->struck[i];
		if (after == before)
			break;
	}
	return false;
}

void cuts_bound(struct cuts *x, double work)
{
	size_t cells = relax_cell(x->relaxed, x->s->stages, 0, 0);
	double low = x->bound, high = x->time[0];

	if (rules_out(x, high, &work)) {
		x->bound = high;
		return;
	}
	for (int i = 0; i < BISECTIONS && low < high * (1 - PIPELINE_ROUNDING) && work > 0; i++) {
		double bound = low + (high - low) / 2;

		memset(x->relaxed->struck, 0, cells);
		if (rules_out(x, bound, &work))
			low = bound;
		else
			high = bound;
	}
	x->bound = fmax(x->bound, low);
	memset(x->relaxed->struck, 0, cells);
	work = 3 * (double)(x->path_count + 1) * (double)cells;
	(void)rules_out(x, x->time[0], &work);
}

/* All drafts that nothing rules out, stage by stage. */
struct deep {
	struct cuts *x;
	struct draft_stage *draft;
	const struct price **path;
	double **behind; /* of each path: the least from a point on */
	double *ahead;   /* [stage * paths + path]: of the stages so far */
	int64_t paths;
	double work; /* that is left */
};

/* Can a draft with these first stages still be quicker than the best? */
static bool may_be_best(struct deep *d, int64_t stage)
{
	const struct draft_stage *y = &d->draft[stage];
	double most = d->x->time[0] * (1 - PIPELINE_ROUNDING);
	size_t to = relax_point(d->x->relaxed, stage + 1, y->first + y->count);

	d->work -= (double)d->paths;
	for (int64_t i = 0; i < d->paths; i++) {
		const struct price *w = &d->path[i][stage];
		double sum = d->ahead[stage * d->paths + i] + w->forward * y->forward +
		             w->backward * (y->backward - y->weight) + w->weight * y->weight -
		             w->saved * y->saved + w->send * y->send;

		if (sum + d->behind[i][to] >= most)
			return false;
		d->ahead[(stage + 1) * d->paths + i] = sum;
	}
	return true;
}

static bool is_last_of_device(const struct drafts *s, int64_t stage)
{
	const struct device *d = &s->devices[s->device[stage]];

	for (int64_t k = 0; k < d->chunks; k++)
		if (d->stage[k] > stage)
			return false;
	return true;
}

/* NOLINTBEGIN(misc-no-recursion): each level is a stage */
static int go_on(struct deep *d, int64_t stage);

static int try_run(struct deep *d, int64_t stage, int64_t first, int64_t count)
{
	struct drafts *s = d->x->s;
	struct cell_ways w;
	int rc = cells_ways(s->cells, first, count, &w);
	double parameters = cells_parameters(s->cells, first, count), limit;
	int64_t way, last;

	if (rc != SB_OK)
		return rc;
	limit = draft_limit(s, d->draft, stage, parameters);
	d->work -= 8 + (double)s->p->shape.chunks * (double)s->devices[s->device[stage]].peak_count;
	way = cells_way_within(&w, limit);
	/* what recomputes more than it must only helps the later chunks of the device */
	last = way >= 0 && is_last_of_device(s, stage) ? way : (int64_t)w.count - 1;
	for (; way >= 0 && way <= last && rc == SB_OK && d->work > 0; way++) {
		rc = draft_set(s, stage, first, count, way, &d->draft[stage]);
		if (rc == SB_OK && may_be_best(d, stage))
			rc = go_on(d, stage + 1);
	}
	return rc;
}

static int go_on(struct deep *d, int64_t stage)
{
	struct cuts *x = d->x;
	struct drafts *s = x->s;
	int64_t first = stage == 0 ? 0 : d->draft[stage - 1].first + d->draft[stage - 1].count;
	int64_t least = s->p->allow_empty ? 0 : 1, most = s->layers - first;
	int rc = SB_OK;

	if (stage == s->stages) {
		double time = draft_time(s, d->draft, x->time[0]);

		d->work -= (double)s->program.first[s->p->shape.devices];
		if (time < x->time[0])
			cuts_keep(x, d->draft, time);
		return SB_OK;
	}
	if (stage == s->stages - 1)
		least = most;
	for (int64_t n = least; n <= most && n <= x->relaxed->most && rc == SB_OK && d->work > 0; n++) {
		size_t cell = relax_cell(x->relaxed, stage, first, n);

		if (!x->relaxed->struck[cell] && isfinite(x->relaxed->least[cell]))
			rc = try_run(d, stage, first, n);
	}
	return rc;
}
/* NOLINTEND(misc-no-recursion) */

static void deep_free(struct deep *d)
{
	for (int64_t i = 0; d->behind && i < d->paths; i++)
		free(d->behind[i]);
	free(d->behind);
	free(d->path);
	free(d->ahead);
	free(d->draft);
}

static int deep_open(struct deep *d)
{
	struct cuts *x = d->x;
	size_t points = relax_point(x->relaxed, x->s->stages, x->s->layers) + 1;
	size_t stages = (size_t)x->s->stages, paths = WAYS_BEHIND / points + 1;

	paths = paths < (size_t)x->path_count ? paths : (size_t)x->path_count;
	d->paths = (int64_t)paths;
	d->path = calloc(paths, sizeof(void *));
	d->behind = calloc(paths, sizeof(void *));
	d->ahead = calloc((stages + 1) * paths, sizeof(*d->ahead));
	d->draft = malloc(stages * sizeof(*d->draft));
	if (!d->path || !d->behind || !d->ahead || !d->draft)
		return SB_ENOMEM;
	for (size_t i = 0; i < paths; i++) {
		/* the one of the game's end is a mean of many */
		d->path[i] = i == 0 ? x->price : cuts_path(x, (int64_t)i);
		d->behind[i] = malloc(points * sizeof(**d->behind));
		if (!d->behind[i])
			return SB_ENOMEM;
		relax_behind(x->relaxed, d->path[i]);
		memcpy(d->behind[i], x->relaxed->behind, points * sizeof(**d->behind));
	}
	return SB_OK;
}

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): the cleanup attribute frees them */
int cuts_all(struct cuts *x, double work)
{
	__attribute__((cleanup(deep_free))) struct deep d = {.x = x, .work = work};
	int rc = deep_open(&d);

	if (rc == SB_OK)
		rc = go_on(&d, 0);
	if (rc == SB_OK && d.work > 0 && !x->relaxed->thinned)
		x->bound = x->time[0];
	return rc;
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */
