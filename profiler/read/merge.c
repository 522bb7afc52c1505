#include "profiler/read/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/read/id_map.h"
#include "profiler/read/memory_rows.h"

/* The tables of a capture: where pointer and count stand. Their rows are moved, with all they own. */
#define TABLE(items, count, name)                                                                            \
	{                                                                                                    \
		offsetof(struct capture, items), offsetof(struct capture, count),                            \
		    sizeof(*((struct capture *)0)->items), name                                              \
	}
static const struct table {
	size_t items, count, row;
	const char *name;
} TABLES[] = {
    TABLE(kernels, kernel_count, "kernel table"),
    TABLE(communications, communication_count, "table of communication operators"),
    TABLE(step_traces, step_trace_count, "step table"),
    TABLE(apis, api_count, "table of host calls"),
    TABLE(op_statistics, op_statistic_count, "table of operator sums"),
    TABLE(iterations, iteration_count, "table of iterations"),
    /* each names the file that it comes from: many of one capture are no copies */
    TABLE(queues, queue_count, NULL),
    TABLE(group_uses, group_use_count, NULL),
    TABLE(environment, environment_count, NULL),
    TABLE(host_works, host_work_count, "table of host operators with shapes"),
    TABLE(fills, fill_count, "table of launch sizes"),
    TABLE(clocks, clock_count, NULL),
};

/* joined by a rule of their own */
static const struct table STEPS = TABLE(steps, step_count, NULL);

static char *get_items(const struct capture *c, const struct table *t)
{
	char *p;

	/* copied, because a pointer to T may not be read through a pointer to char * */
	memcpy(&p, (const char *)c + t->items, sizeof(p));
	return p;
}

static void set_items(struct capture *c, const struct table *t, char *p)
{
	memcpy((char *)c + t->items, &p, sizeof(p));
}

static size_t *count_of(struct capture *c, const struct table *t)
{
	return (size_t *)(void *)((char *)c + t->count);
}

static bool in_parts(const struct capture *c)
{
	return capture_format_facts(c->format)->in_parts;
}

static void told_twice(const struct part_origin *from, const char *what)
{
	warnings_add(from->w, "duplicate_file", from->path, 0, -1,
	             "The capture has a %s already, from another file: this one is not used.", what);
}

static int append_rows(struct capture *dst, struct capture *src, const struct table *t)
{
	char *to = get_items(dst, t), *rows = get_items(src, t);
	size_t *n = count_of(dst, t), *more = count_of(src, t);
	int rc = SB_OK;
	size_t i = 0;

	for (; i < *more; i++) {
		rc = sb_grow(&to, *n, t->row);
		if (rc != SB_OK)
			break;
		memcpy(to + *n * t->row, rows + i * t->row, t->row);
		++*n;
	}
	set_items(dst, t, to);
	/* what the moved rows own must not be freed with src */
	*more -= i;
	memmove(rows, rows + i * t->row, *more * t->row);
	return rc;
}

static void move_rows(struct capture *dst, struct capture *src, const struct table *t)
{
	free(get_items(dst, t));
	set_items(dst, t, get_items(src, t));
	*count_of(dst, t) = *count_of(src, t);
	set_items(src, t, NULL);
	*count_of(src, t) = 0;
}

static int join_table(struct capture *dst, struct capture *src, const struct table *t,
                      const struct part_origin *from)
{
	if (*count_of(src, t) == 0)
		return SB_OK;
	if (*count_of(dst, t) == 0) {
		move_rows(dst, src, t);
		return SB_OK;
	}
	if (in_parts(dst) || !t->name)
		return append_rows(dst, src, t);
	told_twice(from, t->name);
	return SB_OK;
}

/* The lanes of dst that src's lanes are; new ones are added. */
static int map_lanes(struct trace *dst, const struct trace *src, struct id_map *known, uint32_t *map)
{
	const struct trace *const both[] = {dst, src};
	size_t had = dst->lane_count;

	for (size_t k = 0; k < 2; k++) {
		size_t n = k == 0 ? had : src->lane_count;

		for (size_t i = 0; i < n; i++) {
			const struct lane *l = &both[k]->lanes[i];
			const struct id_key key = {l->process, l->thread, (uint32_t)l->device};
			uint32_t at = (uint32_t)i;
			int rc = SB_OK;

			if (id_map_get(known, key, &at)) {
				if (k == 1)
					map[i] = at;
				continue;
			}
			if (k == 1)
				rc = trace_add_lane(dst, l, &at);
			if (rc == SB_OK)
				rc = id_map_put(known, key, at);
			if (rc != SB_OK)
				return rc;
			if (k == 1)
				map[i] = at;
		}
	}
	return SB_OK;
}

static int append_events(struct trace *dst, const struct trace *src, const uint32_t *map)
{
	size_t detail = 0;
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < src->count; i++) {
		struct event e = trace_event(src, i);

		e.lane = map[e.lane];
		rc = trace_append(dst, &e);
		for (; rc == SB_OK && detail < src->detail_count && src->details[detail].event == i; detail++)
			rc = trace_append_detail(dst, &src->details[detail]);
	}
	return rc;
}

static int append_trace(struct trace *dst, const struct trace *src)
{
	struct id_map known = {0};
	uint32_t *map = calloc(src->lane_count + 1, sizeof(*map));
	int rc = map ? map_lanes(dst, src, &known, map) : SB_ENOMEM;

	if (rc == SB_OK)
		rc = append_events(dst, src, map);
	id_map_free(&known);
	free(map);
	return rc;
}

/* The text sets stay where they are: the ids are those of dst's by now. */
static void move_trace(struct trace *dst, struct trace *src)
{
	struct sb_strings *texts = dst->strings, *other = src->strings;

	dst->strings = NULL;
	trace_free(dst);
	*dst = *src;
	dst->strings = texts;
	*src = (struct trace){.strings = other};
}

static int join_steps(struct capture *dst, struct capture *src)
{
	if (src->step_count == 0)
		return SB_OK;
	/* windows on the timeline are worth more than numbers alone */
	if (dst->step_count == 0 ||
	    (!in_parts(dst) && dst->steps[0].start_ns == SB_NULL && src->steps[0].start_ns != SB_NULL)) {
		move_rows(dst, src, &STEPS);
		return SB_OK;
	}
	return in_parts(dst) ? append_rows(dst, src, &STEPS) : SB_OK;
}

static int join_timeline(struct capture *dst, struct capture *src, const struct part_origin *from)
{
	int rc = SB_OK;

	if (src->trace.count > 0 && dst->trace.count > 0 && !in_parts(dst)) {
		told_twice(from, "timeline");
		return SB_OK;
	}
	if (src->trace.count > 0 && dst->trace.count > 0)
		rc = append_trace(&dst->trace, &src->trace);
	else if (src->trace.count > 0)
		move_trace(&dst->trace, &src->trace);
	dst->event_count = sb_add_sat(dst->event_count, src->event_count);
	return rc == SB_OK ? join_steps(dst, src) : rc;
}

static void join_rank(struct capture *dst, const struct capture *src, const struct part_origin *from)
{
	bool safer = dst->rank == SB_NULL || src->rank_from < dst->rank_from;

	if (src->rank == SB_NULL)
		return;
	if (dst->rank != SB_NULL && dst->rank != src->rank)
		warnings_add(from->w, "rank_conflict", from->path, 0, -1,
		             "The files of this capture name two ranks, %lld and %lld: %lld is used.",
		             (long long)dst->rank, (long long)src->rank,
		             (long long)(safer ? src->rank : dst->rank));
	if (!safer)
		return;
	dst->rank = src->rank;
	dst->rank_from = src->rank_from;
}

void capture_lend(struct capture *to, const struct capture *from)
{
	if (to->world_size == SB_NULL)
		to->world_size = from->world_size;
	if (to->stage == SB_NULL)
		to->stage = from->stage;
	if (to->chip[0] == '\0')
		memcpy(to->chip, from->chip, sizeof(to->chip));
}

static void join_facts(struct capture *dst, const struct capture *src, const struct part_origin *from)
{
	join_rank(dst, src, from);
	capture_lend(dst, src);
	if (dst->forward_start == 0)
		dst->forward_start = src->forward_start;
	if (dst->backward_end == 0)
		dst->backward_end = src->backward_end;
	dst->mindspore = dst->mindspore || src->mindspore;
	dst->cut |= src->cut;
}

static size_t ids_in(const struct capture *c)
{
	return c->trace.count + c->kernel_count * 11 + c->communication_count * 2 +
	       c->op_statistic_count * 3 + c->group_use_count * 2 + c->environment_count * 2 + c->fill_count +
	       c->allocation_count;
}

/* Makes the ids of both those of dst's set. The smaller one gets new ids. */
static int join_texts(struct capture *dst, struct capture *src)
{
	struct sb_strings *texts = src->trace.strings;
	int rc;

	if (ids_in(src) <= ids_in(dst))
		return capture_move_texts(src, dst->trace.strings);
	rc = capture_move_texts(dst, texts);
	src->trace.strings = dst->trace.strings;
	dst->trace.strings = texts;
	return rc;
}

int capture_merge(struct capture *dst, struct capture *src, const struct part_origin *from)
{
	int rc = join_texts(dst, src);

	if (rc == SB_OK)
		rc = join_timeline(dst, src, from);
	for (size_t i = 0; rc == SB_OK && i < sizeof(TABLES) / sizeof(TABLES[0]); i++)
		rc = join_table(dst, src, &TABLES[i], from);
	if (rc == SB_OK)
		rc = memory_join(dst, src, in_parts(dst));
	if (rc == SB_OK)
		join_facts(dst, src, from);
	return rc;
}
