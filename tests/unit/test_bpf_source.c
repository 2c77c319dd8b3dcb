/* SPDX-License-Identifier: MIT */
/*
 * The BPF side on this kernel: samples, launches, timed calls and Python's names of this very
 * program and of children. Needs root.
 */
#include "unit.h"
#include "own_code.h"
#include <bpf/bpf.h>
#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include "profiler/base/cuda_functions.h"
#include "profiler/cpu/pythons.h"
#include "profiler/sources/bpf_source.h"
#include "profiler/sources/kernel_names.h"
#include "symbolize/address_space.h"

enum { CAP_PERFMON_BIT = 38, CAP_BPF_BIT = 39, CAP_SYS_ADMIN_BIT = 21 };
enum { TIMEOUT_S = 60 }; /* timeout of expected events */

#define MARK UINT64_C(0x5ca1ab1e0ddba11) /* a word that taken stacks contain */

/* ---- functions that probes are put on ---- */

#define PROBED __attribute__((noipa)) static

static volatile uint64_t sink;

PROBED int driver_launch(void)
{
	return (int)sink + 1;
}

PROBED int runtime_launch(int calls)
{
	for (int i = 0; i < calls; i++)
		sink += (uint64_t)driver_launch();
	return (int)sink;
}

/* Stands for cuptiSubscribe. */
PROBED int subscribe(int result)
{
	return result;
}

/* Launches with the mark on the stack. */
PROBED int launch_with_mark(void)
{
	volatile uint64_t mark[2] = {MARK, ~MARK};

	return runtime_launch(0) + (int)mark[1];
}

static int probe(struct bpf_source *s, enum bpf_source_probe kind, pid_t pid, uintptr_t function,
		 const char *name, const char *path)
{
	uint64_t offset = file_offset(function), number = cuda_launch_function_of(name);

	return bpf_source_probe(s, kind, pid, path, &offset, &number, 1);
}

/* Sets probes on both launch functions, as on a process's files. */
static void probe_launches(struct bpf_source *s, enum bpf_source_probe kind, pid_t pid)
{
	uint64_t offsets[] = {file_offset((uintptr_t)runtime_launch),
			      file_offset((uintptr_t)driver_launch)};
	uint64_t functions[] = {cuda_launch_function_of("cudaLaunchKernel"),
				cuda_launch_function_of("cuLaunchKernel_ptsz")};

	assert_int_equal(bpf_source_probe(s, kind, pid, "/proc/self/exe", offsets, functions, 2),
			 0);
}

/* ---- events ---- */

static struct bpf_source *open_source(const struct bpf_source_options *options)
{
	char error[512] = "";
	struct bpf_source *s = bpf_source_open(options, error, sizeof(error));

	if (!s)
		fail_msg("%s", error);
	return s;
}

/* Returns the next event if there is one now, or NULL. The event is valid until the next call. */
static const struct stack_event *next_event(struct bpf_source *s)
{
	const struct stack_event *event = bpf_source_next(s);

	if (event)
		return event;
	bpf_source_fill(s);
	return bpf_source_next(s);
}

static const struct stack_snapshot *next_of_kind(struct bpf_source *s, uint16_t kind)
{
	const struct stack_event *event = next_event(s);

	assert_non_null(event);
	assert_int_equal(event->kind, kind);
	return (const struct stack_snapshot *)event;
}

/* Waits for an event of this kind and process; others are dropped. */
static const struct stack_snapshot *await(struct bpf_source *s, uint16_t kind, pid_t pid)
{
	time_t end = time(NULL) + TIMEOUT_S;

	while (time(NULL) < end) {
		const struct stack_event *event = next_event(s);

		if (event && event->kind == kind && event->pid == (uint32_t)pid)
			return (const struct stack_snapshot *)event;
		if (!event)
			usleep(1000);
	}
	fail_msg("no event of kind %d came in %d s", kind, TIMEOUT_S);
	return NULL;
}

static uint64_t word_at(const struct stack_snapshot *s, size_t at)
{
	uint64_t word = 0;

	if (at + sizeof(word) <= s->stack_bytes)
		memcpy(&word, (const char *)stack_snapshot_stack(s) + at, sizeof(word));
	return word;
}

static bool has_mark(const struct stack_snapshot *s)
{
	for (size_t at = 0; at + 16 <= s->stack_bytes; at += 8)
		if (word_at(s, at) == MARK && word_at(s, at + 8) == ~MARK)
			return true;
	return false;
}

static void expect_launch(struct bpf_source *s, uintptr_t function, const char *name)
{
	const struct stack_snapshot *launch = next_of_kind(s, STACK_EVENT_LAUNCH);

	assert_int_equal(launch->event.pid, getpid());
	assert_int_equal(launch->event.tid, gettid());
	assert_string_equal(cuda_function_name(launch->event.launch_function), name);
	assert_int_equal(launch->registers[16], function);
	assert_int_equal(launch->event.kernel_frames, 0);
	assert_string_equal(launch->event.comm, "test_bpf_source");
	/* the return address, which is in this program, is on top */
	assert_true(word_at(launch, 0) - (uintptr_t)function + (1 << 20) < 2 << 20);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- children ---- */

struct child {
	pid_t pid;
	int gate; /* a byte: it may go on */
};

/* Starts a child that executes `run` when released. The child ends when killed, or with this
 * program. */
static struct child start_child(void (*run)(void))
{
	struct child child;
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(ends[0], &byte, 1) == 1)
			run();
		_exit(0);
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

static void end_child(const struct child *child)
{
	kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

PROBED void burn(void)
{
	volatile uint64_t mark[2] = {MARK, ~MARK};

	prctl(PR_SET_NAME, "burner");
	for (;;)
		sink += mark[0];
}

/* Reads zeros, mostly inside the kernel. */
static void read_zeros(void)
{
	static char room[1 << 20];
	int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);

	while (read(zeros, room, sizeof(room)) > 0)
		;
}

/* Computes in a child of a child, which is followed, too. */
static void burn_in_a_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		burn();
	}
	pause();
}

/* ---- samples ---- */

/* Waits until BPF follows the process no longer, a while after waitpid. */
static void await_release(const struct bpf_source *s, pid_t pid)
{
	time_t end = time(NULL) + TIMEOUT_S;

	while (bpf_source_follows(s, pid) && time(NULL) < end)
		usleep(1000);
	assert_false(bpf_source_follows(s, pid));
}

static void children_are_sampled(void **state)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){.sample_hz = 500});
	struct child child = start_child(burn);
	const struct stack_snapshot *sample;
	uint64_t since = now_ns();

	(void)state;
	assert_int_equal(bpf_source_track(s, child.pid), 0);
	assert_true(bpf_source_follows(s, child.pid));
	assert_false(bpf_source_follows(s, getpid()));
	release_child(&child);
	do /* the thread may still be in prctl, which has set its name */
		sample = await(s, STACK_EVENT_CPU_SNAPSHOT, child.pid);
	while (strcmp(sample->event.comm, "burner") != 0 ||
	       sample->registers[16] - (uintptr_t)burn >= 4096);
	assert_int_equal(sample->event.tid, child.pid);
	assert_true(sample->event.time_ns >= since && sample->event.time_ns <= now_ns());
	assert_true(has_mark(sample));
	assert_null(stack_snapshot_python(sample));

	bpf_source_stop_clocks(s);
	while (next_event(s))
		;
	usleep(50000);
	assert_null(next_event(s));
	end_child(&child);
	await_release(s, child.pid);
	assert_int_equal(bpf_source_set_python(s, child.pid, &(struct stack_python){0}), -ESRCH);
	bpf_source_close(s);
}

/* Fills much memory, which the kernel takes a while to free. */
static void fill_memory(void)
{
	size_t bytes = 256u << 20;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory != MAP_FAILED)
		for (size_t i = 0; i < bytes; i += 4096)
			memory[i] = 1;
	_exit(0);
}

/* The last of its reports is all that it used, and some samples are of its end. */
static void processes_are_followed_to_their_end(void **state)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){.sample_hz = 2000});
	uint32_t samples = 0, at_end = 0, reports = 0;
	struct child child = start_child(fill_memory);
	uint64_t used = 0, charged;
	struct rusage usage;
	time_t end = time(NULL) + TIMEOUT_S;
	int status;

	(void)state;
	assert_int_equal(bpf_source_track(s, child.pid), 0);
	release_child(&child);
	assert_int_equal(wait4(child.pid, &status, 0, &usage), child.pid);
	charged = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
		  (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
	child.pid = 0;
	while (reports < 2 && time(NULL) < end) {
		const struct stack_event *e = next_event(s);

		if (!e) {
			usleep(1000);
			continue;
		}
		if (e->kind == STACK_EVENT_CPU_USED) {
			/* flags: the last thread has begun to end; everything is released */
			assert_int_equal(e->flags,
					 reports ? 0 : STACK_EVENT_ENDS | STACK_EVENT_LOOKED);
			used = ((const struct stack_value *)e)->value;
			reports++;
			continue;
		}
		samples++;
		at_end += (e->flags & STACK_EVENT_NO_MEMORY) != 0;
		assert_true(e->kernel_frames > 0 || !(e->flags & STACK_EVENT_NO_MEMORY));
	}
	assert_int_equal(reports, 2);
	assert_in_range(used, charged - charged / 20, charged + charged / 20);
	if (samples + bpf_source_counters(s).dropped_samples > 50)
		assert_true(at_end > 0);
	bpf_source_close(s);
}

static void run_true(void)
{
	execl("/bin/true", "true", (char *)NULL);
	_exit(127);
}

/* First the program before, then all, to the tick and to the nanosecond. */
static void execs_are_reported(void **state)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){.sample_hz = 50});
	struct child child = start_child(run_true);
	const struct stack_value *used;
	uint64_t before;

	(void)state;
	assert_int_equal(bpf_source_track(s, child.pid), 0);
	release_child(&child);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	used = (const struct stack_value *)await(s, STACK_EVENT_CPU_USED, child.pid);
	assert_int_equal(used->event.flags, STACK_EVENT_EXEC);
	before = used->value;
	used = (const struct stack_value *)await(s, STACK_EVENT_CPU_USED, child.pid);
	assert_int_equal(used->event.flags, STACK_EVENT_ENDS | STACK_EVENT_LOOKED);
	assert_true(used->value >= before);
	used = (const struct stack_value *)await(s, STACK_EVENT_CPU_USED, child.pid);
	assert_true(used->value >= before);
	bpf_source_close(s);
}

static void exit_with_3(void)
{
	_exit(3);
}

static void abort_at_once(void)
{
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	abort();
}

/* Expects the status that BPF reports to be that of wait(2). */
static void expect_status(void (*run)(void))
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){.sample_hz = 50});
	struct child child = start_child(run);
	const struct stack_value *ends;
	int status;

	assert_int_equal(bpf_source_track(s, child.pid), 0);
	release_child(&child);
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	ends = (const struct stack_value *)await(s, STACK_EVENT_CPU_USED, child.pid);
	assert_true(ends->event.flags & STACK_EVENT_ENDS);
	assert_int_equal(ends->event.flags >> STACK_EVENT_STATUS_AT, status);
	bpf_source_close(s);
}

static void ends_have_their_status(void **state)
{
	(void)state;
	expect_status(exit_with_3);
	expect_status(abort_at_once);
}

static void descendants_are_sampled_and_others_are_not(void **state)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){.sample_hz = 500});
	struct child child = start_child(burn_in_a_child), other = start_child(burn);
	time_t end = time(NULL) + TIMEOUT_S;
	uint32_t grandchild = 0;

	(void)state;
	assert_int_equal(bpf_source_track(s, child.pid), 0);
	release_child(&other);
	release_child(&child);
	while (!grandchild && time(NULL) < end) {
		const struct stack_event *event = next_event(s);

		assert_true(!event || event->pid != (uint32_t)other.pid);
		if (event && event->pid != (uint32_t)child.pid)
			grandchild = event->pid;
		if (!event)
			usleep(1000);
	}
	assert_true(grandchild != 0);
	assert_true(bpf_source_follows(s, (pid_t)grandchild));
	end_child(&child);
	end_child(&other);
	bpf_source_close(s);
}

static void samples_in_the_kernel_have_both_stacks(void **state)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){.sample_hz = 500});
	struct child child = start_child(read_zeros);
	const struct stack_snapshot *sample;

	(void)state;
	assert_int_equal(bpf_source_track(s, child.pid), 0);
	release_child(&child);
	do
		sample = await(s, STACK_EVENT_CPU_SNAPSHOT, child.pid);
	while (sample->event.kernel_frames < 3);
	for (int i = 0; i < sample->event.kernel_frames; i++)
		assert_true(stack_snapshot_kernel(sample)[i] >> 47 == 0x1ffff);
	/* registers are those at the entry to the kernel: read(), called from here */
	assert_true(sample->registers[16] >> 47 == 0);
	assert_true(sample->stack_bytes > 0);
	end_child(&child);
	bpf_source_close(s);
}

static int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void a_clock_takes_one_descriptor_a_cpu(void **state)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){.launches = true});
	int before = count_descriptors(), without, with;

	(void)state;
	without = count_descriptors();
	bpf_source_close(s);
	assert_true(count_descriptors() < before);
	s = open_source(&(struct bpf_source_options){.launches = true, .sample_hz = 50});
	with = count_descriptors();
	/* a descriptor for each processor, and one for the program */
	assert_int_equal(with - without, sysconf(_SC_NPROCESSORS_ONLN) + 1);
	bpf_source_close(s);
}

/* ---- launches and calls ---- */

/* Follows this process. `single`: a link for each probe. */
static struct bpf_source *open_for_self(bool single)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){
		.launches = true, .calls = true, .single_probes = single});

	assert_int_equal(bpf_source_track(s, getpid()), 0);
	return s;
}

static void check_launches(bool single)
{
	struct bpf_source *s = open_for_self(single);

	probe_launches(s, PROBE_LAUNCH, 0);
	runtime_launch(0);
	expect_launch(s, (uintptr_t)runtime_launch, "cudaLaunchKernel");
	driver_launch();
	expect_launch(s, (uintptr_t)driver_launch, "cuLaunchKernel_ptsz");
	/* the runtime's calls the driver's, once */
	runtime_launch(1);
	expect_launch(s, (uintptr_t)runtime_launch, "cudaLaunchKernel");
	runtime_launch(2);
	expect_launch(s, (uintptr_t)runtime_launch, "cudaLaunchKernel");
	expect_launch(s, (uintptr_t)driver_launch, "cuLaunchKernel_ptsz");
	driver_launch();
	expect_launch(s, (uintptr_t)driver_launch, "cuLaunchKernel_ptsz");
	launch_with_mark();
	assert_true(has_mark(next_of_kind(s, STACK_EVENT_LAUNCH)));
	assert_null(next_event(s));
	bpf_source_close(s);
	runtime_launch(1);
}

static void launches_are_reported_once(void **state)
{
	(void)state;
	check_launches(false);
	check_launches(true);
}

static void check_calls(bool single)
{
	struct bpf_source *s = open_for_self(single);
	const struct stack_snapshot *call;
	const struct stack_value *back;
	uint64_t before = now_ns(), start;

	probe_launches(s, PROBE_LAUNCH, 0);
	probe_launches(s, PROBE_CALL, getpid());
	assert_int_equal(bpf_source_time_calls(s, getpid(), true), 0);
	for (int i = 0; i < 2; i++) {
		runtime_launch(2);
		call = next_of_kind(s, STACK_EVENT_CALL);
		start = call->event.time_ns;
		assert_true(start >= before);
		assert_int_equal(call->event.launch_function, 1);
		assert_int_equal(call->registers[16], (uintptr_t)runtime_launch);
		assert_int_equal(call->registers[5], 2); /* rdi: its parameter */
		back = (const struct stack_value *)next_of_kind(s, STACK_EVENT_CALL_END);
		assert_int_equal(back->value, start);
		assert_int_equal(back->event.launch_function, 1);
		assert_int_equal(back->event.tid, gettid());
		assert_true(back->event.time_ns >= start && back->event.time_ns <= now_ns());
		assert_null(next_event(s)); /* neither what it calls, nor a launch */
	}
	assert_int_equal(bpf_source_counters(s).calls, 2);

	assert_int_equal(bpf_source_time_calls(s, getpid(), false), 0);
	assert_int_equal(bpf_source_time_calls(s, getpid(), false), 0);
	runtime_launch(1);
	expect_launch(s, (uintptr_t)runtime_launch, "cudaLaunchKernel");
	assert_null(next_event(s));

	bpf_source_time_calls(s, getpid(), true);
	bpf_source_remove_probes(s, getpid());
	runtime_launch(1);
	assert_null(next_event(s));
	bpf_source_close(s);
}

static void calls_are_timed_in_chosen_processes(void **state)
{
	(void)state;
	if (!bpf_source_may_probe_returns())
		SKIP("return probes can kill processes on this kernel");
	check_calls(false);
	check_calls(true);
}

static void a_refused_subscriber_is_reported(void **state)
{
	const time_t end = time(NULL) + TIMEOUT_S;
	struct bpf_source *s;
	const struct stack_value *refused;

	(void)state;
	if (!bpf_source_may_probe_returns())
		SKIP("return probes can kill processes on this kernel");
	s = open_for_self(false);
	assert_int_equal(probe(s, PROBE_SUBSCRIBE, 0, (uintptr_t)subscribe, "", "/proc/self/exe"),
			 0);
	subscribe(0);
	subscribe(1);
	assert_null(next_event(s));
	subscribe(39);
	refused = (const struct stack_value *)next_of_kind(s, STACK_EVENT_REFUSED);
	/* who called it */
	assert_true(refused->value - (uintptr_t)a_refused_subscriber_is_reported < 4096);
	assert_int_equal(refused->event.pid, getpid());
	assert_null(next_event(s));
	/* the probe goes soon, and the others stay */
	assert_int_equal(probe(s, PROBE_DRIVER, 0, (uintptr_t)runtime_launch, "", "/proc/self/exe"),
			 0);
	probe_launches(s, PROBE_CALL, 0);
	bpf_source_end_lookouts(s);
	for (subscribe(39); next_event(s); subscribe(39)) {
		assert_true(time(NULL) < end);
		usleep(1000);
	}
	assert_true(bpf_source_has_probes(s));
	bpf_source_end_lookouts(s);
	bpf_source_close(s);
}

static void unrequested_probes_are_refused(void **state)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){.sample_hz = 50});

	(void)state;
	assert_false(bpf_source_has_calls(s));
	assert_int_equal(bpf_source_time_calls(s, getpid(), true), -EOPNOTSUPP);
	assert_int_equal(probe(s, PROBE_LAUNCH, 0, (uintptr_t)runtime_launch, "cudaLaunchKernel",
			       "/proc/self/exe"),
			 -EOPNOTSUPP);
	assert_int_equal(probe(s, PROBE_CALL, 0, (uintptr_t)runtime_launch, "cudaLaunchKernel",
			       "/proc/self/exe"),
			 -EOPNOTSUPP);
	bpf_source_close(s);
}

/* ---- with two capabilities, as nobody ---- */

/* Becomes nobody with CAP_PERFMON and CAP_BPF; `admin`: and CAP_SYS_ADMIN. */
static bool drop_to_two_capabilities(bool admin)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	const uint32_t high = 1u << (CAP_PERFMON_BIT - 32) | 1u << (CAP_BPF_BIT - 32);
	const uint32_t low = admin ? 1u << CAP_SYS_ADMIN_BIT : 0;
	struct __user_cap_data_struct sets[2] = {{.effective = low, .permitted = low},
						 {.effective = high, .permitted = high}};

	return prctl(PR_SET_KEEPCAPS, 1) == 0 && setgroups(0, NULL) == 0 &&
	       setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0 &&
	       syscall(SYS_capset, &head, sets) == 0;
}

/* Checks that the next event, apart from samples, is of this kind. */
static bool comes_next(struct bpf_source *s, uint16_t kind)
{
	const struct stack_event *event;

	do
		event = next_event(s);
	while (event && event->kind == STACK_EVENT_CPU_SNAPSHOT);
	return event && event->kind == kind;
}

static void *drop_and_launch(void *unused)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	if (syscall(SYS_capset, &head, none) == 0)
		runtime_launch(1);
	return unused;
}

/* Gives up the capabilities of this thread alone, and launches. */
static void launch_without_capabilities(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, drop_and_launch, NULL) == 0)
		pthread_join(thread, NULL);
}

/* Plays the profiler's part while the target runs. Returns 0, or the number of the step that
 * failed. */
static int work_as_nobody(struct bpf_source *s, const char *path)
{
	struct stack_python python = {.program = 1};

	if (!drop_to_two_capabilities(bpf_source_probes_need_admin(s)) || geteuid() != 65534)
		return 1;
	if (open("/proc/1/environ", O_RDONLY | O_CLOEXEC) >= 0)
		return 2; /* still privileged */
	if (bpf_source_track(s, getpid()) != 0 || !bpf_source_follows(s, getpid()))
		return 3;
	/* undumpable, as the profiler is; the program has no capabilities */
	prctl(PR_SET_DUMPABLE, 1);
	if (bpf_source_set_python(s, getpid(), &python) != 0)
		return 4;
	if (probe(s, PROBE_LAUNCH, 0, (uintptr_t)runtime_launch, "cudaLaunchKernel", path) != 0)
		return 5;
	launch_without_capabilities();
	if (!comes_next(s, STACK_EVENT_LAUNCH))
		return 6;
	if (!bpf_source_may_probe_returns())
		return 0;
	if (probe(s, PROBE_CALL, getpid(), (uintptr_t)runtime_launch, "cudaLaunchKernel", path) ||
	    bpf_source_time_calls(s, getpid(), true) != 0)
		return 7;
	launch_without_capabilities();
	return comes_next(s, STACK_EVENT_CALL) && comes_next(s, STACK_EVENT_CALL_END) ? 0 : 8;
}

static void check_as_nobody(bool single)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){
		.sample_hz = 50, .launches = true, .calls = true, .single_probes = single});
	char path[64];
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), status;
	pid_t pid;

	assert_true(file >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(work_as_nobody(s, path));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	close(file);
	bpf_source_close(s);
}

static void all_but_opening_works_as_nobody_with_two_capabilities(void **state)
{
	(void)state;
	check_as_nobody(false);
	check_as_nobody(true);
}

/* ---- Python ---- */

#define PYTHON "/usr/bin/python3"

static void run_forward(void)
{
	execl(PYTHON, PYTHON, "-c",
	      "class Model:\n"
	      " def forward(self):\n"
	      "  x = 0\n"
	      "  while True: x += 1\n"
	      "Model().forward()\n",
	      NULL);
}

/* Depth of nested functions, each called by the next one; also used below. */
#define NESTED 100

static void run_nested(void)
{
	execl(PYTHON, PYTHON, "-c",
	      "def forward():\n"
	      " while True: pass\n"
	      "nested = [forward]\n"
	      "for i in range(1, 101):\n"
	      " exec(f'def nested{i}(): nested[{i - 1}]()\\nnested.append(nested{i})')\n"
	      "nested[100]()\n",
	      NULL);
}

/* Finds the mapping with the interpreter's code. Its path is valid until the next call. */
static bool find_interpreter(pid_t pid, struct code_mapping *mapping)
{
	static char path[4096];
	char name[64], line[8192];
	bool found = false;
	FILE *maps;

	*mapping = (struct code_mapping){0};
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps))
		found = sscanf(line,
			       "%" SCNx64 "-%" SCNx64 " r-xp %" SCNx64 " %x:%x %" SCNu64 " %4095s",
			       &mapping->start, &mapping->end, &mapping->file_offset,
			       &mapping->dev_major, &mapping->dev_minor, &mapping->inode,
			       path) == 7 &&
			strstr(path, "python");
	fclose(maps);
	mapping->path = path;
	return found;
}

/* The functions found running, and their names. */
struct names {
	struct intern strings;
	struct pythons pythons;
	struct symbolizer *symbolizer;
	struct address_space *space;
	uint32_t program;
	bool is_deaf;                                              /* ignores the events sent */
	bool stays_unnamed, is_cut;                                /* cut: the last stack */
	struct python_sample_frame frames[STACK_PYTHON_MAX_LINKS]; /* frames of the last stack */
	uint32_t count;
};

static void begin_names(struct names *n, pid_t pid, bool lines, bool deaf)
{
	memset(n, 0, sizeof(*n));
	n->is_deaf = deaf;
	n->symbolizer = symbolizer_new();
	pythons_init(&n->pythons, n->symbolizer, &n->strings, NULL);
	n->pythons.lines = lines;
	n->space = address_space_new(1, pid, false);
	assert_true(n->symbolizer && n->space);
}

static void end_names(struct names *n)
{
	address_space_free(n->space);
	symbolizer_free(n->symbolizer);
	pythons_release(&n->pythons);
	intern_release(&n->strings);
}

static bool has_innermost(const struct names *n, const char *function)
{
	return n->count > 0 && strcmp(n->frames[0].title.name, function) == 0;
}

static void name_frames(struct names *n, const struct stack_snapshot *sample)
{
	struct python_merge_result result;

	n->count = pythons_merge(&n->pythons, n->space, n->program, sample, NULL, 0, true,
				 n->frames, STACK_PYTHON_MAX_LINKS, &result);
	n->is_cut = n->count > 0 && !result.is_whole;
	/* the records that a stack needs come before it; asked for names, it may have passed on */
	n->stays_unnamed &= !n->is_deaf;
	for (uint32_t i = 0; i < n->count; i++)
		n->stays_unnamed |= strcmp(n->frames[i].title.name, PYTHON_UNKNOWN_FRAME) == 0;
}

/* Takes code objects in until a stack is in the function. */
static void await_named_stack(struct bpf_source *s, struct names *n, pid_t pid,
			      const char *function)
{
	time_t end = time(NULL) + TIMEOUT_S;

	while (!has_innermost(n, function) && time(NULL) < end) {
		const struct stack_event *event = next_event(s);
		const struct stack_snapshot *sample = (const struct stack_snapshot *)event;

		if (!event)
			usleep(1000);
		else if (event->kind == STACK_EVENT_PYTHON_CODE && !n->is_deaf)
			assert_int_equal(
				pythons_learn(&n->pythons, (const struct stack_python_code *)event),
				0);
		else if (event->kind == STACK_EVENT_CPU_SNAPSHOT && event->pid == (uint32_t)pid &&
			 stack_snapshot_python(sample))
			name_frames(n, sample);
	}
	assert_false(n->stays_unnamed);
	assert_true(has_innermost(n, function));
}

/* Runs it until a stack is in the function; the caller ends `names`. */
static void sample_python(void (*run)(void), bool lines, bool deaf, const char *function,
			  struct names *names)
{
	struct bpf_source *s =
		open_source(&(struct bpf_source_options){.sample_hz = 500, .python_lines = lines});
	struct child child = start_child(run);
	struct code_mapping mapping;
	struct stack_python layout;
	uint64_t began_ns;
	uint32_t unknown;

	begin_names(names, child.pid, lines, deaf);
	assert_int_equal(bpf_source_track(s, child.pid), 0);
	began_ns = now_ns();
	release_child(&child);
	/* the child executes its own code first; wait until the interpreter is mapped */
	while (!find_interpreter(child.pid, &mapping))
		usleep(1000);
	assert_true(pythons_map(&names->pythons, child.pid, &names->program, &mapping, false,
				&layout, &unknown));
	layout.began_ns = began_ns;
	assert_int_equal(bpf_source_set_python(s, child.pid, &layout), 0);
	await_named_stack(s, names, child.pid, function);
	end_child(&child);
	await_release(s, child.pid);
	assert_int_equal(bpf_source_set_python(s, child.pid, &layout), -ESRCH);
	bpf_source_close(s);
}

static void expect_forward(bool lines, uint32_t line)
{
	const struct python_title *title;
	struct names names;

	sample_python(run_forward, lines, false, "Model.forward", &names);
	title = &names.frames[0].title;
	assert_string_equal(title->file, "<string>");
	assert_int_equal(title->line, line);
	end_names(&names);
}

#define SAMPLES_OF_EXECUTED 20

/* Executes the interpreter again once the file exists: another program, but one interpreter
 * binary. */
static char go_on[64];

static void run_twice(void)
{
	execl(PYTHON, PYTHON, "-c",
	      "import os, sys\n"
	      "def wait():\n"
	      " while not os.path.exists(sys.argv[1]): pass\n"
	      "wait()\n"
	      "os.execv(sys.executable, [sys.executable, '-c', 'while True: pass'])\n",
	      go_on, NULL);
}

/* Returns the time of the process's next exec, as seen by BPF. */
static uint64_t await_exec(struct bpf_source *s, pid_t pid)
{
	const struct stack_snapshot *event;

	do
		event = await(s, STACK_EVENT_CPU_USED, pid);
	while (!(event->event.flags & STACK_EVENT_EXEC));
	return event->event.time_ns;
}

/* Counts the next samples that have Python frames. */
static uint32_t count_python(struct bpf_source *s, pid_t pid)
{
	const struct stack_python_chain *chain;
	uint32_t count = 0;

	for (int i = 0; i < SAMPLES_OF_EXECUTED; i++) {
		chain = stack_snapshot_python(await(s, STACK_EVENT_CPU_SNAPSHOT, pid));
		count += chain && chain->count > 0;
	}
	return count;
}

/*
 * A layout is good for one program of a process: the next one may keep anything at those addresses,
 * and may have more rights than the user.
 */
static void layouts_end_with_their_program(void **state)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){.sample_hz = 500});
	uint64_t began_ns, executed_ns;
	struct code_mapping mapping;
	struct stack_python layout;
	struct names names;
	struct child child;
	uint32_t unknown;

	(void)state;
	if (access(PYTHON, X_OK) != 0)
		SKIP(PYTHON " is not installed");
	snprintf(go_on, sizeof(go_on), "/tmp/test_bpf_source_%d", (int)getpid());
	child = start_child(run_twice);
	begin_names(&names, child.pid, false, false);
	assert_int_equal(bpf_source_track(s, child.pid), 0);
	began_ns = now_ns();
	release_child(&child);
	await_exec(s, child.pid);
	while (!find_interpreter(child.pid, &mapping))
		usleep(1000);
	assert_true(pythons_map(&names.pythons, child.pid, &names.program, &mapping, false, &layout,
				&unknown));
	layout.began_ns = began_ns;
	assert_int_equal(bpf_source_set_python(s, child.pid, &layout), 0);
	while (count_python(s, child.pid) == 0)
		;
	fclose(fopen(go_on, "we"));
	executed_ns = await_exec(s, child.pid);
	unlink(go_on);
	assert_int_equal(count_python(s, child.pid), 0);
	/* nor if it comes too late */
	assert_int_equal(bpf_source_set_python(s, child.pid, &layout), 0);
	assert_int_equal(count_python(s, child.pid), 0);
	layout.began_ns = executed_ns + 1;
	assert_int_equal(bpf_source_set_python(s, child.pid, &layout), 0);
	assert_int_equal(count_python(s, child.pid), 0);
	/* the layout of the new program is read: the interpreter may lie elsewhere */
	while (!find_interpreter(child.pid, &mapping))
		usleep(1000);
	names.program = 0;
	assert_true(pythons_map(&names.pythons, child.pid, &names.program, &mapping, false, &layout,
				&unknown));
	layout.began_ns = executed_ns - 1;
	assert_int_equal(bpf_source_set_python(s, child.pid, &layout), 0);
	while (count_python(s, child.pid) == 0)
		;
	end_child(&child);
	end_names(&names);
	bpf_source_close(s);
}

static void python_functions_have_names(void **state)
{
	(void)state;
	if (access(PYTHON, X_OK) != 0)
		SKIP(PYTHON " is not installed");
	expect_forward(false, 0);
	expect_forward(true, 4);
}

/* Expects requests for names that do not come, but not many for names that do. */
static void expect_nested(bool deaf)
{
	struct names names;
	char expected[32];

	sample_python(run_nested, false, deaf, "forward", &names);
	assert_in_range(names.pythons.asked_count, deaf ? NESTED : 0, deaf ? 4096 : 3);
	assert_false(names.is_cut);
	assert_int_equal(names.count, 1 + NESTED + 1);
	for (uint32_t i = 1; i <= NESTED; i++) {
		snprintf(expected, sizeof(expected), "nested%u", i);
		assert_string_equal(names.frames[i].title.name, expected);
	}
	assert_string_equal(names.frames[NESTED + 1].title.name, "<module>");
	end_names(&names);
}

static void every_function_of_a_deep_python_stack_has_its_name(void **state)
{
	(void)state;
	if (access(PYTHON, X_OK) != 0)
		SKIP(PYTHON " is not installed");
	expect_nested(false);
	expect_nested(true);
}

/* ---- time off the CPU ---- */

static bool is_sleep(uint32_t kind)
{
	return kind == SYS_nanosleep || kind == SYS_clock_nanosleep;
}

enum { SLEEPS = 5, SLEEP_NS = 10000000, CLOCKS_DIFFER_NS = 1000000 };

/* Sleeps, and tells how long it has existed at least. */
static void sleep_and_end(int fd)
{
	uint64_t began_ns = now_ns(), ns;

	for (int i = 0; i < SLEEPS; i++)
		nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
	ns = now_ns() - began_ns;
	_exit(write(fd, &ns, sizeof(ns)) != sizeof(ns));
}

/* Checks that all time of a process is reported once: in a record of its own, or in the sums at
 * its end. */
static void check_times(bool without_casts)
{
	struct bpf_source *s = open_source(
		&(struct bpf_source_options){.times = true, .without_casts = without_casts});
	uint64_t least_ns = 0, most_ns, slept_ns = 0, runnable_ns = 0, ns = 0;
	const struct stack_times *times = NULL;
	int pipe_fds[2], status;
	pid_t child;

	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(bpf_source_track(s, getpid()), 0);
	most_ns = now_ns();
	child = fork();
	if (child == 0)
		sleep_and_end(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &least_ns, sizeof(least_ns)), sizeof(least_ns));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	while (!times) {
		const struct stack_event *event = next_event(s);

		if (event && event->pid == (uint32_t)child &&
		    event->kind == STACK_EVENT_THREAD_TIMES)
			times = &((const struct stack_thread_times *)event)->times;
		if (event && event->pid == (uint32_t)child && event->kind == STACK_EVENT_ON_CPU) {
			const struct stack_on_cpu *r = (const struct stack_on_cpu *)event;

			ns += r->blocked_ns + r->runnable_ns;
			slept_ns += is_sleep(r->kind) ? r->blocked_ns : 0;
			runnable_ns += r->runnable_ns;
		}
		if (!event)
			usleep(1000);
	}
	most_ns = now_ns() - most_ns;
	assert_int_equal(times->tid, child);
	assert_true(times->switches > SLEEPS);
	ns += times->ran_ns;
	for (int i = 0; i < STACK_OFF_CPU_SUMS; i++) {
		ns += times->sums[i].blocked_ns + times->sums[i].runnable_ns;
		slept_ns += is_sleep(times->sums[i].kind) ? times->sums[i].blocked_ns : 0;
		runnable_ns += times->sums[i].runnable_ns;
	}
	bpf_source_close(s);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	assert_in_range(ns, least_ns - CLOCKS_DIFFER_NS, most_ns + CLOCKS_DIFFER_NS);
	assert_true(slept_ns <= most_ns + CLOCKS_DIFFER_NS);
	/* it may be preempted after it has set its alarm, before it sleeps */
	assert_true(slept_ns + runnable_ns >= SLEEPS * SLEEP_NS - CLOCKS_DIFFER_NS);
}

static void all_time_of_a_thread_is_reported_once(void **state)
{
	(void)state;
	check_times(false);
}

static void so_it_is_as_before_casts(void **state)
{
	(void)state;
	check_times(true);
}

/* Compares the kernel's answers with /proc/kallsyms, which may have several names of an address. */
static void kernel_functions_have_their_names(void **state)
{
	struct bpf_source *s = open_source(&(struct bpf_source_options){.sample_hz = 50});
	struct kernel_names *names = bpf_source_kernel_names(s);
	FILE *symbols = fopen("/proc/kallsyms", "re");
	char line[1024], name[600], found[STACK_KERNEL_NAME_BYTES] = "";
	uint64_t address, asked = 0;
	uint32_t lines = 0, seen = 0, same = 0;
	pid_t child;
	char type;
	int status;

	(void)state;
	bpf_source_close(s); /* names are found after it, too */
	assert_non_null(names);
	assert_non_null(symbols);
	while (fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%" SCNx64 " %c %599s", &address, &type, name) != 3 || !address)
			continue;
		if (address == asked) {
			same += strcmp(name, found) == 0;
			continue;
		}
		asked = 0;
		if (lines++ % 500 || type != 'T')
			continue;
		asked = address;
		seen++;
		assert_int_equal(kernel_names_find(names, address, found, sizeof(found)), 1);
		same += strcmp(name, found) == 0;
	}
	if (seen == 0)
		SKIP("addresses are hidden");
	assert_in_range(same, seen - seen / 50,
			seen); /* the first line of aliases may be skipped */
	assert_int_equal(kernel_names_find(names, 1, found, sizeof(found)), 0);
	assert_int_equal(kernel_names_find(names, asked ? asked : address, found, 1), 0);
	child = fork();
	if (child == 0)
		_exit(kernel_names_find(names, 1, found, sizeof(found)) != -ECHILD);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	fclose(symbols);
	kernel_names_free(names);
}

/*
 * Returns the number of instructions that the kernel's verifier processed to load this process's
 * programs. Verification is most of the time by which a run is longer than its command.
 */
static uint32_t verified(const struct bpf_source_options *options, uint32_t *programs)
{
	struct bpf_source *s = open_source(options);
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	uint32_t total = 0;

	*programs = 0;
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);
		struct bpf_prog_info info = {0};
		char path[64], target[64] = "";
		uint32_t size = sizeof(info);

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) <= 0 ||
		    !strstr(target, "bpf-prog") || bpf_obj_get_info_by_fd(fd, &info, &size) != 0)
			continue;
		(*programs)++;
		total += info.verified_insns;
	}
	closedir(folder);
	bpf_source_close(s);
	return total;
}

/* Returns `most` for Linux 6.18, on which `most` was measured, and twice as much for other
 * verifiers. */
static uint32_t verified_most(uint32_t most)
{
	struct utsname name;

	assert_int_equal(uname(&name), 0);
	return strncmp(name.release, "6.18.", 5) == 0 ? most : 2 * most;
}

static void programs_are_quick_to_verify(void **state)
{
	struct bpf_source_options options = {.sample_hz = 50, .launches = true, .calls = true};
	uint32_t programs, total = verified(&options, &programs);

	(void)state;
	assert_in_range(programs, 6, 12);
	if (total == 0)
		SKIP("before Linux 5.16 the kernel does not tell");
	assert_in_range(total, 1000, verified_most(40000)); /* 38,000 */
	options.times = true;
	total = verified(&options, &programs);
	assert_in_range(programs, 10, 17);
	assert_in_range(total, 1000, verified_most(106000)); /* 100,000 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_are_sampled),
		cmocka_unit_test(processes_are_followed_to_their_end),
		cmocka_unit_test(execs_are_reported),
		cmocka_unit_test(ends_have_their_status),
		cmocka_unit_test(descendants_are_sampled_and_others_are_not),
		cmocka_unit_test(samples_in_the_kernel_have_both_stacks),
		cmocka_unit_test(a_clock_takes_one_descriptor_a_cpu),
		cmocka_unit_test(launches_are_reported_once),
		cmocka_unit_test(calls_are_timed_in_chosen_processes),
		cmocka_unit_test(a_refused_subscriber_is_reported),
		cmocka_unit_test(unrequested_probes_are_refused),
		cmocka_unit_test(all_but_opening_works_as_nobody_with_two_capabilities),
		cmocka_unit_test(layouts_end_with_their_program),
		cmocka_unit_test(python_functions_have_names),
		cmocka_unit_test(every_function_of_a_deep_python_stack_has_its_name),
		cmocka_unit_test(all_time_of_a_thread_is_reported_once),
		cmocka_unit_test(so_it_is_as_before_casts),
		cmocka_unit_test(kernel_functions_have_their_names),
		cmocka_unit_test(programs_are_quick_to_verify),
	};

	if (geteuid() != 0 || getenv("UNDER_VALGRIND")) {
		print_message("1..0 # SKIP needs root, and code that runs as it is\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
