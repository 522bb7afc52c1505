#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "profiler/read/nsys_impl.h"

#define PROCESSES_MAX 32 /* without a partner, on either side: more are left as they are */

struct match {
	int64_t *host; /* links of host rows, ascending */
	size_t host_count;
	uint32_t pids[2][PROCESSES_MAX]; /* of device and host, without a partner, ascending */
	size_t pid_count[2];
	int64_t shared[PROCESSES_MAX][PROCESSES_MAX];
};

static int by_value(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_host(const struct trace *t, size_t i)
{
	return t->kind[i] == EVENT_HOST_RUNTIME && t->link[i] >= 0;
}

static bool is_device(const struct trace *t, size_t i)
{
	return t->kind[i] != EVENT_HOST_RUNTIME && t->link[i] >= 0;
}

static uint32_t pid_of(int64_t link)
{
	return (uint32_t)((uint64_t)link >> 32);
}

static bool on_host(const struct match *m, int64_t link)
{
	return bsearch(&link, m->host, m->host_count, sizeof(link), by_value) != NULL;
}

/* Is there a host row of this process? */
static bool host_has(const struct match *m, uint32_t pid)
{
	size_t at = SB_BISECT(i, 0, m->host_count, pid_of(m->host[i]) < pid);

	return at < m->host_count && pid_of(m->host[at]) == pid;
}

static int add_pid(struct match *m, int side, uint32_t pid)
{
	uint32_t *pids = m->pids[side];
	size_t at = 0;

	while (at < m->pid_count[side] && pids[at] < pid)
		at++;
	if (at < m->pid_count[side] && pids[at] == pid)
		return (int)at;
	if (m->pid_count[side] == PROCESSES_MAX)
		return -1;
	memmove(&pids[at + 1], &pids[at], (m->pid_count[side] - at) * sizeof(*pids));
	pids[at] = pid;
	m->pid_count[side]++;
	return (int)at;
}

static int find_pid(const struct match *m, int side, uint32_t pid)
{
	for (size_t i = 0; i < m->pid_count[side]; i++) {
		if (m->pids[side][i] == pid)
			return (int)i;
	}
	return -1;
}

/* Processes of device rows that no host row has, and host processes. */
static void find_strangers(struct match *m, const struct trace *t)
{
	uint32_t last = 0;
	bool seen = false;

	for (size_t i = 0; i < t->count; i++) {
		uint32_t pid = pid_of(t->link[i]);

		if (!is_device(t, i) || (seen && pid == last))
			continue;
		seen = true;
		last = pid;
		if (!host_has(m, pid))
			(void)add_pid(m, 0, pid);
	}
	for (size_t i = 0; i < m->host_count && m->pid_count[0] > 0; i++)
		(void)add_pid(m, 1, pid_of(m->host[i]));
}

/* A host process that has device rows of its own is nobody else's. */
static void drop_taken(struct match *m, const struct trace *t)
{
	bool taken[PROCESSES_MAX] = {false};
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		int at = is_device(t, i) ? find_pid(m, 1, pid_of(t->link[i])) : -1;

		if (at >= 0)
			taken[at] = true;
	}
	for (size_t i = 0; i < m->pid_count[1]; i++) {
		if (!taken[i])
			m->pids[1][kept++] = m->pids[1][i];
	}
	m->pid_count[1] = kept;
}

static void count_shared(struct match *m, const struct trace *t)
{
	for (size_t i = 0; i < t->count; i++) {
		int at = is_device(t, i) ? find_pid(m, 0, pid_of(t->link[i])) : -1;

		for (size_t h = 0; at >= 0 && h < m->pid_count[1]; h++) {
			int64_t link = (int64_t)((uint64_t)m->pids[1][h] << 32 | (t->link[i] & UINT32_MAX));

			m->shared[at][h] += on_host(m, link);
		}
	}
}

/* The best pairs first; each host process once. */
static void pair(struct match *m, struct trace *t)
{
	uint32_t partner[PROCESSES_MAX] = {0};
	bool paired[PROCESSES_MAX] = {false};

	for (;;) {
		size_t device = 0, host = 0;
		int64_t best = 0;

		for (size_t d = 0; d < m->pid_count[0]; d++) {
			for (size_t h = 0; h < m->pid_count[1]; h++) {
				if (!paired[d] && m->shared[d][h] > best) {
					best = m->shared[d][h];
					device = d;
					host = h;
				}
			}
		}
		if (best == 0)
			break;
		paired[device] = true;
		partner[device] = m->pids[1][host];
		for (size_t d = 0; d < m->pid_count[0]; d++)
			m->shared[d][host] = 0;
	}
	for (size_t i = 0; i < t->count; i++) {
		int at = is_device(t, i) ? find_pid(m, 0, pid_of(t->link[i])) : -1;

		if (at >= 0 && paired[at])
			t->link[i] = (int64_t)((uint64_t)partner[at] << 32 | (t->link[i] & UINT32_MAX));
	}
}

/* As is usual: each process with rows of a device has calls of its own. */
static bool all_at_home(struct match *m, const struct trace *t)
{
	bool home = true;
	int64_t last = -1;

	for (size_t i = 0; i < t->count && home; i++) {
		if (!is_host(t, i) || pid_of(t->link[i]) == last)
			continue;
		last = pid_of(t->link[i]);
		home = add_pid(m, 1, pid_of(t->link[i])) >= 0;
	}
	last = -1;
	for (size_t i = 0; i < t->count && home; i++) {
		if (!is_device(t, i) || pid_of(t->link[i]) == last)
			continue;
		last = pid_of(t->link[i]);
		home = find_pid(m, 1, pid_of(t->link[i])) >= 0;
	}
	m->pid_count[1] = 0;
	return home;
}

static int match_all(struct match *m, struct trace *t)
{
	if (all_at_home(m, t))
		return SB_OK;
	for (size_t i = 0; i < t->count; i++)
		m->host_count += is_host(t, i);
	m->host = calloc(m->host_count + 1, sizeof(*m->host));
	if (!m->host)
		return SB_ENOMEM;
	m->host_count = 0;
	for (size_t i = 0; i < t->count; i++) {
		if (is_host(t, i))
			m->host[m->host_count++] = t->link[i];
	}
	qsort(m->host, m->host_count, sizeof(*m->host), by_value);
	find_strangers(m, t);
	if (m->pid_count[0] == 0)
		return SB_OK;
	drop_taken(m, t);
	count_shared(m, t);
	pair(m, t);
	return SB_OK;
}

int nsys_match_processes(struct trace *t)
{
	struct match *m = calloc(1, sizeof(*m));
	int rc = m ? match_all(m, t) : SB_ENOMEM;

	if (m)
		free(m->host);
	free(m);
	return rc;
}
