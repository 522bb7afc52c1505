#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "profiler/read/ascend.h"
#include "profiler/read/cluster_analysis.h"
#include "profiler/read/group_use.h"

/* communication_group.json (research page ascend-formats 4), for what groups are for, and which ranks make up
 * a pipeline: the place of a rank in its group "pp" is its stage. The old form has no names; its "p2p" lists
 * the stages. */

struct reading {
	struct read_context *ctx;
	struct stream *in;
	struct jpull *j;
	struct sb_error *err;
	int64_t *ranks; /* of the set read last */
	size_t count;
};

static void free_reading(struct reading *r)
{
	free(r->ranks);
	jpull_free(&r->j);
}

static int sniff(const struct sniff *s)
{
	bool lists = sniff_key(s, "collective\"") || sniff_key(s, "p2p\"");

	if (sniff_first(s) != '{')
		return SNIFF_NO;
	if (sniff_has(s, "\"comm_group_parallel_info\"") || (lists && sniff_has(s, "[[")))
		return SNIFF_SURE;
	return path_is(s->path, "communication_group", ".json") ? SNIFF_PATH : SNIFF_NO;
}

/* The rest of a list of ranks whose first token is v. */
static int read_ranks(struct reading *r, const struct jpull_value *v)
{
	struct jpull_value item;
	int rc;

	r->count = 0;
	if (v->token != JPULL_ARRAY)
		return jpull_skip(r->j, v, r->err);
	for (;;) {
		int64_t rank;

		rc = jpull_next(r->j, &item, r->err);
		if (rc != SB_OK || item.token == JPULL_ARRAY_END)
			return rc;
		if (item.token == JPULL_NUMBER && sb_parse_int(item.text, item.len, &rank) == SB_OK &&
		    rank >= 0 && rank <= INT32_MAX) {
			if (sb_grow(&r->ranks, r->count, sizeof(rank)) != SB_OK)
				return sb_fail(r->err, SB_ENOMEM, "no_memory", "out of memory");
			r->ranks[r->count++] = rank;
		}
		rc = jpull_skip(r->j, &item, r->err);
		if (rc != SB_OK)
			return rc;
	}
}

static int set_stage(struct reading *r, int64_t rank, int64_t stage)
{
	struct capture *cap;
	int rc = cluster_capture(r->ctx, r->in->path, rank, &cap, r->err);

	if (rc == SB_OK)
		cap->stage = stage;
	return rc;
}

/* One set of "p2p": the ranks of a stage. */
static int read_stage(struct reading *r, const struct jpull_value *v, int64_t at)
{
	int rc = read_ranks(r, v);

	for (size_t i = 0; rc == SB_OK && i < r->count; i++)
		rc = set_stage(r, r->ranks[i], at);
	return rc;
}

static int by_value(const void *a, const void *b)
{
	return sb_compare(a, b, 1);
}

/* What is told of one group. */
struct told {
	char use[64], names[2][256]; /* pg_name; group_name, group_id */
};

static void take_text(const struct jpull_value *v, char *out, size_t size)
{
	bool fits = v->token == JPULL_STRING && v->len < size;

	snprintf(out, size, "%.*s", fits ? (int)v->len : 0, fits ? v->text : "");
}

/* "(0, 4)": what cluster_communication.json calls the group of r->ranks. */
static int ranks_name(const struct reading *r, char *out, size_t size)
{
	SB_BUF_AUTO text;
	int rc;

	sb_buf_init(&text, SIZE_MAX / 2);
	rc = sb_buf_adds(&text, "(");
	for (size_t i = 0; rc == SB_OK && i < r->count; i++)
		rc = sb_buf_addf(&text, "%s%" PRId64, i > 0 ? ", " : "", r->ranks[i]);
	if (rc == SB_OK)
		rc = sb_buf_adds(&text, ")");
	if (rc == SB_OK)
		cluster_group_name(text.data, text.len, out, size);
	return rc;
}

/* Each of its ranks is told: any of them may be left out of the profile. */
static int set_use(struct reading *r, const struct told *t)
{
	char called[CLUSTER_GROUP_MAX];
	const char *names[] = {called, t->names[0], t->names[1]};
	struct capture *cap;
	int rc = ranks_name(r, called, sizeof(called));

	for (size_t i = 0; rc == SB_OK && i < r->count; i++) {
		rc = cluster_capture(r->ctx, r->in->path, r->ranks[i], &cap, r->err);
		for (size_t k = 0; rc == SB_OK && k < 3; k++)
			rc = group_use_add(cap, names[k], strlen(names[k]), t->use, strlen(t->use));
	}
	return rc == SB_OK ? rc : sb_fail(r->err, SB_ENOMEM, "no_memory", "out of memory");
}

/* One of comm_group_parallel_info. */
static int read_group(struct reading *r, const struct jpull_value *v, int64_t at)
{
	struct jpull_value key, value;
	struct told told = {0};
	bool more = true;
	int rc = SB_OK;

	(void)at;
	r->count = 0;
	if (v->token != JPULL_OBJECT)
		return jpull_skip(r->j, v, r->err);
	while (object_member(r->j, &rc, &more, &key, r->err)) {
		bool set = key_is(&key, "rank_set"), use = key_is(&key, "pg_name");
		bool name = key_is(&key, "group_name"), id = key_is(&key, "group_id");

		rc = jpull_next(r->j, &value, r->err);
		if (rc != SB_OK)
			break;
		if (use)
			take_text(&value, told.use, sizeof(told.use));
		else if (name || id)
			take_text(&value, told.names[id], sizeof(told.names[id]));
		rc = set ? read_ranks(r, &value) : jpull_skip(r->j, &value, r->err);
	}
	if (rc != SB_OK || r->count == 0 || told.use[0] == '\0')
		return rc;
	/* ranks come in the order of their texts: "11" before "3" */
	qsort(r->ranks, r->count, sizeof(*r->ranks), by_value);
	for (size_t i = 0; rc == SB_OK && strcmp(told.use, "pp") == 0 && i < r->count; i++)
		rc = set_stage(r, r->ranks[i], (int64_t)i);
	return rc == SB_OK ? set_use(r, &told) : rc;
}

/* The next value, a list, of which each element is given to one(). */
static int read_list(struct reading *r,
                     int (*one)(struct reading *r, const struct jpull_value *v, int64_t at))
{
	struct jpull_value v;
	int64_t at = 0;
	int rc = jpull_next(r->j, &v, r->err);

	if (rc != SB_OK || v.token != JPULL_ARRAY)
		return rc == SB_OK ? jpull_skip(r->j, &v, r->err) : rc;
	do {
		rc = jpull_next(r->j, &v, r->err);
		if (rc == SB_OK && v.token != JPULL_ARRAY_END)
			rc = one(r, &v, at++);
	} while (rc == SB_OK && v.token != JPULL_ARRAY_END);
	return rc;
}

static int read_groups(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	struct sb_error got = {.offset = -1};
	__attribute__((cleanup(free_reading))) struct reading r = {.ctx = ctx, .in = in, .err = &got};
	struct jpull_value key;
	bool more = false;
	int rc;

	if (jpull_new(in, &r.j) != SB_OK)
		return sb_no_memory(err);
	rc = object_enter(r.j, &more, &got);
	while (object_member(r.j, &rc, &more, &key, &got)) {
		if (key_is(&key, "p2p"))
			rc = read_list(&r, read_stage);
		else if (key_is(&key, "comm_group_parallel_info"))
			rc = read_list(&r, read_group);
		else
			rc = value_skip(r.j, &got);
	}
	return ascend_json_end(ctx, in, rc, false, &got, err);
}

const struct format_reader CLUSTER_GROUPS_READER = {.name = "communication_group.json",
                                                    .format = FORMAT_CLUSTER_ANALYSIS,
                                                    .sniff = sniff,
                                                    .read = read_groups};
