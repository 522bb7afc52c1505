#ifndef SB_PROFILER_FINDINGS_SIZE_TIME_H
#define SB_PROFILER_FINDINGS_SIZE_TIME_H
#include <stdbool.h>

/* How long a transfer of a size takes, from the transfers of a capture: latency + bytes x us_per_byte, by
 * least squares. The f(size) of Hermes 5.5. */
struct size_time {
	double latency_us, us_per_byte;
	bool known;
};
/* Sums of what is fitted; zero-initialised before. */
struct size_fit {
	double n, x, y, xx, xy; /* weights; bytes and us, weighted */
	double least, most;     /* sizes seen */
};
/* Adds `count` transfers of one size, us each. */
void size_fit_add(struct size_fit *f, double bytes, double us, double count);
/* The line through them; not known when their sizes are all about the same. Neither part is negative. */
struct size_time size_fit_line(const struct size_fit *f);
/* The line through one size, when the rate of very large ones is known (bytes per second). */
struct size_time size_fit_at_rate(const struct size_fit *f, double bytes_per_second);
/* How long `count` transfers of together `bytes` take, us. NaN when the line is not known. */
double size_time_us(const struct size_time *t, double count, double bytes);
#endif
