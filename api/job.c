#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/internal.h"
#include "api/json_put.h"
#include "api/profiles/documents.h"
#include "api/profiles/memory_json.h"
#include "profiler/path_file.h"
#include "profiler/timeline.h"

/* Reading takes most of the time of a job; the rest is for the analyses and the side files. */
#define READING_SHARE 0.9

struct reading {
	struct api_service *s;
	const char *id;
	const struct job_control *control;
};

static void on_progress(void *self, int64_t done, int64_t total)
{
	const struct reading *r = self;

	if (r->control->progress && total > 0)
		r->control->progress(r->control->self, READING_SHARE * (double)done / (double)total);
}

static bool is_canceled(void *self)
{
	const struct reading *r = self;

	return r->control->canceled && r->control->canceled(r->control->self);
}

/* The files of the upload as inputs; the labels live in *out_files. */
static int make_inputs(const struct store_profile *p, int fd, json_t **out_files, struct read_input **out,
                       size_t *out_count, struct sb_error *err)
{
	json_t *files = json_loads(p->files ? p->files : "[]", 0, NULL);
	size_t n = json_array_size(files);
	struct read_input *inputs = calloc(n > 0 ? n : 1, sizeof(*inputs));

	if (!files || !inputs) {
		json_decref(files);
		free(inputs);
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	}
	for (size_t i = 0; i < n; i++) {
		const json_t *f = json_array_get(files, i);

		inputs[i].path = json_string_value(json_object_get(f, "path"));
		inputs[i].fd = fd;
		inputs[i].offset = json_integer_value(json_object_get(f, "offset"));
		inputs[i].length = json_integer_value(json_object_get(f, "bytes"));
	}
	*out_files = files;
	*out = inputs;
	*out_count = n;
	return SB_OK;
}

static int compute(struct reading *r, const struct store_profile *p, struct profile_results *out,
                   struct sb_error *err)
{
	const struct api_limits *l = &r->s->config.limits;
	const struct read_limits limits = {.inflated_bytes = l->inflated_bytes,
	                                   .ratio = l->ratio,
	                                   .ratio_from = l->ratio_from,
	                                   .archive_files = l->archive_files};
	const struct read_hooks hooks = {
	    .self = r, .progress = on_progress, .canceled = is_canceled, .executor = r->control->executor};
	struct read_input *inputs = NULL;
	JSON_AUTO files = NULL;
	size_t n = 0;
	int fd, rc = store_profile_open(r->s->config.store, r->id, &fd, err);

	if (rc != SB_OK)
		return rc;
	rc = make_inputs(p, fd, &files, &inputs, &n, err);
	if (rc == SB_OK)
		rc = results_compute(inputs, n, &limits, &hooks, &r->s->config.thresholds, out, err);
	free(inputs);
	close(fd);
	return rc;
}

static int write_operators(struct reading *r, const struct profile_results *res, int fd, struct sb_error *err)
{
	(void)r;
	return operators_write(&res->operators, fd, err);
}

static int write_timeline(struct reading *r, const struct profile_results *res, int fd, struct sb_error *err)
{
	TIMELINE_WRITER_AUTO w;
	int rc = timeline_begin(&w, fd, err);

	for (size_t i = 0; rc == SB_OK && i < res->profile.count; i++) {
		if (is_canceled(r))
			return sb_fail(err, SB_ECANCELED, "canceled", "The job was canceled.");
		rc = timeline_add_capture(&w, &res->profile.captures[i], err);
	}
	return rc == SB_OK ? timeline_end(&w, err) : rc;
}

static int write_paths(struct reading *r, const struct profile_results *res, int fd, struct sb_error *err)
{
	(void)r;
	return path_file_write(&res->profile, &res->paths, fd, err);
}

static int write_side(struct reading *r, const char *name, const struct profile_results *res,
                      int (*write)(struct reading *r, const struct profile_results *res, int fd,
                                   struct sb_error *err),
                      struct sb_error *err)
{
	struct store *s = r->s->config.store;
	int fd, rc = store_side_begin(s, r->id, name, &fd, err);

	if (rc != SB_OK)
		return rc;
	rc = write(r, res, fd, err);
	if (rc != SB_OK) {
		store_side_abort(s, r->id, name, fd);
		return rc;
	}
	return store_side_commit(s, r->id, name, fd, err);
}

static int write_sides(struct reading *r, const struct profile_results *res, struct sb_error *err)
{
	int rc = write_side(r, "operators", res, write_operators, err);

	if (rc == SB_OK)
		rc = write_side(r, "critical-path", res, write_paths, err);
	return rc == SB_OK ? write_side(r, "timeline", res, write_timeline, err) : rc;
}

#define DOCUMENTS 12

struct documents {
	struct store_document items[DOCUMENTS];
	char *texts[DOCUMENTS]; /* what the items lend out */
	size_t count;
};

/* Takes the text; NULL = memory was out. */
static bool add_text(struct documents *d, const char *name, char *text, size_t len)
{
	d->texts[d->count] = text;
	d->items[d->count++] = (struct store_document){.name = name, .text = text, .len = len};
	return text != NULL;
}

/* Takes the value. */
static bool add_document(struct documents *d, const char *name, json_t *value)
{
	size_t len = 0;
	char *text = value ? json_write(value, &len) : NULL;

	json_decref(value);
	return add_text(d, name, text, len);
}

/* Takes what the buffer holds, and leaves it empty. */
static bool add_written(struct documents *d, const char *name, struct sb_buf *b)
{
	size_t len = b->len;
	bool whole = b->status == SB_OK;

	return add_text(d, name, sb_buf_take(b), len) && whole;
}

static bool add_rows(struct documents *d, const struct profile_results *res)
{
	SB_BUF_AUTO b;

	sb_buf_init(&b, JSON_PUT_MAX);
	document_breakdown(&res->breakdown, &b);
	if (!add_written(d, "breakdown", &b))
		return false;
	document_communication(&res->communication, &b);
	return add_written(d, "communication", &b);
}

static int finish(struct reading *r, const struct store_profile *p, const struct profile_results *res,
                  struct sb_error *err)
{
	struct documents docs = {0};
	JSON_AUTO facts = document_facts(&res->profile, &res->analysis);
	char *text = facts ? json_write(facts, NULL) : NULL;
	bool made = text && add_rows(&docs, res) &&
	            add_document(&docs, "input-pipeline", document_input_pipeline(&res->profile)) &&
	            add_document(&docs, "layers", document_layers(&res->profile)) &&
	            add_document(&docs, "efficiency", document_efficiency(&res->profile)) &&
	            add_document(&docs, "memory", document_memory(&res->profile)) &&
	            add_document(&docs, "analysis", document_analysis(&res->analysis)) &&
	            add_document(&docs, "advice", document_advice(&res->profile, &res->analysis)) &&
	            add_document(&docs, "loading", document_loading(&res->profile)) &&
	            add_document(&docs, "profile",
	                         document_profile(p->id, p->name, "ready", p->created_us, p->bytes, p->sha256,
	                                          facts, NULL));
	int rc = made ? SB_OK : sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");

	if (rc == SB_OK)
		rc = store_profile_finish(r->s->config.store, r->id, "ready", text, docs.items, docs.count,
		                          err);
	for (size_t i = 0; i < docs.count; i++)
		free(docs.texts[i]);
	free(text);
	return rc;
}

/* Records the end of a job that failed. A stop of the service is no failure: the profile is queued again. */
static void record_failure(struct reading *r, const struct sb_error *why)
{
	const struct api_config *config = &r->s->config;
	char *facts;

	if (why->code == SB_ECANCELED && config->draining && config->draining(config->draining_self)) {
		store_profile_set(config->store, r->id, "queued", NULL, NULL);
		return;
	}
	facts = error_facts(why);
	store_profile_finish(config->store, r->id, "failed", facts, NULL, 0, NULL);
	free(facts);
}

static int read_profile(struct reading *r, struct sb_error *err)
{
	struct store *s = r->s->config.store;
	struct store_profile p = {0};
	RESULTS_AUTO results = {0};
	int rc;

	if (is_canceled(r))
		return sb_fail(err, SB_ECANCELED, "canceled", "The job was canceled.");
	rc = store_profile_set(s, r->id, "reading", NULL, err);
	if (rc == SB_OK)
		rc = store_profile_get(s, r->id, &p, err);
	if (rc == SB_OK)
		rc = compute(r, &p, &results, err);
	if (rc == SB_OK)
		rc = write_sides(r, &results, err);
	if (rc == SB_OK)
		rc = finish(r, &p, &results, err);
	store_profile_clear(&p);
	return rc;
}

static bool is_gone(struct store *s, const char *id)
{
	struct store_profile p = {0};
	bool gone = store_profile_get(s, id, &p, NULL) == SB_ENOENT;

	store_profile_clear(&p);
	return gone;
}

static int submit_queued(struct api_service *s, struct sb_error *err)
{
	char(*ids)[STORE_ID_MAX] = NULL;
	size_t n = 0;
	int rc = store_profile_ids(s->config.store, "queued", &ids, &n, err);

	for (size_t i = 0; rc == SB_OK && i < n; i++)
		profile_submit(s, ids[i]);
	free(ids);
	return rc;
}

static int run_reading(struct api_service *s, const char *object, const struct job_control *control,
                       struct sb_error *err)
{
	struct reading r = {.s = s, .id = object, .control = control};
	struct sb_error why = {0};
	int rc = read_profile(&r, &why);
	if (rc != SB_OK && why.code == SB_OK)
		sb_fail(&why, rc, "failed", "%s", sb_strerror(rc));
	if (rc != SB_OK && is_gone(s->config.store, object))
		rc = sb_fail(&why, SB_ECANCELED, "deleted", "The profile was deleted meanwhile.");
	else if (rc != SB_OK)
		record_failure(&r, &why);
	if (atomic_exchange(&s->backlog, false))
		submit_queued(s, NULL);
	if (rc != SB_OK && err)
		*err = why;
	return rc;
}

int api_job_run(struct api_service *s, const char *kind, const char *object,
                const struct job_control *control, struct sb_error *err)
{
	double start = monotonic_seconds();
	int rc;

	if (strcmp(kind, "profile") == 0)
		rc = run_reading(s, object, control, err);
	else if (strcmp(kind, "plan") == 0)
		rc = plan_search_run(s, object, control, err);
	else
		return sb_fail(err, SB_EINVAL, "unknown_kind", "There is no such kind of job.");
	metrics_job(s->metrics, kind, rc == SB_OK, monotonic_seconds() - start);
	return rc;
}

int api_resume_jobs(struct api_service *s, struct sb_error *err)
{
	return submit_queued(s, err);
}
