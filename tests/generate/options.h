#ifndef SB_TESTS_GENERATE_OPTIONS_H
#define SB_TESTS_GENERATE_OPTIONS_H
#include <stdint.h>

/* The command line of the generator: one row of DIALECTS (main.c) and one function a dialect. */
struct dialect {
	const char *name;
	const char *usage;                 /* one line or more, each ends with a line break */
	int (*run)(int argc, char **argv); /* argv[0] is the dialect; returns the exit status */
};

/* The next option's letter, or -1 at the end; only letters of `own` are allowed. The value is in optarg.
 * Letters: e events, k kernels, s steps, r ranks, d seed, l level, f fault, n name, t truth, o old, z gzip, b
 * db, y layout, w workers, m missing, p shape, i noise, x skew, u units, g graphs, c culprit, q reduces, v
 * packet-ns, a scatter, j padding, h prefetch. */
int option_next(int argc, char **argv, const char *own);
/* A number between low and high, or the end of the program. */
int64_t option_number(const char *text, int64_t low, int64_t high);
/* The index of text in names (ends with NULL), or the end of the program. */
int option_word(const char *const *names, const char *text);
/* The last argument; NULL when there is none but a truth: then nothing else is written. */
const char *option_path(int argc, char **argv, const char *truth);
/* Ends the program with a message and the usage. */
_Noreturn void option_misuse(const char *what);

extern const struct dialect MINDINSIGHT_DIALECT, KINETO_DIALECT, ASCEND_DIALECT, SIGNALBOX_DIALECT,
    NSYS_DIALECT, MSPROF_DIALECT, CLUSTER_DIALECT;
#endif
