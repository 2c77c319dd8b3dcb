// SPDX-License-Identifier: MIT
#include "profiler/shape/compile_marks.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "profiler/model/pseudo_frames.h"
#include "symbolize/util/text.h"

static const struct {
	const char *file, *function, *mark;
} marks[] = {
	/* @triton.autotune: a variant, timed */
	{"/triton/runtime/autotuner.py", "Autotuner._bench", PSEUDO_AUTOTUNING},
	/* TorchInductor: launch parameters of one kernel; the file's folder changed */
	{"/triton_heuristics.py", "CachingAutotuner.autotune_to_one_config", PSEUDO_AUTOTUNING},
	{"/triton_heuristics.py", "CachingAutotuner.benchmark_all_configs", PSEUDO_AUTOTUNING},
	{"/triton_heuristics.py", "CachingAutotuner.coordinate_descent_tuning", PSEUDO_AUTOTUNING},
	{"/triton_heuristics.py", "CachingAutotuner.bench", PSEUDO_AUTOTUNING},
	/* TorchInductor: one kernel or several, one implementation or another */
	{"/torch/_inductor/codegen/multi_kernel.py", "MultiKernelCall.benchmark_sub_kernels",
	 PSEUDO_AUTOTUNING},
	{"/torch/_inductor/select_algorithm.py", "AlgorithmSelectorCache.do_autotuning",
	 PSEUDO_AUTOTUNING},
	{"/torch/_inductor/select_algorithm.py", "AlgorithmSelectorCache.benchmark",
	 PSEUDO_AUTOTUNING},
	{"/torch/_inductor/select_algorithm.py", "AlgorithmSelectorCache.benchmark_choices",
	 PSEUDO_AUTOTUNING},
	{"/torch/_inductor/select_algorithm.py",
	 "AlgorithmSelectorCache.benchmark_in_current_process", PSEUDO_AUTOTUNING},
	{"/torch/_inductor/select_algorithm.py",
	 "AlgorithmSelectorCache.make_benchmark_fn.<locals>.benchmark_in_current_process",
	 PSEUDO_AUTOTUNING},
	{"/torch/_inductor/autotune_process.py", "TuningProcess.workloop", PSEUDO_AUTOTUNING},
	{"/torch/_inductor/autotune_process.py", "benchmark_in_sub_process", PSEUDO_AUTOTUNING},
	/* torch.compile: a function of the program; later, its backward pass */
	{"/torch/_dynamo/convert_frame.py", "_compile", PSEUDO_COMPILING},
	{"/torch/_inductor/compile_fx.py", "compile_fx", PSEUDO_COMPILING},
	{"/torch/_inductor/compile_fx.py", "compile_fx_inner", PSEUDO_COMPILING},
	/* kernels, also in processes that do nothing else */
	{"/torch/_inductor/async_compile.py", "AsyncCompile.triton", PSEUDO_COMPILING},
	{"/torch/_inductor/async_compile.py", "AsyncCompile.wait", PSEUDO_COMPILING},
	{"/torch/_inductor/runtime/compile_tasks.py", "_worker_compile_triton", PSEUDO_COMPILING},
	{"/triton_heuristics.py", "CachingAutotuner.precompile", PSEUDO_COMPILING},
	{"/triton/compiler/compiler.py", "compile", PSEUDO_COMPILING},
};

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

const char *compile_mark_of(const char *function, const char *file)
{
	/* most files are of others */
	if (!file || (!strstr(file, "/torch/_") && !strstr(file, "/triton/")))
		return NULL;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *name = marks[i].function;

		if (ends_with(file, marks[i].file) &&
		    strcmp(function, strchr(function, '.') ? name : last_part(name)) == 0)
			return marks[i].mark;
	}
	return NULL;
}
