/* SPDX-License-Identifier: MIT */
/* Which Python functions compile code, or try variants of it. */
#include "unit.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/shape/compile_marks.h"

#define PACKAGES "/usr/lib/python3/dist-packages"

static void functions_of_pytorch_and_triton(void **state)
{
	static const struct {
		const char *function, *file, *mark;
	} cases[] = {
		{"Autotuner._bench", "/triton/runtime/autotuner.py", PSEUDO_AUTOTUNING},
		{"CachingAutotuner.bench", "/torch/_inductor/runtime/triton_heuristics.py",
		 PSEUDO_AUTOTUNING},
		{"compile", "/triton/compiler/compiler.py", PSEUDO_COMPILING},
		{"_compile", "/torch/_dynamo/convert_frame.py", PSEUDO_COMPILING},
		/* before Python 3.11 */
		{"_bench", "/triton/runtime/autotuner.py", PSEUDO_AUTOTUNING},
		{"benchmark_in_current_process", "/torch/_inductor/select_algorithm.py",
		 PSEUDO_AUTOTUNING},
	};
	char path[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *mark;

		snprintf(path, sizeof(path), PACKAGES "%s", cases[i].file);
		mark = compile_mark_of(cases[i].function, path);
		assert_non_null(mark);
		assert_string_equal(mark, cases[i].mark);
	}
}

static void others_have_none(void **state)
{
	(void)state;
	/* launches of the variant that was chosen */
	assert_null(compile_mark_of("Autotuner.run", PACKAGES "/triton/runtime/autotuner.py"));
	assert_null(compile_mark_of("CachingAutotuner.run",
				    PACKAGES "/torch/_inductor/runtime/triton_heuristics.py"));
	assert_null(compile_mark_of("Other._bench", PACKAGES "/triton/runtime/autotuner.py"));
	assert_null(compile_mark_of("compile", "/app/compiler.py"));
	assert_null(compile_mark_of("compile", "/app/triton/compiler.py"));
	assert_null(compile_mark_of("compile", "compiler.py"));
	assert_null(compile_mark_of("compile", NULL));
	assert_null(compile_mark_of("", PACKAGES "/triton/compiler/compiler.py"));
	assert_null(compile_mark_of("compile", PACKAGES "/triton/compiler/compiler.py/x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_pytorch_and_triton),
		cmocka_unit_test(others_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
