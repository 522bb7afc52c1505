#ifndef SB_SERVER_CLIENT_H
#define SB_SERVER_CLIENT_H
#include <curl/curl.h>

#include "base/buf.h"
#include "base/err.h"

/* Talking to a running service with libcurl: http and https only, no redirects, bounded answers. */
struct client {
	CURL *curl;
	char server[512]; /* "http://HOST:PORT", without a last '/' */
};

/* An answer. text is JSON or a problem document, NUL-terminated. */
struct client_answer {
	long status;
	struct sb_buf text;
};
void client_answer_clear(struct client_answer *a);
#define CLIENT_ANSWER_AUTO __attribute__((cleanup(client_answer_clear))) struct client_answer

/* Prepares. SB_EINVAL when server is no http(s) URL. Initialises libcurl: call it once a process. */
int client_open(const char *server, struct client *out, struct sb_error *err);
/* Ends libcurl too. */
void client_close(struct client *c);
#define CLIENT_AUTO __attribute__((cleanup(client_close))) struct client

/* GET server + path within so many seconds. SB_EIO when there is no answer; an answer of any status is
 * SB_OK. */
int client_get(struct client *c, const char *path, long seconds, struct client_answer *out,
               struct sb_error *err);
/* Runs what was set up on c->curl for this path, with no limit in time but a least speed. */
int client_run(struct client *c, const char *path, long seconds, struct client_answer *out,
               struct sb_error *err);
#endif
