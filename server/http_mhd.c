#include "server/http_mhd.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "server/clock.h"
#include "server/http_private.h"

enum { CONNECTION_MEMORY = 128 * 1024, LAST_WAIT_SECONDS = 10 };

const struct http_limits HTTP_LIMITS_DEFAULT = {.connections = 1000,
                                                .header_seconds = 15,
                                                .idle_seconds = 30,
                                                .stall_seconds = 30,
                                                .stall_rate = 65536,
                                                .drain_bytes = INT64_C(64) << 20,
                                                .stop_seconds = 30};

static void library_log(void *log, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
static void library_log(void *log, const char *fmt, va_list ap)
{
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	LOG(log, LOG_DEBUG, "libmicrohttpd", LOG_TEXT("detail", text));
}

static void library_panic(void *log, const char *file, unsigned line, const char *reason)
{
	LOG(log, LOG_ERROR, "libmicrohttpd gave up", LOG_TEXT("file", file), LOG_NUM("line", line),
	    LOG_TEXT("detail", reason));
	abort();
}

static struct MHD_Daemon *start_daemon(struct http_server *s)
{
	const struct http_limits *l = &s->config.http;
	const struct log *log = s->config.log;
	/* the logger first: it reports what is wrong with the options after it */
	struct MHD_OptionItem options[] = {
	    {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)library_log, without_const(log)},
	    {MHD_OPTION_LISTEN_SOCKET, s->config.listen_fd, NULL},
	    {MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
	    {MHD_OPTION_CONNECTION_LIMIT, l->connections, NULL},
	    {MHD_OPTION_CONNECTION_TIMEOUT, l->idle_seconds, NULL},
	    {MHD_OPTION_THREAD_POOL_SIZE, pool_threads(l->threads), NULL},
	    {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)call_new, s},
	    {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)call_completed, s},
	    {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)peer_event, s},
	    {MHD_OPTION_END, 0, NULL}};

	MHD_set_panic_func(library_panic, without_const(log));
	return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
	                        0, NULL, NULL, call_handle, s, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static void server_free(struct http_server *s)
{
	pthread_mutex_destroy(&s->peers_lock);
	pthread_mutex_destroy(&s->stop_lock);
	pthread_mutex_destroy(&s->dispatch_lock);
	free(s);
}

int http_start(const struct http_config *config, struct http_server **out, struct sb_error *err)
{
	struct http_server *s = calloc(1, sizeof(*s));

	if (!s) {
		close(config->listen_fd);
		return sb_fail(err, SB_ENOMEM, "out_of_memory", "out of memory");
	}
	s->config = *config;
	/* should this fail, ids only repeat from run to run */
	(void)!getrandom(&s->run, sizeof(s->run), 0);
	pthread_mutex_init(&s->peers_lock, NULL);
	pthread_mutex_init(&s->stop_lock, NULL);
	pthread_mutex_init(&s->dispatch_lock, NULL);
	if (pool_new(pool_threads(config->http.request_threads), &s->pool) == SB_OK &&
	    watchdog_start(s) == SB_OK)
		s->daemon = start_daemon(s);
	if (!s->daemon) {
		watchdog_stop(s);
		pool_free(&s->pool);
		close(config->listen_fd);
		server_free(s);
		return sb_fail(err, SB_EIO, "listen_failed", "the HTTP listener cannot be started");
	}
	*out = s;
	return SB_OK;
}

static bool becomes_zero(atomic_int *counter, int seconds)
{
	int64_t end = clock_now_ns() + seconds * CLOCK_SECOND_NS;

	while (atomic_load(counter) > 0 && clock_now_ns() < end)
		usleep(10000);
	return atomic_load(counter) == 0;
}

void http_stop(struct http_server **ss)
{
	struct http_server *s = *ss;
	MHD_socket listener;

	*ss = NULL;
	if (!s)
		return;
	listener = MHD_quiesce_daemon(s->daemon);
	jobs_wake_all(s->config.jobs);
	if (!becomes_zero(&s->under_way, s->config.http.stop_seconds))
		LOG(s->config.log, LOG_WARN, "requests cut by the stop",
		    LOG_NUM("count", atomic_load(&s->under_way)));
	pthread_mutex_lock(&s->dispatch_lock);
	s->closing = true;
	pthread_mutex_unlock(&s->dispatch_lock);
	jobs_wake_all(s->config.jobs);
	/* the library aborts when it is stopped with a connection still suspended */
	if (!becomes_zero(&s->suspended, LAST_WAIT_SECONDS)) {
		LOG(s->config.log, LOG_ERROR, "a request does not come back",
		    LOG_NUM("count", atomic_load(&s->suspended)));
		_exit(1);
	}
	watchdog_stop(s);
	pool_free(&s->pool);
	MHD_stop_daemon(s->daemon);
	if (listener != MHD_INVALID_SOCKET)
		close(listener);
	server_free(s);
}
