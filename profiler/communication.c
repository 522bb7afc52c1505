#include "profiler/communication.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/communication_parts.h"

static void report_free(struct communication_parts *parts)
{
	communication_free(&parts->report);
}

int communication_add_row(struct communication_parts *parts, const struct communication_row *row)
{
	struct communication_report *r = &parts->report;

	if (sb_grow(&r->rows, r->row_count, sizeof(*r->rows)) != SB_OK)
		return SB_ENOMEM;
	r->rows[r->row_count++] = *row;
	return SB_OK;
}

int communication_text(struct communication_parts *parts, const struct capture *c, uint32_t id, uint32_t *out)
{
	size_t len;
	const char *text = trace_text(&c->trace, id, &len);

	return sb_strings_add(parts->report.strings, text, len, out);
}

int64_t communication_bytes(const struct communication_op *op)
{
	int64_t parts = 0, sdma = 0, rdma = 0;
	bool any = false;

	for (size_t i = 0; i < op->link_count; i++) {
		const struct link *l = &op->links[i];

		if (l->bytes == SB_NULL || l->bytes < 0)
			continue;
		any = true;
		if (strcmp(l->name, "SDMA") == 0)
			sdma = l->bytes;
		else if (strcmp(l->name, "RDMA") == 0)
			rdma = l->bytes;
		else
			parts = sb_add_sat(parts, l->bytes);
	}
	return any ? sb_add_sat(rdma, parts > sdma ? parts : sdma) : SB_NULL;
}

static int ascend_rows(struct communication_parts *parts, const struct capture *c)
{
	for (size_t i = 0; i < c->communication_count; i++) {
		const struct communication_op *op = &c->communications[i];
		struct communication_row row = {.rank = c->rank,
		                                .step = op->step,
		                                .count = 1,
		                                .elapse_us = op->elapse_us,
		                                .transit_us = op->transit_us,
		                                .wait_us = op->wait_us,
		                                .bytes = communication_bytes(op),
		                                .links = op->links,
		                                .link_count = op->link_count};
		int rc = communication_text(parts, c, op->name, &row.name);

		if (rc == SB_OK)
			rc = communication_text(parts, c, op->group, &row.group);
		if (rc == SB_OK)
			rc = communication_add_row(parts, &row);
		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

int64_t null_last(int64_t v)
{
	return v == SB_NULL ? INT64_MAX : v;
}

struct ordered {
	struct communication_row row;
	size_t at;
};

static int by_rank_and_step(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	int64_t left[] = {null_last(x->row.rank), null_last(x->row.step), (int64_t)x->at};
	int64_t right[] = {null_last(y->row.rank), null_last(y->row.step), (int64_t)y->at};

	return sb_compare(left, right, 3);
}

static int sort_rows(struct communication_report *r)
{
	struct ordered *rows = calloc(r->row_count + 1, sizeof(*rows));

	if (!rows)
		return SB_ENOMEM;
	for (size_t i = 0; i < r->row_count; i++)
		rows[i] = (struct ordered){r->rows[i], i};
	qsort(rows, r->row_count, sizeof(*rows), by_rank_and_step);
	for (size_t i = 0; i < r->row_count; i++)
		r->rows[i] = rows[i].row;
	free(rows);
	return SB_OK;
}

int communication_compute(const struct profile *p, double r_wait_threshold, struct communication_report *out,
                          struct sb_error *err)
{
	__attribute__((cleanup(report_free))) struct communication_parts parts = {0};
	int rc = sb_strings_new(&parts.report.strings);

	for (size_t i = 0; i < p->count && rc == SB_OK; i++) {
		const struct capture *c = &p->captures[i];

		if (c->communication_count > 0)
			rc = ascend_rows(&parts, c);
		else
			rc = communication_trace_rows(&parts, c);
	}
	if (rc == SB_OK)
		rc = sort_rows(&parts.report);
	if (rc == SB_OK)
		rc = communication_domains(&parts, r_wait_threshold);
	if (rc == SB_OK)
		rc = communication_parallelism(&parts, p);
	if (rc != SB_OK)
		return sb_fail(err, rc, "communication", "The communication could not be summed: %s.",
		               sb_strerror(rc));
	*out = parts.report;
	parts.report = (struct communication_report){0};
	return SB_OK;
}

void communication_free(struct communication_report *r)
{
	for (size_t i = 0; i < r->domain_count; i++)
		free(r->domains[i].ranks);
	free(r->domains);
	free(r->rows);
	sb_strings_free(&r->strings);
	*r = (struct communication_report){0};
}
