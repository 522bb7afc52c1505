#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profiler/compare.h"

/* A part that makes less than this of the difference is not named. */
#define NAMED_SHARE 0.1

static int by_code(const void *a, const void *b)
{
	const struct compare_finding *const *x = a, *const *y = b;

	return strcmp((*x)->code, (*y)->code);
}

static const struct compare_finding **sorted(const struct compare_side *s)
{
	const struct compare_finding **list = calloc(s->finding_count + 1, sizeof(struct compare_finding *));

	for (size_t i = 0; list && i < s->finding_count; i++)
		list[i] = &s->findings[i];
	if (list && s->finding_count > 0)
		qsort(list, s->finding_count, sizeof(struct compare_finding *), by_code);
	return list;
}

int compare_findings(const struct compare_side *base, const struct compare_side *target,
                     struct comparison *io)
{
	const struct compare_finding **a = sorted(base), **b = sorted(target);
	size_t i = 0, k = 0;

	io->findings = calloc(base->finding_count + target->finding_count + 1, sizeof(*io->findings));
	if (a && b && io->findings) {
		while (i < base->finding_count || k < target->finding_count) {
			int order = i == base->finding_count     ? 1
			            : k == target->finding_count ? -1
			                                         : strcmp(a[i]->code, b[k]->code);

			io->findings[io->finding_count++] =
			    (struct compare_change){order <= 0 ? a[i]->code : b[k]->code,
			                            order <= 0 ? a[i] : NULL, order >= 0 ? b[k] : NULL};
			i += order <= 0;
			k += order >= 0;
		}
	}
	free((void *)a);
	free((void *)b);
	return a && b && io->findings ? SB_OK : SB_ENOMEM;
}

static double change(const struct comparison *c, enum compare_part p)
{
	double d = c->target.ns[p] - c->base.ns[p];

	return isnan(d) ? 0 : d;
}

/* Parts of the step (the bubble lies inside two of them, preparing outside all), the largest changes first.
 */
static void find_changes(const struct comparison *c, double difference, struct compare_verdict *out)
{
	static const enum compare_part parts[] = {COMPARE_COMPUTE, COMPARE_EXPOSED, COMPARE_COPY_EXPOSED,
	                                          COMPARE_FREE,    COMPARE_BUBBLE,  COMPARE_PREPARING,
	                                          COMPARE_OUTSIDE};
	double sign = difference < 0 ? -1 : 1;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t at = out->change_count;

		if (sign * change(c, parts[i]) < NAMED_SHARE * fabs(difference))
			continue;
		while (at > 0 && sign * change(c, parts[i]) > sign * change(c, out->changes[at - 1]))
			at--;
		if (at == COMPARE_CHANGES_MAX)
			continue;
		if (out->change_count < COMPARE_CHANGES_MAX)
			out->change_count++;
		memmove(&out->changes[at + 1], &out->changes[at],
		        (out->change_count - 1 - at) * sizeof(out->changes[0]));
		out->changes[at] = parts[i];
	}
}

/* Three digits or so, in the unit that suits it. */
static void add_time(struct sb_buf *b, double ns)
{
	double value = ns >= 1e9 ? ns / 1e9 : ns >= 1e6 ? ns / 1e6 : ns / 1e3;
	const char *unit = ns >= 1e9 ? "s" : ns >= 1e6 ? "ms" : "us";

	if (ns == 0) {
		sb_buf_adds(b, "0");
		return;
	}
	sb_buf_addf(b, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
}

static void add_change(struct sb_buf *b, const struct comparison *c, enum compare_part p, const char *before)
{
	sb_buf_addf(b, "%s%s went from ", before, compare_part_words(p));
	add_time(b, c->base.ns[p]);
	sb_buf_adds(b, " to ");
	add_time(b, c->target.ns[p]);
}

/* The loader runs on the host: it explains idle time, and is no part of the sum. */
static bool loading_explains(const struct comparison *c, double difference)
{
	double loading = change(c, COMPARE_LOADING), sign = difference < 0 ? -1 : 1;

	return sign * loading >= NAMED_SHARE * fabs(difference);
}

static void add_codes(struct sb_buf *b, const struct comparison *c, bool gone)
{
	size_t n = 0;

	for (size_t i = 0; i < c->finding_count; i++) {
		const struct compare_change *f = &c->findings[i];
		const struct compare_finding *there = gone ? f->base : f->target;

		if (!there || (gone ? f->target : f->base) || strcmp(there->severity, "info") == 0)
			continue;
		if (n++ < 3)
			sb_buf_addf(b, "%s%s", n == 1 ? gone ? " Gone: " : " New: " : ", ", there->code);
	}
	if (n > 3)
		sb_buf_addf(b, " and %zu more", n - 3);
	if (n > 0)
		sb_buf_adds(b, ".");
}

/* The cause first: an idle device is what slow loading looks like from there. */
static void add_changes(struct sb_buf *b, const struct comparison *c, double difference,
                        const struct compare_verdict *v)
{
	const char *before = ": ";
	bool loading = loading_explains(c, difference);

	if (loading && (v->change_count == 0 || v->changes[0] == COMPARE_FREE)) {
		add_change(b, c, COMPARE_LOADING, before);
		before = ", ";
		loading = false;
	}
	for (size_t i = 0; i < v->change_count; i++) {
		add_change(b, c, v->changes[i], before);
		before = ", ";
	}
	if (loading) {
		add_change(b, c, COMPARE_LOADING, before);
		before = ", ";
	}
	if (before[0] == ',')
		sb_buf_adds(b, " a step");
}

void compare_verdict(const struct comparison *c, struct compare_verdict *out)
{
	double base = c->base.ns[COMPARE_STEP], target = c->target.ns[COMPARE_STEP];
	double difference = target - base;
	SB_BUF_AUTO b;

	*out = (struct compare_verdict){.speedup = target > 0 ? base / target : NAN};
	sb_buf_init(&b, sizeof(out->sentence) - 1);
	if (!(base > 0) || !(target > 0)) {
		sb_buf_adds(&b,
		            "The steps cannot be compared: one of the profiles holds no time of a device.");
	} else if (fabs(difference) <= COMPARE_EQUAL_SHARE * base) {
		sb_buf_adds(&b, "The steps take the same time, within 2 %: ");
		add_time(&b, base);
		sb_buf_adds(&b, " and ");
		add_time(&b, target);
	} else {
		sb_buf_addf(&b, "The target's step is %.2fx %s (",
		            difference < 0 ? base / target : target / base,
		            difference < 0 ? "shorter" : "longer");
		add_time(&b, base);
		sb_buf_adds(&b, " to ");
		add_time(&b, target);
		sb_buf_adds(&b, ")");
		find_changes(c, difference, out);
		add_changes(&b, c, difference, out);
	}
	if (b.status == SB_OK && b.len > 0 && b.data[b.len - 1] != '.')
		sb_buf_adds(&b, ".");
	add_codes(&b, c, true);
	add_codes(&b, c, false);
	snprintf(out->sentence, sizeof(out->sentence), "%s", b.data ? b.data : "");
}
