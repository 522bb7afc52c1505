#include <math.h>
#include <stdlib.h>

#include "api/plans/counts.h"
#include "api/plans/kinds.h"
#include "api/plans/scaling.h"
#include "api/plans/schema.h"

#define SECONDS_MAX 1e9
#define SECONDS_LEAST 1e-9
#define BYTES_MAX 1e18
#define RATE_MAX 1e18
#define DOUBLINGS 11 /* 1 to 1,024 devices where none are named */

struct given {
	struct scaling_lemma lemma;
	bool has_gradients, has_servers;
	struct scaling_overlap overlap;
	double server_bytes, server_rate, server_compute;
	int64_t workers;
};

static int read_gradient(const json_t *v, const struct place *at, struct scaling_gradient *out,
                         struct sb_error *err)
{
	static const char *const members[] = {"name", "backward_seconds", "all_reduce_seconds", NULL};
	const char *name;
	int rc = parse_members(v, at, members, err);

	if (rc == SB_OK)
		rc = parse_text(v, at, "name", OPTIONAL, &name, err);
	if (rc == SB_OK)
		rc = parse_number(v, at, "backward_seconds", REQUIRED, 0, SECONDS_MAX, &out->backward, err);
	if (rc == SB_OK)
		rc = parse_number(v, at, "all_reduce_seconds", REQUIRED, 0, SECONDS_MAX, &out->all_reduce,
		                  err);
	return rc;
}

static int read_gradients(const json_t *request, struct given *g, struct sb_error *err)
{
	struct place root = place_of(""), here = place_member(&root, "gradients");
	const json_t *list = parse_given(request, "gradients");
	struct scaling_gradient *gradients;
	size_t n = json_array_size(list);
	int rc = SB_OK;

	if (!list)
		return SB_OK;
	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &here, NULL, "must be a list");
	if (n < 1 || n > SCALING_GRADIENTS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, NULL,
		                  "must have 1 to 10000 entries");
	gradients = calloc(n, sizeof(*gradients));
	if (!gradients)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place p = place_index(&here, i);

		rc = read_gradient(json_array_get(list, i), &p, &gradients[i], err);
	}
	if (rc == SB_OK) {
		g->has_gradients = true;
		g->overlap = scaling_overlap(gradients, n);
		g->lemma.overhead += g->overlap.exposed;
	}
	free(gradients);
	return rc;
}

static int read_servers(const json_t *request, struct given *g, struct sb_error *err)
{
	static const char *const members[] = {"parameters_bytes", "bytes_per_second", "workers",
	                                      "compute_seconds", NULL};
	struct place root = place_of(""), here = place_member(&root, "parameter_servers");
	const json_t *o = NULL;
	int rc = parse_object(request, &root, "parameter_servers", OPTIONAL, &o, err);

	if (rc != SB_OK || !o)
		return rc;
	g->has_servers = true;
	g->server_compute = g->lemma.compute;
	rc = parse_members(o, &here, members, err);
	if (rc == SB_OK)
		rc =
		    parse_number(o, &here, "parameters_bytes", REQUIRED, 1, BYTES_MAX, &g->server_bytes, err);
	if (rc == SB_OK)
		rc = parse_number(o, &here, "bytes_per_second", REQUIRED, 1, RATE_MAX, &g->server_rate, err);
	if (rc == SB_OK)
		rc = parse_integer(o, &here, "workers", REQUIRED, 1, SCALING_DEVICES_MAX, &g->workers, err);
	if (rc == SB_OK)
		rc = parse_number(o, &here, "compute_seconds", OPTIONAL, SECONDS_LEAST, SECONDS_MAX,
		                  &g->server_compute, err);
	return rc;
}

static int read_given(const json_t *request, struct given *g, struct sb_error *err)
{
	static const char *const members[] = {
	    "kind",    "method",     "compute_seconds",   "overhead_seconds",
	    "devices", "efficiency", "parameter_servers", "gradients",
	    NULL};
	struct place root = place_of("");
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = parse_number(request, &root, "compute_seconds", REQUIRED, SECONDS_LEAST, SECONDS_MAX,
		                  &g->lemma.compute, err);
	if (rc == SB_OK)
		rc = parse_number(request, &root, "overhead_seconds",
		                  json_is_array(json_object_get(request, "gradients")) ? OPTIONAL : REQUIRED,
		                  0, SECONDS_MAX, &g->lemma.overhead, err);
	if (rc == SB_OK)
		rc = read_gradients(request, g, err);
	return rc == SB_OK ? read_servers(request, g, err) : rc;
}

static void add_row(struct scaling_rows *rows, const struct scaling_lemma *l, int64_t devices)
{
	double n = (double)devices, seconds = lemma_step(l, n), efficiency = lemma_efficiency(l, n);

	rows->row[rows->count++] = (struct scaling_row){
	    {devices, seconds},
	    efficiency,
	    NAN,
	    json_pack("{s:I}", "devices", (json_int_t)devices),
	    json_pack("{s:I,s:f,s:f,s:f,s:f}", "devices", (json_int_t)devices, "step_seconds", seconds,
	              "speedup", n * efficiency, "efficiency", efficiency, "device_seconds", n * seconds)};
}

static json_t *overlap_to_json(const struct given *g)
{
	const struct scaling_overlap *x = &g->overlap;

	return json_pack("{s:f,s:f,s:f,s:f}", "backward_seconds", x->backward_end, "all_reduce_end_seconds",
	                 x->all_reduce_end, "exposed_seconds", x->exposed, "efficiency",
	                 g->lemma.compute / (g->lemma.compute + x->exposed));
}

static json_t *servers_to_json(const struct given *g)
{
	double exact =
	    scaling_servers(g->server_bytes, (double)g->workers, g->server_rate, g->server_compute);

	return json_pack("{s:f,s:o}", "exact", exact, "servers", json_whole_or_real(fmax(ceil(exact), 1)));
}

static void add_lemma(json_t *answer, const struct given *g, double share)
{
	json_t *predicted = json_object_get(answer, "predicted");

	json_object_set_new(predicted, "overhead_ratio", json_real(g->lemma.overhead / g->lemma.compute));
	json_object_set_new(predicted, "limit_speedup", json_real_or_null(lemma_limit(&g->lemma)));
	json_object_set_new(predicted, "most_devices",
	                    json_whole_or_real(lemma_most_devices(&g->lemma, share)));
	if (g->has_gradients)
		json_object_set_new(predicted, "overlap", overlap_to_json(g));
	if (g->has_servers)
		json_object_set_new(predicted, "parameter_servers", servers_to_json(g));
}

int scaling_given(const json_t *request, json_t **out, struct sb_error *err)
{
	SCALING_ROWS_AUTO rows = {.share = SCALING_EFFICIENCY};
	struct given g = {0};
	int64_t devices[SCALING_COUNTS_MAX];
	size_t count = 0;
	double start = plan_clock();
	int rc = read_given(request, &g, err);

	if (rc == SB_OK)
		rc = scaling_share_from_json(request, &rows.share, err);
	if (rc == SB_OK)
		rc = counts_from_json(request, "devices", SCALING_DEVICES_MAX, devices, &count, err);
	if (rc != SB_OK)
		return rc;
	for (int i = 0; count == 0 && i < DOUBLINGS; i++)
		add_row(&rows, &g.lemma, (int64_t)1 << i);
	for (size_t i = 0; i < count; i++)
		add_row(&rows, &g.lemma, devices[i]);
	*out = scaling_answer(&rows, json_pack("{s:n,s:n,s:n,s:i,s:f,s:n}", "optimal", "lower_bound", "gap",
	                                       "candidates", (int)rows.count, "search_seconds",
	                                       plan_clock() - start, "model_error"));
	if (!*out)
		return sb_no_memory(err);
	add_lemma(*out, &g, rows.share);
	return SB_OK;
}

static json_t *servers_schema(void)
{
	static const char *const needs[] = {"parameters_bytes", "bytes_per_second", "workers", NULL};

	return schema_object(
	    json_pack(
	        "{s:o,s:o,s:o,s:o}", "parameters_bytes",
	        schema_number(1, BYTES_MAX, "that a worker sends, and gets back, each step"),
	        "bytes_per_second", schema_number(1, RATE_MAX, "of one server, both ways together"),
	        "workers", schema_integer(1, SCALING_DEVICES_MAX), "compute_seconds",
	        schema_number(SECONDS_LEAST, SECONDS_MAX, "of a worker's step; default: the request's")),
	    needs);
}

json_t *scaling_given_schema(void)
{
	static const char *const needs[] = {"backward_seconds", "all_reduce_seconds", NULL};
	json_t *gradient =
	    schema_object(json_pack("{s:{s:s},s:o,s:o}", "name", "type", "string", "backward_seconds",
	                            schema_number(0, SECONDS_MAX, "since the gradient before"),
	                            "all_reduce_seconds", schema_number(0, SECONDS_MAX, NULL)),
	                  needs);

	return json_pack(
	    "{s:o,s:o,s:o,s:o}", "compute_seconds",
	    schema_number(SECONDS_LEAST, SECONDS_MAX, "of a step on one device: what devices share"),
	    "overhead_seconds",
	    schema_number(0, SECONDS_MAX,
	                  "of a step on any number of devices; may be left out beside gradients"),
	    "gradients",
	    schema_list(SCALING_GRADIENTS_MAX, gradient,
	                "in the order in which backward makes them: the all-reduces that backward does not "
	                "hide count as overhead"),
	    "parameter_servers", servers_schema());
}
