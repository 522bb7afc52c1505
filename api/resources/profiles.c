#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "api/profiles/documents.h"

static void fail(struct call *c, const struct sb_error *err)
{
	api_problem_from(c->res, err);
}

void profiles_list(struct call *c)
{
	struct store *s = c->s->config.store;
	struct store_profile *list = NULL;
	struct sb_error err = {0};
	struct page page;
	size_t n = 0;
	json_t *items;
	bool more;
	char last[STORE_ID_MAX] = "";

	if (!page_begin(c, 'p', true, &page))
		return;
	if (store_profile_list(s, page.after[0] ? page.after : NULL, page.limit + 1, &list, &n, &err) !=
	    SB_OK) {
		fail(c, &err);
		return;
	}
	items = json_array();
	more = n > page.limit;
	for (size_t i = 0; i < n; i++) {
		if (i < page.limit) {
			json_array_append_new(items, stored_profile(s, &list[i]));
			memcpy(last, list[i].id, sizeof(last));
		}
		store_profile_clear(&list[i]);
	}
	free(list);
	page_end(c, 'p', &page, items, more ? last : NULL);
}

static void answer_profile(struct call *c, const char *id, int status)
{
	struct store *s = c->s->config.store;
	struct store_profile p = {0};
	struct sb_error err = {0};

	if (store_profile_get(s, id, &p, &err) != SB_OK) {
		fail(c, &err);
		return;
	}
	reply_json(c, status, stored_profile(s, &p));
	store_profile_clear(&p);
}

void profiles_get(struct call *c)
{
	char *text = NULL;
	size_t len = 0;

	/* once reading is over, the whole object stands as one text */
	if (store_document_get(c->s->config.store, c->param, "profile", &text, &len, NULL) == SB_OK)
		reply_text(c, 200, "application/json", text, len);
	else
		answer_profile(c, c->param, 200);
}

void profiles_delete(struct call *c)
{
	struct sb_error err = {0};

	/* a job that is reading it ends early; one that does not know it is no trouble */
	c->s->config.job_ops->cancel(c->s->config.jobs, c->param);
	if (store_profile_delete(c->s->config.store, c->param, &err) != SB_OK)
		fail(c, &err);
	else
		reply_empty(c, 204);
	timelines_forget(c->s, c->param);
}

static void add_location(struct call *c, const char *id)
{
	char path[80];

	snprintf(path, sizeof(path), "/v1/profiles/%.40s", id);
	api_res_header(c->res, "Location", path);
	snprintf(path, sizeof(path), "</v1/jobs/%.40s>; rel=\"monitor\"", id);
	api_res_header(c->res, "Link", path);
}

/* The answer after the wait: what has become of the profile. */
static void answer_waited(struct call *c, const char *id)
{
	struct store *s = c->s->config.store;
	struct store_profile p = {0};
	struct sb_error err = {0};
	bool working;

	if (store_profile_get(s, id, &p, &err) != SB_OK) {
		fail(c, &err);
		return;
	}
	working = strcmp(p.state, "queued") == 0 || strcmp(p.state, "reading") == 0;
	if (strcmp(p.state, "failed") == 0) {
		snprintf(c->param, sizeof(c->param), "%.40s", id);
		answer_not_ready(c);
	} else {
		reply_json(c, working ? 202 : 201, stored_profile(s, &p));
		if (working)
			api_res_header(c->res, "Retry-After", "1");
	}
	add_location(c, id);
	store_profile_clear(&p);
}

/* A name is shown in many places: valid UTF-8 without control bytes. */
static bool name_fits(const char *name)
{
	JSON_AUTO j = json_string(name);

	if (!j || strlen(name) > 255)
		return false;
	for (const char *p = name; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	}
	return true;
}

/* Without a name, a profile is called as its file, or as the directory that its files came in. */
static void default_name(const struct upload *up, char out[256])
{
	const char *path = upload_first(up), *slash = strchr(path, '/'), *last = strrchr(path, '/');

	if (slash && upload_files(up) > 1)
		snprintf(out, 256, "%.*s", (int)(slash - path), path);
	else
		snprintf(out, 256, "%s", last && last[1] ? last + 1 : path);
}

/* The same key again: the profile that was just made for nothing goes. */
static bool replayed(struct call *c, const struct idem *idem, const char *digest, const char *id)
{
	if (!idem_replay(c, idem, digest))
		return false;
	store_profile_delete(c->s->config.store, id, NULL);
	return true;
}

static void created(struct call *c, const struct idem *idem, struct store_profile *p)
{
	char text[400], digest[65];
	int wait = prefer_wait(c->req, 0);

	snprintf(text, sizeof(text), "%s %s", p->sha256, p->name);
	store_sha256(text, strlen(text), digest);
	if (replayed(c, idem, digest, p->id))
		return;
	metrics_upload(c->s->metrics, p->bytes);
	profile_submit(c->s, p->id);
	reply_json(c, 202, stored_profile(c->s->config.store, p));
	add_location(c, p->id);
	idem_keep(c, idem, digest);
	if (wait > 0 && c->res->status == 202) {
		wait_for_job(c, p->id, wait);
		api_res_header(c->res, "Preference-Applied", "wait");
	}
}

void profiles_create(struct call *c)
{
	struct store_profile p = {0};
	struct sb_error err = {0};
	const char *name = query_text(c, "name");
	char own_name[256];
	IDEM_AUTO idem = {0};

	if (c->req->waited && c->req->waited_job[0]) {
		answer_waited(c, c->req->waited_job);
		return;
	}
	if (!c->req->upload || !*c->req->upload) {
		api_problem(c->res, 400, "no_body", "The request needs the file as its body.");
		return;
	}
	if (name && !name_fits(name)) {
		problem_query(c->res, "name",
		              "A name is at most 255 bytes of UTF-8 without control characters.");
		return;
	}
	if (upload_bytes(*c->req->upload) == 0) {
		sb_fail_at(&err, SB_EFORMAT, "empty", upload_first(*c->req->upload), 0, 0,
		           "The upload is empty: it holds no byte.");
		fail(c, &err);
		return;
	}
	if (!idem_begin(c, "POST /v1/profiles", &idem))
		return;
	default_name(*c->req->upload, own_name);
	if (store_profile_create(c->s->config.store, c->req->upload, name && *name ? name : own_name, &p,
	                         &err) != SB_OK) {
		fail(c, &err);
		return;
	}
	created(c, &idem, &p);
	store_profile_clear(&p);
}
