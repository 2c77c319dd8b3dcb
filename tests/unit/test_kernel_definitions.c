/* SPDX-License-Identifier: MIT */
/* Checks where kernels are defined, looked up in files of the stacks that launched them. */
#include "naming_bench.h"
#include "own_folder.h"
#include "profiler/join/attribution.h"
#include "profiler/model/kernel_definitions.h"

#define JIT "/nowhere/triton/runtime/jit.py"
#define KERNEL(name) "@triton.jit\ndef " name "():\n    pass\n"

/* Returns the path of a file in the folder, which the bench's strings keep. */
static const char *in_folder(struct naming_bench *b, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return intern_string(&b->strings, path);
}

static struct stack_id push_file(struct naming_bench *b, struct stack_id outer, const char *file)
{
	struct frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.kind = FRAME_PYTHON;
	frame.text = "f";
	frame.file = file;
	return stack_table_push(b->stacks, outer, &frame);
}

/* Adds a kernel that functions of these files launched, the outermost first. */
static void launch(struct naming_bench *b, const char *kernel, uint64_t ns,
		   const char *const *files)
{
	struct gpu_work_origin origin;
	struct stack_id stack = STACK_EMPTY;

	for (; *files; files++)
		stack = push_file(b, stack, *files);
	memset(&origin, 0, sizeof(origin));
	origin.launch = launched_at(bench_call(b, stack, "cuLaunchKernel"));
	origin.capture = CAPTURE_NONE;
	origin.work = GPU_WORK_KERNEL;
	origin.name = kernel;
	profile_add(b->profile, ROW_GPU, gpu_stack_work(&b->gpu_stacks, &origin), PLACE_NOWHERE, ns,
		    0);
}

#define LAUNCH(b, kernel, ns, ...) launch(b, kernel, ns, (const char *const[]){__VA_ARGS__, NULL})

/* Returns the rows as "kernel ns file:line operators unknown|", with names of files alone. */
static const char *found(struct naming_bench *b)
{
	static char text[4096];
	const struct table_kind *kind = &kernel_definitions_table;
	const struct result_table *table;
	struct result *r;
	size_t used = 0;

	b->options.definitions = true;
	b->totals.measure.traces_gpu = true;
	r = bench_result(b);
	table = result_tables_find(r->tables, kind);
	assert_non_null(table);
	text[0] = '\0';
	for (uint32_t i = 0; i < table->count; i++) {
		const struct kernel_definition *d = result_table_row(table, kind, i);
		const char *slash = strrchr(d->file, '/');

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %u %s:%u %s %s|",
					 strchr(d->kernel, ']') + 1, (unsigned int)d->ns,
					 slash ? slash + 1 : d->file, d->line, d->operators,
					 d->unknown);
	}
	result_free(r);
	return text;
}

static void the_innermost_file_decides(void **state)
{
	struct naming_bench *b = *state;

	shell("chmod 755 .");
	write_text("outer.py", KERNEL("k"));
	write_text("inner.py", "\n" KERNEL("k") KERNEL("other"));
	LAUNCH(b, "k", 5, in_folder(b, "outer.py"), in_folder(b, "inner.py"), JIT);
	LAUNCH(b, "k", 7, in_folder(b, "outer.py"), JIT);
	LAUNCH(b, "k", 1, in_folder(b, "inner.py"), JIT);
	/* the longest time comes first; equal definitions are one */
	assert_string_equal(found(b), "k 7 outer.py:2  |k 6 inner.py:3  |");
}

static void only_what_triton_launches(void **state)
{
	struct naming_bench *b = *state;

	write_text("own.py", KERNEL("k"));
	LAUNCH(b, "k", 5, in_folder(b, "own.py"));
	LAUNCH(b, "k", 5, in_folder(b, "own.py"), "/x/triton.py");
	assert_string_equal(found(b), "");
}

/* A file of Triton's that is there: JIT is not. */
static const char *there(struct naming_bench *b)
{
	shell("mkdir -p triton/runtime && chmod 755 triton triton/runtime");
	write_text("triton/runtime/jit.py", "");
	return in_folder(b, "triton/runtime/jit.py");
}

static void reasons_are_told(void **state)
{
	struct naming_bench *b = *state;
	const char *jit = there(b);

	write_text("twice.py", KERNEL("triton_") KERNEL("triton_"));
	write_text("bytes.py", "\xff\xfe" KERNEL("a"));
	write_text("text.txt", KERNEL("b"));
	write_text("empty.py", "");
	LAUNCH(b, "triton_", 9, in_folder(b, "twice.py"), jit);
	LAUNCH(b, "a", 8, in_folder(b, "bytes.py"), jit);
	LAUNCH(b, "b", 7, in_folder(b, "text.txt"), jit);
	LAUNCH(b, "c", 6, in_folder(b, "gone.py"), jit);
	LAUNCH(b, "d", 5, in_folder(b, "empty.py"), "<string>", jit);
	LAUNCH(b, "", 4, in_folder(b, "empty.py"), jit);
	LAUNCH(b, "e", 3, "no_folder.py", jit);
	assert_string_equal(found(b), "triton_ 9 :0  its file defines several of this name|"
				      "a 8 :0  a file of its stack is not text|"
				      "b 7 :0  a file of its stack is not read|"
				      "c 6 :0  a file of its stack is gone, or may not be read|"
				      "d 5 :0  no file of the stack that launched it has it|"
				      "e 3 :0  a file of its stack is gone, or may not be read|");
}

static void generated_modules_tell_more(void **state)
{
	struct naming_bench *b = *state;

	write_text("c1.py",
		   "# Source Nodes: [x], Original ATen: [aten.add, aten.mul]\n"
		   "k = async_compile.triton('k', '''\n" KERNEL(
			   "k") "''')\n"
				"# Original path: /app/own.py:77\n"
				"u = async_compile.triton('u', '''\n" KERNEL("u") "''')\n");
	LAUNCH(b, "k", 2, in_folder(b, "c1.py"), JIT);
	LAUNCH(b, "u", 1, in_folder(b, "c1.py"), JIT);
	assert_string_equal(found(b), "k 2 c1.py:4 aten.add, aten.mul |u 1 own.py:77  |");
}

static void nothing_is_read_unasked(void **state)
{
	struct naming_bench *b = *state;
	const struct result_table *table;
	struct result *r;

	write_text("own.py", KERNEL("k"));
	LAUNCH(b, "k", 5, in_folder(b, "own.py"), JIT);
	b->totals.measure.traces_gpu = true;
	r = bench_result(b);
	table = result_tables_find(r->tables, &kernel_definitions_table);
	assert_true(table && table->count == 0);
	result_free(r);
}

/* Files far out are not looked at: 16 of a stack are. */
static void files_of_a_stack_are_limited(void **state)
{
	struct naming_bench *b = *state;
	const char *jit = there(b), *files[20];
	char name[32];

	for (int i = 0; i < 18; i++) {
		snprintf(name, sizeof(name), "f%d.py", i);
		write_text(name, i == 0 ? KERNEL("far") : i == 3 ? KERNEL("near") : "");
		files[i] = in_folder(b, name);
	}
	files[18] = jit;
	files[19] = NULL;
	launch(b, "far", 2, files);
	launch(b, "near", 1, files);
	assert_string_equal(found(b), "far 2 :0  no file of the stack that launched it has it|"
				      "near 1 f3.py:2  |");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BENCH_TEST(the_innermost_file_decides), BENCH_TEST(only_what_triton_launches),
		BENCH_TEST(reasons_are_told),           BENCH_TEST(generated_modules_tell_more),
		BENCH_TEST(nothing_is_read_unasked),    BENCH_TEST(files_of_a_stack_are_limited),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
