#ifndef SB_TESTS_BENCH_PARSERS_H
#define SB_TESTS_BENCH_PARSERS_H
#include <jansson.h>

#include "tests/bench/bench.h"

/* What others need to read a JSON file: the baselines of the readers. */

static inline void run_jansson(const struct file *f, struct result *r)
{
	double start = now();
	json_t *doc = json_load_file(f->path, 0, NULL);

	r->seconds = now() - start;
	r->anon_mib = anon_mib();
	r->ok = doc != NULL;
	json_decref(doc);
}

static inline void run_python(const struct file *f, struct result *r)
{
	const char *argv[] = {"python3", "-c", "import json,sys; json.load(open(sys.argv[1], 'rb'))", f->path,
	                      NULL};

	run_program(argv, r);
}
#endif
