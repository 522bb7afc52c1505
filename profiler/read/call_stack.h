#ifndef SB_PROFILER_READ_CALL_STACK_H
#define SB_PROFILER_READ_CALL_STACK_H
#include <stdbool.h>

#include "profiler/read/chrome.h"

/* Call stacks are long and stand beside most operators: only those of operators that wait for the device are
 * kept, for the finding that shows who called them. */

#define CALL_STACK_MAX 2048 /* bytes; the outermost frames are cut off */

/* Is this an operator that brings a value to the host, or a size that only the device knows? `name` is
 * NUL-terminated. */
bool call_stack_wanted(const char *name, size_t len);
/* Adds the stack as the detail of the event appended last; an empty one is none. SB_ENOMEM, SB_ELIMIT. */
int call_stack_add(struct trace *t, const struct chrome_text *stack);
#endif
