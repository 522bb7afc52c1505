#include "planner/methods/mist_machine.h"

#include <math.h>
#include <string.h>

#define GIB 1073741824.0

/* clang-format off */
static const struct mist_machine machines[] = {
    {"l4-24g",
     {{{INFINITY, 0}, {2.964, .0001}, {4.1635, .0004}, {4.6832, .0003}},
      {{.4895, .0045}, {.9791, .0076}, {1.7183, 0}, {3.3215, .0013}},
      {{.4609, .0102}, {.9195, .0008}, {1.6759, .0045}, {2.9659, .003}}},
     {5.7546, .0004}, {6.1252, .0004},
     {18.9356, 1.2639, 50, 1.6046,
      2.0865, 1.0009, 2.393, 2.4146, 1.0869, 2.6637, 1.9381, 3.2653, 1, 1.234, 50, 1.6883,
      1.1676, 1, 1.0152, 1.0005, 1.0179, 1.0022, 1, 2.1383, 1.078, 2.438, 2.4327, 1.0974}},
    {"a100-40g",
     {{{INFINITY, 0}, {139.0363, .0001}, {192.6217, .0004}, {210.306, .0004}},
      {{1.2972, .0015}, {2.6049, .0015}, {5.4178, .0014}, {10.7032, .001}},
      {{1.2526, .002}, {2.4864, .0021}, {5.2995, .0022}, {10.6044, .0019}}},
     {5.3645, .0003}, {5.8471, .0002},
     {1.307, 2.6325, 2.4097, 2.5898,
      1.2264, 2.8078, 1.466, 1.3202, 2.2295, 1.932, 1.0309, 1.9929, 1.0438, 5.4986, 1.2915, 1.7303,
      1.2856, 1.0393, 1.0081, 1.0099, 1.0125, 1.0251, 1.5508, 1.0972, 1.1336, 1.2723, 1.5186, 1.2665}},
};
/* clang-format on */

/* Which streams run, in the order of the factors: bit i is stream i. */
static const unsigned masks[] = {15, 7, 11, 13, 14, 3, 5, 9, 6, 10, 12};

const struct mist_machine *mist_machine_of(const char *device)
{
	for (size_t i = 0; device && i < sizeof(machines) / sizeof(machines[0]); i++) {
		if (strcmp(machines[i].name, device) == 0)
			return &machines[i];
	}
	return NULL;
}

static unsigned running(const double *left)
{
	unsigned mask = 0;

	for (unsigned i = 0; i < MIST_STREAMS; i++)
		mask |= left[i] > 0 ? 1u << i : 0;
	return mask;
}

/* The streams of a mask run until the first of them ends: that time. */
static double run_together(const double *factors, unsigned mask, double *left)
{
	double scaled[MIST_STREAMS] = {0}, first = INFINITY;
	int used = 0;

	for (unsigned i = 0; i < MIST_STREAMS; i++) {
		if (mask & 1u << i) {
			scaled[i] = left[i] * factors[used++];
			first = fmin(first, scaled[i]);
		}
	}
	used = 0;
	for (unsigned i = 0; i < MIST_STREAMS; i++) {
		if (mask & 1u << i)
			left[i] = (scaled[i] - first) / factors[used++];
	}
	return first;
}

double mist_overlap_seconds(const double *factors, const double *seconds)
{
	double left[MIST_STREAMS], all = 0, sum = 0, longest = 0;

	for (int i = 0; i < MIST_STREAMS; i++) {
		left[i] = seconds[i];
		sum += seconds[i];
		longest = fmax(longest, seconds[i]);
	}
	for (size_t k = 0; k < sizeof(masks) / sizeof(masks[0]); k++) {
		if (running(left) == masks[k])
			all += run_together(factors, masks[k], left);
		factors += __builtin_popcount(masks[k]);
	}
	for (int i = 0; i < MIST_STREAMS; i++)
		all += left[i];
	return fmin(fmax(all, longest), sum);
}

/* The largest listed power of two that is not above n. */
static int row_of(int64_t n, int rows)
{
	int row = 0;

	while (row + 1 < rows && n >= (int64_t)2 << row)
		row++;
	return row;
}

static double seconds_at(const struct mist_rate *r, double bytes)
{
	return bytes > 0 ? bytes / GIB / r->gib_per_second + r->seconds : 0;
}

double mist_swap_seconds(const struct mist_rate *r, double bytes)
{
	return seconds_at(r, bytes);
}

double mist_collective_seconds(const struct mist_machine *m, enum mist_collective kind, int64_t nodes,
                               int64_t inside, double bytes)
{
	static const double factor[] = {[MIST_GATHER] = 1, [MIST_SCATTER] = 1.1, [MIST_REDUCE] = 2.1};
	double ranks = (double)nodes * (double)inside;

	if (ranks <= 1)
		return 0;
	return factor[kind] * seconds_at(&m->group[row_of(nodes, MIST_NODES)][row_of(inside, MIST_INSIDE)],
	                                 bytes * (ranks - 1) / ranks);
}

double mist_send_seconds(const struct mist_machine *m, bool across, double bytes)
{
	const struct mist_rate *r = across ? &m->group[1][0] : &m->group[0][1];

	return bytes / GIB / r->gib_per_second;
}

/* Ranks of so many nodes, so many in each, over our levels. */
static struct group group_of(const struct network *n, int64_t devices_per_node, int64_t nodes, int64_t inside)
{
	struct group g = {.ranks = nodes * inside};

	for (int l = 0; l < n->levels; l++) {
		int64_t together = n->domain[l] / devices_per_node; /* nodes in one domain */

		together = together < 1 ? 1 : together > nodes ? nodes : together;
		g.inside[l] = l == n->levels - 1 ? g.ranks : together * inside;
	}
	return g;
}

struct mist_machine mist_machine_from(const struct network *n, int64_t devices_per_node,
                                      double host_bytes_per_second)
{
	const struct mist_machine *a100 = mist_machine_of("a100-40g");
	struct mist_machine m = {.name = "own links", .to_device = a100->to_device, .to_host = a100->to_host};

	memcpy(m.factors, a100->factors, sizeof(m.factors));
	if (host_bytes_per_second > 0)
		m.to_device.gib_per_second = m.to_host.gib_per_second = host_bytes_per_second / GIB;
	for (int i = 0; i < MIST_NODES; i++) {
		for (int j = 0; j < MIST_INSIDE; j++) {
			struct group g = group_of(n, devices_per_node, (int64_t)1 << i, (int64_t)1 << j);
			int level = i > 0 ? n->levels - 1 : 0;

			m.group[i][j] = (struct mist_rate){ring_bandwidth(n, &g) / GIB,
			                                   (double)(g.ranks - 1) * n->latency[level]};
		}
	}
	return m;
}
