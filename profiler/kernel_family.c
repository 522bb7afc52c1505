#include "profiler/kernel_family.h"

#include <stdbool.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits, an x, digits: somewhere in the part. */
static bool has_tile(const char *part, size_t len)
{
	for (size_t i = 1; i + 1 < len; i++)
		if (part[i] == 'x' && is_digit(part[i - 1]) && is_digit(part[i + 1]))
			return true;
	return false;
}

static bool is_number(const char *part, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_digit(part[i]))
			return false;
	return len > 0;
}

static bool is_size_word(const char *part, size_t len)
{
	static const char *const words[] = {"small", "medium", "large", "interior",
	                                    "xregs", "ldg1",   "ldg2",  "ldg4"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == len && memcmp(words[i], part, len) == 0)
			return true;
	return false;
}

size_t kernel_family(const char *name, char *out, size_t size)
{
	size_t n = 0, kept = 0;
	bool star = false;

	for (const char *part = name;; part++) {
		size_t len = strcspn(part, "_");
		bool varies = has_tile(part, len) || is_number(part, len) || is_size_word(part, len);
		size_t shown = varies ? 1 : len;

		if (!(varies && star)) {
			if (part != name && n + 1 < size)
				out[n++] = '_';
			if (shown > size - 1 - n)
				shown = size - 1 - n;
			memcpy(out + n, varies ? "*" : part, shown);
			n += shown;
		}
		star = varies;
		kept += !varies && len > 1;
		part += len;
		if (!*part)
			break;
	}
	out[n] = '\0';
	return kept;
}
