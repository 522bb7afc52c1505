#include <stdlib.h>
#include <string.h>

#include "profiler/findings/affinity.h"

/* What the operators are called, without "aten::" and a trailing '_'. Several names may stand for one step of
 * a run. */
enum move {
	S_NONE,
	S_ORDER, /* permute, transpose */
	S_VIEW,  /* view, reshape */
	S_SOLID, /* contiguous, clone */
	S_SCALE, /* mul, div by a number */
	S_MASK,  /* masked_fill, add of a mask */
	S_SOFTMAX,
	S_POW,
	S_MEAN,
	S_ADD,
	S_RSQRT,
	S_MUL,
	S_CUT, /* chunk, split, slice */
	S_SILU,
	S_GELU,
	S_NEG,
	S_CAT,
	S_TANH,
	S_SIGMOID
};

static enum move step_of(const char *name)
{
	static const struct {
		const char *name;
		enum move step;
	} STEPS[] = {
	    {"permute", S_ORDER},    {"transpose", S_ORDER}, {"view", S_VIEW},      {"reshape", S_VIEW},
	    {"contiguous", S_SOLID}, {"clone", S_SOLID},     {"div", S_SCALE},      {"masked_fill", S_MASK},
	    {"softmax", S_SOFTMAX},  {"pow", S_POW},         {"mean", S_MEAN},      {"add", S_ADD},
	    {"rsqrt", S_RSQRT},      {"mul", S_MUL},         {"chunk", S_CUT},      {"split", S_CUT},
	    {"slice", S_CUT},        {"silu", S_SILU},       {"gelu", S_GELU},      {"neg", S_NEG},
	    {"cat", S_CAT},          {"tanh", S_TANH},       {"sigmoid", S_SIGMOID}};
	size_t len;

	if (strncmp(name, "aten::", 6) != 0)
		return S_NONE;
	name += 6;
	len = strlen(name);
	if (len > 1 && name[len - 1] == '_')
		len--;
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++)
		if (strlen(STEPS[i].name) == len && strncmp(name, STEPS[i].name, len) == 0)
			return STEPS[i].step;
	return S_NONE;
}

#define RUN_MAX 10
/* Ascend's documented replacements (research page advisor-rules 1.4); of those that fit, the first counts. */
static const struct {
	const char *api;
	enum move steps[RUN_MAX];
	int len;
} RUNS[] = {
    {"torch_npu.npu_rotary_mul", {S_CUT, S_CUT, S_NEG, S_CAT, S_MUL, S_ADD}, 6},
    {"torch_npu.npu_rotary_mul", {S_MUL, S_CUT, S_NEG, S_CAT, S_MUL, S_ADD}, 6},
    {"torch_npu.npu_rotary_mul", {S_CUT, S_NEG, S_CAT, S_MUL, S_ADD}, 5},
    {"torch_npu.npu_rms_norm", {S_POW, S_MEAN, S_ADD, S_RSQRT, S_MUL, S_MUL}, 6},
    {"torch_npu.npu_rms_norm", {S_POW, S_MEAN, S_ADD, S_RSQRT, S_MUL}, 5},
    {"torch_npu.fast_gelu", {S_POW, S_MUL, S_ADD, S_MUL, S_TANH, S_ADD, S_MUL}, 7},
    {"torch_npu.fast_gelu", {S_MUL, S_SIGMOID, S_MUL}, 3},
    {"torch_npu.npu_swiglu", {S_CUT, S_SILU, S_MUL}, 3},
    {"torch_npu.npu_geglu", {S_CUT, S_GELU, S_MUL}, 3},
    {"torch_npu.npu_scaled_masked_softmax", {S_SCALE, S_MASK, S_SOFTMAX}, 3},
    {"torch_npu.npu_scaled_masked_softmax", {S_MUL, S_MASK, S_SOFTMAX}, 3},
    {"torch_npu.npu_confusion_transpose", {S_VIEW, S_ORDER, S_SOLID}, 3},
    {"torch_npu.npu_confusion_transpose", {S_ORDER, S_SOLID, S_VIEW}, 3},
};
#define RUN_COUNT (sizeof(RUNS) / sizeof(RUNS[0]))

/* One outermost operator. */
struct call {
	uint32_t lane, step;
	int64_t start, dur;
};

static int by_place(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	return sb_compare((const int64_t[]){x->lane, x->start, -x->dur},
	                  (const int64_t[]){y->lane, y->start, -y->dur}, 3);
}

/* Drops the operators that lie inside others. */
static size_t outermost(struct call *calls, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		bool inside = kept > 0 && calls[kept - 1].lane == calls[i].lane &&
		              calls[i].start < interval_end(calls[kept - 1].start, calls[kept - 1].dur);

		if (!inside)
			calls[kept++] = calls[i];
	}
	return kept;
}

static bool run_fits(const struct call *calls, size_t n, size_t run)
{
	if ((size_t)RUNS[run].len > n)
		return false;
	for (int i = 0; i < RUNS[run].len; i++)
		if (calls[i].step != RUNS[run].steps[i] || calls[i].lane != calls[0].lane)
			return false;
	return true;
}

static void count_run(struct fused_calls *out, size_t *count, const struct call *calls, size_t run)
{
	size_t at = 0;

	while (at < *count && strcmp(out[at].api, RUNS[run].api) != 0)
		at++;
	if (at == FUSED_MAX)
		return;
	if (at == *count)
		out[(*count)++] = (struct fused_calls){.api = RUNS[run].api};
	out[at].count++;
	for (int i = 0; i < RUNS[run].len; i++)
		out[at].host_ns += (double)calls[i].dur;
}

int fused_calls_find(const struct capture *c, struct fused_calls *out, size_t *out_count)
{
	const struct trace *t = &c->trace;
	size_t texts = sb_strings_count(t->strings), n = 0;
	uint8_t *steps = calloc(texts + 1, 1);
	struct call *calls = calloc(t->count + 1, sizeof(*calls));

	*out_count = 0;
	if (!steps || !calls) {
		free(steps);
		free(calls);
		return SB_ENOMEM;
	}
	for (size_t i = 0; i < texts; i++)
		steps[i] = (uint8_t)step_of(trace_text(t, (uint32_t)i, NULL));
	for (size_t i = 0; i < t->count; i++)
		if (t->kind[i] == EVENT_HOST_OP)
			calls[n++] =
			    (struct call){t->lane[i], steps[t->name[i]], t->start_ns[i], t->dur_ns[i]};
	qsort(calls, n, sizeof(*calls), by_place);
	n = outermost(calls, n);
	for (size_t i = 0; i < n;) {
		size_t run = 0;

		while (run < RUN_COUNT && (calls[i].step == S_NONE || !run_fits(&calls[i], n - i, run)))
			run++;
		if (run < RUN_COUNT)
			count_run(out, out_count, &calls[i], run);
		i += run < RUN_COUNT ? (size_t)RUNS[run].len : 1;
	}
	free(steps);
	free(calls);
	return SB_OK;
}
