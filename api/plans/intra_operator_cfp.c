#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/intra_operator_cfp.h"
#include "api/plans/schema.h"

/* Method `cfp`: segments of equal operators, each measured once in every layout, as a chain. */

void cfp_input_free(struct cfp_input *in)
{
	for (size_t k = 0; k < in->kind_count; k++)
		free(in->kinds[k].options);
	free(in->kinds);
	free(in->chain);
	for (size_t i = 0; i < in->table_count; i++)
		free(in->tables[i]);
	free(in->tables);
	for (size_t k = 0; k < in->kind_count && in->times; k++)
		free(in->times[k]);
	free(in->times);
	free(in->nodes);
	free(in->edges);
	json_decref(in->layouts);
	json_decref(in->made);
	*in = (struct cfp_input){0};
}

static struct lying lying_of(struct cfp_input *in, const char *layout)
{
	json_t *known = json_object_get(in->layouts, layout);

	if (strcmp(layout, "replicated") == 0)
		return (struct lying){LIE_REPLICATED, 0};
	if (strcmp(layout, "partial") == 0)
		return (struct lying){LIE_PARTIAL, 0};
	if (!known) {
		known = json_integer((json_int_t)json_object_size(in->layouts));
		json_object_set_new(in->layouts, layout, known);
	}
	return (struct lying){LIE_SPLIT, (uint32_t)json_integer_value(known)};
}

static int read_option(const json_t *o, const struct place *at, struct cfp_input *in, struct cfp_option *out,
                       struct sb_error *err)
{
	static const char *const members[] = {"layout", "entry", "exit", "seconds", "memory_bytes", NULL};
	const char *layout = NULL, *entry = NULL, *leave;
	int rc = parse_members(o, at, members, err);

	if (rc == SB_OK)
		rc = parse_name(o, at, "entry", OPTIONAL, &entry, err);
	if (rc == SB_OK)
		rc = parse_name(o, at, "layout", entry ? OPTIONAL : REQUIRED, &layout, err);
	entry = entry ? entry : layout;
	leave = layout;
	if (rc == SB_OK)
		rc = parse_name(o, at, "exit", layout ? OPTIONAL : REQUIRED, &leave, err);
	if (rc == SB_OK)
		rc = parse_number(o, at, "seconds", REQUIRED, 0, INTRA_SECONDS_MAX, &out->seconds, err);
	if (rc == SB_OK)
		rc = parse_number(o, at, "memory_bytes", OPTIONAL, 0, INTRA_BYTES_MAX, &out->memory, err);
	if (rc != SB_OK)
		return rc;
	out->name = layout ? layout : entry;
	out->leave_name = leave;
	out->entry = lying_of(in, entry);
	out->leave = lying_of(in, leave);
	in->sized = in->sized || parse_given(o, "memory_bytes");
	if (out->entry.lie == LIE_PARTIAL)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "entry",
		                  "cannot be partial: nothing is turned into partial sums");
	return SB_OK;
}

static int read_segment(const json_t *o, const struct place *at, struct cfp_input *in, struct sb_error *err)
{
	static const char *const members[] = {"name", "count", "tensor_bytes", "options", NULL};
	struct place here = place_member(at, "options");
	struct cfp_kind *k = &in->kinds[in->kind_count];
	const json_t *list = json_object_get(o, "options");
	int64_t count = 1;
	int rc = parse_members(o, at, members, err);

	if (rc == SB_OK)
		rc = parse_name(o, at, "name", OPTIONAL, &k->name, err);
	if (rc == SB_OK)
		rc = parse_integer(o, at, "count", OPTIONAL, 1, OPTION_NODES_MAX, &count, err);
	if (rc == SB_OK)
		rc = parse_number(o, at, "tensor_bytes", OPTIONAL, 0, INTRA_BYTES_MAX, &k->tensor, err);
	if (rc == SB_OK && !json_is_array(list))
		rc = parse_fail(err, SB_EINVAL, list ? "wrong_type" : "missing_member", at, "options",
		                "must be a list");
	if (rc == SB_OK && (json_array_size(list) < 1 || json_array_size(list) > CFP_OPTIONS_MAX))
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "options",
		                "must hold 1 to 64 options");
	if (rc == SB_OK && in->chain_count + (size_t)count > OPTION_NODES_MAX)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "count",
		                "makes more than 4096 segments in all");
	if (rc != SB_OK)
		return rc;
	k->option_count = (int64_t)json_array_size(list);
	k->options = calloc((size_t)k->option_count, sizeof(*k->options));
	if (!k->options)
		return sb_no_memory(err);
	in->kind_count++;
	for (int64_t i = 0; i < count; i++)
		in->chain[in->chain_count++] = (uint16_t)(in->kind_count - 1);
	for (size_t i = 0; rc == SB_OK && i < json_array_size(list); i++) {
		struct place p = place_index(&here, i);

		rc = read_option(json_array_get(list, i), &p, in, &k->options[i], err);
	}
	return rc;
}

static int read_segments(const json_t *list, struct cfp_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/segments");
	size_t n = json_array_size(list);
	int rc = SB_OK;

	if (!json_is_array(list))
		return parse_fail(err, SB_EINVAL, "wrong_type", &root, "segments", "must be a list");
	if (n < 1 || n > OPTION_NODES_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "segments",
		                  "must hold 1 to 4096 segments");
	in->kinds = calloc(n, sizeof(*in->kinds));
	in->chain = calloc(OPTION_NODES_MAX, sizeof(*in->chain));
	in->layouts = json_object();
	if (!in->kinds || !in->chain || !in->layouts)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place at = place_index(&here, i);

		rc = read_segment(json_array_get(list, i), &at, in, err);
	}
	return rc;
}

/* The three forms of a request: segments, operators, layers of profiles; the last two are made the first. */
static int read_input(const json_t *request, struct cfp_input *in, struct intra_case *c, struct sb_error *err)
{
	static const char *const members[] = {"kind",          "method",       "devices",      "link",
	                                      "segments",      "operators",    "profiles",     "tensor_bytes",
	                                      "element_bytes", "memory_bytes", "memory_error", NULL};
	struct place root = place_of("");
	const json_t *segments = parse_given(request, "segments");
	int64_t element;
	double ignored;
	int forms = (segments != NULL) + (parse_given(request, "operators") != NULL) +
	            (parse_given(request, "profiles") != NULL);
	int rc = parse_members(request, &root, members, err);

	if (rc == SB_OK && forms != 1)
		rc = parse_fail(err, SB_EINVAL, forms ? "unknown_member" : "missing_member", &root,
		                "segments", "must be given, or operators, or profiles: one of the three");
	in->devices = 1;
	in->link.bytes_per_second = INFINITY;
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "devices", REQUIRED, 1, 1 << 20, &in->devices, err);
	if (rc == SB_OK)
		rc = link_rate_from_json(request, "link", REQUIRED, &in->link, err);
	if (rc == SB_OK)
		rc = intra_memory_from_json(request, c, err);
	if (rc == SB_OK) /* asked for beside profiles, right wherever it stands */
		rc =
		    parse_number(request, &root, "tensor_bytes", OPTIONAL, 0, INTRA_BYTES_MAX, &ignored, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "element_bytes", OPTIONAL, 1, 64, &element, err);
	if (rc == SB_OK && !segments) {
		rc = parse_given(request, "operators")
		         ? cfp_from_operators(request, &in->made, &in->distinct, err)
		         : cfp_from_profiles(request, &in->made, &in->distinct, err);
		segments = json_object_get(in->made, "segments");
	}
	return rc == SB_OK ? read_segments(segments, in, err) : rc;
}

/* Pairs of options between two kinds. */
static int make_table(struct cfp_input *in, size_t a, size_t b)
{
	const struct cfp_kind *from = &in->kinds[a], *to = &in->kinds[b];
	double *table = calloc((size_t)(from->option_count * to->option_count), sizeof(*table));

	if (!table)
		return SB_ENOMEM;
	in->tables[in->table_count++] = table;
	for (int64_t i = 0; i < from->option_count; i++) {
		for (int64_t k = 0; k < to->option_count; k++) {
			double bytes = reshard_bytes(from->options[i].leave, to->options[k].entry,
			                             from->tensor, in->devices);

			table[i * to->option_count + k] = bytes > 0 ? link_seconds(&in->link, bytes) : 0;
		}
	}
	return SB_OK;
}

static int build(struct cfp_input *in)
{
	int64_t n = (int64_t)in->chain_count;

	in->nodes = calloc((size_t)n, sizeof(*in->nodes));
	in->edges = calloc((size_t)n, sizeof(*in->edges));
	in->tables = calloc((size_t)n, sizeof(*in->tables));
	in->times = calloc(in->kind_count, sizeof(*in->times));
	if (!in->nodes || !in->edges || !in->tables || !in->times)
		return SB_ENOMEM;
	for (size_t k = 0; k < in->kind_count; k++) {
		int64_t count = in->kinds[k].option_count;

		in->times[k] = calloc((size_t)count, 2 * sizeof(double));
		if (!in->times[k])
			return SB_ENOMEM;
		for (int64_t i = 0; i < count; i++) {
			in->times[k][i] = in->kinds[k].options[i].seconds;
			in->times[k][count + i] = ceil(in->kinds[k].options[i].memory);
		}
	}
	for (int64_t i = 0; i < n; i++) {
		uint16_t kind = in->chain[i], next = i + 1 < n ? in->chain[i + 1] : kind;
		int64_t count = in->kinds[kind].option_count;
		bool known = i > 0 && in->chain[i - 1] == kind && next == kind;

		in->nodes[i] = (struct option_node){count, in->times[kind], in->times[kind] + count};
		if (i + 1 < n && !known && make_table(in, kind, next) != SB_OK)
			return SB_ENOMEM;
		if (i + 1 < n)
			in->edges[i] = (struct option_edge){i, i + 1, in->tables[in->table_count - 1], NULL};
	}
	in->graph = (struct option_graph){in->nodes, in->edges, n, n - 1, 0, NULL};
	return SB_OK;
}

/* {segments: [{name, count, layout, exit?}], distinct_segments}: runs of equal segments in one layout. */
static json_t *solution_of(const struct intra_case *c, const uint16_t *options)
{
	const struct cfp_input *in = c->self;
	json_t *runs = json_array();
	size_t from = 0;

	for (size_t i = 1; i <= in->chain_count; i++) {
		const struct cfp_kind *k = &in->kinds[in->chain[from]];
		const struct cfp_option *o = &k->options[options[from]];
		json_t *run;

		if (i < in->chain_count && in->chain[i] == in->chain[from] && options[i] == options[from])
			continue;
		run = json_pack("{s:o,s:I,s:s}", "name", k->name ? json_string(k->name) : json_null(),
		                "count", (json_int_t)(i - from), "layout", o->name);
		if (strcmp(o->name, o->leave_name) != 0)
			json_object_set_new(run, "exit", json_string(o->leave_name));
		json_array_append_new(runs, run);
		from = i;
	}
	return json_pack("{s:o,s:I}", "segments", runs, "distinct_segments",
	                 (json_int_t)(in->made ? in->distinct : (int64_t)in->kind_count));
}

int intra_cfp(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
              struct sb_error *err)
{
	__attribute__((cleanup(cfp_input_free))) struct cfp_input in = {0};
	struct intra_case c = {.solution = solution_of, .self = &in, .watch = watch};
	double start = plan_clock();
	uint16_t *options = NULL;
	int rc = read_input(request, &in, &c, err);

	if (rc != SB_OK)
		return rc;
	if (build(&in) != SB_OK)
		return sb_no_memory(err);
	c.graph = &in.graph;
	c.sized = in.sized;
	rc = intra_answer(&c, start, out, out_extra, &options, err);
	free(options);
	return rc;
}
