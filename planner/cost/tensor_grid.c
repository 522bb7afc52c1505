#include "planner/cost/tensor_grid.h"

double tensor_grid_elements(const struct tensor_grid *t, double rows, double inner, double outer)
{
	double x = (double)t->x, y = (double)t->y, z = (double)t->z;

	return 2 * (rows * outer * (x - 1) + rows * inner * (y - 1) + inner * outer * (z - 1)) / (x * y * z);
}

double tensor_grid_seconds(const struct network *n, const struct tensor_grid *t, const struct group groups[3],
                           double rows, double inner, double outer, double bytes)
{
	double x = (double)t->x, y = (double)t->y, z = (double)t->z;

	return all_reduce_seconds(n, &groups[0], bytes * rows * outer / (y * z)) +
	       all_reduce_seconds(n, &groups[1], bytes * rows * inner / (x * z)) +
	       all_reduce_seconds(n, &groups[2], bytes * inner * outer / (x * y));
}
