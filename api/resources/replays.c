#include <stdlib.h>

#include "api/internal.h"
#include "api/profiles/replay_json.h"

/* Events of all captures together: 33 bytes each while a question is answered. */
#define EVENTS_MAX 16000000

static int too_many(struct sb_error *err)
{
	return sb_fail(err, SB_EIMPOSSIBLE, "too_many_events",
	               "The profile holds more events than a replay is made of: %d at most.", EVENTS_MAX);
}

/* The events of all captures. */
static int load(const struct timeline *t, struct profile *out, struct sb_error *err)
{
	uint64_t events = 0;
	int rc = SB_OK;

	for (size_t i = 0; i < t->count; i++)
		events += t->sections[i].count;
	if (events > EVENTS_MAX)
		return too_many(err);
	out->captures = calloc(t->count + 1, sizeof(*out->captures));
	if (!out->captures)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "The service is out of memory.");
	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		rc = timeline_load(t, &t->sections[i], &out->captures[i], err);
		out->count += rc == SB_OK;
	}
	return rc;
}

static int build(const struct profile *p, struct replay_graph **out, struct sb_error *err)
{
	int rc = replay_build(p, out, err);

	if (rc != SB_OK || *out)
		return rc;
	return sb_fail(err, SB_EIMPOSSIBLE, "not_replayable",
	               "The profile has no work of a device on a timeline, or more than %d pieces of it.",
	               REPLAY_NODES_MAX);
}

/* How many steps the profile has, >= 1. */
static int64_t steps_of(struct call *c)
{
	struct store_profile p = {0};
	int64_t steps = 0;

	if (store_profile_get(c->s->config.store, c->param, &p, NULL) == SB_OK) {
		JSON_AUTO facts = p.facts ? json_loads(p.facts, 0, NULL) : NULL;

		steps = (int64_t)json_array_size(json_object_get(facts, "steps"));
		store_profile_clear(&p);
	}
	return steps > 0 ? steps : 1;
}

static int answer(struct call *c, const struct timeline *t, struct replay_request *r, const json_t *body,
                  struct sb_error *err)
{
	PROFILE_AUTO p = {0};
	REPLAY_AUTO g = NULL;
	struct relief *reliefs = NULL;
	struct replay_span *spans = NULL;
	struct replay_result result, unchanged;
	size_t n = 0;
	int rc = load(t, &p, err);

	if (rc == SB_OK)
		rc = build(&p, &g, err);
	for (size_t i = 0; rc == SB_OK && i < r->count; i++)
		rc = whatif_add(g, &r->changes[i], &reliefs, &n);
	if (rc == SB_OK && !(spans = calloc(p.count + 1, sizeof(*spans))))
		rc = SB_ENOMEM;
	if (rc == SB_OK)
		rc = replay_run(g, NULL, 0, &unchanged, NULL, err);
	if (rc == SB_OK)
		rc = replay_run(g, reliefs, n, &result, spans, err);
	if (rc == SB_OK) {
		const struct replay_answer a = {g, &result, &unchanged, spans, steps_of(c)};

		reply_json(c, 200, replay_json(&a, r, body));
	} else if (rc == SB_ELIMIT && err->code == SB_OK) {
		rc = sb_fail(err, SB_EIMPOSSIBLE, "too_many_events",
		             "The changes name more than %d events together: ask for fewer at a time.",
		             WHATIF_RELIEFS_MAX);
	} else if (rc == SB_ENOMEM && err->code == SB_OK) {
		rc = sb_fail(err, rc, "out_of_memory", "The service is out of memory.");
	}
	free(reliefs);
	free(spans);
	return rc;
}

void replays_create(struct call *c)
{
	struct replay_request *r = calloc(1, sizeof(*r));
	JSON_AUTO body = body_object(c);
	struct sb_error err = {0};
	struct opened *o = NULL;
	int rc = SB_OK;

	if (body && r) {
		rc = replay_request_parse(body, r, &err);
		if (rc == SB_OK)
			rc = timelines_take(c->s, c->param, &o, &err);
	} else if (body) {
		rc = sb_fail(&err, SB_ENOMEM, "out_of_memory", "The service is out of memory.");
	}
	if (o) {
		rc = answer(c, &o->timeline, r, body, &err);
		timelines_give(c->s, o);
	}
	free(r);
	if (rc != SB_OK)
		results_failed(c, rc, &err);
}
