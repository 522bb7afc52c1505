#include "api/profiles/documents.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/json_build.h"
#include "base/num.h"

/* The critical paths and the operators need nothing of the other analyses, nor they of them. */
struct apart {
	struct profile_results *r;
	const struct collectives *collectives;
	int rc;
	struct sb_error err;
};

static void find_apart(void *arg)
{
	struct apart *a = arg;

	a->rc = critical_paths_find(&a->r->profile, a->collectives, &a->r->paths, &a->err);
	if (a->rc == SB_OK)
		a->rc = operators_collect(&a->r->profile, &a->r->operators, &a->err);
}

static int find_the_rest(struct profile_results *r, const struct collectives *matched,
                         const struct thresholds *t, struct sb_error *err)
{
	int rc = breakdown_compute(&r->profile, &r->profile.warnings, &r->breakdown, err);

	if (rc == SB_OK)
		rc = communication_compute(&r->profile, threshold_get(t, "r_wait")->value, &r->communication,
		                           err);
	return rc == SB_OK ? analysis_run(&r->profile, &r->breakdown, &r->communication, matched, t,
	                                  &r->analysis, err)
	                   : rc;
}

int results_analyse(struct profile_results *r, const struct thresholds *t, const struct sb_executor *executor,
                    struct sb_error *err)
{
	COLLECTIVES_AUTO c = {0};
	struct apart apart = {.r = r, .collectives = &c};
	int rc = collectives_match(&r->profile, &c);

	if (rc != SB_OK)
		return sb_fail(err, rc, "collectives", "The collectives cannot be matched: %s.",
		               sb_strerror(rc));
	if (!executor || !executor->submit(executor->self, find_apart, &apart))
		find_apart(&apart);
	rc = find_the_rest(r, &c, t, err);
	if (executor)
		executor->wait(executor->self);
	if (rc == SB_OK && apart.rc != SB_OK && err)
		*err = apart.err;
	return rc == SB_OK ? apart.rc : rc;
}

int results_compute(const struct read_input *inputs, size_t count, const struct read_limits *limits,
                    const struct read_hooks *hooks, const struct thresholds *t, struct profile_results *out,
                    struct sb_error *err)
{
	struct profile_results r = {0};
	int rc = profile_read(inputs, count, limits, hooks, &r.profile, err);

	if (rc == SB_OK)
		rc = results_analyse(&r, t, hooks ? hooks->executor : NULL, err);
	if (rc == SB_OK)
		*out = r;
	else
		results_free(&r);
	return rc;
}

void results_free(struct profile_results *r)
{
	analysis_free(&r->analysis);
	critical_paths_free(&r->paths);
	communication_free(&r->communication);
	operators_free(&r->operators);
	breakdown_free(&r->breakdown);
	profile_free(&r->profile);
}

json_t *json_int_or_null(int64_t v)
{
	return v == SB_NULL ? json_null() : json_integer(v);
}

json_t *json_string_id(const struct sb_strings *s, uint32_t id)
{
	size_t len;
	const char *text = sb_strings_get(s, id, &len);

	return id == 0 ? json_null() : json_text(text, len);
}

json_t *document_breakdown(const struct breakdown *b)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < b->count; i++) {
		const struct breakdown_row *r = &b->rows[i];
		json_t *o = json_object();

		json_object_set_new(o, "rank", json_int_or_null(r->rank));
		json_object_set_new(o, "device", json_int_or_null(r->device));
		json_object_set_new(o, "step", json_int_or_null(r->step));
		json_object_set_new(o, "step_us", json_us(r->step_ns));
		json_object_set_new(o, "span_us", json_us(r->span_ns));
		json_object_set_new(o, "busy_us", json_us(r->busy_ns));
		json_object_set_new(o, "compute_us", json_us(r->compute_ns));
		json_object_set_new(o, "communication_us", json_us(r->communication_ns));
		json_object_set_new(o, "communication_exposed_us", json_us(r->exposed_ns));
		json_object_set_new(o, "overlap_us", json_us(r->overlap_ns));
		json_object_set_new(o, "copy_us", json_us(r->copy_ns));
		json_object_set_new(o, "copy_exposed_us", json_us(r->copy_exposed_ns));
		json_object_set_new(o, "free_us", json_us(r->free_ns));
		json_object_set_new(o, "bubble_us", json_us(r->bubble_ns));
		json_object_set_new(o, "preparing_us", json_us(r->preparing_ns));
		json_array_append_new(rows, o);
	}
	return json_pack("{s:o}", "rows", rows);
}

static const char *class_name(enum operator_class c)
{
	static const char *const names[OPERATOR_CLASS_COUNT] = {"compute", "communication", "copy", "host"};

	return names[c];
}

/* Null when the sources do not know launches. */
static json_t *graphs_json(const struct operator_table *t, const struct operator_query *q)
{
	struct operator_graphs g = operators_graphs(t, q);

	if (g.count == SB_NULL)
		return json_null();
	return json_pack("{s:I, s:o, s:o}", "count", (json_int_t)g.count, "total_us", json_us(g.total_ns),
	                 "share", json_real_or_null(g.share));
}

json_t *document_operators(const struct operator_table *t, const struct operator_query *q)
{
	struct operator_line *lines = NULL;
	size_t count = 0;
	json_t *rows;

	if (operators_select(t, q, &lines, &count) != SB_OK)
		return NULL;
	rows = json_array();
	for (size_t i = 0; i < count; i++) {
		const struct operator_row *r = &lines[i].row;
		json_t *o = json_object();

		json_object_set_new(o, "name", json_string_id(t->strings, r->name));
		json_object_set_new(o, "type", json_string_id(t->strings, r->type));
		json_object_set_new(o, "unit", json_string_id(t->strings, r->unit));
		json_object_set_new(o, "class", json_string(class_name(r->klass)));
		json_object_set_new(o, "count", json_integer(r->count));
		json_object_set_new(o, "total_us", json_us(r->total_ns));
		json_object_set_new(o, "mean_us",
		                    json_real_or_null((double)r->total_ns / 1000.0 / (double)r->count));
		json_object_set_new(o, "min_us", json_us(r->min_ns));
		json_object_set_new(o, "max_us", json_us(r->max_ns));
		json_object_set_new(o, "share", json_real_or_null(lines[i].share));
		json_object_set_new(o, "graph_count", json_int_or_null(r->graph_count));
		json_array_append_new(rows, o);
	}
	free(lines);
	return json_pack("{s:o, s:o}", "rows", rows, "graph_launched", graphs_json(t, q));
}

static json_t *link_json(const struct link *l)
{
	json_t *packets = json_array();
	double rate = l->transit_us > 0 ? (double)l->bytes / (l->transit_us * 1e-6) : NAN;

	for (size_t i = 0; i < l->packet_count; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "bytes", json_integer(l->packets[i].bytes));
		json_object_set_new(o, "count", json_integer(l->packets[i].count));
		json_object_set_new(o, "total_us", json_real_or_null(l->packets[i].total_us));
		json_array_append_new(packets, o);
	}
	return json_pack("{s:s, s:I, s:o, s:o, s:o}", "link", l->name, "bytes", (json_int_t)l->bytes,
	                 "transit_us", json_real_or_null(l->transit_us), "bytes_per_second",
	                 json_real_or_null(rate), "packets", packets);
}

static json_t *communication_row_json(const struct communication_report *c, const struct communication_row *r)
{
	json_t *o = json_object(), *links = json_array();

	/* the file lists all five links of every operator, most of them unused */
	for (size_t i = 0; i < r->link_count; i++) {
		if (r->links[i].bytes != 0 || r->links[i].transit_us > 0)
			json_array_append_new(links, link_json(&r->links[i]));
	}
	json_object_set_new(o, "rank", json_int_or_null(r->rank));
	json_object_set_new(o, "step", json_int_or_null(r->step));
	json_object_set_new(o, "name", json_string_id(c->strings, r->name));
	json_object_set_new(o, "group", json_string_id(c->strings, r->group));
	json_object_set_new(o, "count", json_integer(r->count));
	json_object_set_new(o, "elapse_us", json_real_or_null(r->elapse_us));
	json_object_set_new(o, "transit_us", json_real_or_null(r->transit_us));
	json_object_set_new(o, "wait_us", json_real_or_null(r->wait_us));
	json_object_set_new(o, "bytes", json_int_or_null(r->bytes));
	json_object_set_new(o, "links", links);
	return o;
}

json_t *document_communication(const struct communication_report *c)
{
	json_t *operators = json_array(), *domains = json_array();

	for (size_t i = 0; i < c->row_count; i++)
		json_array_append_new(operators, communication_row_json(c, &c->rows[i]));
	for (size_t i = 0; i < c->domain_count; i++) {
		const struct domain *d = &c->domains[i];
		json_t *o = json_object(), *ranks = json_array();

		for (size_t k = 0; k < d->rank_count; k++)
			json_array_append_new(ranks, json_int_or_null(d->ranks[k]));
		json_object_set_new(o, "group", json_string_id(c->strings, d->group));
		json_object_set_new(o, "parallelism", json_string_id(c->strings, d->parallelism));
		json_object_set_new(o, "ranks", ranks);
		json_object_set_new(o, "r_wait", json_real_or_null(d->r_wait));
		json_object_set_new(o, "slow_rank", json_int_or_null(d->slow_rank));
		json_array_append_new(domains, o);
	}
	return json_pack("{s:o, s:o}", "operators", operators, "domains", domains);
}
