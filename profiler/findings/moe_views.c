#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/findings/bus.h"
#include "profiler/findings/moe.h"

static bool has_any(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strstr(text, *words))
			return true;
	return false;
}

enum moe_name moe_name_of(const char *text)
{
	static const char *const libraries[] = {"deep_ep",   "deepep", "nvshmem", "internode",
	                                        "intranode", "moe",    NULL};
	static const char *const exchange[] = {"dispatch", "combine", NULL};
	static const char *const grouped[] = {
	    "groupedmatmul", "grouped_mm", "grouped_gemm", "groupedgemm",       "group_gemm", "groupgemm",
	    "moe_gemm",      "moegemm",    "fused_moe",    "groupproblemshape", NULL};
	static const char *const hints[] = {"moe", "expert", NULL};
	char plain[512];
	size_t n = 0;

	for (; *text && n + 1 < sizeof(plain); text++)
		plain[n++] = (char)tolower((unsigned char)*text);
	plain[n] = '\0';
	if (has_any(plain, libraries) && has_any(plain, exchange))
		return MOE_EXCHANGE;
	if (has_any(plain, grouped))
		return MOE_EXPERTS;
	return has_any(plain, hints) ? MOE_HINT : MOE_NOTHING;
}

bool moe_by_table(const struct capture *c)
{
	return c->kernel_count > 0;
}

static const char *text_of(const struct capture *c, uint32_t id)
{
	return trace_text(&c->trace, id, NULL);
}

enum moe_name moe_event(const struct capture *c, size_t event)
{
	const struct trace *t = &c->trace;

	if (t->kind[event] == EVENT_COMMUNICATION) {
		const struct event_detail *d = trace_detail(t, (uint32_t)event);

		return collective_kind_of(text_of(c, d && d->type ? d->type : t->name[event])) ==
		               COLLECTIVE_ALL_TO_ALL
		           ? MOE_EXCHANGE
		           : MOE_NOTHING;
	}
	return t->kind[event] == EVENT_KERNEL && !moe_by_table(c) ? moe_name_of(text_of(c, t->name[event]))
	                                                          : MOE_NOTHING;
}

enum moe_name moe_kernel(const struct capture *c, const struct kernel *k)
{
	return k->communication ? MOE_NOTHING : moe_name_of(text_of(c, k->type ? k->type : k->name));
}

int64_t moe_number(const char **text)
{
	size_t skip = strspn(*text, "\" "), digits = strspn(*text + skip, "0123456789");
	int64_t number;

	if (digits == 0 || sb_parse_int(*text + skip, digits, &number) != SB_OK)
		return -1;
	*text += skip + digits;
	return number;
}

/* "32768,4096;16,4096,2816" are 32768 tokens. */
double moe_rows(const struct capture *c, const struct kernel *k)
{
	const char *shape = text_of(c, k->input_shapes);
	int64_t rows = moe_number(&shape);

	return rows > 0 && *shape == ',' ? (double)rows : 0;
}

struct sets {
	struct interval_set exchange, compute;
};

static void sets_free(struct sets *s)
{
	intervals_free(&s->exchange);
	intervals_free(&s->compute);
}

static int add_span(struct sets *s, struct moe_view *m, enum moe_name what, bool compute, int64_t start,
                    int64_t dur)
{
	if (what == MOE_EXPERTS) {
		m->expert_ns += (double)dur;
		m->expert_kernels++;
	}
	m->exchanges += what == MOE_EXCHANGE;
	if (what == MOE_EXCHANGE)
		return intervals_add(&s->exchange, interval_bound(start), interval_end(start, dur));
	return compute ? intervals_add(&s->compute, interval_bound(start), interval_end(start, dur)) : SB_OK;
}

static int add_kernels(const struct capture *c, struct sets *s, struct moe_view *m)
{
	int rc = SB_OK;

	for (size_t i = 0; i < c->kernel_count && rc == SB_OK; i++) {
		const struct kernel *k = &c->kernels[i];
		enum moe_name what = moe_kernel(c, k);

		if (what == MOE_EXPERTS)
			m->tokens += moe_rows(c, k);
		m->hinted = m->hinted || what == MOE_HINT;
		rc = add_span(s, m, what, !k->communication, k->start_ns, k->dur_ns);
	}
	return rc;
}

/* Names are few and events many: each is looked at once. */
static int add_events(const struct capture *c, const struct rank_view *v, struct sets *s, struct moe_view *m)
{
	const struct trace *t = &c->trace;
	size_t texts = sb_strings_count(t->strings);
	uint8_t *known = calloc(texts + 1, 1);
	int rc = known ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		uint8_t *name = &known[t->name[i] < texts ? t->name[i] : texts];
		bool kernel = t->kind[i] == EVENT_KERNEL, communication = t->kind[i] == EVENT_COMMUNICATION;
		int32_t device = t->lanes[t->lane[i]].device;
		enum moe_name what;

		if (*name == 0)
			*name = (uint8_t)(1 + moe_name_of(text_of(c, t->name[i])));
		m->hinted = m->hinted || *name == 1 + MOE_HINT;
		if ((!kernel && !communication) ||
		    (device >= 0 && v->device != SB_NULL && device != v->device))
			continue;
		if (kernel && moe_by_table(c))
			continue;
		what = communication ? moe_event(c, i) : (enum moe_name)(*name - 1);
		rc = add_span(s, m, what, kernel, t->start_ns[i], t->dur_ns[i]);
	}
	free(known);
	return rc;
}

/* "exp", "ep", "ep_dp", "EXPERT_MODEL_PARALLEL_GROUP": what frameworks call groups of experts. */
static bool is_of_experts(const char *use)
{
	char plain[64];
	size_t n = 0;

	for (; *use && n + 1 < sizeof(plain); use++)
		plain[n++] = (char)tolower((unsigned char)*use);
	plain[n] = '\0';
	for (const char *word = plain; *word; word += strspn(word, "_-")) {
		size_t len = strcspn(word, "_-");

		if ((len == 2 && strncmp(word, "ep", 2) == 0) || strncmp(word, "exp", 3) == 0)
			return true;
		word += len;
	}
	return false;
}

/* Tables alone have no names of experts: the exchange is theirs when its group is. What of it compute hides
 * is not told. */
static int add_operators(const struct capture *c, struct moe_view *m)
{
	size_t texts = sb_strings_count(c->trace.strings);
	bool *experts = calloc(texts + 1, sizeof(*experts)); /* by group */

	if (!experts)
		return SB_ENOMEM;
	for (size_t i = 0; i < c->group_use_count; i++)
		if (c->group_uses[i].group < texts && is_of_experts(text_of(c, c->group_uses[i].use)))
			experts[c->group_uses[i].group] = true;
	for (size_t i = 0; i < c->communication_count; i++) {
		const struct communication_op *op = &c->communications[i];

		if (op->group >= texts || !experts[op->group] || !(op->elapse_us > 0) ||
		    collective_kind_of(text_of(c, op->name)) != COLLECTIVE_ALL_TO_ALL)
			continue;
		m->exchange_ns += op->elapse_us * 1000;
		m->exchanges++;
		m->hinted = true;
	}
	m->exposed_ns = m->exchange_ns;
	free(experts);
	return SB_OK;
}

static int look(const struct rank_view *v, struct moe_view *m)
{
	__attribute__((cleanup(sets_free))) struct sets s = {{0}, {0}};
	INTERVALS_AUTO exposed = {0};
	int rc = add_kernels(v->c, &s, m);

	if (rc == SB_OK)
		rc = add_events(v->c, v, &s, m);
	if (rc != SB_OK)
		return rc;
	if (m->expert_kernels > 0)
		moe_count_rows(v->c, m);
	intervals_normalise(&s.exchange);
	intervals_normalise(&s.compute);
	rc = intervals_difference(&s.exchange, &s.compute, &exposed);
	m->exchange_ns = (double)intervals_total(&s.exchange);
	m->exposed_ns = (double)intervals_total(&exposed);
	if (v->c->trace.count == 0 && v->c->kernel_count == 0)
		rc = add_operators(v->c, m);
	return rc;
}

const struct moe_view *findings_moe(struct check_context *ctx)
{
	if (ctx->moe)
		return ctx->moe;
	ctx->moe = calloc(ctx->view_count + 1, sizeof(*ctx->moe));
	if (!ctx->moe)
		ctx->failed = SB_ENOMEM;
	for (size_t i = 0; i < ctx->view_count && ctx->failed == SB_OK; i++)
		ctx->failed = look(&ctx->views[i], &ctx->moe[i]);
	return ctx->failed == SB_OK ? ctx->moe : NULL;
}

bool moe_is_there(const struct moe_view *v)
{
	return v->expert_kernels > 0 || (v->exchanges > 0 && v->hinted);
}
