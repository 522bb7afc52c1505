#ifndef SB_PROFILER_READ_CSV_H
#define SB_PROFILER_READ_CSV_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profiler/read/stream.h"

/* An incremental CSV reader: quoted fields may hold commas, quotes ("") and line breaks; CR LF, LF or CR end
 * a record, found per file; a byte order mark is skipped; blanks and TABs around an unquoted or quoted number
 * are trimmed by the number getters, not here. Memory is bounded by CSV_RECORD_MAX. One owner. */
#define CSV_RECORD_MAX 4194304 /* 4 MiB */
#define CSV_FIELDS_MAX 4096

struct csv;
/* A reader of a stream, which is borrowed until csv_free(). SB_ENOMEM. */
int csv_new(struct stream *in, struct csv **out);
void csv_free(struct csv **c);
#define CSV_AUTO __attribute__((cleanup(csv_free))) struct csv *

/* Reads the next record; false in *out_more at the end. SB_EFORMAT "truncated" (the file ends inside quotes;
 * the record is dropped), SB_ELIMIT (record or field bound). Empty lines are skipped. */
int csv_next(struct csv *c, bool *out_more, struct sb_error *err);
/* How many fields the present record has. */
size_t csv_count(const struct csv *c);
/* A field of the present record: borrowed until the next csv_next(), followed by a NUL. A field past the end
 * is empty. */
const char *csv_field(const struct csv *c, size_t i, size_t *out_len);
/* Is the present record the last one, without the end of a line behind it? In a file that was cut off its
 * last field may be but a part. */
bool csv_open_end(const struct csv *c);
/* Did the file end too early for sure: inside quotes, in its compression, or inside a record with fewer
 * fields than the header? */
bool csv_cut(const struct csv *c);
/* 1-based line where the present record began. */
int64_t csv_line(const struct csv *c);

/* Keeps the present record as the header. SB_ENOMEM. */
int csv_header(struct csv *c);
/* How many columns the header has; 0 before csv_header(). */
size_t csv_header_count(const struct csv *c);
/* Index of the column with this name (blanks trimmed), or -1. */
int csv_column(const struct csv *c, const char *name);
/* The column of the first of several names that exists, or -1; the list ends with NULL. */
int csv_column_any(const struct csv *c, const char *const *names);
/* A field of the present record without the blanks around it; empty when the column is -1. */
const char *csv_trimmed(const struct csv *c, int column, size_t *out_len);
/* Is this (trimmed) text "no value": empty or N/A? */
bool csv_missing(const char *text, size_t len);
/* Number getters of the present record: SB_ENOENT when the column is -1 or the field empty or N/A, SB_EINVAL
 * when it is no number. Microseconds to ns; integers (3.0 is one); doubles. */
int csv_us(const struct csv *c, int column, int64_t *out_ns);
int csv_int(const struct csv *c, int column, int64_t *out);
int csv_double(const struct csv *c, int column, double *out);
#endif
