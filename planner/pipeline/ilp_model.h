#ifndef SB_PLANNER_PIPELINE_ILP_MODEL_H
#define SB_PLANNER_PIPELINE_ILP_MODEL_H
#include "planner/pipeline/device.h"
#include "planner/pipeline/lp.h"

struct ilp_request {
	const struct pipeline_problem *p;
	const struct device *devices;
	bool whole;
	double lower_bound; /* of the objective */
	double unit;        /* that times are counted in, so that the solver's tolerances mean something */
	double seconds;
};

/* Its first columns are the layers: stage by stage, body by body, kind by kind that the body offers. */
struct ilp_model {
	const struct pipeline_problem *p;
	const struct ilp_request *q;
	struct lp lp;
	int64_t stages;
	size_t *layers;   /* [(stage * bodies + body) * kinds + kind]; SIZE_MAX = not offered */
	size_t *forward;  /* of each stage with its end: columns that are at least that */
	size_t *backward; /* the same */
};
/* left: the share of each device's memory that stays unused. out: the text. *out_model is to be freed by
 * ilp_model_free(), also after a failure. SB_ELIMIT, SB_ENOMEM. */
int ilp_model_build(const struct ilp_request *q, double left, struct ilp_model *out_model,
                    struct sb_buf *out);
void ilp_model_free(struct ilp_model *m);
/* Adds the estimate of the whole pipeline, given the column of the bottleneck; its column. */
size_t ilp_model_whole(struct ilp_model *m, size_t bottleneck);
#endif
