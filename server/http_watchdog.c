#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "server/clock.h"
#include "server/http_private.h"

enum { TICK_MS = 200 };

/* libmicrohttpd's own timeout is for silence only: a client that sends a byte a second is never late for it.
 */
static bool too_slow(const struct http_limits *limits, struct peer *p, int64_t now)
{
	int64_t deadline = atomic_load(&p->deadline_ns), bytes = atomic_load(&p->body_bytes);
	int64_t blocked = atomic_load(&p->blocked_ns), spent;

	if (deadline && now > deadline)
		return true;
	if (!atomic_load(&p->in_body)) {
		p->window_ns = 0;
		return false;
	}
	if (p->window_ns) {
		spent = now - p->window_ns - (blocked - p->window_blocked);
		if (spent < limits->stall_seconds * CLOCK_SECOND_NS)
			return false;
		if ((bytes - p->window_bytes) / (spent / CLOCK_SECOND_NS) < limits->stall_rate)
			return true;
	}
	p->window_ns = now;
	p->window_bytes = bytes;
	p->window_blocked = blocked;
	return false;
}

static void reap(struct http_server *s, int64_t now)
{
	int cut = 0;

	pthread_mutex_lock(&s->peers_lock);
	for (struct peer *p = s->peers; p; p = p->next) {
		if (!too_slow(&s->config.http, p, now))
			continue;
		shutdown(p->fd, SHUT_RDWR);
		atomic_store(&p->deadline_ns, 0);
		atomic_store(&p->in_body, false);
		cut++;
	}
	pthread_mutex_unlock(&s->peers_lock);
	if (cut)
		LOG(s->config.log, LOG_WARN, "slow connections cut", LOG_NUM("count", cut));
}

static void *watchdog_thread(void *arg)
{
	struct http_server *s = arg;
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	pthread_mutex_lock(&s->stop_lock);
	while (!s->stop_watchdog) {
		at.tv_nsec += TICK_MS * INT64_C(1000000);
		if (at.tv_nsec >= CLOCK_SECOND_NS) {
			at.tv_nsec -= CLOCK_SECOND_NS;
			at.tv_sec++;
		}
		if (pthread_cond_timedwait(&s->stop_cond, &s->stop_lock, &at) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&s->stop_lock);
		reap(s, clock_now_ns());
		jobs_expire(s->config.jobs, clock_now_ns());
		pthread_mutex_lock(&s->stop_lock);
	}
	pthread_mutex_unlock(&s->stop_lock);
	return NULL;
}

int watchdog_start(struct http_server *s)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->stop_cond, &attr);
	pthread_condattr_destroy(&attr);
	s->watching = pthread_create(&s->watchdog, NULL, watchdog_thread, s) == 0;
	return s->watching ? SB_OK : SB_EIO;
}

void watchdog_stop(struct http_server *s)
{
	if (!s->watching)
		return;
	pthread_mutex_lock(&s->stop_lock);
	s->stop_watchdog = true;
	pthread_cond_signal(&s->stop_cond);
	pthread_mutex_unlock(&s->stop_lock);
	pthread_join(s->watchdog, NULL);
	s->watching = false;
}

void peer_expect(struct peer *p, int seconds)
{
	if (p)
		atomic_store(&p->deadline_ns, seconds ? clock_now_ns() + seconds * CLOCK_SECOND_NS : 0);
}

void peer_body(struct peer *p, bool in_body)
{
	if (p)
		atomic_store(&p->in_body, in_body);
}

static struct peer *peer_open(struct http_server *s, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct peer *p = info ? calloc(1, sizeof(*p)) : NULL;

	if (!p)
		return NULL;
	p->fd = info->connect_fd;
	peer_expect(p, s->config.http.header_seconds);
	pthread_mutex_lock(&s->peers_lock);
	p->next = s->peers;
	if (p->next)
		p->next->prev = p;
	s->peers = p;
	pthread_mutex_unlock(&s->peers_lock);
	return p;
}

static void peer_close(struct http_server *s, struct peer *p)
{
	if (!p)
		return;
	/* Under the lock the descriptor is still this connection's: the library closes it after this call. */
	pthread_mutex_lock(&s->peers_lock);
	if (p->prev)
		p->prev->next = p->next;
	else
		s->peers = p->next;
	if (p->next)
		p->next->prev = p->prev;
	pthread_mutex_unlock(&s->peers_lock);
	free(p);
}

void peer_event(void *server, struct MHD_Connection *connection, void **peer,
                enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*peer = peer_open(server, connection);
	} else {
		peer_close(server, *peer);
		*peer = NULL;
	}
}
