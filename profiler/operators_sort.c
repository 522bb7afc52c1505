#include <stdlib.h>
#include <string.h>

#include "profiler/operators_parts.h"

static int by_key(const void *a, const void *b)
{
	const struct operator_row *x = a, *y = b;
	const int64_t left[] = {x->rank, x->step, x->klass, x->name, x->type, x->unit};
	const int64_t right[] = {y->rank, y->step, y->klass, y->name, y->type, y->unit};

	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		if (left[i] == right[i])
			continue;
		/* an unknown rank or no step comes last */
		if (left[i] == SB_NULL || right[i] == SB_NULL)
			return left[i] == SB_NULL ? 1 : -1;
		return left[i] < right[i] ? -1 : 1;
	}
	return 0;
}

struct text_at {
	const char *text;
	size_t len;
	uint32_t id;
};

static int by_text(const void *a, const void *b)
{
	const struct text_at *x = a, *y = b;
	int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

int operators_sort(struct operator_table *t)
{
	size_t n = sb_strings_count(t->strings);
	struct text_at *texts = calloc(n, sizeof(*texts));
	uint32_t *fresh = calloc(n, sizeof(*fresh));
	SB_STRINGS_AUTO sorted = NULL;
	int rc = texts && fresh ? sb_strings_new(&sorted) : SB_ENOMEM;

	for (size_t i = 0; i < n && rc == SB_OK; i++) {
		texts[i].text = sb_strings_get(t->strings, (uint32_t)i, &texts[i].len);
		texts[i].id = (uint32_t)i;
	}
	if (rc == SB_OK)
		qsort(texts, n, sizeof(*texts), by_text);
	for (size_t i = 0; i < n && rc == SB_OK; i++)
		rc = sb_strings_add(sorted, texts[i].text, texts[i].len, &fresh[texts[i].id]);
	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		t->rows[i].name = fresh[t->rows[i].name];
		t->rows[i].type = fresh[t->rows[i].type];
		t->rows[i].unit = fresh[t->rows[i].unit];
	}
	free(texts);
	free(fresh);
	if (rc != SB_OK)
		return rc;
	if (t->count > 0)
		qsort(t->rows, t->count, sizeof(*t->rows), by_key);
	struct sb_strings *old = t->strings;

	t->strings = sorted;
	sorted = old;
	return SB_OK;
}
