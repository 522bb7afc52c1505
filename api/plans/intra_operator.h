#ifndef SB_API_PLANS_INTRA_OPERATOR_H
#define SB_API_PLANS_INTRA_OPERATOR_H
#include "api/plans/kinds.h"
#include "api/plans/parse.h"
#include "planner/frontier/option_graph.h"

/* The kind `intra-operator`: the option of each operator (or half-layer, or segment), with what changing from
 * one layout to the next takes, under memory. Each method turns its request into a graph of options; what is
 * common is here. */

#define INTRA_SECONDS_MAX 1e12
#define INTRA_BYTES_MAX 0x1p53
#define INTRA_CELLS_MAX ((int64_t)1 << 21) /* options, and pairs of options on edges */
#define INTRA_FRONTIER_MAX 200             /* points that an answer shows, */
#define INTRA_FRONTIER_CHOICES 20000       /* and options in all of them */

/* What a method asks, once its request is a graph. */
struct intra_case {
	const struct option_graph *graph;
	/* The same graph with the times that are told, where others are minimised; NULL = those. */
	const struct option_graph *told;
	bool sized;          /* memory is known */
	double memory;       /* what may be used; INFINITY = all */
	double memory_error; /* overstate memory by up to this share of it; 0 = exact */
	/* A plan as the method's solution. New reference. */
	json_t *(*solution)(const struct intra_case *c, const uint16_t *options);
	const void *self;
	const struct sb_watch *watch;
};

/* What all methods take beside their own. SB_EINVAL, SB_EIMPOSSIBLE. */
int intra_memory_from_json(const json_t *request, struct intra_case *c, struct sb_error *err);
/* Solves the case and answers in the frame of api.md. *out_options: the chosen plan's, for what a method
 * adds; the caller frees it. SB_EINFEASIBLE with *out_extra; SB_EIMPOSSIBLE when it is too much. */
int intra_answer(const struct intra_case *c, double start, json_t **out, json_t **out_extra,
                 uint16_t **out_options, struct sb_error *err);
/* {seconds, memory_bytes} of one plan. */
json_t *intra_predicted(const struct intra_case *c, const uint16_t *options);
/* What is made least, of one plan: seconds, or what stands for the bytes sent. */
double intra_objective(const struct intra_case *c, const uint16_t *options);
/* Appends an alternative; `best`: the chosen plan's objective, against which it is told. */
void intra_alternative(const struct intra_case *c, json_t *answer, double best, const uint16_t *options,
                       const char *reason);

/* The methods: each reads its own request. */
int intra_taps(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
               struct sb_error *err);
int intra_cfp(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
              struct sb_error *err);
int intra_oases(const json_t *request, const struct sb_watch *watch, json_t **out, json_t **out_extra,
                struct sb_error *err);
/* The members of each, name -> JSON Schema. New references. */
json_t *intra_taps_members(void);
json_t *intra_cfp_members(void);
json_t *intra_oases_members(void);
#endif
