/* Reads the real Ascend databases of $SIGNALBOX_SHARED and compares them with samples/ascend/expected.md,
 * sections 1 and 5, and with the analysis.db beside each. */
#include "tests/field/answer.h"
#include "tests/field/bundle.h"

#define BUNDLE "samples/ascend/bundles/pytorch_db_level012_2ranks.tar.gz"

static const char *const FOLDERS[] = {"db/level0/", "db/level1/", "db/level2/"};

/* Section 1, "DB captures": rank 0 of each level, ns. */
static const struct split {
	int64_t compute, exposed, overlap, communication, free, span;
} SPLITS[] = {
    {8843910, 85881122, 3999454, 89880576, 25900158, 120625190},
    {8903431, 98071947, 4036153, 102108100, 25258144, 132233522},
    {8900456, 90080699, 4026822, 94107521, 25238587, 124219742},
};

static void analyse(struct profile *p, struct breakdown *out)
{
	struct sb_error err = {0};

	assert_int_equal(breakdown_compute(p, &p->warnings, out, &err), SB_OK);
}

static const struct breakdown_row *row_of(const struct breakdown *b, int64_t rank, int64_t step)
{
	for (size_t i = 0; i < b->count; i++) {
		if (b->rows[i].rank == rank && b->rows[i].step == step)
			return &b->rows[i];
	}
	fail_msg("no row of rank %lld", (long long)rank);
	return NULL;
}

static void expect_row(const char *where, const struct breakdown_row *r, const struct split *want)
{
	same(where, "compute", r->compute_ns, want->compute);
	same(where, "exposed", r->exposed_ns, want->exposed);
	same(where, "overlap", r->overlap_ns, want->overlap);
	same(where, "communication", r->communication_ns, want->communication);
	same(where, "free", r->free_ns, want->free);
	same(where, "span", r->span_ns, want->span);
	same(where, "bubble", r->bubble_ns, 0);
}

static void step_splits(void **state)
{
	(void)state;
	for (size_t level = 0; level < 3; level++) {
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO b = {0};

		read_members(BUNDLE, FOLDERS[level], 6, &p);
		analyse(&p, &b);
		expect_row(FOLDERS[level], row_of(&b, 0, 50), &SPLITS[level]);
		/* one step: the whole capture is the same */
		expect_row(FOLDERS[level], row_of(&b, 0, SB_NULL), &SPLITS[level]);
		assert_int_equal(p.warnings.count, 0);
	}
}

/* Each rank's events agree with the step trace that torch_npu computed of them: its three decimals are ns. */
static void events_agree_with_analysis(void **state)
{
	(void)state;
	for (size_t level = 0; level < 3; level++) {
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO b = {0};

		read_members(BUNDLE, FOLDERS[level], 6, &p);
		analyse(&p, &b);
		assert_int_equal(p.count, 2);
		for (size_t i = 0; i < 2; i++) {
			const struct step_trace *s = p.captures[i].step_traces;
			const struct breakdown_row *r = row_of(&b, (int64_t)i, 50);

			assert_int_equal(p.captures[i].step_trace_count, 1);
			expect_row(FOLDERS[level], r,
			           &(struct split){s->computing, s->exposed, s->overlapped, s->communication,
			                           s->free, s->stage});
			same(FOLDERS[level], "step", s->step, 50);
			same(FOLDERS[level], "preparing", r->preparing_ns, s->preparing);
		}
	}
}

static size_t count_kind(const struct trace *t, enum event_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += t->kind[i] == kind;
	return n;
}

/* Sections 1 and 2: 191 kernels = 187 compute + 4 collectives; the level 1 of rank 0 was opened by Insight,
 * whose Overlap rows are not used. */
static void kernels(void **state)
{
	(void)state;
	for (size_t level = 0; level < 3; level++) {
		PROFILE_AUTO p = {0};

		read_members(BUNDLE, FOLDERS[level], 6, &p);
		for (size_t i = 0; i < p.count; i++) {
			const struct capture *c = &p.captures[i];
			size_t collectives = 0, judged = 0;

			for (size_t k = 0; k < c->kernel_count; k++) {
				collectives += c->kernels[k].communication;
				judged += !isnan(c->kernels[k].pipe_ratio);
			}
			assert_true(c->format == FORMAT_ASCEND_DB && c->rank == (int64_t)i);
			assert_string_equal(c->chip, "Ascend910B");
			assert_int_equal(c->kernel_count, 191);
			assert_int_equal(collectives, 4);
			/* level 0 has no counters; the two random numbers of the dropouts have none either */
			assert_int_equal(judged, level == 0 ? 0 : 185);
			assert_int_equal(count_kind(&c->trace, EVENT_KERNEL), 187);
			assert_int_equal(count_kind(&c->trace, EVENT_COMMUNICATION), 4);
			assert_int_equal(count_kind(&c->trace, EVENT_LANE_COMPUTE), 0);
			assert_int_equal(c->step_count, 1);
			assert_true(c->steps[0].number == 50);
		}
	}
}

/* Time of the transfers of one collective over HCCS, and of those whose size is no multiple of 512 bytes. */
static void transfers_of(const struct trace *t, size_t op, int64_t *out_all, int64_t *out_odd,
                         int64_t *out_bytes)
{
	*out_all = *out_odd = *out_bytes = 0;
	for (size_t i = 0; i < t->count; i++) {
		const struct event_detail *d = trace_detail(t, (uint32_t)i);

		if (t->kind[i] != EVENT_COMMUNICATION_TASK || !d || d->bytes <= 0 ||
		    t->start_ns[i] < t->start_ns[op] || t->start_ns[i] >= t->start_ns[op] + t->dur_ns[op] ||
		    strcmp(trace_text(t, d->type, NULL), "HCCS") != 0)
			continue;
		*out_all += t->dur_ns[i];
		*out_bytes += d->bytes;
		if (d->bytes % 512 != 0)
			*out_odd += t->dur_ns[i];
	}
}

/* Section 5, "DB L1": what the peer found by its own sums over the tasks. */
static void byte_alignment(void **state)
{
	static const struct {
		const char *name;
		int64_t bytes, all, odd;
	} rows[] = {{"hcom_allReduce__210_0_1", 28647232, 1821901, 240505},
	            {"hcom_allReduce__210_3_1", 17267200, 2109022, 294406}};
	PROFILE_AUTO p = {0};
	const struct trace *t;
	size_t found = 0;

	(void)state;
	read_members(BUNDLE, FOLDERS[1], 6, &p);
	t = &p.captures[0].trace;
	for (size_t i = 0; i < t->count; i++) {
		for (size_t k = 0; t->kind[i] == EVENT_COMMUNICATION && k < 2; k++) {
			int64_t all, odd, bytes;

			if (strcmp(trace_text(t, t->name[i], NULL), rows[k].name) != 0)
				continue;
			transfers_of(t, i, &all, &odd, &bytes);
			same(rows[k].name, "time", all, rows[k].all);
			same(rows[k].name, "unaligned time", odd, rows[k].odd);
			same(rows[k].name, "bytes", bytes, rows[k].bytes);
			found++;
		}
	}
	assert_int_equal(found, 2);
}

/* analysis.db has one row a packet size: grouped, the sizes are those of the text captures of the same job
 * (section 3), and the links' times those of the tasks within the digits lost. */
static void communication(void **state)
{
	static const int64_t sizes[] = {28647232, 117440512, 264241152, 17267200};
	PROFILE_AUTO p = {0};
	int64_t total = 0, packets = 0;

	(void)state;
	read_members(BUNDLE, FOLDERS[1], 6, &p);
	assert_int_equal(p.captures[0].communication_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct communication_op *op = &p.captures[0].communications[i];
		int64_t sum = 0;

		assert_true(op->step == 50 && !op->point_to_point && op->link_count == 2);
		assert_string_equal(op->links[0].name, "HCCS");
		assert_string_equal(op->links[1].name, "SDMA");
		assert_true(op->links[0].bytes == sizes[i] && op->links[1].bytes == sizes[i]);
		assert_int_equal(op->links[0].packet_count, 2);
		assert_int_equal(op->links[1].packet_count, 0);
		for (size_t k = 0; k < 2; k++) {
			sum += op->links[0].packets[k].bytes * op->links[0].packets[k].count;
			packets += op->links[0].packets[k].count;
		}
		assert_true(sum == sizes[i]);
		total += sum;
	}
	assert_true(total == 427596096 && packets == 56);
	assert_true(fabs(p.captures[0].communications[0].links[0].transit_us - 1821.901) < 0.01);
	assert_true(fabs(p.captures[0].communications[3].links[0].transit_us - 2109.022) < 0.01);
}

/* The levels are three runs of the job: of one rank the newest, level 2, is kept. */
static void the_newest_stays(void **state)
{
	PROFILE_AUTO p = {0};
	BREAKDOWN_AUTO b = {0};

	(void)state;
	read_members(BUNDLE, "db/", 18, &p);
	analyse(&p, &b);
	assert_int_equal(p.count, 2);
	expect_row("all levels", row_of(&b, 0, 50), &SPLITS[2]);
}

/* raw_msprof/msprof_0.db: its compute time is the sum that Insight computed into its OVERLAP_ANALYSIS. */
static void raw_database(void **state)
{
	ANSWER_AUTO x = {0};

	(void)state;
	answer_of("samples/ascend/raw_msprof", "msprof_0.db", &x);
	assert_int_equal(x.p.count, 1);
	assert_true(x.p.captures[0].format == FORMAT_MSPROF_DB && x.p.captures[0].rank == SB_NULL);
	assert_string_equal(x.p.captures[0].chip, "Ascend910B");
	assert_int_equal(x.b.count, 1);
	same("msprof_0.db", "compute", x.b.rows[0].compute_ns, 663872);
	same("msprof_0.db", "device", x.b.rows[0].device, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(step_splits),   cmocka_unit_test(events_agree_with_analysis),
	    cmocka_unit_test(kernels),       cmocka_unit_test(byte_alignment),
	    cmocka_unit_test(communication), cmocka_unit_test(the_newest_stays),
	    cmocka_unit_test(raw_database),
	};

	return cmocka_run_group_tests_name("ascend databases", tests, NULL, NULL);
}
