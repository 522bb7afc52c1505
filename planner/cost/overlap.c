#include "planner/cost/overlap.h"

#include <math.h>

double overlap_won(const struct constants *k, double together)
{
	return fmax(0, 2 - k->overlap_slowdown) * together;
}

double overlap_pieces(double exchange, double product, double q)
{
	return fmin(exchange, product) * (q - 1) / q;
}

bool overlap_tensor_ranks(const struct strategy *s)
{
	return s->overlap_tensor && s->sequence_parallel && s->tp > 1 && tensor_grid_of(s).x == 1;
}

bool overlap_in_pairs(const struct strategy *s)
{
	return s->overlap_expert && s->ep > 1 && s->schedule == PIPELINE_1F1B && (s->pp == 1 || s->vpp > 1);
}

bool overlap_between_stages(const struct strategy *s)
{
	return s->overlap_sends && (s->vpp > 1 || s->schedule == PIPELINE_DUALPIPE);
}
