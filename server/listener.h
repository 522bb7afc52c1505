#ifndef SB_SERVER_LISTENER_H
#define SB_SERVER_LISTENER_H
#include <stdbool.h>

#include "base/err.h"

/* A bound, listening, non-blocking socket; *out_url is where it is reached ("http://127.0.0.1:8080"), with
 * the port that the kernel chose for port 0. SB_EINVAL for an address that is not loopback without
 * allow_remote, SB_ENOENT for a host that is not known, SB_EIO when it cannot be bound. The caller closes
 * *out_fd. */
int listener_open(const char *host, const char *port, bool allow_remote, int *out_fd, char out_url[320],
                  int *out_port, struct sb_error *err);
#endif
