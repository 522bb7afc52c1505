#ifndef SB_API_INTERNAL_H
#define SB_API_INTERNAL_H
#include <pthread.h>
#include <stdatomic.h>

#include "api/http.h"
#include "api/json.h"
#include "profiler/breakdown.h"
#include "profiler/operators.h"
#include "profiler/timeline.h"

/* Shared inside api/ only. */

struct metrics;
struct timelines;
struct plan_jobs;

struct api_service {
	struct api_config config;
	char *listen_host; /* what config.listen_host points to */
	struct metrics *metrics;
	struct timelines *timelines;
	struct plan_jobs *plan_jobs;
	/* the answer of GET /v1/plan-kinds, which never changes, and the version of it */
	char *kinds;
	size_t kinds_length;
	char kinds_version[65];
	atomic_bool backlog; /* profiles were stored that the full job queue did not take */
	pthread_mutex_t lock;
	struct idem_running *running; /* requests under way that carry an Idempotency-Key; under lock */
};

/* One request on its way through a handler. */
#define PARAM_MAX 128
struct call {
	struct api_service *s;
	const struct api_req *req;
	struct api_res *res;
	const char *subject;   /* of the route: a document ("breakdown") or family ("models"); NULL = none */
	char param[PARAM_MAX]; /* what stands for {id} or {name} in the path */
	/* names the bytes of the answer, for its ETag, where something does for good; "": they are hashed */
	char version[STORE_ID_MAX];
};

/* ---- routes (router.c) ---- */

struct route {
	const char *method;
	const char *path; /* template: at most one {…} segment */
	void (*handler)(struct call *c);
	enum api_mode mode;
	bool json_body;           /* the request has a JSON body */
	const char *const *query; /* the parameters it knows, ended by NULL; NULL = none */
	const char *subject;      /* what a handler of several routes is to serve, for call.subject */
};
extern const struct route ROUTES[];
extern const size_t ROUTE_COUNT;
/* Finds the route. NULL with *out_allow empty: no such path; with methods in *out_allow: other methods only.
 */
const struct route *route_find(const char *method, const char *path, char param[PARAM_MAX],
                               char out_allow[64]);
/* The template of a path, or NULL. */
const char *route_template(const char *path);

/* ---- answers (reply.c) ---- */

/* The value of a header of the answer, or NULL. */
const char *res_header(const struct api_res *res, const char *name);
/* Answers with a JSON value (the reference is taken; NULL answers 503 "out_of_memory"). */
void reply_json(struct call *c, int status, json_t *body);
/* Answers with a text that is owned by the caller until now. */
void reply_text(struct call *c, int status, const char *content_type, char *body, size_t len);
/* Answers with what a buffer holds, and leaves it empty. */
void reply_buf(struct call *c, int status, const char *content_type, struct sb_buf *b);
/* An answer without a body. */
void reply_empty(struct call *c, int status);
/* As api_problem_from(), with further members of the problem document; extra (NULL is fine) is taken. */
void problem_with(struct api_res *res, const struct sb_error *err, json_t *extra);
/* 400 that names a query parameter. */
void problem_query(struct api_res *res, const char *name, const char *detail);
/* Answers with the text of a problem document, which is taken; NULL answers 503 "out_of_memory". */
void problem_stored(struct api_res *res, int status, char *text);
/* Adds instance and request_id to a problem document. */
void problem_finish(struct api_res *res, const struct api_req *req);
/* The status of an error code, and its phrase (RFC 9110). */
int status_of(int code);
const char *status_phrase(int status);

/* ---- query parameters (query.c): false when a 400 was answered ---- */

bool query_check(const struct route *r, const struct api_req *req, struct api_res *res);
/* The value of a parameter ("" when it has none), or NULL. */
const char *query_text(const struct call *c, const char *name);
/* An integer within bounds; *out is unchanged when the parameter is not there. */
bool query_int(struct call *c, const char *name, int64_t least, int64_t most, int64_t *out);
/* One of several words; *out is the index, unchanged when the parameter is not there. */
bool query_word(struct call *c, const char *name, const char *const *words, size_t count, size_t *out);

/* "rank": a number or "unknown". *out: RANK_NOT_GIVEN without it, SB_NULL for the one of unknown rank. */
#define RANK_NOT_GIVEN (-1)
bool query_rank(struct call *c, int64_t *out);
/* A time in microseconds, as ns; SB_NULL without it. */
bool query_time(struct call *c, const char *name, int64_t *out);

/* ---- lists (page.c) ---- */

#define PAGE_DEFAULT 50
#define PAGE_MAX 500
/* Of stored documents in a page, which ends early there: it is written whole before it is sent. */
#define PAGE_BYTES_MAX ((size_t)8 << 20)
struct page {
	size_t limit;
	char after[80]; /* key of the last item seen, "" at the start */
};
/* Reads limit and cursor. The cursor is opaque to clients: kind, then the key. ids: the key must be a public
 * id, else a name. false when a 400 was answered. */
bool page_begin(struct call *c, char kind, bool ids, struct page *out);
/* Answers {items, next_cursor} and the Link header; items is taken. last: key of the last item when there may
 * be more, else NULL. */
void page_end(struct call *c, char kind, const struct page *p, json_t *items, const char *last);
/* The same behind the members of an object, which is taken. */
void page_end_with(struct call *c, char kind, const struct page *p, json_t *object, json_t *items,
                   const char *last);
bool name_is_valid(const char *name);

/* ---- conditional requests (conditional.c) ---- */

/* Chooses the representation of a 200: packed or plain, with its ETag, or 304 when the client has it. */
void represent(struct call *c);
/* Does If-None-Match name this tag (weak comparison, RFC 9110 section 13.1.2)? */
bool etag_matches(const char *if_none_match, const char *etag);

/* ---- encodings (encoding.c) ---- */

/* Is gzip acceptable by this Accept-Encoding (RFC 9110 section 12.5.3)? NULL: no. */
bool gzip_accepted(const char *accept);
/* Does this Accept name text/html? A wildcard does not count: scripts and curl send it. NULL: no. */
bool html_accepted(const char *accept);
/* Which of the types, ended by NULL, an Accept header wants most (RFC 9110 section 12.5.1): the weight
 * decides, then whether the type was named itself, then the order of the types. No header: the first. -1:
 * none of them. */
int accept_choose(const char *accept, const char *const *types);
/* Is this an answer that is worth compressing: JSON, neither small nor huge? */
bool pack_fits(const struct api_res *res);
/* Compresses the body. False when memory is short. */
bool pack(struct api_res *res);

/* ---- who may ask (origin.c) ---- */

/* Is the Host header's value one of ours? */
bool host_is_ours(const struct api_config *config, const char *host);
/* Is the Origin one of ours, in a request with this Host? */
bool origin_is_ours(const struct api_config *config, const char *origin, const char *host);

/* ---- idempotency keys (idempotency.c) ---- */

struct idem_running {
	struct idem_running *next, *prev;
	char key[256];
	const char *route;
};
struct idem {
	struct api_service *s;
	struct idem_running entry;
	bool active;
};
/* Enters a request with its key, if it has one. false when it was answered: 400 bad key, 409 the same request
 * is still under way. End it with IDEM_AUTO. */
bool idem_begin(struct call *c, const char *route, struct idem *out);
void idem_end(struct idem *i);
#define IDEM_AUTO __attribute__((cleanup(idem_end))) struct idem
/* Was this key answered before? true: answered now, with the stored answer (same digest), 422 for another
 * request, or the problem when the store cannot tell. */
bool idem_replay(struct call *c, const struct idem *i, const char *digest);
/* Keeps the answer of the call under the key. */
void idem_keep(struct call *c, const struct idem *i, const char *digest);
/* Keeps the key for this request alone until it has an answer: repeated meanwhile, it is gone through again.
 */
void idem_claim(struct call *c, const struct idem *i, const char *digest);
/* Keeps the answer that the call got after its wait. */
void idem_keep_waited(struct call *c, const char *route, const char *digest);

/* ---- long work (prefer.c) ---- */

#define PREFER_WAIT_MAX 25
/* Seconds to wait for a result: of Prefer: wait=SECONDS (RFC 7240), none for respond-async, else as usual. */
int prefer_wait(const struct api_req *req, int usual);
/* Has the request answered again when the job has ended, or after so many seconds; 0 = the answer stands. */
void wait_for_job(struct call *c, const char *id, int seconds);

/* ---- plans as stored (resources/plans.c) ---- */

/* Answers with a stored plan, which is emptied. */
void plan_reply(struct call *c, int status, struct store_plan *p);
/* The work of a job that searches for a plan (plan_search.c); as api_job_run(). */
int plan_search_run(struct api_service *s, const char *id, const struct job_control *control,
                    struct sb_error *err);
/* Answers with the document of a job (resources/jobs.c), or 404. */
void job_reply(struct call *c, int status, const char *id);

/* ---- profiles as stored (resources/profile_json.c) ---- */

/* The error that reading ended with, from the facts; false when there is none. */
bool stored_error(struct store *s, const struct store_profile *p, struct sb_error *out);
/* Facts that hold an error. The caller frees. */
char *error_facts(const struct sb_error *err);
/* The profile object. New reference. */
json_t *stored_profile(struct store *s, const struct store_profile *p);
/* Hands a profile to the job queue; when that is full, it waits in the store for the next job to end. */
void profile_submit(struct api_service *s, const char *id);
/* The profile's result is not there: answers 404, 409 with Retry-After, or the problem of a failed one. */
void answer_not_ready(struct call *c);

/* ---- opened timelines (timelines.c) ---- */

/* A side file that is kept open. Read it only; give it back. */
struct opened {
	char id[STORE_ID_MAX]; /* of the profile */
	dev_t device;
	ino_t inode;
	off_t bytes; /* as it was when it was opened */
	struct timespec changed;
	unsigned users; /* the list of opened files is one of them */
	struct timeline timeline;
};
struct timelines *timelines_new(void);
void timelines_free(struct timelines **all); /* NULL-safe */
/* The timeline of a profile, opened when it is not yet. SB_ENOENT when there is no file, SB_EFORMAT when it
 * is damaged or of another version, SB_EIO, SB_ENOMEM. */
int timelines_take(struct api_service *s, const char *id, struct opened **out, struct sb_error *err);
void timelines_give(struct api_service *s, struct opened *o);
/* Closes what is open of a profile once nobody reads it. */
void timelines_forget(struct api_service *s, const char *id);

/* ---- metrics (metrics.c) ---- */

struct metrics *metrics_new(void);
void metrics_free(struct metrics **m);
void metrics_job(struct metrics *m, const char *kind, bool done, double seconds);
void metrics_plan(struct metrics *m, int rc, double seconds);
void metrics_upload(struct metrics *m, int64_t bytes);
double monotonic_seconds(void);

/* ---- handlers (resources/) ---- */

void profiles_list(struct call *c);
void profiles_create(struct call *c);
void profiles_get(struct call *c);
void profiles_delete(struct call *c);
/* The stored document that is the subject. */
void results_document(struct call *c);
/* The same, of ?rank= and ?step= only the rows of the first list in it. */
void results_rows(struct call *c);
/* Keeps those rows of the first list in a document of ours; rank and step may be SB_NULL: any. Returns the
 * new length; the text is not ended anew. */
size_t rows_keep(char *text, size_t len, int64_t rank, int64_t step);
void results_operators(struct call *c);
/* The operators of the profile that c->param names; *out is to be freed by operators_free(). SB_ENOENT,
 * SB_EFORMAT, SB_EIO, SB_ENOMEM. */
int results_load_operators(struct call *c, struct operator_table *out, struct sb_error *err);
/* The breakdown of a profile; *out is to be freed by breakdown_free(). The same errors. */
int results_breakdown(struct call *c, const char *id, struct breakdown *out, struct sb_error *err);
/* Answers what kept a result from being read. Where it is damaged, or not there (a profile that an older
 * version finished lacks what that did not know), the upload is read once more, and the answer is "not
 * ready". */
void results_failed(struct call *c, int rc, const struct sb_error *err);
struct place;
/* A request names, at `at`, a profile one of whose documents is not there. One that is stored is answered
 * for, as by results_failed(): SB_ENOENT, and the response has a status. Otherwise SB_EIMPOSSIBLE. */
int results_lacking(struct call *c, const char *id, const struct place *at, struct sb_error *err);
void timeline_get(struct call *c);
void critical_path_get(struct call *c);
void comparisons_get(struct call *c);
void reports_get(struct call *c);
void replays_create(struct call *c);
void memory_get(struct call *c);
void plans_kinds(struct call *c);
void plans_list(struct call *c);
void plans_create(struct call *c);
void plans_get(struct call *c);
void plans_delete(struct call *c);
void plans_export(struct call *c);
void plans_frontier(struct call *c);
void plans_schedule(struct call *c);
/* What a plan's problem looks names up in. */
struct plan_lookup;
struct plan_lookup plans_lookup(struct api_service *s);
void plan_profiles_create(struct call *c);
void plan_profiles_list(struct call *c);
void accuracy_get(struct call *c);
void calibrations_create(struct call *c);
/* Models, clusters and calibrations: the subject is the family. */
/* A stored one, its text with its name in front. New reference. */
json_t *named_document(const char *name, const char *text);
void named_list(struct call *c);
void named_get(struct call *c);
void named_put(struct call *c);
void named_delete(struct call *c);
void jobs_get(struct call *c);
void jobs_cancel(struct call *c);
void health_live(struct call *c);
void health_ready(struct call *c);
void health_version(struct call *c);
void thresholds_list(struct call *c);
void metrics_get(struct call *c);
void openapi_get(struct call *c);
void openapi_signalbox_schema(struct call *c);
/* Any other path: the page. */
void assets_get(struct call *c);

/* The JSON object of a request body; NULL when a 400 was answered. New reference. */
json_t *body_object(struct call *c);
#endif
