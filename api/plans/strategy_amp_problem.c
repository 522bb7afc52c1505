#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/schema.h"
#include "api/plans/strategy_amp.h"
#include "planner/strategy/space.h"

/* AMP counts elements of 32 bit on every link. */
#define ELEMENT_BYTES 4
/* "We model backward time as forward time * 2": a layer takes three times its forward pass. */
#define PASSES 3
#define MOST_SECONDS 1e6

bool amp_has_times(const struct amp_input *in, int64_t tp)
{
	for (int i = 0; i < in->profile_count; i++) {
		if (in->profiles[i].tp == tp)
			return true;
	}
	return in->profile_count == 0;
}

struct strategy amp_strategy(const struct amp_input *in, const struct amp_candidate *c, const int64_t *stages)
{
	const struct search_request *r = &in->request;
	struct strategy s = strategy_default(&r->problem.model, &r->problem.cluster);

	s.tp = c->tp;
	s.dp = c->dp;
	s.pp = c->pp;
	s.micro_batch = c->micro_batch;
	s.recompute = in->recompute;
	s.attention = r->attention;
	s.gradient_bytes = r->gradient_bytes;
	s.sequence_parallel = !allowed_value(r, ONLY_SEQUENCE_PARALLEL, 0);
	while (s.zero < 3 && !allowed_value(r, ONLY_ZERO, s.zero))
		s.zero++;
	stack_apply(&r->stack, &s);
	s.slice_layers = stages;
	return s;
}

void amp_hold(struct amp_input *in, const struct amp_candidate *c)
{
	in->held = amp_strategy(in, c, NULL);
	in->memory = memory_model_of(&in->request.problem, &in->held);
}

static double bytes_of(const void *self, int64_t stage, int64_t first, int64_t end)
{
	const struct amp_input *in = self;
	const struct cost_problem *p = &in->request.problem;
	struct stage_run run = {.first = stage, .count = 1, .start = first};
	struct memory_parts parts;

	for (int k = 0; k < LAYER_KINDS; k++)
		run.layers[k] = model_layers_of(&p->model, end, (enum layer_kind)k) -
		                model_layers_of(&p->model, first, (enum layer_kind)k);
	parts =
	    stage_memory(p, &in->memory, &in->held, &run, strategy_micro_batches(&in->held, p->sequences));
	return memory_total(&parts);
}

static void measured_seconds(const struct amp_input *in, const struct amp_profile *profile,
                             int64_t micro_batch, double *out)
{
	double passes = PASSES + (in->recompute == RECOMPUTE_FULL ? 1 : 0);

	for (int64_t l = 0; l < in->problem.layers; l++)
		out[l] = passes * (double)micro_batch * profile->seconds[l];
}

static double both(const struct layer_time *t)
{
	return t->forward + t->backward;
}

static void modelled_seconds(const struct amp_input *in, int64_t tp, int64_t micro_batch, double *out)
{
	const struct cost_problem *p = &in->request.problem;
	const struct amp_candidate c = {tp, 1, 1, micro_batch, 1};
	struct strategy s = amp_strategy(in, &c, NULL);
	struct groups g = groups_of(&p->network, &s);
	struct layer_costs costs = layer_costs_of(p, &s, &g);

	for (int64_t l = 0; l < p->model.layers; l++)
		out[l] = both(&costs.layer[model_layer_kind(&p->model, l)]);
	out[0] += both(&costs.embedding);
	out[p->model.layers - 1] += both(&costs.head);
}

static void seconds_of(const void *self, int64_t tp, int64_t micro_batch, double *out)
{
	const struct amp_input *in = self;

	for (int i = 0; i < in->profile_count; i++) {
		if (in->profiles[i].tp == tp) {
			measured_seconds(in, &in->profiles[i], micro_batch, out);
			return;
		}
	}
	modelled_seconds(in, tp, micro_batch, out);
}

/* The layers' seconds of one tensor degree: one number for all, one of each layer, or with the embedding's in
 * front and the head's behind. */
static int read_profile(const json_t *value, const struct place *at, int64_t layers, double *out,
                        struct sb_error *err)
{
	size_t count = json_array_size(value), ends = (size_t)layers + 2;
	double *all;
	int rc;

	if (json_is_number(value)) {
		out[0] = json_number_value(value);
		if (!(out[0] >= 0 && out[0] <= MOST_SECONDS))
			return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, NULL,
			                  "must be seconds, from 0 to 1e6");
		for (int64_t l = 1; l < layers; l++)
			out[l] = out[0];
		return SB_OK;
	}
	if (!json_is_array(value))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, NULL, "must be a number or a list");
	if (count != (size_t)layers && count != ends)
		return parse_fail(err, SB_EIMPOSSIBLE, "layers", at, NULL,
		                  "must have one entry a layer, or two more for the embedding and the head");
	all = calloc(ends, sizeof(*all));
	if (!all)
		return sb_no_memory(err);
	rc = parse_numbers(value, at, 0, MOST_SECONDS, all, err);
	memcpy(out, count == ends ? all + 1 : all, (size_t)layers * sizeof(*out));
	if (count == ends) {
		out[0] += all[0];
		out[layers - 1] += all[ends - 1];
	}
	free(all);
	return rc;
}

static int read_profiles(const json_t *request, struct amp_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/layer_seconds");
	int64_t layers = in->request.problem.model.layers;
	const json_t *value;
	int rc = parse_object(request, &root, "layer_seconds", OPTIONAL, &value, err);

	if (rc != SB_OK || !value)
		return rc;
	if (json_object_size(value) < 1 || json_object_size(value) > AMP_PROFILES_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                  "must have 1 to 16 tensor degrees");
	for (void *i = json_object_iter(json_readable(value)); rc == SB_OK && i;
	     i = json_object_iter_next(json_readable(value), i)) {
		const char *name = json_object_iter_key(i);
		struct amp_profile *profile = &in->profiles[in->profile_count];
		struct place at = place_member(&here, name);
		char *end;

		profile->tp = strtoll(name, &end, 10);
		if (*end || profile->tp < 1 || name[0] < '1' || name[0] > '9')
			return parse_fail(err, SB_EINVAL, "unknown_member", &here, name,
			                  "is no tensor degree");
		profile->seconds = calloc((size_t)layers, sizeof(*profile->seconds));
		if (!profile->seconds)
			return sb_no_memory(err);
		in->profile_count++;
		rc = read_profile(json_object_iter_value(i), &at, layers, profile->seconds, err);
	}
	return rc;
}

/* What a link of a cluster carries where no node has its own: a level that is not there never holds up. */
static double rate_of(const struct cluster *c, enum link_scope scope)
{
	double rate = c->links[scope].bytes_per_second;

	return rate > 0 ? rate / ELEMENT_BYTES : INFINITY;
}

static int read_links(const json_t *request, struct amp_input *in, struct sb_error *err)
{
	static const char *const members[] = {"node", "cluster", NULL};
	const struct cluster *c = &in->request.problem.cluster;
	struct place root = place_of(""), here = place_of("/node_links");
	const json_t *list = parse_given(request, "node_links");
	int rc = SB_OK;

	in->between = calloc((size_t)c->nodes, sizeof(*in->between));
	in->inside = calloc((size_t)c->nodes, sizeof(*in->inside));
	if (!in->between || !in->inside)
		return sb_no_memory(err);
	for (int64_t i = 0; i < c->nodes; i++) {
		in->between[i] = rate_of(c, LINK_CLUSTER);
		in->inside[i] = rate_of(c, LINK_NODE);
	}
	if (!list)
		return SB_OK;
	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &root, "node_links", "must be a list");
	if ((int64_t)json_array_size(list) != c->nodes)
		return parse_fail(err, SB_EIMPOSSIBLE, "node_links", &root, "node_links",
		                  "must have one entry a node");
	in->links_given = true;
	for (size_t i = 0; rc == SB_OK && i < json_array_size(list); i++) {
		struct place at = place_index(&here, i);
		const json_t *v = json_array_get(list, i);
		double node = INFINITY, cluster = INFINITY;

		rc = parse_members(v, &at, members, err);
		if (rc == SB_OK)
			rc = parse_number(v, &at, "node", c->devices_per_node > 1 ? REQUIRED : OPTIONAL, 1,
			                  1e15, &node, err);
		if (rc == SB_OK)
			rc = parse_number(v, &at, "cluster", c->nodes > 1 ? REQUIRED : OPTIONAL, 1, 1e15,
			                  &cluster, err);
		in->inside[i] = node / ELEMENT_BYTES;
		in->between[i] = cluster / ELEMENT_BYTES;
	}
	return rc;
}

/* Parameters without vectors: 12 h^2 a layer of a GPT, as AMP counts them. */
static int read_layers(struct amp_input *in, bool tables, struct sb_error *err)
{
	struct model m = in->request.problem.model;

	in->layer = calloc((size_t)m.layers, sizeof(*in->layer));
	if (!in->layer)
		return sb_no_memory(err);
	m.biases = false;
	for (int64_t l = 0; l < m.layers; l++) {
		struct parameters n = model_layer_parameters(&m, model_layer_kind(&m, l));

		in->layer[l] = (struct amp_layer){.parameters = (double)(n.tensor + n.expert),
		                                  .sent = (double)m.seq_len * (double)m.hidden};
		if (tables && (l == 0 || l == m.layers - 1))
			in->layer[l].table = (double)m.vocab * (double)m.hidden;
	}
	return SB_OK;
}

void amp_input_free(struct amp_input *in)
{
	for (int i = 0; i < AMP_PROFILES_MAX; i++)
		free(in->profiles[i].seconds);
	free(in->between);
	free(in->inside);
	free(in->layer);
}

int amp_input_from_json(const json_t *request, bool apss, struct amp_input *out, struct sb_error *err)
{
	const struct cluster *c = &out->request.problem.cluster;
	int rc = strategy_request_from_json(request, &out->request, &out->attention_given, err);

	if (rc == SB_OK && cluster_devices(c) > AMP_DEVICES_MAX)
		rc = sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "/cluster/nodes",
		                   "this method takes at most %lld devices", (long long)AMP_DEVICES_MAX);
	if (rc == SB_OK)
		rc = read_profiles(request, out, err);
	if (rc == SB_OK)
		rc = read_links(request, out, err);
	if (rc == SB_OK)
		rc = read_layers(out, !apss, err);
	if (rc != SB_OK)
		return rc;
	out->places = !apss;
	out->problem = (struct amp_problem){.nodes = c->nodes,
	                                    .devices_per_node = c->devices_per_node,
	                                    .between = out->between,
	                                    .inside = out->inside,
	                                    .layers = out->request.problem.model.layers,
	                                    .layer = out->layer,
	                                    .sequences = out->request.problem.sequences,
	                                    .seconds = seconds_of,
	                                    .bytes = bytes_of,
	                                    .capacity = (double)out->request.problem.memory_bytes,
	                                    .self = out};
	return SB_OK;
}
