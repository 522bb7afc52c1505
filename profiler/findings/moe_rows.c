#include <string.h>
#include <strings.h>

#include "profiler/findings/moe.h"

/* Rows of the experts' products, and rows that the router sent: their difference is padding. Experts of a
 * fixed capacity take the same number of rows each time; without one the number changes with every batch. */

/* The number that more than half of all kernels have, found by Boyer and Moore's majority vote, then counted.
 */
struct vote {
	double leads;
	size_t votes, count, all;
};

static void vote_for(struct vote *v, double rows)
{
	if (v->votes == 0)
		v->leads = rows;
	v->votes = rows == v->leads ? v->votes + 1 : v->votes - 1;
}

static void vote_count(struct vote *v, double rows)
{
	v->all++;
	v->count += rows == v->leads;
}

static double vote_result(const struct vote *v, size_t least)
{
	return v->all >= least && 2 * v->count > v->all ? v->leads : 0;
}

/* How many rows a kernel of the router gives out: "4096,8" or "4096,8;4096,8;…" are 8 experts for each of
 * 4096 tokens; 0 = it is no such kernel. The gates of frameworks that have no kernel of their own call a
 * plain top-k. */
static double gated(const struct capture *c, const struct kernel *k)
{
	const char *type = trace_text(&c->trace, k->type ? k->type : k->name, NULL);
	const char *shape = trace_text(&c->trace, k->output_shapes, NULL);
	int64_t tokens = moe_number(&shape), experts;

	if (!strcasestr(type, "moegating") && strncasecmp(type, "topk", 4) != 0)
		return 0;
	if (tokens <= 0 || *shape++ != ',')
		return 0;
	experts = moe_number(&shape);
	return experts > 0 && (*shape == ';' || *shape == '"' || *shape == '\0')
	           ? (double)tokens * (double)experts
	           : 0;
}

void moe_count_rows(const struct capture *c, struct moe_view *m)
{
	struct vote gates = {0}, products = {0};

	for (int pass = 0; pass < 2; pass++) {
		void (*take)(struct vote * v, double rows) = pass == 0 ? vote_for : vote_count;

		for (size_t i = 0; i < c->kernel_count; i++) {
			const struct kernel *k = &c->kernels[i];
			double sent = k->communication ? 0 : gated(c, k);

			if (sent > 0)
				take(&gates, sent);
			else if (moe_kernel(c, k) == MOE_EXPERTS && moe_rows(c, k) > 0)
				take(&products, moe_rows(c, k));
		}
	}
	m->routed_rows = vote_result(&gates, 1);
	m->product_rows = vote_result(&products, MOE_PRODUCTS_LEAST);
}
