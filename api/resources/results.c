#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/internal.h"
#include "api/json_put.h"
#include "api/plans/parse.h"
#include "api/profiles/breakdown_read.h"
#include "api/profiles/documents.h"

#define ROWS_DEFAULT 1000
#define ROWS_MAX 100000

/* Does the queue hold a job for the profile that has not ended? */
static bool is_under_way(struct call *c)
{
	struct job_status j = {0};

	return c->s->config.job_ops->status(c->s->config.jobs, c->param, &j) == SB_OK &&
	       j.state <= JOB_RUNNING;
}

/* The upload is what counts. While a job has not ended the queue takes no other for the same profile: the
 * caller asks again shortly. A profile that waits, but that no job is for, was left behind so. */
static void read_again(struct call *c)
{
	struct store *s = c->s->config.store;
	struct store_profile p = {0};
	bool idle = !is_under_way(c) && store_profile_get(s, c->param, &p, NULL) == SB_OK;
	bool ready = idle && strcmp(p.state, "ready") == 0, queued = idle && strcmp(p.state, "queued") == 0;

	store_profile_clear(&p);
	if (ready)
		queued = store_profile_set(s, c->param, "queued", NULL, NULL) == SB_OK;
	if (queued)
		profile_submit(c->s, c->param);
	answer_not_ready(c);
}

void results_failed(struct call *c, int rc, const struct sb_error *err)
{
	/* an opened timeline is kept: this one is of no use any more */
	if (rc == SB_EFORMAT)
		timelines_forget(c->s, c->param);
	if (rc == SB_ENOENT || rc == SB_EFORMAT)
		read_again(c);
	else
		api_problem_from(c->res, err);
}

int results_lacking(struct call *c, const char *id, const struct place *at, struct sb_error *err)
{
	struct store_profile p = {0};

	if (store_profile_get(c->s->config.store, id, &p, NULL) != SB_OK)
		return parse_fail(err, SB_EIMPOSSIBLE, "unknown_profile", at, NULL, "is no stored profile");
	snprintf(c->param, sizeof(c->param), "%s", p.id);
	store_profile_clear(&p);
	results_failed(c, SB_ENOENT, err);
	return SB_ENOENT;
}

void results_document(struct call *c)
{
	struct sb_error err = {0};
	char *text = NULL;
	size_t len = 0;
	int rc = store_document_get(c->s->config.store, c->param, c->subject, &text, &len, &err);

	if (rc == SB_OK)
		reply_text(c, 200, "application/json", text, len);
	else
		results_failed(c, rc, &err);
}

int results_breakdown(struct call *c, const char *id, struct breakdown *out, struct sb_error *err)
{
	char *text = NULL;
	size_t len = 0;
	int rc = store_document_get(c->s->config.store, id, "breakdown", &text, &len, err);

	if (rc != SB_OK)
		return rc;
	rc = breakdown_read(text, len, out);
	free(text);
	return rc == SB_OK ? rc : sb_fail(err, rc, "storage", "The stored breakdown cannot be read.");
}

static bool read_query(struct call *c, struct operator_query *q)
{
	static const char *const by[] = {"type", "name"};
	/* in the order of enum operator_sort */
	static const char *const sort[] = {"total", "count", "mean", "max", "name"};
	int64_t limit = ROWS_DEFAULT;
	size_t by_index = 0, sort_index = 0;

	*q = (struct operator_query){.rank = SB_NULL, .step = SB_NULL};
	if (!query_word(c, "by", by, 2, &by_index) || !query_word(c, "sort", sort, 5, &sort_index) ||
	    !query_int(c, "rank", 0, INT32_MAX, &q->rank) ||
	    !query_int(c, "step", INT64_MIN + 1, INT64_MAX, &q->step) ||
	    !query_int(c, "limit", 1, ROWS_MAX, &limit))
		return false;
	q->by_name = by_index == 1;
	q->sort = (enum operator_sort)sort_index;
	q->limit = (size_t)limit;
	return true;
}

int results_load_operators(struct call *c, struct operator_table *out, struct sb_error *err)
{
	int fd = -1, rc = store_side_open(c->s->config.store, c->param, "operators", &fd, err);

	if (rc != SB_OK)
		return rc;
	rc = operators_load(fd, out, err);
	close(fd);
	return rc;
}

void results_operators(struct call *c)
{
	OPERATORS_AUTO table = {0};
	struct operator_query q;
	struct sb_error err = {0};
	SB_BUF_AUTO b;
	int rc;

	sb_buf_init(&b, JSON_PUT_MAX);
	if (!read_query(c, &q))
		return;
	rc = results_load_operators(c, &table, &err);
	if (rc == SB_OK && document_operators(&table, &q, &b) != SB_OK)
		rc = sb_no_memory(&err);
	if (rc == SB_OK)
		reply_buf(c, 200, "application/json", &b);
	else
		results_failed(c, rc, &err);
}
