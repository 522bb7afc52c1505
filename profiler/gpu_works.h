#ifndef SB_PROFILER_GPU_WORKS_H
#define SB_PROFILER_GPU_WORKS_H
#include <stdbool.h>

#include "profiler/chips.h"
#include "profiler/profile.h"

/* A timeline of GPUs: kernels belong to the host operator during which they were launched; its shapes tell
 * what all of them together have to do. */

#define GPU_WORK_NONE UINT32_MAX
struct gpu_works {
	double *ns;        /* by index into host_works: of its kernels */
	bool *tf32;        /* likewise: a kernel's name says so */
	uint32_t *work_of; /* by event of the timeline: index into host_works, GPU_WORK_NONE = not known */
};
/* Joins the kernels of a capture with its host operators. O(events x log n). *out is to be freed by
 * gpu_works_free(). SB_ENOMEM. */
int gpu_works_build(const struct capture *c, struct gpu_works *out);
void gpu_works_free(struct gpu_works *g);
/* By which numbers the kernels of a work calculate. */
enum precision gpu_work_precision(const struct gpu_works *g, const struct capture *c, uint32_t work);
#define GPU_WORKS_AUTO __attribute__((cleanup(gpu_works_free))) struct gpu_works
#endif
