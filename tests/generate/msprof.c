#include "tests/generate/msprof.h"
#include "tests/generate/out.h"
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES = 3 };

/* The layout before 2023 counts from when the device was started. */
static const int64_t uptime_ns = INT64_C(56600000000000);

struct writer {
	const struct ascend_options *o;
	const struct ascend_rank *r;
	bool old;
	int64_t shift;
};

static const char new_header[] =
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task "
    "Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible,Input Shapes,Input Data "
    "Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID\n";
static const char old_header[] =
    "Model Name,Model ID,Task ID,Stream ID,Infer ID,Op Name,OP Type,Task Type,Task Start Time,Task "
    "Duration(us),Task Wait Time(us),Block Dim,Input Shapes,Input Data Types,Input Formats,Output "
    "Shapes,Output Data Types,Output Formats\n";

static struct out *open_file(const struct writer *w, const char *folder, const char *name)
{
	char directory[2048], path[4096];
	int n = snprintf(directory, sizeof(directory), "%s/%s", w->r->directory, folder);
	int all = snprintf(path, sizeof(path), "%s/%s", directory, name);

	if (n < 0 || (size_t)n >= sizeof(directory) || all < 0 || (size_t)all >= sizeof(path))
		out_die("a path is too long");
	out_mkdir(directory);
	return out_open(path, false);
}

/* A table or timeline of the layout; slice -1: it is whole. */
static struct out *open_export(const struct writer *w, const char *name, const char *end, int slice)
{
	char file[80];

	if (w->old)
		snprintf(file, sizeof(file), "%s_0_1_1%s", name, end);
	else if (slice < 0)
		snprintf(file, sizeof(file), "%s_20250202000000%s", name, end);
	else
		snprintf(file, sizeof(file), "%s_slice_%d_20250202000000%s", name, slice, end);
	if (!w->old)
		return open_file(w, "mindstudio_profiler_output", file);
	return open_file(w, end[1] == 'j' ? "device_0/timeline" : "device_0/summary", file);
}

static void start_cell(const struct writer *w, struct out *out, int64_t ns)
{
	out_us_cell(out, ns - w->shift);
	out_text(out, "\t");
}

static void kernel_row(const struct writer *w, struct out *out, int64_t index)
{
	const struct ascend_kernel *k = &w->r->kernels[index];
	const struct ascend_work *work = &ascend_works[k->work];
	int64_t wait = index ? k->start - (k[-1].start + k[-1].dur) : 0;
	char name[600], shapes[400];

	ascend_kernel_name(w->o, w->r, index, name, sizeof(name));
	ascend_shapes(w->o, k, shapes, sizeof(shapes));
	out_text(out, w->old ? "model,1," : "0,4294967295,");
	out_fmt(out, "%" PRId64 ",%d,", 11000 + index % 50000, ASCEND_STREAM);
	if (w->old)
		out_fmt(out, "%" PRId64 ",", ASCEND_FIRST_STEP + k->step);
	out_cell(out, name);
	out_fmt(out, w->old ? ",%s,%s" : ",%s,dynamic,%s", work->type, work->core);
	start_cell(w, out, k->start);
	out_us_cell(out, k->dur);
	/* the wait has six digits, as mixed exporters write it */
	out_us_cell(out, wait > 0 ? wait : 0);
	out_fmt(out, "000,%d", work->blocks);
	out_text(out, w->old ? "," : ",0,NO,");
	out_fmt(out, "\"\"\"%s\"\"\",DT_BF16;DT_BF16,%s,\"\"\"%s\"\"\",DT_BF16,%s%s\n", shapes,
	        work->in_formats, work->output, work->out_formats, w->old ? "" : ",N/A");
}

static void link_row(const struct writer *w, struct out *out, const struct ascend_link *l)
{
	out_text(out, w->old ? "model,1,N/A,N/A," : "0,4294967295,N/A,N/A,");
	if (w->old)
		out_fmt(out, "%" PRId64 ",", ASCEND_FIRST_STEP + l->step);
	out_fmt(out, w->old ? "%s,hcom_%s_,HCCL" : "%s,hcom_%s_,N/A,COMMUNICATION", l->text, l->kind);
	start_cell(w, out, l->start);
	out_us_cell(out, l->dur);
	out_text(out, ",0,N/A");
	for (int i = 0; i < (w->old ? 6 : 9); i++)
		out_text(out, ",N/A");
	out_text(out, "\n");
}

/* Rows [from, to) of the kernels; the first slice has the operators of communication too. */
static void op_summary_slice(const struct writer *w, int slice, int64_t from, int64_t to)
{
	OUT_AUTO out = open_export(w, "op_summary", ".csv", slice);

	out_text(out, w->old ? old_header : new_header);
	for (int64_t i = 0; slice <= 0 && i < w->r->link_count; i++)
		link_row(w, out, &w->r->links[i]);
	for (int64_t i = from; i < to; i++)
		kernel_row(w, out, i);
}

static void op_summary(const struct writer *w)
{
	int64_t n = w->r->kernel_count;

	if (w->old)
		op_summary_slice(w, -1, 0, n);
	for (int i = 0; !w->old && i < SLICES; i++)
		op_summary_slice(w, i, n * i / SLICES, n * (i + 1) / SLICES);
}

static int64_t most_reduces(const struct writer *w)
{
	int64_t most = 0;

	for (int64_t step = 0; step < w->o->steps; step++) {
		int64_t n = 0;

		for (int64_t i = 0; i < w->r->link_count; i++)
			n += w->r->links[i].step == step;
		most = n > most ? n : most;
	}
	return most;
}

static void step_row(const struct writer *w, struct out *out, int64_t step, int64_t columns)
{
	const struct ascend_step *s = &w->r->steps[step];
	int64_t first = s->start + 1000, last = s->end - 1000, n = 0;

	out_text(out, w->old ? "" : "0,");
	out_int(out, ASCEND_FIRST_STEP + step);
	start_cell(w, out, first);
	start_cell(w, out, last);
	start_cell(w, out, s->end);
	out_us_cell(out, s->end - s->start);
	out_us_cell(out, last - first);
	out_us_cell(out, s->end - last);
	if (step == 0)
		out_text(out, ",N/A");
	else
		out_us_cell(out, first - w->r->steps[step - 1].end);
	out_text(out, ",1");
	for (int64_t i = 0; i < w->r->link_count; i++) {
		if (w->r->links[i].step != step)
			continue;
		start_cell(w, out, w->r->links[i].start);
		out_us_cell(out, w->r->links[i].dur);
		n++;
	}
	for (; n < columns; n++)
		out_text(out, ",N/A,N/A");
	out_text(out, "\n");
}

static void step_trace(const struct writer *w)
{
	OUT_AUTO out = open_export(w, "step_trace", ".csv", -1);
	int64_t columns = most_reduces(w);

	out_text(out, w->old
	                  ? "Iteration ID,FP Start,BP End,Iteration End,Iteration Time(us),FP to BP "
	                    "Time(us),Iteration Refresh(us),Data Aug Bound(us),Model ID"
	                  : "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration "
	                    "Time(us),FP to BP Time(us),Iteration Refresh(us),Data Aug Bound(us),Model ID");
	for (int64_t i = 0; i < columns; i++)
		out_text(out, w->old ? ",Reduce Start,Reduce Duration(us)"
		                     : ",Reduce Start(us),Reduce Duration(us)");
	out_text(out, "\n");
	for (int64_t step = 0; step < w->o->steps; step++)
		step_row(w, out, step, columns);
}

static void api_statistic(const struct writer *w)
{
	OUT_AUTO out = open_export(w, "api_statistic", ".csv", -1);
	int64_t total = 0;

	for (int64_t i = 0; i < w->r->kernel_count; i++)
		total += w->r->kernels[i].launch_dur;
	out_text(
	    out,
	    "Device_id,Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\nhost,node,launch");
	out_us_cell(out, total);
	out_fmt(out, ",%" PRId64, w->r->kernel_count);
	out_us_cell(out, total / w->r->kernel_count);
	out_text(out, ",0,0,0\n");
}

static void one_rank(struct writer *w)
{
	struct out *out;

	op_summary(w);
	step_trace(w);
	api_statistic(w);
	out = open_export(w, "msprof", ".json", -1);
	ascend_write_msprof(w->o, w->r, out, w->old, w->shift);
	out_close(&out);
	out = open_file(w, "device_0", "info.json.0");
	out_text(out, "{\"platform_version\": \"5\", \"DeviceInfo\": [{\"id\": 0, \"ai_core_num\": 24, "
	              "\"aiv_num\": 48, \"aic_frequency\": \"1800\"}]}");
	out_close(&out);
}

void msprof_options(int argc, char **argv, enum fault_dialect dialect, const char *own,
                    struct ascend_options *o)
{
	static const char *const layouts[] = {
	    [ASCEND_PLAIN] = "plain", [ASCEND_OLD] = "old", [ASCEND_NEW] = "new", NULL};

	for (int c = option_next(argc, argv, own); c != -1; c = option_next(argc, argv, own))
		switch (c) {
		case 'k': o->kernels = option_number(optarg, 16, 10000000); break;
		case 's': o->steps = option_number(optarg, 1, 30000); break;
		case 'r': o->ranks = option_number(optarg, 1, 16384); break;
		case 'd': o->seed = (uint64_t)option_number(optarg, 0, INT64_MAX); break;
		case 'f': faults_parse(optarg, dialect, &o->faults); break;
		case 'y': o->layout = (enum ascend_layout)option_word(layouts, optarg); break;
		case 'p': o->shape = (enum ascend_shape)option_word(ascend_shape_names, optarg); break;
		default: o->truth = optarg; break;
		}
	o->path = option_path(argc, argv, o->truth);
	ascend_default(o);
}

struct ascend_rank *msprof_play(const struct ascend_options *o)
{
	struct ascend_rank *ranks = out_alloc(NULL, o->ranks, sizeof(*ranks));

	ascend_play(o, ranks);
	if (o->path)
		out_mkdir(o->path);
	return ranks;
}

void msprof_free(const struct ascend_options *o, struct ascend_rank *ranks)
{
	for (int64_t i = 0; i < o->ranks; i++)
		ascend_rank_free(&ranks[i]);
	free(ranks);
}

static int run(int argc, char **argv)
{
	struct ascend_options o = ASCEND_OPTIONS;
	struct ascend_rank *ranks;

	msprof_options(argc, argv, IN_MSPROF, "ksrdftyp", &o);
	ranks = msprof_play(&o);
	for (int64_t i = 0; o.path && i < o.ranks; i++) {
		struct writer w = {.o = &o, .r = &ranks[i], .old = o.layout == ASCEND_OLD};

		w.shift = w.old ? ascend_start_ns - uptime_ns : 0;
		if (asprintf(&ranks[i].directory, "%s/PROF_%06" PRId64 "_20250202000000123_MADEUPMADEUP",
		             o.path, i + 1) < 0)
			out_die("out of memory");
		one_rank(&w);
	}
	if (o.truth)
		ascend_write_truth(&o, ranks, "msprof");
	msprof_free(&o, ranks);
	return 0;
}

const struct dialect MSPROF_DIALECT = {
    .name = "msprof",
    .usage = "generate msprof [options] DIR                one PROF_* directory a rank, exported as text\n"
             "  --kernels N a step (160); --layout plain|old: the tables of today or of before 2023\n",
    .run = run,
};
