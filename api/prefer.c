#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/internal.h"
#include "base/num.h"

int prefer_wait(const struct api_req *req, int usual)
{
	const char *prefer = api_header(req, "Prefer");
	int wait = usual;

	while (prefer && *prefer) {
		size_t n;
		int64_t v;

		prefer += strspn(prefer, " \t,;");
		n = strcspn(prefer, ",; \t");
		if (n > 5 && strncasecmp(prefer, "wait=", 5) == 0 &&
		    sb_parse_int(prefer + 5, n - 5, &v) == SB_OK && v >= 0)
			return v > PREFER_WAIT_MAX ? PREFER_WAIT_MAX : (int)v;
		if (n == strlen("respond-async") && strncasecmp(prefer, "respond-async", n) == 0)
			wait = 0;
		prefer += n;
	}
	return wait;
}

void wait_for_job(struct call *c, const char *id, int seconds)
{
	if (seconds <= 0)
		return;
	snprintf(c->res->wait_job, sizeof(c->res->wait_job), "%.39s", id);
	c->res->wait_seconds = seconds;
}
