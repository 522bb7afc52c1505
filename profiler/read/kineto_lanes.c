#include <string.h>

#include "profiler/read/kineto_impl.h"

static int add_text(struct kineto *k, const struct chrome_text *t, uint32_t *out_id)
{
	return sb_strings_add(k->trace.strings, t->text, t->len, out_id);
}

/* Kineto writes a device's number as the pid of its rows; args.device is newer. */
static int32_t device_of(const struct chrome_event *e, enum event_kind kind)
{
	int64_t device;

	if (!kineto_on_device(kind))
		return -1;
	device = chrome_int(&e->args[ARG_DEVICE]);
	if (device == SB_NULL)
		device = chrome_int(&e->pid);
	return device >= 0 && device <= INT32_MAX ? (int32_t)device : -1;
}

int kineto_lane(struct kineto *k, const struct chrome_event *e, enum event_kind kind, uint32_t *out_lane)
{
	const struct chrome_text *tid = e->tid.token == JPULL_END ? &e->args[ARG_STREAM] : &e->tid;
	struct lane lane = {.device = device_of(e, kind)};
	struct id_key key;
	int rc = add_text(k, &e->pid, &lane.process);

	if (rc == SB_OK)
		rc = add_text(k, tid, &lane.thread);
	if (rc != SB_OK)
		return rc;
	key = (struct id_key){lane.process, lane.thread, (uint32_t)lane.device};
	if (id_map_get(&k->lanes.lanes, key, out_lane))
		return SB_OK;
	rc = trace_add_lane(&k->trace, &lane, out_lane);
	return rc == SB_OK ? id_map_put(&k->lanes.lanes, key, *out_lane) : rc;
}

void kineto_known_lane(struct kineto *k, const struct chrome_event *e, uint32_t *out_lane)
{
	struct id_key key = {.c = (uint32_t)-1};

	if (add_text(k, &e->pid, &key.a) == SB_OK && add_text(k, &e->tid, &key.b) == SB_OK)
		(void)id_map_get(&k->lanes.lanes, key, out_lane);
}

int kineto_metadata(struct kineto *k, const struct chrome_event *e)
{
	bool thread = chrome_is(&e->name, "thread_name");
	struct chrome_text name = e->args[ARG_NAME];
	struct id_key key = {.c = thread};
	uint32_t id = 0;
	int rc;

	if (!thread && !chrome_is(&e->name, "process_name"))
		return SB_OK;
	while (name.len > 0 && name.text[name.len - 1] == ' ')
		name.len--;
	if (name.len == 0)
		return SB_OK;
	rc = add_text(k, &e->pid, &key.a);
	if (rc == SB_OK && thread)
		rc = add_text(k, &e->tid, &key.b);
	if (rc == SB_OK)
		rc = add_text(k, &name, &id);
	return rc == SB_OK ? id_map_put(&k->lanes.names, key, id) : rc;
}

/* The streams that waits name are called as their lanes are. */
static void name_streams(struct kineto *k)
{
	const struct trace *t = &k->trace;

	for (size_t i = 0; i < t->detail_count; i++) {
		struct event_detail *d = &t->details[i];

		if (t->kind[d->event] == EVENT_DEVICE_WAIT && d->group != 0)
			(void)id_map_get(&k->lanes.names,
			                 (struct id_key){t->lanes[t->lane[d->event]].process, d->group, true},
			                 &d->group);
	}
}

void kineto_name_lanes(struct kineto *k)
{
	name_streams(k);
	for (size_t i = 0; i < k->trace.lane_count; i++) {
		struct lane *l = &k->trace.lanes[i];
		struct id_key thread = {l->process, l->thread, true};

		(void)id_map_get(&k->lanes.names, (struct id_key){l->process, 0, false}, &l->process);
		(void)id_map_get(&k->lanes.names, thread, &l->thread);
	}
}

void kineto_lanes_free(struct kineto_lanes *l)
{
	id_map_free(&l->lanes);
	id_map_free(&l->names);
}
