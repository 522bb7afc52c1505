#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/report_page.h"

#define DEVICES_SHOWN 50
#define STEPS_SHOWN 60
#define OPERATORS_SHOWN 15
#define TREE_DEPTH 8
#define TREE_CHILDREN 40

/* The parts that make the span (Ascend: and the bubble), as on the page. */
static const struct {
	const char *member, *label, *color;
} parts[] = {
    {"compute_us", "Compute", "#2f6fb0"},
    {"communication_exposed_us", "Communication not under compute", "#bc4b12"},
    {"copy_exposed_us", "Copies under nothing", "#9b4b78"},
    {"free_us", "Device idle", "#c3ccd5"},
    {"bubble_us", "Pipeline bubble", "#e0b13a"},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static double number_of(const json_t *object, const char *member)
{
	const json_t *v = json_object_get(object, member);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static bool is_whole(const json_t *row)
{
	return json_is_null(json_object_get(row, "step"));
}

static void bar(struct report_writer *w, const double *sum, double all)
{
	double x = 0;

	write_raw_html(w,
	               "<svg viewBox=\"0 0 1000 24\" width=\"100%\" height=\"24\" "
	               "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"the parts of the time, as in "
	               "the table below\">");
	for (size_t i = 0; w->html && i < PARTS; i++) {
		double width = 1000 * sum[i] / all;

		if (!(width > 0))
			continue;
		sb_buf_addf(w->out, "<rect x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"24\" fill=\"%s\"/>", x,
		            width, parts[i].color);
		x += width;
	}
	write_raw_html(w, "</svg>\n");
}

/* The mean device: sums of the rows of whole captures. */
static void mean_parts(struct report_writer *w, const json_t *rows)
{
	static const char *const headers[] = {"Part", ">Time of a device", ">Share", NULL};
	double sum[PARTS] = {0}, all = 0;
	size_t devices = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (!is_whole(row) || isnan(number_of(row, "span_us")))
			continue;
		devices++;
		for (size_t k = 0; k < PARTS; k++)
			sum[k] += fmax(0, number_of(row, parts[k].member)); /* fmax passes NaN over */
	}
	for (size_t k = 0; k < PARTS; k++)
		all += sum[k];
	if (!(all > 0))
		return;
	bar(w, sum, all);
	write_table_begin(w, headers);
	for (size_t k = 0; k < PARTS; k++) {
		json_t *time = json_real(sum[k] / (double)devices), *share = json_real(sum[k] / all);
		char text[VALUE_MAX];

		if (sum[k] > 0) {
			write_row_begin(w);
			write_cell_begin(w, false);
			if (w->html)
				sb_buf_addf(
				    w->out,
				    "<svg class=\"s\" width=\"12\" height=\"12\" aria-hidden=\"true\"><rect "
				    "width=\"12\" height=\"12\" fill=\"%s\"/></svg>",
				    parts[k].color);
			write_text(w, parts[k].label);
			write_cell_end(w);
			write_number(w, quantity_text(time, "us", text));
			write_number(w, quantity_text(share, "share", text));
			write_row_end(w);
		}
		json_decref(time);
		json_decref(share);
	}
	write_table_end(w);
}

struct row {
	const json_t *value;
	double span;
	size_t at;
};

static int by_span(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->span != y->span)
		return x->span > y->span ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* One line a row; `whole` chooses whole captures, else steps. The longest where there are too many. */
static void rows_table(struct report_writer *w, const json_t *rows, bool whole, size_t most)
{
	static const char *const headers[] = {
	    "Rank",     "Device",          "Step",         ">Span",   ">Compute",   ">Exposed comm.",
	    ">Overlap", ">Exposed copies", ">Device idle", ">Bubble", ">Preparing", NULL};
	static const char *const members[] = {"span_us",    "compute_us",      "communication_exposed_us",
	                                      "overlap_us", "copy_exposed_us", "free_us",
	                                      "bubble_us",  "preparing_us"};
	size_t all = json_array_size(rows), n = 0;
	struct row *list = calloc(all + 1, sizeof(*list));
	char text[VALUE_MAX];

	for (size_t i = 0; list && i < all; i++) {
		const json_t *row = json_array_get(rows, i);
		double span = number_of(row, "span_us");

		if (is_whole(row) == whole) {
			list[n] = (struct row){row, isnan(span) ? -1 : span, n};
			n++;
		}
	}
	if (n > most)
		qsort(list, n, sizeof(*list), by_span);
	if (n > 0)
		write_table_begin(w, headers);
	for (size_t i = 0; i < n && i < most; i++) {
		write_row_begin(w);
		write_cell(w, quantity_text(json_object_get(list[i].value, "rank"), "", text));
		write_cell(w, quantity_text(json_object_get(list[i].value, "device"), "", text));
		write_cell(w,
		           whole ? "all" : quantity_text(json_object_get(list[i].value, "step"), "", text));
		for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++)
			write_number(w,
			             quantity_text(json_object_get(list[i].value, members[k]), "us", text));
		write_row_end(w);
	}
	if (n > 0)
		write_table_end(w);
	if (n > most) {
		(void)snprintf(text, sizeof(text), "The %zu longest of %zu.", most, n);
		write_paragraph_begin(w);
		write_text(w, text);
		write_paragraph_end(w);
	}
	free(list);
}

static bool has_steps(const json_t *rows)
{
	for (size_t i = 0; i < json_array_size(rows); i++)
		if (!is_whole(json_array_get(rows, i)))
			return true;
	return false;
}

void write_breakdown(struct report_writer *w, const json_t *breakdown)
{
	const json_t *rows = json_object_get(breakdown, "rows");

	if (json_array_size(rows) == 0)
		return;
	write_heading(w, 2, "Where the time goes");
	mean_parts(w, rows);
	rows_table(w, rows, true, DEVICES_SHOWN);
	if (has_steps(rows)) {
		write_heading(w, 3, "By step");
		rows_table(w, rows, false, STEPS_SHOWN);
	}
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by TREE_DEPTH */
static void tree_node(struct report_writer *w, const json_t *node, int depth)
{
	const json_t *children = json_object_get(node, "children");
	char text[VALUE_MAX];

	write_item_begin(w);
	write_json_text(w, json_object_get(node, "label"));
	write_text(w, ": ");
	write_text(w, quantity_text(json_object_get(node, "share"), "share", text));
	write_text(w, ", ");
	write_text(w, quantity_text(json_object_get(node, "time_us"), "us", text));
	if (json_array_size(children) > 0 && depth < TREE_DEPTH) {
		write_list_begin(w);
		for (size_t i = 0; i < json_array_size(children) && i < TREE_CHILDREN; i++)
			tree_node(w, json_array_get(children, i), depth + 1);
		write_list_end(w);
	}
	write_item_end(w);
}

void write_tree(struct report_writer *w, const json_t *analysis)
{
	const json_t *tree = json_object_get(analysis, "tree");

	if (!json_is_object(tree))
		return;
	write_heading(w, 3, "By component and cause");
	write_list_begin(w);
	tree_node(w, tree, 0);
	write_list_end(w);
}

void write_operators(struct report_writer *w, const json_t *operators)
{
	static const char *const headers[] = {"Operator", "Class",           "Unit", ">Count", ">Total",
	                                      ">Mean",    ">Share of class", NULL};
	const json_t *rows = json_object_get(operators, "rows");
	char text[VALUE_MAX];

	if (json_array_size(rows) == 0)
		return;
	write_heading(w, 2, "Operators by total time");
	write_table_begin(w, headers);
	for (size_t i = 0; i < json_array_size(rows) && i < OPERATORS_SHOWN; i++) {
		const json_t *row = json_array_get(rows, i);

		write_row_begin(w);
		write_text_cell(w, json_object_get(row, "name"));
		write_text_cell(w, json_object_get(row, "class"));
		write_text_cell(w, json_object_get(row, "unit"));
		write_number(w, quantity_text(json_object_get(row, "count"), "", text));
		write_number(w, quantity_text(json_object_get(row, "total_us"), "us", text));
		write_number(w, quantity_text(json_object_get(row, "mean_us"), "us", text));
		write_number(w, quantity_text(json_object_get(row, "share"), "share", text));
		write_row_end(w);
	}
	write_table_end(w);
}

/* Is it a time that is a part of the path? */
static bool is_part(const char *name)
{
	size_t n = strlen(name);

	return n > 3 && strcmp(name + n - 3, "_us") == 0 && strcmp(name, "span_us") != 0 &&
	       strcmp(name, "from_us") != 0 && strcmp(name, "to_us") != 0;
}

static void path_operators(struct report_writer *w, const json_t *rows)
{
	static const char *const headers[] = {"On the path", "Kind", ">Count", ">Total", NULL};
	char text[VALUE_MAX];

	if (json_array_size(rows) == 0)
		return;
	write_table_begin(w, headers);
	for (size_t i = 0; i < json_array_size(rows) && i < OPERATORS_SHOWN; i++) {
		const json_t *row = json_array_get(rows, i);

		write_row_begin(w);
		write_text_cell(w, json_object_get(row, "name"));
		write_text_cell(w, json_object_get(row, "category"));
		write_number(w, quantity_text(json_object_get(row, "count"), "", text));
		write_number(w, quantity_text(json_object_get(row, "total_us"), "us", text));
		write_row_end(w);
	}
	write_table_end(w);
}

/* Whatever parts the path has. */
void write_path(struct report_writer *w, json_t *path)
{
	static const char *const headers[] = {"Part", ">Time", ">Share of the path", NULL};
	double span = number_of(path, "span_us");
	char text[VALUE_MAX];
	const char *name;
	json_t *v;

	if (!(span > 0))
		return;
	write_heading(w, 2, "Critical path");
	write_table_begin(w, headers);

	json_object_foreach(path, name, v)
	{
		json_t *share = json_is_number(v) ? json_real(json_number_value(v) / span) : NULL;

		if (share && is_part(name)) {
			write_row_begin(w);
			write_cell_begin(w, false);
			write_words(w, name);
			write_cell_end(w);
			write_number(w, quantity_text(v, "us", text));
			write_number(w, quantity_text(share, "share", text));
			write_row_end(w);
		}
		json_decref(share);
	}
	write_table_end(w);
	path_operators(w, json_object_get(path, "operators"));
}
