/* Offload, cost-model section 11, by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>

#include "planner/cost/offload.h"

static void near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-12 * fabs(want)))
		fail_msg("got %.12g, want %.12g", got, want);
}

static double moved(const struct strategy *s, struct memory_parts *io)
{
	const struct offload_room room = offload_room_of(s, 100, 10, io);

	return offload_memory(&s->offload, &room, io);
}

/* 1000 bytes of weights, 2000 of gradients, 6000 of states, 800 of activations of which a layer's micro-batch
 * is 100, layers of 10 parameters. A quarter of the weights 250, half the gradients 1000, three quarters of
 * the states 4500, and half of all but two layers' activations, (800 - 200) / 2 = 300, go: 6050. Buffers: two
 * layers in 16 bit, 40, and two in 32 bit, 80; with ZeRO 3 none. */
static void test_memory(void **state)
{
	struct strategy s = {.offload = {.25, .5, .75, .5}};
	struct memory_parts m = {1000, 2000, 6000, 800, 0, 0}, again = m, small = {16, 4, 0, 150, 0, 0};

	(void)state;
	near(moved(&s, &m), 120);
	near(m.weights, 750);
	near(m.gradients, 1000);
	near(m.optimizer, 1500);
	near(m.activations, 500);
	near(m.host, 6050);
	s.zero = 3;
	near(moved(&s, &again), 0);
	near(again.host, 6050);
	/* Never more of a buffer than what went, 4 + 2, and no activations when two layers are all there is.
	 */
	s.zero = 0;
	near(moved(&s, &small), 6);
	near(small.activations, 150);
}

static struct cost_problem problem(double host_bandwidth)
{
	struct cost_problem p = {.sequences = 4, .constants = {.overlap_slowdown = 1.25}};

	p.cluster = (struct cluster){.nodes = 1,
	                             .devices_per_node = 2,
	                             .host_memory_bytes = 1 << 20,
	                             .host_link_bytes_per_second = 100,
	                             .host_memory_bandwidth = host_bandwidth};
	return p;
}

static struct strategy two_devices(void)
{
	return (struct strategy){.dp = 2,
	                         .tp = 1,
	                         .cp = 1,
	                         .pp = 1,
	                         .micro_batch = 1,
	                         .gradient_bytes = 4,
	                         .offload = {.5, .5, .5, .5}};
}

/* 100 bytes a second each way, slow-down 1.25. Forward: 100 of 200 bytes of weights come in 1 s, 300 of 600
 * of activations go in 3 s: 3 + 0.25. Backward: weights, activations and 200 of 400 of gradients come in 1 +
 * 3 + 2 s, gradients go in 2 s: 6 + 0.5; with one micro-batch 4 + 0.5. Two devices behind the link: twice
 * that. */
static void test_passes(void **state)
{
	const struct offload_load x = {.weights = 200, .gradients = 400, .activations = 600, .own = 100};
	struct cost_problem p = problem(0);
	const struct strategy s = two_devices();

	(void)state;
	near(offload_pass_seconds(&p, &s, &x).forward, 3.25);
	near(offload_pass_seconds(&p, &s, &x).backward, 6.5);
	p.cluster.host_link_devices = 2;
	near(offload_pass_seconds(&p, &s, &x).forward, 6.5);
	p.cluster.host_link_devices = 0;
	p.sequences = 2;
	near(offload_pass_seconds(&p, &s, &x).backward, 4.5);
}

/* The device updates: 12 * 50 bytes of states and 4 * 50 of gradients come in 8 s, states and 100 bytes of
 * weights go in 7 s, beside 4 s of its own: 8 + (7 + 4) / 4. The host updates at 140 / 2 bytes a second: 28 *
 * 50 bytes take 20 s, half of the device's part 2 s, 2 * 50 bytes of new weights come in 1 s and 100 go on in
 * 1 s, the gradients are there: 20 + 4 / 4. ZeRO 3: those weights do not travel: 20 + 2 / 4. */
static void test_update(void **state)
{
	const struct offload_load x = {.weights = 200, .gradients = 400, .activations = 600, .own = 100};
	struct cost_problem on_device = problem(0), on_host = problem(140);
	struct strategy s = two_devices();

	(void)state;
	near(offload_update_seconds(&on_device, &s, &x, 4), 10.75);
	near(offload_update_seconds(&on_host, &s, &x, 4), 21);
	s.zero = 3;
	near(offload_update_seconds(&on_host, &s, &x, 4), 20.5);
}

/* Nothing is guessed: without the host's figures offload is refused, and names them. */
static void test_unknown_host(void **state)
{
	struct cost_problem p = problem(0);
	struct sb_error err = {0};
	const struct offload none = {0}, some = {.optimizer = .5};

	(void)state;
	assert_int_equal(offload_check(&p.cluster, &some, &err), SB_OK);
	p.cluster.host_memory_bytes = 0;
	assert_int_equal(offload_check(&p.cluster, &some, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, "host_memory_bytes");
	p.cluster.host_link_bytes_per_second = 0;
	assert_int_equal(offload_check(&p.cluster, &some, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, "host_link_bytes_per_second");
	assert_int_equal(offload_check(&p.cluster, &none, &err), SB_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory), cmocka_unit_test(test_passes),
	                                   cmocka_unit_test(test_update),
	                                   cmocka_unit_test(test_unknown_host)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
