#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "profiler/read/environment.h"
#include "tests/unit/profiler/made_profile.h"

/* Environment variables (research page ascend-formats 1.11): "" stands for one that is not set. */

#define DIR "h_0_20250109084453123_ascend_pt/"
#define KERNELS "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n5,a,Add,AI_CORE,1,2\n"

static void read_metadata(const char *metadata, struct profile *out)
{
	const struct text_file files[] = {
	    {DIR "profiler_metadata.json", metadata, 0},
	    {DIR "ASCEND_PROFILER_OUTPUT/kernel_details.csv", KERNELS, 0},
	};
	struct sb_error err;

	if (read_texts(files, 2, out, &err) != SB_OK)
		fail_msg("%s: %s", err.word, err.text);
	assert_int_equal(out->count, 1);
}

static void metadata_tells_the_variables(void **state)
{
	PROFILE_AUTO p = {0};
	const struct capture *c;

	(void)state;
	read_metadata("{\"ENV_VARIABLES\": {\"ASCEND_GLOBAL_LOG_LEVEL\": \"1\", \"HCCL_RDMA_TC\": \"\", "
	              "\"ACLNN_CACHE_LIMIT\": 20000, \"HCCL_ALGO\": [1, {\"a\": 2}], "
	              "\"ASCEND_GLOBAL_LOG_LEVEL\": \"3\"}, \"distributed_args\": {\"world_size\": 16}}",
	              &p);
	c = &p.captures[0];
	assert_int_equal(c->environment_count, 4);
	/* of two the first counts */
	assert_string_equal(capture_environment(c, "ASCEND_GLOBAL_LOG_LEVEL"), "1");
	assert_string_equal(capture_environment(c, "HCCL_RDMA_TC"), "");
	assert_string_equal(capture_environment(c, "ACLNN_CACHE_LIMIT"), "20000");
	assert_string_equal(capture_environment(c, "HCCL_ALGO"), "");
	assert_null(capture_environment(c, "HCCL_RDMA_SL"));
	assert_int_equal(c->world_size, 16);
}

/* What is no object of variables tells nothing, and the rest is read. */
static void odd_metadata_tells_nothing(void **state)
{
	static const char *const ODD[] = {"[]", "7", "\"a\"", "null", "{}"};

	(void)state;
	for (size_t i = 0; i < sizeof(ODD) / sizeof(ODD[0]); i++) {
		PROFILE_AUTO p = {0};
		char text[128];

		snprintf(text, sizeof(text),
		         "{\"ENV_VARIABLES\": %s, \"distributed_args\": {\"world_size\": 8}}", ODD[i]);
		read_metadata(text, &p);
		assert_int_equal(p.captures[0].environment_count, 0);
		assert_int_equal(p.captures[0].world_size, 8);
	}
}

static void variables_are_bounded(void **state)
{
	struct capture c = {.rank = SB_NULL};
	char long_text[ENVIRONMENT_VALUE_MAX + 10];

	(void)state;
	assert_int_equal(trace_init(&c.trace), SB_OK);
	memset(long_text, 'x', sizeof(long_text));
	assert_int_equal(environment_add(&c, long_text, sizeof(long_text), "a", 1), SB_OK);
	assert_int_equal(environment_add(&c, "", 0, "a", 1), SB_OK);
	assert_int_equal(c.environment_count, 0);
	assert_int_equal(environment_add(&c, "A", 1, long_text, sizeof(long_text)), SB_OK);
	assert_int_equal(strlen(capture_environment(&c, "A")), ENVIRONMENT_VALUE_MAX);
	for (int i = 0; i < 2 * ENVIRONMENT_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "V%d", i);
		assert_int_equal(environment_add(&c, name, strlen(name), "1", 1), SB_OK);
	}
	assert_int_equal(c.environment_count, ENVIRONMENT_MAX);
	capture_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(metadata_tells_the_variables),
	    cmocka_unit_test(odd_metadata_tells_nothing),
	    cmocka_unit_test(variables_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
