#include "server/client.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { ANSWER_MAX = 64 << 20, CONNECT_SECONDS = 10, QUIET_SECONDS = 60 };

static bool is_loopback_url(const char *server)
{
	const char *host = strstr(server, "://");

	host = host ? host + 3 : server;
	return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 ||
	       strncasecmp(host, "localhost", 9) == 0;
}

int client_open(const char *server, struct client *out, struct sb_error *err)
{
	struct client c = {0};
	size_t len = strlen(server);

	while (len > 0 && server[len - 1] == '/')
		len--;
	if ((strncasecmp(server, "http://", 7) != 0 && strncasecmp(server, "https://", 8) != 0) ||
	    len >= sizeof(c.server) || server[strcspn(server, " ?#")] != '\0')
		return sb_fail(err, SB_EINVAL, "usage",
		               "the server must be a URL such as http://127.0.0.1:8080");
	memcpy(c.server, server, len);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0)
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "libcurl cannot be started");
	c.curl = curl_easy_init();
	if (!c.curl) {
		curl_global_cleanup();
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "libcurl cannot be started");
	}
	*out = c;
	return SB_OK;
}

void client_close(struct client *c)
{
	if (!c->curl)
		return;
	curl_easy_cleanup(c->curl);
	curl_global_cleanup();
	c->curl = NULL;
}

void client_answer_clear(struct client_answer *a)
{
	sb_buf_free(&a->text);
}

static size_t take(char *data, size_t size, size_t count, void *text)
{
	return sb_buf_add(text, data, size * count) == SB_OK ? size * count : 0;
}

int client_run(struct client *c, const char *path, long seconds, struct client_answer *out,
               struct sb_error *err)
{
	char url[2048], why[CURL_ERROR_SIZE] = "";
	struct client_answer a = {0};
	CURLcode rc;

	if (snprintf(url, sizeof(url), "%s%s", c->server, path) >= (int)sizeof(url))
		return sb_fail(err, SB_EINVAL, "usage", "the URL is too long");
	sb_buf_init(&a.text, ANSWER_MAX);
	curl_easy_setopt(c->curl, CURLOPT_URL, url);
	curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c->curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
	curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, seconds);
	curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, (long)QUIET_SECONDS);
	curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &a.text);
	/* a proxy for the outside world does not see our loopback */
	if (is_loopback_url(c->server))
		curl_easy_setopt(c->curl, CURLOPT_NOPROXY, "*");
	rc = curl_easy_perform(c->curl);
	curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, NULL);
	if (rc != CURLE_OK) {
		sb_buf_free(&a.text);
		return sb_fail(err, SB_EIO, "no_answer", "%s: %s", c->server,
		               why[0] ? why : curl_easy_strerror(rc));
	}
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &a.status);
	*out = a;
	return SB_OK;
}

int client_get(struct client *c, const char *path, long seconds, struct client_answer *out,
               struct sb_error *err)
{
	curl_easy_reset(c->curl);
	return client_run(c, path, seconds, out, err);
}
