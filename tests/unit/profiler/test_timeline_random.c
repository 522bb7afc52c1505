#include "tests/unit/profiler/timeline_made.h"

static void assert_bin(const struct timeline_bin *b, uint32_t px, uint64_t busy, uint32_t category,
                       uint64_t count)
{
	assert_int_equal(b->px, px);
	assert_int_equal(b->busy_ns, busy);
	assert_int_equal(b->category, category);
	assert_int_equal(b->count, count);
}

/* Few values, so that equal starts, nesting, gaps and equal events are common. */
static void made_up(struct random *r, struct trace *t, size_t events, int64_t span)
{
	static const enum event_kind kinds[] = {EVENT_KERNEL, EVENT_COMMUNICATION, EVENT_MEMSET,
	                                        EVENT_HOST_OP, EVENT_HOST_PYTHON};
	static const char *const names[] = {"a", "b", "c", "d"};

	assert_int_equal(trace_init(t), SB_OK);
	for (int i = 0; i < 4; i++) {
		char thread[20];

		snprintf(thread, sizeof(thread), "thread %d", 7 * i);
		made_lane(t, i < 2 ? "x" : "y", thread, i < 2 ? 0 : -1);
	}
	for (size_t i = 0; i < events; i++) {
		uint32_t lane = (uint32_t)random_below(r, 4);
		int64_t most = 1 + random_below(r, 10) * random_below(r, 10) * span / 200;

		/* the first lane has one kind of event */
		made_event(t, lane, lane == 0 ? EVENT_KERNEL : kinds[random_below(r, 5)],
		           names[random_below(r, 4)], 1000 + random_below(r, span),
		           random_below(r, 3) == 0 ? 0 : random_below(r, most));
	}
}

static void check_lane(const struct trace *t, const struct timeline *f, const struct timeline_query *q,
                       const struct timeline_view *v, const struct timeline_row *row)
{
	uint32_t lane = made_lane_of(t, f, row->lane);
	int64_t from = v->origin_ns + q->from_ns, to = v->origin_ns + q->to_ns;
	uint64_t span = (uint64_t)(to - from), sum = 0;
	size_t at = row->first;

	assert_int_equal(row->in_view, plain_count(t, lane, -1, from, to));
	assert_int_equal(row->binned, plain_overlapping(t, lane, from, to) > q->px);
	if (!row->binned) {
		assert_int_equal(row->rows, plain_overlapping(t, lane, from, to));
		return;
	}
	for (uint32_t px = 0; px < q->px; px++) {
		int64_t a = from + (int64_t)(span * px / q->px),
		        b = from + (int64_t)(span * (px + 1) / q->px);
		uint64_t busy = plain_busy(t, lane, -1, a, b), count = plain_count(t, lane, -1, a, b);

		if (busy == 0 && count == 0)
			continue;
		assert_true(at < row->first + row->rows);
		assert_bin(&v->bins[at], px, busy, plain_category(t, lane, a, b), count);
		assert_int_equal(v->bins[at].width_ns, b - a);
		sum += v->bins[at++].count;
	}
	assert_int_equal(at, row->first + row->rows);
	assert_int_equal(sum, row->in_view);
}

static void any_view_is_as_a_plain_computation_has_it(void **state)
{
	struct random r = {.state = 20261129};

	(void)state;
	for (int round = 0; round < 60; round++) {
		TRACE_AUTO t;
		TIMELINE_AUTO f = {0};
		int64_t span = 1 + random_below(&r, round % 2 ? 300 : 1000000);
		size_t binned = 0;

		made_up(&r, &t, 1 + (size_t)random_below(&r, 900), span);
		made_open(&t, 0, &f);
		for (int i = 0; i < 12; i++) {
			TIMELINE_VIEW_AUTO v = {0};
			int64_t from = i == 0 ? 0 : random_below(&r, 2 * span) - span / 2;
			struct timeline_query q =
			    made_query(&f, from, i == 0 ? span : from + 1 + random_below(&r, span),
			               1 + (uint32_t)random_below(&r, 40));

			assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
			assert_int_equal(v.lane_count, f.sections[0].lane_count);
			for (size_t k = 0; k < v.lane_count; k++) {
				check_lane(&t, &f, &q, &v, &v.lanes[k]);
				binned += v.lanes[k].binned;
			}
		}
		assert_true(binned > 0 || t.count < 100);
	}
}

static void shuffle(struct random *r, struct trace *from, struct trace *to)
{
	uint32_t *order = calloc(from->count, sizeof(*order)), lanes[4];

	assert_non_null(order);
	assert_int_equal(trace_init(to), SB_OK);
	for (uint32_t i = 4; i-- > 0;)
		lanes[i] = made_lane(to, trace_text(from, from->lanes[i].process, NULL),
		                     trace_text(from, from->lanes[i].thread, NULL), from->lanes[i].device);
	for (uint32_t i = 0; i < from->count; i++) {
		uint32_t k = (uint32_t)random_below(r, i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (size_t i = 0; i < from->count; i++) {
		uint32_t e = order[i];

		made_event(to, lanes[from->lane[e]], from->kind[e], trace_text(from, from->name[e], NULL),
		           from->start_ns[e], from->dur_ns[e]);
	}
	free(order);
}

static void assert_same_view(const struct timeline *a, const struct timeline_view *v,
                             const struct timeline *b, const struct timeline_view *w)
{
	assert_int_equal(v->lane_count, w->lane_count);
	assert_memory_equal(v->lanes, w->lanes, v->lane_count * sizeof(*v->lanes));
	assert_int_equal(v->bin_count, w->bin_count);
	if (v->bin_count > 0)
		assert_memory_equal(v->bins, w->bins, v->bin_count * sizeof(*v->bins));
	assert_int_equal(v->event_count, w->event_count);
	for (size_t i = 0; i < v->event_count; i++) {
		const struct timeline_event *x = &v->events[i], *y = &w->events[i];
		size_t n, m;
		const char *p = timeline_text(a, &a->sections[0], x->name, &n);
		const char *q = timeline_text(b, &b->sections[0], y->name, &m);

		assert_true(x->start_ns == y->start_ns && x->dur_ns == y->dur_ns &&
		            x->category == y->category);
		assert_int_equal(n, m);
		assert_memory_equal(p, q, n);
	}
}

/* 40,000 events on four lanes go through all ways of sorting: more than fit one part, and many of one start.
 */
static void the_order_of_the_file_does_not_matter(void **state)
{
	struct random r = {.state = 7};

	(void)state;
	for (int round = 0; round < 3; round++) {
		TRACE_AUTO t;
		TRACE_AUTO u;
		TIMELINE_AUTO f = {0};
		TIMELINE_AUTO g = {0};
		int64_t span = round == 0 ? 2 : round == 1 ? 5000 : INT64_C(1) << 50;

		made_up(&r, &t, 40000, span);
		shuffle(&r, &t, &u);
		made_open(&t, 0, &f);
		made_open(&u, 0, &g);
		for (uint32_t px = 10; px <= TIMELINE_PX_MAX; px *= 10) {
			TIMELINE_VIEW_AUTO v = {0};
			TIMELINE_VIEW_AUTO w = {0};
			struct timeline_query q = made_query(&f, 0, span, px);

			assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
			q.section = &g.sections[0];
			assert_int_equal(timeline_look(&g, &q, &w, NULL), SB_OK);
			assert_same_view(&f, &v, &g, &w);
		}
	}
}

/* Columns of a wide view are the sums of the columns of a narrow one. */
static void columns_add_up(void **state)
{
	struct random r = {.state = 99};
	TRACE_AUTO t;
	TIMELINE_AUTO f = {0};
	TIMELINE_VIEW_AUTO wide = {0};
	TIMELINE_VIEW_AUTO narrow = {0};
	struct timeline_query q;
	uint32_t only[] = {0};

	(void)state;
	made_up(&r, &t, 30000, 1 << 20);
	made_open(&t, 0, &f);
	q = made_query(&f, 0, 1 << 21, 16);
	q.lanes = only;
	q.lane_count = 1;
	assert_int_equal(timeline_look(&f, &q, &wide, NULL), SB_OK);
	q.px = 1024;
	assert_int_equal(timeline_look(&f, &q, &narrow, NULL), SB_OK);
	assert_true(wide.lane_count == 1 && narrow.lane_count == 1 && wide.bin_count > 4);
	for (size_t i = 0, k = 0; i < wide.bin_count; i++) {
		uint64_t busy = 0, count = 0;

		for (; k < narrow.bin_count && narrow.bins[k].px / 64 == wide.bins[i].px; k++) {
			busy += narrow.bins[k].busy_ns;
			count += narrow.bins[k].count;
		}
		assert_int_equal(busy, wide.bins[i].busy_ns);
		assert_int_equal(count, wide.bins[i].count);
	}
}

static void lanes_can_be_chosen(void **state)
{
	struct random r = {.state = 12};
	TRACE_AUTO t;
	TIMELINE_AUTO f = {0};
	TIMELINE_VIEW_AUTO v = {0};
	struct timeline_query q;
	/* twice the same counts once, and one that is not there not at all */
	uint32_t some[] = {1, 3, 3, 77};

	(void)state;
	made_up(&r, &t, 2000, 5000);
	made_open(&t, 0, &f);
	q = made_query(&f, 0, 5000, 20);
	q.lanes = some;
	q.lane_count = 4;
	assert_int_equal(timeline_look(&f, &q, &v, NULL), SB_OK);
	assert_int_equal(v.lane_count, 2);
	assert_true(v.lanes[0].lane == 1 && v.lanes[1].lane == 3);
	assert_int_equal(v.left_lanes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(any_view_is_as_a_plain_computation_has_it),
	    cmocka_unit_test(the_order_of_the_file_does_not_matter),
	    cmocka_unit_test(columns_add_up),
	    cmocka_unit_test(lanes_can_be_chosen),
	};

	return cmocka_run_group_tests_name("timeline_random", tests, NULL, NULL);
}
