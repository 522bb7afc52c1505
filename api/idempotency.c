#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "api/profiles/documents.h"

/* Idempotency-Key (IETF httpapi draft-07): the same key and the same request get the same answer again. */

static bool key_is_valid(const char *key)
{
	size_t n = strlen(key);

	for (size_t i = 0; i < n; i++) {
		if (key[i] < 0x21 || key[i] > 0x7e)
			return false;
	}
	return n > 0 && n < sizeof(((struct idem_running *)0)->key);
}

static bool enter(struct api_service *s, struct idem_running *e)
{
	bool taken = false;

	pthread_mutex_lock(&s->lock);
	for (const struct idem_running *r = s->running; r && !taken; r = r->next)
		taken = strcmp(r->key, e->key) == 0 && strcmp(r->route, e->route) == 0;
	if (!taken) {
		e->next = s->running;
		e->prev = NULL;
		if (e->next)
			e->next->prev = e;
		s->running = e;
	}
	pthread_mutex_unlock(&s->lock);
	return !taken;
}

bool idem_begin(struct call *c, const char *route, struct idem *out)
{
	const char *key = api_header(c->req, "Idempotency-Key");

	*out = (struct idem){.s = c->s};
	if (!key)
		return true;
	if (!key_is_valid(key)) {
		api_problem(c->res, 400, "bad_idempotency_key",
		            "An Idempotency-Key is 1 to 255 visible ASCII characters.");
		return false;
	}
	snprintf(out->entry.key, sizeof(out->entry.key), "%s", key);
	out->entry.route = route;
	out->active = enter(c->s, &out->entry);
	if (!out->active) {
		api_problem(c->res, 409, "still_running",
		            "The first request with this key is still under way.");
		api_res_header(c->res, "Retry-After", "1");
	}
	return out->active;
}

void idem_end(struct idem *i)
{
	struct idem_running *e = &i->entry;

	if (!i->active)
		return;
	pthread_mutex_lock(&i->s->lock);
	if (e->prev)
		e->prev->next = e->next;
	else
		i->s->running = e->next;
	if (e->next)
		e->next->prev = e->prev;
	pthread_mutex_unlock(&i->s->lock);
	i->active = false;
}

static const char *text_of(const json_t *o, const char *name)
{
	const char *t = json_string_value(json_object_get(o, name));

	return t ? t : "";
}

bool idem_replay(struct call *c, const struct idem *i, const char *digest)
{
	char *answer = NULL, stored[65], *body;
	struct sb_error err = {0};
	JSON_AUTO o = NULL;
	int rc;

	if (!i->active)
		return false;
	rc = store_idempotency_get(c->s->config.store, i->entry.key, i->entry.route, stored, &answer, &err);
	if (rc == SB_ENOENT)
		return false;
	/* not knowing is no licence to do it again */
	if (rc != SB_OK) {
		api_problem_from(c->res, &err);
		return true;
	}
	o = json_loads(answer, 0, NULL);
	free(answer);
	if (strcmp(stored, digest) != 0) {
		api_problem(c->res, 422, "idempotency_key_reused", "This key was used for another request.");
		return true;
	}
	if (json_integer_value(json_object_get(o, "status")) == 0)
		return false; /* claimed only */
	body = strdup(text_of(o, "body"));
	if (!body) {
		api_problem(c->res, 503, "out_of_memory", "The service is out of memory.");
		return true;
	}
	reply_text(c, (int)json_integer_value(json_object_get(o, "status")), "application/json", body,
	           strlen(body));
	api_res_header(c->res, "Location", text_of(o, "location"));
	return true;
}

static void keep(struct call *c, const char *key, const char *route, const char *digest, json_t *answer)
{
	char *text = json_write(answer, NULL);

	json_decref(answer);
	/* should this fail, a repetition is only done again */
	if (text)
		store_idempotency_put(c->s->config.store, key, route, digest, text, NULL);
	free(text);
}

static json_t *answer_of(const struct api_res *res)
{
	const char *location = res_header(res, "Location");

	return json_pack("{s:i,s:s,s:o}", "status", res->status, "location", location ? location : "", "body",
	                 json_stringn(res->body, res->body_len));
}

void idem_keep(struct call *c, const struct idem *i, const char *digest)
{
	if (i->active && c->res->status < 300 && c->res->body)
		keep(c, i->entry.key, i->entry.route, digest, answer_of(c->res));
}

void idem_claim(struct call *c, const struct idem *i, const char *digest)
{
	if (i->active)
		keep(c, i->entry.key, i->entry.route, digest, json_pack("{s:i}", "status", 0));
}

void idem_keep_waited(struct call *c, const char *route, const char *digest)
{
	const char *key = api_header(c->req, "Idempotency-Key");

	if (key && c->res->status < 300 && c->res->body)
		keep(c, key, route, digest, answer_of(c->res));
}
