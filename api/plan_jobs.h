#ifndef SB_API_PLAN_JOBS_H
#define SB_API_PLAN_JOBS_H
#include "api/internal.h"

/* The jobs that search for plans: what they were asked, so that the same request joins the one that is under
 * way, and how they ended, for an hour or until many more have. In memory alone: a restart loses what is
 * under way. Thread-safe. */
struct plan_jobs;
struct plan_jobs *plan_jobs_new(void);
void plan_jobs_free(struct plan_jobs **all); /* NULL-safe */

/* The job that searches for the plan of this digest: the one under way, else a new one, which is submitted.
 * text: the request with its names resolved. SB_EBUSY when too many wait, SB_ENOMEM. */
int plan_jobs_enter(struct api_service *s, const char *digest, const char *text, char out_id[STORE_ID_MAX],
                    struct sb_error *err);
/* The request of a job that begins; the caller frees. NULL when it is not known. */
char *plan_jobs_begin(struct plan_jobs *all, const char *id);
/* A job found its plan, */
void plan_jobs_found(struct plan_jobs *all, const char *id, const char *plan);
/* or failed, with this problem document, which is taken (NULL: no memory was left for it). */
void plan_jobs_failed(struct plan_jobs *all, const char *id, const struct sb_error *why, char *problem);
/* A canceled job is joined no more. */
void plan_jobs_cancel(struct plan_jobs *all, const char *id);

struct plan_job {
	char digest[65];
	bool ended;
	char plan[STORE_ID_MAX]; /* that was found, or "" */
	struct sb_error error;   /* that it failed with */
	char *problem;           /* likewise, as the request is answered; owned by the caller, NULL = none */
};
/* false when it is not known (any more). */
bool plan_jobs_look(struct plan_jobs *all, const char *id, struct plan_job *out);
/* The first to hear of a plan is told that it was made; true once. */
bool plan_jobs_tell(struct plan_jobs *all, const char *id);
#endif
