#ifndef SB_PLANNER_PRESETS_PRESETS_H
#define SB_PLANNER_PRESETS_PRESETS_H
#include <stddef.h>

#include "planner/cluster.h"
#include "planner/model.h"

/* What is known from the start: public models and devices, each figure with its source. Inputs, not
 * limits. */

struct model_preset {
	const char *name, *source;
	struct model model;
};
struct device_preset {
	const char *name, *source;
	struct device device;
	double node_link, cluster_link; /* usual links, bytes per second, one direction; 0 = unknown */
	int64_t mesh_links;             /* of the node's link: cluster_link's */
};
struct cluster_preset {
	const char *name, *source, *device;
	const char *host_source; /* NULL: its host is not known */
	bool network_assumed;    /* no source says that the network between its nodes is this fast */
	struct cluster
	    cluster; /* one node or one supernode; the device and what is known of the host filled in */
};

/* The i-th model, static data; NULL past the end. */
const struct model_preset *model_preset_at(size_t i);
/* The i-th device, static data; NULL past the end. */
const struct device_preset *device_preset_at(size_t i);
/* The i-th cluster; false past the end. */
bool cluster_preset_at(size_t i, struct cluster_preset *out);

/* A model by its name; NULL when it is not known. */
const struct model_preset *model_preset(const char *name);
/* A device by its name; NULL when it is not known. */
const struct device_preset *device_preset(const char *name);
/* A cluster by its name; false, and *out as it was, when it is not known. */
bool cluster_preset(const char *name, struct cluster_preset *out);
/* Fills in the host of a known cluster and returns its source; NULL, and *io as it was, when it is not known.
 */
const char *host_preset(const char *cluster, struct cluster *io);
/* The family of a device that is no preset, guessed from its name. */
enum device_family device_family_of(const char *name);
#endif
