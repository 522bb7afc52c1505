#include "profiler/trace.h"

#include <stdlib.h>

#include "base/search.h"

int trace_init(struct trace *t)
{
	*t = (struct trace){0};
	return sb_strings_new(&t->strings);
}

void trace_free(struct trace *t)
{
	free(t->start_ns);
	free(t->dur_ns);
	free(t->link);
	free(t->name);
	free(t->lane);
	free(t->kind);
	free(t->lanes);
	free(t->details);
	free(t->launches);
	sb_strings_free(&t->strings);
	*t = (struct trace){0};
}

/* A doubled size would leave up to half of each column unused but it is never touched, so it costs no memory.
 */
static size_t larger(size_t capacity, size_t first)
{
	return capacity ? capacity * 2 : first;
}

static int grow_column(void **column, size_t capacity, size_t element)
{
	void *p = realloc(*column, capacity * element);

	if (!p)
		return SB_ENOMEM;
	*column = p;
	return SB_OK;
}

static int grow(struct trace *t)
{
	size_t n = larger(t->capacity, 1024);
	struct {
		void **column;
		size_t element;
	} columns[] = {
	    {(void **)&t->start_ns, sizeof(*t->start_ns)}, {(void **)&t->dur_ns, sizeof(*t->dur_ns)},
	    {(void **)&t->link, sizeof(*t->link)},         {(void **)&t->name, sizeof(*t->name)},
	    {(void **)&t->lane, sizeof(*t->lane)},         {(void **)&t->kind, sizeof(*t->kind)},
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		if (grow_column(columns[i].column, n, columns[i].element) != SB_OK)
			return SB_ENOMEM;
	}
	t->capacity = n;
	return SB_OK;
}

static void shrink_column(void **column, size_t count, size_t element)
{
	void *p = realloc(*column, (count > 0 ? count : 1) * element);

	if (p)
		*column = p;
}

void trace_shrink(struct trace *t)
{
	/* in a large one the unused pages were never touched */
	if (t->capacity > 1 << 16)
		return;
	if (t->capacity > t->count) {
		shrink_column((void **)&t->start_ns, t->count, sizeof(*t->start_ns));
		shrink_column((void **)&t->dur_ns, t->count, sizeof(*t->dur_ns));
		shrink_column((void **)&t->link, t->count, sizeof(*t->link));
		shrink_column((void **)&t->name, t->count, sizeof(*t->name));
		shrink_column((void **)&t->lane, t->count, sizeof(*t->lane));
		shrink_column((void **)&t->kind, t->count, sizeof(*t->kind));
		t->capacity = t->count;
	}
	if (t->lane_capacity > t->lane_count) {
		shrink_column((void **)&t->lanes, t->lane_count, sizeof(*t->lanes));
		t->lane_capacity = t->lane_count;
	}
	if (t->detail_capacity > t->detail_count) {
		shrink_column((void **)&t->details, t->detail_count, sizeof(*t->details));
		t->detail_capacity = t->detail_count;
	}
}

int trace_append(struct trace *t, const struct event *e)
{
	size_t i = t->count;

	if (i >= UINT32_MAX)
		return SB_ELIMIT;
	if (i == t->capacity && grow(t) != SB_OK)
		return SB_ENOMEM;
	t->start_ns[i] = e->start_ns;
	t->dur_ns[i] = e->dur_ns;
	t->link[i] = e->link;
	t->name[i] = e->name;
	t->lane[i] = e->lane;
	t->kind[i] = (uint8_t)e->kind;
	t->count = i + 1;
	return SB_OK;
}

struct event trace_event(const struct trace *t, size_t i)
{
	return (struct event){.start_ns = t->start_ns[i],
	                      .dur_ns = t->dur_ns[i],
	                      .link = t->link[i],
	                      .name = t->name[i],
	                      .lane = t->lane[i],
	                      .kind = (enum event_kind)t->kind[i]};
}

void trace_move_event(struct trace *t, size_t to, size_t from)
{
	t->start_ns[to] = t->start_ns[from];
	t->dur_ns[to] = t->dur_ns[from];
	t->link[to] = t->link[from];
	t->name[to] = t->name[from];
	t->lane[to] = t->lane[from];
	t->kind[to] = t->kind[from];
}

int trace_append_detail(struct trace *t, const struct event_detail *d)
{
	size_t n = larger(t->detail_capacity, 256);

	if (t->detail_count == t->detail_capacity) {
		if (grow_column((void **)&t->details, n, sizeof(*t->details)) != SB_OK)
			return SB_ENOMEM;
		t->detail_capacity = n;
	}
	t->details[t->detail_count] = *d;
	t->details[t->detail_count++].event = (uint32_t)(t->count - 1);
	return SB_OK;
}

int trace_add_lane(struct trace *t, const struct lane *lane, uint32_t *out_lane)
{
	size_t n = larger(t->lane_capacity, 64);

	if (t->lane_count >= UINT32_MAX)
		return SB_ELIMIT;
	if (t->lane_count == t->lane_capacity) {
		if (grow_column((void **)&t->lanes, n, sizeof(*t->lanes)) != SB_OK)
			return SB_ENOMEM;
		t->lane_capacity = n;
	}
	t->lanes[t->lane_count] = *lane;
	*out_lane = (uint32_t)t->lane_count++;
	return SB_OK;
}

const struct event_detail *trace_detail(const struct trace *t, uint32_t event)
{
	size_t at = SB_BISECT(i, 0, t->detail_count, t->details[i].event < event);

	return at < t->detail_count && t->details[at].event == event ? &t->details[at] : NULL;
}

const char *trace_text(const struct trace *t, uint32_t id, size_t *len)
{
	return sb_strings_get(t->strings, id, len);
}
