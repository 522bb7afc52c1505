#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "profiler/read/kineto_impl.h"
#include "profiler/read/nsys_impl.h"

/* Columns that all tables of device work begin with. */
#define PLACE "start", "end", "deviceId", "streamId", "globalPid", "correlationId"
enum { START, END, DEVICE, STREAM, GLOBAL_PID, CORRELATION, OWN };

int64_t nsys_link(int64_t global, int64_t correlation)
{
	/* 0 is CUPTI's word for none */
	if (correlation <= 0 || correlation > UINT32_MAX)
		return -1;
	return (int64_t)((uint64_t)nsys_pid(global) << 32 | (uint64_t)correlation);
}

static int append(struct nsys_row *r)
{
	int64_t pid = database_int(r->cells, GLOBAL_PID);
	int rc = nsys_device_lane(r->n, database_int(r->cells, DEVICE), database_int(r->cells, STREAM), pid,
	                          &r->span.lane);

	r->span.link = nsys_link(pid, database_int(r->cells, CORRELATION));
	return rc == SB_OK ? nsys_append(r) : rc;
}

static int take_kernel(struct nsys_row *r)
{
	struct nsys_text *text = NULL;
	int column = OWN, rc;
	bool collective;

	/* demangled, short, mangled */
	while (column < OWN + 2 && database_text(r->cells, column, NULL)[0] == '\0')
		column++;
	rc = nsys_name(r, column, false, &r->span.name, &text);
	if (rc != SB_OK)
		return rc;
	if (!text) {
		collective = kineto_collective_name(trace_text(&r->n->trace, r->span.name, NULL));
	} else {
		/* kernel names are long and few: each is searched once */
		if (text->collective < 0)
			text->collective =
			    (int8_t)kineto_collective_name(sb_strings_get(r->n->texts, text->text, NULL));
		collective = text->collective > 0;
	}
	r->span.kind = collective ? EVENT_COMMUNICATION : EVENT_KERNEL;
	return append(r);
}

static int name_is(struct nsys_row *r, const char *text)
{
	return sb_strings_add(r->n->trace.strings, text, strlen(text), &r->span.name);
}

static int add_bytes(struct nsys_row *r, const char *type, int64_t bytes)
{
	struct event_detail d = {.bytes = bytes < 0 ? SB_NULL : bytes, .sequence = SB_NULL};
	int rc = sb_strings_add(r->n->trace.strings, type, strlen(type), &d.type);

	if (rc != SB_OK)
		return rc;
	return d.type != 0 || d.bytes != SB_NULL ? trace_append_detail(&r->n->trace, &d) : SB_OK;
}

/* ENUM_CUDA_MEM_KIND, in the words of Kineto's names. */
static const char *memory_kind(int64_t kind)
{
	static const char *const KINDS[] = {"Pageable",      "Pinned",  "Device",         "Array", "Managed",
	                                    "Device Static", "Managed", "Unknown memory", NULL};

	return kind >= 0 && kind < 8 ? KINDS[kind] : NULL;
}

/* ENUM_CUDA_MEMCPY_OPER; the last three are migrations of unified memory. */
static int take_copy(struct nsys_row *r)
{
	static const char *const KINDS[] = {"",     "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
	                                    "DtoA", "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
	int64_t kind = database_int(r->cells, OWN);
	const char *type = kind >= 0 && kind < (int64_t)(sizeof(KINDS) / sizeof(KINDS[0])) ? KINDS[kind] : "";
	const char *from = memory_kind(database_int(r->cells, OWN + 2)),
	           *to = memory_kind(database_int(r->cells, OWN + 3));
	char name[100];
	int rc;

	if (from && to)
		snprintf(name, sizeof(name), "Memcpy%s%s (%s -> %s)", *type ? " " : "", type, from, to);
	else
		snprintf(name, sizeof(name), "Memcpy%s%s%s", *type ? " " : "", type,
		         kind > 10 && *type ? " (Unified)" : "");
	rc = name_is(r, name);
	r->span.kind = EVENT_MEMCPY;
	if (rc == SB_OK)
		rc = append(r);
	return rc == SB_OK ? add_bytes(r, type, database_int(r->cells, OWN + 1)) : rc;
}

static int take_fill(struct nsys_row *r)
{
	const char *memory = memory_kind(database_int(r->cells, OWN + 1));
	char name[60];
	int rc;

	snprintf(name, sizeof(name), memory ? "Memset (%s)" : "Memset", memory);
	rc = name_is(r, name);
	r->span.kind = EVENT_MEMSET;
	if (rc == SB_OK)
		rc = append(r);
	return rc == SB_OK ? add_bytes(r, "", database_int(r->cells, OWN)) : rc;
}

/* ENUM_CUPTI_SYNC_TYPE. The calls that wait on the host are rows of the runtime's table, too. */
static int take_wait(struct nsys_row *r)
{
	static const char *const KINDS[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
	                                    "Context Sync"};
	int64_t kind = database_int(r->cells, OWN);
	int rc = name_is(r, kind > 0 && kind < 5 ? KINDS[kind] : KINDS[0]);

	r->span.kind = EVENT_DEVICE_WAIT;
	if (rc == SB_OK)
		rc = append(r);
	if (rc != SB_OK)
		return rc;
	return nsys_add_wait(r->n, database_int(r->cells, GLOBAL_PID),
	                     &(struct nsys_wait){.event_id = database_int(r->cells, OWN + 1),
	                                         .sync_id = database_int(r->cells, OWN + 2),
	                                         .context = database_int(r->cells, OWN + 3),
	                                         .correlation = database_int(r->cells, CORRELATION)});
}

/* With graphs traced as a whole their kernels are not listed: the graph's row is all that tells of the work,
 * in which collectives cannot be told apart. */
static int take_graph(struct nsys_row *r)
{
	int64_t id = database_int(r->cells, OWN);
	char name[60];
	int rc;

	if (id == SB_NULL)
		snprintf(name, sizeof(name), "CUDA graph");
	else
		snprintf(name, sizeof(name), "CUDA graph %lld", (long long)id);
	rc = name_is(r, name);
	r->span.kind = EVENT_KERNEL;
	return rc == SB_OK ? append(r) : rc;
}

int nsys_read_device(struct nsys *n, struct sb_error *err)
{
	static const char *const KERNEL[] = {PLACE, "demangledName", "shortName", "mangledName", NULL};
	static const char *const COPY[] = {PLACE, "copyKind", "bytes", "srcKind", "dstKind", NULL};
	static const char *const FILL[] = {PLACE, "bytes", "memKind", NULL};
	static const char *const WAIT[] = {PLACE, "syncType", "eventId", "eventSyncId", "contextId", NULL};
	static const char *const GRAPH[] = {PLACE, "graphId", NULL};
	static const struct nsys_table TABLES[] = {
	    {.name = "CUPTI_ACTIVITY_KIND_KERNEL", .columns = KERNEL, .take = take_kernel},
	    {.name = "CUPTI_ACTIVITY_KIND_MEMCPY", .columns = COPY, .take = take_copy},
	    {.name = "CUPTI_ACTIVITY_KIND_MEMSET", .columns = FILL, .take = take_fill},
	    {.name = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", .columns = GRAPH, .take = take_graph},
	    {.name = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", .columns = WAIT, .take = take_wait},
	};
	int rc = nsys_read_records(n, err);

	for (size_t i = 0; rc == SB_OK && i < sizeof(TABLES) / sizeof(TABLES[0]); i++)
		rc = nsys_spans(n, &TABLES[i], err);
	return rc;
}
