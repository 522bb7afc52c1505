#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/clock.h"
#include "server/jobs.h"
#include "server/pool.h"

/* A job whose object tells what it does: "ok", "fail", "canceled" (if it was), or "hold" until let go or
 * canceled. */
struct bench {
	struct job_queue *queue;
	sem_t begun, go_on;
	atomic_int runs;
};

static int work(void *self, const char *kind, const char *object, const struct job_control *control,
                struct sb_error *err)
{
	struct bench *b = self;

	atomic_fetch_add(&b->runs, 1);
	if (strcmp(kind, "profile") != 0 && strcmp(kind, "plan") != 0)
		return SB_EINVAL;
	if (strcmp(object, "canceled") == 0 && control->canceled(control->self))
		return SB_ECANCELED;
	if (strcmp(object, "fail") == 0)
		return sb_fail_at(err, SB_EFORMAT, "truncated", "a.json", 3, 9, "cut off");
	if (strcmp(object, "hold") == 0) {
		control->progress(control->self, 0.5);
		control->progress(control->self, 0.25); /* never goes back */
		sem_post(&b->begun);
		while (sem_trywait(&b->go_on) != 0) {
			if (control->canceled(control->self))
				return SB_ECANCELED;
			usleep(500);
		}
	}
	return SB_OK;
}

static struct bench *bench_new(struct bench *b, const struct job_queue_config *config)
{
	memset(b, 0, sizeof(*b));
	sem_init(&b->begun, 0, 0);
	sem_init(&b->go_on, 0, 0);
	assert_int_equal(jobs_new(config, &b->queue), SB_OK);
	return b;
}

static void bench_start(struct bench *b)
{
	assert_int_equal(jobs_start(b->queue, (struct job_work){b, work}), SB_OK);
}

static struct job_status status(struct bench *b, const char *id)
{
	struct job_status s = {0};

	assert_int_equal(JOB_OPS.status(b->queue, id, &s), SB_OK);
	return s;
}

static struct job_status ended(struct bench *b, const char *id)
{
	struct job_status s = status(b, id);

	for (int i = 0; i < 20000 && s.state <= JOB_RUNNING; i++) {
		usleep(500);
		s = status(b, id);
	}
	return s;
}

static int submit(struct bench *b, const char *id, const char *object)
{
	return JOB_OPS.submit(b->queue, id, "profile", object);
}

static void jobs_run_and_tell_how_it_went(void **state)
{
	struct bench b;
	struct job_status s;

	(void)state;
	bench_start(bench_new(&b, &JOB_QUEUE_DEFAULT));
	assert_int_equal(submit(&b, "1", "ok"), SB_OK);
	assert_int_equal(submit(&b, "2", "fail"), SB_OK);
	s = ended(&b, "1");
	assert_int_equal(s.state, JOB_DONE);
	assert_true(s.progress == 1 && s.created_us > 0 && s.created_us <= s.started_us &&
	            s.started_us <= s.ended_us);
	s = ended(&b, "2");
	assert_int_equal(s.state, JOB_FAILED);
	assert_int_equal(s.error.code, SB_EFORMAT);
	assert_string_equal(s.error.word, "truncated");
	assert_string_equal(s.error.file, "a.json");
	assert_int_equal(JOB_OPS.status(b.queue, "3", &s), SB_ENOENT);
	jobs_free(&b.queue);
	assert_null(b.queue);
}

static void a_running_job_can_be_canceled_and_its_id_used_again(void **state)
{
	struct bench b;
	int64_t counts[5];

	(void)state;
	bench_start(bench_new(&b, &JOB_QUEUE_DEFAULT));
	assert_int_equal(submit(&b, "1", "hold"), SB_OK);
	sem_wait(&b.begun);
	assert_true(status(&b, "1").progress == 0.5);
	assert_int_equal(submit(&b, "1", "ok"), SB_ECONFLICT);
	JOB_OPS.counts(b.queue, counts);
	assert_int_equal(counts[JOB_RUNNING], 1);
	assert_int_equal(JOB_OPS.cancel(b.queue, "1"), SB_OK);
	assert_int_equal(ended(&b, "1").state, JOB_CANCELED);
	assert_int_equal(JOB_OPS.cancel(b.queue, "1"), SB_ECONFLICT);
	assert_int_equal(JOB_OPS.cancel(b.queue, "2"), SB_ENOENT);
	assert_int_equal(submit(&b, "1", "ok"), SB_OK);
	assert_int_equal(ended(&b, "1").state, JOB_DONE);
	JOB_OPS.counts(b.queue, counts);
	assert_int_equal(counts[JOB_RUNNING], 0);
	assert_int_equal(counts[JOB_DONE], 1);
	assert_int_equal(counts[JOB_CANCELED], 1);
	jobs_free(&b.queue);
}

static void the_queue_is_bounded_and_forgets(void **state)
{
	const struct job_queue_config config = {
	    .lanes = {{1, 2}, {1, 2}}, .ended_max = 1, .keep_ns = 3600 * CLOCK_SECOND_NS};
	struct bench b;
	struct job_status s;

	(void)state;
	bench_new(&b, &config);
	assert_int_equal(submit(&b, "1", "ok"), SB_OK);
	assert_int_equal(submit(&b, "2", "ok"), SB_OK);
	assert_int_equal(submit(&b, "3", "ok"), SB_EBUSY);
	assert_int_equal(submit(&b, "0123456789012345678901234567890123456789", "ok"), SB_EINVAL);
	bench_start(&b);
	assert_int_equal(ended(&b, "2").state, JOB_DONE);
	assert_int_equal(JOB_OPS.status(b.queue, "1", &s), SB_ENOENT);
	jobs_free(&b.queue);
}

static void a_plan_waits_for_plans_alone(void **state)
{
	const struct job_queue_config config = {
	    .lanes = {[JOB_LANE_PROFILE] = {1, 10}, [JOB_LANE_PLAN] = {1, 1}},
	    .ended_max = 10,
	    .keep_ns = 3600 * CLOCK_SECOND_NS};
	int64_t counts[5];
	struct bench b;

	(void)state;
	bench_start(bench_new(&b, &config));
	submit(&b, "read", "hold");
	sem_wait(&b.begun);
	submit(&b, "read next", "ok");
	assert_int_equal(JOB_OPS.submit(b.queue, "plan", "plan", "ok"), SB_OK);
	assert_int_equal(ended(&b, "plan").state, JOB_DONE);
	assert_int_equal(JOB_OPS.submit(b.queue, "slow plan", "plan", "hold"), SB_OK);
	sem_wait(&b.begun);
	assert_int_equal(JOB_OPS.submit(b.queue, "second", "plan", "ok"), SB_OK);
	assert_int_equal(JOB_OPS.submit(b.queue, "third", "plan", "ok"), SB_EBUSY);
	assert_int_equal(submit(&b, "read last", "ok"), SB_OK);
	JOB_OPS.counts(b.queue, counts);
	assert_int_equal(counts[JOB_QUEUED], 3);
	assert_int_equal(counts[JOB_RUNNING], 2);
	assert_int_equal(JOB_OPS.cancel(b.queue, "slow plan"), SB_OK);
	assert_int_equal(ended(&b, "second").state, JOB_DONE);
	assert_int_equal(status(&b, "read").state, JOB_RUNNING);
	jobs_free(&b.queue);
}

struct alarm {
	struct job_waiter waiter; /* first */
	sem_t rung;
};

static void ring(struct job_waiter *w)
{
	sem_post(&((struct alarm *)(void *)w)->rung);
}

static struct alarm *alarm_set(struct alarm *a, const char *id, int64_t deadline)
{
	memset(a, 0, sizeof(*a));
	sem_init(&a->rung, 0, 0);
	a->waiter.wake = ring;
	a->waiter.deadline_ns = deadline;
	snprintf(a->waiter.id, sizeof(a->waiter.id), "%s", id);
	return a;
}

static void a_queued_job_that_is_canceled_gives_its_place_up(void **state)
{
	const struct job_queue_config config = {
	    .lanes = {{1, 1}, {1, 1}}, .ended_max = 10, .keep_ns = 3600 * CLOCK_SECOND_NS};
	int64_t counts[5];
	struct alarm waiting;
	struct bench b;

	(void)state;
	bench_start(bench_new(&b, &config));
	submit(&b, "1", "hold");
	sem_wait(&b.begun);
	assert_int_equal(submit(&b, "2", "canceled"), SB_OK);
	assert_int_equal(submit(&b, "3", "ok"), SB_EBUSY);
	jobs_wait(b.queue, &alarm_set(&waiting, "2", clock_now_ns() + 3600 * CLOCK_SECOND_NS)->waiter);
	assert_int_equal(JOB_OPS.cancel(b.queue, "2"), SB_OK);
	/* the only thread is still busy: the job's own work has seen the cancel all the same */
	assert_int_equal(status(&b, "2").state, JOB_CANCELED);
	assert_int_equal(sem_trywait(&waiting.rung), 0);
	assert_int_equal(JOB_OPS.cancel(b.queue, "2"), SB_ECONFLICT);
	assert_int_equal(status(&b, "1").state, JOB_RUNNING);
	JOB_OPS.counts(b.queue, counts);
	assert_int_equal(counts[JOB_QUEUED], 0);
	assert_int_equal(counts[JOB_RUNNING], 1);
	assert_int_equal(submit(&b, "3", "ok"), SB_OK);
	sem_post(&b.go_on);
	assert_int_equal(ended(&b, "3").state, JOB_DONE);
	assert_int_equal(atomic_load(&b.runs), 3);
	jobs_free(&b.queue);
}

static void waiters_wake_once(void **state)
{
	const int64_t far = clock_now_ns() + 3600 * CLOCK_SECOND_NS;
	struct bench b;
	struct alarm at_end, at_deadline, at_once, at_stop;

	(void)state;
	bench_start(bench_new(&b, &JOB_QUEUE_DEFAULT));
	submit(&b, "1", "hold");
	submit(&b, "2", "hold");
	sem_wait(&b.begun);
	sem_wait(&b.begun);
	jobs_wait(b.queue, &alarm_set(&at_end, "1", far)->waiter);
	jobs_wait(b.queue, &alarm_set(&at_deadline, "1", 1000)->waiter);
	jobs_wait(b.queue, &alarm_set(&at_stop, "2", far)->waiter);
	jobs_wait(b.queue, &alarm_set(&at_once, "none", far)->waiter);
	assert_int_equal(sem_trywait(&at_once.rung), 0);
	assert_int_equal(sem_trywait(&at_deadline.rung), -1);
	jobs_expire(b.queue, 1000);
	assert_int_equal(sem_trywait(&at_deadline.rung), 0);
	assert_int_equal(sem_trywait(&at_end.rung), -1);
	JOB_OPS.cancel(b.queue, "1");
	assert_int_equal(sem_wait(&at_end.rung), 0);
	assert_int_equal(sem_trywait(&at_stop.rung), -1);
	jobs_stop(b.queue);
	assert_int_equal(sem_trywait(&at_stop.rung), 0);
	assert_int_equal(sem_trywait(&at_end.rung), -1);
	assert_int_equal(submit(&b, "3", "ok"), SB_EBUSY);
	jobs_free(&b.queue);
}

static void a_stop_leaves_queued_jobs_alone(void **state)
{
	const struct job_queue_config config = {
	    .lanes = {{1, 10}, {1, 10}}, .ended_max = 10, .keep_ns = 3600 * CLOCK_SECOND_NS};
	struct bench b;

	(void)state;
	bench_start(bench_new(&b, &config));
	submit(&b, "1", "hold");
	submit(&b, "2", "ok");
	sem_wait(&b.begun);
	jobs_stop(b.queue);
	assert_int_equal(status(&b, "1").state, JOB_CANCELED);
	assert_int_equal(status(&b, "2").state, JOB_QUEUED);
	assert_int_equal(atomic_load(&b.runs), 1);
	jobs_free(&b.queue);
}

struct task {
	struct pool_item item; /* first */
	atomic_int *sum;
};

static void add_one(struct pool_item *item)
{
	atomic_fetch_add(((struct task *)(void *)item)->sum, 1);
}

static void the_pool_runs_all_before_it_ends(void **state)
{
	static struct task tasks[1000];
	atomic_int sum = 0;
	struct pool *pool;

	(void)state;
	assert_int_equal(pool_new(3, &pool), SB_OK);
	for (size_t i = 0; i < 1000; i++) {
		tasks[i] = (struct task){.item.run = add_one, .sum = &sum};
		pool_push(pool, &tasks[i].item);
	}
	pool_free(&pool);
	assert_int_equal(atomic_load(&sum), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(jobs_run_and_tell_how_it_went),
	    cmocka_unit_test(a_running_job_can_be_canceled_and_its_id_used_again),
	    cmocka_unit_test(the_queue_is_bounded_and_forgets),
	    cmocka_unit_test(a_plan_waits_for_plans_alone),
	    cmocka_unit_test(a_queued_job_that_is_canceled_gives_its_place_up),
	    cmocka_unit_test(waiters_wake_once),
	    cmocka_unit_test(a_stop_leaves_queued_jobs_alone),
	    cmocka_unit_test(the_pool_runs_all_before_it_ends),
	};

	return cmocka_run_group_tests_name("server/jobs", tests, NULL, NULL);
}
