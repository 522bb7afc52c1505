#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/internal.h"
#include "api/json_put.h"
#include "api/profiles/critical_path_json.h"
#include "api/profiles/documents.h"
#include "api/profiles/report_page.h"

/* By Accept; the first for who accepts anything. */
enum language { AS_JSON, AS_HTML, AS_MARKDOWN };
static const char *const types[] = {"application/json", "text/html", "text/markdown", NULL};

#define REPORT_OPERATORS 50

/* What is stored of the profile. */
enum { PROFILE, BREAKDOWN, COMMUNICATION, ANALYSIS, ADVICE, STORED };
static const char *const names[STORED] = {"profile", "breakdown", "communication", "analysis", "advice"};

struct stored {
	char *text[STORED];
	size_t len[STORED];
};

static void stored_clear(struct stored *s)
{
	for (int i = 0; i < STORED; i++)
		free(s->text[i]);
}

static int load_documents(struct call *c, bool page, struct stored *out, struct sb_error *err)
{
	for (int i = 0; i < STORED; i++) {
		int rc;

		if (page && (i == COMMUNICATION || i == BREAKDOWN))
			continue;
		rc = store_document_get(c->s->config.store, c->param, names[i], &out->text[i], &out->len[i],
		                        err);

		if (rc != SB_OK)
			return rc;
	}
	return SB_OK;
}

/* limit: 0 = all rows. */
static int add_operators(struct call *c, size_t limit, struct sb_buf *b, struct sb_error *err)
{
	const struct operator_query q = {.rank = SB_NULL, .step = SB_NULL, .limit = limit};
	OPERATORS_AUTO table = {0};
	int rc = results_load_operators(c, &table, err);

	if (rc == SB_OK && document_operators(&table, &q, b) != SB_OK)
		rc = sb_no_memory(err);
	return rc;
}

/* The path across the ranks, else the longest; NULL when there is none: a report does without. */
static json_t *load_path(struct call *c)
{
	PATH_FILE_AUTO f = {0};
	PATH_VIEW_AUTO v = {0};
	const struct path_section *best = NULL;
	int fd = -1, rc = store_side_open(c->s->config.store, c->param, "critical-path", &fd, NULL);

	if (rc != SB_OK)
		return NULL;
	rc = path_file_open(fd, &f, NULL);
	close(fd);
	for (size_t i = 0; rc == SB_OK && i < f.count; i++) {
		const struct path_section *s = &f.sections[i];

		if (!best || s->across || s->end_ns - s->first_ns > best->end_ns - best->first_ns)
			best = s;
	}
	if (!best || path_file_look(&f, best, best->first_ns, best->end_ns, 1, &v, NULL) != SB_OK)
		return NULL;
	return critical_path_json(&f, best, &v, best->first_ns, best->end_ns);
}

/* The object that `analyze --json` prints, from texts as they are stored: no digit changes. */
static int answer_json(struct call *c, const struct stored *s, struct sb_error *err)
{
	SB_BUF_AUTO b;
	int rc = SB_OK;

	sb_buf_init(&b, JSON_PUT_MAX);
	json_put_open(&b, NULL, '{');
	for (int i = 0; rc == SB_OK && i < STORED; i++) {
		if (i == COMMUNICATION) {
			json_put_name(&b, "operators");
			rc = add_operators(c, 0, &b, err);
		}
		json_put_name(&b, names[i]);
		sb_buf_add(&b, s->text[i], s->len[i]);
	}
	json_put_close(&b, '}');
	if (rc == SB_OK && b.status != SB_OK)
		rc = sb_no_memory(err);
	if (rc != SB_OK)
		return rc;
	reply_buf(c, 200, types[AS_JSON], &b);
	return SB_OK;
}

static json_t *parsed(const struct stored *s, int document)
{
	return json_loadb(s->text[document], s->len[document], JSON_ALLOW_NUL, NULL);
}

static int answer_page(struct call *c, const struct stored *s, bool html, struct sb_error *err)
{
	JSON_AUTO profile = parsed(s, PROFILE);
	JSON_AUTO analysis = parsed(s, ANALYSIS);
	JSON_AUTO advice = parsed(s, ADVICE);
	JSON_AUTO operators = NULL;
	JSON_AUTO path = load_path(c);
	BREAKDOWN_AUTO breakdown = {0};
	SB_BUF_AUTO rows;
	SB_BUF_AUTO b;
	int rc;

	sb_buf_init(&rows, JSON_PUT_MAX);
	sb_buf_init(&b, REPORT_PAGE_MAX);
	rc = add_operators(c, REPORT_OPERATORS, &rows, err);
	if (rc == SB_OK)
		rc = results_breakdown(c, c->param, &breakdown, err);
	if (rc != SB_OK)
		return rc;
	operators = json_loadb(rows.data, rows.len, JSON_ALLOW_NUL, NULL);
	const struct report_documents d = {profile, operators, analysis, advice, path, &breakdown};

	rc = report_page(&d, html, &b);
	if (rc != SB_OK)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "The service is out of memory.");
	reply_buf(c, 200, html ? "text/html; charset=utf-8" : "text/markdown; charset=utf-8", &b);
	if (html)
		api_res_header(c->res, "Content-Security-Policy",
		               "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action "
		               "'none'; frame-ancestors 'none'; sandbox");
	return SB_OK;
}

static void answer(struct call *c, enum language language)
{
	struct stored s = {0};
	struct sb_error err = {0};
	int rc = load_documents(c, language != AS_JSON, &s, &err);

	if (rc == SB_OK)
		rc = language == AS_JSON ? answer_json(c, &s, &err)
		                         : answer_page(c, &s, language == AS_HTML, &err);
	if (rc != SB_OK)
		results_failed(c, rc, &err);
	stored_clear(&s);
}

void reports_get(struct call *c)
{
	int language = accept_choose(api_header(c->req, "Accept"), types);

	if (language < 0)
		api_problem(c->res, 406, "not_acceptable",
		            "A report is there as application/json, text/html and text/markdown.");
	else
		answer(c, (enum language)language);
	api_res_header(c->res, "Vary", "Accept");
}
