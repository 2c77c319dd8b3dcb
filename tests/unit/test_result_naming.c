/* SPDX-License-Identifier: MIT */
/* Names for collected data: texts, code of this program, and unknown code. */
#include "naming_bench.h"
#include "profiler/join/attribution.h"

/* Returns the stack of work launched from `launch`. `capture` is the creation site of its graph
 * node. */
static struct stack_id work_stack(struct naming_bench *b, struct launch_stack launch,
				  struct capture_stack capture, uint32_t work, const char *name)
{
	struct gpu_work_origin origin;

	memset(&origin, 0, sizeof(origin));
	origin.launch = launch;
	origin.capture = capture;
	origin.work = work;
	origin.name = name;
	return gpu_stack_work(&b->gpu_stacks, &origin);
}

static void add_work(struct naming_bench *b, struct launch_stack launch,
		     struct capture_stack capture, uint32_t work, const char *name, uint64_t ns)
{
	profile_add(b->profile, ROW_GPU, work_stack(b, launch, capture, work, name), PLACE_NOWHERE,
		    ns, 0);
}

static void add_kernel(struct naming_bench *b, struct stack_id launch, const char *name,
		       uint64_t ns)
{
	add_work(b, launched_at(launch), CAPTURE_NONE, GPU_WORK_KERNEL, name, ns);
}

static void add_cpu(struct naming_bench *b, struct stack_id stack, uint64_t ns)
{
	profile_add(b->profile, ROW_CPU, stack, PLACE_NOWHERE, ns, 0);
}

/* ---- what every result keeps to ---- */

static bool has_control_characters(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

static void check_frames(const struct result *r)
{
	for (uint32_t i = 0; i < r->frame_count; i++) {
		const struct frame_info *f = &r->frames[i];

		assert_non_null(f->name);
		assert_true(f->name[0] != '\0');
		assert_false(has_control_characters(f->name));
		assert_true((unsigned int)f->class < FRAME_CLASSES);
		for (uint32_t j = 0; j < i; j++)
			assert_false(
				r->frames[j].class == f->class && r->frames[j].name == f->name &&
				r->frames[j].module == f->module && r->frames[j].line == f->line);
	}
}

static void check_rows(const struct naming_bench *b, const struct result *r)
{
	uint64_t ns[ROW_KINDS] = {0}, want_ns[ROW_KINDS] = {0}, bytes = 0, want_bytes = 0;
	uint64_t count = 0, want_count = 0;
	uint32_t rows;
	const struct profile_row *row = profile_rows(b->profile, &rows);

	for (uint32_t i = 0; i < rows; i++) {
		want_ns[row[i].kind] += row[i].ns;
		want_bytes += row[i].bytes;
		want_count += row[i].count;
	}
	for (uint32_t i = 0; i < r->row_count; i++) {
		assert_true(r->rows[i].stack < r->stack_count);
		assert_true(r->rows[i].place < r->place_count);
		assert_true(r->rows[i].count > 0);
		ns[r->rows[i].kind] += r->rows[i].ns;
		bytes += r->rows[i].bytes;
		count += r->rows[i].count;
	}
	assert_memory_equal(ns, want_ns, sizeof(ns));
	assert_int_equal(bytes, want_bytes);
	assert_int_equal(count, want_count);
}

/* Checks a small result; the check is quadratic. */
static void check_result(const struct naming_bench *b, const struct result *r)
{
	assert_true(r->stack_count > RESULT_ROOT);
	for (uint32_t i = RESULT_ROOT + 1; i < r->stack_count; i++) {
		assert_true(r->stacks[i].outer < i);
		assert_true(r->stacks[i].frame < r->frame_count);
		for (uint32_t j = RESULT_ROOT + 1; j < i; j++)
			assert_memory_not_equal(&r->stacks[i], &r->stacks[j],
						sizeof(struct stack_info));
	}
	check_frames(r);
	check_rows(b, r);
}

struct named {
	struct result *result;
	struct call_tree *tree;
};

static struct named name_all(struct naming_bench *b)
{
	struct named n = {.result = bench_result(b)};

	check_result(b, n.result);
	n.tree = call_tree_new(n.result);
	assert_non_null(n.tree);
	return n;
}

static void forget(struct named *n)
{
	call_tree_free(n->tree);
	result_free(n->result);
}

/* Returns the only frame with this name. */
static const struct frame_info *frame_named(const struct result *r, const char *name)
{
	const struct frame_info *found = NULL;

	for (uint32_t i = 0; i < r->frame_count; i++) {
		if (strcmp(r->frames[i].name, name) != 0)
			continue;
		assert_null(found);
		found = &r->frames[i];
	}
	if (!found)
		fail_msg("no frame is called '%s'", name);
	return found;
}

/* ---- rows of each kind ---- */

static void samples_weigh_a_period_each(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id stack = STACK(b, "main", "work");
	struct named n;

	for (int i = 0; i < 5; i++)
		add_cpu(b, stack, 1000);
	n = name_all(b);
	assert_weight(n.tree, ROW_CPU, 5000, "main", "work");
	assert_weight(n.tree, ROW_CPU, 0, "main");
	assert_true(call_tree_total(n.tree, ROW_CPU) == 5000);
	assert_true(call_tree_total(n.tree, ROW_GPU) == 0);
	assert_int_equal(n.result->row_count, 1);
	assert_int_equal(n.result->rows[0].count, 5);
	forget(&n);
}

static void kernels_are_under_their_launch(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id launch = bench_call(b, STACK(b, "main"), "cudaLaunchKernel");
	struct named n;

	add_kernel(b, launch, "_Z7softmaxPKfi", 30);
	add_kernel(b, launch, "_Z7softmaxPKfi", 12);
	add_kernel(b, launch, "plain_c_name", 5);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 42, "main", "cudaLaunchKernel",
		      "[GPU_Kernel]softmax(float const*, int)");
	assert_weight(n.tree, ROW_GPU, 5, "main", "cudaLaunchKernel", "[GPU_Kernel]plain_c_name");
	assert_weight(n.tree, ROW_CPU, 0, "main", "cudaLaunchKernel", "[GPU_Kernel]plain_c_name");
	forget(&n);
}

static void raw_names_stay_mangled(void **state)
{
	struct naming_bench *b = *state;
	struct named n;

	b->options.raw_names = true;
	add_kernel(b, STACK(b, "main"), "_Z7softmaxPKfi", 30);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 30, "main", "[GPU_Kernel]_Z7softmaxPKfi");
	forget(&n);
}

static void kernels_have_short_names(void **state)
{
	struct naming_bench *b = *state;
	struct named n;

	add_kernel(b, STACK(b, "main"), "_Z7softmaxPKfi", 30);
	add_kernel(b, STACK(b, "main"), "", 1);
	n = name_all(b);
	assert_string_equal(
		frame_named(n.result, "[GPU_Kernel]softmax(float const*, int)")->short_name,
		"softmax");
	assert_string_equal(frame_named(n.result, "[GPU_Kernel]")->short_name, "[GPU_Kernel]");
	assert_string_equal(frame_named(n.result, "main")->short_name, "main");
	forget(&n);
}

static void a_kernel_without_a_launch_keeps_its_time(void **state)
{
	struct naming_bench *b = *state;
	struct named n;

	add_kernel(b, STACK_ID(LAUNCH_UNKNOWN.number), "_Z1av", 30);
	add_kernel(b, STACK_ID(LAUNCH_UNKNOWN.number), "[kernel name lost]", 4);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 30, PSEUDO_NO_LAUNCH, "[GPU_Kernel]a()");
	assert_weight(n.tree, ROW_GPU, 4, PSEUDO_NO_LAUNCH, "[GPU_Kernel][kernel name lost]");
	assert_true(call_tree_total(n.tree, ROW_GPU) == 34);
	forget(&n);
}

static void an_empty_stack_has_a_name(void **state)
{
	struct naming_bench *b = *state;
	struct named n;

	add_cpu(b, STACK_EMPTY, 1000);
	add_kernel(b, STACK_EMPTY, "k", 9);
	n = name_all(b);
	assert_weight(n.tree, ROW_CPU, 1000, PSEUDO_NO_STACK);
	assert_weight(n.tree, ROW_GPU, 9, PSEUDO_NO_STACK, "[GPU_Kernel]k");
	forget(&n);
}

static void stacks_that_were_not_kept_keep_their_time(void **state)
{
	struct naming_bench *b = *state;
	struct named n;

	for (uint32_t kind = 0; kind < ROW_KINDS; kind++)
		profile_add(b->profile, (enum row_kind)kind, STACK_NOT_KEPT, PLACE_NOWHERE,
			    1 + kind, 0);
	n = name_all(b);
	for (uint32_t kind = 0; kind < ROW_KINDS; kind++)
		assert_weight(n.tree, kind, 1 + kind, PSEUDO_TOO_MANY_STACKS);
	forget(&n);
}

/* Copies and others have the frame of their kind; work without a launch is at the root. */
static void other_work_has_its_own_frames(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id launch = bench_call(b, STACK(b, "main"), "cudaMemcpy");
	struct gpu_operation alloc = {
		.work = GPU_WORK_ALLOC, .bytes = 4096, .shape = GPU_MEMORY_DEVICE};
	struct processes processes = {0};
	struct quota quota = {.limit = 1 << 20};
	struct profile_sink sink = {.profile = b->profile, .ledger = &b->ledger};
	struct addons addons = {.count = 0};
	struct attribution a;
	struct named n;

	add_work(b, launched_at(launch), CAPTURE_NONE, GPU_WORK_MEMCPY_HTOD, NULL, 30);
	add_work(b, LAUNCH_NONE_NEEDED, CAPTURE_NONE, GPU_WORK_UVM_DTOH, NULL, 7);
	/* work without a time is only counted */
	attribution_init(&a, &(struct attribution_parts){.processes = &processes,
							 .stacks = b->stacks,
							 .sink = &sink,
							 .places = &b->places,
							 .ledger = &b->ledger,
							 .devices = &b->devices,
							 .quota = &quota,
							 .addons = &addons});
	attribution_add(&a, ORIGIN_ID(launch.number), 0, &alloc);
	attribution_release(&a);
	assert_int_equal(b->ledger.gpu.row_count, 1);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 30, "main", "cudaMemcpy", "[GPU_Memcpy HtoD]");
	assert_weight(n.tree, ROW_GPU, 7, "[GPU_UVM DtoH]");
	assert_weight(n.tree, ROW_GPU, -1, "main", "cudaMemcpy", "[GPU_Alloc device]");
	assert_true(call_tree_total(n.tree, ROW_GPU) == 37);
	forget(&n);
}

static void a_graphs_node_has_two_stacks(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id launch = bench_call(b, STACK(b, "main", "replay"), "cudaGraphLaunch");
	struct stack_id capture = bench_call(b, STACK(b, "main", "record"), "cudaLaunchKernel");
	struct named n;

	add_work(b, launched_at(launch), captured_at(capture), GPU_WORK_KERNEL, "k", 30);
	add_work(b, launched_at(launch), CAPTURE_UNSEEN, GPU_WORK_KERNEL, "k", 5);
	add_work(b, LAUNCH_UNKNOWN, captured_at(capture), GPU_WORK_KERNEL, "k", 2);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 30, "main", "replay", "cudaGraphLaunch", PSEUDO_CAPTURED,
		      "main", "record", "cudaLaunchKernel", "[GPU_Kernel]k");
	assert_weight(n.tree, ROW_GPU, 5, "main", "replay", "cudaGraphLaunch",
		      PSEUDO_CAPTURE_UNSEEN, "[GPU_Kernel]k");
	assert_weight(n.tree, ROW_GPU, 2, PSEUDO_NO_LAUNCH, PSEUDO_CAPTURED, "main", "record",
		      "cudaLaunchKernel", "[GPU_Kernel]k");
	forget(&n);
}

static void add_wait(struct naming_bench *b, struct stack_id waiter, struct launch_stack launch,
		     struct capture_stack capture, uint32_t work, uint64_t ns)
{
	struct gpu_work_origin origin;

	memset(&origin, 0, sizeof(origin));
	origin.launch = launch;
	origin.capture = capture;
	origin.work = work;
	origin.name = work == GPU_WORK_KERNEL ? "k" : NULL;
	profile_add(b->profile, ROW_WAIT, gpu_stack_wait(&b->gpu_stacks, waiter, false, &origin),
		    PLACE_NOWHERE, ns, 0);
}

/* The waited-for work is below its call, with the stack of its own launch. */
static void waits_show_their_work(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id launch = bench_call(b, STACK(b, "main", "step"), "cudaLaunchKernel");
	struct stack_id capture = bench_call(b, STACK(b, "main", "record"), "cudaLaunchKernel");
	struct stack_id waiter = bench_call(b, STACK(b, "main"), "cudaMemcpy");
	struct named n;

	add_wait(b, waiter, launched_at(launch), CAPTURE_NONE, GPU_WORK_KERNEL, 30);
	add_wait(b, waiter, launched_at(launch), captured_at(capture), GPU_WORK_KERNEL, 8);
	add_wait(b, waiter, LAUNCH_UNKNOWN, CAPTURE_NONE, GPU_WORK_KERNEL, 4);
	add_wait(b, waiter, LAUNCH_NONE_NEEDED, CAPTURE_NONE, GPU_WORK_UVM_DTOH, 2);
	profile_add(b->profile, ROW_WAIT, gpu_stack_wait(&b->gpu_stacks, waiter, false, NULL),
		    PLACE_NOWHERE, 1, 0);
	add_kernel(b, launch, "k", 50);
	n = name_all(b);
	assert_weight(n.tree, ROW_WAIT, 30, "main", "cudaMemcpy", PSEUDO_WAITING, "[GPU_Kernel]k",
		      PSEUDO_LAUNCHED, "main", "step", "cudaLaunchKernel");
	assert_weight(n.tree, ROW_WAIT, 8, "main", "cudaMemcpy", PSEUDO_WAITING, "[GPU_Kernel]k",
		      PSEUDO_LAUNCHED, "main", "step", "cudaLaunchKernel", PSEUDO_CAPTURED, "main",
		      "record", "cudaLaunchKernel");
	assert_weight(n.tree, ROW_WAIT, 4, "main", "cudaMemcpy", PSEUDO_WAITING, "[GPU_Kernel]k",
		      PSEUDO_LAUNCHED, PSEUDO_NO_LAUNCH);
	assert_weight(n.tree, ROW_WAIT, 2, "main", "cudaMemcpy", PSEUDO_WAITING, "[GPU_UVM DtoH]");
	assert_weight(n.tree, ROW_WAIT, 1, "main", "cudaMemcpy", PSEUDO_WAITING);
	assert_true(call_tree_total(n.tree, ROW_WAIT) == 45);
	assert_true(call_tree_total(n.tree, ROW_GPU) == 50);
	assert_true(call_tree_total(n.tree, ROW_CPU) == 0);
	forget(&n);
}

static void an_empty_profile_is_an_empty_tree(void **state)
{
	struct naming_bench *b = *state;
	struct named n = name_all(b);
	uint32_t count;

	call_tree_nodes(n.tree, &count);
	assert_int_equal(count, 1);
	assert_int_equal(n.result->row_count, 0);
	assert_int_equal(n.result->stack_count, 1);
	assert_int_equal(n.result->frame_count, 0);
	forget(&n);
	result_free(NULL);
}

/* ---- code ---- */

#define FUNCTION static __attribute__((noipa, noinline)) void
FUNCTION cudaLaunchKernel(void)
{
	__asm__ volatile("nop");
}

FUNCTION cudaMemcpy(void)
{
	__asm__ volatile("nop");
}

FUNCTION inner(void)
{
	__asm__ volatile("nop");
}

FUNCTION softmax_stub(void)
{
	__asm__ volatile("nop");
}

static struct code_ref locate(struct naming_bench *b, void (*function)(void))
{
	return symbolizer_locate(b->symbolizer, b->self, (uintptr_t)function);
}

static struct stack_id push_ref(struct naming_bench *b, struct stack_id outer, enum frame_kind kind,
				struct code_ref code)
{
	struct frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.kind = kind;
	frame.code = code;
	return stack_table_push(b->stacks, outer, &frame);
}

/* Pushes a call that returns into the function. */
static struct stack_id push_code(struct naming_bench *b, struct stack_id outer,
				 void (*function)(void))
{
	struct code_ref code = locate(b, function);

	code.offset++;
	return push_ref(b, outer, FRAME_RETURN, code);
}

/* Two addresses in one function, or two kernels that demangle alike, are one path. */
static void equal_names_are_one_path(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id main_stack = STACK(b, "main");
	uint32_t before = stack_table_count(b->stacks);
	struct named n;

	for (uint64_t offset = 1; offset < 4; offset++)
		add_cpu(b,
			push_ref(b, main_stack, FRAME_RETURN,
				 (struct code_ref){.module = MODULE_UNKNOWN, .offset = offset}),
			1000);
	assert_int_equal(stack_table_count(b->stacks), before + 3);
	/* a function of CUDA by its own name, and code that is called so */
	add_cpu(b, bench_call(b, main_stack, "inner"), 1);
	add_cpu(b, push_code(b, main_stack, inner), 2);
	add_kernel(b, main_stack, "_Z1av", 4);
	add_kernel(b, main_stack, "a()", 8);
	n = name_all(b);
	assert_weight(n.tree, ROW_CPU, 3000, "main", "[unknown]");
	assert_weight(n.tree, ROW_CPU, 3, "main", "inner");
	assert_weight(n.tree, ROW_GPU, 12, "main", "[GPU_Kernel]a()");
	assert_int_equal(n.result->frame_count, 5);
	forget(&n);
}

static void return_addresses_are_named_by_the_call(void **state)
{
	struct naming_bench *b = *state;
	struct code_ref code = locate(b, inner);
	struct named n;

	add_cpu(b, push_ref(b, STACK_EMPTY, FRAME_CODE, code), 4);
	/* whose last byte lies before the function */
	add_cpu(b, push_ref(b, STACK_EMPTY, FRAME_RETURN, code), 8);
	n = name_all(b);
	assert_weight(n.tree, ROW_CPU, 4, "inner");
	forget(&n);
}

/* The runtime in the program itself: frames between its function and the driver's are cut. */
static void a_launch_is_cut_at_the_programs_own_call(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id runtime = push_code(b, STACK(b, "main"), cudaLaunchKernel);
	struct stack_id driver = bench_call(b, push_code(b, runtime, inner), "cuLaunchKernel");
	struct stack_id nameless = push_code(b, runtime, inner);
	struct named n;

	add_kernel(b, driver, "k", 30);
	add_kernel(b, nameless, "k", 6); /* whose function nobody has named */
	profile_add(b->profile, ROW_CALL, gpu_stack_call(&b->gpu_stacks, driver, NULL),
		    PLACE_NOWHERE, 5, 0);
	add_cpu(b, driver, 1000);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 36, "main", "cudaLaunchKernel", "[GPU_Kernel]k");
	assert_weight(n.tree, ROW_CALL, 5, "main", "cudaLaunchKernel", PSEUDO_CALL);
	/* the CPU time inside is shown with all frames */
	assert_weight(n.tree, ROW_CPU, 1000, "main", "cudaLaunchKernel", "inner", "cuLaunchKernel");
	forget(&n);
}

static void a_copy_is_cut_at_its_own_function(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id copy = push_code(b, push_code(b, STACK(b, "main"), cudaMemcpy), inner);
	struct stack_id driver = push_code(b, STACK(b, "main"), inner);
	struct named n;

	add_work(b, launched_at(bench_call(b, copy, "cudaMemcpy")), CAPTURE_NONE,
		 GPU_WORK_MEMCPY_HTOD, NULL, 30);
	/* the driver's function that the runtime's called */
	add_work(b, launched_at(bench_call(b, copy, "cuMemcpyHtoD_v2")), CAPTURE_NONE,
		 GPU_WORK_MEMCPY_DTOH, NULL, 7);
	/* another function of the runtime must be shown, and one of the driver that the program
	 * calls */
	add_work(b, launched_at(bench_call(b, copy, "cudaMemcpyAsync")), CAPTURE_NONE,
		 GPU_WORK_MEMCPY_HTOD, NULL, 5);
	add_work(b, launched_at(bench_call(b, driver, "cuMemcpyHtoD_v2")), CAPTURE_NONE,
		 GPU_WORK_MEMCPY_HTOD, NULL, 3);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 30, "main", "cudaMemcpy", "[GPU_Memcpy HtoD]");
	assert_weight(n.tree, ROW_GPU, 7, "main", "cudaMemcpy", "[GPU_Memcpy DtoH]");
	assert_weight(n.tree, ROW_GPU, 5, "main", "cudaMemcpy", "inner", "cudaMemcpyAsync",
		      "[GPU_Memcpy HtoD]");
	assert_weight(n.tree, ROW_GPU, 3, "main", "inner", "cuMemcpyHtoD_v2", "[GPU_Memcpy HtoD]");
	forget(&n);
}

/* A library's own function cudaMemcpy is not the runtime's, and cuts nothing off. */
static void a_function_called_like_the_runtimes_cuts_nothing_off(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id own = push_code(b, push_code(b, STACK(b, "main"), cudaMemcpy), inner);
	struct stack_id kernel = push_code(b, push_code(b, own, cudaLaunchKernel), inner);
	struct stack_id copy = push_code(b, own, cudaMemcpy);
	struct named n;

	add_kernel(b, bench_call(b, kernel, "cuLaunchKernel"), "k", 30);
	/* a call with the library's own name ends at that, wherever it is seen */
	add_work(b, launched_at(bench_call(b, copy, "cuMemcpyHtoD_v2")), CAPTURE_NONE,
		 GPU_WORK_MEMCPY_HTOD, NULL, 7);
	add_work(b, launched_at(bench_call(b, own, "cudaMemcpy")), CAPTURE_NONE,
		 GPU_WORK_MEMCPY_DTOH, NULL, 5);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 30, "main", "cudaMemcpy", "inner", "cudaLaunchKernel",
		      "[GPU_Kernel]k");
	assert_weight(n.tree, ROW_GPU, 7, "main", "cudaMemcpy", "[GPU_Memcpy HtoD]");
	assert_weight(n.tree, ROW_GPU, 5, "main", "cudaMemcpy", "[GPU_Memcpy DtoH]");
	forget(&n);
}

/* Only native code is CUDA's. A Python function or a range may have any name. */
static void other_frames_end_no_launch(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id python = STACK(b, "main", "cudaLaunchKernel"), range;
	struct named n;

	add_kernel(b, bench_call(b, push_code(b, python, inner), "cuLaunchKernel"), "k", 3);
	range = stack_table_push_text(b->stacks, STACK(b, "main"), FRAME_NVTX, "cudaMemcpy");
	add_kernel(b, bench_call(b, push_code(b, range, inner), "cudaMemcpy"), "k", 4);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 3, "main", "cudaLaunchKernel", "inner", "cuLaunchKernel",
		      "[GPU_Kernel]k");
	assert_weight(n.tree, ROW_GPU, 4, "main", "cudaMemcpy", "inner", "cudaMemcpy",
		      "[GPU_Kernel]k");
	forget(&n);
}

/* Each part of a composed stack is cut at its own call. */
static void each_part_of_a_stack_is_cut(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id launch =
		push_code(b, push_code(b, STACK(b, "step"), cudaLaunchKernel), inner);
	struct stack_id capture =
		push_code(b, push_code(b, STACK(b, "record"), cudaLaunchKernel), inner);
	struct stack_id waiter = push_code(b, push_code(b, STACK(b, "main"), cudaMemcpy), inner);
	struct named n;

	launch = bench_call(b, launch, "cuGraphLaunch");
	capture = bench_call(b, capture, "cuLaunchKernel");
	waiter = bench_call(b, waiter, "cudaMemcpy");
	add_work(b, launched_at(launch), captured_at(capture), GPU_WORK_KERNEL, "k", 7);
	add_wait(b, waiter, launched_at(launch), captured_at(capture), GPU_WORK_KERNEL, 8);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 7, "step", "cudaLaunchKernel", PSEUDO_CAPTURED, "record",
		      "cudaLaunchKernel", "[GPU_Kernel]k");
	assert_weight(n.tree, ROW_WAIT, 8, "main", "cudaMemcpy", PSEUDO_WAITING, "[GPU_Kernel]k",
		      PSEUDO_LAUNCHED, "step", "cudaLaunchKernel", PSEUDO_CAPTURED, "record",
		      "cudaLaunchKernel");
	forget(&n);
}

static void timed_calls_name_their_kernel(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id call = bench_call(b, STACK(b, "main"), "cudaLaunchKernel");
	struct code_ref kernel = locate(b, softmax_stub), nowhere = kernel;
	struct code_ref jit = {.module = MODULE_JIT, .process = 1, .offset = 0x1000};
	struct named n;

	nowhere.offset = 0; /* the file's header: no function */
	profile_add(b->profile, ROW_CALL, gpu_stack_call(&b->gpu_stacks, call, &kernel),
		    PLACE_NOWHERE, 1, 0);
	profile_add(b->profile, ROW_CALL, gpu_stack_call(&b->gpu_stacks, call, &nowhere),
		    PLACE_NOWHERE, 2, 0);
	profile_add(b->profile, ROW_CALL, gpu_stack_call(&b->gpu_stacks, call, &jit), PLACE_NOWHERE,
		    4, 0);
	profile_add(b->profile, ROW_CALL, gpu_stack_call(&b->gpu_stacks, call, NULL), PLACE_NOWHERE,
		    8, 0);
	n = name_all(b);
	assert_weight(n.tree, ROW_CALL, 1, "main", "cudaLaunchKernel", PSEUDO_CALL "softmax_stub");
	assert_weight(n.tree, ROW_CALL, 14, "main", "cudaLaunchKernel", PSEUDO_CALL);
	assert_int_equal(frame_named(n.result, PSEUDO_CALL "softmax_stub")->class, CLASS_CALL);
	assert_int_equal(frame_named(n.result, PSEUDO_CALL)->class, CLASS_CALL);
	forget(&n);
}

/* ---- inlined functions ---- */

#define INLINED __attribute__((always_inline)) static inline
INLINED uint64_t pc_inside(void)
{
	uint64_t pc;

	__asm__ volatile("lea 0(%%rip), %0" : "=r"(pc));
	return pc;
}

/* A function as in a template of the runtime's headers. */
INLINED uint64_t cudaGraphLaunch(void)
{
	return pc_inside() + 0;
}

__attribute__((noipa, noinline)) static uint64_t pc_of_this(void)
{
	return cudaGraphLaunch();
}

static void inlined_functions_are_frames_if_wanted(void **state)
{
	struct naming_bench *b = *state;
	struct code_ref code = symbolizer_locate(b->symbolizer, b->self, pc_of_this());
	struct stack_id stack = push_ref(b, STACK(b, "main"), FRAME_RETURN, code);
	struct named n;

	add_cpu(b, stack, 1000);
	add_kernel(b, bench_call(b, stack, "cuGraphLaunch"), "k", 5);
	n = name_all(b);
	assert_weight(n.tree, ROW_CPU, 1000, "main", "pc_of_this");
	assert_weight(n.tree, ROW_GPU, 5, "main", "pc_of_this", "cuGraphLaunch", "[GPU_Kernel]k");
	forget(&n);
	b->options.inlines = true;
	n = name_all(b);
	assert_weight(n.tree, ROW_CPU, 1000, "main", "pc_of_this", "cudaGraphLaunch", "pc_inside");
	assert_weight(n.tree, ROW_GPU, 5, "main", "pc_of_this", "cudaGraphLaunch", "[GPU_Kernel]k");
	assert_int_equal(frame_named(n.result, "pc_inside")->class, CLASS_NATIVE);
	forget(&n);
}

/* ---- what frames are ---- */

static struct stack_id push_python(struct naming_bench *b, struct stack_id outer, const char *name,
				   const char *file, uint32_t line)
{
	struct frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.kind = FRAME_PYTHON;
	frame.text = name;
	frame.file = file;
	frame.line = line;
	return stack_table_push(b->stacks, outer, &frame);
}

static void python_frames_have_file_and_line(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id stack = push_python(b, STACK_EMPTY, "forward", "/app/model.py", 42);
	const struct frame_info *f;
	struct named n;

	stack = push_python(b, stack, "forward", "model.py", 43);
	stack = push_python(b, stack, "forward", "model.py", 0);
	stack = push_python(b, stack, "[python]", NULL, 0);
	add_cpu(b, stack, 1);
	n = name_all(b);
	assert_weight(n.tree, ROW_CPU, 1, "forward (model.py:42)", "forward (model.py:43)",
		      "forward (model.py)", "[python]");
	f = frame_named(n.result, "forward (model.py:42)");
	assert_int_equal(f->class, CLASS_PYTHON);
	assert_int_equal(f->line, 42);
	assert_string_equal(f->file, "/app/model.py");
	assert_string_equal(f->short_name, "forward");
	assert_null(f->module);
	f = frame_named(n.result, "[python]");
	assert_string_equal(f->short_name, "[python]");
	assert_int_equal(f->class, CLASS_PYTHON);
	assert_int_equal(f->line, 0);
	assert_null(f->file);
	forget(&n);
}

#define TRITON "/lib/triton/"
#define INDUCTOR "/lib/torch/_inductor/runtime/triton_heuristics.py"

static void functions_that_compile_have_marks(void **state)
{
	struct naming_bench *b = *state;
	struct stack_id tuned, compiled, call = push_python(b, STACK_EMPTY, "call", "/tmp/c.py", 1);
	struct named n;

	/* of functions that call each other, the outermost has the mark */
	tuned = push_python(b, call, "CachingAutotuner.benchmark_all_configs", INDUCTOR, 2);
	tuned = push_python(b, tuned, "CachingAutotuner.bench", INDUCTOR, 3);
	compiled = push_python(b, tuned, "compile", TRITON "compiler/compiler.py", 4);
	add_cpu(b, compiled, 1);
	add_kernel(b, bench_call(b, tuned, "cuLaunchKernel"), "k", 2);
	add_kernel(b,
		   bench_call(b, push_python(b, call, "CachingAutotuner.run", INDUCTOR, 5),
			      "cuLaunchKernel"),
		   "k", 4);
	n = name_all(b);
	assert_weight(n.tree, ROW_CPU, 1, "call (c.py:1)", "[autotuning]",
		      "CachingAutotuner.benchmark_all_configs (triton_heuristics.py:2)",
		      "CachingAutotuner.bench (triton_heuristics.py:3)", "[compiling]",
		      "compile (compiler.py:4)");
	assert_weight(n.tree, ROW_GPU, 2, "call (c.py:1)", "[autotuning]",
		      "CachingAutotuner.benchmark_all_configs (triton_heuristics.py:2)",
		      "CachingAutotuner.bench (triton_heuristics.py:3)", "cuLaunchKernel",
		      "[GPU_Kernel]k");
	assert_weight(n.tree, ROW_GPU, 4, "call (c.py:1)",
		      "CachingAutotuner.run (triton_heuristics.py:5)", "cuLaunchKernel",
		      "[GPU_Kernel]k");
	forget(&n);
}

static void python_modules_are_called_like_their_files(void **state)
{
	static const struct {
		const char *name, *file, *full, *expected;
	} frames[] = {
		{"<module>", "/app/train.py", "<module> (train.py)", "train.py"},
		{"<module>", "main.py", "<module> (main.py)", "main.py"},
		{"<module>", "/x/torch/__init__.py", "<module> (torch/__init__.py)",
		 "torch/__init__.py"},
		{"CDLL", "ctypes/__init__.py", "CDLL (ctypes/__init__.py)", "CDLL"},
		{"<module>", "/__main__.py", "<module> (__main__.py)", "__main__.py"},
		{"<module>", "__init__.py", "<module> (__init__.py)", "__init__.py"},
		{"<module>", "<string>", "<module> (<string>)", "<module> (<string>)"},
		{"<lambda>", "/app/train.py", "<lambda> (train.py)", "<lambda> (train.py)"},
		{"f.<locals>.<lambda>", "/a/t.py", "f.<locals>.<lambda> (t.py)",
		 "f.<locals>.<lambda>"},
	};
	struct naming_bench *b = *state;
	struct stack_id collected = STACK_EMPTY;
	uint32_t stack, at = 0;
	const struct result *r;
	struct named n;

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
		collected = push_python(b, collected, frames[i].name, frames[i].file, 0);
	add_cpu(b, collected, 1);
	n = name_all(b);
	r = n.result;
	stack = r->rows[0].stack;
	for (size_t i = sizeof(frames) / sizeof(frames[0]); i-- > 0; at++) {
		const struct frame_info *f = &r->frames[r->stacks[stack].frame];

		assert_string_equal(f->name, frames[i].full);
		assert_string_equal(f->short_name, frames[i].expected);
		stack = r->stacks[stack].outer;
	}
	assert_int_equal(stack, RESULT_ROOT);
	assert_int_equal(at, 9);
	forget(&n);
}

static void frames_have_their_class(void **state)
{
	static const struct {
		enum frame_kind kind;
		const char *text, *name;
		enum frame_class class;
	} texts[] = {
		{FRAME_API, "cudaMemcpy", "cudaMemcpy", CLASS_API},
		{FRAME_NVTX, "nvtx:step", "nvtx:step", CLASS_NVTX},
		{FRAME_MARK, PSEUDO_TRUNCATED, PSEUDO_TRUNCATED, CLASS_MARK},
		{FRAME_MARK, PSEUDO_LAUNCHED, PSEUDO_LAUNCHED, CLASS_MARK},
		{FRAME_WAIT, PSEUDO_WAITING, PSEUDO_WAITING, CLASS_WAIT},
		{FRAME_SPIN, PSEUDO_SPINNING, PSEUDO_SPINNING, CLASS_MARK},
		{FRAME_IDLE, "[GPU 0 idle]", "[GPU 0 idle]", CLASS_IDLE},
		/* a program may have such a name */
		{FRAME_MARK, "[runnable]", "[runnable]", CLASS_MARK},
		{FRAME_GPU_KERNEL, "_Z1av", "[GPU_Kernel]a()", CLASS_GPU_KERNEL},
		{FRAME_GPU_WORK, "[GPU_Memset]", "[GPU_Memset]", CLASS_GPU_WORK},
	};
	struct naming_bench *b = *state;
	struct stack_id stack = STACK_EMPTY;
	struct named n;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		stack = stack_table_push_text(b->stacks, stack, texts[i].kind, texts[i].text);
	add_cpu(b, stack, 1);
	n = name_all(b);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct frame_info *f = frame_named(n.result, texts[i].name);

		assert_int_equal(f->class, texts[i].class);
		assert_null(f->module);
		assert_null(f->file);
		assert_int_equal(f->line, 0);
	}
	forget(&n);
}

static void code_has_its_file(void **state)
{
	struct naming_bench *b = *state;
	struct code_ref code = locate(b, inner);
	struct stack_id stack = push_ref(b, STACK_EMPTY, FRAME_CODE, code);
	const struct frame_info *f;
	struct named n;

	stack = push_ref(b, stack, FRAME_CODE, symbolizer_locate_kernel(b->symbolizer, 5));
	stack = push_ref(b, stack, FRAME_CODE,
			 (struct code_ref){.module = MODULE_JIT, .process = 1, .offset = 5});
	stack = push_ref(b, stack, FRAME_CODE, (struct code_ref){.module = MODULE_UNKNOWN});
	add_cpu(b, stack, 1);
	n = name_all(b);
	assert_weight(n.tree, ROW_CPU, 1, "inner", "[kernel]", "[jit]", "[unknown]");
	f = frame_named(n.result, "inner");
	assert_int_equal(f->class, CLASS_NATIVE);
	assert_string_equal(f->module, symbolizer_module_path(b->symbolizer, code.module));
	assert_int_equal(f->offset, code.offset);
	assert_true(f->build_id == symbolizer_build_id(b->symbolizer, code.module));
	f = frame_named(n.result, "[kernel]");
	assert_int_equal(f->class, CLASS_KERNEL_MODE);
	assert_null(f->module);
	f = frame_named(n.result, "[jit]");
	assert_int_equal(f->class, CLASS_JIT);
	assert_null(f->module);
	f = frame_named(n.result, "[unknown]");
	assert_int_equal(f->class, CLASS_NATIVE);
	assert_null(f->module);
	forget(&n);
}

static void names_move_no_cursor_and_break_no_line(void **state)
{
	struct naming_bench *b = *state;
	struct named n;

	add_kernel(b, STACK(b, "main"), "evil\x1b[2J\nname;", 3);
	n = name_all(b);
	assert_weight(n.tree, ROW_GPU, 3, "main", "[GPU_Kernel]evil?[2J?name;");
	forget(&n);
}

/* ---- what the result holds besides ---- */

static void the_result_has_all_processes_of_places(void **state)
{
	struct naming_bench *b = *state;
	const struct totals totals = {.ledger = &b->ledger, .elapsed_ns = 5};
	struct place place = {{1, 2, 3, 4, 5}};
	struct gpu_event_device device = {.id = 3, .name = "Some GPU"};
	struct place_id number = places_add(&b->places, &place);
	struct named n;

	b->totals = totals;
	place_names_add_process(&b->place_names,
				&(struct process_info){.id = 1, .pid = 7, .name = "app 7"});
	place_names_add_thread(&b->place_names,
			       &(struct thread_info){.process = 1, .tid = 2, .name = "main 2"});
	assert_int_equal(devices_describe(&b->devices, 1, &device), 0);
	profile_add(b->profile, ROW_GPU, STACK(b, "main"), number, 10, 20);
	n = name_all(b);
	assert_int_equal(n.result->row_count, 1);
	assert_int_equal(n.result->rows[0].kind, ROW_GPU);
	assert_int_equal(n.result->rows[0].place, number.number);
	assert_int_equal(n.result->rows[0].ns, 10);
	assert_int_equal(n.result->rows[0].bytes, 20);
	assert_memory_equal(&n.result->places[number.number], &place, sizeof(place));
	assert_int_equal(n.result->place_count, 2);
	assert_int_equal(n.result->process_count, 1);
	assert_string_equal(n.result->processes[0].name, "app 7");
	assert_int_equal(n.result->thread_count, 1);
	assert_string_equal(n.result->threads[0].name, "main 2");
	assert_int_equal(n.result->device_count, 1);
	assert_string_equal(n.result->devices[0].name, "Some GPU");
	assert_null(n.result->timeline);
	assert_int_equal(n.result->unnamed.unreadable, 0);
	assert_int_equal(n.result->unnamed.refused, 0);
	assert_int_equal(n.result->unnamed.stuck, 0);
	assert_int_equal(n.result->unnamed.mangled, 0);
	assert_memory_equal(&n.result->totals, &totals, sizeof(totals));
	forget(&n);
}

/* ---- many and deep ---- */

/* Counts the frames of a result's stack. */
static uint32_t depth_of(const struct result *r, uint32_t stack)
{
	uint32_t depth = 0;

	for (; stack != RESULT_ROOT; stack = r->stacks[stack].outer)
		depth++;
	return depth;
}

/* Frames that stand for several functions each make stacks much deeper. */
static void a_stack_may_be_very_deep(void **state)
{
	enum { DEPTH = 20000 };
	struct naming_bench *b = *state;
	struct place place = {{1, 1, 1, 1, 1}};
	struct stack_id stack = STACK_EMPTY;
	struct result *r;

	for (int i = 0; i < DEPTH; i++)
		stack = stack_table_push_text(b->stacks, stack, FRAME_PYTHON, "deep");
	profile_add(b->profile, ROW_CPU, stack, places_add(&b->places, &place), 1, 0);
	profile_add(b->profile, ROW_GPU,
		    work_stack(b, launched_at(stack), CAPTURE_NONE, GPU_WORK_KERNEL, "k"),
		    places_add(&b->places, &place), 2, 0);
	r = bench_result(b);
	check_rows(b, r);
	assert_int_equal(depth_of(r, r->rows[0].stack), DEPTH);
	assert_int_equal(depth_of(r, r->rows[1].stack), DEPTH + 1);
	result_free(r);
}

/* Random rows compared with a list of paths composed as texts. */
struct model_row {
	char path[256]; /* "outermost\1...\1innermost" */
	enum row_kind kind;
	double ns;
};

static const char *const model_names[] = {"a", "b", "c", "main", "d e", "[x]"};

static void put_frame(char *path, const char *name)
{
	size_t used = strlen(path);

	snprintf(path + used, 256 - used, "%s%s", used ? "\1" : "", name);
}

static struct stack_id random_stack(struct prng *p, struct naming_bench *b, char *path)
{
	struct stack_id stack = STACK_EMPTY;

	for (uint64_t i = 1 + prng_below(p, 4); i > 0; i--) {
		const char *name = model_names[prng_below(p, 6)];

		stack = stack_table_push_text(b->stacks, stack, FRAME_PYTHON, name);
		put_frame(path, name);
	}
	put_frame(path, "cudaLaunchKernel");
	return bench_call(b, stack, "cudaLaunchKernel");
}

static uint32_t random_place(struct prng *p, struct naming_bench *b)
{
	struct place place;

	for (uint32_t i = 0; i < PLACE_PARTS; i++)
		place.part[i] = prng_chance(p, 30) ? PLACE_UNKNOWN : (uint32_t)prng_below(p, 3);
	return places_add(&b->places, &place).number;
}

static struct model_row random_row(struct prng *p, struct naming_bench *b)
{
	struct model_row m = {.kind = (enum row_kind)prng_below(p, ROW_KINDS)};
	uint32_t place = random_place(p, b);
	struct stack_id stack = random_stack(p, b, m.path);
	uint64_t ns = prng_bits(p, 30);

	switch (m.kind) {
	case ROW_GPU:
		stack = work_stack(b, launched_at(stack), CAPTURE_NONE, GPU_WORK_KERNEL, "k");
		put_frame(m.path, "[GPU_Kernel]k");
		break;
	case ROW_WAIT:
		stack = gpu_stack_wait(&b->gpu_stacks, stack, false, NULL);
		put_frame(m.path, PSEUDO_WAITING);
		break;
	case ROW_CALL:
		stack = gpu_stack_call(&b->gpu_stacks, stack, NULL);
		put_frame(m.path, PSEUDO_CALL);
		break;
	default:
		break;
	}
	profile_add(b->profile, m.kind, stack, PLACE_ID(place), ns, ns % 100);
	m.ns = (double)ns;
	return m;
}

static double weight_of_path(const struct call_tree *tree, const char *path, enum row_kind kind)
{
	char *text = strdup(path), *rest = text;
	const char *names[32];
	uint32_t count = 0;
	double weight;

	assert_non_null(text);
	while ((names[count] = strsep(&rest, "\1")))
		count++;
	weight = bench_weight(tree, names, kind);
	free(text);
	return weight;
}

static void check_round(struct prng *p, struct naming_bench *b)
{
	enum { ROWS = 80 };
	static struct model_row rows[ROWS];
	struct named n;

	for (uint32_t i = 0; i < 3; i++) {
		struct process_info info = {.id = i};
		char name[32];

		snprintf(name, sizeof(name), "process %u", i);
		info.name = intern_string(&b->strings, name);
		place_names_add_process(&b->place_names, &info);
	}
	for (uint32_t i = 0; i < ROWS; i++)
		rows[i] = random_row(p, b);
	n = name_all(b);
	for (uint32_t i = 0; i < ROWS; i++) {
		double want = 0;

		for (uint32_t j = 0; j < ROWS; j++)
			if (rows[i].kind == rows[j].kind && strcmp(rows[i].path, rows[j].path) == 0)
				want += rows[j].ns;
		EXPECT(p, weight_of_path(n.tree, rows[i].path, rows[i].kind) == want);
	}
	forget(&n);
}

static void random_rows_match_a_model(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(100); round++) {
		struct prng p = prng_round(round);
		void *bench = NULL;

		assert_int_equal(bench_begin(&bench), 0);
		check_round(&p, bench);
		bench_end(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(samples_weigh_a_period_each),
		BENCH_TEST(kernels_are_under_their_launch),
		BENCH_TEST(kernels_have_short_names),
		BENCH_TEST(raw_names_stay_mangled),
		BENCH_TEST(a_kernel_without_a_launch_keeps_its_time),
		BENCH_TEST(an_empty_stack_has_a_name),
		BENCH_TEST(stacks_that_were_not_kept_keep_their_time),
		BENCH_TEST(other_work_has_its_own_frames),
		BENCH_TEST(a_graphs_node_has_two_stacks),
		BENCH_TEST(waits_show_their_work),
		BENCH_TEST(an_empty_profile_is_an_empty_tree),
		BENCH_TEST(equal_names_are_one_path),
		BENCH_TEST(return_addresses_are_named_by_the_call),
		BENCH_TEST(a_launch_is_cut_at_the_programs_own_call),
		BENCH_TEST(a_copy_is_cut_at_its_own_function),
		BENCH_TEST(a_function_called_like_the_runtimes_cuts_nothing_off),
		BENCH_TEST(other_frames_end_no_launch),
		BENCH_TEST(each_part_of_a_stack_is_cut),
		BENCH_TEST(timed_calls_name_their_kernel),
		BENCH_TEST(inlined_functions_are_frames_if_wanted),
		BENCH_TEST(python_frames_have_file_and_line),
		BENCH_TEST(functions_that_compile_have_marks),
		BENCH_TEST(python_modules_are_called_like_their_files),
		BENCH_TEST(frames_have_their_class),
		BENCH_TEST(code_has_its_file),
		BENCH_TEST(names_move_no_cursor_and_break_no_line),
		BENCH_TEST(the_result_has_all_processes_of_places),
		BENCH_TEST(a_stack_may_be_very_deep),
		cmocka_unit_test(random_rows_match_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
