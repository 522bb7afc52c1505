#include "api/profiles/documents.h"

#include <stdlib.h>
#include <string.h>

#include "api/profiles/json_build.h"
#include "base/num.h"

#define UNRANKED_MAX 200

/* Distinct values, ascending. */
struct int_list {
	int64_t *items;
	size_t count, capacity;
};

static int list_add(struct int_list *l, int64_t v)
{
	if (v == SB_NULL || (l->count > 0 && l->items[l->count - 1] == v))
		return SB_OK;
	if (l->count == l->capacity) {
		size_t capacity = l->capacity ? l->capacity * 2 : 64;
		int64_t *p = realloc(l->items, capacity * sizeof(*p));

		if (!p)
			return SB_ENOMEM;
		l->items = p;
		l->capacity = capacity;
	}
	l->items[l->count++] = v;
	return SB_OK;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static json_t *list_json(struct int_list *l)
{
	json_t *array = json_array();

	if (l->count > 0)
		qsort(l->items, l->count, sizeof(*l->items), by_value);
	for (size_t i = 0; i < l->count; i++) {
		if (i == 0 || l->items[i] != l->items[i - 1])
			json_array_append_new(array, json_integer(l->items[i]));
	}
	free(l->items);
	*l = (struct int_list){0};
	return array;
}

static int collect_steps(const struct capture *c, struct int_list *steps)
{
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < c->step_count; i++)
		rc = list_add(steps, c->steps[i].number);
	return rc;
}

static int collect_devices(const struct capture *c, struct int_list *devices)
{
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < c->trace.lane_count; i++) {
		if (c->trace.lanes[i].device >= 0)
			rc = list_add(devices, c->trace.lanes[i].device);
	}
	return rc;
}

static json_t *warnings_json(const struct warnings *w)
{
	json_t *array = json_array();

	for (size_t i = 0; i < w->count; i++) {
		const struct warning *x = &w->items[i];
		json_t *o = json_object();

		json_object_set_new(o, "code", json_text(x->code, strlen(x->code)));
		json_object_set_new(o, "detail", json_text(x->detail, strlen(x->detail)));
		json_object_set_new(o, "file", json_text(x->file, strlen(x->file)));
		json_object_set_new(o, "line", x->line > 0 ? json_integer(x->line) : json_null());
		json_object_set_new(o, "offset", x->offset >= 0 ? json_integer(x->offset) : json_null());
		json_object_set_new(o, "count", json_integer((json_int_t)x->count));
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *left_out_json(const struct profile *p)
{
	json_t *array = json_array();

	for (size_t i = 0; i < p->left_out_count; i++) {
		const struct left_out *l = &p->left_out[i];

		json_array_append_new(array,
		                      json_pack("{s:o, s:o}", "file", json_text(l->file, strlen(l->file)),
		                                "reason", json_text(l->reason, strlen(l->reason))));
	}
	return array;
}

/* What a capture without a rank is named by. */
static json_t *unranked_json(const struct profile *p)
{
	json_t *array = json_array();

	for (size_t i = 0; i < p->count && json_array_size(array) < UNRANKED_MAX; i++) {
		const struct capture *c = &p->captures[i];

		if (c->rank == SB_NULL)
			json_array_append_new(array, json_text(c->source, strlen(c->source)));
	}
	return array;
}

static const char *format_of(const struct profile *p)
{
	for (size_t i = 1; i < p->count; i++) {
		if (p->captures[i].format != p->captures[0].format)
			return "mixed";
	}
	return p->count > 0 ? capture_format_name(p->captures[0].format) : NULL;
}

json_t *document_facts(const struct profile *p, const struct analysis *a)
{
	struct int_list ranks = {0}, steps = {0}, devices = {0};
	const char *format = format_of(p), *chip = "";
	int64_t events = 0;
	int rc = SB_OK;
	json_t *o = json_object();

	for (size_t i = 0; rc == SB_OK && i < p->count; i++) {
		const struct capture *c = &p->captures[i];

		rc = list_add(&ranks, c->rank);
		if (rc == SB_OK)
			rc = collect_steps(c, &steps);
		if (rc == SB_OK)
			rc = collect_devices(c, &devices);
		events += c->event_count;
		if (chip[0] == '\0')
			chip = c->chip;
	}
	json_object_set_new(o, "format", format ? json_string(format) : json_null());
	json_object_set_new(o, "ranks", list_json(&ranks));
	json_object_set_new(o, "unranked", unranked_json(p));
	json_object_set_new(o, "steps", list_json(&steps));
	json_object_set_new(o, "devices", list_json(&devices));
	json_object_set_new(o, "chip", chip[0] ? json_text(chip, strlen(chip)) : json_null());
	json_object_set_new(o, "captures", json_integer((json_int_t)p->count));
	json_object_set_new(o, "events", json_integer(events));
	json_object_set_new(o, "warnings", warnings_json(&p->warnings));
	json_object_set_new(o, "left_out", left_out_json(p));
	json_object_set_new(o, "left_out_total", json_integer((json_int_t)p->left_out_total));
	json_object_set_new(o, "verdict", document_verdict(a));
	if (rc != SB_OK) {
		json_decref(o);
		return NULL;
	}
	return o;
}
