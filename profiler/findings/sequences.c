#include "profiler/findings/sequences.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/grow.h"
#include "base/num.h"
#include "profiler/intervals.h"

/* Sequences are numbered length by length: one of length n is what one of length n - 1 and a last operator
 * are, and only the frequent ones go on. So equality is exact, and each length costs O(n). */

#define NO_ID UINT32_MAX
/* Of many that overlap the first few are tried: the rest are parts and turns of them. */
#define TRIED_MAX 40

struct slot {
	uint32_t prefix, last, id; /* id + 1, 0 = free */
};

struct table {
	struct slot *slots;
	size_t mask;
};

/* How often a sequence of the present length was seen, without overlaps. */
struct seen {
	uint32_t count, end;
};

struct search {
	const struct sequence_op *ops;
	size_t n;
	const struct sequence_rule *rule;
	uint32_t *ids; /* of the sequence that begins at each operator; NO_ID = not frequent */
	struct seen *seen;
	struct sequence *sums; /* by id, of the frequent ones' place in frequent */
	uint32_t *frequent;    /* id → place in sums, NO_ID */
	struct sequence *candidates;
	size_t candidate_count;
	struct table table;
	/* n + 1: of the operators before each one. What lies between two is their difference, also where the
	 * sums themselves have passed 2^64. */
	uint64_t *work;
	bool memory; /* some operator has a part of memory */
};

static void search_free(struct search *s)
{
	free(s->ids);
	free(s->seen);
	free(s->sums);
	free(s->frequent);
	free(s->candidates);
	free(s->table.slots);
	free(s->work);
}

/* No operator is longer in a sum: those of SEQUENCE_LENGTH_MAX fit in 63 bits then. */
#define LONGEST ((int64_t)1 << 58)

static void sum_up(struct search *s)
{
	s->work[0] = 0;
	for (size_t i = 0; i < s->n; i++) {
		int64_t ns = s->ops[i].dur_ns;

		s->work[i + 1] = s->work[i] + (uint64_t)(ns < LONGEST ? ns : LONGEST);
		s->memory = s->memory || s->ops[i].memory_ns > 0;
	}
}

static int search_init(struct search *s)
{
	size_t size = 16;

	while (size < 2 * s->n)
		size *= 2;
	s->ids = calloc(s->n + 1, sizeof(*s->ids));
	s->seen = calloc(s->n + 1, sizeof(*s->seen));
	s->sums = calloc(s->n + 1, sizeof(*s->sums));
	s->frequent = calloc(s->n + 1, sizeof(*s->frequent));
	s->table = (struct table){calloc(size, sizeof(struct slot)), size - 1};
	s->work = malloc((s->n + 1) * sizeof(*s->work));
	if (!s->ids || !s->seen || !s->sums || !s->frequent || !s->table.slots || !s->work)
		return SB_ENOMEM;
	sum_up(s);
	return SB_OK;
}

static uint32_t number(struct table *t, uint32_t prefix, uint32_t last, uint32_t *next)
{
	uint64_t hash = ((uint64_t)prefix << 32 | last) * UINT64_C(0x9E3779B97F4A7C15);

	for (size_t i = (size_t)(hash >> 20) & t->mask;; i = (i + 1) & t->mask) {
		struct slot *s = &t->slots[i];

		if (s->id == 0)
			*s = (struct slot){prefix, last, ++*next};
		if (s->prefix == prefix && s->last == last)
			return s->id - 1;
	}
}

/* The first length: the operators themselves. */
static void number_operators(struct search *s)
{
	uint32_t next = 0;

	memset(s->table.slots, 0, (s->table.mask + 1) * sizeof(struct slot));
	for (size_t i = 0; i < s->n; i++)
		s->ids[i] = number(&s->table, NO_ID, s->ops[i].name, &next);
}

/* Goes from length - 1 to length. Returns how many different ones there are. */
static uint32_t number_longer(struct search *s, size_t length)
{
	uint32_t next = 0;

	memset(s->table.slots, 0, (s->table.mask + 1) * sizeof(struct slot));
	for (size_t i = 0; i < s->n; i++) {
		size_t last = i + length - 1;

		/* both of its parts must be frequent, and no break between them */
		if (last >= s->n || s->ids[i] == NO_ID || s->ids[i + 1] == NO_ID || s->ops[last].breaks) {
			s->ids[i] = NO_ID;
			continue;
		}
		s->ids[i] = number(&s->table, s->ids[i], s->ops[last].name, &next);
	}
	return next;
}

static void count(struct search *s, size_t length, uint32_t different)
{
	memset(s->seen, 0, different * sizeof(*s->seen));
	for (size_t i = 0; i < s->n; i++) {
		struct seen *x = s->ids[i] == NO_ID ? NULL : &s->seen[s->ids[i]];

		if (!x || i < x->end)
			continue;
		x->count++;
		x->end = (uint32_t)(i + length);
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->ids[i] != NO_ID && (int64_t)s->seen[s->ids[i]].count <= s->rule->occurrences)
			s->ids[i] = NO_ID;
}

static void add_occurrence(const struct search *s, struct sequence *q, size_t at)
{
	const struct sequence_op *first = &s->ops[at], *last = &s->ops[at + q->length - 1];
	int64_t end = interval_end(last->start_ns, last->dur_ns);
	bool memory = true;

	q->occurrences++;
	q->wall_ns = sb_add_sat(q->wall_ns, sb_sub_sat(end, first->start_ns));
	q->work_ns = sb_add_sat(q->work_ns, (int64_t)(s->work[at + q->length] - s->work[at]));
	for (size_t k = 0; s->memory && k < q->length; k++) {
		q->memory_ns = sb_add_sat(q->memory_ns, first[k].memory_ns);
		memory = memory && first[k].memory_ns > 0;
	}
	q->memory_bound += s->memory && memory;
}

/* Fusing saves what the operators hand to one another through memory: none of them may be at work else. */
static bool is_memory_bound(const struct sequence *q, const struct sequence_rule *rule)
{
	return (double)q->memory_ns > rule->memory_ratio * (double)q->work_ns &&
	       2 * q->memory_bound > q->occurrences;
}

/* Is it worth fusing, and why? */
static bool is_worth(struct sequence *q, const struct sequence_rule *rule)
{
	double ops = (double)q->occurrences * (double)q->length;

	q->host = (double)q->work_ns < rule->host_ratio * (double)q->wall_ns &&
	          (double)q->work_ns <= ops * (double)rule->small_ns;
	return q->occurrences > rule->occurrences && q->wall_ns > rule->wall_ns &&
	       (q->host || is_memory_bound(q, rule));
}

/* One that holds a shorter one twice in a row, and goes on with it, is cut out of repetitions of that one. Of
 * one operator again and again there is no shorter one: that is work for a call with many tensors. */
static bool repeats_itself(const struct sequence_op *ops, const struct sequence *q)
{
	for (size_t period = 1; period <= q->length / 2; period++) {
		size_t k = period;

		while (k < q->length && ops[q->first + k].name == ops[q->first + k - period].name)
			k++;
		if (k == q->length)
			return period > 1;
	}
	return false;
}

static int collect(struct search *s, size_t length, uint32_t different)
{
	size_t frequent = 0;

	for (uint32_t id = 0; id < different; id++) {
		s->frequent[id] = NO_ID;
		if ((int64_t)s->seen[id].count > s->rule->occurrences) {
			s->sums[frequent] = (struct sequence){.length = length};
			s->frequent[id] = (uint32_t)frequent++;
		}
		s->seen[id].end = 0;
	}
	for (size_t i = 0; i < s->n; i++) {
		struct seen *x = s->ids[i] == NO_ID ? NULL : &s->seen[s->ids[i]];
		struct sequence *q = x ? &s->sums[s->frequent[s->ids[i]]] : NULL;

		if (!q || i < x->end)
			continue;
		if (q->occurrences == 0)
			q->first = i;
		add_occurrence(s, q, i);
		x->end = (uint32_t)(i + length);
	}
	for (size_t i = 0; i < frequent; i++) {
		if (!is_worth(&s->sums[i], s->rule) || repeats_itself(s->ops, &s->sums[i]))
			continue;
		if (sb_grow(&s->candidates, s->candidate_count, sizeof(*s->candidates)) != SB_OK)
			return SB_ENOMEM;
		s->candidates[s->candidate_count++] = s->sums[i];
	}
	return SB_OK;
}

static int by_wall(const void *a, const void *b)
{
	const struct sequence *x = a, *y = b;

	return sb_compare((const int64_t[]){-x->wall_ns, -(int64_t)x->length, (int64_t)x->first},
	                  (const int64_t[]){-y->wall_ns, -(int64_t)y->length, (int64_t)y->first}, 3);
}

static bool stands_at(const struct sequence_op *ops, size_t n, const struct sequence *q, size_t at)
{
	if (at + q->length > n)
		return false;
	for (size_t k = 0; k < q->length; k++)
		if (ops[at + k].name != ops[q->first + k].name || (k > 0 && ops[at + k].breaks))
			return false;
	return true;
}

static bool is_free(const uint8_t *marks, size_t at, size_t length)
{
	for (size_t k = 0; k < length; k++)
		if (marks[at + k] != SEQUENCE_NONE)
			return false;
	return true;
}

/* Counts a candidate again on what those before it have left; takes it when it is still worth it. */
static bool take(const struct search *s, const struct sequence *candidate, uint8_t place, uint8_t *marks,
                 struct sequence *out)
{
	struct sequence q = {.first = candidate->first, .length = candidate->length};

	for (size_t i = 0; i < s->n; i++) {
		if (!stands_at(s->ops, s->n, &q, i) || !is_free(marks, i, q.length))
			continue;
		add_occurrence(s, &q, i);
		i += q.length - 1;
	}
	if (!is_worth(&q, s->rule))
		return false;
	for (size_t i = 0; i < s->n; i++) {
		if (!stands_at(s->ops, s->n, &q, i) || !is_free(marks, i, q.length))
			continue;
		memset(marks + i, place, q.length);
		marks[i] |= SEQUENCE_FIRST;
		i += q.length - 1;
	}
	*out = q;
	return true;
}

static void choose(struct search *s, struct sequence out[SEQUENCES_MAX], size_t *out_count, uint8_t *marks)
{
	if (s->candidate_count > 0)
		qsort(s->candidates, s->candidate_count, sizeof(*s->candidates), by_wall);
	for (size_t i = 0; i < s->candidate_count && i < TRIED_MAX && *out_count < SEQUENCES_MAX; i++)
		*out_count += take(s, &s->candidates[i], (uint8_t)*out_count, marks, &out[*out_count]);
}

int sequences_find(const struct sequence_op *ops, size_t n, const struct sequence_rule *rule,
                   struct sequence out[SEQUENCES_MAX], size_t *out_count, uint8_t *marks)
{
	__attribute__((cleanup(search_free))) struct search s = {.ops = ops, .n = n, .rule = rule};
	int rc;

	*out_count = 0;
	memset(marks, SEQUENCE_NONE, n);
	if (n < SEQUENCE_LENGTH_MIN || n > UINT32_MAX / 2)
		return SB_OK;
	rc = search_init(&s);
	if (rc == SB_OK)
		number_operators(&s);
	for (size_t length = SEQUENCE_LENGTH_MIN; rc == SB_OK && length <= SEQUENCE_LENGTH_MAX; length++) {
		uint32_t different = number_longer(&s, length);

		if (different == 0)
			break;
		count(&s, length, different);
		rc = collect(&s, length, different);
	}
	if (rc == SB_OK)
		choose(&s, out, out_count, marks);
	return rc;
}
