#ifndef SB_PLANNER_NETWORK_LINK_RATE_H
#define SB_PLANNER_NETWORK_LINK_RATE_H

/* A link as one rate and one latency, whatever the size of a message. */
struct link_rate {
	double bytes_per_second; /* INFINITY: not counted */
	double latency_seconds;
};

static inline double link_seconds(const struct link_rate *l, double bytes)
{
	return l->latency_seconds + bytes / l->bytes_per_second;
}
#endif
