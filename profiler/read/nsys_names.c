#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/num.h"
#include "profiler/read/nsys_impl.h"

#define NAME_BYTES_MAX 16384 /* StringIds also holds whole files: they are cut */

static int by_id(const void *a, const void *b)
{
	const struct nsys_text *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* All texts are kept aside, and only those that rows refer to go into the trace: the others may be the
 * environment and the output of the profiled program. */
static int read_texts(struct nsys *n, struct sb_error *err)
{
	static const char *const COLUMNS[] = {"id", "value", NULL};
	DATABASE_ROWS_AUTO r = NULL;
	bool more = true;
	int rc = nsys_select(n->db, "StringIds", COLUMNS, &r, err);

	while (r && rc == SB_OK && (rc = database_next(r, &more, err)) == SB_OK && more) {
		struct nsys_text t = {.id = database_int(r, 0), .collective = -1};
		size_t len;
		const char *text = database_text(r, 1, &len);

		rc = sb_strings_add(n->texts, text, len < NAME_BYTES_MAX ? len : NAME_BYTES_MAX, &t.text);
		if (rc == SB_OK)
			rc = sb_grow(&n->names, n->name_count, sizeof(t));
		if (rc != SB_OK)
			return sb_fail(err, rc, "no_memory", "The names do not fit into memory.");
		n->names[n->name_count++] = t;
	}
	/* of equal ids, which no healthy file has, any will do, but always the same */
	if (n->name_count > 0)
		qsort(n->names, n->name_count, sizeof(*n->names), by_id);
	return rc;
}

uint32_t nsys_pid(int64_t global)
{
	return global > 0 ? (uint32_t)(global / 0x1000000 % 0x1000000) : 0;
}

static uint32_t tid_of(int64_t global)
{
	return global > 0 ? (uint32_t)(global % 0x1000000) : 0;
}

static int read_processes(struct nsys *n, struct sb_error *err)
{
	static const char *const COLUMNS[] = {"globalPid", "pid", "name", NULL};
	DATABASE_ROWS_AUTO r = NULL;
	bool more = true;
	int rc = nsys_select(n->db, "PROCESSES", COLUMNS, &r, err);

	while (r && rc == SB_OK && (rc = database_next(r, &more, err)) == SB_OK && more) {
		char text[100];
		uint32_t pid = nsys_pid(database_int(r, 0)), id = 0;

		snprintf(text, sizeof(text), "%.80s %u", database_text(r, 2, NULL), pid);
		rc = sb_strings_add(n->texts, text, strlen(text), &id);
		if (rc == SB_OK)
			rc = id_map_put(&n->processes, (struct id_key){.a = pid}, id);
		if (rc != SB_OK)
			return sb_fail(err, rc, "no_memory", "The names do not fit into memory.");
	}
	return rc;
}

static struct nsys_text *find(const struct nsys *n, int64_t id)
{
	struct nsys_text key = {.id = id};

	return n->name_count > 0 ? bsearch(&key, n->names, n->name_count, sizeof(key), by_id) : NULL;
}

static int read_threads(struct nsys *n, struct sb_error *err)
{
	static const char *const COLUMNS[] = {"globalTid", "nameId", NULL};
	DATABASE_ROWS_AUTO r = NULL;
	bool more = true;
	int rc = nsys_select(n->db, "ThreadNames", COLUMNS, &r, err);

	while (r && rc == SB_OK && (rc = database_next(r, &more, err)) == SB_OK && more) {
		int64_t global = database_int(r, 0);
		const struct nsys_text *t = find(n, database_int(r, 1));

		if (t)
			rc = id_map_put(&n->threads, (struct id_key){tid_of(global), nsys_pid(global), 0},
			                t->text);
		if (rc != SB_OK)
			return sb_fail(err, rc, "no_memory", "The names do not fit into memory.");
	}
	return rc;
}

int nsys_read_names(struct nsys *n, struct sb_error *err)
{
	int rc = read_texts(n, err);

	if (rc == SB_OK)
		rc = read_processes(n, err);
	return rc == SB_OK ? read_threads(n, err) : rc;
}

/* "cudaLaunchKernel_v7000" without the version of the call's interface. The driver's own names, such as
 * cuMemAlloc_v2, are left alone. */
static size_t without_version(const char *text, size_t len)
{
	size_t n = len;

	while (n > 0 && text[n - 1] >= '0' && text[n - 1] <= '9')
		n--;
	return len - n >= 4 && n > 2 && text[n - 1] == 'v' && text[n - 2] == '_' ? n - 2 : len;
}

static int add(struct nsys *n, const char *text, size_t len, bool versioned, uint32_t *out_id)
{
	if (versioned)
		len = without_version(text, len);
	return sb_strings_add(n->trace.strings, text, len, out_id);
}

int nsys_name(struct nsys_row *r, int i, bool versioned, uint32_t *out_id, struct nsys_text **out_text)
{
	struct nsys *n = r->n;
	int64_t id = database_int(r->cells, i);
	struct nsys_text *t = id == SB_NULL ? NULL : find(n, id);
	size_t len;
	const char *text;
	uint32_t *known;
	int rc = SB_OK;

	if (out_text)
		*out_text = t;
	if (!t) {
		text = database_text(r->cells, i, &len);
		if (id != SB_NULL || len == 0)
			nsys_note(r, NSYS_NO_NAME);
		return add(n, text, len, versioned, out_id);
	}
	known = versioned ? &t->versioned : &t->plain;
	if (*known == 0) {
		text = sb_strings_get(n->texts, t->text, &len);
		rc = add(n, text, len, versioned, known);
	}
	*out_id = *known;
	return rc;
}

void nsys_names_free(struct nsys *n)
{
	sb_strings_free(&n->texts);
	free(n->names);
	free(n->records);
	id_map_free(&n->processes);
	id_map_free(&n->threads);
	id_map_free(&n->device_lanes);
	id_map_free(&n->host_lanes);
}

static int add_lane(struct nsys *n, struct id_map *lanes, struct id_key key, int32_t device,
                    const char *process, const char *thread, uint32_t *out_lane)
{
	struct lane lane = {.device = device};
	int rc = sb_strings_add(n->trace.strings, process, strlen(process), &lane.process);

	if (rc == SB_OK)
		rc = sb_strings_add(n->trace.strings, thread, strlen(thread), &lane.thread);
	if (rc == SB_OK)
		rc = trace_add_lane(&n->trace, &lane, out_lane);
	return rc == SB_OK ? id_map_put(lanes, key, *out_lane) : rc;
}

static const char *process_name(const struct nsys *n, uint32_t pid)
{
	uint32_t id;

	return id_map_get(&n->processes, (struct id_key){.a = pid}, &id) ? sb_strings_get(n->texts, id, NULL)
	                                                                 : NULL;
}

static void name_stream(const struct nsys *n, int64_t stream, uint32_t pid, char *out, size_t size)
{
	const char *owner = process_name(n, pid);
	char which[24] = "no stream";

	if (stream >= 0 && stream < UINT32_MAX)
		snprintf(which, sizeof(which), "stream %u", (uint32_t)stream);
	snprintf(out, size, "%s%s%s", which, owner ? " of " : "", owner ? owner : "");
}

int nsys_stream_name(struct nsys *n, int64_t stream, int64_t global_pid, uint32_t *out_name)
{
	char thread[160];

	name_stream(n, stream, nsys_pid(global_pid), thread, sizeof(thread));
	return sb_strings_add(n->trace.strings, thread, strlen(thread), out_name);
}

int nsys_device_lane(struct nsys *n, int64_t device, int64_t stream, int64_t global_pid, uint32_t *out_lane)
{
	/* CUPTI writes INT32_MAX for a graph that starts on the host, and UINT32_MAX for no stream */
	int32_t number = device >= 0 && device < INT32_MAX ? (int32_t)device : -1;
	uint32_t pid = nsys_pid(global_pid);
	struct id_key key = {(uint32_t)number, (uint32_t)stream, pid};
	char process[40], thread[160];

	if (id_map_get(&n->device_lanes, key, out_lane))
		return SB_OK;
	snprintf(process, sizeof(process), number >= 0 ? "GPU %d" : "GPU", number);
	name_stream(n, stream, pid, thread, sizeof(thread));
	return add_lane(n, &n->device_lanes, key, number, process, thread, out_lane);
}

int nsys_host_lane(struct nsys *n, int64_t global_tid, uint32_t *out_lane)
{
	uint32_t pid = nsys_pid(global_tid), tid = tid_of(global_tid), id;
	struct id_key key = {tid, pid, 0};
	const char *owner, *named = "";
	char process[40], thread[160];

	if (id_map_get(&n->host_lanes, key, out_lane))
		return SB_OK;
	owner = process_name(n, pid);
	if (id_map_get(&n->threads, key, &id))
		named = sb_strings_get(n->texts, id, NULL);
	snprintf(process, sizeof(process), "process %u", pid);
	snprintf(thread, sizeof(thread), *named ? "%.120s %u" : "%sthread %u", named, tid);
	return add_lane(n, &n->host_lanes, key, -1, owner ? owner : process, thread, out_lane);
}
