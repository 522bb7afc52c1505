#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "profiler/findings/clocks.h"
#include "profiler/read/id_map.h"

/* Kernels of one name and shape on all ranks. */

#define KERNELS_MAX 4096 /* different ones: more is not one job */
#define RANKS_MIN 3

struct cell {
	double ns, count;
};

struct speeds {
	struct sb_strings *texts; /* names of all captures */
	struct id_map keys;
	struct cell *cells; /* by key, view */
	size_t key_count, views;
};

static void speeds_free(struct speeds *s)
{
	sb_strings_free(&s->texts);
	id_map_free(&s->keys);
	free(s->cells);
}

/* The common id of a capture's text, looked up once. */
static int common(struct speeds *s, const struct capture *c, uint32_t *known, uint32_t id, uint32_t *out)
{
	size_t len;
	const char *text;
	int rc = SB_OK;

	if (id > 0 && known[id] == 0) {
		text = trace_text(&c->trace, id, &len);
		rc = sb_strings_add(s->texts, text, len, &known[id]);
	}
	*out = id > 0 ? known[id] : 0;
	return rc;
}

static int add(struct speeds *s, const struct rank_view *v, size_t view, uint32_t *known, uint32_t name,
               uint32_t shapes, int64_t dur)
{
	uint32_t a, b, at;
	int rc = common(s, v->c, known, name, &a);

	if (rc == SB_OK)
		rc = common(s, v->c, known, shapes, &b);
	if (rc != SB_OK || dur <= 0)
		return rc;
	if (!id_map_get(&s->keys, (struct id_key){a, b, 0}, &at)) {
		if (s->key_count == KERNELS_MAX)
			return SB_OK;
		at = (uint32_t)s->key_count++;
		if (id_map_put(&s->keys, (struct id_key){a, b, 0}, at) != SB_OK)
			return SB_ENOMEM;
	}
	s->cells[at * s->views + view].ns += (double)dur;
	s->cells[at * s->views + view].count++;
	return SB_OK;
}

static int add_view(struct speeds *s, const struct rank_view *v, size_t view)
{
	const struct capture *c = v->c;
	uint32_t *known = calloc(sb_strings_count(c->trace.strings) + 1, sizeof(*known));
	int rc = known ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; rc == SB_OK && i < c->kernel_count; i++) {
		const struct kernel *k = &c->kernels[i];

		if (!k->communication && !on_aicpu(v, k))
			rc = add(s, v, view, known, k->name, k->input_shapes, k->dur_ns);
	}
	for (size_t i = 0; rc == SB_OK && c->kernel_count == 0 && i < c->trace.count; i++)
		if (is_kernel_of(v, i))
			rc = add(s, v, view, known, c->trace.name[i], 0, c->trace.dur_ns[i]);
	free(known);
	return rc;
}

/* The median over the ranks of one kernel's mean time; NaN where fewer than three have it. */
static double median_of(const struct speeds *s, size_t key, double *room)
{
	const struct cell *row = &s->cells[key * s->views];
	size_t n = 0;

	for (size_t i = 0; i < s->views; i++)
		if (row[i].count > 0)
			room[n++] = row[i].ns / row[i].count;
	if (n < RANKS_MIN)
		return NAN;
	return sb_median(room, n);
}

/* Most of a rank's time must be comparable, and slower alike. */
#define COMPARABLE_MIN 0.5
#define UNIFORM_MIN 0.8

static struct device_speed speed_of(const struct speeds *s, size_t view, const double *medians)
{
	double own = 0, elsewhere = 0, all = 0, alike = 0, ratio;
	int64_t kinds = 0;

	for (size_t k = 0; k < s->key_count; k++) {
		const struct cell *c = &s->cells[k * s->views + view];

		all += c->ns;
		if (c->count == 0 || !(medians[k] > 0))
			continue;
		own += c->ns;
		kinds++;
		elsewhere += medians[k] * c->count;
	}
	ratio = own / elsewhere;
	if (!(own >= COMPARABLE_MIN * all) || !(ratio > 0))
		return (struct device_speed){NAN, NAN, 0};
	for (size_t k = 0; k < s->key_count; k++) {
		const struct cell *c = &s->cells[k * s->views + view];
		double each = c->count > 0 && medians[k] > 0 ? c->ns / c->count / medians[k] : NAN;

		/* within a half of what is lost or won */
		if (fabs(each - ratio) <= 0.5 * fabs(ratio - 1) + 0.01)
			alike += c->ns;
	}
	if (ratio > 1 && !(alike >= UNIFORM_MIN * own))
		ratio = 1;
	return (struct device_speed){ratio, alike / own, kinds};
}

int device_speeds(const struct check_context *ctx, struct device_speed **out)
{
	__attribute__((cleanup(speeds_free))) struct speeds s = {.views = ctx->view_count};
	struct device_speed *speeds;
	double *medians, *room;
	int rc;

	*out = NULL;
	if (ctx->view_count < RANKS_MIN)
		return SB_OK;
	s.cells = calloc((size_t)KERNELS_MAX * s.views, sizeof(*s.cells));
	speeds = calloc(s.views, sizeof(*speeds));
	medians = calloc(KERNELS_MAX + s.views, sizeof(*medians));
	rc = s.cells && speeds && medians ? sb_strings_new(&s.texts) : SB_ENOMEM;
	for (size_t i = 0; rc == SB_OK && i < s.views; i++)
		rc = add_view(&s, &ctx->views[i], i);
	room = medians ? medians + KERNELS_MAX : NULL;
	for (size_t k = 0; rc == SB_OK && k < s.key_count; k++)
		medians[k] = median_of(&s, k, room);
	for (size_t i = 0; rc == SB_OK && i < s.views; i++)
		speeds[i] = speed_of(&s, i, medians);
	free(medians);
	if (rc != SB_OK) {
		free(speeds);
		return rc;
	}
	*out = speeds;
	return SB_OK;
}
