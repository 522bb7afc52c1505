#include "api/plans/intra_operator_split.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/schema.h"
#include "base/grow.h"

#define SIZE_MOST ((int64_t)1 << 40)

void split_input_free(struct split_input *in)
{
	for (size_t k = 0; k < in->kind_count; k++) {
		free(in->kinds[k].splits);
		free(in->kinds[k].costs);
		free(in->kinds[k].values);
	}
	for (size_t k = 0; k < in->table_count; k++) {
		free(in->tables[k].costs);
		free(in->tables[k].values);
	}
	free(in->kinds);
	free(in->tables);
	free(in->kind_of);
	free(in->table_of);
	free(in->nodes);
	free(in->told_nodes);
	free(in->edges);
	free(in->told_edges);
	json_decref(in->places);
	*in = (struct split_input){0};
}

static int read_shape(const json_t *o, const struct place *at, struct split_operator *out,
                      const char **out_name, struct sb_error *err)
{
	static const char *const members[] = {"name",         "rows",  "columns", "contraction", "row_units",
	                                      "column_units", "flops", "inputs",  NULL};
	int rc = parse_members(o, at, members, err);

	if (rc == SB_OK)
		rc = parse_text(o, at, "name", OPTIONAL, out_name, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "rows", REQUIRED, 1, SIZE_MOST, &out->rows, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "columns", REQUIRED, 1, SIZE_MOST, &out->columns, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "contraction", OPTIONAL, 1, SIZE_MOST, &out->contraction, err);
	out->row_units = out->rows;
	out->column_units = out->columns;
	if (rc == SB_OK)
		rc = parse_integer(o, at, "row_units", OPTIONAL, 1, out->rows, &out->row_units, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "column_units", OPTIONAL, 1, out->columns, &out->column_units, err);
	if (rc == SB_OK)
		rc = parse_number(o, at, "flops", OPTIONAL, 0, 1e30, &out->flops, err);
	if (rc == SB_OK && out->contraction > 0 && out->flops > 0)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "flops",
		                "is for operators without contraction");
	return rc;
}

static double counted(const struct split_input *in, const struct split_cost *c)
{
	return c->compute + (in->second_per_byte > 0 ? c->bytes * in->second_per_byte : c->seconds);
}

/* The kind of an operator, made when it is new. */
static int kind_of(struct split_input *in, const struct split_operator *o, const struct place *at,
                   size_t *out, struct sb_error *err)
{
	struct split_kind *k;

	for (*out = 0; *out < in->kind_count; ++*out)
		if (memcmp(&in->kinds[*out].shape, o, sizeof(*o)) == 0)
			return SB_OK;
	if (sb_grow(&in->kinds, in->kind_count, sizeof(*in->kinds)) != SB_OK)
		return sb_no_memory(err);
	k = &in->kinds[in->kind_count++];
	*k = (struct split_kind){.shape = *o, .splits = calloc(SPLIT_OPTIONS_MAX, sizeof(*k->splits))};
	if (!k->splits)
		return sb_no_memory(err);
	k->count = split_options(o, &in->mesh, k->splits);
	in->cells += k->count;
	if (k->count > SPLIT_OPTIONS_MAX || in->cells > INTRA_CELLS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "too_many_options", at, NULL,
		                  "can be split in more than 256 ways on this cluster: give row_units or "
		                  "column_units, or a part of the cluster");
	k->costs = calloc((size_t)k->count, sizeof(*k->costs));
	k->values = calloc((size_t)k->count, 3 * sizeof(*k->values));
	if (!k->costs || !k->values)
		return sb_no_memory(err);
	for (int64_t i = 0; i < k->count; i++) {
		k->costs[i] = split_operator_cost(o, &in->mesh, &k->splits[i]);
		k->values[i] = counted(in, &k->costs[i]);
		k->values[k->count + i] = k->costs[i].compute + k->costs[i].seconds;
		k->values[2 * k->count + i] = ceil(k->costs[i].memory);
	}
	return SB_OK;
}

static int table_of(struct split_input *in, size_t from, size_t to, const struct place *at, size_t *out,
                    struct sb_error *err)
{
	const struct split_kind *a = &in->kinds[from], *b = &in->kinds[to];
	int64_t cells = a->count * b->count;
	struct split_table *t;

	for (*out = 0; *out < in->table_count; ++*out)
		if (in->tables[*out].from == from && in->tables[*out].to == to)
			return SB_OK;
	in->cells += cells;
	if (in->cells > INTRA_CELLS_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "inputs",
		                  "make too many pairs of options, with those before: 2^21 at most");
	if (sb_grow(&in->tables, in->table_count, sizeof(*in->tables)) != SB_OK)
		return sb_no_memory(err);
	t = &in->tables[in->table_count++];
	*t = (struct split_table){from, to, calloc((size_t)cells, sizeof(*t->costs)),
	                          calloc((size_t)cells, 2 * sizeof(*t->values))};
	if (!t->costs || !t->values)
		return sb_no_memory(err);
	for (int64_t i = 0; i < cells; i++) {
		t->costs[i] = split_change_cost(&a->shape, &in->mesh, &a->splits[i / b->count], &b->shape,
		                                &b->splits[i % b->count]);
		t->values[i] = counted(in, &t->costs[i]);
		t->values[cells + i] = t->costs[i].seconds;
	}
	return SB_OK;
}

static int add_edge(struct split_input *in, int64_t from, int64_t to, const struct place *at,
                    struct sb_error *err)
{
	size_t table;
	int rc = SB_OK;
	const struct split_table *t;

	if (in->edge_count >= OPTION_EDGES_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "inputs",
		                  "are more than 16384 in all");
	rc = table_of(in, in->kind_of[from], in->kind_of[to], at, &table, err);
	if (rc != SB_OK)
		return rc;
	t = &in->tables[table];
	in->table_of[in->edge_count] = table;
	in->edges[in->edge_count] = (struct option_edge){from, to, t->values, NULL};
	in->told_edges[in->edge_count] = (struct option_edge){
	    from, to, t->values + in->kinds[t->from].count * in->kinds[t->to].count, NULL};
	in->edge_count++;
	return SB_OK;
}

/* An input is an earlier operator; its output has the rows and the columns that are taken. */
static int read_input(const json_t *v, const struct place *at, int64_t n, struct split_input *in,
                      struct sb_error *err)
{
	const struct split_operator *to = &in->kinds[in->kind_of[n]].shape, *from;
	const json_t *place = json_is_string(v) ? json_object_get(in->places, json_string_value(v)) : v;
	int64_t i = 0;
	int rc = place ? parse_integer_value(place, at, 0, n - 1, &i, err)
	               : parse_fail(err, SB_EIMPOSSIBLE, "unknown_operator", at, NULL,
	                            "names no earlier operator");

	if (rc != SB_OK)
		return rc;
	from = &in->kinds[in->kind_of[i]].shape;
	if (from->rows != to->rows)
		return parse_fail(err, SB_EIMPOSSIBLE, "shapes", at, NULL, "has another number of rows");
	if (to->contraction > 0 && from->columns != to->contraction)
		return parse_fail(err, SB_EIMPOSSIBLE, "shapes", at, NULL,
		                  "has as many columns as the contraction has not");
	return add_edge(in, i, n, at, err);
}

static int read_operator(const json_t *o, const struct place *at, int64_t n, struct split_input *in,
                         struct sb_error *err)
{
	struct place here = place_member(at, "inputs");
	struct split_operator shape;
	const json_t *inputs = parse_given(o, "inputs");
	const char *name = NULL;
	int rc;

	memset(&shape, 0, sizeof(shape)); /* compared byte by byte */
	rc = read_shape(o, at, &shape, &name, err);
	if (rc == SB_OK)
		rc = kind_of(in, &shape, at, &in->kind_of[n], err);
	if (rc == SB_OK && inputs && !json_is_array(inputs))
		rc = parse_fail(err, SB_EINVAL, "wrong_type", at, "inputs", "must be a list");
	if (rc == SB_OK && !inputs && n > 0)
		rc = read_input(json_object_get(in->places, ""), at, n, in, err);
	for (size_t i = 0; rc == SB_OK && i < json_array_size(inputs); i++) {
		struct place p = place_index(&here, i);

		rc = read_input(json_array_get(inputs, i), &p, n, in, err);
	}
	if (rc == SB_OK && name && json_object_get(in->places, name))
		rc = parse_fail(err, SB_EIMPOSSIBLE, "duplicate", at, "name",
		                "is the name of an earlier operator");
	/* under no name: the one before, which is the input where none is given */
	if (rc == SB_OK && ((name && json_object_set_new(in->places, name, json_integer(n)) != 0) ||
	                    json_object_set_new(in->places, "", json_integer(n)) != 0))
		rc = sb_no_memory(err);
	return rc;
}

static int make_room(struct split_input *in, size_t n)
{
	in->kind_of = calloc(n, sizeof(*in->kind_of));
	in->table_of = calloc(OPTION_EDGES_MAX, sizeof(*in->table_of));
	in->nodes = calloc(n, sizeof(*in->nodes));
	in->told_nodes = calloc(n, sizeof(*in->told_nodes));
	in->edges = calloc(OPTION_EDGES_MAX, sizeof(*in->edges));
	in->told_edges = calloc(OPTION_EDGES_MAX, sizeof(*in->told_edges));
	in->places = json_object();
	return in->kind_of && in->table_of && in->nodes && in->told_nodes && in->edges && in->told_edges &&
	               in->places
	           ? SB_OK
	           : SB_ENOMEM;
}

int split_input_read(const json_t *request, struct split_input *io, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/operators");
	size_t n;
	int rc = parse_boolean(request, &root, "training", &io->mesh.training, err);

	io->list = json_object_get(request, "operators");
	n = json_array_size(io->list);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "element_bytes", OPTIONAL, 1, 64, &io->mesh.element_bytes,
		                   err);
	if (rc == SB_OK && !json_is_array(io->list))
		rc = parse_fail(err, SB_EINVAL, "wrong_type", &root, "operators", "must be a list");
	if (rc == SB_OK && (n < 1 || n > OPTION_NODES_MAX))
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "operators",
		                "must hold 1 to 4096 operators");
	if (rc == SB_OK && make_room(io, n) != SB_OK)
		rc = sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place at = place_index(&here, i);

		rc = read_operator(json_array_get(io->list, i), &at, (int64_t)i, io, err);
	}
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		const struct split_kind *k = &io->kinds[io->kind_of[i]];

		io->nodes[i] = (struct option_node){k->count, k->values, k->values + 2 * k->count};
		io->told_nodes[i] =
		    (struct option_node){k->count, k->values + k->count, k->values + 2 * k->count};
	}
	io->graph = (struct option_graph){io->nodes, io->edges, (int64_t)n, io->edge_count, 0, NULL};
	io->told = (struct option_graph){io->told_nodes, io->told_edges, (int64_t)n, io->edge_count, 0, NULL};
	return rc;
}

json_t *split_solution(const struct split_input *in, const uint16_t *options)
{
	static const char *const names[SPLIT_DIMENSIONS] = {"rows", "columns", "contraction"};
	json_t *list = json_array();

	for (int64_t n = 0; n < in->graph.node_count; n++) {
		const struct split *s = &in->kinds[in->kind_of[n]].splits[options[n]];
		json_t *name = json_object_get(json_array_get(in->list, (size_t)n), "name");
		json_t *o = json_pack("{s:o}", "name", name ? json_incref(name) : json_null());

		for (int d = 0; d < SPLIT_DIMENSIONS; d++) {
			json_t *levels = json_array();
			int64_t parts = 1;

			for (int l = 0; l < in->mesh.cost.network.levels; l++) {
				parts *= s->parts[d][l];
				json_array_append_new(levels, json_integer(s->parts[d][l]));
			}
			if (parts > 1)
				json_object_set(o, names[d], levels);
			json_decref(levels);
		}
		json_array_append_new(list, o);
	}
	return json_pack("{s:o}", "operators", list);
}

void split_predicted(const struct split_input *in, const uint16_t *options, json_t *io)
{
	double compute = 0, sending = 0, bytes = 0;

	for (int64_t n = 0; n < in->graph.node_count; n++) {
		const struct split_cost *c = &in->kinds[in->kind_of[n]].costs[options[n]];

		compute += c->compute;
		sending += c->seconds;
		bytes += c->bytes;
	}
	for (int64_t k = 0; k < in->edge_count; k++) {
		const struct option_edge *e = &in->edges[k];
		size_t cell = (size_t)options[e->from] * (size_t)in->nodes[e->to].options + options[e->to];
		const struct split_cost *c = &in->tables[in->table_of[k]].costs[cell];

		sending += c->seconds;
		bytes += c->bytes;
	}
	json_object_set_new(io, "compute_seconds", json_real(compute));
	json_object_set_new(io, "communication_seconds", json_real(sending));
	json_object_set_new(io, "sent_bytes", json_whole_or_real(ceil(bytes)));
}

void split_members(json_t *p)
{
	static const char *const needs[] = {"rows", "columns", NULL};
	json_t *o = json_object(), *text = json_pack("{s:s}", "type", "string");

	json_object_set(o, "name", text);
	json_object_set_new(o, "rows", schema_integer(1, SIZE_MOST));
	json_object_set_new(o, "columns", schema_integer(1, SIZE_MOST));
	json_object_set_new(o, "contraction", schema_integer(1, SIZE_MOST));
	json_object_set_new(o, "row_units", schema_integer(1, SIZE_MOST));
	json_object_set_new(o, "column_units", schema_integer(1, SIZE_MOST));
	json_object_set_new(o, "flops", schema_number(0, 1e30, "forward, of work without a weight"));
	json_object_set_new(o, "inputs",
	                    json_pack("{s:s,s:i,s:o,s:s}", "type", "array", "maxItems", 64, "items",
	                              schema_either(text, schema_integer(0, OPTION_NODES_MAX - 1)),
	                              "description", "earlier operators; left out: the one before"));
	json_object_set_new(
	    p, "operators",
	    schema_list(OPTION_NODES_MAX, schema_object(o, needs),
	                "taps: products with a weight (rows x contraction) x (contraction x "
	                "columns), or work on each element; cfp: a trace's operators in order"));
	json_object_set_new(p, "element_bytes", schema_integer(1, 64));
	json_object_set_new(p, "training", schema_boolean("with backward and gradients; default true"));
}
