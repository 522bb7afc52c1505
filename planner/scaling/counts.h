#ifndef SB_PLANNER_SCALING_COUNTS_H
#define SB_PLANNER_SCALING_COUNTS_H
#include <stddef.h>

#include "planner/strategy/search.h"

/* The strategy search for several numbers of devices of one cluster: the cheapest that do the work
 * (TensorOpt: Cai et al., 2020, "cheapest number of devices", run per device count). */

#define SCALING_COUNTS_MAX 64
/* 1, 2, 4... devices of a node, then whole nodes, doubled, and at last the whole cluster. Returns how many;
 * out has room for SCALING_COUNTS_MAX. */
size_t scaling_counts(const struct cluster *c, int64_t *out);
/* The cluster with only so many of its devices: part of one node, or whole nodes. SB_EIMPOSSIBLE for a number
 * that is neither, or beyond the cluster. */
int scaling_part(const struct cluster *c, int64_t devices, struct cluster *out);

/* One search of several: with so many devices of the cluster, and so many sequences; 0: as in the request. */
struct search_point {
	int64_t devices, sequences;
};
struct point_result {
	int rc; /* SB_OK; SB_EINFEASIBLE: nothing fits in memory; SB_EIMPOSSIBLE: no strategy at all, or the
	           effort ran out */
	bool gave_up; /* the effort ran out */
	const struct search_request *request;
	const struct search_result *result;
};
/* Told of each search when it is done; what it points to ends with the call. SB_OK, or why to stop. */
typedef int point_visit(void *self, size_t index, const struct point_result *found);
/* Steps of all searches together: as many as of one. A search may take its share of what is left for it and
 * those behind it. */
#define POINTS_EFFORT SEARCH_EFFORT
/* Searches point after point: the larger ones last have the most effort. SB_ENOMEM; SB_EIMPOSSIBLE with field
 * "devices" as scaling_part(); what the visitor returns. */
int search_points(const struct search_request *r, const struct search_point *points, size_t count,
                  point_visit *visit, void *self, struct sb_error *err);

struct scaling_found {
	int64_t devices;
	int rc;       /* as point_result */
	bool gave_up; /* likewise */
	struct choice best;
	bool optimal;
	double lower_bound;
	int64_t candidates;
	double least_memory; /* bytes, where nothing fits */
};
/* search_points() for numbers of devices. out: room for count. */
int scaling_search(const struct search_request *r, const int64_t *devices, size_t count,
                   struct scaling_found *out, struct sb_error *err);
#endif
