#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/profiles/report_page.h"

#define NOTHING "\xE2\x80\x93" /* a dash that is no mark of Markdown */

struct scale {
	double least;
	const char *name;
};
static const struct scale TIMES[] = {{1e6, "s"}, {1e3, "ms"}, {0, "us"}};
static const struct scale SIZES[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {0, "B"}};

static const char *scaled(double value, const struct scale *scales, char out[VALUE_MAX])
{
	double divisor;

	while (fabs(value) < scales->least)
		scales++;
	divisor = scales->least > 0 ? scales->least : 1;
	(void)snprintf(out, VALUE_MAX, "%.4g %s", value / divisor, scales->name);
	return out;
}

const char *quantity_text(const json_t *value, const char *unit, char out[VALUE_MAX])
{
	return number_text(json_is_number(value) ? json_number_value(value) : NAN, unit, out);
}

const char *number_text(double v, const char *unit, char out[VALUE_MAX])
{
	if (!isfinite(v))
		return NOTHING;
	if (strcmp(unit, "us") == 0)
		return scaled(v, TIMES, out);
	if (strcmp(unit, "seconds") == 0)
		return scaled(v * 1e6, TIMES, out);
	if (strcmp(unit, "bytes") == 0)
		return scaled(v, SIZES, out);
	if (strncmp(unit, "share", 5) == 0)
		(void)snprintf(out, VALUE_MAX, "%.4g %%%.60s", 100 * v, unit + 5);
	else if (v == 1 && strlen(unit) > 1 && unit[strlen(unit) - 1] == 's')
		(void)snprintf(out, VALUE_MAX, "1 %.*s", (int)(strlen(unit) < 60 ? strlen(unit) - 1 : 60),
		               unit);
	else if (v == floor(v) && fabs(v) < 1e15)
		(void)snprintf(out, VALUE_MAX, "%.0f%s%.60s", v, *unit ? " " : "", unit);
	else
		(void)snprintf(out, VALUE_MAX, "%.6g%s%.60s", v, *unit ? " " : "", unit);
	return out;
}

const char *member_text(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text ? text : "";
}

void write_json_text(struct report_writer *w, const json_t *value)
{
	if (json_is_string(value))
		write_text_n(w, json_string_value(value), json_string_length(value));
	else
		write_text(w, NOTHING);
}

void write_text_cell(struct report_writer *w, const json_t *value)
{
	write_cell_begin(w, false);
	write_json_text(w, value);
	write_cell_end(w);
}

void write_ranges(struct report_writer *w, const json_t *list)
{
	size_t n = json_array_size(list), written = 0;
	char text[64];

	if (n == 0)
		write_text(w, NOTHING);
	for (size_t i = 0, end; i < n; i = end) {
		json_int_t first = json_integer_value(json_array_get(list, i)), last = first;

		for (end = i + 1; end < n && json_integer_value(json_array_get(list, end)) == last + 1; end++)
			last++;
		(void)snprintf(text, sizeof(text), last > first ? "%s%lld to %lld" : "%s%lld",
		               i > 0 ? ", " : "", (long long)first, (long long)last);
		written += strlen(text);
		if (written > 100) {
			(void)snprintf(text, sizeof(text), " and more, %zu in all", n);
			end = n;
		}
		write_text(w, text);
	}
}

void write_words(struct report_writer *w, const char *name)
{
	size_t n = strlen(name);
	char text[80];

	if (n > 3 && strcmp(name + n - 3, "_us") == 0)
		n -= 3;
	else if (n > 6 && strcmp(name + n - 6, "_bytes") == 0)
		n -= 6;
	n = n < sizeof(text) - 1 ? n : sizeof(text) - 1;
	for (size_t i = 0; i < n; i++)
		text[i] = (char)(name[i] == '_' ? ' ' : name[i]);
	text[n] = '\0';
	write_text(w, text);
}
