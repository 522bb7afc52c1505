#ifndef SB_TESTS_BENCH_SERVED_H
#define SB_TESTS_BENCH_SERVED_H
/* The whole service in this process, and a small client, for benchmarks. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/clock.h"
#include "server/http_mhd.h"
#include "server/listener.h"

#define MUST(x)                                                                                              \
	do {                                                                                                 \
		if (!(x)) {                                                                                  \
			fprintf(stderr, "bench: line %d failed: %s\n", __LINE__, #x);                        \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

struct service {
	struct log log;
	atomic_bool draining;
	char dir[512];
	struct store *store;
	struct job_queue *jobs;
	struct api_service *api;
	struct http_server *http;
	int port;
};

static inline int run_job(void *self, const char *kind, const char *object, const struct job_control *control,
                          struct sb_error *err)
{
	return api_job_run(((struct service *)self)->api, kind, object, control, err);
}

/* The data directory is made inside parent. */
static inline void start_service(struct service *s, const char *parent)
{
	struct http_config http = {.log = &s->log,
	                           .limits = API_LIMITS_DEFAULT,
	                           .http = HTTP_LIMITS_DEFAULT,
	                           .draining = &s->draining};
	struct api_config api = {.job_ops = &JOB_OPS,
	                         .limits = API_LIMITS_DEFAULT,
	                         .thresholds = THRESHOLDS_DEFAULT,
	                         .listen_host = "127.0.0.1"};
	struct sb_error err = {0};
	char url[320];

	s->log = (struct log){.fd = open("/dev/null", O_WRONLY | O_CLOEXEC), .least = LOG_INFO};
	snprintf(s->dir, sizeof(s->dir), "%s/data-XXXXXX", parent);
	MUST(mkdtemp(s->dir));
	MUST(store_open(s->dir, &s->store, &err) == SB_OK);
	MUST(jobs_new(&JOB_QUEUE_DEFAULT, &s->jobs) == SB_OK);
	MUST(listener_open("127.0.0.1", "0", false, &http.listen_fd, url, &s->port, &err) == SB_OK);
	api.store = s->store;
	api.jobs = s->jobs;
	api.listen_port = s->port;
	MUST(api_service_new(&api, &s->api) == SB_OK);
	MUST(jobs_start(s->jobs, (struct job_work){.self = s, .run = run_job}) == SB_OK);
	http.api = s->api;
	http.store = s->store;
	http.jobs = s->jobs;
	MUST(http_start(&http, &s->http, &err) == SB_OK);
}

static inline void stop_service(struct service *s)
{
	char command[] = "rm", force[] = "-rf";
	char *const args[] = {command, force, s->dir, NULL};

	atomic_store(&s->draining, true);
	http_stop(&s->http);
	jobs_stop(s->jobs);
	api_service_free(&s->api);
	jobs_free(&s->jobs);
	store_close(&s->store);
	close(s->log.fd);
	execvp(args[0], args);
}

/* ---- the client ---- */

static inline int dial(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	MUST(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	return fd;
}

static inline void send_all(int fd, const void *data, size_t len)
{
	for (const char *at = data; len > 0;) {
		ssize_t n = write(fd, at, len);

		MUST(n > 0);
		at += n;
		len -= (size_t)n;
	}
}

/* Reads one answer into text; returns its length, and that of its head. */
static inline size_t answer(int fd, char *text, size_t size, size_t *out_head)
{
	size_t have = 0, whole = 0;

	while (whole == 0 || have < whole) {
		ssize_t n = read(fd, text + have, size - 1 - have);
		const char *end, *length;

		MUST(n > 0);
		have += (size_t)n;
		text[have] = '\0';
		end = strstr(text, "\r\n\r\n");
		if (whole || !end)
			continue;
		length = strstr(text, "Content-Length: ");
		MUST(length && length < end);
		*out_head = (size_t)(end - text) + 4;
		whole = *out_head + strtoul(length + 16, NULL, 10);
	}
	return have;
}

static inline int status_of(const char *text)
{
	return (int)strtol(text + 9, NULL, 10);
}

static inline int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#endif
