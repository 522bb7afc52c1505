#include "api/profiles/documents.h"

#include "api/profiles/json_build.h"
#include "base/num.h"

/* The critical paths and the operators need nothing of the other analyses, nor they of them. */
struct apart {
	struct profile_results *r;
	const struct collectives *collectives;
	int rc;
	struct sb_error err;
};

static void find_apart(void *arg)
{
	struct apart *a = arg;

	a->rc = critical_paths_find(&a->r->profile, a->collectives, &a->r->paths, &a->err);
	if (a->rc == SB_OK)
		a->rc = operators_collect(&a->r->profile, &a->r->operators, &a->err);
}

static int find_the_rest(struct profile_results *r, const struct collectives *matched,
                         const struct thresholds *t, struct sb_error *err)
{
	int rc = breakdown_compute(&r->profile, &r->profile.warnings, &r->breakdown, err);

	if (rc == SB_OK)
		rc = communication_compute(&r->profile, threshold_get(t, "r_wait")->value, &r->communication,
		                           err);
	return rc == SB_OK ? analysis_run(&r->profile, &r->breakdown, &r->communication, matched, t,
	                                  &r->analysis, err)
	                   : rc;
}

int results_analyse(struct profile_results *r, const struct thresholds *t, const struct sb_executor *executor,
                    struct sb_error *err)
{
	COLLECTIVES_AUTO c = {0};
	struct apart apart = {.r = r, .collectives = &c};
	int rc = collectives_match(&r->profile, &c);

	if (rc != SB_OK)
		return sb_fail(err, rc, "collectives", "The collectives cannot be matched: %s.",
		               sb_strerror(rc));
	if (!executor || !executor->submit(executor->self, find_apart, &apart))
		find_apart(&apart);
	rc = find_the_rest(r, &c, t, err);
	if (executor)
		executor->wait(executor->self);
	if (rc == SB_OK && apart.rc != SB_OK && err)
		*err = apart.err;
	return rc == SB_OK ? apart.rc : rc;
}

int results_compute(const struct read_input *inputs, size_t count, const struct read_limits *limits,
                    const struct read_hooks *hooks, const struct thresholds *t, struct profile_results *out,
                    struct sb_error *err)
{
	struct profile_results r = {0};
	int rc = profile_read(inputs, count, limits, hooks, &r.profile, err);

	if (rc == SB_OK)
		rc = results_analyse(&r, t, hooks ? hooks->executor : NULL, err);
	if (rc == SB_OK)
		*out = r;
	else
		results_free(&r);
	return rc;
}

void results_free(struct profile_results *r)
{
	analysis_free(&r->analysis);
	critical_paths_free(&r->paths);
	communication_free(&r->communication);
	operators_free(&r->operators);
	breakdown_free(&r->breakdown);
	profile_free(&r->profile);
}

json_t *json_int_or_null(int64_t v)
{
	return v == SB_NULL ? json_null() : json_integer(v);
}

json_t *json_string_id(const struct sb_strings *s, uint32_t id)
{
	size_t len;
	const char *text = sb_strings_get(s, id, &len);

	return id == 0 ? json_null() : json_text(text, len);
}
