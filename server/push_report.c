#include "server/push_report.h"

#include <string.h>
#include <unistd.h>

#include "api/profiles/report.h"
#include "server/progress.h"

enum { GET_SECONDS = 60, POLL_FIRST_US = 50000, POLL_LAST_US = 1000000, PARTS = 1000 };

int push_accepted(const struct client_answer *a, struct answer_profile *out, struct sb_error *err)
{
	if (a->status < 200 || a->status > 299)
		return answer_refused(a->status, a->text.data, a->text.len, err);
	return answer_profile(a->text.data, a->text.len, out, err);
}

/* GETs a part of the profile ("" is the profile itself). */
static int get(struct client *c, const char *family, const char *id, const char *part,
               struct client_answer *out, struct sb_error *err)
{
	CLIENT_ANSWER_AUTO answer = {0};
	char path[128];
	int rc;

	snprintf(path, sizeof(path), "/v1/%s/%s%s", family, id, part);
	rc = client_get(c, path, GET_SECONDS, &answer, err);
	if (rc == SB_OK && answer.status != 200)
		rc = answer_refused(answer.status, answer.text.data, answer.text.len, err);
	if (rc != SB_OK)
		return rc;
	*out = answer;
	answer = (struct client_answer){0};
	return SB_OK;
}

static void show_progress(struct client *c, const char *id, struct progress_bar *bar)
{
	CLIENT_ANSWER_AUTO job = {0};
	double share;

	if (!bar->terminal || get(c, "jobs", id, "", &job, NULL) != SB_OK)
		return;
	share = answer_progress(job.text.data, job.text.len);
	if (share >= 0)
		progress_show(bar, share < 1 ? (int64_t)(share * PARTS) : PARTS, PARTS);
}

static int poll_once(struct client *c, const char *id, bool *out_ready, struct sb_error *err)
{
	CLIENT_ANSWER_AUTO answer = {0};
	struct answer_profile profile;
	int rc = get(c, "profiles", id, "", &answer, err);

	if (rc == SB_OK)
		rc = answer_profile(answer.text.data, answer.text.len, &profile, err);
	if (rc == SB_OK)
		*out_ready = strcmp(profile.state, "ready") == 0;
	return rc;
}

int push_wait(struct client *c, const char *id, struct sb_error *err)
{
	struct progress_bar bar;
	useconds_t pause = POLL_FIRST_US;
	bool ready = false;
	int rc;

	progress_start(&bar, "reading");
	for (;;) {
		rc = poll_once(c, id, &ready, err);
		if (rc != SB_OK || ready)
			break;
		show_progress(c, id, &bar);
		usleep(pause);
		pause = pause * 2 < POLL_LAST_US ? pause * 2 : POLL_LAST_US;
	}
	progress_end(&bar);
	return rc;
}

int push_print(struct client *c, const char *id, FILE *to, struct sb_error *err)
{
	CLIENT_ANSWER_AUTO analysis = {0};
	CLIENT_ANSWER_AUTO advice = {0};
	SB_BUF_AUTO text = {0};
	int rc = get(c, "profiles", id, "/analysis", &analysis, err);

	if (rc == SB_OK)
		rc = get(c, "profiles", id, "/advice", &advice, err);
	if (rc != SB_OK)
		return rc;
	sb_buf_init(&text, REPORT_MAX);
	rc = report_verdict(analysis.text.data, advice.text.data, &text, err);
	if (rc == SB_OK && (fputs(text.data ? text.data : "", to) < 0 || fflush(to) != 0))
		rc = sb_fail(err, SB_EIO, "write_failed", "cannot write");
	return rc;
}
