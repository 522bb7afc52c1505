#include "planner/pipeline/methods.h"

#include <stddef.h>
#include <string.h>

const struct pipeline_method *pipeline_methods(void)
{
	static const struct pipeline_method all[] = {{"bmpipe", plan_bmpipe, SCHEDULE_1F1B},
	                                             {"pipedream", plan_pipedream, SCHEDULE_1F1B},
	                                             {"adapipe", plan_adapipe, SCHEDULE_1F1B},
	                                             {"autopipe", plan_autopipe, SCHEDULE_1F1B},
	                                             {"merak", plan_merak, SCHEDULE_1F1B_EARLY_RECOMPUTE},
	                                             {"alpa", plan_alpa, SCHEDULE_1F1B},
	                                             {"even", plan_even, SCHEDULE_1F1B},
	                                             {"random", plan_random, SCHEDULE_1F1B},
	                                             {NULL, NULL, SCHEDULE_1F1B}};

	return all;
}

const struct pipeline_method *pipeline_method_of(const char *name)
{
	for (const struct pipeline_method *m = pipeline_methods(); name && m->name; m++)
		if (strcmp(m->name, name) == 0)
			return m;
	return NULL;
}
