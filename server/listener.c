#include "server/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/num.h"

enum { BACKLOG = 512 };

static bool is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
	return a->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static int bind_to(const struct addrinfo *a, const char *host, const char *port, int *out_fd,
                   struct sb_error *err)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, off = 0, why;

	if (fd >= 0) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (a->ai_family == AF_INET6) /* "[::]" serves IPv4 too */
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0) {
			*out_fd = fd;
			return SB_OK;
		}
	}
	why = errno;
	if (fd >= 0)
		close(fd);
	return sb_fail(err, SB_EIO, "listen_failed", "cannot listen on %s port %s: %s", host, port,
	               strerrordesc_np(why));
}

static int url_of(int fd, char out_url[320], int *out_port, struct sb_error *err)
{
	struct sockaddr_storage at = {0};
	socklen_t len = sizeof(at);
	char host[256], port[8];
	int64_t number;

	if (getsockname(fd, (struct sockaddr *)&at, &len) != 0 ||
	    getnameinfo((struct sockaddr *)&at, len, host, sizeof(host), port, sizeof(port),
	                NI_NUMERICHOST | NI_NUMERICSERV) != 0 ||
	    sb_parse_int(port, strlen(port), &number) != SB_OK)
		return sb_fail(err, SB_EIO, "listen_failed", "cannot tell the address that was bound");
	snprintf(out_url, 320, at.ss_family == AF_INET6 ? "http://[%s]:%s" : "http://%s:%s", host, port);
	*out_port = (int)number;
	return SB_OK;
}

int listener_open(const char *host, const char *port, bool allow_remote, int *out_fd, char out_url[320],
                  int *out_port, struct sb_error *err)
{
	const struct addrinfo hints = {
	    .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	int fd = -1, rc = getaddrinfo(host[0] ? host : NULL, port, &hints, &found);

	if (rc != 0)
		return sb_fail(err, SB_ENOENT, "unknown_host", "cannot listen on \"%s\": %s", host,
		               gai_strerror(rc));
	if (!allow_remote && !is_loopback(found->ai_addr))
		rc = sb_fail(err, SB_EINVAL, "remote_refused",
		             "\"%s\" is reached from other machines, and the service asks for no password: "
		             "add --allow-remote if that is meant",
		             host);
	else
		rc = bind_to(found, host, port, &fd, err);
	freeaddrinfo(found);
	if (rc != SB_OK)
		return rc;
	rc = url_of(fd, out_url, out_port, err);
	if (rc != SB_OK)
		close(fd);
	else
		*out_fd = fd;
	return rc;
}
