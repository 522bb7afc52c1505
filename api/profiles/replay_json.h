#ifndef SB_API_PROFILES_REPLAY_JSON_H
#define SB_API_PROFILES_REPLAY_JSON_H
#include "api/json.h"
#include "profiler/whatif.h"

#define REPLAY_CHANGES_MAX 64
#define REPLAY_FACTOR_MAX 1000

struct replay_request {
	struct whatif_change changes[REPLAY_CHANGES_MAX]; /* names are borrowed from the body */
	size_t count;
};

/* The body of a request. SB_EINVAL, SB_EIMPOSSIBLE, with the place. */
int replay_request_parse(const json_t *body, struct replay_request *out, struct sb_error *err);

/* What was replayed. */
struct replay_answer {
	const struct replay_graph *graph;
	const struct replay_result *result, *unchanged;
	const struct replay_span *spans; /* by capture */
	int64_t steps;
};
/* The answer. body: the request, whose changes are told again. A new reference, NULL when out of memory. */
json_t *replay_json(const struct replay_answer *a, const struct replay_request *r, const json_t *body);
#endif
