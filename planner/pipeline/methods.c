#include "planner/pipeline/methods.h"

#include <stddef.h>
#include <string.h>

#include "planner/pipeline/makespan.h"

static int plan_bmpipe(const struct pipeline_problem *p, enum pipeline_objective objective,
                       struct pipeline_stage *out, struct pipeline_proof *proof, struct sb_error *err)
{
	if (objective == PIPELINE_MAKESPAN)
		return pipeline_least_makespan(p, out, proof, err);
	return pipeline_least_bottleneck(p, out, proof, err);
}

const struct pipeline_method *pipeline_methods(void)
{
	static const struct pipeline_method all[] = {
	    {"bmpipe", plan_bmpipe},     {"pipedream", plan_pipedream}, {"adapipe", plan_adapipe},
	    {"autopipe", plan_autopipe}, {"merak", plan_merak},         {"alpa", plan_alpa},
	    {"even", plan_even},         {"random", plan_random},       {NULL, NULL}};

	return all;
}

const struct pipeline_method *pipeline_method_of(const char *name)
{
	for (const struct pipeline_method *m = pipeline_methods(); m->name; m++)
		if (strcmp(m->name, name) == 0)
			return m;
	return NULL;
}
