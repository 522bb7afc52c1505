#include <stdlib.h>

#include "base/search.h"
#include "profiler/critical_path_parts.h"

/* A communication among the works of all captures. */
struct place {
	int64_t start;
	uint32_t capture, works, at;
	uint32_t item; /* of the collectives; NO_WORK = matched with no other */
};

/* The walk across the ranks. */
struct walk {
	const struct collectives *c;
	const struct path_works *works;
	const struct path_host *hosts;
	struct place *places; /* by capture, start, works, at */
	size_t place_count;
	uint32_t *place_of; /* of each collective, NO_WORK = among no works */
	bool *visited;      /* sets that the path went through: once is enough, and cannot go in circles */
};

static void walk_free(struct walk *w)
{
	free(w->places);
	free(w->place_of);
	free(w->visited);
}

static int by_capture_and_start(const struct place *x, uint32_t capture, int64_t start)
{
	const int64_t left[] = {x->capture, x->start}, right[] = {capture, start};

	return sb_compare(left, right, 2);
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const int64_t left[] = {x->capture, x->start, x->works, x->at};
	const int64_t right[] = {y->capture, y->start, y->works, y->at};

	return sb_compare(left, right, 4);
}

static int find_places(struct walk *w, size_t work_count)
{
	size_t n = 0;

	for (size_t i = 0; i < work_count; i++)
		for (size_t k = 0; k < w->works[i].count; k++)
			n += w->works[i].items[k].part == PATH_COMMUNICATION;
	w->places = malloc((n + 1) * sizeof(*w->places));
	if (!w->places)
		return SB_ENOMEM;
	for (size_t i = 0; i < work_count; i++) {
		const struct path_works *x = &w->works[i];

		for (size_t k = 0; k < x->count; k++)
			if (x->items[k].part == PATH_COMMUNICATION)
				w->places[w->place_count++] = (struct place){
				    x->items[k].start, x->capture, (uint32_t)i, (uint32_t)k, NO_WORK};
	}
	qsort(w->places, w->place_count, sizeof(*w->places), by_place);
	return SB_OK;
}

/* The place of a collective: what starts with it on its capture and device. */
static uint32_t place_of(const struct walk *w, const struct collective *x)
{
	const struct collective_member *m = &w->c->members[x->member];
	int64_t start = interval_bound(x->start_ns);
	size_t at =
	    SB_BISECT(i, 0, w->place_count, by_capture_and_start(&w->places[i], m->capture, start) < 0);

	for (; at < w->place_count && by_capture_and_start(&w->places[at], m->capture, start) == 0; at++) {
		int64_t device = w->works[w->places[at].works].device;

		if (w->places[at].item == NO_WORK &&
		    (m->device < 0 || device == SB_NULL || device == m->device))
			return (uint32_t)at;
	}
	return NO_WORK;
}

static int match_places(struct walk *w)
{
	w->place_of = malloc((w->c->count + 1) * sizeof(*w->place_of));
	w->visited = calloc(w->c->set_count + 1, sizeof(*w->visited));
	if (!w->place_of || !w->visited)
		return SB_ENOMEM;
	for (size_t i = 0; i < w->c->count; i++) {
		uint32_t at = w->c->items[i].start_ns == SB_NULL ? NO_WORK : place_of(w, &w->c->items[i]);

		w->place_of[i] = at;
		if (at != NO_WORK)
			w->places[at].item = (uint32_t)i;
	}
	return SB_OK;
}

/* The collective at a place, or NO_WORK. */
static uint32_t collective_at(const struct walk *w, uint32_t works, size_t at)
{
	const struct path_works *x = &w->works[works];
	const struct place key = {x->items[at].start, x->capture, works, (uint32_t)at, NO_WORK};
	const struct place *found =
	    x->items[at].part == PATH_COMMUNICATION
	        ? bsearch(&key, w->places, w->place_count, sizeof(*w->places), by_place)
	        : NULL;

	return found ? found->item : NO_WORK;
}

/* Who came last: the collective took least time there. NO_WORK when that is the one given, or when some of
 * the set have no place. */
static uint32_t last_to_come(const struct walk *w, uint32_t item)
{
	const struct collective_set *set = &w->c->sets[w->c->items[item].set];
	uint32_t last = item;

	for (size_t i = set->first; i < set->first + set->count; i++) {
		if (w->place_of[i] == NO_WORK)
			return NO_WORK;
		if (w->c->items[i].dur_ns < w->c->items[last].dur_ns)
			last = (uint32_t)i;
	}
	return last == item ? NO_WORK : last;
}

/* At a collective that another rank came to last the path goes on there, from where that rank began. */
static bool cross(struct walk *w, struct path_draft *d, uint32_t *works, size_t *at)
{
	uint32_t item = collective_at(w, *works, *at), last;
	const struct path_work *x = &w->works[*works].items[*at];
	const struct place *to;
	int64_t begun;

	if (item == NO_WORK || w->visited[w->c->items[item].set])
		return false;
	w->visited[w->c->items[item].set] = true;
	last = last_to_come(w, item);
	if (last == NO_WORK)
		return false;
	begun = x->end - w->c->items[last].dur_ns;
	if (begun > d->at)
		return false;
	path_add(d, w->works[*works].capture, PATH_COMMUNICATION, x->name, begun);
	to = &w->places[w->place_of[last]];
	*works = to->works;
	*at = to->at;
	d->at = w->works[*works].items[*at].start;
	return true;
}

/* The device whose work spans most time; the first of equals. */
static uint32_t longest(const struct path_works *works, size_t n)
{
	uint32_t best = NO_WORK;
	int64_t most = -1;

	for (size_t i = 0; i < n; i++) {
		const struct path_works *w = &works[i];
		int64_t span = w->count > 0 ? w->items[w->count - 1].end - w->items[w->first].start : -1;

		if (span > most) {
			most = span;
			best = (uint32_t)i;
		}
	}
	return best;
}

static void walk_back(struct walk *w, struct path_draft *d, uint32_t works)
{
	size_t at = w->works[works].count - 1;
	bool more = true;

	d->path.capture = w->works[works].capture;
	d->at = w->works[works].items[at].end;
	while (more) {
		cross(w, d, &works, &at);
		more = path_step(d, &w->hosts[w->works[works].capture], &w->works[works], at, &at);
	}
}

int path_across(const struct collectives *c, const struct path_works *works, size_t work_count,
                const struct path_host *hosts, struct path_draft *d)
{
	__attribute__((cleanup(walk_free))) struct walk w = {.c = c, .works = works, .hosts = hosts};
	uint32_t start = longest(works, work_count);
	int rc = find_places(&w, work_count);

	if (rc == SB_OK)
		rc = match_places(&w);
	if (rc != SB_OK || start == NO_WORK)
		return rc;
	d->path.device = SB_NULL;
	for (size_t i = 0; i < work_count; i++)
		d->path.works += works[i].count;
	walk_back(&w, d, start);
	path_close(d);
	return d->rc;
}
