#include "planner/cost/calibrate.h"

#include <math.h>
#include <stdbool.h>

#include "planner/cost/compute.h"

const char *calibrated_name(enum calibrated_constant k)
{
	static const char *const names[] = {
	    [CALIBRATED_GEMM_SHARE] = "gemm_share",
	    [CALIBRATED_GEMM_HALF_FLOP] = "gemm_half_flop",
	    [CALIBRATED_LAUNCH_SECONDS] = "launch_seconds",
	    [CALIBRATED_MEMORY_SHARE] = "memory_share",
	    [CALIBRATED_FLASH_SHARE] = "flash_share",
	    [CALIBRATED_NODE_SHARE] = "node_share",
	    [CALIBRATED_SUPERNODE_SHARE] = "supernode_share",
	    [CALIBRATED_NETWORK_SHARE] = "network_share",
	    [CALIBRATED_OVERLAP_SLOWDOWN] = "overlap_slowdown",
	};

	return names[k];
}

/* What one profile says of one constant. */
struct said {
	double value, error, calls;
};

static struct said of_line(const struct measured_line *l, double value)
{
	return (struct said){value, l->error, l->calls};
}

static void ask(const struct cluster *c, const struct constants *now, const struct measured *m,
                struct said out[CALIBRATED_CONSTANTS])
{
	const struct device *d = &c->device;
	const struct measured_line *p = &m->products;
	/* without a line the mean call stands for all */
	double half = isnan(p->overhead) ? now->gemm_half_flop : NAN;
	double share =
	    isnan(p->overhead) ? gemm_full_flop(m->product_flop, half) / m->product_flop * p->rate : p->rate;
	bool large = (isnan(p->overhead) ? m->product_flop : m->product_most) >= now->gemm_half_flop;

	out[CALIBRATED_GEMM_SHARE] = of_line(p, large ? share / d->peak_flops : NAN);
	out[CALIBRATED_GEMM_HALF_FLOP] = of_line(p, large ? p->overhead * p->rate : NAN);
	out[CALIBRATED_LAUNCH_SECONDS] = of_line(&m->gaps, m->gaps.overhead);
	out[CALIBRATED_MEMORY_SHARE] = of_line(&m->element_wise, m->element_wise.rate / d->memory_bandwidth);
	out[CALIBRATED_FLASH_SHARE] = of_line(&m->attention, m->attention.rate / d->peak_flops);
	out[CALIBRATED_OVERLAP_SLOWDOWN] = of_line(&m->overlap, fmax(1, m->overlap.overhead));
	if (isnan(m->overlap.overhead))
		out[CALIBRATED_OVERLAP_SLOWDOWN].value = NAN;
	for (int i = 0; i < LINK_SCOPES; i++) {
		double link = c->links[i].bytes_per_second;

		out[CALIBRATED_NODE_SHARE + i] =
		    of_line(&m->links[i], link > 0 ? m->links[i].rate / link : NAN);
	}
}

void calibrate(const struct cluster *c, const struct constants *now, const struct measured *profiles,
               size_t count, struct calibrated out[CALIBRATED_CONSTANTS])
{
	double least[CALIBRATED_CONSTANTS], most[CALIBRATED_CONSTANTS];
	int told[CALIBRATED_CONSTANTS] = {0};

	for (int k = 0; k < CALIBRATED_CONSTANTS; k++) {
		out[k] = (struct calibrated){0, 0, 0};
		least[k] = INFINITY;
		most[k] = -INFINITY;
	}
	for (size_t i = 0; i < count; i++) {
		struct said s[CALIBRATED_CONSTANTS];

		ask(c, now, &profiles[i], s);
		for (int k = 0; k < CALIBRATED_CONSTANTS; k++) {
			if (!(s[k].calls > 0) || isnan(s[k].value))
				continue;
			out[k].value += s[k].value * s[k].calls;
			out[k].error += s[k].error * s[k].calls;
			out[k].calls += s[k].calls;
			least[k] = fmin(least[k], s[k].value);
			most[k] = fmax(most[k], s[k].value);
			told[k]++;
		}
	}
	for (int k = 0; k < CALIBRATED_CONSTANTS; k++) {
		double apart;

		out[k].value = told[k] ? out[k].value / out[k].calls : NAN;
		out[k].error = told[k] ? out[k].error / out[k].calls : NAN;
		apart = fmax(most[k] - out[k].value, out[k].value - least[k]) / fabs(out[k].value);
		if (told[k] > 1)
			out[k].error = fmax(out[k].error, apart);
	}
}
