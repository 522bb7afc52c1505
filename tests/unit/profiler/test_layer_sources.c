/* What tells layers: spans, scopes, exchanges; and what is measured beside their operators. */
#include "tests/unit/profiler/made_layers.h"

/* Spans of modules tell layers of which no two are the same; their parts are spans, too. */
static void layers_by_spans(void **state)
{
	static const struct work shapes[4][3] = {{{"a", 10}, {"b", 20}, {"c", 30}},
	                                         {{"d", 40}, {"e", 10}, {"f", 10}},
	                                         {{"a", 10}, {"f", 20}, {"g", 40}},
	                                         {{"h", 10}, {"i", 30}, {"k", 40}}};
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct job j = start(&p, 0);
	int64_t model = j.now;

	(void)state;
	run(&j, WORKS(HEAD));
	for (int i = 0; i < 4; i++) {
		char name[40];
		int64_t from = j.now;

		run(&j, WORKS(shapes[i]));
		snprintf(name, sizeof(name), "nn.Module: DecoderLayer_%d", i);
		add_event(j.c, j.host, EVENT_HOST_PYTHON, name, from - 100, j.now - from, -1);
		snprintf(name, sizeof(name), "nn.Module: Linear_%d", i);
		add_event(j.c, j.host, EVENT_HOST_PYTHON, name, from - 50, 4000, -1);
	}
	run(&j, WORKS(TAIL));
	add_event(j.c, j.host, EVENT_HOST_PYTHON, "nn.Module: Model_0", model - 200, j.now - model, -1);
	find(&p, &l);
	assert_int_equal(l.source, LAYERS_BY_NAME);
	assert_int_equal(l.count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(sb_strings_get(l.texts, l.rows[i].name, NULL), "DecoderLayer");
		assert_us(l.rows[i].forward, (double)(shapes[i][0].us + shapes[i][1].us + shapes[i][2].us));
	}
	assert_us(l.head.forward, 35);
	assert_us(l.tail.forward, 85);
}

/* MindSpore: the scope of each node tells its layer and its pass; equal operators are told apart by it. */
static void layers_by_scope(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct capture *c = make_capture(&p, FORMAT_MINDSPORE_TEXT, 0);
	int64_t now = 0;
	char name[160];

	(void)state;
	add_kernel(c, "Default/network-Net/embedding-Embedding/Gather-op1", "Gather", "AI_CORE", now, 7000);
	now += 7000;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < 5; i++)
			for (int k = 0; k < 4; k++) {
				snprintf(
				    name, sizeof(name),
				    "%sDefault/network-Net/layers-CellList/%d-Block/ffn-FFN/MatMul-op%lld",
				    pass ? "Gradients/" : "", pass ? 4 - i : i, (long long)now / 1000);
				add_kernel(c, name, "MatMul", "AI_CORE", now, pass ? 2000 : 1000);
				now += 2000;
			}
	find(&p, &l);
	assert_int_equal(l.source, LAYERS_BY_NAME);
	assert_int_equal(l.confidence, 2);
	assert_int_equal(l.count, 1);
	assert_row(&l, 0, "Block", 5, 4, 8);
	assert_us(l.head.forward, 7);
}

static void add_works(struct capture *c, int64_t *now, const struct work *works, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		add_kernel(c, works[i].name, works[i].name, "AI_CORE", *now, works[i].us * 1000);
		*now += works[i].us * 1000;
	}
}

static void exchange(struct capture *c, int64_t *now, const char *name)
{
	struct kernel *k = add_kernel(c, name, name, "HCCL", *now, 5000);

	k->communication = true;
	*now += 5000;
}

/* One stage of two, as 1F1B runs four micro-batches: nothing tells the passes but exchanges and the types of
 * gradients. */
static void stage(struct profile *p, int64_t s)
{
	struct capture *c = make_capture(p, FORMAT_ASCEND_TEXT, s);
	int64_t now = 0;

	c->stage = s;
	for (int k = 0; k < 5; k++) {
		bool forward = s == 1 ? k < 4 : k < 4, backward = s == 1 ? k < 4 : k > 0;

		if (forward) {
			if (s == 1)
				exchange(c, &now, "hcom_receive__1_0_1");
			else
				add_works(c, &now, WORKS(HEAD));
			for (int i = 0; i < 4; i++)
				add_works(c, &now, WORKS(DENSE));
			if (s == 0)
				exchange(c, &now, "hcom_send__1_0_1");
			else
				add_works(c, &now, WORKS(TAIL));
		}
		if (backward) {
			if (s == 0)
				exchange(c, &now, "hcom_receive__1_0_1");
			else
				add_works(c, &now, WORKS(TAIL_BACK));
			for (int i = 0; i < 4; i++)
				add_works(c, &now, WORKS(DENSE_BACK));
			if (s == 0)
				add_works(c, &now, WORKS(HEAD_BACK));
			else
				exchange(c, &now, "hcom_send__1_0_1");
		}
	}
	for (int i = 0; i < 10; i++)
		add_works(c, &now, WORKS(OPTIMIZER));
}

static void stages_of_a_pipeline(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};

	(void)state;
	stage(&p, 0);
	stage(&p, 1);
	find(&p, &l);
	assert_null(l.reason);
	assert_int_equal(l.count, 1);
	assert_row(&l, 0, "layer", 8, DENSE_US, DENSE_BACK_US);
	assert_int_equal(l.stage_count, 2);
	assert_int_equal(l.stages[1].stage, 1);
	assert_int_equal(l.stages[0].layers, 4);
	assert_int_equal(l.micro_batches, 4);
	assert_int_equal(l.confidence, 1);
	assert_false(warns(&l, LAYERS_PASSES_DIFFER));
	assert_us(l.head.forward, 35);
	assert_us(l.tail.forward, 85);
}

/* Two stages of two chunks each, as Megatron interleaves four micro-batches: forwards and backwards of a
 * chunk by twos. Only the first chunk of stage 0 has the head, and only the last one of stage 1 the tail. */
static void interleaved_stage(struct profile *p, int64_t s)
{
	struct capture *c = make_capture(p, FORMAT_ASCEND_TEXT, s);
	int64_t now = 0;

	c->stage = s;
	for (int pass = 0; pass < 8; pass++) {
		int chunk = pass / 2 % 2;

		exchange(c, &now, "hcom_receive__1_0_1");
		if (s == 0 && chunk == 0)
			add_works(c, &now, WORKS(HEAD));
		for (int i = 0; i < 3; i++)
			add_works(c, &now, WORKS(DENSE));
		if (s == 1 && chunk == 1)
			add_works(c, &now, WORKS(TAIL));
		exchange(c, &now, "hcom_send__1_0_1");
	}
	for (int pass = 0; pass < 8; pass++) {
		int chunk = 1 - pass / 2 % 2;

		exchange(c, &now, "hcom_receive__1_0_1");
		if (s == 1 && chunk == 1)
			add_works(c, &now, WORKS(TAIL_BACK));
		for (int i = 0; i < 3; i++)
			add_works(c, &now, WORKS(DENSE_BACK));
		if (s == 0 && chunk == 0)
			add_works(c, &now, WORKS(HEAD_BACK));
		exchange(c, &now, "hcom_send__1_0_1");
	}
}

static void chunks_of_interleaved_stages(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};

	(void)state;
	interleaved_stage(&p, 0);
	interleaved_stage(&p, 1);
	find(&p, &l);
	assert_int_equal(l.count, 1);
	assert_row(&l, 0, "layer", 12, DENSE_US, DENSE_BACK_US);
	assert_int_equal(l.micro_batches, 4);
	assert_int_equal(l.stages[1].layers, 6);
	assert_true(warns(&l, LAYERS_INTERLEAVED));
	assert_us(l.head.forward, 35);
	assert_us(l.head.backward, 50);
	assert_us(l.tail.forward, 85);
	assert_us(l.tail.backward, 135);
}

static void add_micro_batch(struct capture *c, int64_t *now)
{
	add_works(c, now, WORKS(HEAD));
	for (int i = 0; i < 6; i++)
		add_works(c, now, WORKS(DENSE));
	add_works(c, now, WORKS(TAIL));
	add_works(c, now, WORKS(TAIL_BACK));
	for (int i = 0; i < 6; i++)
		add_works(c, now, WORKS(DENSE_BACK));
	add_works(c, now, WORKS(HEAD_BACK));
}

/* A kernel table alone: one micro-batch a step, and three. */
static void kernels_alone(void **state)
{
	(void)state;
	for (int64_t micro_batches = 1; micro_batches <= 3; micro_batches += 2) {
		PROFILE_AUTO p = {0};
		PROFILE_LAYERS_AUTO l = {0};
		struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
		int64_t now = 0;

		for (int i = 0; i < micro_batches; i++)
			add_micro_batch(c, &now);
		for (int i = 0; i < 12; i++)
			add_works(c, &now, WORKS(OPTIMIZER));
		find(&p, &l);
		assert_int_equal(l.count, 1);
		assert_row(&l, 0, "layer", 6, DENSE_US, DENSE_BACK_US);
		assert_int_equal(l.micro_batches, micro_batches);
		assert_us(l.head.forward, 35);
		assert_us(l.tail.forward, 85);
		assert_us(l.tail.backward, 135);
	}
}

/* Names of an own compiler say nothing of gradients: backward is what mirrors forward. */
static void kernels_that_tell_nothing(void **state)
{
	static const struct work forward[] = {{"f", 10}, {"g", 20}, {"h", 30}, {"i", 40}, {"k", 50}};
	static const struct work backward[] = {{"l", 30}, {"m", 40}, {"n", 50},
	                                       {"o", 60}, {"p", 70}, {"q", 80}};
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct capture *c = make_capture(&p, FORMAT_ASCEND_TEXT, 0);
	int64_t now = 0;

	(void)state;
	add_works(c, &now, WORKS(HEAD));
	for (int i = 0; i < 9; i++)
		add_works(c, &now, WORKS(forward));
	add_works(c, &now, WORKS(TAIL) - 1);
	for (int i = 0; i < 9; i++)
		add_works(c, &now, WORKS(backward));
	for (int i = 0; i < 40; i++)
		add_works(c, &now, WORKS(OPTIMIZER));
	find(&p, &l);
	assert_int_equal(l.count, 1);
	assert_row(&l, 0, "layer", 9, 150, 330);
	assert_us(l.head.forward, 35);
}

/* A graph of the device is launched once for both passes. */
static void kernels_of_one_graph(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct job j = start(&p, 0);

	(void)state;
	micro_batch(&j, 6, 0);
	for (size_t i = 0; i < j.c->trace.count; i++) {
		if (j.c->trace.kind[i] == EVENT_KERNEL)
			j.c->trace.link[i] = 7777;
		if (j.c->trace.kind[i] == EVENT_HOST_RUNTIME)
			j.c->trace.link[i] = -1;
	}
	add_event(j.c, j.host, EVENT_HOST_RUNTIME, "cudaGraphLaunch", 10, 10, 7777);
	find(&p, &l);
	assert_int_equal(l.count, 1);
	assert_row(&l, 0, "layer", 6, DENSE_US, DENSE_BACK_US);
}

/* All-reduces of gradients are a step's, those of tensor parallelism a layer's, beyond what computing hides.
 */
static void collectives_of_layers_count(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct job j = start(&p, 0);

	(void)state;
	run(&j, WORKS(HEAD));
	for (int i = 0; i < 6; i++) {
		run(&j, WORKS(DENSE));
		launch(&j, j.ring, EVENT_COMMUNICATION, "ncclDevKernel_AllGather_RING_LL", 25);
	}
	run(&j, WORKS(TAIL));
	j.backward = true;
	run(&j, WORKS(TAIL_BACK));
	for (int i = 0; i < 6; i++) {
		run(&j, WORKS(DENSE_BACK));
		launch(&j, j.ring, EVENT_COMMUNICATION, "ncclDevKernel_AllGather_RING_LL", 35);
		launch(&j, j.ring, EVENT_COMMUNICATION, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 400);
	}
	find(&p, &l);
	assert_row(&l, 0, "layer", 6, DENSE_US + 25, DENSE_BACK_US + 35);
}

/* What is allocated when the next layer is launched and was not before this one stays for backward. */
static void activations_from_the_allocator(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct job j = start(&p, 0);
	struct memory_series *s = calloc(1, sizeof(*s));

	(void)state;
	assert_non_null(s);
	j.c->memories = s;
	j.c->memory_count = 1;
	micro_batch(&j, 6, 0);
	s->points = calloc(256, sizeof(*s->points));
	assert_non_null(s->points);
	s->capacity_bytes = SB_NULL;
	/* each launch of forward, 4 us apart, takes 1000 bytes just after it; every other one gives 200 back
	 */
	for (int64_t i = 0; i < 40; i++)
		s->points[s->count++] =
		    (struct memory_point){i * 4000 + 1500, 1000 * (i + 1) - 100 * (i + i % 2), 0};
	find(&p, &l);
	assert_int_equal(l.count, 1);
	assert_true(fabs(l.rows[0].activation_bytes - 7 * 900) <= 100);
	assert_false(warns(&l, LAYERS_NO_ACTIVATION));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(layers_by_spans),
	    cmocka_unit_test(layers_by_scope),
	    cmocka_unit_test(stages_of_a_pipeline),
	    cmocka_unit_test(chunks_of_interleaved_stages),
	    cmocka_unit_test(kernels_alone),
	    cmocka_unit_test(kernels_that_tell_nothing),
	    cmocka_unit_test(kernels_of_one_graph),
	    cmocka_unit_test(collectives_of_layers_count),
	    cmocka_unit_test(activations_from_the_allocator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
