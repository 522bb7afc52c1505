#ifndef SB_PROFILER_KERNEL_NAME_H
#define SB_PROFILER_KERNEL_NAME_H
#include <stdbool.h>
#include <stddef.h>

/* The type of a GPU kernel is the qualified name of its function: template arguments <…>, the parameter list
 * (…) with all that follows it, and the leading return type are left out; "(anonymous namespace)" stays.
 * "void at::native::reduce<512, 1>(at::A<int>)" becomes "at::native::reduce". A name that nothing would be
 * left of stays whole. Writes at most size - 1 bytes and a NUL; returns the length. */
size_t kernel_type(const char *name, size_t len, char *out, size_t size);
/* The type of a copy: "memcpy HtoD" of "Memcpy HtoD (Pageable -> Device)"; where the name does not say it,
 * "memcpy " and the kind given (may be empty), else "memcpy". */
size_t memcpy_type(const char *name, const char *kind, char *out, size_t size);
/* The type of an operator of a MindSpore graph: "Cast" of "Default/network-Net/conv1-Conv2d/Cast-op12". A
 * name without the number is its own type. Writes and returns as above. */
size_t graph_operator_type(const char *name, size_t len, char *out, size_t size);
/* Does a name hold a part, without regard to case? */
bool name_has(const char *name, const char *part);
#endif
