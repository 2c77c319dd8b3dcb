# SPDX-License-Identifier: MIT
# Work that a thread has handed to another one and waits for, as PyTorch's backward pass does, with
# every installed interpreter.

load helpers

setup()
{
	enter_test_folder
	with_details
	mapfile -t pythons < <(find_pythons)
	if [ ${#pythons[@]} = 0 ]; then skip 'no Python from 3.8 to 3.15 is installed'; fi
	script=$workloads/../../../tests/workloads/python_backward.py
	export AUTOGRAD_ENGINE=$workloads/libautograd_engine.so
}

# trace PYTHON CASE...; options of the profiler in $options, a library for the program in $preload.
trace()
{
	# shellcheck disable=SC2086
	run_profile --unit ns ${options--gpu-only} -o out.folded ${preload:+env LD_PRELOAD="$preload"} "$1" "$script" "${@:2}"
	expect_status 0
}

# "KERNEL: FRAME > FRAME ns": functions in Python files below main, ranges, and whose work it is.
handed_frames()
{
	awk -F ';' '{
		frames = ""
		for (i = 1; i < NF; i++) {
			if ($i ~ /^main \(/) frames = ""
			else if ($i ~ / \([^()]*\)$|^\[handed to |^nvtx:/)
				frames = frames (frames == "" ? "" : " > ") $i
		}
		sub(/.*\[GPU_Kernel\]/, "", $NF); split($NF, end, " ")
		gsub(/ \(python_backward.py\)/, "", frames)
		gsub(/backward \([a-z]*\/__init__.py\) > _engine_run_backward \(graph.py\)/, "B", frames)
		gsub(/[A-Za-z_.]*<locals>\./, "", frames)
		print end[1] ": " frames " " end[2]
	}' out.folded | LC_ALL=C sort
}

# bats test_tags=quick
@test "a worker's launches are below the thread that waits for them" {
	local python

	for python in "${pythons[@]}"; do
		echo "$python"
		trace "$python" forward single other devices fork
		expect_no_line stderr '^profile: '
		diff - <(handed_frames) <<-'END'
			after: case_forward > B > [handed to pt_autograd_0] 1000
			again: case_fork > B > [handed to pt_autograd_0] 1000
			first: case_devices > B > [handed to pt_autograd_0] 2000
			forward: case_forward > launch 1000
			other: case_other > B > [handed to pt_autograd_0] 1000
			second: case_devices > B > [handed to pt_autograd_1] 1000
			single: case_single > B > [handed to pt_autograd_0] 2000
		END
		# both begin where the thread does, and go on with the worker's own frames
		expect_no_line out.folded '^[^;]*\.py\)|truncated|^[^;]*thread_init'
		expect_line out.folded \
			'^[^;]*;[^;]*;.*;main .*;\[handed to pt_autograd_0\];(.*;)?torch::autograd::Engine::thread_main;.*cuLaunchKernel;\[GPU_Kernel\]single'
		expect_line stderr '^Handed over: 8 launches and 0 CPU samples of other threads are under the thread that waited for them$'
		expect_no_line stderr 'could not be attributed'
	done
}

# Where the program may be ended for it, no other thread's memory is read; nor by a call that a filter
# of before could refuse and that reading does not need.
@test "system calls for which the program is ended" {
	local python

	for python in "${pythons[@]}"; do
		echo "$python"
		trace "$python" forward single shut_in
		expect_equal 'GPU ns' "$(weight_of out.folded)" 6000
		diff - <(handed_frames | grep -v 'after\|forward') <<-'END'
			alone:  1000
			late: case_shut_in > inside > launch 1000
			single: case_single > B > [handed to pt_autograd_0] 2000
		END
		REFUSED=311 trace "$python" forward single
		diff - <(handed_frames | grep -v 'after\|forward') <<-'END'
			single: case_single > B > [handed to pt_autograd_0] 2000
		END
	done
}

@test "a pass within a pass, and Python on the worker" {
	local python

	for python in "${pythons[@]}"; do
		echo "$python"
		trace "$python" forward checkpoint across own_python
		expect_no_line stderr '^profile: |could not be attributed'
		diff - <(handed_frames | grep -v forward) <<-'END'
			inner: case_across > B > [handed to pt_autograd_1] 1000
			inner: case_checkpoint > B > [handed to pt_autograd_0] > call (graph.py) > recompute > B 1000
			outer: case_across > B > [handed to pt_autograd_0] 1000
			outer: case_checkpoint > B > [handed to pt_autograd_0] 2000
			own_python: case_own_python > B > [handed to pt_autograd_0] > call (graph.py) > function > launch 1000
			recomputed: case_checkpoint > B > [handed to pt_autograd_0] > call (graph.py) > recompute > launch 1000
		END
	done
}

# Nothing of a thread that has launched nothing itself is known but its Python frames.
@test "a thread that is not the main one" {
	local python

	for python in "${pythons[@]}"; do
		trace "$python" forward thread
		expect_line out.folded \
			'^\[truncated\];.*Thread.run|run \(threading.py\);.*work .*;\[handed to pt_autograd_0\];.*\]thread 1000$'
	done
}

@test "where two threads wait it stands apart, and is counted" {
	local python

	for python in "${pythons[@]}"; do
		trace "$python" forward both
		expect_no_line out.folded 'handed.*\](left|right) '
		expect_line out.folded 'torch::autograd::Engine::thread_main;.*\]left 1000$'
		expect_line stderr '^  2 launches and 0 CPU samples could not be attributed to a waiting thread: none waited, or several did$'
		expect_equal 'GPU ns' "$(weight_of out.folded)" 4000
	done
}

@test "where two threads wait, each for the device that it uses" {
	local python

	for python in "${pythons[@]}"; do
		FAKE_CUDA_DEVICES=2 trace "$python" forward devices_at_once
		expect_line out.folded 'work .*;\[handed to pt_autograd_0\];.*\]left 1000$'
		expect_line out.folded 'work .*;\[handed to pt_autograd_1\];.*\]right 1000$'
		expect_no_line out.folded 'pt_autograd_0\];.*\]right |pt_autograd_1\];.*\]left '
		expect_no_line stderr 'could not be attributed'
	done
}

@test "a thread that waits is cancelled: what follows is for nobody" {
	local python

	for python in "${pythons[@]}"; do
		# the kernel's id of a thread is in its Python state from then on
		if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then continue; fi
		trace "$python" gone
		expect_line out.folded '\[handed to pt_autograd_0\];.*\]thread 1000$'
		expect_line out.folded 'torch::autograd::Engine::thread_main;.*\]alone 2000$'
		expect_no_line out.folded 'handed.*\]alone '
	done
}

@test "callers in turn, threads that come and go, code at the same addresses: never the wrong one" {
	local python case cases still=$workloads/libstill_clocks.so

	for python in "${pythons[@]}"; do
		cases=(turns short_threads reused)
		# clocks that stand still are the same in all versions
		if [ "$python" = "${pythons[0]}" ]; then cases+=("${cases[@]/%/ $still}"); fi
		for case in "${cases[@]}"; do
			echo "$python $case"
			read -r case preload <<<"$case"
			COUNT=100 preload=$preload trace "$python" forward "$case"
			expect_line out.folded '_engine_run_backward \([^;]*\);\[handed to pt_autograd_0\]'
			expect_no_line out.folded 'from_left .*\]right |from_right .*\]left '
			for i in 0 1 2 3; do
				expect_no_line out.folded "made_[^$i] .*\\]reused_$i "
			done
		done
		expect_equal 'GPU ns' "$(weight_of out.folded)" 402000
	done
}

@test "NVTX ranges that are open in the thread that waits" {
	local python

	for python in "${pythons[@]}"; do
		options='-gpu-only --nvtx' trace "$python" forward nvtx
		diff - <(handed_frames | grep nvtx) <<-'END'
			nested_range: case_nvtx > nvtx:step > nvtx:second > B > [handed to pt_autograd_0] 1000
			nvtx: case_nvtx > nvtx:step > B > [handed to pt_autograd_0] 1000
		END
	done
}

@test "CPU samples of a worker are below the thread that waits for it" {
	local python

	needs_root
	for python in "${pythons[@]}"; do
		options='-F 997' trace "$python" forward burn
		# a second in all; a few samples behind the last launch cannot be told
		awk '/case_burn .*;\[handed to pt_autograd_0\];.*evaluate_function/ && !/GPU_Kernel/ { ns += $NF }
			/^[^;]*;start_thread;.*evaluate_function/ { apart += $NF }
			END { print ns, apart + 0; exit !(ns >= 700000000 && apart <= 100000000) }' out.folded
	done
}
