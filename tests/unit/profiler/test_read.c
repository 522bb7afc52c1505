#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "profiler/read/collect.h"
#include "profiler/read/reader.h"
#include "tests/unit/profiler/made_database.h"
#include "tests/unit/profiler/made_profile.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define KERNELS "Step Id,Name,Accelerator Core,Start Time(us),Duration(us)\n"
#define STEPS "Step,Computing,Communication,Free,Stage\n"
#define OUT(dir) dir "/ASCEND_PROFILER_OUTPUT/"

static const struct text_file TWO_RANKS[] = {
    {OUT("a/r0_ascend_pt") "kernel_details.csv", KERNELS "1,matmul,AI_CORE,10,1\n1,add,AI_VECTOR_CORE,12,1\n",
     0},
    {OUT("a/r0_ascend_pt") "step_trace_time.csv", STEPS "1,2,0,1,3\n", 0},
    {OUT("a/r0_ascend_pt") "api_statistic.csv", "Level,API Name,Time(us),Count\nacl,sync,1,1\n", 0},
    {OUT("a/r0_ascend_pt") "trace_view.json",
     "[{\"ph\":\"X\",\"name\":\"add\",\"pid\":1,\"tid\":2,\"ts\":\"12\",\"dur\":1,\"args\":{\"Task "
     "Type\":\"AI_CORE\"}}]",
     0},
    {"a/r0_ascend_pt/profiler_info_1.json", "{\"config\":{},\"rank_id\":1}", 0},
    {OUT("a/r1_ascend_pt") "kernel_details.csv", KERNELS "1,matmul,AI_CORE,20,1\n", 0},
    {"a/r1_ascend_pt/profiler_info_0.json", "{\"config\":{},\"rank_id\":0}", 0},
    {OUT("a/r1_ascend_pt") "l2_cache.csv", "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n", 0},
    {"a/README.txt", "hello", 0},
};

static void expect_same(const struct profile *a, const struct profile *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct capture *x = &a->captures[i], *y = &b->captures[i];

		assert_string_equal(x->source, y->source);
		assert_int_equal(sb_strings_count(x->trace.strings), sb_strings_count(y->trace.strings));
		for (uint32_t id = 0; id < sb_strings_count(x->trace.strings); id++)
			assert_string_equal(text_of(x, id), text_of(y, id));
		assert_int_equal(x->kernel_count, y->kernel_count);
		for (size_t k = 0; k < x->kernel_count; k++) {
			assert_int_equal(x->kernels[k].name, y->kernels[k].name);
			assert_int_equal(x->kernels[k].core, y->kernels[k].core);
		}
		assert_int_equal(x->trace.count, y->trace.count);
		for (size_t k = 0; k < x->trace.count; k++)
			assert_int_equal(x->trace.name[k], y->trace.name[k]);
	}
	assert_int_equal(a->left_out_count, b->left_out_count);
	for (size_t i = 0; i < a->left_out_count; i++)
		assert_string_equal(a->left_out[i].file, b->left_out[i].file);
}

static void captures_are_collected_by_directory(void **state)
{
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(TWO_RANKS, COUNT(TWO_RANKS), &p, &err), SB_OK);
	assert_int_equal(p.count, 2);
	/* by rank, not by name */
	assert_true(p.captures[0].rank == 0 && p.captures[1].rank == 1);
	assert_string_equal(p.captures[1].source, "a/r0_ascend_pt");
	assert_int_equal(p.captures[1].kernel_count, 2);
	assert_int_equal(p.captures[1].step_trace_count, 1);
	assert_int_equal(p.captures[1].api_count, 1);
	assert_int_equal(p.captures[1].trace.count, 1);
	assert_int_equal(p.left_out_count, 2);
	assert_string_equal(p.left_out[0].file, "a/README.txt");
	assert_non_null(strstr(p.left_out[1].reason, "no check uses them yet"));
	assert_int_equal(p.warnings.count, 0);
}

static void the_order_of_files_does_not_matter(void **state)
{
	PROFILE_AUTO p = {0};
	struct text_file turned[COUNT(TWO_RANKS)];
	struct made_member members[COUNT(TWO_RANKS)];
	struct profile archives[2] = {{0}, {0}};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(TWO_RANKS, COUNT(TWO_RANKS), &p, &err), SB_OK);
	for (size_t i = 0; i < COUNT(TWO_RANKS); i++)
		turned[i] = TWO_RANKS[COUNT(TWO_RANKS) - 1 - i];
	{
		PROFILE_AUTO q = {0};

		assert_int_equal(read_texts(turned, COUNT(turned), &q, &err), SB_OK);
		expect_same(&p, &q);
	}
	/* the members of an archive come as they lie, so here the readers really run in another order */
	for (size_t k = 0; k < 2; k++) {
		const struct text_file *order = k ? turned : TWO_RANKS;

		for (size_t i = 0; i < COUNT(members); i++)
			members[i] = (struct made_member){.name = order[i].path, .data = order[i].text};
		MADE_AUTO m = made_archive(MADE_TAR, members, COUNT(members));
		const struct text_file f = {"up.tar", m.data, m.len};

		assert_int_equal(read_texts(&f, 1, &archives[k], &err), SB_OK);
	}
	assert_string_equal(archives[0].captures[0].source, "up.tar/a/r1_ascend_pt");
	expect_same(&archives[0], &archives[1]);
	profile_free(&archives[0]);
	profile_free(&archives[1]);
}

static void the_newest_capture_of_a_rank_wins(void **state)
{
	static const struct {
		const char *a, *b;
		bool first;
	} cases[] = {
	    /* by the stamp in the name, of seconds or milliseconds */
	    {"h_1_20250109084453124_ascend_pt", "h_1_20250109084453123_ascend_pt", true},
	    {"h_1_20250109084453_ascend_pt", "h_1_20250109084453001_ascend_pt", false},
	    /* else by the latest event: that of b is later */
	    {"x_ascend_pt", "y_ascend_pt", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char path[4][96];
		const char *name[2] = {cases[i].a, cases[i].b};
		struct text_file files[4];
		PROFILE_AUTO p = {0};
		struct sb_error err;

		for (size_t k = 0; k < 2; k++) {
			snprintf(path[2 * k], 96, "%s/profiler_info_3.json", name[k]);
			snprintf(path[2 * k + 1], 96, OUT("%s") "kernel_details.csv", name[k]);
			files[2 * k] = (struct text_file){path[2 * k], "{\"rank_id\":3}", 0};
			files[2 * k + 1] = (struct text_file){
			    path[2 * k + 1], k ? KERNELS "1,a,AI_CORE,20,1\n" : KERNELS "1,a,AI_CORE,10,1\n",
			    0};
		}
		assert_int_equal(read_texts(files, 4, &p, &err), SB_OK);
		assert_int_equal(p.count, 1);
		assert_string_equal(p.captures[0].source, name[cases[i].first ? 0 : 1]);
		assert_string_equal(warning_of(&p, "rank_conflict")->file, name[cases[i].first ? 1 : 0]);
	}
	assert_true(capture_stamp("h_1_20250109084453_ascend_pt") == INT64_C(20250109084453000));
	assert_true(capture_stamp("h_1_20250109084453124_ascend_ms") == INT64_C(20250109084453124));
	assert_true(capture_stamp("rank0_ascend_pt") == 0 && capture_stamp("x_20250109084453") == 0);
}

static void broken_files_do_not_spoil_the_others(void **state)
{
	const struct text_file files[] = {
	    {"d/kernel_details.csv", "50,trans_0,N/A,N/A,1736405443881410.320\t,50.621,0,0\n", 0},
	    {"d/step_trace_time.csv", STEPS "1,2,0,1,3\n", 0},
	    {"d/empty.csv", "", 0},
	    {"f/trace.json", "{\"traceEvents\": []}", 0},
	    {"e/trace.tar.gz", "\x1f\x8b\x08\0\0\0\0\0\0\3\xff\xff\xff\xff", 14},
	};
	PROFILE_AUTO p = {0};
	struct sb_error err;
	const struct warning *w;

	(void)state;
	assert_int_equal(read_texts(files, COUNT(files), &p, &err), SB_OK);
	assert_int_equal(p.count, 1);
	w = warning_of(&p, "no_header");
	assert_true(w && w->line == 1);
	assert_string_equal(w->file, "d/kernel_details.csv");
	assert_string_equal(warning_of(&p, "empty")->file, "d/empty.csv");
	assert_non_null(strstr(warning_of(&p, "no_events")->detail, "time."));
	assert_null(strstr(warning_of(&p, "no_events")->detail, ".."));
	assert_string_equal(warning_of(&p, "bad_gzip")->file, "e/trace.tar.gz");
}

static void what_is_no_profile_is_refused_with_a_reason(void **state)
{
	static const struct {
		struct text_file file;
		const char *word, *text;
	} cases[] = {
	    {{"a", "", 0}, "empty", "empty"},
	    {{"a.png", "\x89PNG\r\n\x1a\n", 0}, "unknown_format", "PNG"},
	    {{"a.json", "<html>502</html>", 0}, "unknown_format", "HTML"},
	    {{"a.json", "{\"traceEvents\": []}", 0}, "no_events", "span"},
	    {{"trace_view.json", "[]", 0}, "no_events", "no events"},
	    {{"a.csv", "Stream Id,Task Id,Hit Rate,Victim Rate,Op Name\n", 0},
	     "no_profile",
	     "no check uses them"},
	    {{"profiler_info_0.json", "{\"rank_id\": 0}", 0}, "no_events", "Send the whole directory"},
	    {{"x.nsys-rep", "a\0b", 3}, "unknown_format", "nsys export --type sqlite"},
	    {{"a.pdf", "%PDF-1.4", 0},
	     "unknown_format",
	     "PyTorch on Ascend, MindSpore, msprof, MindInsight,"},
	    {{"r_ascend_pt/FRAMEWORK/torch.op_range", "abc", 0}, "no_profile", "--export=on"},
	    {{"op_statistic.csv",
	      "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max "
	      "Time(us),Ratio(%)\n"
	      "0,Add,AI_CORE,1,2,2,2,2,100\n",
	      0},
	     "no_events",
	     "kernel_details.csv"},
	    {{"a.json", "{\"steps\": {}}", 0}, "unknown_format", "no trace"},
	    {{"a", "1,2,3,4\n", 0}, "no_header", "header"},
	    {{"minddata_getnext_profiling_1.txt", "1 2 3 4\n", 0}, "unknown_format", "MindInsight"},
	    {{"flops_0.txt", "0.1 0.2\n", 0}, "unknown_format", "MindInsight"},
	};
	struct profile none = {0};
	struct sb_error err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		PROFILE_AUTO p = {0};

		assert_int_equal(read_texts(&cases[i].file, 1, &p, &err), SB_EFORMAT);
		if (strcmp(err.word, cases[i].word) != 0 || !strstr(err.text, cases[i].text))
			fail_msg("%zu: %s: %s", i, err.word, err.text);
		assert_int_equal(p.count, 0);
	}
	assert_int_equal(profile_read(NULL, 0, NULL, NULL, &none, &err), SB_EFORMAT);
	assert_string_equal(err.word, "empty");
}

static void a_lone_file_bears_its_own_name(void **state)
{
	const struct text_file file = {"device_queue_profiling_1.txt",
	                               "0 1 1 4 10\n0 2 1 4 10\n0 0 1 0 10\n1 64 1 0 10\n1 70 1 1 11\n", 0};
	const struct text_file two[] = {file, {"README", "text", 0}};
	PROFILE_AUTO alone = {0};
	PROFILE_AUTO beside = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(&file, 1, &alone, &err), SB_OK);
	assert_int_equal(alone.count, 1);
	assert_string_equal(alone.captures[0].source, file.path);
	assert_string_equal(warning_of(&alone, "rank_from_name")->file, file.path);
	assert_int_equal(read_texts(two, 2, &beside, &err), SB_OK);
	assert_string_equal(warning_of(&beside, "rank_from_name")->file, ".");
}

static void what_was_left_out_is_named_beside_an_empty_capture(void **state)
{
	const struct text_file files[] = {{"profiler_info_0.json", "{\"rank_id\": 0}", 0},
	                                  {"details.csv", "Name,Call Stack,Host Self Duration(us)\n", 0}};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(files, 2, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, "no_events");
	assert_non_null(strstr(err.text, "details.csv: host operators"));
}

static void a_database_is_named_before_an_empty_capture(void **state)
{
	MADE_AUTO db = made_database("CREATE TABLE x (i)");
	const struct text_file files[] = {{"r_ascend_pt/profiler_info_0.json", "{\"rank_id\": 0}", 0},
	                                  {OUT("r_ascend_pt") "a.db", db.data, db.len},
	                                  {"README", "text", 0}};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(files, 3, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, "unknown_format");
	assert_string_equal(err.file, files[1].path);
	assert_non_null(strstr(err.text, "SQLite"));
}

static void unsafe_archives_are_refused_whole(void **state)
{
	const struct made_member members[] = {{.name = "step_trace_time.csv", .data = STEPS "1,2,0,1,3\n"},
	                                      {.name = "../x", .data = "x"}};
	MADE_AUTO m = made_archive(MADE_ZIP, members, 2);
	const struct text_file files[] = {{"good.csv", STEPS "1,2,0,1,3\n", 0}, {"up.zip", m.data, m.len}};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(files, 2, &p, &err), SB_EFORMAT);
	assert_string_equal(err.word, "unsafe_path");
	assert_int_equal(p.count, 0);
}

static void one_path_twice_is_read_once(void **state)
{
	const struct text_file files[] = {{"k.csv", KERNELS "1,a,AI_CORE,1,1\n", 0},
	                                  {"k.csv", KERNELS "1,b,AI_CORE,1,1\n", 0}};
	PROFILE_AUTO p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(read_texts(files, 2, &p, &err), SB_OK);
	assert_int_equal(p.captures[0].kernel_count, 1);
	assert_non_null(warning_of(&p, "duplicate_file"));
}

static void many_left_out_files_are_bounded(void **state)
{
	PROFILE_AUTO p = {0};
	char path[32];

	(void)state;
	for (int i = 999; i >= 0; i--) {
		snprintf(path, sizeof(path), "f%03d", i);
		profile_left_out(&p, path, "why");
	}
	assert_int_equal(p.left_out_count, LEFT_OUT_MAX);
	assert_int_equal(p.left_out_total, 1000);
	assert_string_equal(p.left_out[0].file, "f000");
	assert_string_equal(p.left_out[LEFT_OUT_MAX - 1].file, "f199");
}

struct followed {
	int calls;
	int64_t last, total;
	int cancel_at;
};

static void follow(void *self, int64_t done, int64_t total)
{
	struct followed *f = self;

	assert_true(done >= f->last && done <= total);
	f->calls++;
	f->last = done;
	f->total = total;
}

static bool stop(void *self)
{
	struct followed *f = self;

	return f->cancel_at > 0 && f->calls >= f->cancel_at;
}

static void work_is_followed_and_canceled(void **state)
{
	const char *text = KERNELS "1,a,AI_CORE,1,1\n";
	int64_t len = (int64_t)strlen(text);
	struct followed f = {0};
	const struct read_hooks hooks = {.self = &f, .progress = follow, .canceled = stop};
	int fd = made_fd(text, (size_t)len);
	const struct read_input in[] = {{.path = "k.csv", .fd = fd, .length = len},
	                                {.path = "l.csv", .fd = fd, .length = len}};
	struct profile p = {0};
	struct sb_error err;

	(void)state;
	assert_int_equal(profile_read(in, 2, NULL, &hooks, &p, &err), SB_OK);
	assert_true(f.last == 2 * len && f.total == 2 * len);
	assert_int_equal(p.count, 2);
	profile_free(&p);
	f = (struct followed){.cancel_at = 2};
	assert_int_equal(profile_read(in, 2, NULL, &hooks, &p, &err), SB_ECANCELED);
	assert_int_equal(p.count, 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(captures_are_collected_by_directory),
	    cmocka_unit_test(the_order_of_files_does_not_matter),
	    cmocka_unit_test(the_newest_capture_of_a_rank_wins),
	    cmocka_unit_test(broken_files_do_not_spoil_the_others),
	    cmocka_unit_test(what_is_no_profile_is_refused_with_a_reason),
	    cmocka_unit_test(a_lone_file_bears_its_own_name),
	    cmocka_unit_test(what_was_left_out_is_named_beside_an_empty_capture),
	    cmocka_unit_test(a_database_is_named_before_an_empty_capture),
	    cmocka_unit_test(unsafe_archives_are_refused_whole),
	    cmocka_unit_test(one_path_twice_is_read_once),
	    cmocka_unit_test(many_left_out_files_are_bounded),
	    cmocka_unit_test(work_is_followed_and_canceled),
	};

	return cmocka_run_group_tests_name("read", tests, NULL, NULL);
}
