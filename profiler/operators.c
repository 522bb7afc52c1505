#include "profiler/operators.h"

#include <stdlib.h>
#include <string.h>

#include "profiler/activity.h"
#include "profiler/kernel_name.h"

#define TYPE_MAX 1024

/* The table while it grows: rows are found by hashing. */
struct collector {
	struct operator_table table;
	size_t capacity;
	uint32_t *slots; /* row + 1; 0 = free */
	size_t slot_count;
};

static void collector_free(struct collector *c)
{
	operators_free(&c->table);
	free(c->slots);
}

static uint64_t hash_row(const struct operator_row *r)
{
	const uint64_t parts[] = {(uint64_t)r->rank, (uint64_t)r->step, (uint64_t)r->name << 32 | r->type,
	                          (uint64_t)r->unit << 8 | r->klass};
	uint64_t h = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		h = (h ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return h;
}

static bool same_row(const struct operator_row *a, const struct operator_row *b)
{
	return a->rank == b->rank && a->step == b->step && a->name == b->name && a->type == b->type &&
	       a->unit == b->unit && a->klass == b->klass;
}

static uint32_t *slot_of(const struct collector *c, const struct operator_row *key)
{
	size_t mask = c->slot_count - 1, i = hash_row(key) & mask;

	while (c->slots[i] && !same_row(&c->table.rows[c->slots[i] - 1], key))
		i = (i + 1) & mask;
	return &c->slots[i];
}

static int grow(struct collector *c)
{
	size_t capacity = c->capacity ? 2 * c->capacity : 256;
	struct operator_row *rows;
	uint32_t *slots;

	if (capacity > UINT32_MAX / 4)
		return SB_ELIMIT;
	rows = realloc(c->table.rows, capacity * sizeof(*rows));
	if (!rows)
		return SB_ENOMEM;
	c->table.rows = rows;
	slots = calloc(2 * capacity, sizeof(*slots));
	if (!slots)
		return SB_ENOMEM;
	free(c->slots);
	c->slots = slots;
	c->slot_count = 2 * capacity;
	c->capacity = capacity;
	for (size_t i = 0; i < c->table.count; i++)
		*slot_of(c, &rows[i]) = (uint32_t)i + 1;
	return SB_OK;
}

/* Who started a call, as far as the source knows. */
enum launcher { LAUNCHER_UNKNOWN, LAUNCHER_HOST, LAUNCHER_GRAPH };

/* Counts one call; key holds what the row is found by. */
static int count_call(struct collector *c, const struct operator_row *key, int64_t dur,
                      enum launcher launcher)
{
	uint32_t *slot;
	struct operator_row *row;

	if (c->table.count == c->capacity) {
		int rc = grow(c);

		if (rc != SB_OK)
			return rc;
	}
	slot = slot_of(c, key);
	if (!*slot) {
		c->table.rows[c->table.count] = *key;
		row = &c->table.rows[c->table.count++];
		row->count = row->total_ns = row->max_ns = 0;
		row->min_ns = INT64_MAX;
		row->graph_count = row->graph_ns = launcher == LAUNCHER_UNKNOWN ? SB_NULL : 0;
		*slot = (uint32_t)c->table.count;
	}
	row = &c->table.rows[*slot - 1];
	row->count++;
	row->total_ns = sb_add_sat(row->total_ns, dur);
	row->min_ns = dur < row->min_ns ? dur : row->min_ns;
	row->max_ns = dur > row->max_ns ? dur : row->max_ns;
	if (launcher == LAUNCHER_GRAPH) {
		row->graph_count++;
		row->graph_ns = sb_add_sat(row->graph_ns, dur);
	}
	return SB_OK;
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
	rc = add_text(s, type, kernel_type(text, len, type, sizeof(type)), out);
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
		if (rc == SB_OK)
			rc = count_call(s->to, &key, t->dur_ns[i], LAUNCHER_UNKNOWN);
	}
	return rc;
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
	if (c->kernel_count > 0)
		return collect_kernels(&s);
	for (size_t i = 0; i < c->trace.count && !device; i++)
		device = event_is_device_work(c->trace.kind[i]);
	if (device && !capture_is_ascend(c))
		return collect_gpu(&s);
	return collect_by_start(&s, device);
}

static int by_key(const void *a, const void *b)
{
	const struct operator_row *x = a, *y = b;
	const int64_t left[] = {x->rank, x->step, x->klass, x->name, x->type, x->unit};
	const int64_t right[] = {y->rank, y->step, y->klass, y->name, y->type, y->unit};

	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		if (left[i] == right[i])
			continue;
		/* an unknown rank or no step comes last */
		if (left[i] == SB_NULL || right[i] == SB_NULL)
			return left[i] == SB_NULL ? 1 : -1;
		return left[i] < right[i] ? -1 : 1;
	}
	return 0;
}

struct text_at {
	const char *text;
	size_t len;
	uint32_t id;
};

static int by_text(const void *a, const void *b)
{
	const struct text_at *x = a, *y = b;
	int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Sorts the rows and gives the texts new ids in the order of their bytes, so that ids can be compared. */
static int sort_table(struct operator_table *t)
{
	size_t n = sb_strings_count(t->strings);
	struct text_at *texts = calloc(n, sizeof(*texts));
	uint32_t *fresh = calloc(n, sizeof(*fresh));
	SB_STRINGS_AUTO sorted = NULL;
	int rc = texts && fresh ? sb_strings_new(&sorted) : SB_ENOMEM;

	for (size_t i = 0; i < n && rc == SB_OK; i++) {
		texts[i].text = sb_strings_get(t->strings, (uint32_t)i, &texts[i].len);
		texts[i].id = (uint32_t)i;
	}
	if (rc == SB_OK)
		qsort(texts, n, sizeof(*texts), by_text);
	for (size_t i = 0; i < n && rc == SB_OK; i++)
		rc = sb_strings_add(sorted, texts[i].text, texts[i].len, &fresh[texts[i].id]);
	for (size_t i = 0; i < t->count && rc == SB_OK; i++) {
		t->rows[i].name = fresh[t->rows[i].name];
		t->rows[i].type = fresh[t->rows[i].type];
		t->rows[i].unit = fresh[t->rows[i].unit];
	}
	free(texts);
	free(fresh);
	if (rc != SB_OK)
		return rc;
	if (t->count > 0)
		qsort(t->rows, t->count, sizeof(*t->rows), by_key);
	struct sb_strings *old = t->strings;

	t->strings = sorted;
	sorted = old;
	return SB_OK;
}

int operators_collect(const struct profile *p, struct operator_table *out, struct sb_error *err)
{
	__attribute__((cleanup(collector_free))) struct collector c = {0};
	int rc = sb_strings_new(&c.table.strings);

	for (size_t i = 0; i < p->count && rc == SB_OK; i++)
		rc = collect_capture(&c, &p->captures[i]);
	if (rc == SB_OK)
		rc = sort_table(&c.table);
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
