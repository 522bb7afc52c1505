#ifndef SB_PROFILER_KERNEL_FAMILY_H
#define SB_PROFILER_KERNEL_FAMILY_H
#include <stddef.h>

/* The family of a kernel whose name tells how it was tuned: the parts between underscores that hold a tile
 * ("128x64", "tilesize64x64x32"), a bare number, or one of the size words of cuDNN (small, medium, large,
 * interior, …) become "*", several in a row one. Autotuning picks other parts from run to run.
 * "volta_scudnn_128x64_relu_interior_nn_v1" becomes "volta_scudnn_*_relu_*_nn_v1". Writes at most size - 1
 * bytes and a NUL; returns how many parts were left as they are, those of one letter aside: a family with
 * none says nothing. */
size_t kernel_family(const char *name, char *out, size_t size);
#endif
