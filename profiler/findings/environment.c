#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "profiler/findings/findings.h"

/* Environment variables that slow the host (advisor-rules 1.2). What they cost is not measured, so it is only
 * told: the findings of what they lead to have the cost. */

enum wish { WISH_IS, WISH_IS_NOT, WISH_LEAST, WISH_HOLDS };

static const struct rule {
	const char *name;
	enum wish wish;
	const char *value; /* WISH_IS: "" for not set either */
	bool set_only;     /* judged only where it is set */
	const char *advice;
} RULES[] = {
    {"ASCEND_GLOBAL_LOG_LEVEL", WISH_IS, "3", true, "3: log errors only"},
    {"ASCEND_LAUNCH_BLOCKING", WISH_IS_NOT, "1", true, "unset: each launch waits for the device"},
    {"ACLNN_CACHE_LIMIT", WISH_LEAST, "10000", false, "100000: operators are looked up again and again"},
    {"HOST_CACHE_CAPACITY", WISH_LEAST, "1", false, "20: no cache of operators on the host"},
    {"PYTORCH_NPU_ALLOC_CONF", WISH_HOLDS, "expandable_segments:True", false,
     "expandable_segments:True: less fragmentation"},
    {"CUDA_LAUNCH_BLOCKING", WISH_IS_NOT, "1", true, "unset: each launch waits for the device"},
    {"HIP_LAUNCH_BLOCKING", WISH_IS_NOT, "1", true, "unset: each launch waits for the device"},
    {"AMD_SERIALIZE_KERNEL", WISH_IS, "0", true, "unset: each launch waits for the device"},
    {"TORCH_DISTRIBUTED_DEBUG", WISH_IS_NOT, "DETAIL", true,
     "unset: each collective is checked on all ranks"},
    {"NCCL_DEBUG", WISH_IS_NOT, "TRACE", true, "WARN: every call is logged"},
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
