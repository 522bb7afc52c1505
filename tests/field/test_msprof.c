/* Reads the real raw msprof table and the real cluster analyses of $SIGNALBOX_SHARED, and compares them with
 * samples/ascend/expected.md 6.1, 6.2 and 7 and with research/traces/user-pain.md 45. Sums that no page gives
 * were taken from the tables with Python's csv and decimal modules. */
#include "tests/shared.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/breakdown.h"
#include "profiler/communication.h"
#include "profiler/read.h"

#define FILES_MAX 8

static void read_files(const char *const *names, struct profile *out)
{
	struct read_input in[FILES_MAX] = {{0}};
	char *paths[FILES_MAX];
	struct sb_error err = {0};
	size_t n = 0;

	for (; names[n]; n++) {
		struct stat st = {0};

		paths[n] = shared_path(names[n]);
		in[n].path = names[n];
		in[n].fd = open(paths[n], O_RDONLY | O_CLOEXEC);
		assert_true(in[n].fd >= 0 && fstat(in[n].fd, &st) == 0);
		in[n].length = st.st_size;
	}
	if (profile_read(in, n, NULL, NULL, out, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	for (size_t i = 0; i < n; i++) {
		close(in[i].fd);
		free(paths[i]);
	}
}

static int64_t sum_of(const struct capture *c, const char *core, size_t *out_count)
{
	int64_t sum = 0;

	*out_count = 0;
	for (size_t i = 0; i < c->kernel_count; i++) {
		if (strcmp(trace_text(&c->trace, c->kernels[i].core, NULL), core) != 0)
			continue;
		sum += c->kernels[i].dur_ns;
		(*out_count)++;
	}
	return sum;
}

static void expect_sum(const struct capture *c, const char *core, size_t count, double us)
{
	size_t n;
	int64_t sum = sum_of(c, core, &n);

	assert_int_equal(n, count);
	/* the tables have four digits, a nanosecond has three */
	assert_true(fabs((double)sum / 1000 - us) < 0.0006 * (double)count);
}

static void op_summary(void **state)
{
	static const char *const names[] = {"samples/ascend/raw_msprof/op_summary_1.csv", NULL};
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_files(names, &p);
	c = &p.captures[0];
	assert_int_equal(c->format, FORMAT_MSPROF_TEXT);
	/* of 21 rows one lacks its duration, so that all behind it stands one column too early */
	assert_int_equal(c->kernel_count, 20);
	assert_int_equal(p.warnings.count, 1);
	assert_string_equal(p.warnings.items[0].code, "short_row");
	assert_true(p.warnings.items[0].line == 17 && p.warnings.items[0].count == 1);
	assert_true(c->step_count == 1 && c->steps[0].number == 2);
	assert_true(c->kernels[0].start_ns == INT64_C(1695115378713661000) && c->kernels[0].dur_ns == 496851);
	expect_sum(c, "AI_CORE", 4, 506.3683);
	expect_sum(c, "HCCL", 4, 10238.5380);
	expect_sum(c, "AI_CPU", 2, 145.0223);
	expect_sum(c, "DSA_SQE", 2, 5344.2105);
	expect_sum(c, "MIX_AIC", 3, 21112.8507);
	for (size_t i = 0; i < c->kernel_count; i++)
		assert_true(c->kernels[i].communication ==
		            (strcmp(trace_text(&c->trace, c->kernels[i].core, NULL), "HCCL") == 0));
}

static void kernel_details_of_2023(void **state)
{
	static const char *const names[] = {"samples/ascend/mpa_fixtures/kernel_details_wide.csv", NULL};
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_files(names, &p);
	c = &p.captures[0];
	assert_int_equal(c->format, FORMAT_ASCEND_TEXT);
	assert_int_equal(c->kernel_count, 591);
	assert_int_equal(p.warnings.count, 0);
	/* section 7: the first row lasts 607.98 us */
	assert_true(c->kernels[0].dur_ns == 607980 && c->kernels[0].start_ns == INT64_C(1699529622790614800));
	expect_sum(c, "AI_VECTOR_CORE", 520, 33091.80);
	expect_sum(c, "HCCL", 19, 346398.74);
	expect_sum(c, "AI_CORE", 13, 14252.72);
	/* counters of arithmetic tell no pipe */
	for (size_t i = 0; i < c->kernel_count; i++)
		assert_true(isnan(c->kernels[i].pipe_ratio));
}

struct range {
	int64_t low, high, low_rank, high_rank;
	double mean;
};

static void widen(struct range *r, int64_t value, int64_t rank)
{
	if (r->low_rank < 0 || value < r->low) {
		r->low = value;
		r->low_rank = rank;
	}
	if (r->high_rank < 0 || value > r->high) {
		r->high = value;
		r->high_rank = rank;
	}
}

/* The spread of a column over ranks [from, to), as a share of the mean of their totals. */
static double spread(const struct profile *p, size_t from, size_t to, size_t column, struct range *out)
{
	double total = 0;

	*out = (struct range){.low_rank = -1, .high_rank = -1};
	for (size_t i = from; i < to; i++) {
		const struct step_trace *t = &p->captures[i].step_traces[0];
		const int64_t columns[] = {t->computing, t->exposed, t->free};

		total += (double)(t->computing + t->exposed + t->free);
		out->mean += (double)t->computing / (double)(to - from);
		widen(out, columns[column], p->captures[i].rank);
	}
	return (double)(out->high - out->low) * (double)(to - from) / total;
}

enum { COMPUTING, EXPOSED, IDLE };

static void straggler_of_eight_ranks(void **state)
{
	static const char *const names[] = {"samples/ascend/mpa_fixtures/cluster_step_trace_time.csv",
	                                    "samples/ascend/mpa_fixtures/cluster_communication.json", NULL};
	PROFILE_AUTO p = {0};
	struct range r;

	(void)state;
	read_files(names, &p);
	assert_int_equal(p.count, 8);
	assert_int_equal(p.warnings.count, 0);
	for (size_t i = 0; i < 8; i++) {
		assert_true(p.captures[i].rank == (int64_t)i && p.captures[i].step_trace_count == 1);
		assert_true(p.captures[i].step_traces[0].step == SB_NULL);
	}
	assert_true(fabs(spread(&p, 0, 8, COMPUTING, &r) - 0.00092) < 0.000005);
	/* user-pain 45: the mean over the eight ranks, without the row of maxima */
	assert_true(fabs(r.mean - 80870472.8) < 1);
	assert_true(fabs(spread(&p, 0, 8, EXPOSED, &r) - 0.36353) < 0.000005);
	assert_true(r.low_rank == 1 && r.low == 133385977);
	assert_true(fabs(spread(&p, 0, 8, IDLE, &r) - 0.34765) < 0.000005);
	assert_true(r.high_rank == 1 && r.high == 1488610059);
}

static const struct link *link_of(const struct communication_op *op, const char *name)
{
	for (size_t i = 0; i < op->link_count; i++)
		if (strcmp(op->links[i].name, name) == 0)
			return &op->links[i];
	return NULL;
}

/* 6.1: SDMA of ranks 0 and 1 over all operators of the group. */
static void links_of_eight_ranks(void **state)
{
	static const char *const names[] = {"samples/ascend/mpa_fixtures/cluster_communication.json", NULL};
	static const struct {
		double ms;
		int64_t bytes;
	} want[] = {{0.03629965625, 85368}, {0.05697939062500001, 134392}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_files(names, &p);
	assert_int_equal(p.count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct capture *c = &p.captures[i];
		double us = 0;
		int64_t bytes = 0;

		for (size_t k = 0; k < c->communication_count; k++) {
			const struct link *l = link_of(&c->communications[k], "SDMA");

			us += l ? l->transit_us : 0;
			bytes += l ? l->bytes : 0;
			assert_string_equal(trace_text(&c->trace, c->communications[k].group, NULL),
			                    "(0, 1)");
		}
		assert_true(fabs(us - want[i].ms * 1000) < 1e-9);
		/* the sizes are sums of doubles in the file */
		assert_true(bytes == want[i].bytes);
	}
}

static void stages_of_sixteen_ranks(void **state)
{
	static const char *const names[] = {"samples/ascend/cluster_16ranks_pp2/cluster_step_trace_time.csv",
	                                    "samples/ascend/cluster_16ranks_pp2/communication_group.json",
	                                    NULL};
	PROFILE_AUTO p = {0};
	struct range r;

	(void)state;
	read_files(names, &p);
	assert_int_equal(p.count, 16);
	/* the identities hold within 1 us on all rank rows, and the rows of the stages are not among them */
	assert_int_equal(p.warnings.count, 0);
	for (size_t i = 0; i < 16; i++) {
		const struct step_trace *t = &p.captures[i].step_traces[0];
		int64_t off = t->stage + t->bubble - t->computing - t->exposed - t->free;
		double share = 100.0 * (double)t->overlapped / (double)(t->stage + t->bubble);

		assert_true(p.captures[i].step_trace_count == 1 && t->step == 2);
		assert_true(p.captures[i].stage == (i < 8 ? 0 : 1));
		assert_true(off > -1000 && off < 1000);
		assert_true(i < 8 ? share > 2.245 && share < 2.695 : share > 1.975 && share < 2.105);
	}
	assert_true(fabs(spread(&p, 0, 16, EXPOSED, &r) - 0.26197) < 0.000005);
	assert_true(r.high_rank == 11 && r.low_rank == 5);
	assert_true(fabs(spread(&p, 0, 8, EXPOSED, &r) - 0.05987) < 0.000005);
	assert_true(r.high_rank == 7 && r.low_rank == 5);
	assert_true(fabs(spread(&p, 0, 8, IDLE, &r) - 0.02874) < 0.000005);
	assert_true(fabs(spread(&p, 8, 16, EXPOSED, &r) - 0.05759) < 0.000005);
	assert_true(r.high_rank == 11 && r.low_rank == 12);
	assert_true(fabs(spread(&p, 8, 16, COMPUTING, &r) - 0.00071) < 0.000005);
}

/* The span of a row is its Stage, taken from its exact parts. */
static void breakdown_of_sixteen_ranks(void **state)
{
	static const char *const names[] = {"samples/ascend/cluster_16ranks_pp2/cluster_step_trace_time.csv",
	                                    NULL};
	PROFILE_AUTO p = {0};
	struct warnings w = {0};
	struct breakdown b = {0};

	(void)state;
	read_files(names, &p);
	assert_int_equal(breakdown_compute(&p, &w, &b, NULL), SB_OK);
	assert_int_equal(b.count, 32);
	for (size_t i = 0; i < b.count; i++) {
		const struct breakdown_row *row = &b.rows[i];

		assert_true(row->span_ns + row->bubble_ns ==
		            row->compute_ns + row->exposed_ns + row->free_ns);
		assert_true(row->communication_ns == row->exposed_ns + row->overlap_ns);
	}
	breakdown_free(&b);
	free(w.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(op_summary),
	    cmocka_unit_test(kernel_details_of_2023),
	    cmocka_unit_test(straggler_of_eight_ranks),
	    cmocka_unit_test(links_of_eight_ranks),
	    cmocka_unit_test(stages_of_sixteen_ranks),
	    cmocka_unit_test(breakdown_of_sixteen_ranks),
	};

	return cmocka_run_group_tests_name("raw msprof and cluster analyses", tests, NULL, NULL);
}
