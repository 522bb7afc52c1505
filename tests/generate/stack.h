#ifndef SB_TESTS_GENERATE_STACK_H
#define SB_TESTS_GENERATE_STACK_H
#include <stdbool.h>

/* The Python frames around a call that waits for the device, the innermost first, ended by NULL: the loss
 * that every made-up job prints once a step, or the metric that the fault cpu.synchronization brings. */
enum { STACK_FRAMES = 4 };
const char *const *stack_frames(bool loss);
/* All frames in one text, each but the last followed by `end`. */
void stack_text(bool loss, const char *end, char *text, int size);
#endif
