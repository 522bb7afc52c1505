#include "profiler/read/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

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
	int rc = n < 0 || (size_t)n >= sizeof(both) ? SB_ELIMIT : SB_OK;

	if (rc == SB_OK && !c->keys)
		rc = sb_strings_new(&c->keys);
	if (rc == SB_OK)
		rc = sb_strings_add(c->keys, both, (size_t)n, &id);
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

void collection_init(struct collection *c, const struct read_hooks *hooks)
{
	*c =
	    (struct collection){.context = {.profile = &c->profile, .hooks = hooks, .capture = find_capture}};
}

static void shrink_warnings(struct warnings *w)
{
	struct warning *less = w->count > 0 ? realloc(w->items, w->count * sizeof(*less)) : NULL;

	if (less)
		w->items = less;
}

void collection_shrink(struct collection *c)
{
	sb_strings_free(&c->keys);
	shrink_warnings(&c->profile.warnings);
	for (size_t i = 0; i < c->count; i++)
		trace_shrink(&c->list[i]->trace);
}

void collection_free(struct collection *c)
{
	for (size_t i = 0; i < c->count; i++)
		capture_discard(&c->list[i]);
	free(c->list);
	sb_strings_free(&c->keys);
	profile_free(&c->profile);
	*c = (struct collection){0};
}
