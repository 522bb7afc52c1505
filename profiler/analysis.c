#include "profiler/analysis.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/host_part.h"
#include "profiler/findings/moe.h"

/* Every finding code of the API, in the order in which they are judged: who judges it and what it needs. */
struct check {
	const char *code;
	void (*run)(struct check_context *ctx, bool *out_judged); /* NULL: not judged by this version */
	const char *needs;
	const char *needs_gpu; /* the same for a trace of GPUs; NULL = no other */
};

static const struct check CHECKS[] = {
    {"parallel.pipeline_bubble", check_pipeline_bubble, "receive operators between pipeline stages",
     "receives between pipeline stages: kernels of send and receive (ncclDevKernel_SendRecv)"},
    {"io.reading", check_reading, "lengths of the data, host and device queues (MindSpore minddata)",
     "lengths of the data, host and device queues: PyTorch records none"},
    {"io.processing", check_processing, "lengths of the data, host and device queues (MindSpore minddata)",
     "lengths of the data, host and device queues: PyTorch records none"},
    {"io.fetching", check_fetching, "a timeline with the copies of the device (ProfilerActivity.NPU)",
     "a timeline with the copies of the device (ProfilerActivity.CUDA)"},
    {"io.loading", check_loading, "host events beside device events (ProfilerActivity.CPU)", NULL},
    {"cpu.compilation", check_compilation, "a capture of profiler level 1 or above (calls into CANN)",
     "the calls of the runtime and the driver beside device events (ProfilerActivity.CPU)"},
    {"cpu.dispatch", check_dispatch,
     "kernels of the device, and the calls that launch them (ProfilerActivity.NPU and CPU)",
     "kernels of the device, and the calls that launch them (ProfilerActivity.CUDA and CPU)"},
    {"cpu.synchronization", check_synchronization, "host events beside device events (ProfilerActivity.CPU)",
     NULL},
    {"cpu.garbage_collection", check_garbage_collection,
     "collections of the Python process (torch_npu: gc_detect_threshold in experimental_config)",
     "collections of the Python process on the timeline: with_stack=True shows gc.collect() and Python's "
     "frames"},
    {"cpu.contention", check_contention,
     "host operators of five steps or more, or of two ranks or more (activities with CPU); beside them, the "
     "CPU "
     "use of the node's processes during the capture",
     NULL},
    {"cpu.environment", check_environment,
     "environment variables of the job: profiler_metadata.json, or META_DATA of the database",
     "environment variables of the job: the trace holds none"},
    /* the last of its component: what remains */
    {"cpu.host_bound", check_host_bound, "device activity (ProfilerActivity.NPU)",
     "device activity (ProfilerActivity.CUDA)"},
    {"compute.frequency", check_frequency,
     "the clock of the AI cores beside kernel_details.csv (trace_view.json or the database has it from "
     "profiler "
     "level 0 on), or three ranks that run the same kernels",
     "three ranks or more that run the same kernels: these traces hold no clocks"},
    {"compute.memory_bound", check_memory_bound,
     "two captures of the job, with aic_metrics=ArithmeticUtilization and aic_metrics=MemoryAccess, or one "
     "with "
     "aic_metrics=PipeUtilization (profiler level 1)",
     "record_shapes=True, and a GPU whose peaks are known (its name stands in the trace)"},
    {"compute.underutilized", check_underutilized,
     "kernel counters: aic_metrics=PipeUtilization, or two captures with ArithmeticUtilization and "
     "MemoryAccess "
     "(profiler level 1)",
     "record_shapes=True, and a GPU whose peaks are known (its name stands in the trace)"},
    {"compute.aicpu", check_aicpu, "kernel_details.csv with Accelerator Core (profiler level 1)",
     "an Ascend capture: GPUs have no AICPU"},
    {"compute.affinity", check_affinity,
     "kernel_details.csv with shapes (profiler level 1), and host operators (ProfilerActivity.CPU)",
     "an Ascend capture: the rules are for its cube units and fused calls"},
    {"compute.format_conversion", check_format_conversion, "kernel_details.csv with Type (profiler level 1)",
     "an Ascend capture: the rule is for its private formats"},
    {"communication.slow_rank", check_slow_rank,
     "captures of the same steps of two ranks or more of one domain (profiler level 1)",
     "traces of the same steps of two ranks or more of a group"},
    {"communication.slow_link", check_slow_link,
     "communication.json (profiler level 1), and the chip's name or a second rank that moves the same, to "
     "know "
     "what a link should reach",
     "sizes of large collectives and traces of all ranks of a group, to know when the last one arrived"},
    {"communication.contention", check_link_contention,
     "transfers with their time on the timeline (profiler level 1), some of them alone, or the chip's name",
     "transfers on the timeline: a Kineto trace shows collectives as a whole"},
    {"communication.retransmission", check_retransmission,
     "RDMA transfers of all ranks of a domain (sys_io=True)", "RDMA counters of the network adapters"},
    {"communication.small_packets", check_small_packets,
     "communication.json with Size Distribution (profiler level 1)",
     "sizes of the collectives (PyTorch 2.3 and newer record them)"},
    {"communication.alignment", check_alignment,
     "communication.json with Size Distribution (profiler level 1)",
     "an Ascend capture: the rule is for HCCS links"},
    {"communication.configuration", check_configuration,
     "environment variables of the job (profiler_metadata.json); counters of the switches",
     "NCCL environment variables; counters of the switches"},
    {"memory.allocation", check_allocation, "memory records (profile_memory=True)", NULL},
    {"moe.imbalance", check_moe_imbalance,
     "tokens per expert, or shapes of the grouped matrix products (profiler level 1)",
     "tokens per expert, or shapes of the grouped matrix products (record_shapes=True)"},
    {"moe.all_to_all", check_moe_all_to_all, "communication.json of all ranks of the expert domain",
     "bytes and times of the all-to-all on all ranks of the expert domain"},
    {"parallel.poor_overlap", check_poor_overlap,
     "device activity with compute and communication told apart (ProfilerActivity.NPU)",
     "device activity with compute and communication told apart (ProfilerActivity.CUDA)"},
    {"unexplained", check_unexplained, "device activity with compute and communication told apart", NULL},
};
#define CHECK_COUNT (sizeof(CHECKS) / sizeof(CHECKS[0]))

/* What the text of GPUs says of PyTorch's own profiler is no help to those who use Nsight Systems. */
static const struct {
	const char *code, *needs;
} NEEDS_NSYS[] = {
    {"io.reading", "lengths of the data, host and device queues: Nsight Systems records none"},
    {"io.processing", "lengths of the data, host and device queues: Nsight Systems records none"},
    {"io.loading", "calls of the runtime beside the device's work (nsys profile --trace=cuda,nvtx)"},
    {"io.fetching", "a timeline with the copies of the device (nsys profile --trace=cuda)"},
    {"cpu.dispatch", "kernels of the device, and the calls that launch them (nsys profile --trace=cuda)"},
    {"cpu.host_bound", "device activity (nsys profile --trace=cuda)"},
    {"parallel.poor_overlap",
     "device activity with compute and communication told apart (nsys profile --trace=cuda)"},
    {"moe.imbalance",
     "shapes of the grouped matrix products, which PyTorch's profiler has (record_shapes=True)"},
    {"cpu.compilation", "calls of the runtime beside the device's work (nsys profile --trace=cuda,nvtx)"},
    {"cpu.synchronization", "calls of the runtime beside the device's work (nsys profile --trace=cuda,nvtx)"},
    {"cpu.garbage_collection", "collections of the Python process: an NVTX range around each (gc.callbacks)"},
    {"compute.memory_bound", "shapes of the operators, which PyTorch's profiler has (record_shapes=True)"},
    {"compute.underutilized", "shapes of the operators, which PyTorch's profiler has (record_shapes=True)"},
    {"communication.contention", "transfers on the timeline: kernels show collectives as a whole"},
    {"communication.small_packets",
     "sizes of the collectives, which PyTorch's profiler has (2.3 and newer record them)"},
    {"memory.allocation",
     "calls that allocate (nsys profile --trace=cuda), or the device's memory (--cuda-memory-usage=true)"},
};

static const char *needs_of(const struct profile *p, enum platform platform, const struct check *c)
{
	bool nsys = p->count > 0;

	for (size_t i = 0; i < p->count; i++)
		nsys = nsys && capture_format_facts(p->captures[i].format)->nsys_options;
	for (size_t i = 0; nsys && i < sizeof(NEEDS_NSYS) / sizeof(NEEDS_NSYS[0]); i++)
		if (strcmp(NEEDS_NSYS[i].code, c->code) == 0)
			return NEEDS_NSYS[i].needs;
	return platform != PLATFORM_ASCEND && c->needs_gpu ? c->needs_gpu : c->needs;
}

enum platform profile_platform(const struct profile *p)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct capture *c = &p->captures[i];

		if (capture_is_ascend(c) || strncmp(c->chip, "Ascend", 6) == 0)
			return PLATFORM_ASCEND;
		if (strstr(c->chip, "AMD") || strstr(c->chip, "Radeon") || strncmp(c->chip, "gfx", 3) == 0)
			return PLATFORM_AMD;
	}
	return PLATFORM_NVIDIA;
}

static void context_free(struct check_context *ctx)
{
	views_free(ctx);
	for (size_t i = 0; ctx->hosts && i < ctx->p->count; i++)
		host_part_free(&ctx->hosts[i]);
	free(ctx->hosts);
	free(ctx->items);
	free(ctx->reliefs);
	free(ctx->moe);
	sb_strings_free(&ctx->strings);
}

/* The verdict: what has most at stake, at warning or above. A rank of a cause whose gain is told with another
 * rank stands for its share. */
static void decide(const struct check_context *ctx, struct analysis *a)
{
	static const char *const components[] = {"parallel",      "io",     "cpu", "compute",
	                                         "communication", "memory", "moe"};
	const struct finding *worst = NULL;

	for (size_t i = 0; i < a->count; i++) {
		const struct finding *f = &a->findings[i];

		if (f->severity > SEVERITY_INFO && (!worst || finding_stake(f) > finding_stake(worst)))
			worst = f;
	}
	for (size_t i = 0; worst && i < a->count; i++)
		if (finding_follows(worst, &a->findings[i])) {
			worst = &a->findings[i];
			break;
		}
	a->component = a->cause = NULL;
	a->share_of_step = NAN;
	a->confidence = ctx->view_count > 0 ? CONFIDENCE_HIGH : CONFIDENCE_LOW;
	for (size_t i = 0; i < ctx->view_count; i++)
		if ((double)ctx->views[i].steps < limit(ctx, "steps_for_high_confidence"))
			a->confidence = CONFIDENCE_MEDIUM;
	/* what was not looked at may be ill */
	if (ctx->views_left_out)
		a->confidence = CONFIDENCE_LOW;
	if (!worst)
		return;
	a->confidence = worst->confidence;
	a->share_of_step = worst->share_of_step;
	a->component = worst->code; /* "unexplained" has no cause */
	for (size_t i = 0; i < sizeof(components) / sizeof(components[0]); i++) {
		size_t len = strlen(components[i]);

		if (strncmp(worst->code, components[i], len) == 0 && worst->code[len] == '.') {
			a->component = components[i];
			a->cause = worst->code + len + 1;
		}
	}
}

static int run_checks(struct check_context *ctx, struct analysis *a)
{
	a->not_evaluated = calloc(CHECK_COUNT, sizeof(*a->not_evaluated));
	if (!a->not_evaluated)
		return SB_ENOMEM;
	for (size_t i = 0; i < CHECK_COUNT && ctx->failed == SB_OK; i++) {
		bool judged = false;

		ctx->needs = NULL;
		if (CHECKS[i].run)
			CHECKS[i].run(ctx, &judged);
		/* "unexplained" is what is left over: nothing would evaluate it */
		if (!judged && strcmp(CHECKS[i].code, "unexplained") != 0)
			a->not_evaluated[a->not_evaluated_count++] = (struct not_evaluated){
			    CHECKS[i].code,
			    ctx->needs ? ctx->needs : needs_of(ctx->p, a->platform, &CHECKS[i])};
	}
	return ctx->failed;
}

int analysis_run(const struct profile *p, const struct breakdown *b, const struct communication_report *c,
                 const struct collectives *matched, const struct thresholds *t, struct analysis *out,
                 struct sb_error *err)
{
	__attribute__((cleanup(context_free))) struct check_context ctx = {
	    .p = p, .b = b, .communication = c, .collectives = matched, .t = t, .failed = SB_OK};
	ANALYSIS_AUTO a = {0};
	int rc = sb_strings_new(&ctx.strings);

	a.platform = profile_platform(p);
	if (rc == SB_OK)
		rc = views_build(&ctx);
	if (rc == SB_OK)
		rc = run_checks(&ctx, &a);
	if (rc == SB_OK)
		rc = findings_finish(&ctx);
	if (rc == SB_OK)
		rc = tree_build(&ctx, &a);
	if (rc != SB_OK)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the cleanup attribute frees it */
		return sb_fail(err, rc, "analysis", "The analysis failed: %s.", sb_strerror(rc));
	a.findings = ctx.items;
	a.count = ctx.count;
	ctx.items = NULL;
	a.strings = ctx.strings;
	ctx.strings = NULL;
	decide(&ctx, &a);
	*out = a;
	a = (struct analysis){0};
	return SB_OK;
}

void analysis_free(struct analysis *a)
{
	free(a->findings);
	free(a->not_evaluated);
	free(a->tree);
	sb_strings_free(&a->strings);
	*a = (struct analysis){0};
}

const char *severity_name(enum severity s)
{
	static const char *const names[] = {"info", "warning", "critical"};

	return names[s];
}

const char *confidence_name(enum confidence c)
{
	static const char *const names[] = {"low", "medium", "high"};

	return names[c];
}
