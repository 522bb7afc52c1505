#include "api/named.h"

#include <stdio.h>
#include <string.h>

#include "api/calibration.h"
#include "api/plans/problem.h"
#include "planner/presets/presets.h"

const char *preset_name(const char *family, size_t i)
{
	struct cluster_preset cluster;

	if (strcmp(family, "models") == 0) {
		const struct model_preset *p = model_preset_at(i);

		return p ? p->name : NULL;
	}
	if (strcmp(family, "devices") == 0) {
		const struct device_preset *p = device_preset_at(i);

		return p ? p->name : NULL;
	}
	return strcmp(family, "clusters") == 0 && cluster_preset_at(i, &cluster) ? cluster.name : NULL;
}

static json_t *with_origin(json_t *o, const char *name, const char *source)
{
	if (!o)
		return NULL;
	json_object_set_new(o, "name", json_string(name));
	json_object_set_new(o, "preset", json_true());
	json_object_set_new(o, "source", json_string(source));
	return o;
}

json_t *preset_document(const char *family, const char *name)
{
	if (strcmp(family, "models") == 0) {
		const struct model_preset *p = model_preset(name);
		struct model m;

		if (!p)
			return NULL;
		m = p->model;
		model_defaults(&m);
		return with_origin(model_to_json(&m), p->name, p->source);
	}
	if (strcmp(family, "clusters") == 0) {
		struct cluster_preset p;
		char source[512];

		if (!cluster_preset(name, &p))
			return NULL;
		snprintf(source, sizeof(source), "%s%s%s", p.source, p.host_source ? "; " : "",
		         p.host_source ? p.host_source : "");
		return with_origin(cluster_to_json(&p.cluster, p.device), p.name, source);
	}
	if (strcmp(family, "devices") == 0) {
		const struct device_preset *p = device_preset(name);

		return p ? with_origin(device_to_json(p), p->name, p->source) : NULL;
	}
	return NULL;
}

int named_check(const char *family, const json_t *document, struct sb_error *err)
{
	struct place root = place_of("");
	struct cluster cluster;
	struct model model;

	if (strcmp(family, "models") == 0)
		return model_from_json(document, &root, &model, err);
	if (strcmp(family, "clusters") == 0)
		return cluster_from_json(document, &root, &cluster, err);
	if (strcmp(family, "calibrations") == 0)
		return calibration_check(document, err);
	return sb_fail(err, SB_ENOENT, "unknown_family", "there are models, clusters and calibrations");
}
