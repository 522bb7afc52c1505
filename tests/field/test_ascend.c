/* Reads the real Ascend text captures of $SIGNALBOX_SHARED and compares the raw data with sections 1 to 3 of
 * samples/ascend/expected.md. */
#include "tests/field/bundle.h"

#include <math.h>
#include <sys/stat.h>

#define LEVEL_1 "samples/ascend/bundles/pytorch_text_level1_2ranks.tar.gz"
#define LEVELS_0_2 "samples/ascend/bundles/pytorch_text_level0_and_2_2ranks.tar.gz"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The whole archive as one input. */
static void read_bundle(const char *name, struct profile *out)
{
	char *path = shared_path(name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = {0};
	struct sb_error err = {0};
	struct read_input in = {.path = "bundle.tar.gz", .fd = fd};

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	in.length = st.st_size;
	if (profile_read(&in, 1, NULL, NULL, out, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	close(fd);
	free(path);
}

/* Section 1: exact sums of the lanes in ns, the numbers of the step table, the framework step. */
struct split {
	int64_t computing, exposed, overlapped, communication, free, stage, preparing, step;
};
static const struct split SPLITS[3][2] = {
    {{8827473, 81515607, 4001282, 85516889, 25908102, 116251250, 19358000, 136897820},
     {8813173, 64616114, 3989596, 68605710, 27172943, 100602250, 18920000, 120891160}},
    {{8873756, 101963203, 4028675, 105991878, 25744050, 136581000, 17902500, 155985800},
     {8878295, 96359047, 4016239, 100375286, 26675274, 131912500, 20433250, 153888390}},
    {{8868240, 95962016, 4011262, 99973278, 25032619, 129862750, 17483750, 148786100},
     {8902301, 93411782, 4043544, 97455326, 26441689, 128755750, 18325500, 148452230}},
};

static int64_t sum_of(const struct trace *t, enum event_kind kind, size_t *out_count)
{
	int64_t sum = 0;

	*out_count = 0;
	for (size_t i = 0; i < t->count; i++) {
		if (t->kind[i] == kind) {
			sum += t->dur_ns[i];
			(*out_count)++;
		}
	}
	return sum;
}

static void expect_split(const struct capture *c, const struct split *want)
{
	size_t n;

	assert_true(sum_of(&c->trace, EVENT_LANE_COMPUTE, &n) == want->computing);
	assert_int_equal(n, 187);
	assert_true(sum_of(&c->trace, EVENT_LANE_COMMUNICATION, &n) == want->communication);
	assert_int_equal(n, 4);
	assert_true(sum_of(&c->trace, EVENT_LANE_EXPOSED, &n) == want->exposed);
	assert_int_equal(n, 101);
	assert_true(sum_of(&c->trace, EVENT_LANE_FREE, &n) == want->free);
	assert_int_equal(n, 90);
	/* the rows of the streams, and the group rows without their tasks */
	sum_of(&c->trace, EVENT_KERNEL, &n);
	assert_int_equal(n, 187);
	sum_of(&c->trace, EVENT_COMMUNICATION, &n);
	assert_int_equal(n, 4);
	assert_int_equal(c->step_trace_count, 1);
	assert_true(c->step_traces[0].step == 50 && c->step_traces[0].computing == want->computing);
	assert_true(c->step_traces[0].exposed == want->exposed);
	assert_true(c->step_traces[0].overlapped == want->overlapped);
	assert_true(c->step_traces[0].communication == want->communication);
	assert_true(c->step_traces[0].free == want->free && c->step_traces[0].bubble == 0);
	assert_true(c->step_traces[0].stage == want->stage && c->step_traces[0].preparing == want->preparing);
	assert_int_equal(c->step_count, 1);
	assert_true(c->steps[0].number == 50 && c->steps[0].dur_ns == want->step);
}

static void expect_ranks(const struct profile *p, const struct split *want)
{
	assert_int_equal(p->count, 2);
	for (size_t rank = 0; rank < 2; rank++) {
		const struct capture *c = &p->captures[rank];
		size_t collectives = 0;

		assert_true(c->rank == (int64_t)rank && c->format == FORMAT_ASCEND_TEXT);
		assert_string_equal(c->chip, "");
		assert_int_equal(c->kernel_count, 191);
		for (size_t i = 0; i < c->kernel_count; i++)
			collectives += c->kernels[i].communication;
		assert_int_equal(collectives, 4);
		expect_split(c, &want[rank]);
	}
}

static void step_splits(void **state)
{
	static const char *const folders[] = {"level0/", NULL, "level2/"};

	(void)state;
	for (size_t level = 0; level < 3; level++) {
		PROFILE_AUTO p = {0};

		if (level == 1)
			read_bundle(LEVEL_1, &p);
		else
			read_members(LEVELS_0_2, folders[level], 11, &p);
		expect_ranks(&p, SPLITS[level]);
		assert_int_equal(p.warnings.count, 0);
	}
}

static const char *text(const struct capture *c, uint32_t id)
{
	return trace_text(&c->trace, id, NULL);
}

static int64_t kernels_of(const struct capture *c, const char *core, const char *type, int *out_count)
{
	int64_t sum = 0;

	*out_count = 0;
	for (size_t i = 0; i < c->kernel_count; i++) {
		const struct kernel *k = &c->kernels[i];

		if (k->communication || (core && strcmp(text(c, k->core), core) != 0) ||
		    (type && strcmp(text(c, k->type), type) != 0))
			continue;
		sum += k->dur_ns;
		(*out_count)++;
	}
	return sum;
}

/* Section 2. */
static void kernels_of_level_1(void **state)
{
	static const struct {
		const char *core, *type;
		int count;
		int64_t ns;
	} rows[] = {
	    {NULL, NULL, 187, 8873737},           {"AI_VECTOR_CORE", NULL, 149, 5823400},
	    {"AI_CORE", NULL, 23, 2805855},       {"MIX_AIV", NULL, 13, 238962},
	    {"DSA_SQE", NULL, 2, 5520},           {"AI_CPU", NULL, 0, 0},
	    {NULL, "ForeachAddList", 3, 1959079}, {NULL, "TransData", 57, 1423202},
	    {NULL, "MatMulV2", 8, 921498},        {NULL, "Conv2D", 5, 723434},
	    {NULL, "TensorMove", 11, 573790},
	};
	static const struct {
		size_t count;
		int64_t ns;
	} unbound[2] = {{160, 4150103}, {160, 4136719}};
	PROFILE_AUTO p = {0};
	int count;

	(void)state;
	read_bundle(LEVEL_1, &p);
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_true(kernels_of(&p.captures[0], rows[i].core, rows[i].type, &count) == rows[i].ns);
		assert_int_equal(count, rows[i].count);
	}
	assert_true(kernels_of(&p.captures[1], NULL, NULL, &count) == 8878275);
	for (size_t rank = 0; rank < 2; rank++) {
		const struct capture *c = &p.captures[rank];
		size_t low = 0, dynamic = 0;
		int64_t low_ns = 0;

		for (size_t i = 0; i < c->kernel_count; i++) {
			const struct kernel *k = &c->kernels[i];

			dynamic += strcmp(text(c, k->state), "dynamic") == 0;
			if (k->communication) {
				assert_true(isnan(k->pipe_ratio) && k->state == 0);
				continue;
			}
			low += k->pipe_ratio <= 0.8f;
			low_ns += k->pipe_ratio <= 0.8f ? k->dur_ns : 0;
		}
		assert_int_equal(low, unbound[rank].count);
		assert_true(low_ns == unbound[rank].ns);
		assert_int_equal(dynamic, 187);
	}
}

/* Section 2: time by the pipe with the largest ratio, level 1 rank 0, to 0.01 us. */
static void kernels_by_pipe(void **state)
{
	static const struct {
		const char *pipe;
		double us;
	} rows[] = {{"aiv_mte2", 4067.15},  {"aiv_scalar", 1390.82},
	            {"aic_mte2", 1130.94},  {"aic_mte1", 750.92},
	            {"aic_mac", 664.59},    {"aiv_mte3", 551.85},
	            {"aic_scalar", 152.84}, {"aic_fixpipe", 106.56},
	            {"aiv_vec", 52.54},     {"", 5.52}};
	PROFILE_AUTO p = {0};

	(void)state;
	read_bundle(LEVEL_1, &p);
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct capture *c = &p.captures[0];
		int64_t ns = 0;

		for (size_t k = 0; k < c->kernel_count; k++) {
			if (!c->kernels[k].communication &&
			    strcmp(text(c, c->kernels[k].pipe), rows[i].pipe) == 0)
				ns += c->kernels[k].dur_ns;
		}
		if (fabs((double)ns / 1000 - rows[i].us) > 0.0051)
			fail_msg("%s: %lld ns", rows[i].pipe, (long long)ns);
	}
}

static const struct link *link_of(const struct communication_op *op, const char *name)
{
	for (size_t i = 0; i < op->link_count; i++) {
		if (strcmp(op->links[i].name, name) == 0)
			return &op->links[i];
	}
	fail_msg("no link %s", name);
	return NULL;
}

/* Section 3: sizes, link times, packets. */
static void expect_links(const struct capture *c, double hccs_us)
{
	static const int64_t sizes[] = {28647232, 117440512, 264241152, 17267200};
	int64_t bytes = 0, packets = 0;
	double us = 0;

	assert_int_equal(c->communication_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct communication_op *op = &c->communications[i];
		const struct link *hccs = link_of(op, "HCCS");
		int64_t sum = 0;

		assert_true(op->step == 50 && !op->point_to_point);
		assert_true(hccs->bytes == sizes[i] && link_of(op, "SDMA")->bytes == sizes[i]);
		assert_true(link_of(op, "RDMA")->bytes == 0 && hccs->large_packet_ratio == 0);
		for (size_t k = 0; k < hccs->packet_count; k++) {
			sum += hccs->packets[k].bytes * hccs->packets[k].count;
			packets += hccs->packets[k].count;
			assert_true(hccs->packets[k].bytes <= 18890752);
		}
		assert_true(sum == hccs->bytes);
		bytes += hccs->bytes;
		us += hccs->transit_us;
	}
	assert_true(bytes == 427596096 && packets == 56);
	assert_true(fabs(us - hccs_us) < 0.0006);
}

static void communication(void **state)
{
	PROFILE_AUTO one = {0}, two = {0};
	const struct communication_op *ops;

	(void)state;
	read_bundle(LEVEL_1, &one);
	read_members(LEVELS_0_2, "level2/", 11, &two);
	expect_links(&one.captures[0], 27315.706);
	expect_links(&one.captures[1], 27583.971);
	expect_links(&two.captures[0], 28469.589);
	expect_links(&two.captures[1], 28345.726);
	/* the two packet sizes that are no multiple of 512 bytes, with their exact times */
	ops = one.captures[0].communications;
	assert_string_equal(text(&one.captures[0], ops[0].name), "hcom_allReduce__586_0_1");
	assert_string_equal(text(&one.captures[0], ops[0].group), "17522688603477080586");
	assert_true(link_of(&ops[0], "HCCS")->packets[1].bytes == 1937312);
	assert_true(link_of(&ops[0], "HCCS")->packets[1].count == 2);
	assert_true(fabs(link_of(&ops[0], "HCCS")->packets[1].total_us - 237.94471875) < 1e-9);
	assert_true(link_of(&ops[3], "HCCS")->packets[1].bytes == 1162496);
	assert_true(fabs(link_of(&ops[3], "HCCS")->packets[1].total_us - 159.06315625) < 1e-9);
}

static void copies_have_sizes(void **state)
{
	PROFILE_AUTO p = {0};
	const struct trace *t;

	(void)state;
	read_members(LEVELS_0_2, "level2/", 11, &p);
	t = &p.captures[0].trace;
	for (size_t i = 0; i < t->count; i++) {
		const struct event_detail *d = trace_detail(t, (uint32_t)i);

		if (t->kind[i] != EVENT_MEMCPY)
			continue;
		/* the first copy of level 2, rank 0 */
		assert_true(t->dur_ns[i] == 828337 && d && d->bytes == 19267584);
		return;
	}
	fail_msg("no copy");
}

/* Both levels at once are two captures a rank: the newer one, level 2, stays. */
static void the_newer_capture_stays(void **state)
{
	PROFILE_AUTO p = {0};

	(void)state;
	read_bundle(LEVELS_0_2, &p);
	expect_ranks(&p, SPLITS[2]);
	assert_string_equal(p.captures[0].source, "bundle.tar.gz/level2/rank0_ascend_pt");
	assert_int_equal(p.warnings.count, 2);
	assert_string_equal(p.warnings.items[0].code, "rank_conflict");
	assert_string_equal(p.warnings.items[0].file, "bundle.tar.gz/level0/rank0_ascend_pt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(step_splits),       cmocka_unit_test(kernels_of_level_1),
	    cmocka_unit_test(kernels_by_pipe),   cmocka_unit_test(communication),
	    cmocka_unit_test(copies_have_sizes), cmocka_unit_test(the_newer_capture_stays),
	};

	return cmocka_run_group_tests_name("ascend captures", tests, NULL, NULL);
}
