/* bench_large FILE: a trace of 5,000,000 events (1.4 GB), from its bytes to its findings, as `signalbox
 * analyze` does it with two threads. The goals: 4 s on the clock of the wall, 300 MiB of anonymous memory.
 * The file is larger than some disks like, so the bench makes it and takes it away again. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/bench/bench.h"
#include "tests/bench/threaded.h"

#define GOAL_SECONDS 4
#define GOAL_MIB 300

/* Looks at the memory while the work runs: its peak lies inside an analysis. */
struct watch {
	pthread_t id;
	atomic_bool stop;
	double peak_mib;
};

static void *watch_memory(void *arg)
{
	struct watch *w = arg;
	const struct timespec pause = {.tv_nsec = 10000000};

	while (!atomic_load(&w->stop)) {
		double x = anon_mib();

		w->peak_mib = x > w->peak_mib ? x : w->peak_mib;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void run(const struct file *f, struct result *r)
{
	RESULTS_AUTO all = {0};
	const struct read_input in = {.path = f->path,
	                              .fd = -1,
	                              .disk_path = f->path,
	                              .length = (int64_t)(megabytes(f->path) * 1e6 + 0.5)};
	struct watch w = {.peak_mib = 0};
	double start = wall();
	int rc;

	if (pthread_create(&w.id, NULL, watch_memory, &w) != 0)
		return;
	rc = compute_with(1, &in, 1, &all);
	r->seconds = wall() - start;
	atomic_store(&w.stop, true);
	pthread_join(w.id, NULL);
	r->anon_mib = w.peak_mib;
	r->ok = rc == SB_OK && all.profile.count == 1;
	r->events = r->ok ? (double)all.profile.captures[0].event_count : 0;
}

int main(int argc, char **argv)
{
	struct file f = {.path = argc > 1 ? argv[1] : ""};
	struct result ours = {0};
	double mb = megabytes(f.path);

	if (argc != 2 || !(mb > 0)) {
		fprintf(stderr, "usage: bench_large FILE\n");
		return 2;
	}
	best_of(&ours, run, &f, 3);
	if (!ours.ok || ours.events < 5000000)
		return 1;
	line("kineto_5m_events_vs_goal", ours.seconds, GOAL_SECONDS, "s");
	line("kineto_5m_memory_vs_goal", ours.anon_mib, GOAL_MIB, "MiB");
	line("kineto_5m_bytes_per_second", mb / ours.seconds, 0, "MB/s");
	return 0;
}
