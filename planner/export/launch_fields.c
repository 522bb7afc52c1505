#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "planner/export/launch.h"

static const char *const boolean_words[] = {"false", "true", NULL};
static const char *const dtype_words[] = {"bf16", "fp32", NULL};
static const char *const schedule_words[] = {"1f1b", "zb-h1", "dualpipe", NULL};
static const char *const dispatch_words[] = {"bf16", "fp8", NULL};
static const char *const recompute_words[] = {"none", "selective", "full", NULL};
static const char *const attention_words[] = {"unfused", "flash", NULL};
static const char *const dimension_words[] = {"tp", "cp", "dp", "pp", NULL};

/* Fields that are one number, or one word out of a list. */
static const struct {
	const char *name;
	const char *const *words; /* NULL = a number from `low` to `high` */
	int64_t low, high;
} fields[LAUNCH_FIELDS] = {
    [FIELD_DP] = {"dp", NULL, 1, STRATEGY_MAX_DEGREE},
    [FIELD_TP] = {"tp", NULL, 1, STRATEGY_MAX_DEGREE},
    [FIELD_TP_X] = {"tp_x", NULL, 1, STRATEGY_MAX_DEGREE},
    [FIELD_CP] = {"cp", NULL, 1, STRATEGY_MAX_DEGREE},
    [FIELD_PP] = {"pp", NULL, 1, STRATEGY_MAX_DEGREE},
    [FIELD_VPP] = {"vpp", NULL, 1, STRATEGY_MAX_DEGREE},
    [FIELD_SCHEDULE] = {"schedule", schedule_words, 0, 0},
    [FIELD_EP] = {"ep", NULL, 1, STRATEGY_MAX_DEGREE},
    [FIELD_ETP] = {"etp", NULL, 1, STRATEGY_MAX_DEGREE},
    [FIELD_MICRO_BATCH] = {"micro_batch", NULL, 1, STRATEGY_MAX_DEGREE},
    [FIELD_ZERO] = {"zero", NULL, 0, 3},
    [FIELD_SEQUENCE_PARALLEL] = {"sequence_parallel", boolean_words, 0, 0},
    [FIELD_OVERLAP_GRADIENTS] = {"overlap_gradients", boolean_words, 0, 0},
    [FIELD_OVERLAP_TENSOR] = {"overlap_tensor", boolean_words, 0, 0},
    [FIELD_OVERLAP_EXPERT] = {"overlap_expert", boolean_words, 0, 0},
    [FIELD_OVERLAP_SENDS] = {"overlap_sends", boolean_words, 0, 0},
    [FIELD_DISPATCH_DTYPE] = {"dispatch_dtype", dispatch_words, 0, 0},
    [FIELD_GRADIENT_DTYPE] = {"gradient_dtype", dtype_words, 0, 0},
    [FIELD_RECOMPUTE] = {"recompute", recompute_words, 0, 0},
    [FIELD_ATTENTION] = {"attention", attention_words, 0, 0},
    [FIELD_OFFLOAD_WEIGHTS] = {"offload.weights", NULL, 0, 1},
    [FIELD_OFFLOAD_GRADIENTS] = {"offload.gradients", NULL, 0, 1},
    [FIELD_OFFLOAD_OPTIMIZER] = {"offload.optimizer", NULL, 0, 1},
    [FIELD_OFFLOAD_ACTIVATIONS] = {"offload.activations", NULL, 0, 1},
    [FIELD_NODE_DEVICES] = {"devices_per_node", NULL, 1, STRATEGY_MAX_DEGREE},
    [FIELD_ORDER] = {"order", NULL, 0, 0},
    [FIELD_STAGES] = {"stages", NULL, 0, 0},
    [FIELD_STAGE_RECOMPUTE] = {"stage_recompute", NULL, 0, 0},
};

const char *launch_field_name(enum launch_field f)
{
	return fields[f].name;
}

/* A share on the host; NULL for a field that is none. */
static double *share_of(struct offload *o, enum launch_field f)
{
	switch (f) {
	case FIELD_OFFLOAD_WEIGHTS: return &o->weights;
	case FIELD_OFFLOAD_GRADIENTS: return &o->gradients;
	case FIELD_OFFLOAD_OPTIMIZER: return &o->optimizer;
	case FIELD_OFFLOAD_ACTIVATIONS: return &o->activations;
	default: return NULL;
	}
}

void launch_real(double value, struct sb_buf *out)
{
	char text[32];
	double back = 0;
	int digits = 15, n;

	do {
		n = snprintf(text, sizeof(text), "%.*g", digits, value);
	} while ((sb_parse_double(text, (size_t)n, &back) != SB_OK || back != value) && ++digits <= 17);
	sb_buf_add(out, text, (size_t)n);
}

static int64_t get(const struct strategy *s, enum launch_field f)
{
	switch (f) {
	case FIELD_DP: return s->dp;
	case FIELD_TP: return s->tp;
	case FIELD_TP_X: return tensor_grid_of(s).x;
	case FIELD_CP: return s->cp;
	case FIELD_PP: return s->pp;
	case FIELD_VPP: return s->vpp;
	case FIELD_SCHEDULE: return (int64_t)s->schedule;
	case FIELD_EP: return s->ep;
	case FIELD_ETP: return s->etp;
	case FIELD_MICRO_BATCH: return s->micro_batch;
	case FIELD_ZERO: return s->zero;
	case FIELD_SEQUENCE_PARALLEL: return s->sequence_parallel;
	case FIELD_OVERLAP_GRADIENTS: return s->overlap_gradients;
	case FIELD_OVERLAP_TENSOR: return s->overlap_tensor;
	case FIELD_OVERLAP_EXPERT: return s->overlap_expert;
	case FIELD_OVERLAP_SENDS: return s->overlap_sends;
	case FIELD_DISPATCH_DTYPE: return s->dispatch_fp8;
	case FIELD_GRADIENT_DTYPE: return s->gradient_bytes == 4;
	case FIELD_RECOMPUTE: return (int64_t)s->recompute;
	case FIELD_NODE_DEVICES: return s->node_devices;
	default: return (int64_t)s->attention;
	}
}

static void set(struct strategy *s, enum launch_field f, int64_t value)
{
	switch (f) {
	case FIELD_DP: s->dp = value; break;
	case FIELD_TP: s->tp = value; break;
	case FIELD_TP_X: s->tp_x = value; break;
	case FIELD_CP: s->cp = value; break;
	case FIELD_PP: s->pp = value; break;
	case FIELD_VPP: s->vpp = value; break;
	case FIELD_SCHEDULE: s->schedule = (enum pipeline_schedule)value; break;
	case FIELD_EP: s->ep = value; break;
	case FIELD_ETP: s->etp = value; break;
	case FIELD_MICRO_BATCH: s->micro_batch = value; break;
	case FIELD_ZERO: s->zero = (int)value; break;
	case FIELD_SEQUENCE_PARALLEL: s->sequence_parallel = value != 0; break;
	case FIELD_OVERLAP_GRADIENTS: s->overlap_gradients = value != 0; break;
	case FIELD_OVERLAP_TENSOR: s->overlap_tensor = value != 0; break;
	case FIELD_OVERLAP_EXPERT: s->overlap_expert = value != 0; break;
	case FIELD_OVERLAP_SENDS: s->overlap_sends = value != 0; break;
	case FIELD_DISPATCH_DTYPE: s->dispatch_fp8 = value != 0; break;
	case FIELD_GRADIENT_DTYPE: s->gradient_bytes = value ? 4 : 2; break;
	case FIELD_RECOMPUTE: s->recompute = (enum recompute)value; break;
	case FIELD_NODE_DEVICES: s->node_devices = value; break;
	default: s->attention = (enum attention)value; break;
	}
}

void launch_field_write(const struct launch_plan *l, enum launch_field f, struct sb_buf *out)
{
	struct offload shares = l->strategy.offload;
	const double *share = share_of(&shares, f);
	int64_t value;

	if (share) {
		launch_real(*share, out);
		return;
	}
	if (f == FIELD_ORDER) {
		for (int i = 0; i < DIMS; i++)
			sb_buf_addf(out, "%s%s", i ? "," : "", dimension_words[l->strategy.order[i]]);
		return;
	}
	if (f == FIELD_STAGES) {
		for (int64_t i = 0; i < launch_slices(l); i++)
			sb_buf_addf(out, "%s%lld", i ? "," : "", (long long)launch_slice_layers(l, i));
		return;
	}
	if (f == FIELD_STAGE_RECOMPUTE) {
		for (int64_t i = 0; i < l->strategy.pp; i++)
			sb_buf_addf(out, "%s%lld", i ? "," : "", (long long)launch_recomputed(l, i));
		return;
	}
	value = get(&l->strategy, f);
	if (fields[f].words)
		sb_buf_adds(out, fields[f].words[value]);
	else
		sb_buf_addf(out, "%lld", (long long)value);
}

static bool read_order(struct strategy *s, const char *value)
{
	bool seen[DIMS] = {false};
	enum dimension order[DIMS];

	for (int i = 0; i < DIMS; i++) {
		int d = 0;

		while (d < DIMS && strncmp(value, dimension_words[d], 2) != 0)
			d++;
		if (d == DIMS || seen[d] || value[2] != (i + 1 < DIMS ? ',' : '\0'))
			return false;
		seen[d] = true;
		order[i] = (enum dimension)d;
		value += 3;
	}
	memcpy(s->order, order, sizeof(order));
	return true;
}

static bool read_stages(struct launch_plan *l, const char *value)
{
	int64_t count = launch_slices(l), *layers = malloc((size_t)count * sizeof(*layers));
	bool fine =
	    layers && options_list(value, layers, count) == count && launch_cut(l, layers, NULL) == SB_OK;

	free(layers);
	return fine;
}

static bool read_stage_recompute(struct launch_plan *l, const char *value)
{
	const struct strategy *s = &l->strategy;
	int64_t slices = launch_slices(l), *layers = malloc((size_t)slices * sizeof(*layers));
	bool fine = layers && s->recompute != RECOMPUTE_NONE && options_list(value, layers, s->pp) == s->pp;

	for (int64_t i = 0; fine && i < s->pp; i++) {
		layers[i] = strategy_recompute_each(s, l->model->layers, i, layers[i]);
		fine = layers[i] >= 0;
	}
	for (int64_t i = slices - 1; fine && i >= 0; i--) {
		int64_t has = launch_slice_layers(l, i);

		layers[i] = layers[i % s->pp] < has ? layers[i % s->pp] : has;
	}
	fine = fine && launch_recompute(l, layers, NULL) == SB_OK;
	free(layers);
	return fine;
}

bool launch_field_read(struct launch_plan *l, enum launch_field f, const char *value)
{
	double *share = share_of(&l->strategy.offload, f), real = 0;
	int64_t number = 0;

	if (share) {
		if (sb_parse_double(value, strlen(value), &real) != SB_OK || real < 0 || real > 1)
			return false;
		*share = real;
		return true;
	}
	if (f == FIELD_ORDER)
		return read_order(&l->strategy, value);
	if (f == FIELD_STAGES)
		return read_stages(l, value);
	if (f == FIELD_STAGE_RECOMPUTE)
		return read_stage_recompute(l, value);
	if (!fields[f].words) {
		if (sb_parse_int(value, strlen(value), &number) != SB_OK || number < fields[f].low ||
		    number > fields[f].high)
			return false;
		set(&l->strategy, f, number);
		return true;
	}
	for (int i = 0; fields[f].words[i]; i++) {
		if (strcmp(fields[f].words[i], value) == 0) {
			set(&l->strategy, f, i);
			return true;
		}
	}
	return false;
}

static int64_t degree(const struct strategy *s, enum dimension d)
{
	return d == DIM_TP ? s->tp : d == DIM_CP ? s->cp : d == DIM_DP ? s->dp : s->pp;
}

/* The next dimension of an order, from *at on, that has ranks to lay out; DIMS at the end. */
static enum dimension next_dimension(const struct strategy *s, const enum dimension order[DIMS], int *at)
{
	while (*at < DIMS && degree(s, order[*at]) == 1)
		++*at;
	return *at < DIMS ? order[(*at)++] : DIMS;
}

bool launch_order_is(const struct strategy *s, const enum dimension order[DIMS])
{
	int i = 0, k = 0;
	enum dimension own, other;

	do {
		own = next_dimension(s, s->order, &i);
		other = next_dimension(s, order, &k);
	} while (own == other && own != DIMS);
	return own == other;
}

/* What is not recomputed in a launcher's own reading is so in all layers once its note is read. */
static bool same_recompute(const struct launch_plan *a, const struct launch_plan *b)
{
	const struct strategy *x = &a->strategy, *y = &b->strategy;
	bool all = launch_recomputes_all(a);

	if (x->recompute == RECOMPUTE_NONE)
		return true;
	if (y->recompute == RECOMPUTE_NONE || launch_recomputes_all(b))
		return all;
	for (int64_t i = 0; x->pp == y->pp && i < x->pp; i++)
		if (launch_recomputed(a, i) != launch_recomputed(b, i))
			return false;
	return x->pp == y->pp;
}

bool launch_field_same(const struct launch_plan *a, const struct launch_plan *b, enum launch_field f)
{
	const struct strategy *x = &a->strategy, *y = &b->strategy;
	struct offload ours = x->offload, theirs = y->offload;

	if (share_of(&ours, f))
		return *share_of(&ours, f) == *share_of(&theirs, f);
	if (f == FIELD_ORDER)
		return launch_order_is(x, y->order);
	if (f == FIELD_STAGE_RECOMPUTE)
		return same_recompute(a, b);
	if (f != FIELD_STAGES)
		return get(x, f) == get(y, f);
	if (launch_even_chunks(a) && (y->vpp == 1 || launch_even_chunks(b)))
		return true; /* vpp says it */
	if (x->pp != y->pp || x->vpp != y->vpp)
		return false;
	for (int64_t i = 0; i < launch_slices(a); i++)
		if (launch_slice_layers(a, i) != launch_slice_layers(b, i))
			return false;
	return true;
}
