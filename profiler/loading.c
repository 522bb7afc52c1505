#include "profiler/loading.h"

#include <stdlib.h>

#include "profiler/activity.h"
#include "profiler/intervals.h"
#include "profiler/kernel_name.h"

static bool is_host(uint8_t kind)
{
	return kind >= EVENT_HOST_OP && kind <= EVENT_HOST_GARBAGE;
}

/* Texts are looked at once each: 0 not yet, 1 no, 2 yes. */
static bool is_loader(const struct trace *t, uint8_t *known, size_t texts, size_t i)
{
	uint32_t name = t->name[i];

	if (t->kind[i] == EVENT_HOST_LOADING)
		return true;
	if (name >= texts)
		return false;
	if (!known[name])
		known[name] = name_has(trace_text(t, name, NULL), "dataloader") ? 2 : 1;
	return known[name] == 2;
}

static int find_calls(const struct trace *t, struct interval_set *calls, struct loading_row *row)
{
	size_t texts = sb_strings_count(t->strings);
	uint8_t *known = calloc(texts + 1, 1);
	int rc = known ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; rc == SB_OK && i < t->count; i++) {
		if (!is_host(t->kind[i]))
			continue;
		row->loading_ns = 0;
		if (!is_loader(t, known, texts, i))
			continue;
		row->calls++;
		rc = intervals_add(calls, t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
	}
	free(known);
	intervals_normalise(calls);
	return rc;
}

static int find_work(const struct trace *t, struct interval_set *work)
{
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < t->count; i++)
		if (event_is_device_work(t->kind[i]))
			rc = intervals_add(work, t->start_ns[i], interval_end(t->start_ns[i], t->dur_ns[i]));
	intervals_normalise(work);
	return rc;
}

static int of_capture(const struct capture *c, struct loading_row *row)
{
	INTERVALS_AUTO calls = {0};
	INTERVALS_AUTO work = {0};
	INTERVALS_AUTO uncovered = {0};
	INTERVALS_AUTO windows = {0};
	int rc = SB_OK;

	*row = (struct loading_row){.rank = c->rank, .loading_ns = SB_NULL};
	if (c->trace.count > 0)
		rc = find_calls(&c->trace, &calls, row);
	for (size_t i = 0; rc == SB_OK && i < c->step_count; i++) {
		const struct step *s = &c->steps[i];

		if (s->start_ns == SB_NULL || s->dur_ns == SB_NULL)
			continue;
		row->steps++;
		rc = intervals_add(&windows, s->start_ns, interval_end(s->start_ns, s->dur_ns));
	}
	if (rc != SB_OK || row->loading_ns == SB_NULL)
		return rc;
	rc = find_work(&c->trace, &work);
	if (rc == SB_OK)
		rc = intervals_difference(&calls, &work, &uncovered);
	if (rc != SB_OK)
		return rc;
	intervals_normalise(&windows);
	row->loading_ns =
	    row->steps > 0 ? intervals_common(&uncovered, &windows) : intervals_total(&uncovered);
	return SB_OK;
}

int loading_compute(const struct profile *p, struct loading_report *out)
{
	struct loading_report r = {.rows = calloc(p->count + 1, sizeof(*r.rows))};
	int rc = r.rows ? SB_OK : SB_ENOMEM;

	for (; rc == SB_OK && r.count < p->count; r.count++)
		rc = of_capture(&p->captures[r.count], &r.rows[r.count]);
	if (rc == SB_OK)
		*out = r;
	else
		free(r.rows);
	return rc;
}

void loading_report_free(struct loading_report *r)
{
	free(r->rows);
	*r = (struct loading_report){0};
}
