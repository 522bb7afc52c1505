#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/commands.h"
#include "server/config.h"
#include "server/http_mhd.h"
#include "server/lifecycle.h"
#include "server/listener.h"

/* Everything that runs, in the order of its start. */
struct service {
	struct log log;
	struct lifecycle lifecycle;
	struct store *store;
	struct job_queue *jobs;
	struct api_service *api;
	struct http_server *http;
};

static int run_job(void *self, const char *kind, const char *object, const struct job_control *control,
                   struct sb_error *err)
{
	struct service *s = self;
	int rc = api_job_run(s->api, kind, object, control, err);

	if (rc == SB_OK)
		LOG(&s->log, LOG_INFO, "job ended", LOG_TEXT("kind", kind), LOG_TEXT("object", object));
	else /* a plan that cannot be is its user's matter */
		LOG(&s->log, strcmp(kind, "plan") == 0 ? LOG_INFO : LOG_WARN, "job failed",
		    LOG_TEXT("kind", kind), LOG_TEXT("object", object), LOG_TEXT("code", err->word),
		    LOG_TEXT("detail", err->text));
	return rc;
}

static int start_api(struct service *s, const struct config *c, int port, struct sb_error *err)
{
	const struct api_config config = {.store = s->store,
	                                  .jobs = s->jobs,
	                                  .job_ops = &JOB_OPS,
	                                  .limits = c->limits,
	                                  .thresholds = c->thresholds,
	                                  .draining = lifecycle_draining,
	                                  .draining_self = &s->lifecycle,
	                                  .listen_host = c->host,
	                                  .listen_port = port,
	                                  .allow_remote = c->allow_remote};
	int rc = api_service_new(&config, &s->api);

	if (rc == SB_OK)
		rc = jobs_start(s->jobs, (struct job_work){.self = s, .run = run_job});
	if (rc != SB_OK)
		return sb_fail(err, rc, "start_failed", "the service cannot start: %s", sb_strerror(rc));
	return api_resume_jobs(s->api, err);
}

static int start(struct service *s, const struct config *c, int listen_fd, int port, struct sb_error *err)
{
	struct http_config http = {.log = &s->log,
	                           .limits = c->limits,
	                           .http = c->http,
	                           .listen_fd = listen_fd,
	                           .draining = &s->lifecycle.draining};
	int rc = store_open(c->data, &s->store, err);

	if (rc == SB_OK)
		rc = jobs_new(&c->jobs, &s->jobs);
	if (rc == SB_OK)
		rc = start_api(s, c, port, err);
	if (rc != SB_OK) {
		close(listen_fd);
		return rc;
	}
	http.api = s->api;
	http.store = s->store;
	http.jobs = s->jobs;
	return http_start(&http, &s->http, err);
}

/* Requests end first, then jobs, and the store last: what was acknowledged is on disk. */
static void stop(struct service *s)
{
	http_stop(&s->http);
	if (s->jobs)
		jobs_stop(s->jobs);
	api_service_free(&s->api);
	jobs_free(&s->jobs);
	store_close(&s->store);
}

static int serve(struct service *s, const struct config *c, int listen_fd, const char *url, int port)
{
	struct sb_error err = {0};
	int rc = start(s, c, listen_fd, port, &err), signal;

	if (rc != SB_OK) {
		if (err.code == SB_OK)
			err.code = rc;
		stop(s);
		return command_fail(&err, 1);
	}
	printf("listening on %s\n", url);
	fflush(stdout);
	LOG(&s->log, LOG_INFO, "listening", LOG_TEXT("url", url), LOG_TEXT("data", c->data));
	lifecycle_notify("READY=1");
	signal = lifecycle_wait(&s->lifecycle);
	lifecycle_notify("STOPPING=1");
	LOG(&s->log, LOG_INFO, "stopping", LOG_NUM("signal", signal));
	stop(s);
	LOG(&s->log, LOG_INFO, "stopped", LOG_NUM("signal", signal));
	return 0;
}

static int run(int argc, char **argv)
{
	struct service s = {.log = {.fd = STDERR_FILENO}};
	struct sb_error err = {0};
	struct config c;
	char url[320];
	int fd, port, rc;

	if (config_parse(argc, argv, &c, &err) != SB_OK)
		return command_misused(&SERVE_COMMAND, &err);
	s.log.least = c.log_level;
	lifecycle_block_signals();
	rc = listener_open(c.host, c.port, c.allow_remote, &fd, url, &port, &err);
	if (rc != SB_OK)
		return command_fail(&err, rc == SB_EINVAL ? 2 : 1);
	return serve(&s, &c, fd, url, port);
}

static const struct command_option OPTIONS[] = {
    {.name = "listen",
     .value = "HOST:PORT",
     .letter = 'l',
     .meaning = "the address; port 0 picks a free one (default 127.0.0.1:8080)"},
    {.name = "data",
     .value = "DIR",
     .letter = 'd',
     .meaning = "where profiles and plans are kept; made when it is not there (default ./signalbox-data)"},
    {.name = "allow-remote",
     .letter = 'r',
     .meaning = "take an address that is not loopback; there are no users and no passwords yet"},
    {.name = "jobs",
     .value = "N",
     .letter = 'j',
     .meaning = "profiles that are read at a time, 1 to 64 (default 2)"},
    {.name = "limit",
     .value = "NAME=VALUE",
     .letter = 'm',
     .repeated = true,
     .meaning = "change one of the limits below"},
    {.name = "threshold",
     .value = "NAME=VALUE",
     .letter = 't',
     .repeated = true,
     .meaning = "change what a finding is judged by; GET /v1/thresholds lists the names"},
    {.name = "log",
     .value = "LEVEL",
     .letter = 'v',
     .meaning = "least level of what is logged on stderr, as JSON lines: debug, info, warn or error "
                "(default info)"},
    {0}};

const struct command SERVE_COMMAND = {
    .name = "serve",
    .arguments = "",
    .purpose = "Runs the service: the page and the JSON API. Prints \"listening on URL\" when it is ready, "
               "and stops at SIGTERM or Ctrl-C.",
    .options = OPTIONS,
    .status = "0 stopped; 1 it could not start; 2 wrong usage.",
    .more = config_limits_help,
    .run = run,
};
