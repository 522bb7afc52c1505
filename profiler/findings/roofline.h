#ifndef SB_PROFILER_FINDINGS_ROOFLINE_H
#define SB_PROFILER_FINDINGS_ROOFLINE_H
#include "profiler/findings/compute_parts.h"

/* The roofline of Hermes (4.2.2, appendix B): U_arith = P / P_peak, U_mem = B / B_peak; the ridge lies at
 * P_peak / B_peak operations a byte. Memory bound: at or left of the ridge, and U_mem >= U_thr. Compute
 * bound: right of it, and U_arith >= U_thr. Under-utilised: all else. */
enum roof_class { ROOF_UNKNOWN, ROOF_MEMORY, ROOF_COMPUTE, ROOF_UNDER };

struct roof {
	double flops_per_second, bytes_per_second; /* peaks; NaN = not known */
};

/* The class of work that took `seconds`; u is U_thr. Without the peak of one side only what the other side
 * proves is told. */
enum roof_class roof_classify(const struct roof *r, const struct work *w, double seconds, double u);
/* The least time for the work, seconds, at shares of the two peaks; the part of a side that is not known is
 * 0.
 */
double roof_least(const struct roof *r, const struct work *w, double compute_share, double memory_share);

/* What a kernel was judged by, the best first. */
enum roof_basis {
	BASIS_COUNTERS, /* measured: operations and bytes */
	BASIS_PIPES,    /* ratios of the pipes: a stand-in */
	BASIS_SHAPES,   /* operations from shapes, bytes at least those of the operands */
	BASIS_LAUNCH,   /* how many blocks it was launched with */
	BASIS_COUNT
};

/* One kernel. */
struct roof_item {
	enum relief_kind kind; /* RELIEF_KERNEL or RELIEF_EVENT, and its index */
	size_t index;
	double ns;
	enum roof_class class;
	enum roof_basis basis;
	double factor; /* new over old duration without the cause: at the reachable share of the roof when
	                  under-utilised, without the traffic when memory bound */
	uint32_t name; /* to tell it by */
};
typedef void roof_visit(void *self, const struct roof_item *item);

/* Visits every kernel of the view that can be judged, in the order of its table or timeline. SB_ENOMEM. */
int roof_walk(const struct check_context *ctx, const struct rank_view *v, roof_visit *visit, void *self);
/* The parts of it: the kernel table; a timeline of GPUs. */
int roof_walk_table(const struct check_context *ctx, const struct rank_view *v, roof_visit *visit,
                    void *self);
int roof_walk_gpu(const struct check_context *ctx, const struct rank_view *v, roof_visit *visit, void *self);
#endif
