#include "api/profiles/replay_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/plans/parse.h"
#include "api/profiles/json_build.h"

static const char *const MEMBERS[] = {"kind", "operation", "operator", "host",
                                      "rank", "like",      "factor",   NULL};
static const char *const KINDS[] = {"compute", "communication", "copy", NULL};
static const char *const HOST[] = {"launches", NULL};
static const char *const LIKE[] = {"median", NULL};

/* Which of the four sorts of change this is: exactly one must be named. */
static int parse_about(const json_t *o, const struct place *at, struct whatif_change *out,
                       struct sb_error *err)
{
	static const char *const subjects[] = {"kind", "operator", "host", "like"};
	int named = 0, word = 0, rc = SB_OK;

	for (size_t i = 0; i < 4; i++)
		named += json_object_get(o, subjects[i]) && !json_is_null(json_object_get(o, subjects[i]));
	if (named != 1)
		return parse_fail(err, SB_EINVAL, "bad_change", at, NULL,
		                  "must have exactly one of kind, operator, host and like");
	if (json_object_get(o, "kind")) {
		rc = parse_word(o, at, "kind", OPTIONAL, KINDS, &word, err);
		out->about = WHATIF_COMPUTE + (enum whatif_about)word;
	}
	if (rc == SB_OK && json_object_get(o, "operator")) {
		rc = parse_text(o, at, "operator", OPTIONAL, &out->name, err);
		if (rc == SB_OK && out->name)
			out->about = WHATIF_OPERATOR;
	}
	if (rc == SB_OK && json_object_get(o, "host")) {
		rc = parse_word(o, at, "host", OPTIONAL, HOST, &word, err);
		out->about = json_is_null(json_object_get(o, "host")) ? out->about : WHATIF_LAUNCHES;
	}
	if (rc == SB_OK && json_object_get(o, "like")) {
		rc = parse_word(o, at, "like", OPTIONAL, LIKE, &word, err);
		out->about = json_is_null(json_object_get(o, "like")) ? out->about : WHATIF_RANK;
	}
	return rc;
}

static int parse_change(const json_t *o, const struct place *at, struct whatif_change *out,
                        struct sb_error *err)
{
	int rc = parse_members(o, at, MEMBERS, err);
	bool like;

	*out = (struct whatif_change){.rank = SB_NULL, .factor = 1};
	if (rc == SB_OK)
		rc = parse_about(o, at, out, err);
	if (rc != SB_OK)
		return rc;
	like = out->about == WHATIF_RANK;
	if (json_object_get(o, "operation") && out->about != WHATIF_COMMUNICATION)
		return parse_fail(err, SB_EINVAL, "bad_change", at, "operation",
		                  "goes with kind \"communication\" only");
	if (like && json_object_get(o, "factor"))
		return parse_fail(err, SB_EINVAL, "bad_change", at, "factor",
		                  "follows from the other ranks here");
	if (out->about == WHATIF_COMMUNICATION)
		rc = parse_text(o, at, "operation", OPTIONAL, &out->name, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "rank", like ? REQUIRED : OPTIONAL, 0, INT32_MAX, &out->rank, err);
	if (rc == SB_OK && !like)
		rc = parse_number(o, at, "factor", REQUIRED, 0, REPLAY_FACTOR_MAX, &out->factor, err);
	if (rc == SB_OK && out->name && !out->name[0])
		rc =
		    parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at,
		               out->about == WHATIF_OPERATOR ? "operator" : "operation", "must not be empty");
	return rc;
}

int replay_request_parse(const json_t *body, struct replay_request *out, struct sb_error *err)
{
	static const char *const members[] = {"changes", NULL};
	struct place root = place_of(""), list = place_of("/changes");
	const json_t *changes = json_object_get(body, "changes");
	int rc = parse_members(body, &root, members, err);

	if (rc != SB_OK)
		return rc;
	if (!changes)
		return parse_missing(err, body, &root, "changes");
	if (!json_is_array(changes))
		return parse_fail(err, SB_EINVAL, "wrong_type", &list, NULL, "must be a list");
	out->count = json_array_size(changes);
	if (out->count == 0 || out->count > REPLAY_CHANGES_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &list, NULL,
		                  "must hold between 1 and 64 changes");
	for (size_t i = 0; i < out->count && rc == SB_OK; i++) {
		struct place at = place_index(&list, i);

		rc = parse_change(json_array_get(changes, i), &at, &out->changes[i], err);
	}
	return rc;
}

static json_t *rank_rows(const struct replay_answer *a)
{
	const struct profile *p = replay_profile(a->graph);
	json_t *rows = json_array();

	for (size_t i = 0; i < p->count; i++) {
		const struct capture *c = &p->captures[i];
		json_t *o;

		if (a->spans[i].measured_ns == SB_NULL)
			continue;
		o = json_object();
		json_object_set_new(o, "rank", json_int_or_null(c->rank));
		json_object_set_new(o, "source", json_text(c->source, strlen(c->source)));
		json_object_set_new(o, "measured_us", json_us(a->spans[i].measured_ns));
		json_object_set_new(o, "replayed_us", json_us(a->spans[i].replayed_ns));
		json_array_append_new(rows, o);
	}
	return rows;
}

static json_t *change_rows(const struct replay_request *r, const json_t *body)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < r->count; i++) {
		json_t *o = json_copy(json_array_get(json_object_get(body, "changes"), i));

		json_object_set_new(o, "events_matched", json_integer((json_int_t)r->changes[i].matched));
		if (r->changes[i].about == WHATIF_RANK) {
			json_object_set_new(o, "compute_factor",
			                    json_real_or_null(r->changes[i].compute_factor));
			json_object_set_new(o, "host_factor", json_real_or_null(r->changes[i].host_factor));
		}
		json_array_append_new(rows, o);
	}
	return rows;
}

static json_t *warnings(const struct replay_answer *a, const struct replay_request *r)
{
	const struct profile *p = replay_profile(a->graph);
	json_t *list = json_array();
	bool left = false, launches = false;

	for (size_t i = 0; i < r->count; i++) {
		char text[80];

		if (r->changes[i].matched > 0)
			continue;
		snprintf(text, sizeof(text), "Change %zu matches nothing in this profile.", i);
		json_warn(list, "no_match", text);
	}
	for (size_t i = 0; i < p->count; i++) {
		left = left || !replay_holds(a->graph, (uint32_t)i);
		launches = launches || replay_total(a->graph, (uint32_t)i).launches > 0;
	}
	if (left)
		json_warn(list, "left_out", "Captures without device work on a timeline are not replayed.");
	if (!launches)
		json_warn(list, "no_launches",
		          "The profile does not tell which call launched what: time that the device was idle "
		          "counts "
		          "as the host's.");
	return list;
}

json_t *replay_json(const struct replay_answer *a, const struct replay_request *r, const json_t *body)
{
	int64_t measured = a->result->measured_ns, replayed = a->result->replayed_ns;
	int64_t off = sb_sub_sat(a->unchanged->replayed_ns, measured);
	json_t *o = json_object();

	json_object_set_new(o, "steps", json_integer((json_int_t)a->steps));
	json_object_set_new(o, "measured_step_us", json_us(measured / a->steps));
	json_object_set_new(o, "replayed_step_us", json_us(replayed / a->steps));
	json_object_set_new(o, "gain_us", json_us(measured / a->steps - replayed / a->steps));
	json_object_set_new(o, "speedup",
	                    json_real_or_null(replayed > 0 ? (double)measured / (double)replayed : NAN));
	json_object_set_new(o, "unchanged_error",
	                    json_real_or_null(measured > 0 ? fabs((double)off) / (double)measured : NAN));
	json_object_set_new(o, "ranks", rank_rows(a));
	json_object_set_new(o, "changes", change_rows(r, body));
	json_object_set_new(o, "warnings", warnings(a, r));
	return o;
}
