/* SPDX-License-Identifier: MIT */
/*
 * The two processes: each test runs the whole command, with its own work in the worker. Nothing
 * waits for a fixed time: things that must not come late are checked by what comes before them.
 */
#include <poll.h>
#include <sys/prctl.h>
#include "unit.h"
#include "profiler/run/supervisor.h"

/* Memory that supervisor, worker and test share. */
struct shared {
	volatile pid_t worker, target;
	volatile int step; /* the worker has come this far */
	volatile int next; /* the test lets it continue */
	volatile int signals[64], count;
	volatile bool is_alone;
	char folder[64];
};

struct run {
	pid_t pid; /* the supervisor */
	int status;
	struct shared *shared;
	struct capture captured;
};

static const struct identity ourselves;

static void take_a_moment(void)
{
	usleep(1000);
}

/* Runs in the worker until the test releases it. Records signals in the meantime. */
static void note_signals(const struct supervisor_link *link, struct shared *shared)
{
	struct supervisor_signal signal;
	int got;

	while ((got = supervisor_next_signal(link, &signal)) > 0) {
		shared->signals[shared->count] =
			signal.from_terminal ? -signal.number : signal.number;
		shared->count++;
	}
	shared->is_alone |= got == -EPIPE;
}

static void come_to(const struct supervisor_link *link, struct shared *shared, int step)
{
	shared->step = step;
	while (shared->next < step) {
		note_signals(link, shared);
		take_a_moment();
	}
}

/* Waits, in the test, for a step of the worker. */
static void wait_for_step(const struct run *r, int step)
{
	while (r->shared->step < step)
		take_a_moment();
}

static void let_go(const struct run *r, int step)
{
	r->shared->next = step;
}

static void wait_for_signals(const struct run *r, int count)
{
	while (r->shared->count < count)
		take_a_moment();
}

/* Waits until the signals are taken: two pending signals of one kind are one. */
static void wait_until_taken(const struct run *r)
{
	char path[64], text[4096];
	bool is_taken = false;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)r->pid);
	while (!is_taken) {
		int fd = open(path, O_RDONLY);
		ssize_t n = read(fd, text, sizeof(text) - 1);

		close(fd);
		assert_true(n > 0);
		text[n] = '\0';
		is_taken = strstr(text, "\nShdPnd:\t0000000000000000\n");
		take_a_moment();
	}
}

static void start_as(struct run *r, const struct identity *identity, supervisor_work work)
{
	struct log log = {.level = LOG_NORMAL};

	memset(r, 0, sizeof(*r));
	r->shared = mmap(NULL, sizeof(*r->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(r->shared != MAP_FAILED);
	capture_begin(&r->captured);
	r->pid = fork();
	if (r->pid == 0) {
		setpgid(0, 0);
		_exit(supervisor_run(&log, identity, NULL, work, r->shared));
	}
	wait_for_step(r, 1); /* the worker is in its process group, and signals are recorded */
}

static void start(struct run *r, supervisor_work work)
{
	start_as(r, &ourselves, work);
}

/* Waits for the supervisor; returns its output. The worker has ended. */
static const char *finish(struct run *r)
{
	const char *text;

	assert_int_equal(waitpid(r->pid, &r->status, 0), r->pid);
	text = capture_end(&r->captured);
	if (r->shared->worker)
		kill(r->shared->worker, SIGKILL);
	munmap(r->shared, sizeof(*r->shared));
	return text;
}

#define assert_exit(r, expected)                                      \
	do {                                                          \
		assert_true(WIFEXITED((r)->status));                  \
		assert_int_equal(WEXITSTATUS((r)->status), expected); \
	} while (0)

/* ---- */

static int return_37(const struct supervisor_link *link, void *context)
{
	struct shared *shared = context;

	(void)link;
	shared->step = 1;
	return 37;
}

static void the_status_is_passed_on(void **state)
{
	struct run r;

	(void)state;
	start(&r, return_37);
	assert_string_equal(finish(&r), "");
	assert_exit(&r, 37);
}

static int take_signals(const struct supervisor_link *link, void *context)
{
	struct shared *shared = context;

	shared->worker = getpid();
	come_to(link, shared, 1);
	return 3;
}

static void signals_reach_the_worker_once(void **state)
{
	const int sent[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM,      SIGQUIT,
			    SIGPROF, SIGIO,  SIGPWR,  SIGXCPU, SIGRTMIN + 3, SIGVTALRM};
	const int count = sizeof(sent) / sizeof(sent[0]);
	struct run r;

	(void)state;
	start(&r, take_signals);
	for (int i = 0; i < count; i++) {
		/* sent to one process, or to the group: the worker's own signal does not count */
		assert_int_equal(i % 2 ? kill(r.pid, sent[i]) : kill(-r.pid, sent[i]), 0);
		wait_for_signals(&r, i + 1);
		assert_int_equal(r.shared->signals[i], sent[i]); /* and no SIGINT of the terminal */
	}
	assert_int_equal(r.shared->count, count);
	let_go(&r, 1);
	assert_string_equal(finish(&r), "");
	assert_exit(&r, 3);
}

/* Signals ignored by nohup, and by shells without job control, stay ignored. */
static void ignored_signals_stay_ignored(void **state)
{
	struct run r;

	(void)state;
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	start(&r, take_signals);
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(kill(-r.pid, SIGHUP), 0);
		assert_int_equal(kill(-r.pid, SIGINT), 0);
	}
	assert_int_equal(kill(r.pid, SIGUSR1), 0);
	wait_for_signals(&r, 1);
	assert_int_equal(r.shared->signals[0], SIGUSR1);
	let_go(&r, 1);
	assert_string_equal(finish(&r), "");
	assert_exit(&r, 3);
}

static int be_stuck(const struct supervisor_link *link, void *context)
{
	struct shared *shared = context;
	pid_t target;

	supervisor_report_folder(link, shared->folder);
	shared->worker = getpid();
	target = fork();
	if (target == 0) {
		close(link->reports); /* closed, as by exec */
		while (true)
			pause();
	}
	shared->target = target;
	supervisor_report_target(link, target);
	shared->step = 1;
	while (true)
		pause();
	return 0;
}

/* Waits until the process has ended, perhaps as a zombie. */
static void wait_until_gone(pid_t pid)
{
	char path[64], text[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while ((fd = open(path, O_RDONLY)) >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = '\0';
		if (n <= 0 || strstr(text, ") Z "))
			return;
		take_a_moment();
	}
}

static void a_worker_that_is_stuck_is_given_up(void **state)
{
	struct run r;
	pid_t target;

	(void)state;
	start(&r, be_stuck);
	kill(r.pid, SIGTERM); /* timeout has no end before the second SIGINT */
	kill(r.pid, SIGINT);
	wait_until_taken(&r);
	kill(r.pid, SIGINT);
	target = r.shared->target;
	assert_string_equal(finish(&r), "profile: gave up: no profile was written\n");
	assert_exit(&r, 128 + SIGINT);
	wait_until_gone(target);
}

static int be_done_in_time(const struct supervisor_link *link, void *context)
{
	struct shared *shared = context;

	shared->worker = getpid();
	shared->step = 1;
	while (shared->count < 2) {
		note_signals(link, shared);
		take_a_moment();
	}
	supervisor_report_writing(link);
	return 137;
}

static void after_two_interrupts_it_gets_time_to_end(void **state)
{
	struct run r;

	(void)state;
	start(&r, be_done_in_time);
	kill(r.pid, SIGINT);
	wait_for_signals(&r, 1);
	kill(r.pid, SIGINT);
	assert_string_equal(finish(&r), "");
	assert_exit(&r, 137);
}

static int write_for_ever(const struct supervisor_link *link, void *context)
{
	struct shared *shared = context;

	supervisor_report_ended(link);
	supervisor_report_writing(link);
	shared->worker = getpid();
	shared->step = 1;
	while (true)
		pause();
	return 0;
}

static void while_writing_the_second_interrupt_gives_up_at_once(void **state)
{
	static const char said[] =
		"profile: the profile is being written; another Ctrl-C gives up\n";
	struct run r;
	char text[sizeof(said)] = "";

	(void)state;
	start(&r, write_for_ever);
	kill(r.pid, SIGINT);
	while (pread(STDERR_FILENO, text, sizeof(text) - 1, 0) != sizeof(text) - 1)
		take_a_moment();
	assert_string_equal(text, said);
	kill(r.pid, SIGINT);
	assert_string_equal(finish(&r),
			    "profile: the profile is being written; another Ctrl-C gives up\n"
			    "profile: gave up: no profile was written\n");
	assert_exit(&r, 128 + SIGINT);
}

/* Plays a worker whose first interrupt ended the target, and whose second one ended the wait for
 * its children. The profile takes as long as it takes. */
static int end_and_write_long(const struct supervisor_link *link, void *context)
{
	struct shared *shared = context;

	shared->worker = getpid();
	come_to(link, shared, 1);
	supervisor_report_ended(link);
	come_to(link, shared, 2);
	supervisor_report_writing(link);
	usleep((SUPERVISOR_TIMEOUT_MS + 500) * 1000);
	return 42;
}

static void the_targets_end_restarts_counting(void **state)
{
	struct run r;

	(void)state;
	start(&r, end_and_write_long);
	kill(r.pid, SIGINT);
	wait_for_signals(&r, 1);
	let_go(&r, 1);
	wait_for_step(&r, 2);
	kill(r.pid, SIGINT);
	wait_for_signals(&r, 2);
	let_go(&r, 2);
	assert_string_equal(finish(&r), "");
	assert_exit(&r, 42);
}

/* ---- deaths ---- */

static void the_worker_is_killed(void **state)
{
	char folder[] = "/tmp/profile_unit.XXXXXX", path[64];
	struct run r;
	pid_t target;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/lock", folder);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	start(&r, take_signals);
	let_go(&r, 1);
	finish(&r);
	assert_int_equal(access(path, F_OK), 0); /* the worker has not reported this folder */

	memset(&r, 0, sizeof(r));
	r.shared = mmap(NULL, sizeof(*r.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	snprintf(r.shared->folder, sizeof(r.shared->folder), "%s", folder);
	capture_begin(&r.captured);
	r.pid = fork();
	if (r.pid == 0) {
		struct log log = {.level = LOG_ERRORS};

		_exit(supervisor_run(&log, &ourselves, NULL, be_stuck, r.shared));
	}
	wait_for_step(&r, 1);
	kill(r.shared->worker, SIGKILL);
	target = r.shared->target;
	assert_string_equal(finish(&r), "profile: the profiler was killed by signal 9 (out of "
					"memory?): no profile was written\n");
	assert_exit(&r, 125);
	assert_int_equal(access(folder, F_OK), -1);
	assert_int_equal(kill(target, SIGKILL), 0); /* the command continues */
}

static int leave(const struct supervisor_link *link, void *context)
{
	struct shared *shared = context;

	(void)link;
	shared->step = 1;
	_exit(0); /* as a library might do */
}

static void the_worker_exits_silently(void **state)
{
	struct run r;

	(void)state;
	start(&r, leave);
	assert_string_equal(finish(&r), "profile: the profiler ended unexpectedly: no profile "
					"was written\n");
	assert_exit(&r, 125);
}

static int outlive(const struct supervisor_link *link, void *context)
{
	struct shared *shared = context;
	struct pollfd wait = {.fd = link->signals, .events = POLLIN};

	shared->worker = getpid();
	shared->step = 1;
	poll(&wait, 1, -1);
	note_signals(link, shared);
	supervisor_report_writing(link); /* nobody hears it; it does no harm */
	shared->step = 2;
	return 0;
}

static void the_supervisor_is_killed(void **state)
{
	struct run r;

	(void)state;
	start(&r, outlive);
	kill(r.pid, SIGKILL);
	wait_for_step(&r, 2);
	assert_true(r.shared->is_alone);
	r.shared->worker = 0;
	assert_string_equal(finish(&r), "");
	assert_true(WIFSIGNALED(r.status));
}

/* The worker has reported the status, but one of its threads does not end. */
static void a_worker_that_does_not_end_when_done(void **state)
{
	struct log log = {.level = LOG_NORMAL};
	struct run r = {.pid = 0};

	(void)state;
	r.shared = mmap(NULL, sizeof(*r.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	capture_begin(&r.captured);
	r.pid = fork();
	if (r.pid == 0) {
		pid_t us = getpid();
		int status = supervisor_run(&log, &ourselves, NULL, return_37, r.shared);

		while (getpid() != us)
			pause();
		_exit(status);
	}
	assert_string_equal(finish(&r), "");
	assert_exit(&r, 37);
}

/* ---- privilege ---- */

static bool supervisor_has(const char *line)
{
	char path[64], text[4096] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)getppid());
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return false;
	close(fd);
	return strstr(text, line) != NULL;
}

/* Stops the supervisor for some moments. */
static void hold_supervisor(void)
{
	pid_t supervisor = getppid();

	kill(supervisor, SIGSTOP);
	if (fork() != 0)
		return;
	for (int i = 0; i < 20; i++)
		take_a_moment();
	kill(supervisor, SIGCONT);
	_exit(0);
}

static int become_user(const struct supervisor_link *link, void *context)
{
	static const char *const ends[] = {"\nUid:\t12345\t12345\t12345\t12345\n",
					   "\nGid:\t23456\t23456\t23456\t23456\n",
					   "\nGroups:\t23456 \n",
					   "\nCapPrm:\t0000000000000000\n",
					   "\nCapEff:\t0000000000000000\n",
					   "\nNoNewPrivs:\t1\n"};
	struct shared *shared = context;

	shared->step = 1;
	if (!supervisor_has("\nUid:\t0\t0\t0\t0\n"))
		return 1;
	hold_supervisor();
	supervisor_report_user(link);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!supervisor_has(ends[i]))
			return 2;
	return 0;
}

static void the_supervisor_becomes_the_user_with_the_worker(void **state)
{
	static const struct identity user = {.other = true, .uid = 12345, .gid = 23456};
	struct run r;

	(void)state;
	if (geteuid() != 0)
		SKIP("needs root");
	start_as(&r, &user, become_user);
	assert_string_equal(finish(&r), "");
	assert_exit(&r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_status_is_passed_on),
		cmocka_unit_test(signals_reach_the_worker_once),
		cmocka_unit_test(ignored_signals_stay_ignored),
		cmocka_unit_test(a_worker_that_is_stuck_is_given_up),
		cmocka_unit_test(after_two_interrupts_it_gets_time_to_end),
		cmocka_unit_test(while_writing_the_second_interrupt_gives_up_at_once),
		cmocka_unit_test(the_targets_end_restarts_counting),
		cmocka_unit_test(the_worker_is_killed),
		cmocka_unit_test(the_worker_exits_silently),
		cmocka_unit_test(the_supervisor_is_killed),
		cmocka_unit_test(a_worker_that_does_not_end_when_done),
		cmocka_unit_test(the_supervisor_becomes_the_user_with_the_worker),
	};

	/* a shell that starts us in the background may have them ignored */
	for (int signal_number = 1; signal_number <= SIGRTMAX; signal_number++)
		signal(signal_number, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
