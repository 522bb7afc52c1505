#include "profiler/layers/cut_parts.h"

/* The first layer coming again is the next micro-batch; where one ends and the next begins is not seen. */
int cut_by_name(struct cutter *c, const struct stretch *s)
{
	const struct layer_op *ops = c->o->items;
	struct layer_pass p = cutter_pass(c, s->first, s->end, s->phase);
	uint64_t scope = 0, start = 0;
	int rc = SB_OK;

	for (size_t i = s->first; i < s->end && rc == SB_OK; i++) {
		if (ops[i].scope == 0)
			continue;
		if (ops[i].scope == scope) {
			c->out->ranges[c->out->range_count - 1].end = i + 1;
			continue;
		}
		if (ops[i].scope == start) {
			p.end = i;
			p.open_behind = true;
			rc = cutter_close(c, &p);
			p = cutter_pass(c, i, s->end, s->phase);
			p.open_before = true;
		}
		scope = ops[i].scope;
		start = c->out->range_count == p.range_first ? scope : start;
		if (rc == SB_OK)
			rc = cutter_add(
			    c, &(struct layer_range){
			           .first = i, .end = i + 1, .class = ops[i].class, .repeats = true});
	}
	p.open_behind = c->o->spans && s->phase == PHASE_BACKWARD;
	return rc == SB_OK ? cutter_close(c, &p) : rc;
}
