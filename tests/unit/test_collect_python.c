/* SPDX-License-Identifier: MIT */
/* Python functions and NVTX ranges that a process sends with its launch stacks: from events to the
 * names in a file. */
#include "collect_text.h"

#define PID 77

struct program {
	struct collect *collect;
	struct process *process;
};

static void send_pycode(struct program *p, uint32_t id, const char *name, const char *qualname,
			const char *path)
{
	send_event(p->collect, p->process,
		   &(struct gpu_event){.type = GPU_EVENT_PYCODE,
				       .pycode = {id, name, qualname, path, 1}});
}

static void send_nvtx(struct program *p, uint32_t id, const char *domain, const char *name)
{
	send_event(p->collect, p->process,
		   &(struct gpu_event){.type = GPU_EVENT_NVTX, .nvtx = {id, 0, domain, name}});
}

/* Sends a stack of these frames, a launch from there, and the launched kernel. */
static void send_launch(struct program *p, uint32_t id, const struct gpu_event_frame *frames,
			uint32_t count)
{
	send_event(p->collect, p->process,
		   &(struct gpu_event){.type = GPU_EVENT_STACK,
				       .stack = {.id = id,
						 .is_whole = 1,
						 .function = "cuLaunchKernel",
						 .count = count,
						 .frames = frames}});
	send_event(p->collect, p->process,
		   &(struct gpu_event){.type = GPU_EVENT_LAUNCH,
				       .launch = {.time_ns = id,
						  .tid = PID,
						  .correlation_id = id,
						  .family = GPU_LAUNCH_DRIVER,
						  .stack_id = id}});
	send_event(p->collect, p->process,
		   &(struct gpu_event){
			   .type = GPU_EVENT_KERNEL,
			   .kernel = {.start_ns = id, .duration_ns = 1, .correlation_id = id}});
}

static int begin(void **state)
{
	struct program *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	*state = p;
	p->collect = new_collect();
	p->process = say_hello(p->collect, PID);
	return p->process ? 0 : -1;
}

static int end(void **state)
{
	struct program *p = *state;

	collect_free(p->collect);
	free(p);
	return 0;
}

static void expect_profile(struct program *p, const char *expected)
{
	struct written written;
	char *text = folded_text(p->collect, 1000, &written);

	assert_string_equal(text, expected);
	free(text);
}

#define PYTHON(id, line) ((struct gpu_event_frame){id, GPU_FRAME_PYTHON, line})
#define NVTX(id) ((struct gpu_event_frame){id, GPU_FRAME_NVTX, 0})
#define NATIVE(address) ((struct gpu_event_frame){address, GPU_FRAME_RETURN, 0})

static void functions_have_names_and_files(void **state)
{
	struct gpu_event_frame frames[] = {PYTHON(2, 0), NATIVE(0x1234), PYTHON(1, 40)};
	struct program *p = *state;

	send_pycode(p, 1, "main", "", "/home/me/train.py");
	send_pycode(p, 2, "forward", "Model.forward", "model.py");
	send_launch(p, 1, frames, 3);
	expect_profile(p, "main (train.py:40);[unknown];Model.forward (model.py);"
			  "cuLaunchKernel;[GPU_Kernel]k 1\n");
}

static void hostile_names_are_harmless(void **state)
{
	struct gpu_event_frame frames[] = {PYTHON(1, 0), PYTHON(2, 0)};
	struct program *p = *state;

	send_pycode(p, 1, "a\nb\x1b[31m", "", "/x/\x07y");
	send_pycode(p, 2, "", "", "/");
	send_launch(p, 1, frames, 2);
	expect_profile(p, " ();a?b?[31m (?y);cuLaunchKernel;[GPU_Kernel]k 1\n");
}

static void unsent_ids_are_unknown(void **state)
{
	struct gpu_event_frame frames[] = {PYTHON(0, 0), PYTHON(900000, 3)};
	struct program *p = *state;

	send_pycode(p, 5000, "far", "", "f.py");
	send_launch(p, 1, frames, 2);
	expect_profile(p, "[Python];[Python];cuLaunchKernel;[GPU_Kernel]k 1\n");
}

/* A later program that claims this process assigns the ids again. */
static void a_hello_forgets_functions(void **state)
{
	struct gpu_event_frame frames[] = {PYTHON(1, 0), PYTHON(2, 0), NVTX(1)};
	struct program *p = *state;

	send_pycode(p, 1, "old", "", "old.py");
	send_pycode(p, 2, "old", "", "old.py");
	send_nvtx(p, 1, "", "old");
	collect_goodbye(p->collect, p->process, 10);
	p->process = say_hello(p->collect, PID);
	send_pycode(p, 2, "new", "", "new.py");
	send_launch(p, 1, frames, 3);
	expect_profile(p, "nvtx:[unknown];new (new.py);[Python];cuLaunchKernel;[GPU_Kernel]k 1\n");
}

/* When the kernel reports an exec, the process forgets its functions, too. */
static void an_exec_forgets_functions(void **state)
{
	struct gpu_event_frame frames[] = {PYTHON(1, 0), PYTHON(2, 0), NVTX(1)};
	const struct process_event exec = {.time_ns = 5, .type = PROCESS_EXEC, .pid = 5};
	struct program *p = *state;
	struct process *old;

	collect_start_target(p->collect, 5);
	collect_process_event(p->collect, &exec);
	collect_know_tree(p->collect);
	old = p->process = say_hello(p->collect, 5);
	send_pycode(p, 1, "old", "", "old.py");
	send_pycode(p, 2, "old", "", "old.py");
	send_nvtx(p, 1, "", "old");
	collect_process_event(p->collect, &exec);
	p->process = say_hello(p->collect, 5);
	assert_ptr_not_equal(p->process, old);
	send_pycode(p, 2, "new", "", "new.py");
	send_launch(p, 1, frames, 3);
	/* data of the earlier one may still arrive */
	p->process = old;
	frames[2] = PYTHON(2, 0);
	send_launch(p, 2, frames, 3);
	expect_profile(p,
		       "nvtx:[unknown];new (new.py);[Python];cuLaunchKernel;[GPU_Kernel]k 1\n"
		       "old (old.py);old (old.py);old (old.py);cuLaunchKernel;[GPU_Kernel]k 1\n");
}

static void ranges_have_domains_and_names(void **state)
{
	struct gpu_event_frame frames[] = {NVTX(3), NVTX(2), NATIVE(0x1234), NVTX(1)};
	struct program *p = *state;

	send_nvtx(p, 1, "", "step 1");
	send_nvtx(p, 2, "train", "a\nb");
	send_launch(p, 1, frames, 4);
	expect_profile(p, "nvtx:step 1;[unknown];nvtx:train:a?b;nvtx:[unknown];"
			  "cuLaunchKernel;[GPU_Kernel]k 1\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_have_names_and_files), TEST(hostile_names_are_harmless),
		TEST(unsent_ids_are_unknown),         TEST(a_hello_forgets_functions),
		TEST(an_exec_forgets_functions),      TEST(ranges_have_domains_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
