#include "api/profiles/documents.h"

#include <math.h>
#include <stdlib.h>

#include "api/json_put.h"
#include "base/num.h"

/* The documents with a row for each rank and step, operator or collective: written as text. */

static void put_string_id(struct sb_buf *b, const char *name, const struct sb_strings *s, uint32_t id)
{
	size_t len;
	const char *text = sb_strings_get(s, id, &len);

	json_put_text(b, name, id == 0 ? NULL : text, len);
}

int document_breakdown(const struct breakdown *rows, struct sb_buf *b)
{
	json_put_open(b, NULL, '{');
	json_put_open(b, "rows", '[');
	for (size_t i = 0; i < rows->count; i++) {
		const struct breakdown_row *r = &rows->rows[i];

		json_put_open(b, NULL, '{');
		json_put_int(b, "rank", r->rank);
		json_put_int(b, "device", r->device);
		json_put_int(b, "step", r->step);
		json_put_us(b, "step_us", r->step_ns);
		json_put_us(b, "span_us", r->span_ns);
		json_put_us(b, "busy_us", r->busy_ns);
		json_put_us(b, "compute_us", r->compute_ns);
		json_put_us(b, "communication_us", r->communication_ns);
		json_put_us(b, "communication_exposed_us", r->exposed_ns);
		json_put_us(b, "overlap_us", r->overlap_ns);
		json_put_us(b, "copy_us", r->copy_ns);
		json_put_us(b, "copy_exposed_us", r->copy_exposed_ns);
		json_put_us(b, "free_us", r->free_ns);
		json_put_us(b, "bubble_us", r->bubble_ns);
		json_put_us(b, "preparing_us", r->preparing_ns);
		json_put_close(b, '}');
	}
	json_put_close(b, ']');
	json_put_close(b, '}');
	return b->status;
}

static const char *class_name(enum operator_class c)
{
	static const char *const names[OPERATOR_CLASS_COUNT] = {"compute", "communication", "copy", "host"};

	return names[c];
}

static void put_operator(const struct operator_table *t, const struct operator_line *line, struct sb_buf *b)
{
	const struct operator_row *r = &line->row;

	json_put_open(b, NULL, '{');
	put_string_id(b, "name", t->strings, r->name);
	put_string_id(b, "type", t->strings, r->type);
	put_string_id(b, "unit", t->strings, r->unit);
	json_put_word(b, "class", class_name(r->klass));
	json_put_int(b, "count", r->count);
	json_put_us(b, "total_us", r->total_ns);
	json_put_real(b, "mean_us", (double)r->total_ns / 1000.0 / (double)r->count);
	json_put_us(b, "min_us", r->min_ns);
	json_put_us(b, "max_us", r->max_ns);
	json_put_real(b, "share", line->share);
	json_put_int(b, "graph_count", r->graph_count);
	json_put_close(b, '}');
}

/* Null when the sources do not know launches. */
static void put_graphs(const struct operator_table *t, const struct operator_query *q, struct sb_buf *b)
{
	struct operator_graphs g = operators_graphs(t, q);

	if (g.count == SB_NULL) {
		json_put_int(b, "graph_launched", SB_NULL);
		return;
	}
	json_put_open(b, "graph_launched", '{');
	json_put_int(b, "count", g.count);
	json_put_us(b, "total_us", g.total_ns);
	json_put_real(b, "share", g.share);
	json_put_close(b, '}');
}

int document_operators(const struct operator_table *t, const struct operator_query *q, struct sb_buf *b)
{
	struct operator_line *lines = NULL;
	size_t count = 0;
	int rc = operators_select(t, q, &lines, &count);

	if (rc != SB_OK)
		return rc;
	json_put_open(b, NULL, '{');
	json_put_open(b, "rows", '[');
	for (size_t i = 0; i < count; i++)
		put_operator(t, &lines[i], b);
	free(lines);
	json_put_close(b, ']');
	put_graphs(t, q, b);
	json_put_close(b, '}');
	return b->status;
}

static void put_link(const struct link *l, struct sb_buf *b)
{
	json_put_open(b, NULL, '{');
	json_put_word(b, "link", l->name);
	json_put_int(b, "bytes", l->bytes);
	json_put_real(b, "transit_us", l->transit_us);
	json_put_real(b, "bytes_per_second",
	              l->transit_us > 0 ? (double)l->bytes / (l->transit_us * 1e-6) : NAN);
	json_put_open(b, "packets", '[');
	for (size_t i = 0; i < l->packet_count; i++) {
		json_put_open(b, NULL, '{');
		json_put_int(b, "bytes", l->packets[i].bytes);
		json_put_int(b, "count", l->packets[i].count);
		json_put_real(b, "total_us", l->packets[i].total_us);
		json_put_close(b, '}');
	}
	json_put_close(b, ']');
	json_put_close(b, '}');
}

static void put_communication_row(const struct communication_report *c, const struct communication_row *r,
                                  struct sb_buf *b)
{
	json_put_open(b, NULL, '{');
	json_put_int(b, "rank", r->rank);
	json_put_int(b, "step", r->step);
	put_string_id(b, "name", c->strings, r->name);
	put_string_id(b, "group", c->strings, r->group);
	json_put_int(b, "count", r->count);
	json_put_real(b, "elapse_us", r->elapse_us);
	json_put_real(b, "transit_us", r->transit_us);
	json_put_real(b, "wait_us", r->wait_us);
	json_put_int(b, "bytes", r->bytes);
	json_put_open(b, "links", '[');
	/* the file lists all five links of every operator, most of them unused */
	for (size_t i = 0; i < r->link_count; i++) {
		if (r->links[i].bytes != 0 || r->links[i].transit_us > 0)
			put_link(&r->links[i], b);
	}
	json_put_close(b, ']');
	json_put_close(b, '}');
}

static void put_domain(const struct communication_report *c, const struct domain *d, struct sb_buf *b)
{
	json_put_open(b, NULL, '{');
	put_string_id(b, "group", c->strings, d->group);
	put_string_id(b, "parallelism", c->strings, d->parallelism);
	json_put_open(b, "ranks", '[');
	for (size_t i = 0; i < d->rank_count; i++)
		json_put_int(b, NULL, d->ranks[i]);
	json_put_close(b, ']');
	json_put_real(b, "r_wait", d->r_wait);
	json_put_int(b, "slow_rank", d->slow_rank);
	json_put_close(b, '}');
}

int document_communication(const struct communication_report *c, struct sb_buf *b)
{
	json_put_open(b, NULL, '{');
	json_put_open(b, "operators", '[');
	for (size_t i = 0; i < c->row_count; i++)
		put_communication_row(c, &c->rows[i], b);
	json_put_close(b, ']');
	json_put_open(b, "domains", '[');
	for (size_t i = 0; i < c->domain_count; i++)
		put_domain(c, &c->domains[i], b);
	json_put_close(b, ']');
	json_put_close(b, '}');
	return b->status;
}
