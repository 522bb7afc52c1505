#include "api/plans/resharding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/plans/kinds.h"

const char *const resharding_methods[] = {"best", "least-loaded", "greedy", "depth-first", "naive", NULL};

/* A request with what each piece takes, one way of transfer for all or the fastest for each. */
struct reshard_case {
	const struct resharding_input *in;
	int transfer; /* enum transfer, or TRANSFERS */
	struct reshard_task *tasks;
	struct reshard_problem problem;
	struct reshard_answer answer;
	double *start; /* of each task */
};

static void case_clear(struct reshard_case *c)
{
	free(c->tasks);
	free(c->start);
	reshard_answer_free(&c->answer);
}

static enum transfer way_of(const struct reshard_case *c, size_t i)
{
	return c->transfer < TRANSFERS ? (enum transfer)c->transfer
	                               : transfer_best(&c->in->network, &c->in->tiling.pieces[i]);
}

/* What each piece takes in its way, and nothing else yet. */
static int case_open(struct reshard_case *c, const struct resharding_input *in, int transfer)
{
	const struct tiling *t = &in->tiling;
	int64_t chunks;

	*c = (struct reshard_case){.in = in,
	                           .transfer = transfer,
	                           .tasks = calloc(t->count, sizeof(*c->tasks)),
	                           .start = calloc(t->count, sizeof(*c->start))};
	if (!c->tasks || !c->start)
		return SB_ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		c->tasks[i] = t->tasks[i];
		if (!isnan(t->pieces[i].bytes))
			c->tasks[i].seconds =
			    transfer_seconds(&in->network, &t->pieces[i], way_of(c, i), &chunks);
	}
	c->problem = (struct reshard_problem){c->tasks, t->count, t->hosts, in->watch};
	return SB_OK;
}

static int case_solve(struct reshard_case *c, enum reshard_method method)
{
	int rc = reshard_solve(&c->problem, method, &c->answer);

	return rc == SB_OK ? reshard_evaluate(&c->problem, &c->answer.plan, c->start) : rc;
}

/* The senders and the order of another case, with this one's way of transfer. */
static int case_follow(struct reshard_case *c, const struct reshard_case *other)
{
	int rc = reshard_plan_new(&c->problem, &c->answer.plan);

	if (rc != SB_OK)
		return rc;
	reshard_plan_copy(&c->problem, &other->answer.plan, &c->answer.plan);
	c->answer.found_by = other->answer.found_by;
	rc = reshard_lower_bound(&c->problem, &c->answer.bound);
	return rc == SB_OK ? reshard_evaluate(&c->problem, &c->answer.plan, NULL) : rc;
}

static json_t *hosts_to_json(const uint32_t *hosts, uint32_t count)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer(hosts[i]));
	return list;
}

static json_t *slice_to_json(const struct piece *p, int axes)
{
	json_t *list = json_array();

	for (int a = 0; a < axes; a++)
		json_array_append_new(list,
		                      json_pack("[I,I]", (json_int_t)p->low[a], (json_int_t)p->high[a]));
	return list;
}

static json_t *task_to_json(const struct reshard_case *c, uint32_t i)
{
	const struct piece *p = &c->in->tiling.pieces[i];
	const struct reshard_task *t = &c->tasks[i];
	json_t *o = json_pack("{s:i}", "task", (int)i);
	int64_t chunks = 1;

	if (c->in->meshes)
		json_object_set_new(o, "slice", slice_to_json(p, c->in->tensor_axes));
	if (!isnan(p->bytes))
		json_object_set_new(o, "bytes", json_integer((json_int_t)p->bytes));
	if (t->receiver_count == 0) { /* every host that needs it holds it */
		json_object_set_new(o, "sender", json_null());
		json_object_set_new(o, "receivers", json_array());
		return o;
	}
	json_object_set_new(o, "sender", json_integer(c->answer.plan.sender[i]));
	json_object_set_new(o, "receivers", hosts_to_json(t->receivers, t->receiver_count));
	if (!isnan(p->bytes)) {
		(void)transfer_seconds(&c->in->network, p, way_of(c, i), &chunks);
		json_object_set_new(o, "transfer", json_string(transfer_words[way_of(c, i)]));
		json_object_set_new(o, "chunks", json_integer((json_int_t)chunks));
	}
	json_object_set_new(o, "start_seconds", json_real(c->start[i]));
	json_object_set_new(o, "seconds", json_real(t->seconds));
	return o;
}

/* tasks: of an alternative only what tells it apart. */
static json_t *solution_to_json(const struct reshard_case *c, bool tasks)
{
	json_t *o = json_pack("{s:s,s:s}", "found_by", resharding_methods[c->answer.found_by], "transfer",
	                      transfer_words[c->transfer]),
	       *list;

	if (!tasks || !c->answer.plan.order)
		return o;
	list = json_array();
	for (size_t k = 0; k < c->problem.count; k++)
		json_array_append_new(list, task_to_json(c, c->answer.plan.order[k]));
	json_object_set_new(o, "tasks", list);
	return o;
}

static json_t *predicted_to_json(const struct reshard_case *c)
{
	const struct reshard_bound *b = &c->answer.bound;
	double bytes = 0;

	for (size_t i = 0; i < c->problem.count; i++)
		bytes += transfer_bytes(&c->in->tiling.pieces[i], way_of(c, i));
	return json_pack("{s:f,s:o,s:o,s:f}", "makespan_seconds", c->answer.plan.makespan, "network_bytes",
	                 json_whole_or_real(bytes), "busiest_host",
	                 b->host_seconds > 0 ? json_integer(b->host) : json_null(), "busiest_host_seconds",
	                 b->host_seconds);
}

/* What each way of transfer costs: seconds of all pieces together, and of the whole. */
static json_t *way_to_json(const struct reshard_case *c)
{
	double sum = 0;

	for (size_t i = 0; i < c->problem.count; i++)
		sum += c->tasks[i].seconds;
	return json_pack("{s:s,s:f,s:f,s:f}", "transfer", transfer_words[c->transfer], "makespan_seconds",
	                 c->answer.plan.makespan, "lower_bound",
	                 fmin(c->answer.bound.seconds, c->answer.plan.makespan), "task_seconds", sum);
}

static json_t *alternative(json_t *solution, double makespan, const struct reshard_case *chosen,
                           const char *reason)
{
	double best = chosen->answer.plan.makespan;

	return json_pack("{s:o,s:{s:f},s:f,s:s}", "solution", solution, "predicted", "makespan_seconds",
	                 makespan, "loses_by", best > 0 ? makespan / best - 1 : 0.0, "reason", reason);
}

/* The naive order, and the ways of transfer with the senders and the order of the plan. */
static int add_alternatives(const struct reshard_case *chosen, enum reshard_method method, json_t *list,
                            json_t *ways)
{
	const struct resharding_input *in = chosen->in;
	bool timed = false;
	int rc = SB_OK;

	if (method != RESHARD_NAIVE)
		json_array_append_new(
		    list,
		    alternative(json_pack("{s:s,s:s}", "found_by", "naive", "transfer",
		                          transfer_words[chosen->transfer]),
		                chosen->answer.naive, chosen,
		                "each piece from the first host that holds it, in the order of the pieces"));
	for (size_t i = 0; i < in->tiling.count; i++)
		timed = timed || !isnan(in->tiling.pieces[i].bytes);
	for (int way = 0; timed && rc == SB_OK && way < TRANSFERS; way++) {
		struct reshard_case c;

		rc = case_open(&c, in, way);
		if (rc == SB_OK)
			rc = case_follow(&c, chosen);
		if (rc == SB_OK)
			json_array_append_new(ways, way_to_json(&c));
		if (rc == SB_OK && way != chosen->transfer)
			json_array_append_new(
			    list, alternative(solution_to_json(&c, false), c.answer.plan.makespan, chosen,
			                      "the same senders and order, all sent in this way"));
		case_clear(&c);
	}
	return rc;
}

static json_t *quality_of(const struct reshard_answer *a, double seconds)
{
	double end = a->plan.makespan;

	return json_pack("{s:o,s:f,s:f,s:I,s:f,s:n}", "optimal", a->proved ? json_true() : json_null(),
	                 "lower_bound", a->lower_bound, "gap", end > 0 ? (end - a->lower_bound) / end : 0.0,
	                 "candidates", (json_int_t)a->candidates, "search_seconds", seconds, "model_error");
}

static json_t *warnings_of(const struct reshard_case *c)
{
	json_t *list = json_array();
	bool local = false;

	for (size_t i = 0; i < c->problem.count; i++)
		local = local || c->in->tiling.pieces[i].widest > 1 || c->tasks[i].receiver_count == 0;
	if (c->in->meshes && local && !c->in->local_given)
		json_warn(
		    list, "local_not_counted",
		    "local is not given: what the devices of one host pass to each other takes no time here");
	if (c->answer.cut_short && !c->answer.proved)
		json_warn(list, "search_cut_short",
		          "the depth-first search gave up at its limit: the plan may not be the best");
	return list;
}

static int answer_of(const struct reshard_case *c, enum reshard_method method, double start, json_t **out)
{
	json_t *alternatives = json_array(), *ways = json_array(), *predicted = predicted_to_json(c);
	int rc = add_alternatives(c, method, alternatives, ways);

	json_object_set_new(predicted, "transfers", ways);
	*out = json_pack("{s:o,s:o,s:o,s:o,s:[],s:[],s:o}", "solution", solution_to_json(c, true),
	                 "predicted", predicted, "quality", quality_of(&c->answer, plan_clock() - start),
	                 "alternatives", alternatives, "frontier", "rejected", "warnings", warnings_of(c));
	return rc;
}

static int search(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                  struct sb_error *err)
{
	struct place root = place_of("");
	RESHARDING_INPUT_AUTO in = {0};
	struct reshard_case c;
	double start = plan_clock();
	int method = RESHARD_BEST;
	int rc = resharding_from_json(request, &in, err);

	(void)out_extra;
	in.watch = watch;
	if (rc == SB_OK)
		rc = parse_word(request, &root, "method", OPTIONAL, resharding_methods, &method, err);
	if (rc != SB_OK)
		return rc;
	rc = case_open(&c, &in, in.transfer);
	if (rc == SB_OK)
		rc = case_solve(&c, (enum reshard_method)method);
	if (rc == SB_OK)
		rc = sb_watch_rc(watch);
	if (rc == SB_OK)
		rc = answer_of(&c, (enum reshard_method)method, start, out);
	case_clear(&c);
	return rc == SB_OK && *out ? SB_OK : sb_no_memory(err);
}

static json_t *limits_of(void)
{
	return json_pack("{s:i,s:i,s:i,s:i}", "tasks", RESHARD_TASKS_MAX, "hosts", RESHARD_HOSTS_MAX,
	                 "devices", TILING_DEVICES_MAX, "searched_tasks", RESHARD_SEARCH_MAX);
}

const struct plan_kind resharding_kind = {.name = "resharding",
                                          .methods = resharding_methods,
                                          .search = search,
                                          .schema = resharding_schema,
                                          .limits = limits_of};
