#ifndef SB_PLANNER_PIPELINE_SWAP_H
#define SB_PLANNER_PIPELINE_SWAP_H
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "planner/network/link_rate.h"
#include "planner/schedule/schedule.h"

/* A model too large for one device, on devices with slow links between them: cut into the stages of a
 * pipeline, or whole on each of them, of which one part at a time is on the device and the others wait on its
 * host (ATOM: Wu et al., 2024). A pipeline sends activations between devices; swapping loads weights from the
 * host under compute, and adds up gradients between the devices. */

struct swap_problem {
	int64_t devices, micro_batches; /* of one step, on all devices together */
	double forward, backward;       /* seconds of the whole model and one micro-batch on one device */
	double weights, gradients;      /* bytes of the whole model */
	double activation; /* bytes between two neighbouring parts, of one micro-batch, one way */
	struct link_rate link,
	    host;      /* between devices, and between a device and its host; each way at once */
	int64_t parts; /* that the model is swapped in */
	bool blocking; /* a transfer of the pipeline keeps both of its devices busy */
};
#define SWAP_DEVICES_MAX 1024

enum swap_choice {
	SWAP_PIPELINE,
	SWAP_SYNCHRONOUS, /* gradients are added up at the end of each step */
	SWAP_BACKGROUND,  /* beside the next steps, which go on with older weights: another training */
	SWAP_CHOICES
};
struct swap_comparison {
	double step[SWAP_CHOICES];         /* seconds */
	enum schedule_kind schedule;       /* of the pipeline */
	double exchange;                   /* adding up the gradients */
	int64_t stale_steps;               /* that an exchange in the background lasts */
	double load;                       /* one part from the host */
	double device_bytes[SWAP_CHOICES]; /* weights and gradients on a device */
	int64_t device_micro_batches;      /* of a device that swaps: ceil(micro_batches / devices) */
	int64_t hiding_micro_batches;      /* so many of them hide the load of a part in forward */
	/* The rule: below this rate of the link a pipeline that is full passes micro-batches on more slowly
	 * than the devices that swap get through them, exchange and bubbles left out. INFINITY: at any rate.
	 */
	double threshold_bytes_per_second;
	/* Micro-batches of a step from which a synchronous exchange is paid by what swapping gains in each of
	 * them; NaN: it gains nothing. */
	double paying_micro_batches;
};
/* SB_EIMPOSSIBLE with err->field "devices", "micro_batches", "parts" or the like for what is out of range. */
int swap_check(const struct swap_problem *p, struct sb_error *err);
/* Pipeline: 1f1b or eager-1f1b of equal stages, simulated; no sooner than all activations have gone over one
 * link, one after the other. Swapping, K parts, m micro-batches a device: forward goes through the parts one
 * by one, all micro-batches in each, while the next is loaded and what the part before gave goes to the host;
 * backward the same way back, with that loaded again and gradients sent to the host; the last part stays
 * between them, the first for the next step. Exchange: a ring over all devices, 2 (P - 1) / P of the
 * gradients over the link. As swap_check(); SB_ENOMEM. */
int swap_compare(const struct swap_problem *p, struct swap_comparison *out, struct sb_error *err);
#endif
