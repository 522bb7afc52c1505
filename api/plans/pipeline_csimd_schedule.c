#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/plans/gantt.h"
#include "api/plans/pipeline_csimd.h"

/* A stored plan as a program of terapipe: its slices, or without slices its micro-batches as those of one
 * sequence. The arrays are its own. */
struct drawing {
	struct csimd_input in;
	int64_t *cuts, *sizes;
	int64_t pieces; /* slices of a sequence, or micro-batches */
	struct schedule_program program;
	double *room, *forward, *backward, *op_start;
	double *times[CSIMD_PASSES]; /* [piece * machines + machine] */
	double *busy_until;          /* of each machine */
};

static void drawing_clear(struct drawing *d)
{
	csimd_input_clear(&d->in);
	schedule_program_free(&d->program);
	free(d->cuts);
	free(d->sizes);
	free(d->room);
	free(d->op_start);
}

static int not_drawn(struct sb_error *err)
{
	return sb_fail(err, SB_ENOENT, "no_schedule", "this plan has more micro-batches than can be drawn");
}

/* {layers: [[per stage]], micro_batch_sizes | slices: [...] or null where there are too many}. */
static int read_solution(const json_t *solution, struct drawing *d, struct sb_error *err)
{
	const json_t *row = json_array_get(json_object_get(solution, "layers"), 0);
	const json_t *sizes = json_object_get(solution, d->in.slices ? "slices" : "micro_batch_sizes");
	int64_t stages = d->in.problem.stages;

	if (json_array_size(row) != (size_t)stages || json_array_size(sizes) < 1)
		return not_drawn(err);
	d->pieces = (int64_t)json_array_size(sizes);
	d->cuts = calloc((size_t)stages + 1, sizeof(*d->cuts));
	d->sizes = calloc((size_t)d->pieces, sizeof(*d->sizes));
	if (!d->cuts || !d->sizes)
		return sb_no_memory(err);
	for (int64_t s = 0; s < stages; s++)
		d->cuts[s + 1] = d->cuts[s] + json_integer_value(json_array_get(row, (size_t)s));
	for (int64_t j = 0; j < d->pieces; j++)
		d->sizes[j] = json_integer_value(json_array_get(sizes, (size_t)j));
	/* what follows walks the layers by these */
	for (int64_t s = 0; s < stages; s++)
		if (d->cuts[s + 1] <= d->cuts[s])
			return not_drawn(err);
	return d->cuts[stages] == d->in.problem.layers ? SB_OK : not_drawn(err);
}

static int build(struct drawing *d, struct sb_error *err)
{
	struct schedule_shape shape = {.kind = SCHEDULE_TERAPIPE,
	                               .devices = d->in.problem.stages,
	                               .micro_batches = d->in.slices ? d->in.problem.sequences : 1,
	                               .chunks = 1,
	                               .slices = d->pieces};
	size_t parts = (size_t)(shape.devices * d->pieces), machines = (size_t)(2 * shape.devices - 1);
	size_t steps = machines * (size_t)d->pieces;
	int rc = schedule_program_build(&shape, &d->program, NULL);

	if (rc != SB_OK)
		return rc == SB_ENOMEM ? sb_no_memory(err) : not_drawn(err);
	d->room = calloc(2 * parts + CSIMD_PASSES * steps + machines, sizeof(*d->room));
	d->op_start = calloc(d->program.first[shape.devices], sizeof(*d->op_start));
	if (!d->room || !d->op_start)
		return sb_no_memory(err);
	d->forward = d->room;
	d->backward = d->room + parts;
	d->times[CSIMD_FORWARD] = d->room + 2 * parts;
	d->times[CSIMD_BACKWARD] = d->times[CSIMD_FORWARD] + steps;
	d->busy_until = d->times[CSIMD_BACKWARD] + steps;
	return SB_OK;
}

static void fill_times(struct drawing *d)
{
	int64_t machines = 2 * d->in.problem.stages - 1;
	struct csimd_piece piece = {0, 0};

	for (int64_t j = 0; j < d->pieces; j++) {
		piece.samples = d->sizes[j];
		for (int pass = 0; pass < CSIMD_PASSES; pass++) {
			double *at = d->times[pass] + j * machines;

			csimd_machines(&d->in.problem, d->cuts, &piece, (enum csimd_pass)pass, at);
			for (int64_t s = 0; s < d->in.problem.stages; s++)
				(pass == CSIMD_FORWARD ? d->forward : d->backward)[s * d->pieces + j] =
				    at[2 * s];
		}
		piece.context += d->in.slices ? piece.samples : 0;
	}
}

/* Stages and links in a line, each with one piece at a time, in the order of the program, which is the same
 * on all stages: the recurrence of csimd.h. Backward goes the line back, once forward has ended. */
static void fill_starts(struct drawing *d)
{
	const struct schedule_program *p = &d->program;
	int64_t machines = 2 * d->in.problem.stages - 1;
	size_t all = p->first[1], half = all / 2;
	double ended = 0;

	for (size_t k = 0; k < all; k++) {
		bool back = k >= half;
		const double *times =
		    d->times[back ? CSIMD_BACKWARD : CSIMD_FORWARD] + p->ops[k].slice * machines;
		double there = back ? ended : 0;

		for (int64_t i = 0; i < machines; i++) {
			int64_t m = back ? machines - 1 - i : i;
			double start = fmax(there, d->busy_until[m]);

			if (m % 2 == 0)
				d->op_start[p->first[m / 2] + k] = start;
			there = d->busy_until[m] = start + times[m];
		}
		if (k + 1 == half)
			ended = there;
	}
}

int csimd_draw(const json_t *plan, const struct plan_view *view, struct sb_buf *out, struct sb_error *err)
{
	__attribute__((cleanup(drawing_clear))) struct drawing d = {0};
	struct schedule_times times;
	struct gantt g;
	int rc = csimd_from_json(json_object_get(plan, "problem"), &d.in, err);

	if (rc == SB_OK)
		rc = read_solution(json_object_get(plan, "solution"), &d, err);
	if (rc == SB_OK)
		rc = build(&d, err);
	if (rc != SB_OK)
		return rc;
	fill_times(&d);
	fill_starts(&d);
	times = (struct schedule_times){.forward = d.forward, .backward = d.backward};
	g = (struct gantt){
	    .program = &d.program, .times = &times, .op_start = d.op_start, .unequal = !d.in.slices};
	return gantt_write(&g, view, out, err);
}
