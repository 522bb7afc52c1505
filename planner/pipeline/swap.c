#include "planner/pipeline/swap.h"

#include <math.h>

static struct schedule_shape shape_of(const struct swap_problem *p, enum schedule_kind kind)
{
	return (struct schedule_shape){kind, p->devices, p->micro_batches, 1, 1};
}

static int out_of_range(struct sb_error *err, const char *field, const char *text)
{
	return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", field, "%s", text);
}

int swap_check(const struct swap_problem *p, struct sb_error *err)
{
	struct schedule_shape s = shape_of(p, SCHEDULE_1F1B);

	if (p->devices < 2 || p->devices > SWAP_DEVICES_MAX)
		return out_of_range(err, "devices", "must lie between 2 and 1024");
	if (p->parts < 1 || p->parts > SWAP_DEVICES_MAX)
		return out_of_range(err, "parts", "must lie between 1 and 1024");
	if (!(p->link.bytes_per_second > 0))
		return out_of_range(err, "link/bytes_per_second", "must be above 0");
	if (!(p->host.bytes_per_second > 0))
		return out_of_range(err, "host_link/bytes_per_second", "must be above 0");
	return schedule_check(&s, err);
}

static int simulate(const struct swap_problem *p, enum schedule_kind kind, double *out, struct sb_error *err)
{
	SCHEDULE_PROGRAM_AUTO program = {0};
	struct schedule_shape s = shape_of(p, kind);
	double forward[SWAP_DEVICES_MAX], backward[SWAP_DEVICES_MAX];
	struct schedule_times t = {.forward = forward,
	                           .backward = backward,
	                           .send_seconds = link_seconds(&p->link, p->activation),
	                           .blocking = p->blocking};
	struct schedule_result r = {0};
	int rc = schedule_program_build(&s, &program, err);

	for (int64_t d = 0; d < p->devices; d++) {
		forward[d] = p->forward / (double)p->devices;
		backward[d] = p->backward / (double)p->devices;
	}
	if (rc == SB_OK)
		rc = schedule_simulate(&program, &t, &r, err);
	*out = r.makespan;
	return rc;
}

static int pipeline_step(const struct swap_problem *p, struct swap_comparison *x, struct sb_error *err)
{
	double sends = (double)(p->micro_batches - 1 + 2 * (p->devices - 1)), eager = 0;
	double *step = &x->step[SWAP_PIPELINE];
	int rc = simulate(p, SCHEDULE_1F1B, step, err);

	if (rc == SB_OK)
		rc = simulate(p, SCHEDULE_EAGER_1F1B, &eager, err);
	if (rc != SB_OK)
		return rc;
	x->schedule = eager < *step ? SCHEDULE_EAGER_1F1B : SCHEDULE_1F1B;
	/* the simulation lets transfers of one link overlap */
	*step = fmax(fmin(*step, eager),
	             p->forward + p->backward + sends * link_seconds(&p->link, p->activation));
	return SB_OK;
}

/* One step of a device that swaps, without the exchange. */
static double swapping(const struct swap_problem *p, const struct swap_comparison *x)
{
	double k = (double)p->parts, m = (double)x->device_micro_batches;
	double f = m * p->forward / k, b = m * p->backward / k;
	double between = m * p->activation / p->host.bytes_per_second;
	double store = link_seconds(&p->host, p->gradients / k);

	if (p->parts == 1)
		return f + b; /* nothing to swap */
	return (k - 1) * fmax(f, fmax(x->load, between)) + f +
	       (k - 1) * fmax(b, fmax(x->load + between, store)) + b + store;
}

/* Seconds in which a full pipeline passes on a micro-batch: each stage's compute, or the link; blocking:
 * both, as a stage receives and sends each way. */
static double full_pipeline(const struct swap_problem *p)
{
	double compute = (p->forward + p->backward) / (double)p->devices,
	       send = link_seconds(&p->link, p->activation);

	return p->blocking ? compute + 4 * send : fmax(compute, send);
}

/* The rate of the link at which that takes `seconds`. */
static double rate_for(const struct swap_problem *p, double seconds)
{
	double times = p->blocking ? 4 : 1;
	double room = seconds - (p->blocking ? (p->forward + p->backward) / (double)p->devices : 0);

	room -= times * p->link.latency_seconds;
	return room > 0 ? times * p->activation / room : INFINITY;
}

int swap_compare(const struct swap_problem *p, struct swap_comparison *out, struct sb_error *err)
{
	struct swap_comparison x = {0};
	double devices = (double)p->devices, swap, gain, hops = 2 * (devices - 1);
	int rc = swap_check(p, err);

	if (rc == SB_OK)
		rc = pipeline_step(p, &x, err);
	if (rc != SB_OK)
		return rc;
	x.device_micro_batches = (p->micro_batches + p->devices - 1) / p->devices;
	x.load = link_seconds(&p->host, p->weights / (double)p->parts);
	x.hiding_micro_batches =
	    p->parts == 1 ? 1 : (int64_t)fmin(1e15, fmax(1, ceil(x.load * (double)p->parts / p->forward)));
	x.exchange = hops * link_seconds(&p->link, p->gradients / devices);
	swap = swapping(p, &x);
	x.step[SWAP_SYNCHRONOUS] = swap + x.exchange;
	x.step[SWAP_BACKGROUND] = swap;
	x.stale_steps = (int64_t)fmin(1e15, swap > 0 ? ceil(x.exchange / swap) : 1e15);
	x.device_bytes[SWAP_PIPELINE] = (p->weights + p->gradients) / devices;
	x.device_bytes[SWAP_SYNCHRONOUS] =
	    p->parts == 1
	        ? p->weights + p->gradients
	        : (2 * p->weights + p->gradients) / (double)p->parts; /* one in use, one on its way */
	x.device_bytes[SWAP_BACKGROUND] = x.device_bytes[SWAP_SYNCHRONOUS];
	x.threshold_bytes_per_second = rate_for(p, swap / (double)p->micro_batches);
	gain = full_pipeline(p) - swap / (double)p->micro_batches;
	x.paying_micro_batches = gain > 0 ? x.exchange / gain : NAN;
	*out = x;
	return SB_OK;
}
