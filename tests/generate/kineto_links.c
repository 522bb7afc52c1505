#include "tests/generate/kineto.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { STAGE_BYTES = 10752000, LATENCY_NS = 250000 };

struct kineto_group kineto_group_of(const struct kineto_options *o, int64_t rank, enum unit_kind kind)
{
	int64_t half = o->ranks / 2;
	struct kineto_group g = {.name = "0", .description = "default_pg", .count = o->ranks, .stride = 1};

	/* a single rank is one of eight */
	if (o->ranks == 1)
		g.count = 8;
	if (o->shape != KINETO_PIPELINE)
		return g;
	if (kind == UNIT_SEND || kind == UNIT_RECEIVE) {
		g = (struct kineto_group){.description = "PIPELINE_MODEL_PARALLEL_GROUP",
		                          .first = rank % half,
		                          .count = 2,
		                          .stride = half};
		(void)snprintf(g.name, sizeof(g.name), "%" PRId64, 3 + g.first);
		return g;
	}
	g = (struct kineto_group){
	    .description = "DATA_PARALLEL_GROUP", .first = rank / half * half, .count = half, .stride = 1};
	(void)snprintf(g.name, sizeof(g.name), "%" PRId64, 1 + rank / half);
	return g;
}

const char *kineto_collective_name(const struct unit *u)
{
	switch (u->kind) {
	case UNIT_SEND: return "send";
	case UNIT_RECEIVE: return "recv";
	case UNIT_COLLECTIVE: return "allreduce";
	default: return "all_to_allv";
	}
}

/* What 85 % of an NVLink of 450 GB/s leave of a collective: bytes for ns of transfer. */
static int64_t bytes_of(const struct kineto_group *g, enum unit_kind kind, int64_t ns)
{
	double n = g->count > 1 ? (double)g->count : 2;

	return llround(382.0 * (double)ns * n / (n - 1) / (kind == UNIT_COLLECTIVE ? 2 : 1)) / 2 * 2;
}

/* When its input is there: it never starts before the kernels launched so far. */
static struct unit *link_unit(const struct kineto_options *o, struct kineto_rank *r, enum unit_kind kind,
                              enum unit_phase phase, int64_t step)
{
	struct unit *u = kineto_unit(r, kind, phase, step);

	kineto_issue(o, r, u);
	u->device = kineto_later(u->launch + u->launch_dur + kineto_draw(o, r, 3000, 5000),
	                         (kind == UNIT_COLLECTIVE ? r->link : r->exchange) + 1000);
	u->device = kineto_later(u->device, r->compute + 1000);
	if (o->prefetch)
		kineto_wait(r, u, r->last);
	r->queue[(r->launches - 1) % 1024] = u->device;
	return u;
}

static void collective_of(const struct kineto_options *o, struct kineto_rank *ranks,
                          const struct kineto_group *g, enum unit_kind kind, int64_t step, int64_t transit,
                          int64_t bytes)
{
	int64_t barrier = 0, count = g->count < o->ranks ? g->count : o->ranks;

	/* a ring is as fast as its slowest link: all ranks see it */
	transit = kineto_round(o, faults_longer(&o->faults, FAULT_SLOW_LINK, transit));
	for (int64_t i = 0; i < count; i++) {
		struct unit *u = link_unit(o, &ranks[g->first + i], kind, PHASE_BACKWARD, step);

		u->bytes = bytes;
		barrier = kineto_later(barrier, u->device);
	}
	for (int64_t i = 0; i < count; i++) {
		struct kineto_rank *r = &ranks[g->first + i];
		struct unit *u = &r->units[r->count - 1];

		u->device_dur = barrier + transit - u->device;
		if (kind == UNIT_ALL_TO_ALL) {
			r->exchange = r->compute = barrier + transit;
			r->holds = r->count;
		} else {
			r->link = barrier + transit;
		}
	}
}

/* Gradients in parts of the size that the fault asks for, each of which costs the latency of the network. */
static void in_parts(const struct kineto_options *o, struct kineto_rank *ranks, const struct kineto_group *g,
                     int64_t step, int64_t transit, int64_t bytes)
{
	int64_t each = llround(o->faults.size[FAULT_SMALL_PACKETS]) / 2 * 2;

	for (int64_t i = 0; i < o->ranks; i++)
		kineto_swap_draws(&ranks[i], FAULT_SMALL_PACKETS);
	for (int64_t left = bytes; left > 0;) {
		int64_t part = each > 0 && each < left ? each : left;

		collective_of(o, ranks, g, UNIT_COLLECTIVE, step,
		              LATENCY_NS + llround((double)transit * (double)part / (double)bytes), part);
		left -= part;
	}
	for (int64_t i = 0; i < o->ranks; i++)
		kineto_swap_draws(&ranks[i], FAULT_SMALL_PACKETS);
}

void kineto_collective(const struct kineto_options *o, struct kineto_rank *ranks, enum unit_kind kind,
                       int64_t step, int64_t transit)
{
	if (kind == UNIT_ALL_TO_ALL)
		transit = kineto_round(o, faults_longer(&o->faults, FAULT_ALL_TO_ALL, transit));
	for (int64_t i = 0; i < o->ranks;) {
		struct kineto_group g = kineto_group_of(o, i, kind);
		int64_t bytes = bytes_of(&g, kind, transit);

		if (kind == UNIT_COLLECTIVE && o->faults.given[FAULT_SMALL_PACKETS])
			in_parts(o, ranks, &g, step, transit, bytes);
		else
			collective_of(o, ranks, &g, kind, step, transit, bytes);
		i += g.count;
	}
}

void kineto_hand_on(const struct kineto_options *o, struct kineto_rank *ranks, bool to_second, int64_t step)
{
	int64_t half = o->ranks / 2;

	for (int64_t i = 0; i < half; i++) {
		struct kineto_rank *from = &ranks[to_second ? i : i + half];
		struct kineto_rank *to = &ranks[to_second ? i + half : i];
		struct unit *send = link_unit(o, from, UNIT_SEND, PHASE_FORWARD, step);
		struct unit *receive = link_unit(o, to, UNIT_RECEIVE, PHASE_FORWARD, step);
		int64_t transit = kineto_round(o, STAGE_BYTES / 382);

		send->device =
		    kineto_later(send->device, receive->device + kineto_draw(o, to, 100000, 150000) +
		                                   faults_ms(&o->faults, FAULT_BUBBLE));
		send->device_dur = transit;
		receive->device_dur = send->device + transit - receive->device;
		send->bytes = receive->bytes = STAGE_BYTES;
		from->exchange = to->exchange = to->compute = send->device + transit;
		to->holds = to->count;
	}
}

void kineto_shift(const struct kineto_options *o, struct kineto_rank *r)
{
	for (int64_t i = 0; i < r->count; i++) {
		r->units[i].op += r->shift;
		r->units[i].launch += r->shift;
		r->units[i].device += r->shift;
	}
	for (int64_t i = 0; i < r->call_count; i++)
		r->calls[i].start += r->shift;
	for (int64_t i = 0; i < o->steps; i++) {
		r->steps[i].start += r->shift;
		r->steps[i].end += r->shift;
	}
	r->host += r->shift;
	r->early += r->shift;
}
