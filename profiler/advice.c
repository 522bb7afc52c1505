#include "profiler/advice.h"

#include <string.h>

bool advice_setting_holds(const struct advice_setting *s, enum platform p)
{
	return (s->only & (unsigned)p) != 0;
}

bool advice_holds(const struct advice_action *a, enum platform p)
{
	for (size_t i = 0; i < ADVICE_SETTINGS_MAX && a->settings[i].software; i++)
		if (advice_setting_holds(&a->settings[i], p))
			return true;
	return false;
}

const struct advice *advice_for(const char *code)
{
	static const struct advice_table *const tables[] = {
	    &ADVICE_PARALLEL,      &ADVICE_IO,     &ADVICE_CPU, &ADVICE_COMPUTE,
	    &ADVICE_COMMUNICATION, &ADVICE_MEMORY, &ADVICE_MOE};

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (size_t i = 0; i < tables[t]->count; i++)
			if (strcmp(tables[t]->items[i].code, code) == 0)
				return &tables[t]->items[i];
	return NULL;
}
