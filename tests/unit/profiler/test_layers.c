/* Layers of made-up jobs, whose number and times are known. */
#include "tests/unit/profiler/fixture.h"

#include "profiler/layers/layers.h"

struct work {
	const char *name;
	int64_t us;
};
#define WORKS(list) list, sizeof(list) / sizeof(list[0])

/* Times in us: 100 and 150 of attention, 90 and 200 of what follows it. */
#define ATTENTION                                                                                            \
	{"norm", 10}, {"qkv_product", 40}, {"attention", 30},                                                \
	{                                                                                                    \
		"out_product", 20                                                                            \
	}
#define ATTENTION_BACK                                                                                       \
	{"out_product", 40}, {"attention_bwd", 70}, {"qkv_product", 30},                                     \
	{                                                                                                    \
		"norm_grad", 10                                                                              \
	}
static const struct work DENSE[] = {ATTENTION, {"up_product", 40}, {"gelu", 10}, {"down_product", 40}};
static const struct work DENSE_BACK[] = {
    {"down_product", 80}, {"gelu_grad", 20}, {"up_product", 60}, ATTENTION_BACK};
static const struct work MIXED[] = {
    ATTENTION, {"router", 20}, {"gather", 30}, {"grouped_product", 120}, {"scatter", 30}};
static const struct work MIXED_BACK[] = {
    {"scatter_grad", 60}, {"grouped_product", 240}, {"gather_grad", 40}, {"router_grad", 30}, ATTENTION_BACK};
static const struct work HEAD[] = {{"embedding", 30}, {"dropout", 5}};
static const struct work HEAD_BACK[] = {{"embedding_grad", 50}};
static const struct work TAIL[] = {{"last_norm", 10}, {"vocabulary", 60}, {"loss", 15}};
static const struct work TAIL_BACK[] = {{"loss_grad", 25}, {"vocabulary", 110}};
static const struct work OPTIMIZER[] = {
    {"adam_mean", 8}, {"adam_root", 8}, {"adam_step", 8}, {"adam_decay", 8}};
enum { DENSE_US = 190, DENSE_BACK_US = 310, MIXED_US = 300, MIXED_BACK_US = 520 };

/* A host with a thread of its own for backward, and one device. */
struct job {
	struct capture *c;
	uint32_t host, autograd, stream, ring;
	int64_t now, device, link;
	bool backward;
};

static struct job start(struct profile *p, int64_t rank)
{
	struct job j = {.c = make_capture(p, FORMAT_KINETO, rank)};

	j.host = add_lane(j.c, "python", "1", -1);
	j.autograd = add_lane(j.c, "python", "2", -1);
	j.stream = add_lane(j.c, "GPU 0", "7", 0);
	j.ring = add_lane(j.c, "GPU 0", "9", 0);
	return j;
}

/* us from the start of the device's part to its end. */
static void launch(struct job *j, uint32_t lane, enum event_kind kind, const char *name, int64_t us)
{
	uint32_t thread = j->backward ? j->autograd : j->host;

	add_event(j->c, thread, EVENT_HOST_OP,
	          j->backward ? "autograd::engine::evaluate_function: AddmmBackward0" : "aten::addmm", j->now,
	          3000, -1);
	add_event(j->c, thread, EVENT_HOST_RUNTIME, "cudaLaunchKernel", j->now + 1000, 1000, ++j->link);
	j->device = j->device > j->now + 2000 ? j->device : j->now + 2000;
	add_event(j->c, lane, kind, name, j->device, us * 1000, j->link);
	j->device += us * 1000;
	j->now += 4000;
}

static void run(struct job *j, const struct work *works, size_t count)
{
	for (size_t i = 0; i < count; i++)
		launch(j, j->stream, EVENT_KERNEL, works[i].name, works[i].us);
}

/* `dense` layers, then `mixed` ones, and back. */
static void micro_batch(struct job *j, int dense, int mixed)
{
	run(j, WORKS(HEAD));
	for (int i = 0; i < dense; i++)
		run(j, WORKS(DENSE));
	for (int i = 0; i < mixed; i++)
		run(j, WORKS(MIXED));
	run(j, WORKS(TAIL));
	j->backward = true;
	run(j, WORKS(TAIL_BACK));
	for (int i = 0; i < mixed; i++)
		run(j, WORKS(MIXED_BACK));
	for (int i = 0; i < dense; i++)
		run(j, WORKS(DENSE_BACK));
	run(j, WORKS(HEAD_BACK));
	j->backward = false;
}

static void optimize(struct job *j)
{
	int64_t from = j->now;

	for (int i = 0; i < 30; i++)
		run(j, WORKS(OPTIMIZER));
	add_event(j->c, j->host, EVENT_HOST_ANNOTATION, "Optimizer.step#AdamW.step", from - 500,
	          j->now - from, -1);
}

static void end_step(struct job *j, int64_t number, int64_t from)
{
	j->now = j->device + 10000;
	add_step(j->c, number, from, j->now - from);
}

static void assert_us(double seconds, double us)
{
	assert_true(fabs(seconds * 1e6 - us) < 1e-6 * (1 + us));
}

static void assert_row(const struct profile_layers *l, size_t i, const char *name, int64_t count,
                       double forward, double backward)
{
	assert_true(i < l->count);
	assert_string_equal(sb_strings_get(l->texts, l->rows[i].name, NULL), name);
	assert_int_equal(l->rows[i].count, count);
	assert_us(l->rows[i].forward, forward);
	assert_us(l->rows[i].backward, backward);
}

static void find(const struct profile *p, struct profile_layers *out)
{
	assert_int_equal(profile_layers_find(p, out, NULL), SB_OK);
}

static bool warns(const struct profile_layers *l, enum layers_warning w)
{
	return (l->warnings & w) != 0;
}

static void layers_by_repetition(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};

	(void)state;
	for (int64_t rank = 0; rank < 2; rank++) {
		struct job j = start(&p, rank);

		for (int64_t step = 1; step <= 3; step++) {
			int64_t from = j.now;

			micro_batch(&j, 12, 0);
			micro_batch(&j, 12, 0);
			optimize(&j);
			end_step(&j, step, from);
		}
	}
	find(&p, &l);
	assert_null(l.reason);
	assert_int_equal(l.count, 1);
	assert_row(&l, 0, "layer", 12, DENSE_US, DENSE_BACK_US);
	assert_int_equal(l.rows[0].operators, 7);
	assert_true(isnan(l.rows[0].activation_bytes));
	assert_us(l.head.forward, 35);
	assert_us(l.head.backward, 50);
	assert_us(l.tail.forward, 85);
	assert_us(l.tail.backward, 135);
	assert_int_equal(l.micro_batches, 2);
	assert_int_equal(l.source, LAYERS_BY_REPETITION);
	assert_int_equal(l.confidence, 1);
	assert_int_equal(l.stage_count, 1);
	assert_int_equal(l.stages[0].ranks, 2);
	assert_us(l.stages[0].forward, 35 + 12 * DENSE_US + 85);
	assert_int_equal(l.warnings, LAYERS_NO_ACTIVATION | LAYERS_NO_PARAMETERS);
}

/* A slow repetition moves no median. */
static void types_in_the_order_of_the_model(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct job j = start(&p, 0);

	(void)state;
	micro_batch(&j, 3, 9);
	end_step(&j, 1, 0);
	for (size_t i = 0; i < j.c->trace.count; i++)
		if (j.c->trace.dur_ns[i] == 120000) {
			j.c->trace.dur_ns[i] += 900000; /* the first grouped product */
			break;
		}
	find(&p, &l);
	assert_int_equal(l.count, 2);
	assert_row(&l, 0, "layer", 3, DENSE_US, DENSE_BACK_US);
	assert_true(l.rows[1].count == 9);
	assert_string_equal(sb_strings_get(l.texts, l.rows[1].name, NULL), "layer 2");
	assert_int_equal(l.micro_batches, 1);
	assert_us(l.rows[1].backward, MIXED_BACK_US);
}

/* Local and global attention by turns: a row is a pair, since no cut may part a repetition. */
static void types_that_alternate_are_one_row(void **state)
{
	static const struct work local[] = {
	    ATTENTION, {"up_product", 40}, {"gelu", 10}, {"down_product", 40}};
	static const struct work global[] = {{"norm", 10},        {"qkv_product", 40}, {"wide_attention", 50},
	                                     {"out_product", 20}, {"up_product", 40},  {"gelu", 10},
	                                     {"down_product", 40}};
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct job j = start(&p, 0);

	(void)state;
	run(&j, WORKS(HEAD));
	for (int i = 0; i < 8; i++) {
		run(&j, WORKS(local));
		run(&j, WORKS(global));
	}
	run(&j, WORKS(TAIL));
	find(&p, &l);
	assert_int_equal(l.count, 1);
	assert_string_equal(sb_strings_get(l.texts, l.rows[0].name, NULL), "2 layers");
	assert_int_equal(l.rows[0].count, 8);
	assert_int_equal(l.rows[0].each, 2);
	assert_int_equal(l.stages[0].layers, 16);
	assert_us(l.rows[0].forward, 190 + 210);
	assert_true(warns(&l, LAYERS_ALTERNATE) && warns(&l, LAYERS_NO_BACKWARD));
	assert_true(isnan(l.rows[0].backward));
	assert_int_equal(l.confidence, 0);
}

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
	assert_us(l.head.forward, 35);
	assert_us(l.tail.forward, 85);
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

static void no_layers(void **state)
{
	static const struct work once[] = {{"a", 10}, {"b", 20}, {"c", 30}, {"d", 40}, {"e", 50}, {"f", 60},
	                                   {"a", 10}, {"d", 20}, {"g", 30}, {"h", 40}, {"i", 50}, {"k", 60}};
	PROFILE_AUTO p = {0}, empty = {0};
	PROFILE_LAYERS_AUTO l = {0}, nothing = {0};
	struct job j = start(&p, 0);

	(void)state;
	run(&j, WORKS(once));
	find(&p, &l);
	assert_non_null(l.reason);
	assert_int_equal(l.count, 0);
	assert_int_equal(l.source, LAYERS_NONE);
	assert_true(isnan(l.head.forward) && l.micro_batches == SB_NULL);
	find(&empty, &nothing);
	assert_non_null(nothing.reason);
}

/* A capture without steps that repeats from its first operator to its last is of several iterations. */
static void iterations_are_no_layers(void **state)
{
	static const struct work network[] = {
	    {"convolution", 90}, {"relu", 5}, {"pool", 10}, {"product", 50}, {"softmax", 5}};
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct job j = start(&p, 0);

	(void)state;
	for (int i = 0; i < 5; i++)
		run(&j, WORKS(network));
	find(&p, &l);
	assert_non_null(l.reason);
}

static void ranks_that_differ_are_told(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};

	(void)state;
	for (int64_t rank = 0; rank < 2; rank++) {
		struct job j = start(&p, rank);

		micro_batch(&j, rank == 0 ? 6 : 8, 0);
		end_step(&j, 1, 0);
	}
	find(&p, &l);
	assert_int_equal(l.rows[0].count, 6);
	assert_true(warns(&l, LAYERS_RANKS_DIFFER));
	assert_int_equal(l.confidence, 0);
}

/* Times beyond all bounds, and one operator over and over. */
static void hostile_times(void **state)
{
	PROFILE_AUTO p = {0};
	PROFILE_LAYERS_AUTO l = {0};
	struct capture *c = make_capture(&p, FORMAT_KINETO, 0);
	uint32_t lane = add_lane(c, "GPU 0", "7", 0);

	(void)state;
	for (int64_t i = 0; i < 5000; i++)
		add_event(c, lane, EVENT_KERNEL, "k", i % 2 ? INT64_MAX - i : INT64_MIN + i, INT64_MAX,
		          i % 7);
	add_step(c, 1, INT64_MIN + 1, INT64_MAX);
	find(&p, &l);
	assert_int_equal(l.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(layers_by_repetition),
	    cmocka_unit_test(types_in_the_order_of_the_model),
	    cmocka_unit_test(types_that_alternate_are_one_row),
	    cmocka_unit_test(layers_by_spans),
	    cmocka_unit_test(layers_by_scope),
	    cmocka_unit_test(stages_of_a_pipeline),
	    cmocka_unit_test(collectives_of_layers_count),
	    cmocka_unit_test(activations_from_the_allocator),
	    cmocka_unit_test(no_layers),
	    cmocka_unit_test(iterations_are_no_layers),
	    cmocka_unit_test(ranks_that_differ_are_told),
	    cmocka_unit_test(hostile_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
