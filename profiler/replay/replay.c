#include <stdlib.h>

#include "profiler/replay/graph.h"

static void collect(const struct replay_graph *g, const int64_t *ends, struct replay_result *result,
                    struct replay_span *spans)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct replay_capture *c = &g->captures[i];
		struct replay_span s = {SB_NULL, SB_NULL};
		int64_t last = INT64_MIN + 1;

		for (uint32_t v = c->first; v < c->end; v++)
			last = ends[v] > last ? ends[v] : last;
		if (c->held) {
			s.measured_ns = sb_sub_sat(c->last, g->nodes.at[c->first]);
			s.replayed_ns = sb_sub_sat(last, g->nodes.at[c->first]);
			if (s.measured_ns > result->measured_ns)
				result->measured_ns = s.measured_ns;
			if (s.replayed_ns > result->replayed_ns)
				result->replayed_ns = s.replayed_ns;
		}
		if (spans)
			spans[i] = s;
	}
}

int replay_run(const struct replay_graph *g, const struct relief *reliefs, size_t n,
               struct replay_result *out, struct replay_span *spans, struct sb_error *err)
{
	__attribute__((cleanup(replay_changes_free))) struct replay_changes changes = {0};
	int64_t *ends = calloc(g->nodes.count + 1, sizeof(*ends));
	uint32_t stuck;
	int rc = ends ? replay_changes(g, reliefs, n, &changes) : SB_ENOMEM;

	if (rc == SB_OK)
		rc = replay_ends(g, n > 0 ? &changes : NULL, ends, &stuck);
	if (rc == SB_OK) {
		struct replay_result r = {.steps = g->steps};

		collect(g, ends, &r, spans);
		*out = r;
	}
	free(ends);
	return rc == SB_OK ? SB_OK : sb_fail(err, rc, "out_of_memory", "No memory to replay the capture.");
}

/* What of the time before a moment was the host's own. */
static int64_t host_lag(const struct replay_nodes *n, uint32_t v)
{
	int64_t lag = n->chain[v] == REPLAY_NONE ? 0 : n->at[v] - n->dur[v] - n->at[n->chain[v]];

	return lag > 0 ? lag : 0;
}

struct replay_totals replay_total(const struct replay_graph *g, uint32_t capture)
{
	struct replay_totals t = {0};

	if (!replay_holds(g, capture))
		return t;
	for (uint32_t v = g->captures[capture].first; v < g->captures[capture].end; v++) {
		switch (replay_kind(&g->nodes, v)) {
		case NODE_COMPUTE:
			t.kernels++;
			t.compute_ns = sb_add_sat(t.compute_ns, g->nodes.dur[v]);
			break;
		case NODE_COMMUNICATION: t.collectives++; break;
		case NODE_COPY: t.copies++; break;
		default:
			t.launches += g->nodes.wait[v] == ENTRY_LAUNCH || g->nodes.wait[v] == ENTRY_FULL;
			t.host_ns = sb_add_sat(t.host_ns, host_lag(&g->nodes, v));
		}
	}
	return t;
}

const struct profile *replay_profile(const struct replay_graph *g)
{
	return g->profile;
}
