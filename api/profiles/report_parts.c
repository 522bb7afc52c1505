#include "api/profiles/report_parts.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"

#define CELL_MAX 512

/* A text for a terminal: control bytes, C1 controls included, would be obeyed by it. */
static const char *clean(const char *text, char cell[CELL_MAX])
{
	size_t i = 0, n = 0;

	for (; text[i] && n + 1 < CELL_MAX; i++) {
		unsigned char c = (unsigned char)text[i], next = (unsigned char)text[i + 1];
		bool c1 = c == 0xC2 && next >= 0x80 && next < 0xA0;

		cell[n] = text[i];
		if (c < 0x20 || c == 0x7F || c1)
			cell[n] = '?';
		n++;
		if (c1)
			i++;
	}
	/* a cut never leaves half a character */
	while (text[i] && n > 0 && ((unsigned char)cell[n - 1] & 0xC0) == 0x80)
		n--;
	if (text[i] && n > 0 && (unsigned char)cell[n - 1] >= 0xC0)
		n--;
	cell[n] = '\0';
	return cell;
}

static const char *text_cell(const json_t *object, const char *member, char cell[CELL_MAX])
{
	const char *s = json_string_value(json_object_get(object, member));

	return s ? clean(s, cell) : "-";
}

/* A number with `digits` decimals, "-" for null. */
static const char *number_cell(const json_t *object, const char *member, int digits, double factor,
                               char cell[CELL_MAX])
{
	const json_t *v = json_object_get(object, member);

	if (!json_is_number(v))
		return "-";
	snprintf(cell, CELL_MAX, "%.*f", digits, json_number_value(v) * factor);
	return cell;
}

/* An evidence value, without idle zeros; shares in percent. */
static const char *quantity_cell(const json_t *evidence, const char *member, char cell[CELL_MAX])
{
	const char *unit = json_string_value(json_object_get(evidence, "unit"));
	bool share = unit && strcmp(unit, "share") == 0;
	const char *text = number_cell(evidence, member, share ? 2 : 4, share ? 100 : 1, cell);
	size_t n = strlen(text);

	if (text != cell)
		return text;
	if (strchr(cell, '.')) {
		while (cell[n - 1] == '0')
			n--;
		if (cell[n - 1] == '.')
			n--;
	}
	snprintf(cell + n, CELL_MAX - n, "%s", share ? " %" : "");
	return cell;
}

static const char *integer_cell(const json_t *object, const char *member, char cell[CELL_MAX])
{
	return number_cell(object, member, 0, 1, cell);
}

int print_facts(const char *name, const json_t *facts, struct sb_buf *out)
{
	char c[4][CELL_MAX];
	json_t *w;
	size_t i;

	sb_buf_addf(out, "%s: %s, ranks read: %s, events: %s\n", clean(name, c[0]),
	            text_cell(facts, "format", c[1]), integer_cell(facts, "captures", c[3]),
	            integer_cell(facts, "events", c[2]));

	json_array_foreach(json_object_get(facts, "warnings"), i, w)
	{
		if (i < 10)
			sb_buf_addf(out, "  warning: %s: %s\n", text_cell(w, "file", c[0]),
			            text_cell(w, "detail", c[1]));
	}
	if (i > 10)
		sb_buf_addf(out, "  … and %zu more warnings (--json shows them all)\n", i - 10);
	return out->status;
}

static void print_int(struct sb_buf *out, int width, int64_t v)
{
	if (v == SB_NULL)
		sb_buf_addf(out, "%*s", width, "-");
	else
		sb_buf_addf(out, "%*lld", width, (long long)v);
}

int print_breakdown(const struct breakdown *rows, struct sb_buf *out)
{
	sb_buf_addf(out, "\nTime by rank and step, us\n%6s%7s%7s%16s%16s%16s%16s%16s%16s%14s%16s\n", "rank",
	            "device", "step", "span", "compute", "exposed comm", "overlap", "exposed copy", "free",
	            "bubble", "preparing");
	for (size_t i = 0; i < rows->count; i++) {
		const struct breakdown_row *r = &rows->rows[i];
		const int64_t columns[] = {r->span_ns,         r->compute_ns, r->exposed_ns, r->overlap_ns,
		                           r->copy_exposed_ns, r->free_ns,    r->bubble_ns,  r->preparing_ns};

		print_int(out, 6, r->rank);
		print_int(out, 7, r->device);
		if (r->step == SB_NULL)
			sb_buf_addf(out, "%7s", "all");
		else
			print_int(out, 7, r->step);
		for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++) {
			int width = k == 6 ? 14 : 16;

			if (columns[k] == SB_NULL)
				sb_buf_addf(out, "%*s", width, "-");
			else
				sb_buf_addf(out, "%*.3f", width, (double)columns[k] / 1000.0);
		}
		sb_buf_adds(out, "\n");
	}
	return out->status;
}

int print_operators(const json_t *operators, struct sb_buf *out)
{
	char c[7][CELL_MAX];
	json_t *row;
	size_t i;

	sb_buf_addf(out, "\nOperators by total time\n%9s%16s%14s%12s  %-15s%-16s%s\n", "count", "total us",
	            "mean us", "% of class", "class", "unit", "operator");

	json_array_foreach(json_object_get(operators, "rows"), i, row)
	{
		sb_buf_addf(out, "%9s%16s%14s%12s  %-15s%-16s%s\n", integer_cell(row, "count", c[0]),
		            number_cell(row, "total_us", 3, 1, c[1]), number_cell(row, "mean_us", 3, 1, c[2]),
		            number_cell(row, "share", 2, 100, c[4]), text_cell(row, "class", c[6]),
		            text_cell(row, "unit", c[3]), text_cell(row, "name", c[5]));
	}
	return out->status;
}

static bool counts_ranks(const json_t *evidence)
{
	const char *metric = json_string_value(json_object_get(evidence, "metric"));

	return metric && strcmp(metric, "ranks_affected") == 0;
}

static int print_evidence(const json_t *finding, struct sb_buf *out)
{
	char c[4][CELL_MAX];
	json_t *e;
	size_t i;

	json_array_foreach(json_object_get(finding, "evidence"), i, e)
	{
		const char *unit = text_cell(e, "unit", c[2]);
		bool share = strcmp(unit, "share") == 0;

		if (counts_ranks(e))
			continue;
		sb_buf_addf(out, "      %s %s%s%s", text_cell(e, "metric", c[0]),
		            quantity_cell(e, "value", c[1]), share ? "" : " ", share ? "" : unit);
		if (json_is_number(json_object_get(e, "threshold")))
			sb_buf_addf(out, " (threshold %s, %s)", quantity_cell(e, "threshold", c[3]),
			            text_cell(e, "origin", c[0]));
		sb_buf_adds(out, "\n");
	}
	return out->status;
}

int print_verdict(const json_t *analysis, struct sb_buf *out)
{
	const json_t *v = json_object_get(analysis, "verdict");
	char c[4][CELL_MAX];

	if (!json_is_string(json_object_get(v, "component"))) {
		size_t open = json_array_size(json_object_get(analysis, "not_evaluated"));

		sb_buf_addf(out, "Verdict: no bottleneck found (confidence %s)\n",
		            text_cell(v, "confidence", c[2]));
		/* a source that holds little must not look like a healthy job */
		if (open > 0)
			sb_buf_addf(out,
			            "  %zu causes could not be judged; `not_evaluated` in the JSON says what "
			            "each needs\n",
			            open);
		return out->status;
	}
	sb_buf_addf(out, "Verdict: %s", text_cell(v, "component", c[0]));
	if (json_is_string(json_object_get(v, "cause")))
		sb_buf_addf(out, ".%s", text_cell(v, "cause", c[1]));
	return sb_buf_addf(out, " (confidence %s, %s %% of the step)\n", text_cell(v, "confidence", c[2]),
	                   number_cell(v, "share_of_step", 1, 100, c[3]));
}

/* Where a finding holds: the rank with the largest share, and how many more there are. */
static void print_place(const json_t *finding, struct sb_buf *out)
{
	json_t *e;
	size_t i;
	char cell[CELL_MAX];

	if (!json_is_number(json_object_get(finding, "rank")))
		return;
	sb_buf_addf(out, ", rank %s", integer_cell(finding, "rank", cell));
	json_array_foreach(json_object_get(finding, "evidence"), i, e)
	{
		if (counts_ranks(e) && json_number_value(json_object_get(e, "value")) > 1)
			sb_buf_addf(out, " (worst of %s ranks)", integer_cell(e, "value", cell));
	}
}

int print_findings(const json_t *analysis, struct sb_buf *out)
{
	char c[4][CELL_MAX];
	json_t *f, *shown = json_object();
	size_t i;

	/* the worst rank of a code comes first; hundreds of ranks would say the same again */
	json_array_foreach(json_object_get(analysis, "findings"), i, f)
	{
		const char *code = text_cell(f, "code", c[1]);
		bool ranked = json_is_number(json_object_get(f, "rank"));

		if (i == 0)
			sb_buf_adds(out, "\nFindings (--json has the numbers of each rank)\n");
		if (ranked && json_object_get(shown, code))
			continue;
		sb_buf_addf(out, "  [%s] %s", text_cell(f, "severity", c[0]), code);
		print_place(f, out);
		sb_buf_addf(out, ", confidence %s\n", text_cell(f, "confidence", c[2]));
		print_evidence(f, out);
		if (ranked)
			json_object_set_new(shown, code, json_true());
	}
	json_decref(shown);
	return out->status;
}

/* The gain of an advice, and how it was estimated: the finding of its code knows that. */
static void print_gain(const json_t *item, const json_t *methods, struct sb_buf *out)
{
	char c[2][CELL_MAX];
	const char *code = json_string_value(json_object_get(item, "finding"));
	const char *method = code ? json_string_value(json_object_get(methods, code)) : NULL;

	if (!json_is_number(json_object_get(item, "estimated_speedup")))
		return;
	sb_buf_addf(out, "     estimated speedup %s", number_cell(item, "estimated_speedup", 3, 1, c[0]));
	if (method)
		sb_buf_addf(out, " (%s)", clean(method, c[1]));
	sb_buf_adds(out, "\n");
}

/* code -> method of the gain, of the first finding of each code. A new reference, or NULL. */
static json_t *gain_methods(const json_t *analysis)
{
	json_t *methods = json_object(), *f;
	size_t i;

	json_array_foreach(json_object_get(analysis, "findings"), i, f)
	{
		const char *code = json_string_value(json_object_get(f, "code"));
		json_t *method = json_object_get(json_object_get(f, "estimated_gain"), "method");

		if (code && json_is_string(method) && !json_object_get(methods, code))
			json_object_set(methods, code, method);
	}
	return methods;
}

int print_advice(const json_t *advice, const json_t *analysis, struct sb_buf *out)
{
	char c[3][CELL_MAX];
	json_t *item, *action, *methods = gain_methods(analysis);
	size_t i, k;

	json_array_foreach(json_object_get(advice, "items"), i, item)
	{
		if (i == 0)
			sb_buf_adds(out, "\nAdvice\n");
		sb_buf_addf(out, "  %zu. %s (%s)\n", i + 1, text_cell(item, "title", c[0]),
		            text_cell(item, "finding", c[1]));
		print_gain(item, methods, out);
		json_array_foreach(json_object_get(item, "actions"), k, action)
		{
			const char *how = json_string_value(json_object_get(action, "how"));

			sb_buf_addf(out, "     - %s", text_cell(action, "summary", c[0]));
			if (how)
				sb_buf_addf(out, ": %s", clean(how, c[1]));
			sb_buf_adds(out, "\n");
		}
	}
	json_decref(methods);
	return out->status;
}
