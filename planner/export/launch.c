#include "planner/export/launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_MAX ((size_t)1 << 16)

void launch_free(struct launch_plan *l)
{
	free(l->stages);
	l->stages = NULL;
}

void launch_reset(struct launch_plan *l)
{
	struct strategy s = strategy_default(l->model, l->cluster);

	s.attention = l->strategy.attention;
	l->strategy = s;
}

int launch_degree(const struct options *o, const char *name, int64_t *out, struct sb_error *err)
{
	*out = 1;
	return options_integer(o, name, 1, STRATEGY_MAX_DEGREE, out, err);
}

int launch_replicas(struct launch_plan *l, struct sb_error *err)
{
	struct strategy *s = &l->strategy;
	double share = (double)s->tp * (double)s->cp * (double)s->pp;

	if (share > (double)l->devices || l->devices % (s->tp * s->cp * s->pp) != 0)
		return sb_fail(err, SB_EIMPOSSIBLE, "devices",
		               "tp x cp x pp = %lld x %lld x %lld does not divide the %lld devices",
		               (long long)s->tp, (long long)s->cp, (long long)s->pp, (long long)l->devices);
	s->dp = l->devices / (s->tp * s->cp * s->pp);
	return SB_OK;
}

int launch_same_layers(const struct options *o, const char *name, const struct launch_plan *l,
                       struct sb_error *err)
{
	int64_t layers = l->model->layers;
	int rc = options_integer(o, name, INT64_MIN, INT64_MAX, &layers, err);

	if (rc == SB_OK && layers != l->model->layers)
		return options_fail(o, name, err, "is not the number of layers of the model");
	return rc;
}

int64_t launch_slices(const struct launch_plan *l)
{
	return l->strategy.pp * l->strategy.vpp;
}

int64_t launch_slice_layers(const struct launch_plan *l, int64_t slice)
{
	return strategy_slice_layers(&l->strategy, l->model->layers, slice);
}

bool launch_even_chunks(const struct launch_plan *l)
{
	const struct strategy even = {.pp = l->strategy.pp, .vpp = l->strategy.vpp};

	for (int64_t i = 0; l->strategy.vpp > 1 && i < launch_slices(l); i++)
		if (launch_slice_layers(l, i) != strategy_slice_layers(&even, l->model->layers, i))
			return false;
	return l->strategy.vpp > 1;
}

bool launch_equal_chunks(const struct launch_plan *l)
{
	return launch_even_chunks(l) && l->model->layers % launch_slices(l) == 0;
}

/* Room for both lists; what is there stays. */
static int own_stages(struct launch_plan *l, struct sb_error *err)
{
	if (l->stages)
		return SB_OK;
	l->stages = calloc((size_t)(l->strategy.pp + launch_slices(l)), sizeof(*l->stages));
	return l->stages ? SB_OK : sb_no_memory(err);
}

/* A pipeline is cut by the layers of its model. */
static int check_stages(const struct launch_plan *l, struct sb_error *err)
{
	if (strategy_slices_fit(l->strategy.pp, l->strategy.vpp, l->model->layers))
		return SB_OK;
	return sb_fail(err, SB_EIMPOSSIBLE, "stages",
	               "the model's %lld layers are too few for pp x vpp = %lld x %lld",
	               (long long)l->model->layers, (long long)l->strategy.pp, (long long)l->strategy.vpp);
}

int launch_cut(struct launch_plan *l, const int64_t *slices, struct sb_error *err)
{
	int64_t count = launch_slices(l), sum = 0;
	int rc = check_stages(l, err);

	if (rc != SB_OK)
		return rc;
	for (int64_t i = 0; i < count; i++) {
		if (slices[i] < 0 || slices[i] > l->model->layers)
			return sb_fail(err, SB_EIMPOSSIBLE, "stages",
			               "a stage has fewer than 0 layers, or more than the model");
		sum += slices[i];
	}
	if (sum != l->model->layers)
		return sb_fail(err, SB_EIMPOSSIBLE, "stages", "the stages hold %lld layers, the model %lld",
		               (long long)sum, (long long)l->model->layers);
	rc = own_stages(l, err);
	if (rc != SB_OK)
		return rc;
	memcpy(l->stages + l->strategy.pp, slices, (size_t)count * sizeof(*l->stages));
	l->strategy.slice_layers = l->stages + l->strategy.pp;
	return SB_OK;
}

int64_t launch_recomputed(const struct launch_plan *l, int64_t stage)
{
	const struct strategy *s = &l->strategy;

	if (s->recompute == RECOMPUTE_NONE)
		return 0;
	return s->stage_recompute ? s->stage_recompute[stage]
	                          : strategy_stage_layers(s, l->model->layers, stage);
}

bool launch_recomputes_all(const struct launch_plan *l)
{
	for (int64_t i = 0; i < l->strategy.pp; i++)
		if (launch_recomputed(l, i) < strategy_stage_layers(&l->strategy, l->model->layers, i))
			return false;
	return true;
}

int64_t launch_slice_recomputed(const struct launch_plan *l, int64_t slice)
{
	const struct strategy *s = &l->strategy;
	int64_t stage = slice % s->pp, has = launch_slice_layers(l, slice), each = has;

	if (s->recompute == RECOMPUTE_NONE)
		return 0;
	if (s->stage_recompute)
		each = strategy_recompute_each(s, l->model->layers, stage, s->stage_recompute[stage]);
	return each < has ? each : has;
}

static int check_recompute(const struct launch_plan *l, const int64_t *slices, int64_t stage,
                           struct sb_error *err)
{
	int64_t pp = l->strategy.pp, each = 0;

	for (int64_t i = stage; i < launch_slices(l); i += pp)
		each = slices[i] > each ? slices[i] : each;
	for (int64_t i = stage; i < launch_slices(l); i += pp) {
		int64_t has = launch_slice_layers(l, i);

		if (slices[i] < 0 || slices[i] > has)
			return sb_fail(err, SB_EIMPOSSIBLE, "recompute",
			               "a stage recomputes fewer than 0 layers, or more than it has");
		if (slices[i] != (each < has ? each : has))
			return sb_fail(
			    err, SB_EIMPOSSIBLE, "recompute",
			    "chunks of one stage that recompute different numbers of layers belong "
			    "to the kind pipeline");
	}
	return SB_OK;
}

int launch_recompute(struct launch_plan *l, const int64_t *slices, struct sb_error *err)
{
	struct strategy *s = &l->strategy;
	int rc = SB_OK;

	for (int64_t i = 0; rc == SB_OK && i < s->pp; i++)
		rc = check_recompute(l, slices, i, err);
	if (rc == SB_OK)
		rc = own_stages(l, err);
	if (rc != SB_OK)
		return rc;
	for (int64_t i = 0; i < s->pp; i++) {
		l->stages[i] = 0;
		for (int64_t k = i; k < launch_slices(l); k += s->pp)
			l->stages[i] += slices[k];
	}
	s->stage_recompute = l->stages;
	/* All of them is no number of its own. */
	if (launch_recomputes_all(l))
		s->stage_recompute = NULL;
	return SB_OK;
}

bool launch_is_alone(const struct strategy *s)
{
	return s->dp * s->cp == 1;
}

int64_t launch_offloaded(const struct strategy *s, int64_t layers)
{
	/* A share that was layers / layers may have lost its last bit. */
	return (int64_t)ceil(s->offload.activations * (double)layers - 1e-9);
}

int launch_one_dimension(const struct launch_plan *l, const char *label, struct sb_error *err)
{
	if (tensor_grid_of(&l->strategy).x == 1)
		return SB_OK;
	sb_fail_field(err, SB_EIMPOSSIBLE, "tensor_grid", "tp_x",
	              "%s has no two-dimensional tensor parallelism", label);
	return launch_constraint(err, "\"tensor\": \"1d\"");
}

int launch_constraint(struct sb_error *err, const char *constraint)
{
	size_t n = err ? strlen(err->text) : 0;

	if (err)
		snprintf(err->text + n, sizeof(err->text) - n, "; \"constraints\": {%s} avoids it",
		         constraint);
	return SB_EIMPOSSIBLE;
}

int launch_refuse(struct sb_error *err, const char *word, const char *why, const char *constraint)
{
	sb_fail(err, SB_EIMPOSSIBLE, word, "%s", why);
	return launch_constraint(err, constraint);
}

int launch_no_offload(struct sb_error *err, const char *why)
{
	sb_fail_field(err, SB_EIMPOSSIBLE, "offload", "offload", "%s", why);
	return launch_constraint(err, "\"offload\": \"none\"");
}

void launch_comments(const char *notes, struct sb_buf *out)
{
	while (*notes) {
		size_t len = strcspn(notes, "\n");

		sb_buf_adds(out, "# ");
		sb_buf_add(out, notes, len);
		sb_buf_adds(out, "\n");
		notes += len + (notes[len] == '\n');
	}
}

static void drop_cut(struct launch_plan *l)
{
	launch_free(l);
	l->strategy.slice_layers = l->strategy.stage_recompute = NULL;
}

/* The comments "plan FIELD=VALUE": the cut last, because it needs the degrees. */
static int read_notes(const struct options *o, struct launch_plan *l, struct sb_error *err)
{
	for (int f = 0; f < LAUNCH_FIELDS; f++) {
		char name[40];
		const char *value;

		snprintf(name, sizeof(name), "plan %s", launch_field_name((enum launch_field)f));
		value = options_get(o, name);
		if (value && f >= FIELD_STAGES) {
			int rc = check_stages(l, err);

			if (rc != SB_OK)
				return rc;
		}
		if (value && !launch_field_read(l, (enum launch_field)f, value))
			return options_fail(o, name, err, "has no such value");
		/* The cut that was read belongs to the other number of stages. */
		if (value && (f == FIELD_PP || f == FIELD_VPP))
			drop_cut(l);
	}
	return SB_OK;
}

static int read_options(const struct launch_format *f, const struct options *o, struct launch_plan *l,
                        struct sb_error *err)
{
	int rc = f->read(o, l, err);

	if (rc == SB_OK)
		rc = read_notes(o, l, err);
	return rc == SB_OK ? check_stages(l, err) : rc;
}

int launch_read(const struct launch_format *f, const char *text, size_t len, struct launch_plan *io,
                struct sb_error *err)
{
	OPTIONS_AUTO o;
	int rc;

	options_init(&o);
	rc = f->parse(text, len, &o, err);
	return rc == SB_OK ? read_options(f, &o, io, err) : rc;
}

static void add_why(const struct launch_format *f, int field, struct sb_buf *notes)
{
	if (f->why[field])
		sb_buf_addf(notes, ": %s\n", f->why[field]);
	else if (field == FIELD_NODE_DEVICES)
		sb_buf_adds(notes, ": as many processes are to be started on each node\n");
	else
		sb_buf_addf(notes, ": %s has no option for it\n", f->label);
}

/* Notes about the fields that come back otherwise from a text. */
static int compare(const struct launch_format *f, const struct launch_plan *l, const struct sb_buf *text,
                   struct sb_buf *notes, struct sb_error *err)
{
	LAUNCH_AUTO back = *l;
	int rc;

	back.stages = NULL;
	back.strategy.slice_layers = back.strategy.stage_recompute = NULL;
	/* A launcher that has no say in the kernel must not seem to have chosen it. */
	back.strategy.attention =
	    l->strategy.attention == ATTENTION_FLASH ? ATTENTION_UNFUSED : ATTENTION_FLASH;
	rc = launch_read(f, text->data, text->len, &back, err);
	for (int i = 0; rc == SB_OK && i < LAUNCH_FIELDS; i++) {
		if (launch_field_same(l, &back, (enum launch_field)i))
			continue;
		sb_buf_addf(notes, "plan %s=", launch_field_name((enum launch_field)i));
		launch_field_write(l, (enum launch_field)i, notes);
		add_why(f, i, notes);
	}
	return rc == SB_OK && notes->status != SB_OK ? sb_no_memory(err) : rc;
}

static int written(const struct sb_buf *text, struct sb_error *err)
{
	return text->status == SB_OK
	           ? SB_OK
	           : sb_fail(err, text->status, "too_large",
	                     text->status == SB_ELIMIT ? "the export is too large" : "out of memory");
}

int launch_write(const struct launch_format *f, const struct launch_plan *l, struct sb_buf *out,
                 struct sb_error *err)
{
	SB_BUF_AUTO plain, notes;
	int rc;

	sb_buf_init(&plain, OPTIONS_TEXT_MAX);
	sb_buf_init(&notes, NOTES_MAX);
	rc = f->refuse ? f->refuse(l, err) : SB_OK;
	if (rc != SB_OK)
		return rc;
	f->write(l, "", &plain);
	rc = written(&plain, err);
	if (rc == SB_OK)
		rc = compare(f, l, &plain, &notes, err);
	if (rc != SB_OK)
		return rc;
	f->write(l, notes.len > 0 ? notes.data : "", out);
	return written(out, err);
}
