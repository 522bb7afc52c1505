#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/profiles/report_page.h"

#define CODES_SHOWN 60
#define PLACES_SHOWN 4
#define OPERATORS_SHOWN 10
#define ACTIONS_SHOWN 12
#define OPEN_SHOWN 100

static bool same_code(const json_t *a, const char *code)
{
	return strcmp(member_text(a, "code"), code) == 0;
}

/* "rank 3, step 7"; "" for the whole capture. */
static void place_of_finding(const json_t *f, char out[VALUE_MAX])
{
	const json_t *rank = json_object_get(f, "rank"), *step = json_object_get(f, "step");
	int n = 0;

	out[0] = '\0';
	if (json_is_integer(rank))
		n = snprintf(out, VALUE_MAX, "rank %lld", (long long)json_integer_value(rank));
	if (json_is_integer(step))
		(void)snprintf(out + n, VALUE_MAX - (size_t)n, "%sstep %lld", n > 0 ? ", " : "",
		               (long long)json_integer_value(step));
}

static void evidence_row(struct report_writer *w, const json_t *e, const char *place)
{
	const char *unit = member_text(e, "unit");
	const json_t *threshold = json_object_get(e, "threshold");
	char text[VALUE_MAX];

	write_row_begin(w);
	write_cell(w, *place ? place : "all");
	write_cell_begin(w, false);
	write_words(w, member_text(e, "metric"));
	write_cell_end(w);
	write_number(w, quantity_text(json_object_get(e, "value"), unit, text));
	write_number(w, quantity_text(threshold, unit, text));
	write_cell(w, json_is_number(threshold) ? member_text(e, "origin") : "");
	write_row_end(w);
}

/* The numbers of the first places that have this code. */
static void evidence(struct report_writer *w, const json_t *findings, size_t first, size_t places)
{
	static const char *const headers[] = {"Where", "Evidence", ">Value", ">Threshold", "Origin", NULL};
	const char *code = member_text(json_array_get(findings, first), "code");
	size_t shown = 0;

	write_table_begin(w, headers);
	for (size_t i = first; i < json_array_size(findings) && shown < PLACES_SHOWN; i++) {
		const json_t *f = json_array_get(findings, i), *list = json_object_get(f, "evidence");
		char place[VALUE_MAX];

		if (!same_code(f, code))
			continue;
		place_of_finding(f, place);
		for (size_t k = 0; k < json_array_size(list) && k < 16; k++)
			evidence_row(w, json_array_get(list, k), place);
		shown++;
	}
	write_table_end(w);
	if (places > shown) {
		char text[VALUE_MAX];

		(void)snprintf(text, sizeof(text), "The first %zu of %zu places.", shown, places);
		write_paragraph_begin(w);
		write_text(w, text);
		write_paragraph_end(w);
	}
}

static void operators_of(struct report_writer *w, const json_t *finding)
{
	const json_t *list = json_object_get(finding, "operators");
	char text[VALUE_MAX];

	if (json_array_size(list) == 0)
		return;
	write_paragraph_begin(w);
	write_text(w, "Operators: ");
	for (size_t i = 0; i < json_array_size(list) && i < OPERATORS_SHOWN; i++) {
		const json_t *o = json_array_get(list, i), *us = json_object_get(o, "contribution_us");

		if (i > 0)
			write_text(w, ", ");
		write_json_text(w, json_object_get(o, "name"));
		if (json_is_number(us)) {
			write_text(w, " ");
			write_text(w, quantity_text(us, "us", text));
		}
	}
	write_text(w, ".");
	write_paragraph_end(w);
}

static void gain_of(struct report_writer *w, const json_t *finding)
{
	const json_t *gain = json_object_get(finding, "estimated_gain");
	const json_t *saved = json_object_get(gain, "step_us"), *speedup = json_object_get(gain, "speedup");
	char text[VALUE_MAX];

	if (!json_is_number(saved) && !json_is_number(speedup))
		return;
	write_paragraph_begin(w);
	write_text(w, "Estimated gain: ");
	if (json_is_number(saved)) {
		write_text(w, quantity_text(saved, "us", text));
		write_text(w, " a step");
	}
	if (json_is_number(speedup)) {
		(void)snprintf(text, sizeof(text), "%sspeedup %.3f", json_is_number(saved) ? ", " : "",
		               json_number_value(speedup));
		write_text(w, text);
	}
	write_text(w, ".");
	if (*member_text(gain, "method")) {
		write_text(w, " Method: ");
		write_text(w, member_text(gain, "method"));
		write_text(w, ".");
	}
	write_paragraph_end(w);
}

/* The members of an action: what to do, how, and whatever else it says in words. */
static void action(struct report_writer *w, json_t *a)
{
	const char *name;
	json_t *v;

	write_item_begin(w);
	write_text(w, member_text(a, "summary"));
	if (*member_text(a, "how")) {
		write_text(w, ": ");
		write_code(w, member_text(a, "how"));
	}

	json_object_foreach(a, name, v)
	{
		if (!json_is_string(v) || strcmp(name, "summary") == 0 || strcmp(name, "how") == 0)
			continue;
		write_text(w, "; ");
		write_words(w, name);
		write_text(w, ": ");
		write_json_text(w, v);
	}
	write_item_end(w);
}

static void advice_for_code(struct report_writer *w, const json_t *advice, const char *code)
{
	const json_t *items = json_object_get(advice, "items");

	for (size_t i = 0; i < json_array_size(items); i++) {
		json_t *item = json_array_get(items, i);
		const json_t *actions = json_object_get(item, "actions");

		if (strcmp(member_text(item, "finding"), code) != 0)
			continue;
		write_paragraph_begin(w);
		write_strong(w, member_text(item, "title"));
		write_paragraph_end(w);
		write_list_begin(w);
		for (size_t k = 0; k < json_array_size(actions) && k < ACTIONS_SHOWN; k++)
			action(w, json_array_get(actions, k));
		write_list_end(w);
		write_paragraph_begin(w);
		write_text(w, "Source: ");
		write_text(w, member_text(item, "source"));
		write_text(w, ".");
		write_paragraph_end(w);
		return;
	}
}

static void finding(struct report_writer *w, const struct report_documents *d, const json_t *findings,
                    size_t first)
{
	const json_t *f = json_array_get(findings, first), *share = json_object_get(f, "share_of_step");
	const char *code = member_text(f, "code");
	char text[VALUE_MAX];
	size_t places = 0;

	for (size_t i = first; i < json_array_size(findings); i++)
		places += same_code(json_array_get(findings, i), code);
	write_heading(w, 3, code);
	write_paragraph_begin(w);
	write_strong(w, member_text(f, "severity"));
	write_text(w, ", confidence ");
	write_text(w, member_text(f, "confidence"));
	if (json_is_number(share)) {
		write_text(w, ", ");
		write_text(w, quantity_text(share, "share", text));
		write_text(w, " of the step");
	}
	write_text(w, ".");
	write_paragraph_end(w);
	evidence(w, findings, first, places);
	operators_of(w, f);
	gain_of(w, f);
	advice_for_code(w, d->advice, code);
}

static bool seen(const json_t *findings, size_t at)
{
	const char *code = member_text(json_array_get(findings, at), "code");

	for (size_t i = 0; i < at; i++)
		if (same_code(json_array_get(findings, i), code))
			return true;
	return false;
}

void write_findings(struct report_writer *w, const struct report_documents *d)
{
	const json_t *findings = json_object_get(d->analysis, "findings");
	size_t shown = 0;

	if (!json_is_array(findings))
		return;
	write_heading(w, 2, "Findings");
	if (json_array_size(findings) == 0) {
		write_paragraph_begin(w);
		write_text(w, "None. Every check that this capture allows was passed.");
		write_paragraph_end(w);
	}
	for (size_t i = 0; i < json_array_size(findings) && shown < CODES_SHOWN; i++) {
		if (seen(findings, i))
			continue;
		finding(w, d, findings, i);
		shown++;
	}
}

void write_not_evaluated(struct report_writer *w, const json_t *analysis)
{
	static const char *const headers[] = {"Check", "What it needs", NULL};
	const json_t *list = json_object_get(analysis, "not_evaluated");

	if (json_array_size(list) == 0)
		return;
	write_heading(w, 2, "Not evaluated");
	write_table_begin(w, headers);
	for (size_t i = 0; i < json_array_size(list) && i < OPEN_SHOWN; i++) {
		write_row_begin(w);
		write_text_cell(w, json_object_get(json_array_get(list, i), "code"));
		write_text_cell(w, json_object_get(json_array_get(list, i), "needs"));
		write_row_end(w);
	}
	write_table_end(w);
}
