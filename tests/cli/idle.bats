#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --idle: why GPUs are idle.

load helpers

setup()
{
	enter_test_folder
	needs_root
	export FAKE_CUDA_DEVICES=2
}

# expect_idle FILE PROGRAM_OUTPUT: each loader's time, by its own clock (idle_gpu.cpp), is idle time of
# its device below it, within 3 points of all of it. Where samples decide, within four tenths: on a busy
# machine there are few, and some are taken between two loaders.
expect_idle()
{
	awk '
		NR == FNR { own[$1] = $3; device[$1] = $2; all += $3; next }
		index($0, "[GPU ") == 1 {
			for (f in own)
				if (index($0, "[GPU " device[f] " idle];") == 1 && index($0, ";" f ";"))
					idle[f] += $NF
				else if (index($0, "[GPU " device[f] " idle];") == 1 && index($0, ";" f " "))
					idle[f] += $NF
		}
		END {
			for (f in own) {
				share = f == "load_computes" || f == "load_shortly" ? 0.4 : 0.03
				functions++
				if (idle[f] < own[f] - share * all || idle[f] > own[f] + share * all)
					bad = bad f ": " idle[f] " of " own[f] "\n"
			}
			printf "%s", bad
			exit bad != "" || functions == 0
		}' "$2" "$1"
}

# idle_of FILE DEVICE: the sum of its idle time
idle_of()
{
	awk -v root="[GPU $2 idle];" 'index($0, root) == 1 { ns += $NF } END { printf "%.0f\n", ns }' "$1"
}

# expect_sums JSON FOLDED DEVICE...: each device is busy or idle all the time. (The stand-in's kernels
# follow each other to the nanosecond, and overlap by a few in another clock.)
expect_sums()
{
	local json=$1 folded=$2 device busy over

	shift 2
	for device; do
		busy=$(jq "[.gpu_work[] | select(.device == $device) | .ns] | add" "$json")
		over=$(($(idle_of "$folded" "$device") + busy - $(jq .elapsed_ns "$json")))
		if [ "$over" -lt 0 ] || [ "$over" -gt 1000000 ]; then
			echo "GPU $device: busy and idle times are $over ns more than the run"
			return 1
		fi
	done
}

@test "loaders that sleep, read and compute: the GPU waits for them as long as they take" {
	run_profile --idle -F 997 --unit ns -o out.folded "$workloads/idle_gpu" loaders
	expect_status 0
	expect_equal 'loaders' "$(wc -l <stdout)" 3
	expect_idle out.folded stdout
	expect_line out.folded '^\[GPU 0 idle\];.*;load_sleeps;.*;\[blocked: sleep\] '
	expect_line out.folded '^\[GPU 0 idle\];.*;load_reads;.*;\[blocked: read pipe\] '
	expect_line out.folded '^\[GPU 0 idle\];.*;run_step;cudaLaunchKernel;\[launched, not begun\] '
	expect_line out.folded '^\[GPU 0 idle\];\[before the first operation\];'
	expect_line out.folded '^\[GPU 0 idle\];\[after the last operation\]'
	expect_line stderr '^GPU idle: 1 GPU, [0-9.]+ m?s of [0-9.]+ m?s \([0-9.]+ %\)$'
	expect_line stderr '^ .* the launching thread was off the CPU$'
	# times off the CPU are measured, and not shown without --wall
	expect_no_line out.folded '^[^[].*;\[(blocked: .*|runnable)\] '
}

@test "a loader that sleeps very often: without a stack for each time" {
	run_profile --idle -F 997 --unit ns -o out.folded "$workloads/idle_gpu" short
	expect_status 0
	expect_idle out.folded stdout
}

# bats test_tags=quick
@test "two devices, each by itself" {
	run_profile --idle -F 997 --unit ns -o out.folded -o out.json "$workloads/idle_gpu" devices
	expect_status 0
	expect_idle out.folded stdout
	expect_line stderr '^GPU idle: 2 GPUs, '
	expect_sums out.json out.folded 0 1
}

@test "a GPU that always works is idle before and after, and little between" {
	run_profile --idle --unit ns -o out.folded -o out.json "$workloads/idle_gpu" busy
	expect_status 0
	expect_sums out.json out.folded 0
	expect_equal 'idle between kernels' \
		"$(awk '/^\[GPU 0 idle\]/ && !/;\[(before|after) the (first|last) operation\]/ { ns += $NF } END { print ns < 400000000 }' out.folded)" 1
}

@test "all formats, captures and differences" {
	run_profile --idle --wall --unit ns -o a.folded -o a.svg -o a.json -o a.pb.gz -o a.html -o a.profile \
		-o a.speedscope.json "$workloads/idle_gpu" loaders
	expect_status 0
	sum=$(idle_of a.folded 0)
	expect_equal 'json' "$(jq .totals.gpu_idle_ns a.json)" "$sum"
	expect_line a.svg 'data-total="GPU idle" data-ns="'"$sum"'"'
	expect_line a.folded '^[^[].*;\[blocked: sleep\] '
	run_profile --from a.profile --unit ns -o b.folded
	expect_status 0
	expect_equal 'from a capture' "$(sort b.folded)" "$(sort a.folded)"
	expect_line stderr '^GPU idle: 1 GPU, '
	run_profile --diff a.profile a.profile -o d.json
	expect_status 0
	expect_equal 'no difference' "$(jq '.totals.idle.before == .totals.idle.after and .totals.idle.before > 0' d.json)" true
}

@test "without GPU work" {
	run_profile --idle --unit ns -o out.folded true
	expect_status 0
	expect_line stderr '^GPU idle: nothing ran on a GPU$'
}

@test "what it cannot be used with, and the privilege that it needs" {
	run_profile --idle -gpu-only -o out.folded true
	expect_status 125
	expect_line stderr '^profile: --idle needs CPU samples: not with -gpu-only$'
	run_profile --idle -cpu-only -o out.folded true
	expect_status 125
	run_profile --idle -d 1 -o out.folded true
	expect_status 125
	expect_line stderr '^profile: --idle accounts for the whole run: not with --delay or -d$'
	needs_command setpriv
	chmod 777 .
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups "$profile" --idle \
		-o out.folded touch ran
	expect_status 125
	expect_line stderr "^profile: --idle: .*; $advice\$"
	expect_no_file ran
}
