#ifndef SB_PROFILER_ADVICE_H
#define SB_PROFILER_ADVICE_H
#include <stdbool.h>
#include <stddef.h>

/* The hardware of a capture: what is advised depends on it. */
enum platform { PLATFORM_NVIDIA = 1, PLATFORM_AMD = 2, PLATFORM_ASCEND = 4 };

/* Advice: cause → remedies (Hermes, Table 4, and systems.md section 4). Static data: one entry a finding
 * code, in the table of its component (advice_*.c). */

/* How to do it in one piece of software. */
struct advice_setting {
	const char *software; /* "PyTorch", "torch_npu", "Megatron-LM", …; "any" = whatever is used */
	const char *how;      /* the setting, call or command */
	unsigned only;        /* the hardware that it is meant for, of enum platform */
};
#define ADVICE_SETTINGS_MAX 6
struct advice_action {
	const char *summary;                                 /* what to do */
	struct advice_setting settings[ADVICE_SETTINGS_MAX]; /* ended by one without software */
};
#define ADVICE_ACTIONS_MAX 6
struct advice {
	const char *code; /* finding code */
	const char *title;
	struct advice_action actions[ADVICE_ACTIONS_MAX]; /* ended by one without a summary */
	const char *check;                                /* what to look at afterwards */
	const char *cost;                                 /* what the remedy costs */
	const char *source;                               /* e.g. "Hermes, Table 4" */
	const char *plan;                                 /* kind of plan that works it out, NULL = none */
};
struct advice_table {
	const struct advice *items;
	size_t count;
};
extern const struct advice_table ADVICE_PARALLEL, ADVICE_IO, ADVICE_CPU, ADVICE_COMPUTE, ADVICE_COMMUNICATION,
    ADVICE_MEMORY, ADVICE_MOE;

/* The advice for a finding code, NULL when there is none. */
const struct advice *advice_for(const char *code);
/* Is a setting meant for that hardware? */
bool advice_setting_holds(const struct advice_setting *s, enum platform p);
/* Is any of an action's settings? Every advice that a finding of a platform can have holds at least one such
 * action. */
bool advice_holds(const struct advice_action *a, enum platform p);

/* For the tables. */
enum {
	ADVICE_GPU = PLATFORM_NVIDIA | PLATFORM_AMD,
	ADVICE_ALL = PLATFORM_NVIDIA | PLATFORM_AMD | PLATFORM_ASCEND
};
#endif
