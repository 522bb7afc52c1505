#ifndef SB_API_PLANS_RESHARDING_H
#define SB_API_PLANS_RESHARDING_H
#include "api/plans/parse.h"
#include "planner/network/tiling.h"

/* The kind `resharding`, in one of two forms:
 *   {kind, method?, tensor:{shape, element_bytes}, from, to, nic, local?, transfer?, chunks?}
 *   {kind, method?, tasks:[{bytes | seconds, senders:[host], receivers:[host]}], nic?, transfer?, chunks?}
 * from and to are {mesh:[devices along each axis], devices_per_host, first_host?, sharding}; sharding has an
 * entry for each axis of the tensor: null, an axis of the mesh, or a list of them. Links are
 * {bytes_per_second, latency_seconds?}. */

#define RESHARDING_SECONDS_MAX 1e9
#define RESHARDING_BYTES_MAX ((int64_t)1 << 50)

/* A parsed request; the arrays are its own. */
struct resharding_input {
	bool meshes; /* the first form: pieces have elements */
	int tensor_axes;
	struct tiling tiling; /* of the second form too: bytes NaN where the seconds are given */
	struct transfer_network network;
	bool local_given;
	int transfer; /* enum transfer, or TRANSFERS: for each piece the fastest */
	const struct sb_watch *watch;
};
extern const char *const resharding_methods[]; /* by enum reshard_method */
extern const char *const transfer_words[];     /* by enum transfer, then "best" */

/* The caller clears *out also after a failure. SB_EINVAL, SB_EIMPOSSIBLE, SB_ENOMEM. */
int resharding_from_json(const json_t *request, struct resharding_input *out, struct sb_error *err);
void resharding_input_clear(struct resharding_input *in);
#define RESHARDING_INPUT_AUTO __attribute__((cleanup(resharding_input_clear))) struct resharding_input
json_t *resharding_schema(void);
#endif
