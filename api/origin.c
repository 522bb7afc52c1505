#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/internal.h"
#include "base/num.h"

/* A page from elsewhere can make a browser send requests to a local service, by its address or, after DNS
 * rebinding, under a name of its own. Host and Origin give it away. */

struct authority {
	char host[256]; /* without brackets, as sent */
	int port;       /* default_port when none is given */
};

/* host[:port] or [v6][:port], nothing else. */
static bool parse_authority(const char *text, int default_port, struct authority *out)
{
	struct authority a = {.port = default_port};
	bool bracket = *text == '[';
	size_t n = bracket ? strcspn(text + 1, "]") : strcspn(text, ":");
	const char *rest = text + n + (bracket ? 2 : 0);
	int64_t port;

	if (n == 0 || n >= sizeof(a.host) || (bracket && text[n + 1] != ']'))
		return false;
	snprintf(a.host, sizeof(a.host), "%.*s", (int)n, text + (bracket ? 1 : 0));
	if (a.host[strcspn(a.host, "@/\\?# \t%,")] != '\0')
		return false;
	if (*rest == ':') {
		if (sb_parse_int(rest + 1, strlen(rest + 1), &port) != SB_OK || port < 1 || port > 65535)
			return false;
		a.port = (int)port;
	} else if (*rest != '\0') {
		return false;
	}
	*out = a;
	return true;
}

static bool is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (strcasecmp(host, "localhost") == 0 || strcasecmp(host, "localhost.") == 0)
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static bool is_ours(const struct api_config *config, const struct authority *a)
{
	if (config->allow_remote)
		return true;
	if (config->listen_port != 0 && a->port != config->listen_port)
		return false;
	return is_loopback(a->host) || (config->listen_host && strcasecmp(a->host, config->listen_host) == 0);
}

bool host_is_ours(const struct api_config *config, const char *host)
{
	struct authority a;

	return parse_authority(host, 80, &a) && is_ours(config, &a);
}

bool origin_is_ours(const struct api_config *config, const char *origin, const char *host)
{
	struct authority a, h;
	bool tls = strncasecmp(origin, "https://", 8) == 0;

	/* "null" is a page from nowhere: a file, or a sandbox */
	if (!tls && strncasecmp(origin, "http://", 7) != 0)
		return false;
	if (!parse_authority(origin + (tls ? 8 : 7), tls ? 443 : 80, &a) || !is_ours(config, &a))
		return false;
	if (!config->allow_remote)
		return true;
	return parse_authority(host, tls ? 443 : 80, &h) && h.port == a.port &&
	       strcasecmp(h.host, a.host) == 0;
}
