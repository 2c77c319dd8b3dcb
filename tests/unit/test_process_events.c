/* SPDX-License-Identifier: MIT */
/*
 * The kernel's record of a child that forks, execs, maps and ends, and of threads. Skipped where
 * perf is refused.
 */
#include "unit.h"
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "profiler/sources/process_events.h"
#include "symbolize/util/monotonic.h"

static struct process_events *open_events(void)
{
	struct process_events *e = process_events_open(-1, 0);

	if (!e) {
		print_message("perf_event_open: %s\n", strerror(errno));
		SKIP("the kernel refuses perf events here");
	}
	return e;
}

/* Starts a child that runs `command` when released. */
static pid_t start_child(const char *command, int *gate)
{
	int ends[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	if (child == 0) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) != 1)
			_exit(1);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	*gate = ends[1];
	return child;
}

static void run_child(pid_t child, int gate)
{
	int status;

	assert_int_equal(write(gate, "", 1), 1);
	close(gate);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

struct life {
	uint64_t forked, execed, mapped_libc, ended;
	uint32_t maps, grandchildren;
	uint64_t last_ns;
	char comm[PROCESS_COMM_BYTES]; /* name at its exec */
};

static void note(struct life *life, pid_t child, const struct process_event *e)
{
	assert_true(e->time_ns >= life->last_ns);
	life->last_ns = e->time_ns;
	if (e->type == PROCESS_FORK && e->parent == child && e->pid != child)
		life->grandchildren++;
	if (e->pid != child)
		return;
	switch (e->type) {
	case PROCESS_FORK:
		assert_int_equal(e->parent, getpid());
		assert_int_equal(e->tid, child);
		life->forked = e->time_ns;
		break;
	case PROCESS_EXEC:
		assert_int_equal(e->tid, child);
		memcpy(life->comm, e->comm, sizeof(life->comm));
		life->execed = e->time_ns;
		break;
	case PROCESS_MAP:
		life->maps++;
		assert_true(e->mapping.end > e->mapping.start);
		assert_non_null(e->mapping.path);
		if (strstr(e->mapping.path, "libc.so")) {
			assert_true(e->mapping.inode != 0);
			life->mapped_libc = e->time_ns;
		}
		break;
	case PROCESS_EXIT:
		assert_int_equal(e->tid, child);
		life->ended = e->time_ns;
		break;
	case PROCESS_COMM: /* only an exec sets this name */
	case PROCESS_SAMPLE:
		fail();
	}
}

static void a_child_from_fork_to_exit(void **state)
{
	struct process_events *events = open_events();
	const struct process_event *e;
	struct life life = {0};
	uint64_t before = monotonic_ns(), after;
	int gate;
	pid_t child = start_child("/bin/true; exit 0", &gate);

	(void)state;
	run_child(child, gate);
	after = monotonic_ns();
	assert_int_equal(process_events_read(events), 0);
	while ((e = process_events_next(events, UINT64_MAX)))
		note(&life, child, e);
	assert_int_equal(process_events_lost(events), 0);
	assert_true(before <= life.forked);
	assert_true(life.forked < life.execed);
	assert_true(life.execed < life.mapped_libc);
	assert_true(life.mapped_libc < life.ended);
	assert_true(life.ended <= after);
	assert_true(life.maps >= 2); /* the program and its C library */
	assert_int_equal(life.grandchildren, 1);
	assert_string_equal(life.comm, "sh");
	process_events_close(events);
}

/* Later events are neither returned nor lost. */
static void events_wait_for_their_time(void **state)
{
	struct process_events *events = open_events();
	const struct process_event *e;
	struct life early = {0}, late = {0};
	uint64_t middle;
	int gate, gate2;
	pid_t child = start_child("exit 0", &gate), second;

	(void)state;
	run_child(child, gate);
	middle = monotonic_ns();
	second = start_child("exit 0", &gate2);
	run_child(second, gate2);
	assert_int_equal(process_events_read(events), 0);
	while ((e = process_events_next(events, middle))) {
		assert_true(e->time_ns <= middle);
		note(&early, child, e);
	}
	assert_true(early.ended > 0);
	assert_null(process_events_next(events, middle));
	assert_int_equal(process_events_read(events), 0); /* the rest moves */
	while ((e = process_events_next(events, UINT64_MAX))) {
		assert_true(e->time_ns > middle);
		note(&late, second, e);
	}
	assert_true(late.forked > middle && late.ended > late.execed);
	process_events_close(events);
}

/* ---- threads ---- */

struct thread {
	pid_t tid;
	const char *comm; /* name that the thread takes; NULL: none */
};

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	t->tid = (pid_t)syscall(SYS_gettid);
	if (t->comm)
		prctl(PR_SET_NAME, t->comm);
	return NULL;
}

static void run_thread(struct thread *t)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, thread_main, t), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The events of one thread, in order: 'f'ork, 'c'omm, 'e'xit. */
struct thread_life {
	pid_t tid;
	char seen[8];
	char comm[PROCESS_COMM_BYTES];
};

static void note_thread(struct thread_life *life, const struct process_event *e)
{
	size_t n = strlen(life->seen);

	if (e->pid != getpid() || e->tid != life->tid)
		return;
	assert_true(n + 1 < sizeof(life->seen));
	switch (e->type) {
	case PROCESS_FORK:
		assert_int_equal(e->parent, getpid()); /* a thread: of its own process */
		life->seen[n] = 'f';
		break;
	case PROCESS_COMM:
		memcpy(life->comm, e->comm, sizeof(life->comm));
		life->seen[n] = 'c';
		break;
	case PROCESS_EXIT:
		life->seen[n] = 'e';
		break;
	default:
		break; /* a stack may be a mapping */
	}
}

static void threads_from_fork_to_exit(void **state)
{
	static const char *const comms[] = {
		NULL, "loader", "fifteen letters", "cut: too long for it", "", "odd;\n\x1b"};
	enum { THREADS = sizeof(comms) / sizeof(comms[0]) };
	struct process_events *events = open_events();
	const struct process_event *e;
	struct thread_life lives[THREADS];
	int ended = 0;

	(void)state;
	memset(lives, 0, sizeof(lives));
	for (int i = 0; i < THREADS; i++) {
		struct thread t = {.comm = comms[i]};

		run_thread(&t);
		lives[i].tid = t.tid;
	}
	/* ends are recorded a little after they can be waited for */
	while (ended < THREADS) {
		assert_int_equal(process_events_read(events), 0);
		while ((e = process_events_next(events, UINT64_MAX)))
			for (int i = 0; i < THREADS; i++)
				note_thread(&lives[i], e);
		ended = 0;
		for (int i = 0; i < THREADS; i++)
			ended += strchr(lives[i].seen, 'e') != NULL;
	}
	for (int i = 0; i < THREADS; i++) {
		assert_string_equal(lives[i].seen, comms[i] ? "fce" : "fe");
		if (comms[i])
			assert_int_equal(strncmp(lives[i].comm, comms[i], 15), 0);
		assert_int_equal(lives[i].comm[PROCESS_COMM_BYTES - 1], '\0');
	}
	process_events_close(events);
}

static void new_code_in_our_own_process(void **state)
{
	struct process_events *events = open_events();
	const struct process_event *e;
	long page = sysconf(_SC_PAGESIZE);
	uint32_t found = 0;
	void *code =
		mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *data = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(process_events_read(events), 0);
	while ((e = process_events_next(events, UINT64_MAX))) {
		if (e->type != PROCESS_MAP || e->pid != getpid())
			continue;
		assert_true(e->mapping.start != (uintptr_t)data); /* only code is recorded */
		if (e->mapping.start == (uintptr_t)code) {
			assert_int_equal(e->mapping.end - e->mapping.start, page);
			assert_int_equal(e->mapping.inode, 0);
			found++;
		}
	}
	assert_int_equal(found, 1);
	munmap(code, (size_t)page);
	munmap(data, (size_t)page);
	process_events_close(events);
}

/* More than a ring holds, read in between or not: counted as lost, never mixed up. */
static void rings_that_wrap_and_overflow(void **state)
{
	struct process_events *events = open_events();
	long page = sysconf(_SC_PAGESIZE);
	const struct process_event *e;
	uint32_t seen = 0, total = 0;
	cpu_set_t before, one;

	(void)state;
	/* all into one ring, however many CPUs there are */
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (uint32_t batch = 0; batch < 12; batch++) {
		uint32_t n = batch == 11 ? 20000 : 700; /* the last does not fit */

		for (uint32_t i = 0; i < n; i++, total++) {
			void *code = mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			assert_ptr_not_equal(code, MAP_FAILED);
			munmap(code, (size_t)page);
		}
		assert_int_equal(process_events_read(events), 0);
		while ((e = process_events_next(events, UINT64_MAX)))
			seen += e->type == PROCESS_MAP && e->pid == getpid();
		if (batch < 11)
			assert_int_equal(process_events_lost(events), 0);
	}
	assert_true(seen >= 11 * 700 && seen < total);
	/* the kernel reports a loss with the next record that fits */
	munmap(mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	       (size_t)page);
	assert_int_equal(process_events_read(events), 0);
	sched_setaffinity(0, sizeof(before), &before);
	process_events_close(events); /* events that nobody took */
}

static void closing_nothing(void **state)
{
	(void)state;
	process_events_close(NULL);
}

/* ---- samples ---- */

/* A child of one process after another, each much shorter than a sampling period. */
static void short_processes_are_sampled(void **state)
{
	const char *command =
		"i=0; while [ $i -lt 150 ]; do"
		" (j=0; while [ $j -lt 3000 ]; do j=$((j+1)); done); i=$((i+1)); done";
	struct process_events *events;
	const struct process_event *e;
	uint32_t samples = 0, children = 0;
	struct rusage before, after;
	double ran;
	int gate;
	pid_t child;

	(void)state;
	getrusage(RUSAGE_CHILDREN, &before);
	child = start_child(command, &gate);
	events = process_events_open(child, 100);
	if (!events)
		SKIP("the kernel refuses perf events here");
	assert_int_equal(write(gate, "", 1), 1);
	close(gate);
	while (waitpid(child, NULL, WNOHANG) == 0) {
		assert_int_equal(process_events_read(events), 0);
		while ((e = process_events_next(events, UINT64_MAX))) {
			samples += e->type == PROCESS_SAMPLE;
			children += e->type == PROCESS_SAMPLE && e->pid != child;
		}
		usleep(1000);
	}
	getrusage(RUSAGE_CHILDREN, &after);
	ran = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
	      (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1e6;
	print_message("%u samples, %u of children, of %.3f s\n", samples, children, ran);
	if (process_events_lost(events) == 0)
		assert_true(samples > 20 * ran && samples < 200 * ran);
	assert_true(2 * children > samples);
	process_events_close(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_from_fork_to_exit),
		cmocka_unit_test(events_wait_for_their_time),
		cmocka_unit_test(short_processes_are_sampled),
		cmocka_unit_test(threads_from_fork_to_exit),
		cmocka_unit_test(new_code_in_our_own_process),
		cmocka_unit_test(rings_that_wrap_and_overflow),
		cmocka_unit_test(closing_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
