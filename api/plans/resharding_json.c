#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/plans/link_rate.h"
#include "api/plans/resharding.h"

const char *const transfer_words[] = {"send-recv", "local-all-gather", "broadcast", "best", NULL};

static int list_of(const json_t *object, const struct place *at, const char *member, size_t least,
                   size_t most, const json_t **out, struct sb_error *err)
{
	const json_t *v = parse_given(object, member);
	char text[80];

	if (!v)
		return parse_missing(err, object, at, member);
	if (!json_is_array(v))
		return parse_fail(err, SB_EINVAL, "wrong_type", at, member, "must be a list");
	*out = v;
	if (json_array_size(v) >= least && json_array_size(v) <= most)
		return SB_OK;
	snprintf(text, sizeof(text), "must have %zu to %zu entries", least, most);
	return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, member, text);
}

static int read_sizes(const json_t *object, const struct place *at, const char *member, int64_t most,
                      int64_t *out, int *out_count, struct sb_error *err)
{
	struct place here = place_member(at, member);
	const json_t *list = NULL;
	int rc = list_of(object, at, member, 1, TILING_AXES_MAX, &list, err);

	for (size_t i = 0; rc == SB_OK && i < json_array_size(list); i++) {
		struct place p = place_index(&here, i);

		rc = parse_integer_value(json_array_get(list, i), &p, 1, most, &out[i], err);
	}
	*out_count = (int)json_array_size(list);
	return rc;
}

static int read_tensor(const json_t *request, struct tensor *out, struct sb_error *err)
{
	static const char *const members[] = {"shape", "element_bytes", NULL};
	struct place root = place_of(""), here = place_of("/tensor");
	const json_t *o = NULL;
	int rc = parse_object(request, &root, "tensor", REQUIRED, &o, err);

	if (rc == SB_OK)
		rc = parse_members(o, &here, members, err);
	if (rc == SB_OK)
		rc = read_sizes(o, &here, "shape", RESHARDING_BYTES_MAX, out->shape, &out->axes, err);
	if (rc == SB_OK)
		rc = parse_integer(o, &here, "element_bytes", REQUIRED, 1, 64, &out->element_bytes, err);
	return rc;
}

/* null, an axis of the mesh, or a list of them. */
static int read_axes(const json_t *v, const struct place *at, int *out, int *out_count, struct sb_error *err)
{
	size_t n = json_is_null(v) ? 0 : json_is_array(v) ? json_array_size(v) : 1;
	int rc = SB_OK;

	if (n > TILING_AXES_MAX)
		return parse_fail(err, SB_EIMPOSSIBLE, "out_of_range", at, NULL, "has more than 8 axes");
	for (size_t i = 0; rc == SB_OK && i < n; i++) {
		int64_t axis = 0;

		rc = parse_integer_value(json_is_array(v) ? json_array_get(v, i) : v, at, 0,
		                         TILING_AXES_MAX - 1, &axis, err);
		out[i] = (int)axis;
	}
	*out_count = (int)n;
	return rc;
}

static int read_layout(const json_t *request, const char *side, int axes, struct layout *out,
                       struct sb_error *err)
{
	static const char *const members[] = {"mesh", "devices_per_host", "first_host", "sharding", NULL};
	struct place root = place_of(""), here = place_member(&root, side);
	struct place sharding = place_member(&here, "sharding");
	const json_t *o = NULL, *list = NULL;
	int rc = parse_object(request, &root, side, REQUIRED, &o, err);

	if (rc == SB_OK)
		rc = parse_members(o, &here, members, err);
	if (rc == SB_OK)
		rc = read_sizes(o, &here, "mesh", TILING_DEVICES_MAX, out->mesh.shape, &out->mesh.axes, err);
	if (rc == SB_OK)
		rc = parse_integer(o, &here, "devices_per_host", REQUIRED, 1, TILING_DEVICES_MAX,
		                   &out->mesh.devices_per_host, err);
	if (rc == SB_OK)
		rc = parse_integer(o, &here, "first_host", OPTIONAL, 0, TILING_DEVICES_MAX,
		                   &out->mesh.first_host, err);
	if (rc == SB_OK)
		rc = list_of(o, &here, "sharding", (size_t)axes, (size_t)axes, &list, err);
	for (size_t i = 0; rc == SB_OK && i < json_array_size(list); i++) {
		struct place p = place_index(&sharding, i);

		rc = read_axes(json_array_get(list, i), &p, out->sharding.over[i], &out->sharding.count[i],
		               err);
	}
	return rc;
}

/* The other mesh begins on the host behind those of the first one, unless it is said where. */
static int64_t host_behind(const struct mesh *m)
{
	double devices = 1;

	for (int i = 0; i < m->axes; i++)
		devices *= (double)m->shape[i];
	if (devices > TILING_DEVICES_MAX)
		return 0; /* will be refused */
	return m->first_host + (int64_t)ceil(devices / (double)m->devices_per_host);
}

static int read_meshes(const json_t *request, struct resharding_input *in, struct sb_error *err)
{
	struct tensor tensor = {0};
	struct layout from = {0}, to = {0};
	struct sb_error why = {0};
	char field[64];
	int rc = read_tensor(request, &tensor, err);

	if (rc == SB_OK)
		rc = read_layout(request, "from", tensor.axes, &from, err);
	if (rc == SB_OK) {
		to.mesh.first_host = host_behind(&from.mesh);
		rc = read_layout(request, "to", tensor.axes, &to, err);
	}
	if (rc == SB_OK)
		rc = link_rate_from_json(request, "nic", REQUIRED, &in->network.nic, err);
	if (rc == SB_OK)
		rc = link_rate_from_json(request, "local", OPTIONAL, &in->network.local, err);
	if (rc != SB_OK)
		return rc;
	in->meshes = true;
	in->tensor_axes = tensor.axes;
	in->local_given = isfinite(in->network.local.bytes_per_second);
	rc = tiling_build(&tensor, &from, &to, &in->tiling, &why);
	snprintf(field, sizeof(field), "/%.60s", why.field);
	return rc == SB_OK ? SB_OK : sb_fail_field(err, rc, why.word, field, "%s", why.text);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Hosts in rising order, each once, into room for as many. */
static int read_hosts(const json_t *task, const struct place *at, const char *member, uint32_t *out,
                      uint32_t *out_count, struct sb_error *err)
{
	struct place here = place_member(at, member);
	const json_t *list = NULL;
	int rc = list_of(task, at, member, 1, RESHARD_HOSTS_MAX, &list, err);
	int64_t host = 0;

	*out_count = 0;
	for (size_t i = 0; rc == SB_OK && i < json_array_size(list); i++) {
		struct place p = place_index(&here, i);

		rc = parse_integer_value(json_array_get(list, i), &p, 0, RESHARD_HOSTS_MAX - 1, &host, err);
		out[(*out_count)++] = (uint32_t)host;
	}
	if (rc != SB_OK)
		return rc;
	qsort(out, *out_count, sizeof(*out), by_number);
	for (uint32_t i = 1; i < *out_count; i++)
		if (out[i] == out[i - 1])
			return parse_fail(err, SB_EIMPOSSIBLE, "duplicate", at, member, "names a host twice");
	return SB_OK;
}

/* A receiver that holds the piece needs nothing. */
static void drop_holders(struct reshard_task *t, uint32_t *receivers)
{
	uint32_t kept = 0;

	for (uint32_t r = 0, s = 0; r < t->receiver_count; r++) {
		while (s < t->sender_count && t->senders[s] < receivers[r])
			s++;
		if (s == t->sender_count || t->senders[s] != receivers[r])
			receivers[kept++] = receivers[r];
	}
	t->receiver_count = kept;
}

static int read_amount(const json_t *v, const struct place *at, bool nic, struct piece *p,
                       struct reshard_task *t, struct sb_error *err)
{
	const json_t *bytes = parse_given(v, "bytes"), *seconds = parse_given(v, "seconds");
	int64_t n = 0;
	int rc;

	if (bytes && seconds)
		return parse_fail(err, SB_EINVAL, "contradiction", at, "seconds",
		                  "cannot be given together with bytes");
	p->bytes = NAN;
	if (seconds)
		return parse_number(v, at, "seconds", REQUIRED, 0, RESHARDING_SECONDS_MAX, &t->seconds, err);
	rc = parse_integer(v, at, "bytes", REQUIRED, 0, RESHARDING_BYTES_MAX, &n, err);
	p->bytes = (double)n;
	if (rc == SB_OK && !nic)
		return parse_fail(err, SB_EINVAL, "missing_member", &(struct place){""}, "nic",
		                  "is missing: a task has bytes instead of seconds");
	return rc;
}

static int read_task(const json_t *v, const struct place *at, bool nic, uint32_t **ends, struct piece *p,
                     struct reshard_task *t, struct sb_error *err)
{
	static const char *const members[] = {"name", "bytes", "seconds", "senders", "receivers", NULL};
	const char *name;
	int rc = parse_members(v, at, members, err);

	if (rc == SB_OK)
		rc = parse_text(v, at, "name", OPTIONAL, &name, err);
	if (rc == SB_OK)
		rc = read_amount(v, at, nic, p, t, err);
	if (rc == SB_OK)
		rc = read_hosts(v, at, "senders", *ends, &t->sender_count, err);
	if (rc != SB_OK)
		return rc;
	t->senders = *ends;
	*ends += t->sender_count;
	rc = read_hosts(v, at, "receivers", *ends, &t->receiver_count, err);
	if (rc != SB_OK)
		return rc;
	drop_holders(t, *ends);
	t->receivers = *ends;
	*ends += t->receiver_count;
	p->hosts = p->devices = t->receiver_count;
	p->widest = t->receiver_count > 0;
	return SB_OK;
}

static size_t ends_of(const json_t *list)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(list); i++)
		n += json_array_size(json_object_get(json_array_get(list, i), "senders")) +
		     json_array_size(json_object_get(json_array_get(list, i), "receivers"));
	return n;
}

static int read_tasks(const json_t *request, struct resharding_input *in, struct sb_error *err)
{
	struct place root = place_of(""), here = place_of("/tasks");
	struct tiling *out = &in->tiling;
	const json_t *list = NULL;
	uint32_t *ends;
	int rc = list_of(request, &root, "tasks", 1, RESHARD_TASKS_MAX, &list, err);

	if (rc == SB_OK)
		rc = link_rate_from_json(request, "nic", OPTIONAL, &in->network.nic, err);
	if (rc != SB_OK)
		return rc;
	out->count = json_array_size(list);
	out->pieces = calloc(out->count, sizeof(*out->pieces));
	out->tasks = calloc(out->count, sizeof(*out->tasks));
	ends = out->ends = calloc(ends_of(list) + 1, sizeof(*out->ends));
	if (!out->pieces || !out->tasks || !out->ends)
		return sb_no_memory(err);
	for (size_t i = 0; rc == SB_OK && i < out->count; i++) {
		struct place p = place_index(&here, i);

		rc = read_task(json_array_get(list, i), &p, isfinite(in->network.nic.bytes_per_second), &ends,
		               &out->pieces[i], &out->tasks[i], err);
	}
	for (const uint32_t *e = out->ends; rc == SB_OK && e < ends; e++)
		out->hosts = *e >= out->hosts ? *e + 1 : out->hosts;
	return rc;
}

int resharding_from_json(const json_t *request, struct resharding_input *out, struct sb_error *err)
{
	static const char *const of_meshes[] = {"kind", "method", "tensor",   "from",   "to",
	                                        "nic",  "local",  "transfer", "chunks", NULL};
	static const char *const of_tasks[] = {"kind", "method", "tasks", "nic", "transfer", "chunks", NULL};
	struct place root = place_of("");
	bool tasks = parse_given(request, "tasks") != NULL;
	int rc = parse_members(request, &root, tasks ? of_tasks : of_meshes, err);

	*out = (struct resharding_input){
	    .network = {.nic.bytes_per_second = INFINITY, .local.bytes_per_second = INFINITY},
	    .transfer = TRANSFERS};
	if (rc == SB_OK)
		rc = parse_word(request, &root, "transfer", OPTIONAL, transfer_words, &out->transfer, err);
	if (rc == SB_OK)
		rc = parse_integer(request, &root, "chunks", OPTIONAL, 1, TRANSFER_CHUNKS_MAX,
		                   &out->network.chunks, err);
	if (rc != SB_OK)
		return rc;
	return tasks ? read_tasks(request, out, err) : read_meshes(request, out, err);
}

void resharding_input_clear(struct resharding_input *in)
{
	tiling_free(&in->tiling);
}
