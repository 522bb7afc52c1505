#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"

/* JSON bounds no number, and a double does: one beyond it is valid JSON of an impossible value, and is to be
 * told with its member like any other. Jansson refuses the whole text. So such numbers become the largest
 * round double before they are read once more, and the range of their member refuses them. */
#define LARGEST "1e308"

static bool is_of_number(char c)
{
	return (c >= '0' && c <= '9') || (c != '\0' && strchr("+-.eE", c));
}

/* Every number that overflows is at least as long as its replacement. */
static void tame(char *number, size_t len)
{
	bool real = memchr(number, '.', len) || memchr(number, 'e', len) || memchr(number, 'E', len);
	char behind = number[len], *digits = number + (*number == '-');
	bool over;

	number[len] = '\0';
	errno = 0;
	over = real ? isinf(strtod(number, NULL)) : (strtoll(number, NULL, 10), errno == ERANGE);
	number[len] = behind;
	if (!over || (size_t)(number + len - digits) < strlen(LARGEST))
		return;
	memset(digits, ' ', (size_t)(number + len - digits));
	memcpy(digits, LARGEST, strlen(LARGEST));
}

static void tame_numbers(char *text, size_t len)
{
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		size_t n = 0;

		if (quoted && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			quoted = !quoted;
		while (!quoted && i + n < len && is_of_number(text[i + n]))
			n++;
		if (n > 0) {
			tame(text + i, n);
			i += n - 1;
		}
	}
}

json_t *json_read_request(const char *text, size_t len, json_error_t *out_error)
{
	json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES, out_error);
	char *copy;

	if (value || json_error_code(out_error) != json_error_numeric_overflow)
		return value;
	copy = malloc(len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	tame_numbers(copy, len);
	value = json_loadb(copy, len, JSON_REJECT_DUPLICATES, out_error);
	free(copy);
	return value;
}
