#include "api/metrics.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const METHOD_NAMES[METHODS] = {"GET", "HEAD", "POST", "PUT", "DELETE", "other"};
/* The last one stands for every other status. */
static const int STATUS_CODES[STATUSES] = {200, 201, 202, 204, 206, 304, 400, 403, 404, 405, 406, 408, 409,
                                           413, 414, 415, 416, 417, 422, 429, 431, 499, 500, 503, 507, 0};
static const double BOUNDS[BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1, 2.5, 10, 60, 600};

double monotonic_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct metrics *metrics_new(void)
{
	return calloc(1, sizeof(struct metrics));
}

void metrics_free(struct metrics **m)
{
	free(*m);
	*m = NULL;
}

/* The templates of the table, each once, "/{asset}" and "other" last. */
static size_t templates(const char *out[TEMPLATES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < ROUTE_COUNT && n < TEMPLATES_MAX - 2; i++) {
		if (n == 0 || strcmp(out[n - 1], ROUTES[i].path) != 0)
			out[n++] = ROUTES[i].path;
	}
	out[n++] = "/{asset}";
	out[n++] = "other";
	return n;
}

static size_t template_index(const char *route)
{
	const char *all[TEMPLATES_MAX];
	size_t n = templates(all);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(all[i], route) == 0)
			return i;
	}
	return n - 1;
}

static size_t method_index(const char *method)
{
	for (size_t i = 0; i < METHODS - 1; i++) {
		if (strcmp(METHOD_NAMES[i], method) == 0)
			return i;
	}
	return METHODS - 1;
}

static size_t status_index(int status)
{
	for (size_t i = 0; i < STATUSES - 1; i++) {
		if (STATUS_CODES[i] == status)
			return i;
	}
	return STATUSES - 1;
}

void histogram_add(struct histogram *h, double seconds)
{
	size_t i = 0;

	while (i < BUCKETS && seconds > BOUNDS[i])
		i++;
	atomic_fetch_add_explicit(&h->bucket[i], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum_us, (unsigned long long)(seconds * 1e6), memory_order_relaxed);
}

void histogram_write(struct sb_buf *b, const char *name, const char *labels, struct histogram *h)
{
	unsigned long long n = 0;
	char plain[160] = "";
	size_t len = strlen(labels);

	for (size_t i = 0; i <= BUCKETS; i++) {
		n += atomic_load_explicit(&h->bucket[i], memory_order_relaxed);
		if (i < BUCKETS)
			sb_buf_addf(b, "%s_bucket{%sle=\"%g\"} %llu\n", name, labels, BOUNDS[i], n);
		else
			sb_buf_addf(b, "%s_bucket{%sle=\"+Inf\"} %llu\n", name, labels, n);
	}
	if (len > 0 && len + 2 < sizeof(plain)) {
		plain[0] = '{';
		memcpy(plain + 1, labels, len - 1);
		plain[len] = '}';
	}
	sb_buf_addf(b, "%s_sum%s %.6f\n", name, plain,
	            (double)atomic_load_explicit(&h->sum_us, memory_order_relaxed) * 1e-6);
	sb_buf_addf(b, "%s_count%s %llu\n", name, plain, n);
}

void family_write(struct sb_buf *b, const char *name, const char *type, const char *help)
{
	sb_buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void api_count(struct api_service *s, const char *method, const char *route, int status, int64_t microseconds,
               int64_t request_bytes, int64_t response_bytes)
{
	struct metrics *m = s->metrics;
	size_t at = template_index(route);

	atomic_fetch_add_explicit(&m->requests[at][method_index(method)][status_index(status)], 1,
	                          memory_order_relaxed);
	histogram_add(&m->duration[at], (double)microseconds * 1e-6);
	atomic_fetch_add_explicit(&m->request_bytes, (unsigned long long)request_bytes, memory_order_relaxed);
	atomic_fetch_add_explicit(&m->response_bytes, (unsigned long long)response_bytes,
	                          memory_order_relaxed);
}

static const char *const JOB_NAMES[JOB_KINDS] = {"profile", "plan"};

void metrics_job(struct metrics *m, const char *kind, bool done, double seconds)
{
	for (size_t i = 0; i < JOB_KINDS; i++)
		if (strcmp(JOB_NAMES[i], kind) == 0)
			histogram_add(&m->jobs[i][done], seconds);
}

void metrics_plan(struct metrics *m, int rc, double seconds)
{
	size_t outcome = rc == SB_OK ? 0 : rc == SB_EINFEASIBLE ? 1 : rc == SB_ECANCELED ? 3 : 2;

	histogram_add(&m->plans, seconds);
	atomic_fetch_add_explicit(&m->plan_outcome[outcome], 1, memory_order_relaxed);
}

void metrics_upload(struct metrics *m, int64_t bytes)
{
	atomic_fetch_add_explicit(&m->uploads, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&m->upload_bytes, (unsigned long long)bytes, memory_order_relaxed);
}

static void write_requests(struct sb_buf *b, struct metrics *m)
{
	const char *all[TEMPLATES_MAX];
	size_t count = templates(all);
	char labels[120];

	family_write(b, "signalbox_http_requests_total", "counter", "Requests answered.");
	for (size_t t = 0; t < count; t++) {
		for (size_t i = 0; i < (size_t)METHODS * STATUSES; i++) {
			size_t method = i / STATUSES, status = i % STATUSES;
			unsigned long long n = atomic_load(&m->requests[t][method][status]);

			if (n > 0 && status < STATUSES - 1)
				sb_buf_addf(b,
				            "signalbox_http_requests_total{route=\"%s\",method=\"%s\","
				            "status=\"%d\"} %llu\n",
				            all[t], METHOD_NAMES[method], STATUS_CODES[status], n);
			else if (n > 0)
				sb_buf_addf(b,
				            "signalbox_http_requests_total{route=\"%s\",method=\"%s\","
				            "status=\"other\"} %llu\n",
				            all[t], METHOD_NAMES[method], n);
		}
	}
	family_write(b, "signalbox_http_request_duration_seconds", "histogram",
	             "Time from the request line to the end of the answer.");
	for (size_t t = 0; t < count; t++) {
		snprintf(labels, sizeof(labels), "route=\"%s\",", all[t]);
		histogram_write(b, "signalbox_http_request_duration_seconds", labels, &m->duration[t]);
	}
}

static void write_one(struct sb_buf *b, const char *name, const char *type, const char *help,
                      unsigned long long value)
{
	family_write(b, name, type, help);
	sb_buf_addf(b, "%s %llu\n", name, value);
}

static void write_work(struct sb_buf *b, struct api_service *s)
{
	static const char *const states[] = {"queued", "running", "done", "failed", "canceled"};
	static const char *const outcomes[PLAN_OUTCOMES] = {"found", "infeasible", "refused", "canceled"};
	struct metrics *m = s->metrics;
	int64_t by_state[5] = {0};

	s->config.job_ops->counts(s->config.jobs, by_state);
	family_write(b, "signalbox_jobs", "gauge", "Jobs under way by state.");
	for (size_t i = 0; i < 2; i++)
		sb_buf_addf(b, "signalbox_jobs{state=\"%s\"} %lld\n", states[i], (long long)by_state[i]);
	family_write(b, "signalbox_jobs_ended_total", "counter", "Jobs that ended, by outcome.");
	for (size_t i = 2; i < 5; i++)
		sb_buf_addf(b, "signalbox_jobs_ended_total{outcome=\"%s\"} %lld\n", states[i],
		            (long long)by_state[i]);
	family_write(b, "signalbox_job_duration_seconds", "histogram", "Time that a job took.");
	for (size_t i = 0; i < (size_t)JOB_KINDS * 2; i++) {
		char labels[80];

		snprintf(labels, sizeof(labels), "kind=\"%s\",outcome=\"%s\",", JOB_NAMES[i / 2],
		         i % 2 == 0 ? "done" : "failed");
		histogram_write(b, "signalbox_job_duration_seconds", labels, &m->jobs[i / 2][i % 2 == 0]);
	}
	family_write(b, "signalbox_plans_total", "counter", "Plan searches by outcome.");
	for (size_t i = 0; i < PLAN_OUTCOMES; i++)
		sb_buf_addf(b, "signalbox_plans_total{outcome=\"%s\"} %llu\n", outcomes[i],
		            (unsigned long long)atomic_load(&m->plan_outcome[i]));
	family_write(b, "signalbox_plan_search_duration_seconds", "histogram",
	             "Time that a plan search took.");
	histogram_write(b, "signalbox_plan_search_duration_seconds", "", &m->plans);
	write_one(b, "signalbox_uploads_total", "counter", "Uploads stored.", atomic_load(&m->uploads));
	write_one(b, "signalbox_upload_bytes_total", "counter", "Bytes of the uploads stored.",
	          atomic_load(&m->upload_bytes));
	write_one(b, "signalbox_http_request_bytes_total", "counter", "Bytes of request bodies.",
	          atomic_load(&m->request_bytes));
	write_one(b, "signalbox_http_response_bytes_total", "counter", "Bytes of response bodies.",
	          atomic_load(&m->response_bytes));
}

static void write_store(struct sb_buf *b, struct store *s)
{
	struct store_numbers n;

	store_numbers(s, &n);
	write_one(b, "signalbox_profiles", "gauge", "Profiles stored.", (unsigned long long)n.profiles);
	write_one(b, "signalbox_plans", "gauge", "Plans stored.", (unsigned long long)n.plans);
	write_one(b, "signalbox_storage_database_bytes", "gauge", "Size of the database.",
	          (unsigned long long)n.database_bytes);
	write_one(b, "signalbox_storage_wal_bytes", "gauge", "Size of the write-ahead log.",
	          (unsigned long long)n.wal_bytes);
	write_one(b, "signalbox_storage_free_bytes", "gauge", "Free bytes on the disk of the data directory.",
	          (unsigned long long)n.free_bytes);
	write_one(b, "signalbox_storage_writable", "gauge", "1 while the store takes writes.",
	          store_health(s, NULL) == SB_OK);
}

#define METRICS_MAX (1u << 20)

void metrics_get(struct call *c)
{
	SB_BUF_AUTO b;
	size_t len;
	char *text;

	sb_buf_init(&b, METRICS_MAX);
	write_requests(&b, c->s->metrics);
	write_work(&b, c->s);
	write_store(&b, c->s->config.store);
	process_write(&b);
	len = b.len;
	text = sb_buf_take(&b);
	if (!text) {
		api_problem(c->res, 503, "out_of_memory", "The service is out of memory.");
		return;
	}
	reply_text(c, 200, "text/plain; version=0.0.4; charset=utf-8", text, len);
	api_res_header(c->res, "Cache-Control", "no-store");
}
