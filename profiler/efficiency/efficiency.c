#include "profiler/efficiency/efficiency.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/compute_parts.h"

/* Smaller tensors stay in caches, and their operators are mostly start-up. */
#define ELEMENT_WISE_LEAST_BYTES (32e6)

/* Likewise of attention. */
#define ATTENTION_LEAST_FLOPS (1e10)

double product_class_least(int i)
{
	return i == 0 ? 0 : pow(10, 7 + i / 2.0);
}

static int class_of(double flops)
{
	int i = PRODUCT_CLASSES - 1;

	while (i > 0 && flops < product_class_least(i))
		i--;
	return i;
}

static void add_work(struct work_sum *s, double amount, double seconds)
{
	s->calls++;
	s->amount += amount;
	s->seconds += seconds;
}

struct gathered {
	struct rate_point *points;
	size_t count;
	struct overlap_sum overlap;
};

/* Takes in the calls of one capture. */
static int add_calls(const struct capture *c, struct product_call *calls, size_t count, struct gathered *g,
                     struct efficiency *e)
{
	COVERED_AUTO s = {0};
	struct rate_point *grown = realloc(g->points, (g->count + count + 1) * sizeof(*grown));
	int rc = grown ? communication_covered(c, &s) : SB_ENOMEM;

	g->points = grown ? grown : g->points;
	for (size_t i = 0; rc == SB_OK && i < count; i++) {
		double seconds = (double)calls[i].dur_ns / 1e9;

		if (calls[i].precision != PRECISION_FP16) {
			e->other_products++;
		} else if (calls[i].attention) {
			if (calls[i].flops < ATTENTION_LEAST_FLOPS)
				continue;
			add_work(&e->attention, calls[i].flops, seconds);
			e->attention_whole |= calls[i].whole;
		} else {
			add_work(&e->products, calls[i].flops, seconds);
			add_work(&e->product_class[class_of(calls[i].flops)], calls[i].flops, seconds);
			g->points[g->count++] = (struct rate_point){calls[i].flops, seconds, 1};
		}
	}
	if (rc == SB_OK)
		overlap_add(&s, calls, count, &g->overlap);
	return rc;
}

/* Goes through each of its tensors once, whole: what the shapes say is what moves. Others read a part of an
 * input (Gather, Slice), or none (ZerosLike). */
static bool is_element_wise(const char *type)
{
	static const char *const names[] = {"Add",
	                                    "Sub",
	                                    "Mul",
	                                    "Muls",
	                                    "Div",
	                                    "RealDiv",
	                                    "Cast",
	                                    "Relu",
	                                    "ReluGrad",
	                                    "Gelu",
	                                    "GeluGrad",
	                                    "FastGelu",
	                                    "FastGeluGrad",
	                                    "Swish",
	                                    "SwishGrad",
	                                    "SwiGlu",
	                                    "SwiGluGrad",
	                                    "Silu",
	                                    "SiluGrad",
	                                    "Sigmoid",
	                                    "SigmoidGrad",
	                                    "Tanh",
	                                    "TanhGrad",
	                                    "Exp",
	                                    "Sqrt",
	                                    "Rsqrt",
	                                    "Square",
	                                    "Neg",
	                                    "Maximum",
	                                    "Minimum",
	                                    "Axpy",
	                                    "TensorMove",
	                                    "ForeachAddList",
	                                    "ForeachMulScalar"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(type, names[i]) == 0)
			return true;
	return false;
}

static void add_element_wise(const struct capture *c, struct efficiency *e)
{
	const struct rank_view v = {.c = c};

	for (size_t i = 0; i < c->kernel_count; i++) {
		const struct kernel *k = &c->kernels[i];
		double bytes;

		if (k->communication || k->dur_ns <= 0 || !on_vector_cores(&v, k) ||
		    !is_element_wise(view_text(&v, k->type)))
			continue;
		bytes = kernel_work(&v, k).bytes;
		if (bytes >= ELEMENT_WISE_LEAST_BYTES)
			add_work(&e->element_wise, bytes, (double)k->dur_ns / 1e9);
	}
}

static void name_chip(const struct profile *p, struct efficiency *e)
{
	for (size_t i = 0; i < p->count; i++) {
		if (i > 0 && strcmp(p->captures[i].chip, p->captures[0].chip) != 0) {
			e->chip[0] = '\0';
			return;
		}
		snprintf(e->chip, sizeof(e->chip), "%s", p->captures[i].chip);
	}
}

int efficiency_measure(const struct profile *p, struct efficiency *out)
{
	struct gathered g = {0};
	struct efficiency *e = out;
	int rc = SB_OK;

	*e = (struct efficiency){.overlap_slowdown = NAN};
	name_chip(p, e);
	for (size_t i = 0; rc == SB_OK && i < p->count; i++) {
		struct product_call *calls = NULL;
		size_t count = 0;

		rc = product_calls(&p->captures[i], &calls, &count);
		if (rc == SB_OK)
			rc = add_calls(&p->captures[i], calls, count, &g, e);
		add_element_wise(&p->captures[i], e);
		free(calls);
	}
	e->product_fit = rate_fit_of(g.points, rate_points_merge(g.points, g.count, false));
	free(g.points);
	e->overlapped = g.overlap.calls;
	if (g.overlap.calls > 0)
		e->overlap_slowdown = g.overlap.beside / g.overlap.alone;
	if (rc == SB_OK)
		rc = gaps_measure(p, &e->gaps, &e->gap_seconds);
	return rc == SB_OK ? collective_rates(p, e) : rc;
}
