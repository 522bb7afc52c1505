#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend_links.h"
#include "profiler/read/mindinsight.h"

/* hccl_raw_{id}.csv: a row a step, and one of averages (step "-") behind them. Two columns hold JSON:
 *   link_info                     { "1-0": { "SDMA": [ms, KB, KB/s] } }, for RDMA with a fourth number, the
 * wait communication_operator_cost   { operator: [step, communication ms, wait ms, { links as above }] } The
 * costs are those of an operator's main stream: transfers, and notify waits that belong to none of them; the
 * links are over all streams. A rate is never read: that of link_info is a sum of rates. */

static const char *const MARKS[] = {"step_num", "communication_cost", "wait_cost", "link_info", NULL};

struct reading {
	struct read_context *ctx;
	struct stream *in;
	struct capture *cap;
	struct csv *csv;
	struct jpull *j; /* of the present cell */
	struct sb_error *err;
	int64_t step;
};

static int sniff(const struct sniff *s)
{
	return sniff_columns(s, MARKS) ? SNIFF_SURE : SNIFF_NO;
}

/* Microseconds; NaN for what is no time. */
static double us_of(const char *text, size_t len)
{
	double ms;

	if (sb_parse_double(text, len, &ms) != SB_OK || !(ms >= 0) || !isfinite(ms * 1000))
		return NAN;
	return ms * 1000;
}

/* name: as communication_link_name() gives it. */
static struct link *link_of(struct communication_op *op, const char *name)
{
	for (size_t i = 0; i < op->link_count; i++)
		if (op->links[i].name == name)
			return &op->links[i];
	op->links[op->link_count] = (struct link){.name = name, .large_packet_ratio = NAN};
	return &op->links[op->link_count++];
}

static void left_out(struct reading *r)
{
	ascend_bad_value(r->ctx, r->csv, r->in, "link_info", "a link is left out");
}

/* [ms, KB, …]: added to the link. */
static int read_link(struct reading *r, struct communication_op *op, const char *name)
{
	double us = NAN;
	int64_t bytes = SB_NULL;
	struct jpull_value v;
	int rc = jpull_next(r->j, &v, r->err);

	if (rc == SB_OK && v.token != JPULL_ARRAY) {
		left_out(r);
		return jpull_skip(r->j, &v, r->err);
	}
	for (int i = 0; rc == SB_OK; i++) {
		rc = jpull_next(r->j, &v, r->err);
		if (rc != SB_OK || v.token == JPULL_ARRAY_END)
			break;
		if (i == 0 && v.token == JPULL_NUMBER)
			us = us_of(v.text, v.len);
		else if (i != 1 || v.token != JPULL_NUMBER ||
		         sb_parse_scaled(v.text, v.len, 3, &bytes) != SB_OK)
			rc = jpull_skip(r->j, &v, r->err);
	}
	if (rc == SB_OK && us >= 0 && bytes >= 0) {
		struct link *l = link_of(op, name);

		l->transit_us += us;
		l->bytes = sb_add_sat(l->bytes, bytes);
	} else if (rc == SB_OK) {
		left_out(r);
	}
	return rc;
}

/* { "1-0": { "SDMA": […] } }; its "{" has been read. */
static int read_links(struct reading *r, struct communication_op *op)
{
	struct jpull_value pair, key;
	bool more = true;
	int rc = SB_OK;

	while (object_member(r->j, &rc, &more, &pair, r->err)) {
		bool inner = false;

		rc = object_enter(r->j, &inner, r->err);
		while (object_member(r->j, &rc, &inner, &key, r->err)) {
			const char *name = communication_link_name(key.text, key.len);

			rc = name ? read_link(r, op, name) : value_skip(r->j, r->err);
		}
	}
	return rc;
}

static int add_operator(struct reading *r, const struct communication_op *op)
{
	struct capture *cap = r->cap;

	if (sb_grow(&cap->communications, cap->communication_count, sizeof(*op)) != SB_OK)
		return sb_fail(r->err, SB_ENOMEM, "no_memory", "out of memory");
	cap->communications[cap->communication_count++] = *op;
	return SB_OK;
}

/* [step, communication ms, wait ms, { links }]; the two numbers in front of the links count, so that a list
 * without the step is read, too. */
static int read_cost(struct reading *r, const struct jpull_value *key)
{
	struct communication_op op = communication_op_empty(r->step, false);
	struct jpull_value v;
	int rc = sb_strings_add(r->cap->trace.strings, key->text, key->len, &op.name);

	if (rc != SB_OK)
		return sb_fail(r->err, rc, "no_memory", "out of memory");
	rc = jpull_next(r->j, &v, r->err);
	if (rc != SB_OK || v.token != JPULL_ARRAY)
		return rc == SB_OK ? jpull_skip(r->j, &v, r->err) : rc;
	while (rc == SB_OK) {
		rc = jpull_next(r->j, &v, r->err);
		if (rc != SB_OK || v.token == JPULL_ARRAY_END)
			break;
		if (v.token == JPULL_OBJECT) {
			rc = read_links(r, &op);
		} else if (v.token == JPULL_NUMBER || v.token == JPULL_STRING) {
			op.transit_us = op.wait_us;
			op.wait_us = us_of(v.text, v.len);
		} else {
			rc = jpull_skip(r->j, &v, r->err);
		}
	}
	return rc == SB_OK ? add_operator(r, &op) : rc;
}

static int read_costs(struct reading *r)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err))
		rc = read_cost(r, &key);
	return rc;
}

static double cost_at(const struct reading *r, const char *column)
{
	size_t len;
	const char *text = csv_trimmed(r->csv, csv_column(r->csv, column), &len);

	return us_of(text, len);
}

/* A step without a list of operators: its sums stand for all of them, without a name. */
static int read_whole(struct reading *r)
{
	struct communication_op op = communication_op_empty(r->step, false);
	bool is = false;
	int rc;

	op.transit_us = cost_at(r, "communication_cost");
	op.wait_us = cost_at(r, "wait_cost");
	rc = object_enter(r->j, &is, r->err);
	if (rc == SB_OK && is)
		rc = read_links(r, &op);
	return rc == SB_OK ? add_operator(r, &op) : rc;
}

/* Runs a reader over the JSON of a cell; broken JSON is a warning. */
static int read_cell(struct reading *r, const char *column, int (*read)(struct reading *),
                     struct sb_error *err)
{
	JPULL_AUTO j = NULL;
	struct sb_error got = {.offset = -1};
	struct memory_stream m;
	size_t len;
	const char *text = csv_trimmed(r->csv, csv_column(r->csv, column), &len);
	int rc;

	memory_stream_init(&m, r->in->path, len > 0 ? text : "{}", len > 0 ? len : 2, 0);
	if (jpull_new(&m.base, &j) != SB_OK)
		return sb_no_memory(err);
	r->j = j;
	r->err = &got;
	rc = read(r);
	r->j = NULL;
	r->err = NULL;
	if (rc == SB_EFORMAT) {
		ascend_bad_value(r->ctx, r->csv, r->in, column, "its JSON is used up to the break only");
		return SB_OK;
	}
	if (rc != SB_OK && err)
		*err = got;
	return rc;
}

static int read_row(struct reading *r, struct sb_error *err)
{
	size_t before = r->cap->communication_count, len;
	const char *text = csv_trimmed(r->csv, csv_column(r->csv, "step_num"), &len);
	int rc;

	/* the averages */
	if (len == 1 && text[0] == '-')
		return SB_OK;
	if (sb_parse_int(text, len, &r->step) != SB_OK || r->step < 0) {
		ascend_bad_value(r->ctx, r->csv, r->in, "step_num", "the row is left out");
		return SB_OK;
	}
	rc = read_cell(r, "communication_operator_cost", read_costs, err);
	if (rc == SB_OK && r->cap->communication_count == before)
		rc = read_cell(r, "link_info", read_whole, err);
	return rc;
}

static int read_hccl(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	CSV_AUTO c = NULL;
	struct reading r = {.ctx = ctx, .in = in};
	bool more = true;
	int rc = ascend_csv_open(in, MARKS, &c, err);

	if (rc == SB_OK)
		rc = mindinsight_capture(ctx, in, &r.cap, err);
	r.csv = c;
	while (rc == SB_OK && more) {
		rc = ascend_csv_row(ctx, c, in, &more, err);
		if (rc == SB_OK && more)
			rc = read_row(&r, err);
	}
	return rc;
}

const struct format_reader MINDINSIGHT_HCCL_READER = {
    .name = "hccl_raw_*.csv", .format = FORMAT_MINDINSIGHT, .sniff = sniff, .read = read_hccl};
