#ifndef SB_TESTS_FIELD_ANSWER_H
#define SB_TESTS_FIELD_ANSWER_H
#include "tests/shared.h"

#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "profiler/analysis.h"
#include "profiler/critical_path.h"
#include "profiler/operators.h"
#include "profiler/read.h"

/* A file of $SIGNALBOX_SHARED, read and analysed. */
struct answer {
	struct profile p;
	struct breakdown b;
	struct operator_table o;
	struct communication_report c;
	struct analysis a;
	struct critical_paths paths;
};

static inline void answer_free(struct answer *x)
{
	critical_paths_free(&x->paths);
	analysis_free(&x->a);
	communication_free(&x->c);
	operators_free(&x->o);
	breakdown_free(&x->b);
	profile_free(&x->p);
}
#define ANSWER_AUTO __attribute__((cleanup(answer_free))) struct answer

/* Everything that follows from out->p. */
static inline void answer_compute(struct answer *out)
{
	struct sb_error err = {0};
	COLLECTIVES_AUTO collectives = {0};

	assert_int_equal(breakdown_compute(&out->p, &out->p.warnings, &out->b, &err), SB_OK);
	assert_int_equal(operators_collect(&out->p, &out->o, &err), SB_OK);
	assert_int_equal(communication_compute(&out->p, threshold_get(&THRESHOLDS_DEFAULT, "r_wait")->value,
	                                       &out->c, &err),
	                 SB_OK);
	assert_int_equal(collectives_match(&out->p, &collectives), SB_OK);
	assert_int_equal(
	    analysis_run(&out->p, &out->b, &out->c, &collectives, &THRESHOLDS_DEFAULT, &out->a, &err), SB_OK);
	assert_int_equal(critical_paths_find(&out->p, &collectives, &out->paths, &err), SB_OK);
}

static inline void answer_of(const char *folder, const char *name, struct answer *out)
{
	char relative[512];
	struct sb_error err = {0};
	struct stat st;
	char *path;

	(void)snprintf(relative, sizeof(relative), "%s/%s", folder, name);
	path = shared_path(relative);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	struct read_input input = {.path = name, .fd = fd, .length = st.st_size};

	if (profile_read(&input, 1, &READ_LIMITS_DEFAULT, NULL, &out->p, &err) != SB_OK)
		fail_msg("%s: %s", name, err.text);
	close(fd);
	answer_compute(out);
}

static inline const struct finding *found(const struct answer *x, const char *code, int64_t rank)
{
	for (size_t i = 0; i < x->a.count; i++)
		if (strcmp(x->a.findings[i].code, code) == 0 && x->a.findings[i].rank == rank)
			return &x->a.findings[i];
	return NULL;
}

static inline void same(const char *where, const char *what, int64_t value, int64_t expected)
{
	if (value != expected)
		fail_msg("%s: %s is %lld, not %lld", where, what, (long long)value, (long long)expected);
}
#endif
