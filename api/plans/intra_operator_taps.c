#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/intra_operator_tables.h"
#include "api/plans/problem.h"
#include "api/plans/schema.h"
#include "api/plans/strategy_json.h"

/* Method `taps`: what each link carries, at the rate of that link. */

/* The links as the request tells them; what software reaches of them only where it says so. */
static struct intra_rates rates_of(const struct cluster *c, enum intra_cost cost)
{
	struct intra_rates r = {.least = INFINITY, .cost = cost};

	for (int i = 0; i < LINK_SCOPES; i++) {
		double share = isnan(c->link_efficiency[i]) ? 1 : c->link_efficiency[i];
		double rate = share * c->links[i].bytes_per_second;

		r.seconds_per_byte[i] = rate > 0 ? 1 / rate : NAN;
		if (rate > 0)
			r.least = fmin(r.least, 1 / rate);
	}
	return r;
}

static json_t *tables_solution(const struct intra_case *c, const uint16_t *options)
{
	return intra_tables_solution(c->self, options);
}

/* Beside the plan that sends least: the one that is fastest on these links. */
static int add_fastest(const struct intra_case *c, json_t *answer)
{
	OPTION_FRONT_AUTO f = {0};
	uint16_t *options = calloc((size_t)c->graph->node_count, sizeof(*options));
	int rc = options ? option_graph_solve(c->told, OPTION_WORK, &f) : SB_ENOMEM;

	if (rc == SB_OK && option_front_within(&f, c->memory) >= 0)
		rc = option_front_options(&f, c->graph, (size_t)option_front_within(&f, c->memory), options);
	if (rc == SB_OK)
		intra_alternative(c, answer, options, "the plan that is fastest by topology");
	free(options);
	return rc == SB_ENOMEM ? rc : SB_OK;
}

static int read_cluster(const json_t *request, struct cluster *out, bool *out_given, struct sb_error *err)
{
	struct place at = place_of("/cluster");
	const json_t *value = json_object_get(request, "cluster");

	*out_given = value != NULL;
	return value ? cluster_from_json(value, &at, out, err) : SB_OK;
}

int intra_taps(const json_t *request, json_t **out, json_t **out_extra, struct sb_error *err)
{
	static const char *const members[] = {"kind",  "method",       "cluster",      "cost", "nodes",
	                                      "edges", "memory_bytes", "memory_error", NULL};
	struct place root = place_of("");
	INTRA_TABLES_AUTO t = {0};
	struct intra_case c = {.solution = tables_solution, .self = &t};
	struct cluster cluster = {0};
	struct intra_rates rates = {0};
	bool given = false;
	double start = plan_clock();
	uint16_t *options = NULL;
	int cost = INTRA_TOPOLOGY, rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = parse_word(request, &root, "cost", OPTIONAL, intra_cost_words, &cost, err);
	if (rc == SB_OK)
		rc = intra_memory_from_json(request, &c, err);
	if (rc == SB_OK)
		rc = read_cluster(request, &cluster, &given, err);
	if (rc != SB_OK)
		return rc;
	rates = rates_of(&cluster, (enum intra_cost)cost);
	rc = intra_tables_read(request, &rates, &t, err);
	if (rc != SB_OK)
		return rc;
	c.graph = &t.graph;
	c.told = cost == INTRA_VOLUME ? &t.told : NULL;
	c.sized = t.sized;
	rc = intra_answer(&c, start, out, out_extra, &options, err);
	if (rc == SB_OK && c.told && add_fastest(&c, *out) != SB_OK)
		rc = sb_no_memory(err);
	free(options);
	return rc;
}

json_t *intra_taps_members(void)
{
	json_t *p = json_object();

	json_object_set_new(p, "cluster",
	                    json_pack("{s:[o,{s:s}]}", "anyOf", cluster_schema(), "type", "string"));
	json_object_set_new(p, "cost", schema_words(intra_cost_words));
	intra_tables_members(p);
	return p;
}
