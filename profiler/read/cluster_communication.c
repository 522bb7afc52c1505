#include <string.h>

#include "base/num.h"
#include "profiler/read/ascend_links.h"
#include "profiler/read/cluster_analysis.h"

/* cluster_communication.json (research page ascend-formats 4): group → step → operator → rank → what
 * communication.json has of an operator. */

#define OPERATOR_MAX 4096 /* a longer name is cut */

struct reading {
	struct communication_reading base;
	char group[CLUSTER_GROUP_MAX];
	bool point_to_point;
	int64_t step;
	size_t added;
	size_t operator_len;
	char operator_name[OPERATOR_MAX];
};

bool cluster_matrix(const struct sniff *s)
{
	return sniff_has(s, "\"Transport Type\"") ||
	       path_is(s->path, "cluster_communication_matrix", ".json");
}

/* The first key is a set of ranks; the file of one rank begins with a step. A set may be longer than what is
 * seen of the file. */
static int sniff(const struct sniff *s)
{
	bool named = path_is(s->path, "cluster_communication", ".json"), body, ranks;

	if (sniff_first(s) != '{' || cluster_matrix(s))
		return SNIFF_NO;
	ranks = sniff_key(s, "(") || sniff_key(s, "p2p\"") || sniff_key(s, "collective\"");
	body =
	    sniff_has(s, "\"Communication Time Info\"") || sniff_has(s, "\"Communication Bandwidth Info\"");
	if (ranks && (body || (!s->whole && sniff_key(s, "("))))
		return named ? SNIFF_SURE : SNIFF_CONTENT;
	return SNIFF_NO;
}

static int one_rank(struct reading *r, const struct jpull_value *key)
{
	struct communication_op op = communication_op_empty(r->step, r->point_to_point);
	int64_t rank;
	int rc;

	if (sb_parse_int(key->text, key->len, &rank) != SB_OK || rank < 0 || rank > INT32_MAX) {
		warnings_add(&r->base.ctx->profile->warnings, "bad_value", r->base.in->path, 0,
		             jpull_offset(r->base.j),
		             "An operator of something that is no rank is left out.");
		return value_skip(r->base.j, r->base.err);
	}
	rc = cluster_capture(r->base.ctx, r->base.in->path, rank, &r->base.cap, r->base.err);
	if (rc == SB_OK)
		rc = communication_name(&r->base, &op, r->operator_name, r->operator_len);
	if (rc == SB_OK &&
	    sb_strings_add(r->base.cap->trace.strings, r->group, strlen(r->group), &op.group) != SB_OK)
		rc = sb_fail(r->base.err, SB_ENOMEM, "no_memory", "out of memory");
	if (rc == SB_OK)
		rc = communication_body(&r->base, &op);
	if (rc != SB_OK) {
		communication_op_free(&op);
		return rc;
	}
	r->added++;
	return communication_add(&r->base, &op);
}

static int one_operator(struct reading *r, const struct jpull_value *key)
{
	struct jpull_value rank;
	bool more = false;
	int rc;

	/* a row of sums: counting it would double everything */
	if (key_is(key, "Total Op Info"))
		return value_skip(r->base.j, r->base.err);
	r->operator_len = key->len < OPERATOR_MAX ? key->len : OPERATOR_MAX;
	memcpy(r->operator_name, key->text, r->operator_len);
	rc = object_enter(r->base.j, &more, r->base.err);
	while (object_member(r->base.j, &rc, &more, &rank, r->base.err))
		rc = one_rank(r, &rank);
	return rc;
}

static int one_step(struct reading *r, const struct jpull_value *key)
{
	struct jpull_value name;
	bool more = false;
	int rc;

	r->step = communication_step(key);
	rc = object_enter(r->base.j, &more, r->base.err);
	while (object_member(r->base.j, &rc, &more, &name, r->base.err))
		rc = one_operator(r, &name);
	return rc;
}

static int one_group(struct reading *r, const struct jpull_value *key)
{
	struct jpull_value step;
	bool more = false;
	int rc;

	r->point_to_point = key_is(key, "p2p");
	cluster_group_name(key->text, key->len, r->group, sizeof(r->group));
	rc = object_enter(r->base.j, &more, r->base.err);
	while (object_member(r->base.j, &rc, &more, &step, r->base.err))
		rc = one_step(r, &step);
	return rc;
}

static int read_communication(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	JPULL_AUTO j = NULL;
	struct sb_error got = {.offset = -1};
	struct reading r = {.base = {.ctx = ctx, .in = in, .err = &got}};
	struct jpull_value key;
	bool more = false;
	int rc;

	if (jpull_new(in, &j) != SB_OK)
		return sb_no_memory(err);
	r.base.j = j;
	rc = object_enter(j, &more, &got);
	while (object_member(j, &rc, &more, &key, &got))
		rc = one_group(&r, &key);
	return ascend_json_end(ctx, in, rc, r.added > 0, &got, err);
}

const struct format_reader CLUSTER_COMMUNICATION_READER = {.name = "cluster_communication.json",
                                                           .format = FORMAT_CLUSTER_ANALYSIS,
                                                           .sniff = sniff,
                                                           .read = read_communication};
