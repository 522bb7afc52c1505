#ifndef SB_BASE_GROW_H
#define SB_BASE_GROW_H
#include <stddef.h>

/* Makes room for one more element behind the `count` of an array. No capacity is kept: it follows from the
 * count (16, then powers of two), so the array must be grown by this function only, one element at a time.
 * items: the address of the pointer to the array, NULL while it is empty; the caller frees the array.
 * SB_ENOMEM: the array is as it was. */
int sb_grow(void *items, size_t count, size_t element);
#endif
