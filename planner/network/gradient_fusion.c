#include "planner/network/gradient_fusion.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void fusion_plan_clear(struct fusion_plan *p)
{
	if (!p)
		return;
	free(p->segments);
	*p = (struct fusion_plan){0};
}

int fusion_check(const struct fusion_problem *p, struct sb_error *err)
{
	char field[64];

	if (p->count < 1 || p->count > FUSION_GRADIENTS_MAX)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "gradients",
		                     "must have 1 to %d entries", FUSION_GRADIENTS_MAX);
	if (p->max_segment_bytes < 1)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "max_segment_bytes",
		                     "must be at least 1");
	for (size_t i = 0; i < p->count; i++) {
		const struct fusion_gradient *g = &p->gradients[i];
		bool bytes = g->bytes >= 1 && g->bytes <= FUSION_BYTES_MAX;

		if (bytes && g->backward_seconds >= 0 && g->backward_seconds <= FUSION_SECONDS_MAX)
			continue;
		snprintf(field, sizeof(field), "gradients/%zu/%s", i, bytes ? "backward_seconds" : "bytes");
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", field,
		                     bytes ? "must lie between 0 and 1e6" : "must lie between 1 and 2^40");
	}
	return SB_OK;
}

int fusion_evaluate(const struct fusion_problem *p, const struct fusion_plan *plan, struct fusion_time *out,
                    struct fusion_event *out_events)
{
	struct fusion_time t = {0};
	size_t next = 0;

	for (size_t k = 0; k < plan->count; k++) {
		const struct fusion_segment *s = &plan->segments[k];
		int64_t bytes = 0;
		double seconds, start;

		if (s->first != next || s->count < 1 || s->count > p->count - next)
			return SB_EINVAL;
		for (size_t i = 0; i < s->count; i++) {
			bytes += p->gradients[next + i].bytes;
			t.compute_seconds += p->gradients[next + i].backward_seconds;
		}
		if (s->count > 1 && bytes > p->max_segment_bytes)
			return SB_EINVAL;
		next += s->count;
		seconds = curve_seconds(&p->cost, (double)bytes);
		start = fmax(t.compute_seconds, t.end_seconds);
		t.end_seconds = start + seconds;
		t.communication_seconds += seconds;
		t.largest_bytes = bytes > t.largest_bytes ? bytes : t.largest_bytes;
		if (out_events)
			out_events[k] = (struct fusion_event){bytes, t.compute_seconds, start, t.end_seconds};
	}
	if (next != p->count)
		return SB_EINVAL;
	*out = t;
	return SB_OK;
}

/* Room for the most segments there can be. */
static int plan_new(const struct fusion_problem *p, struct fusion_plan *out)
{
	out->segments = malloc(p->count * sizeof(*out->segments));
	out->count = 0;
	return out->segments ? SB_OK : SB_ENOMEM;
}

int fusion_greedy(const struct fusion_problem *p, struct fusion_plan *out)
{
	const struct fusion_gradient *g = p->gradients;
	struct fusion_plan plan;
	double ready = 0, before = 0; /* before: end of the segment before the open one */
	int64_t bytes = 0;

	if (plan_new(p, &plan) != SB_OK)
		return SB_ENOMEM;
	for (size_t i = 0; i < p->count; i++) {
		double now = ready + g[i].backward_seconds, f = curve_seconds(&p->cost, (double)g[i].bytes);
		double open = fmax(ready, before) + curve_seconds(&p->cost, (double)bytes);
		double following = fmax(now, open) + f;
		bool fits = i > 0 && bytes <= p->max_segment_bytes - g[i].bytes;

		if (i + 1 < p->count)
			following = fmax(following, now + g[i + 1].backward_seconds);
		if (fits &&
		    fmax(now, before) + curve_seconds(&p->cost, (double)(bytes + g[i].bytes)) <= following) {
			plan.segments[plan.count - 1].count++;
			bytes += g[i].bytes;
		} else {
			before = i > 0 ? open : 0;
			plan.segments[plan.count++] = (struct fusion_segment){i, 1};
			bytes = g[i].bytes;
		}
		ready = now;
	}
	*out = plan;
	return SB_OK;
}

int fusion_buckets(const struct fusion_problem *p, int64_t bucket_bytes, struct fusion_plan *out)
{
	struct fusion_plan plan;
	int64_t bytes = 0;

	if (plan_new(p, &plan) != SB_OK)
		return SB_ENOMEM;
	for (size_t i = 0; i < p->count; i++) {
		if (plan.count == 0 || bytes >= bucket_bytes) {
			plan.segments[plan.count++] = (struct fusion_segment){i, 0};
			bytes = 0;
		}
		plan.segments[plan.count - 1].count++;
		bytes += p->gradients[i].bytes;
	}
	*out = plan;
	return SB_OK;
}

/* SB_EINVAL for buckets that break max_segment_bytes. */
static int bucket_time(const struct fusion_problem *p, int64_t bucket_bytes, struct fusion_time *out)
{
	struct fusion_plan plan = {0};
	int rc = fusion_buckets(p, bucket_bytes, &plan);

	if (rc == SB_OK)
		rc = fusion_evaluate(p, &plan, out, NULL);
	fusion_plan_clear(&plan);
	return rc;
}

int fusion_best_bucket(const struct fusion_problem *p, int64_t *out_bytes, struct fusion_time *out)
{
	int64_t total = 0, best_bytes = 0;
	struct fusion_time best = {.end_seconds = INFINITY};

	for (size_t i = 0; i < p->count; i++)
		total += p->gradients[i].bytes;
	for (int64_t power = (int64_t)1 << 58; power >= 1024; power /= 2) {
		const int64_t sizes[] = {power / 2 * 3, power};

		for (int k = 0; k < 2; k++) {
			struct fusion_time t = {0};
			int rc;

			/* beyond the first size that holds everything, all are the same */
			if (sizes[k] / 2 >= total && sizes[k] > 1024)
				continue;
			rc = bucket_time(p, sizes[k], &t);
			if (rc == SB_ENOMEM)
				return rc;
			if (rc == SB_OK && t.end_seconds < best.end_seconds) {
				best = t;
				best_bytes = sizes[k];
			}
		}
	}
	if (best_bytes == 0)
		return SB_ENOENT;
	*out_bytes = best_bytes;
	*out = best;
	return SB_OK;
}
