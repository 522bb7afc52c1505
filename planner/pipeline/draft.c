#include "planner/pipeline/draft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void drafts_free(struct drafts **at)
{
	struct drafts *s = *at;

	if (!s)
		return;
	devices_free(s->devices, s->device_count);
	schedule_replay_free(&s->replay);
	schedule_program_free(&s->program);
	cells_free(&s->cells);
	free(s->device);
	free(s->chunk);
	free(s->weight);
	free(s->saved);
	free(s->forward);
	free(s->backward);
	free(s->weights);
	free(s->overlapped);
	free(s->send);
	free(s->visits);
	free(s);
	*at = NULL;
}

/* Sums over the layers before each. */
static void add_layers(struct drafts *s)
{
	int64_t at = 0;

	for (int64_t i = 0; i < s->p->body_count; i++) {
		const struct pipeline_body *b = &s->p->bodies[i];
		double fastest = INFINITY, weight = b->weight, saved;

		for (int r = 0; r < PIPELINE_RECOMPUTES; r++)
			if (!isnan(b->activation[r]))
				fastest = fmin(fastest, b->backward[r]);
		if (isnan(weight) && isnan(b->backward[KEEP_ALL]))
			s->guessed = true;
		if (isnan(weight))
			weight = (isnan(b->backward[KEEP_ALL]) ? fastest : b->backward[KEEP_ALL]) / 2;
		if (weight > fastest)
			s->guessed = true;
		saved = b->forward + b->backward[KEEP_ALL] - b->overlapped;
		s->pairs = s->pairs || !isnan(b->overlapped);
		for (int64_t n = 0; n < b->count; n++, at++) {
			s->weight[at + 1] = s->weight[at] + weight;
			s->saved[at + 1] = s->saved[at] + (isnan(saved) ? 0 : saved);
		}
	}
	s->guessed = s->guessed && s->splits;
}

static int open_devices(struct drafts *s, struct sb_error *err)
{
	int rc = devices_open(s->p, &s->devices, err);

	for (int64_t d = 0; d < s->device_count && rc == SB_OK; d++) {
		for (int64_t k = 0; k < s->devices[d].chunks; k++) {
			s->device[s->devices[d].stage[k]] = (int32_t)d;
			s->chunk[s->devices[d].stage[k]] = (int32_t)k;
		}
	}
	return rc;
}

static bool make_room(struct drafts *s)
{
	size_t stages = (size_t)s->stages, parts = stages * (size_t)s->p->shape.slices;
	size_t layers = (size_t)s->layers + 1;

	s->device = calloc(stages, sizeof(*s->device));
	s->chunk = calloc(stages, sizeof(*s->chunk));
	s->weight = calloc(layers, sizeof(*s->weight));
	s->saved = calloc(layers, sizeof(*s->saved));
	s->forward = malloc(parts * sizeof(*s->forward));
	s->backward = malloc(parts * sizeof(*s->backward));
	s->weights = malloc(parts * sizeof(*s->weights));
	s->overlapped = malloc(stages * sizeof(*s->overlapped));
	s->send = malloc(stages * sizeof(*s->send));
	s->visits = malloc(stages * sizeof(*s->visits));
	return s->device && s->chunk && s->weight && s->saved && s->forward && s->backward && s->weights &&
	       s->overlapped && s->send && s->visits;
}

int drafts_open(const struct pipeline_problem *p, struct drafts **out, struct sb_error *err)
{
	DRAFTS_AUTO s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return sb_no_memory(err);
	s->p = p;
	rc = schedule_program_build(&p->shape, &s->program, err);
	if (rc != SB_OK)
		return rc;
	s->layers = pipeline_layers(p);
	s->stages = schedule_stages(&p->shape);
	s->device_count = device_count(p);
	s->splits = schedule_facts(p->shape.kind)->splits;
	if (!make_room(s))
		return sb_no_memory(err);
	add_layers(s);
	s->pairs = s->pairs && schedule_facts(p->shape.kind)->pairs;
	s->lightest = device_lightest(p);
	rc = open_devices(s, err);
	if (rc != SB_OK)
		return rc;
	if (cells_open(p, &s->cells) != SB_OK)
		return sb_no_memory(err);
	rc = schedule_replay_open(&s->program, &s->replay, err);
	if (rc != SB_OK)
		return rc;
	*out = s;
	s = NULL;
	return SB_OK;
}

int draft_set(struct drafts *s, int64_t stage, int64_t first, int64_t count, int64_t way,
              struct draft_stage *out)
{
	const struct device *d = &s->devices[s->device[stage]];
	int64_t k = s->chunk[stage];
	struct cell_ways ways;
	int rc = cells_ways(s->cells, first, count, &ways);
	double end = d->end_backward[k], weight = s->weight[first + count] - s->weight[first] + end / 2;

	if (rc != SB_OK)
		return rc;
	*out = (struct draft_stage){.first = (int32_t)first,
	                            .count = (int32_t)count,
	                            .way = (int32_t)way,
	                            .forward = d->end_forward[k] + cells_forward(s->cells, first, count),
	                            .backward = end + ways.backward[way],
	                            .saved = (s->saved[first + count] - s->saved[first]) / 2,
	                            .send = stage + 1 < s->stages ? pipeline_hop(s->p, stage, first + count,
	                                                                         s->layers - first - count)
	                                                          : 0};
	out->weight = s->splits ? fmin(weight, out->backward) : 0;
	return SB_OK;
}

int draft_of_plan(struct drafts *s, const struct pipeline_stage *plan, struct draft_stage *out)
{
	int64_t first = 0;
	int rc = SB_OK;

	for (int64_t i = 0; i < s->stages && rc == SB_OK; i++) {
		int64_t count = pipeline_stage_layers(s->p, plan, i), way;
		double keeps = pipeline_load(s->p, plan, i).activation;
		struct cell_ways ways;

		rc = cells_ways(s->cells, first, count, &ways);
		if (rc != SB_OK)
			break;
		way = cells_way_within(&ways, keeps * (1 + PIPELINE_ROUNDING / 2));
		rc = draft_set(s, i, first, count, way < 0 ? (int64_t)ways.count - 1 : way, &out[i]);
		first += count;
	}
	return rc;
}

int draft_to_plan(struct drafts *s, const struct draft_stage *draft, struct pipeline_stage *out)
{
	int rc = SB_OK;

	for (int64_t i = 0; i < s->stages && rc == SB_OK; i++)
		rc = cells_stage(s->cells, draft[i].first, draft[i].count, (size_t)draft[i].way,
		                 &out[i * s->p->body_count]);
	return rc;
}

/* As the scorer does. */
static void fill_times(struct drafts *s, const struct draft_stage *draft)
{
	int64_t slices = s->p->shape.slices, last = s->stages - 1;

	for (int64_t i = 0; i < s->stages; i++) {
		const struct draft_stage *x = &draft[i], *y = &draft[last - i];

		for (int64_t k = i * slices; k < (i + 1) * slices; k++) {
			s->forward[k] = x->forward / (double)slices;
			s->backward[k] = (x->backward - x->weight) / (double)slices;
			s->weights[k] = x->weight / (double)slices;
		}
		/* the other stage of its device */
		s->overlapped[i] = x->forward + y->backward - x->saved - y->saved;
		s->send[i] = x->send;
	}
	s->times = (struct schedule_times){.forward = s->forward,
	                                   .backward = s->backward,
	                                   .weight = s->splits ? s->weights : NULL,
	                                   .overlapped = s->pairs ? s->overlapped : NULL,
	                                   .send = s->send,
	                                   .blocking = s->p->blocking};
}

double draft_time(struct drafts *s, const struct draft_stage *draft, double bound)
{
	fill_times(s, draft);
	s->weighed++;
	s->work += (double)s->program.first[s->p->shape.devices];
	return schedule_replay(s->replay, &s->times, bound);
}

void draft_path(struct drafts *s, struct price *out)
{
	double slices = (double)s->p->shape.slices;

	schedule_replay_path(s->replay, s->visits);
	for (int64_t i = 0; i < s->stages; i++) {
		const struct schedule_visits *v = &s->visits[i];

		out[i] = (struct price){.forward = v->forward / slices,
		                        .backward = v->backward / slices,
		                        .weight = v->weight / slices,
		                        .saved = s->pairs ? v->pair + s->visits[s->stages - 1 - i].pair : 0,
		                        .send = v->send};
	}
}

double draft_price(struct drafts *s, const struct price *path, const struct draft_stage *draft)
{
	double sum = 0;

	s->work += (double)s->stages;
	for (int64_t i = 0; i < s->stages; i++) {
		const struct draft_stage *x = &draft[i];
		const struct price *w = &path[i];

		sum += w->forward * x->forward + w->backward * (x->backward - x->weight) +
		       w->weight * x->weight - w->saved * x->saved + w->send * x->send;
	}
	return sum;
}
