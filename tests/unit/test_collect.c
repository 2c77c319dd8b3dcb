/* SPDX-License-Identifier: MIT */
/*
 * Acceptance of programs, separation of their ids, and data beyond the limits: the collecting side
 * against programs that send anything, with an quota chosen by the tests.
 */
#include "collect_text.h"
#include "heap.h"
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/base/cuda_functions.h"
#include "profiler/join/collect_private.h"

static size_t memory = COLLECT_MEMORY, quota = COLLECT_TARGET_BYTES;

enum { PID = 70, NO_PID = 1 << 24 };

static int set_quota(void **state)
{
	(void)state;
	memory = COLLECT_MEMORY;
	quota = COLLECT_TARGET_BYTES;
	return 0;
}

static struct collect *new_bounded(void)
{
	struct collect *c = collect_new(&(struct collect_options){
		.sample_ns = SAMPLE_NS, .memory_bytes = memory, .target_bytes = quota});

	assert_non_null(c);
	return c;
}

/* Makes a collect whose target runs its program, with a process tree from the kernel. */
static struct collect *new_tree_of(pid_t pid)
{
	const struct process_event exec = {
		.time_ns = 1, .type = PROCESS_EXEC, .pid = (uint32_t)pid};
	struct collect *c = new_bounded();

	assert_non_null(collect_start_target(c, pid));
	assert_non_null(collect_process_event(c, &exec));
	collect_know_tree(c);
	return c;
}

static struct collect *new_tree(void)
{
	return new_tree_of(PID);
}

/* ---- what programs send ---- */

static void send_stack(struct collect *c, struct process *p, uint32_t id, const char *function)
{
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_STACK,
				       .stack = {.id = id, .is_whole = 1, .function = function}});
}

static void send_launch(struct collect *c, struct process *p, uint32_t correlation,
			struct stack_id stack)
{
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_LAUNCH,
				       .launch = {.time_ns = 100,
						  .tid = 1,
						  .correlation_id = correlation,
						  .family = GPU_LAUNCH_RUNTIME,
						  .stack_id = stack.number}});
}

static void send_kernel(struct collect *c, struct process *p, uint32_t correlation, uint64_t ns)
{
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_KERNEL,
				       .kernel = {.start_ns = 100,
						  .duration_ns = ns,
						  .correlation_id = correlation}});
}

/* Counts the CPU samples in the profile. */
static uint64_t cpu_count(struct collect *c)
{
	uint64_t sum = 0;
	uint32_t count;
	const struct profile_row *rows = profile_rows(collect_results(c).profile, &count);

	for (uint32_t i = 0; i < count; i++)
		sum += rows[i].kind == ROW_CPU ? rows[i].count : 0;
	return sum;
}

static void expect_profile(struct collect *c, const char *expected)
{
	struct written written;
	char *text = folded_text(c, 1000, &written);

	assert_string_equal(text, expected);
	free(text);
	collect_free(c);
}

/* ---- who is believed ---- */

static void only_processes_of_the_tree_are_accepted(void **state)
{
	static const uint32_t strangers[] = {0, 1, 71, 0x7fffffff, 0x80000000u, UINT32_MAX};
	const struct process_event fork = {
		.time_ns = 2, .type = PROCESS_FORK, .pid = 71, .tid = 71, .parent = PID};
	struct collect *c = new_tree();
	struct process *process;

	(void)state;
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
		assert_null(say_hello(c, strangers[i]));
	assert_null(say_hello(c, (uint32_t)getpid()));
	process = say_hello(c, PID);
	assert_ptr_equal(process, collect_find_process(c, PID));
	assert_true(process_is_speaking(process));
	assert_true(process->speech == PROCESS_TRACED);
	/* a child is, as soon as it is one */
	collect_process_event(c, &fork);
	assert_ptr_equal(say_hello(c, 71), collect_find_process(c, 71));
	collect_free(c);
}

/* A process's hello may be read after its end. Another process may have the pid by then. */
static void a_process_that_has_ended_is_accepted_while_it_is_kept(void **state)
{
	const struct process_event map = {.time_ns = 4,
					  .type = PROCESS_MAP,
					  .pid = PID,
					  .mapping = {.end = 4096, .path = "/bin/program"}};
	const struct process_event exit = {
		.time_ns = 5, .type = PROCESS_EXIT, .pid = PID, .tid = PID};
	struct collect *c = new_tree();
	struct process *process = collect_find_process(c, PID);

	(void)state;
	collect_process_event(c, &map);
	collect_process_event(c, &exit);
	assert_ptr_equal(say_hello(c, PID), process);
	assert_int_equal(say_hello(c, PID)->source, PROCESS_PIPE_ONLY); /* another program */
	collect_goodbye(c, process, 6);
	collect_advance(c, 6 + PROCESSES_LINGER_NS);
	assert_null(say_hello(c, PID));
	collect_free(c);
}

/* The kernel's events belong to the process that had the pid at the event's time. */
static void events_are_of_the_process_of_their_time(void **state)
{
	const struct process_event fork = {
		.time_ns = 10, .type = PROCESS_FORK, .pid = 71, .tid = 71, .parent = PID};
	const struct process_event exec = {
		.time_ns = 20, .type = PROCESS_EXEC, .pid = 71, .tid = 71};
	const struct process_event exit = {
		.time_ns = 30, .type = PROCESS_EXIT, .pid = 71, .tid = 71};
	struct process_event again = fork;
	struct collect *c = new_tree();
	struct process *first, *second, *third;

	(void)state;
	first = collect_process_event(c, &fork);
	second = collect_process_event(c, &exec);
	collect_process_event(c, &exit);
	again.time_ns = 40;
	third = collect_process_event(c, &again);
	assert_true(first && second && third && first != second && second != third);
	for (uint64_t ns = 10; ns < 50; ns += 5)
		assert_ptr_equal(
			collect_process_of(c, &(struct stack_event){.pid = 71, .time_ns = ns}),
			ns < 20   ? first
			: ns < 40 ? second
				  : third);
	collect_free(c);
}

/* Returns the CPU time in the time range of a process whose end is reported after the range. */
static uint64_t used_by_one_that_ended(uint64_t began_ns, bool has_read_clocks)
{
	const uint32_t self = (uint32_t)getpid(); /* whose clock can be read */
	const struct process_event fork = {.time_ns = began_ns,
					   .type = PROCESS_FORK,
					   .pid = self,
					   .tid = self,
					   .parent = NO_PID};
	const struct collect_options options = {.sample_ns = 1, .measure = {.samples_cpu = true}};
	struct collect *c = collect_new(&options);
	struct process *process;
	uint64_t used_ns;

	assert_non_null(c);
	collect_find_process(c, NO_PID);
	process = collect_process_event(c, &fork);
	assert_non_null(process);
	collect_set_time_range(c, &(struct time_range){.to_ns = 100});
	if (has_read_clocks)
		collect_read_clocks(c, 105, true);
	used_ns = process->clock.charged_ns;
	collect_cpu_used(c, (pid_t)self, 110, used_ns + 1000000000, false);
	collect_finish(c, 120);
	used_ns = collect_ledger(c)->cpu.used_ns - used_ns;
	collect_free(c);
	return used_ns;
}

static void cpu_time_of_a_process_that_ends_just_after_the_time_range(void **state)
{
	(void)state;
	assert_int_equal(used_by_one_that_ended(10, false), 1000000000);
	assert_int_equal(used_by_one_that_ended(10, true), 0);
	assert_int_equal(used_by_one_that_ended(105, false), 0);
}

/*
 * Returns the CPU time that counts for a process forked at `began_ns`. The last reading of clocks,
 * at 100, precedes the report of the fork; the end is reported at 200.
 */
static uint64_t used_after_the_end(uint32_t pid, uint64_t began_ns, uint64_t exec_ns)
{
	const struct process_event fork = {.time_ns = began_ns,
					   .type = PROCESS_FORK,
					   .pid = pid,
					   .tid = pid,
					   .parent = NO_PID};
	const struct process_event exec = {
		.time_ns = exec_ns, .type = PROCESS_EXEC, .pid = pid, .tid = pid, .comm = "late"};
	const struct collect_options options = {.sample_ns = 1, .measure = {.samples_cpu = true}};
	struct collect *c = collect_new(&options);
	struct process *process;
	uint64_t used_ns;

	assert_non_null(c);
	collect_find_process(c, NO_PID);
	if (exec_ns) /* the process is known once it executes another program */
		collect_process_event(c, &fork);
	collect_read_clocks(c, 100, true);
	process = collect_process_event(c, exec_ns ? &exec : &fork);
	assert_non_null(process);
	used_ns = process->clock.charged_ns;
	collect_cpu_used(c, (pid_t)pid, 200, used_ns + 1000000000, false);
	collect_finish(c, 300);
	used_ns = collect_ledger(c)->cpu.used_ns - used_ns;
	collect_free(c);
	return used_ns;
}

static void cpu_time_of_processes_that_begin_after_the_end(void **state)
{
	const uint32_t self = (uint32_t)getpid(), gone = NO_PID - 1;

	(void)state;
	assert_int_equal(used_after_the_end(self, 110, 0), 0);
	assert_int_equal(used_after_the_end(gone, 110, 0), 0);
	/* forked before the reading: time up to now, or all of it if the process has ended */
	assert_int_equal(used_after_the_end(self, 90, 0), 0);
	assert_int_equal(used_after_the_end(gone, 90, 0), 1000000000);
	/* the process goes on, and executes another program */
	assert_int_equal(used_after_the_end(self, 10, 110), 0);
	assert_int_equal(used_after_the_end(self, 10, 90), 0);
}

/* Says hello without privileges. Returns 0, 1 or 2 if that fails, or 77 if it cannot be tested. */
static int say_hello_as_user(struct collect *c)
{
	struct stat st;

	if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
		return 77;
	prctl(PR_SET_DUMPABLE, 1); /* otherwise /proc shows root as the owner */
	if (stat("/proc/1", &st) != 0 || st.st_uid == geteuid())
		return 77;
	if (say_hello(c, 1))
		return 1;
	return say_hello(c, (uint32_t)getpid()) ? 0 : 2;
}

/* Without a process tree from the kernel, processes of our user are accepted. Root's profiler
 * accepts all. */
static void without_a_tree_our_users_processes_are_accepted(void **state)
{
	struct collect *c = new_bounded();
	int status = 0;
	pid_t child;

	(void)state;
	assert_null(say_hello(c, 0));
	assert_null(say_hello(c, UINT32_MAX));
	assert_non_null(say_hello(c, (uint32_t)getpid()));
	assert_non_null(say_hello(c, 0x7fffffff)); /* ended: its lines may still be in the pipe */
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		status = say_hello_as_user(c);
		collect_free(c); /* valgrind looks for it here, too */
		_exit(status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	collect_free(c);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("there is no other user here");
	assert_int_equal(WEXITSTATUS(status), 0);
}

static struct process *say_hello_from(struct collect *c, uint64_t name_space, uint32_t pid)
{
	return collect_hello(c, &(struct gpu_event_hello){.version = 2,
							  .pid = pid,
							  .pid_namespace = name_space,
							  .executable = "",
							  .wants_ack = 1});
}

/*
 * In our own pid namespace a process is the one it claims. A process in another one that we cannot
 * read has a meaningless pid: it is accepted, and kept apart.
 */
static void pids_are_those_of_a_namespace(void **state)
{
	const uint64_t own = pid_namespace_own().id;
	struct collect *c;
	pid_t child;

	(void)state;
	if (!own)
		SKIP("/proc does not tell the pid namespace");
	/* one that lives: of another its namespace is not known */
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		pause();
		_exit(0);
	}
	c = new_tree_of(child);
	/* nobody of the tree is there: no namespace has such a number */
	assert_null(say_hello_from(c, own + (UINT64_C(1) << 40), (uint32_t)child));
	assert_null(say_hello_from(c, own, 71));
	assert_ptr_equal(say_hello_from(c, own, (uint32_t)child),
			 collect_find_process(c, (uint32_t)child));
	collect_free(c);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* The first process of a new pid namespace, until `end` is closed. */
struct inner {
	pid_t parent, pid; /* pids in this namespace; 0: no namespace can be made */
	int end;
};

static struct inner start_inner(void)
{
	struct inner inner = {.pid = 0};
	int to[2], from[2];
	char byte;

	assert_true(pipe(to) == 0 && pipe(from) == 0);
	inner.parent = fork();
	assert_true(inner.parent >= 0);
	if (inner.parent == 0) {
		pid_t pid;

		close(to[1]);
		if (unshare(CLONE_NEWPID) != 0)
			_exit(0);
		pid = fork();
		if (pid == 0)
			_exit(read(to[0], &byte, 1) == 0 ? 0 : 1);
		if (pid > 0 && write(from[1], &pid, sizeof(pid)) == sizeof(pid))
			waitpid(pid, NULL, 0);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	if (read(from[0], &inner.pid, sizeof(inner.pid)) != sizeof(inner.pid))
		inner.pid = 0;
	close(from[0]);
	inner.end = to[1];
	return inner;
}

static void end_inner(const struct inner *inner)
{
	close(inner->end);
	assert_int_equal(waitpid(inner->parent, NULL, 0), inner->parent);
}

/* One of the tree that has another number where it is. */
static void a_process_is_found_in_its_namespace(void **state)
{
	struct inner inner = start_inner();
	struct process *process, *other;
	struct collect *c;
	char path[64];
	struct stat st;

	(void)state;
	if (!inner.pid) {
		end_inner(&inner);
		SKIP("pid namespaces cannot be made here");
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)inner.pid);
	assert_int_equal(stat(path, &st), 0);
	c = new_tree();
	process = collect_find_process(c, inner.pid);
	/* no process of the tree has this number there */
	other = say_hello_from(c, st.st_ino, (uint32_t)inner.pid);
	assert_true(!other || other->source == PROCESS_PIPE_ONLY);
	assert_ptr_equal(say_hello_from(c, st.st_ino, 1), process);
	assert_false(process->source == PROCESS_PIPE_ONLY);
	end_inner(&inner);
	collect_free(c);
}

/* Nothing is read from an unrelated process that has the hidden process's pid here. */
static void a_hidden_process_is_named_by_its_hello(void **state)
{
	const struct gpu_event_hello hello = {.version = 2,
					      .pid = (uint32_t)getpid(),
					      .pid_namespace = pid_namespace_own().id + 1,
					      .executable = "/opt/bin/infer",
					      .libraries = "",
					      .cupti_path = ""};
	const struct collect_options options = {.sample_ns = 1000, .place_mask = PLACES_ALL};
	struct collect *c = collect_new(&options);
	struct process *process = collect_hello(c, &hello);
	char name[64];

	(void)state;
	if (!pid_namespace_own().id) {
		collect_free(c);
		SKIP("/proc does not show the pid namespace");
	}
	assert_int_equal(process->pid, getpid());
	assert_int_equal(process->visible_pid, 0);
	snprintf(name, sizeof(name), "infer %d", (int)getpid());
	assert_string_equal(place_names_process(collect_results(c).place_names, process->id)->name,
			    name);
	collect_free(c);
}

static void a_program_without_cupti_is_not_traced(void **state)
{
	struct gpu_event_hello hello = {.version = 2, .pid = PID, .wants_ack = 1, .is_off = 1};
	struct collect *c = new_tree();
	struct process *process = collect_hello(c, &hello);

	(void)state;
	assert_true(process_is_speaking(process));
	assert_false(process->speech == PROCESS_TRACED);
	collect_goodbye(c, process, 10);
	assert_false(process_is_speaking(process));
	collect_free(c);
}

/* ---- where tracing never started ---- */

static struct process *happens(struct collect *c, enum process_event_type type, pid_t pid)
{
	return collect_process_event(
		c, &(struct process_event){
			   .time_ns = 2, .type = type, .pid = pid, .tid = pid, .parent = PID});
}

static void map(struct collect *c, pid_t pid, const char *path)
{
	const struct process_event event = {
		.time_ns = 3,
		.type = PROCESS_MAP,
		.pid = pid,
		.mapping = {.start = 0x1000, .end = 0x2000, .path = path}};

	assert_non_null(collect_process_event(c, &event));
}

static void map_driver(struct collect *c, pid_t pid)
{
	map(c, pid, "/usr/lib/libcuda.so.1");
}

/* Maps driver and library, as cuInit does. */
static void map_both(struct collect *c, pid_t pid)
{
	map_driver(c, pid);
	map(c, pid, "/other/name/of/it/inject.so");
}

static struct collect *new_traced_tree(bool nvtx)
{
	struct collect *c = new_tree();

	collect_expect_hellos(c, "/run/inject.so", nvtx);
	return c;
}

/* Expects these counts of untraced processes at the run's end. */
static void expect_untraced(struct collect *c, uint64_t never_started, uint64_t untraced)
{
	collect_ledger(c)->bounds.refused = 3; /* rows of add-ons' tables that found no room */
	collect_finish(c, 10);
	assert_int_equal(collect_ledger(c)->bounds.refused, 3);
	assert_int_equal(collect_ledger(c)->processes.never_started, never_started);
	assert_int_equal(collect_ledger(c)->processes.untraced, untraced);
	collect_free(c);
}

static void a_process_without_a_hello_is_counted(void **state)
{
	struct collect *c = new_traced_tree(false);

	(void)state;
	for (pid_t pid = 71; pid < 78; pid++)
		happens(c, PROCESS_FORK, pid);
	map_both(c, 71);
	map(c, 72, "/run/inject.so");
	map_driver(c, 73);
	map(c, 74, "/usr/lib/libcudart.so.13");
	map(c, 75, "/run/not-inject.so");
	map_both(c, 76);
	assert_non_null(say_hello(c, 76));
	map_driver(c, 77);
	collect_find_process(c, 77)->lacks_gpu_time = true; /* counted as that */
	expect_untraced(c, 2, 1);
}

/* Processes that the kernel looked at when they ended, and what was in the way there. */
static void what_used_the_gpu_is_counted_by_its_cause(void **state)
{
	struct collect *c = new_traced_tree(false);
	const struct ledger *l = collect_ledger(c);
	struct process *process;

	(void)state;
	for (pid_t pid = 71; pid < 78; pid++) {
		happens(c, PROCESS_FORK, pid);
		map_driver(c, pid);
		collect_find_process(c, pid)->gpu.obstacle = UNTRACED_OTHER_FILES;
		collect_open_devices(c, pid, 5, pid > 71, pid > 72 ? 1 : 0);
	}
	collect_open_devices(c, 99, 5, true, 1); /* a process that is not known */
	/* 71 opened none, 72 inherited one, 73 and 74 opened one */
	collect_find_process(c, 74)->gpu.obstacle = UNTRACED_NOT_FOUND;
	process = collect_find_process(c, 75); /* library loaded, tracing never started */
	process->gpu.has_injection = true;
	process = collect_find_process(c, 76); /* the process's calls were timed */
	process->lacks_gpu_time = true;
	collect_ledger(c)->calls.processes++;
	process = collect_find_process(c, 77); /* the process watches the GPU */
	process->gpu.has_nvml = true;
	collect_finish(c, 10);
	assert_int_equal(l->processes.untraced, 2);
	assert_int_equal(l->processes.never_started, 0);
	assert_int_equal(l->processes.causes[UNTRACED_OTHER_FILES], 3);
	assert_int_equal(l->processes.causes[UNTRACED_NOT_FOUND], 1);
	assert_int_equal(l->calls.processes, 4);
	collect_free(c);
}

/* A child whose parent mapped the driver, and never used the driver. */
static void a_child_that_uses_its_parents_driver(void **state)
{
	struct collect *c = new_traced_tree(false);
	const struct ledger *l = collect_ledger(c);

	(void)state;
	map_driver(c, PID);
	collect_find_process(c, PID)->gpu.obstacle = UNTRACED_NO_VARIABLE;
	for (pid_t pid = 71; pid < 74; pid++)
		happens(c, PROCESS_FORK, pid);
	collect_open_devices(c, 71, 5, true, 1);
	collect_open_devices(c, 72, 5, true, 0);
	collect_open_devices(c, 73, 5, false, 0);
	collect_open_devices(c, PID, 6, false, 0);
	collect_finish(c, 10);
	assert_int_equal(l->processes.untraced, 0);
	assert_int_equal(l->processes.causes[UNTRACED_NO_VARIABLE], 1);
	assert_int_equal(l->calls.processes, 1);
	collect_free(c);
}

static void it_is_counted_when_it_is_settled(void **state)
{
	struct collect *c = new_traced_tree(false);

	(void)state;
	happens(c, PROCESS_FORK, 71);
	map_both(c, 71);
	happens(c, PROCESS_EXIT, 71);
	collect_advance(c, 2 + PROCESSES_LINGER_NS);
	assert_int_equal(collect_ledger(c)->processes.never_started, 1);
	expect_untraced(c, 1, 0);
}

/* A forked child has mapped what its parent had; an exec unmaps it. */
static void what_a_parent_or_another_program_mapped_is_not_its_own(void **state)
{
	struct collect *c = new_traced_tree(false);

	(void)state;
	map_both(c, PID);
	assert_non_null(say_hello(c, PID));
	happens(c, PROCESS_FORK, 71);
	happens(c, PROCESS_FORK, 72);
	map_both(c, 72);
	happens(c, PROCESS_EXEC, 72);
	assert_non_null(say_hello(c, 72)); /* the second program's hello; the first one sent none */
	happens(c, PROCESS_EXEC, PID);
	expect_untraced(c, 1, 0);
}

static void with_nvtx_the_library_alone_shows_nothing(void **state)
{
	struct collect *c = new_traced_tree(true);

	(void)state;
	happens(c, PROCESS_FORK, 71);
	happens(c, PROCESS_FORK, 72);
	map(c, 71, "/run/inject.so");
	map_both(c, 72);
	expect_untraced(c, 0, 1);
}

/* In an unreadable pid namespace, one of two processes has said hello, whichever it is: one
 * process counts. */
static void a_hidden_process_that_said_hello_is_not_counted(void **state)
{
	struct collect *c = new_traced_tree(false);

	(void)state;
	for (pid_t pid = 71; pid < 73; pid++) {
		happens(c, PROCESS_FORK, pid)->pid_namespace.id = PID_NAMESPACE_HIDDEN;
		map_both(c, pid);
	}
	assert_int_equal(say_hello_from(c, pid_namespace_own().id + 1, 5)->source,
			 PROCESS_PIPE_ONLY);
	expect_untraced(c, 1, 0);
}

static void nothing_is_counted_where_the_gpu_is_not_traced(void **state)
{
	struct collect *c = new_tree();

	(void)state;
	map_both(c, PID);
	expect_untraced(c, 0, 0);
}

/* ---- through the pipe ---- */

struct text {
	char bytes[65536];
	size_t used;
};

static void append_event(struct text *text, const struct gpu_event *event)
{
	int n = gpu_wire_encode(event, text->bytes + text->used, sizeof(text->bytes) - text->used);

	assert_true(n > 0);
	text->used += (size_t)n;
}

static void put_batch(struct text *text, uint32_t pid, uint64_t instance, uint64_t sequence)
{
	append_event(text,
		     &(struct gpu_event){
			     .type = GPU_EVENT_BATCH,
			     .batch = {.pid = pid, .instance = instance, .sequence = sequence}});
}

static void put_hello(struct text *text, uint32_t pid, uint64_t instance)
{
	put_batch(text, pid, instance, 0);
	append_event(text, &(struct gpu_event){.type = GPU_EVENT_HELLO,
					       .hello = {.version = GPU_WIRE_VERSION,
							 .pid = pid,
							 .instance = instance,
							 .executable = "program",
							 .cupti_path = "",
							 .libraries = "",
							 .wants_ack = 1}});
}

static void put_kernel(struct text *text, uint64_t ns)
{
	append_event(text, &(struct gpu_event){.type = GPU_EVENT_KERNEL,
					       .kernel = {.start_ns = 100,
							  .duration_ns = ns,
							  .name_id = 1,
							  .correlation_id = 1}});
}

static void forged_lines_are_refused(void **state)
{
	struct collect *c = new_tree();
	struct gpu_pipe *pipe = gpu_pipe_new(c);
	struct text *text = calloc(1, sizeof(*text));
	const struct ledger_pipe *ledger = &collect_ledger(c)->pipe;
	struct goodbyes goodbyes = {0};
	struct gpu_event name = {.type = GPU_EVENT_NAME, .name = {1, 0, "kernel"}};

	(void)state;
	assert_true(pipe && text);
	/* another process, then a program that never said hello */
	put_hello(text, 71, 0xf0f0);
	put_kernel(text, 1000);
	put_batch(text, PID, 0xabcd, 5);
	put_kernel(text, 1000);
	/* ours, in the middle of that */
	put_hello(text, PID, 0x1234);
	append_event(text, &name);
	put_kernel(text, 7);
	/* the stranger of that batch continues */
	put_batch(text, 71, 0xf0f0, 1);
	put_kernel(text, 1000);
	gpu_pipe_feed(pipe, text->bytes, text->used);
	take_pipe(c, pipe, 10, &goodbyes);
	assert_int_equal(ledger->processes, 1);
	assert_int_equal(ledger->refused, 4); /* a hello, three kernels */
	assert_int_equal(ledger->malformed, 0);
	assert_int_equal(collect_ledger(c)->gpu.kernels, 1);
	gpu_pipe_free(pipe);
	free(text);
	expect_profile(c, "[launch not captured];[GPU_Kernel]kernel 7\n");
}

/*
 * A second program claims to be a traced process. Both are accepted, because the kernel's record of
 * an exec may be late; neither changes the other's data.
 */
static void an_impostor_is_kept_apart(void **state)
{
	struct collect *c = new_tree();
	struct process *first = say_hello(c, PID), *second = say_hello(c, PID);

	(void)state;
	assert_non_null(second);
	assert_ptr_not_equal(first, second);
	assert_true(second->source == PROCESS_PIPE_ONLY && first->source != PROCESS_PIPE_ONLY);
	assert_ptr_equal(collect_find_process(c, PID), first);
	send_stack(c, first, 1, "cudaLaunchKernel");
	send_stack(c, second, 1, "forged");
	send_launch(c, first, 1, STACK_ID(1));
	send_kernel(c, second, 1, 5000); /* with another process's id */
	send_kernel(c, first, 1, 10);
	send_event(c, first,
		   &(struct gpu_event){.type = GPU_EVENT_SUM, .sum = {.count = 1, .ns = 10}});
	collect_goodbye(c, second, 200);
	assert_int_not_equal(second->ended_ns, 0);
	assert_int_equal(first->ended_ns, 0);
	collect_finish(c, 300);
	assert_int_equal(collect_ledger(c)->gpu.sums, 1);
	assert_int_equal(collect_ledger(c)->gpu.equal, 1);
	assert_int_equal(collect_ledger(c)->gpu.unreported, 1);
	expect_profile(c, "[launch not captured];[GPU_Kernel]k 5000\n"
			  "cudaLaunchKernel;[GPU_Kernel]k 10\n");
}

/* ---- launches without a stack of their own ---- */

static struct gpu_event launch_of(uint32_t tid, uint32_t correlation, struct stack_id stack,
				  uint32_t stands_for)
{
	return (struct gpu_event){.type = GPU_EVENT_LAUNCH,
				  .launch = {.time_ns = 100,
					     .tid = tid,
					     .correlation_id = correlation,
					     .family = GPU_LAUNCH_RUNTIME,
					     .flags = stack.number ? 0 : GPU_LAUNCH_SKIPPED,
					     .stack_id = stack.number,
					     .stands_for = stands_for}};
}

static void launch_and_run(struct collect *c, struct process *p, uint32_t tid,
			   struct stack_id stack, uint32_t stands_for, uint64_t ns)
{
	static uint32_t correlation;
	struct gpu_event launch = launch_of(tid, ++correlation, stack, stands_for);

	send_event(c, p, &launch);
	send_kernel(c, p, correlation, ns);
}

static struct collect *new_target(const struct collect_options *options)
{
	struct collect *c = collect_new(options);

	assert_non_null(c);
	assert_non_null(collect_start_target(c, PID));
	collect_process_event(
		c, &(struct process_event){.time_ns = 1, .type = PROCESS_EXEC, .pid = PID});
	return c;
}

static struct collect *new_limited(uint32_t limit, uint32_t place_mask)
{
	return new_target(&(struct collect_options){
		.sample_ns = SAMPLE_NS, .place_mask = place_mask, .measure.max_overhead = limit});
}

static struct process *two_threads(struct collect *c)
{
	struct process *p = say_hello(c, PID);

	assert_non_null(p);
	send_stack(c, p, 1, "often");
	send_stack(c, p, 2, "seldom");
	launch_and_run(c, p, 1, STACK_ID(1), 4, 10);
	launch_and_run(c, p, 1, STACK_ID(2), 2, 30);
	launch_and_run(c, p, 2, STACK_ID(2), 3, 5);
	for (uint32_t i = 0; i < 4; i++)
		launch_and_run(c, p, 1, STACK_ID(0), 0, 15);
	launch_and_run(c, p, 2, STACK_ID(0), 0, 5);
	launch_and_run(c, p, 2, STACK_ID(0), 0, 5);
	return p;
}

static void others_stand_for_launches_without_a_stack(void **state)
{
	const struct ledger *l;
	struct collect *c = new_limited(1000, 0);

	(void)state;
	two_threads(c);
	collect_finish(c, 300);
	l = collect_ledger(c);
	assert_int_equal(l->launches.with_stack, 3);
	assert_int_equal(l->launches.skipped, 6);
	assert_int_equal(l->gpu.matched, 9);
	assert_int_equal(l->gpu.unmatched, 0);
	assert_int_equal(l->spread.operations, 6);
	assert_int_equal(l->spread.ns, 70);
	assert_int_equal(l->spread.left, 0);
	/* thread 1: "often" has 3 of 4 launches and 30 of 60 ns */
	expect_profile(c, "often;[GPU_Kernel]k 40\nseldom;[GPU_Kernel]k 75\n");
}

/*
 * With a budget a launch represents others: what its window says, also if its stack is unknown.
 * Work that was launched outside of windows is only counted.
 */
static void launches_in_windows_represent_others(void **state)
{
	struct collect *c = new_target(
		&(struct collect_options){.sample_ns = SAMPLE_NS, .measure.budget = 1000});
	struct gpu_event window = {.type = GPU_EVENT_WINDOW,
				   .window = {.from_ns = 5,
					      .to_ns = 50,
					      .period_from_ns = 1,
					      .period_ns = GPU_WINDOW_PERIOD_MIN_NS,
					      .represents = 100}};
	const struct ledger *l;
	struct process *p;

	(void)state;
	p = say_hello(c, PID);
	assert_non_null(p);
	send_stack(c, p, 1, "known");
	send_event(c, p, &window);
	launch_and_run(c, p, 1, STACK_ID(1), 0, 10);
	launch_and_run(c, p, 1, STACK_ID(0), 0, 7);
	send_kernel(c, p, 4000000, 1000); /* its launch was in no window */
	collect_finish(c, 300);
	l = collect_ledger(c);
	assert_int_equal(l->windows.count, 1);
	assert_int_equal(l->windows.ns, 45);
	assert_int_equal(l->launches.kernels, 200);
	assert_int_equal(l->launches.with_stack, 100);
	assert_int_equal(l->gpu.matched, 100);
	assert_int_equal(l->gpu.unmatched, 100);
	assert_int_equal(l->gpu.rows[0].ns, 1700);
	assert_int_equal(l->outside.unchosen, 1);
	assert_int_equal(l->outside.unchosen_ns, 1000);
	assert_int_equal(l->bounds.refused, 0);
	collect_free(c);
}

/* Whatever else rows distinguish: only what is in one place moves. */
static void threads_keep_what_they_launched(void **state)
{
	struct collect *c = new_limited(1000, UINT32_MAX);
	const struct collected in = (two_threads(c), collect_finish(c, 300), collect_results(c));
	uint32_t count;
	const struct profile_row *rows = profile_rows(in.profile, &count);
	uint64_t of_thread[3] = {0}, operations = 0;

	(void)state;
	for (uint32_t i = 0; i < count; i++) {
		if (rows[i].count == 0)
			continue;
		operations += rows[i].count;
		of_thread[in.places->list[rows[i].place.number].part[PLACE_THREAD]] += rows[i].ns;
	}
	assert_int_equal(operations, 9);
	assert_int_equal(of_thread[1], 100);
	assert_int_equal(of_thread[2], 15);
	collect_free(c);
}

/* No other kernel of this process has a stack: it says so. */
static void without_any_stack_work_is_marked(void **state)
{
	struct collect *c = new_limited(1000, 0);
	struct process *p = say_hello(c, PID);

	(void)state;
	launch_and_run(c, p, 1, STACK_ID(0), 0, 15);
	collect_finish(c, 300);
	assert_int_equal(collect_ledger(c)->spread.left, 1);
	assert_int_equal(collect_ledger(c)->spread.left_ns, 15);
	assert_int_equal(collect_ledger(c)->gpu.unmatched, 0);
	expect_profile(c, "[stack not sampled];[GPU_Kernel]k 15\n");
}

/* A program that claims it, unasked, has launches without a stack. */
static void nobody_skips_stacks_unasked(void **state)
{
	struct collect *c = new_limited(0, 0);

	(void)state;
	two_threads(c);
	collect_finish(c, 300);
	assert_int_equal(collect_ledger(c)->launches.skipped, 0);
	assert_int_equal(collect_ledger(c)->gpu.unmatched, 6);
	expect_profile(c, "[launch not captured];[GPU_Kernel]k 70\n"
			  "often;[GPU_Kernel]k 10\nseldom;[GPU_Kernel]k 35\n");
}

/* Sends all kinds of ids that programs assign. Ids of two programs are separate. */
static void send_all_of_one(struct collect *c, struct process *p, const char *name, uint64_t ns)
{
	const struct gpu_event_frame frames[] = {
		{1, GPU_FRAME_PYTHON, 0}, {1, GPU_FRAME_NVTX, 0}, {0x1010, GPU_FRAME_RETURN, 0}};
	char path[64];

	snprintf(path, sizeof(path), "/no where/%s", name);
	send_event(c, p,
		   &(struct gpu_event){
			   .type = GPU_EVENT_CODE,
			   .code = {.start = 0x1000, .end = 0x2000, .inode = ns, .path = path}});
	send_event(
		c, p,
		&(struct gpu_event){.type = GPU_EVENT_PYCODE, .pycode = {1, name, "", "x.py", 1}});
	send_event(c, p, &(struct gpu_event){.type = GPU_EVENT_NVTX, .nvtx = {1, 0, "", name}});
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_STACK,
				       .stack = {.id = 1,
						 .is_whole = 1,
						 .function = name,
						 .count = 3,
						 .frames = frames}});
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_NODE,
				       .node = {.id = 5, .time_ns = 50, .stack_id = 1}});
}

static void run_all_of_one(struct collect *c, struct process *p, uint64_t ns)
{
	send_launch(c, p, 1, STACK_ID(1));
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_KERNEL,
				       .kernel = {.start_ns = 100,
						  .duration_ns = ns,
						  .correlation_id = 1,
						  .graph_node_id = 5}});
	send_event(c, p, &(struct gpu_event){.type = GPU_EVENT_SUM, .sum = {.count = 1, .ns = ns}});
}

static void expect_two_apart(struct collect *c)
{
	collect_finish(c, 300);
	assert_int_equal(collect_ledger(c)->gpu.sums, 2);
	assert_int_equal(collect_ledger(c)->gpu.equal, 2);
	expect_profile(c, "[a];nvtx:a;a (x.py);a;[graph node captured at];"
			  "[a];nvtx:a;a (x.py);a;[GPU_Kernel]k 10\n"
			  "[b];nvtx:b;b (x.py);b;[graph node captured at];"
			  "[b];nvtx:b;b (x.py);b;[GPU_Kernel]k 20\n");
}

static void numbers_of_two_programs_are_kept_apart(void **state)
{
	(void)state;
	for (int knows_tree = 0; knows_tree < 2; knows_tree++) {
		struct collect *c = knows_tree ? new_tree() : new_bounded();
		struct process *a = say_hello(c, PID), *b = say_hello(c, PID);

		send_all_of_one(c, a, "a", 10);
		send_all_of_one(c, b, "b", 20);
		run_all_of_one(c, a, 10);
		run_all_of_one(c, b, 20);
		expect_two_apart(c);
	}
}

/* The first has ended when the second says hello, and no exec between was recorded. */
static void a_later_program_is_not_the_first_one(void **state)
{
	(void)state;
	for (int knows_tree = 0; knows_tree < 2; knows_tree++) {
		struct collect *c = knows_tree ? new_tree() : new_bounded();
		struct process *a = say_hello(c, PID), *b;
		struct sent_stack stack;

		send_all_of_one(c, a, "a", 10);
		run_all_of_one(c, a, 10);
		collect_goodbye(c, a, 200);
		b = say_hello(c, PID);
		assert_false(target_stacks_get(&b->sent, 1, &stack));
		send_all_of_one(c, b, "b", 20);
		run_all_of_one(c, b, 20);
		expect_two_apart(c);
	}
}

/* ---- sparse numbers ---- */

/* Puts one event of each kind with a number: the `i`-th of numbers that are `step` apart. */
static void put_numbers(struct text *text, uint32_t i, uint32_t step)
{
	uint32_t id = UINT32_MAX - i * step;
	uint64_t node = (uint64_t)(id / 2 + 1) << 32;
	const struct gpu_event_frame frames[] = {{GPU_PYCODE_MAX_ID - i, GPU_FRAME_PYTHON, 0},
						 {GPU_NVTX_MAX_ID - i, GPU_FRAME_NVTX, 0}};
	const struct gpu_event events[] = {
		{.type = GPU_EVENT_NAME, .name = {65536 - i, 0, "kernel"}},
		{.type = GPU_EVENT_PYCODE, .pycode = {GPU_PYCODE_MAX_ID - i, "f", "", "x.py", 1}},
		{.type = GPU_EVENT_NVTX, .nvtx = {GPU_NVTX_MAX_ID - i, 0, "", "range"}},
		{.type = GPU_EVENT_STACK, .stack = {id, 1, "cudaLaunchKernel", 2, frames}},
		{.type = GPU_EVENT_NODE, .node = {.id = node, .time_ns = 50, .stack_id = id}},
		{.type = GPU_EVENT_DEVICE,
		 .device = {.id = GPU_DEVICE_MAX_ID - 1 - i, .name = "GPU"}},
		{.type = GPU_EVENT_LAUNCH,
		 .launch = {100, id, id, GPU_LAUNCH_RUNTIME, GPU_LAUNCH_IS_GRAPH, id}},
		{.type = GPU_EVENT_KERNEL,
		 .kernel = {.start_ns = 100,
			    .duration_ns = 1,
			    .name_id = 65536 - i,
			    .correlation_id = id,
			    .device_id = id,
			    .context_id = id,
			    .stream_id = id,
			    .graph_node_id = node}},
		{.type = GPU_EVENT_SUM,
		 .sum = {.device_id = id, .context_id = id, .stream_id = id, .count = 1, .ns = 1}},
	};

	for (size_t e = 0; e < sizeof(events) / sizeof(events[0]); e++)
		append_event(text, &events[e]);
}

static void high_numbers_take_next_to_no_memory(void **state)
{
	const struct collect_options options = {.place_mask = 31, .sample_ns = 1};
	struct collect *c = collect_new(&options);
	struct gpu_pipe *pipe = c ? gpu_pipe_new(c) : NULL;
	struct text *text = calloc(1, sizeof(*text));
	struct goodbyes goodbyes = {0};
	uint32_t count = 0;
	size_t before;

	(void)state;
	assert_true(pipe && text);
	put_hello(text, PID, 0x1234);
	/* low ones first: what is there at once is not what this is about */
	put_numbers(text, 1, 0xfffffffe);
	gpu_pipe_feed(pipe, text->bytes, text->used);
	take_pipe(c, pipe, 1, &goodbyes);
	text->used = 0;
	put_batch(text, PID, 0x1234, 1);
	while (text->used < 10000)
		put_numbers(text, ++count, 100000000);
	before = heap_bytes();
	gpu_pipe_feed(pipe, text->bytes, text->used);
	take_pipe(c, pipe, 2, &goodbyes);
	assert_true(heap_bytes() <= before + HEAP_NOISE);
	assert_int_equal(collect_ledger(c)->pipe.malformed, 0);
	assert_int_equal(collect_ledger(c)->gpu.kernels, 1 + count);
	collect_finish(c, 100);
	assert_int_equal(collect_ledger(c)->gpu.unseen_nodes, 0);
	assert_int_equal(collect_ledger(c)->gpu.unmatched, 0);
	assert_int_equal(collect_ledger(c)->gpu.sums, 1 + count);
	assert_int_equal(collect_ledger(c)->gpu.equal, 1 + count);
	gpu_pipe_free(pipe);
	free(text);
	collect_free(c);
}

/* ---- what is too much ---- */

static void the_quota_is_of_128_mib(void **state)
{
	struct collect *c = new_bounded();

	(void)state;
	assert_int_equal(c->target_bytes.limit, 128u << 20);
	assert_int_equal(c->target_bytes.used, 0);
	collect_free(c);
}

/* Sends work without a launch, which is in the tallies nevertheless. */
static void send_migration(struct collect *c, struct process *p, uint32_t stream, uint64_t ns)
{
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_WORK,
				       .work = {.work = GPU_WORK_UVM_HTOD,
						.start_ns = 1,
						.duration_ns = ns,
						.bytes = 2 * ns,
						.stream_id = stream}});
}

static void send_sum(struct collect *c, struct process *p, uint32_t stream, uint64_t count,
		     uint64_t ns)
{
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_SUM,
				       .sum = {.work = GPU_WORK_UVM_HTOD,
					       .stream_id = stream,
					       .count = count,
					       .ns = ns,
					       .bytes = 2 * ns}});
}

static void unified_memory_that_nobody_watches_is_counted(void **state)
{
	struct gpu_event alloc = {
		.type = GPU_EVENT_WORK,
		.work = {.work = GPU_WORK_ALLOC, .destination_memory = GPU_MEMORY_MANAGED}};
	struct collect *c = new_bounded();
	struct process *p;

	(void)state;
	p = say_hello(c, PID);
	send_event(c, p, &alloc);
	alloc.work.destination_memory = GPU_MEMORY_DEVICE;
	send_event(c, p, &alloc);
	assert_int_equal(collect_ledger(c)->gpu.unwatched, 1);
	collect_free(c);
}

/* A node without a correlation id: below where it was made, and not unmatched. */
static void nodes_may_be_launched_by_kernels(void **state)
{
	struct collect *c = new_bounded();
	struct process *p;

	(void)state;
	collect_text(c, "k");
	p = say_hello(c, PID);
	send_stack(c, p, 1, "adds");
	send_event(c, p,
		   &(struct gpu_event){
			   .type = GPU_EVENT_NODE,
			   .node = {.id = 7ull << 32, .time_ns = 10, .tid = 1, .stack_id = 1}});
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_WORK,
				       .work = {.work = GPU_WORK_MEMSET,
						.start_ns = 100,
						.duration_ns = 5000,
						.graph_node_id = 7ull << 32}});
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_WORK,
				       .work = {.work = GPU_WORK_DEVICE_GRAPH,
						.start_ns = 100,
						.duration_ns = 3000}});
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_WORK,
				       .work = {.work = GPU_WORK_DECOMPRESS,
						.start_ns = 100,
						.correlation_id = 77,
						.duration_ns = 2000}});
	collect_finish(c, 100);
	assert_int_equal(collect_ledger(c)->gpu.unmatched, 1);
	assert_int_equal(collect_ledger(c)->gpu.unseen_nodes, 0);
	expect_profile(c,
		       "[GPU_Graph, launched by a kernel] 3000\n"
		       "[launch not captured];[GPU_Decompress] 2000\n"
		       "[launched by a kernel];[graph node captured at];adds;[GPU_Memset] 5000\n");
}

static void streams_beyond_the_quota_are_not_compared(void **state)
{
	enum { STREAMS = 300 };
	const struct ledger *ledger;
	struct collect *c;
	struct process *p;
	size_t used;

	(void)state;
	quota = 20000;
	c = new_bounded();
	ledger = collect_ledger(c);
	collect_text(c, "k");
	used = c->target_bytes.used;
	p = say_hello(c, PID);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < STREAMS; i++)
			send_migration(c, p, i, 10);
	for (uint32_t i = 0; i < STREAMS; i++)
		send_sum(c, p, i, 2, 20);
	assert_true(p->counted.count + p->reported.count < 20000 / sizeof(struct work_sum));
	assert_true(p->reported.overflowed);
	collect_finish(c, 100);
	assert_int_equal(ledger->gpu.equal, ledger->gpu.sums);
	assert_int_equal(ledger->gpu.unreported, 0);
	assert_true(ledger->gpu.uncompared > 0);
	assert_true(ledger->bounds.refused > 0);
	/* the totals have all of it */
	assert_int_equal(ledger->gpu.row_count, 1);
	assert_int_equal(ledger->gpu.rows[0].count, 2 * STREAMS);
	assert_int_equal(ledger->gpu.rows[0].ns, 20 * STREAMS);
	assert_int_equal(ledger->gpu.rows[0].bytes, 40 * STREAMS);
	assert_int_equal(c->target_bytes.used, used);
	expect_profile(c, "[GPU_UVM HtoD] 6000\n");
}

/* An expired process's memory is free for others. */
static void an_ended_process_frees_its_room(void **state)
{
	struct collect *c;
	struct process *p;
	size_t used;

	(void)state;
	quota = 20000;
	c = new_bounded();
	collect_text(c, "k");
	used = c->target_bytes.used;
	for (uint32_t n = 1; n <= 20; n++) {
		p = say_hello(c, PID);
		for (uint32_t i = 0; i < 40; i++) {
			send_stack(c, p, UINT32_MAX - i, "");
			send_migration(c, p, i, 10);
			send_sum(c, p, i, 1, 10);
		}
		assert_true(c->target_bytes.used > used);
		collect_goodbye(c, p, n * UINT64_C(10000000000));
		collect_advance(c, n * UINT64_C(10000000000) + PROCESSES_LINGER_NS);
		assert_int_equal(c->target_bytes.used, used);
	}
	collect_finish(c, UINT64_C(1) << 60);
	assert_int_equal(collect_ledger(c)->gpu.sums, 20 * 40);
	assert_int_equal(collect_ledger(c)->gpu.equal, 20 * 40);
	assert_int_equal(collect_ledger(c)->gpu.uncompared, 0);
	assert_int_equal(collect_ledger(c)->bounds.refused, 0);
	collect_free(c);
}

enum { PROGRAMS = 4, STREAMS = 64 };

struct program {
	struct process *process;
	uint64_t count[STREAMS], ns[STREAMS];
	bool has_left;
};

static void leave(struct collect *c, struct program *p, uint64_t now)
{
	for (uint32_t i = 0; i < STREAMS; i++)
		if (p->count[i])
			send_sum(c, p->process, i, p->count[i], p->ns[i]);
	collect_goodbye(c, p->process, now);
	memset(p, 0, sizeof(*p));
}

/* Plays honest programs with any quota, which never make a difference. */
static void random_programs(struct prng *r)
{
	struct program programs[PROGRAMS] = {{.process = NULL}};
	uint64_t now = 1, events = prng_bits(r, 11), work = 0, ns_seen = 0, keys = 0;
	const struct ledger *ledger;
	struct collect *c;

	quota = prng_chance(r, 70) ? prng_bits(r, 16) : 1 << 20;
	c = new_bounded();
	ledger = collect_ledger(c);
	for (uint64_t i = 0; i < events; i++) {
		struct program *p = &programs[prng_below(r, PROGRAMS)];
		uint32_t stream = (uint32_t)prng_bits(r, 6) % STREAMS;
		uint64_t ns = prng_bits(r, 20);

		now += prng_bits(r, 30);
		if (!p->process)
			p->process = say_hello(c, PID);
		if (prng_chance(r, 2)) {
			leave(c, p, now);
			continue;
		}
		send_migration(c, p->process, stream, ns);
		keys += p->count[stream] == 0;
		p->count[stream]++;
		p->ns[stream] += ns;
		work++;
		ns_seen += ns;
		if (prng_chance(r, 10))
			collect_advance(c, now);
	}
	for (int i = 0; i < PROGRAMS; i++)
		if (programs[i].process)
			leave(c, &programs[i], now);
	collect_finish(c, now);
	EXPECT(r, ledger->gpu.equal == ledger->gpu.sums && ledger->gpu.unreported == 0);
	EXPECT(r, ledger->gpu.sums == keys || (ledger->gpu.sums < keys && ledger->gpu.uncompared));
	EXPECT(r, c->target_bytes.refused > 0 ||
			  (ledger->gpu.sums == keys && !ledger->gpu.uncompared));
	for (uint32_t i = 0; i < ledger->gpu.row_count; i++) {
		work -= ledger->gpu.rows[i].count;
		ns_seen -= ledger->gpu.rows[i].ns;
	}
	EXPECT(r, work == 0 && ns_seen == 0);
	collect_free(c);
}

static void uncompared_sums_never_differ(void **state)
{
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 10 : 300);

	(void)state;
	for (uint64_t round = 0; round < rounds; round++) {
		struct prng r = prng_round(round);

		random_programs(&r);
	}
}

/* Each stack is handed to the next: outputs write all frames of each. */
static void stacks_that_are_handed_on_and_on_have_an_end(void **state)
{
	enum { STACKS = 3 * COLLECT_HANDED_FRAMES };
	const struct gpu_event_frame frame = {0x1000, GPU_FRAME_RETURN, 0};
	struct collect *c = new_tree();
	struct process *p = say_hello(c, PID);
	uint32_t most = 0, count;
	struct collected collected;
	const struct profile_row *rows;

	(void)state;
	for (uint32_t i = 1; i <= STACKS; i++) {
		send_event(c, p,
			   &(struct gpu_event){.type = GPU_EVENT_STACK,
					       .stack = {.id = i,
							 .is_whole = 1,
							 .function = "f",
							 .count = 1,
							 .frames = &frame,
							 .handed_from = i - 1,
							 .handed_to = "t"}});
		send_launch(c, p, i, STACK_ID(i));
		send_kernel(c, p, i, 1);
	}
	collect_finish(c, 1000);
	collected = collect_results(c);
	rows = profile_rows(collected.profile, &count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t depth = 0, stack = rows[i].stack.number;

		for (; stack != STACK_EMPTY.number;
		     stack = stack_table_outer(collected.stacks, STACK_ID(stack)).number)
			depth++;
		most = depth > most ? depth : most;
	}
	assert_in_range(most, COLLECT_HANDED_FRAMES, COLLECT_HANDED_FRAMES + 10);
	assert_int_equal(collected.ledger->launches.handed +
				 collected.ledger->launches.without_parent,
			 STACKS);
	assert_in_range(collected.ledger->launches.without_parent, 2, 20);
	collect_free(c);
}

/* Fills every table a little more each round: threads, streams, graphs, launches, waits. */
static uint64_t flood(struct collect *c, struct process *p, uint32_t i)
{
	const struct gpu_event_frame frame = {i, GPU_FRAME_RETURN, 0};
	struct gpu_event events[] = {
		{.type = GPU_EVENT_STACK, .stack = {i, 1, "f", 1, &frame}},
		{.type = GPU_EVENT_NODE,
		 .node = {.id = (uint64_t)i << 32, .time_ns = 1, .tid = i, .stack_id = i}},
		{.type = GPU_EVENT_LAUNCH,
		 .launch = {.time_ns = i, .tid = i, .correlation_id = i, .stack_id = i}},
		{.type = GPU_EVENT_KERNEL,
		 .kernel = {.start_ns = i, .duration_ns = 10, .correlation_id = i, .stream_id = i}},
		{.type = GPU_EVENT_WAIT,
		 .wait = {.start_ns = i, .duration_ns = 100, .tid = i, .stack_id = i}},
		/* whose launch does not come */
		{.type = GPU_EVENT_KERNEL,
		 .kernel = {.start_ns = i, .duration_ns = 1, .correlation_id = i | 1u << 31}},
		{.type = GPU_EVENT_LAUNCH,
		 .launch = {.time_ns = i, .tid = i, .correlation_id = i | 1u << 30}},
	};

	for (size_t at = 0; at < sizeof(events) / sizeof(events[0]); at++)
		send_event(c, p, &events[at]);
	return 10 + 1;
}

static void everything_together_stays_within_the_memory(void **state)
{
	const uint32_t rounds = getenv("UNDER_VALGRIND") ? 10000 : 40000;
	struct collect *c;
	struct process *p;
	struct written written;
	size_t full = 0;
	uint64_t ns = 0;
	char *text;

	(void)state;
	memory = 4u << 20;
	c = collect_new(&(struct collect_options){.sample_ns = SAMPLE_NS,
						  .place_mask = UINT32_MAX,
						  .measure.waits = true,
						  .memory_bytes = memory});
	assert_non_null(c);
	p = say_hello(c, PID);
	for (uint32_t i = 1; i <= rounds; i++) {
		ns += flood(c, p, i);
		assert_true(c->memory.used <= memory);
		if (i == rounds / 2)
			full = heap_bytes();
	}
	assert_true(memory - c->memory.used < 4096);
	assert_true(heap_bytes() <= full + HEAP_NOISE);
	collect_text(c, "a text that would need one more byte than there is");
	text = folded_text(c, 1000, &written);
	assert_true(c->memory.used <= memory);
	assert_int_equal(written.total[ROW_GPU], ns);
	assert_int_equal(written.total[ROW_WAIT], 100 * rounds);
	assert_true(c->ledger.bounds.stacks > 0);
	assert_true(c->ledger.bounds.refused > 0);
	free(text);
	collect_free(c);
}

/* Names, code and stacks: refused ones are unknown, and counted. */
static void calls_beyond_the_limit_are_unknown(void **state)
{
	const struct gpu_event_frame frames[] = {{1, GPU_FRAME_PYTHON, 0}, {1, GPU_FRAME_NVTX, 0}};
	struct collect *c;
	struct process *p;

	(void)state;
	quota = 300;
	c = new_bounded();
	p = say_hello(c, PID);
	assert_non_null(collect_text(c, "k"));
	send_stack(c, p, 1, "cudaLaunchKernel");
	send_launch(c, p, 1, STACK_ID(1));
	send_kernel(c, p, 1, 1);
	while (collect_text(c, (char[]){(char)('a' + (int)(c->strings.count % 26)), 'x', '\0'}))
		;
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_PYCODE,
				       .pycode = {1, "function of python", "", "x.py", 1}});
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_NVTX, .nvtx = {1, 0, "", "a range"}});
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_STACK,
				       .stack = {2, 1, "cudaLaunchCooperativeKernel", 2, frames}});
	send_launch(c, p, 2, STACK_ID(2));
	collect_gpu_event(
		c, p,
		&(struct gpu_event){
			.type = GPU_EVENT_KERNEL,
			.kernel = {.start_ns = 100, .duration_ns = 1, .correlation_id = 2}},
		GPU_PIPE_NAME_LOST);
	collect_finish(c, 100);
	assert_true(collect_ledger(c)->bounds.refused >= 4);
	assert_int_equal(collect_ledger(c)->launches.with_stack, 1);
	expect_profile(c, "[launch not captured];[GPU_Kernel][kernel name lost] 1\n"
			  "cudaLaunchKernel;[GPU_Kernel]k 1\n");
}

/* ---- stacks ---- */

/* Stacks of a recording are bounded, because anybody may have written the file. The BPF source
 * checks stacks from the kernel. */
static void recorded_stacks_are_bounded(void **state)
{
	struct stack_event event = {.time_ns = 100, .pid = PID, .tid = PID};
	__u64 addresses[1024] = {0x1010};
	struct collect *c = new_tree();
	const struct ledger_cpu *cpu = &collect_ledger(c)->cpu;

	(void)state;
	event.user_frames = STACK_BUILDER_UNWOUND + 1;
	collect_addresses(c, &event, addresses, NULL);
	event.user_frames = 1;
	event.kernel_frames = STACK_EVENT_MAX_FRAMES + 1;
	collect_addresses(c, &event, addresses, NULL);
	assert_int_equal(cpu->samples, 0);
	/* data just below the limit is accepted */
	event.user_frames = STACK_BUILDER_UNWOUND;
	event.kernel_frames = STACK_EVENT_MAX_FRAMES;
	collect_addresses(c, &event, addresses, NULL);
	assert_int_equal(cpu->samples, 1);
	collect_free(c);
}

static void samples_weigh_their_period(void **state)
{
	const struct stack_event whole = {.time_ns = 100, .pid = PID, .tid = PID, .user_frames = 1};
	struct stack_event cut = whole;
	const __u64 address = 0x1010;
	struct collect *c = new_tree();

	(void)state;
	cut.flags = STACK_EVENT_TRUNCATED;
	for (int i = 0; i < 3; i++)
		collect_addresses(c, &whole, &address, NULL);
	collect_addresses(c, &cut, &address, NULL);
	assert_int_equal(collect_ledger(c)->cpu.samples, 4);
	assert_int_equal(collect_ledger(c)->cpu.whole, 3);
	assert_int_equal(collect_ledger(c)->bounds.truncated, 1);
	expect_profile(c, "[truncated];[unknown] 1000\n[unknown] 3000\n");
}

/* Samples weigh what their thread ran, and each kind of time off the CPU goes below its stack. */
static void a_threads_times_add_up(void **state)
{
	static struct stack_snapshot stack = {.event = {.time_ns = 100, .pid = PID, .tid = PID},
					      .registers[16] = 0x1010};
	struct stack_on_cpu back = {.event = {.time_ns = 5100, .pid = PID, .tid = PID},
				    .left_ns = 100,
				    .blocked_ns = 4000,
				    .runnable_ns = 1000,
				    .kind = SYS_futex,
				    .site = 7};
	struct stack_thread_times end = {
		.event = {.time_ns = 90000, .pid = PID, .tid = PID},
		.times = {.ran_ns = 10000, .sampled_ns = 7000, .switches = 5, .in_calls_ns = 6}};
	struct collect *c = new_tree();
	const struct ledger_wall *wall = &collect_ledger(c)->wall;

	(void)state;
	stack.ran_ns = 7000;
	assert_true(collect_snapshot(c, &stack, NULL));
	collect_off_cpu(c, &stack);
	collect_on_cpu(c, &back);
	/* a second return to this stack, which is used up */
	back.blocked_ns = 2000;
	back.runnable_ns = 0;
	collect_on_cpu(c, &back);
	end.times.sums[0] = (struct stack_off_cpu_sum){.kind = SYS_futex, .blocked_ns = 8000};
	end.times.sums[1] = (struct stack_off_cpu_sum){.kind = SYS_read, .blocked_ns = 3000};
	end.times.sums[2] =
		(struct stack_off_cpu_sum){.kind = STACK_OFF_CPU_NEW, .runnable_ns = 1000};
	collect_thread_times(c, &end);
	assert_int_equal(wall->threads, 1);
	assert_int_equal(wall->switches, 5);
	assert_int_equal(wall->stacks, 1);
	assert_int_equal(wall->ran_ns, 10000);
	assert_int_equal(wall->in_calls_ns, 6);
	assert_int_equal(wall->off_ns[OFF_CPU_FUTEX], 14000);
	assert_int_equal(wall->off_ns[OFF_CPU_READ], 3000);
	assert_int_equal(wall->off_ns[OFF_CPU_RUNNABLE], 2000);
	assert_int_equal(wall->spread_ns, 10000);
	assert_int_equal(wall->left_ns, 4000);
	assert_int_equal(collect_ledger(c)->cpu.not_sampled_ns, 3000);
	assert_int_equal(cpu_count(c), 1);
	expect_profile(c, "[process];[not sampled] 3000\n"
			  "[process];[stack not captured];[blocked: read] 3000\n"
			  "[process];[stack not captured];[runnable] 1000\n"
			  "[truncated];[unknown] 7000\n"
			  "[truncated];[unknown];[blocked: futex] 14000\n"
			  "[truncated];[unknown];[runnable] 1000\n");
}

/* Off-CPU times of profile's own code before exec, and of other processes, are not kept. */
static void times_before_the_command_are_not_kept(void **state)
{
	struct stack_thread_times end = {.event = {.time_ns = 9, .pid = PID, .tid = PID},
					 .times = {.ran_ns = 10000}};
	struct collect *c = new_bounded();

	(void)state;
	assert_non_null(collect_start_target(c, PID));
	collect_thread_times(c, &end);
	assert_int_equal(collect_ledger(c)->wall.threads, 0);
	expect_profile(c, "");
}

/* Returns the name of a thread, or "-" without samples. Checks the number of its samples. */
static const char *thread_name(const struct collected *in, uint32_t process, uint32_t tid,
			       uint64_t samples)
{
	const struct thread_info *info = place_names_thread(in->place_names, process, tid);
	uint32_t count;
	const struct profile_row *rows = profile_rows(in->profile, &count);

	for (uint32_t i = 0; i < count; i++) {
		const struct place *place = &in->places->list[rows[i].place.number];

		if (rows[i].count && place->part[PLACE_PROCESS] == process &&
		    place->part[PLACE_THREAD] == tid) {
			assert_int_equal(rows[i].kind, ROW_CPU);
			assert_int_equal(rows[i].count, samples);
			assert_int_equal(place->part[PLACE_DEVICE], PLACE_UNKNOWN);
			return info ? info->name : "-";
		}
	}
	return "no sample";
}

static void samples_have_places_with_names(void **state)
{
	enum { NOBODY = 2000000070 }; /* larger than any pid */
	const struct collect_options options = {
		.place_mask = 1u << PLACE_PROCESS | 1u << PLACE_THREAD, .sample_ns = 1};
	const struct process_event exec = {.type = PROCESS_EXEC, .pid = NOBODY, .comm = "train"};
	struct process_event comm = {
		.type = PROCESS_COMM, .pid = NOBODY, .tid = 71, .comm = "loader"};
	struct stack_event event = {.pid = NOBODY, .user_frames = 1};
	const __u64 address = 0x1010;
	struct collect *c = collect_new(&options);
	struct collected in;
	uint32_t id;

	(void)state;
	collect_start_target(c, NOBODY);
	id = collect_process_event(c, &exec)->id;
	collect_process_event(c, &comm);
	for (uint32_t i = 0; i < 6; i++) {
		event.tid = i < 1 ? 71 : i < 3 ? 72 : NOBODY;
		collect_addresses(c, &event, &address, NULL);
	}
	memcpy(comm.comm, "renamed", 8); /* no time is spent under it */
	collect_process_event(c, &comm);
	collect_finish(c, 10);
	in = collect_results(c);
	assert_string_equal(place_names_process(in.place_names, id)->name, "train 2000000070");
	assert_int_equal(place_names_process(in.place_names, id)->pid, NOBODY);
	assert_string_equal(thread_name(&in, id, 71, 1), "loader 71");
	assert_string_equal(thread_name(&in, id, 72, 2), "[thread 72]");
	assert_string_equal(thread_name(&in, id, NOBODY, 3), "[thread 2000000070]");
	collect_free(c);
}

/* Launches are counted by where their stack is from. */
static void launches_are_counted(void **state)
{
	struct stack_event probe = {.time_ns = 99, .pid = PID, .tid = 1, .user_frames = 1};
	const __u64 address = 0x1010;
	struct collect *c = new_tree();
	struct process *p = say_hello(c, PID);
	const struct ledger_launches *l = &collect_ledger(c)->launches;
	struct gpu_event copy = {.type = GPU_EVENT_LAUNCH,
				 .launch = {.time_ns = 99,
					    .tid = 1,
					    .correlation_id = 4,
					    .flags = GPU_LAUNCH_IS_OTHER}};

	(void)state;
	probe.launch_function = cuda_function_of("cudaLaunchKernel");
	send_stack(c, p, 1, "whole");
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_STACK,
				       .stack = {.id = 2, .function = "cut"}});
	collect_addresses(c, &probe, &address, "probed");
	send_launch(c, p, 1, STACK_ID(1));
	send_launch(c, p, 2, STACK_ID(2));
	send_launch(c, p, 3, STACK_ID(77)); /* was never sent: its probe has one */
	send_event(c, p, &copy);            /* no probe is on such calls */
	for (uint32_t i = 1; i <= 3; i++)
		send_kernel(c, p, i, i);
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_WORK,
				       .work = {.work = GPU_WORK_MEMSET,
						.start_ns = 100,
						.duration_ns = 4,
						.correlation_id = 4}});
	assert_int_equal(l->kernels, 3);
	assert_int_equal(l->with_stack, 2);
	assert_int_equal(l->whole, 2); /* "whole", and the probe's */
	assert_int_equal(l->by_probe, 1);
	expect_profile(c, "[launch not captured];[GPU_Memset] 4\n"
			  "[truncated];cut;[GPU_Kernel]k 2\n"
			  "probed;[GPU_Kernel]k 3\n"
			  "whole;[GPU_Kernel]k 1\n");
}

/* ---- records as they come ---- */

struct heard {
	struct timeline_record records[16];
	uint64_t launched_ns[16];
	uint32_t count;
};

static void hear(void *context, const struct timeline_record *record, uint64_t launched_ns)
{
	struct heard *heard = context;

	assert_true(heard->count < 16);
	heard->records[heard->count] = *record;
	heard->launched_ns[heard->count++] = launched_ns;
}

static void launch_at(struct collect *c, struct process *p, uint64_t time_ns, uint32_t correlation)
{
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_LAUNCH,
				       .launch = {.time_ns = time_ns,
						  .tid = 1,
						  .correlation_id = correlation,
						  .family = GPU_LAUNCH_RUNTIME,
						  .stack_id = 1}});
	send_event(
		c, p,
		&(struct gpu_event){
			.type = GPU_EVENT_LAUNCH_END,
			.launch_end = {.duration_ns = 5, .tid = 1, .correlation_id = correlation}});
}

static void run_at(struct collect *c, struct process *p, uint64_t time_ns, uint32_t correlation)
{
	send_event(c, p,
		   &(struct gpu_event){.type = GPU_EVENT_KERNEL,
				       .kernel = {.start_ns = time_ns,
						  .duration_ns = 10,
						  .correlation_id = correlation}});
}

/* Each record has the time of its launch; 0: unknown. Nothing of the run is kept. */
static void records_pass_with_their_launches(void **state)
{
	static const struct {
		uint64_t start_ns, launched_ns;
	} kernels[] = {{1100, 1000}, {1210, 1200}, {1310, 0}, {1390, 0},
		       {1500, 0},    {9100, 9100}, {9000, 0}};
	struct heard heard = {.count = 0};
	struct timeline *timeline = timeline_new(NULL, NULL);
	struct collect *c = collect_new(&(struct collect_options){
		.sample_ns = SAMPLE_NS, .place_mask = PLACES_ALL, .timeline = timeline});
	uint32_t launches = 0, at = 0;
	struct process *p;

	(void)state;
	assert_true(c && timeline);
	timeline_listen(timeline, hear, &heard);
	collect_set_time_range(c, &(struct time_range){.from_ns = 950});
	p = say_hello(c, PID);
	send_stack(c, p, 1, "cudaLaunchKernel");
	launch_at(c, p, 1000, 1);
	run_at(c, p, 1100, 1);
	run_at(c, p, 1210, 2); /* before the launch arrives */
	launch_at(c, p, 1200, 2);
	launch_at(c, p, 900, 3); /* before the time range: no record */
	run_at(c, p, 1310, 3);
	launch_at(c, p, 1390 + ATTRIBUTION_CLOCK_ERROR_NS, 4); /* another one's */
	run_at(c, p, 1390, 4);
	run_at(c, p, 1500, 5);
	collect_advance(c, 1);
	collect_advance(c, 1 + JOIN_TIMEOUT_NS); /* given up */
	launch_at(c, p, 1490, 5);
	run_at(c, p, 9000, 6);
	launch_at(c, p, 9100, 7); /* by two clocks, the order seems reversed */
	run_at(c, p, 9040, 7);
	assert_null(collect_results(c).timeline);
	collect_finish(c, 10000);
	for (uint32_t i = 0; i < heard.count; i++) {
		if (heard.records[i].kind == TIMELINE_LAUNCH) {
			assert_int_equal(heard.records[i].duration_ns, 5);
			launches++;
			continue;
		}
		assert_int_equal(heard.records[i].kind, TIMELINE_GPU_OPERATION);
		assert_int_equal(heard.records[i].start_ns, kernels[at].start_ns);
		assert_int_equal(heard.launched_ns[i], kernels[at].launched_ns);
		at++;
	}
	assert_int_equal(at, 7);
	assert_int_equal(launches, 5);
	assert_int_equal(timeline_stats(timeline).records, 0);
	assert_int_equal(collect_ledger(c)->gpu.unmatched, 2);
	collect_free(c);
	timeline_free(timeline);
}

/* Launches and waits keep their errors. No value from a process becomes another error, or
 * success. */
static void failed_calls_have_their_errors(void **state)
{
	static const uint32_t sent[] = {0, 1, 700, UINT16_MAX, UINT16_MAX + 1, UINT32_MAX};
	static const uint16_t kept[] = {0, 1, 700, UINT16_MAX, UINT16_MAX, UINT16_MAX};
	struct heard heard = {.count = 0};
	struct timeline *timeline = timeline_new(NULL, NULL);
	struct collect *c = collect_new(&(struct collect_options){.sample_ns = SAMPLE_NS,
								  .measure.waits = true,
								  .place_mask = PLACES_ALL,
								  .timeline = timeline});
	struct process *p;

	(void)state;
	assert_true(c && timeline);
	timeline_listen(timeline, hear, &heard);
	p = say_hello(c, PID);
	for (uint32_t i = 0; i < 6; i++) {
		struct gpu_event launch = {.type = GPU_EVENT_LAUNCH,
					   .launch = {.time_ns = 1000 + 100 * i,
						      .tid = 1,
						      .correlation_id = i + 1,
						      .family = GPU_LAUNCH_RUNTIME}};
		struct gpu_event launch_end = {.type = GPU_EVENT_LAUNCH_END,
					       .launch_end = {.duration_ns = 5,
							      .tid = 1,
							      .correlation_id = i + 1,
							      .error = sent[i]}};
		struct gpu_event wait = {.type = GPU_EVENT_WAIT,
					 .wait = {.start_ns = 1050 + 100 * i,
						  .duration_ns = 5,
						  .tid = 1,
						  .error = sent[i]}};

		send_event(c, p, &launch);
		send_event(c, p, &launch_end);
		send_event(c, p, &wait);
	}
	collect_finish(c, 10000);
	assert_int_equal(heard.count, 12);
	for (uint32_t i = 0; i < heard.count; i++) {
		assert_int_equal(heard.records[i].kind, i % 2 ? TIMELINE_WAIT : TIMELINE_LAUNCH);
		assert_int_equal(heard.records[i].error, kept[i / 2]);
	}
	collect_free(c);
	timeline_free(timeline);
}

/* Each reported time off the CPU is one record while blocked, and one while runnable. */
static void times_off_the_cpu_are_drawn(void **state)
{
	static struct stack_snapshot stack = {.event = {.time_ns = 100, .pid = PID, .tid = PID},
					      .registers[16] = 0x1010};
	struct stack_on_cpu back = {.event = {.time_ns = 5100, .pid = PID, .tid = PID},
				    .left_ns = 100,
				    .blocked_ns = 4000,
				    .runnable_ns = 1000,
				    .kind = SYS_futex,
				    .site = 7};
	struct heard heard = {.count = 0};
	struct timeline *timeline = timeline_new(NULL, NULL);
	struct collect *c = collect_new(&(struct collect_options){.sample_ns = SAMPLE_NS,
								  .measure.wall = true,
								  .place_mask = PLACES_ALL,
								  .timeline = timeline,
								  .draws_off_cpu = true});
	const struct timeline_record *r = heard.records;

	(void)state;
	assert_true(c && timeline);
	timeline_listen(timeline, hear, &heard);
	say_hello(c, PID);
	collect_off_cpu(c, &stack);
	collect_on_cpu(c, &back);
	/* without a stack: that of the same site */
	back.left_ns = 6000;
	back.blocked_ns = 0;
	collect_on_cpu(c, &back);
	/* of another kind, which no stack is known of */
	back.left_ns = 9000;
	back.kind = STACK_OFF_CPU_RUNNABLE;
	collect_on_cpu(c, &back);
	assert_int_equal(heard.count, 4);
	for (uint32_t i = 0; i < heard.count; i++)
		assert_int_equal(r[i].kind, TIMELINE_OFF_CPU);
	assert_int_equal(r[0].start_ns, 100);
	assert_int_equal(r[0].duration_ns, 4000);
	assert_int_equal(r[1].start_ns, 4100);
	assert_int_equal(r[1].duration_ns, 1000);
	assert_int_equal(r[2].start_ns, 6000);
	assert_true(same_id(r[2].stack, r[1].stack) && !same_id(r[0].stack, r[1].stack));
	assert_false(same_id(r[3].stack, r[2].stack));
	assert_true(same_id(r[3].place, r[0].place));
	collect_free(c);
	timeline_free(timeline);
}

static void no_python_was_found(void **state)
{
	struct python_found found;
	struct collect *c = new_tree();

	(void)state;
	assert_false(collect_next_python(c, &found));
	collect_free(c);
	collect_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup(name, set_quota)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_processes_of_the_tree_are_accepted),
		TEST(events_are_of_the_process_of_their_time),
		TEST(cpu_time_of_a_process_that_ends_just_after_the_time_range),
		TEST(cpu_time_of_processes_that_begin_after_the_end),
		TEST(a_process_that_has_ended_is_accepted_while_it_is_kept),
		TEST(without_a_tree_our_users_processes_are_accepted),
		TEST(pids_are_those_of_a_namespace),
		TEST(a_process_is_found_in_its_namespace),
		TEST(a_hidden_process_is_named_by_its_hello),
		TEST(a_process_without_a_hello_is_counted),
		TEST(what_used_the_gpu_is_counted_by_its_cause),
		TEST(a_child_that_uses_its_parents_driver),
		TEST(it_is_counted_when_it_is_settled),
		TEST(what_a_parent_or_another_program_mapped_is_not_its_own),
		TEST(with_nvtx_the_library_alone_shows_nothing),
		TEST(a_hidden_process_that_said_hello_is_not_counted),
		TEST(nothing_is_counted_where_the_gpu_is_not_traced),
		TEST(a_program_without_cupti_is_not_traced),
		TEST(forged_lines_are_refused),
		TEST(an_impostor_is_kept_apart),
		TEST(others_stand_for_launches_without_a_stack),
		TEST(launches_in_windows_represent_others),
		TEST(threads_keep_what_they_launched),
		TEST(without_any_stack_work_is_marked),
		TEST(nobody_skips_stacks_unasked),
		TEST(numbers_of_two_programs_are_kept_apart),
		TEST(a_later_program_is_not_the_first_one),
		TEST(high_numbers_take_next_to_no_memory),
		TEST(the_quota_is_of_128_mib),
		TEST(unified_memory_that_nobody_watches_is_counted),
		TEST(nodes_may_be_launched_by_kernels),
		TEST(streams_beyond_the_quota_are_not_compared),
		TEST(an_ended_process_frees_its_room),
		TEST(uncompared_sums_never_differ),
		TEST(stacks_that_are_handed_on_and_on_have_an_end),
		TEST(everything_together_stays_within_the_memory),
		TEST(calls_beyond_the_limit_are_unknown),
		TEST(recorded_stacks_are_bounded),
		TEST(samples_weigh_their_period),
		TEST(a_threads_times_add_up),
		TEST(times_off_the_cpu_are_drawn),
		TEST(times_before_the_command_are_not_kept),
		TEST(samples_have_places_with_names),
		TEST(launches_are_counted),
		TEST(records_pass_with_their_launches),
		TEST(failed_calls_have_their_errors),
		TEST(no_python_was_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
