#ifndef SB_API_PLANS_PLANS_H
#define SB_API_PLANS_PLANS_H
#include <jansson.h>
#include <math.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/watch.h"

/* Plan requests: JSON problem in, JSON answer out, over the pure planners. The same code serves POST
 * /v1/plans and `signalbox plan`. One row of the table of kinds and one file in this folder a kind. */

/* What a request is solved with: where names of stored models and clusters are looked up (presets are tried
 * first), and who follows it. Any pointer may be NULL. */
struct plan_lookup {
	void *self;
	/* The stored document of a name (family "models", "clusters" or "calibrations"; "profiles": the
	 * layers of that id),
	 * owned by the caller (free()). SB_ENOENT. */
	int (*named)(void *self, const char *family, const char *name, char **out_text);
	const struct sb_watch *watch;
};

/* Solves a request. *out is the answer of api.md without id and created_at. On failure err says why, with the
 * JSON pointer in err->field: SB_EINVAL (400: unknown or missing member, wrong type), SB_EIMPOSSIBLE and
 * SB_EINFEASIBLE (422), SB_ECANCELED when it was stopped. *out_extra, when not NULL, holds further members of
 * the problem document (least_memory_bytes, nearest); both are owned by the caller. */
int plan_solve(const struct plan_lookup *lookup, const json_t *request, json_t **out, json_t **out_extra,
               struct sb_error *err);
/* A request of a known kind and method with its names resolved (plan_solve() takes that, too: a name may
 * stand for another document later), and the digest input of it: canonically written (sorted members,
 * shortest numbers), with the program's version in front. Both are owned by the caller (json_decref(),
 * free()); out_resolved may be NULL. */
int plan_canonical(const struct plan_lookup *lookup, const json_t *request, json_t **out_resolved,
                   char **out_text, struct sb_error *err);
/* The answer of GET /v1/plan-kinds: {items:[{kind, methods, limits, schema}]}. */
json_t *plan_kinds(void);
/* A stored plan in the language of a launcher. SB_ENOENT for a format that this kind does not have. *out_type
 * is static. */
int plan_export(const json_t *plan, const char *format, char **out_text, const char **out_type,
                struct sb_error *err);

/* The part of a schedule that is asked for. */
struct plan_view {
	double from, to;                   /* in the unit of the plan's times; NaN = its begin, its end */
	int64_t first_device, last_device; /* both included; first_device -1 = all */
};
#define PLAN_VIEW_WHOLE                                                                                      \
	{                                                                                                    \
		NAN, NAN, -1, -1                                                                             \
	}
/* What each device of a stored plan runs when, and what it holds: the answer of GET /v1/plans/{id}/schedule,
 * appended to out. SB_ENOENT for a kind that has no schedule; SB_EINVAL with the parameter as field for a
 * view that cannot be. */
int plan_schedule(const json_t *plan, const struct plan_view *view, struct sb_buf *out, struct sb_error *err);
#define PLAN_SCHEDULE_MAX ((size_t)64 << 20)

/* ---- text.c ---- */

/* What `signalbox plan` prints: the plan, its export (format not NULL), or its schedule. */
struct plan_output {
	const char *format;
	bool schedule;
};

/* The whole plan as the API shows it: identity first, then what plan_solve() said. answer is taken. New
 * reference; NULL when out of memory. */
json_t *plan_document(const char *id, int64_t created_us, json_t *answer);
/* `signalbox plan`: the text of a request in (name: what to call it in errors), the text that is wanted out;
 * a plan has a fresh identity. On failure as plan_solve(); *out_extra is then the text of further members, or
 * NULL. The caller frees both texts. */
int plan_text(const char *request, size_t len, const char *name, const struct plan_output *wanted,
              char **out_text, char **out_extra, struct sb_error *err);
#endif
