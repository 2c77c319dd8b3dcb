/* SPDX-License-Identifier: MIT */
/*
 * Reports of the kernel about real processes, and their order: with BPF, which needs root, and with
 * perf events alone. No test depends on a time limit.
 */
#include "unit.h"
#include "own_code.h"
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/sources/bpf_source.h"
#include "profiler/sources/kernel_events.h"
#include "symbolize/util/monotonic.h"

/* A batch of stacks may end at a record that is being written. */
static bool stacks_are_unread;

/* The linker has the library's calls come here: --wrap. */
bool __real_bpf_source_has_more(const struct bpf_source *source);
bool __wrap_bpf_source_has_more(const struct bpf_source *source);

bool __wrap_bpf_source_has_more(const struct bpf_source *source)
{
	return stacks_are_unread || __real_bpf_source_has_more(source);
}

#define TIMEOUT_S 60 /* timeout of expected events */
#define NOBODY 65534
#define TAG 77

static bool has_bpf_here(void)
{
	return geteuid() == 0 && !getenv("UNDER_VALGRIND");
}

#define NEEDS_BPF()                                                                   \
	do {                                                                          \
		if (!has_bpf_here())                                                  \
			SKIP("BPF needs root, and valgrind does not know all of it"); \
	} while (0)

static struct kernel_events *open_events(const struct kernel_events_options *options)
{
	struct kernel_events *k = NULL;
	char error[512] = "x";

	if (kernel_events_open(options, &k, error, sizeof(error)) != 0)
		fail_msg("%s", error);
	assert_string_equal(error, "");
	assert_non_null(k);
	return k;
}

static struct kernel_events *open_sampling(void)
{
	return open_events(
		&(struct kernel_events_options){.bpf = {.sample_hz = 1000}, .wants_bpf = true});
}

/* Opens the BPF side without samples. */
static struct kernel_events *open_without_samples(void)
{
	struct kernel_events *k = open_events(
		&(struct kernel_events_options){.bpf = {.calls = true}, .wants_bpf = true});

	assert_non_null(kernel_events_bpf(k));
	return k;
}

/* ---- children ---- */

struct child {
	pid_t pid;
	int gate;
};

/* Starts a child that executes the script when released. It ends with this program at the
 * latest. */
static struct child start_script(const char *script)
{
	struct child child;
	int ends[2];
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(ends[0], &byte, 1) == 1)
			execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	child.gate = ends[1];
	return child;
}

static void release_child(const struct child *child)
{
	assert_int_equal(write(child->gate, "", 1), 1);
	close(child->gate);
}

static bool has_ended(const struct child *child)
{
	siginfo_t info = {.si_pid = 0};

	assert_int_equal(waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
	return info.si_pid == child->pid;
}

static void end_child(const struct child *child)
{
	kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static void run_to_its_end(const struct child *child)
{
	int status;

	release_child(child);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_int_equal(status, 0);
}

/* ---- what came, process by process ---- */

enum { LIVES_MAX = 256 };

struct life {
	pid_t pid;
	uint64_t last_ns, last_sample_ns, used;
	uint32_t execs, maps, samples;
	bool has_ended;
};

/* A process and its descendants, all of one thread each. */
struct tree {
	struct life lives[LIVES_MAX];
	uint32_t count;
};

static struct life *add_life(struct tree *tree, pid_t pid)
{
	struct life *life = &tree->lives[tree->count];

	assert_true(tree->count++ < LIVES_MAX);
	*life = (struct life){.pid = pid};
	return life;
}

/* Returns the newest process with this pid, or NULL. */
static struct life *find_life(struct tree *tree, pid_t pid)
{
	for (uint32_t i = tree->count; i > 0; i--)
		if (tree->lives[i - 1].pid == pid)
			return &tree->lives[i - 1];
	return NULL;
}

/* Expects a time in order, within the process's life. */
static void note_time(struct life *life, uint64_t time_ns)
{
	assert_false(life->has_ended);
	assert_true(time_ns >= life->last_ns);
	life->last_ns = time_ns;
}

static void note_sample(struct life *life, uint64_t time_ns)
{
	life->samples++;
	life->last_sample_ns = time_ns;
}

static void note_process(struct tree *tree, const struct process_event *e)
{
	struct life *life = find_life(tree, e->pid), *parent;

	if (e->type == PROCESS_FORK) {
		parent = find_life(tree, e->parent);
		if (!parent)
			return; /* another's */
		assert_true(e->pid != e->parent);
		assert_true(!life || life->has_ended);
		note_time(parent, e->time_ns);
		life = add_life(tree, e->pid);
	}
	if (!life || (life->has_ended && e->type == PROCESS_FORK))
		return;
	note_time(life, e->time_ns);
	life->execs += e->type == PROCESS_EXEC;
	life->maps += e->type == PROCESS_MAP;
	if (e->type == PROCESS_SAMPLE)
		note_sample(life, e->time_ns);
	life->has_ended = e->type == PROCESS_EXIT;
}

static void note_stack(struct tree *tree, const struct stack_event *e)
{
	struct life *life = find_life(tree, (pid_t)e->pid);

	assert_non_null(life); /* the fork came before; only followed processes are reported */
	if (e->kind == STACK_EVENT_CPU_USED) {
		life->used = ((const struct stack_value *)e)->value;
		return;
	}
	/* since Linux 6.16 a process is recorded as ended before it gives back its memory */
	assert_true(e->time_ns >= life->last_ns);
	life->last_ns = e->time_ns;
	assert_int_equal(e->kind, STACK_EVENT_CPU_SNAPSHOT);
	note_sample(life, e->time_ns);
}

/* Takes out all events read. */
static void drain(struct kernel_events *k, struct tree *tree)
{
	struct kernel_event e;

	while (kernel_events_next(k, &e)) {
		assert_true(!e.process != !e.stack);
		if (e.process)
			note_process(tree, e.process);
		else
			note_stack(tree, e.stack);
	}
}

static void fill_and_drain(struct kernel_events *k, struct tree *tree)
{
	assert_int_equal(kernel_events_fill(k), 0);
	drain(k, tree);
}

/* Reads all events. If the machine was too busy to read in time, some are missing, which is
 * known. */
static void finish(struct kernel_events *k, struct tree *tree)
{
	kernel_events_stop_samples(k);
	kernel_events_finish(k);
	do
		fill_and_drain(k, tree);
	while (kernel_events_has_more(k));
	assert_true(kernel_events_until(k) == UINT64_MAX);
	if (kernel_events_lost(k) > 0) {
		kernel_events_close(k);
		SKIP("the machine is busy: the kernel had no room for some records");
	}
}

/* ---- order ---- */

/* Processes that compute in sequence: all events of each come in order, and none is missing. */
static void check_order(struct kernel_events *k, uint32_t count, uint32_t turns)
{
	char script[256];
	struct child target;
	struct tree tree = {.count = 0};
	uint32_t samples = 0, children = 0, used = 0;

	snprintf(script, sizeof(script),
		 "i=0; while [ $i -lt %u ]; do"
		 " /bin/sh -c 'j=0; while [ $j -lt %u ]; do j=$((j+1)); done'; i=$((i+1)); done",
		 count, turns);
	target = start_script(script);
	add_life(&tree, target.pid);
	assert_int_equal(kernel_events_follow(k, target.pid), 0);
	assert_true(kernel_events_know_tree(k));
	release_child(&target);
	while (!has_ended(&target)) {
		fill_and_drain(k, &tree);
		usleep(1000);
	}
	end_child(&target);
	finish(k, &tree);
	for (uint32_t i = 0; i < tree.count; i++) {
		const struct life *life = &tree.lives[i];

		assert_true(life->has_ended);
		assert_int_equal(life->execs, 1);
		used += life->used > 0;
		assert_true(life->maps >= 2); /* the program, its C library */
		samples += life->samples;
		children += life->samples && life->pid != target.pid;
	}
	assert_int_equal(tree.count, 1 + count);
	assert_true(samples > 0 && children > 0);
	/* the last ones may not have been released yet */
	assert_int_equal(used > count / 2, kernel_events_bpf(k) != NULL);
}

static void a_tree_in_order_with_bpf(void **state)
{
	struct kernel_events *k;

	(void)state;
	NEEDS_BPF();
	k = open_sampling();
	assert_non_null(kernel_events_bpf(k));
	check_order(k, 20, 4000);
	kernel_events_close(k);
}

/* Opens the events without BPF, as if BPF were unavailable. */
static struct kernel_events *open_without_bpf(void)
{
	struct kernel_events *k =
		open_events(&(struct kernel_events_options){.bpf = {.sample_hz = 100}});

	assert_null(kernel_events_bpf(k));
	/* nothing is known before there is a target */
	assert_false(kernel_events_know_tree(k));
	return k;
}

static bool may_use_perf(void)
{
	struct kernel_events *k = open_without_bpf();
	int err = kernel_events_follow(k, getpid());

	kernel_events_close(k);
	return err == 0;
}

#define NEEDS_PERF()                                                 \
	do {                                                         \
		if (!may_use_perf())                                 \
			SKIP("the kernel refuses perf events here"); \
	} while (0)

static void a_tree_in_order_without_bpf(void **state)
{
	struct kernel_events *k;

	(void)state;
	NEEDS_PERF();
	k = open_without_bpf();
	/* each thread has its own sampling period, so they take longer */
	check_order(k, 4, 200000);
	kernel_events_close(k);
}

static const struct life *life_of(struct kernel_events *k, struct tree *tree,
				  const struct child *child)
{
	fill_and_drain(k, tree);
	return find_life(tree, child->pid);
}

/* Events that a late one may still precede are held back, not lost. */
static void new_events_are_held_back(void **state)
{
	struct tree tree = {.count = 0};
	struct kernel_events *k;
	struct child child;
	const struct life *life;

	(void)state;
	NEEDS_BPF();
	k = open_without_samples();
	for (int i = 0; i < 10; i++) {
		child = start_script("exit 0");
		add_life(&tree, child.pid);
		run_to_its_end(&child);
		life = life_of(k, &tree, &child);
		assert_true(life->last_ns <= kernel_events_until(k));
		assert_true(kernel_events_until(k) + KERNEL_EVENTS_SLACK_NS <= monotonic_ns());
	}
	finish(k, &tree);
	for (uint32_t i = 0; i < tree.count; i++) {
		assert_int_equal(tree.lives[i].execs, 1);
		assert_true(tree.lives[i].has_ended);
	}
	kernel_events_close(k);
}

/* A process that has just said hello existed before. */
static void catching_up_returns_everything(void **state)
{
	struct tree tree = {.count = 0};
	struct kernel_events *k;

	(void)state;
	NEEDS_BPF();
	k = open_without_samples();
	for (int i = 0; i < 10; i++) {
		struct child child = start_script("exit 0");
		uint64_t until_ns;

		add_life(&tree, child.pid);
		run_to_its_end(&child);
		stacks_are_unread = i % 2;
		assert_int_equal(kernel_events_fill(k), 0);
		until_ns = kernel_events_until(k);
		kernel_events_catch_up(k);
		drain(k, &tree);
		assert_true(find_life(&tree, child.pid)->has_ended);
		assert_int_equal(find_life(&tree, child.pid)->execs, 1);
		/* older stacks may still come */
		assert_int_equal(kernel_events_until(k), until_ns);
		stacks_are_unread = false;
		/* the next child is followed as ever */
		child = start_script("exit 0");
		add_life(&tree, child.pid);
		run_to_its_end(&child);
		assert_true(life_of(k, &tree, &child)->last_ns <= kernel_events_until(k));
	}
	kernel_events_close(k);
}

/* ---- the end of samples ---- */

static uint64_t cpu_ns_of(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	assert_int_equal(clock_gettime(clock, &t), 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Waits until the process has used this CPU time. */
static void run_for(pid_t pid, uint64_t ns)
{
	uint64_t end_ns = cpu_ns_of(pid) + ns;

	while (cpu_ns_of(pid) < end_ns)
		usleep(1000);
}

/* Reads the available input until the process has run for many periods of the clock. */
static void take_while_it_runs(struct kernel_events *k, struct tree *tree, pid_t pid)
{
	for (int i = 0; i < 100; i++) {
		run_for(pid, 1000000u);
		fill_and_drain(k, tree);
	}
}

static uint32_t samples_of(struct tree *tree, const struct child *child)
{
	return find_life(tree, child->pid)->samples;
}

static void check_end_of_samples(struct kernel_events *k)
{
	struct child target = start_script("while :; do :; done"), other;
	struct tree tree = {.count = 0};
	time_t end = time(NULL) + TIMEOUT_S;
	uint64_t stopped_ns;
	uint32_t samples;

	other = start_script("while :; do :; done");
	add_life(&tree, target.pid);
	assert_int_equal(kernel_events_follow(k, target.pid), 0);
	release_child(&target);
	release_child(&other);
	while (samples_of(&tree, &target) < 10) {
		assert_true(time(NULL) < end);
		fill_and_drain(k, &tree);
		usleep(1000);
	}
	kernel_events_stop_samples(k);
	stopped_ns = monotonic_ns();
	run_for(target.pid, 30000000u);
	kernel_events_stop_samples(k); /* again: no later end */
	take_while_it_runs(k, &tree, target.pid);
	samples = samples_of(&tree, &target);
	/* on a busy machine the shell may still be loading its libraries: those are events too */
	assert_true(find_life(&tree, target.pid)->last_sample_ns <= stopped_ns);
	take_while_it_runs(k, &tree, target.pid);
	assert_int_equal(samples_of(&tree, &target), samples);
	assert_null(find_life(&tree, other.pid));
	/* the end is still reported */
	end_child(&target);
	end_child(&other);
	finish(k, &tree);
	assert_int_equal(samples_of(&tree, &target), samples);
	assert_true(find_life(&tree, target.pid)->has_ended);
}

static void samples_end_with_bpf(void **state)
{
	struct kernel_events *k;

	(void)state;
	NEEDS_BPF();
	k = open_sampling();
	check_end_of_samples(k);
	kernel_events_close(k);
}

static void samples_end_without_bpf(void **state)
{
	struct kernel_events *k;

	(void)state;
	NEEDS_PERF();
	k = open_without_bpf();
	check_end_of_samples(k);
	kernel_events_close(k);
}

/* When no stack can come any more, no event is held back. */
static void the_end_of_samples_makes_times_sure(void **state)
{
	struct tree tree = {.count = 0};
	struct kernel_events *k;
	uint64_t before_ns;

	(void)state;
	NEEDS_BPF();
	k = open_sampling();
	fill_and_drain(k, &tree);
	assert_true(kernel_events_until(k) + KERNEL_EVENTS_SLACK_NS <= monotonic_ns());
	kernel_events_stop_samples(k);
	before_ns = monotonic_ns();
	fill_and_drain(k, &tree);
	assert_true(kernel_events_until(k) >= before_ns);
	assert_true(kernel_events_until(k) <= monotonic_ns());
	kernel_events_close(k);
}

/* ---- other stacks than samples ---- */

static volatile int sink;

__attribute__((noipa)) static int launch(void)
{
	return sink++;
}

/* Launches continue after samples have ended. */
static void launches_arrive_after_samples_end(void **state)
{
	uint64_t function = cuda_launch_function_of("cuLaunchKernel"), offset;
	struct kernel_events *k;
	struct kernel_event e;
	uint32_t launches = 0;

	(void)state;
	NEEDS_BPF();
	k = open_events(&(struct kernel_events_options){.bpf = {.sample_hz = 50, .launches = true},
							.needs_bpf = true});
	assert_int_equal(kernel_events_follow(k, getpid()), 0);
	offset = file_offset((uintptr_t)launch);
	assert_int_equal(bpf_source_probe(kernel_events_bpf(k), PROBE_LAUNCH, 0, "/proc/self/exe",
					  &offset, &function, 1),
			 0);
	kernel_events_stop_samples(k);
	for (int i = 0; i < 3; i++)
		launch();
	assert_int_equal(kernel_events_fill(k), 0);
	while (kernel_events_next(k, &e))
		launches += e.stack && e.stack->kind == STACK_EVENT_LAUNCH;
	assert_int_equal(launches, 3);
	/* more may come, late */
	assert_true(kernel_events_until(k) + KERNEL_EVENTS_SLACK_NS <= monotonic_ns());
	kernel_events_close(k);
}

/* ---- what can be had ---- */

static void nothing_is_wanted(void **state)
{
	struct kernel_events *k = open_events(&(struct kernel_events_options){.wants_bpf = false});
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct kernel_event e;

	(void)state;
	assert_null(kernel_events_bpf(k));
	assert_int_equal(kernel_events_follow(k, getpid()), 0);
	assert_false(kernel_events_know_tree(k));
	assert_int_equal(kernel_events_watch(k, epoll, TAG), 0);
	assert_int_equal(kernel_events_fill(k), 0);
	assert_false(kernel_events_next(k, &e));
	assert_false(kernel_events_has_more(k));
	assert_true(kernel_events_until(k) + KERNEL_EVENTS_SLACK_NS <= monotonic_ns());
	kernel_events_stop_samples(k);
	kernel_events_finish(k);
	assert_true(kernel_events_until(k) == UINT64_MAX);
	assert_int_equal(kernel_events_lost(k), 0);
	close(epoll);
	kernel_events_close(k);
	kernel_events_close(NULL);
}

#define EXPECT_IN_CHILD(condition)                 \
	do {                                       \
		if (!(condition))                  \
			_exit(__LINE__ % 200 + 1); \
	} while (0)

static void open_as_nobody(void)
{
	struct kernel_events *k = NULL;
	char error[512] = "";

	EXPECT_IN_CHILD(setresuid(NOBODY, NOBODY, NOBODY) == 0);
	EXPECT_IN_CHILD(
		kernel_events_open(&(struct kernel_events_options){.bpf = {.launches = true},
								   .needs_bpf = true},
				   &k, error, sizeof(error)) == -EPERM);
	EXPECT_IN_CHILD(error[0] && !k);
	/* the profiler goes on without; the reason is for messages */
	error[0] = '\0';
	EXPECT_IN_CHILD(kernel_events_open(&(struct kernel_events_options){.bpf = {.sample_hz = 50},
									   .wants_bpf = true},
					   &k, error, sizeof(error)) == 0);
	EXPECT_IN_CHILD(error[0] && k && !kernel_events_bpf(k));
	kernel_events_close(k);
	_exit(0);
}

static void samples_without_privileges(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	NEEDS_BPF();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		open_as_nobody();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- full rings ---- */

/* A child that maps code so many times for each number it gets, all on one processor. */
struct mapper {
	pid_t pid;
	int orders, answers;
};

static void map_on_order(int orders, int answers)
{
	uint32_t count;
	cpu_set_t one;
	void *memory;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		_exit(1);
	while (read(orders, &count, sizeof(count)) == sizeof(count)) {
		for (uint32_t i = 0; i < count; i++) {
			memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (memory == MAP_FAILED || munmap(memory, 4096) != 0)
				_exit(2);
		}
		if (write(answers, &count, sizeof(count)) != sizeof(count))
			_exit(3);
	}
	_exit(0);
}

static struct mapper start_mapper(void)
{
	struct mapper m;
	int orders[2], answers[2];

	assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
	m.pid = fork();
	assert_true(m.pid >= 0);
	if (m.pid == 0) {
		close(orders[1]);
		map_on_order(orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	m.orders = orders[1];
	m.answers = answers[0];
	return m;
}

static void order(const struct mapper *m, uint32_t count)
{
	assert_int_equal(write(m->orders, &count, sizeof(count)), sizeof(count));
}

static void await_mapper(const struct mapper *m)
{
	uint32_t count;

	assert_int_equal(read(m->answers, &count, sizeof(count)), sizeof(count));
}

static void end_mapper(const struct mapper *m)
{
	int status;

	close(m->orders);
	close(m->answers);
	assert_int_equal(waitpid(m->pid, &status, 0), m->pid);
	assert_int_equal(status, 0);
}

static uint32_t count_maps(struct kernel_events *k, pid_t pid)
{
	struct kernel_event e;
	uint32_t count = 0;

	assert_int_equal(kernel_events_fill(k), 0);
	kernel_events_catch_up(k);
	while (kernel_events_next(k, &e))
		count += e.process && e.process->type == PROCESS_MAP && e.process->pid == pid;
	return count;
}

static void a_ring_that_fills_wakes_up(void **state)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ready = {.events = 0};
	struct kernel_events *k;
	struct mapper m;

	(void)state;
	NEEDS_BPF();
	k = open_without_samples();
	m = start_mapper();
	assert_int_equal(kernel_events_watch(k, epoll, TAG), 0);
	order(&m, 10000); /* far more than half of a ring's 1 MiB */
	assert_int_equal(epoll_wait(epoll, &ready, 1, TIMEOUT_S * 1000), 1);
	assert_int_equal(ready.data.u32, TAG);
	await_mapper(&m);
	assert_true(count_maps(k, m.pid) > 0);
	end_mapper(&m);
	kernel_events_close(k);
	close(epoll);
}

static void records_without_room_are_counted(void **state)
{
	struct kernel_events *k;
	struct mapper m;
	uint32_t maps;

	(void)state;
	NEEDS_BPF();
	k = open_without_samples();
	m = start_mapper();
	order(&m, 10);
	await_mapper(&m);
	assert_int_equal(count_maps(k, m.pid), 10);
	assert_int_equal(kernel_events_lost(k), 0);
	order(&m, 20000);
	await_mapper(&m);
	maps = count_maps(k, m.pid);
	assert_true(maps > 0 && maps < 20000);
	order(&m, 10); /* the loss is recorded with the next event */
	await_mapper(&m);
	assert_int_equal(count_maps(k, m.pid), 10);
	assert_true(kernel_events_lost(k) >= 20000 - maps);
	end_mapper(&m);
	kernel_events_close(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tree_in_order_with_bpf),
		cmocka_unit_test(a_tree_in_order_without_bpf),
		cmocka_unit_test(new_events_are_held_back),
		cmocka_unit_test(catching_up_returns_everything),
		cmocka_unit_test(samples_end_with_bpf),
		cmocka_unit_test(samples_end_without_bpf),
		cmocka_unit_test(the_end_of_samples_makes_times_sure),
		cmocka_unit_test(launches_arrive_after_samples_end),
		cmocka_unit_test(nothing_is_wanted),
		cmocka_unit_test(samples_without_privileges),
		cmocka_unit_test(a_ring_that_fills_wakes_up),
		cmocka_unit_test(records_without_room_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
