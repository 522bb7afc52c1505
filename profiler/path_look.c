#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "profiler/path_file.h"

/* One look at a path. */
struct looking {
	const struct path_file *f;
	int64_t from, to;
	size_t limit;
	struct path_sum *sums; /* by text and part */
	struct path_view v;
};

static int add_piece(struct looking *l, const struct path_piece *p, int64_t start, int64_t dur)
{
	struct path_view *v = &l->v;
	struct path_sum *sum = &l->sums[(size_t)p->name * PATH_PARTS + p->part];

	v->part_ns[p->part] = sb_add_sat(v->part_ns[p->part], dur);
	v->span_ns = sb_add_sat(v->span_ns, dur);
	sum->count++;
	sum->total_ns = sb_add_sat(sum->total_ns, dur);
	if (v->count == l->limit) {
		v->left_out++;
		return SB_OK;
	}
	if (sb_grow(&v->pieces, v->count, sizeof(*v->pieces)) != SB_OK)
		return SB_ENOMEM;
	v->pieces[v->count] = *p;
	v->pieces[v->count].start_ns = start;
	v->pieces[v->count++].dur_ns = dur;
	return SB_OK;
}

/* A piece at its place on the path; only what lies in view counts. */
static int look_at(struct looking *l, const struct path_piece *p, int64_t at)
{
	int64_t start = at > l->from ? at : l->from, end = sb_add_sat(at, p->dur_ns);

	if (p->part >= PATH_PARTS || p->name >= l->f->text_count || p->capture >= l->f->source_count ||
	    p->dur_ns < 0)
		return SB_EFORMAT;
	if (end > l->to)
		end = l->to;
	if (end < start || (end == start && p->dur_ns > 0) || start >= l->to)
		return SB_OK;
	return add_piece(l, p, sb_add_sat(p->start_ns, start - at), end - start);
}

static int by_total(const void *a, const void *b)
{
	const struct path_sum *x = a, *y = b;
	const int64_t left[] = {y->total_ns, y->count, x->name, x->part};
	const int64_t right[] = {x->total_ns, x->count, y->name, y->part};

	return sb_compare(left, right, 4);
}

/* Keeps what was met and has a name. */
static void finish_sums(struct looking *l)
{
	size_t n = 0;

	for (size_t i = PATH_PARTS; i < l->f->text_count * PATH_PARTS; i++) {
		if (l->sums[i].count == 0)
			continue;
		l->sums[n] = l->sums[i];
		l->sums[n].name = (uint32_t)(i / PATH_PARTS);
		l->sums[n++].part = (uint8_t)(i % PATH_PARTS);
	}
	qsort(l->sums, n, sizeof(*l->sums), by_total);
	l->v.sums = l->sums;
	l->v.sum_count = n;
	l->sums = NULL;
}

static int look_over(struct looking *l, const struct path_section *s)
{
	const struct path_piece *pieces =
	    s->pieces % 8 == 0 && s->count <= SIZE_MAX / sizeof(*pieces)
	        ? chunkfile_get(&l->f->file, s->pieces, s->count * sizeof(*pieces))
	        : NULL;
	int64_t at = s->first_ns;
	int rc = pieces ? SB_OK : SB_EFORMAT;

	for (uint64_t i = 0; i < s->count && rc == SB_OK; i++) {
		rc = look_at(l, &pieces[i], at);
		at = sb_add_sat(at, pieces[i].dur_ns);
	}
	return rc;
}

int path_file_look(const struct path_file *f, const struct path_section *s, int64_t from, int64_t to,
                   size_t limit, struct path_view *out, struct sb_error *err)
{
	struct looking l = {.f = f, .from = from, .to = to, .limit = limit};
	int rc = SB_ENOMEM;

	l.sums = calloc((f->text_count + 1) * PATH_PARTS, sizeof(*l.sums));
	if (l.sums)
		rc = look_over(&l, s);
	if (rc == SB_OK) {
		finish_sums(&l);
		*out = l.v;
		return SB_OK;
	}
	free(l.sums);
	path_view_free(&l.v);
	if (rc == SB_EFORMAT)
		return sb_fail(err, rc, "bad_side_file", "The side file of the critical paths is damaged.");
	return sb_fail(err, rc, "out_of_memory", "The service is out of memory.");
}

void path_view_free(struct path_view *v)
{
	free(v->pieces);
	free(v->sums);
	*v = (struct path_view){0};
}
