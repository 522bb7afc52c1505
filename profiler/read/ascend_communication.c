#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "profiler/read/ascend_links.h"
#include "profiler/read/cluster_analysis.h"

/* communication.json (research page ascend-formats 1.9). Sizes are decimal megabytes of 10^6 bytes, times
 * decimal milliseconds, both with digits that a double may not keep: they are scaled as text. */

static int sniff(const struct sniff *s)
{
	bool named =
	    path_is(s->path, "communication", ".json") && !path_is(s->path, "communication_", ".json");

	/* a file of a whole cluster begins with a group */
	if (sniff_first(s) != '{' || cluster_matrix(s) || sniff_key(s, "(") ||
	    CLUSTER_COMMUNICATION_READER.sniff(s) != SNIFF_NO)
		return SNIFF_NO;
	if (sniff_has(s, "\"Communication Time Info\"") || sniff_has(s, "\"Communication Bandwidth Info\""))
		return named ? SNIFF_SURE : SNIFF_CONTENT;
	if (sniff_has(s, "\"collective\"") && sniff_has(s, "\"p2p\"") && !sniff_key(s, "collective\""))
		return SNIFF_CONTENT;
	return named ? SNIFF_PATH : SNIFF_NO;
}

static int read_times(struct communication_reading *r, struct communication_op *op)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err)) {
		if (key_is(&key, "Start Timestamp(us)"))
			rc = communication_us(r, &op->start_ns); /* thousandths as well */
		else if (key_is(&key, "Elapse Time(ms)"))
			rc = communication_us(r, &op->elapse_us);
		else if (key_is(&key, "Transit Time(ms)"))
			rc = communication_us(r, &op->transit_us);
		else if (key_is(&key, "Wait Time(ms)"))
			rc = communication_us(r, &op->wait_us);
		else if (key_is(&key, "Synchronization Time(ms)"))
			rc = communication_us(r, &op->synchronization_us);
		else if (key_is(&key, "Idle Time(ms)"))
			rc = communication_us(r, &op->idle_us);
		else
			rc = value_skip(r->j, r->err);
	}
	return rc;
}

void communication_op_free(struct communication_op *op)
{
	for (size_t i = 0; i < op->link_count; i++)
		free(op->links[i].packets);
}

int communication_body(struct communication_reading *r, struct communication_op *op)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err)) {
		if (key_is(&key, "Communication Time Info"))
			rc = read_times(r, op);
		else if (key_is(&key, "Communication Bandwidth Info") && op->link_count == 0)
			rc = communication_links(r, op);
		else
			rc = value_skip(r->j, r->err);
	}
	return rc;
}

bool communication_is_pair(const char *name, size_t len)
{
	return (len >= 9 && strncasecmp(name, "hcom_send", 9) == 0) ||
	       (len >= 12 && strncasecmp(name, "hcom_receive", 12) == 0);
}

int communication_name(struct communication_reading *r, struct communication_op *op, const char *key,
                       size_t key_len)
{
	struct sb_strings *strings = r->cap->trace.strings;
	const char *at = memrchr(key, '@', key_len);
	size_t len = at ? (size_t)(at - key) : key_len;
	int rc = sb_strings_add(strings, key, len, &op->name);

	if (rc == SB_OK && at)
		rc = sb_strings_add(strings, at + 1, key_len - len - 1, &op->group);
	if (communication_is_pair(key, len))
		op->point_to_point = true;
	return rc == SB_OK ? SB_OK : sb_fail(r->err, rc, "no_memory", "out of memory");
}

struct communication_op communication_op_empty(int64_t step, bool point_to_point)
{
	return (struct communication_op){.step = step,
	                                 .point_to_point = point_to_point,
	                                 .start_ns = NAN,
	                                 .elapse_us = NAN,
	                                 .transit_us = NAN,
	                                 .wait_us = NAN,
	                                 .synchronization_us = NAN,
	                                 .idle_us = NAN};
}

int communication_add(struct communication_reading *r, struct communication_op *op)
{
	struct capture *cap = r->cap;

	if (sb_grow(&cap->communications, cap->communication_count, sizeof(*op)) != SB_OK) {
		communication_op_free(op);
		return sb_fail(r->err, SB_ENOMEM, "no_memory", "out of memory");
	}
	cap->communications[cap->communication_count++] = *op;
	return SB_OK;
}

static int read_operator(struct communication_reading *r, const struct jpull_value *key, int64_t step,
                         bool p2p)
{
	struct communication_op op = communication_op_empty(step, p2p);
	int rc;

	/* a row of sums: counting it would double everything */
	if (key_is(key, "Total Op Info"))
		return value_skip(r->j, r->err);
	rc = communication_name(r, &op, key->text, key->len);
	if (rc == SB_OK)
		rc = communication_body(r, &op);
	if (rc != SB_OK) {
		communication_op_free(&op);
		return rc;
	}
	return communication_add(r, &op);
}

static int read_kind(struct communication_reading *r, int64_t step, bool p2p)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err))
		rc = read_operator(r, &key, step, p2p);
	return rc;
}

int64_t communication_step(const struct jpull_value *key)
{
	const char *text = key->text;
	size_t len = key->len;
	int64_t step;

	if (len >= 4 && memcmp(text, "step", 4) == 0) {
		text += 4;
		len -= 4;
	}
	return sb_parse_int(text, len, &step) == SB_OK ? step : SB_NULL;
}

static int read_step(struct communication_reading *r, const struct jpull_value *key)
{
	struct jpull_value kind;
	bool more = false;
	int64_t step = communication_step(key);
	int rc;

	rc = object_enter(r->j, &more, r->err);
	while (object_member(r->j, &rc, &more, &kind, r->err)) {
		if (key_is(&kind, "p2p") || key_is(&kind, "collective"))
			rc = read_kind(r, step, key_is(&kind, "p2p"));
		else
			rc = value_skip(r->j, r->err);
	}
	return rc;
}

static int read_steps(struct communication_reading *r)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err))
		rc = read_step(r, &key);
	return rc;
}

static int read_communication(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	JPULL_AUTO j = NULL;
	struct sb_error got = {.offset = -1};
	struct communication_reading r = {.ctx = ctx, .in = in, .err = &got};
	int rc = ascend_capture(ctx, in, &r.cap, err);

	if (rc != SB_OK)
		return rc;
	if (jpull_new(in, &j) != SB_OK)
		return sb_no_memory(err);
	r.j = j;
	rc = read_steps(&r);
	return ascend_json_end(ctx, in, rc, r.cap->communication_count > 0, &got, err);
}

const struct format_reader ASCEND_COMMUNICATION_READER = {
    .name = "communication.json", .format = FORMAT_ASCEND_TEXT, .sniff = sniff, .read = read_communication};
