#include <stdlib.h>
#include <string.h>

#include "profiler/activity.h"
#include "profiler/kernel_name.h"
#include "profiler/operators_parts.h"

#define TYPE_MAX 1024

/* Who started a call, as far as the source knows. */
enum launcher { LAUNCHER_UNKNOWN, LAUNCHER_HOST, LAUNCHER_GRAPH };

static int count_call(struct collector *c, struct operator_row *key, int64_t dur, enum launcher launcher)
{
	key->count = 1;
	key->total_ns = key->min_ns = key->max_ns = dur;
	key->graph_count = launcher == LAUNCHER_UNKNOWN ? SB_NULL : launcher == LAUNCHER_GRAPH;
	key->graph_ns = launcher == LAUNCHER_GRAPH ? dur : launcher == LAUNCHER_UNKNOWN ? SB_NULL : 0;
	return collector_add(c, key);
}

/* One capture while it is read; texts are copied once each. */
struct source {
	struct collector *to;
	const struct capture *c;
	struct step_windows windows;
	struct launches launches;
	uint32_t *texts; /* trace id → table id + 1 */
	uint32_t *types; /* trace id → id of the kernel type + 1 */
	uint8_t *graphs; /* trace id → enum launcher, when it is the name of a call */
	size_t text_count;
};

static void source_free(struct source *s)
{
	step_windows_free(&s->windows);
	launches_free(&s->launches);
	free(s->texts);
	free(s->types);
	free(s->graphs);
}

static int add_text(struct source *s, const char *text, size_t len, uint32_t *out)
{
	return sb_strings_add(s->to->table.strings, text, len, out);
}

static int text_of(struct source *s, uint32_t id, uint32_t *out)
{
	size_t len;
	const char *text = trace_text(&s->c->trace, id, &len);
	int rc;

	if (id < s->text_count && s->texts[id]) {
		*out = s->texts[id] - 1;
		return SB_OK;
	}
	rc = add_text(s, text, len, out);
	if (rc == SB_OK && id < s->text_count)
		s->texts[id] = *out + 1;
	return rc;
}

static int kernel_type_of(struct source *s, uint32_t id, uint32_t *out)
{
	char type[TYPE_MAX];
	size_t len;
	const char *text;
	int rc;

	if (id < s->text_count && s->types[id]) {
		*out = s->types[id] - 1;
		return SB_OK;
	}
	text = trace_text(&s->c->trace, id, &len);
	len = capture_is_ascend(s->c) ? graph_operator_type(text, len, type, sizeof(type))
	                              : kernel_type(text, len, type, sizeof(type));
	rc = add_text(s, type, len, out);
	if (rc == SB_OK && id < s->text_count)
		s->types[id] = *out + 1;
	return rc;
}

static int copy_type_of(struct source *s, size_t event, uint32_t *out)
{
	const struct trace *t = &s->c->trace;
	const struct event_detail *d = trace_detail(t, (uint32_t)event);
	char type[TYPE_MAX];
	size_t len;

	if (t->kind[event] == EVENT_MEMSET)
		return add_text(s, "memset", 6, out);
	len = memcpy_type(trace_text(t, t->name[event], NULL), d ? trace_text(t, d->type, NULL) : "", type,
	                  sizeof(type));
	return add_text(s, type, len, out);
}

/* Names are few: each is searched once. */
static enum launcher launcher_of(struct source *s, const struct launch *launch)
{
	const struct trace *t = &s->c->trace;
	uint32_t name = launch ? t->name[launch->event] : 0;

	if (!launch || name >= s->text_count)
		return LAUNCHER_HOST;
	if (s->graphs[name] == LAUNCHER_UNKNOWN)
		s->graphs[name] =
		    strstr(trace_text(t, name, NULL), "GraphLaunch") ? LAUNCHER_GRAPH : LAUNCHER_HOST;
	return (enum launcher)s->graphs[name];
}

static int64_t step_number(const struct source *s, uint32_t step)
{
	return step == NO_STEP ? SB_NULL : s->c->steps[step].number;
}

static enum operator_class class_of(uint8_t kind)
{
	if (kind == EVENT_COMMUNICATION)
		return OPERATOR_COMMUNICATION;
	return kind == EVENT_KERNEL ? OPERATOR_COMPUTE : OPERATOR_COPY;
}

static int collect_gpu(struct source *s)
{
	const struct trace *t = &s->c->trace;
	struct operator_row key = {.rank = s->c->rank};
	int rc = launches_build(t, &s->launches);

	if (rc == SB_OK)
		rc = add_text(s, "gpu", 3, &key.unit);
	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		const struct launch *launch;

		if (!event_is_device_work(t->kind[i]))
			continue;
		launch = launches_find(&s->launches, t->link[i]);
		key.step = launch ? step_number(s, step_windows_at(&s->windows, launch->start)) : SB_NULL;
		key.klass = class_of(t->kind[i]);
		rc = text_of(s, t->name[i], &key.name);
		if (rc == SB_OK)
			rc = key.klass == OPERATOR_COPY ? copy_type_of(s, i, &key.type)
			                                : kernel_type_of(s, t->name[i], &key.type);
		if (rc == SB_OK)
			rc = count_call(s->to, &key, t->dur_ns[i], launcher_of(s, launch));
	}
	return rc;
}

static int collect_kernels(struct source *s)
{
	struct operator_row key = {.rank = s->c->rank};
	int rc = SB_OK;

	for (size_t i = 0; i < s->c->kernel_count && rc == SB_OK; i++) {
		const struct kernel *k = &s->c->kernels[i];

		key.step = k->step;
		if (key.step == SB_NULL)
			key.step = step_number(s, step_windows_at(&s->windows, k->start_ns));
		key.klass = k->communication ? OPERATOR_COMMUNICATION : OPERATOR_COMPUTE;
		rc = text_of(s, k->name, &key.name);
		if (rc == SB_OK)
			rc = text_of(s, k->type, &key.type);
		if (rc == SB_OK)
			rc = text_of(s, k->core, &key.unit);
		if (rc == SB_OK)
			rc = count_call(s->to, &key, k->dur_ns, LAUNCHER_UNKNOWN);
	}
	return rc;
}

/* Events placed in a step by their own start: the hardware lanes of an Ascend timeline, whose task type is
 * the unit; host operators. */
static int collect_by_start(struct source *s, bool device)
{
	const struct trace *t = &s->c->trace;
	struct operator_row key = {.rank = s->c->rank, .klass = OPERATOR_HOST};
	uint32_t cpu = 0;
	int rc = add_text(s, "cpu", 3, &cpu);

	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		const struct event_detail *d;

		if (device ? !event_is_device_work(t->kind[i]) : t->kind[i] != EVENT_HOST_OP)
			continue;
		key.unit = cpu;
		if (device) {
			d = trace_detail(t, (uint32_t)i);
			key.klass = class_of(t->kind[i]);
			rc = text_of(s, d ? d->type : 0, &key.unit);
		}
		key.step = step_number(s, step_windows_at(&s->windows, t->start_ns[i]));
		if (rc == SB_OK)
			rc = text_of(s, t->name[i], &key.name);
		key.type = 0;
		if (rc == SB_OK && key.klass == OPERATOR_COMPUTE &&
		    capture_format_facts(s->c->format)->node_names)
			rc = kernel_type_of(s, t->name[i], &key.type);
		if (rc == SB_OK)
			rc = count_call(s->to, &key, t->dur_ns[i], LAUNCHER_UNKNOWN);
	}
	return rc;
}

/* A sum of a type stands under the type's name. */
static int collect_sums(struct source *s)
{
	struct op_statistic *sums = NULL;
	size_t count = 0;
	int rc = operator_sums(s->c, &sums, &count);

	for (size_t i = 0; i < count && rc == SB_OK; i++) {
		struct operator_row key = {.rank = s->c->rank,
		                           .step = SB_NULL,
		                           .klass = OPERATOR_COMPUTE,
		                           .count = sums[i].count,
		                           .total_ns = sums[i].total_ns,
		                           .min_ns = sums[i].min_ns,
		                           .max_ns = sums[i].max_ns,
		                           .graph_count = SB_NULL,
		                           .graph_ns = SB_NULL};

		rc = text_of(s, sums[i].name ? sums[i].name : sums[i].type, &key.name);
		if (rc == SB_OK)
			rc = text_of(s, sums[i].type, &key.type);
		if (rc == SB_OK)
			rc = text_of(s, sums[i].core, &key.unit);
		if (rc == SB_OK)
			rc = collector_add(s->to, &key);
	}
	free(sums);
	return rc;
}

/* Are the sums of a capture all that is known of its kernels? */
static bool sums_only(const struct capture *c)
{
	if (c->op_statistic_count == 0 ||
	    (c->trace.count > 0 && !capture_format_facts(c->format)->sparse_timeline))
		return false;
	/* the events of a step trace are communication */
	for (size_t i = 0; i < c->trace.count; i++)
		if (c->trace.kind[i] == EVENT_KERNEL)
			return false;
	return true;
}

/* The table says more of a kernel than the timeline does, but one that was cut off does not know all of them.
 */
static bool from_table(const struct capture *c, bool device)
{
	bool poorer = (c->cut & CUT_KERNELS) && !(c->cut & CUT_TRACE) && device;

	return c->kernel_count > 0 && !poorer;
}

static int collect_capture(struct collector *to, const struct capture *c)
{
	__attribute__((cleanup(source_free))) struct source s = {.to = to, .c = c};
	bool device = false;
	int rc = step_windows_build(c, &s.windows);

	s.text_count = sb_strings_count(c->trace.strings);
	s.texts = calloc(s.text_count + 1, sizeof(*s.texts));
	s.types = calloc(s.text_count + 1, sizeof(*s.types));
	s.graphs = calloc(s.text_count + 1, sizeof(*s.graphs));
	if (rc == SB_OK && (!s.texts || !s.types || !s.graphs))
		rc = SB_ENOMEM;
	if (rc != SB_OK)
		/* cppcheck-suppress memleak ; freed by the cleanup attribute */
		return rc; /* NOLINT(clang-analyzer-unix.Malloc): the same */
	for (size_t i = 0; i < c->trace.count && !device; i++)
		device = event_is_device_work(c->trace.kind[i]);
	if (from_table(c, device))
		return collect_kernels(&s);
	if (sums_only(c))
		rc = collect_sums(&s);
	if (rc != SB_OK)
		return rc;
	if (device && !capture_is_ascend(c))
		return collect_gpu(&s);
	return collect_by_start(&s, device);
}

int operators_collect(const struct profile *p, struct operator_table *out, struct sb_error *err)
{
	__attribute__((cleanup(collector_free))) struct collector c = {0};
	int rc = sb_strings_new(&c.table.strings);

	for (size_t i = 0; i < p->count && rc == SB_OK; i++)
		rc = collect_capture(&c, &p->captures[i]);
	if (rc == SB_OK)
		rc = operators_sort(&c.table);
	if (rc != SB_OK)
		return sb_fail(err, rc, "operators", "The operators could not be summed: %s.",
		               sb_strerror(rc));
	*out = c.table;
	c.table = (struct operator_table){0};
	return SB_OK;
}

void operators_free(struct operator_table *t)
{
	free(t->rows);
	sb_strings_free(&t->strings);
	*t = (struct operator_table){0};
}
