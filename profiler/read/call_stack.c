#include "profiler/read/call_stack.h"

#include <string.h>

bool call_stack_wanted(const char *name, size_t len)
{
	static const char *const names[] = {"item",     "_local_scalar_dense", "nonzero", "is_nonzero",
	                                    "_unique2", "masked_select",       "equal"};

	if (len < 10 || memcmp(name, "aten::", 6) != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name + 6, names[i]) == 0)
			return true;
	return false;
}

int call_stack_add(struct trace *t, const struct chrome_text *stack)
{
	struct event_detail d = {.bytes = SB_NULL, .sequence = SB_NULL};
	int rc;

	if (stack->token != JPULL_STRING || stack->len == 0)
		return SB_OK;
	rc = sb_strings_add(t->strings, stack->text,
	                    stack->len < CALL_STACK_MAX ? stack->len : CALL_STACK_MAX, &d.type);
	return rc == SB_OK ? trace_append_detail(t, &d) : rc;
}
