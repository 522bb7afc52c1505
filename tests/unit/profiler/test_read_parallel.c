#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/executors.h"
#include "tests/unit/profiler/made_profile.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define KERNELS "Step Id,Name,Accelerator Core,Start Time(us),Duration(us)\n"
#define STEPS "Step,Computing,Communication,Free,Stage\n"
#define OUT(dir) dir "/ASCEND_PROFILER_OUTPUT/"

static const struct made_member FILES[] = {
    {.name = OUT("r0_ascend_pt") "kernel_details.csv",
     .data = KERNELS "1,matmul,AI_CORE,10,1\n1,add,AI_VECTOR_CORE,12,1\n"},
    {.name = OUT("r0_ascend_pt") "step_trace_time.csv", .data = STEPS "1,2,0,1,3\n"},
    {.name = OUT("r0_ascend_pt") "api_statistic.csv",
     .data = "Level,API Name,Time(us),Count\nacl,sync,1,1\nacl,bad,x,1\n"},
    {.name = OUT("r0_ascend_pt") "trace_view.json",
     .data = "[{\"ph\":\"X\",\"name\":\"add\",\"pid\":1,\"tid\":2,\"ts\":\"12\",\"dur\":1,\"args\":{\"Task "
             "Type\":\"AI_CORE\"}}"},
    {.name = "r0_ascend_pt/profiler_info_1.json", .data = "{\"config\":{},\"rank_id\":1}"},
    {.name = "r0_ascend_pt/profiler_metadata.json",
     .data = "{\"distributed_args\":{\"rank\":7,\"world_size\":2}}"},
    {.name = OUT("r1_ascend_pt") "kernel_details.csv", .data = KERNELS "1,matmul,AI_CORE,20,1\n"},
    {.name = "r1_ascend_pt/profiler_info_0.json", .data = "{\"config\":{},\"rank_id\":0}"},
    {.name = "README.txt", .data = "hello"},
    {.name = "empty"},
    {.name = "kineto.json",
     .data = "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,"
             "\"dur\":2,\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}}]}"},
};
#define FILE_COUNT COUNT(FILES)

static int read_archive(const struct made *m, const char *path, const struct sb_executor *x,
                        const struct read_limits *limits, struct profile *out, struct sb_error *err)
{
	const struct read_hooks hooks = {.executor = x};
	struct read_input in = {.path = path, .fd = made_fd(m->data, m->len), .length = (int64_t)m->len};
	int rc;

	*err = (struct sb_error){0};
	rc = profile_read(&in, 1, limits, &hooks, out, err);
	close(in.fd);
	return rc;
}

static void expect_same_trace(const struct trace *x, const struct trace *y)
{
	assert_int_equal(sb_strings_count(x->strings), sb_strings_count(y->strings));
	for (uint32_t id = 0; id < sb_strings_count(x->strings); id++)
		assert_string_equal(trace_text(x, id, NULL), trace_text(y, id, NULL));
	assert_int_equal(x->count, y->count);
	assert_int_equal(x->lane_count, y->lane_count);
	assert_int_equal(x->detail_count, y->detail_count);
	if (x->count == 0)
		return;
	assert_memory_equal(x->start_ns, y->start_ns, x->count * sizeof(*x->start_ns));
	assert_memory_equal(x->dur_ns, y->dur_ns, x->count * sizeof(*x->dur_ns));
	assert_memory_equal(x->name, y->name, x->count * sizeof(*x->name));
	assert_memory_equal(x->lane, y->lane, x->count * sizeof(*x->lane));
	assert_memory_equal(x->kind, y->kind, x->count);
	assert_memory_equal(x->lanes, y->lanes, x->lane_count * sizeof(*x->lanes));
}

static void expect_same_capture(const struct capture *x, const struct capture *y)
{
	assert_string_equal(x->source, y->source);
	assert_true(x->rank == y->rank && x->world_size == y->world_size && x->format == y->format);
	assert_int_equal(x->event_count, y->event_count);
	expect_same_trace(&x->trace, &y->trace);
	assert_int_equal(x->kernel_count, y->kernel_count);
	for (size_t k = 0; k < x->kernel_count; k++)
		assert_true(x->kernels[k].name == y->kernels[k].name &&
		            x->kernels[k].start_ns == y->kernels[k].start_ns);
	assert_int_equal(x->step_count, y->step_count);
	assert_int_equal(x->step_trace_count, y->step_trace_count);
	assert_int_equal(x->api_count, y->api_count);
	for (size_t k = 0; k < x->api_count; k++)
		assert_int_equal(x->apis[k].name, y->apis[k].name);
}

static void expect_same(const struct profile *a, const struct profile *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++)
		expect_same_capture(&a->captures[i], &b->captures[i]);
	assert_int_equal(a->warnings.count, b->warnings.count);
	for (size_t i = 0; i < a->warnings.count; i++)
		assert_memory_equal(&a->warnings.items[i], &b->warnings.items[i], sizeof(struct warning));
	assert_int_equal(a->left_out_total, b->left_out_total);
	assert_int_equal(a->left_out_count, b->left_out_count);
	assert_memory_equal(a->left_out, b->left_out, a->left_out_count * sizeof(struct left_out));
}

/* One upload in every order of its members, read by nobody else, by late workers and by threads. */
static void who_reads_what_when_does_not_matter(void **state)
{
	PROFILE_AUTO want = {0};
	struct sb_error err;

	(void)state;
	for (size_t turn = 0; turn < FILE_COUNT; turn++) {
		for (int kind = MADE_TAR; kind <= MADE_ZIP; kind++) {
			struct made_member members[FILE_COUNT];
			struct late_executor late;
			struct thread_executor threads;

			for (size_t i = 0; i < FILE_COUNT; i++)
				members[i] = FILES[(i * 5 + turn) % FILE_COUNT];
			MADE_AUTO m = made_archive((enum made_kind)kind, members, FILE_COUNT);
			MADE_AUTO gz = made_gzip(m.data, m.len);

			late_init(&late);
			threads_init(&threads, THREADS_ROOM);
			for (int by = 0; by < 6; by++) {
				const struct sb_executor *x = by % 3 == 0   ? NULL
				                              : by % 3 == 1 ? &late.base
				                                            : &threads.base;
				PROFILE_AUTO p = {0};

				assert_int_equal(read_archive(by < 3 ? &m : &gz, "up", x, NULL, &p, &err),
				                 SB_OK);
				if (!want.captures) {
					want = p;
					p = (struct profile){0};
				} else {
					expect_same(&want, &p);
				}
			}
			assert_true(late.taken > 2 * FILE_COUNT && threads.taken > 0);
		}
	}
	/* and it is what it ought to be */
	assert_int_equal(want.count, 3);
	assert_true(want.captures[0].rank == 0 && want.captures[1].rank == 1 &&
	            want.captures[2].rank == SB_NULL);
	assert_int_equal(want.captures[1].world_size, 2);
	assert_int_equal(want.captures[1].kernel_count, 2);
	assert_int_equal(want.captures[1].trace.count, 1);
	assert_non_null(warning_of(&want, "rank_conflict"));
	assert_non_null(warning_of(&want, "truncated"));
	assert_string_equal(warning_of(&want, "empty")->file, "up/empty");
	assert_int_equal(want.left_out_total, 1);
}

/* The same files as inputs of their own. */
static void inputs_are_read_beside_each_other(void **state)
{
	PROFILE_AUTO want = {0};
	struct late_executor late;
	struct read_input in[FILE_COUNT];
	struct sb_error err;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < FILE_COUNT; i++) {
		size_t len = FILES[i].data ? strlen(FILES[i].data) : 0;

		if (!FILES[i].link_to)
			in[n++] = (struct read_input){
			    .path = FILES[i].name, .fd = made_fd(FILES[i].data, len), .length = (int64_t)len};
	}
	late_init(&late);
	for (int by = 0; by < 2; by++) {
		const struct read_hooks hooks = {.executor = by ? &late.base : NULL};
		PROFILE_AUTO p = {0};

		assert_int_equal(profile_read(in, n, NULL, &hooks, &p, &err), SB_OK);
		if (by == 0) {
			want = p;
			p = (struct profile){0};
		} else {
			expect_same(&want, &p);
		}
		/* the order in which they are given is turned round */
		for (size_t i = 0; i < n / 2; i++) {
			struct read_input other = in[i];

			in[i] = in[n - 1 - i];
			in[n - 1 - i] = other;
		}
	}
	assert_int_equal(want.count, 3);
	assert_true(late.taken >= n);
	for (size_t i = 0; i < n; i++)
		close(in[i].fd);
}

static void bounds_hold_whoever_reads(void **state)
{
	const struct read_limits limits = {
	    .inflated_bytes = 3000000, .ratio = 10, .ratio_from = 500000, .archive_files = 3};
	static const char head[] = "{\"traceEvents\":[";
	char *blanks = malloc(1000000);
	struct late_executor late;
	struct thread_executor threads;

	(void)state;
	assert_non_null(blanks);
	/* a file that is read to its end */
	memset(blanks, ' ', 1000000);
	memcpy(blanks, head, sizeof(head) - 1);
	late_init(&late);
	threads_init(&threads, 2);
	for (int by = 0; by < 3; by++) {
		const struct sb_executor *x = by == 0 ? NULL : by == 1 ? &late.base : &threads.base;
		MADE_AUTO bomb = made_gzip(blanks, 1000000);
		MADE_AUTO small = made_gzip(blanks, 400000);
		const struct made_member one[] = {{.name = "bomb.gz", .data = bomb.data, .len = bomb.len}};
		/* none is a bomb alone, and the archive is small */
		const struct made_member three[] = {{.name = "1.gz", .data = small.data, .len = small.len},
		                                    {.name = "2.gz", .data = small.data, .len = small.len},
		                                    {.name = "3.gz", .data = small.data, .len = small.len}};
		const struct made_member four[] = {
		    {.name = "1"}, {.name = "2"}, {.name = "3"}, {.name = "4"}};
		MADE_AUTO a = made_archive(MADE_TAR, one, 1);
		MADE_AUTO b = made_archive(MADE_TAR, three, 3);
		MADE_AUTO c = made_archive(MADE_TAR, four, 4);
		struct profile p = {0};
		struct sb_error err;

		assert_int_equal(read_archive(&a, "up", x, &limits, &p, &err), SB_ELIMIT);
		assert_string_equal(err.word, "zip_bomb");
		assert_string_equal(err.file, "up/bomb.gz");
		assert_int_equal(read_archive(&b, "up", x, &limits, &p, &err), SB_ELIMIT);
		assert_string_equal(err.word, "zip_bomb");
		assert_int_equal(read_archive(&c, "up", x, &limits, &p, &err), SB_ELIMIT);
		assert_string_equal(err.word, "too_many_files");
	}
	free(blanks);
}

struct followed {
	int64_t last, total;
	atomic_bool busy;
	int calls, cancel_at;
	atomic_int asked;
};

static void follow(void *self, int64_t done, int64_t total)
{
	struct followed *f = self;

	assert_false(atomic_exchange(&f->busy, true));
	assert_true(done >= f->last && done <= total);
	f->last = done;
	f->total = total;
	f->calls++;
	atomic_store(&f->busy, false);
}

static bool stop(void *self)
{
	struct followed *f = self;

	return f->cancel_at > 0 && atomic_fetch_add(&f->asked, 1) >= f->cancel_at;
}

static void progress_and_cancel_reach_all_threads(void **state)
{
	struct made_member members[FILE_COUNT];
	struct thread_executor threads;

	(void)state;
	memcpy(members, FILES, sizeof(members));
	MADE_AUTO m = made_archive(MADE_TAR, members, FILE_COUNT);
	struct read_input in = {.path = "up", .fd = made_fd(m.data, m.len), .length = (int64_t)m.len};

	for (int cancel_at = 0; cancel_at < 12; cancel_at++) {
		struct followed f = {.cancel_at = cancel_at};
		struct profile p = {0};
		struct sb_error err = {0};
		int rc;

		threads_init(&threads, THREADS_ROOM);
		const struct read_hooks hooks = {
		    .self = &f, .progress = follow, .canceled = stop, .executor = &threads.base};

		rc = profile_read(&in, 1, NULL, &hooks, &p, &err);
		if (cancel_at == 0) {
			assert_int_equal(rc, SB_OK);
			assert_true(f.calls > 0 && f.last == f.total && f.total == in.length);
			profile_free(&p);
		} else {
			assert_int_equal(rc, SB_ECANCELED);
			assert_string_equal(err.word, "canceled");
			assert_null(p.captures);
		}
	}
	close(in.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(who_reads_what_when_does_not_matter),
	    cmocka_unit_test(inputs_are_read_beside_each_other),
	    cmocka_unit_test(bounds_hold_whoever_reads),
	    cmocka_unit_test(progress_and_cancel_reach_all_threads),
	};

	return cmocka_run_group_tests_name("read_parallel", tests, NULL, NULL);
}
