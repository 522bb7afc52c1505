#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define FIRST 16

int sb_grow(void *items, size_t count, size_t element)
{
	size_t capacity = count < FIRST ? FIRST : count * 2;
	void *old, *p;

	if ((count & (count - 1)) != 0 || (count > 0 && count < FIRST))
		return SB_OK;
	if (capacity < count || capacity > SIZE_MAX / element)
		return SB_ENOMEM;
	/* copied, because a pointer to T may not be read through a pointer to void * */
	memcpy(&old, items, sizeof(old));
	p = realloc(old, capacity * element);
	if (!p)
		return SB_ENOMEM;
	memcpy(items, &p, sizeof(p));
	/* cppcheck-suppress memleak ; it has just been stored */
	return SB_OK;
}
