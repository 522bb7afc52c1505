#include "planner/pipeline/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define STATES_MAX (1 << 16)
#define FROM_MAX (1 << 24)

/* What one device can take. */
struct count_option {
	int64_t of[TABLE_BODIES_MAX];
	size_t offset; /* of the state that it leads to */
	size_t index;  /* in the device's table */
	int64_t reach; /* of the main body */
	double extra;
};

int counts_open(const struct table_problem *tp, int64_t devices, struct counts *out)
{
	struct counts c = {.bodies = tp->p->body_count, .devices = devices, .states = 1, .all_states = 1};

	for (int64_t b = 0; b < c.bodies; b++) {
		c.all[b] = tp->first[b + 1] - tp->first[b];
		if (c.all[b] > c.all[c.main])
			c.main = b;
	}
	for (int64_t b = 0; b < c.bodies; b++) {
		c.states *= b == c.main ? 1 : (size_t)c.all[b] + 1;
		c.all_states *= (size_t)c.all[b] + 1;
		if (c.all_states * (size_t)devices > FROM_MAX || c.states > STATES_MAX)
			return SB_ELIMIT;
	}
	c.reach = malloc(c.states * sizeof(*c.reach));
	c.next_reach = malloc(c.states * sizeof(*c.next_reach));
	c.cost = malloc(c.all_states * sizeof(*c.cost));
	c.next_cost = malloc(c.all_states * sizeof(*c.next_cost));
	c.from = malloc(c.all_states * (size_t)devices * sizeof(*c.from));
	if (!c.reach || !c.next_reach || !c.cost || !c.next_cost || !c.from) {
		counts_free(&c);
		return SB_ENOMEM;
	}
	*out = c;
	return SB_OK;
}

void counts_free(struct counts *c)
{
	free(c->reach);
	free(c->next_reach);
	free(c->cost);
	free(c->next_cost);
	free(c->from);
	free(c->options);
	*c = (struct counts){0};
}

/* The next vector of counts within a box, leaving one body out (-1: none); false behind the last one. */
static bool next_counts(int64_t of[TABLE_BODIES_MAX], const int64_t *most, int64_t bodies, int64_t left_out)
{
	for (int64_t b = 0; b < bodies; b++) {
		if (b == left_out)
			continue;
		if (++of[b] <= most[b])
			return true;
		of[b] = 0;
	}
	return false;
}

/* Where a vector of counts stands among all, or among all without the main body. */
static size_t state_of(const struct counts *c, const int64_t of[TABLE_BODIES_MAX], int64_t left_out)
{
	size_t state = 0, stride = 1;

	for (int64_t b = 0; b < c->bodies; b++) {
		if (b == left_out)
			continue;
		state += (size_t)of[b] * stride;
		stride *= (size_t)c->all[b] + 1;
	}
	return state;
}

static size_t index_of(const struct counts *c, const struct table *t, const int64_t of[TABLE_BODIES_MAX])
{
	size_t index = 0;

	for (int64_t b = 0; b < c->bodies; b++)
		index += (size_t)of[b] * t->stride[b];
	return index;
}

static int add_option(struct counts *c, const struct count_option *o)
{
	int rc = sb_grow(&c->options, c->option_count, sizeof(*c->options));

	if (rc == SB_OK)
		c->options[c->option_count++] = *o;
	return rc;
}

/* For each count of the other bodies the most of the main one within a bottleneck. */
static int list_reaches(struct counts *c, const struct table *t, double bottleneck)
{
	struct count_option o = {.index = 0};
	int rc = SB_OK;

	c->option_count = 0;
	do {
		const double *at = &t->bottleneck[index_of(c, t, o.of)];

		o.reach = t->most[c->main];
		while (o.reach >= 0 && !(at[(size_t)o.reach * t->stride[c->main]] <= bottleneck))
			o.reach--;
		o.offset = state_of(c, o.of, c->main);
		if (o.reach >= 0)
			rc = add_option(c, &o);
	} while (rc == SB_OK && next_counts(o.of, t->most, c->bodies, c->main));
	return rc;
}

static int list_extras(struct counts *c, const struct table *t)
{
	struct count_option o = {.index = 0};
	int rc = SB_OK;

	c->option_count = 0;
	do {
		o.index = index_of(c, t, o.of);
		o.offset = state_of(c, o.of, -1);
		o.extra = t->extra[o.index];
		if (!isinf(o.extra))
			rc = add_option(c, &o);
	} while (rc == SB_OK && next_counts(o.of, t->most, c->bodies, -1));
	return rc;
}

static bool is_room(const struct counts *c, const int64_t held[TABLE_BODIES_MAX],
                    const struct count_option *o, int64_t left_out)
{
	for (int64_t b = 0; b < c->bodies; b++)
		if (b != left_out && held[b] + o->of[b] > c->all[b])
			return false;
	return true;
}

int counts_within(struct counts *c, struct table *const *tables, double bottleneck, bool *out)
{
	for (size_t i = 0; i < c->states; i++)
		c->reach[i] = i == 0 ? 0 : -1;
	for (int64_t d = 0; d < c->devices; d++) {
		int64_t held[TABLE_BODIES_MAX] = {0}, *swap = c->reach;
		size_t state = 0;
		int rc = list_reaches(c, tables[d], bottleneck);

		if (rc != SB_OK)
			return rc;
		for (size_t i = 0; i < c->states; i++)
			c->next_reach[i] = -1;
		do {
			c->work += c->reach[state] >= 0 ? (double)c->option_count : 0;
			for (size_t i = 0; c->reach[state] >= 0 && i < c->option_count; i++) {
				const struct count_option *o = &c->options[i];
				int64_t *at = &c->next_reach[state + o->offset];

				if (is_room(c, held, o, c->main) && c->reach[state] + o->reach > *at)
					*at = c->reach[state] + o->reach;
			}
			state++;
		} while (next_counts(held, c->all, c->bodies, c->main));
		c->reach = c->next_reach;
		c->next_reach = swap;
		if (c->work > COUNTS_WORK_MAX)
			return SB_ELIMIT;
	}
	*out = c->reach[c->states - 1] >= c->all[c->main];
	return SB_OK;
}

/* The counts after which the devices from d on can take all the rest. */
static void bounds_before(const struct counts *c, struct table *const *tables, int64_t d,
                          int64_t low[TABLE_BODIES_MAX], int64_t high[TABLE_BODIES_MAX])
{
	for (int64_t b = 0; b < c->bodies; b++) {
		low[b] = high[b] = c->all[b];
		for (int64_t i = d; i < c->devices; i++) {
			low[b] -= tables[i]->most[b];
			high[b] -= tables[i]->least[b];
		}
	}
}

static bool is_between(const struct counts *c, const int64_t held[TABLE_BODIES_MAX], const int64_t *low,
                       const int64_t *high)
{
	for (int64_t b = 0; b < c->bodies; b++)
		if (held[b] < low[b] || held[b] > high[b])
			return false;
	return true;
}

static void add_device(struct counts *c, struct table *const *tables, int64_t d)
{
	int64_t held[TABLE_BODIES_MAX] = {0};
	uint32_t *from = &c->from[(size_t)d * c->all_states];
	int64_t low[TABLE_BODIES_MAX], high[TABLE_BODIES_MAX];
	size_t state = 0;

	bounds_before(c, tables, d, low, high);
	for (size_t i = 0; i < c->all_states; i++)
		c->next_cost[i] = INFINITY;
	do {
		double before = c->cost[state];
		bool useful = !isinf(before) && is_between(c, held, low, high);

		c->work += useful ? (double)c->option_count : 0;
		for (size_t i = 0; useful && i < c->option_count; i++) {
			const struct count_option *o = &c->options[i];
			size_t to = state + o->offset;

			if (!is_room(c, held, o, -1) || before + o->extra >= c->next_cost[to])
				continue;
			c->next_cost[to] = before + o->extra;
			from[to] = (uint32_t)o->index;
		}
		state++;
	} while (next_counts(held, c->all, c->bodies, -1));
}

int counts_least_extra(struct counts *c, struct table *const *tables, size_t *out, double *out_extra)
{
	size_t state = c->all_states - 1;

	for (size_t i = 0; i < c->all_states; i++)
		c->cost[i] = i == 0 ? 0 : INFINITY;
	for (int64_t d = 0; d < c->devices; d++) {
		double *swap = c->cost;
		int rc = list_extras(c, tables[d]);

		if (rc != SB_OK)
			return rc;
		add_device(c, tables, d);
		c->cost = c->next_cost;
		c->next_cost = swap;
		if (c->work > COUNTS_WORK_MAX)
			return SB_ELIMIT;
	}
	*out_extra = c->cost[state];
	for (int64_t d = c->devices - 1; d >= 0 && !isinf(*out_extra); d--) {
		int64_t of[TABLE_BODIES_MAX] = {0};

		out[d] = c->from[(size_t)d * c->all_states + state];
		for (int64_t b = 0; b < c->bodies; b++)
			of[b] = (int64_t)(out[d] / tables[d]->stride[b] % ((size_t)tables[d]->most[b] + 1));
		state -= state_of(c, of, -1);
	}
	return SB_OK;
}
