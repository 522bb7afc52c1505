#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profiler/blockfile.h"
#include "profiler/collectives.h"
#include "profiler/operators.h"
#include "profiler/path_file.h"
#include "profiler/timeline.h"
#include "tests/fuzz/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Side files whose checksums hold and whose content lies. A good file is made, its content patched by the
 * input, and written anew. Patches: place (2 bytes), how, value. */

static int new_fd(void)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	must(fd >= 0);
	return fd;
}

static void patch(char *bytes, size_t len, const uint8_t *data, size_t size)
{
	static const uint64_t VALUES[] = {
	    0, 1, 2, 63, 64, 4095, 4096, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX, (uint64_t)INT64_MIN};

	for (; size >= 4 && len >= 8; data += 4, size -= 4) {
		size_t at = (size_t)(data[0] | data[1] << 8) % (len - 7);
		uint64_t v;

		switch (data[2] % 4) {
		case 0: bytes[at] = (char)data[3]; break;
		case 1: memcpy(bytes + at / 4 * 4, &VALUES[data[3] % 12], 4); break;
		case 2: memcpy(bytes + at / 8 * 8, &VALUES[data[3] % 12], 8); break;
		default:
			memcpy(&v, bytes + at / 8 * 8, sizeof(v));
			v += (uint64_t)(int64_t)(int8_t)data[3];
			memcpy(bytes + at / 8 * 8, &v, sizeof(v));
			break;
		}
	}
}

static void good_trace(struct trace *t)
{
	const char *const names[] = {"a", "kernel", "stream 7"};
	uint32_t id, lane;

	must(trace_init(t) == SB_OK);
	for (size_t i = 0; i < 3; i++)
		must(sb_strings_add(t->strings, names[i], strlen(names[i]), &id) == SB_OK);
	for (int32_t device = -1; device < 2; device++)
		must(trace_add_lane(t, &(struct lane){1, 3, device, 0}, &lane) == SB_OK);
	for (int64_t i = 0; i < 150; i++) {
		struct event e = {
		    .start_ns = 100 * i, .dur_ns = i % 7 * 40, .link = i, .name = 1 + (uint32_t)i % 2};

		e.lane = (uint32_t)i % 3;
		e.kind = e.lane == 0 ? EVENT_HOST_RUNTIME : i % 5 ? EVENT_KERNEL : EVENT_COMMUNICATION;
		must(trace_append(t, &e) == SB_OK);
		if (i % 5 == 0)
			must(trace_append_detail(t, &(struct event_detail){.type = 1, .bytes = i}) == SB_OK);
	}
}

static void look(const struct timeline *t)
{
	for (size_t i = 0; i < t->count && i < 4; i++) {
		const struct timeline_section *s = &t->sections[i];
		const struct timeline_lane *lanes = timeline_lanes(t, s);
		size_t len;

		for (uint64_t k = 0; lanes && k < s->lane_count && k < 16; k++)
			(void)timeline_text(t, s, lanes[k].thread, &len);
		(void)timeline_source(t, s, &len);
		for (uint32_t px = 1; px <= 1000; px *= 10) {
			TIMELINE_VIEW_AUTO v = {0};
			struct timeline_query q = {.section = s,
			                           .from_ns = (int64_t)px * 7,
			                           .to_ns = 15000,
			                           .px = px,
			                           .lane_limit = 8,
			                           .row_limit = 2000};

			if (timeline_look(t, &q, &v, NULL) == SB_OK)
				must(v.lane_count <= 8 && v.bin_count + v.event_count <= 2000);
		}
	}
}

static void write_timeline(int fd)
{
	TRACE_AUTO t = {0};
	TIMELINE_WRITER_AUTO w = {0};

	good_trace(&t);
	must(timeline_begin(&w, fd, NULL) == SB_OK);
	must(timeline_add(&w, &t, 0, "a", NULL) == SB_OK &&
	     timeline_add(&w, &t, SB_NULL, "b", NULL) == SB_OK);
	must(timeline_end(&w, NULL) == SB_OK);
}

/* The file anew in bad, its content patched. */
static void patch_chunks(int good, int bad, const uint8_t *data, size_t size)
{
	struct chunkfile_header h;
	struct chunkfile_writer w = {0};
	char *bytes;

	must(pread(good, &h, sizeof(h), 0) == sizeof(h));
	/* the place of the directory can be patched like the body */
	bytes = malloc(16 + h.body);
	must(bytes && pread(good, bytes + 16, h.body, CHUNK_BYTES) == (ssize_t)h.body);
	memcpy(bytes, &h.root, 8);
	memcpy(bytes + 8, &h.root_count, 8);
	patch(bytes, 16 + h.body, data, size);
	memcpy(&h.root, bytes, 8);
	memcpy(&h.root_count, bytes + 8, 8);
	must(chunkfile_begin(&w, bad, h.magic, h.version, NULL) == SB_OK);
	must(chunkfile_add(&w, bytes + 16, h.body, NULL) == SB_OK);
	must(chunkfile_end(&w, h.root, h.root_count, NULL) == SB_OK);
	chunkfile_drop(&w);
	free(bytes);
}

static void fuzz_timeline(const uint8_t *data, size_t size)
{
	int good = new_fd(), bad = new_fd();
	TIMELINE_AUTO t = {0};

	write_timeline(good);
	patch_chunks(good, bad, data, size);
	if (timeline_open(bad, &t, NULL) == SB_OK)
		look(&t);
	close(good);
	close(bad);
}

static void write_paths(int fd)
{
	PROFILE_AUTO p = {.captures = calloc(1, sizeof(*p.captures)), .count = 1};
	COLLECTIVES_AUTO c = {0};
	CRITICAL_PATHS_AUTO paths = {0};

	must(p.captures != NULL);
	p.captures->source = strdup("a");
	p.captures->format = FORMAT_KINETO;
	good_trace(&p.captures->trace);
	must(collectives_match(&p, &c) == SB_OK);
	must(critical_paths_find(&p, &c, &paths, NULL) == SB_OK);
	must(path_file_write(&p, &paths, fd, NULL) == SB_OK);
}

/* What is told of a path adds up, and its names lie inside. */
static void walk_path(const struct path_file *f, const struct path_section *s)
{
	PATH_VIEW_AUTO v = {0};
	int64_t sum = 0;
	size_t len;

	(void)path_file_source(f, s->source, &len);
	if (path_file_look(f, s, s->first_ns, INT64_MAX, 20, &v, NULL) != SB_OK)
		return;
	must(v.count <= 20);
	for (int i = 0; i < PATH_PARTS; i++)
		sum += v.part_ns[i];
	must(sum == v.span_ns);
	for (size_t i = 0; i < v.count; i++) {
		must(v.pieces[i].dur_ns >= 0);
		(void)path_file_text(f, v.pieces[i].name, &len);
	}
	for (size_t i = 0; i < v.sum_count; i++)
		(void)path_file_text(f, v.sums[i].name, &len);
}

static void fuzz_paths(const uint8_t *data, size_t size)
{
	int good = new_fd(), bad = new_fd();
	PATH_FILE_AUTO f = {0};

	write_paths(good);
	patch_chunks(good, bad, data, size);
	if (path_file_open(bad, &f, NULL) == SB_OK)
		for (size_t i = 0; i < f.count && i < 4; i++)
			walk_path(&f, &f.sections[i]);
	close(good);
	close(bad);
}

static void write_operators(int fd)
{
	struct operator_row rows[3] = {{.count = 1, .name = 1, .type = 2, .unit = 3}};
	struct operator_table t = {.rows = rows, .count = 3};
	const char *const names[] = {"Conv", "Conv2D", "AI_CORE"};
	uint32_t id;

	rows[1] = rows[2] = rows[0];
	rows[1].step = 5;
	rows[2].klass = OPERATOR_COMMUNICATION;
	must(sb_strings_new(&t.strings) == SB_OK);
	for (size_t i = 0; i < 3; i++)
		must(sb_strings_add(t.strings, names[i], strlen(names[i]), &id) == SB_OK);
	must(operators_write(&t, fd, NULL) == SB_OK);
	sb_strings_free(&t.strings);
}

static void select_all(const struct operator_table *t)
{
	for (int by = 0; by < 8; by++) {
		struct operator_query q = {.rank = SB_NULL,
		                           .step = SB_NULL,
		                           .by_name = by & 1,
		                           .sort = (enum operator_sort)(by / 2)};
		struct operator_line *lines = NULL;
		size_t n = 0;

		if (operators_select(t, &q, &lines, &n) == SB_OK)
			must(n <= t->count);
		free(lines);
		(void)operators_graphs(t, &q);
	}
}

static void fuzz_operators(const uint8_t *data, size_t size)
{
	int good = new_fd(), bad = new_fd();
	struct blockfile_header h;
	struct blockfile_writer w;
	OPERATORS_AUTO t = {0};

	write_operators(good);
	must(pread(good, &h, sizeof(h), 0) == sizeof(h));
	blockfile_begin(&w, bad, h.magic, h.version);
	for (uint32_t i = 0; i < h.blocks; i++) {
		const struct blockfile_entry *e = &h.entries[i];
		size_t len = (size_t)e->element * e->count, part = size / h.blocks;
		char *bytes = malloc(len + 1);

		must(bytes && pread(good, bytes, len, (off_t)e->offset) == (ssize_t)len);
		patch(bytes, len, data + part * i, part);
		must(blockfile_add(&w, e->id, e->element, e->count, bytes, NULL) == SB_OK);
		free(bytes);
	}
	must(blockfile_end(&w, NULL) == SB_OK);
	if (operators_load(bad, &t, NULL) == SB_OK)
		select_all(&t);
	close(good);
	close(bad);
}

/* The first byte chooses the kind of file: p for critical paths, else an odd one for operators. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	if (data[0] == 'p')
		fuzz_paths(data + 1, size - 1);
	else if (data[0] & 1)
		fuzz_operators(data + 1, size - 1);
	else
		fuzz_timeline(data + 1, size - 1);
	return 0;
}
