#include <string.h>

#include "api/internal.h"

static const char *const Q_LIST[] = {"limit", "cursor", NULL};
static const char *const Q_NAME[] = {"name", NULL};
static const char *const Q_OPERATORS[] = {"by", "rank", "step", "sort", "limit", NULL};
static const char *const Q_FORMAT[] = {"format", NULL};
static const char *const Q_VERBOSE[] = {"verbose", NULL};

const struct route ROUTES[] = {
    {"GET", "/v1/profiles", profiles_list, API_POOL, false, Q_LIST},
    {"POST", "/v1/profiles", profiles_create, API_UPLOAD, false, Q_NAME},
    {"GET", "/v1/profiles/{id}", profiles_get, API_INLINE, false, NULL},
    {"DELETE", "/v1/profiles/{id}", profiles_delete, API_POOL, false, NULL},
    {"GET", "/v1/profiles/{id}/breakdown", results_breakdown, API_INLINE, false, NULL},
    {"GET", "/v1/profiles/{id}/operators", results_operators, API_POOL, false, Q_OPERATORS},
    {"GET", "/v1/profiles/{id}/communication", results_communication, API_POOL, false, NULL},
    {"GET", "/v1/profiles/{id}/analysis", results_analysis, API_INLINE, false, NULL},
    {"GET", "/v1/profiles/{id}/advice", results_advice, API_INLINE, false, NULL},
    {"GET", "/v1/plan-kinds", plans_kinds, API_POOL, false, NULL},
    {"GET", "/v1/plans", plans_list, API_POOL, false, Q_LIST},
    {"POST", "/v1/plans", plans_create, API_POOL, true, NULL},
    {"GET", "/v1/plans/{id}", plans_get, API_INLINE, false, NULL},
    {"DELETE", "/v1/plans/{id}", plans_delete, API_POOL, false, NULL},
    {"GET", "/v1/plans/{id}/export", plans_export, API_POOL, false, Q_FORMAT},
    {"GET", "/v1/models", models_list, API_POOL, false, Q_LIST},
    {"GET", "/v1/models/{name}", models_get, API_INLINE, false, NULL},
    {"PUT", "/v1/models/{name}", models_put, API_POOL, true, NULL},
    {"DELETE", "/v1/models/{name}", models_delete, API_POOL, false, NULL},
    {"GET", "/v1/clusters", clusters_list, API_POOL, false, Q_LIST},
    {"GET", "/v1/clusters/{name}", clusters_get, API_INLINE, false, NULL},
    {"PUT", "/v1/clusters/{name}", clusters_put, API_POOL, true, NULL},
    {"DELETE", "/v1/clusters/{name}", clusters_delete, API_POOL, false, NULL},
    {"GET", "/v1/jobs/{id}", jobs_get, API_INLINE, false, NULL},
    {"DELETE", "/v1/jobs/{id}", jobs_cancel, API_POOL, false, NULL},
    {"GET", "/v1/version", health_version, API_INLINE, false, NULL},
    {"GET", "/livez", health_live, API_INLINE, false, NULL},
    {"GET", "/readyz", health_ready, API_INLINE, false, Q_VERBOSE},
    {"GET", "/metrics", metrics_get, API_INLINE, false, NULL},
    {"GET", "/openapi.json", openapi_get, API_INLINE, false, NULL},
};
const size_t ROUTE_COUNT = sizeof(ROUTES) / sizeof(ROUTES[0]);

static const struct route PAGE_ROUTE = {"GET", "/{asset}", assets_get, API_INLINE, false, NULL};

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
