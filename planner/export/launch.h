#ifndef SB_PLANNER_EXPORT_LAUNCH_H
#define SB_PLANNER_EXPORT_LAUNCH_H
#include "planner/export/options.h"
#include "planner/strategy/strategy.h"

/* A strategy in the languages of launchers, out and back in.
 *
 * What a launcher cannot say is never dropped: the text is read back by the same reader that reads a user's
 * configuration, and every field that comes back otherwise than it went in is told in a comment of the form
 * "plan FIELD=VALUE: why". The reader takes those comments over, so that text and plan are always the same.
 */

/* What is launched. model and cluster are borrowed; stages is owned: how many layers each stage recomputes,
 * and behind them the layers of each slice, to which strategy.stage_recompute and slice_layers point, or to
 * the caller's. */
struct launch_plan {
	const struct model *model;
	const struct cluster *cluster;
	struct strategy strategy;
	int64_t sequences; /* global batch; 0 = the text does not say */
	int64_t devices;   /* that the run is started on */
	int64_t *stages;
};
void launch_free(struct launch_plan *l);
#define LAUNCH_AUTO __attribute__((cleanup(launch_free))) struct launch_plan

/* The fields of a strategy, by the names that a solution has. */
enum launch_field {
	FIELD_DP,
	FIELD_TP,
	FIELD_TP_X, /* 1 = tensor ranks in one dimension */
	FIELD_CP,
	FIELD_PP,
	FIELD_VPP,
	FIELD_SCHEDULE,
	FIELD_EP,
	FIELD_ETP,
	FIELD_MICRO_BATCH,
	FIELD_ZERO,
	FIELD_SEQUENCE_PARALLEL,
	FIELD_OVERLAP_GRADIENTS,
	FIELD_OVERLAP_TENSOR,
	FIELD_OVERLAP_EXPERT,
	FIELD_OVERLAP_SENDS,
	FIELD_DISPATCH_DTYPE,
	FIELD_GRADIENT_DTYPE,
	FIELD_RECOMPUTE,
	FIELD_ATTENTION,
	FIELD_OFFLOAD_WEIGHTS, /* shares from 0 to 1 */
	FIELD_OFFLOAD_GRADIENTS,
	FIELD_OFFLOAD_OPTIMIZER,
	FIELD_OFFLOAD_ACTIVATIONS,
	FIELD_NODE_DEVICES, /* of each node used; 0 = all */
	FIELD_ORDER,
	FIELD_STAGES, /* layers of each slice, chunk by chunk; an even cut into chunks comes with vpp */
	FIELD_STAGE_RECOMPUTE, /* layers of each stage, where not all are recomputed */
	LAUNCH_FIELDS
};
const char *launch_field_name(enum launch_field f);
/* The field as text: a number, true, a word, or "tp,cp,dp,pp". Failures stick to the buffer. */
void launch_field_write(const struct launch_plan *l, enum launch_field f, struct sb_buf *out);
/* The reverse. False when the text is no such value. SB_ENOMEM shows as false, too. */
bool launch_field_read(struct launch_plan *l, enum launch_field f, const char *value);
/* Whether ranks lie as in `order`: dimensions of degree 1 lie anywhere. */
bool launch_order_is(const struct strategy *s, const enum dimension order[DIMS]);
/* An order is the same when launch_order_is(). */
bool launch_field_same(const struct launch_plan *a, const struct launch_plan *b, enum launch_field f);

/* pp * vpp, and the layers of one of them: chunk by chunk through the devices. */
int64_t launch_slices(const struct launch_plan *l);
int64_t launch_slice_layers(const struct launch_plan *l, int64_t slice);
/* Chunks that are cut as those of a strategy that says nothing of its cut. */
bool launch_even_chunks(const struct launch_plan *l);
/* Chunks that have all the same number of layers. */
bool launch_equal_chunks(const struct launch_plan *l);
/* Takes over layers of each slice, launch_slices() of them, as they were read. SB_EIMPOSSIBLE when they do
 * not add up to the model, or are too many for it; SB_ENOMEM. */
int launch_cut(struct launch_plan *l, const int64_t *slices, struct sb_error *err);
/* Layers of a stage that are recomputed, in the strategy's way. */
int64_t launch_recomputed(const struct launch_plan *l, int64_t stage);
bool launch_recomputes_all(const struct launch_plan *l);
/* Of a slice: the first ones. */
int64_t launch_slice_recomputed(const struct launch_plan *l, int64_t slice);
/* Takes over how many layers of each slice are recomputed, its first ones. SB_EIMPOSSIBLE when one has fewer,
 * or the chunks of a stage recompute different numbers (a shorter one all that it has); SB_ENOMEM. */
int launch_recompute(struct launch_plan *l, const int64_t *slices, struct sb_error *err);

/* A launcher. */
struct launch_format {
	const char *name, *type; /* what it is called, its media type */
	/* SB_EIMPOSSIBLE when the launcher would refuse the run, or run another one. NULL: it takes all. */
	int (*refuse)(const struct launch_plan *l, struct sb_error *err);
	/* Appends the text of what is not refused. notes: lines that each end in a newline, to be shown as
	 * comments; may be empty. Failures stick to the buffer. */
	void (*write)(const struct launch_plan *l, const char *notes, struct sb_buf *out);
	int (*parse)(const char *text, size_t len, struct options *out, struct sb_error *err);
	/* Fills the strategy: what the text leaves out is the launcher's own default. What the launcher has
	 * no say in keeps its value. pp <= layers on return. SB_EIMPOSSIBLE, SB_ENOMEM. */
	int (*read)(const struct options *o, struct launch_plan *io, struct sb_error *err);
	/* Why a field may come back otherwise; NULL: "LABEL has no option for it". */
	const char *const *why; /* [LAUNCH_FIELDS] */
	const char *label;
};
extern const struct launch_format launch_megatron, launch_mindspeed, launch_mindformers, launch_torchtitan,
    launch_env;

/* Appends a fitting strategy in the format, with its notes. SB_EIMPOSSIBLE, SB_ENOMEM, SB_ELIMIT. */
int launch_write(const struct launch_format *f, const struct launch_plan *l, struct sb_buf *out,
                 struct sb_error *err);
/* Reads such a text, or one that the user wrote. io->model, cluster, devices and the values to assume are
 * set; stages is NULL. SB_EIMPOSSIBLE, with the line, for what cannot be read or is no strategy of ours;
 * SB_ENOMEM. */
int launch_read(const struct launch_format *f, const char *text, size_t len, struct launch_plan *io,
                struct sb_error *err);

/* For the formats: a number in as few digits as give it back. */
void launch_real(double value, struct sb_buf *out);
/* One replica: every level of ZeRO is the same, so that a launcher may be told one that it wants. */
bool launch_is_alone(const struct strategy *s);
/* How many of `layers` layers make up the share of their activations that is offloaded, rounded up. */
int64_t launch_offloaded(const struct strategy *s, int64_t layers);
/* For launchers that split tensors in one dimension: SB_EIMPOSSIBLE when the plan has two. */
int launch_one_dimension(const struct launch_plan *l, const char *label, struct sb_error *err);
/* SB_EIMPOSSIBLE with the reason, and the constraint that makes a search find a plan without it, as members
 * of a request's `constraints`. */
int launch_refuse(struct sb_error *err, const char *word, const char *why, const char *constraint);
/* Adds the constraint to a reason that is told already. SB_EIMPOSSIBLE. */
int launch_constraint(struct sb_error *err, const char *constraint);
/* launch_refuse() in the field `offload`. */
int launch_no_offload(struct sb_error *err, const char *why);
/* For the formats: notes as lines behind "# ". */
void launch_comments(const char *notes, struct sb_buf *out);
/* Degrees 1 and every option off: what a launcher runs that is told nothing. Attention stays. */
void launch_reset(struct launch_plan *l);
/* The degree behind an option; 1 when it is not there. */
int launch_degree(const struct options *o, const char *name, int64_t *out, struct sb_error *err);
/* dp out of the devices and the other degrees. SB_EIMPOSSIBLE when they do not divide them. */
int launch_replicas(struct launch_plan *l, struct sb_error *err);
/* SB_EIMPOSSIBLE unless the option is missing or the model's layers. */
int launch_same_layers(const struct options *o, const char *name, const struct launch_plan *l,
                       struct sb_error *err);
#endif
