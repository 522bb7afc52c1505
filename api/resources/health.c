#include <string.h>

#include "api/internal.h"
#include "base/version.h"

static json_t *status_object(const char *status)
{
	json_t *o = json_object();

	json_object_set_new(o, "status", json_string(status));
	return o;
}

void health_live(struct call *c)
{
	reply_json(c, 200, status_object("ok"));
	api_res_header(c->res, "Cache-Control", "no-store");
}

static json_t *check(const char *name, bool fine, const char *detail)
{
	json_t *o = json_object();

	json_object_set_new(o, "name", json_string(name));
	json_object_set_new(o, "status", json_string(fine ? "ok" : "failed"));
	json_object_set_new(o, "detail", fine ? json_null() : json_string(detail));
	return o;
}

void health_ready(struct call *c)
{
	const struct api_config *config = &c->s->config;
	struct sb_error err = {0};
	bool writes = store_health(config->store, &err) == SB_OK;
	bool draining = config->draining && config->draining(config->draining_self);
	json_t *checks, *o;

	o = writes && !draining ? status_object("ok") : json_object();
	if (query_text(c, "verbose")) {
		checks = json_array();
		json_array_append_new(checks, check("storage", writes, err.text));
		json_array_append_new(checks, check("accepting", !draining, "the service is stopping"));
		json_object_set_new(o, "checks", checks);
	}
	if (writes && !draining) {
		reply_json(c, 200, o);
	} else {
		if (writes)
			sb_fail(&err, SB_EBUSY, "stopping", "The service is stopping.");
		/* whatever it is: not now */
		err.code = SB_EBUSY;
		problem_with(c->res, &err, o);
	}
	api_res_header(c->res, "Cache-Control", "no-store");
}

void health_version(struct call *c)
{
	const struct api_limits *l = &c->s->config.limits;
	json_t *o = json_object(), *limits = json_object();

	json_object_set_new(limits, "upload_bytes", json_integer(l->upload_bytes));
	json_object_set_new(limits, "inflated_bytes", json_integer(l->inflated_bytes));
	json_object_set_new(limits, "inflation_ratio", json_integer(l->ratio));
	json_object_set_new(limits, "inflation_ratio_from_bytes", json_integer(l->ratio_from));
	json_object_set_new(limits, "archive_files", json_integer(l->archive_files));
	json_object_set_new(limits, "request_bytes", json_integer(l->request_bytes));
	json_object_set_new(limits, "plan_wait_seconds", json_integer(l->plan_wait_seconds));
	json_object_set_new(o, "name", json_string("signalbox"));
	json_object_set_new(o, "version", json_string(SB_VERSION));
	json_object_set_new(o, "api", json_string("v1"));
	json_object_set_new(o, "limits", limits);
	reply_json(c, 200, o);
}
