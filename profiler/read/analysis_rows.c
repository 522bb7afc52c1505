#include "profiler/read/analysis_rows.h"
#include "profiler/read/ascend_links.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool analysis_step_number(const char *text, size_t len, int64_t *out_step)
{
	sb_trim(&text, &len);
	if (len >= 4 && strncasecmp(text, "step", 4) == 0) {
		text += 4;
		len -= 4;
	}
	*out_step = SB_NULL;
	if (len == 0 || (len == 4 && strncasecmp(text, "None", 4) == 0))
		return true;
	return sb_parse_int(text, len, out_step) == SB_OK && *out_step >= 0 && *out_step < UINT32_MAX;
}

static const char *const STEP_COLUMNS[] = {
    "computing", "communication_not_overlapped", "overlapped", "communication", "free", "stage", "bubble",
    "preparing"};
#define STEP_COLUMN_COUNT (sizeof(STEP_COLUMNS) / sizeof(STEP_COLUMNS[0]))

const char *analysis_column(struct database *db, const char *table, const char *column, const char *other)
{
	const char *const columns[] = {column, other, NULL};
	const char *found = database_column_any(db, table, columns);

	return found ? found : "NULL";
}

void analysis_step_columns(struct database *db, const char *table, char *out, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < STEP_COLUMN_COUNT && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
		                         analysis_column(db, table, STEP_COLUMNS[i], NULL));
}

bool analysis_step(const struct database_rows *rows, int from, struct step_trace *out)
{
	int64_t *const times[STEP_COLUMN_COUNT] = {&out->computing,     &out->exposed,  &out->overlapped,
	                                           &out->communication, &out->free,     &out->stage,
	                                           &out->bubble,        &out->preparing};

	for (size_t i = 0; i < STEP_COLUMN_COUNT; i++) {
		double us = database_double(rows, from + (int)i);

		/* a difference of equal times may be a little below zero */
		*times[i] = fabs(us) < 9e15 ? llround(us * 1000) : SB_NULL;
	}
	return out->computing != SB_NULL && !ascend_step_negative(out);
}

void link_table_free(struct link_table *t)
{
	id_map_free(&t->at);
}

static int new_operator(struct capture *cap, const struct link_operator *key, uint32_t name, uint32_t group)
{
	struct communication_op op = communication_op_empty(key->step, key->p2p);

	op.name = name;
	op.group = group;
	if (communication_is_pair(key->name, key->name_len))
		op.point_to_point = true;
	if (cap->communication_count >= UINT32_MAX)
		return SB_ELIMIT;
	if (sb_grow(&cap->communications, cap->communication_count, sizeof(op)) != SB_OK)
		return SB_ENOMEM;
	cap->communications[cap->communication_count++] = op;
	return SB_OK;
}

int link_table_operator(struct link_table *t, struct capture *cap, const struct link_operator *key,
                        struct communication_op **out_op)
{
	struct sb_strings *strings = cap->trace.strings;
	uint32_t name, group, at;
	struct id_key id;
	int rc = sb_strings_add(strings, key->name, key->name_len, &name);

	if (rc == SB_OK)
		rc = sb_strings_add(strings, key->group, key->group_len, &group);
	if (rc != SB_OK)
		return rc;
	id = (struct id_key){name, group, key->step == SB_NULL ? UINT32_MAX : (uint32_t)key->step};
	if (!id_map_get(&t->at, id, &at)) {
		at = (uint32_t)cap->communication_count;
		rc = new_operator(cap, key, name, group);
		if (rc == SB_OK)
			rc = id_map_put(&t->at, id, at);
		if (rc != SB_OK)
			return rc;
	}
	*out_op = &cap->communications[at];
	return SB_OK;
}

static void bad_value(struct read_context *ctx, const char *path, const char *what)
{
	warnings_add(&ctx->profile->warnings, "bad_value", path, 0, -1, "%s cannot be used and is left out.",
	             what);
}

void link_table_times(struct read_context *ctx, const char *path, const struct database_rows *rows, int from,
                      struct communication_op *op)
{
	double *const times[] = {&op->elapse_us, &op->transit_us, &op->wait_us, &op->synchronization_us,
	                         &op->idle_us};

	if (isnan(op->start_ns))
		op->start_ns = database_double(rows, from + 5) * 1000;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		double us = communication_difference(database_double(rows, from + (int)i) * 1000);

		if (us < 0)
			bad_value(ctx, path, "A time below zero");
		/* of two rows of one operator the first counts */
		else if (isfinite(us) && isnan(*times[i]))
			*times[i] = us;
	}
}

/* Megabytes of 10^6 bytes, which were whole bytes once. */
static int64_t bytes_of(double megabytes)
{
	return megabytes >= 0 && megabytes < 9e12 ? llround(megabytes * 1e6) : SB_NULL;
}

static struct link *link_of(struct communication_op *op, const char *name)
{
	for (size_t i = 0; i < op->link_count; i++) {
		if (op->links[i].name == name)
			return &op->links[i];
	}
	op->links[op->link_count] =
	    (struct link){.name = name, .bytes = SB_NULL, .transit_us = NAN, .large_packet_ratio = NAN};
	return &op->links[op->link_count++];
}

static int add_packet(struct read_context *ctx, const char *path, const struct database_rows *rows, int from,
                      struct link *l)
{
	double size = database_double(rows, from);
	struct packet p = {.bytes = bytes_of(size),
	                   .count = database_int(rows, from + 1),
	                   .total_us = database_double(rows, from + 2) * 1000};

	/* a link without packets of its own, such as SDMA, which is a sum */
	if (p.count == 0 && (p.bytes == 0 || isnan(size)))
		return SB_OK;
	if (p.bytes == SB_NULL || p.count < 0 || !(p.total_us >= 0) || !isfinite(p.total_us)) {
		bad_value(ctx, path, "An entry of a size distribution");
		return SB_OK;
	}
	if (sb_grow(&l->packets, l->packet_count, sizeof(p)) != SB_OK)
		return SB_ENOMEM;
	l->packets[l->packet_count++] = p;
	return SB_OK;
}

int link_table_row(struct read_context *ctx, const char *path, const struct database_rows *rows, int from,
                   struct communication_op *op)
{
	size_t len;
	const char *text = database_text(rows, from, &len), *name = communication_link_name(text, len);
	int64_t bytes = bytes_of(database_double(rows, from + 1));
	double us = database_double(rows, from + 2) * 1000, ratio = database_double(rows, from + 3);
	struct link *l;

	if (!name || bytes == SB_NULL) {
		bad_value(ctx, path, name ? "A link without a size" : "A link of an unknown kind");
		return SB_OK;
	}
	l = link_of(op, name);
	/* size and time of the link stand in each of its rows */
	if (l->bytes == SB_NULL) {
		l->bytes = bytes;
		l->transit_us = us >= 0 && isfinite(us) ? us : NAN;
		l->large_packet_ratio = isfinite(ratio) ? ratio : NAN;
	}
	return add_packet(ctx, path, rows, from + 4, l);
}
