#include "profiler/replay/graph.h"

/* Lags are sampled where nothing else can have held the work up, and their median is the typical one: to a
 * sixteenth of a power of two. */
#define BUCKETS 1024
/* A gap is a sample when the launch was this early, and it is at most this long: profiling itself makes gaps
 * of up to 100 us on Ascend. */
#define QUEUED_NS 20000
#define GAP_MAX_NS 100000
/* Where no launch is known, longer gaps may be the host's. */
#define GAP_ALONE_NS 5000
/* Without a sample. */
#define GAP_DEFAULT_NS 1000
#define LAUNCH_DEFAULT_NS 5000

struct samples {
	uint32_t counts[BUCKETS];
	uint64_t total;
	int64_t least;
};

static void sample(struct samples *s, int64_t lag)
{
	uint64_t x = lag > 0 ? (uint64_t)lag : 0;
	int log = x >= 16 ? 63 - __builtin_clzll(x) : 0;
	size_t bucket = log ? ((size_t)log - 3) * 16 + (x >> (log - 4) & 15) : x;

	s->counts[bucket]++;
	s->total++;
}

/* What a lag was where it may have been longer than typical: the least of these bounds it. */
static void bound(struct samples *s, int64_t lag)
{
	if (lag >= 0 && (s->least < 0 || lag < s->least))
		s->least = lag;
}

static int64_t typical(const struct samples *s, int64_t otherwise)
{
	uint64_t seen = 0;

	if (s->total == 0)
		return s->least >= 0 && s->least < otherwise ? s->least : otherwise;
	for (size_t i = 0; i < BUCKETS; i++) {
		seen += s->counts[i];
		if (2 * seen >= s->total)
			return i < 16 ? (int64_t)i
			              : (int64_t)((16 + i % 16) << (i / 16 - 1)) +
			                    ((INT64_C(1) << (i / 16 - 1)) >> 1);
	}
	return otherwise;
}

struct lag_samples {
	struct samples gap, launch[NODE_KINDS], task;
};

/* The end of a predecessor; what is not there is over long ago. */
static int64_t end_of(const struct replay_nodes *n, uint32_t u)
{
	return u == REPLAY_NONE ? INT64_MIN : replay_end(n, u);
}

static void sample_work(const struct replay_nodes *n, uint32_t v, struct lag_samples *s)
{
	uint32_t launch = n->cause[v];
	int64_t chain = end_of(n, n->chain[v]), wait = end_of(n, n->wait[v]);
	int64_t gap = n->chain[v] == REPLAY_NONE ? -1 : n->at[v] - chain;
	bool queued = launch == REPLAY_NONE ? gap <= GAP_ALONE_NS
	                                    : gap <= GAP_MAX_NS && n->at[launch] + QUEUED_NS <= chain;

	if (gap >= 0 && queued && wait <= chain)
		sample(&s->gap, gap);
	bound(&s->gap, gap);
	if (launch == REPLAY_NONE)
		return;
	/* both streams were idle when the call came */
	if (chain <= n->at[launch] && wait <= n->at[launch])
		sample(&s->launch[replay_kind(n, v)], n->at[v] - n->at[launch]);
	bound(&s->launch[replay_kind(n, v)], n->at[v] - n->at[launch]);
}

static void find_lags(const struct replay_nodes *n, struct replay_capture *c)
{
	struct lag_samples s = {.gap.least = -1, .task.least = -1};

	for (int k = 0; k < NODE_KINDS; k++)
		s.launch[k].least = -1;
	for (uint32_t v = c->first; v < c->end; v++) {
		if (replay_kind(n, v) != NODE_HOST)
			sample_work(n, v, &s);
		else if (n->flags[v] & NODE_TASK && n->cause[v] != REPLAY_NONE && n->dur[v] > 0)
			sample(&s.task, n->at[v] - n->at[n->cause[v]]);
		else if (n->flags[v] & NODE_TASK && n->cause[v] != REPLAY_NONE)
			bound(&s.task, n->at[v] - n->at[n->cause[v]]);
	}
	c->lags.gap = typical(&s.gap, GAP_DEFAULT_NS);
	c->lags.task = typical(&s.task, LAUNCH_DEFAULT_NS);
	for (int k = 0; k < NODE_KINDS; k++)
		c->lags.launch[k] = typical(&s.launch[k], LAUNCH_DEFAULT_NS);
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* When a predecessor would have let the node start, with the typical lag. */
static int64_t allowed(const struct replay_nodes *n, uint32_t v, uint32_t u, int64_t lag)
{
	int64_t end = end_of(n, u);

	return u == REPLAY_NONE ? INT64_MIN : end + lesser(lag, n->at[v] - end);
}

static void bind_work(const struct replay_nodes *n, const struct replay_lags *lags, uint32_t v)
{
	int64_t chain = allowed(n, v, n->chain[v], lags->gap);
	int64_t launch = allowed(n, v, n->cause[v], lags->launch[replay_kind(n, v)]);
	int64_t wait = allowed(n, v, n->wait[v], lags->gap);
	int64_t known = chain > launch ? chain : launch;
	uint8_t by = launch >= chain && n->cause[v] != REPLAY_NONE ? NODE_BY_CAUSE : NODE_BY_CHAIN;
	bool unlaunched = n->flags[v] & NODE_UNLAUNCHED;

	if (n->wait[v] != REPLAY_NONE && wait > known &&
	    (unlaunched || known == INT64_MIN || n->at[v] - known > REPLAY_SLACK_NS))
		by = NODE_BY_WAIT;
	/* that it ended just before may be chance: only what held the work up is kept */
	else if (n->wait[v] != REPLAY_NONE && !(n->flags[v] & NODE_ORDERED))
		n->wait[v] = REPLAY_NONE;
	n->flags[v] = (uint8_t)((n->flags[v] & ~NODE_BY_BITS) | by);
}

void replay_bind(struct replay_graph *g, size_t capture)
{
	struct replay_capture *c = &g->captures[capture];

	find_lags(&g->nodes, c);
	for (uint32_t v = c->first; v < c->end; v++)
		if (replay_kind(&g->nodes, v) != NODE_HOST)
			bind_work(&g->nodes, &c->lags, v);
}
