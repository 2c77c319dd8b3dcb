/* SPDX-License-Identifier: MIT */
/*
 * Composed stacks, compared with a model that composes texts. The module is built into this test,
 * with memory that can run out.
 */
#include "unit.h"
#include "unsure.h"
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/model/gpu_stack.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/memory_use.h"
#include "profiler/model/work_names.h"

#define record_set_add unsure_record
#include "profiler/model/gpu_stack.c"

struct bench {
	struct stack_table *stacks;
	struct gpu_stacks gpu_stacks;
	struct stack_id launch, capture, waiter; /* stacks: "main;cudaX" and the like */
};

static struct stack_id push_call(struct bench *b, const char *caller, const char *function)
{
	struct stack_id outer = stack_table_push_text(b->stacks, STACK_EMPTY, FRAME_PYTHON, caller);

	return stack_table_push_text(b->stacks, outer, FRAME_API, function);
}

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	b->stacks = stack_table_new();
	if (!b->stacks)
		return -1;
	gpu_stack_init(&b->gpu_stacks, b->stacks);
	b->launch = push_call(b, "main", "cudaLaunch");
	b->capture = push_call(b, "setup", "cudaCapture");
	b->waiter = push_call(b, "loop", "cudaWait");
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	failing_allocation = 0;
	gpu_stack_release(&b->gpu_stacks);
	gpu_stack_release(&b->gpu_stacks);
	stack_table_free(b->stacks);
	free(b);
	return 0;
}

/* Returns a stack's frames from the root on, as "main;cudaLaunch;k". */
static const char *text_of(const struct stack_table *t, struct stack_id stack)
{
	static char text[4096];
	char *at = text + sizeof(text) - 1;

	*at = '\0';
	for (; !same_id(stack, STACK_EMPTY); stack = stack_table_outer(t, stack)) {
		const struct frame *frame = stack_table_frame(t, stack);
		char code[64];
		const char *name = frame->text;
		size_t n;

		if (frame->kind == FRAME_CALL) {
			snprintf(code, sizeof(code), "CALL %u+%x", frame->code.module,
				 (unsigned int)frame->code.offset);
			name = code;
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

static struct gpu_work_origin kernel_from(struct launch_stack launch, struct capture_stack capture,
					  const char *name)
{
	struct gpu_work_origin origin;

	memset(&origin, 0, sizeof(origin));
	origin.launch = launch;
	origin.capture = capture;
	origin.work = GPU_WORK_KERNEL;
	origin.name = name;
	return origin;
}

#define expect_text(b, stack, text) assert_string_equal(text_of((b)->stacks, stack), text)

/* ---- work ---- */

static void a_kernel_is_below_its_launch(void **state)
{
	struct bench *b = *state;
	struct gpu_work_origin origin = kernel_from(launched_at(b->launch), CAPTURE_NONE, "k");
	struct stack_id stack = gpu_stack_work(&b->gpu_stacks, &origin);

	expect_text(b, stack, "main;cudaLaunch;k");
	assert_int_equal(stack_table_frame(b->stacks, stack)->kind, FRAME_GPU_KERNEL);
	assert_same_number(stack_table_outer(b->stacks, stack), b->launch);
	origin.launch = LAUNCH_UNKNOWN;
	expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin), "[launch not captured];k");
	origin.launch = LAUNCH_SKIPPED;
	expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin), "[stack not sampled];k");
	origin.launch = LAUNCH_STACK(STACK_EMPTY.number);
	expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin), "[stack not captured];k");
	origin.launch = LAUNCH_STACK(STACK_NOT_KEPT.number);
	expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin), "[too many stacks]");
}

static void other_work_has_the_name_of_its_kind(void **state)
{
	struct bench *b = *state;
	struct gpu_work_origin origin = kernel_from(launched_at(b->launch), CAPTURE_NONE, NULL);
	struct stack_id stack;

	origin.work = GPU_WORK_MEMCPY_HTOD;
	stack = gpu_stack_work(&b->gpu_stacks, &origin);
	expect_text(b, stack, "main;cudaLaunch;[GPU_Memcpy HtoD]");
	assert_int_equal(stack_table_frame(b->stacks, stack)->kind, FRAME_GPU_WORK);
	/* nothing launches it */
	origin.work = GPU_WORK_UVM_GPU_FAULTS;
	origin.launch = LAUNCH_NONE_NEEDED;
	expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin), "[GPU_UVM page faults]");
	/* whatever else a number may mean */
	origin.work = GPU_WORKS + 5;
	expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin), "[GPU]");
}

static void node_work_is_below_both_stacks(void **state)
{
	struct bench *b = *state;
	struct gpu_work_origin origin =
		kernel_from(launched_at(b->launch), captured_at(b->capture), "k");

	expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin),
		    "main;cudaLaunch;[graph node captured at];setup;cudaCapture;k");
	origin.capture = CAPTURE_UNSEEN;
	expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin),
		    "main;cudaLaunch;[graph node, capture not seen];k");
	origin.capture = CAPTURE_STACK(STACK_EMPTY.number);
	expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin),
		    "main;cudaLaunch;[graph node captured at];[stack not captured];k");
	origin.launch = LAUNCH_UNKNOWN;
	origin.capture = captured_at(b->capture);
	expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin),
		    "[launch not captured];[graph node captured at];setup;cudaCapture;k");
}

/* ---- waits and calls ---- */

static void a_wait_shows_its_work(void **state)
{
	struct bench *b = *state;
	struct gpu_work_origin origin =
		kernel_from(launched_at(b->launch), captured_at(b->capture), "k");

	expect_text(b, gpu_stack_wait(&b->gpu_stacks, b->waiter, false, &origin),
		    "loop;cudaWait;[waiting for GPU];k;launched at;main;cudaLaunch;"
		    "[graph node captured at];setup;cudaCapture");
	origin.capture = CAPTURE_NONE;
	expect_text(b, gpu_stack_wait(&b->gpu_stacks, b->waiter, false, &origin),
		    "loop;cudaWait;[waiting for GPU];k;launched at;main;cudaLaunch");
	origin.launch = LAUNCH_UNKNOWN;
	expect_text(b, gpu_stack_wait(&b->gpu_stacks, b->waiter, false, &origin),
		    "loop;cudaWait;[waiting for GPU];k;launched at;[launch not captured]");
	origin.launch = LAUNCH_NONE_NEEDED;
	expect_text(b, gpu_stack_wait(&b->gpu_stacks, b->waiter, false, &origin),
		    "loop;cudaWait;[waiting for GPU];k");
	expect_text(b, gpu_stack_wait(&b->gpu_stacks, STACK_EMPTY, false, &origin),
		    "[stack not captured];[waiting for GPU];k");
}

static void a_wait_for_nothing_that_is_known(void **state)
{
	struct bench *b = *state;

	expect_text(b, gpu_stack_wait(&b->gpu_stacks, b->waiter, false, NULL),
		    "loop;cudaWait;[waiting for GPU]");
	expect_text(b, gpu_stack_wait(&b->gpu_stacks, STACK_EMPTY, false, NULL),
		    "[stack not captured];[waiting for GPU]");
}

/* Work on its own, and work that different calls wait for, have stacks of their own. */
static void waits_and_work_are_kept_apart(void **state)
{
	struct bench *b = *state;
	struct gpu_work_origin origin = kernel_from(launched_at(b->launch), CAPTURE_NONE, "k");

	for (int round = 0; round < 3; round++) {
		expect_text(b, gpu_stack_work(&b->gpu_stacks, &origin), "main;cudaLaunch;k");
		expect_text(b, gpu_stack_wait(&b->gpu_stacks, b->waiter, false, &origin),
			    "loop;cudaWait;[waiting for GPU];k;launched at;main;cudaLaunch");
		expect_text(b, gpu_stack_wait(&b->gpu_stacks, b->capture, false, &origin),
			    "setup;cudaCapture;[waiting for GPU];k;launched at;main;cudaLaunch");
	}
}

static void a_call_has_its_kernel(void **state)
{
	struct bench *b = *state;
	struct code_ref kernel = {.module = 9, .offset = 0x123};
	struct stack_id stack = gpu_stack_call(&b->gpu_stacks, b->waiter, &kernel);

	expect_text(b, stack, "loop;cudaWait;CALL 9+123");
	assert_memory_equal(&stack_table_frame(b->stacks, stack)->code, &kernel, sizeof(kernel));
	assert_same_number(gpu_stack_call(&b->gpu_stacks, b->waiter, &kernel), stack);
	kernel.offset = 0x124;
	assert_other_number(gpu_stack_call(&b->gpu_stacks, b->waiter, &kernel), stack);
	expect_text(b, gpu_stack_call(&b->gpu_stacks, b->waiter, NULL), "loop;cudaWait;CALL 0+0");
	expect_text(b, gpu_stack_call(&b->gpu_stacks, STACK_EMPTY, NULL),
		    "[stack not captured];CALL 0+0");
}

/* ---- beside a model ---- */

enum { STACKS = 6, NAMES = 4 };

struct model {
	struct stack_id ids[STACKS];
	const char *texts[STACKS];
};

static const char *const kernel_names[NAMES] = {"k0", "k1", "k2", "k3"};

static void append_text(char *text, const char *part)
{
	size_t n = strlen(text);

	snprintf(text + n, 2048 - n, "%s%s", n ? ";" : "", part);
}

static const char *work_text(const struct gpu_work_origin *o)
{
	if (o->work == GPU_WORK_KERNEL)
		return o->name;
	return o->work == GPU_WORK_ALLOC ? work_allocation_frame(o->memory) : work_frame(o->work);
}

static void put_launch(char *text, const struct model *m, uint32_t launch, uint32_t capture)
{
	if (launch < STACKS)
		append_text(text, m->texts[launch]);
	else if (launch == STACKS)
		append_text(text, PSEUDO_NO_LAUNCH);
	if (capture < STACKS) {
		append_text(text, PSEUDO_CAPTURED);
		append_text(text, m->texts[capture]);
	} else if (capture == STACKS) {
		append_text(text, PSEUDO_CAPTURE_UNSEEN);
	}
}

static void random_origins(struct prng *r, struct bench *b, const struct model *m)
{
	/* the numbers behind those of stacks are the special values */
	uint32_t launch = (uint32_t)prng_below(r, STACKS + 2);
	uint32_t capture = (uint32_t)prng_below(r, STACKS + 2);
	uint32_t waiter = (uint32_t)prng_below(r, STACKS);
	bool is_kernel = prng_chance(r, 70), is_wait = prng_chance(r, 50);
	struct gpu_work_origin origin = kernel_from(
		launch < STACKS ? launched_at(m->ids[launch])
				: (launch == STACKS ? LAUNCH_UNKNOWN : LAUNCH_NONE_NEEDED),
		capture < STACKS ? captured_at(m->ids[capture])
				 : (capture == STACKS ? CAPTURE_UNSEEN : CAPTURE_NONE),
		is_kernel ? kernel_names[prng_below(r, NAMES)] : NULL);
	char expected[2048] = "";
	struct stack_id stack;

	if (!is_kernel)
		origin.work = 1 + (uint32_t)prng_below(r, GPU_WORKS - 1);
	if (origin.work == GPU_WORK_ALLOC)
		origin.memory = (uint32_t)prng_below(r, MEMORY_KINDS);
	if (is_wait) {
		stack = gpu_stack_wait(&b->gpu_stacks, m->ids[waiter], false, &origin);
		append_text(expected, m->texts[waiter]);
		append_text(expected, PSEUDO_WAITING);
		append_text(expected, work_text(&origin));
		if (launch <= STACKS) {
			append_text(expected, PSEUDO_LAUNCHED);
			put_launch(expected, m, launch, capture);
		}
	} else {
		stack = gpu_stack_work(&b->gpu_stacks, &origin);
		put_launch(expected, m, launch, capture);
		append_text(expected, work_text(&origin));
	}
	EXPECT(r, strcmp(text_of(b->stacks, stack), expected) == 0);
	EXPECT(r, same_id(stack,
			  is_wait ? gpu_stack_wait(&b->gpu_stacks, m->ids[waiter], false, &origin)
				  : gpu_stack_work(&b->gpu_stacks, &origin)));
}

/* Whatever is remembered, or cannot be for want of memory. */
static void all_origins_have_their_stacks(void **state)
{
	struct bench *b = *state;
	uint64_t rounds = unit_number("UNIT_ROUNDS", getenv("UNDER_VALGRIND") ? 2000 : 20000);
	struct model m = {.ids = {STACK_EMPTY, b->launch, b->capture, b->waiter,
				  stack_table_outer(b->stacks, b->launch),
				  push_call(b, "main", "cudaFree")},
			  .texts = {PSEUDO_NO_STACK, "main;cudaLaunch", "setup;cudaCapture",
				    "loop;cudaWait", "main", "main;cudaFree"}};

	for (uint64_t round = 0; round < rounds; round++) {
		struct prng r = prng_round(round);

		if (prng_chance(&r, 5))
			failing_allocation = 1 + (uint32_t)prng_bits(&r, 3);
		random_origins(&r, b, &m);
	}
}

/* More than is remembered: the memory is bounded, and nothing is mixed up. */
static void the_memo_is_bounded(void **state)
{
	struct bench *b = *state;
	static const char names[1 << 10];
	uint32_t most = 1u << 19;
	struct stack_id first;
	struct gpu_work_origin origin = kernel_from(launched_at(b->launch), CAPTURE_NONE, names);

	if (getenv("UNDER_VALGRIND"))
		SKIP("takes too long under valgrind");
	first = gpu_stack_work(&b->gpu_stacks, &origin);
	for (uint32_t i = 1; i <= most + 1000; i++) {
		/* few stacks, many keys */
		origin.name = &names[i % 1024];
		origin.memory = i / 1024;
		gpu_stack_work(&b->gpu_stacks, &origin);
	}
	assert_true(b->gpu_stacks.memo.count <= most && b->gpu_stacks.memo.capacity <= most);
	assert_true(b->gpu_stacks.memo.set.index.capacity <= 4 * most);
	origin = kernel_from(launched_at(b->launch), CAPTURE_NONE, names);
	assert_same_number(gpu_stack_work(&b->gpu_stacks, &origin), first);
	assert_int_equal(stack_table_refused(b->stacks), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_kernel_is_below_its_launch),
		TEST(other_work_has_the_name_of_its_kind),
		TEST(node_work_is_below_both_stacks),
		TEST(a_wait_shows_its_work),
		TEST(a_wait_for_nothing_that_is_known),
		TEST(waits_and_work_are_kept_apart),
		TEST(a_call_has_its_kernel),
		TEST(all_origins_have_their_stacks),
		TEST(the_memo_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
