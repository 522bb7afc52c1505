#include "api/profiles/critical_path_json.h"

#include "api/profiles/json_build.h"
#include "base/num.h"

#define OPERATORS_SHOWN 50

static json_t *name_json(const struct path_file *f, uint32_t id)
{
	size_t len;
	const char *text = path_file_text(f, id, &len);

	return text ? json_text(text, len) : json_null();
}

static json_t *events_json(const struct path_file *f, const struct path_view *v)
{
	json_t *events = json_array();

	for (size_t i = 0; i < v->count; i++) {
		const struct path_piece *p = &v->pieces[i];

		json_array_append_new(events,
		                      json_pack("{s:o, s:o, s:o, s:s, s:o}", "start_us", json_us(p->start_ns),
		                                "dur_us", json_us(p->dur_ns), "name", name_json(f, p->name),
		                                "category", path_part_name((enum path_part)p->part), "rank",
		                                json_int_or_null(f->sources[p->capture].rank)));
	}
	return events;
}

static json_t *operators_json(const struct path_file *f, const struct path_view *v)
{
	json_t *operators = json_array();

	for (size_t i = 0; i < v->sum_count && i < OPERATORS_SHOWN; i++)
		json_array_append_new(operators,
		                      json_pack("{s:o, s:s, s:I, s:o}", "name", name_json(f, v->sums[i].name),
		                                "category", path_part_name((enum path_part)v->sums[i].part),
		                                "count", (json_int_t)v->sums[i].count, "total_us",
		                                json_us(v->sums[i].total_ns)));
	return operators;
}

json_t *critical_path_json(const struct path_file *f, const struct path_section *s, const struct path_view *v,
                           int64_t from_ns, int64_t to_ns)
{
	json_t *o = json_object();
	size_t len = 0;
	const char *source = s && !s->across ? path_file_source(f, s->source, &len) : NULL;

	json_object_set_new(o, "rank", json_int_or_null(s ? s->rank : SB_NULL));
	json_object_set_new(o, "device", json_int_or_null(s ? s->device : SB_NULL));
	json_object_set_new(o, "source", source ? json_text(source, len) : json_null());
	json_object_set_new(o, "across_ranks", json_boolean(s && s->across));
	json_object_set_new(o, "origin_ns",
	                    s && !s->across ? json_sprintf("%lld", (long long)s->origin_ns) : json_null());
	json_object_set_new(o, "from_us", s ? json_us(from_ns) : json_null());
	json_object_set_new(o, "to_us", s ? json_us(to_ns) : json_null());
	for (int i = 0; i < PATH_PARTS; i++) {
		char member[32];

		(void)snprintf(member, sizeof(member), "%s_us", path_part_name((enum path_part)i));
		json_object_set_new(o, member, s ? json_us(v->part_ns[i]) : json_null());
	}
	json_object_set_new(o, "span_us", s ? json_us(v->span_ns) : json_null());
	json_object_set_new(o, "works", s ? json_integer((json_int_t)s->works) : json_null());
	json_object_set_new(o, "operators", operators_json(f, v));
	json_object_set_new(o, "events", events_json(f, v));
	json_object_set_new(o, "left_out", json_integer((json_int_t)v->left_out));
	return o;
}
