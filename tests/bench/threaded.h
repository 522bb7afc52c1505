#ifndef SB_TESTS_BENCH_THREADED_H
#define SB_TESTS_BENCH_THREADED_H
#include <stdio.h>

#include "api/profiles/documents.h"
#include "server/readers.h"

/* Reads and analyses with helping threads, as the service does; threads -1 = those of this machine. */
static inline int compute_with(int threads, const struct read_input *inputs, size_t count,
                               struct profile_results *out)
{
	struct readers *readers = NULL;
	struct reader_team team;
	struct read_hooks hooks = {.executor = &team.executor};
	struct sb_error err = {0};
	int rc = readers_new(threads, &readers);

	if (rc != SB_OK)
		return rc;
	reader_team_init(&team, readers);
	rc = results_compute(inputs, count, &READ_LIMITS_DEFAULT, &hooks, &THRESHOLDS_DEFAULT, out, &err);
	reader_team_end(&team);
	readers_free(&readers);
	if (rc != SB_OK)
		fprintf(stderr, "%s: %s\n", err.word, err.text);
	return rc;
}
#endif
