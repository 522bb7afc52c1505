#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "server/command.h"
#include "server/config.h"

/* A number that --limit NAME=VALUE sets. */
struct setting {
	const char *name;
	int64_t least, most;
	size_t at;   /* in struct config */
	bool narrow; /* an int there, else an int64_t */
	const char *meaning;
};

#define WIDE(member) offsetof(struct config, member), false
#define NARROW(member) offsetof(struct config, member), true

static const struct setting SETTINGS[] = {
    {"upload_bytes", 1, INT64_MAX, WIDE(limits.upload_bytes), "of an upload as it is sent"},
    {"inflated_bytes", 1, INT64_MAX, WIDE(limits.inflated_bytes), "of an upload once it is inflated"},
    {"ratio", 1, INT_MAX, WIDE(limits.ratio), "inflated to stored bytes of a file"},
    {"ratio_from", 0, INT64_MAX, WIDE(limits.ratio_from), "inflated bytes from which on ratio counts"},
    {"archive_files", 1, INT_MAX, WIDE(limits.archive_files), "files in an archive"},
    {"request_bytes", 1, 1 << 30, WIDE(limits.request_bytes), "of a request in JSON"},
    {"connections", 8, 100000, NARROW(http.connections), "open at a time"},
    {"header_seconds", 1, 3600, NARROW(http.header_seconds), "for a request line and its headers"},
    {"idle_seconds", 1, 3600, NARROW(http.idle_seconds), "of silence before a connection is closed"},
    {"stall_seconds", 1, 3600, NARROW(http.stall_seconds), "over which the rate of a body is averaged"},
    {"stall_bytes_per_second", 0, INT_MAX, WIDE(http.stall_rate), "that a body must reach"},
    {"drain_bytes", 0, INT64_MAX, WIDE(http.drain_bytes), "of a refused body, read before the answer"},
    {"stop_seconds", 0, 3600, NARROW(http.stop_seconds), "that a stop waits for requests under way"},
    {"http_threads", 2, 256, NARROW(http.threads), "for connections (default twice the cores, 4 at least)"},
    {"request_threads", 1, 256, NARROW(http.request_threads),
     "for requests (default twice the cores, 4 at least)"},
    {"read_threads", 0, 256, NARROW(jobs.read_threads),
     "that help the jobs to read (default one fewer than the cores)"},
    {"plan_threads", 1, 256, NARROW(jobs.lanes[JOB_LANE_PLAN].threads),
     "that search for plans (default twice the cores, 4 at least)"},
    {"plan_queue", 1, 10000, NARROW(jobs.lanes[JOB_LANE_PLAN].queued_max), "plans that wait for a thread"},
    {"plan_wait_seconds", 0, 25, WIDE(limits.plan_wait_seconds),
     "before a request for a plan is answered with its job"},
};
enum { SETTINGS_COUNT = sizeof(SETTINGS) / sizeof(SETTINGS[0]) };

int config_limit(const char *text, struct config *out, struct sb_error *err)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : 0;
	char names[400]; /* holds the names above */
	int64_t value;
	int n = 0;

	for (int i = 0; i < SETTINGS_COUNT; i++) {
		const struct setting *s = &SETTINGS[i];
		char *at = (char *)out + s->at;

		if (strlen(s->name) != len || memcmp(s->name, text, len) != 0)
			continue;
		if (sb_parse_int(equals + 1, strlen(equals + 1), &value) != SB_OK || value < s->least ||
		    value > s->most)
			return sb_fail(err, SB_EINVAL, "usage", "--limit %s takes a number from %lld to %lld",
			               s->name, (long long)s->least, (long long)s->most);
		if (s->narrow)
			memcpy(at, &(int){(int)value}, sizeof(int));
		else
			memcpy(at, &value, sizeof(value));
		return SB_OK;
	}
	for (int i = 0; i < SETTINGS_COUNT && n < (int)sizeof(names); i++)
		n += snprintf(names + n, sizeof(names) - (size_t)n, " %s", SETTINGS[i].name);
	return sb_fail(err, SB_EINVAL, "usage", "--limit takes NAME=VALUE; the names are%s", names);
}

void config_limits_help(FILE *to)
{
	struct config c;

	config_default(&c);
	fputs("\nLimits:\n", to);
	for (int i = 0; i < SETTINGS_COUNT; i++) {
		const struct setting *s = &SETTINGS[i];
		const char *at = (const char *)&c + s->at;
		char text[160];
		int64_t value = 0;
		int narrow = 0;

		if (s->narrow)
			memcpy(&narrow, at, sizeof(narrow));
		else
			memcpy(&value, at, sizeof(value));
		value += narrow;
		/* what depends on the machine says so itself */
		if (value > 0)
			snprintf(text, sizeof(text), "%s (default %lld)", s->meaning, (long long)value);
		else
			snprintf(text, sizeof(text), "%s", s->meaning);
		command_entry(to, s->name, text);
	}
}
