#ifndef SB_SERVER_HTTP_PRIVATE_H
#define SB_SERVER_HTTP_PRIVATE_H
/* Shared by server/http_*.c alone: the only place outside them where libmicrohttpd is named. */
#include <microhttpd.h>
#include <pthread.h>

#include "base/buf.h"
#include "server/http_mhd.h"
#include "server/http_request.h"
#include "server/pool.h"

enum { HEADERS_MAX = 100, MULTIPART_BUFFER = 65536 };

/* The library takes plain pointers to what it only reads or hands back. */
static inline void *without_const(const void *p)
{
	union {
		const void *in;
		void *out;
	} both = {.in = p};

	return both.out;
}

/* A connection, as the watchdog sees it. */
struct peer {
	struct peer *next, *prev; /* under http_server.peers_lock, as is fd */
	int fd;
	_Atomic int64_t deadline_ns; /* cut past it; 0 = none */
	_Atomic int64_t body_bytes;  /* received since the connection began */
	_Atomic int64_t blocked_ns;  /* spent by ourselves on storing them */
	atomic_bool in_body;
	int64_t window_ns, window_bytes, window_blocked; /* the watchdog's own */
};

struct http_server {
	struct http_config config;
	struct MHD_Daemon *daemon;
	struct pool *pool;
	pthread_mutex_t peers_lock;
	struct peer *peers;
	pthread_t watchdog;
	bool watching;
	pthread_mutex_t stop_lock;
	pthread_cond_t stop_cond;
	bool stop_watchdog;
	pthread_mutex_t dispatch_lock; /* closing against a hand-over to the pool */
	bool closing;
	atomic_int suspended, under_way;
	uint64_t run; /* random: tells the requests of one run of the service from those of another */
	atomic_ullong request_count;
};

enum call_phase {
	CALL_NEW,
	CALL_BODY,     /* the body is being received */
	CALL_AWAY,     /* suspended: in the pool, or waiting for a job */
	CALL_ANSWERED, /* res is ready to be sent */
	CALL_SENT
};

struct multipart;

/* One request, from its request line to its completion. */
struct call {
	struct pool_item item;
	struct job_waiter waiter;
	struct http_server *server;
	struct MHD_Connection *connection;
	struct peer *peer; /* NULL when memory was short */
	char *raw;         /* the target as sent */
	struct target target;
	struct api_pair headers[HEADERS_MAX];
	struct framing framing;
	char method[16]; /* as sent, cut */
	struct api_req req;
	struct api_res res;
	enum api_mode mode;
	_Atomic enum call_phase phase; /* its change hands the call from thread to thread */
	bool decided; /* res holds the answer already; what is left of the body is discarded */
	bool close;   /* the connection ends with this answer */
	int64_t received, discarded, sent, started_ns;
	struct sb_buf body;
	struct upload *upload;
	struct multipart *multipart;
};

/* http_call.c */
void *call_new(void *server, const char *uri, struct MHD_Connection *connection);
enum MHD_Result call_handle(void *server, struct MHD_Connection *connection, const char *url,
                            const char *method, const char *version, const char *data, size_t *size,
                            void **call);
void call_completed(void *server, struct MHD_Connection *connection, void **call,
                    enum MHD_RequestTerminationCode code);

/* http_body.c. Each decides the answer (call->decided) when it fails. */
void body_begin(struct call *c);
/* False: the connection must be cut, the budget for discarding is used up. */
bool body_take(struct call *c, const char *data, size_t size);
void body_end(struct call *c);
void body_clear(struct call *c);

/* http_multipart.c */
bool multipart_new(struct call *c, const char *boundary);
void multipart_take(struct call *c, const char *data, size_t size);
void multipart_end(struct call *c);
void multipart_free(struct multipart **m);

/* http_respond.c. decide_*: the answer is a problem document of ours. */
void decide(struct call *c, int status, const char *code, const char *detail);
void decide_error(struct call *c, const struct sb_error *err);
enum MHD_Result respond_send(struct call *c);

/* http_wait.c: runs the api for the call, on this thread or with the connection suspended. */
enum MHD_Result wait_run(struct call *c);

/* http_watchdog.c */
int watchdog_start(struct http_server *s);
void watchdog_stop(struct http_server *s);
void peer_event(void *server, struct MHD_Connection *connection, void **peer,
                enum MHD_ConnectionNotificationCode code);
void peer_expect(struct peer *p, int seconds); /* cut in so many seconds; 0 = never */
void peer_body(struct peer *p, bool in_body);
#endif
