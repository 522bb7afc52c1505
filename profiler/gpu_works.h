#ifndef SB_PROFILER_GPU_WORKS_H
#define SB_PROFILER_GPU_WORKS_H
#include "profiler/chips.h"
#include "profiler/profile.h"

/* A timeline of GPUs: kernels belong to the host operator during which they were launched; its shapes tell
 * what all of them together have to do. */

/* Joins the kernels of a capture that nothing is added to any more with its host operators, once for all who
 * ask: it fills work_kernels, and kernel_ns and tf32 of host_works. O(events x log n). SB_ENOMEM. */
int gpu_works_join(struct capture *c);
/* The host operator whose work an event of the timeline does, or NULL. O(log n). */
const struct host_work *gpu_work_of(const struct capture *c, uint32_t event);
/* By which numbers the kernels of a work calculate. */
enum precision gpu_work_precision(const struct host_work *w);
#endif
