/* SPDX-License-Identifier: MIT */
/* Stacks from snapshots (of this test itself), from recordings, and as processes send them. */
#include "unit.h"
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "profiler/cpu/stack_builder.h"
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/text.h"

#define NOINLINE __attribute__((noinline, noclone))

struct bench {
	struct stack_builder builder;
	struct symbolizer *symbolizer;
	struct stack_table *stacks;
	struct pythons pythons;
	struct intern strings;
	struct quota quota;
	struct ledger ledger;
	struct cut_stacks cut;
	struct processes processes;
	struct process *self;  /* the test's process */
	struct process *other; /* known only from the pipe */
};

/* The kernel's functions that these tests need: with all of them they take long under valgrind. */
#define KERNEL_TRAP UINT64_C(0xffffffff81000000)
static const char kallsyms[] = "ffffffff81000000 T asm_exc_int3\n"
			       "ffffffff81000100 T another\n"
			       "ffffffff81000300 t others\n";

static int open_kallsyms(void)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	if (fd < 0 || write(fd, kallsyms, sizeof(kallsyms) - 1) != sizeof(kallsyms) - 1 ||
	    lseek(fd, 0, SEEK_SET) != 0)
		return -1;
	return fd;
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	b->symbolizer = symbolizer_new();
	b->stacks = stack_table_new();
	pythons_init(&b->pythons, b->symbolizer, &b->strings, NULL);
	b->quota.limit = 1 << 20;
	b->self = processes_start(&b->processes, getpid(), 1, false);
	b->other = processes_start_pipe_only(&b->processes, 70, 70);
	b->builder = (struct stack_builder){.symbolizer = b->symbolizer,
					    .stacks = b->stacks,
					    .pythons = &b->pythons,
					    .strings = &b->strings,
					    .quota = &b->quota,
					    .ledger = &b->ledger,
					    .cut = &b->cut};
	if (!b->symbolizer || !b->stacks || !b->self || !b->other)
		return -1;
	symbolizer_set_kallsyms(b->symbolizer, open_kallsyms());
	b->other->sent.quota = &b->quota;
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	processes_release(&b->processes);
	pythons_release(&b->pythons);
	stack_table_free(b->stacks);
	cut_stacks_release(&b->cut);
	symbolizer_free(b->symbolizer);
	intern_release(&b->strings);
	free(b);
	return 0;
}

/* Returns the names of a stack's frames from the root on, as "main;outer;inner". */
static const char *text_of(const struct bench *b, struct stack_id stack)
{
	static char text[65536];
	char *at = text + sizeof(text) - 1, line[512];

	*at = '\0';
	for (; !same_id(stack, STACK_EMPTY); stack = stack_table_outer(b->stacks, stack)) {
		const struct frame *f = stack_table_frame(b->stacks, stack);
		const char *name = f->text;
		size_t n;

		if (f->kind == FRAME_CODE || f->kind == FRAME_RETURN)
			name = symbolizer_name(b->symbolizer, f->code, f->kind == FRAME_RETURN);
		if (f->kind == FRAME_PYTHON && f->file) {
			snprintf(line, sizeof(line), "%s@%s:%u", f->text, f->file, f->line);
			name = line;
		}
		n = strlen(name);
		assert_true(at - text > (ptrdiff_t)n + 1);
		if (*at)
			*--at = ';';
		at -= n;
		memcpy(at, name, n);
	}
	return at;
}

static uint32_t depth_of(const struct bench *b, struct stack_id stack)
{
	uint32_t depth = 0;

	for (; !same_id(stack, STACK_EMPTY); stack = stack_table_outer(b->stacks, stack))
		depth++;
	return depth;
}

/* Returns the frame at this distance from the innermost one. */
static const struct frame *frame_at(const struct bench *b, struct stack_id stack, uint32_t distance)
{
	while (distance-- > 0)
		stack = stack_table_outer(b->stacks, stack);
	return stack_table_frame(b->stacks, stack);
}

/* ---- snapshots ---- */

static struct {
	struct stack_snapshot head;
	__u64 kernel[STACK_EVENT_MAX_FRAMES];
	uint64_t stack[STACK_SNAPSHOT_BYTES / sizeof(uint64_t)];
} taken;
static struct stack_snapshot *const snapshot = &taken.head;
static const unsigned char *stack_end;

/* DWARF's order: rax rdx rcx rbx rsi rdi rbp rsp r8-r15 pc. */
static const int registers[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

/* Copies the stack word by word, because a sanitizer does not allow reading whole frames. */
__attribute__((no_sanitize("address"))) NOINLINE static void copy_stack(const uint64_t *from,
									size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((volatile uint64_t *)taken.stack)[i] = ((const volatile uint64_t *)from)[i];
}

NOINLINE static void inner_of_test(void)
{
	ucontext_t context;
	uintptr_t sp;
	size_t bytes;

	getcontext(&context);
	memset(snapshot, 0, sizeof(*snapshot));
	for (int i = 0; i < STACK_SNAPSHOT_REGISTERS; i++)
		snapshot->registers[i] = (__u64)context.uc_mcontext.gregs[registers[i]];
	sp = (uintptr_t)snapshot->registers[7];
	bytes = (size_t)((uintptr_t)stack_end - sp);
	bytes = bytes < STACK_SNAPSHOT_BYTES ? bytes : STACK_SNAPSHOT_BYTES;
	copy_stack((const uint64_t *)sp, bytes);
	snapshot->stack_above = (uintptr_t)stack_end - sp;
	snapshot->stack_bytes = (__u32)bytes;
	snapshot->stack_at = offsetof(__typeof__(taken), stack);
	snapshot->kernel_at = offsetof(__typeof__(taken), kernel);
	snapshot->event = (struct stack_event){.time_ns = 1,
					       .pid = (__u32)getpid(),
					       .tid = (__u32)getpid(),
					       .kind = STACK_EVENT_CPU_SNAPSHOT};
}

NOINLINE static void middle_of_test(void)
{
	inner_of_test();
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

NOINLINE static void outer_of_test(void)
{
	middle_of_test();
	__asm__ volatile("" ::: "memory");
}

NOINLINE static void descend(int depth)
{
	if (depth > 0)
		descend(depth - 1);
	else
		inner_of_test();
	__asm__ volatile("" ::: "memory");
}

static void find_stack(void)
{
	pthread_attr_t attr;
	void *start = NULL;
	size_t size = 0;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	pthread_attr_getstack(&attr, &start, &size);
	pthread_attr_destroy(&attr);
	stack_end = (const unsigned char *)start + size;
}

static struct stack_id build(struct bench *b, const char *api, bool *is_whole)
{
	return stack_builder_snapshot(&b->builder, b->self, snapshot, api, is_whole);
}

static void a_snapshot_is_unwound(void **state)
{
	struct bench *b = *state;
	bool is_whole = false;
	struct stack_id stack;

	outer_of_test();
	stack = build(b, NULL, &is_whole);
	assert_true(is_whole && b->builder.unwound_end == UNWIND_WHOLE);
	assert_int_equal(b->ledger.bounds.truncated, 0);
	assert_true(ends_with(text_of(b, stack),
			      ";a_snapshot_is_unwound;outer_of_test;middle_of_test;inner_of_test"));
	assert_non_null(strstr(text_of(b, stack), ";main;"));
	assert_null(strstr(text_of(b, stack), PSEUDO_TRUNCATED));
	/* the innermost frame is where it was, the others where they return to */
	assert_int_equal(frame_at(b, stack, 0)->kind, FRAME_CODE);
	for (uint32_t i = 1; i < 4; i++)
		assert_int_equal(frame_at(b, stack, i)->kind, FRAME_RETURN);
	/* the recorded frames are equal */
	assert_int_equal(b->builder.unwound_count, depth_of(b, stack));
	assert_int_equal(b->builder.unwound[0].address, snapshot->registers[16]);
	for (uint32_t i = 0; i < b->builder.unwound_count; i++)
		assert_memory_equal(&b->builder.unwound[i].code, &frame_at(b, stack, i)->code,
				    sizeof(struct code_ref));
	assert_same_number(build(b, NULL, &is_whole), stack);
}

/* Returns the name of the test's program, which takes the library's part: main is in it, and
 * calls others. */
static const char *own_name(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n > 0);
	path[n] = '\0';
	return base_name(path);
}

static void the_library_is_one_frame(void **state)
{
	struct bench *b = *state;
	bool is_whole = false;
	struct stack_id stack;

	b->builder.library = own_name();
	outer_of_test();
	taken.kernel[0] = KERNEL_TRAP + 0x110;
	snapshot->event.kernel_frames = 1;
	stack = build(b, NULL, &is_whole);
	assert_true(is_whole);
	/* from _start on, with kernel frames */
	assert_string_equal(text_of(b, stack), PSEUDO_LIBRARY);
	assert_int_equal(frame_at(b, stack, 0)->kind, FRAME_MARK);
	assert_true(depth_of(b, stack) < b->builder.unwound_count);
	/* another name, or none: all frames */
	memset(b->builder.modules, 0, sizeof(b->builder.modules));
	b->builder.library = "test_stack";
	assert_null(strstr(text_of(b, build(b, NULL, &is_whole)), PSEUDO_LIBRARY));
	memset(b->builder.modules, 0, sizeof(b->builder.modules));
	b->builder.library = NULL;
	assert_null(strstr(text_of(b, build(b, NULL, &is_whole)), PSEUDO_LIBRARY));
}

static void take_in_handler(int number)
{
	(void)number;
	outer_of_test();
}

/* The handler is the program's, and what it calls is not the library's work. */
static void a_signal_interrupts_the_library(void **state)
{
	struct sigaction action = {.sa_handler = take_in_handler}, before;
	struct bench *b = *state;
	bool is_whole = false;
	const char *text, *rest;

	if (getenv("UNDER_VALGRIND")) {
		print_message("SKIP: the stack copy has the signal's frame, and words below it\n");
		skip();
	}
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &before, NULL);
	b->builder.library = own_name();
	text = text_of(b, build(b, NULL, &is_whole));
	/* the library has the test's own file here, so these frames count as another visit of
	 * the library */
	rest = strstr(text, PSEUDO_LIBRARY ";");
	assert_non_null(rest);
	rest += strlen(PSEUDO_LIBRARY ";");
	assert_true(ends_with(rest, ";" PSEUDO_LIBRARY));
	assert_int_equal(strcspn(rest, ";") + strlen(";" PSEUDO_LIBRARY), strlen(rest));
}

static void names_of_the_library(void **state)
{
	struct bench *b = *state;

	b->builder.library = "other.so";
	assert_true(stack_builder_is_library(&b->builder, "other.so"));
	assert_true(stack_builder_is_library(&b->builder, "other.so (deleted)"));
	assert_true(stack_builder_is_library(&b->builder, "libprofile_cupti.so"));
	assert_true(stack_builder_is_library(&b->builder, "libprofile_cupti-0123456789abcdef.so"));
	assert_false(stack_builder_is_library(&b->builder, "other.so.1"));
	assert_false(stack_builder_is_library(&b->builder, "another.so"));
	assert_false(stack_builder_is_library(&b->builder, ""));
	b->builder.library = NULL;
	assert_false(stack_builder_is_library(&b->builder, ""));
}

/* A stack that is unwound, recorded and replayed stays equal. */
static void a_recording_of_it_is_the_same(void **state)
{
	struct bench *b = *state;
	__u64 addresses[STACK_BUILDER_UNWOUND];
	struct stack_event event;
	bool is_whole;
	struct stack_id stack, launch;

	outer_of_test();
	stack = build(b, NULL, &is_whole);
	launch = build(b, "cudaLaunchKernel", &is_whole);
	event = snapshot->event;
	event.user_frames = (__u16)b->builder.unwound_count;
	for (uint32_t i = 0; i < b->builder.unwound_count; i++)
		addresses[i] = b->builder.unwound[i].address;
	assert_same_number(stack_builder_addresses(&b->builder, b->self, &event, addresses, NULL),
			   stack);
	assert_same_number(stack_builder_addresses(&b->builder, b->self, &event, addresses,
						   "cudaLaunchKernel"),
			   launch);
}

static void a_snapshot_that_is_too_small_is_cut(void **state)
{
	struct bench *b = *state;
	bool is_whole = true;
	struct stack_id stack, whole;

	outer_of_test();
	whole = build(b, NULL, &is_whole);
	assert_true(is_whole);
	for (snapshot->stack_bytes = 0; snapshot->stack_bytes < 256; snapshot->stack_bytes += 8) {
		uint64_t truncated = b->ledger.bounds.truncated;

		stack = build(b, NULL, &is_whole);
		assert_false(is_whole);
		assert_int_equal(b->ledger.bounds.truncated, truncated + 1);
		assert_memory_equal(text_of(b, stack), PSEUDO_TRUNCATED, strlen(PSEUDO_TRUNCATED));
		assert_true(ends_with(text_of(b, stack), ";inner_of_test"));
		assert_true(depth_of(b, stack) <= depth_of(b, whole));
	}
}

static void a_stack_that_is_too_deep_is_cut(void **state)
{
	struct bench *b = *state;
	bool is_whole = true;
	struct stack_id stack;

	descend(STACK_BUILDER_UNWOUND + 10);
	stack = build(b, NULL, &is_whole);
	assert_false(is_whole);
	assert_int_equal(b->ledger.bounds.truncated, 1);
	assert_int_equal(b->builder.unwound_count, STACK_BUILDER_UNWOUND);
	assert_int_equal(depth_of(b, stack), STACK_BUILDER_UNWOUND + 1);
	assert_true(ends_with(text_of(b, stack), ";descend;descend;inner_of_test"));
	/* just as deep as that is not too deep */
	descend(100);
	stack = build(b, NULL, &is_whole);
	assert_true(is_whole);
	assert_in_range(depth_of(b, stack), 103, 130);
}

/* Frames in the kernel are further in. */
static void a_thread_in_the_kernel(void **state)
{
	struct bench *b = *state;
	bool is_whole;
	struct stack_id stack, user;

	outer_of_test();
	user = build(b, NULL, &is_whole);
	snapshot->event.kernel_frames = 3;
	for (int i = 0; i < 3; i++)
		taken.kernel[i] = UINT64_C(0xffffffff81000000) + 0x1000 * (uint64_t)i;
	stack = build(b, NULL, &is_whole);
	assert_true(is_whole);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(frame_at(b, stack, i)->kind, i ? FRAME_RETURN : FRAME_CODE);
		assert_int_equal(frame_at(b, stack, i)->code.module, MODULE_KERNEL);
	}
	stack = stack_table_outer(b->stacks, stack_table_outer(b->stacks, stack));
	assert_same_number(stack_table_outer(b->stacks, stack), user);
	/* user frames alone: the call is not among the unwound frames */
	assert_int_equal(b->builder.unwound_count, depth_of(b, user));
}

/* A function's own name takes the place of the innermost frame, and no way into the kernel counts.
 */
static void the_entry_of_a_function(void **state)
{
	struct bench *b = *state;
	bool is_whole;
	struct stack_id stack, plain;

	outer_of_test();
	plain = build(b, NULL, &is_whole);
	stack = build(b, "cudaLaunchKernel", &is_whole);
	assert_true(is_whole);
	assert_int_equal(depth_of(b, stack), depth_of(b, plain));
	assert_true(ends_with(text_of(b, stack), ";outer_of_test;middle_of_test;cudaLaunchKernel"));
	assert_int_equal(frame_at(b, stack, 0)->kind, FRAME_API);
	/* a process without any known mapping has the function's name alone */
	snapshot->stack_bytes = 0;
	stack = stack_builder_snapshot(&b->builder, b->other, snapshot, "cudaFree", &is_whole);
	assert_false(is_whole);
	assert_string_equal(text_of(b, stack), "[truncated];cudaFree");
}

/* A probe's breakpoint has been executed, the instruction in its place has not. */
static void at_a_breakpoint_the_pc_is_behind_it(void **state)
{
	struct bench *b = *state;
	bool is_whole;

	outer_of_test();
	snapshot->event.kernel_frames = 2;
	taken.kernel[0] = KERNEL_TRAP + 0x1000;
	taken.kernel[1] = KERNEL_TRAP + 1;
	build(b, NULL, &is_whole);
	assert_int_equal(b->builder.unwound[0].address, snapshot->registers[16]);
	b->builder.has_breakpoints = true;
	build(b, NULL, &is_whole);
	assert_int_equal(b->builder.unwound[0].address, snapshot->registers[16] - 1);
	/* any other way into the kernel */
	taken.kernel[1] = UINT64_C(0xffffffff00000000);
	build(b, NULL, &is_whole);
	assert_int_equal(b->builder.unwound[0].address, snapshot->registers[16]);
	snapshot->event.kernel_frames = 0;
	build(b, NULL, &is_whole);
	assert_int_equal(b->builder.unwound[0].address, snapshot->registers[16]);
}

/* A process in exec, or at its end, has no stack of its own: the name of its program stands for
 * it. */
static void a_process_in_exec_or_at_its_end(void **state)
{
	struct bench *b = *state;
	bool is_whole = false;
	struct stack_id stack;

	outer_of_test();
	b->self->comm = "this test";
	snapshot->stack_bytes = 0;
	snapshot->event.kernel_frames = 2;
	taken.kernel[0] = UINT64_C(0xffffffff00000000);
	taken.kernel[1] = UINT64_C(0xffffffff00001000);
	snapshot->event.flags = STACK_EVENT_NO_MEMORY;
	stack = build(b, NULL, &is_whole);
	assert_true(is_whole);
	assert_int_equal(b->builder.unwound_count, 0);
	assert_int_equal(depth_of(b, stack), 3);
	assert_string_equal(frame_at(b, stack, 2)->text, "this test");
	b->self->comm = NULL;
	assert_string_equal(frame_at(b, build(b, NULL, &is_whole), 2)->text, PSEUDO_NO_PROGRAM);
	snapshot->event.flags = 0;
	build(b, NULL, &is_whole); /* a stack that is cut for another reason is reported as cut */
	assert_false(is_whole);
	snapshot->event.flags = STACK_EVENT_IN_EXEC;
	stack = build(b, NULL, &is_whole);
	assert_true(is_whole);
	assert_string_equal(frame_at(b, stack, 2)->text, PSEUDO_NO_PROGRAM);
	/* in exec, the old stack is there at first */
	outer_of_test();
	snapshot->event.flags = STACK_EVENT_IN_EXEC;
	snapshot->event.kernel_frames = 2;
	stack = build(b, NULL, &is_whole);
	assert_true(is_whole);
	assert_true(depth_of(b, stack) > 4);
}

/* ---- recordings ---- */

/* A process that the user may not look into: its name, and what its launches are called. */
static void a_process_that_is_hidden(void **state)
{
	struct bench *b = *state;
	bool is_whole = false;
	struct stack_id stack;

	outer_of_test();
	b->self->comm = "secretive";
	snapshot->stack_bytes = 0;
	snapshot->event.flags = STACK_EVENT_NO_ACCESS;
	stack = build(b, NULL, &is_whole);
	assert_true(is_whole);
	assert_int_equal(b->builder.unwound_count, 0);
	assert_int_equal(depth_of(b, stack), 2);
	assert_string_equal(frame_at(b, stack, 0)->text, PSEUDO_NO_ACCESS);
	assert_string_equal(frame_at(b, stack, 1)->text, "secretive");
	stack = build(b, "cudaLaunchKernel", &is_whole);
	assert_int_equal(depth_of(b, stack), 3);
	assert_string_equal(frame_at(b, stack, 0)->text, "cudaLaunchKernel");
}

static void a_recorded_stack(void **state)
{
	struct bench *b = *state;
	const __u64 addresses[] = {0x1010, 0x1020, 0x1030, 0, 0};
	struct stack_event event = {.user_frames = 3, .kernel_frames = 2};
	struct stack_id stack =
		stack_builder_addresses(&b->builder, b->other, &event, addresses, NULL);
	static const uint32_t modules[] = {MODULE_KERNEL, MODULE_KERNEL, MODULE_UNKNOWN,
					   MODULE_UNKNOWN, MODULE_UNKNOWN};
	static const uint32_t kinds[] = {FRAME_CODE, FRAME_RETURN, FRAME_CODE, FRAME_RETURN,
					 FRAME_RETURN};

	assert_int_equal(depth_of(b, stack), 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(frame_at(b, stack, i)->code.module, modules[i]);
		assert_int_equal(frame_at(b, stack, i)->kind, kinds[i]);
	}
	assert_int_equal(b->ledger.bounds.truncated, 0);
	event.flags = STACK_EVENT_TRUNCATED;
	stack = stack_builder_addresses(&b->builder, b->other, &event, addresses, NULL);
	assert_int_equal(depth_of(b, stack), 6);
	assert_string_equal(frame_at(b, stack, 5)->text, PSEUDO_TRUNCATED);
	assert_int_equal(b->ledger.bounds.truncated, 1);
}

static void a_recorded_launch(void **state)
{
	struct bench *b = *state;
	const __u64 addresses[] = {0x1010, 0x1020, 0};
	struct stack_event event = {.user_frames = 2, .kernel_frames = 1};
	struct stack_id stack =
		stack_builder_addresses(&b->builder, b->other, &event, addresses, "api");

	assert_string_equal(text_of(b, stack), "[unknown];api");
	event.user_frames = event.kernel_frames = 0;
	stack = stack_builder_addresses(&b->builder, b->other, &event, addresses, "api");
	assert_string_equal(text_of(b, stack), "api");
	stack = stack_builder_addresses(&b->builder, b->other, &event, addresses, NULL);
	assert_same_number(stack, STACK_EMPTY);
}

/* ---- stacks that processes send ---- */

#define RETURN(address) ((struct gpu_event_frame){address, GPU_FRAME_RETURN, 0})
#define PYTHON(id, line) ((struct gpu_event_frame){id, GPU_FRAME_PYTHON, line})
#define NVTX(id) ((struct gpu_event_frame){id, GPU_FRAME_NVTX, 0})

static struct stack_id send(struct bench *b, const char *function, bool is_whole,
			    const struct gpu_event_frame *frames, uint32_t count)
{
	return stack_builder_captured(&b->builder, b->other, STACK_EMPTY,
				      &(struct gpu_event_stack){.id = 1,
								.is_whole = is_whole,
								.function = function,
								.count = count,
								.frames = frames});
}

static void a_stack_that_was_sent(void **state)
{
	struct bench *b = *state;
	const struct gpu_event_frame frames[] = {RETURN(0x1018), PYTHON(5, 40), NVTX(9),
						 RETURN(0x9999)};
	struct code_mapping mapping = {
		.start = 0x1000, .end = 0x2000, .inode = 7, .path = "/opt/libmodel.so"};
	struct target_python python = {"Model.forward", "model.py"};
	struct stack_id stack;

	stack = send(b, "cudaLaunchKernel", true, frames, 4);
	assert_string_equal(text_of(b, stack),
			    "[unknown];nvtx:[unknown];[Python];[unknown];cudaLaunchKernel");
	assert_int_equal(target_stacks_add_code(&b->other->sent, &mapping), 0);
	assert_int_equal(target_stacks_set_python(&b->other->sent, 5, &python), 0);
	assert_int_equal(target_stacks_set_nvtx(&b->other->sent, 9, "nvtx:step"), 0);
	stack = send(b, "cudaLaunchKernel", true, frames, 4);
	assert_string_equal(
		text_of(b, stack),
		"[unknown];nvtx:step;Model.forward@model.py:40;[libmodel.so];cudaLaunchKernel");
	assert_int_equal(frame_at(b, stack, 0)->kind, FRAME_API);
	assert_int_equal(frame_at(b, stack, 1)->kind, FRAME_RETURN);
	assert_int_equal(frame_at(b, stack, 2)->kind, FRAME_PYTHON);
	assert_int_equal(frame_at(b, stack, 3)->kind, FRAME_NVTX);
	assert_int_equal(b->ledger.bounds.truncated, 0);
	/* data of another process is unknown for this one */
	stack = stack_builder_captured(
		&b->builder, b->self, STACK_EMPTY,
		&(struct gpu_event_stack){
			.id = 1, .is_whole = 1, .function = "f", .count = 3, .frames = frames});
	assert_string_equal(text_of(b, stack), "nvtx:[unknown];[Python];[unknown];f");
}

/* Functions called from Python may be at another place in the stack: the stack is whole, but
 * counted. */
static void a_stack_in_unknown_order_says_so(void **state)
{
	struct bench *b = *state;
	const struct gpu_event_frame frames[] = {PYTHON(5, 40), RETURN(0x9999)};
	struct gpu_event_stack stack = {.id = 1,
					.is_whole = 1,
					.is_unordered = 1,
					.function = "f",
					.count = 2,
					.frames = frames};

	assert_string_equal(
		text_of(b, stack_builder_captured(&b->builder, b->other, STACK_EMPTY, &stack)),
		"[unknown];[Python];f");
	assert_int_equal(b->ledger.python.unordered, 1);
	assert_string_equal(b->ledger.python.first_file, "");
	assert_int_equal(b->ledger.bounds.truncated, 0);
}

static void processes_may_send_anything(void **state)
{
	struct bench *b = *state;
	struct gpu_event_frame frames[GPU_STACK_MAX_FRAMES] = {{0}};
	const struct gpu_event_frame odd[] = {{UINT64_MAX, GPU_FRAME_RETURN, UINT32_MAX},
					      {UINT64_MAX, GPU_FRAME_PYTHON, 1},
					      {UINT64_MAX, GPU_FRAME_NVTX, 1},
					      {UINT64_MAX, 77, 1},
					      {0, GPU_FRAME_RETURN, 0},
					      {0, 0, 0}};

	assert_same_number(send(b, "", true, frames, 0), STACK_EMPTY);
	assert_string_equal(text_of(b, send(b, "", false, frames, 0)), "[truncated]");
	assert_string_equal(text_of(b, send(b, "f\n\x1b", true, frames, 0)), "f??");
	assert_string_equal(text_of(b, send(b, "f", true, odd, 6)),
			    "[unknown];[unknown];[unknown];nvtx:[unknown];[Python];[unknown];f");
	for (uint32_t i = 0; i < GPU_STACK_MAX_FRAMES; i++)
		frames[i] = PYTHON(0, 0);
	assert_int_equal(depth_of(b, send(b, "f", false, frames, GPU_STACK_MAX_FRAMES)),
			 GPU_STACK_MAX_FRAMES + 2);
}

static void a_stack_that_was_cut_says_so(void **state)
{
	struct bench *b = *state;
	const struct gpu_event_frame frames[] = {PYTHON(0, 0)};

	assert_string_equal(text_of(b, send(b, "cudaFree", false, frames, 1)),
			    "[truncated];[Python];cudaFree");
	assert_string_equal(text_of(b, send(b, "cudaFree", true, frames, 1)), "[Python];cudaFree");
	assert_int_equal(b->ledger.bounds.truncated, 1);
}

/* ---- texts ---- */

static void a_text_costs_once(void **state)
{
	struct bench *b = *state;
	const char *text = stack_builder_text(&b->builder, "cudaLaunchKernel");
	size_t used = b->quota.used;

	assert_string_equal(text, "cudaLaunchKernel");
	assert_in_range(used, strlen(text), 128);
	assert_ptr_equal(stack_builder_text(&b->builder, "cudaLaunchKernel"), text);
	assert_int_equal(b->quota.used, used);
	assert_string_equal(stack_builder_text(&b->builder, "a\x07"
							    "b"),
			    "a?b");
	assert_string_equal(stack_builder_text(&b->builder, ""), "");
	/* without an quota there is no limit */
	b->builder.quota = NULL;
	used = b->quota.used;
	assert_string_equal(stack_builder_text(&b->builder, "another"), "another");
	assert_int_equal(b->quota.used, used);
}

static void excess_data_is_refused(void **state)
{
	struct bench *b = *state;
	const struct gpu_event_frame frames[] = {PYTHON(0, 0)};
	uint32_t kept = 0;
	char name[32];

	b->quota.limit = 4096;
	for (;; kept++) {
		snprintf(name, sizeof(name), "function%u", kept);
		if (!stack_builder_text(&b->builder, name))
			break;
	}
	assert_in_range(kept, 10, 4096 / 10);
	assert_int_equal(b->strings.count, kept);
	assert_int_equal(b->quota.refused, 1);
	/* a known text costs nothing */
	assert_non_null(stack_builder_text(&b->builder, "function0"));
	assert_int_equal(b->quota.refused, 1);
	/* a stack exists without the function's name */
	assert_string_equal(text_of(b, send(b, "cudaLaunchKernel", true, frames, 1)), "[Python]");
	assert_int_equal(b->quota.refused, 2);
	assert_int_equal(b->strings.count, kept);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_snapshot_is_unwound),
		TEST(the_library_is_one_frame),
		TEST(a_signal_interrupts_the_library),
		TEST(names_of_the_library),
		TEST(a_recording_of_it_is_the_same),
		TEST(a_snapshot_that_is_too_small_is_cut),
		TEST(a_stack_that_is_too_deep_is_cut),
		TEST(a_thread_in_the_kernel),
		TEST(the_entry_of_a_function),
		TEST(at_a_breakpoint_the_pc_is_behind_it),
		TEST(a_process_in_exec_or_at_its_end),
		TEST(a_process_that_is_hidden),
		TEST(a_recorded_stack),
		TEST(a_recorded_launch),
		TEST(a_stack_that_was_sent),
		TEST(a_stack_in_unknown_order_says_so),
		TEST(processes_may_send_anything),
		TEST(a_stack_that_was_cut_says_so),
		TEST(a_text_costs_once),
		TEST(excess_data_is_refused),
	};

	find_stack();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
