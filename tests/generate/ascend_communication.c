#include "tests/generate/ascend.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Whole millionths as the shortest decimal with at least one digit behind the point: 41943040 is 41.94304. */
static void millionths(struct out *out, int64_t value)
{
	char text[40];
	int n = snprintf(text, sizeof(text), "%" PRId64 ".%06" PRId64, value / 1000000, value % 1000000);

	while (text[n - 1] == '0' && text[n - 2] != '.')
		text[--n] = 0;
	out_text(out, text);
}

enum { SIZES_MAX = 16 };
/* What uses a link: nothing, HCCS or RDMA. */
enum user { NOBODY, BY_HCCS, BY_RDMA };

struct body {
	int64_t start, elapse, transit, wait, arrival;
	struct packets_of {
		struct ascend_packets packets;
		bool rdma;
	} sizes[SIZES_MAX];
	int kinds;
};

static double share(int64_t part, int64_t rest)
{
	return part + rest > 0 ? (double)part / (double)(part + rest) : 0.0;
}

/* total: the row of sums, which has no start and no ratios of its links. */
static void times(struct out *out, const struct body *b, bool total)
{
	out_text(out, "{\"Communication Time Info\": {");
	if (!total) {
		out_text(out, "\"Start Timestamp(us)\": ");
		out_us(out, b->start);
		out_text(out, ", ");
	}
	out_text(out, "\"Elapse Time(ms)\": ");
	millionths(out, b->elapse);
	out_text(out, ", \"Transit Time(ms)\": ");
	millionths(out, b->transit);
	out_text(out, ", \"Wait Time(ms)\": ");
	millionths(out, b->wait);
	/* what comes before the first transfer */
	out_text(out, ", \"Synchronization Time(ms)\": ");
	millionths(out, b->arrival);
	out_text(out, ", \"Idle Time(ms)\": ");
	millionths(out, b->elapse - b->transit - b->wait);
	out_fmt(out, ", \"Wait Time Ratio\": %.4f, \"Synchronization Time Ratio\": %.4f}, ",
	        share(b->wait, b->transit), share(b->arrival, b->transit));
}

static void link(struct out *out, const char *name, const struct body *b, bool total, enum user user,
                 bool sizes)
{
	int64_t bytes = 0;
	int64_t ns = 0;
	int64_t large = 0;
	int64_t count = 0;
	const char *comma = "\"";

	for (int i = 0; i < b->kinds; i++) {
		const struct ascend_packets *p = &b->sizes[i].packets;

		if (user != (b->sizes[i].rdma ? BY_RDMA : BY_HCCS))
			continue;
		bytes += p->bytes * p->count;
		ns += p->ns;
		count += p->count;
		large += p->bytes > (user == BY_RDMA ? 500000 : 32000000) ? p->count : 0;
	}
	out_fmt(out, "\"%s\": {\"Transit Size(MB)\": ", name);
	millionths(out, bytes);
	out_text(out, ", \"Transit Time(ms)\": ");
	millionths(out, ns);
	out_fmt(out, ", \"Bandwidth(GB/s)\": %.4f, \"Large Packet Ratio\": %.4f, \"Size Distribution\": {",
	        ns && !total ? (double)bytes / (double)ns : 0.0,
	        count && sizes && !total ? (double)large / (double)count : 0.0);
	for (int i = 0; sizes && i < b->kinds; i++) {
		const struct ascend_packets *p = &b->sizes[i].packets;

		if (user != (b->sizes[i].rdma ? BY_RDMA : BY_HCCS))
			continue;
		out_text(out, comma);
		millionths(out, p->bytes);
		out_fmt(out, "\": [%" PRId64 ", ", p->count);
		millionths(out, p->ns);
		out_text(out, "]");
		comma = ", \"";
	}
	out_text(out, "}}");
}

static void body(struct out *out, const struct body *b, bool total)
{
	times(out, b, total);
	out_text(out, "\"Communication Bandwidth Info\": {");
	link(out, "RDMA", b, total, BY_RDMA, true);
	out_text(out, ", ");
	link(out, "HCCS", b, total, BY_HCCS, true);
	out_text(out, ", ");
	link(out, "PCIE", b, total, NOBODY, true);
	out_text(out, ", ");
	link(out, "SDMA", b, total, BY_HCCS, false);
	out_text(out, ", ");
	link(out, "SIO", b, total, NOBODY, true);
	out_text(out, "}}");
}

static void add(struct body *sum, const struct ascend_link *l)
{
	sum->elapse += l->dur;
	sum->transit += l->transit;
	sum->wait += l->wait;
	sum->arrival += l->arrival;
	for (int i = 0; i < l->packet_kinds; i++) {
		int at = 0;

		while (at < sum->kinds && (sum->sizes[at].packets.bytes != l->packets[i].bytes ||
		                           sum->sizes[at].rdma != l->rdma))
			at++;
		if (at == SIZES_MAX)
			out_die("too many sizes of packets");
		if (at == sum->kinds)
			sum->sizes[sum->kinds++] =
			    (struct packets_of){.packets.bytes = l->packets[i].bytes, .rdma = l->rdma};
		sum->sizes[at].packets.count += l->packets[i].count;
		sum->sizes[at].packets.ns += l->packets[i].ns;
	}
}

void ascend_write_body(struct out *out, const struct ascend_link *l)
{
	struct body one = {.start = l->start};

	add(&one, l);
	body(out, &one, false);
}

static void section(struct out *out, const struct ascend_options *o, const struct ascend_rank *r,
                    int64_t step, char kind)
{
	struct body sum = {0};
	bool any = false;

	out_text(out, "{");
	for (int64_t i = 0; i < r->link_count; i++) {
		const struct ascend_link *l = &r->links[i];

		if (l->step != step || (l->kind[0] == 'r') != (kind == 'p'))
			continue;
		out_fmt(out, "%s\"%s@%s\": ", any ? ", " : "", l->text, ascend_link_group(o, r, l));
		ascend_write_body(out, l);
		add(&sum, l);
		any = true;
	}
	if (any) {
		out_text(out, ", \"Total Op Info\": ");
		body(out, &sum, true);
	}
	out_text(out, "}");
}

void ascend_write_communication(const struct ascend_options *o, const struct ascend_rank *r)
{
	OUT_AUTO out = ascend_open(r, "communication.json", false);

	out_text(out, "{");
	for (int64_t step = 0; step < o->steps; step++) {
		out_fmt(out, "%s\"step%" PRId64 "\": {\"p2p\": ", step ? ", " : "", ASCEND_FIRST_STEP + step);
		section(out, o, r, step, 'p');
		out_text(out, ", \"collective\": ");
		section(out, o, r, step, 'c');
		out_text(out, "}");
	}
	out_text(out, "}");
}
