// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "symbolize/util/bounded_call.h"

#define LONG_MS 60000 /* timeout of calls that return at once */
#define SHORT_MS 20   /* timeout of calls that never return */

/* State that outlives the jobs. */
static sem_t may_return; /* posted once for each stuck job */
static sem_t discarded;

struct work {
	struct bounded_job job;
	bool is_stuck;
	uint64_t takes; /* bytes of the budget */
	int input, output;
	pid_t thread;
	bool blocks_signals;
};

static void do_work(struct bounded_job *job)
{
	struct work *work = (struct work *)job;
	sigset_t mask;

	work->thread = gettid();
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	work->blocks_signals = sigismember(&mask, SIGTERM) && sigismember(&mask, SIGRTMAX);
	quota_share_take(&work->job.share, work->takes);
	while (work->is_stuck && sem_wait(&may_return) != 0)
		;
	work->output = work->input + 1;
}

static void discard_work(struct bounded_job *job)
{
	assert_true(((struct work *)job)->is_stuck);
	sem_post(&discarded);
}

static struct work *make_work(int input, bool is_stuck)
{
	struct work *work = bounded_job_new(sizeof(*work), do_work, discard_work);

	assert_non_null(work);
	work->input = input;
	work->is_stuck = is_stuck;
	return work;
}

static void wait_for_discards(unsigned int count)
{
	while (count > 0)
		count -= sem_wait(&discarded) == 0;
}

static unsigned int count_discards(void)
{
	int value;

	sem_getvalue(&discarded, &value);
	return (unsigned int)value;
}

static pid_t call(struct bounded_caller *c, int input)
{
	struct work *work = make_work(input, false);
	pid_t thread;

	assert_int_equal(bounded_call(c, &work->job, LONG_MS), 0);
	assert_int_equal(work->output, input + 1);
	assert_true(work->blocks_signals);
	thread = work->thread;
	free(work);
	return thread;
}

static void one_worker_does_all(void **state)
{
	struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	pid_t thread = call(c, 0);

	(void)state;
	assert_int_not_equal(thread, gettid());
	for (int i = 1; i < 1000; i++)
		assert_int_equal(call(c, i), thread);
	assert_int_equal(count_discards(), 0);
	assert_int_equal(bounded_caller_count_stuck(c), 0);
	bounded_caller_free(c);
	bounded_caller_free(bounded_caller_new(0));
	bounded_caller_free(NULL);
}

static void a_stuck_call_is_abandoned(void **state)
{
	struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	pid_t first = call(c, 0);

	(void)state;
	assert_int_equal(bounded_call(c, &make_work(1, true)->job, SHORT_MS), -ETIMEDOUT);
	assert_int_equal(bounded_caller_count_stuck(c), 1);
	assert_int_equal(count_discards(), 0);
	/* The next one has a new worker, while the first still hangs. */
	assert_int_not_equal(call(c, 2), first);
	sem_post(&may_return);
	wait_for_discards(1);
	assert_int_equal(call(c, 3), call(c, 4));
	bounded_caller_free(c);
}

static void few_are_abandoned(void **state)
{
	struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);

	(void)state;
	for (int i = 0; i < BOUNDED_CALL_MAX_ABANDONED; i++)
		assert_int_equal(bounded_call(c, &make_work(i, true)->job, SHORT_MS), -ETIMEDOUT);
	/* After too many stuck calls, no call is made. */
	assert_int_equal(bounded_call(c, &make_work(0, false)->job, LONG_MS), -EBUSY);
	assert_int_equal(count_discards(), 0);
	assert_int_equal(bounded_caller_count_stuck(c), BOUNDED_CALL_MAX_ABANDONED + 1);
	for (int i = 0; i < BOUNDED_CALL_MAX_ABANDONED; i++)
		sem_post(&may_return);
	wait_for_discards(BOUNDED_CALL_MAX_ABANDONED);
	bounded_caller_free(c);
}

static void time_of_a_run_is_limited(void **state)
{
	struct bounded_caller *c = bounded_caller_new(SHORT_MS);

	(void)state;
	assert_int_equal(bounded_call(c, &make_work(0, true)->job, SHORT_MS), -ETIMEDOUT);
	assert_int_equal(bounded_call(c, &make_work(0, false)->job, LONG_MS), -EBUSY);
	sem_post(&may_return);
	wait_for_discards(1);
	bounded_caller_free(c);
}

/* After a call is abandoned at a place, no other call is made there. The place counts once. */
static void a_stuck_place_is_left_alone(void **state)
{
	struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct work *work = make_work(0, true);

	(void)state;
	work->job.place = 7;
	assert_int_equal(bounded_call(c, &work->job, SHORT_MS), -ETIMEDOUT);
	for (int i = 0; i < 3; i++) {
		work = make_work(0, false);
		work->job.place = 7;
		assert_int_equal(bounded_call(c, &work->job, LONG_MS), -EBUSY);
	}
	work = make_work(0, false);
	work->job.place = 8;
	assert_int_equal(bounded_call(c, &work->job, LONG_MS), 0);
	free(work);
	assert_int_equal(bounded_caller_count_stuck(c), 1);
	sem_post(&may_return);
	wait_for_discards(1);
	bounded_caller_free(c);
}

static void compute(struct bounded_job *job)
{
	struct work *work = (struct work *)job;

	while (sem_trywait(&may_return) != 0)
		work->output++;
}

/* One file that takes long does not take away those beside it. */
static void a_place_is_not_stuck_where_a_call_was_busy(void **state)
{
	int err = -EBUSY;

	(void)state;
	/* on a busy machine the first call may hardly run in its time */
	for (unsigned int ms = SHORT_MS; err && ms < LONG_MS; ms *= 4) {
		struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);
		struct work *work = make_work(0, true);

		work->job.run = compute;
		work->job.place = 7;
		assert_int_equal(bounded_call(c, &work->job, ms), -ETIMEDOUT);
		work = make_work(0, false);
		work->job.place = 7;
		err = bounded_call(c, &work->job, LONG_MS);
		if (!err)
			free(work);
		sem_post(&may_return);
		wait_for_discards(1);
		bounded_caller_free(c);
	}
	assert_int_equal(err, 0);
}

/* Checks that a late job keeps its descriptor and its part of the budget. */
static bool late_job_keeps_its_share(unsigned int deadline_ms)
{
	struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct table_quota *quota = bounded_caller_budget(c);
	struct work *work = make_work(0, true);
	bool has_begun;
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	work->takes = 1000;
	work->job.fd = ends[1];
	assert_int_equal(bounded_call(c, &work->job, deadline_ms), -ETIMEDOUT);
	has_begun = quota->resident_left != TABLE_QUOTA_RESIDENT_BYTES;
	if (has_begun) {
		assert_int_equal(quota->resident_left, TABLE_QUOTA_RESIDENT_BYTES - 1000);
		assert_int_equal(quota->run_left, TABLE_QUOTA_RUN_BYTES - 1000);
	}
	sem_post(&may_return);
	assert_int_equal(read(ends[0], &byte, 1), 0); /* the other end is closed */
	wait_for_discards(1);
	bounded_close(c, ends[0]);
	assert_int_equal(read(ends[0], &byte, 1), -1);
	bounded_caller_free(c);
	return has_begun;
}

/* On a busy machine the job may not have begun at its deadline. */
static void late_jobs_keep_their_share(void **state)
{
	unsigned int deadline_ms = SHORT_MS;

	(void)state;
	while (!late_job_keeps_its_share(deadline_ms) && deadline_ms < LONG_MS)
		deadline_ms *= 2;
	assert_true(deadline_ms < LONG_MS);
}

/* Jobs that end just when the caller gives up: they are handed back or discarded, never both. */
static void ends_race_with_deadlines(void **state)
{
	unsigned int back = 0, gone = 0;

	(void)state;
	for (int i = 0; i < 300 && gone < 100; i++) {
		struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);
		struct work *work = make_work(i, true);

		sem_post(&may_return);
		if (bounded_call(c, &work->job, 0) == 0) {
			assert_int_equal(work->output, i + 1);
			free(work);
			back++;
		} else {
			wait_for_discards(1);
			gone++;
		}
		bounded_caller_free(c);
	}
	assert_true(back + gone >= 100);
	assert_int_equal(count_discards(), 0);
}

static void let_it_return(void *context)
{
	if (++*(int *)context == 2)
		sem_post(&may_return);
}

/* A call that returns only because of what is done while it is waited for. */
static void something_else_is_done_meanwhile(void **state)
{
	struct bounded_caller *c = bounded_caller_new(LONG_MS);
	struct work *work = make_work(1, true);
	int times = 0;
	pid_t child;
	int status;

	(void)state;
	assert_non_null(c);
	bounded_caller_do_meanwhile(c, let_it_return, &times);
	assert_int_equal(bounded_call(c, &work->job, LONG_MS), 0);
	assert_true(times >= 2);
	assert_int_equal(work->output, 2);
	table_quota_settle(bounded_caller_budget(c), &work->job.share, false);
	free(work);
	/* nothing is called in a child, or after the caller is freed */
	times = 0;
	child = fork();
	if (child == 0) {
		work = make_work(1, true);
		/* ends by a signal: valgrind changes the exit status of children */
		if (bounded_call(c, &work->job, SHORT_MS) == -ETIMEDOUT && times == 0)
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	bounded_caller_do_meanwhile(c, NULL, NULL);
	work = make_work(1, true);
	assert_int_equal(bounded_call(c, &work->job, SHORT_MS), -ETIMEDOUT);
	assert_int_equal(times, 0);
	sem_post(&may_return);
	wait_for_discards(1);
	bounded_caller_free(c);
}

/* ---- calls that sleep ---- */

struct sleeper {
	struct bounded_job job;
	uint64_t compute_ns; /* CPU time */
	unsigned int naps;   /* naps after computing, or until nobody waits */
	unsigned int nap_ms;
	bool was_late;
};

static uint64_t own_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void run_sleeper(struct bounded_job *opaque)
{
	struct sleeper *s = (struct sleeper *)opaque;

	while (own_cpu_ns() < s->compute_ns)
		;
	for (unsigned int i = 0; i < s->naps && !s->job.is_late; i++)
		usleep(s->nap_ms * 1000);
	s->was_late = s->job.is_late;
}

static void discard_sleeper(struct bounded_job *opaque)
{
	assert_true(((struct sleeper *)opaque)->was_late);
	sem_post(&discarded);
}

static struct sleeper *make_sleeper(uint64_t compute_ns, unsigned int naps, unsigned int nap_ms)
{
	struct sleeper *s = bounded_job_new(sizeof(*s), run_sleeper, discard_sleeper);

	assert_non_null(s);
	s->compute_ns = compute_ns;
	s->naps = naps;
	s->nap_ms = nap_ms;
	return s;
}

/* Without the limit it would take the timeout, a minute. */
static void test_a_call_that_sleeps_is_abandoned(void **state)
{
	struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct work *work = make_work(1, true);

	(void)state;
	bounded_caller_limit_sleep(c, 200);
	work->job.place = 7;
	assert_int_equal(bounded_call(c, &work->job, LONG_MS), -ETIMEDOUT);
	assert_true(bounded_is_stuck(c, 7));
	sem_post(&may_return);
	wait_for_discards(1);
	bounded_caller_free(c);
}

static void test_a_call_that_computes_is_not(void **state)
{
	struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct sleeper *s = make_sleeper(500000000, 0, 0);

	(void)state;
	bounded_caller_limit_sleep(c, 200);
	assert_int_equal(bounded_call(c, &s->job, LONG_MS), 0);
	free(s);
	bounded_caller_free(c);
}

/* Each answer comes before the time of one is over; all together they take too long. */
static void test_naps_add_up(void **state)
{
	struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct sleeper *s = make_sleeper(0, UINT32_MAX, 150);

	(void)state;
	bounded_caller_limit_sleep(c, 400);
	assert_int_equal(bounded_call(c, &s->job, LONG_MS), -ETIMEDOUT);
	wait_for_discards(1);
	bounded_caller_free(c);
}

struct asker {
	struct bounded_job job;
	uint32_t effective;
};

static void run_asker(struct bounded_job *opaque)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) == 0)
		((struct asker *)opaque)->effective = data[0].effective;
}

static uint32_t ask(bool keeps)
{
	struct bounded_caller *c = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct asker *asker = bounded_job_new(sizeof(*asker), run_asker, NULL);
	uint32_t effective = UINT32_MAX;

	if (keeps)
		bounded_caller_keep_capabilities(c);
	if (bounded_call(c, &asker->job, LONG_MS) == 0)
		effective = asker->effective;
	free(asker);
	bounded_caller_free(c);
	return effective;
}

/* Runs as a user with one capability. Workers have the capability only if told to keep it. */
static int ask_as_user(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const uint32_t ptrace = 1u << CAP_SYS_PTRACE;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{.effective = ptrace, .permitted = ptrace}};

	if (prctl(PR_SET_KEEPCAPS, 1) != 0 || syscall(SYS_setresuid, 4242, 4242, 4242) != 0 ||
	    syscall(SYS_capset, &header, data) != 0)
		return 77;
	if (ask(false) != 0)
		return 1;
	return ask(true) == ptrace ? 0 : 2;
}

static void test_capabilities_are_kept_where_told(void **state)
{
	pid_t child;
	int status;

	(void)state;
	if (geteuid() != 0 || getenv("UNDER_VALGRIND")) {
		fprintf(stderr, "SKIP: needs root, and ends a process whose thread may still have "
				"memory, which valgrind counts as lost\n");
		skip();
	}
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(ask_as_user());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_worker_does_all),
		cmocka_unit_test(a_stuck_call_is_abandoned),
		cmocka_unit_test(few_are_abandoned),
		cmocka_unit_test(time_of_a_run_is_limited),
		cmocka_unit_test(a_stuck_place_is_left_alone),
		cmocka_unit_test(a_place_is_not_stuck_where_a_call_was_busy),
		cmocka_unit_test(late_jobs_keep_their_share),
		cmocka_unit_test(ends_race_with_deadlines),
		cmocka_unit_test(something_else_is_done_meanwhile),
		cmocka_unit_test(test_a_call_that_sleeps_is_abandoned),
		cmocka_unit_test(test_a_call_that_computes_is_not),
		cmocka_unit_test(test_naps_add_up),
		cmocka_unit_test(test_capabilities_are_kept_where_told),
	};

	sem_init(&may_return, 0, 0);
	sem_init(&discarded, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
