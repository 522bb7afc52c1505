#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/replay/graph.h"

struct thread_key {
	uint32_t thread, process, lane;
};

static int by_key(const void *a, const void *b)
{
	const struct thread_key *x = a, *y = b;

	return sb_compare((const int64_t[]){x->thread, x->process, x->lane},
	                  (const int64_t[]){y->thread, y->process, y->lane}, 3);
}

/* Calls into the driver have a process of their own in Ascend's files: their threads are those of the
 * framework. */
static bool is_driver(const struct trace *t, uint32_t process)
{
	const char *name = trace_text(t, process, NULL);

	return strcmp(name, "CANN") == 0 || strcmp(name, "AscendCL") == 0;
}

/* Numbers sorted keys: same thread, same number. Within one thread's name the driver's lanes go to the first
 * process that is none. */
static uint32_t number_threads(const struct trace *t, const struct thread_key *keys, size_t n, uint32_t *of)
{
	uint32_t count = 0;

	for (size_t from = 0, to = 0; from < n; from = to) {
		uint32_t first = UINT32_MAX, driver;

		for (to = from; to < n && keys[to].thread == keys[from].thread; to++) {
			bool known = to > from && keys[to].process == keys[to - 1].process;

			if (is_driver(t, keys[to].process))
				continue;
			of[keys[to].lane] = known ? of[keys[to - 1].lane] : count++;
			first = first == UINT32_MAX ? of[keys[to].lane] : first;
		}
		driver = first;
		for (size_t i = from; i < to; i++) {
			if (!is_driver(t, keys[i].process))
				continue;
			if (driver == UINT32_MAX)
				driver = count++;
			of[keys[i].lane] = driver;
		}
	}
	return count;
}

int replay_threads(const struct trace *t, uint32_t **out, size_t *out_count)
{
	struct thread_key *keys = calloc(t->lane_count + 1, sizeof(*keys));
	uint32_t *of = calloc(t->lane_count + 1, sizeof(*of));
	size_t n = 0, count;

	if (!keys || !of) {
		free(keys);
		free(of);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < t->lane_count; i++)
		keys[n++] = (struct thread_key){t->lanes[i].thread, t->lanes[i].process, (uint32_t)i};
	qsort(keys, n, sizeof(*keys), by_key);
	count = number_threads(t, keys, n, of);
	/* past the last number all are one thread: a file may name as many as it likes */
	for (size_t i = 0; i < t->lane_count; i++)
		of[i] = of[i] < UINT16_MAX - 1 ? of[i] : UINT16_MAX - 1;
	free(keys);
	*out = of;
	*out_count = count < UINT16_MAX ? count : UINT16_MAX;
	return SB_OK;
}
