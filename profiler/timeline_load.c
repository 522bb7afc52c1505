#include <stdlib.h>
#include <string.h>

#include "profiler/launches.h"
#include "profiler/profile.h"
#include "profiler/timeline.h"

/* The way back from the side file to the columns that the analyses walk over. */

static int bad(struct sb_error *err, const char *what)
{
	return sb_fail(err, SB_EFORMAT, "bad_side_file", "The side file of the timeline is damaged: %s.",
	               what);
}

static int no_memory(struct sb_error *err)
{
	return sb_fail(err, SB_ENOMEM, "out_of_memory", "No memory for the events of the timeline.");
}

struct loading {
	const struct timeline *t;
	const struct timeline_section *s;
	struct trace *to;
	uint32_t *ids; /* of the texts, by their number in the file */
	struct sb_error *err;
};

/* A copy of `count` elements of the file; column: the address of the pointer to it. */
static int copy(const struct loading *l, uint64_t at, uint64_t count, size_t element, void *column)
{
	const void *from = chunkfile_get(&l->t->file, at, count * element);
	void *p;

	if (!from)
		return bad(l->err, "a column");
	p = malloc((size_t)count * element + 1);
	if (!p)
		return no_memory(l->err);
	memcpy(p, from, (size_t)count * element);
	/* copied, because a pointer to T may not be written through a pointer to void * */
	memcpy(column, &p, sizeof(p));
	/* cppcheck-suppress memleak ; it has just been stored */
	return SB_OK;
}

static int load_texts(struct loading *l)
{
	const struct timeline_section *s = l->s;

	l->ids = calloc((size_t)s->text_count + 1, sizeof(*l->ids));
	if (!l->ids || sb_strings_new(&l->to->strings) != SB_OK)
		return no_memory(l->err);
	for (uint64_t i = 0; i < s->text_count; i++) {
		size_t len;
		const char *text = timeline_text(l->t, s, (uint32_t)i, &len);
		int rc;

		if (!text)
			return bad(l->err, "a text");
		rc = sb_strings_add(l->to->strings, text, len, &l->ids[i]);
		if (rc != SB_OK)
			return rc == SB_ENOMEM ? no_memory(l->err) : bad(l->err, "its texts");
	}
	return SB_OK;
}

static uint32_t id_of(const struct loading *l, uint32_t id)
{
	return id < l->s->text_count ? l->ids[id] : 0;
}

static int load_events(struct loading *l)
{
	const struct timeline_section *s = l->s;
	struct trace *t = l->to;
	int rc = copy(l, s->start, s->count, sizeof(*t->start_ns), &t->start_ns);

	if (rc == SB_OK)
		rc = copy(l, s->dur, s->count, sizeof(*t->dur_ns), &t->dur_ns);
	if (rc == SB_OK)
		rc = copy(l, s->link, s->count, sizeof(*t->link), &t->link);
	if (rc == SB_OK)
		rc = copy(l, s->name, s->count, sizeof(*t->name), &t->name);
	if (rc == SB_OK)
		rc = copy(l, s->kind, s->count, sizeof(*t->kind), &t->kind);
	if (rc != SB_OK)
		return rc;
	for (uint64_t i = 0; i < s->count; i++) {
		t->name[i] = id_of(l, t->name[i]);
		if (t->kind[i] >= EVENT_KIND_COUNT || t->dur_ns[i] < 0)
			return bad(l->err, "an event");
	}
	t->count = t->capacity = (size_t)s->count;
	return SB_OK;
}

static int load_lanes(struct loading *l)
{
	const struct timeline_section *s = l->s;
	const struct timeline_lane *lanes = timeline_lanes(l->t, s);
	struct trace *t = l->to;
	uint64_t next = 0;

	if (!lanes)
		return bad(l->err, "its lanes");
	t->lanes = calloc((size_t)s->lane_count, sizeof(*t->lanes));
	t->lane = calloc((size_t)s->count, sizeof(*t->lane));
	if (!t->lanes || !t->lane)
		return no_memory(l->err);
	for (uint64_t i = 0; i < s->lane_count; i++) {
		t->lanes[i] = (struct lane){.process = id_of(l, lanes[i].process),
		                            .thread = id_of(l, lanes[i].thread),
		                            .device = lanes[i].device};
		if (lanes[i].first != next)
			return bad(l->err, "its lanes");
		for (uint64_t k = 0; k < lanes[i].count; k++)
			t->lane[next++] = (uint32_t)i;
	}
	t->lane_count = t->lane_capacity = (size_t)s->lane_count;
	return next == s->count ? SB_OK : bad(l->err, "its lanes");
}

static int load_details(struct loading *l)
{
	const struct timeline_section *s = l->s;
	struct trace *t = l->to;
	uint32_t before = 0;
	int rc = copy(l, s->details, s->detail_count, sizeof(*t->details), &t->details);

	if (rc != SB_OK)
		return rc;
	for (uint64_t i = 0; i < s->detail_count; i++) {
		struct event_detail *d = &t->details[i];

		if (d->event >= s->count || d->event < before)
			return bad(l->err, "a detail");
		before = d->event;
		d->type = id_of(l, d->type);
		d->group = id_of(l, d->group);
		d->ranks = id_of(l, d->ranks);
	}
	t->detail_count = t->detail_capacity = (size_t)s->detail_count;
	return SB_OK;
}

static int load_source(const struct loading *l, char **out)
{
	size_t len;
	const char *source = timeline_source(l->t, l->s, &len);

	if (!source)
		return bad(l->err, "the path of a capture");
	*out = strndup(source, len);
	return *out ? SB_OK : no_memory(l->err);
}

int timeline_load(const struct timeline *t, const struct timeline_section *s, struct capture *out,
                  struct sb_error *err)
{
	struct capture c = {.rank = s->rank,
	                    .world_size = SB_NULL,
	                    .stage = SB_NULL,
	                    .event_count = (int64_t)s->count,
	                    .format = FORMAT_SIGNALBOX};
	struct loading l = {.t = t, .s = s, .to = &c.trace, .err = err};
	int rc = load_texts(&l);

	if (rc == SB_OK)
		rc = load_events(&l);
	if (rc == SB_OK)
		rc = load_lanes(&l);
	if (rc == SB_OK)
		rc = load_details(&l);
	if (rc == SB_OK)
		rc = load_source(&l, &c.source);
	if (rc == SB_OK && launches_keep(&c.trace) != SB_OK)
		rc = no_memory(err);
	free(l.ids);
	if (rc != SB_OK) {
		capture_free(&c);
		return rc;
	}
	*out = c;
	return SB_OK;
}
