/* SPDX-License-Identifier: MIT */
/* Names for a profile whose code lies in no known process. */
#include "unit.h"
#include "profiler/collect/join.h"
#include "profiler/output/resolve.h"
#include "profiler/profile/work_names.h"

struct bench {
	struct profile *profile;
	struct stack_table *stacks;
	struct symbolizer *symbolizer;
	struct intern strings;
	struct resolve_input input;
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	b->profile = profile_new();
	b->stacks = stack_table_new();
	b->symbolizer = symbolizer_new();
	b->input = (struct resolve_input){
		.profile = b->profile,
		.stacks = b->stacks,
		.symbolizer = b->symbolizer,
		.strings = &b->strings,
		.sample_period_ns = 1000,
	};
	return b->profile && b->stacks && b->symbolizer ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;

	profile_free(b->profile);
	stack_table_free(b->stacks);
	symbolizer_free(b->symbolizer);
	intern_release(&b->strings);
	free(b);
	return 0;
}

static struct frame text(const char *name)
{
	struct frame f;

	memset(&f, 0, sizeof(f));
	f.kind = FRAME_TEXT;
	f.text = name;
	return f;
}

static void add_work(struct bench *b, uint32_t stack, uint32_t capture, uint32_t work,
		     const char *name, uint64_t ns)
{
	struct profile_key key = {.stack = stack,
				  .capture = capture,
				  .group = PROFILE_NO_GROUP,
				  .work = work,
				  .name = name};

	assert_int_equal(profile_add_work(b->profile, &key, ns, 0), 0);
}

static void add_kernel(struct bench *b, uint32_t stack, const char *name, uint64_t ns)
{
	add_work(b, stack, PROFILE_NO_CAPTURE, GPU_WORK_KERNEL, name, ns);
}

/* A stack of texts, given root first. */
static uint32_t stack_of(struct bench *b, const char *const *names)
{
	struct frame frames[16];
	uint32_t count = 0, id;

	while (names[count])
		count++;
	for (uint32_t i = 0; i < count; i++)
		frames[count - 1 - i] = text(names[i]);
	assert_int_equal(stack_table_add(b->stacks, frames, count, &id), 0);
	return id;
}

#define STACK(b, ...) stack_of(b, (const char *const[]){__VA_ARGS__, NULL})

/* The weight of a path, or -1 if there is no such path. */
static double weight(const struct call_tree *t, const char *const *names, enum weight_kind kind)
{
	uint32_t count, at = CALL_TREE_ROOT;
	const struct call_node *nodes = call_tree_nodes(t, &count);

	for (; *names; names++) {
		at = nodes[at].first_child;
		while (at != CALL_TREE_NONE && strcmp(nodes[at].name, *names) != 0)
			at = nodes[at].next_sibling;
		if (at == CALL_TREE_NONE)
			return -1;
	}
	return nodes[at].weight_ns[kind];
}

#define assert_weight(t, kind, ns, ...) \
	assert_true(weight(t, (const char *const[]){__VA_ARGS__, NULL}, kind) == (ns))

static void samples_weigh_a_period_each(void **state)
{
	struct bench *b = *state;
	struct call_tree *t;
	uint32_t stack = STACK(b, "main", "work");

	for (int i = 0; i < 5; i++)
		profile_add_sample(b->profile, stack, PROFILE_NO_GROUP);
	t = resolve(&b->input);
	assert_non_null(t);
	assert_weight(t, WEIGHT_CPU, 5000, "main", "work");
	assert_weight(t, WEIGHT_CPU, 0, "main");
	assert_true(call_tree_total(t, WEIGHT_GPU) == 0);
	call_tree_free(t);
}

static void kernels_lie_under_their_launch(void **state)
{
	struct bench *b = *state;
	struct call_tree *t;
	uint32_t stack = STACK(b, "main", "cudaLaunchKernel");

	add_kernel(b, stack, "_Z7softmaxPKfi", 30);
	add_kernel(b, stack, "_Z7softmaxPKfi", 12);
	add_kernel(b, stack, "plain_c_name", 5);
	t = resolve(&b->input);
	assert_weight(t, WEIGHT_GPU, 42, "main", "cudaLaunchKernel",
		      "[GPU_Kernel]softmax(float const*, int)");
	assert_weight(t, WEIGHT_GPU, 5, "main", "cudaLaunchKernel", "[GPU_Kernel]plain_c_name");
	assert_weight(t, WEIGHT_CPU, 0, "main", "cudaLaunchKernel", "[GPU_Kernel]plain_c_name");
	call_tree_free(t);
}

static void raw_names_stay_mangled(void **state)
{
	struct bench *b = *state;
	struct call_tree *t;

	b->input.raw_names = true;
	add_kernel(b, STACK(b, "main"), "_Z7softmaxPKfi", 30);
	t = resolve(&b->input);
	assert_weight(t, WEIGHT_GPU, 30, "main", "[GPU_Kernel]_Z7softmaxPKfi");
	call_tree_free(t);
}

static void a_kernel_without_a_launch_keeps_its_time(void **state)
{
	struct bench *b = *state;
	struct call_tree *t;

	add_kernel(b, STACK_NONE, "_Z1av", 30);
	add_kernel(b, STACK_NONE, "[kernel name lost]", 4);
	t = resolve(&b->input);
	assert_weight(t, WEIGHT_GPU, 30, RESOLVE_NO_LAUNCH, "[GPU_Kernel]a()");
	assert_weight(t, WEIGHT_GPU, 4, RESOLVE_NO_LAUNCH, "[GPU_Kernel][kernel name lost]");
	assert_true(call_tree_total(t, WEIGHT_GPU) == 34);
	call_tree_free(t);
}

static void an_empty_stack_has_a_name(void **state)
{
	struct bench *b = *state;
	struct call_tree *t;
	uint32_t empty;

	assert_int_equal(stack_table_add(b->stacks, NULL, 0, &empty), 0);
	profile_add_sample(b->profile, empty, PROFILE_NO_GROUP);
	add_kernel(b, empty, "k", 9);
	t = resolve(&b->input);
	assert_weight(t, WEIGHT_CPU, 1000, RESOLVE_NO_STACK);
	assert_weight(t, WEIGHT_GPU, 9, RESOLVE_NO_STACK, "[GPU_Kernel]k");
	call_tree_free(t);
}

/* Two addresses in one function, or two kernels that demangle alike, are one path. */
static void equal_names_are_one_path(void **state)
{
	struct bench *b = *state;
	struct call_tree *t;
	struct frame f[2];
	uint32_t id;

	memset(f, 0, sizeof(f));
	f[1] = text("main");
	for (uint64_t offset = 1; offset < 4; offset++) {
		f[0].kind = FRAME_RETURN;
		f[0].code = (struct code_ref){.module = MODULE_UNKNOWN, .offset = offset};
		assert_int_equal(stack_table_add(b->stacks, f, 2, &id), 0);
		profile_add_sample(b->profile, id, PROFILE_NO_GROUP);
	}
	assert_int_equal(stack_table_count(b->stacks), 3);
	t = resolve(&b->input);
	assert_weight(t, WEIGHT_CPU, 3000, "main", "[unknown]");
	call_tree_free(t);
}

static void an_empty_profile_is_an_empty_tree(void **state)
{
	struct bench *b = *state;
	struct call_tree *t = resolve(&b->input);
	uint32_t count;

	assert_non_null(t);
	call_tree_nodes(t, &count);
	assert_int_equal(count, 1);
	call_tree_free(t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* Copies and the like carry their frame as a name; what nothing launched lies at the root. */
static void other_work_has_its_own_frames(void **state)
{
	struct bench *b = *state;
	struct call_tree *t;
	uint32_t stack = STACK(b, "main", "cudaMemcpy");

	add_work(b, stack, PROFILE_NO_CAPTURE, GPU_WORK_MEMCPY_HTOD,
		 work_frame(GPU_WORK_MEMCPY_HTOD), 30);
	add_work(b, PROFILE_STACK_ROOT, PROFILE_NO_CAPTURE, GPU_WORK_UVM_DTOH,
		 work_frame(GPU_WORK_UVM_DTOH), 7);
	add_work(b, stack, PROFILE_NO_CAPTURE, GPU_WORK_ALLOC, work_frame(GPU_WORK_ALLOC), 0);
	t = resolve(&b->input);
	assert_weight(t, WEIGHT_GPU, 30, "main", "cudaMemcpy", "[GPU_Memcpy HtoD]");
	assert_weight(t, WEIGHT_GPU, 7, "[GPU_UVM DtoH]");
	assert_weight(t, WEIGHT_GPU, -1, "main", "cudaMemcpy", "[GPU_Alloc]");
	assert_true(call_tree_total(t, WEIGHT_GPU) == 37);
	call_tree_free(t);
}

/* The runtime in the program itself: what lies between its function and the driver's is cut. */
static void a_copy_is_cut_at_its_own_function(void **state)
{
	struct bench *b = *state;
	struct call_tree *t;

	add_work(b, STACK(b, "main", "cudaMemcpy", "inner", "cudaMemcpy"), PROFILE_NO_CAPTURE,
		 GPU_WORK_MEMCPY_HTOD, work_frame(GPU_WORK_MEMCPY_HTOD), 30);
	t = resolve(&b->input);
	assert_weight(t, WEIGHT_GPU, 30, "main", "cudaMemcpy", "[GPU_Memcpy HtoD]");
	call_tree_free(t);
}

static void a_graphs_node_has_two_stacks(void **state)
{
	struct bench *b = *state;
	struct call_tree *t;
	uint32_t launch = STACK(b, "main", "replay", "cudaGraphLaunch");
	uint32_t capture = STACK(b, "main", "record", "cudaLaunchKernel");

	add_work(b, launch, capture, GPU_WORK_KERNEL, "k", 30);
	add_work(b, launch, PROFILE_CAPTURE_UNSEEN, GPU_WORK_KERNEL, "k", 5);
	add_work(b, STACK_NONE, capture, GPU_WORK_KERNEL, "k", 2);
	t = resolve(&b->input);
	assert_weight(t, WEIGHT_GPU, 30, "main", "replay", "cudaGraphLaunch", RESOLVE_CAPTURED,
		      "main", "record", "cudaLaunchKernel", "[GPU_Kernel]k");
	assert_weight(t, WEIGHT_GPU, 5, "main", "replay", "cudaGraphLaunch", RESOLVE_CAPTURE_UNSEEN,
		      "[GPU_Kernel]k");
	assert_weight(t, WEIGHT_GPU, 2, RESOLVE_NO_LAUNCH, RESOLVE_CAPTURED, "main", "record",
		      "cudaLaunchKernel", "[GPU_Kernel]k");
	call_tree_free(t);
}

static void groups_stand_at_the_root(void **state)
{
	struct bench *b = *state;
	uint32_t stack = STACK(b, "main", "work");
	struct profile_key key = {.stack = STACK(b, "main", "cudaLaunchKernel"),
				  .capture = PROFILE_NO_CAPTURE,
				  .group = STACK(b, "app 7", "GPU 0"),
				  .name = "k"};
	struct call_tree *t;

	assert_int_equal(profile_add_sample(b->profile, stack, STACK(b, "app 7")), 0);
	assert_int_equal(profile_add_work(b->profile, &key, 3, 0), 0);
	t = resolve(&b->input);
	assert_weight(t, WEIGHT_CPU, 1000, "app 7", "main", "work");
	assert_weight(t, WEIGHT_GPU, 3, "app 7", "GPU 0", "main", "cudaLaunchKernel",
		      "[GPU_Kernel]k");
	call_tree_free(t);
}

/* What the thread waited for lies below its call, with the stack of its own launch. */
static void waits_show_what_they_were_for(void **state)
{
	struct bench *b = *state;
	uint32_t launch = STACK(b, "main", "step", "cudaLaunchKernel");
	struct profile_key key = {.stack = launch,
				  .capture = PROFILE_NO_CAPTURE,
				  .group = PROFILE_NO_GROUP,
				  .name = "k",
				  .waiter = STACK(b, "main", "cudaMemcpy", "inner", "cudaMemcpy") +
					    1};
	struct call_tree *t;

	profile_add_work(b->profile, &key, 30, 0);
	key.capture = STACK(b, "main", "record", "cudaLaunchKernel");
	profile_add_work(b->profile, &key, 8, 0);
	key.capture = PROFILE_NO_CAPTURE;
	key.stack = STACK_NONE;
	profile_add_work(b->profile, &key, 4, 0);
	key.stack = PROFILE_STACK_ROOT;
	key.work = GPU_WORK_UVM_DTOH;
	key.name = work_frame(GPU_WORK_UVM_DTOH);
	profile_add_work(b->profile, &key, 2, 0);
	key.name = NULL;
	key.work = 0;
	profile_add_work(b->profile, &key, 1, 0);
	add_kernel(b, launch, "k", 50);
	t = resolve(&b->input);
	assert_weight(t, WEIGHT_WAIT, 30, "main", "cudaMemcpy", RESOLVE_WAITING, "[GPU_Kernel]k",
		      RESOLVE_LAUNCHED, "main", "step", "cudaLaunchKernel");
	assert_weight(t, WEIGHT_WAIT, 8, "main", "cudaMemcpy", RESOLVE_WAITING, "[GPU_Kernel]k",
		      RESOLVE_LAUNCHED, "main", "step", "cudaLaunchKernel", RESOLVE_CAPTURED,
		      "main", "record", "cudaLaunchKernel");
	assert_weight(t, WEIGHT_WAIT, 4, "main", "cudaMemcpy", RESOLVE_WAITING, "[GPU_Kernel]k",
		      RESOLVE_LAUNCHED, RESOLVE_NO_LAUNCH);
	assert_weight(t, WEIGHT_WAIT, 2, "main", "cudaMemcpy", RESOLVE_WAITING, "[GPU_UVM DtoH]");
	assert_weight(t, WEIGHT_WAIT, 1, "main", "cudaMemcpy", RESOLVE_WAITING);
	assert_true(call_tree_total(t, WEIGHT_WAIT) == 45);
	assert_true(call_tree_total(t, WEIGHT_GPU) == 50);
	assert_true(call_tree_total(t, WEIGHT_CPU) == 0);
	call_tree_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(other_work_has_its_own_frames, begin, end),
		cmocka_unit_test_setup_teardown(a_copy_is_cut_at_its_own_function, begin, end),
		cmocka_unit_test_setup_teardown(a_graphs_node_has_two_stacks, begin, end),
		cmocka_unit_test_setup_teardown(groups_stand_at_the_root, begin, end),
		TEST(samples_weigh_a_period_each),
		TEST(waits_show_what_they_were_for),
		TEST(kernels_lie_under_their_launch),
		TEST(raw_names_stay_mangled),
		TEST(a_kernel_without_a_launch_keeps_its_time),
		TEST(an_empty_stack_has_a_name),
		TEST(equal_names_are_one_path),
		TEST(an_empty_profile_is_an_empty_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
