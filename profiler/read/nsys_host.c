#include <string.h>

#include "base/num.h"
#include "profiler/read/nsys_impl.h"

enum { START, END, GLOBAL_TID, OWN };

static int take_call(struct nsys_row *r)
{
	int64_t tid = database_int(r->cells, GLOBAL_TID);
	int rc = nsys_name(r, OWN, true, &r->span.name, NULL);

	r->span.kind = EVENT_HOST_RUNTIME;
	r->span.link = nsys_link(tid, database_int(r->cells, OWN + 1));
	if (rc == SB_OK)
		rc = nsys_host_lane(r->n, tid, &r->span.lane);
	return rc == SB_OK ? nsys_append(r) : rc;
}

enum { NVTX_TYPE = OWN, NVTX_TEXT, NVTX_TEXT_ID };

/* Ranges only: pushed and popped, or started and ended. Marks, domains and categories take no time. */
static bool is_range(const struct database_rows *cells)
{
	int64_t type = database_int(cells, NVTX_TYPE);

	return type == 59 || type == 60;
}

/* PyTorch's emit_nvtx() names an operator's range "aten::view, op_id = 314290", also with ", seq = …" and
 * ", sizes = …": the length of the operator's name, 0 when it is no such range. */
static size_t operator_name(const char *text)
{
	static const char *const MARKS[] = {", op_id = ", ", seq = "};
	const char *first = NULL;

	for (size_t i = 0; i < 2; i++) {
		const char *at = strstr(text, MARKS[i]);

		if (at && at[strlen(MARKS[i])] >= '0' && at[strlen(MARKS[i])] <= '9' &&
		    (!first || at < first))
			first = at;
	}
	return first ? (size_t)(first - text) : 0;
}

static int take_range(struct nsys_row *r)
{
	size_t len, op;
	const char *text = database_text(r->cells, NVTX_TEXT, &len);
	int rc;

	r->span.kind = EVENT_HOST_ANNOTATION;
	op = operator_name(text);
	if (op > 0) {
		r->span.kind = EVENT_HOST_OP;
		rc = sb_strings_add(r->n->trace.strings, text, op, &r->span.name);
	} else {
		rc = nsys_name(r, len > 0 ? NVTX_TEXT : NVTX_TEXT_ID, false, &r->span.name, NULL);
	}
	if (rc == SB_OK)
		rc = nsys_host_lane(r->n, database_int(r->cells, GLOBAL_TID), &r->span.lane);
	if (rc == SB_OK)
		rc = nsys_append(r);
	return rc == SB_OK && op == 0 ? nsys_see_step(r->n, trace_text(&r->n->trace, r->span.name, NULL),
	                                              &r->span, (uint32_t)(r->n->trace.count - 1))
	                              : rc;
}

int nsys_read_host(struct nsys *n, struct sb_error *err)
{
	static const char *const CALL[] = {"start", "end", "globalTid", "nameId", "correlationId", NULL};
	static const char *const RANGE[] = {"start", "end", "globalTid", "eventType", "text", "textId", NULL};
	static const struct nsys_table CALLS = {
	    .name = "CUPTI_ACTIVITY_KIND_RUNTIME", .columns = CALL, .take = take_call};
	static const struct nsys_table RANGES = {.name = "NVTX_EVENTS",
	                                         .columns = RANGE,
	                                         .wanted = is_range,
	                                         .take = take_range,
	                                         .open_ends = true};
	int rc = nsys_spans(n, &CALLS, err);

	return rc == SB_OK ? nsys_spans(n, &RANGES, err) : rc;
}
