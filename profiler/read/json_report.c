#include "profiler/profile.h"
#include "profiler/read/json.h"

void jpull_warn(struct warnings *w, const char *path, const struct jpull_flaw *f, const char *code,
                const char *what)
{
	if (f->count == 0)
		return;
	warnings_add(w, code, path, 0, f->offset, "%s First at byte %lld, %llu in all.", what,
	             (long long)f->offset, (unsigned long long)f->count);
	warnings_repeat(w, code, path, f->count - 1);
}

void jpull_report(const struct jpull *j, const char *path, struct warnings *warnings)
{
	const struct jpull_flaws *f = jpull_flaws(j);

	jpull_warn(warnings, path, &f->unknown_value, "bad_value",
	           "A value is no JSON value (NaN, N/A or nothing at all) and was taken as unknown.");
	jpull_warn(warnings, path, &f->big_integer, "big_integer", "An integer does not fit into 64 bits.");
	jpull_warn(warnings, path, &f->control_char, "control_character",
	           "A text holds a raw control character.");
	jpull_warn(warnings, path, &f->trailing_comma, "trailing_comma", "A comma has nothing after it.");
	jpull_warn(warnings, path, &f->bad_utf8, "bad_utf8", "A text is not valid UTF-8.");
	jpull_warn(warnings, path, &f->bad_escape, "bad_escape",
	           "A text holds a backslash that starts no escape.");
	jpull_warn(warnings, path, &f->long_string, "long_text", "A text is too long and was cut.");
}
