# SPDX-License-Identifier: MIT
# Awkward programs: where and on what they launch.

load hosts

@test "a first launch while the loader's lock is held: nothing waits for it" {
	profile_host "$hosts/constructor" "$hosts/constructor_plugin.so"
	expect_launches 10
	expect_line out.folded ';launch;cudaLaunchKernel;\[GPU_Kernel\]from_constructor'
	expect_line stacks "^$(stacks_of '100\.0') "
}

@test "generated code with data in rbp: one stack, which ends at that code" {
	profile_host "$hosts/data_in_rbp" 5000
	expect_launches 5000
	expect_line stacks ' 1 stack is cut '
	expect_line out.folded '^\[truncated\];\[jit\];launch;cudaLaunchKernel;\[GPU_Kernel\]from_generated_code'
}

@test "generated code with data in rbp that looks like a frame in code: the same" {
	profile_host "$hosts/data_in_rbp" 5000 3
	expect_launches 5000
	expect_line stacks ' 1 stack is cut '
	expect_line out.folded '^\[truncated\];\[jit\];launch;cudaLaunchKernel;\[GPU_Kernel\]from_generated_code'
}

@test "generated code with frame pointers: whole stacks" {
	profile_host "$hosts/data_in_rbp" 5000 2
	expect_launches 5000
	expect_line stacks "^$(stacks_of '100\.0') "
	expect_line out.folded ';main;\[jit\];launch;cudaLaunchKernel;\[GPU_Kernel\]from_generated_code'
}

@test "stacks of the program's own making: whole up to where they begin, no memory is kept" {
	needs_command python3
	profile_host "${in_small_pages[@]}" "$hosts/coroutines" 500 100
	expect_launches 1200
	expect_line stacks "^$(stacks_of '100\.0') "
	expect_line out.folded '^coroutine;(nested;){21}launch_many;cudaLaunchKernel;\[GPU_Kernel\]from_coroutine'
	# "coroutines: X kB left by each thread, Y without coroutines"
	awk '/^coroutines: .* kB left/ { found = 1; more = $2 - $8 }
		END { exit !(found && more < 8) }' stderr
}

@test "a coroutine's stack within the thread's own, below a page that cannot be read" {
	host guarded_stack 1144
	expect_line stacks "^$(stacks_of '100\.0') "
	expect_equal 'ns in coroutines' "$(weight_of out.folded '^launch_in_coroutine')" 120000
	expect_equal 'ns elsewhere' "$(weight_of out.folded ';launch_below;launch_in_coroutine')" 1024000
}

@test "likewise, with words of earlier calls between the page and the coroutine's stack" {
	host stale_words 6186
	expect_line stacks "^$(stacks_of '100\.0') "
	expect_equal 'ns in coroutines' "$(weight_of out.folded '^launch_in_coroutine')" 180000
	expect_equal 'ns elsewhere' "$(weight_of out.folded ';launch_below;launch_in_coroutine')" 6006000
}

@test "likewise, where only the saved frame pointer tells which stack it is" {
	host variable_frames 630
	expect_line stacks "^$(stacks_of '100\.0') "
	expect_equal 'ns in coroutines' "$(weight_of out.folded '^launch_there')" 30000
	expect_equal 'ns elsewhere' "$(weight_of out.folded ';descend;launch_there')" 600000
}

@test "modules of device code: the profiler is asked only where it sets probes" {
	profile_host --save-input run "$hosts/modules" "$hosts/modules_plugin.so" 20
	expect_launches 20
	expect_no_line run.pipe '"t":"maps"'
	profile_host -launch-stacks uprobe --save-input run "$hosts/modules" "$hosts/modules_plugin.so" 20
	expect_launches 20
	expect_equal 'questions' "$(grep -c '"t":"maps"' run.pipe)" 20
}

# 190 of them: were each waited for, that would take 5 s each
@test "modules that are loaded while the profiler is stopped: the program waits once" {
	profile_host -launch-stacks uprobe "$hosts/modules" "$hosts/modules_plugin.so" 200 stopped
	expect_launches 200
	expect_equal 'waits' "$(grep -c 'no answer from the profiler within 5000 ms' stderr)" 1
	expect_line stacks "^$(stacks_of '100\.0') "
}

@test "a library with kernels is unloaded, and another takes its place" {
	profile_host "$hosts/unloaded" "$hosts/unloaded_first_plugin.so" \
		"$hosts/unloaded_second_plugin.so" 20
	expect_launches 200
	expect_line stderr '^unloaded: same place$'
	expect_equal 'kernels' "$(sed 's/.*;launch_all;//' out.folded | sort)" "$(printf '%s\n' \
		'first_function;cudaLaunchKernel;[GPU_Kernel]first_kernel(unsigned long long) 10000000' \
		'other_function;cudaLaunchKernel;[GPU_Kernel]other_kernel(unsigned long long) 10000000')"
}

@test "libraries without kernels take each other's place: each launch below its own" {
	profile_host "$hosts/swapped" "$hosts/swapped_first_plugin.so" "$hosts/swapped_second_plugin.so"
	expect_launches 200
	expect_line stacks "^$(stacks_of '100\.0') "
	for caller in first other; do
		expect_equal "$caller" \
			"$(weight_of out.folded ";use;call_back;${caller}_caller;launch;cudaLaunchKernel;")" 100000
	done
}

@test "signal handlers on alternate stacks" {
	profile_host "$hosts/altstack"
	expect_launches 6600
	expect_line stacks "^$(stacks_of '100\.0') "
	expect_line out.folded ';main;use_stacks;use_stack;(raise_at_depth;){5}.*;on_signal;launch_in_handler;cudaLaunchKernel;\[GPU_Kernel\]from_handler'
	expect_line out.folded ';main;use_stacks;use_stack;cudaLaunchKernel;\[GPU_Kernel\]from_outside'
}

@test "coroutines that go from thread to thread, on stacks that go" {
	profile_host "$hosts/fibers"
	expect_launches 6000
	expect_line stacks "^$(stacks_of '100\.0') "
	expect_line out.folded '^fiber_main;(launch_at_depth;){8}cudaLaunchKernel;\[GPU_Kernel\]from_fiber'
}

@test "calls on another stack" {
	profile_host "$hosts/foreign_stack"
	expect_launches 5000
	expect_line out.folded ';launch;cudaLaunchKernel;\[GPU_Kernel\]on_foreign_stack.* 4000000$'
	expect_line out.folded ';main;launch;cudaLaunchKernel;\[GPU_Kernel\]on_foreign_stack.* 1000000$'
}

@test "Go that calls C that calls Go that calls C" {
	if [ ! -e "$hosts/cgo" ]; then skip 'Go is not installed, or cannot build with C'; fi
	LD_LIBRARY_PATH=$hosts:$LD_LIBRARY_PATH profile_host "$hosts/cgo"
	expect_launches 6000
	expect_line out.folded ';launch_from_go;cudaLaunchKernel;\[GPU_Kernel\]from_go'
	expect_line out.folded ';launch_below_go;cudaLaunchKernel;\[GPU_Kernel\]from_go'
}

late_work()
{
	profile_host "$hosts/late_work" "$hosts/late_work_plugin.so" "$@"
}

@test "work after the goodbye is recorded" {
	late_work
	expect_launches 130
	expect_equal 'kernels' "$(sed 's/.*\[GPU_Kernel\]\([a-z_]*\).* /\1 /' out.folded | sort)" "$(printf '%s\n' \
		'in_handler 10000' 'in_library 10000' 'in_main 100000' 'in_static_object 10000')"
	expect_line out.folded ';on_early_exit;cudaLaunchKernel;\[GPU_Kernel\]in_handler'
}

@test "the summary mentions work after the goodbye that does not end" {
	late_work unfinished
	expect_status 124
	expect_line stderr "^Samples: $(launched 130 130) \(0\.100 ms\)\$"
	expect_line stderr '^  30 operations have no usable timestamps '
	expect_line work "$all_sums_match"
}

@test "the summary mentions work after the goodbye of a program that leaves by _exit" {
	late_work leaves
	expect_status 124
	expect_line stderr "^Samples: $(launched 110 100) \(0\.100 ms\)\$"
	expect_line stderr '^  10 kernel launches have no record: '
	expect_line stderr "^$(strict_says 'kernel launches without a record of their kernel' 10)\$"
}

# What main and its threads do at the end is a race; that they are traced must not be one.
@test "threads that launch until the process ends" {
	local kernels

	run_profile -gpu-only --unit ns -o out.folded "$hosts/busy_to_the_end"
	expect_status 0
	expect_line stdout '^done$'
	expect_line stderr "^$(correlation '[1-9][0-9]*' 0 '[0-9]+')\$"
	kernels=$(sed -n "s/^Samples: $(launched '.*' '\([0-9]*\)') .*/\1/p" stderr)
	expect_equal 'ns' "$(weight_of out.folded)" $((100 * kernels))
	if ! grep -q 'traced process ended ' stderr; then expect_line work "$all_sums_match"; fi
}

@test "stacks whose pages another thread brings" {
	local status=0

	"$hosts/paged" 1 || status=$?
	if [ "$status" = 77 ]; then skip 'the kernel refuses userfaultfd'; fi
	host paged 630
	expect_line stacks "^$(stacks_of '100\.0') "
}

# With --api the runtime's own calls are followed.
@test "launches through the runtime, followed in the driver alone: the same stacks" {
	profile_host "$hosts/many_ways" "$hosts/many_ways_plugin.so" graphs
	expect_launches_of_ways
	sort out.folded >driver.stacks
	profile_host --api "$hosts/many_ways" "$hosts/many_ways_plugin.so" graphs
	expect_launches_of_ways
	sort out.folded >runtime.stacks
	diff runtime.stacks driver.stacks
}

# It says how many it launched. Besides there are 40 that make nodes, two graphs of 20, and two launches
# that the runtime refuses, which the driver does not see.
expect_launches_of_ways()
{
	local launched

	launched=$(sed -n 's/^launches //p' stdout)
	expect_status 0
	[ "$launched" -gt 0 ]
	expect_line stderr "^Samples: $(launched "($((launched + 42))|$((launched + 44)))" $((launched + 40))) "
	expect_line stderr "^$(correlation "$((launched + 40))")$"
}
