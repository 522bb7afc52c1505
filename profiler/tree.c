#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/findings/findings.h"

/* Parts of a step, which add up to it, and the components whose findings stand under each. */
struct part {
	const char *id, *label;
	const char *components[4];
	int64_t ns;
};

struct builder {
	struct analysis *a;
	int64_t root_ns;
};

static int32_t add_node(struct builder *b, const char *id, const char *label, int64_t ns)
{
	struct tree_node *n;

	if (sb_grow(&b->a->tree, b->a->tree_count, sizeof(*n)) != SB_OK)
		return -1;
	n = &b->a->tree[b->a->tree_count];
	*n = (struct tree_node){.time_ns = ns,
	                        .share = ns == SB_NULL ? NAN : (double)ns / (double)b->root_ns,
	                        .first_child = -1,
	                        .next = -1};
	(void)snprintf(n->id, sizeof(n->id), "%s", id);
	(void)snprintf(n->label, sizeof(n->label), "%s", label);
	return (int32_t)b->a->tree_count++;
}

/* Hangs a node behind the last child of its parent. */
static int hang(struct builder *b, int32_t parent, int32_t *last, int32_t node)
{
	if (node < 0)
		return SB_ENOMEM;
	if (*last < 0)
		b->a->tree[parent].first_child = node;
	else
		b->a->tree[*last].next = node;
	*last = node;
	return SB_OK;
}

static bool belongs(const struct part *p, const char *code)
{
	for (size_t i = 0; i < sizeof(p->components) / sizeof(p->components[0]) && p->components[i]; i++)
		if (strncmp(code, p->components[i], strlen(p->components[i])) == 0)
			return true;
	return false;
}

/* The findings of the rank under a part: what each costs, at most the part; they may cover one another. */
static int add_causes(struct builder *b, const struct check_context *ctx, const struct rank_view *v,
                      const struct part *p, int32_t parent)
{
	int32_t last = -1;

	for (size_t i = 0; i < ctx->count; i++) {
		const struct finding *f = &ctx->items[i];
		int64_t ns = SB_NULL;
		int rc;

		if (f->rank != v->rank || !belongs(p, f->code))
			continue;
		if (!isnan(f->share_of_step))
			ns = (int64_t)llround(f->share_of_step * (double)v->total_ns);
		if (ns != SB_NULL && ns > p->ns)
			ns = p->ns;
		rc = hang(b, parent, &last, add_node(b, f->code, f->code, ns));
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

static int64_t or_zero(int64_t v)
{
	return v == SB_NULL ? 0 : v;
}

/* The rank that sets the pace: the longest time a step, ties to the first. */
static const struct rank_view *slowest(const struct check_context *ctx)
{
	const struct rank_view *worst = NULL;

	for (size_t i = 0; i < ctx->view_count; i++) {
		const struct rank_view *v = &ctx->views[i];

		if (v->compute_ns == SB_NULL || v->exposed_ns == SB_NULL || v->free_ns == SB_NULL)
			continue;
		if (!worst || v->total_ns / (int64_t)v->steps > worst->total_ns / (int64_t)worst->steps)
			worst = v;
	}
	return worst;
}

int tree_build(const struct check_context *ctx, struct analysis *out)
{
	const struct rank_view *v = slowest(ctx);
	struct builder b = {.a = out, .root_ns = v ? v->total_ns : 0};
	char label[64], rank[32] = "rank unknown";
	int32_t root, last = -1;
	int64_t rest;
	bool copies = v && v->copy_exposed_ns != SB_NULL;

	if (!v)
		return SB_OK;
	rest = v->total_ns - v->compute_ns - v->exposed_ns - or_zero(v->copy_exposed_ns) - v->free_ns;
	const struct part parts[] = {
	    {"compute", "Compute", {"compute."}, v->compute_ns},
	    {"communication",
	     "Communication not under compute",
	     {"communication.", "parallel.", "moe.", "unexplained"},
	     v->exposed_ns},
	    {"copy", "Copies under nothing", {"io.fetching"}, or_zero(v->copy_exposed_ns)},
	    /* an Ascend lane counts copies as free time */
	    {"free", "Device free", {"cpu.", copies ? "io.loading" : "io."}, v->free_ns},
	    {"outside", "Outside the device's work (preparing, end of the step)", {NULL}, rest},
	};

	if (v->rank != SB_NULL)
		(void)snprintf(rank, sizeof(rank), "rank %lld", (long long)v->rank);
	(void)snprintf(label, sizeof(label), "%s, %zu step%s", rank, v->steps, v->steps == 1 ? "" : "s");
	root = add_node(&b, "step", label, v->total_ns);
	if (root < 0)
		return SB_ENOMEM;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int rc;

		if (parts[i].ns <= 0)
			continue;
		rc = hang(&b, root, &last, add_node(&b, parts[i].id, parts[i].label, parts[i].ns));
		if (rc == SB_OK)
			rc = add_causes(&b, ctx, v, &parts[i], last);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}
