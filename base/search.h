#ifndef SB_BASE_SEARCH_H
#define SB_BASE_SEARCH_H

/*
 * Where a sorted row parts: the first i of [from, to) for which `before` is false, `to` when there is none.
 *
 *   size_t at = SB_BISECT(i, 0, set->count, set->items[i].start < time);   the first that starts at `time` or
 *                                                                          later
 *   size_t n = SB_BISECT(i, 0, set->count, set->items[i].start <= time);   how many have started by then: the
 *                                                                          last of them is n - 1
 *
 * i: the name that the index has in `before`, with the type of from + to. from, to: integers, evaluated once;
 * to - from must fit into their type. An empty or inverted range gives `from`. before: an expression that is
 * true for a first part of the range and false for all the rest, evaluated once per halving and only for i of
 * the range. It stands written out in the loop, so that it costs no call. Of a row that is not sorted (or has
 * NaN in it) the answer is some place in [from, to].
 */
#define SB_BISECT(i, from, to, before)                                                                       \
	__extension__({                                                                                      \
		__typeof__((from) + (to)) first_##i = (from), end_##i = (to);                                \
                                                                                                             \
		while (first_##i < end_##i) {                                                                \
			__typeof__(first_##i) i = first_##i + (end_##i - first_##i) / 2;                     \
                                                                                                             \
			if (before)                                                                          \
				first_##i = i + 1;                                                           \
			else                                                                                 \
				end_##i = i;                                                                 \
		}                                                                                            \
		first_##i;                                                                                   \
	})
#endif
