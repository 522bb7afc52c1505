#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "profiler/read/ascend.h"
#include "profiler/read/collect.h"
#include "profiler/read/merge.h"
#include "profiler/read/msprof.h"

/* One part of a capture. */
struct part {
	struct capture *capture;
	const struct partial *from;
	size_t index; /* in the order of the paths */
};

/* All parts of one capture, joined into the first. */
struct group {
	struct part *parts;
	size_t count;
	struct capture **more; /* of further devices that the capture turned out to hold */
	size_t more_count;
	struct profile profile; /* its warnings only */
	const struct read_hooks *hooks;
	int rc;
	struct sb_error err;
};

struct groups {
	struct part *parts;
	size_t part_count;
	struct group *items;
	size_t count;
};

static void groups_free(struct groups *g)
{
	for (size_t i = 0; i < g->part_count; i++)
		capture_discard(&g->parts[i].capture);
	for (size_t i = 0; i < g->count; i++) {
		struct group *x = &g->items[i];

		for (size_t k = 0; k < x->more_count; k++)
			capture_discard(&x->more[k]);
		free(x->more);
		profile_free(&x->profile);
	}
	free(g->parts);
	free(g->items);
}

static int same_capture(const struct part *x, const struct part *y)
{
	int c = strcmp(x->capture->source, y->capture->source);

	return c != 0 ? c : (int)x->capture->format - (int)y->capture->format;
}

static int by_capture(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int c = same_capture(x, y);

	return c != 0 ? c : x->index < y->index ? -1 : x->index > y->index;
}

/* Keys that only the other files of the upload make clear. */
static int settle_keys(struct groups *g)
{
	struct capture **list = calloc(g->part_count + 1, sizeof(struct capture *));
	int rc;

	if (!list)
		return SB_ENOMEM;
	for (size_t i = 0; i < g->part_count; i++)
		list[i] = g->parts[i].capture;
	rc = db_adopt_folders(list, g->part_count);
	free(list);
	return rc;
}

static int collect_parts(struct partials *p, struct groups *g)
{
	size_t n = 0;

	for (size_t i = 0; i < p->count; i++)
		n += p->items[i]->own.count;
	g->parts = calloc(n + 1, sizeof(*g->parts));
	g->items = calloc(n + 1, sizeof(*g->items));
	if (!g->parts || !g->items)
		return SB_ENOMEM;
	for (size_t i = 0; i < p->count; i++) {
		struct collection *own = &p->items[i]->own;

		for (size_t k = 0; k < own->count; k++) {
			g->parts[g->part_count] = (struct part){
			    .capture = own->list[k], .from = p->items[i], .index = g->part_count};
			g->part_count++;
			own->list[k] = NULL;
		}
		own->count = 0;
	}
	if (settle_keys(g) != SB_OK)
		return SB_ENOMEM;
	qsort(g->parts, g->part_count, sizeof(*g->parts), by_capture);
	for (size_t i = 0; i < g->part_count; i++) {
		if (i == 0 || same_capture(&g->parts[i - 1], &g->parts[i]) != 0)
			g->items[g->count++] = (struct group){.parts = &g->parts[i]};
		g->items[g->count - 1].count++;
	}
	return SB_OK;
}

/* Was a jump of the clock found in one of the capture's files? */
static bool told_of_jump(const struct group *g)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct warnings *w = &g->parts[i].from->own.profile.warnings;

		for (size_t k = 0; k < w->count; k++)
			if (strcmp(w->items[k].code, "clock_jump") == 0)
				return true;
	}
	return false;
}

static int finish_capture(struct read_context *ctx, struct capture *cap, bool told, struct sb_error *err)
{
	capture_check_clock(cap, told, &ctx->profile->warnings);
	return capture_is_ascend(cap) ? ascend_finish(ctx, cap, err) : SB_OK;
}

static void join_group(void *arg)
{
	struct group *g = arg;
	struct capture *first = g->parts[0].capture;
	struct read_context ctx = {.profile = &g->profile, .hooks = g->hooks};
	bool told = told_of_jump(g);

	for (size_t i = 1; g->rc == SB_OK && i < g->count; i++) {
		struct part *p = &g->parts[i];
		const struct part_origin from = {.path = p->from->path, .w = &g->profile.warnings};

		g->rc = capture_merge(first, p->capture, &from);
		capture_discard(&p->capture);
	}
	if (g->rc == SB_OK && first->format == FORMAT_MSPROF_TEXT)
		g->rc = msprof_split(first, &g->more, &g->more_count);
	if (g->rc == SB_ELIMIT)
		g->rc = sb_fail_at(&g->err, SB_EFORMAT, "too_many_events", first->source, 0, -1,
		                   "the files of this capture hold too many events or texts");
	else if (g->rc != SB_OK)
		sb_fail(&g->err, g->rc, "no_memory", "out of memory");
	if (g->rc == SB_OK)
		g->rc = finish_capture(&ctx, first, told, &g->err);
	for (size_t i = 0; g->rc == SB_OK && i < g->more_count; i++)
		g->rc = finish_capture(&ctx, g->more[i], told, &g->err);
}

static void join_all(struct groups *g, const struct read_hooks *hooks)
{
	const struct sb_executor *x = hooks ? hooks->executor : NULL;

	for (size_t i = 0; i < g->count; i++) {
		g->items[i].hooks = hooks;
		if (!x || !x->submit(x->self, join_group, &g->items[i]))
			join_group(&g->items[i]);
	}
	if (x)
		x->wait(x->self);
}

/* Warnings and left-out files, in the order of the paths. */
static void tell(const struct partials *p, struct profile *out)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct partial *n = p->items[i];
		const struct sb_error *e = n->failed;

		size_t len = e ? strlen(e->text) : 0;

		warnings_join(&out->warnings, &n->own.profile.warnings);
		if (n->left_out)
			profile_left_out(out, n->path, n->left_out);
		/* some of these texts are sentences, some are parts of one */
		if (len > 0 && e->text[len - 1] == '.')
			len--;
		if (e)
			warnings_add(&out->warnings, e->word, e->file[0] != '\0' ? e->file : n->path, e->line,
			             e->offset, "This file is not used: %.*s.", (int)len, e->text);
	}
}

static int join_parts(struct partials *p, const struct read_hooks *hooks, struct groups *g,
                      struct gathering *out, struct sb_error *err)
{
	size_t total = 0;

	join_all(g, hooks);
	tell(p, &out->profile);
	for (size_t i = 0; i < g->count; i++)
		total += 1 + g->items[i].more_count;
	out->list = calloc(total + 1, sizeof(struct capture *));
	if (!out->list)
		return sb_no_memory(err);
	for (size_t i = 0; i < g->count; i++) {
		if (g->items[i].rc != SB_OK) {
			if (err)
				*err = g->items[i].err;
			return g->items[i].rc;
		}
		warnings_join(&out->profile.warnings, &g->items[i].profile.warnings);
		out->list[out->count++] = g->items[i].parts[0].capture;
		g->items[i].parts[0].capture = NULL;
		for (size_t k = 0; k < g->items[i].more_count; k++) {
			out->list[out->count++] = g->items[i].more[k];
			g->items[i].more[k] = NULL;
		}
	}
	return SB_OK;
}

int gather(struct partials *p, const struct read_hooks *hooks, struct gathering *out, struct sb_error *err)
{
	struct groups g = {0};
	int rc = collect_parts(p, &g);

	if (rc == SB_OK)
		rc = join_parts(p, hooks, &g, out, err);
	else
		sb_fail(err, rc, "no_memory", "out of memory");
	groups_free(&g);
	return rc;
}

void gathering_free(struct gathering *g)
{
	for (size_t i = 0; i < g->count; i++)
		capture_discard(&g->list[i]);
	free(g->list);
	profile_free(&g->profile);
}

static int compare_left_out(const struct left_out *a, const struct left_out *b)
{
	int order = strcmp(a->file, b->file);

	return order != 0 ? order : strcmp(a->reason, b->reason);
}

/* The place of a new entry among the sorted ones: behind its equals. */
static size_t left_out_place(const struct profile *p, const struct left_out *entry)
{
	return SB_BISECT(i, 0, p->left_out_count, compare_left_out(&p->left_out[i], entry) <= 0);
}

void profile_left_out(struct profile *p, const char *file, const char *reason)
{
	struct left_out entry = {0};
	size_t at, end;

	p->left_out_total++;
	snprintf(entry.file, sizeof(entry.file), "%s", file);
	snprintf(entry.reason, sizeof(entry.reason), "%s", reason);
	if (!p->left_out)
		p->left_out = calloc(LEFT_OUT_MAX, sizeof(*p->left_out));
	if (!p->left_out)
		return;
	at = left_out_place(p, &entry);
	if (at == LEFT_OUT_MAX)
		return;
	end = p->left_out_count < LEFT_OUT_MAX ? p->left_out_count++ : LEFT_OUT_MAX - 1;
	memmove(&p->left_out[at + 1], &p->left_out[at], (end - at) * sizeof(entry));
	p->left_out[at] = entry;
}
