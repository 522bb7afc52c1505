#ifndef SB_TESTS_SETTING_H
#define SB_TESTS_SETTING_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "planner/presets/presets.h"

/* A preset's model on a preset's cluster, for tests of exports. */
struct setting {
	struct model model;
	struct cluster cluster;
};

static inline struct setting setting(const char *model, const char *cluster, int64_t nodes)
{
	struct cluster_preset c;
	struct setting s = {.model = model_preset(model)->model};

	assert_true(cluster_preset(cluster, &c));
	model_defaults(&s.model);
	s.cluster = c.cluster;
	s.cluster.nodes = nodes;
	return s;
}
#endif
