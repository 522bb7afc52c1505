#include "tests/generate/ascend.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Communication of the Ascend job: what is sent, how long that takes, and who waits for whom. */

enum { PLANES = 7, GAP_NS = 1200 };
enum { FULL_BYTES = 41943040 };
enum { RDMA_BYTES = 4194304, RDMA_NS = 180000, RDMA_PACKETS = 8 }; /* 23.3 GB/s */
enum { EXPERT_BYTES = 33554432, EXPERT_NS = 1247000 };             /* 26.9 GB/s */

static struct ascend_link *new_link(struct ascend_rank *r, int64_t step, const char *kind)
{
	struct ascend_link *l;
	int64_t order = 0;

	if (r->link_count == r->link_cap) {
		r->link_cap = r->link_cap ? r->link_cap * 2 : 64;
		r->links = out_alloc(r->links, r->link_cap, sizeof(*r->links));
	}
	l = &r->links[r->link_count++];
	*l = (struct ascend_link){.step = step, .kind = kind};
	for (int64_t i = r->link_count - 1; i > 0 && r->links[i - 1].step == step; i--)
		order++;
	snprintf(l->text, sizeof(l->text), "hcom_%s__221_%" PRId64 "_%" PRId64, kind, order, step + 1);
	return l;
}

/* 40 MiB reach 26.9 GB/s, 1 MiB 7, with the usual cost of a packet. */
static int64_t packet_ns(const struct ascend_options *o, int64_t bytes)
{
	return llround((double)o->packet_ns + (double)bytes / 29.0);
}

static void between_nodes(const struct ascend_options *o, const struct ascend_rank *r, struct ascend_link *l)
{
	bool retried = l->step == (o->steps > 1) && r->rank == ascend_culprit(o);

	l->rdma = true;
	l->packets[0] = (struct ascend_packets){RDMA_BYTES, RDMA_PACKETS, (int64_t)RDMA_PACKETS * RDMA_NS};
	if (retried)
		l->packets[0].ns += faults_ms(&o->faults, FAULT_RETRANSMISSION);
	l->packet_kinds = 1;
	l->transit = l->packets[0].ns;
}

static void between_experts(const struct ascend_options *o, struct ascend_link *l)
{
	int64_t ns = faults_longer(&o->faults, FAULT_ALL_TO_ALL, EXPERT_NS);

	l->packets[0] = (struct ascend_packets){
	    llround(EXPERT_BYTES / 512.0 * (1 + o->faults.size[FAULT_ALL_TO_ALL])) * 512, PLANES,
	    PLANES * ns};
	l->packet_kinds = 1;
	l->transit = ns;
}

/* When the products of the step end, as those so far tell. */
static int64_t products_end(const struct ascend_options *o, const struct ascend_rank *r,
                            const struct ascend_link *l)
{
	int64_t first = r->kernel_count, done;

	while (first > 0 && r->kernels[first - 1].step == l->step)
		first--;
	done = r->kernel_count - first;
	if (done == 0)
		return l->start;
	return r->kernels[first].start +
	       llround((double)(r->compute - r->kernels[first].start) * (double)o->kernels / (double)done);
}

/* What a transfer takes that alone takes ns: it is slow for as long as products run beside it. */
static int64_t beside_products(const struct ascend_options *o, int64_t start, int64_t ns, int64_t end)
{
	int64_t slow = faults_longer(&o->faults, FAULT_LINK_CONTENTION, ns),
	        room = ascend_later(end - start, 0);

	if (slow <= room)
		return slow;
	return room + ns - llround((double)room / (1 + o->faults.size[FAULT_LINK_CONTENTION]));
}

/* What a packet of this size takes on the rank's link, which may be a slow one. */
static int64_t packet_on_link(const struct ascend_options *o, const struct ascend_rank *r, int64_t bytes)
{
	int64_t ns = packet_ns(o, bytes);

	if (r->rank == ascend_culprit(o))
		ns = faults_longer(&o->faults, FAULT_SLOW_LINK, ns);
	return faults_longer(&o->faults, FAULT_CONFIGURATION, ns);
}

static void pack(const struct ascend_options *o, const struct ascend_rank *r, struct ascend_link *l,
                 bool last)
{
	const struct faults *f = &o->faults;
	int64_t bytes[2] = {FULL_BYTES, FULL_BYTES}, each = last ? 1 : 2, second = 0;
	int64_t end = products_end(o, r, l);
	bool odd = f->size[FAULT_ALIGNMENT] > 0, small = f->size[FAULT_SMALL_PACKETS] >= 1;

	if (small) {
		bytes[0] = bytes[1] = (int64_t)f->size[FAULT_SMALL_PACKETS];
		each = ascend_later((each * FULL_BYTES + bytes[0] / 2) / bytes[0], 1);
	}
	/* half of the packets are a sort of their own: misaligned, or later and so perhaps past the products,
	 * or of another size */
	if (odd || f->size[FAULT_LINK_CONTENTION] > 0 || (small && o->uneven))
		second = each / 2;
	if (small && o->uneven && second > 0) {
		int64_t quarter = bytes[0] / 4 / 512 * 512;

		bytes[0] += quarter;
		bytes[1] -= quarter;
	}
	for (int i = 0; i < 2; i++) {
		int64_t count = i == 0 ? each - second : second, ns = packet_on_link(o, r, bytes[i]),
		        all = count * ns;

		if (count == 0)
			continue;
		if (odd && i == 1)
			all = count * faults_longer(f, FAULT_ALIGNMENT, ns);
		if (!last)
			all = beside_products(o, l->start + l->transit, all, end);
		l->packets[l->packet_kinds++] = (struct ascend_packets){bytes[i] - (odd && i == 1 ? 300 : 0),
		                                                        count * PLANES, all * PLANES};
		l->transit += all;
	}
}

void ascend_collective(const struct ascend_options *o, struct ascend_rank *ranks, int64_t begin, int64_t end,
                       int64_t step, const char *kind, bool last)
{
	int64_t barrier = 0, slowest = 0;
	bool experts = kind[3] == 't';

	for (int64_t i = begin; i < end; i++) {
		struct ascend_rank *r = &ranks[i];
		struct ascend_link *l = new_link(r, step, kind);

		l->experts = experts;
		l->op = r->host;
		l->op_dur = l->launch_dur = ascend_host(o, r, 9000, 14000);
		l->launch = ascend_later(l->op, r->queue);
		r->queue = l->launch + l->launch_dur;
		r->host += l->op_dur + ascend_host(o, r, 3000, 5000);
		l->start = ascend_later(l->launch + l->launch_dur + 5000,
		                        (experts ? r->exchange : r->link) + GAP_NS);
		l->start = ascend_later(l->start, r->compute + GAP_NS);
		if (experts)
			between_experts(o, l);
		else if (last && o->faults.given[FAULT_RETRANSMISSION])
			between_nodes(o, r, l);
		else
			pack(o, r, l, last);
		barrier = ascend_later(barrier, l->start);
		slowest = ascend_later(slowest, l->transit);
	}
	for (int64_t i = begin; i < end; i++) {
		struct ascend_link *l = &ranks[i].links[ranks[i].link_count - 1];

		l->arrival = barrier - l->start;
		l->wait = l->arrival + slowest - l->transit;
		l->dur = l->arrival + slowest + 20000; /* 20 us of neither */
		if (experts)
			ranks[i].exchange = ranks[i].compute = l->start + l->dur;
		else
			ranks[i].link = l->start + l->dur;
	}
}

void ascend_receive(const struct ascend_options *o, struct ascend_rank *r, int64_t step,
                    const struct ascend_rank *peer)
{
	struct ascend_link *l = new_link(r, step, "receive");
	int64_t sent;

	l->op = r->host;
	l->op_dur = l->launch_dur = 10000;
	l->launch = ascend_later(l->op, r->queue);
	r->queue = l->launch + l->launch_dur;
	l->start = ascend_later(l->launch + 15000, r->link + GAP_NS);
	/* the first stage receives in one go with what it sends, when that is computed */
	if (!peer)
		l->start = ascend_later(l->start, r->compute + GAP_NS);
	sent = peer ? peer->steps[step].start : l->start;
	sent += random_between(&r->random, 200000, 300000) + faults_ms(&o->faults, FAULT_BUBBLE);
	l->wait = l->arrival = ascend_later(sent - l->start, 0);
	l->transit = 400000;
	l->dur = l->wait + l->transit;
	l->packets[0] = (struct ascend_packets){10752000, 1, 400000};
	l->packet_kinds = 1;
	r->link = l->start + l->dur;
	r->compute = ascend_later(r->compute, r->link);
	r->host += l->op_dur + 2000;
}

const char *ascend_link_op(const struct ascend_link *l)
{
	return l->kind[0] == 'r' ? "c10d::recv_" : l->experts ? "c10d::alltoall_" : "c10d::allreduce_";
}
