# SPDX-License-Identifier: MIT
# --nvtx: NVTX ranges as frames of launch stacks.

load helpers

setup()
{
	enter_test_folder
	unset NVTX_INJECTION64_PATH
	workload=$workloads/nvtx_ranges
	script=$root/tests/workloads/python_nvtx.py
}

trace()
{
	run_profile -gpu-only --unit ns --nvtx -o out.folded "$@"
	expect_status 0
	expect_no_line stderr '^profile: '
	expect_folded out.folded
}

# The expected stacks of the workload's kernels.
expect_ranges()
{
	expect_line stdout '^0 1 1 0 -2$'
	expect out.folded <<-'END'
		<*>;main;launch_direct;nvtx:direct;cudaLaunchKernel;[GPU_Kernel]direct(unsigned long long) 1000
		<*>;main;launch_plain;cudaLaunchKernel;[GPU_Kernel]plain(unsigned long long) 2000
		<*>;main;nvtx:before CUDA;cudaLaunchKernel;[GPU_Kernel]before(unsigned long long) 1000
		<*>;main;outer;nvtx:outer;between;inner;nvtx:inner;cudaLaunchKernel;[GPU_Kernel]nested(unsigned long long) 1000
		<*>;main;start_and_end;cudaLaunchKernel;[GPU_Kernel]ended(unsigned long long) 1000
		<*>;main;start_and_end;nvtx:started;cudaLaunchKernel;[GPU_Kernel]started(unsigned long long) 1000
		<*>;main;with_color;nvtx:color: 1;cudaLaunchKernel;[GPU_Kernel]colored(unsigned long long) 1000
		<*>;main;with_color;nvtx:größe Ж;cudaLaunchKernel;[GPU_Kernel]wide(unsigned long long) 1000
		<*>;main;with_guard;nvtx:train:forward;deep_guarded;deep_guarded;deep_guarded;cudaLaunchKernel;[GPU_Kernel]guarded(unsigned long long) 1000
		<*>;in_thread;nvtx:one;cudaLaunchKernel;[GPU_Kernel]threaded(unsigned long long) 1000
		<*>;in_thread;nvtx:two;cudaLaunchKernel;[GPU_Kernel]threaded(unsigned long long) 1000
	END
}

@test "ranges of all kinds, inside the functions that opened them" {
	trace "$workload"
	expect_ranges
}

@test "NVTX 2, which uses another entry point" {
	FAKE_NVTX_VERSION=2 trace "$workload"
	expect_ranges
}

@test "no ranges without --nvtx" {
	run_profile -gpu-only --unit ns -o out.folded "$workload"
	expect_status 0
	expect_line stdout '^-2 -2 -2 -2 -2$'
	expect_no_line out.folded 'nvtx:'
	expect_equal ns "$(weight_of out.folded)" 12000
}

@test "the user's own NVTX tool is kept" {
	NVTX_INJECTION64_PATH=/nowhere/tool.so run_profile -gpu-only --unit ns --nvtx \
		-o out.folded "$workload"
	expect_status 0
	expect_line stderr '^profile: NVTX_INJECTION64_PATH is set to /nowhere/tool.so and stays: no NVTX ranges in this profile$'
	expect_no_line out.folded 'nvtx:'
	expect_equal ns "$(weight_of out.folded)" 12000
}

@test "CPU samples have no ranges, and are unaffected" {
	needs_root
	run_profile --nvtx --unit ns -o out.folded "$workload"
	expect_status 0
	expect_equal 'GPU ns' "$(weight_of out.folded 'GPU_Kernel')" 12000
	expect_line out.folded ';nvtx:train:forward;'
}

@test "--nvtx needs stacks from the process" {
	run_profile -cpu-only --nvtx true
	expect_status 125
	expect_line stderr '^profile: --nvtx needs launch stacks taken in the process'
}

# "KERNEL: FRAME > FRAME", Python frames and ranges only, names without their scope.
python_frames()
{
	awk -F ';' '{
		frames = ""
		for (i = 1; i < NF; i++) {
			if ($i ~ / \(python_nvtx.py\)$/) {
				sub(/ \(.*/, "", $i); sub(/.*\./, "", $i)
			} else if ($i !~ /^nvtx:/) continue
			if ($i == "<module>" || $i == "descend") continue
			frames = frames (frames == "" ? "" : " > ") $i
		}
		sub(/.*\[GPU_Kernel\]/, "", $NF); sub(/ [0-9]*$/, "", $NF)
		print $NF ": " frames
	}' "$1" | LC_ALL=C sort
}

@test "ranges that Python functions open, their helpers and context managers" {
	local python found=

	while read -r python; do
		found=1
		echo "$python"
		trace "$python" "$script"
		python_frames out.folded >frames
		expect frames <<-'END'
			closed: main > nvtx:before CUDA > case_closed > launch
			direct: main > nvtx:before CUDA > case_direct > nvtx:direct > launch
			nested: main > nvtx:before CUDA > case_nested > nvtx:step > nvtx:forward > layer > nvtx:layer > launch
			recursion: main > nvtx:before CUDA > case_recursion > nvtx:top > launch
			sorted: main > nvtx:before CUDA > case_sorted > nvtx:sort > key > nvtx:key > launch
			thread: work > nvtx:worker > launch
		END
		expect_line out.folded ';case_recursion \([^;]*;nvtx:top;descend \('
	done < <(find_pythons)
	[ -n "$found" ] || skip 'no Python from 3.8 to 3.13 is installed'
}

@test "the same with line numbers and the interpreter's own frames" {
	local python

	python=$(find_pythons | head -n 1)
	[ -n "$python" ] || skip 'no Python from 3.8 to 3.13 is installed'
	trace --native-python --python-lines "$python" "$script"
	expect_line out.folded ';layer \(python_nvtx.py:[0-9]+\);nvtx:layer;(.*;)?launch \(python_nvtx.py:[0-9]+\);'
	expect_line out.folded ';main \(python_nvtx.py:[0-9]+\);nvtx:before CUDA;'
	expect_equal ns "$(weight_of out.folded)" 6000
}
