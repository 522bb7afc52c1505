#include "profiler/critical_path.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
#include "profiler/critical_path_parts.h"

const char *path_part_name(enum path_part part)
{
	static const char *const names[] = {"compute", "communication", "copy", "host", "gap"};

	return names[part];
}

/* The text of the path for one of a capture. */
static uint32_t text_of(struct path_draft *d, uint32_t capture, uint32_t name)
{
	uint32_t id = 0;
	size_t len;
	const char *text = trace_text(&d->p->captures[capture].trace, name, &len);

	if (d->rc == SB_OK)
		d->rc = sb_strings_add(d->texts, text, len, &id);
	return id;
}

void path_add(struct path_draft *d, uint32_t capture, enum path_part part, uint32_t name, int64_t start)
{
	struct critical_path *path = &d->path;
	struct path_piece *last;

	if (d->rc != SB_OK)
		return;
	last = path->count > 0 ? &path->pieces[path->count - 1] : NULL;
	/* two stretches of which nothing is known are one */
	if (last && name == 0 && last->name == 0 && last->part == part && last->capture == capture) {
		last->dur_ns += d->at - start;
		last->start_ns = start;
	} else if (sb_grow(&path->pieces, path->count, sizeof(*path->pieces)) != SB_OK) {
		d->rc = SB_ENOMEM;
		return;
	} else {
		path->pieces[path->count++] =
		    (struct path_piece){start, d->at - start, text_of(d, capture, name), capture, part};
	}
	d->at = start;
}

/* The last of the works that ended at or before a time and stand before `at` by end; NO_WORK = none. */
static size_t ended(const struct path_works *w, size_t at, int64_t time)
{
	size_t lo = SB_BISECT(i, 0, at, w->items[i].end <= time);

	return lo > 0 ? lo - 1 : NO_WORK;
}

/* What the trace's own ids say: the last of what the stream did and what it waited for, unless the launch
 * came later still. */
static size_t work_waited_for(const struct path_host *h, const struct path_works *w, size_t at)
{
	const struct path_work *x = &w->items[at];
	size_t last = x->behind;
	int64_t launched;

	if (last == NO_WORK)
		return NO_WORK;
	if (x->before != NO_WORK && w->items[x->before].end > w->items[last].end)
		last = x->before;
	launched = launches_start(&h->launches, x->link);
	return launched != SB_NULL && launched > w->items[last].end ? NO_WORK : last;
}

static size_t work_before(const struct path_host *h, const struct path_works *w, size_t at)
{
	const struct path_work *x = &w->items[at];
	size_t before = work_waited_for(h, w, at);

	if (before != NO_WORK)
		return before;
	before = x->before;
	if (before != NO_WORK && x->start - w->items[before].end <= PATH_GAP_NS)
		return before;
	before = ended(w, at, x->start);
	/* nothing had ended, but something had begun: the first of all was at work */
	if (before == NO_WORK && w->items[w->first].start < x->start)
		before = w->first;
	return before;
}

bool path_step(struct path_draft *d, const struct path_host *h, const struct path_works *w, size_t at,
               size_t *out_before)
{
	const struct path_work *x = &w->items[at];
	size_t before = work_before(h, w, at);

	path_add(d, w->capture, (enum path_part)x->part, x->name, x->start < d->at ? x->start : d->at);
	if (before == NO_WORK || d->rc != SB_OK)
		return false;
	path_wait(d, h, w, at, w->items[before].end);
	*out_before = before;
	return d->rc == SB_OK;
}

void path_close(struct path_draft *d)
{
	struct critical_path *path = &d->path;

	for (size_t i = 0, k = path->count; i + 1 < k; i++, k--) {
		struct path_piece swap = path->pieces[i];

		path->pieces[i] = path->pieces[k - 1];
		path->pieces[k - 1] = swap;
	}
	for (size_t i = 0; i < path->count; i++) {
		path->part_ns[path->pieces[i].part] += path->pieces[i].dur_ns;
		path->span_ns += path->pieces[i].dur_ns;
	}
}

/* The path of one device. */
static int find_one(struct path_draft *d, const struct path_host *h, const struct path_works *w)
{
	size_t at = w->count - 1;

	d->path = (struct critical_path){.capture = w->capture, .device = w->device, .works = w->count};
	d->at = w->items[at].end;
	while (path_step(d, h, w, at, &at))
		;
	path_close(d);
	return d->rc;
}

/* What is kept while all paths are found. */
struct search {
	const struct profile *p;
	struct path_works *works;
	size_t work_count;
	struct path_host *hosts; /* of all captures */
	struct critical_paths out;
};

static void search_free(struct search *s)
{
	for (size_t i = 0; i < s->work_count; i++)
		path_works_free(&s->works[i]);
	for (size_t i = 0; s->hosts && i < s->p->count; i++)
		path_host_free(&s->hosts[i]);
	free(s->works);
	free(s->hosts);
	critical_paths_free(&s->out);
}

static int add_path(struct search *s, const struct path_works *w)
{
	struct path_draft d = {.p = s->p, .texts = s->out.texts, .rc = SB_OK};
	int rc = find_one(&d, &s->hosts[w->capture], w);

	if (rc == SB_OK && sb_grow(&s->out.items, s->out.count, sizeof(*s->out.items)) != SB_OK)
		rc = SB_ENOMEM;
	if (rc == SB_OK)
		s->out.items[s->out.count++] = d.path;
	else
		free(d.path.pieces);
	return rc;
}

static int search_device(struct search *s, uint32_t capture, const struct path_devices *d, size_t which)
{
	struct path_works w = {0};
	int rc = path_works_collect(s->p, capture, d, which, &w);

	if (rc == SB_OK && sb_grow(&s->works, s->work_count, sizeof(*s->works)) != SB_OK)
		rc = SB_ENOMEM;
	if (rc != SB_OK) {
		path_works_free(&w);
		return rc;
	}
	s->works[s->work_count++] = w;
	return w.count > 0 ? add_path(s, &w) : SB_OK;
}

static int search_capture(struct search *s, uint32_t capture)
{
	const struct capture *c = &s->p->captures[capture];
	struct path_devices devices = {0};
	int rc = path_devices_find(c, &devices);

	if (rc == SB_OK && devices.count > 0)
		rc = path_host_build(&c->trace, &s->hosts[capture]);
	for (size_t i = 0; i < devices.count && rc == SB_OK; i++)
		rc = search_device(s, capture, &devices, i);
	path_devices_free(&devices);
	return rc;
}

static int search_across(struct search *s, const struct collectives *c)
{
	struct path_draft d = {.p = s->p, .texts = s->out.texts, .rc = SB_OK};
	int rc = path_across(c, s->works, s->work_count, s->hosts, &d);

	if (rc == SB_OK)
		s->out.across = d.path;
	else
		free(d.path.pieces);
	return rc;
}

int critical_paths_find(const struct profile *p, const struct collectives *c, struct critical_paths *out,
                        struct sb_error *err)
{
	struct search s = {.p = p};
	int rc = sb_strings_new(&s.out.texts);

	s.hosts = calloc(p->count + 1, sizeof(*s.hosts));
	if (!s.hosts)
		rc = SB_ENOMEM;
	for (size_t i = 0; i < p->count && rc == SB_OK; i++)
		rc = search_capture(&s, (uint32_t)i);
	if (rc == SB_OK && c->set_count > 0)
		rc = search_across(&s, c);
	if (rc == SB_OK) {
		*out = s.out;
		s.out = (struct critical_paths){0};
	}
	search_free(&s);
	return rc == SB_OK ? SB_OK
	                   : sb_fail(err, rc, "critical_path", "The critical path cannot be found: %s.",
	                             sb_strerror(rc));
}

void critical_paths_free(struct critical_paths *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->items[i].pieces);
	free(p->items);
	free(p->across.pieces);
	sb_strings_free(&p->texts);
	*p = (struct critical_paths){0};
}
