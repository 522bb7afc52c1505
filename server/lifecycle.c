#include "server/lifecycle.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static sigset_t stop_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	return set;
}

void lifecycle_block_signals(void)
{
	sigset_t set = stop_signals();
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

static void exit_now(int signal)
{
	_exit(128 + signal);
}

int lifecycle_wait(struct lifecycle *l)
{
	sigset_t set = stop_signals();
	/* a handler, not the default action: that one does not apply to process 1 of a container */
	struct sigaction now = {.sa_handler = exit_now};
	int signal = 0;

	sigwait(&set, &signal);
	atomic_store(&l->draining, true);
	sigaction(SIGTERM, &now, NULL);
	sigaction(SIGINT, &now, NULL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return signal;
}

bool lifecycle_draining(void *l)
{
	return atomic_load(&((struct lifecycle *)l)->draining);
}

void lifecycle_notify(const char *state)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len < 2 || len >= sizeof(to.sun_path) || !strchr("/@", path[0]))
		return;
	memcpy(to.sun_path, path, len);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* a supervisor that does not listen is none */
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
	             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}
