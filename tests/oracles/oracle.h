#ifndef SB_TESTS_ORACLES_ORACLE_H
#define SB_TESTS_ORACLES_ORACLE_H
#include "tests/shared.h"

#include <jansson.h>

static inline json_t *load(const char *relative)
{
	char *path = shared_path(relative);
	json_error_t error;
	json_t *v = json_load_file(path, 0, &error);

	if (!v)
		fail_msg("%s: %s", path, error.text);
	free(path);
	return v;
}

static inline json_int_t integer(const json_t *o, const char *member, json_int_t missing)
{
	const json_t *v = json_object_get(o, member);

	return json_is_number(v) ? (json_int_t)json_number_value(v) : missing;
}
#endif
