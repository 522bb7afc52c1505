#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "planner/pipeline/methods.h"
#include "planner/pipeline/straight.h"

/* Simulated in about half a second. */
#define OPERATIONS_IN_ALL (1 << 23)
#define CUTS_MAX 8192
#define TABLE_SIZE (2 * CUTS_MAX) /* a power of two */

/* AutoPipe's search (systems.md 3.3): from the balanced cut on, each cut is simulated, and layers move away
 * from the stage that is never idle, or between those behind it. */
struct improvement {
	const struct sb_watch *watch;
	struct straight *s;
	struct pipeline_scorer *scorer;
	int64_t stages;
	int32_t *layers; /* of each stage of each cut: the queue, and all that was ever in it */
	int32_t *moved;  /* room for one cut */
	double *before;  /* the time of the cut that each one came from */
	size_t count, most;
	int32_t *table; /* cuts by their hash; -1 = free */
	uint64_t seed;
	double *op_start;
	struct straight_stage *at; /* of the cut that is looked at */
	struct pipeline_stage *plan;
	size_t plan_bytes;
	double best;
};

static void improvement_free(struct improvement *x)
{
	free(x->layers);
	free(x->moved);
	free(x->before);
	free(x->table);
	free(x->op_start);
	free(x->at);
	free(x->plan);
}

static int improvement_open(struct improvement *x)
{
	const struct pipeline_problem *p = straight_problem(x->s);
	double operations = schedule_operations(&p->shape);
	size_t stages = (size_t)p->shape.devices;

	x->stages = p->shape.devices;
	x->most = (size_t)fmin(CUTS_MAX, fmax(1, OPERATIONS_IN_ALL / operations));
	x->plan_bytes = stages * (size_t)p->body_count * sizeof(*x->plan);
	x->layers = malloc(x->most * stages * sizeof(*x->layers));
	x->moved = malloc(stages * sizeof(*x->moved));
	x->before = malloc(x->most * sizeof(*x->before));
	x->table = malloc(TABLE_SIZE * sizeof(*x->table));
	x->op_start = malloc((size_t)operations * sizeof(*x->op_start));
	x->at = malloc(stages * sizeof(*x->at));
	x->plan = malloc(x->plan_bytes);
	if (!x->layers || !x->moved || !x->before || !x->table || !x->op_start || !x->at || !x->plan)
		return SB_ENOMEM;
	memset(x->table, -1, TABLE_SIZE * sizeof(*x->table));
	return SB_OK;
}

static int32_t *cut_of(const struct improvement *x, size_t i)
{
	return &x->layers[i * (size_t)x->stages];
}

/* Queues the cut in `moved`, unless it was queued before or there is no room. */
static void queue(struct improvement *x, double before)
{
	size_t bytes = (size_t)x->stages * sizeof(*x->moved);
	size_t i = (size_t)sb_hash_bytes((const char *)x->moved, bytes, x->seed) & (TABLE_SIZE - 1);

	while (x->table[i] >= 0) {
		if (memcmp(cut_of(x, (size_t)x->table[i]), x->moved, bytes) == 0)
			return;
		i = (i + 1) & (TABLE_SIZE - 1);
	}
	if (x->count == x->most)
		return;
	x->table[i] = (int32_t)x->count;
	memcpy(cut_of(x, x->count), x->moved, bytes);
	x->before[x->count++] = before;
}

/* One layer less in a stage and one more in another; those between hand one on. */
static void queue_move(struct improvement *x, size_t cut, int64_t from, int64_t to, double before)
{
	int32_t least = straight_problem(x->s)->allow_empty ? 0 : 1;

	memcpy(x->moved, cut_of(x, cut), (size_t)x->stages * sizeof(*x->moved));
	if (x->moved[from] <= least)
		return;
	x->moved[from]--;
	x->moved[to]++;
	queue(x, before);
}

/* Does it run one operation behind the other, from its first backward to its last forward? */
static bool never_idles(const struct improvement *x, int64_t device, double makespan)
{
	const struct schedule_program *program = pipeline_program(x->scorer);
	const struct schedule_times *times = pipeline_times(x->scorer);
	size_t from = program->first[device], to = program->first[device + 1] - 1;

	while (program->ops[from].kind == OP_FORWARD && from < to)
		from++;
	while (program->ops[to].kind != OP_FORWARD && to > from)
		to--;
	for (size_t i = from; i < to; i++) {
		double end = x->op_start[i] + schedule_op_seconds(program, times, i);

		if (x->op_start[i + 1] - end > PIPELINE_ROUNDING * makespan)
			return false;
	}
	return from < to;
}

/* The last stage that is never idle in the steady phase; where all are, the slowest one. */
static int64_t critical_stage(const struct improvement *x, double makespan)
{
	int64_t slowest = 0;

	for (int64_t i = x->stages - 1; i >= 0; i--)
		if (never_idles(x, i, makespan))
			return i;
	for (int64_t i = 1; i < x->stages; i++)
		if (x->at[i].forward + x->at[i].backward >= x->at[slowest].forward + x->at[slowest].backward)
			slowest = i;
	return slowest;
}

static int fit_cut(struct improvement *x, size_t cut, bool *fits)
{
	int64_t first = 0;
	int rc = SB_OK;

	*fits = true;
	for (int64_t i = 0; i < x->stages && *fits && rc == SB_OK; i++) {
		rc = straight_stage(x->s, i, first, cut_of(x, cut)[i], &x->at[i], fits);
		first += cut_of(x, cut)[i];
	}
	return rc == SB_OK && *fits ? straight_write(x->s, x->at, x->plan) : rc;
}

/* Simulates a cut, and queues those that it leads to: a layer leaves the critical stage for any other one, or
 * goes over a border between the stages behind it. Nothing comes of a cut that is slower than the one before.
 */
static int look_at(struct improvement *x, size_t cut, struct pipeline_stage *out, struct sb_error *err)
{
	struct schedule_result r = {.op_start = x->op_start};
	double makespan;
	bool fits;
	int64_t critical;
	int rc = fit_cut(x, cut, &fits);

	if (rc != SB_OK || !fits)
		return rc == SB_OK ? SB_OK : sb_fail(err, rc, "no_memory", "out of memory");
	rc = pipeline_makespan(x->scorer, x->plan, &makespan, err);
	if (rc != SB_OK || makespan > x->before[cut])
		return rc;
	if (makespan < x->best) {
		x->best = makespan;
		memcpy(out, x->plan, x->plan_bytes);
	}
	rc = schedule_simulate(pipeline_program(x->scorer), pipeline_times(x->scorer), &r, err);
	critical = critical_stage(x, makespan);
	for (int64_t i = 0; i < x->stages; i++) {
		if (i != critical)
			queue_move(x, cut, critical, i, makespan);
		if (i > critical + 1) {
			queue_move(x, cut, i - 1, i, makespan);
			queue_move(x, cut, i, i - 1, makespan);
		}
	}
	return rc;
}

static int improve(struct improvement *x, struct pipeline_stage *out, struct pipeline_proof *proof,
                   struct sb_error *err)
{
	int rc = straight_search(x->s, &straight_slowest, x->at, proof, err);

	if (rc != SB_OK)
		return rc;
	for (int64_t i = 0; i < x->stages; i++)
		x->moved[i] = (int32_t)x->at[i].count;
	queue(x, INFINITY);
	for (size_t i = 0; i < x->count && rc == SB_OK; i++)
		rc = sb_stopped(x->watch) ? SB_ECANCELED : look_at(x, i, out, err);
	if (rc == SB_OK)
		*proof = (struct pipeline_proof){"makespan", x->best, NAN, false, (int64_t)x->count};
	return rc;
}

int plan_autopipe(const struct pipeline_problem *p, enum pipeline_objective objective,
                  struct pipeline_stage *out, struct pipeline_proof *proof, struct sb_error *err)
{
	STRAIGHT_AUTO s = NULL;
	PIPELINE_SCORER_AUTO scorer = NULL;
	__attribute__((cleanup(improvement_free))) struct improvement x = {.watch = p->watch,
	                                                                   .best = INFINITY};
	int rc;

	(void)objective;
	if (p->shape.kind != SCHEDULE_1F1B && p->shape.kind != SCHEDULE_1F1B_EARLY_RECOMPUTE)
		return sb_fail_field(err, SB_EIMPOSSIBLE, "out_of_range", "schedule",
		                     "must be 1f1b or 1f1b-early-recompute with this method");
	rc = straight_open(p, &s, err);
	if (rc == SB_OK)
		rc = pipeline_scorer_open(p, &scorer, err);
	if (rc != SB_OK)
		return rc;
	x.s = s;
	x.scorer = scorer;
	x.seed = sb_hash_seed();
	if (improvement_open(&x) != SB_OK)
		return sb_no_memory(err);
	return improve(&x, out, proof, err);
}
