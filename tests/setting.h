#ifndef SB_TESTS_SETTING_H
#define SB_TESTS_SETTING_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "planner/presets/presets.h"

static inline struct cluster cluster_on(const char *preset, int64_t nodes)
{
	struct cluster_preset c;

	assert_true(cluster_preset(preset, &c));
	c.cluster.nodes = nodes;
	return c.cluster;
}

/* A preset's model on a preset's cluster, for tests of exports. */
struct setting {
	struct model model;
	struct cluster cluster;
};

static inline struct setting setting(const char *model, const char *cluster, int64_t nodes)
{
	struct setting s = {.model = model_preset(model)->model, .cluster = cluster_on(cluster, nodes)};

	model_defaults(&s.model);
	return s;
}
#endif
