/* The service against libmicrohttpd alone, both in this process and driven by the same client: a stored
 * resource over 64 keep-alive connections, and an upload.
 * Argument: a directory for the data. */
#include <microhttpd.h>
#include <sys/epoll.h>

#include "tests/bench/served.h"

enum { CONNECTIONS = 64, ROUNDS = 5, ROUND_MS = 1000, BODY_BYTES = 4000, SINK_MB = 256 };

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
	MUST(b->file < 0 || fdatasync(b->file) == 0);
	return MHD_queue_response(connection, MHD_HTTP_OK, b->reply);
}

/* headers: those of the service's answer; the library's own come by themselves. */
static void start_bare(struct bare *b, char *headers, void *body, size_t len)
{
	char *rest = strstr(headers, "\r\n") + 2, *line; /* the status line is no header */

	b->reply = MHD_create_response_from_buffer(len, body, MHD_RESPMEM_PERSISTENT);
	while ((line = strtok_r(NULL, "\r\n", &rest))) {
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
	printf("http_upload_to_synced_sink %.0f %.0f %.2f MB/s\n", median(ours, ROUNDS), median(file, ROUNDS),
	       median(to_file, ROUNDS));
	b->file = -1;
	close(fd);
	free(piece);
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
	start_service(&s, argv[1]);
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
	fflush(stdout);
	MHD_stop_daemon(bare.daemon);
	MHD_destroy_response(bare.reply);
	free(headers);
	store_plan_clear(&stored);
	stop_service(&s);
	return 0;
}
