#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/gradient_fusion.h"
#include "api/profiles/documents.h"
#include "api/profiles/json_build.h"
#include "base/num.h"
#include "profiler/gradients.h"

/* More gradients than this are no help in an advice: the request would be larger than what it is about. */
#define GRADIENTS_MAX 1000

static double seconds(int64_t ns)
{
	return (double)ns / 1e9;
}

/* The reductions as the planner takes them. The transmission stands at the end of the event: what comes
 * before is waiting for other ranks. */
static void measure(const struct gradient_reduces *r, int64_t origin, struct fusion_measured *out)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct gradient_reduce *g = &r->items[i];
		double end = seconds(g->end_ns - origin), start = seconds(g->start_ns - origin);

		if (g->transit_us > 0 && end - g->transit_us / 1e6 > start)
			start = end - g->transit_us / 1e6;
		out[i] = (struct fusion_measured){
		    .bytes = g->bytes,
		    .ready_seconds =
		        g->ready_ns == SB_NULL || g->ready_ns < origin ? NAN : seconds(g->ready_ns - origin),
		    .start_seconds = start,
		    .end_seconds = end};
	}
}

static json_t *fusion_problem(const struct capture *c)
{
	GRADIENT_REDUCES_AUTO r = {0};
	struct fusion_measured *rows;
	struct fusion_gradient *gradients;
	struct curve_row *costs;
	json_t *request = NULL;

	if (gradient_reduces_find(c, &r) != SB_OK || r.count < 2 || r.count > GRADIENTS_MAX)
		return NULL;
	rows = calloc(r.count, sizeof(*rows));
	gradients = calloc(r.count, sizeof(*gradients));
	costs = calloc(r.count, sizeof(*costs));
	if (rows && gradients && costs) {
		measure(&r, r.backward_start_ns, rows);
		if (fusion_from_measured(rows, r.count, 0, seconds(r.backward_end_ns - r.backward_start_ns),
		                         gradients, costs, NULL) == SB_OK)
			request = fusion_request(gradients, r.count, costs, r.count);
	}
	free(rows);
	free(gradients);
	free(costs);
	return request;
}

/* The capture of the finding's rank, or the first. */
static const struct capture *capture_of(const struct profile *p, const struct finding *f)
{
	for (size_t i = 0; i < p->count; i++)
		if (f->rank == SB_NULL || p->captures[i].rank == f->rank)
			return &p->captures[i];
	return NULL;
}

json_t *advice_plan(const struct profile *p, const struct finding *f, const char *kind)
{
	const struct capture *c = capture_of(p, f);
	json_t *problem = NULL;

	if (!kind)
		return json_null();
	if (c && strcmp(kind, "gradient-fusion") == 0)
		problem = fusion_problem(c);
	else if (strcmp(kind, "pipeline") == 0)
		problem = layers_problem(p);
	return json_pack("{s:s, s:o}", "kind", kind, "problem", problem ? problem : json_null());
}
