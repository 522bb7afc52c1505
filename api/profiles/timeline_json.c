#include "api/profiles/timeline_json.h"

#include <string.h>

#include "api/json.h"
#include "api/json_put.h"

/* By hand, because an answer has up to 100,000 rows: as JSON values they would take ten times as long as
 * finding them did. */

static const char *const CATEGORIES[EVENT_KIND_COUNT] = {
    [EVENT_OTHER] = "other",
    [EVENT_KERNEL] = "kernel",
    [EVENT_COMMUNICATION] = "communication",
    [EVENT_MEMCPY] = "memcpy",
    [EVENT_MEMSET] = "memset",
    [EVENT_DEVICE_WAIT] = "device_wait",
    [EVENT_DEVICE_OTHER] = "device_other",
    [EVENT_COMMUNICATION_TASK] = "communication_task",
    [EVENT_DEVICE_ANNOTATION] = "device_annotation",
    [EVENT_LANE_COMPUTE] = "overlap_compute",
    [EVENT_LANE_COMMUNICATION] = "overlap_communication",
    [EVENT_LANE_EXPOSED] = "overlap_exposed",
    [EVENT_LANE_FREE] = "overlap_free",
    [EVENT_HOST_OP] = "host_op",
    [EVENT_HOST_RUNTIME] = "host_runtime",
    [EVENT_HOST_PYTHON] = "host_python",
    [EVENT_HOST_ANNOTATION] = "host_annotation",
    [EVENT_HOST_QUEUE] = "host_queue",
    [EVENT_HOST_LOADING] = "host_loading",
    [EVENT_HOST_WAIT] = "host_wait",
    [EVENT_HOST_GARBAGE] = "host_garbage",
};

static const char *const KINDS[TIMELINE_LANE_KINDS] = {
    [TIMELINE_HOST] = "host",
    [TIMELINE_DEVICE] = "device",
    [TIMELINE_COMMUNICATION] = "communication",
    [TIMELINE_ANNOTATION] = "annotation",
    [TIMELINE_OVERLAP] = "overlap",
};

static void add_integer(struct sb_buf *b, uint64_t v)
{
	char text[24], *start = json_put_digits(text + sizeof(text), v);

	sb_buf_add(b, start, (size_t)(text + sizeof(text) - start));
}

/* v / 10^digits without zeros at the end. */
static void add_decimal(struct sb_buf *b, uint64_t v, unsigned digits)
{
	char text[32], *end = text + sizeof(text), *start;

	for (; digits > 0 && v % 10 == 0; digits--)
		v /= 10;
	start = end;
	for (; digits > 0; digits--, v /= 10) {
		*--start = (char)('0' + v % 10);
		if (digits == 1)
			*--start = '.';
	}
	start = json_put_digits(start, v);
	sb_buf_add(b, start, (size_t)(end - start));
}

/* Nanoseconds as microseconds, every digit kept. */
static void add_us(struct sb_buf *b, int64_t ns)
{
	if (ns < 0)
		sb_buf_add(b, "-", 1);
	add_decimal(b, ns < 0 ? -(uint64_t)ns : (uint64_t)ns, 3);
}

static void add_bin(struct sb_buf *b, const struct timeline_bin *bin)
{
	double share = (double)bin->busy_ns / (double)bin->width_ns;

	sb_buf_add(b, "[", 1);
	add_integer(b, bin->px);
	sb_buf_add(b, ",", 1);
	add_decimal(b, (uint64_t)(share * 1e6 + 0.5), 6);
	sb_buf_adds(b, ",\"");
	sb_buf_adds(b, CATEGORIES[bin->category]);
	sb_buf_adds(b, "\",");
	add_integer(b, bin->count);
	sb_buf_add(b, "]", 1);
}

static int add_event(const struct timeline *t, const struct timeline_section *s,
                     const struct timeline_event *e, struct sb_buf *b)
{
	size_t len;
	const char *name = timeline_text(t, s, e->name, &len);

	if (!name)
		return SB_EFORMAT;
	sb_buf_add(b, "[", 1);
	add_us(b, e->start_ns);
	sb_buf_add(b, ",", 1);
	add_us(b, e->dur_ns);
	sb_buf_add(b, ",", 1);
	json_quote(b, name, len);
	sb_buf_adds(b, ",\"");
	sb_buf_adds(b, CATEGORIES[e->category]);
	sb_buf_adds(b, "\"]");
	return SB_OK;
}

/* "process · thread", or what there is of it. */
static int add_name(const struct timeline *t, const struct timeline_section *s,
                    const struct timeline_lane *lane, struct sb_buf *b)
{
	static const char between[] = " \xC2\xB7 ";
	size_t n, m;
	const char *process = timeline_text(t, s, lane->process, &n);
	const char *thread = timeline_text(t, s, lane->thread, &m);
	struct sb_buf name;

	if (!process || !thread)
		return SB_EFORMAT;
	sb_buf_init(&name, n + m + sizeof(between));
	sb_buf_add(&name, process, n);
	if (n > 0 && m > 0)
		sb_buf_adds(&name, between);
	sb_buf_add(&name, thread, m);
	json_quote(b, name.len > 0 ? name.data : "", name.len);
	if (name.status != SB_OK)
		b->status = name.status;
	sb_buf_free(&name);
	return SB_OK;
}

static int add_lane(const struct timeline *t, const struct timeline_section *s,
                    const struct timeline_lane *lane, const struct timeline_view *v,
                    const struct timeline_row *row, struct sb_buf *b)
{
	int rc;

	sb_buf_addf(b, "{\"id\":%u,\"name\":", row->lane);
	rc = add_name(t, s, lane, b);
	sb_buf_addf(b, ",\"kind\":\"%s\",\"device\":", KINDS[lane->kind]);
	if (lane->device < 0)
		sb_buf_adds(b, "null");
	else
		sb_buf_addf(b, "%d", lane->device);
	sb_buf_addf(b, ",\"count\":%llu,\"%s\":[", (unsigned long long)row->in_view,
	            row->binned ? "bins" : "events");
	for (size_t i = 0; rc == SB_OK && i < row->rows; i++) {
		if (i > 0)
			sb_buf_add(b, ",", 1);
		if (row->binned)
			add_bin(b, &v->bins[row->first + i]);
		else
			rc = add_event(t, s, &v->events[row->first + i], b);
	}
	sb_buf_adds(b, "]}");
	return rc;
}

static int add_source(const struct timeline *t, const struct timeline_section *s, struct sb_buf *b)
{
	size_t len;
	const char *source = s ? timeline_source(t, s, &len) : NULL;

	if (s && !source)
		return SB_EFORMAT;
	if (source)
		json_quote(b, source, len);
	else
		sb_buf_adds(b, "null");
	return SB_OK;
}

int timeline_write_json(const struct timeline *t, const struct timeline_query *q,
                        const struct timeline_view *v, struct sb_buf *b)
{
	/* the look has read them, so that they are whole */
	const struct timeline_lane *lanes = v->lane_count > 0 ? timeline_lanes(t, q->section) : NULL;
	int rc = v->lane_count > 0 && !lanes ? SB_EFORMAT : SB_OK;

	if (rc != SB_OK)
		return rc;
	if (q->section)
		sb_buf_addf(b, "{\"origin_ns\":\"%lld\",\"rank\":", (long long)v->origin_ns);
	else
		sb_buf_adds(b, "{\"origin_ns\":null,\"rank\":");
	if (q->section && q->section->rank != SB_NULL)
		sb_buf_addf(b, "%lld", (long long)q->section->rank);
	else
		sb_buf_adds(b, "null");
	sb_buf_adds(b, ",\"source\":");
	rc = add_source(t, q->section, b);
	sb_buf_adds(b, ",\"from_us\":");
	add_us(b, q->from_ns);
	sb_buf_adds(b, ",\"to_us\":");
	add_us(b, q->to_ns);
	sb_buf_addf(b, ",\"px\":%u,\"lanes\":[", q->px);
	for (size_t i = 0; rc == SB_OK && i < v->lane_count; i++) {
		if (i > 0)
			sb_buf_add(b, ",", 1);
		rc = add_lane(t, q->section, &lanes[v->lanes[i].lane], v, &v->lanes[i], b);
	}
	sb_buf_addf(b, "],\"left_out\":{\"lanes\":%llu,\"events\":%llu}}", (unsigned long long)v->left_lanes,
	            (unsigned long long)v->left_events);
	return rc == SB_OK ? b->status : rc;
}
