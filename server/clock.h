#ifndef SB_SERVER_CLOCK_H
#define SB_SERVER_CLOCK_H
#include <stdint.h>
#include <time.h>

/* Microseconds since the epoch. */
static inline int64_t clock_wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Nanoseconds of a clock that never goes back. */
static inline int64_t clock_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#define CLOCK_SECOND_NS INT64_C(1000000000)
#endif
