/* Layers of real captures of $SIGNALBOX_SHARED whose models are known from elsewhere: from the names in the
 * capture, or from the paper of the model. */
#include "tests/field/answer.h"

#include "profiler/layers/layers.h"

static void layers_of(const char *name, struct answer *x, struct profile_layers *l)
{
	answer_of("samples", name, x);
	assert_int_equal(profile_layers_find(&x->p, l, NULL), SB_OK);
}

static const char *name_of(const struct profile_layers *l, size_t row)
{
	return sb_strings_get(l->texts, l->rows[row].name, NULL);
}

static int64_t count_events(const struct profile *p, const char *part, enum event_kind kind)
{
	const struct trace *t = &p->captures[0].trace;
	int64_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += t->kind[i] == kind && strstr(trace_text(t, t->name[i], NULL), part) != NULL;
	return n;
}

/* The trace names each layer of the model, and each is called once. */
static void bert(void **state)
{
	static const char *const files[] = {"kineto/h100_bert.json.gz", "kineto/mi300_bert.json.gz"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ANSWER_AUTO x = {0};
		PROFILE_LAYERS_AUTO l = {0};

		layers_of(files[i], &x, &l);
		assert_int_equal(l.source, LAYERS_BY_NAME);
		assert_int_equal(l.count, 1);
		assert_string_equal(name_of(&l, 0), "BertLayer");
		assert_int_equal(l.rows[0].count,
		                 count_events(&x.p, "nn.Module: BertLayer_", EVENT_HOST_PYTHON));
		assert_true(l.warnings & LAYERS_NO_BACKWARD);
	}
}

/* He et al. 2016, table 1: 3, 4, 6 and 3 blocks; the first of each kind changes the shape, the others are
 * alike. Kernels take 98,598 us a step (expected.md, B2): all but the optimizer's are in the two passes. */
static void resnet50(void **state)
{
	static const char *const files[] = {"kineto/resnet50_nw0_worker0.1623143089861.pt.trace.json.gz",
	                                    "kineto/resnet50_nw4_worker0.1623212756351.pt.trace.json.gz"};
	static const int64_t alike[] = {2, 3, 5, 2};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ANSWER_AUTO x = {0};
		PROFILE_LAYERS_AUTO l = {0};
		double sum;

		layers_of(files[i], &x, &l);
		assert_int_equal(l.count, 7);
		sum = l.head.forward + l.head.backward + l.tail.forward + l.tail.backward;
		for (size_t k = 0; k < 7; k++) {
			assert_int_equal(l.rows[k].count, k % 2 ? 1 : alike[k / 2]);
			assert_true(l.rows[k].backward > l.rows[k].forward);
			assert_true(l.rows[k].activation_bytes > 0);
			sum += (double)l.rows[k].count * (l.rows[k].forward + l.rows[k].backward);
		}
		assert_true(sum < 0.0986 && sum > 0.95 * 0.0986);
		assert_int_equal(l.micro_batches, 1);
	}
}

/* ResNet-18: two blocks of each of four widths; they are recomputed in backward, which calls their modules
 * again. */
static void resnet18_that_recomputes(void **state)
{
	ANSWER_AUTO x = {0};
	PROFILE_LAYERS_AUTO l = {0};
	int64_t blocks = 0;

	(void)state;
	layers_of("kineto/mi300_resnet_ddp.json.gz", &x, &l);
	assert_int_equal(l.source, LAYERS_BY_NAME);
	for (size_t i = 0; i < l.count; i++) {
		assert_string_equal(name_of(&l, i), "BasicBlock");
		assert_true(l.rows[i].backward > 0);
		blocks += l.rows[i].count;
	}
	/* where the first block ends and the stem begins is not seen in backward */
	assert_true(isnan(l.head.backward) && l.tail.backward > 0);
	assert_int_equal(blocks, 8);
	assert_int_equal(l.confidence, 2);
}

/* One write to the cache a layer; two kinds of attention by turns. */
static void decoding_of_alternating_layers(void **state)
{
	ANSWER_AUTO x = {0};
	PROFILE_LAYERS_AUTO l = {0};

	(void)state;
	layers_of("kineto/vllm_decode_full_graph.json.gz", &x, &l);
	assert_int_equal(l.count, 1);
	assert_int_equal(l.rows[0].each, 2);
	assert_int_equal(l.rows[0].each * l.rows[0].count,
	                 count_events(&x.p, "reshape_and_cache_flash_kernel", EVENT_KERNEL));
}

/* AlexNet: five different convolutions and three different products. */
static void alexnet_has_none(void **state)
{
	static const char *const files[] = {"ascend/bundles/pytorch_text_level1_2ranks.tar.gz",
	                                    "ascend/bundles/pytorch_text_level0_and_2_2ranks.tar.gz",
	                                    "kineto/cp_alexnet.json.gz"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		ANSWER_AUTO x = {0};
		PROFILE_LAYERS_AUTO l = {0};

		layers_of(files[i], &x, &l);
		assert_int_equal(l.count, 0);
		assert_non_null(l.reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bert),
	    cmocka_unit_test(resnet50),
	    cmocka_unit_test(resnet18_that_recomputes),
	    cmocka_unit_test(decoding_of_alternating_layers),
	    cmocka_unit_test(alexnet_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
