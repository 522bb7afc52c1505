#include "tests/unit/profiler/judged.h"

#include "base/grow.h"
#include "profiler/read/queues.h"

/* Input: the loader's calls, copies to the device, and the three queues. All values by hand. */

static void a_long_load_while_the_device_idles_is_the_cause(void **state)
{
	JUDGED_AUTO j = {0};
	struct thresholds t = THRESHOLDS_DEFAULT;
	uint32_t host;
	struct capture *c = make_gap(&j.p, &host);

	(void)state;
	/* the rule for the sum of all calls aside: 30 of its 35 ms fall into the gap 20..60; the other call
	 * is a nanosecond too short to count */
	threshold_set(&t, "loading_share", 1);
	add_event(c, host, EVENT_HOST_OP, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
	          15000000, 35000000, -1);
	add_event(c, host, EVENT_HOST_OP, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
	          50000000, 9999999, -1);
	judge_with(&j, &t);
	const struct finding *f = found(&j, "io.loading");

	is_near(f ? f->share_of_step : NAN, 0.30);
	is_near(evidence_of(f, "longest_dataloader_us"), 35000);
	is_near(evidence_of(f, "dataloader_calls"), 1);
	/* 10 ms are left to the host, which is 10 % and not more */
	assert_null(found(&j, "cpu.host_bound"));
	assert_string_equal(j.a.cause, "loading");
}

static void many_short_loads_count_by_their_sum(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};
	uint32_t host;
	struct capture *c = make_gap(&j.p, &host);

	(void)state;
	/* 3 + 2.1 ms of 100 in the gap 20..60: 5.1 %; the third call is under a kernel */
	add_event(c, host, EVENT_HOST_OP, "enumerate(DataLoader)#__next__", 20000000, 3000000, -1);
	add_event(c, host, EVENT_HOST_OP, "enumerate(DataLoader)#__next__", 30000000, 2100000, -1);
	add_event(c, host, EVENT_HOST_OP, "enumerate(DataLoader)#__next__", 70000000, 4000000, -1);
	judge(&j);
	const struct finding *f = found(&j, "io.loading");

	is_near(f ? f->share_of_step : NAN, 0.051);
	is_near(evidence_of(f, "idle_while_loading_share"), 0.051);
	is_near(evidence_of(f, "dataloader_calls"), 3);
	c = make_gap(&near.p, &host);
	add_event(c, host, EVENT_HOST_OP, "enumerate(DataLoader)#__next__", 20000000, 5000000, -1);
	judge(&near);
	assert_null(found(&near, "io.loading"));
}

/* Calls of a loader without workers, in which operators run on its thread for most of the time. */
static void a_loader_that_computes_in_the_training_process_is_processing(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO half = {0};
	JUDGED_AUTO workers = {0};
	static const char single[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
	static const char multi[] = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";
	struct judged *const all[] = {&j, &half, &workers};

	(void)state;
	for (int i = 0; i < 3; i++) {
		uint32_t host;
		struct capture *c = make_gap(&all[i]->p, &host);

		add_event(c, host, EVENT_HOST_OP, i == 2 ? multi : single, 20000000, 20000000, -1);
		/* 12 ms of 20, or 10: one operator inside another counts once */
		add_event(c, host, EVENT_HOST_OP, "aten::div", 22000000, i == 1 ? 10000000 : 12000000, -1);
		add_event(c, host, EVENT_HOST_OP, "aten::empty", 23000000, 1000000, -1);
		judge(all[i]);
	}
	is_near(evidence_of(found(&j, "io.processing"), "operators_in_loader_share"), 0.6);
	is_near(found(&j, "io.processing")->share_of_step, 0.2);
	assert_int_equal(found(&j, "io.processing")->confidence, CONFIDENCE_MEDIUM);
	assert_null(found(&j, "io.loading"));
	is_near(evidence_of(found(&half, "io.loading"), "operators_in_loader_share"), 0.5);
	assert_null(found(&half, "io.processing"));
	assert_non_null(found(&workers, "io.loading"));
	assert_null(found(&workers, "io.processing"));
}

static void a_load_that_the_device_does_not_wait_for_is_no_finding(void **state)
{
	JUDGED_AUTO j = {0};
	uint32_t host;
	struct capture *c = make_gap(&j.p, &host);

	(void)state;
	add_event(c, host, EVENT_HOST_OP, "enumerate(DataLoader)#__next__", 62000000, 30000000, -1);
	/* a frame of a file of that name is no load */
	add_event(c, host, EVENT_HOST_PYTHON, "my_dataloader.py(3): train", 0, 100000000, -1);
	judge(&j);
	assert_null(found(&j, "io.loading"));
	is_near(found(&j, "cpu.host_bound")->share_of_step, 0.40);
}

static void exposed_copies_to_the_device_are_fetching(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};
	uint32_t host;
	struct capture *c = make_gap(&j.p, &host);

	(void)state;
	/* 10..30: half under a kernel; the copy back to the host does not count */
	add_event(c, 0, EVENT_MEMCPY, "Memcpy HtoD (Pageable -> Device)", 10000000, 20000000, -1);
	add_event(c, 0, EVENT_MEMCPY, "Memcpy DtoH (Device -> Pageable)", 30000000, 20000000, -1);
	judge(&j);
	is_near(evidence_of(found(&j, "io.fetching"), "copies_from_pageable_memory"), 1);
	is_near(found(&j, "io.fetching")->share_of_step, 0.10);
	assert_null(found(&j, "cpu.host_bound"));
	c = make_gap(&near.p, &host);
	add_event(c, 0, EVENT_MEMCPY, "Memcpy HtoD (Pageable -> Device)", 20000000, 5000000, -1);
	judge(&near);
	assert_null(found(&near, "io.fetching"));
}

/* A queue of n looks, of which the first `empty` found nothing and the others `size`. */
static struct queue *make_queue(struct capture *c, enum queue_kind kind, const char *name, int64_t capacity,
                                size_t n, size_t empty, int64_t size)
{
	struct queue q = QUEUE_UNKNOWN, *added = NULL;

	q.kind = kind;
	q.capacity = capacity;
	assert_int_equal(queue_add(c, "queues.csv", name, &q, &added), SB_OK);
	for (size_t i = 0; i < n; i++) {
		struct queue_sample s = QUEUE_SAMPLE_UNKNOWN;

		s.size = i < empty ? 0 : size;
		assert_int_equal(queue_add_sample(added, &s), SB_OK);
	}
	return added;
}

static struct queue *make_operator(struct capture *c, const char *name, int64_t id, int64_t parent, size_t n,
                                   size_t empty, int64_t size)
{
	struct queue *q = make_queue(c, QUEUE_OPERATOR, name, 100, n, empty, size);

	q->operator_id = id;
	q->parent_id = parent;
	q->workers = 4;
	return q;
}

/* Iterations of 10 ms each, of which `interval` ns are waiting. */
static void make_iterations(struct capture *c, size_t n, int64_t interval)
{
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(sb_grow(&c->iterations, c->iteration_count, sizeof(*c->iterations)), SB_OK);
		c->iterations[c->iteration_count++] =
		    (struct iteration){.step = (int64_t)i + 1,
		                       .start_ns = (int64_t)i * 10000000,
		                       .total_ns = 10000000,
		                       .interval_ns = interval,
		                       .forward_backward_ns = 10000000 - interval,
		                       .tail_ns = 0};
	}
}

/* The three queues with so many empty looks of ten each, and iterations that wait 4.5 ms of 10. */
static struct capture *make_pipeline(struct profile *p, size_t device, size_t host, size_t data)
{
	struct capture *c = make_capture(p, FORMAT_MINDINSIGHT, 0);

	make_iterations(c, 5, 4500000);
	make_queue(c, QUEUE_DEVICE, "get_next", SB_NULL, 10, device, 3);
	make_queue(c, QUEUE_HOST, "device_queue", 64, 10, host, 20);
	make_operator(c, "Batch", 0, SB_NULL, 0, 0, 0);
	make_operator(c, "Map", 1, 0, 10, 0, 50);
	make_operator(c, "TFReader", 2, 1, 10, data, 50);
	return c;
}

/* Hermes 5.1, from the device's end backwards; 3 of 10 is 30 % and not more. */
static void the_first_queue_that_is_not_empty_names_the_stage(void **state)
{
	static const struct {
		size_t device, host, data;
		const char *code;
	} rows[] = {{3, 10, 10, NULL},       {4, 3, 10, "io.fetching"},  {4, 4, 3, "io.processing"},
	            {4, 4, 4, "io.reading"}, {10, 10, 10, "io.reading"}, {0, 0, 0, NULL}};
	static const char *const codes[] = {"io.reading", "io.processing", "io.fetching", "io.loading"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		JUDGED_AUTO j = {0};

		make_pipeline(&j.p, rows[i].device, rows[i].host, rows[i].data);
		judge(&j);
		for (size_t k = 0; k < 4; k++) {
			const struct finding *f = found(&j, codes[k]);

			assert_int_equal(f != NULL, rows[i].code && strcmp(rows[i].code, codes[k]) == 0);
			assert_false(left_open(&j, codes[k]) && k < 3);
			if (!f)
				continue;
			/* 4 of 4.5 ms are beyond the half that is allowed, of 10 */
			is_near(f->share_of_step, 0.4);
			assert_true(f->gain_ns == 4000000 && f->rank == 0);
			assert_int_equal(f->confidence, CONFIDENCE_HIGH);
			assert_string_equal(f->evidence[0].metric, "device_queue_empty_share");
			assert_int_equal(f->evidence[0].origin, ORIGIN_MINDINSIGHT);
			is_near(f->evidence[0].value, (double)rows[i].device / 10);
			is_near(evidence_of(f, "iteration_interval_us"), 4500);
			is_near(evidence_of(f, "data_queue_empty_share"), (double)rows[i].data / 10);
		}
	}
}

static void without_a_device_queue_the_waiting_tells(void **state)
{
	JUDGED_AUTO starved = {0};
	JUDGED_AUTO fed = {0};
	struct capture *c = make_capture(&starved.p, FORMAT_MINDINSIGHT, 0);

	(void)state;
	make_iterations(c, 5, 4500000);
	make_queue(c, QUEUE_HOST, "device_queue", 64, 10, 10, 0);
	make_operator(c, "TFReader", 1, 0, 10, 0, 50);
	judge(&starved);
	const struct finding *f = found(&starved, "io.processing");

	assert_non_null(f);
	assert_int_equal(f->confidence, CONFIDENCE_MEDIUM);
	assert_string_equal(f->evidence[0].metric, "iteration_interval_us");
	/* half a millisecond and not more: nothing waits, whatever the queue says */
	c = make_capture(&fed.p, FORMAT_MINDINSIGHT, 0);
	make_iterations(c, 5, 500000);
	make_queue(c, QUEUE_HOST, "device_queue", 64, 10, 10, 0);
	judge(&fed);
	assert_int_equal(fed.a.count, 0);
	assert_false(left_open(&fed, "io.reading"));
}

static void waiting_alone_does_not_tell_the_stage(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_MINDINSIGHT, 0);

	(void)state;
	make_iterations(c, 5, 4500000);
	judge(&j);
	assert_non_null(found(&j, "io.loading"));
	assert_true(left_open(&j, "io.reading") && left_open(&j, "io.processing"));
}

/* What the device waited in GetNext costs where no intervals are told; one look is weak evidence. */
static void one_batch_is_weak_evidence(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_ASCEND_TEXT, 0);
	uint32_t lane = add_lane(c, "Overlap Analysis", "", -1);
	struct queue *q;

	(void)state;
	add_step(c, 1, 0, 10000000);
	add_event(c, lane, EVENT_LANE_COMPUTE, "Computing", 0, 1000000, -1);
	add_event(c, lane, EVENT_LANE_FREE, "Free", 1000000, 8000000, -1);
	add_event(c, lane, EVENT_LANE_COMPUTE, "Computing", 9000000, 1000000, -1);
	q = make_queue(c, QUEUE_DEVICE, "get_next", SB_NULL, 1, 1, 0);
	q->samples[0].get_ns = 3500000;
	judge(&j);
	const struct finding *f = found(&j, "io.loading");

	is_near(f ? f->share_of_step : NAN, 0.3);
	assert_int_equal(f->confidence, CONFIDENCE_LOW);
	/* 8 ms are free, 3 of them the pipeline's */
	is_near(found(&j, "cpu.host_bound")->share_of_step, 0.5);
}

/* MindInsight's bands: its own queue below 0.6, that of the operator before it above 0.8. */
static void a_starving_operator_behind_a_full_queue_is_named(void **state)
{
	JUDGED_AUTO j = {0};
	JUDGED_AUTO near = {0};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct capture *c = make_capture(i ? &near.p : &j.p, FORMAT_MINDINSIGHT, 0);

		make_iterations(c, 5, 4500000);
		make_queue(c, QUEUE_DEVICE, "get_next", SB_NULL, 10, 10, 0);
		make_queue(c, QUEUE_HOST, "device_queue", 100, 10, 10, 0);
		make_operator(c, "Batch", 0, SB_NULL, 10, 0, 10);
		make_operator(c, "Map", 1, 0, 10, 0, i ? 60 : 59);
		make_operator(c, "Shuffle", 2, 1, 10, 0, 81);
		make_operator(c, "TFReader", 3, 2, 10, 0, 81);
		judge(i ? &near : &j);
	}
	const struct finding *f = found(&j, "io.processing");

	assert_non_null(f);
	assert_int_equal(f->operator_count, 1);
	assert_string_equal(sb_strings_get(j.a.strings, f->operators[0], NULL), "Map");
	is_near(evidence_of(f, "slow_operator_queue_usage"), 0.59);
	is_near(evidence_of(f, "slow_operator_workers"), 4);
	assert_int_equal(found(&near, "io.processing")->operator_count, 0);
}

/* Ids that name themselves, each other or nobody, and looks that tell nothing. */
static void odd_pipelines_are_survived(void **state)
{
	JUDGED_AUTO j = {0};
	struct capture *c = make_capture(&j.p, FORMAT_MINDINSIGHT, 0);

	(void)state;
	make_operator(c, "a", 1, 1, 3, 0, INT64_MAX);
	make_operator(c, "b", 2, 3, 3, 0, 5);
	make_operator(c, "c", 3, 2, 0, 0, 0);
	make_operator(c, "d", 4, 77, 2, 2, 0)->capacity = 0;
	make_queue(c, QUEUE_DEVICE, "get_next", SB_NULL, 4, 4, 0)->samples[1].size = SB_NULL;
	judge(&j);
	/* nobody gives to a and d: 2 of their 5 looks found nothing */
	is_near(evidence_of(found(&j, "io.reading"), "data_queue_empty_share"), 0.4);
	assert_true(isnan(found(&j, "io.reading")->share_of_step));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_long_load_while_the_device_idles_is_the_cause),
	    cmocka_unit_test(many_short_loads_count_by_their_sum),
	    cmocka_unit_test(a_loader_that_computes_in_the_training_process_is_processing),
	    cmocka_unit_test(a_load_that_the_device_does_not_wait_for_is_no_finding),
	    cmocka_unit_test(exposed_copies_to_the_device_are_fetching),
	    cmocka_unit_test(the_first_queue_that_is_not_empty_names_the_stage),
	    cmocka_unit_test(without_a_device_queue_the_waiting_tells),
	    cmocka_unit_test(waiting_alone_does_not_tell_the_stage),
	    cmocka_unit_test(one_batch_is_weak_evidence),
	    cmocka_unit_test(a_starving_operator_behind_a_full_queue_is_named),
	    cmocka_unit_test(odd_pipelines_are_survived),
	};

	return cmocka_run_group_tests_name("findings of input", tests, NULL, NULL);
}
