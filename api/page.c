#include <stdio.h>
#include <string.h>

#include "api/internal.h"

bool name_is_valid(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return n > 0 && n <= 64 && name[n] == '\0' && name[0] != '.' && name[0] != '-';
}

bool page_begin(struct call *c, char kind, bool ids, struct page *out)
{
	struct page p = {.limit = PAGE_DEFAULT};
	const char *cursor = query_text(c, "cursor");
	int64_t limit = PAGE_DEFAULT;

	if (!query_int(c, "limit", 1, PAGE_MAX, &limit))
		return false;
	p.limit = (size_t)limit;
	if (cursor) {
		bool fine = cursor[0] == kind && cursor[1] == '.' && strlen(cursor + 2) < sizeof(p.after) &&
		            (ids ? store_id_is_valid(cursor + 2) : name_is_valid(cursor + 2));

		if (!fine) {
			problem_query(c->res, "cursor", "This is no cursor of this list.");
			return false;
		}
		snprintf(p.after, sizeof(p.after), "%s", cursor + 2);
	}
	*out = p;
	return true;
}

void page_end(struct call *c, char kind, const struct page *p, json_t *items, const char *last)
{
	page_end_with(c, kind, p, json_object(), items, last);
}

void page_end_with(struct call *c, char kind, const struct page *p, json_t *o, json_t *items,
                   const char *last)
{
	char cursor[84], link[320];

	json_object_set_new(o, "items", items);
	if (last)
		snprintf(cursor, sizeof(cursor), "%c.%.78s", kind, last);
	json_object_set_new(o, "next_cursor", last ? json_string(cursor) : json_null());
	reply_json(c, 200, o);
	if (last && c->res->status == 200) {
		snprintf(link, sizeof(link), "<%.150s?limit=%zu&cursor=%s>; rel=\"next\"", c->req->path,
		         p->limit, cursor);
		api_res_header(c->res, "Link", link);
	}
}
