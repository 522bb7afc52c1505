#ifndef SB_BASE_ERR_H
#define SB_BASE_ERR_H
#include <stdarg.h>
#include <stdint.h>

/* Every fallible function returns SB_OK or a negative SB_E* code. Results travel through trailing out_
 * pointers, written only on success. `errno` never crosses a module border. The one table that maps these
 * codes to HTTP statuses is api/problem.c. */
enum sb_err {
	SB_OK = 0,
	SB_ENOMEM = -1,
	SB_EIO = -2,
	SB_EINVAL = -3, /* malformed: not JSON, unknown or missing member, wrong type */
	SB_ELIMIT = -4, /* a configured bound was passed */
	SB_ENOENT = -5,
	SB_ECONFLICT = -6,   /* exists already, or not in the state that the call needs */
	SB_EFORMAT = -7,     /* an input that cannot be read as a profile */
	SB_EIMPOSSIBLE = -8, /* right shape, impossible value */
	SB_EINFEASIBLE = -9, /* a planning problem without a solution */
	SB_ENOSPC = -10,
	SB_ECANCELED = -11,
	SB_EBUSY = -12,    /* try again later */
	SB_EREADONLY = -13 /* storage refuses writes; reads go on */
};

/* The one error report: where the user must be told why. All texts are NUL-terminated and may be cut. */
struct sb_error {
	int code;        /* SB_E*, SB_OK while unset */
	char word[40];   /* stable machine word, e.g. "truncated", "too_deep", "infeasible" */
	char text[400];  /* a sentence for a person */
	char file[256];  /* path inside the upload, or "" */
	int64_t line;    /* 1-based, 0 = unknown */
	int64_t offset;  /* byte offset in the (inflated) file, -1 = unknown */
	char field[160]; /* JSON pointer or column name, or "" */
};

/* Fills *err (NULL is fine) and returns code, so that `return sb_fail(err, SB_EFORMAT, "truncated", …)`
 * works. */
int sb_fail(struct sb_error *err, int code, const char *word, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* As sb_fail() when memory is out. */
int sb_no_memory(struct sb_error *err);
/* As sb_fail(), with the position. file may be NULL. */
int sb_fail_at(struct sb_error *err, int code, const char *word, const char *file, int64_t line,
               int64_t offset, const char *fmt, ...) __attribute__((format(printf, 7, 8)));
/* As sb_fail(), naming the offending field (a JSON pointer or a column). */
int sb_fail_field(struct sb_error *err, int code, const char *word, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The field and the text of an error in a sentence that stands alone: "/stages must be at least 1", "/layers:
 * the model has none". */
#define SB_ERROR_SENTENCE_MAX 562
void sb_error_sentence(const struct sb_error *err, char out[SB_ERROR_SENTENCE_MAX]);
/* A short English text for an SB_E* code. */
const char *sb_strerror(int code);
#endif
