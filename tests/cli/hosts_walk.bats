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

@test "generated code with frame pointers: whole stacks" {
	run_profile --strict -gpu-only --unit ns -o out.folded "$hosts/data_in_rbp" 5000 2
	expect_launches 5000
	expect_line stacks '^Stacks: 100\.0 % '
	expect_line out.folded ';main;\[jit\];launch;cudaLaunchKernel;\[GPU_Kernel\]from_generated_code'
}

@test "stacks of the program's own making: whole up to where they begin, no memory is kept" {
	run_profile --strict -gpu-only --unit ns -o out.folded "$hosts/coroutines" 500 100
	expect_launches 1200
	expect_line out.folded ';coroutine;(nested;){21}launch_many;cudaLaunchKernel;\[GPU_Kernel\]from_coroutine'
	# "coroutines: X kB left by each thread, Y without coroutines"
	awk '/^coroutines: .* kB left/ { found = 1; more = $2 - $8 }
		END { exit !(found && more < 8) }' stderr
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

late_work()
{
	run_profile --strict -gpu-only --unit ns -o out.folded "$hosts/late_work" \
		"$hosts/late_work_plugin.so" "$@"
}

@test "work after the goodbye is recorded" {
	late_work
	expect_launches 130
	expect_equal 'kernels' "$(sed 's/.*\[GPU_Kernel\]\([a-z_]*\).* /\1 /' out.folded | sort)" "$(printf '%s\n' \
		'in_handler 10000' 'in_library 10000' 'in_main 100000' 'in_static_object 10000')"
	expect_line out.folded ';on_early_exit;cudaLaunchKernel;\[GPU_Kernel\]in_handler'
}

@test "work after the goodbye that does not end is told" {
	late_work unfinished
	expect_status 124
	expect_line stderr '^Samples: 130 launches, 130 GPU kernels \(0\.100 ms\)$'
	expect_line stderr '^  30 operations have no usable timestamps '
	expect_line work "$all_sums_match"
}

@test "work after the goodbye of a program that leaves by _exit is told" {
	late_work leaves
	expect_status 124
	expect_line stderr '^Samples: 110 launches, 100 GPU kernels \(0\.100 ms\)$'
	expect_line stderr '^  10 kernel launches have no record: '
	expect_line stderr '^profile: --strict: kernel launches without a record of their kernel: 10$'
}

# What main and its threads do at the end is a race; that they are traced must not be one.
@test "threads that launch until the process ends" {
	local kernels

	run_profile -gpu-only --unit ns -o out.folded "$hosts/busy_to_the_end"
	expect_status 0
	expect_line stdout '^done$'
	expect_line stderr '^Correlation: [1-9][0-9]* matched, 0 unmatched, '
	kernels=$(sed -n 's/^Samples: .* launches, \([0-9]*\) GPU kernels .*/\1/p' stderr)
	expect_equal 'ns' "$(weight_of out.folded)" $((100 * kernels))
	if ! grep -q 'without a goodbye' stderr; then expect_line work "$all_sums_match"; fi
}
