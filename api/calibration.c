#include "api/calibration.h"

#include <math.h>
#include <string.h>

#include "api/plans/problem.h"
#include "planner/cost/calibrate.h"

static int check_request(const json_t *request, struct calibration_request *w, struct sb_error *err)
{
	static const char *const members[] = {"name", "profiles", "cluster", NULL};
	struct place root = place_of("");
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK)
		rc = parse_text(request, &root, "name", REQUIRED, &w->name, err);
	w->cluster = json_object_get(request, "cluster");
	w->profiles = json_object_get(request, "profiles");
	if (rc == SB_OK && !w->cluster)
		rc = parse_missing(err, request, &root, "cluster");
	if (rc == SB_OK && !json_is_array(w->profiles))
		rc = parse_fail(err, SB_EINVAL, w->profiles ? "wrong_type" : "missing_member", &root,
		                "profiles", "must be a list of profiles");
	if (rc == SB_OK &&
	    (json_array_size(w->profiles) < 1 || json_array_size(w->profiles) > CALIBRATION_PROFILES_MAX))
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "profiles",
		                "must be 1 to 64 profiles");
	return rc;
}

int calibration_read(const struct plan_lookup *lookup, const json_t *request, struct calibration_request *out,
                     struct sb_error *err)
{
	JSON_AUTO resolved = NULL;
	int rc = check_request(request, out, err);

	if (rc == SB_OK)
		rc = problem_resolve(lookup, request, &resolved, err);
	if (rc == SB_OK)
		out->resolved = json_incref(json_object_get(resolved, "cluster"));
	return rc;
}

static double number_of(const json_t *o, const char *member)
{
	const json_t *v = json_object_get(o, member);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

/* A line through calls of several sizes, else the mean of all calls. */
static struct measured_line line_of(const json_t *sum, const char *rate)
{
	const json_t *fit = json_object_get(sum, "fit");
	const json_t *from = json_is_object(fit) ? fit : sum;

	return (struct measured_line){.rate = number_of(from, rate),
	                              .overhead = number_of(from, "overhead_seconds"),
	                              .error = number_of(from, "mean_error"),
	                              .calls = number_of(sum, "calls")};
}

/* Below this a transfer is half start-up (cost-model section 7: 8 MB on NVLink), so that without a line over
 * several sizes its rate says little of the link. */
#define RATE_LEAST_BYTES (32e6)
/* Nor does a line over sizes that are all more start-up than transfer. */
#define LINE_LEAST_BYTES (8e6)

static void add_to_mean(struct measured_line *m, double rate, double error, double calls)
{
	double all = m->calls + calls;

	if (!(rate > 0) || !(calls > 0))
		return;
	m->rate = m->calls > 0 ? (m->rate * m->calls + rate * calls) / all : rate;
	m->error = m->calls > 0 ? (m->error * m->calls + error * calls) / all : error;
	m->calls = all;
}

/* How many ranks of a group, every stride-th of an aligned block, lie in each domain of so many devices; 0 =
 * not as many in all. */
static double ranks_in(double domain, double ranks, double stride)
{
	if (fmod(domain, ranks * stride) == 0)
		return ranks;
	if (fmod(ranks * stride, domain) != 0)
		return 0;
	if (stride >= domain)
		return 1;
	return fmod(domain, stride) == 0 ? domain / stride : 0;
}

/* The widest links that a group needs, and what a ring's rate is on one of them: the r ranks in a domain of
 * the next narrower links share it (B_eff = r x B, cost-model section 7). NaN where that is not known: the
 * group lies unevenly, links further in hold the ring up, or others in those domains may do so
 * (adapter_conflict). In a full mesh r ranks use r - 1 of a device's links: told is the rate of all. */
static double link_rate(const struct cluster *c, double ranks, double stride, double rate,
                        enum link_scope *out_scope)
{
	const double domains[] = {(double)c->devices_per_node, (double)c->supernode_devices, INFINITY};
	double below = 1, inner = 1, narrowest = INFINITY;

	for (int l = 0; l < LINK_SCOPES; l++) {
		double link = c->links[l].bytes_per_second, in;

		if (!(link > 0) || !(domains[l] > 0))
			continue;
		in = l == LINK_CLUSTER ? ranks : ranks_in(domains[l], ranks, stride);
		if (in == 0)
			return NAN;
		if (l == LINK_NODE && in > 1) {
			double share = cluster_link_share(c->links[l].mesh_links, (int64_t)in);

			link *= share;
			rate /= in == ranks ? share : 1;
		}
		*out_scope = (enum link_scope)l;
		if (in == ranks)
			return below * link <= narrowest && (below == 1 || below == inner) ? rate / below
			                                                                   : NAN;
		if (in > below)
			narrowest = fmin(narrowest, below * link);
		below = in;
		inner = domains[l];
	}
	return NAN;
}

static void add_collective(const struct cluster *c, const json_t *o, struct measured *m)
{
	double ranks = number_of(o, "ranks"), stride = number_of(o, "stride"), rate;
	struct measured_line l = line_of(o, "bus_bytes_per_second");
	const char *type = json_string_value(json_object_get(o, "type"));
	enum link_scope scope = LINK_CLUSTER;

	if (!(number_of(o, "largest_bytes") >= (isnan(l.overhead) ? RATE_LEAST_BYTES : LINE_LEAST_BYTES)))
		return;
	if (!(ranks > 1) || !(stride > 0) || !type || strcmp(type, "all_to_all") == 0)
		return;
	rate = link_rate(c, ranks, stride, l.rate, &scope);
	add_to_mean(&m->links[scope], rate, l.error, l.calls);
}

/* What Ascend's captures tell of HCCS is the rate of one link: 28 GB/s at most on 910B, which has seven. */
static void add_link(const struct cluster *c, const json_t *o, struct measured *m)
{
	int64_t links = c->links[LINK_NODE].mesh_links > 0 ? c->links[LINK_NODE].mesh_links : 1;
	const char *name = json_string_value(json_object_get(o, "link"));
	struct measured_line l = line_of(o, "bytes_per_second");

	if (name && strcmp(name, "HCCS") == 0)
		add_to_mean(&m->links[LINK_NODE], (double)links * l.rate, l.error, l.calls);
	else if (name && strcmp(name, "RDMA") == 0)
		add_to_mean(&m->links[LINK_CLUSTER], l.rate, l.error, l.calls);
}

static struct measured measured_of(const struct cluster *c, const json_t *e)
{
	const json_t *products = json_object_get(e, "matrix_products"),
	             *gap = json_object_get(e, "kernel_gap");
	const json_t *overlap = json_object_get(e, "overlap"), *attention = json_object_get(e, "attention");
	const json_t *classes = json_object_get(products, "classes");
	const json_t *largest = json_array_get(classes, json_array_size(classes) - 1);
	struct measured m = {.products = line_of(products, "flops_per_second"),
	                     .attention = line_of(attention, "flops_per_second"),
	                     .element_wise = line_of(json_object_get(e, "element_wise"), "bytes_per_second")};
	size_t i;
	json_t *o;

	m.product_flop = number_of(products, "flops") / number_of(products, "calls");
	m.product_most = number_of(largest, "flops") / number_of(largest, "calls");
	m.gaps = (struct measured_line){NAN, number_of(gap, "median_seconds"), NAN, number_of(gap, "count")};
	m.overlap =
	    (struct measured_line){NAN, number_of(overlap, "slowdown"), NAN, number_of(overlap, "calls")};
	/* a rate over the whole square says nothing of the causal half */
	if (json_is_true(json_object_get(attention, "whole_square")))
		m.attention.rate = NAN;
	json_array_foreach(json_object_get(e, "collectives"), i, o) add_collective(c, o, &m);
	json_array_foreach(json_object_get(e, "links"), i, o) add_link(c, o, &m);
	return m;
}

static json_t *row_json(enum calibrated_constant k, const struct calibrated *c)
{
	return json_pack("{s:s,s:f,s:o,s:o}", "constant", calibrated_name(k), "value", c->value, "error",
	                 json_real_or_null(c->error), "calls", json_whole_or_real(c->calls));
}

/* Profiles may show what the cluster cannot do: then they are of another one. */
static int check_measured(const json_t *constants, struct constants *io, struct sb_error *err)
{
	struct place root = place_of("");
	struct sb_error why = {0};
	int rc = calibration_from_json(constants, &root, io, &why);

	if (rc != SB_EIMPOSSIBLE)
		return rc == SB_OK ? rc : sb_fail(err, rc, why.word, "%s", why.text);
	return sb_fail_field(err, rc, "out_of_range", "/profiles",
	                     "show %s = %.4g, which %s: are they of the cluster's devices and links?",
	                     why.field + 1, json_number_value(json_object_get(constants, why.field + 1)),
	                     why.text);
}

int calibration_measure(const json_t *cluster, json_t *const *documents, size_t count, json_t **out,
                        struct sb_error *err)
{
	struct measured profiles[CALIBRATION_PROFILES_MAX];
	struct calibrated found[CALIBRATED_CONSTANTS];
	struct place root = place_of(""), at = place_of("/cluster");
	struct constants k;
	struct cluster c;
	JSON_AUTO constants = json_object();
	json_t *rows = json_array();
	int rc = cluster_from_json(cluster, &at, &c, err);

	if (rc != SB_OK) {
		json_decref(rows);
		return rc;
	}
	k = constants_for(&c);
	for (size_t i = 0; i < count && i < CALIBRATION_PROFILES_MAX; i++)
		profiles[i] = measured_of(&c, documents[i]);
	calibrate(&c, &k, profiles, count, found);
	for (int i = 0; i < CALIBRATED_CONSTANTS; i++) {
		if (isnan(found[i].value))
			continue;
		json_object_set_new(constants, calibrated_name((enum calibrated_constant)i),
		                    json_real(found[i].value));
		json_array_append_new(rows, row_json((enum calibrated_constant)i, &found[i]));
	}
	if (json_array_size(rows) == 0)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "nothing_measured", &root, "profiles",
		                "show nothing that the cost model could be calibrated by: record shapes, "
		                "of operators as large as the jobs' that are planned");
	else
		rc = check_measured(constants, &k, err);
	if (rc == SB_OK && !(*out = json_pack("{s:O,s:O}", "constants", constants, "measured", rows)))
		rc = sb_no_memory(err);
	json_decref(rows);
	return rc;
}

int calibration_check(const json_t *document, struct sb_error *err)
{
	static const char *const members[] = {"constants", "measured", "profiles", "cluster", NULL};
	const struct cluster none = {
	    .compute_efficiency = NAN, .memory_efficiency = NAN, .link_efficiency = {NAN, NAN, NAN}};
	struct constants k = constants_for(&none);
	struct place root = place_of(""), here = place_of("/constants");
	const json_t *constants;
	int rc = parse_members(document, &root, members, err);

	if (rc == SB_OK)
		rc = parse_object(document, &root, "constants", REQUIRED, &constants, err);
	return rc == SB_OK ? calibration_from_json(constants, &here, &k, err) : rc;
}

int calibration_cluster(const json_t *given, json_t **out, struct sb_error *err)
{
	const struct plan_lookup lookup = {0};
	struct place at = place_of("/cluster");
	JSON_AUTO resolved = NULL;
	JSON_AUTO request = json_object();
	struct cluster c;
	int rc;

	if (!request || json_object_set_new(request, "cluster", json_deep_copy(given)) != 0)
		return sb_no_memory(err);
	rc = problem_resolve(&lookup, request, &resolved, err);
	if (rc == SB_OK)
		rc = cluster_from_json(json_object_get(resolved, "cluster"), &at, &c, err);
	if (rc == SB_OK)
		*out = json_incref(json_object_get(resolved, "cluster"));
	return rc;
}

int calibration_cluster_text(const char *text, size_t len, const char *name, json_t **out,
                             struct sb_error *err)
{
	json_error_t where;
	JSON_AUTO given = json_read_request(text, len, &where);

	return given ? calibration_cluster(given, out, err)
	             : sb_fail_at(err, SB_EINVAL, "not_json", name, where.line, where.position, "%s",
	                          where.text);
}

int calibration_text(json_t *cluster, json_t *const *documents, size_t count, char **out_text,
                     struct sb_error *err)
{
	JSON_AUTO made = NULL;
	int rc = calibration_measure(cluster, documents, count, &made, err);

	if (rc != SB_OK)
		return rc;
	*out_text = json_object_set(made, "cluster", cluster) == 0 ? json_write(made, NULL) : NULL;
	return *out_text ? SB_OK : sb_no_memory(err);
}
