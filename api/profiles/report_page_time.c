#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/report_page.h"
#include "base/err.h"
#include "base/num.h"

#define DEVICES_SHOWN 50
#define STEPS_SHOWN 60
#define OPERATORS_SHOWN 15
#define TREE_DEPTH 8
#define TREE_CHILDREN 40

/* The parts that make the span (Ascend: and the bubble), as on the page. */
static const struct {
	size_t member;
	const char *label, *color;
} parts[] = {
    {offsetof(struct breakdown_row, compute_ns), "Compute", "#2f6fb0"},
    {offsetof(struct breakdown_row, exposed_ns), "Communication not under compute", "#bc4b12"},
    {offsetof(struct breakdown_row, copy_exposed_ns), "Copies under nothing", "#9b4b78"},
    {offsetof(struct breakdown_row, free_ns), "Device idle", "#c3ccd5"},
    {offsetof(struct breakdown_row, bubble_ns), "Pipeline bubble", "#e0b13a"},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static double us_of(int64_t ns)
{
	return ns == SB_NULL ? NAN : (double)ns / 1000;
}

static double number_of(int64_t v)
{
	return v == SB_NULL ? NAN : (double)v;
}

static double part_of(const struct breakdown_row *r, size_t part)
{
	return us_of(*(const int64_t *)(const void *)((const char *)r + parts[part].member));
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
static void mean_parts(struct report_writer *w, const struct breakdown *rows)
{
	static const char *const headers[] = {"Part", ">Time of a device", ">Share", NULL};
	double sum[PARTS] = {0}, all = 0;
	char text[VALUE_MAX];
	size_t devices = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct breakdown_row *r = &rows->rows[i];

		if (r->step != SB_NULL || r->span_ns == SB_NULL)
			continue;
		devices++;
		for (size_t k = 0; k < PARTS; k++)
			sum[k] += fmax(0, part_of(r, k)); /* fmax passes NaN over */
	}
	for (size_t k = 0; k < PARTS; k++)
		all += sum[k];
	if (!(all > 0))
		return;
	bar(w, sum, all);
	write_table_begin(w, headers);
	for (size_t k = 0; k < PARTS; k++) {
		if (!(sum[k] > 0))
			continue;
		write_row_begin(w);
		write_cell_begin(w, false);
		if (w->html)
			sb_buf_addf(w->out,
			            "<svg class=\"s\" width=\"12\" height=\"12\" aria-hidden=\"true\"><rect "
			            "width=\"12\" height=\"12\" fill=\"%s\"/></svg>",
			            parts[k].color);
		write_text(w, parts[k].label);
		write_cell_end(w);
		write_number(w, number_text(sum[k] / (double)devices, "us", text));
		write_number(w, number_text(sum[k] / all, "share", text));
		write_row_end(w);
	}
	write_table_end(w);
}

static int by_span(const void *a, const void *b)
{
	const struct breakdown_row *const *x = a, *const *y = b;

	/* what is not known, SB_NULL, is the least number */
	if ((*x)->span_ns != (*y)->span_ns)
		return (*x)->span_ns > (*y)->span_ns ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

static void table_row(struct report_writer *w, const struct breakdown_row *r)
{
	const int64_t times[] = {r->span_ns,         r->compute_ns, r->exposed_ns, r->overlap_ns,
	                         r->copy_exposed_ns, r->free_ns,    r->bubble_ns,  r->preparing_ns};
	char text[VALUE_MAX];

	write_row_begin(w);
	write_cell(w, number_text(number_of(r->rank), "", text));
	write_cell(w, number_text(number_of(r->device), "", text));
	write_cell(w, r->step == SB_NULL ? "all" : number_text(number_of(r->step), "", text));
	for (size_t k = 0; k < sizeof(times) / sizeof(times[0]); k++)
		write_number(w, number_text(us_of(times[k]), "us", text));
	write_row_end(w);
}

/* One line a row, of those that are of whole captures, or of those of steps. The longest where there are too
 * many. */
static void rows_table(struct report_writer *w, const struct breakdown_row **list, size_t n, size_t most)
{
	static const char *const headers[] = {
	    "Rank",     "Device",          "Step",         ">Span",   ">Compute",   ">Exposed comm.",
	    ">Overlap", ">Exposed copies", ">Device idle", ">Bubble", ">Preparing", NULL};
	char text[VALUE_MAX];

	if (n == 0)
		return;
	if (n > most)
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): it is a list of pointers */
		qsort(list, n, sizeof(*list), by_span);
	write_table_begin(w, headers);
	for (size_t i = 0; i < n && i < most; i++)
		table_row(w, list[i]);
	write_table_end(w);
	if (n > most) {
		(void)snprintf(text, sizeof(text), "The %zu longest of %zu.", most, n);
		write_paragraph_begin(w);
		write_text(w, text);
		write_paragraph_end(w);
	}
}

void write_breakdown(struct report_writer *w, const struct breakdown *rows)
{
	const struct breakdown_row **list;
	size_t whole = 0, steps = 0;

	if (!rows || rows->count == 0)
		return;
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): the same */
	list = calloc(rows->count, sizeof(*list));
	if (!list) {
		w->out->status = SB_ENOMEM;
		return;
	}
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].step == SB_NULL)
			list[whole++] = &rows->rows[i];
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].step != SB_NULL)
			list[whole + steps++] = &rows->rows[i];
	write_heading(w, 2, "Where the time goes");
	mean_parts(w, rows);
	rows_table(w, list, whole, DEVICES_SHOWN);
	if (steps > 0) {
		write_heading(w, 3, "By step");
		rows_table(w, list + whole, steps, STEPS_SHOWN);
	}
	free(list);
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
	double span = json_number_value(json_object_get(path, "span_us"));
	char text[VALUE_MAX];
	const char *name;
	json_t *v;

	if (!(span > 0))
		return;
	write_heading(w, 2, "Critical path");
	write_table_begin(w, headers);

	json_object_foreach(path, name, v)
	{
		if (!json_is_number(v) || !is_part(name))
			continue;
		write_row_begin(w);
		write_cell_begin(w, false);
		write_words(w, name);
		write_cell_end(w);
		write_number(w, quantity_text(v, "us", text));
		write_number(w, number_text(json_number_value(v) / span, "share", text));
		write_row_end(w);
	}
	write_table_end(w);
	path_operators(w, json_object_get(path, "operators"));
}
