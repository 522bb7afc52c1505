#ifndef SB_TESTS_SHARED_H
#define SB_TESTS_SHARED_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Files for the oracle and field rings live outside the repository, in the directory that the environment
 * variable SIGNALBOX_SHARED names. shared_path() gives the path of one of them (relative to that directory),
 * to be freed by the caller. The test is skipped when the variable is unset or empty, and fails when it is
 * set and the file is not there. */
static inline char *shared_path(const char *relative)
{
	const char *root = getenv("SIGNALBOX_SHARED");
	char *path = NULL;

	if (!root || !*root)
		skip();
	if (asprintf(&path, "%s/%s", root, relative) < 0)
		fail_msg("out of memory");
	if (access(path, R_OK) != 0)
		fail_msg("SIGNALBOX_SHARED is set, but %s is not there", path);
	return path;
}
#endif
