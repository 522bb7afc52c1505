/* Every Kineto sample of $SIGNALBOX_SHARED, cut at 100 random offsets, plain and compressed: the answers are
 * those of a simple reference over the events that are whole before the cut (reports chakra#192, #166,
 * pytorch#126703). The reference finds events by their braces, reads them with Jansson and unites intervals
 * by sorting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <strings.h>

#include "profiler/breakdown.h"
#include "profiler/read.h"
#include "tests/field/kineto_events.h"

enum what { NOTHING, COMPUTE, COLLECTIVE, COPY, CALL, STEP };

struct record {
	enum what what;
	bool span;
	int64_t device, start, end, correlation;
};

struct sample {
	struct text text;
	struct places places;
	struct record *records;
	size_t *calls; /* records that are calls, by correlation and start */
	size_t call_count;
};

static int64_t whole_of(const json_t *v, int64_t otherwise)
{
	return json_is_integer(v) ? (int64_t)json_integer_value(v) : otherwise;
}

static enum what what_of(const char *cat, const char *name)
{
	if (strcasecmp(cat, "kernel") == 0)
		return strcasestr(name, "nccl") ? COLLECTIVE : COMPUTE;
	if (strcasestr(cat, "memcpy") || strcasestr(cat, "memset"))
		return COPY;
	if (strcasestr(cat, "runtime") || strcasestr(cat, "driver"))
		return CALL;
	return strncmp(name, "ProfilerStep#", 13) == 0 && strcasecmp(cat, "gpu_user_annotation") != 0
	           ? STEP
	           : NOTHING;
}

static struct record record_of(const char *data, size_t len)
{
	json_t *e = json_loadb(data, len, JSON_ALLOW_NUL, NULL), *args;
	struct record r = {0};

	assert_non_null(e);
	args = json_object_get(e, "args");
	if (strcmp(json_string_value(json_object_get(e, "ph")), "X") == 0) {
		const char *cat = json_string_value(json_object_get(e, "cat"));
		const char *name = json_string_value(json_object_get(e, "name"));
		int64_t dur = ns_of(data, len, "\"dur\":");

		r.span = true;
		r.what = what_of(cat ? cat : "", name ? name : "");
		r.start = ns_of(data, len, "\"ts\":");
		r.end = r.start + (dur > 0 ? dur : 0);
		r.correlation = whole_of(json_object_get(args, "correlation"), -1);
		r.device = whole_of(json_object_get(args, "device"), whole_of(json_object_get(e, "pid"), -1));
	}
	json_decref(e);
	return r;
}

static const struct sample *sorted_sample;

static int by_correlation(const void *a, const void *b)
{
	const struct record *x = &sorted_sample->records[*(const size_t *)a],
	                    *y = &sorted_sample->records[*(const size_t *)b];

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static void sample_load(const char *name, struct sample *s)
{
	s->text = load("samples/kineto", name);
	s->places = find_events(&s->text);
	s->records = calloc(s->places.count + 1, sizeof(*s->records));
	s->calls = calloc(s->places.count + 1, sizeof(*s->calls));
	assert_true(s->records && s->calls);
	for (size_t i = 0; i < s->places.count; i++) {
		const struct place *p = &s->places.items[i];

		s->records[i] = record_of(s->text.data + p->from, p->to - p->from);
		if (s->records[i].what == CALL && s->records[i].correlation > 0)
			s->calls[s->call_count++] = i;
	}
	sorted_sample = s;
	qsort(s->calls, s->call_count, sizeof(*s->calls), by_correlation);
}

static void sample_free(struct sample *s)
{
	free(s->text.data);
	free(s->places.items);
	free(s->records);
	free(s->calls);
}

/* Start of the latest call with this correlation among the first n events, or -1. */
static int64_t launch_of(const struct sample *s, size_t n, int64_t correlation)
{
	size_t low = 0, high = s->call_count;
	int64_t start = -1;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->records[s->calls[mid]].correlation < correlation)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < s->call_count && s->records[s->calls[low]].correlation == correlation; low++)
		if (s->calls[low] < n)
			start = s->records[s->calls[low]].start;
	return start;
}

struct interval_of {
	int64_t from, to;
};

static int by_from(const void *a, const void *b)
{
	const struct interval_of *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

static int64_t length(struct interval_of *v, size_t n)
{
	int64_t sum = 0, end = INT64_MIN;

	qsort(v, n, sizeof(*v), by_from);
	for (size_t i = 0; i < n; i++) {
		int64_t from = v[i].from > end ? v[i].from : end;

		if (v[i].to > from) {
			sum += v[i].to - from;
			end = v[i].to;
		}
	}
	return sum;
}

struct sums_of {
	int64_t span, busy, compute, communication, exposed, copy;
};

/* The work of a device among the first n events; only what was launched in [from, to) unless to is 0. */
static struct sums_of reference(const struct sample *s, size_t n, int64_t device, int64_t from, int64_t to)
{
	struct interval_of *v[4];
	size_t count[4] = {0};
	int64_t first = INT64_MAX, last = INT64_MIN;
	struct sums_of r = {0};

	for (int k = 0; k < 4; k++) {
		v[k] = calloc(n + 1, sizeof(struct interval_of));
		assert_non_null(v[k]);
	}
	for (size_t i = 0; i < n; i++) {
		const struct record *e = &s->records[i];
		int64_t launch;

		if (e->what < COMPUTE || e->what > COPY || e->device != device)
			continue;
		launch = to ? launch_of(s, n, e->correlation) : 0;
		if (to && (launch < from || launch >= to))
			continue;
		struct interval_of at = {e->start, e->end};

		v[e->what - COMPUTE][count[e->what - COMPUTE]++] = at;
		v[3][count[3]++] = at;
		first = e->start < first ? e->start : first;
		last = e->end > last ? e->end : last;
	}
	r.span = count[3] ? last - first : 0;
	r.busy = length(v[3], count[3]);
	r.communication = length(v[1], count[1]);
	r.compute = length(v[0], count[0]);
	r.copy = length(v[2], count[2]);
	memcpy(v[3], v[0], count[0] * sizeof(**v));
	memcpy(v[3] + count[0], v[1], count[1] * sizeof(**v));
	r.exposed = length(v[3], count[0] + count[1]) - r.compute;
	for (int k = 0; k < 4; k++)
		free(v[k]);
	return r;
}

static void check_row(const char *where, const struct breakdown_row *row, const struct sums_of *r)
{
	const int64_t got[] = {row->span_ns,    row->busy_ns, row->compute_ns, row->communication_ns,
	                       row->exposed_ns, row->copy_ns, row->free_ns},
	              want[] = {r->span,    r->busy, r->compute,       r->communication,
	                        r->exposed, r->copy, r->span - r->busy};
	static const char *const names[] = {"span",    "busy", "compute", "communication",
	                                    "exposed", "copy", "free"};

	for (size_t i = 0; i < sizeof(got) / sizeof(got[0]); i++)
		if (got[i] != want[i])
			fail_msg("%s: step %lld: %s is %lld, not %lld", where, (long long)row->step, names[i],
			         (long long)got[i], (long long)want[i]);
}

static void check_answers(const char *where, const struct sample *s, size_t n, const struct profile *p)
{
	BREAKDOWN_AUTO b = {0};
	const struct capture *c = &p->captures[0];
	struct warnings w = {0};
	size_t spans = 0, steps = 0, device = 0, whole = 0;

	for (size_t i = 0; i < n; i++) {
		spans += s->records[i].span;
		steps += s->records[i].what == STEP;
		device += s->records[i].what >= COMPUTE && s->records[i].what <= COPY;
	}
	if (c->trace.count != spans || c->step_count != steps)
		fail_msg("%s: %zu spans and %zu steps, not %zu and %zu", where, c->trace.count, c->step_count,
		         spans, steps);
	assert_int_equal(breakdown_compute(p, &w, &b, NULL), SB_OK);
	free(w.items);
	for (size_t i = 0; i < b.count && device > 0; i++) {
		const struct breakdown_row *row = &b.rows[i];
		struct sums_of r = {0};

		if (row->step == SB_NULL) {
			r = reference(s, n, row->device, 0, 0);
			check_row(where, row, &r);
			whole++;
		}
	}
	assert_true(device == 0 || whole > 0);
}

/* Reads the first `length` bytes of the file, of which the first `whole` plain bytes come out. */
static void check_cut(const char *name, const struct sample *s, int fd, size_t cut, size_t plain)
{
	struct read_input input = {.path = name, .fd = fd, .length = (int64_t)cut};
	char where[200];
	PROFILE_AUTO p = {0};
	struct sb_error err = {0};
	size_t n = 0, high = s->places.count;
	bool any = false;
	int rc;

	while (n < high) {
		size_t mid = n + (high - n) / 2;

		if (s->places.items[mid].to <= plain)
			n = mid + 1;
		else
			high = mid;
	}
	for (size_t i = 0; i < n && !any; i++)
		any = s->records[i].span;
	snprintf(where, sizeof(where), "%.100s cut at %zu (%zu plain, %zu events)", name, cut, plain, n);
	rc = profile_read(&input, 1, NULL, NULL, &p, &err);
	if (rc != (any ? SB_OK : SB_EFORMAT))
		fail_msg("%s: %d %s", where, rc, err.text);
	if (rc == SB_OK)
		check_answers(where, s, n, &p);
}

/* How many plain bytes the first `len` bytes of a gzip file give. */
static size_t inflated(const struct text *gz, size_t len)
{
	static unsigned char block[65536];
	z_stream z = {.next_in = (Bytef *)gz->data, .avail_in = (uInt)len};
	int rc = Z_OK;

	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	while (rc == Z_OK) {
		z.next_out = block;
		z.avail_out = sizeof(block);
		rc = inflate(&z, Z_NO_FLUSH);
		if (rc == Z_OK && z.avail_in == 0 && z.avail_out > 0)
			break;
	}
	inflateEnd(&z);
	return z.total_out;
}

/* A quarter of the cuts lie near the front, where every one matters, the rest all over the file. */
static size_t place_of_cut(uint64_t *seed, size_t len)
{
	return draw(seed, 4) ? draw(seed, len) : draw(seed, len < 4096 ? len : 4096);
}

static void check_sample(const char *name, uint64_t *seed)
{
	struct sample s = {0};
	struct text gz;
	int fd;

	sample_load(name, &s);
	gz = gzip_of(s.text.data, s.text.len);
	fd = fd_of(s.text.data, s.text.len);
	for (int i = 0; i < 100; i++) {
		size_t cut = place_of_cut(seed, s.text.len);

		check_cut(name, &s, fd, cut, cut);
	}
	close(fd);
	fd = fd_of(gz.data, gz.len);
	for (int i = 0; i < (s.text.len < 4000000 ? 100 : 20); i++) {
		size_t cut = place_of_cut(seed, gz.len);

		check_cut(name, &s, fd, cut, inflated(&gz, cut));
	}
	close(fd);
	free(gz.data);
	sample_free(&s);
}

static void test_cuts(void **state)
{
	uint64_t seed;

	(void)state;
	free(shared_path("samples/kineto"));
	seed = seed_of_run();
	for (size_t i = 0; i < KINETO_SAMPLE_COUNT; i++)
		check_sample(KINETO_SAMPLES[i], &seed);
}

/* The steps of the whole file, by the launches in their windows (oracles/traces/ref, per_step_by_launch, is
 * computed the same way). */
static void test_steps(void **state)
{
	size_t compared = 0;

	(void)state;
	free(shared_path("samples/kineto"));
	for (size_t k = 0; k < KINETO_SAMPLE_COUNT; k++) {
		struct sample s = {0};
		PROFILE_AUTO p = {0};
		BREAKDOWN_AUTO b = {0};
		struct warnings w = {0};

		sample_load(KINETO_SAMPLES[k], &s);
		read_sample(KINETO_SAMPLES[k], &s.text, 0, &p);
		assert_int_equal(breakdown_compute(&p, &w, &b, NULL), SB_OK);
		free(w.items);
		const struct capture *c = &p.captures[0];
		int64_t base = truth(&s.text, "baseTimeNanoseconds");

		for (size_t i = 0; i < b.count; i++)
			for (size_t n = 0; b.rows[i].compute_ns != SB_NULL && n < c->step_count; n++) {
				int64_t from = c->steps[n].start_ns - (base == SB_NULL ? 0 : base);

				if (b.rows[i].step != c->steps[n].number)
					continue;
				struct sums_of r = reference(&s, s.places.count, b.rows[i].device, from,
				                             from + c->steps[n].dur_ns);

				check_row(KINETO_SAMPLES[k], &b.rows[i], &r);
				compared++;
			}
		sample_free(&s);
	}
	/* expected.md, A1: 5 + 6 + 3 + 2 + 2 + 6 + 6 + 3 steps of the traces of training have device work */
	assert_true(compared >= 33);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_steps),
	    cmocka_unit_test(test_cuts),
	};

	return cmocka_run_group_tests_name("kineto cut", tests, NULL, NULL);
}
