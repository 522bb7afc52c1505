#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/internal.h"
#include "api/profiles/critical_path_json.h"
#include "base/num.h"

#define EVENTS_DEFAULT 10000
#define EVENTS_MAX 100000

/* Parameters as read; what depends on the path is still open. */
struct wish {
	int64_t rank, device;   /* device: SB_NULL = not given */
	const char *source;     /* path of the capture, NULL = not given */
	int64_t from_ns, to_ns; /* SB_NULL = not given */
	int64_t limit;
};

static bool read_wish(struct call *c, struct wish *w)
{
	w->limit = EVENTS_DEFAULT;
	w->device = SB_NULL;
	w->source = query_text(c, "source");
	return query_rank(c, &w->rank) && query_int(c, "device", 0, INT32_MAX, &w->device) &&
	       query_time(c, "from_us", &w->from_ns) && query_time(c, "to_us", &w->to_ns) &&
	       query_int(c, "limit", 1, EVENTS_MAX, &w->limit);
}

static bool is_wished(const struct path_file *f, const struct path_section *s, const struct wish *w)
{
	size_t len;
	const char *source = w->source ? path_file_source(f, s->source, &len) : NULL;

	return !s->across && (w->rank == RANK_NOT_GIVEN || s->rank == w->rank) &&
	       (w->device == SB_NULL || s->device == w->device) &&
	       (!w->source || (source && len == strlen(w->source) && memcmp(source, w->source, len) == 0));
}

/* The path that is asked for: the longest of those that fit, the first of equals. Without a choice, the one
 * across the ranks. NULL = none. */
static const struct path_section *choose(const struct path_file *f, const struct wish *w)
{
	const struct path_section *best = NULL;

	if (w->rank == RANK_NOT_GIVEN && w->device == SB_NULL && !w->source && f->count > 0 &&
	    f->sections[f->count - 1].across)
		return &f->sections[f->count - 1];
	for (size_t i = 0; i < f->count; i++) {
		const struct path_section *s = &f->sections[i];

		if (is_wished(f, s, w) && (!best || s->end_ns - s->first_ns > best->end_ns - best->first_ns))
			best = s;
	}
	return best;
}

static int answer(struct call *c, const struct path_file *f, const struct wish *w, struct sb_error *err)
{
	const struct path_section *s = choose(f, w);
	PATH_VIEW_AUTO v = {0};
	int64_t from = w->from_ns, to = w->to_ns;
	int rc = SB_OK;

	if (!s && f->count > 0) {
		problem_query(c->res,
		              w->source                   ? "source"
		              : w->rank != RANK_NOT_GIVEN ? "rank"
		                                          : "device",
		              "No capture that fits this did any work on a device. The profile's ranks and "
		              "unranked list what there is.");
		return SB_OK;
	}
	if (s) {
		from = from == SB_NULL ? s->first_ns : from;
		/* the last moment of the path belongs to it: work without length may stand there */
		rc = path_file_look(f, s, from, to == SB_NULL ? sb_add_sat(s->end_ns, 1) : to,
		                    (size_t)w->limit, &v, err);
		to = to == SB_NULL ? s->end_ns : to;
	}
	if (rc != SB_OK)
		return rc;
	if (s && from > to)
		problem_query(c->res, w->to_ns != SB_NULL ? "to_us" : "from_us",
		              "The time must not end before it begins.");
	else
		reply_json(c, 200, critical_path_json(f, s, &v, from, to));
	return SB_OK;
}

void critical_path_get(struct call *c)
{
	PATH_FILE_AUTO f = {0};
	struct sb_error err = {0};
	struct wish w;
	int fd = -1, rc;

	if (!read_wish(c, &w))
		return;
	rc = store_side_open(c->s->config.store, c->param, "critical-path", &fd, &err);
	if (rc == SB_OK)
		rc = path_file_open(fd, &f, &err);
	if (fd >= 0)
		close(fd);
	if (rc == SB_OK)
		rc = answer(c, &f, &w, &err);
	if (rc != SB_OK)
		results_failed(c, rc, &err);
}
