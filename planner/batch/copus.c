#include "planner/batch/copus.h"

#include <math.h>
#include <stdlib.h>

double copus_efficiency(double phi, double reference, double batch)
{
	return (phi + reference) / (phi + batch);
}

double copus_goodput(const struct copus_row *row, const struct copus_rule *rule, double phi)
{
	double factor = rule->square_root ? sqrt(row->batch / rule->reference_batch) : 1;

	return row->throughput * copus_efficiency(phi, rule->reference_batch, row->batch) * factor;
}

size_t copus_best(const struct copus_row *rows, size_t count, const struct copus_rule *rule, double phi)
{
	double most = -1;
	size_t best = 0;

	for (size_t i = 0; i < count; i++) {
		double g = copus_goodput(&rows[i], rule, phi);

		if (g > most) {
			most = g;
			best = i;
		}
	}
	return best;
}

struct line {
	double slope, at_zero;
	size_t row;
};

static int steepest_first(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->slope != y->slope)
		return x->slope > y->slope ? -1 : 1;
	if (x->at_zero != y->at_zero)
		return x->at_zero < y->at_zero ? -1 : 1;
	return x->row < y->row ? -1 : 1;
}

static double crossing(const struct line *steep, const struct line *flat)
{
	return (flat->at_zero - steep->at_zero) / (steep->slope - flat->slope);
}

/* Leaves the lines that are lowest somewhere from 0 on, the steepest first, and returns how many. */
static size_t envelope(struct line *lines, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct line *l = &lines[i];

		if (n > 0 && lines[n - 1].slope == l->slope)
			continue; /* the lower of the two came first */
		while (n > 0 &&
		       (l->at_zero <= lines[n - 1].at_zero ||
		        (n > 1 && crossing(&lines[n - 1], l) <= crossing(&lines[n - 2], &lines[n - 1]))))
			n--;
		lines[n++] = *l;
	}
	return n;
}

int copus_intervals(const struct copus_row *rows, size_t count, const struct copus_rule *rule,
                    struct copus_interval *out, size_t *out_count)
{
	struct line *lines = calloc(count ? count : 1, sizeof(*lines));
	size_t n;

	if (!lines)
		return SB_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		double speed = rows[i].throughput * (rule->square_root ? sqrt(rows[i].batch) : 1);

		lines[i] = (struct line){1 / speed, rows[i].batch / speed, i};
	}
	qsort(lines, count, sizeof(*lines), steepest_first);
	n = envelope(lines, count);
	for (size_t i = 0; i < n; i++) {
		out[i].row = lines[i].row;
		out[i].from = i == 0 ? 0 : out[i - 1].to;
		out[i].to = i + 1 < n ? crossing(&lines[i], &lines[i + 1]) : INFINITY;
	}
	*out_count = n;
	free(lines);
	return SB_OK;
}

const char *copus_reason_word(enum copus_reason r)
{
	static const char *const words[COPUS_REASONS] = {
	    [COPUS_START] = "start",
	    [COPUS_BEST] = "best",
	    [COPUS_SWITCH] = "switch",
	    [COPUS_THRESHOLD_NOT_MET] = "below_threshold",
	    [COPUS_NOT_PAID] = "not_paid_back",
	    [COPUS_UNKNOWN] = "noise_unknown",
	};

	return words[r];
}

double copus_break_even(double reconfiguration, double old_goodput, double new_goodput)
{
	return reconfiguration * old_goodput / (new_goodput - old_goodput);
}

static struct copus_step decide(const struct copus_row *rows, size_t count, const struct copus_rule *rule,
                                double phi, double left, size_t current)
{
	struct copus_step s = {current, current, NAN, NAN, NAN, NAN, COPUS_UNKNOWN};
	double now;

	if (isnan(phi))
		return s;
	s.best = copus_best(rows, count, rule, phi);
	s.best_goodput = copus_goodput(&rows[s.best], rule, phi);
	s.goodput = s.best_goodput;
	s.gain = 0;
	if (current == SIZE_MAX) {
		s.row = s.best;
		s.reason = COPUS_START;
		return s;
	}
	now = copus_goodput(&rows[current], rule, phi);
	s.gain = s.best_goodput / now - 1;
	s.reason = COPUS_BEST;
	if (!(s.best_goodput > now)) { /* another that is just as good is no reason to change */
		s.best = current;
		return s;
	}
	s.break_even = copus_break_even(rule->reconfiguration, now, s.best_goodput);
	if (s.best_goodput < (1 + rule->threshold) * now)
		s.reason = COPUS_THRESHOLD_NOT_MET;
	else if (s.break_even > left)
		s.reason = COPUS_NOT_PAID;
	else
		s.reason = COPUS_SWITCH;
	if (s.reason == COPUS_SWITCH)
		s.row = s.best;
	else
		s.goodput = now;
	return s;
}

void copus_schedule(const struct copus_row *rows, size_t count, const struct copus_rule *rule,
                    const struct copus_point *points, size_t point_count, size_t current,
                    struct copus_step *out)
{
	double left = 0;

	for (size_t i = 0; i < point_count; i++)
		left += points[i].seconds;
	for (size_t i = 0; i < point_count; i++) {
		/* NaN compares false: then only the threshold counts */
		out[i] = decide(rows, count, rule, points[i].phi, left, current);
		current = out[i].row;
		left -= points[i].seconds;
	}
}

static bool all_have_seconds(const struct copus_point *points, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += points[i].seconds;
	return sum > 0;
}

/* What a point weighs in a mean. */
static double weight_of(const struct copus_point *p, bool timed)
{
	return isnan(p->phi) ? 0 : timed ? p->seconds : 1;
}

double copus_mean(double reconfiguration, const struct copus_point *points, const struct copus_step *steps,
                  size_t count)
{
	bool timed = all_have_seconds(points, count);
	double sum = 0, weights = 0;

	for (size_t i = 0; i < count; i++) {
		double w = weight_of(&points[i], timed), lost = 0;

		if (w <= 0)
			continue;
		if (timed && steps[i].reason == COPUS_SWITCH && reconfiguration > 0)
			lost = fmin(reconfiguration, w);
		sum += (w - lost) * steps[i].goodput;
		weights += w;
	}
	return sum / weights;
}

size_t copus_fixed(const struct copus_row *rows, size_t count, const struct copus_rule *rule,
                   const struct copus_point *points, size_t point_count, double *out_mean)
{
	bool timed = all_have_seconds(points, point_count);
	size_t best = 0;

	*out_mean = -1;
	for (size_t i = 0; i < count; i++) {
		double sum = 0, weights = 0;

		for (size_t k = 0; k < point_count; k++) {
			double w = weight_of(&points[k], timed);

			if (w > 0)
				sum += w * copus_goodput(&rows[i], rule, points[k].phi);
			weights += w;
		}
		if (sum / weights > *out_mean) {
			*out_mean = sum / weights;
			best = i;
		}
	}
	return best;
}
