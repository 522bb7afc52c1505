/* Real exports of Nsight Systems of $SIGNALBOX_SHARED, against tables A4 and B6 of
 * samples/kineto/expected.md, oracles/traces/ref and user-pain.md 33. */
#include "tests/field/answer.h"

#include <jansson.h>

/* Table A4, "all rows"; kernel, copy and fill rows from its last column. */
static const struct device {
	const char *sample, *oracle;
	int64_t device, span, busy, idle, compute, copied, filled, kernels, copies, fills;
} DEVICES[] = {
    {"h100_2gpu_1s.sqlite.gz", "nsys__h100_2gpu_1s.json", 0, 969447605, 962890247, 6557358, 22385163,
     940490300, 14784, 1721, 452, 11},
    {"h100_2gpu_1s.sqlite.gz", "nsys__h100_2gpu_1s.json", 1, 969258578, 962810705, 6447873, 22444359,
     940351914, 14432, 1721, 452, 11},
    {"mock.sqlite", "nsys__mock.json", 0, 22453059, 5761, 22447298, 4129, 1632, 0, 2, 1, 0},
    {"healthy_1pct.sqlite", "nsys__healthy_1pct.json", 0, 403990000, 400000000, 3990000, 400000000, 0, 0, 400,
     0, 0},
};

static const struct breakdown_row *row_of(const struct answer *x, int64_t device)
{
	for (size_t i = 0; i < x->b.count; i++) {
		if (x->b.rows[i].device == device && x->b.rows[i].step == SB_NULL)
			return &x->b.rows[i];
	}
	fail_msg("no row of device %lld", (long long)device);
	return NULL;
}

static int64_t events_of(const struct trace *t, int64_t device, uint8_t kind)
{
	int64_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += t->kind[i] == kind && t->lanes[t->lane[i]].device == device;
	return n;
}

static void each_device_matches_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(DEVICES) / sizeof(DEVICES[0]); i++) {
		const struct device *d = &DEVICES[i];
		ANSWER_AUTO x = {0};
		const struct breakdown_row *r;
		const struct trace *t;

		answer_of("samples/nsys", d->sample, &x);
		assert_int_equal(x.p.count, 1);
		assert_int_equal(x.p.captures[0].format, FORMAT_NSYS);
		assert_int_equal(x.p.warnings.count, 0);
		r = row_of(&x, d->device);
		same(d->sample, "span", r->span_ns, d->span);
		same(d->sample, "busy", r->busy_ns, d->busy);
		same(d->sample, "idle", r->free_ns, d->idle);
		same(d->sample, "compute", r->compute_ns, d->compute);
		same(d->sample, "communication", r->communication_ns, 0);
		same(d->sample, "copy", r->copy_ns, d->copied + d->filled);
		t = &x.p.captures[0].trace;
		same(d->sample, "kernels", events_of(t, d->device, EVENT_KERNEL), d->kernels);
		same(d->sample, "collectives", events_of(t, d->device, EVENT_COMMUNICATION), 0);
		same(d->sample, "copies", events_of(t, d->device, EVENT_MEMCPY), d->copies);
		same(d->sample, "fills", events_of(t, d->device, EVENT_MEMSET), d->fills);
	}
}

static json_t *oracle(const char *name)
{
	char relative[200];
	char *path;
	json_t *o;

	(void)snprintf(relative, sizeof(relative), "oracles/traces/ref/%s", name);
	path = shared_path(relative);
	o = json_load_file(path, 0, NULL);
	free(path);
	assert_non_null(o);
	return o;
}

static int64_t number(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);

	assert_true(json_is_integer(v));
	return json_integer_value(v);
}

/* Count and time of the events that a test looks for. */
static void tally(const struct trace *t, uint8_t kind, const char *name, const char *type, int64_t *out_count,
                  int64_t *out_ns, int64_t *out_bytes)
{
	*out_count = *out_ns = *out_bytes = 0;
	for (size_t i = 0; i < t->count; i++) {
		const struct event_detail *d = trace_detail(t, (uint32_t)i);

		if (t->kind[i] != kind || (name && strcmp(trace_text(t, t->name[i], NULL), name) != 0) ||
		    (type && (!d || strcmp(trace_text(t, d->type, NULL), type) != 0)))
			continue;
		++*out_count;
		*out_ns += t->dur_ns[i];
		*out_bytes += d ? d->bytes : 0;
	}
}

static void check_kernels(const char *where, const struct trace *t, const json_t *o)
{
	const json_t *k;
	size_t i;

	json_array_foreach(json_object_get(o, "top_kernels"), i, k)
	{
		int64_t count, ns, bytes;

		tally(t, EVENT_KERNEL, json_string_value(json_object_get(k, "name")), NULL, &count, &ns,
		      &bytes);
		same(where, "calls of a kernel", count, number(k, "count"));
		same(where, "time of a kernel", ns, number(k, "total_ns"));
	}
	assert_true(i > 0);
}

/* Kinds of copies: 1 HtoD, 2 DtoH, 8 DtoD (trace-formats.md, section 4). */
static void check_copies(const char *where, const struct trace *t, const json_t *o)
{
	static const char *const KINDS[][2] = {{"1", "HtoD"}, {"2", "DtoH"}, {"8", "DtoD"}};

	for (size_t i = 0; i < 3; i++) {
		const json_t *k = json_object_get(json_object_get(o, "memcpy_by_kind"), KINDS[i][0]);
		int64_t count, ns, bytes;

		tally(t, EVENT_MEMCPY, NULL, KINDS[i][1], &count, &ns, &bytes);
		same(where, "copies of a kind", count, k ? number(k, "n") : 0);
		same(where, "bytes of a kind", bytes, k ? number(k, "bytes") : 0);
		same(where, "time of a kind", ns, k ? number(k, "total_ns") : 0);
	}
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t launched(const struct trace *t)
{
	int64_t *links = malloc((t->count + 1) * sizeof(*links)), found = 0;
	size_t n = 0;

	assert_non_null(links);
	for (size_t i = 0; i < t->count; i++) {
		if (t->kind[i] == EVENT_HOST_RUNTIME && t->link[i] >= 0)
			links[n++] = t->link[i];
	}
	qsort(links, n, sizeof(*links), by_value);
	for (size_t i = 0; i < t->count; i++)
		found +=
		    t->kind[i] == EVENT_KERNEL && bsearch(&t->link[i], links, n, sizeof(*links), by_value);
	free(links);
	return found;
}

static void the_reference_agrees(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(DEVICES) / sizeof(DEVICES[0]); i++) {
		const char *where = DEVICES[i].sample;
		ANSWER_AUTO x = {0};
		json_t *o;
		const json_t *rows, *partners;
		const struct trace *t;
		int64_t ranges = 0;

		answer_of("samples/nsys", where, &x);
		o = oracle(DEVICES[i].oracle);
		t = &x.p.captures[0].trace;
		rows = json_object_get(o, "rows");
		check_kernels(where, t, o);
		check_copies(where, t, o);
		partners = json_object_get(o, "kernels_with_runtime_partner_same_pid");
		if (!partners)
			partners = json_object_get(o, "kernels_with_runtime_partner");
		assert_true(json_is_integer(partners));
		same(where, "kernels with a launch", launched(t), json_integer_value(partners));
		for (size_t k = 0; k < t->count; k++)
			ranges += t->kind[k] == EVENT_HOST_OP || t->kind[k] == EVENT_HOST_ANNOTATION;
		/* no such table, no such rows */
		assert_true(json_is_object(rows));
		same(where, "ranges", ranges, json_integer_value(json_object_get(rows, "NVTX_EVENTS")));
		json_decref(o);
	}
}

/* user-pain.md 33: 399 gaps of 10 us are all of the idle time. B6: under one percent is no finding. */
static void a_healthy_export_is_left_alone(void **state)
{
	ANSWER_AUTO x = {0};
	const struct trace *t;
	int64_t gaps = 0, idle = 0, end = SB_NULL;

	(void)state;
	answer_of("samples/nsys", "healthy_1pct.sqlite", &x);
	t = &x.p.captures[0].trace;
	for (size_t i = 0; i < t->count; i++) {
		if (t->kind[i] != EVENT_KERNEL)
			continue;
		if (end != SB_NULL) {
			assert_int_equal(t->start_ns[i] - end, 10000);
			idle += t->start_ns[i] - end;
			gaps++;
		}
		end = t->start_ns[i] + t->dur_ns[i];
	}
	assert_int_equal(gaps, 399);
	assert_int_equal(idle, row_of(&x, 0)->free_ns);
	for (size_t i = 0; i < x.a.count; i++) {
		assert_int_equal(x.a.findings[i].severity, SEVERITY_INFO);
		assert_int_not_equal(strncmp(x.a.findings[i].code, "communication.", 14), 0);
	}
	assert_null(x.a.component);
}

/* B6: the device of the mock waits nearly all the time. A4: the real capture is bound by copies to the
 * device, of which 97.7 % of the kernels' span and 0.7 % of all rows' is "idle". */
static void the_right_thing_is_found(void **state)
{
	ANSWER_AUTO mock = {0};
	ANSWER_AUTO copies = {0};
	const struct finding *f;
	size_t fetching = 0;

	(void)state;
	answer_of("samples/nsys", "mock.sqlite", &mock);
	f = found(&mock, "cpu.host_bound", SB_NULL);
	assert_non_null(f);
	assert_true(f->severity >= SEVERITY_WARNING);
	for (size_t i = 0; i < mock.a.count; i++)
		assert_int_not_equal(strncmp(mock.a.findings[i].code, "communication.", 14), 0);
	answer_of("samples/nsys", "h100_2gpu_1s.sqlite.gz", &copies);
	f = found(&copies, "io.fetching", SB_NULL);
	assert_non_null(f);
	assert_int_equal(f->severity, SEVERITY_CRITICAL);
	assert_null(found(&copies, "cpu.host_bound", SB_NULL));
	/* that is the answer, and of both devices */
	assert_string_equal(copies.a.component, "io");
	assert_string_equal(copies.a.cause, "fetching");
	for (size_t i = 0; i < copies.a.count; i++)
		fetching += strcmp(copies.a.findings[i].code, "io.fetching") == 0;
	assert_int_equal(fetching, 2);
}

/* TARGET_INFO_GPU is there in two of the files. */
static void the_chip_is_named_where_the_file_names_it(void **state)
{
	static const char *const CHIPS[][2] = {{"mock.sqlite", "NVIDIA GeForce RTX 3080"},
	                                       {"healthy_1pct.sqlite", "NVIDIA H100 80GB HBM3"},
	                                       {"h100_2gpu_1s.sqlite.gz", ""}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		ANSWER_AUTO x = {0};

		answer_of("samples/nsys", CHIPS[i][0], &x);
		assert_string_equal(x.p.captures[0].chip, CHIPS[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_device_matches_the_table),
	    cmocka_unit_test(the_reference_agrees),
	    cmocka_unit_test(a_healthy_export_is_left_alone),
	    cmocka_unit_test(the_right_thing_is_found),
	    cmocka_unit_test(the_chip_is_named_where_the_file_names_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
