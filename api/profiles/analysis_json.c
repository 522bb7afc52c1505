#include "api/profiles/documents.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "api/profiles/json_build.h"
#include "base/num.h"

static json_t *evidence_json(const struct evidence *e)
{
	json_t *o = json_object();

	json_object_set_new(o, "metric", json_string(e->metric));
	json_object_set_new(o, "value", json_real_or_null(e->value));
	json_object_set_new(o, "unit", json_string(e->unit));
	json_object_set_new(o, "threshold", json_real_or_null(e->threshold));
	json_object_set_new(o, "origin",
	                    isnan(e->threshold) ? json_null() : json_string(origin_name(e->origin)));
	return o;
}

static json_t *gain_json(const struct finding *f)
{
	json_t *o = json_object();

	json_object_set_new(o, "step_us", json_us(f->gain_ns));
	json_object_set_new(o, "speedup", json_real_or_null(f->speedup));
	json_object_set_new(o, "method", f->gain_method ? json_string(f->gain_method) : json_null());
	return o;
}

/* "component.cause" in two; "unexplained" has no cause. */
static void split_code(const char *code, json_t **component, json_t **cause)
{
	const char *dot = strchr(code, '.');

	*component = dot ? json_stringn(code, (size_t)(dot - code)) : json_string(code);
	*cause = dot ? json_string(dot + 1) : json_null();
}

static json_t *finding_json(const struct analysis *a, const struct finding *f)
{
	json_t *o = json_object(), *evidence = json_array(), *operators = json_array(), *component, *cause;

	split_code(f->code, &component, &cause);
	for (size_t i = 0; i < f->evidence_count; i++)
		json_array_append_new(evidence, evidence_json(&f->evidence[i]));
	for (size_t i = 0; i < f->operator_count; i++)
		json_array_append_new(
		    operators, json_pack("{s:o, s:o}", "name", json_string_id(a->strings, f->operators[i]),
		                         "contribution_us", json_real_or_null(f->operator_us[i])));
	json_object_set_new(o, "code", json_string(f->code));
	json_object_set_new(o, "component", component);
	json_object_set_new(o, "cause", cause);
	json_object_set_new(o, "severity", json_string(severity_name(f->severity)));
	json_object_set_new(o, "confidence", json_string(confidence_name(f->confidence)));
	json_object_set_new(o, "rank", json_int_or_null(f->rank));
	json_object_set_new(o, "step", json_int_or_null(f->step));
	json_object_set_new(o, "share_of_step", json_real_or_null(f->share_of_step));
	json_object_set_new(o, "portable", json_boolean(f->portable));
	json_object_set_new(o, "evidence", evidence);
	json_object_set_new(o, "estimated_gain", gain_json(f));
	json_object_set_new(o, "operators", operators);
	return o;
}

/* NOLINTNEXTLINE(misc-no-recursion): the tree has few levels (step, component, cause) */
static json_t *tree_json(const struct analysis *a, int32_t node)
{
	const struct tree_node *n = &a->tree[node];
	json_t *o = json_object(), *children = json_array();

	for (int32_t c = n->first_child; c >= 0; c = a->tree[c].next)
		json_array_append_new(children, tree_json(a, c));
	json_object_set_new(o, "id", json_string(n->id));
	json_object_set_new(o, "label", json_text(n->label, strlen(n->label)));
	json_object_set_new(o, "time_us", json_us(n->time_ns));
	json_object_set_new(o, "share", json_real_or_null(n->share));
	json_object_set_new(o, "children", children);
	return o;
}

static json_t *verdict_json(const struct analysis *a)
{
	json_t *o = json_object();

	json_object_set_new(o, "component", a->component ? json_string(a->component) : json_null());
	json_object_set_new(o, "cause", a->cause ? json_string(a->cause) : json_null());
	json_object_set_new(o, "confidence", json_string(confidence_name(a->confidence)));
	json_object_set_new(o, "share_of_step", json_real_or_null(a->share_of_step));
	return o;
}

static bool is_verdict(const struct analysis *a, const struct finding *f)
{
	size_t n = strlen(a->component);

	return strncmp(f->code, a->component, n) == 0 &&
	       (a->cause ? f->code[n] == '.' && strcmp(f->code + n + 1, a->cause) == 0 : f->code[n] == '\0');
}

json_t *document_verdict(const struct analysis *a)
{
	json_t *o = verdict_json(a), *severity = NULL;

	for (size_t i = 0; a->component && i < a->count && !severity; i++) {
		if (is_verdict(a, &a->findings[i]))
			severity = json_string(severity_name(a->findings[i].severity));
	}
	json_object_set_new(o, "severity", severity ? severity : json_null());
	return o;
}

json_t *document_analysis(const struct analysis *a)
{
	json_t *findings = json_array(), *open = json_array(), *o = json_object();

	for (size_t i = 0; i < a->count; i++)
		json_array_append_new(findings, finding_json(a, &a->findings[i]));
	for (size_t i = 0; i < a->not_evaluated_count; i++)
		json_array_append_new(open, json_pack("{s:s, s:s}", "code", a->not_evaluated[i].code, "needs",
		                                      a->not_evaluated[i].needs));
	json_object_set_new(o, "verdict", verdict_json(a));
	json_object_set_new(o, "tree", a->tree_count > 0 ? tree_json(a, 0) : json_null());
	json_object_set_new(o, "findings", findings);
	json_object_set_new(o, "not_evaluated", open);
	return o;
}

/* How to do it: each setting, and all of them in one line. */
static json_t *action_json(const struct advice_action *action, enum platform platform)
{
	json_t *settings = json_array();
	SB_BUF_AUTO how;

	sb_buf_init(&how, 4096);
	for (size_t i = 0; i < ADVICE_SETTINGS_MAX && action->settings[i].software; i++) {
		const struct advice_setting *s = &action->settings[i];
		bool any = strcmp(s->software, "any") == 0;

		if (!advice_setting_holds(s, platform))
			continue;
		json_array_append_new(settings,
		                      json_pack("{s:o, s:s}", "software",
		                                any ? json_null() : json_string(s->software), "how", s->how));
		sb_buf_addf(&how, "%s%s%s%s", how.len > 0 ? "; " : "", any ? "" : s->software,
		            any ? "" : ": ", s->how);
	}
	return json_pack("{s:s, s:o, s:o}", "summary", action->summary, "how",
	                 how.status == SB_OK ? json_stringn(how.data ? how.data : "", how.len) : NULL,
	                 "settings", settings);
}

static json_t *advice_json(const struct profile *p, const struct advice *advice, const struct finding *f,
                           enum platform platform, size_t order)
{
	json_t *actions = json_array(), *o = json_object();

	for (size_t i = 0; i < ADVICE_ACTIONS_MAX && advice->actions[i].summary; i++)
		if (advice_holds(&advice->actions[i], platform))
			json_array_append_new(actions, action_json(&advice->actions[i], platform));
	json_object_set_new(o, "rank_order", json_integer((json_int_t)order));
	json_object_set_new(o, "finding", json_string(f->code));
	json_object_set_new(o, "title", json_string(advice->title));
	json_object_set_new(o, "actions", actions);
	json_object_set_new(o, "check", json_string(advice->check));
	json_object_set_new(o, "cost", json_string(advice->cost));
	json_object_set_new(o, "portable", json_boolean(f->portable));
	json_object_set_new(o, "plan", advice_plan(p, f, advice->plan));
	json_object_set_new(o, "estimated_speedup", json_real_or_null(f->speedup));
	json_object_set_new(o, "source", json_string(advice->source));
	return o;
}

/* Findings come worst first and up to a few ranks a code: the first of a code speaks for all. */
static bool seen_before(const struct analysis *a, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (strcmp(a->findings[i].code, a->findings[at].code) == 0)
			return true;
	}
	return false;
}

json_t *document_advice(const struct profile *p, const struct analysis *a)
{
	json_t *items = json_array();

	for (size_t i = 0; i < a->count; i++) {
		const struct advice *advice = advice_for(a->findings[i].code);

		if (advice && !seen_before(a, i))
			json_array_append_new(items, advice_json(p, advice, &a->findings[i], a->platform,
			                                         json_array_size(items) + 1));
	}
	return json_pack("{s:o}", "items", items);
}
