#include "api/profiles/report_page.h"

#include <stdio.h>
#include <string.h>

#include "base/version.h"

#define WARNINGS_SHOWN 50

static void fact(struct report_writer *w, const char *name, const json_t *text)
{
	if (!json_is_string(text))
		return;
	write_item_begin(w);
	write_strong(w, name);
	write_text(w, " ");
	write_json_text(w, text);
	write_item_end(w);
}

static void number_fact(struct report_writer *w, const char *name, const json_t *value, const char *unit)
{
	char text[VALUE_MAX];

	if (!json_is_number(value))
		return;
	write_item_begin(w);
	write_strong(w, name);
	write_text(w, " ");
	write_text(w, quantity_text(value, unit, text));
	write_item_end(w);
}

static void list_fact(struct report_writer *w, const char *name, const json_t *list)
{
	if (json_array_size(list) == 0)
		return;
	write_item_begin(w);
	write_strong(w, name);
	write_text(w, " ");
	write_ranges(w, list);
	write_item_end(w);
}

static void facts(struct report_writer *w, const json_t *p)
{
	write_list_begin(w);
	fact(w, "Format", json_object_get(p, "format"));
	fact(w, "Chip", json_object_get(p, "chip"));
	list_fact(w, "Ranks", json_object_get(p, "ranks"));
	list_fact(w, "Steps", json_object_get(p, "steps"));
	list_fact(w, "Devices", json_object_get(p, "devices"));
	number_fact(w, "Captures", json_object_get(p, "captures"), "");
	number_fact(w, "Events", json_object_get(p, "events"), "");
	number_fact(w, "Size", json_object_get(p, "bytes"), "bytes");
	fact(w, "Received", json_object_get(p, "created_at"));
	fact(w, "SHA-256", json_object_get(p, "sha256"));
	write_list_end(w);
}

/* The title of the advice for the verdict, "" when there is none. */
static const char *remedy(const struct report_documents *d, const char *code)
{
	const json_t *items = json_object_get(d->advice, "items");

	for (size_t i = 0; i < json_array_size(items); i++)
		if (strcmp(member_text(json_array_get(items, i), "finding"), code) == 0)
			return member_text(json_array_get(items, i), "title");
	return "";
}

static void bottleneck(struct report_writer *w, const struct report_documents *d, const json_t *v)
{
	const char *cause = member_text(v, "cause");
	const json_t *share = json_object_get(v, "share_of_step");
	char code[VALUE_MAX], text[VALUE_MAX];

	(void)snprintf(code, sizeof(code), "%.40s%s%.40s", member_text(v, "component"), *cause ? "." : "",
	               cause);
	write_text(w, "The bottleneck is ");
	write_strong(w, code);
	if (json_is_number(share)) {
		write_text(w, ": ");
		write_text(w, quantity_text(share, "share", text));
		write_text(w, " of the step");
	}
	write_text(w, ", confidence ");
	write_text(w, member_text(v, "confidence"));
	write_text(w, ".");
	if (*remedy(d, code)) {
		write_text(w, " What to do: ");
		write_text(w, remedy(d, code));
		write_text(w, ".");
	}
}

static void verdict(struct report_writer *w, const struct report_documents *d)
{
	const json_t *v = json_object_get(d->analysis, "verdict");
	size_t open = json_array_size(json_object_get(d->analysis, "not_evaluated"));
	char text[VALUE_MAX];

	if (!json_is_object(v))
		return;
	write_paragraph_begin(w);
	if (json_is_string(json_object_get(v, "component"))) {
		bottleneck(w, d, v);
	} else {
		write_strong(w, "No bottleneck found");
		write_text(w, ", confidence ");
		write_text(w, member_text(v, "confidence"));
		write_text(w, ".");
		if (open > 0) {
			(void)snprintf(text, sizeof(text), " %zu causes could not be judged, see below.",
			               open);
			write_text(w, text);
		}
	}
	write_paragraph_end(w);
}

static void warnings(struct report_writer *w, const json_t *profile)
{
	static const char *const headers[] = {"Warning", "File", ">Times", NULL};
	const json_t *list = json_object_get(profile, "warnings");
	size_t n = json_array_size(list);
	char text[VALUE_MAX];

	if (n == 0)
		return;
	write_heading(w, 2, "Warnings of the reader");
	write_table_begin(w, headers);
	for (size_t i = 0; i < n && i < WARNINGS_SHOWN; i++) {
		const json_t *x = json_array_get(list, i);

		write_row_begin(w);
		write_text_cell(w, json_object_get(x, "detail"));
		write_text_cell(w, json_object_get(x, "file"));
		write_number(w, quantity_text(json_object_get(x, "count"), "", text));
		write_row_end(w);
	}
	write_table_end(w);
	if (n > WARNINGS_SHOWN) {
		(void)snprintf(text, sizeof(text), "The first %d of %zu.", WARNINGS_SHOWN, n);
		write_paragraph_begin(w);
		write_text(w, text);
		write_paragraph_end(w);
	}
}

int report_page(const struct report_documents *d, bool html, struct sb_buf *out)
{
	struct report_writer w = {.out = out, .html = html};
	const json_t *name = json_object_get(d->profile, "name");
	const char *title = json_is_string(name) ? json_string_value(name) : "profile";
	size_t len = json_is_string(name) ? json_string_length(name) : strlen(title);

	write_begin(&w, title, len);
	write_raw_html(&w, "<h1>");
	if (!html)
		sb_buf_adds(out, "# ");
	write_text_n(&w, title, len);
	sb_buf_adds(out, html ? "</h1>\n" : "\n\n");
	verdict(&w, d);
	facts(&w, d->profile);
	write_breakdown(&w, d->breakdown);
	write_tree(&w, d->analysis);
	write_findings(&w, d);
	write_path(&w, d->critical_path);
	write_operators(&w, d->operators);
	write_not_evaluated(&w, d->analysis);
	warnings(&w, d->profile);
	write_paragraph_begin(&w);
	write_text(&w, "Written by Signalbox " SB_VERSION ".");
	write_paragraph_end(&w);
	write_end(&w);
	return out->status;
}
