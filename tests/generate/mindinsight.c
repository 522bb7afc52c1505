#include "tests/generate/faults.h"
#include "tests/generate/options.h"
#include "tests/generate/random.h"
#include "tests/generate/spans.h"
#include "tests/generate/truth.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A made-up training job as MindInsight's profiler of 2022 wrote it down: one folder for all ranks, steps and
 * all-reduces in ticks of 10 ns, sums by operator, and the queues of the input pipeline. */

enum { STREAMS = 2, CAPACITY = 64, TICK = 10 };

struct options {
	int64_t ranks, steps;
	uint64_t seed;
	struct faults faults;
	const char *path, *truth;
};

/* Ticks. */
struct step {
	int64_t start, interval, inner, tail;
	int64_t reduce[STREAMS][2];
	int64_t host, device; /* sizes of the queues */
};

static struct out *open_file(const struct options *o, const char *stem, int64_t id, const char *end)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/profiler/%s%" PRId64 "%s", o->path, stem, id, end) >=
	    sizeof(path))
		out_die("a path is too long");
	return out_open(path, false);
}

static int64_t wait_ticks(const struct options *o)
{
	return (faults_ms(&o->faults, FAULT_READING) + faults_ms(&o->faults, FAULT_PROCESSING) +
	        faults_ms(&o->faults, FAULT_FETCHING)) /
	       TICK;
}

/* A starved job waits between its steps, and finds its queues empty up to the stage that is slow: host is
 * what was processed, device what was fetched. */
static void play(const struct options *o, struct random *random, struct step *steps)
{
	int64_t now = INT64_C(15490789606875);

	for (int64_t i = 0; i < o->steps; i++) {
		struct step *s = &steps[i];
		bool unread = i > 0 && o->faults.size[FAULT_READING] > 0;
		bool unprocessed = i > 0 && o->faults.size[FAULT_PROCESSING] > 0;
		bool unfetched = i > 0 && o->faults.size[FAULT_FETCHING] > 0;
		int64_t at, host, device;

		s->start = now;
		s->interval = random_between(random, 20000, 22000);
		s->interval = i == 0 ? 0 : s->interval + wait_ticks(o);
		s->inner = random_between(random, 11000000, 12000000);
		s->tail = random_between(random, 200000, 400000);
		at = now + s->interval + s->inner / 2;
		for (int k = 0; k < STREAMS; k++) {
			s->reduce[k][0] = at + random_between(random, 0, 500000);
			s->reduce[k][1] = s->reduce[k][0] + random_between(random, 1000000, 3000000);
		}
		host = random_between(random, 30, CAPACITY);
		device = random_between(random, 1, 20);
		s->host = unread || unprocessed ? 0 : unfetched ? CAPACITY : host;
		s->device = unread || unprocessed || unfetched ? 0 : device;
		now += s->interval + s->inner + s->tail;
	}
}

static void write_steps(const struct options *o, int64_t id, const struct step *steps)
{
	OUT_AUTO out = open_file(o, "step_trace_raw_", id, "_detail_time.csv");

	out_text(out,
	         "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail");
	for (int k = 0; k < STREAMS; k++)
		out_fmt(
		    out,
		    ",stream_%d_parallel_0_start_point,stream_%d_parallel_0_end_point,stream_%d_parallel_0",
		    520 + 2 * k, 520 + 2 * k, 520 + 2 * k);
	out_text(out, "\r\n");
	for (int64_t i = 0; i < o->steps; i++) {
		const struct step *s = &steps[i];
		int64_t total = s->interval + s->inner + s->tail, forward = s->start + s->interval;

		out_fmt(out,
		        "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
		        ",%" PRId64 ",%" PRId64,
		        i + 1, s->start, s->start + total, total, forward, forward + s->inner, s->interval,
		        s->inner, s->tail);
		for (int k = 0; k < STREAMS; k++)
			out_fmt(out, ",%" PRId64 ",%" PRId64 ",%" PRId64, s->reduce[k][0], s->reduce[k][1],
			        s->reduce[k][1] - s->reduce[k][0]);
		out_text(out, "\r\n");
	}
	out_text(out, "-,1,1,1,1,1,1,1,1,1,1,1,1,1,1\r\n");
}

static void write_queues(const struct options *o, int64_t id, const struct step *steps)
{
	OUT_AUTO host = open_file(o, "device_queue_profiling_", id, ".txt");
	OUT_AUTO device = open_file(o, "minddata_aicpu_", id, ".txt");
	OUT_AUTO raw = open_file(o, "minddata_pipeline_raw_", id, ".csv");

	for (int64_t i = 0; i < o->steps; i++) {
		const struct step *s = &steps[i];

		out_fmt(host,
		        "0 1 %" PRId64 " 4 %" PRId64 "\n0 2 %" PRId64 " 6 %" PRId64 "\n0 0 %" PRId64
		        " 2 %" PRId64 "\n1 %d %" PRId64 " %" PRId64 " %" PRId64 "\n",
		        i + 1, i, i + 1, i, i + 1, i, CAPACITY, i + 1, s->host, i);
		out_fmt(device, "GetNext_dequeue_wait %" PRId64 " %" PRId64 " %" PRId64 "\n", s->start / 100,
		        s->start / 100 + 3, s->device);
	}
	out_text(raw,
	         "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
	         "output_queue_usage_rate,sample_interval,parent_id,children_id\r\n"
	         "0,Batch,4,,,,,10,,[1]\r\n");
	out_fmt(raw, "1,TFReader,8,\"[%d, %d]\",1,64,0.5,10,0,\r\n",
	        o->faults.size[FAULT_READING] > 0 ? 0 : 60, o->faults.size[FAULT_READING] > 0 ? 0 : 64);
}

/* In us; the truth has the same. */
static const struct {
	const char *type;
	int64_t us, count;
} SUMS[] = {{"MatMul", 73000, 130}, {"Cast", 4100, 65}, {"TransData", 1900, 12}};
#define SUM_COUNT (sizeof(SUMS) / sizeof(SUMS[0]))

static void write_sums(const struct options *o, int64_t id)
{
	OUT_AUTO types = open_file(o, "aicore_intermediate_", id, "_type.csv");

	out_text(types, "kernel_type,total_time,execution_frequency,percent\n");
	for (size_t i = 0; i < SUM_COUNT; i++)
		out_fmt(types, "%s,%" PRId64 ".%03" PRId64 ",%" PRId64 ",0.00\n", SUMS[i].type,
		        SUMS[i].us / 1000, SUMS[i].us % 1000, SUMS[i].count);
}

static struct truth_row unknown(void)
{
	return (struct truth_row){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
}

static void add_reduces(struct spans *to, const struct step *s)
{
	for (int k = 0; k < STREAMS; k++)
		spans_add(to, s->reduce[k][0] * TICK, s->reduce[k][1] * TICK);
}

static void truth_queue(struct out *out, const struct options *o, const struct step *steps, bool device)
{
	int64_t sum = 0, empty = 0, full = 0;

	for (int64_t i = 0; i < o->steps; i++) {
		int64_t size = device ? steps[i].device : steps[i].host;

		sum += size;
		empty += size == 0;
		full += size == CAPACITY;
	}
	out_fmt(out,
	        "{\"name\": \"%s\", \"samples\": %" PRId64 ", \"empty\": %" PRId64 ", \"full\": %" PRId64
	        ", \"sum\": %" PRId64 "}",
	        device ? "get_next" : "device_queue", o->steps, empty, device ? -1 : full, sum);
}

static void write_truth(struct out *out, const struct options *o, int64_t id, const struct step *steps)
{
	SPANS_AUTO all = {0};
	struct truth_row row = unknown();

	out_fmt(out, "%s\n{\"rank\": %" PRId64 ", \"whole\": ", id ? "," : "", id);
	for (int64_t i = 0; i < o->steps; i++)
		add_reduces(&all, &steps[i]);
	spans_merge(&all);
	row.communication_ns = spans_total(&all);
	truth_write_row(out, &row);
	out_text(out, ",\n \"steps\": [");
	for (int64_t i = 0; i < o->steps; i++) {
		const struct step *s = &steps[i];
		SPANS_AUTO one = {0};

		add_reduces(&one, s);
		spans_merge(&one);
		row.communication_ns = spans_total(&one);
		row.step_ns = (s->interval + s->inner + s->tail) * TICK;
		out_fmt(out,
		        "%s\n  {\"step\": %" PRId64 ", \"interval_ns\": %" PRId64
		        ", \"forward_backward_ns\": %" PRId64 ", \"tail_ns\": %" PRId64 ", \"breakdown\": ",
		        i ? "," : "", i + 1, s->interval * TICK, s->inner * TICK, s->tail * TICK);
		truth_write_row(out, &row);
		out_text(out, "}");
	}
	out_text(out, "],\n \"operators\": [");
	for (size_t i = 0; i < SUM_COUNT; i++)
		out_fmt(out, "%s{\"name\": \"%s\", \"count\": %" PRId64 ", \"total_ns\": %" PRId64 "}",
		        i ? ", " : "", SUMS[i].type, SUMS[i].count, SUMS[i].us * 1000);
	out_text(out, "],\n \"queues\": [");
	truth_queue(out, o, steps, false);
	out_text(out, ", ");
	truth_queue(out, o, steps, true);
	out_text(out, "]}");
}

static void write_run(const struct options *o)
{
	struct random random = {.state = o->seed};
	struct step *steps = out_alloc(NULL, o->steps, sizeof(*steps));
	struct out *truth = o->truth ? out_open(o->truth, false) : NULL;
	int64_t sum = 0;
	char path[4096];

	if (o->path && (size_t)snprintf(path, sizeof(path), "%s/profiler", o->path) >= sizeof(path))
		out_die("a path is too long");
	if (o->path)
		out_mkdir(path);
	if (truth) {
		out_text(truth, "{\"format\": \"mindinsight\", \"faults\": ");
		faults_write(truth, &o->faults);
		out_text(truth, ", \"ranks\": [");
	}
	for (int64_t id = 0; id < o->ranks; id++) {
		play(o, &random, steps);
		for (int64_t i = 0; i < o->steps; i++)
			sum += (steps[i].interval + steps[i].inner + steps[i].tail) * TICK;
		if (o->path) {
			write_steps(o, id, steps);
			write_queues(o, id, steps);
			write_sums(o, id);
		}
		if (truth)
			write_truth(truth, o, id, steps);
	}
	if (truth)
		out_fmt(truth, "\n], \"mean_step_ns\": %" PRId64 "}\n", sum / (o->ranks * o->steps));
	out_close(&truth);
	free(steps);
}

static int run(int argc, char **argv)
{
	struct options o = {.ranks = 1, .steps = 20, .seed = 1};

	for (int c = option_next(argc, argv, "srdft"); c != -1; c = option_next(argc, argv, "srdft"))
		switch (c) {
		case 's': o.steps = option_number(optarg, 1, 1000000); break;
		case 'r': o.ranks = option_number(optarg, 1, 4096); break;
		case 'd': o.seed = (uint64_t)option_number(optarg, 0, INT64_MAX); break;
		case 'f': faults_parse(optarg, IN_MINDINSIGHT, &o.faults); break;
		default: o.truth = optarg; break;
		}
	o.path = option_path(argc, argv, o.truth);
	write_run(&o);
	return 0;
}

const struct dialect MINDINSIGHT_DIALECT = {
    .name = "mindinsight",
    .usage = "generate mindinsight [options] DIR           files in DIR/profiler, one set a rank\n"
             "  --steps N (20)\n",
    .run = run,
};
