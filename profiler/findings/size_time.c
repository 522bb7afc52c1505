#include "profiler/findings/size_time.h"

#include <math.h>

/* Sizes closer than this tell nothing of the slope. */
#define SPREAD 1.5

void size_fit_add(struct size_fit *f, double bytes, double us, double count)
{
	if (!(bytes > 0) || !(us >= 0) || !(count > 0) || isinf(bytes * us * count))
		return;
	f->least = f->n > 0 ? fmin(f->least, bytes) : bytes;
	f->most = fmax(f->most, bytes);
	f->n += count;
	f->x += count * bytes;
	f->y += count * us;
	f->xx += count * bytes * bytes;
	f->xy += count * bytes * us;
}

struct size_time size_fit_line(const struct size_fit *f)
{
	struct size_time t = {NAN, NAN, false};
	double spread = f->n * f->xx - f->x * f->x;

	if (!(f->n > 0) || !(f->most >= SPREAD * f->least) || !(spread > 0))
		return t;
	t.us_per_byte = (f->n * f->xy - f->x * f->y) / spread;
	t.latency_us = (f->y - t.us_per_byte * f->x) / f->n;
	/* noise may tilt the line too far: then one of the two is nothing */
	if (t.latency_us < 0) {
		t.latency_us = 0;
		t.us_per_byte = f->xy / f->xx;
	} else if (t.us_per_byte < 0) {
		t.us_per_byte = 0;
		t.latency_us = f->y / f->n;
	}
	t.known = isfinite(t.latency_us) && isfinite(t.us_per_byte);
	return t;
}

struct size_time size_fit_at_rate(const struct size_fit *f, double bytes_per_second)
{
	struct size_time t = {NAN, NAN, false};

	if (!(f->n > 0) || !(bytes_per_second > 0))
		return t;
	t.us_per_byte = 1e6 / bytes_per_second;
	t.latency_us = fmax(0, (f->y - t.us_per_byte * f->x) / f->n);
	t.known = isfinite(t.latency_us);
	return t;
}

double size_time_us(const struct size_time *t, double count, double bytes)
{
	return t->known ? count * t->latency_us + bytes * t->us_per_byte : NAN;
}
