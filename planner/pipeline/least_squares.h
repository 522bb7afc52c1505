#ifndef SB_PLANNER_PIPELINE_LEAST_SQUARES_H
#define SB_PLANNER_PIPELINE_LEAST_SQUARES_H
#include <stddef.h>

#include "base/err.h"

#define LEAST_SQUARES_COLUMNS_MAX 8

/* The x that makes the sum of squares of a x - b least: Householder's QR with column pivoting (Businger and
 * Golub, 1965) on columns scaled to length 1. a: rows x columns, row by row, rows >= columns; a and b are
 * overwritten. SB_EIMPOSSIBLE when the columns do not tell their unknowns apart: *out_dependent is one that
 * the others make up. O(rows * columns^2). */
int least_squares(double *a, double *b, size_t rows, size_t columns, double *out, size_t *out_dependent);
#endif
