#include "api/internal.h"

void thresholds_list(struct call *c)
{
	json_t *o = json_object(), *items = json_array();

	for (const struct threshold *t = c->s->config.thresholds.items; t->name; t++)
		json_array_append_new(items, json_pack("{s:s,s:f,s:s,s:s,s:s}", "name", t->name, "value",
		                                       t->value, "unit", t->unit, "origin",
		                                       origin_name(t->origin), "meaning", t->meaning));
	json_object_set_new(o, "items", items);
	reply_json(c, 200, o);
}
