#ifndef SB_TESTS_FIELD_KINETO_EVENTS_H
#define SB_TESTS_FIELD_KINETO_EVENTS_H
#include "tests/field/kineto_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

/* Where the events of a Kineto file stand, found by counting braces: shares nothing with the program. */
struct place {
	size_t from, to;
};
struct places {
	struct place *items;
	size_t count;
};

static inline size_t after_string(const struct text *t, size_t at)
{
	for (at++; at < t->len && t->data[at] != '"'; at++)
		at += t->data[at] == '\\';
	return at + 1;
}

/* Past the object that begins at `at`. */
static inline size_t after_object(const struct text *t, size_t at)
{
	int depth = 0;

	while (at < t->len) {
		char c = t->data[at];

		if (c == '"') {
			at = after_string(t, at);
			continue;
		}
		depth += (c == '{') - (c == '}');
		at++;
		if (depth == 0)
			return at;
	}
	fail_msg("an event does not end");
	return at;
}

static inline struct places find_events(const struct text *t)
{
	const char *list = memmem(t->data, t->len, "\"traceEvents\"", 13);
	size_t at = list ? (size_t)(list - t->data) + 13 : 0, room = 0;
	struct places p = {0};

	at += strcspn(t->data + at, "[") + 1;
	for (;;) {
		at += strspn(t->data + at, " \t\r\n,");
		if (t->data[at] != '{') {
			assert_true(p.count > 0);
			return p;
		}
		if (p.count == room) {
			room = room ? 2 * room : 1024;
			p.items = realloc(p.items, room * sizeof(*p.items));
			assert_non_null(p.items);
		}
		p.items[p.count].from = at;
		at = after_object(t, at);
		p.items[p.count++].to = at;
	}
}

/* Microseconds behind a key ("\"ts\":") in ns; exact, from the digits: a double loses the last ones. */
static inline int64_t ns_of(const char *data, size_t len, const char *key)
{
	const char *p = memmem(data, len, key, strlen(key));
	int64_t v = 0;
	int digits = -1;

	if (!p)
		return 0;
	for (p += strlen(key); digits < 3; p++) {
		if (*p == '.')
			digits = 0;
		else if (*p >= '0' && *p <= '9')
			v = v * 10 + (*p - '0');
		else if (*p != ' ')
			break;
		digits += digits >= 0 && *p != '.';
	}
	for (digits = digits < 0 ? 0 : digits; digits < 3; digits++)
		v *= 10;
	return v;
}

/* A small generator of numbers; the seed is SIGNALBOX_SEED or the time, and is printed. */
static inline uint64_t seed_of_run(void)
{
	const char *given = getenv("SIGNALBOX_SEED");
	uint64_t seed = given && *given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);

	print_message("SIGNALBOX_SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

static inline uint64_t draw(uint64_t *state, uint64_t below)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % (below ? below : 1);
}

static inline int fd_of(const char *data, size_t len)
{
	int fd = memfd_create("sample", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, data + done, len - done);

		assert_true(n > 0);
		done += (size_t)n;
	}
	return fd;
}

/* One gzip member; the caller frees it. */
static inline struct text gzip_of(const char *data, size_t len)
{
	z_stream z = {0};
	struct text out = {0};

	assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	out.len = deflateBound(&z, len);
	out.data = malloc(out.len);
	assert_non_null(out.data);
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)len;
	z.next_out = (Bytef *)out.data;
	z.avail_out = (uInt)out.len;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out.len = z.total_out;
	deflateEnd(&z);
	return out;
}

static const char *const KINETO_SAMPLES[] = {
    "backward_thread.json",
    "compare_base.json.gz",
    "compare_test.json.gz",
    "cp_alexnet.json.gz",
    "cp_event_sync.json.gz",
    "cp_event_sync_multi_stream.json.gz",
    "cp_simple_add.json.gz",
    "cpu_only_rank34.json.gz",
    "cupti_profiler.json.gz",
    "df_index_resolver_rank1.json.gz",
    "diff_control.json.gz",
    "distributed_info_missing.json.gz",
    "h100_bert.json.gz",
    "mi300_bert.json.gz",
    "mi300_resnet_ddp.json.gz",
    "nccl_data.json.gz",
    "old_cats_rank1.json.gz",
    "rank_non_gpu.json.gz",
    "resnet50_nw0_worker0.1623143089861.pt.trace.json.gz",
    "resnet50_nw4_worker0.1623212756351.pt.trace.json.gz",
    "sampled_rank0.json.gz",
    "sampled_rank1.json.gz",
    "torch_compile_triton.json.gz",
    "vllm_decode_full_graph.json.gz",
};
#define KINETO_SAMPLE_COUNT (sizeof(KINETO_SAMPLES) / sizeof(KINETO_SAMPLES[0]))
#endif
