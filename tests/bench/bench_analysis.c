/* bench_analysis DIR: all analyses of one rank of 1,000,000 events after it has been read (DIR/kineto.json,
 * and DIR/ascend as a directory), on one core, against reading it in the same call. */
#include "tests/bench/bench.h"

#include "api/profiles/documents.h"

static void analyse(const struct file *f, struct result *r)
{
	struct profile_results all = {0};
	double start;

	r->ok = read_file(f, r, &all.profile) == SB_OK && all.profile.count == 1;
	start = now();
	r->ok = r->ok && results_analyse(&all, &THRESHOLDS_DEFAULT, NULL, NULL) == SB_OK;
	r->seconds = now() - start;
	r->events = r->ok ? (double)all.profile.captures[0].event_count : 0;
	r->anon_mib = anon_mib();
	results_free(&all);
}

static void only_read(const struct file *f, struct result *r)
{
	struct profile p = {0};
	double start = now();

	r->ok = read_file(f, r, &p) == SB_OK;
	r->seconds = now() - start;
	profile_free(&p);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"kineto.json", "signalbox.json", "trace_view.json"};

	if (argc != 2) {
		fprintf(stderr, "usage: bench_analysis DIR\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[4096], name[64];
		struct file f = {.path = path};
		struct result ours, reading;

		snprintf(path, sizeof(path), "%s/%s", argv[1], names[i]);
		ours = apart(analyse, &f);
		reading = apart(only_read, &f);
		if (!ours.ok || !reading.ok)
			return 1;
		snprintf(name, sizeof(name), "analysis_of_%s", names[i]);
		line(name, ours.seconds * 1e3, reading.seconds * 1e3, "ms");
		snprintf(name, sizeof(name), "analysis_of_%s_per_1M_events", names[i]);
		line(name, ours.seconds * 1e9 / ours.events, 0, "ms");
	}
	return 0;
}
