#include "planner/pipeline/makespan_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of all paths together. */
#define PRICES_MAX (1 << 20)
/* The game ends when it has taken so long: operations simulated, and cells. */
#define GAME_WORK 5e7

static size_t draft_size(const struct cuts *x)
{
	return (size_t)x->s->stages * sizeof(struct draft_stage);
}

void cuts_free(struct cuts *x)
{
	for (int i = 0; i < CUTS_KEPT; i++)
		free(x->kept[i]);
	free(x->paths);
	free(x->draft);
	free(x->try);
	free(x->price);
	free(x->mean);
	*x = (struct cuts){0};
}

int cuts_open(struct drafts *s, struct cuts *out)
{
	CUTS_AUTO x = {.s = s};
	size_t stages = (size_t)s->stages;
	bool ok;

	x.draft = malloc(draft_size(&x));
	x.try = malloc(draft_size(&x));
	x.price = calloc(stages, sizeof(*x.price));
	x.mean = malloc(draft_size(&x));
	x.path_room = PRICES_MAX / s->stages < 8 ? 8 : PRICES_MAX / s->stages;
	if (x.path_room > s->device_count + CUTS_PATHS)
		x.path_room = s->device_count + CUTS_PATHS;
	x.first_turn = x.path_room / 2 < s->device_count ? x.path_room / 2 : s->device_count;
	x.paths = calloc((size_t)x.path_room * stages, sizeof(*x.paths));
	ok = x.draft && x.try && x.mean && x.price && x.paths;
	for (int i = 0; i < CUTS_KEPT; i++)
		x.time[i] = INFINITY;
	for (int i = 0; i < CUTS_KEPT; i++)
		ok = (x.kept[i] = malloc(draft_size(&x))) && ok;
	if (!ok)
		return SB_ENOMEM;
	*out = x;
	x = (struct cuts){0};
	return SB_OK;
}

static bool same_cut(const struct cuts *x, const struct draft_stage *a, const struct draft_stage *b)
{
	for (int64_t i = 0; i < x->s->stages; i++)
		if (a[i].count != b[i].count)
			return false;
	return true;
}

void cuts_keep(struct cuts *x, const struct draft_stage *draft, double time)
{
	int at = 0, last = x->kept_count;
	struct draft_stage *room;

	while (at < x->kept_count && x->time[at] <= time && !same_cut(x, x->kept[at], draft))
		at++;
	if (at == CUTS_KEPT || (at < x->kept_count && x->time[at] <= time))
		return;
	/* in the place of the same cut, or of the slowest */
	for (int i = at; i < x->kept_count; i++)
		if (same_cut(x, x->kept[i], draft))
			last = i;
	if (last == x->kept_count && x->kept_count < CUTS_KEPT)
		x->kept_count++;
	else if (last == CUTS_KEPT)
		last--;
	room = x->kept[last];
	for (int i = last; i > at; i--) {
		x->kept[i] = x->kept[i - 1];
		x->time[i] = x->time[i - 1];
	}
	memcpy(room, draft, draft_size(x));
	x->kept[at] = room;
	x->time[at] = time;
}

void cuts_keep_path(struct cuts *x)
{
	draft_path(x->s, &x->paths[x->next_path * x->s->stages]);
	if (x->path_count <= x->next_path)
		x->path_count = x->next_path + 1;
	if (++x->next_path == x->path_room)
		x->next_path = x->first_turn;
}

const struct price *cuts_path(const struct cuts *x, int64_t age)
{
	int64_t at = x->next_path - age, first = x->first_turn;

	/* those of the devices are the oldest, however many turns there were */
	if (at < first && age <= x->path_count - first)
		at += x->path_count - first;
	else if (at < first)
		at = x->path_count - age;
	return &x->paths[at * x->s->stages];
}

bool cuts_is_slow(struct cuts *x, const struct draft_stage *draft, double bound)
{
	/* the newest first: it is of the draft that this one comes from */
	for (int64_t age = 1; age <= x->path_count; age++)
		if (draft_price(x->s, cuts_path(x, age), draft) >= bound)
			return true;
	return false;
}

/* Moves the mean towards a path. */
static void mix(const struct cuts *x, struct price *mean, const struct price *path, double share)
{
	for (int64_t i = 0; i < x->s->stages; i++) {
		mean[i].forward += share * (path[i].forward - mean[i].forward);
		mean[i].backward += share * (path[i].backward - mean[i].backward);
		mean[i].weight += share * (path[i].weight - mean[i].weight);
		mean[i].saved += share * (path[i].saved - mean[i].saved);
		mean[i].send += share * (path[i].send - mean[i].send);
	}
}

/* Makes the draft fit, and keeps it. */
static int keep_fitting(struct cuts *x, struct draft_stage *draft, const struct price *price)
{
	bool fits = true;
	int rc = SB_OK;
	double time;

	for (int64_t d = 0; d < x->s->device_count && fits && rc == SB_OK; d++)
		rc = draft_fit(x->s, draft, d, price, &fits);
	if (rc != SB_OK || !fits)
		return rc;
	time = draft_time(x->s, draft, x->kept_count == CUTS_KEPT ? x->time[CUTS_KEPT - 1] : INFINITY);
	if (isfinite(time))
		cuts_keep(x, draft, time);
	return SB_OK;
}

/* As many layers a stage: what is over is spread out, or goes to the first stages, or to the last. */
static int spread(struct cuts *x, int way, struct draft_stage *out)
{
	int64_t layers = x->s->layers, stages = x->s->stages, each = layers / stages, over = layers % stages;
	int64_t first = 0;
	int rc = SB_OK;

	for (int64_t i = 0; i < stages && rc == SB_OK; i++) {
		int64_t count = way == 0   ? (i + 1) * layers / stages - first
		                : way == 1 ? each + (i < over)
		                           : each + (i >= stages - over);

		rc = draft_set(x->s, i, first, count, 0, &out[i]);
		first += count;
	}
	return rc;
}

int cuts_even(struct cuts *x)
{
	/* with fewer layers some stages would be empty */
	bool can = x->s->p->allow_empty || x->s->layers >= x->s->stages;
	int rc = SB_OK;

	for (int way = 0; way < 3 && can && rc == SB_OK; way++) {
		rc = spread(x, way, x->draft);
		if (rc == SB_OK)
			rc = keep_fitting(x, x->draft, x->price);
	}
	return rc;
}

#define SLOWER 16

int cuts_begin(struct cuts *x)
{
	int rc = x->kept_count > 0 ? SB_OK : spread(x, 0, x->mean);
	double runs = GAME_WORK / (double)x->s->program.first[x->s->p->shape.devices] / 4;

	if (x->kept_count > 0)
		memcpy(x->mean, x->kept[0], draft_size(x));
	if ((double)x->first_turn > fmax(runs, 1))
		x->first_turn = (int64_t)fmax(runs, 1);
	for (int64_t i = 0; i < x->first_turn && rc == SB_OK; i++) {
		const struct device *device = &x->s->devices[i * x->s->device_count / x->first_turn];

		memcpy(x->draft, x->mean, draft_size(x));
		/* whatever it does comes one after the other when it is by far the slowest */
		for (int64_t k = 0; k < device->chunks; k++) {
			struct draft_stage *stage = &x->draft[device->stage[k]];

			stage->forward *= SLOWER;
			stage->backward *= SLOWER;
			stage->weight *= SLOWER;
		}
		(void)draft_time(x->s, x->draft, INFINITY);
		cuts_keep_path(x);
		mix(x, x->price, cuts_path(x, 1), 1.0 / (double)(i + 1));
		rc = sb_watch_rc(x->s->p->watch);
	}
	return rc;
}

/* Moves the mean towards a draft. */
static void mix_draft(const struct cuts *x, struct draft_stage *mean, const struct draft_stage *draft,
                      double share)
{
	for (int64_t i = 0; i < x->s->stages; i++) {
		mean[i].forward += share * (draft[i].forward - mean[i].forward);
		mean[i].backward += share * (draft[i].backward - mean[i].backward);
		mean[i].weight += share * (draft[i].weight - mean[i].weight);
		mean[i].saved += share * (draft[i].saved - mean[i].saved);
		mean[i].send += share * (draft[i].send - mean[i].send);
	}
}

/* One turn: the cheapest cut by the mean of paths so far; then the longest path of the mean of cuts so far.
 */
static int take_turn(struct cuts *x, int turn, double least)
{
	double share = 2.0 / (double)(turn + 10);
	struct relaxation *r = x->relaxed;
	int rc = relax_draft(r, x->price, x->draft);

	if (rc != SB_OK)
		return rc;
	if (turn == 0)
		memcpy(x->mean, x->kept_count > 0 ? x->kept[0] : x->draft, draft_size(x));
	mix_draft(x, x->mean, x->draft, share);
	if (!r->single)
		relax_turn_memory(r, x->draft, isfinite(x->time[0]) ? fmax(x->time[0] - least, 0) : least);
	rc = keep_fitting(x, x->draft, x->price);
	(void)draft_time(x->s, x->mean, INFINITY);
	cuts_keep_path(x);
	mix(x, x->price, cuts_path(x, 1), share);
	return rc;
}

int cuts_by_price(struct cuts *x, int turns, double beat)
{
	int rc = SB_OK;

	double limit = x->s->work + GAME_WORK;

	for (int t = 0; t < turns && x->s->work < limit && rc == SB_OK; t++) {
		double least = relax_price(x->relaxed, x->price);

		x->s->work += 4 * (double)relax_cell(x->relaxed, x->s->stages, 0, 0);
		if (least > x->bound)
			x->bound = fmin(least, x->time[0]);
		if (isinf(least) || x->bound >= fmin(beat, x->time[0]) * (1 - PIPELINE_ROUNDING))
			break;
		rc = take_turn(x, t, least);
		if (rc == SB_OK)
			rc = sb_watch_rc(x->s->p->watch);
	}
	return rc;
}
