#include "api/plans/link_rate.h"

#include "api/plans/schema.h"

#define RATE_MAX 1e18
#define LATENCY_MAX 10.0

int link_rate_from_json(const json_t *request, const char *member, enum need need, struct link_rate *out,
                        struct sb_error *err)
{
	static const char *const members[] = {"bytes_per_second", "latency_seconds", NULL};
	struct place root = place_of(""), here = place_member(&root, member);
	const json_t *o = NULL;
	int rc = parse_object(request, &root, member, need, &o, err);

	if (rc != SB_OK || !o)
		return rc;
	rc = parse_members(o, &here, members, err);
	if (rc == SB_OK)
		rc = parse_number(o, &here, "bytes_per_second", REQUIRED, 1, RATE_MAX, &out->bytes_per_second,
		                  err);
	if (rc == SB_OK)
		rc = parse_number(o, &here, "latency_seconds", OPTIONAL, 0, LATENCY_MAX,
		                  &out->latency_seconds, err);
	return rc;
}

json_t *link_rate_schema(void)
{
	static const char *const needs[] = {"bytes_per_second", NULL};

	return schema_object(json_pack("{s:o,s:o}", "bytes_per_second", schema_number(1, RATE_MAX, NULL),
	                               "latency_seconds", schema_number(0, LATENCY_MAX, "default 0")),
	                     needs);
}
