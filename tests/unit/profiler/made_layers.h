#ifndef SB_TESTS_UNIT_PROFILER_MADE_LAYERS_H
#define SB_TESTS_UNIT_PROFILER_MADE_LAYERS_H
/* Made-up jobs of known layers. */
#include "tests/unit/profiler/fixture.h"

#include "profiler/layers/layers.h"

struct work {
	const char *name;
	int64_t us;
};
#define WORKS(list) list, sizeof(list) / sizeof(list[0])

/* Times in us: 100 and 150 of attention, 90 and 200 of what follows it. */
#define ATTENTION                                                                                            \
	{"norm", 10}, {"qkv_product", 40}, {"attention", 30},                                                \
	{                                                                                                    \
		"out_product", 20                                                                            \
	}
#define ATTENTION_BACK                                                                                       \
	{"out_product", 40}, {"attention_bwd", 70}, {"qkv_product", 30},                                     \
	{                                                                                                    \
		"norm_grad", 10                                                                              \
	}
static const struct work DENSE[] = {ATTENTION, {"up_product", 40}, {"gelu", 10}, {"down_product", 40}};
static const struct work DENSE_BACK[] = {
    {"down_product", 80}, {"gelu_grad", 20}, {"up_product", 60}, ATTENTION_BACK};
static const struct work MIXED[] = {
    ATTENTION, {"router", 20}, {"gather", 30}, {"grouped_product", 120}, {"scatter", 30}};
static const struct work MIXED_BACK[] = {
    {"scatter_grad", 60}, {"grouped_product", 240}, {"gather_grad", 40}, {"router_grad", 30}, ATTENTION_BACK};
static const struct work HEAD[] = {{"embedding", 30}, {"dropout", 5}};
static const struct work HEAD_BACK[] = {{"embedding_grad", 50}};
static const struct work TAIL[] = {{"last_norm", 10}, {"vocabulary", 60}, {"loss", 15}};
static const struct work TAIL_BACK[] = {{"loss_grad", 25}, {"vocabulary", 110}};
static const struct work OPTIMIZER[] = {
    {"adam_mean", 8}, {"adam_root", 8}, {"adam_step", 8}, {"adam_decay", 8}};
enum { DENSE_US = 190, DENSE_BACK_US = 310, MIXED_US = 300, MIXED_BACK_US = 520 };

/* A host with a thread of its own for backward, and one device. */
struct job {
	struct capture *c;
	uint32_t host, autograd, stream, ring;
	int64_t now, device, link;
	bool backward;
};

static inline struct job start(struct profile *p, int64_t rank)
{
	struct job j = {.c = make_capture(p, FORMAT_KINETO, rank)};

	j.host = add_lane(j.c, "python", "1", -1);
	j.autograd = add_lane(j.c, "python", "2", -1);
	j.stream = add_lane(j.c, "GPU 0", "7", 0);
	j.ring = add_lane(j.c, "GPU 0", "9", 0);
	return j;
}

/* us from the start of the device's part to its end. */
static inline void launch(struct job *j, uint32_t lane, enum event_kind kind, const char *name, int64_t us)
{
	uint32_t thread = j->backward ? j->autograd : j->host;

	add_event(j->c, thread, EVENT_HOST_OP,
	          j->backward ? "autograd::engine::evaluate_function: AddmmBackward0" : "aten::addmm", j->now,
	          3000, -1);
	add_event(j->c, thread, EVENT_HOST_RUNTIME, "cudaLaunchKernel", j->now + 1000, 1000, ++j->link);
	j->device = j->device > j->now + 2000 ? j->device : j->now + 2000;
	add_event(j->c, lane, kind, name, j->device, us * 1000, j->link);
	j->device += us * 1000;
	j->now += 4000;
}

static inline void run(struct job *j, const struct work *works, size_t count)
{
	for (size_t i = 0; i < count; i++)
		launch(j, j->stream, EVENT_KERNEL, works[i].name, works[i].us);
}

/* `dense` layers, then `mixed` ones, and back. */
static inline void micro_batch(struct job *j, int dense, int mixed)
{
	run(j, WORKS(HEAD));
	for (int i = 0; i < dense; i++)
		run(j, WORKS(DENSE));
	for (int i = 0; i < mixed; i++)
		run(j, WORKS(MIXED));
	run(j, WORKS(TAIL));
	j->backward = true;
	run(j, WORKS(TAIL_BACK));
	for (int i = 0; i < mixed; i++)
		run(j, WORKS(MIXED_BACK));
	for (int i = 0; i < dense; i++)
		run(j, WORKS(DENSE_BACK));
	run(j, WORKS(HEAD_BACK));
	j->backward = false;
}

static inline void optimize(struct job *j)
{
	int64_t from = j->now;

	for (int i = 0; i < 30; i++)
		run(j, WORKS(OPTIMIZER));
	add_event(j->c, j->host, EVENT_HOST_ANNOTATION, "Optimizer.step#AdamW.step", from - 500,
	          j->now - from, -1);
}

static inline void end_step(struct job *j, int64_t number, int64_t from)
{
	j->now = j->device + 10000;
	add_step(j->c, number, from, j->now - from);
}

static inline void assert_us(double seconds, double us)
{
	assert_true(fabs(seconds * 1e6 - us) < 1e-6 * (1 + us));
}

static inline void assert_row(const struct profile_layers *l, size_t i, const char *name, int64_t count,
                              double forward, double backward)
{
	assert_true(i < l->count);
	assert_string_equal(sb_strings_get(l->texts, l->rows[i].name, NULL), name);
	assert_int_equal(l->rows[i].count, count);
	assert_us(l->rows[i].forward, forward);
	assert_us(l->rows[i].backward, backward);
}

static inline void find(const struct profile *p, struct profile_layers *out)
{
	assert_int_equal(profile_layers_find(p, out, NULL), SB_OK);
}

static inline bool warns(const struct profile_layers *l, enum layers_warning w)
{
	return (l->warnings & w) != 0;
}
#endif
