#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "api/calibration.h"
#include "api/plans/problem.h"
#include "planner/cost/collectives.h"

/* What calibrations take from the links of an Ascend capture. */

static const char CLUSTER[] =
    "{\"nodes\": 1, \"devices_per_node\": 8, \"device\": \"ascend-910b\", \"links\": [{\"scope\": \"node\","
    "\"bytes_per_second\": 196e9%s}]}";

static double node_share(const char *mesh)
{
	char text[300];
	JSON_AUTO cluster = NULL;
	JSON_AUTO efficiency = json_loads(
	    "{\"links\": [{\"link\": \"HCCS\", \"bytes_per_second\": 21e9, \"calls\": 12}]}", 0, NULL);
	JSON_AUTO out = NULL;
	struct sb_error err = {0};

	snprintf(text, sizeof(text), CLUSTER, mesh);
	cluster = json_loads(text, 0, NULL);
	assert_non_null(cluster);
	assert_int_equal(calibration_measure(cluster, &efficiency, 1, &out, &err), SB_OK);
	return json_number_value(json_object_get(json_object_get(out, "constants"), "node_share"));
}

/* HCCS at 21 of the 28 GB/s of one link is three quarters of all seven, whatever group was measured: then
 * four devices gather 1e9 bytes in 3/4 / (3 x 21), eight in 7/8 / (7 x 21). On a switch it is the device's
 * own rate. */
static void one_link_tells_of_every_group(void **state)
{
	const struct group four = {4, {4}, 0, 0}, all = {8, {8}, 0, 0};
	struct network n = {.levels = 1, .domain = {INT64_MAX}, .mesh_links = 7};

	(void)state;
	assert_true(fabs(node_share("") - 21 / 196.0) < 1e-12);
	n.bandwidth[0] = 196e9 * node_share(", \"mesh_links\": 7");
	assert_true(fabs(n.bandwidth[0] - 7 * 21e9) < 1);
	assert_true(fabs(all_gather_seconds(&n, &four, 1e9) - 3 / 4.0 / 63) < 1e-12);
	assert_true(fabs(all_gather_seconds(&n, &all, 1e9) - 7 / 8.0 / 147) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_link_tells_of_every_group)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
