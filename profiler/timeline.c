#include "profiler/timeline.h"

#include <string.h>

#include "profiler/timeline_parts.h"

static int bad(struct sb_error *err, const char *what)
{
	return sb_fail(err, SB_EFORMAT, "bad_side_file", "The side file of the timeline is damaged: %s.",
	               what);
}

/* Does a column of so many elements lie in the file? Its bytes are not looked at yet. */
static bool lies_inside(const struct timeline *t, uint64_t at, uint64_t count, size_t element)
{
	return at % 8 == 0 && at <= t->file.body && count <= (t->file.body - at) / element;
}

static bool is_whole(const struct timeline *t, const struct timeline_section *s)
{
	return s->count > 0 && s->count <= UINT32_MAX && s->lane_count > 0 && s->lane_count <= UINT32_MAX &&
	       s->text_count > 0 && s->text_count <= UINT32_MAX && s->origin_ns <= s->end_ns &&
	       lies_inside(t, s->start, s->count, sizeof(int64_t)) &&
	       lies_inside(t, s->dur, s->count, sizeof(int64_t)) &&
	       lies_inside(t, s->link, s->count, sizeof(int64_t)) &&
	       lies_inside(t, s->name, s->count, sizeof(uint32_t)) &&
	       lies_inside(t, s->kind, s->count, sizeof(uint8_t)) &&
	       lies_inside(t, s->lanes, s->lane_count, sizeof(struct timeline_lane)) &&
	       lies_inside(t, s->details, s->detail_count, sizeof(struct event_detail)) &&
	       lies_inside(t, s->text_starts, s->text_count + 1, sizeof(uint32_t)) &&
	       lies_inside(t, s->texts, s->text_bytes, 1) && lies_inside(t, s->source, s->source_bytes, 1);
}

int timeline_open(int fd, struct timeline *out, struct sb_error *err)
{
	struct timeline t = {0};
	int rc = chunkfile_map(fd, TIMELINE_MAGIC, TIMELINE_VERSION, &t.file, err);

	if (rc != SB_OK)
		return rc;
	if (lies_inside(&t, t.file.root, t.file.root_count, sizeof(*t.sections)))
		t.sections = chunkfile_get(&t.file, t.file.root, t.file.root_count * sizeof(*t.sections));
	if (t.sections)
		t.count = (size_t)t.file.root_count;
	else
		rc = bad(err, "its directory");
	for (size_t i = 0; i < t.count && rc == SB_OK && t.sections; i++) {
		if (!is_whole(&t, &t.sections[i]))
			rc = bad(err, "a capture's columns");
	}
	if (rc != SB_OK) {
		timeline_close(&t);
		return rc;
	}
	*out = t;
	return SB_OK;
}

void timeline_close(struct timeline *t)
{
	chunkfile_unmap(&t->file);
	*t = (struct timeline){0};
}

const struct timeline_lane *timeline_lanes(const struct timeline *t, const struct timeline_section *s)
{
	const struct timeline_lane *lanes =
	    chunkfile_get(&t->file, s->lanes, s->lane_count * sizeof(struct timeline_lane));

	for (size_t i = 0; lanes && i < s->lane_count; i++) {
		const struct timeline_lane *l = &lanes[i];

		if (l->count == 0 || l->first > s->count || l->count > s->count - l->first ||
		    l->marks % 8 != 0 || l->kinds == 0 || l->kinds >> EVENT_KIND_COUNT != 0 ||
		    l->kind >= TIMELINE_LANE_KINDS)
			return NULL;
	}
	return lanes;
}

const char *timeline_text(const struct timeline *t, const struct timeline_section *s, uint32_t id,
                          size_t *out_len)
{
	const char *p;
	uint32_t ends[2];

	*out_len = 0;
	if (id >= s->text_count)
		return "";
	p = chunkfile_get(&t->file, s->text_starts + (uint64_t)id * sizeof(*ends), sizeof(ends));
	if (!p)
		return NULL;
	memcpy(ends, p, sizeof(ends));
	if (ends[1] < ends[0] || ends[1] > s->text_bytes)
		return NULL;
	p = chunkfile_get(&t->file, s->texts + ends[0], ends[1] - ends[0]);
	if (p)
		*out_len = ends[1] - ends[0];
	return p;
}

const char *timeline_source(const struct timeline *t, const struct timeline_section *s, size_t *out_len)
{
	const char *p = chunkfile_get(&t->file, s->source, s->source_bytes);

	*out_len = p ? (size_t)s->source_bytes : 0;
	return p;
}
