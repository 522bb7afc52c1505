#include "profiler/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How much more than its steps a capture may cover and still be divided by them. */
#define COVER 1.25

static const struct {
	const char *name, *words;
} parts[COMPARE_PARTS] = {
    [COMPARE_STEP] = {"step_us", "the step"},
    [COMPARE_SPAN] = {"span_us", "the span"},
    [COMPARE_BUSY] = {"busy_us", "busy time"},
    [COMPARE_COMPUTE] = {"compute_us", "compute"},
    [COMPARE_COMMUNICATION] = {"communication_us", "communication"},
    [COMPARE_EXPOSED] = {"communication_exposed_us", "communication not under compute"},
    [COMPARE_OVERLAP] = {"overlap_us", "overlap"},
    [COMPARE_COPY] = {"copy_us", "copies"},
    [COMPARE_COPY_EXPOSED] = {"copy_exposed_us", "copies under nothing"},
    [COMPARE_FREE] = {"free_us", "device idle time"},
    [COMPARE_BUBBLE] = {"bubble_us", "pipeline bubble"},
    [COMPARE_PREPARING] = {"preparing_us", "preparing"},
    [COMPARE_OUTSIDE] = {"outside_us", "time outside the device's work"},
    [COMPARE_LOADING] = {"data_loading_us", "data loading"},
};

const char *compare_part_name(enum compare_part p)
{
	return parts[p].name;
}

const char *compare_part_words(enum compare_part p)
{
	return parts[p].words;
}

const char *compare_label_name(enum compare_label l)
{
	static const char *const names[] = {"equal", "more", "less", "added", "removed"};

	return names[l];
}

static double number(int64_t ns)
{
	return ns == SB_NULL ? NAN : (double)ns;
}

static struct compare_times times_of(const struct breakdown_row *r)
{
	return (struct compare_times){{
	    [COMPARE_STEP] = number(r->step_ns),
	    [COMPARE_SPAN] = number(r->span_ns),
	    [COMPARE_BUSY] = number(r->busy_ns),
	    [COMPARE_COMPUTE] = number(r->compute_ns),
	    [COMPARE_COMMUNICATION] = number(r->communication_ns),
	    [COMPARE_EXPOSED] = number(r->exposed_ns),
	    [COMPARE_OVERLAP] = number(r->overlap_ns),
	    [COMPARE_COPY] = number(r->copy_ns),
	    [COMPARE_COPY_EXPOSED] = number(r->copy_exposed_ns),
	    [COMPARE_FREE] = number(r->free_ns),
	    [COMPARE_BUBBLE] = number(r->bubble_ns),
	    [COMPARE_PREPARING] = number(r->preparing_ns),
	    [COMPARE_OUTSIDE] = NAN,
	    [COMPARE_LOADING] = NAN,
	}};
}

/* Means of numbers of which some may be missing. */
struct means {
	double sum[COMPARE_PARTS];
	size_t count[COMPARE_PARTS];
};

static void means_add(struct means *m, const struct compare_times *t)
{
	for (int i = 0; i < COMPARE_PARTS; i++) {
		if (isnan(t->ns[i]))
			continue;
		m->sum[i] += t->ns[i];
		m->count[i]++;
	}
}

static struct compare_times means_of(const struct means *m)
{
	struct compare_times t;

	for (int i = 0; i < COMPARE_PARTS; i++)
		t.ns[i] = m->count[i] > 0 ? m->sum[i] / (double)m->count[i] : NAN;
	return t;
}

/* One device of a side. */
struct device_times {
	int64_t rank, device;
	struct compare_times step;
	size_t steps; /* 0: the whole capture counts as one */
};

/* A host that runs ahead is done with a step long before the device is. */
static double longer(const struct compare_times *t)
{
	return fmax(t->ns[COMPARE_STEP], t->ns[COMPARE_SPAN]);
}

/* Preparing, the end of a step, and what else the host does while the device has nothing to wait for. */
static double outside(const struct compare_times *t)
{
	double copy = t->ns[COMPARE_COPY_EXPOSED];
	double left = t->ns[COMPARE_STEP] - t->ns[COMPARE_COMPUTE] - t->ns[COMPARE_EXPOSED] -
	              t->ns[COMPARE_FREE] - (isnan(copy) ? 0 : copy);

	return left < 0 ? 0 : left; /* NaN stays */
}

/* The mean step of the rows of one device; the whole-capture row is the one without a step. */
static struct device_times device_of(const struct breakdown_row *rows, size_t count)
{
	struct device_times d = {.rank = rows[0].rank, .device = rows[0].device};
	struct means m = {0};
	struct compare_times whole = {{0}};
	bool known = false;
	double covered = 0;

	for (size_t i = 0; i < count; i++) {
		struct compare_times t = times_of(&rows[i]);

		if (rows[i].step == SB_NULL) {
			whole = t;
			known = true;
			continue;
		}
		means_add(&m, &t);
		covered += isnan(longer(&t)) ? 0 : longer(&t);
		d.steps++;
	}
	d.step = d.steps > 0 ? means_of(&m) : whole;
	if (known && d.steps > 0 && whole.ns[COMPARE_SPAN] <= COVER * covered) {
		for (int i = COMPARE_SPAN; i < COMPARE_PARTS; i++)
			if (!isnan(whole.ns[i]))
				d.step.ns[i] = whole.ns[i] / (double)d.steps;
	}
	d.step.ns[COMPARE_STEP] = longer(&d.step);
	d.step.ns[COMPARE_OUTSIDE] = outside(&d.step);
	return d;
}

static bool same_device(const struct breakdown_row *a, const struct breakdown_row *b)
{
	return a->capture == b->capture && a->rank == b->rank && a->device == b->device;
}

static int by_rank(const void *a, const void *b)
{
	const struct device_times *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->device > y->device) - (x->device < y->device);
}

/* All devices of a side, by rank; *out is the caller's. */
static int devices_of(const struct breakdown *b, struct device_times **out, size_t *out_count)
{
	struct device_times *list = calloc(b->count + 1, sizeof(*list));
	size_t n = 0;

	if (!list)
		return SB_ENOMEM;
	for (size_t i = 0, end; i < b->count; i = end) {
		for (end = i + 1; end < b->count && same_device(&b->rows[i], &b->rows[end]); end++)
			;
		list[n++] = device_of(b->rows + i, end - i);
	}
	qsort(list, n, sizeof(*list), by_rank);
	*out = list;
	*out_count = n;
	return SB_OK;
}

/* Data loading is known by capture, of which each may have several devices. */
static double mean_loading(const struct loading_report *l)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++) {
		if (l->rows[i].loading_ns == SB_NULL)
			continue;
		sum += (double)l->rows[i].loading_ns / (double)(l->rows[i].steps > 0 ? l->rows[i].steps : 1);
		n++;
	}
	return n > 0 ? sum / (double)n : NAN;
}

static void side_means(const struct compare_side *side, const struct device_times *list, size_t count,
                       struct compare_times *out, double *out_steps)
{
	struct means m = {0};
	double steps = 0;

	for (size_t i = 0; i < count; i++) {
		means_add(&m, &list[i].step);
		steps += (double)list[i].steps;
	}
	*out = means_of(&m);
	out->ns[COMPARE_LOADING] = mean_loading(side->loading);
	*out_steps = count > 0 ? steps / (double)count : 0;
}

/* Ranks that both sides know, by a walk over the two sorted lists. */
static int match_ranks(const struct device_times *a, size_t a_count, const struct device_times *b,
                       size_t b_count, struct comparison *io)
{
	size_t i = 0, k = 0;

	io->ranks = calloc((a_count < b_count ? a_count : b_count) + 1, sizeof(*io->ranks));
	if (!io->ranks)
		return SB_ENOMEM;
	while (i < a_count && k < b_count) {
		int order = by_rank(&a[i], &b[k]);

		if (order == 0 && a[i].rank != SB_NULL)
			io->ranks[io->rank_count++] =
			    (struct compare_rank){a[i].rank, a[i].device, a[i].step, b[k].step};
		i += order <= 0;
		k += order >= 0;
	}
	return SB_OK;
}

static int compare_times(const struct compare_side *base, const struct compare_side *target,
                         struct comparison *io)
{
	struct device_times *a = NULL, *b = NULL;
	int rc = devices_of(base->breakdown, &a, &io->base_devices);

	if (rc == SB_OK)
		rc = devices_of(target->breakdown, &b, &io->target_devices);
	if (rc == SB_OK) {
		side_means(base, a, io->base_devices, &io->base, &io->base_steps);
		side_means(target, b, io->target_devices, &io->target, &io->target_steps);
		rc = match_ranks(a, io->base_devices, b, io->target_devices, io);
	}
	free(a);
	free(b);
	return rc;
}

int compare_profiles(const struct compare_side *base, const struct compare_side *target,
                     struct comparison *out)
{
	struct comparison c = {0};
	int rc = sb_strings_new(&c.strings);

	if (rc == SB_OK)
		rc = compare_times(base, target, &c);
	if (rc == SB_OK)
		rc = compare_operators(base, target, &c);
	if (rc == SB_OK)
		rc = compare_findings(base, target, &c);
	if (rc == SB_OK)
		*out = c;
	else
		comparison_free(&c);
	return rc;
}

void comparison_free(struct comparison *c)
{
	free(c->ranks);
	free(c->operators);
	free(c->findings);
	sb_strings_free(&c->strings);
	*c = (struct comparison){0};
}
