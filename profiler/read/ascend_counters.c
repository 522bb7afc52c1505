#include "profiler/read/ascend_counters.h"

#include <math.h>
#include <string.h>

static bool ends(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(text + len - n, end, n) == 0;
}

static bool is(const char *text, size_t len, const char *what)
{
	return strlen(what) == len && memcmp(text, what, len) == 0;
}

struct counter counter_of(const char *name, size_t len)
{
	const char *unit = memchr(name, '(', len);
	size_t n = unit ? (size_t)(unit - name) : len;
	struct counter c = {.vector = len > 4 && memcmp(name, "aiv_", 4) == 0};

	if (ends(name, n, "_fops"))
		c = (struct counter){COUNTER_FLOPS, c.vector, 1};
	else if (ends(name, n, "_main_memory_datas"))
		c = (struct counter){COUNTER_BYTES, c.vector, unit ? 1024 : 1};
	else if (ends(name, n, "main_mem_read_bw") || ends(name, n, "main_mem_write_bw"))
		c = (struct counter){COUNTER_RATE, c.vector, unit ? 1e9 : 1};
	else if (is(name, n, "aicore_time") || is(name, n, "aic_total_time") || is(name, n, "aiv_time") ||
	         is(name, n, "aiv_total_time"))
		c = (struct counter){COUNTER_TIME, c.vector, unit ? 1e-6 : 1e-9};
	else if (is(name, n, "aic_total_cycles") || is(name, n, "aiv_total_cycles"))
		c = (struct counter){COUNTER_CYCLES, c.vector, 1};
	return c;
}

static void add(double *sum, double v)
{
	*sum = isnan(*sum) ? v : *sum + v;
}

void counter_add(struct counter_sums *s, const struct counter *c, double value)
{
	double v = value * c->scale;

	if (!(v >= 0) || !isfinite(v)) {
		s->unreadable |= 1U << c->kind;
		return;
	}
	switch (c->kind) {
	case COUNTER_FLOPS: add(&s->flops, v); break;
	case COUNTER_BYTES: add(&s->bytes, v); break;
	case COUNTER_RATE: add(&s->rate[c->vector], v); break;
	case COUNTER_TIME: s->seconds[c->vector] = v; break;
	case COUNTER_CYCLES: s->cycles[c->vector] = v; break;
	case COUNTER_NONE: break;
	}
}

static bool readable(const struct counter_sums *s, enum counter_kind kind)
{
	return !(s->unreadable & 1U << kind);
}

/* Were the cores at work? One version of msprof wrote a time for cores that had no cycle. */
static bool at_work(const struct counter_sums *s, int vector)
{
	return (isnan(s->cycles[vector]) ? s->seconds[vector] : s->cycles[vector]) > 0;
}

void counter_finish(const struct counter_sums *s, struct kernel *k)
{
	double bytes = s->bytes;

	for (int i = 0; i < 2 && isnan(s->bytes); i++) {
		double seconds = isnan(s->seconds[i]) ? (double)k->dur_ns / 1e9 : s->seconds[i];

		if (!isnan(s->rate[i]) && (seconds > 0 || !isnan(s->seconds[i])))
			add(&bytes, s->rate[i] * seconds);
	}
	if (!readable(s, COUNTER_BYTES) || !readable(s, COUNTER_RATE) ||
	    (!readable(s, COUNTER_TIME) && isnan(s->bytes)))
		bytes = NAN;
	k->flops = readable(s, COUNTER_FLOPS) ? (float)s->flops : NAN;
	k->bytes = (float)bytes;
	k->vector = at_work(s, 1) && !at_work(s, 0);
	/* what does not fit a float was no count */
	if (isinf(k->flops))
		k->flops = NAN;
	if (isinf(k->bytes))
		k->bytes = NAN;
}

bool pipe_is_inner(const char *name)
{
	return !strstr(name, "mte2") && !strstr(name, "mte3") && !strstr(name, "fixpipe");
}
