#include "profiler/read/environment.h"

#include "base/grow.h"

static bool has(const struct capture *c, uint32_t name)
{
	for (size_t i = 0; i < c->environment_count; i++)
		if (c->environment[i].name == name)
			return true;
	return false;
}

int environment_add(struct capture *c, const char *name, size_t name_len, const char *value, size_t value_len)
{
	struct environment e = {0};
	int rc;

	if (name_len == 0 || name_len > ENVIRONMENT_NAME_MAX || c->environment_count == ENVIRONMENT_MAX)
		return SB_OK;
	rc = sb_strings_add(c->trace.strings, name, name_len, &e.name);
	if (rc == SB_OK && has(c, e.name))
		return SB_OK;
	if (rc == SB_OK)
		rc = sb_strings_add(c->trace.strings, value,
		                    value_len < ENVIRONMENT_VALUE_MAX ? value_len : ENVIRONMENT_VALUE_MAX,
		                    &e.value);
	if (rc == SB_OK)
		rc = sb_grow(&c->environment, c->environment_count, sizeof(e));
	if (rc == SB_OK)
		c->environment[c->environment_count++] = e;
	return rc;
}

int environment_lend(struct capture *to, const struct capture *from)
{
	int rc = SB_OK;

	for (size_t i = 0; rc == SB_OK && i < from->environment_count; i++) {
		size_t name_len, value_len;
		const char *name = trace_text(&from->trace, from->environment[i].name, &name_len);
		const char *value = trace_text(&from->trace, from->environment[i].value, &value_len);

		rc = environment_add(to, name, name_len, value, value_len);
	}
	return rc;
}
