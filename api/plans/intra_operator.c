#include "api/plans/intra_operator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/schema.h"
#include "api/plans/strategy_json.h"

static const char *const methods[] = {"taps", "cfp", "oases", NULL};

int intra_memory_from_json(const json_t *request, struct intra_case *c, struct sb_error *err)
{
	struct place root = place_of("");
	int rc;

	c->memory = INFINITY;
	rc = parse_number(request, &root, "memory_bytes", OPTIONAL, 0, INTRA_BYTES_MAX, &c->memory, err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "memory_error", OPTIONAL, 0, 1, &c->memory_error, err);
	if (rc == SB_OK && c->memory_error > 0 && isinf(c->memory))
		rc = parse_fail(err, SB_EINVAL, "missing_member", &root, "memory_bytes",
		                "is missing: memory_error is a share of it");
	return rc;
}

json_t *intra_predicted(const struct intra_case *c, const uint16_t *options)
{
	double memory, seconds;

	option_graph_sum(c->told ? c->told : c->graph, options, &memory, &seconds);
	return json_pack("{s:f,s:o}", "seconds", seconds, "memory_bytes",
	                 c->sized ? json_whole_or_real(ceil(memory)) : json_null());
}

double intra_objective(const struct intra_case *c, const uint16_t *options)
{
	double memory, value;

	option_graph_sum(c->graph, options, &memory, &value);
	return value;
}

void intra_alternative(const struct intra_case *c, json_t *answer, double best, const uint16_t *options,
                       const char *reason)
{
	json_array_append_new(
	    json_object_get(answer, "alternatives"),
	    json_pack("{s:o,s:o,s:o,s:s}", "solution", c->solution(c, options), "predicted",
	              intra_predicted(c, options), "loses_by",
	              best > 0 ? json_real(intra_objective(c, options) / best - 1) : json_null(), "reason",
	              reason));
}

/* An answer must not grow with points times nodes. */
static size_t frontier_shown(const struct option_graph *g, const struct option_front *f)
{
	size_t most = INTRA_FRONTIER_CHOICES / (size_t)g->node_count;

	most = most > INTRA_FRONTIER_MAX ? INTRA_FRONTIER_MAX : most < 2 ? 2 : most;
	return f->count < most ? f->count : most;
}

/* All points, or as many evenly spread, both ends among them. */
static int frontier_of(const struct intra_case *c, const struct option_graph *g, const struct option_front *f,
                       uint16_t *options, json_t *list)
{
	size_t shown = frontier_shown(g, f);
	double last = INFINITY;

	for (size_t i = 0; i < shown; i++) {
		size_t point = shown == f->count ? i : i * (f->count - 1) / (shown - 1);
		json_t *predicted;
		double seconds;

		if (option_front_options(f, g, point, options) != SB_OK)
			return SB_ENOMEM;
		predicted = intra_predicted(c, options);
		seconds = json_real_value(json_object_get(predicted, "seconds"));
		/* where another cost is minimised, a point may be slower than a leaner one */
		if (seconds < last)
			json_array_append_new(list, json_pack("{s:f,s:O,s:o}", "seconds", seconds, "bytes",
			                                      json_object_get(predicted, "memory_bytes"),
			                                      "solution", c->solution(c, options)));
		last = fmin(last, seconds);
		json_decref(predicted);
	}
	return SB_OK;
}

static json_t *warnings_of(const struct intra_case *c, const struct option_graph *g,
                           const struct option_front *f)
{
	json_t *list = json_array();

	if (f->guessed > 0)
		json_warn(list, "guessed",
		          "the graph is too dense to be solved exactly with this effort: some options were "
		          "settled by guess");
	else if (!f->whole)
		json_warn(
		    list, "frontier_in_part",
		    "too many plans for the whole frontier: it holds those that a weighted sum finds, and "
		    "the plan may not be the best within the memory; the lower bound says how far off it is "
		    "at most");
	if (f->cut_short)
		json_warn(list, "search_cut_short",
		          "the effort was used up before all plans that a weighted sum finds were found: "
		          "between the points of the frontier others may be better");
	if (f->count > frontier_shown(g, f))
		json_warn(list, "frontier_thinned", "the frontier holds more points than are shown");
	if (c->memory_error > 0)
		json_warn(
		    list, "memory_rounded",
		    "memory was rounded up in the search: a plan that just fits may have been passed over");
	return list;
}

static int infeasible(const struct option_front *f, json_t **out_extra, struct sb_error *err)
{
	*out_extra = plan_least_memory(f->points[0].memory);
	return sb_fail(err, SB_EINFEASIBLE, "infeasible", "no plan fits: the leanest needs %.0f bytes",
	               ceil(f->points[0].memory));
}

static int answer_of(const struct intra_case *c, const struct option_graph *g, const struct option_front *f,
                     double start, uint16_t *options, json_t **out)
{
	int64_t best = option_front_within(f, c->memory);
	double bound = option_front_bound(f, g, c->memory), time = f->points[best].time;
	/* rounding up may hide a better plan that just fits */
	bool proved = bound >= time * (1 - 1e-12);
	JSON_AUTO frontier = json_array();
	int rc = frontier_of(c, g, f, options, frontier);

	if (rc == SB_OK)
		rc = option_front_options(f, g, (size_t)best, options);
	if (rc != SB_OK)
		return rc;
	*out = json_pack("{s:o,s:o,s:o,s:[],s:O,s:[],s:o}", "solution", c->solution(c, options), "predicted",
	                 intra_predicted(c, options), "quality",
	                 quality_to_json(proved ? 1 : -1, c->told ? NAN : bound, time, (int64_t)f->work,
	                                 plan_clock() - start, NAN),
	                 "alternatives", "frontier", frontier, "rejected", "warnings", warnings_of(c, g, f));
	return *out ? SB_OK : SB_ENOMEM;
}

/* Nodes and edges that have memory: each may be rounded up once. */
static double rounded_items(const struct option_graph *g)
{
	double n = 0;

	for (int64_t i = 0; i < g->node_count; i++)
		n += g->nodes[i].memory != NULL;
	for (int64_t i = 0; i < g->edge_count; i++)
		n += g->edges[i].memory != NULL;
	return fmax(n, 1);
}

int intra_answer(const struct intra_case *c, double start, json_t **out, json_t **out_extra,
                 uint16_t **out_options, struct sb_error *err)
{
	struct option_graph g = *c->graph;
	OPTION_FRONT_AUTO f = {0};
	uint16_t *options = calloc((size_t)g.node_count, sizeof(*options));
	int rc = options ? SB_OK : SB_ENOMEM;

	g.watch = c->watch;
	if (c->memory_error > 0)
		g.memory_step = c->memory * c->memory_error / rounded_items(&g);
	if (rc == SB_OK)
		rc = option_graph_solve(&g, OPTION_WORK, &f);
	if (rc == SB_EINFEASIBLE)
		rc = sb_fail(err, rc, "infeasible",
		             "no plan is possible: pairs of options are left out everywhere");
	else if (rc == SB_ELIMIT)
		rc = sb_fail(err, SB_EIMPOSSIBLE, "too_large",
		             "the graph has too many options and connections to be solved");
	else if (rc == SB_OK && option_front_within(&f, c->memory) < 0)
		rc = infeasible(&f, out_extra, err);
	else if (rc == SB_OK)
		rc = answer_of(c, &g, &f, start, options, out);
	if (rc == SB_OK)
		*out_options = options;
	else
		free(options);
	return rc == SB_ENOMEM ? sb_no_memory(err) : rc;
}

static int search(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                  struct sb_error *err)
{
	struct place root = place_of("");
	int method = 0, rc = parse_word(request, &root, "method", OPTIONAL, methods, &method, err);

	if (rc != SB_OK)
		return rc;
	if (method == 1)
		return intra_cfp(request, watch, out, out_extra, err);
	return method == 2 ? intra_oases(request, watch, out, out_extra, err)
	                   : intra_taps(request, watch, out, out_extra, err);
}

/* What each method asks for. taps is the default. */
static json_t *needs_of_methods(void)
{
	static const char needs[] =
	    "[{\"properties\":{\"method\":{\"const\":\"taps\"}},"
	    "\"anyOf\":[{\"required\":[\"nodes\"],\"not\":{\"required\":[\"operators\"]}},{\"required\":["
	    "\"operators\",\"cluster\"],\"not\":{\"required\":[\"nodes\"]}}]},"
	    "{\"properties\":{\"method\":{\"const\":\"cfp\"}},\"required\":[\"method\",\"devices\",\"link\"],"
	    "\"anyOf\":[{\"required\":[\"segments\"]},{\"required\":[\"operators\"]},{\"required\":["
	    "\"profiles\"]}]},"
	    "{\"properties\":{\"method\":{\"const\":\"oases\"}},"
	    "\"required\":[\"method\",\"hidden\",\"layers\",\"devices\",\"batch\",\"measured\"]}]";

	return json_loads(needs, 0, NULL);
}

/* A method refuses what only others know. */
static void refuse_foreign(json_t *rule, const json_t *own, json_t *all)
{
	json_t *foreign = json_array(), *value;
	const char *member;

	json_object_foreach(all, member, value)
	{
		if (!json_object_get(own, member))
			json_array_append_new(foreign, json_pack("{s:[s]}", "required", member));
	}
	json_object_set_new(rule, "not", json_pack("{s:o}", "anyOf", foreign));
}

static json_t *schema(void)
{
	json_t *shared = json_object(), *p, *object, *rules = needs_of_methods();
	json_t *own[] = {intra_taps_members(), intra_cfp_members(), intra_oases_members()};

	json_object_set_new(shared, "memory_bytes",
	                    schema_number(0, INTRA_BYTES_MAX, "of a device; left out: all"));
	json_object_set_new(shared, "memory_error",
	                    schema_number(0, 1,
	                                  "round memory up by at most this share of memory_bytes, which "
	                                  "makes large problems small; 0 = exact"));
	p = json_copy(shared);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		const char *member;
		json_t *value;

		json_object_foreach(own[i], member, value)
		{
			json_t *other = json_object_get(p, member);

			/* two methods may take a member in a form each */
			if (other && !json_equal(other, value))
				json_object_set_new(p, member,
				                    schema_either(json_incref(other), json_incref(value)));
			else
				json_object_set(p, member, value);
		}
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		json_object_update(own[i], shared);
		refuse_foreign(json_array_get(rules, i), own[i], p);
		json_decref(own[i]);
	}
	json_decref(shared);
	object = schema_object(p, NULL);
	json_object_set_new(object, "anyOf", rules);
	return object;
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:i,s:i,s:I,s:i}", "nodes", OPTION_NODES_MAX, "edges", OPTION_EDGES_MAX,
	                 "options", OPTIONS_MAX, "cells", (json_int_t)INTRA_CELLS_MAX, "frontier",
	                 INTRA_FRONTIER_MAX);
}

const struct plan_kind intra_operator_kind = {
    .name = "intra-operator", .methods = methods, .search = search, .schema = schema, .limits = limits_of};
