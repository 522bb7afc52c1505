#include "server/config.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* A number that --limit NAME=VALUE sets. */
struct setting {
	const char *name;
	int64_t least, most;
	int64_t *wide; /* one of the two */
	int *narrow;
};

static int set_limit(struct config *c, const char *text, struct sb_error *err)
{
	const struct setting settings[] = {
	    {"upload_bytes", 1, INT64_MAX, &c->limits.upload_bytes, NULL},
	    {"inflated_bytes", 1, INT64_MAX, &c->limits.inflated_bytes, NULL},
	    {"ratio", 1, INT_MAX, &c->limits.ratio, NULL},
	    {"ratio_from", 0, INT64_MAX, &c->limits.ratio_from, NULL},
	    {"archive_files", 1, INT_MAX, &c->limits.archive_files, NULL},
	    {"request_bytes", 1, 1 << 30, &c->limits.request_bytes, NULL},
	    {"connections", 8, 100000, NULL, &c->http.connections},
	    {"header_seconds", 1, 3600, NULL, &c->http.header_seconds},
	    {"idle_seconds", 1, 3600, NULL, &c->http.idle_seconds},
	    {"stall_seconds", 1, 3600, NULL, &c->http.stall_seconds},
	    {"stall_bytes_per_second", 0, INT_MAX, &c->http.stall_rate, NULL},
	    {"drain_bytes", 0, INT64_MAX, &c->http.drain_bytes, NULL},
	    {"stop_seconds", 0, 3600, NULL, &c->http.stop_seconds},
	    {"http_threads", 2, 256, NULL, &c->http.threads},
	    {"request_threads", 1, 256, NULL, &c->http.request_threads},
	    {"read_threads", 0, 256, NULL, &c->jobs.read_threads},
	};
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : 0;
	char names[400]; /* holds the names above */
	int64_t value;
	int n = 0;

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		const struct setting *s = &settings[i];

		if (strlen(s->name) != len || memcmp(s->name, text, len) != 0)
			continue;
		if (sb_parse_int(equals + 1, strlen(equals + 1), &value) != SB_OK || value < s->least ||
		    value > s->most)
			return sb_fail(err, SB_EINVAL, "usage", "--limit %s takes a number from %lld to %lld",
			               s->name, (long long)s->least, (long long)s->most);
		if (s->wide)
			*s->wide = value;
		else
			*s->narrow = (int)value;
		return SB_OK;
	}
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]) && n < (int)sizeof(names); i++)
		n += snprintf(names + n, sizeof(names) - (size_t)n, " %s", settings[i].name);
	return sb_fail(err, SB_EINVAL, "usage", "--limit takes NAME=VALUE; the names are%s", names);
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
	c->jobs.threads = (int)n;
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

static int set_option(struct config *c, int option, const char *value, const char *written,
                      struct sb_error *err)
{
	switch (option) {
	case 'l': return config_listen(value, c, err);
	case 'd': c->data = value; return SB_OK;
	case 'r': c->allow_remote = true; return SB_OK;
	case 'j': return set_jobs(c, value, err);
	case 'm': return set_limit(c, value, err);
	case 't': return threshold_set_text(&c->thresholds, value, err);
	case 'v': return set_level(c, value, err);
	case ':': return sb_fail(err, SB_EINVAL, "usage", "%s needs a value", written);
	default: return sb_fail(err, SB_EINVAL, "usage", "unknown option \"%s\"", written);
	}
}

int config_parse(int argc, char **argv, struct config *out, struct sb_error *err)
{
	static const struct option options[] = {
	    {"listen", required_argument, NULL, 'l'}, {"data", required_argument, NULL, 'd'},
	    {"allow-remote", no_argument, NULL, 'r'}, {"jobs", required_argument, NULL, 'j'},
	    {"limit", required_argument, NULL, 'm'},  {"threshold", required_argument, NULL, 't'},
	    {"log", required_argument, NULL, 'v'},    {NULL, 0, NULL, 0}};
	struct config c = {.host = "127.0.0.1",
	                   .port = "8080",
	                   .data = "./signalbox-data",
	                   .limits = API_LIMITS_DEFAULT,
	                   .thresholds = THRESHOLDS_DEFAULT,
	                   .http = HTTP_LIMITS_DEFAULT,
	                   .jobs = JOB_QUEUE_DEFAULT,
	                   .log_level = LOG_INFO};
	int option, rc;

	optind = 0; /* a fresh scan, also when called twice (tests) */
	opterr = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet */
	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		const char *written = argv[optind - 1];

		/* of "-xy" getopt_long() has read a part only */
		if (option == '?' && written[0] != '-')
			written = argv[optind];
		rc = set_option(&c, option, optarg, written, err);
		if (rc != SB_OK)
			return rc;
	}
	if (optind < argc)
		return sb_fail(err, SB_EINVAL, "usage", "unexpected argument \"%s\"", argv[optind]);
	*out = c;
	return SB_OK;
}
