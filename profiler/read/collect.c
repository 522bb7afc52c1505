#include "profiler/read/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/mindinsight.h"

static int find_capture(struct read_context *ctx, const char *key, enum capture_format format,
                        struct capture **out);

int collection_init(struct collection *c, const struct read_hooks *hooks)
{
	c->context = (struct read_context){.profile = &c->profile, .hooks = hooks, .capture = find_capture};
	return sb_strings_new(&c->keys);
}

void collection_free(struct collection *c)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->list[i]) {
			capture_free(c->list[i]);
			free(c->list[i]);
		}
	}
	free(c->list);
	sb_strings_free(&c->keys);
	profile_free(&c->profile);
}

static int new_capture(const char *key, enum capture_format format, struct capture **out)
{
	struct capture *n = calloc(1, sizeof(*n));

	if (!n)
		return SB_ENOMEM;
	n->rank = n->world_size = n->stage = SB_NULL;
	n->format = format;
	n->source = strdup(key);
	if (!n->source || trace_init(&n->trace) != SB_OK) {
		free(n->source);
		free(n);
		return SB_ENOMEM;
	}
	*out = n;
	return SB_OK;
}

static int find_capture(struct read_context *ctx, const char *key, enum capture_format format,
                        struct capture **out)
{
	struct collection *c = (struct collection *)ctx;
	const char *name = key[0] != '\0' ? key : ".";
	char both[2200];
	uint32_t id;
	int n = snprintf(both, sizeof(both), "%d %s", (int)format, name);
	int rc =
	    n < 0 || (size_t)n >= sizeof(both) ? SB_ELIMIT : sb_strings_add(c->keys, both, (size_t)n, &id);

	if (rc != SB_OK)
		return rc;
	/* ids are given out one after the other, from 1 on */
	if (id > c->count) {
		if (sb_grow(&c->list, c->count, sizeof(struct capture *)) != SB_OK)
			return SB_ENOMEM;
		c->list[c->count] = NULL;
		rc = new_capture(name, format, &c->list[c->count]);
		if (rc != SB_OK)
			return rc;
		c->count++;
	}
	*out = c->list[id - 1];
	return SB_OK;
}

void collection_left_out(struct collection *c, const char *file, const char *reason)
{
	struct profile *p = &c->profile;
	struct left_out entry = {0};
	size_t at = 0, end = p->left_out_count;

	snprintf(entry.file, sizeof(entry.file), "%s", file);
	snprintf(entry.reason, sizeof(entry.reason), "%s", reason);
	if (!p->left_out)
		p->left_out = calloc(LEFT_OUT_MAX, sizeof(*p->left_out));
	if (!p->left_out)
		return;
	while (at < end) {
		size_t mid = at + (end - at) / 2;
		int order = strcmp(p->left_out[mid].file, entry.file);

		if (order == 0)
			order = strcmp(p->left_out[mid].reason, entry.reason);
		if (order <= 0)
			at = mid + 1;
		else
			end = mid;
	}
	if (at == LEFT_OUT_MAX)
		return;
	end = p->left_out_count < LEFT_OUT_MAX ? p->left_out_count++ : LEFT_OUT_MAX - 1;
	memmove(&p->left_out[at + 1], &p->left_out[at], (end - at) * sizeof(entry));
	p->left_out[at] = entry;
}

/* Sums by operator type are only there to be compared with events: alone they answer nothing. */
static bool without_data(const struct capture *c)
{
	/* … but MindInsight has nothing else to answer from */
	if (c->format == FORMAT_MINDINSIGHT && c->op_statistic_count > 0)
		return false;
	return c->trace.count == 0 && c->kernel_count == 0 && c->step_trace_count == 0 &&
	       c->communication_count == 0 && c->api_count == 0 && c->iteration_count == 0 &&
	       c->queue_count == 0;
}

static int finish_capture(struct collection *c, struct capture *cap, struct sb_error *err)
{
	return capture_is_ascend(cap) ? ascend_finish(&c->context, cap, err) : SB_OK;
}

int64_t capture_stamp(const char *source)
{
	static const char *const ends[] = {"_ascend_pt", "_ascend_ms"};
	size_t len = strlen(source), digits = 0;
	int64_t v;

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(ends[i]);

		if (len > n && strcmp(source + len - n, ends[i]) == 0)
			len -= n;
	}
	while (digits < len && source[len - digits - 1] >= '0' && source[len - digits - 1] <= '9')
		digits++;
	if (len == strlen(source) || (digits != 14 && digits != 17) ||
	    sb_parse_int(source + len - digits, digits, &v) != SB_OK)
		return 0;
	/* the older stamp ends with the second, the newer one with the millisecond */
	return digits == 14 ? v * 1000 : v;
}

static int64_t latest_start(const struct capture *c)
{
	int64_t latest = SB_NULL;

	for (size_t i = 0; i < c->trace.count; i++) {
		if (c->trace.start_ns[i] > latest)
			latest = c->trace.start_ns[i];
	}
	for (size_t i = 0; i < c->kernel_count; i++) {
		if (c->kernels[i].start_ns > latest)
			latest = c->kernels[i].start_ns;
	}
	return latest;
}

static bool newer(const struct capture *a, const struct capture *b)
{
	int64_t x = capture_stamp(a->source), y = capture_stamp(b->source);

	if (x != 0 && y != 0 && x != y)
		return x > y;
	return latest_start(a) > latest_start(b);
}

static int by_rank(const void *a, const void *b)
{
	const struct capture *x = *(struct capture *const *)a, *y = *(struct capture *const *)b;

	if ((x->rank == SB_NULL) != (y->rank == SB_NULL))
		return x->rank == SB_NULL ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->source, y->source);
}

static int by_place(const void *a, const void *b)
{
	const struct warning *x = a, *y = b;
	int c = strcmp(x->file, y->file);

	if (c != 0)
		return c;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return strcmp(x->code, y->code);
}

static void drop(struct collection *c, size_t i)
{
	capture_free(c->list[i]);
	free(c->list[i]);
	c->list[i] = NULL;
}

static void drop_empty(struct collection *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct capture *cap = c->list[i];

		if (!without_data(cap)) {
			c->list[i] = NULL;
			c->list[kept++] = cap;
			continue;
		}
		if (c->empty[0] == '\0' || strcmp(cap->source, c->empty) < 0)
			snprintf(c->empty, sizeof(c->empty), "%s", cap->source);
		c->sums_only = c->sums_only || cap->op_statistic_count > 0;
		collection_left_out(c, cap->source, "a capture without any events or rows");
		drop(c, i);
	}
	c->count = kept;
}

/* Of the captures of one rank, which follow each other, only the newest stays. */
static void drop_older(struct collection *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++) {
		size_t loser = i;

		if (kept == 0 || c->list[i]->rank == SB_NULL || c->list[i]->rank != c->list[kept - 1]->rank) {
			struct capture *cap = c->list[i];

			c->list[i] = NULL;
			c->list[kept++] = cap;
			continue;
		}
		if (newer(c->list[i], c->list[kept - 1])) {
			struct capture *older = c->list[kept - 1];

			c->list[kept - 1] = c->list[i];
			c->list[i] = older;
		}
		warnings_add(&c->profile.warnings, "rank_conflict", c->list[loser]->source, 0, -1,
		             "Rank %lld has a newer capture, %.100s: this one is not used.",
		             (long long)c->list[loser]->rank, c->list[kept - 1]->source);
		collection_left_out(c, c->list[loser]->source, "an older capture of the same rank");
		drop(c, loser);
	}
	c->count = kept;
}

static int move_captures(struct collection *c, struct sb_error *err)
{
	struct profile *p = &c->profile;

	p->captures = calloc(c->count + 1, sizeof(*p->captures));
	if (!p->captures)
		return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	for (size_t i = 0; i < c->count; i++) {
		p->captures[i] = *c->list[i];
		free(c->list[i]);
	}
	p->count = c->count;
	c->count = 0;
	return SB_OK;
}

int collection_finish(struct collection *c, struct sb_error *err)
{
	struct warnings *w = &c->profile.warnings;

	for (size_t i = 0; i < c->count; i++) {
		int rc = finish_capture(c, c->list[i], err);

		if (rc != SB_OK)
			return rc;
	}
	if (mindinsight_share(c->list, &c->count) != SB_OK)
		return sb_fail(err, SB_ENOMEM, "no_memory", "out of memory");
	drop_empty(c);
	if (c->count > 0)
		qsort(c->list, c->count, sizeof(struct capture *), by_rank);
	drop_older(c);
	if (w->count > 0)
		qsort(w->items, w->count, sizeof(*w->items), by_place);
	return move_captures(c, err);
}
