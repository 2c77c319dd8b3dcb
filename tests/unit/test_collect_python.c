/* SPDX-License-Identifier: MIT */
/* Python functions and NVTX ranges that a process sends with its launch stacks: from events to the
 * names of a tree. */
#include "unit.h"
#include "profiler/collect/collect.h"
#include "profiler/output/resolve.h"

#define PID 77

static void send_pycode(struct collect *c, uint32_t id, const char *name, const char *qualname,
			const char *path)
{
	struct gpu_event event = {.type = GPU_EVENT_PYCODE,
				  .pycode = {id, name, qualname, path, 1}};

	collect_gpu_event(c, PID, &event, NULL);
}

/* A stack of these frames, a launch from there, and the kernel it started. */
static void send_launch(struct collect *c, uint32_t id, const struct gpu_event_frame *frames,
			uint32_t count)
{
	struct gpu_event stack = {.type = GPU_EVENT_STACK,
				  .stack = {.id = id,
					    .is_whole = 1,
					    .function = "cuLaunchKernel",
					    .count = count,
					    .frames = frames}};
	struct gpu_event launch = {.type = GPU_EVENT_LAUNCH,
				   .launch = {.time_ns = id,
					      .tid = PID,
					      .correlation_id = id,
					      .family = GPU_LAUNCH_DRIVER,
					      .stack_id = id}};
	struct gpu_event kernel = {
		.type = GPU_EVENT_KERNEL,
		.kernel = {.start_ns = id, .duration_ns = 1, .correlation_id = id}};

	collect_gpu_event(c, PID, &stack, NULL);
	collect_gpu_event(c, PID, &launch, NULL);
	collect_gpu_event(c, PID, &kernel, intern_string(&c->strings, "kernel"));
}

static void begin(struct collect *c)
{
	struct gpu_event hello = {.type = GPU_EVENT_HELLO, .hello = {.version = 1, .pid = PID}};

	assert_int_equal(collect_init(c), 0);
	collect_gpu_event(c, PID, &hello, NULL);
}

/* The names on the way to the only kernel, "a|b|c". */
static const char *path_of(struct collect *c)
{
	static char text[2000];
	struct resolve_input input = {.profile = c->profile,
				      .stacks = c->stacks,
				      .symbolizer = c->symbolizer,
				      .strings = &c->strings,
				      .sample_period_ns = 1};
	const struct call_node *nodes;
	struct call_tree *tree;
	uint32_t count, at;
	size_t used = 0;

	join_finish(c->join);
	tree = resolve(&input);
	assert_non_null(tree);
	nodes = call_tree_nodes(tree, &count);
	text[0] = '\0';
	for (at = nodes[CALL_TREE_ROOT].first_child; at != CALL_TREE_NONE && at;
	     at = nodes[at].first_child)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? "|" : "",
					 nodes[at].name);
	call_tree_free(tree);
	collect_release(c);
	return text;
}

#define PYTHON(id, line) ((struct gpu_event_frame){id, GPU_FRAME_PYTHON, line})
#define NVTX(id) ((struct gpu_event_frame){id, GPU_FRAME_NVTX, 0})
#define NATIVE(address) ((struct gpu_event_frame){address, GPU_FRAME_RETURN, 0})

static void functions_have_names_and_files(void **state)
{
	struct gpu_event_frame frames[] = {PYTHON(2, 0), NATIVE(0x1234), PYTHON(1, 40)};
	struct collect c;

	(void)state;
	begin(&c);
	send_pycode(&c, 1, "main", "", "/home/me/train.py");
	send_pycode(&c, 2, "forward", "Model.forward", "model.py");
	send_launch(&c, 1, frames, 3);
	assert_string_equal(path_of(&c), "main (train.py:40)|[unknown]|Model.forward (model.py)|"
					 "cuLaunchKernel|[GPU_Kernel]kernel");
}

static void hostile_names_are_harmless(void **state)
{
	struct gpu_event_frame frames[] = {PYTHON(1, 0), PYTHON(2, 0)};
	struct collect c;

	(void)state;
	begin(&c);
	send_pycode(&c, 1, "a\nb\x1b[31m", "", "/x/\x07y");
	send_pycode(&c, 2, "", "", "/");
	send_launch(&c, 1, frames, 2);
	assert_string_equal(path_of(&c), " ()|a?b?[31m (?y)|cuLaunchKernel|[GPU_Kernel]kernel");
}

static void what_was_not_sent_is_unknown(void **state)
{
	struct gpu_event_frame frames[] = {PYTHON(0, 0), PYTHON(900000, 3)};
	struct collect c;

	(void)state;
	begin(&c);
	send_pycode(&c, 5000, "far", "", "f.py");
	send_launch(&c, 1, frames, 2);
	assert_string_equal(path_of(&c), "[Python]|[Python]|cuLaunchKernel|[GPU_Kernel]kernel");
}

/* A later program of the process gives the ids anew. */
static void a_hello_forgets_functions(void **state)
{
	struct gpu_event hello = {.type = GPU_EVENT_HELLO, .hello = {.version = 1, .pid = PID}};
	struct gpu_event_frame frames[] = {PYTHON(1, 0), PYTHON(2, 0)};
	struct collect c;

	(void)state;
	begin(&c);
	send_pycode(&c, 1, "old", "", "old.py");
	send_pycode(&c, 2, "old", "", "old.py");
	collect_gpu_event(&c, PID, &hello, NULL);
	send_pycode(&c, 2, "new", "", "new.py");
	send_launch(&c, 1, frames, 2);
	assert_string_equal(path_of(&c), "new (new.py)|[Python]|cuLaunchKernel|[GPU_Kernel]kernel");
}

static void ranges_have_domains_and_names(void **state)
{
	struct gpu_event_frame frames[] = {NVTX(3), NVTX(2), NATIVE(0x1234), NVTX(1)};
	struct gpu_event one = {.type = GPU_EVENT_NVTX, .nvtx = {1, 0, "", "step 1"}};
	struct gpu_event two = {.type = GPU_EVENT_NVTX, .nvtx = {2, 0, "train", "a\nb"}};
	struct collect c;

	(void)state;
	begin(&c);
	collect_gpu_event(&c, PID, &one, NULL);
	collect_gpu_event(&c, PID, &two, NULL);
	send_launch(&c, 1, frames, 4);
	assert_string_equal(path_of(&c), "nvtx:step 1|[unknown]|nvtx:train:a?b|nvtx:[unknown]|"
					 "cuLaunchKernel|[GPU_Kernel]kernel");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_names_and_files),
		cmocka_unit_test(hostile_names_are_harmless),
		cmocka_unit_test(what_was_not_sent_is_unknown),
		cmocka_unit_test(a_hello_forgets_functions),
		cmocka_unit_test(ranges_have_domains_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
