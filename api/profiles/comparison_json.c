#include <math.h>
#include <string.h>

#include "api/profiles/comparison.h"
#include "api/profiles/documents.h"
#include "api/profiles/json_build.h"

#define RANKS_MAX 1000

/* Means have no last digit of their own: the nanosecond is enough. */
static json_t *us(double ns)
{
	return isnan(ns) ? json_null() : json_us(llround(ns));
}

/* The difference is that of the numbers as shown. */
static json_t *pair(double base, double target)
{
	bool known = !isnan(base) && !isnan(target);

	return json_pack("{s:o,s:o,s:o}", "base", us(base), "target", us(target), "difference",
	                 known ? json_us(llround(target) - llround(base)) : json_null());
}

static json_t *times_json(const struct compare_times *base, const struct compare_times *target, bool loading)
{
	json_t *o = json_object();

	for (int i = 0; i < COMPARE_PARTS; i++) {
		/* the loader is known for the whole profile only */
		if (i != COMPARE_LOADING || loading)
			json_object_set_new(o, compare_part_name((enum compare_part)i),
			                    pair(base->ns[i], target->ns[i]));
	}
	return o;
}

static json_t *breakdown_json(const struct comparison *c)
{
	json_t *ranks = json_array();

	for (size_t i = 0; i < c->rank_count && i < RANKS_MAX; i++) {
		const struct compare_rank *r = &c->ranks[i];
		json_t *o = json_pack("{s:o,s:o}", "rank", json_int_or_null(r->rank), "device",
		                      json_int_or_null(r->device));
		json_t *times = times_json(&r->base, &r->target, false);

		json_object_update(o, times);
		json_decref(times);
		json_array_append_new(ranks, o);
	}
	return json_pack("{s:o,s:o,s:I}", "mean", times_json(&c->base, &c->target, true), "ranks", ranks,
	                 "ranks_total", (json_int_t)c->rank_count);
}

static json_t *operator_side(uint32_t names, double count, double ns)
{
	if (names == 0)
		return json_null();
	return json_pack("{s:f,s:o,s:I}", "count", count, "total_us", us(ns), "names", (json_int_t)names);
}

static json_t *operators_json(const struct comparison *c, size_t limit)
{
	static const char *const classes[OPERATOR_CLASS_COUNT] = {"compute", "communication", "copy", "host"};
	double step = c->target.ns[COMPARE_STEP] - c->base.ns[COMPARE_STEP];
	json_t *rows = json_array();

	for (size_t i = 0; i < c->operator_count && i < limit; i++) {
		const struct compare_operator *x = &c->operators[i];
		double difference = x->target_ns - x->base_ns;
		json_t *o = json_object();

		json_object_set_new(o, "name", json_string_id(c->strings, x->name));
		json_object_set_new(o, "unit", json_string_id(c->strings, x->unit));
		json_object_set_new(o, "class", json_string(classes[x->klass]));
		json_object_set_new(o, "match", json_string(x->renamed ? "family" : "name"));
		json_object_set_new(o, "label", json_string(compare_label_name(x->label)));
		json_object_set_new(o, "base", operator_side(x->base_names, x->base_count, x->base_ns));
		json_object_set_new(o, "target",
		                    operator_side(x->target_names, x->target_count, x->target_ns));
		json_object_set_new(o, "difference_us", us(difference));
		json_object_set_new(o, "contribution",
		                    json_real_or_null(step != 0 ? difference / step : NAN));
		json_array_append_new(rows, o);
	}
	return json_pack("{s:o,s:I}", "rows", rows, "total", (json_int_t)c->operator_count);
}

static json_t *finding_side(const struct compare_finding *f)
{
	if (!f)
		return json_null();
	return json_pack("{s:s,s:s,s:o}", "severity", f->severity, "confidence", f->confidence,
	                 "share_of_step", json_real_or_null(f->share));
}

static json_t *findings_json(const struct comparison *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->finding_count; i++) {
		const struct compare_change *f = &c->findings[i];
		const char *label = !f->target ? "gone" : !f->base ? "new" : "stays";

		json_array_append_new(list,
		                      json_pack("{s:s,s:s,s:o,s:o}", "code", f->code, "label", label, "base",
		                                finding_side(f->base), "target", finding_side(f->target)));
	}
	return list;
}

static json_t *verdict_json(const struct comparison *c)
{
	struct compare_verdict v;
	json_t *changes = json_array();

	compare_verdict(c, &v);
	for (size_t i = 0; i < v.change_count; i++) {
		enum compare_part p = v.changes[i];

		json_array_append_new(changes,
		                      json_pack("{s:s,s:o,s:o}", "part", compare_part_name(p), "base_us",
		                                us(c->base.ns[p]), "target_us", us(c->target.ns[p])));
	}
	return json_pack("{s:s,s:o,s:o}", "sentence", v.sentence, "speedup", json_real_or_null(v.speedup),
	                 "changes", changes);
}

static json_t *side_json(const struct comparison_side *s, double steps, size_t devices)
{
	static const char *const members[] = {"id", "name", "format", "chip", "created_at", "captures", NULL};
	json_t *o = json_object();

	for (int i = 0; members[i]; i++) {
		json_t *v = json_object_get(s->profile, members[i]);

		json_object_set_new(o, members[i], v ? json_incref(v) : json_null());
	}
	json_object_set_new(o, "steps", steps > 0 ? json_real(steps) : json_null());
	json_object_set_new(o, "devices", json_integer((json_int_t)devices));
	return o;
}

static bool differs(const struct comparison_side *a, const struct comparison_side *b, const char *member)
{
	const json_t *x = json_object_get(a->profile, member), *y = json_object_get(b->profile, member);

	return json_is_string(x) && json_is_string(y) &&
	       strcmp(json_string_value(x), json_string_value(y)) != 0;
}

static json_t *warnings_json(const struct comparison_side *base, const struct comparison_side *target,
                             const struct comparison *c)
{
	json_t *list = json_array();

	if (differs(base, target, "format"))
		json_warn(list, "formats_differ",
		          "The profiles come from different profilers, which do not define all times alike.");
	if (differs(base, target, "chip"))
		json_warn(list, "chips_differ", "The profiles come from different chips.");
	if (c->base_devices != c->target_devices)
		json_warn(list, "devices_differ",
		          "The profiles hold different numbers of devices: means are compared.");
	if (c->base_steps == 0 || c->target_steps == 0)
		json_warn(list, "no_steps",
		          "A profile without steps counts as one step: totals may be of different lengths.");
	return list;
}

json_t *document_comparison(const struct comparison_side *base, const struct comparison_side *target,
                            size_t operator_limit)
{
	const struct compare_side a = {&base->rows, &base->operators, &base->loaded, base->findings,
	                               base->finding_count};
	const struct compare_side b = {&target->rows, &target->operators, &target->loaded, target->findings,
	                               target->finding_count};
	COMPARISON_AUTO c = {0};

	if (compare_profiles(&a, &b, &c) != SB_OK)
		return NULL;
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "base",
	                 side_json(base, c.base_steps, c.base_devices), "target",
	                 side_json(target, c.target_steps, c.target_devices), "verdict", verdict_json(&c),
	                 "breakdown", breakdown_json(&c), "operators", operators_json(&c, operator_limit),
	                 "findings", findings_json(&c), "warnings", warnings_json(base, target, &c));
}
