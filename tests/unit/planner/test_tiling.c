#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "planner/network/tiling.h"

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(b);
}

/* Meshes of two axes, hosts of four devices; each axis of the tensor over at most one axis of the mesh, -1:
 * none. */
static struct layout on(int64_t rows, int64_t columns, int64_t first_host, int a, int b, int c)
{
	struct layout l = {.mesh = {2, {rows, columns}, 4, first_host}};
	const int over[] = {a, b, c};

	for (int i = 0; i < 3; i++)
		if (over[i] >= 0)
			l.sharding.over[i][l.sharding.count[i]++] = over[i];
	return l;
}

static void is(const struct tiling *t, size_t i, double bytes, uint32_t senders, uint32_t first,
               uint32_t receivers, uint32_t to)
{
	assert_true(t->pieces[i].bytes == bytes);
	assert_int_equal(t->tasks[i].sender_count, senders);
	assert_int_equal(t->tasks[i].senders[0], first);
	assert_int_equal(t->tasks[i].receiver_count, receivers);
	assert_int_equal(t->pieces[i].hosts, receivers);
	if (receivers > 0)
		assert_int_equal(t->tasks[i].receivers[0], to);
}

/* The shapes of AlpaComm's own benchmark (alpa, benchmark/alpa/resharding/suite.py), the pieces by hand. */
static void test_benchmark_cases(void **state)
{
	const struct tensor small = {3, {1024, 1024, 512}, 4}, large = {3, {3072, 1024, 170}, 4};
	const double whole = 1024.0 * 1024 * 512 * 4, row = 1024.0 * 170 * 4;
	struct layout from = on(2, 4, 0, 0, -1, -1), to = on(2, 4, 2, 0, -1, -1), other;
	TILING_AUTO same = {0};
	TILING_AUTO replicated = {0};
	TILING_AUTO three = {0};

	(void)state;
	/* case 1: halves, host 0 to host 2 and host 1 to host 3, each to four devices */
	assert_int_equal(tiling_build(&small, &from, &to, &same, NULL), SB_OK);
	assert_int_equal(same.count, 2);
	assert_int_equal(same.hosts, 4);
	is(&same, 0, whole / 2, 1, 0, 1, 2);
	is(&same, 1, whole / 2, 1, 1, 1, 3);
	assert_int_equal(same.pieces[0].devices, 4);
	assert_int_equal(same.pieces[0].widest, 4);
	assert_int_equal(same.pieces[1].low[0], 512);
	assert_int_equal(same.pieces[1].high[0], 1024);
	assert_int_equal(same.pieces[1].high[2], 512);
	/* case 2: whole on both hosts */
	other = on(2, 4, 0, -1, -1, -1);
	assert_int_equal(tiling_build(&small, &other, &to, &replicated, NULL), SB_OK);
	assert_int_equal(replicated.count, 2);
	is(&replicated, 1, whole / 2, 2, 0, 1, 3);
	/* case 6: halves of 1536 rows onto thirds of 1024: 1024, 512, 512, 1024 */
	other = on(3, 4, 2, 0, -1, -1);
	assert_int_equal(tiling_build(&large, &from, &other, &three, NULL), SB_OK);
	assert_int_equal(three.count, 4);
	is(&three, 0, 1024 * row, 1, 0, 1, 2);
	is(&three, 1, 512 * row, 1, 0, 1, 3);
	is(&three, 2, 512 * row, 1, 1, 1, 3);
	is(&three, 3, 1024 * row, 1, 1, 1, 4);
}

/* 10 elements over 4 devices lie as 3, 3, 3, 1; over 3 as 4, 4, 2: cuts at 3, 4, 6, 8, 9. */
static void test_what_does_not_divide(void **state)
{
	const struct tensor t = {1, {10}, 1};
	struct layout from = {.mesh = {1, {4}, 1, 0}, .sharding = {{1}, {{0}}}};
	struct layout to = {.mesh = {1, {3}, 1, 4}, .sharding = {{1}, {{0}}}};
	static const int64_t cuts[] = {0, 3, 4, 6, 8, 9, 10};
	TILING_AUTO made = {0};

	(void)state;
	assert_int_equal(tiling_build(&t, &from, &to, &made, NULL), SB_OK);
	assert_int_equal(made.count, 6);
	for (size_t i = 0; i < made.count; i++) {
		assert_int_equal(made.pieces[i].low[0], cuts[i]);
		assert_int_equal(made.pieces[i].high[0], cuts[i + 1]);
		assert_int_equal(made.tasks[i].senders[0], cuts[i] / 3);
		assert_int_equal(made.tasks[i].receivers[0], 4 + cuts[i] / 4);
	}
}

/* The outer axis of the mesh first: over axes 1 and 0 of a mesh of 2 x 3, tile 1 * 2 + 0 = 2 lies at column 1
 * of row 0, device 1. */
static void test_two_axes_of_the_mesh(void **state)
{
	const struct tensor t = {1, {6}, 2};
	struct layout from = {.mesh = {2, {2, 3}, 1, 0}, .sharding = {{2}, {{1, 0}}}};
	struct layout to = {.mesh = {1, {1}, 1, 6}};
	static const uint32_t devices[] = {0, 3, 1, 4, 2, 5};
	TILING_AUTO made = {0};

	(void)state;
	assert_int_equal(tiling_build(&t, &from, &to, &made, NULL), SB_OK);
	assert_int_equal(made.count, 6);
	for (size_t i = 0; i < 6; i++)
		is(&made, i, 2, 1, devices[i], 1, 6);
}

/* On the same hosts: half of what a host needs is there already, and takes no network. */
static void test_same_hosts(void **state)
{
	const struct tensor t = {1, {8}, 1};
	struct layout from = {.mesh = {1, {2}, 1, 0}, .sharding = {{1}, {{0}}}};
	struct layout to = {.mesh = {1, {2}, 1, 0}};
	TILING_AUTO made = {0};

	(void)state;
	assert_int_equal(tiling_build(&t, &from, &to, &made, NULL), SB_OK);
	assert_int_equal(made.count, 2);
	is(&made, 0, 4, 1, 0, 1, 1);
	is(&made, 1, 4, 1, 1, 1, 0);
	to.mesh.devices_per_host = from.mesh.devices_per_host = 2;
	tiling_free(&made);
	assert_int_equal(tiling_build(&t, &from, &to, &made, NULL), SB_OK);
	is(&made, 0, 4, 1, 0, 0, 0);
	assert_int_equal(made.pieces[0].devices, 0);
}

static void refuses(const struct tensor *t, const struct layout *from, const struct layout *to,
                    const char *field)
{
	struct sb_error err = {0};
	TILING_AUTO made = {0};

	assert_int_equal(tiling_build(t, from, to, &made, &err), SB_EIMPOSSIBLE);
	assert_string_equal(err.field, field);
}

static void test_refuses(void **state)
{
	const struct tensor good = {2, {4096, 4096}, 2};
	const struct layout l = on(2, 4, 0, 0, -1, -1);
	struct tensor t = good;
	struct layout x = l;

	(void)state;
	t.shape[1] = INT64_MAX;
	refuses(&t, &l, &l, "tensor/shape");
	t.shape[1] = 0;
	refuses(&t, &l, &l, "tensor/shape");
	x.mesh.shape[0] = INT64_MAX;
	refuses(&good, &x, &l, "from/mesh");
	refuses(&good, &l, &x, "to/mesh");
	x = l;
	x.mesh.devices_per_host = 0;
	refuses(&good, &l, &x, "to/devices_per_host");
	x = l;
	x.sharding.over[0][0] = 2;
	refuses(&good, &x, &l, "from/sharding");
	x = l;
	x.sharding.count[1] = 1;
	x.sharding.over[1][0] = 0;
	refuses(&good, &x, &l, "from/sharding");
	/* 256 rows by 256 columns */
	x = on(256, 1, 0, 0, -1, -1);
	t = good;
	refuses(&t, &x, &(struct layout){.mesh = {1, {256}, 1, 0}, .sharding = {{0, 1}, {{0}, {0}}}},
	        "to/sharding");
}

/* capabilities.md 12: to A hosts of B devices send/recv takes A*B*t, gathering A*t, broadcast t*(1 + A/K). */
static void test_costs(void **state)
{
	const struct piece p = {.bytes = 1000, .hosts = 3, .devices = 12, .widest = 4};
	struct transfer_network n = {{100, 0}, {INFINITY, 0}, 10};
	int64_t chunks;

	(void)state;
	assert_true(near(transfer_seconds(&n, &p, TRANSFER_SEND, &chunks), 120));
	assert_true(near(transfer_seconds(&n, &p, TRANSFER_GATHER, &chunks), 30));
	assert_true(near(transfer_seconds(&n, &p, TRANSFER_BROADCAST, &chunks), 13));
	assert_int_equal(chunks, 10);
	assert_int_equal(transfer_best(&n, &p), TRANSFER_BROADCAST);
	/* three quarters of it over a local link of 250 bytes a second */
	n.local.bytes_per_second = 250;
	assert_true(near(transfer_seconds(&n, &p, TRANSFER_GATHER, &chunks), 33));
	/* (K + 3) (0.3 + 10 / K) is least at K = sqrt(3 * 10 / 0.3) = 10: 13 * 1.3 */
	n.nic.latency_seconds = 0.3;
	n.chunks = 0;
	assert_true(near(transfer_seconds(&n, &p, TRANSFER_BROADCAST, &chunks), 16.9));
	assert_int_equal(chunks, 10);
	/* no latency: as many chunks as may be, and no more than bytes */
	n.nic.latency_seconds = 0;
	(void)transfer_seconds(&n, &p, TRANSFER_BROADCAST, &chunks);
	assert_int_equal(chunks, 1000);
	assert_true(transfer_bytes(&p, TRANSFER_SEND) == 12000 &&
	            transfer_bytes(&p, TRANSFER_GATHER) == 3000);
	/* to one device a chain gains nothing */
	assert_int_equal(
	    transfer_best(&n, &(struct piece){.bytes = 1000, .hosts = 1, .devices = 1, .widest = 1}),
	    TRANSFER_SEND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_benchmark_cases),
	    cmocka_unit_test(test_what_does_not_divide),
	    cmocka_unit_test(test_two_axes_of_the_mesh),
	    cmocka_unit_test(test_same_hosts),
	    cmocka_unit_test(test_refuses),
	    cmocka_unit_test(test_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
