#include <math.h>
#include <string.h>

#include "api/plans/batch_copus.h"
#include "api/plans/kinds.h"
#include "api/plans/strategy_json.h"

#define ALTERNATIVES 5

/* A row as a solution: its batch, its plan, and the factor on the learning rate of the reference batch. */
static json_t *row_to_json(const struct copus *c, size_t row)
{
	double batch = c->table.rows[row].batch;
	json_t *o = json_pack("{s:o,s:I}", "batch", json_whole_or_real(batch), "row", (json_int_t)row);

	json_object_update(o, json_array_get(c->table.plans, row));
	json_object_set_new(o, "learning_rate_factor",
	                    c->rule.square_root ? json_real(sqrt(batch / c->rule.reference_batch))
	                                        : json_null());
	return o;
}

/* A row where it is named in passing. */
static json_t *row_brief(const struct copus *c, size_t row)
{
	json_t *o = json_pack("{s:o,s:I}", "batch", json_whole_or_real(c->table.rows[row].batch), "row",
	                      (json_int_t)row);
	json_t *plan = json_object_get(json_array_get(c->table.plans, row), "plan");

	if (plan)
		json_object_set(o, "plan", plan);
	return o;
}

/* Where the schedule knows nothing yet, no row runs. */
static bool runs(const struct copus_step *s)
{
	return s->row != SIZE_MAX;
}

static json_t *schedule_to_json(const struct copus *c)
{
	json_t *list = json_array(), *o = NULL;

	for (size_t i = 0; i < c->noise.count; i++) {
		if (!runs(&c->steps[i]))
			continue;
		if (!o || c->steps[i].row != c->steps[i - 1].row) {
			o = row_brief(c, c->steps[i].row);
			json_object_set_new(o, "first_point", json_integer((json_int_t)i));
			json_array_append_new(list, o);
		}
		json_object_set_new(o, "last_point", json_integer((json_int_t)i));
	}
	return list;
}

static json_t *intervals_to_json(const struct copus *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->interval_count; i++) {
		json_t *o = row_to_json(c, c->intervals[i].row);

		json_object_set_new(o, "noise_from", json_real(c->intervals[i].from));
		json_object_set_new(o, "noise_to", json_real_or_null(c->intervals[i].to));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *points_to_json(const struct copus *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->noise.count; i++) {
		const struct copus_step *s = &c->steps[i];
		json_t *o = runs(s) ? row_brief(c, s->row) : json_object();

		json_object_set_new(o, "noise_scale", json_real_or_null(c->noise.phi[i]));
		json_object_set_new(o, "goodput", json_real_or_null(s->goodput));
		json_object_set_new(o, "best", runs(s) ? row_brief(c, s->best) : json_null());
		json_object_set_new(o, "best_goodput", json_real_or_null(s->best_goodput));
		json_object_set_new(o, "gain", json_real_or_null(s->gain));
		json_object_set_new(o, "break_even_seconds", json_real_or_null(s->break_even));
		json_object_set_new(o, "reason", json_string(copus_reason_word(s->reason)));
		json_array_append_new(list, o);
	}
	return list;
}

/* The whole table at one noise scale. */
static json_t *table_to_json(const struct copus *c, double phi)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->table.count; i++) {
		const struct copus_row *r = &c->table.rows[i];
		json_t *o = row_brief(c, i);

		json_object_set_new(o, "throughput", json_real(r->throughput));
		json_object_set_new(
		    o, "statistical_efficiency",
		    json_real_or_null(copus_efficiency(phi, c->rule.reference_batch, r->batch)));
		json_object_set_new(o, "goodput", json_real_or_null(copus_goodput(r, &c->rule, phi)));
		json_array_append_new(list, o);
	}
	return list;
}

/* The mean over the known points, and what the best row would have had that stays the same all along. */
static void add_means(const struct copus *c, json_t *predicted)
{
	double mean = copus_mean(c->rule.reconfiguration, c->points, c->steps, c->noise.count), fixed;
	size_t row = copus_fixed(c->table.rows, c->table.count, &c->rule, c->points, c->noise.count, &fixed);
	json_t *o = row_brief(c, row);
	int switches = 0;

	for (size_t i = 0; i < c->noise.count; i++)
		switches += c->steps[i].reason == COPUS_SWITCH;
	json_object_set_new(o, "mean_goodput", json_real_or_null(fixed));
	json_object_set_new(predicted, "switches", json_integer(switches));
	json_object_set_new(predicted, "mean_goodput", json_real_or_null(mean));
	json_object_set_new(predicted, "fixed", o);
	json_object_set_new(predicted, "gain_over_fixed", json_real_or_null(mean / fixed - 1));
}

static json_t *predicted_of(const struct copus *c, size_t first)
{
	const struct copus_step *s = &c->steps[first];
	json_t *o = json_pack("{s:f,s:f,s:f,s:o,s:o}", "noise_scale", c->noise.phi[first], "goodput",
	                      s->goodput, "throughput", c->table.rows[s->row].throughput, "table",
	                      table_to_json(c, c->noise.phi[first]), "points", points_to_json(c));

	add_means(c, o);
	return o;
}

static const char *why_not(const struct copus *c, const struct copus_step *s, size_t row)
{
	const struct copus_row *mine = &c->table.rows[s->row], *r = &c->table.rows[row];

	if (row == s->best)
		return s->reason == COPUS_NOT_PAID ? "better, but the change would not be paid back"
		                                   : "better by less than switch_threshold";
	if (r->batch > mine->batch)
		return "so large a batch learns less of each sample than its throughput gains";
	return r->throughput < mine->throughput ? "less throughput" : "fewer, though better, steps";
}

/* The best few other rows at the first known point. */
static json_t *alternatives_of(const struct copus *c, size_t first)
{
	const struct copus_step *s = &c->steps[first];
	double phi = c->noise.phi[first];
	size_t best[ALTERNATIVES], n = 0;
	json_t *list = json_array();

	for (size_t i = 0; i < c->table.count; i++) {
		double g = copus_goodput(&c->table.rows[i], &c->rule, phi);
		size_t k = n;

		while (k > 0 && copus_goodput(&c->table.rows[best[k - 1]], &c->rule, phi) < g)
			k--;
		if (i == s->row || k >= ALTERNATIVES)
			continue;
		n += n < ALTERNATIVES;
		memmove(&best[k + 1], &best[k], (n - 1 - k) * sizeof(*best));
		best[k] = i;
	}
	for (size_t i = 0; i < n; i++) {
		double g = copus_goodput(&c->table.rows[best[i]], &c->rule, phi);

		json_array_append_new(list, json_pack("{s:o,s:{s:f,s:f},s:f,s:s}", "solution",
		                                      row_to_json(c, best[i]), "predicted", "goodput", g,
		                                      "throughput", c->table.rows[best[i]].throughput,
		                                      "loses_by", fmax(s->goodput / g - 1, 0), "reason",
		                                      why_not(c, s, best[i])));
	}
	return list;
}

static json_t *quality_of(const struct copus *c, size_t first, double seconds)
{
	bool best = !c->table.searched || c->table.all_proved;
	json_t *o;

	for (size_t i = 0; i < c->noise.count; i++)
		best &= c->steps[i].row == c->steps[i].best;
	o = quality_to_json(best, NAN, 1, c->table.candidates, seconds,
	                    c->table.searched ? c->table.request.problem.constants.model_error : NAN);
	json_object_set_new(o, "gap", json_null());
	json_object_set_new(o, "objective", json_string("goodput"));
	json_object_set_new(o, "value", json_real_or_null(c->steps[first].goodput));
	return o;
}

static json_t *warnings_of(const struct copus *c)
{
	json_t *list = json_array();

	noise_warn(list, &c->noise);
	if (c->table.searched)
		warn_half_host(&c->table.request, list);
	if (isnan(c->rule.reconfiguration))
		json_warn(list, "reconfiguration_unknown",
		          "what a change costs is not known: give reconfiguration_seconds for the times to "
		          "break even");
	for (size_t i = 0; i < json_array_size(c->table.rejected); i++)
		json_warn(list, "batches_left_out", "some of the batches could not be planned: see rejected");
	return list;
}

json_t *copus_answer(const struct copus *c, size_t first, double search_seconds)
{
	json_t *solution = row_to_json(c, c->steps[first].row);

	json_object_set_new(solution, "schedule", schedule_to_json(c));
	json_object_set_new(solution, "intervals", intervals_to_json(c));
	return json_pack("{s:o,s:o,s:o,s:o,s:[],s:O,s:o}", "solution", solution, "predicted",
	                 predicted_of(c, first), "quality", quality_of(c, first, search_seconds),
	                 "alternatives", alternatives_of(c, first), "frontier", "rejected", c->table.rejected,
	                 "warnings", warnings_of(c));
}
