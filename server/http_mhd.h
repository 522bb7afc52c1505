#ifndef SB_SERVER_HTTP_MHD_H
#define SB_SERVER_HTTP_MHD_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/http.h"
#include "server/jobs.h"
#include "server/log.h"

/* The HTTP listener, over libmicrohttpd: takes requests apart, refuses what is malformed, streams bodies to
 * the store, and runs the api. No type of the library is seen outside server/http_*.c. */

struct http_limits {
	int connections;
	int header_seconds;           /* for a request line with its headers */
	int idle_seconds;             /* silence on a connection */
	int stall_seconds;            /* window over which the rate of a body is averaged */
	int64_t stall_rate;           /* bytes a second that a body must reach */
	int64_t drain_bytes;          /* of a refused body that are read before the answer */
	int stop_seconds;             /* how long a stop waits for requests under way */
	int threads, request_threads; /* 0: max(4, 2 x cores) */
};
extern const struct http_limits HTTP_LIMITS_DEFAULT;

struct http_config {
	const struct log *log;
	struct api_service *api;
	struct store *store;
	struct job_queue *jobs;
	struct api_limits limits;
	struct http_limits http;
	int listen_fd; /* bound, listening, non-blocking; owned by the server from here on */
	const atomic_bool *draining;
};

struct http_server;

/* Starts the listener's threads. All signals that the process waits for must be blocked already. SB_ENOMEM,
 * SB_EIO. */
int http_start(const struct http_config *config, struct http_server **out, struct sb_error *err);
/* Takes no more connections, lets requests under way end (config.http.stop_seconds at most), answers those
 * that wait, and stops. The draining flag must be set. Ends the process with status 1 when a request does
 * not come back. NULL-safe. */
void http_stop(struct http_server **s);
#endif
