#include "tests/generate/ascend.h"
#include "tests/generate/out.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char kernel_header[] =
    "Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),Wait "
    "Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,Output "
    "Shapes,Output Data Types,Output Formats,Context "
    "ID,aicore_time(us),aic_total_cycles,aic_mac_time(us),aic_mac_ratio,aic_scalar_time(us),aic_scalar_ratio,"
    "aic_"
    "mte1_time(us),aic_mte1_ratio,aic_mte2_time(us),aic_mte2_ratio,aic_fixpipe_time(us),aic_fixpipe_ratio,"
    "aic_icache_"
    "miss_rate,aiv_time(us),aiv_total_cycles,aiv_vec_time(us),aiv_vec_ratio,aiv_scalar_time(us),aiv_scalar_"
    "ratio,aiv_"
    "mte2_time(us),aiv_mte2_ratio,aiv_mte3_time(us),aiv_mte3_ratio,aiv_icache_miss_rate,cube_utilization(%)";
static const char kernel_header_0[] =
    "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim";

/* Python's csv module ends lines with CR LF, the C++ exporter of level 2 with LF. */
static const char *line_end(const struct ascend_options *o)
{
	return o->level == 2 ? "\n" : "\r\n";
}

/* Time and ratio of one pipe; ratio in thousandths. */
static void pipe_cells(struct out *out, int64_t ns, int ratio)
{
	out_us_cell(out, ns * ratio / 1000);
	out_fmt(out, ",0.%03d", ratio);
}

static void pipes(const struct ascend_options *o, struct out *out, const struct ascend_kernel *k)
{
	const struct ascend_work *w = &ascend_works[k->work];
	int cube[5];
	int vector[4];
	int64_t cube_ns;
	int64_t vector_ns;

	if (!ascend_pipe_ratios(o, k, cube, vector)) {
		for (int i = 0; i < 25; i++)
			out_text(out, ",0");
		return;
	}
	cube_ns = cube[0] ? k->dur * 97 / 100 : 0;
	vector_ns = vector[0] ? k->dur * 97 / 100 : 0;
	out_us_cell(out, cube_ns);
	out_fmt(out, ",%" PRId64, (cube_ns * 18 / 10 * w->blocks));
	for (int i = 0; i < 5; i++)
		pipe_cells(out, cube_ns, cube[i]);
	out_text(out, ",0.004");
	out_us_cell(out, vector_ns);
	out_fmt(out, ",%" PRId64, (vector_ns * 18 / 10 * w->blocks));
	for (int i = 0; i < 4; i++)
		pipe_cells(out, vector_ns, vector[i]);
	out_fmt(out, ",0.006,%s", cube_ns ? "92.5" : "0");
}

static void quoted_shape(struct out *out, const char *shape)
{
	out_text(out, ",\"\"\"");
	out_text(out, shape);
	out_text(out, "\"\"\"");
}

static void kernel_row(const struct ascend_options *o, struct out *out, const struct ascend_rank *r,
                       int64_t index)
{
	const struct ascend_kernel *k = &r->kernels[index];
	const struct ascend_work *w = &ascend_works[k->work];
	int64_t wait = index ? k->start - (k[-1].start + k[-1].dur) : 0;
	char name[600], shapes[400];

	ascend_kernel_name(o, r, index, name, sizeof(name));
	out_int(out, ASCEND_FIRST_STEP + k->step);
	if (o->level > 0)
		out_fmt(out, ",4294967295,%" PRId64 ",%d", 11000 + index % 50000, ASCEND_STREAM);
	out_text(out, ",");
	out_cell(out, name);
	if (o->level > 0)
		out_fmt(out, ",%s,dynamic,%s,", w->type, w->core);
	else
		out_text(out, ",N/A,N/A,");
	out_us(out, k->start);
	out_text(out, "\t");
	out_us_cell(out, k->dur);
	out_us_cell(out, wait > 0 ? wait : 0);
	out_fmt(out, ",%d", w->blocks);
	if (o->level > 0) {
		out_text(out, ",0,NO");
		ascend_shapes(o, k, shapes, sizeof(shapes));
		quoted_shape(out, shapes);
		out_fmt(out, ",DT_BF16;DT_BF16,%s", w->in_formats);
		quoted_shape(out, w->output);
		out_fmt(out, ",DT_BF16,%s,N/A", w->out_formats);
		pipes(o, out, k);
	}
	out_text(out, line_end(o));
}

static void link_row(const struct ascend_options *o, struct out *out, const struct ascend_link *l)
{
	out_int(out, ASCEND_FIRST_STEP + l->step);
	if (o->level > 0)
		out_fmt(out, ",4294967295,N/A,N/A,%s,hcom_%s_,N/A,COMMUNICATION,", l->text, l->kind);
	else
		out_fmt(out, ",%s,N/A,COMMUNICATION,", l->text);
	out_us(out, l->start);
	out_text(out, "\t");
	out_us_cell(out, l->dur);
	out_text(out, ",0.0,0");
	for (int i = 0; o->level > 0 && i < 34; i++)
		out_text(out, ",N/A");
	out_text(out, line_end(o));
}

static void kernel_details(const struct ascend_options *o, const struct ascend_rank *r)
{
	OUT_AUTO out = ascend_open(r, "kernel_details.csv", false);
	int64_t l = 0;

	out_text(out, o->level > 0 ? kernel_header : kernel_header_0);
	out_text(out, line_end(o));
	for (int64_t i = 0; i < r->kernel_count; i++) {
		while (l < r->link_count && r->links[l].start < r->kernels[i].start)
			link_row(o, out, &r->links[l++]);
		kernel_row(o, out, r, i);
	}
	while (l < r->link_count)
		link_row(o, out, &r->links[l++]);
}

void ascend_step_cells(struct out *out, const struct truth_row *t)
{
	int64_t rest = t->communication_exposed_ns - t->bubble_ns;

	out_us_cell(out, t->compute_ns);
	out_us_cell(out, t->communication_exposed_ns);
	out_us_cell(out, t->overlap_ns);
	out_us_cell(out, t->communication_ns);
	out_us_cell(out, t->free_ns);
	out_us_cell(out, t->span_ns);
	out_us_cell(out, t->bubble_ns);
	out_us_cell(out, rest > 0 ? rest : 0);
}

static void step_trace_time(const struct ascend_options *o, const struct ascend_rank *r)
{
	OUT_AUTO out = ascend_open(r, "step_trace_time.csv", false);

	out_text(out,
	         "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
	         "Communication(Not Overlapped and Exclude Receive),Preparing\n");
	for (int64_t i = 0; i < o->steps; i++) {
		const struct truth_row *t = &r->steps[i].lane;

		out_int(out, ASCEND_FIRST_STEP + i);
		ascend_step_cells(out, t);
		out_us_cell(out, t->preparing_ns);
		out_text(out, "\n");
	}
}

static void statistic_row(struct out *out, const struct truth_name *t, const char *core, int64_t all)
{
	out_fmt(out, "%s,%s,%" PRId64, t->name, core, t->count);
	out_us_cell(out, t->total);
	out_us_cell(out, t->low);
	out_us_cell(out, t->total / t->count);
	out_us_cell(out, t->high);
	out_fmt(out, ",%.3f\n", 100.0 * (double)t->total / (double)all);
}

static void op_statistic(const struct ascend_rank *r)
{
	OUT_AUTO out = ascend_open(r, "op_statistic.csv", false);
	TRUTH_TALLY_AUTO rows = {0};
	int64_t all = 0;

	for (int64_t i = 0; i < r->kernel_count; i++) {
		truth_tally_add(&rows, ascend_works[r->kernels[i].work].type, r->kernels[i].dur);
		all += r->kernels[i].dur;
	}
	out_text(out,
	         "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n");
	for (int64_t i = 0; i < rows.count; i++) {
		int work = 0;

		while (strcmp(ascend_works[work].type, rows.items[i].name) != 0)
			work++;
		statistic_row(out, &rows.items[i], ascend_works[work].core, all);
	}
}

static void api_row(struct out *out, const char *level, const char *name, const struct truth_name *t)
{
	if (!t->count)
		return;
	out_fmt(out, "%s,%s", level, name);
	out_us_cell(out, t->total);
	out_fmt(out, ",%" PRId64, t->count);
	out_us_cell(out, t->total / t->count);
	out_us_cell(out, t->low);
	out_us_cell(out, t->high);
	out_text(out, ",0.0\n");
}

static void tally(struct truth_name *t, int64_t ns)
{
	t->low = !t->count || ns < t->low ? ns : t->low;
	t->high = ns > t->high ? ns : t->high;
	t->count++;
	t->total += ns;
}

static void api_statistic(const struct ascend_options *o, const struct ascend_rank *r)
{
	OUT_AUTO out = ascend_open(r, "api_statistic.csv", false);
	struct truth_name launch = {0};
	struct truth_name link = {0};
	struct truth_name sync = {0};
	struct truth_name calls[CALL_TAKE + 1] = {0};

	for (int64_t i = 0; i < r->kernel_count; i++) {
		tally(&launch, r->kernels[i].launch_dur);
		if (r->kernels[i].sync)
			tally(&sync, r->kernels[i].sync);
	}
	for (int64_t i = 0; i < r->link_count; i++)
		tally(&link, r->links[i].launch_dur);
	out_text(out, "Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),Variance\n");
	api_row(out, "node", "launch", &launch);
	api_row(out, "hccl", "hcom_allReduce_", &link);
	for (int64_t i = 0; i < r->call_count; i++)
		tally(&calls[r->calls[i].kind], r->calls[i].dur);
	for (int i = CALL_COMPILE; i <= CALL_TAKE; i++) {
		const struct ascend_call call = {.kind = (enum ascend_call_kind)i};

		api_row(out, "acl", ascend_call_name(&call), &calls[i]);
	}
	api_row(out, "acl", "aclrtSynchronizeStreamWithTimeout", &sync);
	if (o->level == 2)
		api_row(out, "runtime", "KernelLaunch", &launch);
}

void ascend_write_tables(const struct ascend_options *o, const struct ascend_rank *r)
{
	kernel_details(o, r);
	step_trace_time(o, r);
	if (o->level == 0)
		return;
	op_statistic(r);
	api_statistic(o, r);
}
