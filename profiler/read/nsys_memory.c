#include <stdlib.h>

#include "base/grow.h"
#include "profiler/read/memory_rows.h"
#include "profiler/read/nsys_impl.h"

/* CUDA_GPU_MEMORY_USAGE_EVENTS (--cuda-memory-usage=true): each allocation and release of the driver. What
 * was held before the capture is not told. */

enum { START, DEVICE, BYTES, KIND, OPERATION };

struct change {
	int64_t start_ns, device, bytes, order; /* bytes below 0: released */
};

static int by_device(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	const int64_t left[] = {x->device, x->start_ns, x->order};
	const int64_t right[] = {y->device, y->start_ns, y->order};

	return sb_compare(left, right, 3);
}

/* ENUM_CUDA_MEM_KIND: 0 pageable, 1 pinned, the others on a device. */
static int64_t device_of(const struct database_rows *rows)
{
	int64_t kind = database_int(rows, KIND), device = database_int(rows, DEVICE);

	if (kind == 0 || kind == 1)
		return MEMORY_HOST;
	return device >= 0 && device <= INT32_MAX ? device : SB_NULL;
}

static int read_changes(struct nsys *n, struct change **out, size_t *out_count, struct sb_error *err)
{
	static const char *const COLUMNS[] = {"start", "deviceId", "bytes", "memKind", "memoryOperationType",
	                                      NULL};
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc = nsys_select(n->db, "CUDA_GPU_MEMORY_USAGE_EVENTS", COLUMNS, &rows, err);

	while (rows && rc == SB_OK && (rc = database_next(rows, &more, err)) == SB_OK && more) {
		struct change c = {.start_ns = database_int(rows, START),
		                   .device = device_of(rows),
		                   .bytes = database_int(rows, BYTES),
		                   .order = (int64_t)*out_count};
		int64_t operation = database_int(rows, OPERATION);

		/* ENUM_CUDA_DEV_MEM_EVENT_OPER: 0 allocation, 1 deallocation */
		if (c.start_ns == SB_NULL || c.bytes < 0 || (operation != 0 && operation != 1))
			continue;
		c.start_ns = sb_add_sat(c.start_ns, n->base_ns);
		c.bytes = operation == 0 ? c.bytes : -c.bytes;
		if (sb_grow(out, *out_count, sizeof(c)) != SB_OK)
			return sb_fail(err, SB_ENOMEM, "no_memory",
			               "There is no memory left to read the database.");
		(*out)[(*out_count)++] = c;
	}
	return rc;
}

static int add_series(struct capture *c, const struct change *x, size_t n)
{
	struct memory_series *s = NULL;
	int64_t sum = 0;
	int rc = memory_series(c, x[0].device, 0, &s);

	for (size_t i = 0; i < n && rc == SB_OK; i++) {
		sum = sb_add_sat(sum, x[i].bytes);
		sum = sum < 0 ? 0 : sum;
		rc = memory_add(s, x[i].start_ns, sum, SB_NULL);
	}
	if (s)
		s->relative = true;
	return rc;
}

/* The memory of each GPU. */
static int read_capacities(struct nsys *n, struct capture *c, struct sb_error *err)
{
	static const char *const COLUMNS[] = {"cuDevice", "id", "totalMemory", NULL};
	DATABASE_ROWS_AUTO rows = NULL;
	bool more = true;
	int rc;

	if (c->memory_count == 0)
		return SB_OK;
	rc = nsys_select(n->db, "TARGET_INFO_GPU", COLUMNS, &rows, err);
	while (rows && rc == SB_OK && (rc = database_next(rows, &more, err)) == SB_OK && more) {
		int64_t device = database_int(rows, 0), bytes = database_int(rows, 2);

		device = device == SB_NULL ? database_int(rows, 1) : device;
		for (size_t i = 0; i < c->memory_count && bytes > 0; i++)
			if (c->memories[i].device == device && device >= 0)
				c->memories[i].capacity_bytes = bytes;
	}
	return rc;
}

int nsys_read_memory(struct nsys *n, struct capture *c, struct sb_error *err)
{
	struct change *changes = NULL;
	size_t count = 0;
	int rc = read_changes(n, &changes, &count, err);

	if (rc == SB_OK && count > 0)
		qsort(changes, count, sizeof(*changes), by_device);
	for (size_t from = 0, to = 0; rc == SB_OK && from < count; from = to) {
		while (to < count && changes[to].device == changes[from].device)
			to++;
		rc = add_series(c, &changes[from], to - from);
		if (rc != SB_OK)
			sb_fail(err, rc, "no_memory", "There is no memory left to read the database.");
	}
	free(changes);
	if (rc == SB_OK)
		rc = read_capacities(n, c, err);
	memory_finish(c);
	return rc;
}
