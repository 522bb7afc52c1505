#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "api/profiles/timeline_json.h"
#include "base/num.h"
#include "base/version.h"

#define PX_DEFAULT 1600
#define LANES_DEFAULT 100
#define LANES_MAX 10000
#define ROWS_MAX 100000
#define CHOICES_SHOWN 1500 /* bytes of an error's text */
#define SOURCE_SHOWN 256
#define ANSWER_MAX ((size_t)512 << 20)

/* Parameters as read; what depends on the capture is still open. */
struct wish {
	int64_t rank;           /* as query_rank() has it */
	const char *source;     /* path of the capture, NULL = not given */
	int64_t from_ns, to_ns; /* SB_NULL = not given */
	int64_t px, limit;
	uint32_t lanes[LANES_MAX];
	size_t lane_count; /* 0 = all */
};

static int compare_ids(const void *left, const void *right)
{
	const uint32_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* "3" or "0,5,7". */
static bool read_lanes(struct call *c, struct wish *w)
{
	const char *text = query_text(c, "lane");

	w->lane_count = 0;
	while (text) {
		size_t n = strcspn(text, ",");
		int64_t id;

		if (sb_parse_int(text, n, &id) != SB_OK || id < 0 || id > UINT32_MAX ||
		    w->lane_count == LANES_MAX) {
			problem_query(c->res, "lane",
			              "This must be ids of lanes with commas between them, at most 10000.");
			return false;
		}
		w->lanes[w->lane_count++] = (uint32_t)id;
		text = text[n] ? text + n + 1 : NULL;
	}
	qsort(w->lanes, w->lane_count, sizeof(*w->lanes), compare_ids);
	return true;
}

static bool read_wish(struct call *c, struct wish *w)
{
	w->px = PX_DEFAULT;
	w->limit = LANES_DEFAULT;
	w->source = query_text(c, "source");
	return query_rank(c, &w->rank) && query_time(c, "from_us", &w->from_ns) &&
	       query_time(c, "to_us", &w->to_ns) && query_int(c, "px", 1, TIMELINE_PX_MAX, &w->px) &&
	       read_lanes(c, w) && query_int(c, "limit", 1, LANES_MAX, &w->limit);
}

static int add_choice(const struct timeline *t, const struct timeline_section *s, struct sb_buf *b)
{
	size_t len;
	const char *source = timeline_source(t, s, &len);

	if (!source)
		return SB_EFORMAT;
	if (s->rank != SB_NULL)
		sb_buf_addf(b, "%lld", (long long)s->rank);
	else
		sb_buf_addf(b, "unknown (source=%.*s)", (int)(len < SOURCE_SHOWN ? len : SOURCE_SHOWN),
		            source);
	return SB_OK;
}

/* Says which captures there are. */
static int answer_choices(struct call *c, const struct timeline *t, const char *name, const char *begin)
{
	SB_BUF_AUTO b;
	int rc = SB_OK;

	sb_buf_init(&b, CHOICES_SHOWN + 4L * SOURCE_SHOWN);
	sb_buf_adds(&b, begin);
	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		sb_buf_adds(&b, i > 0 ? ", " : " ");
		if (b.len >= CHOICES_SHOWN) {
			sb_buf_adds(&b, "\xE2\x80\xA6");
			break;
		}
		rc = add_choice(t, &t->sections[i], &b);
	}
	if (rc == SB_OK && b.status == SB_OK)
		problem_query(c->res, name, b.data);
	return rc == SB_OK ? b.status : rc;
}

/* The capture that is wished for; SB_ENOENT, or SB_EFORMAT when its name is damaged. */
static int find(const struct timeline *t, const struct wish *w, const struct timeline_section **out)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct timeline_section *s = &t->sections[i];
		size_t len;
		const char *source = timeline_source(t, s, &len);

		if (!source)
			return SB_EFORMAT;
		if ((w->rank != RANK_NOT_GIVEN && s->rank != w->rank) ||
		    (w->source && (len != strlen(w->source) || memcmp(source, w->source, len) != 0)))
			continue;
		*out = s;
		return SB_OK;
	}
	return SB_ENOENT;
}

/* The capture that is meant; *out is NULL when there is none at all. *out_answered: a 400 was. */
static int choose(struct call *c, const struct timeline *t, const struct wish *w,
                  const struct timeline_section **out, bool *out_answered)
{
	bool named = w->rank != RANK_NOT_GIVEN || w->source;
	const char *name = w->source ? "source" : "rank";
	int rc;

	*out = NULL;
	*out_answered = false;
	if (!named && t->count <= 1) {
		*out = t->count > 0 ? &t->sections[0] : NULL;
		return SB_OK;
	}
	rc = named ? find(t, w, out) : SB_ENOENT;
	if (rc != SB_ENOENT)
		return rc;
	*out_answered = true;
	if (t->count == 0) {
		problem_query(c->res, name, "This profile has no timeline of any rank.");
		return SB_OK;
	}
	if (!named)
		return answer_choices(c, t, name, "A timeline shows one rank. There are:");
	return answer_choices(c, t, name,
	                      w->source ? "There is no timeline of this capture. There are:"
	                                : "There is no timeline of this rank. There are:");
}

static bool make_query(struct call *c, const struct wish *w, const struct timeline_section *s,
                       struct timeline_query *q)
{
	uint64_t span = s ? (uint64_t)s->end_ns - (uint64_t)s->origin_ns : 0;

	*q = (struct timeline_query){.section = s,
	                             .px = (uint32_t)w->px,
	                             .lanes = w->lane_count > 0 ? w->lanes : NULL,
	                             .lane_count = w->lane_count,
	                             .lane_limit = (size_t)w->limit,
	                             .row_limit = ROWS_MAX};
	q->from_ns = w->from_ns != SB_NULL ? w->from_ns : 0;
	q->to_ns = w->to_ns != SB_NULL ? w->to_ns : span < INT64_MAX ? (int64_t)span : INT64_MAX;
	if (!s || q->from_ns < q->to_ns)
		return true;
	problem_query(c->res, w->to_ns != SB_NULL ? "to_us" : "from_us",
	              "The time must end after it begins.");
	return false;
}

/* The answer follows from the profile, the parameters and the program. */
static void name_answer(struct call *c)
{
	static const char *const names[] = {"rank", "source", "from_us", "to_us", "px", "lane", "limit"};
	char digest[65];
	struct sb_buf b;

	sb_buf_init(&b, 1 << 20);
	sb_buf_addf(&b, "timeline %s %s", SB_VERSION, c->param);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *text = query_text(c, names[i]);

		sb_buf_addf(&b, "\n%s=", names[i]);
		sb_buf_adds(&b, text ? text : "");
	}
	if (b.status == SB_OK) {
		store_sha256(b.data, b.len, digest);
		snprintf(c->version, sizeof(c->version), "%.32s", digest);
	}
	sb_buf_free(&b);
}

static int answer(struct call *c, const struct timeline *t, const struct wish *w, struct sb_error *err)
{
	const struct timeline_section *section = NULL;
	TIMELINE_VIEW_AUTO v = {0};
	struct timeline_query q;
	struct sb_buf b;
	bool answered;
	int rc = choose(c, t, w, &section, &answered);

	if (rc != SB_OK)
		return sb_fail(err, rc, "bad_side_file",
		               "The captures of the timeline cannot be told apart.");
	if (answered || !make_query(c, w, section, &q))
		return SB_OK;
	if (section)
		rc = timeline_look(t, &q, &v, err);
	if (rc != SB_OK)
		return rc;
	sb_buf_init(&b, ANSWER_MAX);
	rc = timeline_write_json(t, &q, &v, &b);
	if (rc != SB_OK) {
		sb_buf_free(&b);
		return sb_fail(err, rc, "timeline", "The timeline cannot be written: %s.", sb_strerror(rc));
	}
	reply_buf(c, 200, "application/json", &b);
	name_answer(c);
	return SB_OK;
}

void timeline_get(struct call *c)
{
	struct sb_error err = {0};
	struct opened *o = NULL;
	struct wish *w = malloc(sizeof(*w));
	int rc = SB_OK;

	if (!w)
		rc = sb_fail(&err, SB_ENOMEM, "out_of_memory", "The service is out of memory.");
	else if (read_wish(c, w))
		rc = timelines_take(c->s, c->param, &o, &err);
	if (o) {
		rc = answer(c, &o->timeline, w, &err);
		timelines_give(c->s, o);
	}
	free(w);
	if (rc != SB_OK)
		results_failed(c, rc, &err);
}
