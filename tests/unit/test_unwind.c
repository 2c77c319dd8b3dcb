/* SPDX-License-Identifier: MIT */
/*
 * The injection library's unwinder, on the test's own stacks. It must find all frames that glibc's
 * backtrace(3) finds: in threads, below signal handlers and callbacks of libc, and on foreign
 * stacks.
 */
#include "unit.h"
#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "cupti_trace/unwind/unwind_cache.h"
#include "cupti_trace/unwind/unwind_thread.h"

#define NOINLINE __attribute__((noinline, noclone))

static struct unwind_stack taken;
static void *expected[UNWIND_MAX_FRAMES];
static int expected_count;

/* Known stacks by their fingerprints. Different stacks must have different fingerprints. */
#define KNOWN_MAX 65536
static struct known {
	uint64_t words; /* 0: free */
	uint32_t count;
	uint64_t sum; /* hash of the pcs, in order */
} known[KNOWN_MAX];
static uint32_t recognized, guessed_again, compared;

static struct known *known_stack(uint64_t words)
{
	uint32_t at = (uint32_t)(words % KNOWN_MAX);

	while (known[at].words && known[at].words != words)
		at = (at + 1) % KNOWN_MAX;
	return &known[at];
}

static struct known describe(uint64_t words, const uint64_t *pcs, uint32_t count)
{
	struct known k = {.words = words, .count = count};

	for (uint32_t i = 0; i < count; i++)
		k.sum = k.sum * 31 + pcs[i];
	return k;
}

static void assert_same(const struct known *a, const struct known *b)
{
	assert_int_equal(a->count, b->count);
	assert_true(a->sum == b->sum);
}

/*
 * Returns false under valgrind, where recognition is not tested. A wrong guess hashes words of the
 * stack that may be uninitialized; valgrind would report each use of the hash.
 */
static bool recognizes(void)
{
	return !getenv("UNDER_VALGRIND");
}

/* Returns the known stack that one of the guesses gives for the stack above `frame`; words 0:
 * none. */
static struct known guess(const void *frame)
{
	struct unwind_cache_thread *me = unwind_cache_thread();
	const struct known *same;
	uint64_t words;

	for (uint32_t wrong = 0; (words = unwind_recognize(me, frame, wrong)); wrong++) {
		same = known_stack(words);
		if (!same->words)
			continue;
		if (wrong > 0) {
			unwind_recognized_again(me, frame);
			guessed_again++;
		}
		return *same;
	}
	return (struct known){0};
}

/*
 * Expects the stack above `frame`, as guessed and as walked, to be all but the innermost frame of
 * `taken`.
 */
static void assert_recognized(const void *frame)
{
	struct known guessed = guess(frame), *before, now;
	static struct unwind_stack stack;

	compared++;
	unwind_from(frame, &stack, NULL);
	assert_int_equal(stack.count, taken.count - 1);
	assert_memory_equal(stack.pcs, taken.pcs + 1, stack.count * sizeof(stack.pcs[0]));
	now = describe(stack.words, stack.pcs, stack.count);
	if (guessed.words) {
		recognized++;
		assert_true(guessed.words == stack.words);
		assert_same(&guessed, &now);
	}
	if (!stack.words)
		return;
	before = known_stack(stack.words);
	if (before->words)
		assert_same(before, &now);
	else
		*before = now;
}

/* Takes both stacks. The first entry of backtrace is in here, as is ours, which is a return
 * address. From the second entry on, both are equal. */
NOINLINE static void take_snapshot(void)
{
	unwind_own_stack(&taken, NULL, UNWIND_MAX_FRAMES);
	expected_count = backtrace(expected, UNWIND_MAX_FRAMES);
	if (recognizes() && taken.count > 0 && taken.count < UNWIND_MAX_FRAMES)
		assert_recognized(__builtin_frame_address(0));
}

/* Returns the frames that a sanitizer's own backtrace() puts on top. */
static int extra_frames(void)
{
	return expected_count - (int)taken.count;
}

/* Expects `signals` frames to be places of a signal; the other frames hold return addresses. */
static void assert_with_signals(uint32_t signals)
{
	uint32_t found = 0;

	assert_true(taken.is_whole);
	assert_in_range(extra_frames(), 0, 1);
	for (uint32_t i = 1; i < taken.count; i++) {
		uint64_t pc = (uint64_t)(uintptr_t)expected[(int)i + extra_frames()];

		/* ours are named by the byte before */
		if (taken.pcs[i] == pc + 1)
			found++;
		else
			assert_int_equal(taken.pcs[i], pc);
	}
	assert_int_equal(found, signals);
}

static void assert_as_expected(void)
{
	assert_with_signals(0);
}

NOINLINE static void descend(int depth)
{
	volatile char local[40];

	local[depth % 40] = 1;
	if (depth == 0)
		take_snapshot();
	else
		descend(depth - 1);
	local[0] = local[depth % 40];
}

static void deep_recursion(void **state)
{
	(void)state;
	for (int depth = 0; depth < 150; depth += 7) {
		descend(depth);
		assert_as_expected();
	}
}

static void the_same_twice(void **state)
{
	struct unwind_stack first;

	(void)state;
	descend(5);
	first = taken;
	unwind_forget();
	descend(5);
	assert_int_equal(first.count, taken.count);
	assert_as_expected();
}

/*
 * Paths that part and meet again at equal and different depths. Frames are found by rsp, by rbp
 * (alloca), and by rsp with rbp in other use. Real programs vary so from launch to launch. Results
 * must not depend on what the cache holds of earlier paths.
 */
struct path {
	uint32_t choices; /* the lowest three bits count at each level */
	int depth;
};

NOINLINE static void go_on(struct path path);

NOINLINE static void with_small_frame(struct path path)
{
	volatile char local[24];

	local[0] = (char)path.depth;
	go_on(path);
	local[1] = local[0];
}

NOINLINE static void with_large_frame(struct path path)
{
	volatile char local[1000];

	local[path.depth] = (char)path.depth;
	go_on(path);
	local[1] = local[0];
}

NOINLINE static void with_moving_frame(struct path path)
{
	volatile char *local = __builtin_alloca(16 + (path.choices & 0xf0));

	local[0] = (char)path.depth;
	go_on(path);
	local[1] = local[0];
}

/* Calls on with an aligned frame, and arguments on the caller's stack: the CFA is an expression. */
NOINLINE static void with_aligned_frame(struct path path, int a, int b, int c, int d, int e, int f)
{
	volatile char *moving = __builtin_alloca(16 + (path.choices & 0x30));
	volatile char local[64] __attribute__((aligned(64)));

	local[0] = (char)(a + b + c + d + e + f);
	moving[0] = local[0];
	go_on(path);
	local[1] = moving[0];
}

NOINLINE static void through_aligned_frame(struct path path)
{
	with_aligned_frame(path, 1, 2, 3, 4, 5, 6);
	taken.pcs[UNWIND_MAX_FRAMES - 1] = 0; /* no tail call */
}

/* Calls three times from one frame: only the return address differs. */
NOINLINE static void from_several_places(struct path path)
{
	volatile int which = path.choices % 3;

	if (which == 0)
		go_on(path);
	else if (which == 1)
		go_on((struct path){path.choices + 1, path.depth});
	else
		go_on((struct path){path.choices ^ 0x5a, path.depth});
	which = 0;
}

NOINLINE static void go_on(struct path path)
{
	static void (*const ways[])(struct path) = {
		with_small_frame,      with_large_frame,    with_moving_frame, from_several_places,
		through_aligned_frame, from_several_places, with_small_frame,  with_moving_frame,
	};
	uint32_t way = path.choices & 7;

	if (path.depth == 0) {
		take_snapshot();
		return;
	}
	path.choices = path.choices >> 2 | path.choices << 30;
	path.depth--;
	ways[way](path);
	taken.pcs[UNWIND_MAX_FRAMES - 1] = 0; /* no tail call */
}

static void take_paths(uint32_t seed, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		seed = seed * 1664525u + 1013904223u;
		/* mostly a path near one of few, as in a program with loops */
		go_on((struct path){.choices = seed >> 30 ? 0x1b2d4e8f + (seed >> 28) : seed,
				    .depth = 8 + (int)(seed >> 16 & 15)});
		assert_as_expected();
	}
}

static void paths_that_part_and_meet(void **state)
{
	(void)state;
	recognized = guessed_again = compared = 0;
	take_paths(1, 20000);
	if (recognizes()) {
		assert_int_equal(compared, 20000);
		assert_in_range(recognized, 1000, compared);
		assert_in_range(guessed_again, 100, recognized);
	}
	unwind_forget();
	take_paths(2, 2000);
}

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	take_snapshot();
	return 0;
}

static void below_a_callback_of_libc(void **state)
{
	int numbers[2] = {2, 1};

	(void)state;
	qsort(numbers, 2, sizeof(int), compare);
	assert_as_expected();
}

static void on_signal(int signal)
{
	(void)signal;
	take_snapshot();
}

static void below_a_signal_handler(void **state)
{
	struct sigaction action = {.sa_handler = on_signal}, old;

	(void)state;
	sigaction(SIGUSR1, &action, &old);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &old, NULL);
	assert_with_signals(1);
}

static uint32_t trapped;

static void on_trap(int signal)
{
	(void)signal;
	take_snapshot();
	assert_with_signals(1);
	trapped++;
}

__attribute__((noinline, optimize("no-omit-frame-pointer"))) static int
with_frame_pointer(int value)
{
	volatile int local = value;

	return local + 1;
}

/* Signals are walked at each instruction, also before the function's frame exists, and after it
 * is gone. */
static void below_a_signal_at_each_instruction(void **state)
{
	struct sigaction action = {.sa_handler = on_trap}, old;

	(void)state;
	if (getenv("UNDER_VALGRIND"))
		SKIP("valgrind knows no trap flag");
	trapped = 0;
	sigaction(SIGTRAP, &action, &old);
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
	with_frame_pointer(1);
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
	sigaction(SIGTRAP, &old, NULL);
	assert_in_range(trapped, 8, 1000);
}

static void use_alternate_stack(void *memory, size_t size)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK}, old;
	stack_t stack = {.ss_sp = memory, .ss_size = size}, none = {.ss_flags = SS_DISABLE};

	assert_int_equal(sigaltstack(&stack, NULL), 0);
	sigaction(SIGUSR1, &action, &old);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &old, NULL);
	assert_int_equal(sigaltstack(&none, NULL), 0);
	assert_with_signals(1);
}

/* The handler's stack is elsewhere, or above the frames that the signal interrupts. */
static void below_a_handler_on_an_alternate_stack(void **state)
{
	char part[1 << 16];
	void *allocated = malloc(sizeof(part));

	(void)state;
	use_alternate_stack(allocated, sizeof(part));
	/* valgrind takes it for the end of the frames below */
	if (!getenv("UNDER_VALGRIND"))
		use_alternate_stack(part, sizeof(part));
	free(allocated);
}

static void *in_thread(void *arg)
{
	descend(3);
	return arg;
}

static void in_another_thread(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_as_expected();
}

static void too_deep_is_cut(void **state)
{
	(void)state;
	descend(UNWIND_MAX_FRAMES + 50);
	assert_false(taken.is_whole);
	assert_int_equal(taken.count, UNWIND_MAX_FRAMES);
}

#ifdef __SANITIZE_ADDRESS__
#define FOREIGN_EXTRA 1
#else
#define FOREIGN_EXTRA 0
#endif

/* A coroutine's stack is not the thread's: glibc does not mind, and neither may we. */
static ucontext_t back;
static int coroutine_depth;

static void coroutine(void)
{
	descend(coroutine_depth);
}

/* Walks a foreign stack, past whose end nothing can be read. */
static void walk_foreign_stack(int depth)
{
	size_t size = 1 << 17, page = 4096;
	char *stack =
		mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ucontext_t context;

	assert_true(stack != MAP_FAILED);
	assert_int_equal(mprotect(stack + size, page, PROT_NONE), 0);
	coroutine_depth = depth;
	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = size;
	context.uc_link = &back;
	makecontext(&context, coroutine, 0);
	swapcontext(&back, &context);
	assert_true(taken.count >= (uint32_t)depth + 2);
	assert_true(taken.is_whole); /* nothing called the coroutine */
	for (int i = 1; i < depth + 1; i++)
		assert_int_equal(taken.pcs[i], (uint64_t)(uintptr_t)expected[i + FOREIGN_EXTRA]);
	munmap(stack, size + page);
}

static void on_a_foreign_stack(void **state)
{
	(void)state;
	for (int depth = 0; depth < 300; depth += 13)
		walk_foreign_stack(depth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deep_recursion),
		cmocka_unit_test(the_same_twice),
		cmocka_unit_test(paths_that_part_and_meet),
		cmocka_unit_test(below_a_callback_of_libc),
		cmocka_unit_test(below_a_signal_handler),
		cmocka_unit_test(below_a_signal_at_each_instruction),
		cmocka_unit_test(below_a_handler_on_an_alternate_stack),
		cmocka_unit_test(in_another_thread),
		cmocka_unit_test(too_deep_is_cut),
		cmocka_unit_test(on_a_foreign_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
