#ifndef SB_TESTS_UNIT_PROFILER_FIXTURE_H
#define SB_TESTS_UNIT_PROFILER_FIXTURE_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/profile.h"

/* Profiles made by hand. Times in ns. Everything is allocated as the readers do it, so profile_free() frees
 * it. */

static inline void *grown(void *items, size_t count, size_t size)
{
	void *more = realloc(items, (count + 1) * size);

	assert_non_null(more);
	memset((char *)more + count * size, 0, size);
	return more;
}

static inline struct capture *make_capture(struct profile *p, enum capture_format format, int64_t rank)
{
	struct capture *c;

	p->captures = grown(p->captures, p->count, sizeof(*p->captures));
	c = &p->captures[p->count++];
	c->source = strdup("made");
	c->format = format;
	c->rank = rank;
	c->world_size = SB_NULL;
	c->stage = SB_NULL;
	assert_int_equal(trace_init(&c->trace), SB_OK);
	return c;
}

static inline uint32_t text_id(struct capture *c, const char *text)
{
	uint32_t id = 0;

	assert_int_equal(sb_strings_add(c->trace.strings, text, strlen(text), &id), SB_OK);
	return id;
}

static inline uint32_t add_lane(struct capture *c, const char *process, const char *thread, int32_t device)
{
	struct lane lane = {.process = text_id(c, process), .thread = text_id(c, thread), .device = device};
	uint32_t id = 0;

	assert_int_equal(trace_add_lane(&c->trace, &lane, &id), SB_OK);
	return id;
}

static inline void add_event(struct capture *c, uint32_t lane, enum event_kind kind, const char *name,
                             int64_t start, int64_t dur, int64_t link)
{
	struct event e = {start, dur, link, text_id(c, name), lane, kind};

	assert_int_equal(trace_append(&c->trace, &e), SB_OK);
}

static inline void name_chip(struct capture *c, const char *chip)
{
	snprintf(c->chip, sizeof(c->chip), "%s", chip);
}

static inline void add_step(struct capture *c, int64_t number, int64_t start, int64_t dur)
{
	c->steps = grown(c->steps, c->step_count, sizeof(*c->steps));
	c->steps[c->step_count++] = (struct step){number, start, dur};
}

static inline struct kernel *add_kernel(struct capture *c, const char *name, const char *type,
                                        const char *core, int64_t start, int64_t dur)
{
	struct kernel *k;

	c->kernels = grown(c->kernels, c->kernel_count, sizeof(*c->kernels));
	k = &c->kernels[c->kernel_count++];
	k->step = SB_NULL;
	k->start_ns = start;
	k->dur_ns = dur;
	k->wait_ns = SB_NULL;
	k->name = text_id(c, name);
	k->type = type ? text_id(c, type) : 0;
	k->core = text_id(c, core);
	k->block_dim = -1;
	k->stream = -1;
	k->pipe_ratio = NAN;
	k->inner_ratio = NAN;
	k->flops = NAN;
	k->bytes = NAN;
	return k;
}

/* One operator of communication.json: transmission and waiting in us, no link yet. */
static inline struct communication_op *add_communication(struct capture *c, int64_t step, const char *name,
                                                         const char *group, double elapse, double transit,
                                                         double wait)
{
	struct communication_op *op;

	c->communications = grown(c->communications, c->communication_count, sizeof(*c->communications));
	op = &c->communications[c->communication_count++];
	op->step = step;
	op->name = text_id(c, name);
	op->group = group ? text_id(c, group) : 0;
	op->elapse_us = elapse;
	op->transit_us = transit;
	op->wait_us = wait;
	op->synchronization_us = wait;
	op->idle_us = NAN;
	return op;
}

static inline struct link *add_link(struct communication_op *op, const char *name, int64_t bytes, double us)
{
	struct link *l;

	assert_true(op->link_count < LINKS_MAX);
	l = &op->links[op->link_count++];
	l->name = name;
	l->bytes = bytes;
	l->transit_us = us;
	l->large_packet_ratio = NAN;
	return l;
}

static inline void add_packet(struct link *l, int64_t bytes, int64_t count, double us)
{
	l->packets = grown(l->packets, l->packet_count, sizeof(*l->packets));
	l->packets[l->packet_count++] = (struct packet){bytes, count, us};
}

static inline void warnings_release(struct warnings *w)
{
	free(w->items);
	*w = (struct warnings){0};
}
#endif
