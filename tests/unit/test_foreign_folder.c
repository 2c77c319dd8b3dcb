/* SPDX-License-Identifier: MIT */
/* Paths as they are in the debug information of real programs. */
#include "unit.h"
#include "profiler/shape/foreign_folder.h"

static void sources(void **state)
{
	static const struct {
		const char *path;
		bool is_foreign;
	} cases[] = {
		{"/home/me/proj/src/main.cpp", false},
		{"/home/me/proj/include/proj/x.h", false},
		{"/home/me/go/src/github.com/me/x.go", false},
		{"/home/me/cuda_solver/include/x.h", false},
		{"/workspace/app/x.cu", false},
		{"/usr/src/app/main.c", false},
		{"/opt/app/main.c", false},
		{"/dev/shm/x.c", false},
		{"/main.c", false},
		{"src/main.c", false},
		{"../src/main.c", false},
		{"", false},
		{"/usr/include/stdlib.h", true},
		{"/usr/local/include/fmt/core.h", true},
		{"/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h", true},
		{"/usr/lib/llvm-14/lib/clang/14.0.0/include/x.h", true},
		{"/opt/rh/gcc-toolset-12/root/usr/include/c++/12/vector", true},
		{"/usr/local/cuda/include/cuda_fp16.h", true},
		{"/usr/local/cuda-13.0/targets/x86_64-linux/include/cub/x.cuh", true},
		{"/sw/cuda/12.4/include/x.h", true},
		{"/opt/nvidia/hpc_sdk/x.h", true},
		{"/usr/src/debug/glibc-2.39/malloc.c", true},
		{"/rustc/90b35a623/library/std/src/rt.rs", true},
		{"/home/me/.cargo/registry/src/i/serde-1.0/src/de.rs", true},
		{"/home/me/go/pkg/mod/github.com/x/y@v1/z.go", true},
		{"/usr/local/go/src/runtime/proc.go", true},
		{"/home/me/miniconda3/envs/e/include/x.h", true},
		{"/home/me/proj/.venv/lib/python3.12/site-packages/torch/include/x.h", true},
		{"/tmp/tmpxft_00001a2b_00000000-6_x.cudafe1.stub.c", true},
		{"/nix/store/abc/include/x.h", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (source_is_foreign(cases[i].path) != cases[i].is_foreign)
			fail_msg("%s", cases[i].path);
}

static void folders(void **state)
{
	(void)state;
	assert_true(folder_is_foreign(".venv/x"));
	assert_true(folder_is_foreign("miniconda3/x"));
	assert_false(folder_is_foreign("condance/x"));
	assert_true(folder_is_system("lib64/x"));
	assert_false(folder_is_system("library/x"));
	assert_true(path_is_of_system("/usr/bin/."));
	assert_true(path_is_of_system("/usr/local/lib/."));
	assert_true(path_is_of_system("/proc/."));
	assert_false(path_is_of_system("/run/user/1000/."));
	assert_false(path_is_of_system("/usr/local/proj/."));
	assert_false(path_is_of_system("relative/."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources),
		cmocka_unit_test(folders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
