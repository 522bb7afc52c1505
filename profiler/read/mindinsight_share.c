#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/search.h"
#include "profiler/read/mindinsight.h"

/* What belongs to more than one capture, or to a neighbour. */

#define ID_MARK " (id "

/* All captures by their source, so that those of a folder follow each other. */
struct sources {
	struct capture **items;
	bool *used_up; /* by item; their sources are needed until the end */
	size_t count;
};

static void sources_free(struct sources *s)
{
	free((void *)s->items);
	free(s->used_up);
}

static int by_source(const void *a, const void *b)
{
	const struct capture *x = *(struct capture *const *)a, *y = *(struct capture *const *)b;
	int order = strcmp(x->source, y->source);

	return order != 0 ? order : (int)x->format - (int)y->format;
}

/* How a source's beginning stands to `head` and `tail` behind it. */
static int compare_beginning(const struct capture *c, const char *head, size_t len, const char *tail)
{
	int order = strncmp(c->source, head, len);

	return order != 0 ? order : strncmp(c->source + len, tail, strlen(tail));
}

/* The first source that begins with `head` and `tail`, or the place where it would stand. */
static size_t first_with(const struct sources *s, const char *head, size_t len, const char *tail)
{
	return SB_BISECT(i, 0, s->count, compare_beginning(s->items[i], head, len, tail) < 0);
}

static bool begins(const struct capture *c, const char *head, size_t len, const char *tail)
{
	return strncmp(c->source, head, len) == 0 && strncmp(c->source + len, tail, strlen(tail)) == 0;
}

static int copy_text(const struct capture *from, uint32_t id, struct capture *to, uint32_t *out)
{
	size_t len;
	const char *text = trace_text(&from->trace, id, &len);

	return id == 0 ? SB_OK : sb_strings_add(to->trace.strings, text, len, out);
}

/* The operators that bound the parts of an iteration, where they are not known. */
static int share_bounds(struct capture *from, struct capture *to)
{
	int rc = SB_OK;

	if (to->forward_start == 0)
		rc = copy_text(from, from->forward_start, to, &to->forward_start);
	if (rc == SB_OK && to->backward_end == 0)
		rc = copy_text(from, from->backward_end, to, &to->backward_end);
	return rc;
}

static bool without_rank(const struct capture *c)
{
	return c->format == FORMAT_MINDINSIGHT && mindinsight_id(c->source) == SB_NULL;
}

static bool only_facts(const struct capture *c)
{
	return c->trace.count == 0 && c->iteration_count == 0 && c->queue_count == 0 &&
	       c->op_statistic_count == 0 && c->communication_count == 0 && c->step_trace_count == 0;
}

/* The files of a folder that hold for all its captures. */
static int share_facts(const struct sources *s, struct capture *from, bool *out_used)
{
	size_t len = strlen(from->source);
	int rc = SB_OK;

	for (size_t i = first_with(s, from->source, len, ID_MARK); i < s->count && rc == SB_OK; i++) {
		struct capture *to = s->items[i];

		if (!begins(to, from->source, len, ID_MARK))
			break;
		if (to->format != FORMAT_MINDINSIGHT)
			continue;
		*out_used = true;
		if (to->world_size == SB_NULL)
			to->world_size = from->world_size;
		rc = share_bounds(from, to);
	}
	return rc;
}

static int move_queue(struct capture *from, struct queue *q, struct capture *to)
{
	struct queue moved = *q;
	int rc = copy_text(from, q->name, to, &moved.name);

	if (rc == SB_OK)
		rc = copy_text(from, q->file, to, &moved.file);
	if (rc == SB_OK)
		rc = sb_grow(&to->queues, to->queue_count, sizeof(moved));
	if (rc != SB_OK)
		return rc;
	to->queues[to->queue_count++] = moved;
	*q = (struct queue){0};
	return SB_OK;
}

/* Queues and iterations: all that an *_ascend_ms directory does not have itself. */
static int hand_over(struct capture *from, struct capture *to)
{
	int rc = SB_OK;

	for (size_t i = 0; i < from->queue_count && rc == SB_OK; i++)
		rc = move_queue(from, &from->queues[i], to);
	mindinsight_unite_queues(to);
	if (rc == SB_OK && to->iteration_count == 0) {
		to->iterations = from->iterations;
		to->iteration_count = from->iteration_count;
		from->iterations = NULL;
		from->iteration_count = 0;
	}
	return rc == SB_OK ? share_bounds(from, to) : rc;
}

static int by_rank(const void *a, const void *b)
{
	const struct capture *x = *(struct capture *const *)a, *y = *(struct capture *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return by_source(a, b);
}

static bool full(const struct capture *c)
{
	return c->format != FORMAT_MINDINSIGHT && capture_is_ascend(c) && c->rank != SB_NULL &&
	       (c->trace.count > 0 || c->kernel_count > 0);
}

/* The one capture of a rank, NULL when there is none, or more than one: which of them the queues belong to
 * cannot be told. */
static struct capture *only_one(const struct sources *below, int64_t rank)
{
	size_t at = SB_BISECT(i, 0, below->count, below->items[i]->rank < rank);

	if (at == below->count || below->items[at]->rank != rank)
		return NULL;
	return at + 1 < below->count && below->items[at + 1]->rank == rank ? NULL : below->items[at];
}

/* The full captures below a folder, by rank. */
static int captures_below(const struct sources *s, const char *folder, size_t len, struct sources *out)
{
	bool root = len == 1 && folder[0] == '.';
	size_t i = root ? 0 : first_with(s, folder, len, "/");

	out->items = calloc(s->count + 1, sizeof(struct capture *));
	if (!out->items)
		return SB_ENOMEM;
	for (; i < s->count && (root || begins(s->items[i], folder, len, "/")); i++)
		if (full(s->items[i]))
			out->items[out->count++] = s->items[i];
	if (out->count > 0)
		qsort((void *)out->items, out->count, sizeof(struct capture *), by_rank);
	return SB_OK;
}

static size_t folder_len(const struct capture *c)
{
	const char *mark = strrchr(c->source, '(');

	return mark && mindinsight_id(c->source) != SB_NULL ? (size_t)(mark - c->source) - 1 : 0;
}

/* The captures of one folder, from `i` on, to those of the directories below it. */
static int share_folder(const struct sources *s, size_t i, size_t *out_next)
{
	struct sources below = {0};
	const char *folder = s->items[i]->source;
	size_t len = folder_len(s->items[i]);
	int rc = captures_below(s, folder, len, &below);

	for (; i < s->count && begins(s->items[i], folder, len, ID_MARK) && rc == SB_OK; i++) {
		struct capture *from = s->items[i], *to = NULL;

		if (from->format == FORMAT_MINDINSIGHT && from->rank != SB_NULL)
			to = only_one(&below, from->rank);
		if (!to)
			continue;
		rc = hand_over(from, to);
		s->used_up[i] = true;
	}
	*out_next = i;
	sources_free(&below);
	return rc;
}

static int share_all(struct sources *s)
{
	int rc = SB_OK;

	for (size_t i = 0; i < s->count && rc == SB_OK; i++) {
		bool used = false;

		if (!without_rank(s->items[i]))
			continue;
		rc = share_facts(s, s->items[i], &used);
		s->used_up[i] = used && only_facts(s->items[i]);
	}
	for (size_t i = 0; i < s->count && rc == SB_OK;) {
		if (s->items[i]->format == FORMAT_MINDINSIGHT && folder_len(s->items[i]) > 0)
			rc = share_folder(s, i, &i);
		else
			i++;
	}
	return rc;
}

/* The list without what was used up. */
static void keep(struct sources *s, struct capture **list, size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (s->used_up[i])
			capture_discard(&s->items[i]);
		else
			list[(*count)++] = s->items[i];
	}
}

int mindinsight_share(struct capture **list, size_t *count)
{
	struct sources s = {.count = *count};
	bool any = false;
	int rc = SB_ENOMEM;

	for (size_t i = 0; i < *count && !any; i++)
		any = list[i]->format == FORMAT_MINDINSIGHT;
	if (!any)
		return SB_OK;
	s.items = calloc(*count, sizeof(struct capture *));
	s.used_up = calloc(*count, sizeof(*s.used_up));
	if (s.items && s.used_up) {
		memcpy((void *)s.items, (void *)list, *count * sizeof(struct capture *));
		qsort((void *)s.items, s.count, sizeof(struct capture *), by_source);
		rc = share_all(&s);
	}
	if (rc == SB_OK)
		keep(&s, list, count);
	sources_free(&s);
	return rc;
}
