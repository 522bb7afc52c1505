#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/internal.h"

/* One media range of an Accept field (RFC 9110, section 12.5.1). */
struct range {
	const char *type; /* up to ';', ',' or a blank; not ended */
	size_t len;
	int weight; /* thousandths */
};

/* "0.8" as 800; what is no weight counts as 1. */
static int weight_of(const char *text, size_t len)
{
	int value = 0, digit = 100;

	if (len == 0 || (text[0] != '0' && text[0] != '1'))
		return 1000;
	value = text[0] == '1' ? 1000 : 0;
	for (size_t i = 2; text[0] == '0' && i < len && i < 5 && text[1] == '.'; i++, digit /= 10) {
		if (text[i] < '0' || text[i] > '9')
			return 1000;
		value += (text[i] - '0') * digit;
	}
	return value;
}

/* The range at the start of a list, and its weight. Returns where the next one begins. */
static const char *next_range(const char *list, struct range *out)
{
	size_t end = strcspn(list, ",");
	const char *stop = list + end, *p;

	list += strspn(list, " \t");
	*out = (struct range){list, strcspn(list, " \t;,"), 1000};
	for (p = memchr(list, ';', (size_t)(stop > list ? stop - list : 0)); p;
	     p = memchr(p, ';', (size_t)(stop - p))) {
		p++;
		p += strspn(p, " \t");
		if (strncasecmp(p, "q=", 2) == 0)
			out->weight = weight_of(p + 2, strcspn(p + 2, " \t;,"));
	}
	return *stop ? stop + 1 : stop;
}

/* How closely a range names a type: 3 itself, 2 its family, 1 anything, 0 not. */
static int closeness(const struct range *r, const char *type)
{
	size_t family = strcspn(type, "/") + 1;

	if (r->len == strlen(type) && strncasecmp(r->type, type, r->len) == 0)
		return 3;
	if (r->len == family + 1 && strncasecmp(r->type, type, family) == 0 && r->type[family] == '*')
		return 2;
	return r->len == 3 && memcmp(r->type, "*/*", 3) == 0 ? 1 : 0;
}

int accept_choose(const char *accept, const char *const *types)
{
	int best = -1, best_weight = 0, best_close = 0;

	if (!accept || !*accept)
		return 0;
	for (int i = 0; types[i]; i++) {
		int close = 0, weight = 0;

		for (const char *p = accept; *p;) {
			struct range r;

			p = next_range(p, &r);
			if (closeness(&r, types[i]) > close) {
				close = closeness(&r, types[i]);
				weight = r.weight;
			}
		}
		/* of equals the one that was named wins, then the first */
		if (weight > best_weight || (weight > 0 && weight == best_weight && close > best_close)) {
			best = i;
			best_weight = weight;
			best_close = close;
		}
	}
	return best;
}
