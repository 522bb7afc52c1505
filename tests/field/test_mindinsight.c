/* Reads the real MindInsight files of $SIGNALBOX_SHARED and compares them with section 8 of
 * samples/ascend/expected.md. */
#include "tests/field/bundle.h"

#include <math.h>

#include "profiler/analysis.h"
#include "profiler/operators.h"
#include "profiler/input_pipeline.h"
#include "profiler/monitor.h"

#define ERA "samples/ascend/mindinsight_era/"
#define RUNS "samples/ascend/bundles/mindinsight_runs.tar.gz"

static void read_inputs(struct read_input *in, size_t count, struct profile *out)
{
	struct sb_error err = {0};

	if (profile_read(in, count, NULL, NULL, out, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	for (size_t i = 0; i < count; i++)
		close(in[i].fd);
}

static void read_file(const char *name, struct profile *out)
{
	char *path = shared_path(name);
	struct read_input in = {.path = strrchr(name, '/') + 1, .fd = open(path, O_RDONLY | O_CLOEXEC)};

	assert_true(in.fd >= 0);
	in.length = lseek(in.fd, 0, SEEK_END);
	read_inputs(&in, 1, out);
	free(path);
}

/* The members of one folder of the bundle whose names hold `part`, each as an input of its own. */
static void read_run(const char *folder, const char *part, struct profile *out)
{
	char *path = shared_path(RUNS);
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	struct read_input in[MEMBERS_MAX] = {{0}};
	size_t count = 0;

	archive_read_support_filter_all(a);
	archive_read_support_format_all(a);
	assert_int_equal(archive_read_open_filename(a, path, 65536), ARCHIVE_OK);
	while (archive_read_next_header(a, &e) == ARCHIVE_OK) {
		const char *name = archive_entry_pathname(e);

		if (archive_entry_filetype(e) != AE_IFREG || !strstr(name, folder) || !strstr(name, part))
			continue;
		assert_true(count < MEMBERS_MAX);
		take_member(a, e, &in[count++]);
	}
	archive_read_free(a);
	assert_true(count > 0);
	read_inputs(in, count, out);
	for (size_t i = 0; i < count; i++)
		free_path(&in[i]);
	free(path);
}

static void near_ms(double ns, double ms, double digits)
{
	if (!(fabs(ns / 1e6 - ms) <= digits))
		fail_msg("%.9f ms is not %.9f", ns / 1e6, ms);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double median_total(const struct capture *c)
{
	int64_t totals[512] = {0};
	size_t n = c->iteration_count, half = n / 2;

	assert_true(n > 0 && n <= 512);
	for (size_t i = 0; i < n; i++)
		totals[i] = c->iterations[i].total_ns;
	qsort(totals, n, sizeof(*totals), by_value);
	/* the two in the middle are one when n is odd */
	return ((double)totals[half] + (double)totals[n - 1 - half]) / 2;
}

/* 8.1 */
static void run_1_has_322_steps(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;
	int64_t total = 0, interval = 0, inner = 0, tail = 0, least = INT64_MAX, most = 0, at_most = 0;

	(void)state;
	read_file(ERA "step_trace_raw_1_detail_time.csv", &p);
	c = &p.captures[0];
	assert_int_equal(c->iteration_count, 322);
	assert_int_equal(c->step_count, 322);
	assert_true(c->rank == 1 && c->format == FORMAT_MINDINSIGHT);
	for (size_t i = 0; i < 322; i++) {
		const struct iteration *it = &c->iterations[i];

		assert_true(it->step == (int64_t)i + 1);
		assert_true(it->total_ns == it->interval_ns + it->forward_backward_ns + it->tail_ns);
		total += it->total_ns;
		interval += it->interval_ns;
		inner += it->forward_backward_ns;
		tail += it->tail_ns;
		least = it->total_ns < least ? it->total_ns : least;
		if (it->total_ns > most) {
			most = it->total_ns;
			at_most = it->step;
		}
	}
	near_ms((double)total / 322, 205.625932, 5e-7);
	near_ms(median_total(c), 204.973485, 5e-7);
	near_ms((double)least, 201.4255, 0);
	near_ms((double)most, 284.27118, 0);
	assert_true(at_most == 1);
	near_ms((double)interval / 322, 0.203209, 5e-7);
	near_ms((double)inner / 322, 118.289125, 5e-7);
	near_ms((double)tail / 322, 87.133599, 5e-7);
	/* the row of averages leaves step 1 out, so it is no step */
	near_ms((double)(total - most) / 321, 205.38093, 5e-6);
	/* eleven streams with an all-reduce each */
	assert_int_equal(c->trace.count, 322 * 11);
	assert_int_equal(c->trace.lane_count, 11);
}

/* 8.1: no step exceeds the median of the twenty before it by a tenth, so the monitor says nothing; the first,
 * which does, is warm-up. A step made a quarter longer, and nothing else, is told. */
static void the_monitor_is_silent_on_run_1(void **state)
{
	PROFILE_AUTO p = {0};
	size_t count = 0;

	(void)state;
	read_file(ERA "step_trace_raw_1_detail_time.csv", &p);
	for (int64_t longer = -1; longer < 322; longer += 107) {
		bool *slow = NULL;

		if (longer >= 0)
			p.captures[0].steps[longer].dur_ns += p.captures[0].steps[longer].dur_ns / 4;
		assert_int_equal(monitor_capture(&MONITOR_DEFAULT, &p.captures[0], &slow, &count), SB_OK);
		assert_int_equal(count, 322);
		for (int64_t i = 0; i < 322; i++)
			assert_int_equal(slow[i], longer >= 0 && i <= longer && (i - longer) % 107 == 0);
		free(slow);
	}
}

static void nothing_is_found_without_compute(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	COMMUNICATION_AUTO c = {0};
	COLLECTIVES_AUTO matched = {0};
	ANALYSIS_AUTO a = {0};

	(void)state;
	read_file(ERA "step_trace_raw_1_detail_time.csv", &p);
	assert_int_equal(breakdown_compute(&p, &p.warnings, &b, NULL), SB_OK);
	assert_int_equal(communication_compute(&p, 0.2, &c, NULL), SB_OK);
	assert_int_equal(collectives_match(&p, &matched), SB_OK);
	assert_int_equal(analysis_run(&p, &b, &c, &matched, &THRESHOLDS_DEFAULT, &a, NULL), SB_OK);
	assert_int_equal(a.count, 0);
	assert_null(a.component);
	assert_int_equal(b.count, 323);
	near_ms((double)b.rows[0].step_ns, 284.27118, 0);
	assert_true(b.rows[0].communication_ns > 0 && b.rows[0].compute_ns == SB_NULL &&
	            b.rows[0].free_ns == SB_NULL);
}

static const struct queue_summary *queue_of(const struct input_pipeline *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(trace_text(&s->queues[i].capture->trace, s->queues[i].queue->name, NULL), name) ==
		    0)
			return &s->queues[i];
	fail_msg("no queue %s", name);
	return NULL;
}

static void expect_near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-9 * (1 + fabs(expected))))
		fail_msg("%.12g is not %.12g", value, expected);
}

/* 8.2: the get_next queue and the device queue, which is the one on the host. */
static void run_2_has_queues(void **state)
{
	PROFILE_AUTO p = {0};
	INPUT_PIPELINE_AUTO sums = {0};
	const struct capture *c;
	const struct queue_summary *s;
	const struct iteration *it;

	(void)state;
	read_run("run_2/", "", &p);
	assert_int_equal(p.count, 1);
	c = &p.captures[0];
	assert_int_equal(c->iteration_count, 1);
	it = &c->iterations[0];
	near_ms((double)it->forward_backward_ns, 23.66808, 0);
	assert_true(it->total_ns == 2370905 * INT64_C(10));
	near_ms((double)it->tail_ns, 0.04097, 0);
	assert_int_equal(input_pipeline_compute(&p, &sums, NULL), SB_OK);
	s = queue_of(&sums, "get_next");
	assert_int_equal(s->samples, 3);
	for (int i = 0; i < 3; i++)
		assert_true(s->queue->samples[i].size == 3 - i &&
		            s->queue->samples[i].get_ns == (i == 1 ? 0 : 1000));
	expect_near(s->get_us, 2.0 / 3);
	assert_true(s->empty == 0 && s->queue->kind == QUEUE_DEVICE);
	s = queue_of(&sums, "device_queue");
	assert_true(s->samples == 1 && s->empty == 1 && s->queue->capacity == 64 &&
	            s->queue->kind == QUEUE_HOST);
	expect_near(s->total_us, 4000);
	expect_near(s->push_us, 4000);
	expect_near(s->get_us, 0);
	s = queue_of(&sums, "BatchOp");
	assert_true(s->queue->operator_id == 0);
	expect_near(s->mean_size / (double)s->queue->capacity, 0.015625);
	expect_near(queue_of(&sums, "ImageFolderOp")->mean_size, 0);
	expect_near(queue_of(&sums, "MapOp")->mean_size, 0);
}

static int operator_of(const struct profile *p, const char *type, struct operator_line *out)
{
	OPERATORS_AUTO o = {0};
	const struct operator_query q = {.rank = SB_NULL, .step = SB_NULL};
	struct operator_line *lines = NULL;
	size_t count = 0;
	int found = 0;

	assert_int_equal(operators_collect(p, &o, NULL), SB_OK);
	assert_int_equal(operators_select(&o, &q, &lines, &count), SB_OK);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(sb_strings_get(o.strings, lines[i].row.name, NULL), type) != 0)
			continue;
		*out = lines[i];
		found++;
	}
	free(lines);
	return found;
}

/* 8.2: MatMul 2807.82 us in 25 calls, 112.313 us each, whatever the table of single operators adds. */
static void run_1_has_sums_by_type(void **state)
{
	PROFILE_AUTO p = {0};
	struct operator_line l = {0};

	(void)state;
	read_run("run_1/", "aicore_intermediate", &p);
	assert_int_equal(operator_of(&p, "MatMul", &l), 1);
	assert_true(l.row.total_ns == 2807820 && l.row.count == 25);
	expect_near((double)l.row.total_ns / 25, 112312.8);
	assert_true(l.row.min_ns == SB_NULL && l.row.max_ns == SB_NULL);
}

/* The timeline of run 1 shows fourteen iterations and a part of the next; the reduces that it shares with the
 * step trace put it on the same clock. */
static void run_1_is_put_on_one_clock(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};
	size_t known = 0;

	(void)state;
	read_run("run_1/", "", &p);
	assert_int_equal(p.count, 1);
	/* 6359 events, of which the 3542 reduces are the step trace's */
	assert_int_equal(p.captures[0].trace.count, 6359);
	assert_int_equal(breakdown_compute(&p, &p.warnings, &b, NULL), SB_OK);
	for (size_t i = 0; i < b.count; i++) {
		const struct breakdown_row *r = &b.rows[i];

		if (r->compute_ns == SB_NULL)
			continue;
		known++;
		assert_true(r->step >= 1 && r->step <= 14);
		assert_true(r->communication_ns == r->exposed_ns + r->overlap_ns);
		assert_true(r->span_ns + r->bubble_ns == r->compute_ns + r->exposed_ns + r->free_ns);
		assert_true(r->span_ns <= r->step_ns);
	}
	assert_int_equal(known, 14);
}

/* 8.3 */
static void the_resource_profiler_waits_for_data(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;
	int64_t interval = 0;

	(void)state;
	read_run("resource/profiler/", "step_trace_raw_0", &p);
	c = &p.captures[0];
	assert_int_equal(c->iteration_count, 20);
	near_ms(median_total(c), 130.419880, 5e-7);
	for (size_t i = 0; i < 20; i++)
		interval += c->iterations[i].interval_ns;
	near_ms((double)interval / 20, 85.84, 5e-3);
	near_ms((double)(interval - c->iterations[0].interval_ns) / 19, 90.35, 5e-3);
}

static void ids_of_the_resource_profiler_are_captures(void **state)
{
	PROFILE_AUTO p = {0};
	INPUT_PIPELINE_AUTO sums = {0};

	(void)state;
	read_run("resource/profiler/", "", &p);
	assert_int_equal(p.count, 3);
	assert_true(p.captures[0].rank == 0 && p.captures[1].rank == 1 && p.captures[2].rank == 10);
	assert_int_equal(p.captures[2].iteration_count, 40);
	assert_int_equal(input_pipeline_compute(&p, &sums, NULL), SB_OK);
	expect_near(queue_of(&sums, "Shuffle")->mean_size, 20);
	/* 8.3, "device queue [1, 1, 0, 1], empty rate 100 %": no file holds four looks of these sizes; as
	 * counts they are empty 1 of 1 and full 0 of 1, the only reading that makes the rate 100 % */
	assert_int_equal(queue_of(&sums, "device_queue")->empty, 1);
	assert_int_equal(queue_of(&sums, "device_queue")->samples, 1);
	assert_int_equal(queue_of(&sums, "device_queue")->full, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(run_1_has_322_steps),
	    cmocka_unit_test(the_monitor_is_silent_on_run_1),
	    cmocka_unit_test(nothing_is_found_without_compute),
	    cmocka_unit_test(run_2_has_queues),
	    cmocka_unit_test(run_1_has_sums_by_type),
	    cmocka_unit_test(run_1_is_put_on_one_clock),
	    cmocka_unit_test(the_resource_profiler_waits_for_data),
	    cmocka_unit_test(ids_of_the_resource_profiler_are_captures),
	};

	return cmocka_run_group_tests_name("mindinsight", tests, NULL, NULL);
}
