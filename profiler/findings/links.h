#ifndef SB_PROFILER_FINDINGS_LINKS_H
#define SB_PROFILER_FINDINGS_LINKS_H
#include "profiler/findings/findings.h"
#include "profiler/findings/size_time.h"

/* What the checks of communication.json share. */

/* Two sides that are judged apart: everything that SDMA moves, and RDMA. */
enum side { SIDE_SDMA, SIDE_RDMA, SIDES };
enum side side_of(const struct link *l);
/* Counted once: SDMA is the sum of the links of its side, and left out where any of those tells anything. */
bool link_counts(const struct communication_op *op, const struct link *l);
/* Did RDMA take so long that packets were sent again (Hermes 5.4)? */
bool link_sent_again(const struct check_context *ctx, const struct link *l);
/* Sums of one link over all operators of a capture; those that were sent again are another check's. */
struct link_sum {
	double bytes, us;      /* of the link, over lanes that run side by side */
	double transit_us;     /* its share of the operators' transmission */
	double packets, large; /* and those above the size that reaches the link's rate */
	double best;           /* the highest rate of one operator or one size of packets, bytes per us */
};
struct link_sum link_sum_of(const struct check_context *ctx, const struct capture *c, const char *name);
/* The packet size above which a link reaches its rate: of the chip, else the threshold. */
double link_large_bytes(const struct check_context *ctx, const struct capture *c, const char *name);
/* The rate that the chip's link should reach, bytes per second; NaN when chip or link is not known. */
double link_standard(const struct capture *c, const char *name);
/* The same with the chip guessed from the kernels, for estimates only: separate vector cores are those of
 * 910B and later. */
double link_guess(const struct capture *c, const char *name);
/* Does the side's main link reach enough of its rate? false when chip or link is not known. */
bool link_is_well_used(const struct check_context *ctx, const struct rank_view *v, enum side side);
/* Do both move the same, in packets of the same size? Only then their rates can be compared. */
bool link_of_same_kind(const struct link_sum *a, const struct link_sum *b);
/* Does one of n ranks send longer than the others because a link of it is slower? */
bool link_explains_sender(const struct check_context *ctx, const struct rank_view *const *views, size_t n,
                          size_t slow);
/* The environment variable that forces the communication library to one way; NULL when none is set, or it is
 * not told. */
const char *link_setting(const struct capture *c);
/* What a cause's removal would make of transmission, new over old: of each row of the capture's
 * communications, where they differ, and of all. */
struct link_factors {
	const double *rows; /* NULL: each as the whole */
	double whole;
};
/* The reliefs of the finding that was added last: what the timeline or the kernel table shows of each
 * operator, its own; all transmission alike where no operator was matched with that of another rank. */
void link_relieve(struct check_context *ctx, struct finding *f, const struct rank_view *v,
                  const struct link_factors *factors);
/* What the step gains of transmission that takes lost_ns less in all, where nothing tells when the device
 * computes. At most what is exposed, and of that the last collective of each step stays, as long as it then
 * takes: it waits for the step's last gradients, so that nothing is left to hide it. ns over all steps. */
int64_t link_gain(const struct rank_view *v, const struct link_factors *factors, double lost_ns);
/* 0 for a negative number and for NaN. */
double positive(double v);
#endif
