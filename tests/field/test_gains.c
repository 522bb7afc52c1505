/* Every sample: what its findings promise together is never more than the step, on each rank and in all. */
#include "base/num.h"
#include "tests/field/answer.h"
#include "tests/field/samples.h"

/* The mean step of one device, from the rows of the breakdown: its steps with their bubbles, or the host's
 * where those are longer, or the whole capture by the number of its steps, which on a GPU holds time between
 * the steps, too. 0 = not known. */
static int64_t mean_step(const struct breakdown_row *rows, size_t n)
{
	int64_t spans = 0, steps = 0, count = 0, whole = sb_larger(rows[n - 1].span_ns, 0);

	for (size_t i = 0; i + 1 < n; i++) {
		if (rows[i].span_ns <= 0 && rows[i].step_ns <= 0)
			continue;
		count++;
		spans += sb_larger(rows[i].span_ns, 0) + sb_larger(rows[i].bubble_ns, 0);
		steps += sb_larger(rows[i].step_ns, 0);
	}
	if (rows[n - 1].bubble_ns == SB_NULL || count == 0)
		spans = sb_larger(spans, whole + sb_larger(rows[n - 1].bubble_ns, 0));
	return sb_larger(spans, steps) / sb_larger(count, 1);
}

/* The longest mean step of the devices and captures of a rank; of all ranks for SB_NULL. */
static int64_t longest_step(const struct answer *x, int64_t rank)
{
	const struct breakdown_row *rows = x->b.rows;
	int64_t longest = 0;

	for (size_t from = 0, to = 0; from < x->b.count; from = to) {
		while (to < x->b.count && rows[to].capture == rows[from].capture &&
		       rows[to].device == rows[from].device)
			to++;
		if (rank == SB_NULL || rows[from].rank == rank)
			longest = sb_larger(longest, mean_step(rows + from, to - from));
	}
	return longest;
}

static void check_rank(const char *name, const struct answer *x, int64_t rank)
{
	int64_t step = longest_step(x, rank), sum = 0;

	for (size_t i = 0; i < x->a.count; i++)
		if (rank == SB_NULL || x->a.findings[i].rank == rank)
			sum += sb_larger(x->a.findings[i].gain_ns, 0);
	if (sum > step)
		fail_msg("%s: rank %lld: %lld ns are promised of %lld", name, (long long)rank, (long long)sum,
		         (long long)step);
}

static void check(const char *name, const struct answer *x)
{
	for (size_t i = 0; i < x->p.count; i++)
		check_rank(name, x, x->p.captures[i].rank);
	check_rank(name, x, SB_NULL);
}

static void look(const char *name, struct profile *p)
{
	ANSWER_AUTO x = {.p = *p};

	*p = (struct profile){0};
	answer_compute(&x);
	check(name, &x);
}

static void findings_promise_no_more_than_the_step(void **state)
{
	(void)state;
	every_sample(look);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(findings_promise_no_more_than_the_step)};

	return cmocka_run_group_tests_name("gains", tests, NULL, NULL);
}
