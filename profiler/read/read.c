#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/gpu_works.h"
#include "profiler/launches.h"
#include "profiler/read/ascend.h"
#include "profiler/read/collect.h"
#include "profiler/read/source.h"

const struct read_limits READ_LIMITS_DEFAULT = {
    .inflated_bytes = INT64_C(64) << 30,
    .ratio = 200,
    .ratio_from = INT64_C(64) << 20,
    .archive_files = 100000,
};

struct reading {
	struct partials partials;
	struct source_sink sink;
	struct source_shared shared;
	struct source_input *inputs; /* in the order of the walk */
	struct walk {
		struct reading *all;
		const struct read_input *input;
		size_t index;
	} * walks;
	struct gathering found;
	_Atomic(struct ending *) endings;
};

/* Why all work ended, as one thread met it. */
struct ending {
	struct ending *next;
	size_t index; /* of the input */
	struct sb_error err;
};

static void reading_free(struct reading *r)
{
	struct ending *e = atomic_load(&r->endings);

	while (e) {
		struct ending *next = e->next;

		free(e);
		e = next;
	}
	gathering_free(&r->found);
	partials_free(&r->partials);
	free(r->inputs);
	free(r->walks);
}

static const struct format_reader *best_reader(const struct sniff *s)
{
	const struct format_reader *best = NULL;
	int best_score = 0;

	for (size_t i = 0; FORMAT_READERS[i]; i++) {
		int score = FORMAT_READERS[i]->sniff(s);

		if (score > best_score) {
			best = FORMAT_READERS[i];
			best_score = score;
		}
	}
	return best;
}

static int not_known(struct partial *n, const struct sniff *s, const char *hint)
{
	n->left_out = strdup(hint ? hint : "Nothing is known about this file.");
	n->unknown = true;
	n->database = s->len >= 6 && memcmp(s->head, "SQLite", 6) == 0;
	return n->left_out ? SB_OK : SB_ENOMEM;
}

static int read_file(struct partial *n, const struct sniff *s, struct stream *in, struct sb_error *err)
{
	const struct format_reader *reader;
	const char *unused;
	struct sb_error local = {.offset = -1};
	int rc = SB_OK;

	if (s->len == 0 && s->whole)
		return sb_fail_at(err, SB_EFORMAT, "empty", s->path, 0, 0, "the file is empty");
	unused = ascend_unused(s);
	if (unused) {
		n->left_out = strdup(unused);
		return n->left_out ? SB_OK : SB_ENOMEM;
	}
	reader = best_reader(s);
	if (reader)
		rc = reader->read(&n->own.context, in, &local);
	/* the hint says more than that it is no trace */
	if (!reader || (rc == SB_EFORMAT && strcmp(local.word, "not_a_trace") == 0))
		return not_known(n, s, sniff_hint(s));
	if (rc == SB_EFORMAT && strcmp(local.word, "unknown_database") == 0)
		return not_known(n, s, local.text);
	if (rc != SB_OK && err)
		*err = local;
	return rc;
}

static int take_file(void *self, const struct source *from, const struct sniff *s, struct stream *in,
                     struct sb_error *err)
{
	struct reading *r = self;
	struct partial *n = partials_add(&r->partials, from, s->path);
	int rc;

	if (!n)
		return sb_no_memory(err);
	n->file = true;
	rc = read_file(n, s, in, err);
	collection_shrink(&n->own);
	return rc;
}

static void take_left_out(void *self, const struct source *from, const char *path, const char *reason)
{
	struct reading *r = self;
	struct partial *n = partials_add(&r->partials, from, path);

	if (n)
		n->left_out = strdup(reason);
	if (n && !n->left_out)
		atomic_store(&r->partials.no_memory, true);
}

static void take_failed(void *self, const struct source *from, const char *path, const struct sb_error *err)
{
	struct reading *r = self;
	struct partial *n = partials_add(&r->partials, from, path);

	if (!n)
		return;
	n->failed = malloc(sizeof(*n->failed));
	if (n->failed)
		*n->failed = *err;
	else
		atomic_store(&r->partials.no_memory, true);
}

static void take_fatal(void *self, const struct source *from, const struct sb_error *err)
{
	struct reading *r = self;
	struct ending *e = malloc(sizeof(*e));

	if (!e) {
		atomic_store(&r->partials.no_memory, true);
		return;
	}
	e->index = (size_t)from->order[0];
	e->err = *err;
	e->next = atomic_load(&r->endings);
	while (!atomic_compare_exchange_weak(&r->endings, &e->next, e))
		continue;
}

static int by_path(const void *a, const void *b)
{
	const struct read_input *x = *(const struct read_input *const *)a;
	const struct read_input *y = *(const struct read_input *const *)b;
	int c = strcmp(x->path, y->path);

	return c != 0 ? c : (x > y) - (x < y);
}

static void walk_one(void *arg)
{
	const struct walk *w = arg;
	struct reading *r = w->all;
	struct source s = {.budget = {.shared = &r->shared, .input = &r->inputs[w->index]},
	                   .sink = &r->sink,
	                   .order = {w->index}};
	struct sb_error err = {.offset = -1};

	if (atomic_load(&r->shared.fatal) || source_walk(&s, w->input, &err) == SB_OK)
		return;
	source_stop(&r->shared);
	take_fatal(r, &s, &err);
}

/* 0 = what ends the work; 1 = an error of one file, which was met while another thread ended the work; 2 =
 * one that only says so. */
static int consequence(const struct ending *e)
{
	if (strcmp(e->err.word, "stopped") == 0)
		return 2;
	return e->err.code == SB_EFORMAT && strcmp(e->err.word, "unsafe_path") != 0;
}

/* The error that ended the work: that of the first input, where there are several; one that only says that
 * another thread had ended it comes last. */
static int why_ended(const struct reading *r, struct sb_error *err)
{
	const struct ending *best = NULL;

	for (const struct ending *e = atomic_load(&r->endings); e; e = e->next) {
		int order = best ? consequence(e) - consequence(best) : -1;

		if (order < 0 || (order == 0 && e->index < best->index))
			best = e;
	}
	if (atomic_load(&r->partials.no_memory))
		return sb_no_memory(err);
	if (!best)
		return SB_OK;
	if (err)
		*err = best->err;
	return best->err.code;
}

static int walk_in_order(struct reading *r, const struct read_input *inputs, size_t count,
                         const struct read_input **order, struct sb_error *err)
{
	const struct sb_executor *x = r->shared.hooks ? r->shared.hooks->executor : NULL;

	for (size_t i = 0; i < count; i++) {
		order[i] = &inputs[i];
		r->shared.total = sb_add_sat(r->shared.total, inputs[i].length > 0 ? inputs[i].length : 0);
	}
	if (count > 1)
		qsort(order, count, sizeof(struct read_input *), by_path);
	for (size_t i = 0; i < count && !atomic_load(&r->shared.fatal); i++) {
		r->walks[i] = (struct walk){.all = r, .input = order[i], .index = i};
		if (!x || !x->submit(x->self, walk_one, &r->walks[i]))
			walk_one(&r->walks[i]);
	}
	if (x)
		x->wait(x->self);
	source_tell(&r->shared);
	return why_ended(r, err);
}

static int walk_all(struct reading *r, const struct read_input *inputs, size_t count, struct sb_error *err)
{
	const struct read_input **order = calloc(count + 1, sizeof(struct read_input *));
	int rc = SB_ENOMEM;

	r->inputs = calloc(count + 1, sizeof(*r->inputs));
	r->walks = calloc(count + 1, sizeof(*r->walks));
	if (order && r->inputs && r->walks)
		rc = walk_in_order(r, inputs, count, order, err);
	else
		sb_no_memory(err);
	free(order);
	return rc;
}

/* Is it the root of the upload, of all ids (".") or of one (". (id 3)")? */
static bool is_root(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || name[1] == ' ');
}

/* A file that was sent alone stands in no directory: what was found in it bears its name. */
static int name_lone_file(struct reading *r)
{
	struct profile *p = &r->found.profile;
	const char *path = r->partials.count == 1 ? r->partials.items[0]->path : NULL;

	for (size_t i = 0; path && i < p->warnings.count; i++) {
		struct warning *w = &p->warnings.items[i];

		if (is_root(w->file))
			snprintf(w->file, sizeof(w->file), "%s", path);
	}
	for (size_t i = 0; path && i < p->count; i++) {
		char *name = is_root(p->captures[i].source) ? strdup(path) : p->captures[i].source;

		if (!name)
			return SB_ENOMEM;
		if (name != p->captures[i].source)
			free(p->captures[i].source);
		p->captures[i].source = name;
	}
	return SB_OK;
}

struct keeping {
	struct capture *c;
	int rc;
};

static void keep_joins(void *arg)
{
	struct keeping *k = arg;

	k->rc = launches_keep(&k->c->trace);
	if (k->rc == SB_OK)
		k->rc = gpu_works_join(k->c);
}

/* Every analysis asks for the launches, several for what the kernels had to do: both are found once, when all
 * events are as they stay. */
static int keep_all(struct profile *p, const struct sb_executor *x)
{
	struct keeping *each = calloc(p->count + 1, sizeof(*each));
	int rc = each ? SB_OK : SB_ENOMEM;

	for (size_t i = 0; i < p->count && rc == SB_OK; i++) {
		each[i].c = &p->captures[i];
		if (!x || !x->submit(x->self, keep_joins, &each[i]))
			keep_joins(&each[i]);
	}
	if (x)
		x->wait(x->self);
	for (size_t i = 0; i < p->count && rc == SB_OK; i++)
		rc = each[i].rc;
	free(each);
	return rc;
}

static int read_all(struct reading *r, const struct read_input *inputs, size_t count, struct sb_error *err)
{
	int rc = walk_all(r, inputs, count, err);

	if (rc == SB_OK && partials_sort(&r->partials) != SB_OK)
		rc = sb_no_memory(err);
	if (rc == SB_OK)
		rc = gather(&r->partials, r->shared.hooks, &r->found, err);
	if (rc == SB_OK)
		rc = choose_captures(&r->found, err);
	if (rc == SB_OK && name_lone_file(r) != SB_OK)
		rc = sb_no_memory(err);
	if (rc == SB_OK &&
	    keep_all(&r->found.profile, r->shared.hooks ? r->shared.hooks->executor : NULL) != SB_OK)
		rc = sb_no_memory(err);
	if (rc == SB_OK && r->found.profile.count == 0)
		rc = nothing_used(&r->partials, &r->found, err);
	return rc;
}

int profile_read(const struct read_input *inputs, size_t count, const struct read_limits *limits,
                 const struct read_hooks *hooks, struct profile *out, struct sb_error *err)
{
	struct reading r = {.shared = {.limits = limits ? limits : &READ_LIMITS_DEFAULT,
	                               .hooks = hooks,
	                               .telling = ATOMIC_FLAG_INIT}};
	int rc;

	r.sink = (struct source_sink){.self = &r,
	                              .file = take_file,
	                              .left_out = take_left_out,
	                              .failed = take_failed,
	                              .fatal = take_fatal};
	rc = read_all(&r, inputs, count, err);
	if (rc == SB_OK) {
		*out = r.found.profile;
		r.found.profile = (struct profile){0};
	}
	reading_free(&r);
	return rc;
}
