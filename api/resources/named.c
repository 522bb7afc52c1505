#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "api/named.h"
#include "api/profiles/documents.h"

static bool is_preset(const char *family, const char *name)
{
	const char *preset;

	for (size_t i = 0; (preset = preset_name(family, i)); i++) {
		if (strcmp(preset, name) == 0)
			return true;
	}
	return false;
}

json_t *named_document(const char *name, const char *text)
{
	JSON_AUTO stored = json_loads(text, 0, NULL);
	json_t *o = json_object();

	json_object_set_new(o, "name", json_string(name));
	json_object_set_new(o, "preset", json_false());
	if (stored)
		json_object_update_missing(o, stored);
	return o;
}

/* Presets come first, in their own order; returns how many fit. *last is the name of the last one. */
static size_t add_presets(const char *family, const struct page *page, json_t *items, const char **last,
                          bool *more)
{
	const char *name;
	bool found = !page->after[0] || !is_preset(family, page->after);
	size_t n = 0;

	if (page->after[0] && found)
		return 0;
	for (size_t i = 0; (name = preset_name(family, i)); i++) {
		if (!found) {
			found = strcmp(name, page->after) == 0;
			continue;
		}
		if (n == page->limit) {
			*more = true;
			break;
		}
		json_array_append_new(items, preset_document(family, name));
		*last = name;
		n++;
	}
	return n;
}

static int add_stored(struct call *c, const char *family, const struct page *page, size_t room, json_t *items,
                      char last[80], bool *more, struct sb_error *err)
{
	const char *after = page->after[0] && !is_preset(family, page->after) ? page->after : NULL;
	char **names = NULL;
	size_t n = 0, bytes = 0;
	int rc = store_named_list(c->s->config.store, family, after, room + 1, &names, &n, err);

	if (rc != SB_OK)
		return rc;
	for (size_t i = 0; i < n; i++) {
		char *text = NULL;

		*more = *more || i == room || bytes >= PAGE_BYTES_MAX;
		if (!*more && store_named_get(c->s->config.store, family, names[i], &text, NULL) == SB_OK) {
			json_array_append_new(items, named_document(names[i], text));
			snprintf(last, 80, "%s", names[i]);
			bytes += strlen(text);
		}
		free(text);
		free(names[i]);
	}
	free(names);
	return SB_OK;
}

void named_list(struct call *c)
{
	struct page page;
	struct sb_error err = {0};
	const char *last_preset = NULL;
	char last[80] = "";
	bool more = false;
	json_t *items;
	size_t n;

	if (!page_begin(c, c->subject[0], false, &page))
		return;
	items = json_array();
	n = add_presets(c->subject, &page, items, &last_preset, &more);
	if (last_preset)
		snprintf(last, sizeof(last), "%s", last_preset);
	if (!more && add_stored(c, c->subject, &page, page.limit - n, items, last, &more, &err) != SB_OK) {
		json_decref(items);
		api_problem_from(c->res, &err);
		return;
	}
	page_end(c, c->subject[0], &page, items, more ? last : NULL);
}

void named_get(struct call *c)
{
	struct sb_error err = {0};
	char *text = NULL;

	if (is_preset(c->subject, c->param)) {
		reply_json(c, 200, preset_document(c->subject, c->param));
		return;
	}
	if (store_named_get(c->s->config.store, c->subject, c->param, &text, &err) != SB_OK) {
		api_problem_from(c->res, &err);
		return;
	}
	reply_json(c, 200, named_document(c->param, text));
	free(text);
}

static bool writable(struct call *c)
{
	if (!name_is_valid(c->param)) {
		api_problem(
		    c->res, 400, "bad_name",
		    "A name is 1 to 64 letters, digits, '.', '_' or '-', and begins with none of '.', '-'.");
		return false;
	}
	if (is_preset(c->subject, c->param)) {
		api_problem(c->res, 409, "preset",
		            "A preset cannot be changed. Store it under another name.");
		return false;
	}
	return true;
}

/* What GET adds may come back with PUT. */
static bool strip(struct call *c, json_t *o)
{
	const char *name = json_string_value(json_object_get(o, "name"));

	if (name && strcmp(name, c->param) != 0) {
		struct sb_error err = {0};

		sb_fail_field(&err, SB_EINVAL, "name_mismatch", "/name",
		              "The document has another name than the path.");
		api_problem_from(c->res, &err);
		return false;
	}
	json_object_del(o, "name");
	json_object_del(o, "preset");
	json_object_del(o, "source");
	return true;
}

void named_put(struct call *c)
{
	struct sb_error err = {0};
	JSON_AUTO o = NULL;
	bool created = false;
	char *text;
	int rc;

	if (!writable(c))
		return;
	o = body_object(c);
	if (!o || !strip(c, o))
		return;
	rc = named_check(c->subject, o, &err);
	text = rc == SB_OK ? json_write(o, NULL) : NULL;
	if (rc == SB_OK && !text)
		rc = sb_fail(&err, SB_ENOMEM, "out_of_memory", "The service is out of memory.");
	if (rc == SB_OK)
		rc = store_named_put(c->s->config.store, c->subject, c->param, text, &created, &err);
	if (rc == SB_OK)
		reply_json(c, created ? 201 : 200, named_document(c->param, text));
	else
		api_problem_from(c->res, &err);
	if (rc == SB_OK && created)
		api_res_header(c->res, "Location", c->req->path);
	free(text);
}

void named_delete(struct call *c)
{
	struct sb_error err = {0};

	if (!writable(c))
		return;
	if (store_named_delete(c->s->config.store, c->subject, c->param, &err) != SB_OK)
		api_problem_from(c->res, &err);
	else
		reply_empty(c, 204);
}
