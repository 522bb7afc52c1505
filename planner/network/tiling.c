#include "planner/network/tiling.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/search.h"

/* Devices of pieces that are gone through: what bounds time and memory. */
#define ENDS_MAX ((double)(1 << 22))
#define BYTES_MAX ((double)((int64_t)1 << 50))

static int impossible(struct sb_error *err, const char *side, const char *member, const char *text)
{
	char field[48];

	snprintf(field, sizeof(field), "%s/%s", side, member);
	return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", field, "%s", text);
}

static int64_t mesh_devices(const struct mesh *m)
{
	int64_t n = 1;

	for (int i = 0; i < m->axes; i++)
		n *= m->shape[i];
	return n;
}

static int64_t shards_of(const struct layout *l, int axis)
{
	int64_t n = 1;

	for (int i = 0; i < l->sharding.count[axis]; i++)
		n *= l->mesh.shape[l->sharding.over[axis][i]];
	return n;
}

static int check_mesh(const struct mesh *m, const char *side, struct sb_error *err)
{
	double devices = 1;

	for (int i = 0; i < m->axes; i++) {
		if (m->shape[i] < 1)
			return impossible(err, side, "mesh", "must have at least one device along each axis");
		devices *= (double)m->shape[i];
	}
	if (m->axes < 1 || m->axes > TILING_AXES_MAX || devices > TILING_DEVICES_MAX)
		return impossible(err, side, "mesh", "must have 1 to 8 axes and at most 65536 devices");
	if (m->devices_per_host < 1 || m->devices_per_host > TILING_DEVICES_MAX)
		return impossible(err, side, "devices_per_host", "must lie between 1 and 65536");
	if (m->first_host < 0 || m->first_host > TILING_DEVICES_MAX)
		return impossible(err, side, "first_host", "must lie between 0 and 65536");
	return SB_OK;
}

static int check_layout(const struct tensor *t, const struct layout *l, const char *side,
                        struct sb_error *err)
{
	bool used[TILING_AXES_MAX] = {false};
	int rc = check_mesh(&l->mesh, side, err);

	for (int a = 0; rc == SB_OK && a < t->axes; a++) {
		for (int i = 0; i < l->sharding.count[a]; i++) {
			int axis = l->sharding.over[a][i];

			if (axis < 0 || axis >= l->mesh.axes)
				return impossible(err, side, "sharding",
				                  "names an axis that the mesh does not have");
			if (used[axis])
				return impossible(err, side, "sharding", "uses an axis of the mesh twice");
			used[axis] = true;
		}
	}
	return rc;
}

static int check_tensor(const struct tensor *t, struct sb_error *err)
{
	double bytes = (double)t->element_bytes;

	if (t->axes < 1 || t->axes > TILING_AXES_MAX)
		return impossible(err, "tensor", "shape", "must have 1 to 8 axes");
	for (int i = 0; i < t->axes; i++) {
		if (t->shape[i] < 1)
			return impossible(err, "tensor", "shape", "must be at least 1 along each axis");
		bytes *= (double)t->shape[i];
	}
	if (t->element_bytes < 1 || bytes > BYTES_MAX)
		return impossible(err, "tensor", "shape", "must have at most 2^50 bytes");
	return SB_OK;
}

/* One axis of the tensor as both sides cut it. */
struct cuts {
	int64_t elements, from_tile, to_tile; /* elements of a tile */
};

static int64_t ceil_div(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* Where the piece ends that begins at an element. */
static int64_t next_cut(const struct cuts *c, int64_t at)
{
	int64_t from = (at / c->from_tile + 1) * c->from_tile, to = (at / c->to_tile + 1) * c->to_tile;
	int64_t next = from < to ? from : to;

	return next < c->elements ? next : c->elements;
}

static double pieces_of(const struct cuts *c, int axes)
{
	double pieces = 1;

	for (int a = 0; a < axes; a++) {
		int64_t n = 0;

		for (int64_t at = 0; at < c[a].elements; at = next_cut(&c[a], at))
			n++;
		pieces *= (double)n;
	}
	return pieces;
}

/* The devices that hold the tile with element `at`: axes of the mesh that cut the tensor are fixed. Their
 * number is the product of the other ones. */
struct holders {
	int64_t fixed[TILING_AXES_MAX]; /* coordinate, -1 = all */
	int64_t count;
};

static struct holders holders_of(const struct layout *l, const struct cuts *c, int axes, const int64_t *at,
                                 bool from)
{
	struct holders h = {.count = mesh_devices(&l->mesh)};

	for (int i = 0; i < TILING_AXES_MAX; i++)
		h.fixed[i] = -1;
	for (int a = 0; a < axes; a++) {
		int64_t tile = at[a] / (from ? c[a].from_tile : c[a].to_tile);

		for (int i = l->sharding.count[a] - 1; i >= 0; i--) {
			int axis = l->sharding.over[a][i];

			h.fixed[axis] = tile % l->mesh.shape[axis];
			h.count /= l->mesh.shape[axis];
			tile /= l->mesh.shape[axis];
		}
	}
	return h;
}

/* The host of the k-th holder; it rises with k. */
static int64_t host_of(const struct mesh *m, const struct holders *h, int64_t k)
{
	int64_t device = 0, stride = 1;

	for (int i = m->axes - 1; i >= 0; i--) {
		int64_t at = h->fixed[i];

		if (at < 0) {
			at = k % m->shape[i];
			k /= m->shape[i];
		}
		device += at * stride;
		stride *= m->shape[i];
	}
	return m->first_host + device / m->devices_per_host;
}

static bool is_listed(const uint32_t *hosts, uint32_t count, uint32_t host)
{
	uint32_t at = SB_BISECT(i, 0, count, hosts[i] < host);

	return at < count && hosts[at] == host;
}

/* Writes senders and receivers of a piece behind `ends`; how many. */
static size_t list_ends(const struct layout *from, const struct layout *to, const struct holders *have,
                        const struct holders *need, uint32_t *ends, struct reshard_task *task,
                        struct piece *p)
{
	int64_t on_host = 0;

	*task = (struct reshard_task){.senders = ends};
	for (int64_t k = 0; k < have->count; k++) {
		uint32_t host = (uint32_t)host_of(&from->mesh, have, k);

		if (task->sender_count == 0 || ends[task->sender_count - 1] != host)
			ends[task->sender_count++] = host;
	}
	ends += task->sender_count;
	task->receivers = ends;
	for (int64_t k = 0; k < need->count; k++) {
		uint32_t host = (uint32_t)host_of(&to->mesh, need, k);

		if (is_listed(task->senders, task->sender_count, host))
			continue;
		if (task->receiver_count == 0 || ends[task->receiver_count - 1] != host) {
			ends[task->receiver_count++] = host;
			on_host = 0;
		}
		on_host++;
		p->devices++;
		p->widest = on_host > p->widest ? on_host : p->widest;
	}
	p->hosts = task->receiver_count;
	return (size_t)task->sender_count + task->receiver_count;
}

/* Steps to the next piece; false behind the last one. */
static bool step(const struct cuts *c, int axes, int64_t *at)
{
	for (int a = axes - 1; a >= 0; a--) {
		at[a] = next_cut(&c[a], at[a]);
		if (at[a] < c[a].elements)
			return true;
		at[a] = 0;
	}
	return false;
}

static void cut(const struct tensor *t, const struct layout *from, const struct layout *to,
                const struct cuts *c, struct tiling *out)
{
	int64_t at[TILING_AXES_MAX] = {0};
	size_t used = 0;

	do {
		struct holders have = holders_of(from, c, t->axes, at, true);
		struct holders need = holders_of(to, c, t->axes, at, false);
		struct piece *p = &out->pieces[out->count];

		p->bytes = (double)t->element_bytes;
		for (int a = 0; a < t->axes; a++) {
			p->low[a] = at[a];
			p->high[a] = next_cut(&c[a], at[a]);
			p->bytes *= (double)(p->high[a] - p->low[a]);
		}
		used += list_ends(from, to, &have, &need, out->ends + used, &out->tasks[out->count], p);
		out->count++;
	} while (step(c, t->axes, at));
}

static int64_t hosts_of(const struct mesh *m)
{
	return m->first_host + ceil_div(mesh_devices(m), m->devices_per_host);
}

/* Devices that hold one tile. */
static int64_t replicas_of(const struct layout *l, int axes)
{
	int64_t n = mesh_devices(&l->mesh);

	for (int a = 0; a < axes; a++)
		n /= shards_of(l, a);
	return n;
}

int tiling_build(const struct tensor *t, const struct layout *from, const struct layout *to,
                 struct tiling *out, struct sb_error *err)
{
	struct cuts c[TILING_AXES_MAX];
	double pieces, ends;
	int rc = check_tensor(t, err);

	*out = (struct tiling){0};
	if (rc == SB_OK)
		rc = check_layout(t, from, "from", err);
	if (rc == SB_OK)
		rc = check_layout(t, to, "to", err);
	if (rc != SB_OK)
		return rc;
	for (int a = 0; a < t->axes; a++)
		c[a] = (struct cuts){t->shape[a], ceil_div(t->shape[a], shards_of(from, a)),
		                     ceil_div(t->shape[a], shards_of(to, a))};
	pieces = pieces_of(c, t->axes);
	ends = pieces * (double)(replicas_of(from, t->axes) + replicas_of(to, t->axes));
	if (pieces > RESHARD_TASKS_MAX || ends > ENDS_MAX)
		return impossible(
		    err, "to", "sharding",
		    "makes too many pieces with that of the other side: at most 16384, and 2^22 "
		    "devices of all pieces");
	out->hosts = (uint32_t)(hosts_of(&from->mesh) > hosts_of(&to->mesh) ? hosts_of(&from->mesh)
	                                                                    : hosts_of(&to->mesh));
	out->pieces = calloc((size_t)pieces, sizeof(*out->pieces));
	out->tasks = calloc((size_t)pieces, sizeof(*out->tasks));
	out->ends = calloc((size_t)ends, sizeof(*out->ends));
	if (!out->pieces || !out->tasks || !out->ends)
		return sb_no_memory(err);
	cut(t, from, to, c, out);
	return SB_OK;
}

void tiling_free(struct tiling *t)
{
	free(t->pieces);
	free(t->tasks);
	free(t->ends);
	*t = (struct tiling){0};
}
