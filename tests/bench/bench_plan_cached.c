/* A plan from the store, asked for 50 times a second while large traces are read, against the same on the
 * idle service. Argument: a directory that holds kineto.json. */
#include "tests/bench/served.h"

enum { PLANS = 500, EVERY_US = 20000, TRACES = 6 };

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
		if (took < EVERY_US * INT64_C(1000))
			usleep((useconds_t)(EVERY_US - took / 1000));
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
	for (int i = 0; i < TRACES; i++)
		send_file(s, path);
	busy = plan_p99(s->port, request, &status);
	JOB_OPS.counts(s->jobs, counts);
	if (counts[JOB_RUNNING] == 0)
		fputs("bench: reading ended before the plans did\n", stderr);
	printf("http_plan_cached_p99 %.2f %.2f %.2f ms\n", busy, idle, idle / busy);
}

int main(int argc, char **argv)
{
	static struct service s;

	MUST(argc == 2);
	start_service(&s, argv[1]);
	bench_plan(&s, argv[1]);
	fflush(stdout);
	stop_service(&s);
	return 0;
}
