#include "planner/scaling/lemma.h"

#include <math.h>

double lemma_step(const struct scaling_lemma *l, double devices)
{
	return l->compute / devices + l->overhead;
}

double lemma_efficiency(const struct scaling_lemma *l, double devices)
{
	double r = l->overhead / l->compute;

	return (1 + r) / (1 + devices * r);
}

double lemma_limit(const struct scaling_lemma *l)
{
	return l->overhead > 0 ? l->compute / l->overhead + 1 : INFINITY;
}

double lemma_most_devices(const struct scaling_lemma *l, double share)
{
	double r = l->overhead / l->compute, most;

	if (!(r > 0))
		return INFINITY;
	most = floor(((1 + r) / share - 1) / r);
	/* rounding must not cost the device that just reaches the share, nor grant one that does not */
	if (lemma_efficiency(l, most + 1) >= share)
		most++;
	while (most > 1 && most < 0x1p52 && lemma_efficiency(l, most) < share)
		most--;
	return fmax(most, 1);
}

double scaling_efficiency(const struct scaling_point *base, const struct scaling_point *p)
{
	return base->seconds * (double)base->devices / (p->seconds * (double)p->devices);
}

size_t scaling_knee(const struct scaling_point *points, size_t count, double share)
{
	size_t knee = 0;

	while (knee + 1 < count && scaling_efficiency(&points[0], &points[knee + 1]) >= share)
		knee++;
	return knee;
}

/* Sums over the points of u = 1 / (devices * seconds) and v = 1 / seconds: compute * u + overhead * v is then
 * a point's predicted time over its true one, which should be 1. */
struct sums {
	double uu, uv, vv, u, v;
};

static struct sums sums_of(const struct scaling_point *points, size_t count)
{
	struct sums s = {0};
	double scale = points[0].seconds;

	for (size_t i = 0; i < count; i++) {
		double v = scale / points[i].seconds, u = v / (double)points[i].devices;

		s.uu += u * u;
		s.uv += u * v;
		s.vv += v * v;
		s.u += u;
		s.v += v;
	}
	return s;
}

int lemma_fit(const struct scaling_point *points, size_t count, struct scaling_lemma *out, double *out_error)
{
	struct scaling_lemma l;
	struct sums s;
	double determinant, error = 0;
	bool differ = false;

	for (size_t i = 1; i < count; i++)
		differ |= points[i].devices != points[0].devices;
	if (!differ)
		return SB_ENOENT;
	s = sums_of(points, count);
	determinant = s.uu * s.vv - s.uv * s.uv;
	l.compute = (s.u * s.vv - s.v * s.uv) / determinant;
	l.overhead = (s.v * s.uu - s.u * s.uv) / determinant;
	if (!(l.overhead >= 0 && isfinite(l.compute)))
		l = (struct scaling_lemma){s.u / s.uu, 0};
	else if (!(l.compute >= 0))
		l = (struct scaling_lemma){0, s.v / s.vv};
	l.compute *= points[0].seconds;
	l.overhead *= points[0].seconds;
	for (size_t i = 0; i < count; i++)
		error += fabs(lemma_step(&l, (double)points[i].devices) / points[i].seconds - 1);
	*out = l;
	*out_error = error / (double)count;
	return SB_OK;
}

struct scaling_overlap scaling_overlap(const struct scaling_gradient *gradients, size_t count)
{
	struct scaling_overlap x = {0};

	for (size_t i = 0; i < count; i++) {
		x.backward_end += gradients[i].backward;
		x.all_reduce_end = fmax(x.backward_end, x.all_reduce_end) + gradients[i].all_reduce;
	}
	x.exposed = x.all_reduce_end - x.backward_end;
	return x;
}

double scaling_servers(double bytes, double workers, double bytes_per_second, double compute_seconds)
{
	return 2 * bytes * workers / (bytes_per_second * compute_seconds);
}
