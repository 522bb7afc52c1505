/* The service against libmicrohttpd alone, both in this process and driven by the same client: a stored
 * resource over 64 keep-alive connections, an upload, and plans from the store while a trace is read.
 * Argument: a directory that holds kineto.json. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/clock.h"
#include "server/http_mhd.h"
#include "server/listener.h"

enum {
	CONNECTIONS = 64,
	ROUNDS = 5,
	ROUND_MS = 1000,
	BODY_BYTES = 4000,
	SINK_MB = 256,
	PLANS = 500,
	EVERY_MS = 20
};

#define MUST(x)                                                                                              \
	do {                                                                                                 \
		if (!(x)) {                                                                                  \
			fprintf(stderr, "bench_http: line %d failed: %s\n", __LINE__, #x);                   \
			exit(1);                                                                             \
		}                                                                                            \
	} while (0)

struct service {
	struct log log;
	atomic_bool draining;
	char dir[64];
	struct store *store;
	struct job_queue *jobs;
	struct api_service *api;
	struct http_server *http;
	int port;
};

static int run_job(void *self, const char *kind, const char *object, const struct job_control *control,
                   struct sb_error *err)
{
	return api_job_run(((struct service *)self)->api, kind, object, control, err);
}

static void start_service(struct service *s)
{
	struct http_config http = {.log = &s->log,
	                           .limits = API_LIMITS_DEFAULT,
	                           .http = HTTP_LIMITS_DEFAULT,
	                           .draining = &s->draining};
	struct api_config api = {
	    .job_ops = &JOB_OPS, .limits = API_LIMITS_DEFAULT, .listen_host = "127.0.0.1"};
	struct sb_error err = {0};
	char url[320];

	s->log = (struct log){.fd = open("/dev/null", O_WRONLY | O_CLOEXEC), .least = LOG_INFO};
	snprintf(s->dir, sizeof(s->dir), "%s", "/tmp/signalbox-bench-XXXXXX");
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

static void stop_service(struct service *s)
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

/* ---- libmicrohttpd alone ---- */

struct bare {
	struct MHD_Daemon *daemon;
	struct MHD_Response *reply; /* what every GET gets */
	int port;
	int file; /* where bodies go; -1: nowhere */
};

static enum MHD_Result bare_handle(void *self, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *data, size_t *size,
                                   void **seen)
{
	struct bare *b = self;

	(void)url;
	(void)method;
	(void)version;
	if (!*seen) {
		*seen = b;
		return MHD_YES;
	}
	if (*size) {
		MUST(b->file < 0 || write(b->file, data, *size) == (ssize_t)*size);
		*size = 0;
		return MHD_YES;
	}
	return MHD_queue_response(connection, MHD_HTTP_OK, b->reply);
}

/* headers: those of the service's answer; the library's own come by themselves. */
static void start_bare(struct bare *b, char *headers, void *body, size_t len)
{
	b->reply = MHD_create_response_from_buffer(len, body, MHD_RESPMEM_PERSISTENT);
	for (char *line = strtok_r(headers, "\r\n", &headers); (line = strtok_r(NULL, "\r\n", &headers));) {
		char *colon = strstr(line, ": ");

		MUST(colon);
		*colon = '\0';
		if (strcmp(line, "Date") != 0 && strcmp(line, "Content-Length") != 0 &&
		    strcmp(line, "Connection") != 0)
			MUST(MHD_add_response_header(b->reply, line, colon + 2) == MHD_YES);
	}
	b->file = -1;
	b->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, 0, NULL, NULL,
	                             bare_handle, b, MHD_OPTION_THREAD_POOL_SIZE, 4u,
	                             MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)131072, MHD_OPTION_END);
	MUST(b->daemon);
	b->port = MHD_get_daemon_info(b->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

/* ---- the client ---- */

static int dial(int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	MUST(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	return fd;
}

static void send_all(int fd, const void *data, size_t len)
{
	for (const char *at = data; len > 0;) {
		ssize_t n = write(fd, at, len);

		MUST(n > 0);
		at += n;
		len -= (size_t)n;
	}
}

/* Reads one answer into text; returns its length, and that of its head. */
static size_t answer(int fd, char *text, size_t size, size_t *out_head)
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

static int status_of(const char *text)
{
	return (int)strtol(text + 9, NULL, 10);
}

/* Answers a second over all connections, each asking again once it has its answer. */
static double rate(int port, const char *request, size_t answer_len)
{
	static char text[65536];
	struct epoll_event events[CONNECTIONS];
	int fds[CONNECTIONS], poll = epoll_create1(EPOLL_CLOEXEC);
	size_t got[CONNECTIONS] = {0};
	int64_t start, done = 0;

	for (uint32_t i = 0; i < CONNECTIONS; i++) {
		struct epoll_event e = {.events = EPOLLIN, .data.u32 = i};

		fds[i] = dial(port);
		MUST(epoll_ctl(poll, EPOLL_CTL_ADD, fds[i], &e) == 0);
	}
	start = clock_now_ns();
	for (int i = 0; i < CONNECTIONS; i++)
		send_all(fds[i], request, strlen(request));
	while (clock_now_ns() - start < ROUND_MS * INT64_C(1000000)) {
		int n = epoll_wait(poll, events, CONNECTIONS, 1000);

		for (int i = 0; i < n; i++) {
			uint32_t c = events[i].data.u32;
			ssize_t r = read(fds[c], text, sizeof(text));

			MUST(r > 0);
			got[c] += (size_t)r;
			if (got[c] < answer_len)
				continue;
			MUST(got[c] == answer_len);
			got[c] = 0;
			done++;
			send_all(fds[c], request, strlen(request));
		}
	}
	start = clock_now_ns() - start;
	for (int i = 0; i < CONNECTIONS; i++)
		close(fds[i]);
	close(poll);
	return (double)done * 1e9 / (double)start;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static void bench_get(struct service *s, struct bare *b, const char *request, size_t answer_len)
{
	double ours[ROUNDS], bare[ROUNDS], ratio[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		ours[i] = rate(s->port, request, answer_len);
		bare[i] = rate(b->port, request, answer_len);
		ratio[i] = ours[i] / bare[i];
	}
	printf("http_get_64 %.0f %.0f %.2f requests/s\n", median(ours, ROUNDS), median(bare, ROUNDS),
	       median(ratio, ROUNDS));
}

/* Megabytes a second of one upload, answer included. */
static double send_body(int port, const char *piece, size_t len)
{
	static char text[65536];
	char head[256];
	size_t head_len;
	int64_t start = clock_now_ns();
	int fd = dial(port);

	snprintf(head, sizeof(head),
	         "POST /v1/profiles?name=bench HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %zu\r\n\r\n",
	         port, (size_t)SINK_MB * len);
	send_all(fd, head, strlen(head));
	for (int i = 0; i < SINK_MB; i++)
		send_all(fd, piece, len);
	answer(fd, text, sizeof(text), &head_len);
	MUST(status_of(text) / 100 == 2);
	close(fd);
	return (double)SINK_MB * (double)len / 1e6 / ((double)(clock_now_ns() - start) / 1e9);
}

static void bench_upload(struct service *s, struct bare *b)
{
	size_t len = (size_t)1 << 20;
	char *piece = malloc(len);
	double ours[ROUNDS], sink[ROUNDS], file[ROUNDS], to_sink[ROUNDS], to_file[ROUNDS];
	int fd = open(s->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	MUST(piece && fd >= 0);
	memset(piece, 'x', len); /* no profile: reading it ends at once */
	for (int i = 0; i < ROUNDS; i++) {
		ours[i] = send_body(s->port, piece, len);
		b->file = -1;
		sink[i] = send_body(b->port, piece, len);
		b->file = fd;
		MUST(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
		file[i] = send_body(b->port, piece, len);
		to_sink[i] = ours[i] / sink[i];
		to_file[i] = ours[i] / file[i];
	}
	printf("http_upload_to_sink %.0f %.0f %.2f MB/s\n", median(ours, ROUNDS), median(sink, ROUNDS),
	       median(to_sink, ROUNDS));
	printf("http_upload_to_file_sink %.0f %.0f %.2f MB/s\n", median(ours, ROUNDS), median(file, ROUNDS),
	       median(to_file, ROUNDS));
	b->file = -1;
	close(fd);
	free(piece);
}

/* The 99th percentile, in ms, of a plan that is stored already, asked for every 20 ms. */
static double plan_p99(int port, const char *request, int *out_status)
{
	static double ms[PLANS];
	static char text[65536];
	int fd = dial(port);

	for (int i = 0; i < PLANS; i++) {
		int64_t start = clock_now_ns(), took;
		size_t head;

		send_all(fd, request, strlen(request));
		answer(fd, text, sizeof(text), &head);
		took = clock_now_ns() - start;
		*out_status = status_of(text);
		ms[i] = (double)took / 1e6;
		if (took < EVERY_MS * INT64_C(1000000))
			usleep((useconds_t)(EVERY_MS * 1000 - took / 1000));
	}
	close(fd);
	qsort(ms, PLANS, sizeof(ms[0]), by_value);
	return ms[PLANS * 99 / 100];
}

static void send_file(struct service *s, const char *path)
{
	static char piece[1 << 20], text[65536];
	FILE *f = fopen(path, "rbe");
	struct stat st;
	char head[256];
	size_t n, head_len;
	int fd = dial(s->port);

	MUST(f && fstat(fileno(f), &st) == 0);
	snprintf(
	    head, sizeof(head),
	    "POST /v1/profiles?name=trace HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: %lld\r\n\r\n",
	    s->port, (long long)st.st_size);
	send_all(fd, head, strlen(head));
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		send_all(fd, piece, n);
	fclose(f);
	answer(fd, text, sizeof(text), &head_len);
	MUST(status_of(text) == 202);
	close(fd);
}

static void bench_plan(struct service *s, const char *dir)
{
	static const char body[] = "{\"kind\":\"strategy\",\"model\":\"llama2-7b\",\"cluster\":{\"preset\":"
	                           "\"dgx-a100-80g\",\"nodes\":2},"
	                           "\"batch\":{\"global_sequences\":512}}";
	char request[1024], path[512];
	int64_t counts[5];
	double idle, busy;
	int status;

	snprintf(request, sizeof(request),
	         "POST /v1/plans HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
	         "Content-Length: %zu\r\n\r\n%s",
	         s->port, sizeof(body) - 1, body);
	snprintf(path, sizeof(path), "%s/kineto.json", dir);
	idle = plan_p99(s->port, request, &status);
	MUST(status == 200);
	/* two jobs run at a time, and one trace may be read before the last plan is asked for */
	for (int i = 0; i < 6; i++)
		send_file(s, path);
	busy = plan_p99(s->port, request, &status);
	JOB_OPS.counts(s->jobs, counts);
	if (counts[JOB_RUNNING] == 0)
		fputs("bench_http: reading ended before the plans did\n", stderr);
	printf("http_plan_cached_p99 %.2f %.2f %.2f ms\n", busy, idle, idle / busy);
}

int main(int argc, char **argv)
{
	static char text[65536];
	static struct service s;
	struct store_plan plan = {.kind = "strategy", .created_us = 1}, stored;
	struct bare bare = {0};
	char request[256], body[BODY_BYTES + 1], *headers;
	size_t len, head;
	bool existing;
	int fd;

	MUST(argc == 2);
	start_service(&s);
	snprintf(body, sizeof(body), "{\"id\":\"x\",\"text\":\"%0*d\"}", BODY_BYTES - 20, 0);
	plan.text = body;
	store_new_id(plan.id);
	store_sha256(body, strlen(body), plan.digest);
	MUST(store_plan_put(s.store, &plan, &stored, &existing, NULL) == SB_OK);
	snprintf(request, sizeof(request), "GET /v1/plans/%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", plan.id,
	         s.port);
	fd = dial(s.port);
	send_all(fd, request, strlen(request));
	len = answer(fd, text, sizeof(text), &head);
	MUST(status_of(text) == 200);
	close(fd);
	headers = strndup(text, head - 2);
	start_bare(&bare, headers, body, strlen(body));
	bench_get(&s, &bare, request, len);
	bench_upload(&s, &bare);
	bench_plan(&s, argv[1]);
	fflush(stdout);
	MHD_stop_daemon(bare.daemon);
	MHD_destroy_response(bare.reply);
	free(headers);
	store_plan_clear(&stored);
	stop_service(&s);
	return 0;
}
