#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "api/plans/plans.h"
#include "api/profiles/documents.h"
#include "base/num.h"

static int named(void *self, const char *family, const char *name, char **out_text)
{
	struct api_service *s = self;
	size_t len;

	if (strcmp(family, "profiles") == 0)
		return store_document_get(s->config.store, name, "layers", out_text, &len, NULL);
	return store_named_get(s->config.store, family, name, out_text, NULL);
}

struct plan_lookup plans_lookup(struct api_service *s)
{
	return (struct plan_lookup){.self = s, .named = named};
}

void plans_kinds(struct call *c)
{
	c->res->status = 200;
	c->res->content_type = "application/json";
	c->res->static_body = c->s->kinds;
	c->res->body_len = c->s->kinds_length;
	snprintf(c->version, sizeof(c->version), "%.32s", c->s->kinds_version);
}

/* What a list shows of a plan: all but its long members. */
static json_t *summary(const struct store_plan *p)
{
	static const char *const members[] = {"method", "problem", "solution", "predicted", "quality"};
	JSON_AUTO whole = json_loads(p->text, 0, NULL);
	json_t *o = json_object();
	char created[32];

	store_time_text(p->created_us, created);
	json_object_set_new(o, "id", json_string(p->id));
	json_object_set_new(o, "kind", json_string(p->kind));
	json_object_set_new(o, "created_at", json_string(created));
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		json_t *v = json_object_get(whole, members[i]);

		if (v)
			json_object_set(o, members[i], v);
	}
	return o;
}

void plans_list(struct call *c)
{
	struct store_plan *list = NULL;
	struct sb_error err = {0};
	struct page page;
	char last[STORE_ID_MAX] = "";
	size_t n = 0;
	json_t *items;
	bool more = false;

	if (!page_begin(c, 'l', true, &page))
		return;
	if (store_plan_list(c->s->config.store, page.after[0] ? page.after : NULL, page.limit, PAGE_BYTES_MAX,
	                    &list, &n, &more, &err) != SB_OK) {
		api_problem_from(c->res, &err);
		return;
	}
	items = json_array();
	for (size_t i = 0; i < n; i++) {
		json_array_append_new(items, summary(&list[i]));
		memcpy(last, list[i].id, sizeof(last));
		store_plan_clear(&list[i]);
	}
	free(list);
	page_end(c, 'l', &page, items, more ? last : NULL);
}

void plan_reply(struct call *c, int status, struct store_plan *p)
{
	char path[80];

	reply_text(c, status, "application/json", p->text, strlen(p->text));
	p->text = NULL;
	if (strcmp(c->req->method, "POST") == 0) {
		snprintf(path, sizeof(path), "/v1/plans/%.40s", p->id);
		api_res_header(c->res, "Location", path);
	}
	store_plan_clear(p);
}

static bool find_plan(struct call *c, struct store_plan *out)
{
	struct sb_error err = {0};

	if (store_plan_get(c->s->config.store, c->param, out, &err) == SB_OK)
		return true;
	api_problem_from(c->res, &err);
	return false;
}

void plans_get(struct call *c)
{
	struct store_plan p = {0};

	if (!find_plan(c, &p))
		return;
	/* a plan never changes, and its id is never given again */
	memcpy(c->version, p.id, sizeof(c->version));
	plan_reply(c, 200, &p);
}

void plans_delete(struct call *c)
{
	struct sb_error err = {0};

	if (store_plan_delete(c->s->config.store, c->param, &err) != SB_OK)
		api_problem_from(c->res, &err);
	else
		reply_empty(c, 204);
}

void plans_export(struct call *c)
{
	const char *format = query_text(c, "format"), *type = NULL;
	struct store_plan p = {0};
	struct sb_error err = {0};
	JSON_AUTO plan = NULL;
	char *text = NULL;
	int rc;

	if (!format || !*format) {
		problem_query(c->res, "format", "Name the format of the export.");
		return;
	}
	if (!find_plan(c, &p))
		return;
	plan = json_loads(p.text, 0, NULL);
	store_plan_clear(&p);
	rc = plan_export(plan, format, &text, &type, &err);
	if (rc == SB_OK)
		reply_text(c, 200, type, text, strlen(text));
	else if (rc == SB_ENOENT)
		problem_query(c->res, "format",
		              err.text[0] ? err.text : "This kind of plan has no such format.");
	else
		api_problem_from(c->res, &err);
}

/* The points in the plan's own order; a cursor is the place of the last one listed. */
void plans_frontier(struct call *c)
{
	struct store_plan p = {0};
	struct page page;
	JSON_AUTO plan = NULL;
	char last[32];
	const json_t *points;
	json_t *items;
	int64_t at = 0;

	if (!page_begin(c, 'f', false, &page))
		return;
	if (page.after[0] &&
	    (sb_parse_int(page.after, strlen(page.after), &at) != SB_OK || at < 0 || at > INT32_MAX)) {
		problem_query(c->res, "cursor", "This is no cursor of this list.");
		return;
	}
	if (!find_plan(c, &p))
		return;
	plan = json_loads(p.text, 0, NULL);
	store_plan_clear(&p);
	points = json_object_get(plan, "frontier");
	items = json_array();
	for (; (size_t)at < json_array_size(points) && json_array_size(items) < page.limit; at++)
		json_array_append(items, json_array_get(points, (size_t)at));
	snprintf(last, sizeof(last), "%lld", (long long)at);
	page_end(c, 'f', &page, items, (size_t)at < json_array_size(points) ? last : NULL);
}

/* A time of the view in the plan's own unit; *out stays as it is when the parameter is not there. */
static bool query_moment(struct call *c, const char *name, double *out)
{
	const char *text = query_text(c, name);

	if (!text || (sb_parse_double(text, strlen(text), out) == SB_OK && *out >= 0))
		return true;
	problem_query(c->res, name, "This must be a time from the start of the schedule, such as 12.5.");
	return false;
}

/* "3" or "0-15". */
static bool query_devices(struct call *c, struct plan_view *view)
{
	const char *text = query_text(c, "devices"), *dash;

	if (!text)
		return true;
	dash = strchr(text, '-');
	if (sb_parse_int(text, dash ? (size_t)(dash - text) : strlen(text), &view->first_device) == SB_OK &&
	    view->first_device >= 0) {
		view->last_device = view->first_device;
		if (!dash || sb_parse_int(dash + 1, strlen(dash + 1), &view->last_device) == SB_OK)
			return true;
	}
	problem_query(c->res, "devices", "This must be a device or a range of them, such as 0-15.");
	return false;
}

void plans_schedule(struct call *c)
{
	struct plan_view view = PLAN_VIEW_WHOLE;
	struct store_plan p = {0};
	struct sb_error err = {0};
	JSON_AUTO plan = NULL;
	SB_BUF_AUTO text;
	size_t len;
	int rc;

	sb_buf_init(&text, PLAN_SCHEDULE_MAX);
	if (!query_moment(c, "from", &view.from) || !query_moment(c, "to", &view.to) ||
	    !query_devices(c, &view) || !find_plan(c, &p))
		return;
	plan = json_loads(p.text, 0, NULL);
	store_plan_clear(&p);
	rc = plan_schedule(plan, &view, &text, &err);
	len = text.len;
	if (rc == SB_OK)
		reply_text(c, 200, "application/json", sb_buf_take(&text), len);
	else if (rc == SB_EINVAL && strcmp(err.word, "bad_view") == 0)
		problem_query(c->res, err.field, err.text);
	else
		api_problem_from(c->res, &err);
}
