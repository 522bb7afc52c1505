#include "profiler/input_pipeline.h"

#include <math.h>
#include <stdlib.h>

#include "base/num.h"

/* Sums stay exact until the division: queues are looked at a million times. */
struct mean {
	int64_t sum, count;
};

static void add(struct mean *m, int64_t v)
{
	if (v == SB_NULL)
		return;
	m->sum = sb_add_sat(m->sum, v);
	m->count++;
}

static double mean_of(const struct mean *m, double unit)
{
	return m->count > 0 ? (double)m->sum / unit / (double)m->count : NAN;
}

static void sum_up(struct queue_summary *s)
{
	const struct queue *q = s->queue;
	struct mean size = {0}, get = {0}, push = {0}, total = {0};
	int64_t empty = 0, full = 0;

	for (size_t i = 0; i < q->sample_count; i++) {
		const struct queue_sample *x = &q->samples[i];

		add(&size, x->size);
		add(&get, x->get_ns);
		add(&push, x->push_ns);
		add(&total, x->total_ns);
		empty += x->size == 0;
		full += q->capacity != SB_NULL && x->size >= q->capacity;
	}
	s->samples = size.count;
	s->empty = size.count > 0 ? empty : SB_NULL;
	s->full = size.count > 0 && q->capacity != SB_NULL ? full : SB_NULL;
	s->mean_size = mean_of(&size, 1);
	s->get_us = mean_of(&get, 1000);
	s->push_us = mean_of(&push, 1000);
	s->total_us = mean_of(&total, 1000);
}

static int by_place(const void *a, const void *b)
{
	const struct queue_summary *x = a, *y = b;
	int64_t left[] = {(int64_t)x->queue->kind, x->queue->operator_id};
	int64_t right[] = {(int64_t)y->queue->kind, y->queue->operator_id};
	int order;

	/* captures lie in one array, and so do the queues of a capture */
	if (x->capture != y->capture)
		return x->capture < y->capture ? -1 : 1;
	order = sb_compare(left, right, 2);
	return order != 0 ? order : (x->queue > y->queue) - (x->queue < y->queue);
}

int input_pipeline_compute(const struct profile *p, struct input_pipeline *out, struct sb_error *err)
{
	struct input_pipeline made = {0};
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++)
		count += p->captures[i].queue_count;
	made.queues = calloc(count + 1, sizeof(*made.queues));
	if (!made.queues)
		return sb_no_memory(err);
	for (size_t i = 0; i < p->count; i++) {
		for (size_t k = 0; k < p->captures[i].queue_count; k++) {
			struct queue_summary *s = &made.queues[made.count++];

			s->capture = &p->captures[i];
			s->queue = &p->captures[i].queues[k];
			sum_up(s);
		}
	}
	if (count > 0)
		qsort(made.queues, count, sizeof(*made.queues), by_place);
	*out = made;
	return SB_OK;
}

void input_pipeline_free(struct input_pipeline *i)
{
	free(i->queues);
	*i = (struct input_pipeline){0};
}

const char *queue_kind_name(enum queue_kind k)
{
	static const char *const names[] = {"operator", "host", "device"};

	return (unsigned)k < sizeof(names) / sizeof(names[0]) ? names[k] : "unknown";
}
