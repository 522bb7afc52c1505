#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "base/num.h"
#include "profiler/read/nsys_impl.h"

/* The number behind a mark: "ProfilerStep#12" of PyTorch's profiler, "iteration12", "iteration 12",
 * "step_12", "Step #12" as the documentation of PyTorch, Megatron and others write it. SB_NULL: no such name.
 */
static int64_t number_after(const char *name, const char *mark, const char *between)
{
	size_t n = strlen(mark);
	int64_t number;

	if (strncasecmp(name, mark, n) != 0)
		return SB_NULL;
	n += strspn(name + n, between);
	if (!isdigit((unsigned char)name[n]) || sb_parse_int(name + n, strlen(name + n), &number) != SB_OK)
		return SB_NULL;
	return number;
}

int nsys_see_step(struct nsys *n, const char *name, const struct event *span, uint32_t event)
{
	static const struct {
		const char *mark, *between;
	} FAMILIES[NSYS_FAMILIES] = {
	    [NSYS_PROFILER_STEP] = {"ProfilerStep#", ""},
	    [NSYS_ITERATION] = {"iteration", " _:#="},
	    [NSYS_STEP] = {"step", " _:#="},
	};

	for (int f = 0; f < NSYS_FAMILIES; f++) {
		int64_t number = number_after(name, FAMILIES[f].mark, FAMILIES[f].between);
		struct nsys_steps *s = &n->steps[f];

		if (number == SB_NULL)
			continue;
		if (sb_grow(&s->items, s->count, sizeof(*s->items)) != SB_OK)
			return SB_ENOMEM;
		s->items[s->count++] =
		    (struct nsys_step){.number = number, .start_ns = span->start_ns, .event = event};
		break;
	}
	return SB_OK;
}

void nsys_drop_steps(struct nsys *n, const struct clock_judge *j)
{
	size_t at[NSYS_FAMILIES] = {0}, kept[NSYS_FAMILIES] = {0}, out = 0;

	for (size_t i = 0; i < n->trace.count; i++) {
		bool event_out = clock_event_is_out(j, &n->trace, i);

		for (int f = 0; f < NSYS_FAMILIES; f++) {
			struct nsys_steps *s = &n->steps[f];

			for (; at[f] < s->count && s->items[at[f]].event == i; at[f]++) {
				s->items[kept[f]] = s->items[at[f]];
				s->items[kept[f]].event = (uint32_t)(i - out);
				kept[f] += !event_out;
			}
		}
		out += event_out;
	}
	for (int f = 0; f < NSYS_FAMILIES; f++)
		n->steps[f].count = kept[f];
}

static int by_number(const void *a, const void *b)
{
	const struct nsys_step *x = a, *y = b;
	const int64_t left[] = {x->number, x->start_ns, x->end_ns},
	              right[] = {y->number, y->start_ns, y->end_ns};

	return sb_compare(left, right, 3);
}

/* Several processes of one file do the same step at about the same time: windows of one number that overlap
 * are one step. */
int nsys_make_steps(struct nsys *n, struct step **out, size_t *out_count)
{
	struct nsys_steps *s = n->steps;
	struct step *steps;
	size_t kept = 0;

	while (s < n->steps + NSYS_FAMILIES - 1 && s->count == 0)
		s++;
	if (s->count == 0)
		return SB_OK;
	steps = calloc(s->count, sizeof(*steps));
	if (!steps)
		return SB_ENOMEM;
	for (size_t i = 0; i < s->count; i++)
		s->items[i].end_ns = sb_add_sat(s->items[i].start_ns, n->trace.dur_ns[s->items[i].event]);
	qsort(s->items, s->count, sizeof(*s->items), by_number);
	for (size_t i = 0; i < s->count; i++) {
		const struct nsys_step *x = &s->items[i];
		struct step *last = kept > 0 ? &steps[kept - 1] : NULL;

		if (last && last->number == x->number &&
		    x->start_ns < sb_add_sat(last->start_ns, last->dur_ns)) {
			int64_t dur = sb_add_sat(x->end_ns, -last->start_ns);

			if (dur > last->dur_ns)
				last->dur_ns = dur;
			continue;
		}
		steps[kept++] = (struct step){
		    .number = x->number, .start_ns = x->start_ns, .dur_ns = n->trace.dur_ns[x->event]};
	}
	steps_sort(steps, kept);
	*out = steps;
	*out_count = kept;
	return SB_OK;
}

void nsys_steps_free(struct nsys *n)
{
	for (int f = 0; f < NSYS_FAMILIES; f++)
		free(n->steps[f].items);
}
