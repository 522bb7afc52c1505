#include "server/config.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "server/commands.h"

void config_default(struct config *out)
{
	*out = (struct config){.host = "127.0.0.1",
	                       .port = "8080",
	                       .data = "./signalbox-data",
	                       .limits = API_LIMITS_DEFAULT,
	                       .thresholds = THRESHOLDS_DEFAULT,
	                       .http = HTTP_LIMITS_DEFAULT,
	                       .jobs = JOB_QUEUE_DEFAULT,
	                       .log_level = LOG_INFO};
}

static int set_level(struct config *c, const char *text, struct sb_error *err)
{
	static const char *const names[] = {"debug", "info", "warn", "error"};

	for (int i = 0; i < 4; i++) {
		if (strcmp(text, names[i]) == 0) {
			c->log_level = (enum log_level)i;
			return SB_OK;
		}
	}
	return sb_fail(err, SB_EINVAL, "usage", "--log takes debug, info, warn or error");
}

static int set_jobs(struct config *c, const char *text, struct sb_error *err)
{
	int64_t n;

	if (sb_parse_int(text, strlen(text), &n) != SB_OK || n < 1 || n > 64)
		return sb_fail(err, SB_EINVAL, "usage", "--jobs takes a number from 1 to 64");
	c->jobs.lanes[JOB_LANE_PROFILE].threads = (int)n;
	return SB_OK;
}

int config_listen(const char *text, struct config *out, struct sb_error *err)
{
	const char *colon = strrchr(text, ':'), *host = text;
	size_t len = colon ? (size_t)(colon - text) : 0;
	int64_t port;

	if (!colon || sb_parse_int(colon + 1, strlen(colon + 1), &port) != SB_OK || port < 0 || port > 65535)
		return sb_fail(err, SB_EINVAL, "usage", "--listen takes HOST:PORT, not \"%s\"", text);
	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	} else if (memchr(host, ':', len)) {
		return sb_fail(err, SB_EINVAL, "usage", "an IPv6 address is written [ADDRESS]:PORT");
	}
	if (len >= sizeof(out->host))
		return sb_fail(err, SB_EINVAL, "usage", "the host name is too long");
	memcpy(out->host, host, len);
	out->host[len] = '\0';
	snprintf(out->port, sizeof(out->port), "%d", (int)port);
	return SB_OK;
}

static int set_option(struct config *c, int option, const char *value, struct sb_error *err)
{
	switch (option) {
	case 'l': return config_listen(value, c, err);
	case 'd': c->data = value; return SB_OK;
	case 'r': c->allow_remote = true; return SB_OK;
	case 'j': return set_jobs(c, value, err);
	case 'm': return config_limit(value, c, err);
	case 't': return threshold_set_text(&c->thresholds, value, err);
	case 'v': return set_level(c, value, err);
	default: return SB_EINVAL;
	}
}

int config_parse(int argc, char **argv, struct config *out, struct sb_error *err)
{
	int option, rc;

	config_default(out);
	while ((option = command_next(&SERVE_COMMAND, argc, argv, err)) != -1) {
		rc = set_option(out, option, optarg, err);
		if (rc != SB_OK)
			return rc;
	}
	if (optind < argc)
		return sb_fail(err, SB_EINVAL, "usage", "unexpected argument \"%s\"", argv[optind]);
	return SB_OK;
}
