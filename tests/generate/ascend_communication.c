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

struct body {
	int64_t start, elapse, transit, wait;
	struct ascend_packets packets[2];
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
	/* Every wait of this job comes before the first transfer: all of it is synchronisation. */
	out_text(out, ", \"Synchronization Time(ms)\": ");
	millionths(out, b->wait);
	out_text(out, ", \"Idle Time(ms)\": ");
	millionths(out, b->elapse - b->transit - b->wait);
	out_fmt(out, ", \"Wait Time Ratio\": %.4f, \"Synchronization Time Ratio\": %.4f}, ",
	        share(b->wait, b->transit), share(b->wait, b->transit));
}

static void link(struct out *out, const char *name, const struct body *b, bool total, bool used, bool sizes)
{
	int64_t bytes = 0;
	int64_t ns = 0;
	int64_t large = 0;
	int64_t count = 0;

	for (int i = 0; used && i < b->kinds; i++) {
		bytes += b->packets[i].bytes * b->packets[i].count;
		ns += b->packets[i].ns;
		count += b->packets[i].count;
		large += b->packets[i].bytes > 32000000 ? b->packets[i].count : 0;
	}
	out_fmt(out, "\"%s\": {\"Transit Size(MB)\": ", name);
	millionths(out, bytes);
	out_text(out, ", \"Transit Time(ms)\": ");
	millionths(out, ns);
	out_fmt(out, ", \"Bandwidth(GB/s)\": %.4f, \"Large Packet Ratio\": %.4f, \"Size Distribution\": {",
	        ns && !total ? (double)bytes / (double)ns : 0.0,
	        count && sizes && !total ? (double)large / (double)count : 0.0);
	for (int i = 0; used && sizes && i < b->kinds; i++) {
		out_text(out, i ? ", \"" : "\"");
		millionths(out, b->packets[i].bytes);
		out_fmt(out, "\": [%" PRId64 ", ", b->packets[i].count);
		millionths(out, b->packets[i].ns);
		out_text(out, "]");
	}
	out_text(out, "}}");
}

static void body(struct out *out, const struct body *b, bool total)
{
	times(out, b, total);
	out_text(out, "\"Communication Bandwidth Info\": {");
	link(out, "RDMA", b, total, false, true);
	out_text(out, ", ");
	link(out, "HCCS", b, total, true, true);
	out_text(out, ", ");
	link(out, "PCIE", b, total, false, true);
	out_text(out, ", ");
	link(out, "SDMA", b, total, true, false);
	out_text(out, ", ");
	link(out, "SIO", b, total, false, true);
	out_text(out, "}}");
}

static void add(struct body *sum, const struct ascend_link *l)
{
	sum->elapse += l->dur;
	sum->transit += l->transit;
	sum->wait += l->wait;
	for (int i = 0; i < l->packet_kinds; i++) {
		sum->packets[i].bytes = l->packets[i].bytes;
		sum->packets[i].count += l->packets[i].count;
		sum->packets[i].ns += l->packets[i].ns;
	}
	sum->kinds = l->packet_kinds > sum->kinds ? l->packet_kinds : sum->kinds;
}

static struct body body_of(const struct ascend_link *l)
{
	struct body one = {.start = l->start, .elapse = l->dur, .transit = l->transit, .wait = l->wait};

	memcpy(one.packets, l->packets, sizeof(one.packets));
	one.kinds = l->packet_kinds;
	return one;
}

void ascend_write_body(struct out *out, const struct ascend_link *l)
{
	const struct body one = body_of(l);

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
		out_fmt(out, "%s\"%s@%s\": ", any ? ", " : "", l->text, ascend_group_name(o, r));
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
