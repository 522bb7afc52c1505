#include <stdlib.h>
#include <string.h>

#include "profiler/replay/graph.h"

static int no_memory(struct sb_error *err)
{
	return sb_fail(err, SB_ENOMEM, "out_of_memory", "No memory to replay the capture.");
}

static int grow_column(void *column, size_t element, size_t capacity)
{
	void *old, *p;

	/* copied, because a pointer to T may not be read through a pointer to void * */
	memcpy(&old, column, sizeof(old));
	p = realloc(old, capacity * element);
	if (!p)
		return SB_ENOMEM;
	memcpy(column, &p, sizeof(p));
	/* cppcheck-suppress memleak ; it has just been stored */
	return SB_OK;
}

/* Room for so many more nodes. What is not used of it is never touched. */
static int reserve(struct replay_nodes *n, size_t *capacity, size_t more)
{
	size_t want = n->count + more;
	int rc = SB_OK;

	if (want <= *capacity)
		return SB_OK;
	want = want > 2 * *capacity ? want : 2 * *capacity;
#define GROW(column)                                                                                         \
	if (rc == SB_OK)                                                                                     \
	rc = grow_column(&n->column, sizeof(*n->column), want)
	GROW(at);
	GROW(dur);
	GROW(event);
	GROW(chain);
	GROW(cause);
	GROW(wait);
	GROW(thread);
	GROW(flags);
#undef GROW
	if (rc == SB_OK)
		*capacity = want;
	return rc;
}

static void measure(struct replay_graph *g, struct replay_capture *c)
{
	c->last = INT64_MIN;
	for (uint32_t v = c->first; v < c->end; v++) {
		int64_t end = replay_end(&g->nodes, v);

		c->last = end > c->last ? end : c->last;
	}
}

static bool has_work(const struct replay_graph *g, const struct replay_capture *c)
{
	for (uint32_t v = c->first; v < c->end; v++)
		if (replay_kind(&g->nodes, v) != NODE_HOST)
			return true;
	return false;
}

struct building {
	struct replay_graph *g;
	size_t capacity;
	bool fits;
};

static int add_nodes(struct building *b, size_t capture, struct replay_entries *e, const struct launches *l,
                     const struct event_waits *w)
{
	struct replay_graph *g = b->g;
	struct replay_capture *c = &g->captures[capture];
	int rc = reserve(&g->nodes, &b->capacity, e->count);

	if (rc != SB_OK)
		return rc;
	c->first = (uint32_t)g->nodes.count;
	c->end = (uint32_t)(g->nodes.count + e->count);
	g->nodes.count = c->end;
	rc = replay_edges(g, capture, e, l, w);
	if (rc != SB_OK)
		return rc;
	replay_bind(g, capture);
	measure(g, c);
	c->held = has_work(g, c);
	return SB_OK;
}

static int add_capture(struct building *b, size_t capture)
{
	const struct capture *from = &b->g->profile->captures[capture];
	struct replay_capture *c = &b->g->captures[capture];
	struct replay_entries entries = {0};
	LAUNCHES_AUTO launches = {0};
	EVENT_WAITS_AUTO waits = {0};
	size_t most = REPLAY_NODES_MAX - b->g->nodes.count;
	int rc = SB_OK;

	c->first = c->end = (uint32_t)b->g->nodes.count;
	/* a timeline of some operators says nothing of the time between them */
	if (capture_format_facts(from->format)->sparse_timeline)
		return SB_OK;
	c->rows = !replay_from_timeline(from);
	if (c->rows && from->kernel_count == 0)
		return SB_OK;
	if (!c->rows)
		rc = launches_build(&from->trace, &launches);
	if (rc == SB_OK && !c->rows)
		rc = event_waits_build(&from->trace, &launches, &waits);
	if (rc == SB_OK)
		rc = replay_entries(from, c->rows ? NULL : &launches, &waits, most, &entries, &b->fits);
	if (rc == SB_OK && b->fits && entries.count > 0)
		rc = add_nodes(b, capture, &entries, c->rows ? NULL : &launches, &waits);
	replay_entries_free(&entries);
	return rc;
}

/* Matched wrongly, two collectives may wait for one another: such a set is taken apart, until none does. */
static int settle(struct replay_graph *g)
{
	int64_t *ends = calloc(g->nodes.count + 1, sizeof(*ends));
	uint32_t stuck = UINT32_MAX;
	int rc = SB_ENOMEM;

	for (int tries = 0; ends && tries < REPLAY_TRIES; tries++) {
		rc = replay_ends(g, NULL, ends, &stuck);
		if (rc != SB_OK || stuck == UINT32_MAX)
			break;
		replay_dissolve(g, stuck);
	}
	free(ends);
	/* what is matched that badly is not matched at all */
	for (size_t i = 0; rc == SB_OK && stuck != UINT32_MAX && i < g->set_count; i++)
		replay_dissolve(g, (uint32_t)i);
	return rc;
}

static int build(struct building *b)
{
	struct replay_graph *g = b->g;
	int rc = SB_OK;

	b->fits = true;
	for (size_t i = 0; i < g->count && rc == SB_OK && b->fits; i++)
		rc = add_capture(b, i);
	if (rc != SB_OK || !b->fits)
		return rc;
	for (size_t i = 0; i < g->count; i++)
		if (g->captures[i].held && (int64_t)g->profile->captures[i].step_count > g->steps)
			g->steps = (int64_t)g->profile->captures[i].step_count;
	rc = replay_match(g);
	return rc == SB_OK && g->set_count > 0 ? settle(g) : rc;
}

int replay_build(const struct profile *p, struct replay_graph **out, struct sb_error *err)
{
	struct building b = {.g = calloc(1, sizeof(*b.g))};
	REPLAY_AUTO g = b.g;
	bool held = false;

	if (!g)
		return no_memory(err);
	g->profile = p;
	g->count = p->count;
	g->steps = 1;
	g->captures = calloc(p->count + 1, sizeof(*g->captures));
	if (!g->captures || build(&b) != SB_OK)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
		return no_memory(err);
	for (size_t i = 0; i < g->count; i++)
		held = held || g->captures[i].held;
	*out = NULL;
	if (held && b.fits) {
		*out = g;
		g = NULL;
	}
	return SB_OK;
}

bool replay_holds(const struct replay_graph *g, uint32_t capture)
{
	return g && capture < g->count && g->captures[capture].held;
}

void replay_free(struct replay_graph **p)
{
	struct replay_graph *g = *p;

	if (!g)
		return;
	for (size_t i = 0; g->captures && i < g->count; i++)
		free(g->captures[i].threads);
	free(g->captures);
	free(g->nodes.at);
	free(g->nodes.dur);
	free(g->nodes.event);
	free(g->nodes.chain);
	free(g->nodes.cause);
	free(g->nodes.wait);
	free(g->nodes.thread);
	free(g->nodes.flags);
	free(g->members);
	free(g->set_members);
	free(g->sets);
	free(g->waits);
	free(g);
	*p = NULL;
}
