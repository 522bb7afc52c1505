#include "tests/generate/kineto_rows.h"
#include "tests/generate/out.h"
#include "tests/generate/truth.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct truth_row measure(const struct kineto_rank *r, int64_t step)
{
	SPANS_AUTO work = {0};
	SPANS_AUTO link = {0};
	SPANS_AUTO copies = {0};

	for (int i = 0; step < 0 && i < KINETO_EARLY; i++)
		spans_add(&work, r->early + 2 * (int64_t)i * KINETO_EARLY_NS,
		          r->early + (2 * (int64_t)i + 1) * KINETO_EARLY_NS);
	for (int64_t i = 0; i < r->count; i++) {
		const struct unit *u = &r->units[i];
		struct spans *s = u->kind == UNIT_COMPUTE ? &work : kineto_is_link(u) ? &link : &copies;

		if (!u->hidden && (step < 0 || u->step == step))
			spans_add(s, u->device, u->device + u->device_dur);
	}
	return truth_measure(&work, &link, &copies);
}

/* Which work waits for which: correlations as the Kineto dialect writes them. */
static void waits(struct out *out, const struct kineto_rank *r)
{
	bool any = false;

	out_text(out, ",\n \"waits\": [");
	for (int64_t i = 0; i < r->count; i++) {
		if (!r->units[i].behind)
			continue;
		out_fmt(out, "%s[%" PRId64 ", %" PRId64 "]", any ? ", " : "",
		        kineto_correlation(&r->units[i], i),
		        kineto_correlation(&r->units[r->units[i].behind - 1], r->units[i].behind - 1));
		any = true;
	}
	out_text(out, "]");
}

static void operators(struct out *out, const struct kineto_rank *r)
{
	TRUTH_TALLY_AUTO tally = {0};

	for (int i = 0; i < KINETO_EARLY; i++)
		truth_tally_add(&tally, kineto_optimizer[0].kernel, KINETO_EARLY_NS);
	for (int64_t i = 0; i < r->count; i++)
		if (!r->units[i].hidden)
			truth_tally_add(&tally, kineto_work(&r->units[i])->kernel, r->units[i].device_dur);
	truth_write_tally(out, &tally);
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The median time of all layers of a phase on the device, over ranks and steps. */
static int64_t median_layer(const struct kineto_options *o, const struct kineto_rank *ranks,
                            enum unit_phase phase, int64_t works)
{
	int64_t *sums = out_alloc(NULL, o->layers * o->steps * o->ranks + 1, sizeof(*sums)), n = 0, median;

	for (int64_t i = 0; i < o->ranks; i++) {
		int64_t seen = 0;

		for (int64_t k = 0; k < ranks[i].count; k++) {
			const struct unit *u = &ranks[i].units[k];

			if (u->kind != UNIT_COMPUTE || u->phase != phase)
				continue;
			if (seen++ % works == 0)
				sums[n++] = 0;
			sums[n - 1] += u->device_dur;
		}
	}
	qsort(sums, (size_t)n, sizeof(*sums), by_size);
	median = (sums[n / 2] + sums[(n - 1) / 2]) / 2;
	free(sums);
	return median;
}

static void layers(const struct kineto_options *o, const struct kineto_rank *ranks, struct out *out)
{
	out_fmt(out,
	        "\"layers\": {\"count\": %" PRId64 ", \"forward_ns\": %" PRId64 ", \"backward_ns\": %" PRId64
	        "}, ",
	        o->layers, median_layer(o, ranks, PHASE_FORWARD, kineto_forward_count),
	        median_layer(o, ranks, PHASE_BACKWARD, kineto_backward_count));
}

static int64_t mean_step(const struct kineto_options *o, const struct kineto_rank *ranks)
{
	int64_t sum = 0;

	for (int64_t i = 0; i < o->ranks; i++)
		for (int64_t step = 0; step < o->steps; step++)
			sum += ranks[i].steps[step].end - ranks[i].steps[step].start;
	return sum / (o->ranks * o->steps);
}

static void truth(const struct kineto_options *o, const struct kineto_rank *ranks, const char *const *files,
                  const int64_t *bytes)
{
	OUT_AUTO out = out_open(o->truth, false);

	out_fmt(out, "{\"format\": \"%s\", \"mean_step_ns\": %" PRId64 ", \"faults\": ", o->format,
	        mean_step(o, ranks));
	faults_write(out, &o->faults);
	out_text(out, ", ");
	if (o->layers > 0)
		layers(o, ranks, out);
	out_text(out, "\"ranks\": [");
	for (int64_t i = 0; i < o->ranks; i++) {
		const struct kineto_rank *r = &ranks[i];
		struct truth_row whole = measure(r, -1);

		out_fmt(out,
		        "%s\n{\"rank\": %s%" PRId64 ", \"device\": %" PRId64 ", \"file\": ", i ? "," : "",
		        o->old && o->ranks == 1 ? "null, \"index\": " : "", i, (i % 8));
		out_json(out, files[i] ? files[i] : "");
		out_fmt(out, ", \"bytes\": %" PRId64 ", \"events\": %" PRId64 ",\n \"whole\": ", bytes[i],
		        o->events); /* 0: as many as the units take */
		truth_write_row(out, &whole);
		out_text(out, ",\n \"steps\": [");
		for (int64_t step = 0; step < o->steps; step++) {
			struct truth_row row = measure(r, step);

			row.step_ns = r->steps[step].end - r->steps[step].start;
			out_fmt(out, "%s\n  {\"step\": %" PRId64 ", \"breakdown\": ", step ? "," : "",
			        KINETO_FIRST_STEP + step);
			truth_write_row(out, &row);
			out_text(out, "}");
		}
		out_text(out, "],\n \"operators\": ");
		operators(out, r);
		if (o->prefetch)
			waits(out, r);
		out_text(out, "}");
	}
	out_text(out, "\n]}\n");
}

int kineto_main(const struct kineto_options *o)
{
	struct kineto_rank *ranks = out_alloc(NULL, o->ranks, sizeof(*ranks));
	char **files = out_alloc(NULL, o->ranks, sizeof(*files));
	int64_t *bytes = out_alloc(NULL, o->ranks, sizeof(*bytes));

	kineto_play(o, ranks);
	if (o->path && o->ranks > 1)
		out_mkdir(o->path);
	for (int64_t i = 0; o->path && i < o->ranks; i++) {
		int n = o->ranks == 1 ? asprintf(&files[i], "%s", o->path)
		                      : asprintf(&files[i], "%s/worker_rank%" PRId64 ".1738454400123.%s%s",
		                                 o->path, i, o->suffix, o->gzip ? ".gz" : "");

		if (n < 0)
			out_die("out of memory");
		bytes[i] = o->write(o, &ranks[i], files[i]);
	}
	if (o->truth)
		truth(o, ranks, (const char *const *)files, bytes);
	for (int64_t i = 0; i < o->ranks; i++) {
		free(ranks[i].units);
		free(ranks[i].steps);
		free(ranks[i].calls);
		free(files[i]);
	}
	free(ranks);
	free(files);
	free(bytes);
	return 0;
}
