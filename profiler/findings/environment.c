#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "profiler/findings/findings.h"

/* Environment variables that slow the host (advisor-rules 1.2). What they cost is not measured, so it is only
 * told: the findings of what they lead to have the cost. */

enum wish { WISH_IS, WISH_IS_NOT, WISH_LEAST, WISH_HOLDS };

static const struct rule {
	const char *name, *value, *advice;
	enum wish wish;
	bool set_only; /* judged only where it is set */
} RULES[] = {
    {"ASCEND_GLOBAL_LOG_LEVEL", "3", "3: log errors only", WISH_IS, true},
    {"ASCEND_LAUNCH_BLOCKING", "1", "unset: each launch waits for the device", WISH_IS_NOT, true},
    {"ACLNN_CACHE_LIMIT", "10000", "100000: operators are looked up again and again", WISH_LEAST, false},
    {"HOST_CACHE_CAPACITY", "1", "20: no cache of operators on the host", WISH_LEAST, false},
    {"PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True", "expandable_segments:True: less fragmentation",
     WISH_HOLDS, false},
    {"CUDA_LAUNCH_BLOCKING", "1", "unset: each launch waits for the device", WISH_IS_NOT, true},
    {"HIP_LAUNCH_BLOCKING", "1", "unset: each launch waits for the device", WISH_IS_NOT, true},
    {"AMD_SERIALIZE_KERNEL", "0", "unset: each launch waits for the device", WISH_IS, true},
    {"TORCH_DISTRIBUTED_DEBUG", "DETAIL", "unset: each collective is checked on all ranks", WISH_IS_NOT,
     true},
    {"NCCL_DEBUG", "TRACE", "WARN: every call is logged", WISH_IS_NOT, true},
};
#define RULE_COUNT (sizeof(RULES) / sizeof(RULES[0]))

static bool fits(const struct rule *r, const char *value)
{
	int64_t is, least;

	if (*value == '\0' && r->set_only)
		return true;
	switch (r->wish) {
	case WISH_IS: return strcmp(value, r->value) == 0;
	case WISH_IS_NOT: return strcmp(value, r->value) != 0;
	case WISH_LEAST:
		return sb_parse_int(value, strlen(value), &is) == SB_OK &&
		       sb_parse_int(r->value, strlen(r->value), &least) == SB_OK && is >= least;
	default: return strstr(value, r->value) != NULL;
	}
}

static void tell(struct check_context *ctx, struct finding *f, const struct rule *r, const char *value)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "%s %s%.40s; advised: %s", r->name, *value ? "= " : "is not set",
	               value, r->advice);
	finding_operator(ctx, f, text, NAN);
}

static void judge(struct check_context *ctx, const struct rank_view *v)
{
	bool off[RULE_COUNT];
	size_t count = 0;
	struct finding *f;

	for (size_t i = 0; i < RULE_COUNT; i++) {
		const char *value = capture_environment(v->c, RULES[i].name);

		off[i] = value && !fits(&RULES[i], value);
		count += off[i];
	}
	if (count == 0)
		return;
	f = finding_new(ctx, "cpu.environment", v, false);
	finding_evidence(ctx, f, "variables_set_otherwise_than_advised", (double)count, "variables", NULL);
	for (size_t i = 0; i < RULE_COUNT; i++)
		if (off[i])
			tell(ctx, f, &RULES[i], capture_environment(v->c, RULES[i].name));
}

void check_environment(struct check_context *ctx, bool *out_judged)
{
	for (size_t i = 0; i < ctx->view_count; i++) {
		if (ctx->views[i].c->environment_count == 0)
			continue;
		*out_judged = true;
		judge(ctx, &ctx->views[i]);
	}
}
