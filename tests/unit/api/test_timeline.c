#include "tests/unit/api/helper.h"

#include <fcntl.h>
#include <time.h>

#include "api/json.h"

/* Two ranks; in us. Rank 3 has a stream with kernels 10..30 and 50..60 and a thread whose name is markup. */
#define TRACE(rank, events)                                                                                  \
	"{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":" rank                                           \
	",\"world_size\":8},\"traceEvents\":[" events "]}"
#define KERNEL(ts, dur)                                                                                      \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":" ts ",\"dur\":" dur  \
	",\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}}"
#define HOST                                                                                                 \
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":9,\"tid\":0,\"args\":{\"name\":\"<b>py</b>\"}},"    \
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a \\\"quoted\\\"\\n<img "                               \
	"onerror=x>\",\"pid\":9,\"tid\":4,\"ts\":9.5,"                                                       \
	"\"dur\":0.25}"

static void make_ready(struct fixture *f, const char *trace, char id[64])
{
	assert_int_equal(upload_one(f, "/v1/profiles", "trace.json", trace, NULL), 202);
	snprintf(id, 64, "%s", text_at(f->json, "id"));
	assert_int_equal(run_job(f, id, NULL), SB_OK);
}

static int get(struct fixture *f, const char *id, const char *query)
{
	char target[200];

	snprintf(target, sizeof(target), "/v1/profiles/%.40s/timeline%.100s", id, query);
	return ask(f, "GET", target, NULL);
}

static json_t *lane_at(struct fixture *f, size_t i)
{
	return json_array_get(json_object_get(f->json, "lanes"), i);
}

static json_t *row_at(struct fixture *f, size_t lane, const char *what, size_t i)
{
	return json_array_get(json_object_get(lane_at(f, lane), what), i);
}

static double number(const json_t *row, size_t i)
{
	return json_number_value(json_array_get(row, i));
}

static const char *text(const json_t *row, size_t i)
{
	return json_string_value(json_array_get(row, i));
}

static void a_view_by_hand(void **state)
{
	struct fixture f;
	char id[64];
	json_t *row;

	(void)state;
	set_up(&f);
	make_ready(&f, TRACE("3", HOST "," KERNEL("10", "20") "," KERNEL("50", "10")), id);
	assert_int_equal(get(&f, id, ""), 200);
	assert_string_equal(text_at(f.json, "origin_ns"), "9500");
	assert_true(json_number_value(json_object_get(f.json, "to_us")) == 50.5);
	assert_int_equal(json_integer_value(json_object_get(f.json, "px")), 1600);
	assert_int_equal(json_integer_value(json_object_get(f.json, "rank")), 3);
	assert_int_equal(json_array_size(json_object_get(f.json, "lanes")), 2);
	assert_string_equal(text_at(lane_at(&f, 0), "name"), "0 \xC2\xB7 7");
	assert_string_equal(text_at(lane_at(&f, 0), "kind"), "device");
	assert_int_equal(json_integer_value(json_object_get(lane_at(&f, 0), "device")), 0);
	row = row_at(&f, 0, "events", 1);
	assert_true(number(row, 0) == 40.5 && number(row, 1) == 10);
	assert_string_equal(text(row, 2), "gemm");
	assert_string_equal(text(row, 3), "kernel");
	assert_string_equal(text_at(lane_at(&f, 1), "name"), "<b>py</b> \xC2\xB7 4");
	assert_true(json_is_null(json_object_get(lane_at(&f, 1), "device")));
	row = row_at(&f, 1, "events", 0);
	assert_string_equal(text(row, 2), "a \"quoted\"\n<img onerror=x>");
	assert_true(number(row, 0) == 0 && number(row, 1) == 0.25);
	/* one column for two kernels: 30 of 50.5 us */
	assert_int_equal(get(&f, id, "?px=1&lane=0"), 200);
	assert_int_equal(json_array_size(json_object_get(f.json, "lanes")), 1);
	row = row_at(&f, 0, "bins", 0);
	assert_true(number(row, 0) == 0 && number(row, 1) == 0.594059 && number(row, 3) == 2);
	assert_string_equal(text(row, 2), "kernel");
	tear_down(&f);
}

static void bad_values_name_their_parameter(void **state)
{
	static const struct {
		const char *query, *pointer;
	} bad[] = {
	    {"?px=0", "/query/px"},
	    {"?px=10001", "/query/px"},
	    {"?px=1.5", "/query/px"},
	    {"?from_us=x", "/query/from_us"},
	    {"?from_us=", "/query/from_us"},
	    {"?to_us=nan", "/query/to_us"},
	    {"?to_us=1e300", "/query/to_us"},
	    {"?from_us=5&to_us=5", "/query/to_us"},
	    {"?from_us=1000000", "/query/from_us"},
	    {"?to_us=-1", "/query/to_us"},
	    {"?rank=4", "/query/rank"},
	    {"?rank=-1", "/query/rank"},
	    {"?rank=unknown", "/query/rank"},
	    {"?source=", "/query/source"},
	    {"?source=trace.jso", "/query/source"},
	    {"?source=trace.json&rank=4", "/query/source"},
	    {"?lane=", "/query/lane"},
	    {"?lane=1,", "/query/lane"},
	    {"?lane=-1", "/query/lane"},
	    {"?limit=0", "/query/limit"},
	    {"?step=0", "/query/step"},
	};
	struct fixture f;
	char id[64];

	(void)state;
	set_up(&f);
	make_ready(&f, TRACE("3", KERNEL("10", "20")), id);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const json_t *e;

		assert_int_equal(get(&f, id, bad[i].query), 400);
		e = json_array_get(json_object_get(f.json, "errors"), 0);
		assert_string_equal(text_at(e, "pointer"), bad[i].pointer);
	}
	assert_int_equal(get(&f, id, "?from_us=-5&to_us=1e1&rank=3&lane=0,7&limit=1&px=10000"), 200);
	assert_true(json_number_value(json_object_get(f.json, "from_us")) == -5);
	assert_int_equal(get(&f, id, "?source=trace.json"), 200);
	assert_string_equal(text_at(f.json, "source"), "trace.json");
	tear_down(&f);
}

static void a_lost_or_damaged_file_is_made_again(void **state)
{
	struct fixture f;
	const struct timespec tick = {.tv_nsec = 20000000};
	char id[64], path[256];
	int fd;

	(void)state;
	set_up(&f);
	make_ready(&f, TRACE("3", KERNEL("10", "20")), id);
	snprintf(path, sizeof(path), "%s/profiles/%s/timeline", f.place.data, id);
	assert_int_equal(get(&f, id, ""), 200);
	for (int round = 0; round < 5; round++) {
		f.queue.count = 0;
		/* the time of a change is only as fine as the kernel's tick */
		nanosleep(&tick, NULL);
		if (round == 0) {
			assert_int_equal(unlink(path), 0);
		} else if (round == 4) {
			/* its pages are mapped, and gone */
			assert_int_equal(truncate(path, 0), 0);
		} else {
			/* the version, then a byte of the first column, which has been looked at */
			fd = open(path, O_WRONLY);
			assert_int_equal(pwrite(fd, "\x7f", 1, round == 1 ? 8 : 4096 + 40), 1);
			close(fd);
		}
		if (round == 2) {
			/* another process would have to open it anew */
			api_service_free(&f.api);
			make_service(&f);
		}
		assert_int_equal(get(&f, id, ""), 409);
		assert_int_equal(f.queue.count, 1);
		assert_int_equal(run_job(&f, id, NULL), SB_OK);
		assert_int_equal(get(&f, id, ""), 200);
		assert_true(number(row_at(&f, 0, "events", 0), 1) == 20);
	}
	tear_down(&f);
}

static void a_deleted_profile_has_no_timeline(void **state)
{
	struct fixture f;
	char id[64], target[96];

	(void)state;
	set_up(&f);
	make_ready(&f, TRACE("3", KERNEL("10", "20")), id);
	assert_int_equal(get(&f, id, ""), 200);
	snprintf(target, sizeof(target), "/v1/profiles/%s", id);
	assert_int_equal(ask(&f, "DELETE", target, NULL), 204);
	assert_int_equal(get(&f, id, ""), 404);
	tear_down(&f);
}

/* More profiles than files are kept open. */
static void many_profiles_are_looked_at(void **state)
{
	enum { PROFILES = 20 };
	struct fixture f;
	char ids[PROFILES][64];

	(void)state;
	set_up(&f);
	for (int i = 0; i < PROFILES; i++) {
		char trace[600];

		snprintf(trace, sizeof(trace), TRACE("%d", KERNEL("10", "%d")), i, i + 1);
		make_ready(&f, trace, ids[i]);
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < PROFILES; i++) {
			assert_int_equal(get(&f, ids[i], ""), 200);
			assert_int_equal(json_integer_value(json_object_get(f.json, "rank")), i);
			assert_true(number(row_at(&f, 0, "events", 0), 1) == i + 1);
		}
	}
	tear_down(&f);
}

/* The same cleaning as for texts that become JSON values. */
static void texts_are_quoted(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} texts[] = {
	    {"plain", 5},        {"", 0}, {"\"\\/\b\f\n\r\t\x01\x1f", 10}, {"a\0b", 3}, {"\xff\xc0\x80", 3},
	    {"\xE2\x82\xAC", 3},
	};
	char longer[5000];

	(void)state;
	memset(longer, '"', sizeof(longer));
	for (size_t i = 0; i <= sizeof(texts) / sizeof(texts[0]); i++) {
		bool last = i == sizeof(texts) / sizeof(texts[0]);
		const char *bytes = last ? longer : texts[i].bytes;
		size_t len = last ? sizeof(longer) : texts[i].len;
		JSON_AUTO wanted = json_text(bytes, len);
		JSON_AUTO got = NULL;
		SB_BUF_AUTO b;

		sb_buf_init(&b, 1 << 20);
		json_quote(&b, bytes, len);
		assert_int_equal(b.status, SB_OK);
		got = json_loadb(b.data, b.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		assert_non_null(got);
		assert_true(json_equal(got, wanted));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_view_by_hand),
	    cmocka_unit_test(bad_values_name_their_parameter),
	    cmocka_unit_test(a_lost_or_damaged_file_is_made_again),
	    cmocka_unit_test(a_deleted_profile_has_no_timeline),
	    cmocka_unit_test(many_profiles_are_looked_at),
	    cmocka_unit_test(texts_are_quoted),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
