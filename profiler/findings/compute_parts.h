#ifndef SB_PROFILER_FINDINGS_COMPUTE_PARTS_H
#define SB_PROFILER_FINDINGS_COMPUTE_PARTS_H
#include "profiler/findings/findings.h"
#include "profiler/flops.h"

/* What the checks of computation share (compute*.c, roofline*.c). */

static inline const char *view_text(const struct rank_view *v, uint32_t id)
{
	return trace_text(&v->c->trace, id, NULL);
}
/* Time of all compute kernels, us: by the kernel table, else what the breakdown says. */
double compute_us(const struct rank_view *v);
/* A tally for the view's capture; false when memory is out. */
bool start_tally(struct check_context *ctx, struct tally *t, const struct rank_view *v);
bool on_aicpu(const struct rank_view *v, const struct kernel *k);
/* Does it run on the vector cores alone? */
bool on_vector_cores(const struct rank_view *v, const struct kernel *k);
/* Is the event a compute kernel of the view's device? */
bool is_kernel_of(const struct rank_view *v, size_t event);

/* The index-th shape of "32,3;64" (Ascend's tables); not usable when there is none. */
struct shape kernel_shape(const struct rank_view *v, uint32_t shapes, int index);
/* The precision of the index-th of "FLOAT16;FLOAT". */
enum precision kernel_precision(const struct rank_view *v, uint32_t types, int index);
/* A matrix product by its type (MatMul, BatchMatMul …; grouped ones are not meant). */
bool is_matrix_product(const char *type);
/* What a row of the kernel table has to do by its shapes: matrix products, convolutions, attention. Bytes:
 * all inputs and outputs once, for any row with shapes and types. NaN where it cannot be told. */
struct work kernel_work(const struct rank_view *v, const struct kernel *k);
/* Has it a shape that does not suit the cube units? compute.affinity judges those. */
bool kernel_misfits(const struct check_context *ctx, const struct rank_view *v, const struct kernel *k);
/* Does it only change between ND and a private format? compute.format_conversion judges those. */
bool is_conversion(const struct rank_view *v, const struct kernel *k);
#endif
