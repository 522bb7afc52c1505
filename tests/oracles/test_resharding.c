/* oracles/moe/xmesh-*.json: pieces between hosts; the optimum of each by trying everything. */
#include "tests/oracles/oracle.h"

#include <math.h>
#include <string.h>

#include "planner/network/resharding.h"

#define MOST 16

static uint32_t hosts_of(const json_t *list, uint32_t *out)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		out[i] = (uint32_t)json_integer_value(json_array_get(list, i));
	return (uint32_t)json_array_size(list);
}

static void is_optimal(const char *name)
{
	json_t *file = load(name);
	const json_t *input = json_object_get(file, "input"), *works = json_object_get(input, "works");
	struct reshard_task tasks[MOST];
	uint32_t senders[MOST][MOST], receivers[MOST][MOST];
	struct reshard_problem p = {tasks, json_array_size(works), (uint32_t)integer(input, "hosts", 0),
	                            NULL};
	double optimum = (double)integer(file, "optimal_makespan", 0);
	RESHARD_ANSWER_AUTO a = {0};

	assert_true(p.count > 0 && p.count <= MOST);
	for (size_t i = 0; i < p.count; i++) {
		const json_t *w = json_array_get(works, i);

		tasks[i] = (struct reshard_task){
		    .seconds = json_number_value(json_object_get(w, "duration")),
		    .senders = senders[i],
		    .receivers = receivers[i],
		    .sender_count = hosts_of(json_object_get(w, "senders"), senders[i]),
		    .receiver_count = hosts_of(json_object_get(w, "receivers"), receivers[i])};
	}
	assert_int_equal(reshard_solve(&p, RESHARD_BEST, &a), SB_OK);
	if (a.plan.makespan != optimum || !a.proved || a.bound.seconds > optimum)
		fail_msg("%s: %g, bound %g, the optimum is %g", name, a.plan.makespan, a.bound.seconds,
		         optimum);
	json_decref(file);
}

static void test_optima(void **state)
{
	(void)state;
	is_optimal("oracles/moe/xmesh-01-two-to-two.json");
	is_optimal("oracles/moe/xmesh-02-replicated.json");
	is_optimal("oracles/moe/xmesh-03-ring-order.json");
	is_optimal("oracles/moe/xmesh-04-rand6.json");
	is_optimal("oracles/moe/xmesh-05-rand7.json");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_optima)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
