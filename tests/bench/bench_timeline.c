/* bench_timeline DIRECTORY: ten million made-up events on 16 lanes: writes their side file, looks at it at
 * several zooms. Baselines in the same call: the same columns written as they are; a view computed by going
 * over all events. One line a figure: name, ours, baseline, ratio, unit. */
#include "tests/bench/bench.h"

#include "api/profiles/timeline_json.h"

#define EVENTS 10000000u
#define LANES 16
#define PX 1600
#define PIECE ((size_t)256 << 10)

static double wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Eight host threads with operators and calls inside them, eight streams with kernels, copies and
 * collectives. */
static int make_trace(struct trace *t)
{
	static const enum event_kind device[] = {EVENT_KERNEL, EVENT_KERNEL, EVENT_KERNEL, EVENT_MEMCPY};
	uint64_t state = 88172645463325252u;
	int64_t at[LANES] = {0};
	uint32_t names[1000];
	int rc = trace_init(t);

	for (uint32_t i = 0; rc == SB_OK && i < 1000; i++) {
		char name[40];
		int n = snprintf(name, sizeof(name), "operator_%u", i);

		rc = sb_strings_add(t->strings, name, (size_t)n, &names[i]);
	}
	for (uint32_t i = 0; rc == SB_OK && i < LANES; i++) {
		struct lane lane = {.process = names[0], .thread = names[i], .device = i < 8 ? -1 : 0};
		uint32_t id;

		rc = trace_add_lane(t, &lane, &id);
	}
	for (uint32_t i = 0; rc == SB_OK && i < EVENTS; i++) {
		uint64_t x = next_random(&state);
		uint32_t lane = (uint32_t)(x % LANES);
		int64_t dur = 500 + (int64_t)(x >> 8 & 0x3fff);
		bool inside = lane < 8 && (x >> 32 & 3) != 0;
		struct event e = {at[lane] + (inside ? 100 : 0),
		                  inside ? dur / 4 : dur,
		                  -1,
		                  names[x >> 40 & 511],
		                  lane,
		                  EVENT_HOST_OP};

		if (lane >= 8)
			e.kind = lane == 15 ? EVENT_COMMUNICATION : device[x >> 50 & 3];
		else if (inside)
			e.kind = EVENT_HOST_RUNTIME;
		at[lane] += inside ? 200 : dur + (int64_t)(x >> 54 & 0x3ff);
		rc = trace_append(t, &e);
	}
	return rc;
}

static int fresh_file(const char *directory)
{
	return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static double write_plainly(const struct trace *t, int fd)
{
	const struct {
		const void *data;
		size_t element;
	} columns[] = {{t->start_ns, 8}, {t->dur_ns, 8}, {t->link, 8},
	               {t->name, 4},     {t->lane, 4},   {t->kind, 1}};
	double start = now();

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		const char *p = columns[i].data;
		size_t left = columns[i].element * t->count;

		while (left > 0) {
			ssize_t n = write(fd, p, left < PIECE ? left : PIECE);

			if (n <= 0)
				return 0;
			p += n;
			left -= (size_t)n;
		}
	}
	return now() - start;
}

static double write_ours(const struct trace *t, int fd)
{
	TIMELINE_WRITER_AUTO w;
	double start = now();

	if (timeline_begin(&w, fd, NULL) != SB_OK || timeline_add(&w, t, 0, "made", NULL) != SB_OK ||
	    timeline_end(&w, NULL) != SB_OK)
		return 0;
	return now() - start;
}

/* Columns by going over all events: counts, and time of each kind. As much as a plain reader would do, and
 * less than is needed for overlapping events. */
static uint64_t view_plainly(const struct trace *t, int64_t from, int64_t to)
{
	static uint64_t busy[LANES][PX], count[LANES][PX];
	double scale = (double)PX / (double)(to - from);
	uint64_t sum = 0;

	memset(busy, 0, sizeof(busy));
	memset(count, 0, sizeof(count));
	for (size_t i = 0; i < t->count; i++) {
		int64_t start = t->start_ns[i], dur = t->dur_ns[i];
		size_t px;

		if (start >= to || start + dur <= from)
			continue;
		px = start > from ? (size_t)((double)(start - from) * scale) : 0;
		px = px < PX ? px : PX - 1;
		busy[t->lane[i]][px] += (uint64_t)dur;
		count[t->lane[i]][px]++;
	}
	for (size_t i = 0; i < LANES; i++)
		sum += count[i][PX / 2] + busy[i][PX / 2];
	return sum;
}

/* With the text that the service answers. */
static int look(const struct timeline *f, int64_t from, int64_t to)
{
	SB_BUF_AUTO text;
	TIMELINE_VIEW_AUTO v = {0};
	struct timeline_query q = {.section = &f->sections[0],
	                           .from_ns = from,
	                           .to_ns = to,
	                           .px = PX,
	                           .lane_limit = 100,
	                           .row_limit = 100000};
	int rc = timeline_look(f, &q, &v, NULL);

	sb_buf_init(&text, (size_t)1 << 30);
	return rc == SB_OK ? timeline_write_json(f, &q, &v, &text) : rc;
}

/* The slowest of 50 views of one width at random places, after each was looked at once. */
static void bench_zoom(const struct trace *t, const struct timeline *f, int64_t width, const char *name)
{
	int64_t span = f->sections[0].end_ns - f->sections[0].origin_ns;
	uint64_t state = 1 + (uint64_t)width;
	double worst = 0, plain;

	if (width > span)
		width = span;
	for (int i = 0; i < 50; i++) {
		int64_t from = width < span ? (int64_t)(next_random(&state) % (uint64_t)(span - width)) : 0;
		double ms;

		(void)look(f, from, from + width);
		ms = now();
		(void)look(f, from, from + width);
		ms = (now() - ms) * 1e3;
		if (ms > worst)
			worst = ms;
	}
	plain = now();
	if (view_plainly(t, (span - width) / 2, (span - width) / 2 + width) == UINT64_MAX)
		return;
	line(name, worst, (now() - plain) * 1e3, "ms");
}

/* Opens the file and looks at all of it, when none of it is in memory; against reading the whole file. */
static void bench_cold(int fd, size_t size)
{
	static char block[PIECE];
	TIMELINE_AUTO f = {0};
	double ours, plain;

	if (fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		return;
	ours = wall_ms();
	if (timeline_open(fd, &f, NULL) != SB_OK || look(&f, 0, f.sections[0].end_ns) != SB_OK)
		return;
	ours = wall_ms() - ours;
	timeline_close(&f);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	plain = wall_ms();
	for (size_t at = 0; at < size; at += PIECE) {
		if (pread(fd, block, PIECE, (off_t)at) <= 0)
			break;
	}
	line("timeline_view_all_cold", ours, wall_ms() - plain, "ms");
	ours = now();
	if (timeline_open(fd, &f, NULL) == SB_OK && look(&f, 0, f.sections[0].end_ns) == SB_OK)
		line("timeline_view_all_first", (now() - ours) * 1e3, 0, "ms");
}

static int bench(const struct trace *t, int fd, int plain_fd)
{
	TIMELINE_AUTO f = {0};
	double plain, ours;
	struct rusage usage;
	struct stat st;

	plain = write_plainly(t, plain_fd);
	ours = write_ours(t, fd);
	if (!(plain > 0) || !(ours > 0) || fstat(fd, &st) != 0 || timeline_open(fd, &f, NULL) != SB_OK ||
	    getrusage(RUSAGE_SELF, &usage) != 0)
		return 1;
	line("timeline_write_events_per_second", EVENTS / ours, EVENTS / plain, "1/s");
	line("timeline_bytes_an_event", (double)st.st_size / EVENTS, 33, "B");
	/* the trace itself included; against the bound for reading, 64 MB and 40 bytes an event */
	line("timeline_write_peak_memory", (double)usage.ru_maxrss / 1024,
	     (64e6 + (double)EVENTS * 40) / (1 << 20), "MiB");
	bench_zoom(t, &f, INT64_MAX, "timeline_view_all");
	bench_zoom(t, &f, f.sections[0].end_ns / 10, "timeline_view_tenth");
	bench_zoom(t, &f, f.sections[0].end_ns / 1000, "timeline_view_thousandth");
	bench_zoom(t, &f, f.sections[0].end_ns / 100000, "timeline_view_100000th");
	bench_zoom(t, &f, 20000, "timeline_view_20us");
	bench_cold(fd, (size_t)st.st_size);
	return 0;
}

int main(int argc, char **argv)
{
	const char *directory = argc == 2 ? argv[1] : ".";
	TRACE_AUTO t = {0};
	int fd = fresh_file(directory), plain = fresh_file(directory);

	if (fd < 0 || plain < 0 || make_trace(&t) != SB_OK) {
		fprintf(stderr, "usage: bench_timeline DIRECTORY\n");
		return 2;
	}
	return bench(&t, fd, plain);
}
