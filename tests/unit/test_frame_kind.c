/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "profiler/shape/frame_kind.h"

static enum frame_kind kind(enum frame_class class, const char *name, const char *module)
{
	const struct frame_info frame = {.class = class, .name = name, .module = module};

	return frame_kind_of(&frame);
}

static void classes_have_kinds(void **state)
{
	(void)state;
	assert_int_equal(kind(CLASS_PYTHON, "_start", NULL), KIND_PYTHON);
	assert_int_equal(kind(CLASS_JIT, "f", NULL), KIND_JIT);
	assert_int_equal(kind(CLASS_KERNEL_MODE, "do_syscall_64", NULL), KIND_KERNEL_MODE);
	assert_int_equal(kind(CLASS_API, "cudaLaunchKernel", NULL), KIND_API);
	assert_int_equal(kind(CLASS_NVTX, "nvtx:step", NULL), KIND_NVTX);
	assert_int_equal(kind(CLASS_OPERATOR, "op:aten::mm", NULL), KIND_OPERATOR);
	assert_int_equal(kind(CLASS_LAYER, "[layers.0]", NULL), KIND_LAYER);
	assert_int_equal(kind(CLASS_GPU_KERNEL, "[GPU_Kernel]k", NULL), KIND_GPU_KERNEL);
	assert_int_equal(kind(CLASS_GPU_WORK, "[GPU_Memset]", NULL), KIND_GPU_WORK);
	assert_int_equal(kind(CLASS_WAIT, "[waiting for GPU]", NULL), KIND_WAIT);
	assert_int_equal(kind(CLASS_CALL, "[CUDA call, wall time]", NULL), KIND_CALL);
	assert_int_equal(kind(CLASS_PLACE, "GPU 0", NULL), KIND_PLACE);
	assert_int_equal(kind(CLASS_MARK, "launched at", NULL), KIND_MARK);
}

static void native_code_is_divided(void **state)
{
	(void)state;
	assert_int_equal(kind(CLASS_NATIVE, "main", "/bin/app"), KIND_NATIVE);
	assert_int_equal(kind(CLASS_NATIVE, "_start", "/bin/app"), KIND_START);
	assert_int_equal(kind(CLASS_NATIVE, "clone3", "/lib/libc.so.6"), KIND_START);
	assert_int_equal(kind(CLASS_NATIVE, "__libc_start_main@@GLIBC_2.34", NULL), KIND_START);
	assert_int_equal(kind(CLASS_NATIVE, "start_thread.isra.0", NULL), KIND_START);
	assert_int_equal(kind(CLASS_NATIVE, "_started", NULL), KIND_NATIVE);
	assert_int_equal(kind(CLASS_NATIVE, "clone_graph", NULL), KIND_NATIVE);
	/* a static runtime is in the program's own file */
	assert_int_equal(kind(CLASS_NATIVE, "cudaLaunchKernel", "/bin/app"), KIND_API);
	assert_int_equal(kind(CLASS_NATIVE, "[libcuda.so.1]", "/lib/libcuda.so.1"), KIND_API);
	assert_int_equal(kind(CLASS_NATIVE, "f", "/lib/libcudart.so.12"), KIND_API);
	assert_int_equal(kind(CLASS_NATIVE, "f", "/lib/libcudawrapper.so"), KIND_NATIVE);
}

static void each_kind_has_its_words(void **state)
{
	(void)state;
	for (int i = 0; i < FRAME_KINDS; i++) {
		const char *word = frame_kind_word((enum frame_kind)i);

		assert_true(strlen(frame_kind_label((enum frame_kind)i)) > 0);
		for (const char *c = word; *c; c++)
			assert_true(*c >= 'a' && *c <= 'z');
		for (int j = 0; j < i; j++)
			assert_string_not_equal(word, frame_kind_word((enum frame_kind)j));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_have_kinds),
		cmocka_unit_test(native_code_is_divided),
		cmocka_unit_test(each_kind_has_its_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
