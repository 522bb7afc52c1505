#include <string.h>

#include "api/internal.h"

static const char *const Q_LIST[] = {"limit", "cursor", NULL};
static const char *const Q_NAME[] = {"name", NULL};
static const char *const Q_OPERATORS[] = {"by", "rank", "step", "sort", "limit", NULL};
static const char *const Q_TIMELINE[] = {"rank", "source", "from_us", "to_us", "px", "lane", "limit", NULL};
static const char *const Q_PATH[] = {"rank", "source", "device", "from_us", "to_us", "limit", NULL};
static const char *const Q_MEMORY[] = {"px", NULL};
static const char *const Q_ROWS[] = {"rank", "step", NULL};
static const char *const Q_COMPARISON[] = {"base", "target", "limit", NULL};
static const char *const Q_FORMAT[] = {"format", NULL};
static const char *const Q_SCHEDULE[] = {"from", "to", "devices", NULL};
static const char *const Q_VERBOSE[] = {"verbose", NULL};

const struct route ROUTES[] = {
    {"GET", "/v1/profiles", profiles_list, API_POOL, false, Q_LIST, NULL},
    {"POST", "/v1/profiles", profiles_create, API_UPLOAD, false, Q_NAME, NULL},
    {"GET", "/v1/profiles/{id}", profiles_get, API_INLINE, false, NULL, NULL},
    {"DELETE", "/v1/profiles/{id}", profiles_delete, API_POOL, false, NULL, NULL},
    {"GET", "/v1/profiles/{id}/breakdown", results_rows, API_INLINE, false, Q_ROWS, "breakdown"},
    {"GET", "/v1/profiles/{id}/operators", results_operators, API_POOL, false, Q_OPERATORS, NULL},
    {"GET", "/v1/profiles/{id}/timeline", timeline_get, API_POOL, false, Q_TIMELINE, NULL},
    {"GET", "/v1/profiles/{id}/critical-path", critical_path_get, API_POOL, false, Q_PATH, NULL},
    {"POST", "/v1/profiles/{id}/replays", replays_create, API_POOL, true, NULL, NULL},
    {"GET", "/v1/profiles/{id}/communication", results_rows, API_POOL, false, Q_ROWS, "communication"},
    {"GET", "/v1/profiles/{id}/input-pipeline", results_document, API_POOL, false, NULL, "input-pipeline"},
    {"GET", "/v1/profiles/{id}/layers", results_document, API_POOL, false, NULL, "layers"},
    {"GET", "/v1/profiles/{id}/efficiency", results_document, API_POOL, false, NULL, "efficiency"},
    {"GET", "/v1/profiles/{id}/memory", memory_get, API_POOL, false, Q_MEMORY, NULL},
    {"GET", "/v1/profiles/{id}/analysis", results_document, API_INLINE, false, NULL, "analysis"},
    {"GET", "/v1/profiles/{id}/advice", results_document, API_INLINE, false, NULL, "advice"},
    {"GET", "/v1/profiles/{id}/report", reports_get, API_POOL, false, NULL, NULL},
    {"GET", "/v1/comparisons", comparisons_get, API_POOL, false, Q_COMPARISON, NULL},
    {"GET", "/v1/plan-kinds", plans_kinds, API_INLINE, false, NULL, NULL},
    {"GET", "/v1/plans", plans_list, API_POOL, false, Q_LIST, NULL},
    {"POST", "/v1/plans", plans_create, API_POOL, true, NULL, NULL},
    {"GET", "/v1/plans/{id}", plans_get, API_INLINE, false, NULL, NULL},
    {"DELETE", "/v1/plans/{id}", plans_delete, API_POOL, false, NULL, NULL},
    {"GET", "/v1/plans/{id}/export", plans_export, API_POOL, false, Q_FORMAT, NULL},
    {"GET", "/v1/plans/{id}/frontier", plans_frontier, API_POOL, false, Q_LIST, NULL},
    {"GET", "/v1/plans/{id}/schedule", plans_schedule, API_POOL, false, Q_SCHEDULE, NULL},
    {"GET", "/v1/plans/{id}/profiles", plan_profiles_list, API_POOL, false, Q_LIST, NULL},
    {"POST", "/v1/plans/{id}/profiles", plan_profiles_create, API_POOL, true, NULL, NULL},
    {"GET", "/v1/accuracy", accuracy_get, API_POOL, false, Q_LIST, NULL},
    {"GET", "/v1/calibrations", named_list, API_POOL, false, Q_LIST, "calibrations"},
    {"POST", "/v1/calibrations", calibrations_create, API_POOL, true, NULL, NULL},
    {"GET", "/v1/calibrations/{name}", named_get, API_INLINE, false, NULL, "calibrations"},
    {"PUT", "/v1/calibrations/{name}", named_put, API_POOL, true, NULL, "calibrations"},
    {"DELETE", "/v1/calibrations/{name}", named_delete, API_POOL, false, NULL, "calibrations"},
    {"GET", "/v1/models", named_list, API_POOL, false, Q_LIST, "models"},
    {"GET", "/v1/models/{name}", named_get, API_INLINE, false, NULL, "models"},
    {"PUT", "/v1/models/{name}", named_put, API_POOL, true, NULL, "models"},
    {"DELETE", "/v1/models/{name}", named_delete, API_POOL, false, NULL, "models"},
    {"GET", "/v1/clusters", named_list, API_POOL, false, Q_LIST, "clusters"},
    {"GET", "/v1/clusters/{name}", named_get, API_INLINE, false, NULL, "clusters"},
    {"PUT", "/v1/clusters/{name}", named_put, API_POOL, true, NULL, "clusters"},
    {"DELETE", "/v1/clusters/{name}", named_delete, API_POOL, false, NULL, "clusters"},
    {"GET", "/v1/devices", named_list, API_POOL, false, Q_LIST, "devices"},
    {"GET", "/v1/devices/{name}", named_get, API_INLINE, false, NULL, "devices"},
    {"GET", "/v1/jobs/{id}", jobs_get, API_INLINE, false, NULL, NULL},
    {"DELETE", "/v1/jobs/{id}", jobs_cancel, API_POOL, false, NULL, NULL},
    {"GET", "/v1/formats/signalbox-profile-v1.schema.json", openapi_signalbox_schema, API_INLINE, false, NULL,
     NULL},
    {"GET", "/v1/thresholds", thresholds_list, API_INLINE, false, NULL, NULL},
    {"GET", "/v1/version", health_version, API_INLINE, false, NULL, NULL},
    {"GET", "/livez", health_live, API_INLINE, false, NULL, NULL},
    {"GET", "/readyz", health_ready, API_INLINE, false, Q_VERBOSE, NULL},
    {"GET", "/metrics", metrics_get, API_INLINE, false, NULL, NULL},
    {"GET", "/openapi.json", openapi_get, API_INLINE, false, NULL, NULL},
};
const size_t ROUTE_COUNT = sizeof(ROUTES) / sizeof(ROUTES[0]);

static const struct route PAGE_ROUTE = {"GET", "/{asset}", assets_get, API_INLINE, false, NULL, NULL};

/* Does the path fit the template? Fills param from its {…} segment. */
static bool fits(const char *template, const char *path, char param[PARAM_MAX])
{
	param[0] = '\0';
	while (*template) {
		size_t n;

		if (*template != '{') {
			if (*template ++ != *path++)
				return false;
			continue;
		}
		n = strcspn(path, "/");
		if (n == 0 || n >= PARAM_MAX)
			return false;
		memcpy(param, path, n);
		param[n] = '\0';
		path += n;
		template += strcspn(template, "}") + 1;
	}
	return *path == '\0';
}

/* Paths of the API are never taken for files of the page. */
static bool is_api_path(const char *path)
{
	return strcmp(path, "/v1") == 0 || strncmp(path, "/v1/", 4) == 0;
}

static void allow_add(char allow[64], const char *method)
{
	if (allow[0])
		strncat(allow, ", ", 63 - strlen(allow));
	strncat(allow, method, 63 - strlen(allow));
	if (strcmp(method, "GET") == 0)
		strncat(allow, ", HEAD", 63 - strlen(allow));
}

const struct route *route_find(const char *method, const char *path, char param[PARAM_MAX],
                               char out_allow[64])
{
	out_allow[0] = '\0';
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		if (!fits(ROUTES[i].path, path, param))
			continue;
		if (strcmp(ROUTES[i].method, method) == 0)
			return &ROUTES[i];
		allow_add(out_allow, ROUTES[i].method);
	}
	if (out_allow[0] || is_api_path(path))
		return NULL;
	param[0] = '\0';
	if (strcmp(method, "GET") == 0)
		return &PAGE_ROUTE;
	allow_add(out_allow, "GET");
	return NULL;
}

const char *route_template(const char *path)
{
	char param[PARAM_MAX];

	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		if (fits(ROUTES[i].path, path, param))
			return ROUTES[i].path;
	}
	return NULL;
}

enum api_mode api_mode_of(const char *method, const char *path)
{
	char param[PARAM_MAX], allow[64];
	const struct route *r = route_find(method, path, param, allow);

	return r ? r->mode : API_INLINE;
}
