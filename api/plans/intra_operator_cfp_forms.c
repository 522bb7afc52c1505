#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/canonical.h"
#include "api/plans/intra_operator_cfp.h"
#include "api/plans/schema.h"
#include "planner/intra/segments.h"

/* Segments out of a row of operators, and out of the layers of profiles. */

#define IDENTITY_MAX ((size_t)1 << 16)
#define SHAPE_MAX 64
#define SIZE_MAX_TOLD 1e15 /* of one dimension */

/* What an operator takes in each layout; a layout that was not measured is left out. */
static int check_values(const json_t *o, const struct place *at, const char *member, double most,
                        struct sb_error *err)
{
	struct place here = place_member(at, member);
	const json_t *values = NULL;
	const char *layout;
	json_t *value;
	int rc = parse_object(o, at, member, OPTIONAL, &values, err);

	if (rc != SB_OK || !values)
		return rc;
	json_object_foreach(json_readable(values), layout, value)
	{
		double ignored;

		(void)value;
		rc = *layout
		         ? parse_number(values, &here, layout, OPTIONAL, 0, most, &ignored, err)
		         : parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &here, layout, "must have a name");
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

/* A number for each (operator, shape), equal for equal ones. */
static int identify(const json_t *o, const struct place *at, json_t *known, uint32_t *out,
                    struct sb_error *err)
{
	static const char *const members[] = {"operator", "shape", "seconds", "memory_bytes", NULL};
	const json_t *shape = json_object_get(o, "shape");
	struct place sizes = place_member(at, "shape");
	double size[SHAPE_MAX];
	const char *name = NULL;
	json_t *number;
	SB_BUF_AUTO text;
	int rc = parse_members(o, at, members, err);

	sb_buf_init(&text, IDENTITY_MAX);
	if (rc == SB_OK)
		rc = parse_name(o, at, "operator", REQUIRED, &name, err);
	if (rc == SB_OK && !json_is_array(shape))
		rc = parse_fail(err, SB_EINVAL, shape ? "wrong_type" : "missing_member", at, "shape",
		                "must be a list of sizes");
	if (rc == SB_OK && json_array_size(shape) > SHAPE_MAX)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "shape",
		                "must hold at most 64 sizes");
	if (rc == SB_OK)
		rc = parse_numbers(shape, &sizes, 0, SIZE_MAX_TOLD, size, err);
	if (rc == SB_OK)
		rc = check_values(o, at, "seconds", INTRA_SECONDS_MAX, err);
	if (rc == SB_OK)
		rc = check_values(o, at, "memory_bytes", INTRA_BYTES_MAX, err);
	if (rc != SB_OK)
		return rc;
	rc = canonical_write(shape, &text);
	if (rc == SB_OK)
		rc = sb_buf_addf(&text, " %s", name);
	if (rc != SB_OK)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, "shape", "is too long");
	number = json_object_get(known, text.data);
	if (!number) {
		number = json_integer((json_int_t)json_object_size(known));
		if (json_object_set_new(known, text.data, number) != 0)
			return sb_no_memory(err);
	}
	*out = (uint32_t)json_integer_value(number);
	return SB_OK;
}

/* The bytes of an operator's output. */
static double tensor_bytes(const json_t *operator, double element)
{
	const json_t *shape = json_object_get(operator, "shape");
	double bytes = element;

	for (size_t i = 0; i < json_array_size(shape); i++)
		bytes *= json_number_value(json_array_get(shape, i));
	return bytes >= 0 && bytes <= INTRA_BYTES_MAX ? bytes : INTRA_BYTES_MAX;
}

/* What all operators of a segment give for a layout under a member, added up; NaN when one does not. */
static double sum_of(const json_t *operators, const struct operator_segment *s, const char *member,
                     const char *layout)
{
	double sum = 0;

	for (size_t i = 0; i < s->count; i++) {
		const json_t *o = json_array_get(operators, s->first + i);
		const json_t *v = json_object_get(json_object_get(o, member), layout);

		if (!json_is_number(v))
			return NAN;
		sum += json_number_value(v);
	}
	return sum;
}

/* One option a layout: the mean over those turns of this kind that were measured. */
static json_t *options_of(const json_t *operators, const struct operator_segment *segments, size_t count,
                          size_t kind)
{
	const json_t *first = json_array_get(operators, segments[kind].first);
	json_t *options = json_array();
	const char *layout;
	json_t *value;

	json_object_foreach(json_readable(json_object_get(first, "seconds")), layout, value)
	{
		double seconds = 0, memory = 0, turns = 0;
		json_t *option;

		for (size_t i = kind; i < count; i++) {
			double t = NAN;

			if (segments[i].kind == kind)
				t = sum_of(operators, &segments[i], "seconds", layout);
			if (isnan(t))
				continue;
			seconds += t;
			memory += sum_of(operators, &segments[i], "memory_bytes", layout);
			turns++;
		}
		if (turns == 0)
			continue;
		option = json_pack("{s:s,s:f}", "layout", layout, "seconds", seconds / turns);
		if (!isnan(memory))
			json_object_set_new(option, "memory_bytes", json_real(memory / turns));
		json_array_append_new(options, option);
	}
	return options;
}

static int make_segments(const json_t *operators, const struct operator_segment *s, size_t count,
                         double element, json_t *list, int64_t *out_distinct, struct sb_error *err)
{
	struct place root = place_of("/operators");
	json_t **options = calloc(count, sizeof(*options));
	int rc = options ? SB_OK : sb_no_memory(err);

	for (size_t i = 0; rc == SB_OK && i < count; i++) {
		size_t last = i;
		char name[40];

		if (s[i].kind == i) {
			struct place at = place_index(&root, s[i].first);

			options[i] = options_of(operators, s, count, i);
			++*out_distinct;
			if (json_array_size(options[i]) == 0)
				rc = parse_fail(
				    err, SB_EINVAL, "missing_member", &at, "seconds",
				    "must hold the same layouts in all operators of a segment, which "
				    "begins here");
		}
		while (last + 1 < count && s[last + 1].kind == s[i].kind)
			last++;
		snprintf(name, sizeof(name), "operators %zu to %zu", s[s[i].kind].first,
		         s[s[i].kind].first + s[i].count - 1);
		if (rc == SB_OK)
			json_array_append_new(
			    list,
			    json_pack(
			        "{s:s,s:I,s:f,s:O}", "name", name, "count", (json_int_t)(last - i + 1),
			        "tensor_bytes",
			        tensor_bytes(json_array_get(operators, s[i].first + s[i].count - 1), element),
			        "options", options[s[i].kind]));
		i = last;
	}
	for (size_t i = 0; options && i < count; i++)
		json_decref(options[i]);
	free(options);
	return rc;
}

int cfp_from_operators(const json_t *request, json_t **out, int64_t *out_distinct, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/operators");
	const json_t *operators = json_object_get(request, "operators");
	size_t n = json_array_size(operators);
	struct operator_segment *segments = calloc(n + 1, sizeof(*segments));
	uint32_t *ids = calloc(n + 1, sizeof(*ids));
	JSON_AUTO known = json_object();
	JSON_AUTO list = json_array();
	int64_t element = 2;
	int rc = parse_integer(request, &root, "element_bytes", OPTIONAL, 1, 64, &element, err);

	if (rc == SB_OK && (!segments || !ids || !known || !list))
		rc = sb_no_memory(err);
	if (rc == SB_OK && !json_is_array(operators))
		rc = parse_fail(err, SB_EINVAL, "wrong_type", &root, "operators", "must be a list");
	if (rc == SB_OK && (n < 1 || n > SEGMENTS_OPERATORS_MAX))
		rc = parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", &root, "operators",
		                "must hold 1 to 4096 operators");
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		struct place at = place_index(&here, i);

		rc = identify(json_array_get(operators, i), &at, known, &ids[i], err);
	}
	if (rc == SB_OK)
		rc = make_segments(operators, segments, segments_find(ids, n, segments), (double)element,
		                   list, out_distinct, err);
	free(segments);
	free(ids);
	if (rc == SB_OK)
		*out = json_pack("{s:O}", "segments", list);
	return rc != SB_OK || *out ? rc : sb_no_memory(err);
}

/* Seconds of a forward and a backward of a row of layers, or of an end; NaN when they are not known. */
static double both_passes(const json_t *row)
{
	const json_t *forward = json_object_get(row, "forward"), *backward = json_object_get(row, "backward");
	double f = json_number_value(forward);

	if (!json_is_number(forward) || !(f >= 0))
		return NAN;
	return json_is_number(backward) ? f + json_number_value(backward) : 3 * f;
}

static const json_t *row_of(const json_t *profile, size_t i, size_t rows)
{
	if (i == 0)
		return json_object_get(profile, "head");
	return i <= rows ? json_array_get(json_object_get(profile, "layers"), i - 1)
	                 : json_object_get(profile, "tail");
}

static json_t *measured_options(const json_t *profiles, size_t i, size_t rows)
{
	json_t *options = json_array();

	for (size_t k = 0; k < json_array_size(profiles); k++) {
		const json_t *p = json_array_get(profiles, k);
		double seconds = both_passes(row_of(p, i, rows));
		bool end = i == 0 || i > rows;

		/* a profile without an end tells 0 of it */
		if (!isnan(seconds) && !(end && seconds == 0))
			json_array_append_new(options,
			                      json_pack("{s:O,s:f}", "layout", json_object_get(p, "layout"),
			                                "seconds", seconds));
	}
	return options;
}

/* Each has the same layers as the first. */
static int check_profile(const json_t *profiles, size_t k, struct sb_error *err)
{
	static const char *const members[] = {"layout", "layers", "head", "tail", NULL};
	struct place here = place_of("/profiles"), at = place_index(&here, k);
	const json_t *p = json_array_get(profiles, k), *rows = json_object_get(p, "layers");
	const json_t *first = json_object_get(json_array_get(profiles, 0), "layers");
	const char *layout;
	int rc = parse_members(p, &at, members, err);
	bool same = json_array_size(rows) == json_array_size(first);

	if (rc == SB_OK)
		rc = parse_text(p, &at, "layout", REQUIRED, &layout, err);
	if (rc == SB_OK && json_array_size(rows) == 0)
		rc = parse_fail(err, SB_EINVAL, "missing_member", &at, "layers", "must list types of layers");
	for (size_t i = 0; same && i < json_array_size(rows); i++)
		same = json_equal(json_object_get(json_array_get(rows, i), "count"),
		                  json_object_get(json_array_get(first, i), "count"));
	if (rc == SB_OK && !same)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "other_layers", &at, NULL,
		                "has other layers than the first profile");
	return rc;
}

int cfp_from_profiles(const json_t *request, json_t **out, int64_t *out_distinct, struct sb_error *err)
{
	struct place root = place_of("");
	const json_t *profiles = json_object_get(request, "profiles");
	size_t n = json_array_size(profiles), rows = 0;
	JSON_AUTO list = json_array();
	double tensor = 0;
	int rc = parse_number(request, &root, "tensor_bytes", REQUIRED, 0, INTRA_BYTES_MAX, &tensor, err);

	if (rc == SB_OK && (!json_is_array(profiles) || n < 1 || n > CFP_OPTIONS_MAX))
		rc = parse_fail(err, SB_EINVAL, "wrong_type", &root, "profiles",
		                "must list 1 to 64 profiles, each with its layout");
	for (size_t k = 0; rc == SB_OK && k < n; k++)
		rc = check_profile(profiles, k, err);
	if (rc == SB_OK)
		rows = json_array_size(json_object_get(json_array_get(profiles, 0), "layers"));
	for (size_t i = 0; rc == SB_OK && i <= rows + 1; i++) {
		const json_t *row = row_of(json_array_get(profiles, 0), i, rows);
		json_t *name = json_object_get(row, "name"), *count = json_object_get(row, "count");
		json_t *options = measured_options(profiles, i, rows);

		if (json_array_size(options) == 0) { /* an end of which no profile knows the time */
			json_decref(options);
			continue;
		}
		++*out_distinct;
		json_array_append_new(list,
		                      json_pack("{s:o,s:o,s:f,s:o}", "name",
		                                json_is_string(name) ? json_incref(name)
		                                                     : json_string(i == 0      ? "head"
		                                                                   : i <= rows ? "layer"
		                                                                               : "tail"),
		                                "count", count ? json_incref(count) : json_integer(1),
		                                "tensor_bytes", tensor, "options", options));
	}
	if (rc == SB_OK && json_array_size(list) == 0)
		rc = parse_fail(err, SB_EIMPOSSIBLE, "no_layers", &root, "profiles",
		                "hold no times of layers");
	if (rc == SB_OK)
		*out = json_pack("{s:O}", "segments", list);
	return rc != SB_OK || *out ? rc : sb_no_memory(err);
}

static json_t *times_schema(double high)
{
	return json_pack("{s:s,s:o,s:{s:i}}", "type", "object", "additionalProperties",
	                 schema_number(0, high, NULL), "propertyNames", "minLength", 1);
}

json_t *intra_cfp_members(void)
{
	static const char *const segment_needs[] = {"options", NULL},
	                         *const option_needs[] = {"seconds", NULL},
	                         *const operator_needs[] = {"operator", "shape", NULL},
	                         *const profile_needs[] = {"layout", NULL};
	json_t *p = json_object(), *text = json_pack("{s:s,s:i}", "type", "string", "minLength", 1),
	       *option = json_object(), *segment = json_object(), *one = json_object(),
	       *profile = json_object();

	json_object_set(option, "layout", text);
	json_object_set(option, "entry", text);
	json_object_set(option, "exit", text);
	json_object_set_new(option, "seconds", schema_number(0, INTRA_SECONDS_MAX, NULL));
	json_object_set_new(option, "memory_bytes", schema_number(0, INTRA_BYTES_MAX, NULL));
	json_object_set(segment, "name", text);
	json_object_set_new(segment, "count", schema_integer(1, OPTION_NODES_MAX));
	json_object_set_new(segment, "tensor_bytes", schema_number(0, INTRA_BYTES_MAX, "handed to the next"));
	option = schema_object(option, option_needs);
	json_object_set_new(
	    option, "anyOf",
	    json_pack("[{s:[s]},{s:[s,s]}]", "required", "layout", "required", "entry", "exit"));
	json_object_set_new(
	    segment, "options",
	    schema_list(CFP_OPTIONS_MAX, option,
	                "layout (or entry and exit): replicated, partial (exit only), or the name "
	                "of what it is split along"));
	json_object_set(one, "operator", text);
	json_object_set_new(one, "shape",
	                    json_pack("{s:s,s:i,s:o,s:s}", "type", "array", "maxItems", SHAPE_MAX, "items",
	                              schema_number(0, SIZE_MAX_TOLD, NULL), "description", "of the output"));
	json_object_set_new(one, "seconds", times_schema(INTRA_SECONDS_MAX));
	json_object_set_new(one, "memory_bytes", times_schema(INTRA_BYTES_MAX));
	json_object_set(profile, "layout", text);
	json_object_set(profile, "profile", text);
	json_object_set_new(profile, "layers", json_pack("{s:s}", "type", "array"));
	json_object_set_new(profile, "head", json_pack("{s:s}", "type", "object"));
	json_object_set_new(profile, "tail", json_pack("{s:s}", "type", "object"));
	json_object_set_new(p, "devices", schema_integer(1, 1 << 20));
	json_object_set_new(p, "link", link_rate_schema());
	json_object_set_new(p, "segments",
	                    schema_list(OPTION_NODES_MAX, schema_object(segment, segment_needs), "cfp"));
	json_object_set_new(p, "operators",
	                    schema_list(SEGMENTS_OPERATORS_MAX, schema_object(one, operator_needs),
	                                "cfp: a trace's operators in order, with the seconds of each layout; "
	                                "repeated sequences are found"));
	json_object_set_new(p, "profiles",
	                    schema_list(CFP_OPTIONS_MAX, schema_object(profile, profile_needs),
	                                "cfp: stored profiles (by id) of the same model in several layouts"));
	json_object_set_new(p, "tensor_bytes",
	                    schema_number(0, INTRA_BYTES_MAX, "between the layers of profiles"));
	json_object_set_new(p, "element_bytes", schema_integer(1, 64));
	json_decref(text);
	return p;
}
