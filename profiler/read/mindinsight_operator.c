#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/search.h"
#include "profiler/read/mindinsight.h"
#include "profiler/read/queues.h"

/* pipeline_profiling_{id}.json: what minddata_pipeline_raw has, before it is made a table of. An operator
 * names those that feed it, and the interval may come last: both are settled at the end of the file. */

struct edge {
	int64_t child, parent;
};

struct reading {
	struct stream *in;
	struct jpull *j;
	struct capture *cap;
	struct sb_error *err;
	size_t first; /* queue of the capture */
	struct edge *edges;
	size_t edge_count;
	int64_t interval_ns;
};

static void reading_free(struct reading *r)
{
	jpull_free(&r->j);
	free(r->edges);
}

static int sniff(const struct sniff *s)
{
	if (sniff_first(s) != '{' || !sniff_has(s, "\"op_info\"") || !sniff_has(s, "\"op_type\""))
		return SNIFF_NO;
	return sniff_has(s, "\"sampling_interval\"") || sniff_has(s, "\"output_queue\"") ? SNIFF_SURE
	                                                                                 : SNIFF_CONTENT;
}

static int no_memory(struct reading *r)
{
	return sb_fail(r->err, SB_ENOMEM, "no_memory", "out of memory");
}

/* The next value as a number from 0 on; SB_NULL for anything else. */
static int read_number(struct reading *r, int64_t *out)
{
	const char *text;
	size_t len;
	int64_t v;
	int rc = value_scalar(r->j, &text, &len, r->err);

	*out = rc == SB_OK && sb_parse_int(text, len, &v) == SB_OK && v >= 0 ? v : SB_NULL;
	return rc;
}

/* Walks the elements of an array of numbers: false at its end, or when the next value is no array. *depth is
 * 0 before the first call. */
static bool next_number(struct reading *r, int *depth, int *rc, int64_t *out)
{
	for (;;) {
		struct jpull_value v;

		*rc = jpull_next(r->j, &v, r->err);
		if (*rc != SB_OK)
			return false;
		if (*depth == 0) {
			if (v.token != JPULL_ARRAY) {
				*rc = jpull_skip(r->j, &v, r->err);
				return false;
			}
			*depth = 1;
			continue;
		}
		if (v.token == JPULL_ARRAY_END)
			return false;
		if (v.token == JPULL_NUMBER && sb_parse_int(v.text, v.len, out) == SB_OK && *out >= 0)
			return true;
		*rc = jpull_skip(r->j, &v, r->err);
		if (*rc != SB_OK)
			return false;
	}
}

static int read_sizes(struct reading *r, struct queue *q)
{
	struct queue_sample s = QUEUE_SAMPLE_UNKNOWN;
	int depth = 0, rc = SB_OK;

	while (next_number(r, &depth, &rc, &s.size))
		if (queue_add_sample(q, &s) != SB_OK)
			return no_memory(r);
	return rc;
}

/* Kept with a parent that is not known yet: the id may come after them. */
static int read_children(struct reading *r)
{
	struct edge e = {.parent = SB_NULL};
	int depth = 0, rc = SB_OK;

	while (next_number(r, &depth, &rc, &e.child)) {
		if (sb_grow(&r->edges, r->edge_count, sizeof(e)) != SB_OK)
			return no_memory(r);
		r->edges[r->edge_count++] = e;
	}
	return rc;
}

static int read_queue(struct reading *r, struct queue *q)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err)) {
		if (key_is(&key, "size"))
			rc = read_sizes(r, q);
		else if (key_is(&key, "length"))
			rc = read_number(r, &q->capacity);
		else
			rc = value_skip(r->j, r->err);
	}
	return rc;
}

static int read_metrics(struct reading *r, struct queue *q)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err))
		rc = key_is(&key, "output_queue") ? read_queue(r, q) : value_skip(r->j, r->err);
	return rc;
}

#define TYPE_MAX 256

/* The members of an operator; its "{" has been read. */
static int read_members(struct reading *r, struct queue *q, char *type)
{
	struct jpull_value key;
	bool more = true;
	int rc = SB_OK;

	while (object_member(r->j, &rc, &more, &key, r->err)) {
		const char *text;
		size_t len;

		if (key_is(&key, "op_id")) {
			rc = read_number(r, &q->operator_id);
		} else if (key_is(&key, "num_workers")) {
			rc = read_number(r, &q->workers);
		} else if (key_is(&key, "metrics")) {
			rc = read_metrics(r, q);
		} else if (key_is(&key, "children")) {
			rc = read_children(r);
		} else if (key_is(&key, "op_type")) {
			rc = value_scalar(r->j, &text, &len, r->err);
			len = len < TYPE_MAX ? len : TYPE_MAX - 1;
			memcpy(type, text, len);
			type[len] = '\0';
		} else {
			rc = value_skip(r->j, r->err);
		}
	}
	return rc;
}

static int read_operator(struct reading *r)
{
	struct queue q = QUEUE_UNKNOWN, *added;
	char type[TYPE_MAX] = "";
	size_t from = r->edge_count;
	int rc;

	q.kind = QUEUE_OPERATOR;
	rc = read_members(r, &q, type);
	/* an operator without a number could not be told from the others */
	if (rc == SB_OK && q.operator_id != SB_NULL) {
		for (size_t i = from; i < r->edge_count; i++)
			r->edges[i].parent = q.operator_id;
		if (queue_add(r->cap, r->in->path, type, &q, &added) == SB_OK)
			return SB_OK;
		rc = no_memory(r);
	}
	free(q.samples);
	return rc;
}

static int read_operators(struct reading *r)
{
	struct jpull_value v;
	int rc = jpull_next(r->j, &v, r->err);

	if (rc != SB_OK || v.token != JPULL_ARRAY)
		return rc == SB_OK ? jpull_skip(r->j, &v, r->err) : rc;
	for (;;) {
		rc = jpull_next(r->j, &v, r->err);
		if (rc != SB_OK || v.token == JPULL_ARRAY_END)
			return rc;
		rc = v.token == JPULL_OBJECT ? read_operator(r) : jpull_skip(r->j, &v, r->err);
		if (rc != SB_OK)
			return rc;
	}
}

static int read_interval(struct reading *r)
{
	const char *text;
	size_t len;
	int rc = value_scalar(r->j, &text, &len, r->err);

	r->interval_ns = rc == SB_OK ? mindinsight_ms(text, len) : SB_NULL;
	return rc;
}

static int by_child(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	int64_t left[] = {x->child, x->parent}, right[] = {y->child, y->parent};

	return sb_compare(left, right, 2);
}

/* An operator that feeds two others keeps the first. */
static int64_t parent_of(const struct reading *r, int64_t child)
{
	size_t at = SB_BISECT(i, 0, r->edge_count, r->edges[i].child < child);

	return at < r->edge_count && r->edges[at].child == child ? r->edges[at].parent : SB_NULL;
}

static void settle(struct reading *r)
{
	if (r->edge_count > 0)
		qsort(r->edges, r->edge_count, sizeof(*r->edges), by_child);
	for (size_t i = r->first; i < r->cap->queue_count; i++) {
		struct queue *q = &r->cap->queues[i];

		q->parent_id = parent_of(r, q->operator_id);
		q->interval_ns = r->interval_ns;
	}
}

static int read_document(struct reading *r)
{
	struct jpull_value key;
	bool more = false;
	int rc = object_enter(r->j, &more, r->err);

	while (object_member(r->j, &rc, &more, &key, r->err)) {
		if (key_is(&key, "op_info"))
			rc = read_operators(r);
		else if (key_is(&key, "sampling_interval"))
			rc = read_interval(r);
		else
			rc = value_skip(r->j, r->err);
	}
	return rc;
}

static int read_pipeline(struct read_context *ctx, struct stream *in, struct sb_error *err)
{
	struct sb_error got = {.offset = -1};
	__attribute__((cleanup(reading_free))) struct reading r = {
	    .in = in, .err = &got, .interval_ns = SB_NULL};
	int rc = mindinsight_capture(ctx, in, &r.cap, err);

	if (rc != SB_OK)
		return rc;
	if (jpull_new(in, &r.j) != SB_OK)
		return sb_no_memory(err);
	r.first = r.cap->queue_count;
	rc = read_document(&r);
	settle(&r);
	return ascend_json_end(ctx, in, rc, r.cap->queue_count > r.first, &got, err);
}

const struct format_reader MINDINSIGHT_OPERATOR_READER = {
    .name = "pipeline_profiling_*.json", .format = FORMAT_MINDINSIGHT, .sniff = sniff, .read = read_pipeline};
