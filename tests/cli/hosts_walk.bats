# SPDX-License-Identifier: MIT
# Awkward programs: where and on what they launch.

load helpers

hosts=$root/build/tests/hosts

setup()
{
	enter_test_folder
	needs_root
}

# expect_launches N: the program said so, all have their kernels, and nothing was lost.
expect_launches()
{
	expect_status 0
	expect_line stdout "^launches $1\$"
	expect_line stderr "^Samples: $1 launches, $1 GPU kernels "
	expect_line stderr "^Correlation: $1 matched, 0 unmatched, 0 dropped\$"
	expect_line work "$all_sums_match"
}

@test "a first launch while the loader's lock is held: nothing waits for it" {
	run_profile --strict -gpu-only --unit ns -o out.folded "$hosts/constructor" \
		"$hosts/constructor_plugin.so"
	expect_launches 10
	expect_line out.folded ';launch;cudaLaunchKernel;\[GPU_Kernel\]from_constructor'
	expect_line stacks '^Stacks: 100\.0 % '
}

@test "generated code with data in rbp: one stack, which ends at that code" {
	run_profile --strict -gpu-only --unit ns -o out.folded "$hosts/data_in_rbp" 5000
	expect_launches 5000
	expect_line stacks ' 1 stack is cut '
	expect_line out.folded '^\[truncated\];\[jit\];launch;cudaLaunchKernel;\[GPU_Kernel\]from_generated_code'
}

@test "stacks of the program's own making: whole up to where they begin, no memory is kept" {
	run_profile --strict -gpu-only --unit ns -o out.folded "$hosts/coroutines" 500 100
	expect_launches 750
	expect_line out.folded ';coroutine;(nested;){21}launch_many;cudaLaunchKernel;\[GPU_Kernel\]from_coroutine'
	left=$(sed -n 's/^coroutines: \([0-9]*\)\..* kB left by each thread$/\1/p' stderr)
	[ "$left" -lt 8 ]
}

@test "modules of device code: the profiler is asked only where it sets probes" {
	run_profile --strict -gpu-only --record run --unit ns -o out.folded "$hosts/modules" \
		"$hosts/modules_plugin.so" 20
	expect_launches 20
	expect_no_line run.pipe '"t":"maps"'
	run_profile --strict -gpu-only -launch-stacks uprobe --record run --unit ns -o out.folded \
		"$hosts/modules" "$hosts/modules_plugin.so" 20
	expect_launches 20
	expect_equal 'questions' "$(grep -c '"t":"maps"' run.pipe)" 20
}
