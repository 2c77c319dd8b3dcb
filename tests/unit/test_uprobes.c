/* SPDX-License-Identifier: MIT */
/*
 * Functions of CUDA found in the files that processes map, and probes on them: in this program, in
 * libraries that are built here, and in files that no linker makes. Needs root.
 */
#include "unit.h"
#include <dlfcn.h>
#include <sys/prctl.h>
#include <time.h>
#include "made_elf.h"
#include "profiler/base/cuda_functions.h"
#include "profiler/sources/uprobes.h"

#define TIMEOUT_S 60          /* timeout of expected events */
#define NO_PROCESS 0x3fff0000 /* above the largest pid_max */
#define FOUND_MAX 1024        /* functions that are probed of one file */

static char folder[] = "/tmp/profile_unit.XXXXXX";

/* ---- functions that are found in this program, as in one that has CUDA's runtime in it ---- */

#define PROBED __attribute__((noipa)) static

static volatile int sink;

PROBED int cudaLaunchKernel(void)
{
	return sink++;
}

PROBED int cuLaunchKernel_ptsz(void)
{
	return sink++;
}

PROBED int cudaMemcpy(void)
{
	return sink++;
}

enum { LAUNCH_FUNCTIONS = 2, CALL_FUNCTIONS = 3 };

static int call_all(void)
{
	return cudaLaunchKernel() + cuLaunchKernel_ptsz() + cudaMemcpy();
}

/* ---- files ---- */

static const char *path_of(const char *file)
{
	static char path[96];

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	return path;
}

__attribute__((format(printf, 1, 2))) static void shell(const char *format, ...)
{
	char command[1024];
	va_list arguments;
	int length = snprintf(command, sizeof(command), "cd %s && ", folder);

	va_start(arguments, format);
	vsnprintf(command + length, sizeof(command) - (size_t)length, format, arguments);
	va_end(arguments);
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

/* Builds a stripped library of functions `int name(int)` that return their argument. */
static void build_library(const char *file, const char *first, const char *second)
{
	shell("printf 'int %s(int x) { return x; }\\nint %s(int x) { return x; }\\n' > l.c && "
	      "${CC:-cc} -O2 -s -shared -fPIC -o '%s' l.c",
	      first, second, file);
}

static void *map_library(const char *file)
{
	void *library = dlopen(path_of(file), RTLD_NOW | RTLD_LOCAL);

	assert_non_null(library);
	return library;
}

static int call(void *library, const char *function, int parameter)
{
	int (*entry)(int);

	*(void **)&entry = dlsym(library, function);
	assert_non_null(entry);
	return entry(parameter);
}

/* ---- events ---- */

struct bench {
	struct log log;
	struct bpf_source *source;
	struct bounded_caller *calls;
	struct uprobes *probes;
};

/* Follows this process and its children. */
static void begin(struct bench *b, enum bpf_source_probe kind)
{
	char error[512] = "";

	memset(b, 0, sizeof(*b));
	b->source = bpf_source_open(&(struct bpf_source_options){.launches = true, .calls = true},
				    error, sizeof(error));
	if (!b->source)
		fail_msg("%s", error);
	assert_int_equal(bpf_source_track(b->source, getpid()), 0);
	b->calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	b->probes = uprobes_new(kind, b->source, b->calls, &b->log);
	assert_non_null(b->probes);
}

static void end(struct bench *b)
{
	uprobes_free(b->probes);
	bounded_caller_free(b->calls);
	bpf_source_close(b->source);
}

/* Returns the next event, except for CPU time of this process and its children, or NULL. */
static const struct stack_event *next_event(struct bench *b)
{
	const struct stack_event *event;

	for (int round = 0; round < 2; round++) {
		while ((event = bpf_source_next(b->source)))
			if (event->kind != STACK_EVENT_CPU_USED)
				return event;
		bpf_source_fill(b->source);
	}
	return NULL;
}

static void expect_launch(struct bench *b, const char *function)
{
	const struct stack_event *event = next_event(b);

	assert_non_null(event);
	assert_int_equal(event->kind, STACK_EVENT_LAUNCH);
	assert_int_equal(event->pid, getpid());
	assert_string_equal(cuda_function_name(event->launch_function), function);
}

/* ---- processes ---- */

static void launch_functions_of_a_program(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, PROBE_LAUNCH);
	call_all();
	assert_null(next_event(&b));
	assert_int_equal(uprobes_count(b.probes), 0);
	assert_int_equal(uprobes_scan_process(b.probes, getpid()), LAUNCH_FUNCTIONS);
	assert_int_equal(uprobes_count(b.probes), LAUNCH_FUNCTIONS);
	call_all();
	expect_launch(&b, "cudaLaunchKernel");
	expect_launch(&b, "cuLaunchKernel_ptsz");
	assert_null(next_event(&b));
	/* a file is looked through once */
	assert_int_equal(uprobes_scan_process(b.probes, getpid()), 0);
	assert_int_equal(uprobes_scan_file(b.probes, "/proc/self/exe"), 0);
	assert_int_equal(uprobes_count(b.probes), LAUNCH_FUNCTIONS);
	cudaLaunchKernel();
	expect_launch(&b, "cudaLaunchKernel");
	assert_null(next_event(&b));
	end(&b);
}

static void libraries_that_are_mapped_later(void **state)
{
	struct bench b;
	void *library, *other;

	(void)state;
	begin(&b, PROBE_LAUNCH);
	build_library("late.so", "cudaLaunchKernelExC", "not_of_cuda");
	build_library("other.so", "cudaLaunch", "cudaLaunchKernel_");
	assert_int_equal(uprobes_scan_process(b.probes, getpid()), LAUNCH_FUNCTIONS);
	library = map_library("late.so");
	other = map_library("other.so");
	call(library, "cudaLaunchKernelExC", 1);
	assert_null(next_event(&b));
	assert_int_equal(uprobes_scan_process(b.probes, getpid()), 1);
	call(library, "cudaLaunchKernelExC", 1);
	call(library, "not_of_cuda", 1);
	call(other, "cudaLaunchKernel_", 1);
	expect_launch(&b, "cudaLaunchKernelExC");
	assert_null(next_event(&b));
	assert_int_equal(uprobes_count(b.probes), LAUNCH_FUNCTIONS + 1);
	end(&b);
	dlclose(library);
	dlclose(other);
}

/* The file that is mapped, and not the one that has its path. */
static void a_library_whose_file_was_replaced(void **state)
{
	struct bench b;
	void *library, *other;

	(void)state;
	begin(&b, PROBE_LAUNCH);
	uprobes_scan_process(b.probes, getpid());
	build_library("replaced.so", "cuGraphLaunch", "x");
	library = map_library("replaced.so");
	build_library("new.so", "cudaGraphLaunch", "y");
	shell("mv new.so replaced.so");
	assert_int_equal(uprobes_scan_process(b.probes, getpid()), 1);
	call(library, "cuGraphLaunch", 1);
	expect_launch(&b, "cuGraphLaunch");
	other = map_library("./replaced.so");
	call(other, "cudaGraphLaunch", 1);
	assert_null(next_event(&b));
	end(&b);
	dlclose(library);
	dlclose(other);
}

/* CUPTI's function counts in CUPTI's library only. */
static void subscribers_are_watched_in_cupti(void **state)
{
	const struct stack_event *event;
	struct bench b;
	void *library, *other;

	(void)state;
	if (!bpf_source_may_probe_returns())
		SKIP("return probes can kill processes on this kernel");
	begin(&b, PROBE_SUBSCRIBE);
	build_library("libcupti.so.99", "cuptiSubscribe", "cuptiSubscribe_v2");
	build_library("cupti.so", "cuptiSubscribe", "cuptiSubscribe_v2");
	library = map_library("libcupti.so.99");
	other = map_library("cupti.so");
	assert_int_equal(uprobes_scan_process(b.probes, getpid()), 2);
	call(other, "cuptiSubscribe", 39);
	call(library, "cuptiSubscribe", 0);
	assert_null(next_event(&b));
	for (int i = 0; i < 2; i++) {
		call(library, i ? "cuptiSubscribe_v2" : "cuptiSubscribe", 39);
		event = next_event(&b);
		assert_non_null(event);
		assert_int_equal(event->kind, STACK_EVENT_REFUSED);
		assert_null(next_event(&b));
	}
	end(&b);
	dlclose(library);
	dlclose(other);
}

static void missing_processes(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, PROBE_CALL);
	assert_int_equal(uprobes_scan_process(b.probes, NO_PROCESS), -ENOENT);
	assert_int_equal(uprobes_scan_process(b.probes, -1), -ENOENT);
	uprobes_forget_process(b.probes, NO_PROCESS);
	assert_int_equal(uprobes_count(b.probes), 0);
	end(&b);
}

/* ---- one process only ---- */

/* A child that calls all functions for each byte it gets, and answers. */
struct child {
	pid_t pid;
	int orders, answers;
};

static struct child start_child(void)
{
	struct child child;
	int orders[2], answers[2];
	char byte;

	assert_int_equal(pipe2(orders, O_CLOEXEC), 0);
	assert_int_equal(pipe2(answers, O_CLOEXEC), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(orders[1]);
		while (read(orders[0], &byte, 1) == 1) {
			call_all();
			if (write(answers[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	close(orders[0]);
	close(answers[1]);
	child.orders = orders[1];
	child.answers = answers[0];
	return child;
}

static void let_call(const struct child *child)
{
	char byte = 0;

	assert_int_equal(write(child->orders, &byte, 1), 1);
	assert_int_equal(read(child->answers, &byte, 1), 1);
}

static void end_child(const struct child *child)
{
	close(child->orders);
	close(child->answers);
	kill(child->pid, SIGKILL); /* the other child has its pipes, too */
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

/* Counts events of timed calls, entries and returns, all of this process. */
static uint32_t count_calls(struct bench *b, pid_t pid)
{
	const struct stack_event *event;
	uint32_t entries = 0, returns = 0;

	while ((event = next_event(b))) {
		assert_int_equal(event->pid, pid);
		entries += event->kind == STACK_EVENT_CALL;
		returns += event->kind == STACK_EVENT_CALL_END;
	}
	assert_int_equal(entries, returns);
	return entries;
}

static void calls_are_probed_in_one_process(void **state)
{
	struct child one, other;
	struct bench b;

	(void)state;
	if (!bpf_source_may_probe_returns())
		SKIP("return probes can kill processes on this kernel");
	begin(&b, PROBE_CALL);
	one = start_child();
	other = start_child();
	assert_int_equal(bpf_source_time_calls(b.source, one.pid, true), 0);
	assert_int_equal(bpf_source_time_calls(b.source, other.pid, true), 0);
	assert_int_equal(uprobes_scan_process(b.probes, one.pid), CALL_FUNCTIONS);
	assert_int_equal(uprobes_scan_process(b.probes, one.pid), 0);
	let_call(&other);
	let_call(&one);
	assert_int_equal(count_calls(&b, one.pid), CALL_FUNCTIONS);
	/* one file, for another process */
	assert_int_equal(uprobes_scan_process(b.probes, other.pid), CALL_FUNCTIONS);
	let_call(&other);
	assert_int_equal(count_calls(&b, other.pid), CALL_FUNCTIONS);
	assert_int_equal(uprobes_count(b.probes), 2 * CALL_FUNCTIONS);
	/* one is forgotten, the other is not */
	uprobes_forget_process(b.probes, one.pid);
	let_call(&one);
	assert_null(next_event(&b));
	let_call(&other);
	assert_int_equal(count_calls(&b, other.pid), CALL_FUNCTIONS);
	assert_int_equal(uprobes_scan_process(b.probes, other.pid), 0);
	/* the process's files are searched again */
	assert_int_equal(uprobes_scan_process(b.probes, one.pid), CALL_FUNCTIONS);
	let_call(&one);
	assert_int_equal(count_calls(&b, one.pid), CALL_FUNCTIONS);
	end_child(&one);
	end_child(&other);
	end(&b);
}

/* ---- files by their names ---- */

static void files_that_are_named(void **state)
{
	struct bench b;
	void *library;

	(void)state;
	begin(&b, PROBE_LAUNCH);
	build_library("named.so", "cudaLaunchCooperativeKernel", "cuLaunchKernelEx");
	build_library("without.so", "one", "another");
	shell("mkfifo fifo && mkdir inner && printf text > text && : > empty && "
	      "ln -s named.so link.so");
	assert_int_equal(uprobes_scan_file(b.probes, path_of("nothing.so")), -ENOENT);
	assert_int_equal(uprobes_scan_file(b.probes, path_of("without.so")), -ENOENT);
	assert_int_equal(uprobes_scan_file(b.probes, path_of("text")), -ENOENT);
	assert_int_equal(uprobes_scan_file(b.probes, path_of("empty")), -ENOENT);
	assert_true(uprobes_scan_file(b.probes, path_of("fifo")) < 0); /* no wait */
	assert_true(uprobes_scan_file(b.probes, path_of("inner")) < 0);
	assert_int_equal(uprobes_count(b.probes), 0);
	assert_int_equal(uprobes_scan_file(b.probes, path_of("link.so")), 2);
	assert_int_equal(uprobes_scan_file(b.probes, path_of("named.so")), 0); /* a second link */
	assert_int_equal(uprobes_count(b.probes), 2);
	library = map_library("named.so");
	call(library, "cuLaunchKernelEx", 1);
	expect_launch(&b, "cuLaunchKernelEx");
	assert_null(next_event(&b));
	end(&b);
	dlclose(library);
}

/* Symbols that no compiler produces: impossible ones are skipped. */
static void odd_symbols(void **state)
{
	static const char names[] = "\0cudaLaunchKernel\0cuLaunchKernel\0cuGraphLaunch";
	enum { RUNTIME = 1, DRIVER = 18, GRAPH = 33 };
	Elf64_Sym symbols[] = {
		{0},
		made_function(RUNTIME, 0x100, 16),
		made_function(RUNTIME, 0x100, 16),        /* again */
		made_function(DRIVER, 0x100, 16),         /* another name for this code */
		made_function(DRIVER, 0xfff, 1),          /* the last byte of code */
		made_function(GRAPH, MADE_TEXT_SIZE, 16), /* after the code */
		made_function(GRAPH, UINT64_C(0) - MADE_TEXT - 8, 16),
		made_function(GRAPH, 0x200, 16), /* undefined here */
		made_function(GRAPH, 0x300, 16), /* no function */
		made_function(sizeof(names), 0x400, 16),
		made_function(UINT32_MAX, 0x500, 16),
	};
	const struct made_section sections[] = {
		/* half a symbol at the end */
		{".symtab", SHT_SYMTAB, 3, sizeof(symbols) + 12, NULL, 0, sizeof(*symbols)},
		{".strtab", SHT_STRTAB, 0, sizeof(names), names, 0, 0},
	};
	char table[sizeof(symbols) + 12] = "";
	struct made_section whole[2];
	struct bench b;

	(void)state;
	symbols[7].st_shndx = SHN_UNDEF;
	symbols[8].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	memcpy(table, symbols, sizeof(symbols));
	memcpy(whole, sections, sizeof(whole));
	whole[0].data = table;
	make_elf(path_of("odd.so"), whole, 2);
	begin(&b, PROBE_LAUNCH);
	assert_int_equal(uprobes_scan_file(b.probes, path_of("odd.so")), 2);
	end(&b);
}

static void missing_tables(void **state)
{
	static const char names[] = "\0cuLaunchKernel";
	const Elf64_Sym symbols[] = {{0}, made_function(1, 0x100, 16)};
	const struct made_section good[] = {
		{".symtab", SHT_SYMTAB, 3, sizeof(symbols), symbols, 0, sizeof(*symbols)},
		{".strtab", SHT_STRTAB, 0, sizeof(names), names, 0, 0},
	};
	const uint8_t elfclass32 = ELFCLASS32;
	struct made_section sections[2];
	struct bench b;

	(void)state;
	begin(&b, PROBE_LAUNCH);
	for (int i = 0; i < 5; i++) {
		char file[32];
		int fd;

		snprintf(file, sizeof(file), "table%d.so", i);
		memcpy(sections, good, sizeof(sections));
		if (i == 1)
			sections[0].link = 60; /* no such section */
		if (i == 2)
			sections[1] = (struct made_section){
				.name = ".strtab", .type = SHT_STRTAB, .size = UINT64_C(1) << 40};
		if (i == 3)
			sections[0].link = 2; /* names of its own symbols' bytes */
		make_elf(path_of(file), sections, 2);
		if (i == 4) {
			fd = open(path_of(file), O_WRONLY | O_CLOEXEC);
			made_write(fd, &elfclass32, 1, EI_CLASS);
			close(fd);
		}
		assert_int_equal(uprobes_scan_file(b.probes, path_of(file)), i == 0 ? 1 : -ENOENT);
	}
	end(&b);
}

/* One launch function at each byte. */
static void too_many_functions(void **state)
{
	static const char names[] = "\0cuLaunchKernel";
	Elf64_Sym *symbols = calloc(MADE_TEXT_SIZE, sizeof(*symbols));
	const struct made_section sections[] = {
		{".symtab", SHT_SYMTAB, 3, MADE_TEXT_SIZE * sizeof(*symbols), symbols, 0,
		 sizeof(*symbols)},
		{".strtab", SHT_STRTAB, 0, sizeof(names), names, 0, 0},
	};
	struct bench b;

	(void)state;
	assert_non_null(symbols);
	for (uint32_t i = 0; i < MADE_TEXT_SIZE; i++)
		symbols[i] = made_function(1, i, 1);
	make_elf(path_of("crowded.so"), sections, 2);
	free(symbols);
	begin(&b, PROBE_LAUNCH);
	assert_int_equal(uprobes_scan_file(b.probes, path_of("crowded.so")), FOUND_MAX);
	assert_int_equal(uprobes_count(b.probes), FOUND_MAX);
	end(&b);
}

/* ---- what is said ---- */

static struct capture captured;

/* Instructions that the kernel has to step over one by one make a probe slow. */
static void probe_locations_are_logged(void **state)
{
	struct bench b;
	const char *text;

	(void)state;
	shell("printf '\\t.text\\n\\t.globl %s\\n\\t.type %s,@function\\n%s:\\n\\tpush %%%%rbp\\n"
	      "\\tret\\n\\t.globl %s\\n\\t.type %s,@function\\n%s:\\n\\tnop\\n\\tret\\n"
	      "\\t.section .note.GNU-stack,\"\",@progbits\\n' > c.S && "
	      "${CC:-cc} -shared -nostdlib -nostartfiles c.S -o cost.so",
	      "cuLaunchKernel", "cuLaunchKernel", "cuLaunchKernel", "cuGraphLaunch",
	      "cuGraphLaunch", "cuGraphLaunch");
	begin(&b, PROBE_LAUNCH);
	b.log.level = LOG_VERBOSE;
	capture_begin(&captured);
	assert_int_equal(uprobes_scan_file(b.probes, path_of("cost.so")), 2);
	text = capture_end(&captured);
	assert_non_null(strstr(text, "probe on cuLaunchKernel in /tmp/profile_unit."));
	assert_non_null(strstr(text, ", first byte 55\n"));
	assert_non_null(strstr(text, "probe on cuGraphLaunch in /tmp/profile_unit."));
	assert_non_null(strstr(text, ", first byte 90: not a push, slow\n"));
	end(&b);
}

/* Returns the loss if a probe cannot be set. Checks that there is no message without a loss. */
static const char *failure_of(enum bpf_source_probe kind, const char *file)
{
	char error[512];
	struct log log = {.level = LOG_NORMAL};
	/* probes were not requested */
	struct bpf_source *source = bpf_source_open(&(struct bpf_source_options){.sample_hz = 50},
						    error, sizeof(error));
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	struct uprobes *probes;

	assert_non_null(source);
	probes = uprobes_new(kind, source, calls, &log);
	assert_non_null(probes);
	capture_begin(&captured);
	assert_int_equal(uprobes_scan_file(probes, path_of(file)), -EOPNOTSUPP);
	assert_int_equal(uprobes_count(probes), 0);
	uprobes_free(probes);
	bounded_caller_free(calls);
	bpf_source_close(source);
	return capture_end(&captured);
}

static void failures_are_reported(void **state)
{
	const char *text;

	(void)state;
	build_library("failing.so", "cudaLaunchKernel", "cuptiSubscribe");
	text = failure_of(PROBE_LAUNCH, "failing.so");
	assert_non_null(strstr(text, "/failing.so: Operation not supported; its launches will "
				     "have no stack\n"));
	text = failure_of(PROBE_CALL, "failing.so");
	assert_non_null(
		strstr(text, "/failing.so: Operation not supported; its calls are not timed\n"));
	assert_string_equal(failure_of(PROBE_SUBSCRIBE, "failing.so"), "");
}

/* ---- all ---- */

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launch_functions_of_a_program),
		cmocka_unit_test(libraries_that_are_mapped_later),
		cmocka_unit_test(a_library_whose_file_was_replaced),
		cmocka_unit_test(subscribers_are_watched_in_cupti),
		cmocka_unit_test(missing_processes),
		cmocka_unit_test(calls_are_probed_in_one_process),
		cmocka_unit_test(files_that_are_named),
		cmocka_unit_test(odd_symbols),
		cmocka_unit_test(missing_tables),
		cmocka_unit_test(too_many_functions),
		cmocka_unit_test(probe_locations_are_logged),
		cmocka_unit_test(failures_are_reported),
	};

	if (geteuid() != 0 || getenv("UNDER_VALGRIND")) {
		print_message("1..0 # SKIP needs root, and code that runs as it is\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
