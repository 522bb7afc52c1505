#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/read/collect.h"

struct partial *partials_add(struct partials *p, const struct source *s, const char *path)
{
	struct partial *n = calloc(1, sizeof(*n));

	if (n)
		n->path = strdup(path);
	if (!n || !n->path) {
		free(n);
		atomic_store(&p->no_memory, true);
		return NULL;
	}
	collection_init(&n->own, s->budget.shared->hooks);
	memcpy(n->order, s->order, sizeof(n->order));
	n->next = atomic_load(&p->first);
	while (!atomic_compare_exchange_weak(&p->first, &n->next, n))
		continue;
	return n;
}

static void partial_free(struct partial *n)
{
	collection_free(&n->own);
	free(n->path);
	free(n->left_out);
	free(n->failed);
	free(n);
}

void partials_free(struct partials *p)
{
	struct partial *n = atomic_load(&p->first);

	while (n) {
		struct partial *next = n->next;

		partial_free(n);
		n = next;
	}
	free(p->items);
}

static int by_order(const struct partial *x, const struct partial *y)
{
	for (size_t i = 0; i <= SOURCE_ARCHIVE_DEPTH; i++) {
		if (x->order[i] != y->order[i])
			return x->order[i] < y->order[i] ? -1 : 1;
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct partial *x = *(struct partial *const *)a, *y = *(struct partial *const *)b;
	int c = strcmp(x->path, y->path);

	if (c == 0)
		c = by_order(x, y);
	/* one file may have two: what it brought, and why it failed */
	return c != 0 ? c : (int)y->file - (int)x->file;
}

/* The same path twice would be read into one capture twice. */
static int refuse(struct partial *n)
{
	if (!n->failed)
		n->failed = malloc(sizeof(*n->failed));
	if (!n->failed)
		return SB_ENOMEM;
	*n->failed = (struct sb_error){0};
	sb_fail_at(n->failed, SB_EFORMAT, "duplicate_file", n->path, 0, -1,
	           "the upload holds this path twice: the first one is used");
	collection_free(&n->own);
	free(n->left_out);
	n->left_out = NULL;
	n->unknown = false;
	return SB_OK;
}

static int refuse_copies(struct partials *p)
{
	const struct partial *first = NULL;
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < p->count; i++) {
		struct partial *n = p->items[i];
		bool same = first && strcmp(first->path, n->path) == 0 && n->path[0] != '\0';

		if (!same)
			first = n->file ? n : NULL;
		else if (by_order(first, n) != 0 && (n->file || n->failed))
			rc = refuse(n);
	}
	return rc;
}

int partials_sort(struct partials *p)
{
	size_t count = 0;

	for (const struct partial *n = atomic_load(&p->first); n; n = n->next)
		count++;
	p->items = calloc(count + 1, sizeof(struct partial *));
	if (!p->items)
		return SB_ENOMEM;
	for (struct partial *n = atomic_load(&p->first); n; n = n->next)
		p->items[p->count++] = n;
	qsort(p->items, count, sizeof(struct partial *), by_path);
	return refuse_copies(p);
}
