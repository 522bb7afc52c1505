#ifndef SB_API_HTTP_H
#define SB_API_HTTP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/executor.h"
#include "profiler/thresholds.h"
#include "storage/store.h"

/* The border between server/ and api/: requests and responses as plain structs, no socket, no library type.
 * Unit tests call api_handle() directly. */

struct api_pair {
	const char *name;
	const char *value; /* NULL for a query key without '=' */
};

struct api_req {
	const char *method; /* HEAD arrives as GET */
	const char *path;   /* percent-decoded, checked: starts with '/', no "..", no "//", no control byte */
	const struct api_pair *query;
	size_t query_count;
	const struct api_pair *headers; /* names as sent; compare without case: api_header() */
	size_t header_count;
	const char *body; /* whole body of a JSON request (at most limits.request_bytes), or NULL */
	size_t body_len;
	struct upload **upload;        /* a received upload, for the upload route; the handler consumes it */
	bool waited;                   /* second call, after the wait that the first answer asked for */
	char waited_job[STORE_ID_MAX]; /* then: the wait_job of the first answer */
	char request_id[72];
};

#define API_HEADERS_MAX 12
struct api_res {
	int status;
	char *body; /* owned by the response: malloc'ed; NULL = none */
	size_t body_len;
	const char *static_body;  /* instead of body: an asset built into the program */
	const char *content_type; /* static text */
	struct {
		const char *name; /* static text */
		char value[512];
	} headers[API_HEADERS_MAX];
	size_t header_count;
	/* Asks the server to call again, with req->waited set, when this job has ended or wait_seconds have
	 * passed. */
	char wait_job[STORE_ID_MAX];
	int wait_seconds;
};

/* How a request must be run. */
enum api_mode {
	API_INLINE, /* cheap read: on the connection's thread */
	API_POOL,   /* writes or computes: in the pool, the connection suspended */
	API_UPLOAD  /* as API_POOL, and its body is streamed into an upload (raw or multipart/form-data) */
};

struct api_limits {             /* told by /v1/version */
	int64_t upload_bytes;   /* 16 GiB */
	int64_t inflated_bytes; /* 64 GiB */
	int64_t ratio, ratio_from;
	int64_t archive_files;
	int64_t request_bytes;     /* 1 MiB */
	int64_t plan_wait_seconds; /* for a search, before its job is answered with */
};
extern const struct api_limits API_LIMITS_DEFAULT;

/* Background work, as the api sees it; implemented by server/jobs.c. */
enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_CANCELED };
struct job_status {
	char id[STORE_ID_MAX];
	char kind[24];             /* "profile", "plan" */
	char object[STORE_ID_MAX]; /* what it works on */
	enum job_state state;
	double progress;                          /* 0..1 */
	int64_t created_us, started_us, ended_us; /* 0 = not yet */
	struct sb_error error;
};
struct job_queue; /* opaque to the api */
struct job_ops {
	/* Queues work. The job's id is chosen by the caller: that of the profile, or of the plan to be made.
	 * SB_EBUSY when full. */
	int (*submit)(struct job_queue *q, const char *id, const char *kind, const char *object);
	/* SB_ENOENT for a job that is unknown or long gone. */
	int (*status)(struct job_queue *q, const char *id, struct job_status *out);
	/* Asks a job to end; one that is queued has ended when this returns. SB_ENOENT, SB_ECONFLICT when it
	 * has ended already. */
	int (*cancel)(struct job_queue *q, const char *id);
	/* Numbers for /metrics. */
	void (*counts)(struct job_queue *q, int64_t out_by_state[5]);
};
/* Given to a running job. */
struct job_control {
	void *self;
	void (*progress)(void *self, double share);
	bool (*canceled)(void *self);
	const struct sb_executor *executor; /* threads that help; NULL = none */
};

struct api_service; /* one a process; thread-safe */
struct api_config {
	struct store *store;
	struct job_queue *jobs;
	const struct job_ops *job_ops;
	struct api_limits limits;
	struct thresholds thresholds; /* told by /v1/thresholds */
	bool (*draining)(void *self); /* NULL: never */
	void *draining_self;
	/* What Host and Origin are held against: the address as given to --listen (without brackets; NULL =
	 * loopback only) and the port that is really bound (0 = any port is accepted). With allow_remote any
	 * host name is accepted as Host; an Origin must still be the same host and port as the Host. The text
	 * is copied. */
	const char *listen_host;
	int listen_port;
	bool allow_remote;
};
int api_service_new(const struct api_config *config, struct api_service **out);
void api_service_free(struct api_service **s);

/* How the request must be run; decided from method and path alone. For API_UPLOAD and bodies the server also
 * needs the early answer: api_precheck() fills *res and returns true when the request can be refused before
 * its body (404, 405, 415, 413 by Content-Length, 403 by Host or Origin, 400 by query). */
enum api_mode api_mode_of(const char *method, const char *path);
bool api_precheck(struct api_service *s, const struct api_req *req, int64_t content_length,
                  struct api_res *res);
/* Answers a request. Never fails: failures are problem documents. The caller frees with api_res_clear(). */
void api_handle(struct api_service *s, const struct api_req *req, struct api_res *res);
void api_res_clear(struct api_res *res);
/* The work of a job, on a pool thread. */
int api_job_run(struct api_service *s, const char *kind, const char *object,
                const struct job_control *control, struct sb_error *err);
/* Queues again what a former process left unfinished. Call once, after the queue runs. */
int api_resume_jobs(struct api_service *s, struct sb_error *err);
/* Counts for /metrics, called by the server after each answer. route: the template, or "other". */
void api_count(struct api_service *s, const char *method, const char *route, int status, int64_t microseconds,
               int64_t request_bytes, int64_t response_bytes);
/* The template of a path ("/v1/profiles/{id}"), or "other". Static text. */
const char *api_route_of(const char *path);
/* A header of the request by name without regard to case, or NULL. */
const char *api_header(const struct api_req *req, const char *name);
/* A problem document (RFC 9457) for a refusal that the server itself decides. */
void api_problem(struct api_res *res, int status, const char *code, const char *detail);
/* As api_problem(), from an error: the one table SB_E* → status, with position and field. */
void api_problem_from(struct api_res *res, const struct sb_error *err);
/* Gives an answer of the server's own what every answer of the api carries: instance and request_id of a
 * problem document, caching and sniffing headers. req->path is NULL when the target cannot be read. */
void api_finish(struct api_res *res, const struct api_req *req);
/* Adds a header; value is copied. */
void api_res_header(struct api_res *res, const char *name, const char *value);
#endif
