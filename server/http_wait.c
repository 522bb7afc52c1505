#include <string.h>

#include "server/clock.h"
#include "server/http_private.h"

enum { WAIT_SECONDS_MAX = 25 };

/* Gives the connection back to its thread, which calls the handler again. Setting the
 * phase is the last touch of the call. */
static void give_back(struct call *c)
{
	struct http_server *s = c->server;
	struct MHD_Connection *connection = c->connection;

	c->phase = CALL_ANSWERED;
	MHD_resume_connection(connection);
	atomic_fetch_sub(&s->suspended, 1);
}

static void pool_run(struct pool_item *item);

static void woken(struct job_waiter *w)
{
	struct call *c = (struct call *)((char *)w - offsetof(struct call, waiter));

	pool_push(c->server->pool, &c->item);
}

static bool wants_wait(struct call *c)
{
	return c->res.wait_job[0] && !c->req.waited;
}

/* The first answer stays in c->res until the job ends: the second call replaces it. */
static void start_wait(struct call *c)
{
	int seconds = c->res.wait_seconds < WAIT_SECONDS_MAX ? c->res.wait_seconds : WAIT_SECONDS_MAX;

	c->item.run = pool_run;
	c->waiter = (struct job_waiter){.wake = woken};
	memcpy(c->waiter.id, c->res.wait_job, sizeof(c->waiter.id));
	/* while the service stops, the watchdog's next round ends the wait */
	if (!atomic_load(c->server->config.draining))
		c->waiter.deadline_ns = clock_now_ns() + (seconds > 0 ? seconds : 0) * CLOCK_SECOND_NS;
	c->req.waited = true;
	memcpy(c->req.waited_job, c->res.wait_job, sizeof(c->req.waited_job));
	jobs_wait(c->server->config.jobs, &c->waiter);
}

static void handle(struct call *c)
{
	api_res_clear(&c->res);
	api_handle(c->server->config.api, &c->req, &c->res);
}

static void pool_run(struct pool_item *item)
{
	struct call *c = (struct call *)((char *)item - offsetof(struct call, item));

	handle(c);
	if (wants_wait(c))
		start_wait(c);
	else
		give_back(c);
}

/* Suspends the connection, unless the service is closing or too many are suspended already. */
static bool suspend(struct call *c, void (*then)(struct call *))
{
	struct http_server *s = c->server;
	bool room;

	pthread_mutex_lock(&s->dispatch_lock);
	room = !s->closing && atomic_load(&s->suspended) < s->config.http.connections / 4;
	if (room) {
		atomic_fetch_add(&s->suspended, 1);
		c->phase = CALL_AWAY;
		/* before anybody can resume it */
		MHD_suspend_connection(c->connection);
		then(c);
	}
	pthread_mutex_unlock(&s->dispatch_lock);
	return room;
}

static void to_pool(struct call *c)
{
	c->item.run = pool_run;
	pool_push(c->server->pool, &c->item);
}

enum MHD_Result wait_run(struct call *c)
{
	if (c->mode != API_INLINE) {
		if (suspend(c, to_pool))
			return MHD_YES;
		decide(c, 503, "busy", "Too many requests are being worked on. Try again shortly.");
		return respond_send(c);
	}
	handle(c);
	/* without room to wait, the first answer is a good one too */
	if (wants_wait(c) && suspend(c, start_wait))
		return MHD_YES;
	return respond_send(c);
}
