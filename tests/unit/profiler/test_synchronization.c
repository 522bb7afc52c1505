#include "tests/unit/profiler/judged.h"

#include "profiler/findings/call_site.h"
#include "tests/unit/profiler/made_profile.h"

/* Calls that wait for the device, and who made them. All times by hand, in us. */

#define US 1000

struct rank_made {
	struct capture *c;
	uint32_t gpu, host;
};

static struct rank_made make(struct profile *p)
{
	struct rank_made m = {.c = make_capture(p, FORMAT_KINETO, 0)};

	m.gpu = add_lane(m.c, "GPU 0", "7", 0);
	m.host = add_lane(m.c, "python", "1", -1);
	return m;
}

/* Kernels 0..100, 200..300 and 350..1000: idle 150. item() waits 50..180 and 290..340. */
static struct rank_made make_items(struct profile *p)
{
	struct rank_made m = make(p);

	add_event(m.c, m.gpu, EVENT_KERNEL, "k", 0, 100 * US, -1);
	add_event(m.c, m.gpu, EVENT_KERNEL, "k", 200 * US, 100 * US, -1);
	add_event(m.c, m.gpu, EVENT_KERNEL, "k", 350 * US, 650 * US, -1);
	add_event(m.c, m.host, EVENT_HOST_PYTHON, "/srv/ada/job/train.py(10): main", 0, 1000 * US, -1);
	add_event(m.c, m.host, EVENT_HOST_PYTHON, "/srv/ada/job/train.py(42): step", 40 * US, 150 * US, -1);
	add_event(m.c, m.host, EVENT_HOST_PYTHON, "torch/_tensor.py(99): wrapped", 45 * US, 140 * US, -1);
	add_event(m.c, m.host, EVENT_HOST_OP, "aten::item", 50 * US, 130 * US, -1);
	add_event(m.c, m.host, EVENT_HOST_OP, "aten::_local_scalar_dense", 51 * US, 128 * US, -1);
	add_event(m.c, m.host, EVENT_HOST_RUNTIME, "cudaStreamSynchronize", 52 * US, 126 * US, 3);
	add_event(m.c, m.host, EVENT_HOST_OP, "aten::nonzero", 285 * US, 60 * US, -1);
	add_event(m.c, m.host, EVENT_HOST_RUNTIME, "cudaStreamSynchronize", 290 * US, 50 * US, 4);
	return m;
}

static void a_wait_is_shown_with_the_place_it_is_called_from(void **state)
{
	JUDGED_AUTO j = {0};
	const struct finding *f;

	(void)state;
	make_items(&j.p);
	judge(&j);
	f = found(&j, "cpu.synchronization");
	/* all 150 us are in a wait or in its wake: 100..200 in the first (80 and 20 behind it), 300..350 */
	is_near(evidence_of(f, "device_idle_by_synchronization_us"), 150);
	is_near(f->share_of_step, 0.15);
	assert_int_equal(f->operator_count, 2);
	assert_string_equal(sb_strings_get(j.a.strings, f->operators[0], NULL),
	                    "aten::item < train.py(42): step < train.py(10): main");
	is_near(f->operator_us[0], 100);
	assert_string_equal(sb_strings_get(j.a.strings, f->operators[1], NULL),
	                    "aten::nonzero < train.py(10): main");
	is_near(f->operator_us[1], 50);
}

/* Kineto numbers Python's threads anew: their frames stand on a lane that has nothing else. */
static void frames_on_a_lane_of_their_own_are_the_main_threads(void **state)
{
	JUDGED_AUTO j = {0};
	struct rank_made m = make(&j.p);
	uint32_t python = add_lane(m.c, "0", "0", -1);

	(void)state;
	add_event(m.c, m.gpu, EVENT_KERNEL, "k", 0, 100 * US, -1);
	add_event(m.c, m.gpu, EVENT_KERNEL, "k", 200 * US, 800 * US, -1);
	add_event(m.c, python, EVENT_HOST_PYTHON, "train.py(42): step", 0, 1000 * US, -1);
	add_event(m.c, m.host, EVENT_HOST_OP, "aten::item", 50 * US, 130 * US, -1);
	judge(&j);
	assert_string_equal(sb_strings_get(j.a.strings, found(&j, "cpu.synchronization")->operators[0], NULL),
	                    "aten::item < train.py(42): step");
}

/* A stack as the source writes it beside an operator (ascend-formats 1.12). */
static void a_written_stack_is_kept_for_operators_that_wait(void **state)
{
	static const char text[] =
	    "[{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {\"name\": \"Python\"}},"
	    "{\"ph\": \"X\", \"name\": \"aten::item\", \"pid\": 1, \"tid\": 1, \"ts\": \"10.000\", \"dur\": "
	    "5, "
	    "\"cat\": \"cpu_op\", \"args\": {\"Call stack\": \"/x/site-packages/torch/a.py(1): f;\\r\\n"
	    "/srv/ada/main.py(537): accuracy;\\r\\n/srv/ada/main.py(358): train;\\r\\n<string>(1): "
	    "<module>\"}},"
	    "{\"ph\": \"X\", \"name\": \"aten::add\", \"pid\": 1, \"tid\": 1, \"ts\": \"20.000\", \"dur\": "
	    "5, "
	    "\"cat\": \"cpu_op\", \"args\": {\"Call stack\": \"/srv/ada/main.py(1): f\"}}]";
	const struct text_file file = {"rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", text, 0};
	PROFILE_AUTO p = {0};
	struct sb_error err;
	struct call_site site = {0};
	char out[CALL_SITE_TEXT_MAX];
	const struct trace *t;

	(void)state;
	assert_int_equal(read_texts(&file, 1, &p, &err), SB_OK);
	t = &p.captures[0].trace;
	assert_int_equal(t->count, 2);
	assert_int_equal(t->detail_count, 1);
	assert_int_equal(call_sites_find(t, &site, 1), SB_OK);
	call_site_text(t, &site, out);
	assert_string_equal(out, "aten::item < main.py(537): accuracy < main.py(358): train");
}

/* Names from files may be long, and a cut must not leave half a character. */
static void a_long_name_is_cut_between_characters(void **state)
{
	struct profile p = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t host = add_lane(c, "python", "1", -1);
	char name[400] = "a", out[CALL_SITE_TEXT_MAX];
	struct call_site site = {0};

	(void)state;
	while (strlen(name) + 3 < sizeof(name))
		strncat(name, "\xC3\xA9", 3);
	add_event(c, host, EVENT_HOST_OP, name, 0, 10, -1);
	assert_int_equal(call_sites_find(&c->trace, &site, 1), SB_OK);
	call_site_text(&c->trace, &site, out);
	/* one byte and 79 characters of two */
	assert_int_equal(strlen(out), 159);
	assert_memory_equal(out + 157, "\xC3\xA9", 2);
	profile_free(&p);
}

/* 30 kernels of 30 us, one every 50 us; the launch call of each lasts until its end. */
static void launches_that_wait_are_blocking(void **state)
{
	JUDGED_AUTO j = {0};
	struct rank_made m = make(&j.p);
	const struct finding *f;

	(void)state;
	for (int64_t i = 0; i < 30; i++) {
		int64_t at = i * 50 * US;

		add_event(m.c, m.gpu, EVENT_KERNEL, "k", at, 30 * US, i + 1);
		add_event(m.c, m.host, EVENT_HOST_RUNTIME, "cudaLaunchKernel", at - 5 * US, 36 * US, i + 1);
	}
	judge(&j);
	f = found(&j, "cpu.synchronization");
	is_near(evidence_of(f, "launches_that_wait_ratio"), 1);
	/* 29 gaps of 20 us in 29 * 50 + 30 = 1480 */
	is_near(f->share_of_step, 580.0 / 1480);
	assert_null(found(&j, "cpu.host_bound"));
	assert_null(found(&j, "cpu.dispatch"));
}

static void twenty_synchronised_batch_norms_are_told(void **state)
{
	(void)state;
	for (int calls = 19; calls <= 20; calls++) {
		JUDGED_AUTO j = {0};
		struct rank_made m = make(&j.p);
		const struct finding *f;

		add_event(m.c, m.gpu, EVENT_KERNEL, "k", 0, 1000 * US, -1);
		for (int64_t i = 0; i < calls; i++)
			add_event(m.c, m.host, EVENT_HOST_OP, "SyncBatchNorm", i * 10 * US, US, -1);
		judge(&j);
		f = found(&j, "cpu.synchronization");
		assert_int_equal(f != NULL, calls == 20);
		if (f)
			assert_int_equal(f->severity, SEVERITY_INFO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_wait_is_shown_with_the_place_it_is_called_from),
	    cmocka_unit_test(frames_on_a_lane_of_their_own_are_the_main_threads),
	    cmocka_unit_test(a_written_stack_is_kept_for_operators_that_wait),
	    cmocka_unit_test(a_long_name_is_cut_between_characters),
	    cmocka_unit_test(launches_that_wait_are_blocking),
	    cmocka_unit_test(twenty_synchronised_batch_norms_are_told),
	};

	return cmocka_run_group_tests_name("synchronization", tests, NULL, NULL);
}
