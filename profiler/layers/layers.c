#include "profiler/layers/layers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/layers/rank.h"

/* Ranks of the same layers in the same stage, joined. */
struct groups {
	struct rank_layers *items;
	size_t count, looked_at;
	struct rank_layers *all; /* of each capture, until it is taken into a group */
	size_t captures;
	bool guessed; /* no file tells the stages */
};

static void groups_clear(struct groups *g)
{
	for (size_t i = 0; i < g->count; i++)
		rank_layers_free(&g->items[i]);
	for (size_t i = 0; i < g->captures; i++)
		rank_layers_free(&g->all[i]);
	free(g->items);
	free(g->all);
}

/* Takes what was found on a rank. */
static int group(struct groups *g, struct rank_layers *r)
{
	size_t k = 0;

	if (r->count == 0)
		return SB_OK;
	g->looked_at++;
	while (k < g->count && (g->items[k].stage != r->stage || g->items[k].signature != r->signature))
		k++;
	if (k < g->count)
		return rank_layers_join(&g->items[k], r);
	g->items[g->count++] = *r;
	*r = (struct rank_layers){0};
	return SB_OK;
}

/* What no file tells is taken from the exchanges, where all ranks have some. */
static int tell_stages(const struct profile *p, struct groups *g, int64_t *stages)
{
	bool exchanges = p->count > 1, told = false;

	for (size_t i = 0; i < p->count; i++) {
		exchanges = exchanges && g->all[i].exchanges;
		told |= p->captures[i].stage != SB_NULL;
		stages[i] = p->captures[i].stage;
	}
	if (told || !exchanges)
		return SB_OK;
	g->guessed = true;
	return layer_stages_find(p, stages);
}

static int collect(const struct profile *p, struct groups *g, struct sb_strings *texts)
{
	int64_t *stages = calloc(p->count + 1, sizeof(*stages));
	int rc = SB_OK;

	g->all = calloc(p->count + 1, sizeof(*g->all));
	g->items = calloc(p->count + 1, sizeof(*g->items));
	if (!g->all || !g->items || !stages)
		rc = SB_ENOMEM;
	for (; rc == SB_OK && g->captures < p->count; g->captures++)
		rc = rank_layers_find(p, (uint32_t)g->captures, texts, &g->all[g->captures]);
	if (rc == SB_OK)
		rc = tell_stages(p, g, stages);
	for (size_t i = 0; i < p->count && rc == SB_OK; i++) {
		g->all[i].stage = stages[i];
		rc = group(g, &g->all[i]);
	}
	free(stages);
	return rc;
}

/* By stage, else by the first rank; of one stage those that most ranks have stand first. */
static int by_stage(const void *a, const void *b)
{
	const struct rank_layers *x = a, *y = b;

	if (x->stage != y->stage)
		return x->stage < y->stage ? -1 : 1;
	if (x->stage != SB_NULL && x->ranks != y->ranks)
		return x->ranks > y->ranks ? -1 : 1;
	return (x->first_rank > y->first_rank) - (x->first_rank < y->first_rank);
}

/* Leaves one group a stage. Where no stages are told, ranks that differ and exchange with others are stages
 * in the order of the ranks, which is how frameworks lay them out; without exchanges one group stands for
 * all. */
static void keep_stages(struct groups *g, struct profile_layers *out)
{
	size_t kept = 0;
	bool exchanges = true;

	if (g->count > 1)
		qsort(g->items, g->count, sizeof(*g->items), by_stage);
	for (size_t i = 0; i < g->count; i++)
		exchanges = exchanges && g->items[i].exchanges;
	for (size_t i = 0; i < g->count; i++) {
		bool told = g->items[i].stage != SB_NULL;
		bool again = kept > 0 && (told ? g->items[i].stage == g->items[kept - 1].stage : !exchanges);

		if (again) {
			out->warnings |= LAYERS_RANKS_DIFFER;
			rank_layers_free(&g->items[i]);
			continue;
		}
		if (kept > 0 && (!told || g->guessed))
			out->warnings |= LAYERS_STAGES_GUESSED;
		if (told && g->items[i].stage != (int64_t)kept)
			out->warnings |= LAYERS_STAGES_MISSING;
		if (kept != i) {
			g->items[kept] = g->items[i];
			g->items[i] = (struct rank_layers){0};
		}
		kept++;
	}
	g->count = kept;
}

/* A row of the result, and its type, by which the same layers have the same name wherever they stand. */
struct named_row {
	uint64_t type;
	bool repeats;
	uint32_t name;
};

/* "layer", "layer 2", … in the order of first appearance, where no name is told; what stands between types
 * has names of its own. */
static int name_row(struct profile_layers *out, struct named_row *rows, const struct rank_row *r)
{
	struct named_row *own = &rows[out->count];
	char text[40];
	size_t n = 1;

	*own = (struct named_row){r->type, r->repeats, r->name};
	for (size_t i = 0; i < out->count && own->name == 0; i++)
		if (rows[i].type == r->type)
			own->name = rows[i].name;
	if (own->name != 0)
		return SB_OK;
	for (size_t i = 0; i < out->count; i++) {
		bool first = rows[i].repeats == r->repeats;

		for (size_t k = 0; k < i && first; k++)
			first = rows[k].type != rows[i].type;
		n += first;
	}
	if (r->each > 1)
		(void)snprintf(text, sizeof(text), "%lld layers", (long long)r->each);
	else
		(void)snprintf(text, sizeof(text), n > 1 || !r->repeats ? "%s %zu" : "%s",
		               r->repeats ? "layer" : "between", n);
	return sb_strings_add(out->texts, text, strlen(text), &own->name);
}

static int add_row(struct profile_layers *out, struct named_row *rows, struct rank_row *r)
{
	double activation = samples_median(&r->activation);
	int rc = name_row(out, rows, r);

	if (rc != SB_OK)
		return rc;
	out->warnings |= r->repeats ? 0 : LAYERS_BETWEEN;
	out->warnings |= r->each > 1 ? LAYERS_ALTERNATE : 0;
	/* a layer that leaves nothing, or less, was not seen to leave what it keeps */
	if (!(activation > 0)) {
		activation = NAN;
		out->warnings |= LAYERS_NO_ACTIVATION;
	}
	out->rows[out->count] = (struct layer_row){.name = rows[out->count].name,
	                                           .count = r->count,
	                                           .each = r->each,
	                                           .operators = r->operators,
	                                           .forward = samples_median(&r->forward),
	                                           .backward = samples_median(&r->backward),
	                                           .activation_bytes = activation};
	out->count++;
	return SB_OK;
}

/* The next stage goes on with the same layers: they are one row, with what was measured on both. */
static int join_row(struct profile_layers *out, struct rank_row *to, struct rank_row *from)
{
	int rc = SB_OK;

	samples_join(&to->forward, &from->forward, &rc);
	samples_join(&to->backward, &from->backward, &rc);
	samples_join(&to->activation, &from->activation, &rc);
	to->count += from->count;
	out->count--;
	return rc;
}

static struct layer_stage stage_of(struct rank_layers *g, int64_t chunks)
{
	struct layer_stage s = {.stage = g->stage,
	                        .ranks = g->ranks,
	                        .forward = samples_median(&g->head_forward),
	                        .backward = samples_median(&g->head_backward)};

	s.forward += samples_median(&g->tail_forward);
	s.backward += samples_median(&g->tail_backward);
	for (size_t i = 0; i < g->count; i++) {
		int64_t n = chunks * g->rows[i].count;

		s.layers += n * g->rows[i].each;
		s.forward += (double)n * samples_median(&g->rows[i].forward);
		s.backward += (double)n * samples_median(&g->rows[i].backward);
	}
	return s;
}

static int build_rows(struct groups *g, struct profile_layers *out)
{
	struct named_row *rows;
	struct rank_row *last = NULL;
	size_t n = 0;
	int rc = SB_OK;

	for (size_t i = 0; i < g->count; i++)
		n += g->items[i].count;
	rows = calloc(n + 1, sizeof(*rows));
	out->rows = calloc(n + 1, sizeof(*out->rows));
	if (!rows || !out->rows)
		rc = SB_ENOMEM;
	for (size_t i = 0; i < g->count && rc == SB_OK; i++)
		for (size_t k = 0; k < g->items[i].count && rc == SB_OK; k++) {
			struct rank_row *r = &g->items[i].rows[k];

			if (last && last->type == r->type)
				rc = join_row(out, last, r);
			else
				last = r;
			if (rc == SB_OK)
				rc = add_row(out, rows, last);
		}
	free(rows);
	return rc;
}

/* High: names tell the layers, and backward goes through as many. Medium: repetition alone does, in forward
 * and in backward alike, or names in forward alone. */
static int confidence_of(const struct profile_layers *l)
{
	bool backward = (l->warnings & (LAYERS_NO_BACKWARD | LAYERS_BACKWARD_UNMATCHED)) == 0;
	bool doubtful =
	    (l->warnings & (LAYERS_RANKS_DIFFER | LAYERS_STAGES_MISSING | LAYERS_PASSES_DIFFER)) != 0;
	int level = (l->source == LAYERS_BY_NAME) + backward;

	return doubtful ? 0 : level;
}

/* How often the stages of an interleaved pipeline come one behind the other. Only one chunk of the first
 * stage has the head, and of the last one the tail. */
static int64_t take_chunks(struct groups *g)
{
	struct rank_layers *first = &g->items[0], *last = &g->items[g->count - 1];
	int64_t chunks = 1;

	for (size_t i = 0; i < g->count; i++)
		chunks = g->items[i].chunks > chunks ? g->items[i].chunks : chunks;
	samples_keep_upper(&first->head_forward, chunks);
	samples_keep_upper(&first->head_backward, chunks);
	samples_keep_upper(&last->tail_forward, chunks);
	samples_keep_upper(&last->tail_backward, chunks);
	return chunks;
}

/* The layers of all stages stand behind one another once a chunk. */
static int repeat_rows(struct profile_layers *l, int64_t chunks)
{
	size_t n = l->count;
	struct layer_row *rows;

	if (n == 1)
		l->rows[0].count *= chunks;
	if (chunks == 1 || n < 2)
		return SB_OK;
	rows = calloc(n * (size_t)chunks, sizeof(*rows));
	if (!rows)
		return SB_ENOMEM;
	l->count = 0;
	for (size_t i = 0; i < n * (size_t)chunks; i++) {
		const struct layer_row *r = &l->rows[i % n];
		struct layer_row *last = l->count > 0 ? &rows[l->count - 1] : NULL;

		if (last && last->name == r->name)
			last->count += r->count;
		else
			rows[l->count++] = *r;
	}
	free(l->rows);
	l->rows = rows;
	return SB_OK;
}

static int build(struct groups *g, struct profile_layers *out)
{
	struct rank_layers *first = &g->items[0], *last = &g->items[g->count - 1];
	double micro_batches = samples_median(&first->micro_batches);
	int64_t chunks = take_chunks(g);
	bool named = true;
	int rc;

	out->head =
	    (struct layer_end){samples_median(&first->head_forward), samples_median(&first->head_backward)};
	out->tail =
	    (struct layer_end){samples_median(&last->tail_forward), samples_median(&last->tail_backward)};
	out->micro_batches = isnan(micro_batches) ? SB_NULL : (int64_t)micro_batches / chunks;
	out->stages = calloc(g->count, sizeof(*out->stages));
	if (!out->stages)
		return SB_ENOMEM;
	for (; out->stage_count < g->count; out->stage_count++) {
		struct rank_layers *x = &g->items[out->stage_count];

		out->stages[out->stage_count] = stage_of(x, chunks);
		named = named && x->named;
		out->warnings |= x->unmatched ? LAYERS_BACKWARD_UNMATCHED : 0;
		out->warnings |= x->no_backward ? LAYERS_NO_BACKWARD : 0;
		out->warnings |= x->open ? LAYERS_ENDS_OPEN : 0;
		out->warnings |= x->differ ? LAYERS_PASSES_DIFFER : 0;
	}
	out->warnings |= LAYERS_NO_PARAMETERS | (chunks > 1 ? LAYERS_INTERLEAVED : 0);
	out->source = named ? LAYERS_BY_NAME : LAYERS_BY_REPETITION;
	rc = build_rows(g, out);
	if (rc == SB_OK)
		rc = repeat_rows(out, chunks);
	out->confidence = confidence_of(out);
	return rc;
}

/* More types are no layers: nothing of the model is the same twice then. */
#define ROWS_MAX 64

static const char *reason_of(const struct profile *p, const struct groups *g)
{
	bool work = false;

	for (size_t i = 0; i < p->count; i++)
		work |= p->captures[i].kernel_count > 0 || p->captures[i].trace.count > 0;
	if (!work)
		return "The profile holds no single operators, only sums of them.";
	return g->looked_at == 0
	           ? "No sequence of operators repeats itself over half of the forward pass, and "
	             "no names or spans tell layers."
	           : "There are too many types of layers for any of them to repeat.";
}

int profile_layers_find(const struct profile *p, struct profile_layers *out, struct sb_error *err)
{
	__attribute__((cleanup(groups_clear))) struct groups g = {0};
	PROFILE_LAYERS_AUTO l = {.micro_batches = SB_NULL, .head = {NAN, NAN}, .tail = {NAN, NAN}};
	size_t rows = 0;
	int rc = sb_strings_new(&l.texts);

	if (rc == SB_OK)
		rc = collect(p, &g, l.texts);
	keep_stages(&g, &l);
	for (size_t i = 0; i < g.count; i++)
		rows += g.items[i].count;
	if (rc == SB_OK && rows > 0 && rows <= ROWS_MAX)
		rc = build(&g, &l);
	else
		l.reason = reason_of(p, &g);
	if (rc != SB_OK)
		return sb_fail(err, rc, "layers", "The layers cannot be found: %s.", sb_strerror(rc));
	*out = l;
	l = (struct profile_layers){0};
	return SB_OK;
}

void profile_layers_free(struct profile_layers *l)
{
	free(l->rows);
	free(l->stages);
	sb_strings_free(&l->texts);
	*l = (struct profile_layers){0};
}
