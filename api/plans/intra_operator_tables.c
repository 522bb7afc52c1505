#include "api/plans/intra_operator_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/schema.h"

const char *const intra_cost_words[] = {"topology", "volume", NULL};
const char *const intra_scope_words[] = {"node", "supernode", "cluster", NULL};

void intra_tables_free(struct intra_tables *t)
{
	for (int64_t i = 0; t->values && i < t->graph.node_count + t->graph.edge_count; i++)
		free(t->values[i]);
	free(t->values);
	json_decref(t->places);
	free(t->nodes);
	free(t->told_nodes);
	free(t->edges);
	free(t->told_edges);
	*t = (struct intra_tables){0};
}

/* A list of 1 (or `least`) to most items. */
static int list_of(const json_t *o, const struct place *at, const char *member, enum need need, int64_t least,
                   int64_t most, const json_t **out, struct sb_error *err)
{
	*out = parse_given(o, member);
	if (!*out && need == REQUIRED)
		return parse_missing(err, o, at, member);
	if (*out && !json_is_array(*out))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, member, "must be a list");
	if (*out && ((int64_t)json_array_size(*out) < least || (int64_t)json_array_size(*out) > most))
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, member,
		                  "has too few or too many items (GET /v1/plan-kinds has the limits)");
	return SB_OK;
}

/* Room for the three numbers of each cell; SB_EIMPOSSIBLE past the bound. */
static int take(struct intra_tables *t, int64_t slot, int64_t cells, const struct place *at,
                struct sb_error *err)
{
	t->cells += cells;
	if (t->cells > INTRA_CELLS_MAX)
		return parse_fail(
		    err, SB_EIMPOSSIBLE, "out_of_range", at, NULL,
		    "has too many options and pairs of options, with those before it: 2^21 at most");
	t->values[slot] = calloc((size_t)cells, 3 * sizeof(double));
	return t->values[slot] ? SB_OK : sb_no_memory(err);
}

/* One send: its scope, and how its bytes count; `bytes` is read by who knows its shape. */
static int read_send(const json_t *o, const struct place *at, const struct intra_rates *r, double *out_told,
                     double *out_counted, struct sb_error *err)
{
	static const char *const members[] = {"scope", "bytes", NULL};
	int scope = 0, rc = parse_members(o, at, members, err);

	if (rc == SB_OK)
		rc = parse_word(o, at, "scope", REQUIRED, intra_scope_words, &scope, err);
	if (rc != SB_OK)
		return rc;
	*out_told = r->seconds_per_byte[scope];
	*out_counted = r->cost == INTRA_VOLUME ? r->least : *out_told;
	if (isnan(*out_told))
		return parse_fail(err, SB_EIMPOSSIBLE, "no_link", at, "scope",
		                  "is a link that the cluster does not have");
	return SB_OK;
}

static int read_option(const json_t *o, const struct place *at, const struct intra_rates *r, double *time,
                       double *told, double *memory, bool *io_sized, struct sb_error *err)
{
	static const char *const members[] = {"name", "seconds", "memory_bytes", "sends", NULL};
	struct place here = place_member(at, "sends");
	const json_t *sends = NULL;
	const char *name;
	double seconds = 0, bytes = NAN;
	int rc = parse_members(o, at, members, err);

	if (rc == SB_OK)
		rc = parse_text(o, at, "name", OPTIONAL, &name, err);
	if (rc == SB_OK)
		rc = list_of(o, at, "sends", OPTIONAL, 0, 16, &sends, err);
	if (rc == SB_OK)
		rc = parse_number(o, at, "seconds", sends ? OPTIONAL : REQUIRED, 0, INTRA_SECONDS_MAX,
		                  &seconds, err);
	if (rc == SB_OK)
		rc = parse_number(o, at, "memory_bytes", OPTIONAL, 0, INTRA_BYTES_MAX, &bytes, err);
	*time = *told = seconds;
	*memory = isnan(bytes) ? 0 : ceil(bytes);
	*io_sized = *io_sized || !isnan(bytes);
	for (size_t i = 0; rc == SB_OK && i < json_array_size(sends); i++) {
		struct place p = place_index(&here, i);
		double as_is, counted, sent = 0;

		rc = read_send(json_array_get(sends, i), &p, r, &as_is, &counted, err);
		if (rc == SB_OK)
			rc = parse_number(json_array_get(sends, i), &p, "bytes", REQUIRED, 0, INTRA_BYTES_MAX,
			                  &sent, err);
		*told += sent * as_is;
		*time += sent * counted;
	}
	return rc;
}

static int read_node(const json_t *o, const struct place *at, const struct intra_rates *r, int64_t n,
                     struct intra_tables *t, struct sb_error *err)
{
	static const char *const members[] = {"name", "options", NULL};
	struct place here = place_member(at, "options");
	const json_t *list = NULL;
	const char *name = NULL;
	int64_t count;
	double *v;
	int rc = parse_members(o, at, members, err);

	if (rc == SB_OK)
		rc = parse_text(o, at, "name", OPTIONAL, &name, err);
	if (rc == SB_OK && name && json_object_get(t->places, name))
		rc = parse_fail(err, SB_EIMPOSSIBLE, "duplicate", at, "name",
		                "is the name of an earlier node");
	if (rc == SB_OK && name && json_object_set_new(t->places, name, json_integer(n)) != 0)
		rc = sb_no_memory(err);
	if (rc == SB_OK)
		rc = list_of(o, at, "options", REQUIRED, 1, OPTIONS_MAX, &list, err);
	count = (int64_t)json_array_size(list);
	if (rc == SB_OK)
		rc = take(t, n, count, at, err);
	if (rc != SB_OK)
		return rc;
	v = t->values[n];
	for (int64_t i = 0; rc == SB_OK && i < count; i++) {
		struct place p = place_index(&here, (size_t)i);

		rc = read_option(json_array_get(list, (size_t)i), &p, r, &v[i], &v[count + i],
		                 &v[2 * count + i], &t->sized, err);
	}
	t->nodes[n] = (struct option_node){count, v, v + 2 * count};
	t->told_nodes[n] = (struct option_node){count, v + count, v + 2 * count};
	return rc;
}

static int fail_length(const json_t *value, const struct place *at, const char *member, const char *text,
                       struct sb_error *err)
{
	return json_is_array(value) ? parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, member, text)
	                            : parse_fail(err, SB_EINVAL, "wrong_type", at, member, text);
}

/* Adds rate x matrix to out. A null in it is a pair that cannot be. */
static int add_matrix(const json_t *o, const struct place *at, const char *member, int64_t rows,
                      int64_t columns, double high, double rate, double other_rate, double *out,
                      double *other, struct sb_error *err)
{
	struct place here = place_member(at, member);
	const json_t *list = json_object_get(o, member);

	if (!json_is_array(list) || (int64_t)json_array_size(list) != rows)
		return fail_length(list, at, member, "must be a list with one row for each option of from",
		                   err);
	for (int64_t i = 0; i < rows; i++) {
		const json_t *row = json_array_get(list, (size_t)i);
		struct place p = place_index(&here, (size_t)i);

		if (!json_is_array(row) || (int64_t)json_array_size(row) != columns)
			return fail_length(row, &p, NULL,
			                   "must be a list with one number for each option of to", err);
		for (int64_t k = 0; k < columns; k++) {
			const json_t *v = json_array_get(row, (size_t)k);
			double x = json_is_null(v) ? INFINITY : json_number_value(v);

			if (!json_is_null(v) && (!json_is_number(v) || !(x >= 0) || !(x <= high)))
				return parse_fail(
				    err, json_is_number(v) ? SB_EIMPOSSIBLE : SB_EINVAL,
				    json_is_number(v) ? "out_of_range" : "wrong_type", &p, NULL,
				    "must hold numbers from 0 up, or null for a pair that cannot be");
			if (isinf(x) && !other)
				return parse_fail(err, SB_EINVAL, "wrong_type", &p, NULL,
				                  "must hold numbers: null is for seconds");
			out[i * columns + k] += isinf(x) ? x : rate * x;
			if (other)
				other[i * columns + k] += isinf(x) ? x : other_rate * x;
		}
	}
	return SB_OK;
}

/* A node by its place or its name. */
static int read_end(const json_t *o, const struct place *at, const char *member, const struct intra_tables *t,
                    int64_t *out, struct sb_error *err)
{
	const json_t *v = json_object_get(o, member);
	const char *name = json_string_value(v);

	if (!name)
		return parse_integer(o, at, member, REQUIRED, 0, t->graph.node_count - 1, out, err);
	v = json_object_get(t->places, name);
	if (v) {
		*out = json_integer_value(v);
		return SB_OK;
	}
	return parse_fail(err, SB_EIMPOSSIBLE, "unknown_node", at, member, "names no node");
}

static int read_edge_values(const json_t *o, const struct place *at, const struct intra_rates *r,
                            int64_t rows, int64_t columns, double *v, bool *io_sized, struct sb_error *err)
{
	struct place here = place_member(at, "sends");
	int64_t cells = rows * columns;
	const json_t *sends = NULL;
	int rc = list_of(o, at, "sends", OPTIONAL, 0, 16, &sends, err);

	if (rc == SB_OK && parse_given(o, "seconds"))
		rc = add_matrix(o, at, "seconds", rows, columns, INTRA_SECONDS_MAX, 1, 1, v, v + cells, err);
	if (rc == SB_OK && parse_given(o, "memory_bytes")) {
		rc = add_matrix(o, at, "memory_bytes", rows, columns, INTRA_BYTES_MAX, 1, 0, v + 2 * cells,
		                NULL, err);
		*io_sized = true;
	}
	for (size_t i = 0; rc == SB_OK && i < json_array_size(sends); i++) {
		struct place p = place_index(&here, i);
		double as_is, counted;

		rc = read_send(json_array_get(sends, i), &p, r, &as_is, &counted, err);
		if (rc == SB_OK)
			rc = add_matrix(json_array_get(sends, i), &p, "bytes", rows, columns, INTRA_BYTES_MAX,
			                counted, as_is, v, v + cells, err);
	}
	return rc;
}

static int read_edge(const json_t *o, const struct place *at, const struct intra_rates *r, int64_t k,
                     struct intra_tables *t, struct sb_error *err)
{
	static const char *const members[] = {"from", "to", "seconds", "memory_bytes", "sends", NULL};
	int64_t from = 0, to = 0, cells;
	double *v;
	int rc = parse_members(o, at, members, err);

	if (rc == SB_OK)
		rc = read_end(o, at, "from", t, &from, err);
	if (rc == SB_OK)
		rc = read_end(o, at, "to", t, &to, err);
	if (rc == SB_OK && from == to)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "loop", at, "to", "is where the edge comes from");
	if (rc != SB_OK)
		return rc;
	cells = t->nodes[from].options * t->nodes[to].options;
	rc = take(t, t->graph.node_count + k, cells, at, err);
	if (rc != SB_OK)
		return rc;
	v = t->values[t->graph.node_count + k];
	t->edges[k] =
	    (struct option_edge){from, to, v, parse_given(o, "memory_bytes") ? v + 2 * cells : NULL};
	t->told_edges[k] = t->edges[k];
	t->told_edges[k].time = v + cells;
	return read_edge_values(o, at, r, t->nodes[from].options, t->nodes[to].options, v, &t->sized, err);
}

int intra_tables_read(const json_t *request, const struct intra_rates *rates, struct intra_tables *out,
                      struct sb_error *err)
{
	struct place root = place_of(""), nodes_at = place_of("/nodes"), edges_at = place_of("/edges");
	const json_t *nodes = NULL, *edges = NULL;
	size_t n, m;
	int rc = list_of(request, &root, "nodes", REQUIRED, 1, OPTION_NODES_MAX, &nodes, err);

	if (rc == SB_OK)
		rc = list_of(request, &root, "edges", OPTIONAL, 0, OPTION_EDGES_MAX, &edges, err);
	if (rc != SB_OK)
		return rc;
	n = json_array_size(nodes);
	m = json_array_size(edges);
	out->list = nodes;
	out->nodes = calloc(n, sizeof(*out->nodes));
	out->told_nodes = calloc(n, sizeof(*out->told_nodes));
	out->edges = calloc(m + 1, sizeof(*out->edges));
	out->told_edges = calloc(m + 1, sizeof(*out->told_edges));
	out->values = calloc(n + m, sizeof(*out->values));
	out->places = json_object();
	if (!out->places || !out->nodes || !out->told_nodes || !out->edges || !out->told_edges ||
	    !out->values)
		return sb_no_memory(err);
	out->graph = (struct option_graph){out->nodes, out->edges, (int64_t)n, (int64_t)m, 0, NULL};
	out->told = (struct option_graph){out->told_nodes, out->told_edges, (int64_t)n, (int64_t)m, 0, NULL};
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place at = place_index(&nodes_at, i);

		rc = read_node(json_array_get(nodes, i), &at, rates, (int64_t)i, out, err);
	}
	for (size_t i = 0; rc == SB_OK && i < m; i++) {
		struct place at = place_index(&edges_at, i);

		rc = read_edge(json_array_get(edges, i), &at, rates, (int64_t)i, out, err);
	}
	return rc;
}

json_t *intra_tables_solution(const struct intra_tables *t, const uint16_t *options)
{
	json_t *list = json_array();

	for (int64_t n = 0; n < t->graph.node_count; n++) {
		const json_t *given = json_object_get(json_array_get(t->list, (size_t)n), "options");
		json_t *name = json_object_get(json_array_get(given, options[n]), "name");

		json_array_append_new(list, name ? json_incref(name) : json_integer(options[n]));
	}
	return json_pack("{s:o}", "options", list);
}

static json_t *sends_schema(json_t *bytes)
{
	static const char *const needs[] = {"scope", "bytes", NULL};
	json_t *item = schema_object(
	    json_pack("{s:o,s:o}", "scope", schema_words(intra_scope_words), "bytes", bytes), needs);

	return json_pack("{s:s,s:i,s:o,s:s}", "type", "array", "maxItems", 16, "items", item, "description",
	                 "bytes a device sends over links of that scope, at the links' own rate");
}

static json_t *matrix_schema(double high, bool null, const char *description)
{
	json_t *number = schema_number(0, high, NULL);
	json_t *row = schema_list(
	    OPTIONS_MAX, null ? schema_either(number, json_pack("{s:s}", "type", "null")) : number, NULL);

	return schema_list(OPTIONS_MAX, row, description);
}

void intra_tables_members(json_t *p)
{
	static const char *const node_needs[] = {"options", NULL}, *const edge_needs[] = {"from", "to", NULL};
	json_t *text = json_pack("{s:s}", "type", "string"), *end, *option = json_object(),
	       *edge = json_object();

	json_object_set(option, "name", text);
	json_object_set_new(option, "seconds", schema_number(0, INTRA_SECONDS_MAX, NULL));
	json_object_set_new(option, "memory_bytes", schema_number(0, INTRA_BYTES_MAX, NULL));
	json_object_set_new(option, "sends", sends_schema(schema_number(0, INTRA_BYTES_MAX, NULL)));
	option = schema_object(option, NULL);
	json_object_set_new(option, "anyOf",
	                    json_pack("[{s:[s]},{s:[s]}]", "required", "seconds", "required", "sends"));
	json_object_set_new(p, "nodes",
	                    schema_list(OPTION_NODES_MAX,
	                                schema_object(json_pack("{s:O,s:o}", "name", text, "options",
	                                                        schema_list(OPTIONS_MAX, option, NULL)),
	                                              node_needs),
	                                "operators, each with its options"));
	end = schema_either(schema_integer(0, OPTION_NODES_MAX - 1), text);
	json_object_set(edge, "from", end);
	json_object_set_new(edge, "to", end);
	json_object_set_new(
	    edge, "seconds",
	    matrix_schema(INTRA_SECONDS_MAX, true, "[option of from][option of to]; null: cannot be"));
	json_object_set_new(edge, "memory_bytes", matrix_schema(INTRA_BYTES_MAX, false, NULL));
	json_object_set_new(edge, "sends", sends_schema(matrix_schema(INTRA_BYTES_MAX, true, NULL)));
	json_object_set_new(p, "edges",
	                    json_pack("{s:s,s:i,s:o,s:s}", "type", "array", "maxItems", OPTION_EDGES_MAX,
	                              "items", schema_object(edge, edge_needs), "description",
	                              "what going from one node's layout to another's takes"));
}
