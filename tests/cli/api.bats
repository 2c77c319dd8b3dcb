#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --api: every call of CUDA's runtime and driver.

load helpers

setup()
{
	enter_test_folder
	needs_command python3
}

# call FIELD FUNCTION: of the summary
call()
{
	python3 -c '
import json, sys
for call in json.load(open("out.json"))["api_calls"]:
    if sys.argv[2] == call["function"]:
        print(call[sys.argv[1]])' "$1" "$2"
}

@test "all calls are counted, once in each interface" {
	run_profile -gpu-only --api -o out.json "$workloads/launches" 1000
	expect_status 0
	expect_line stderr '^CUDA calls:$'
	expect_line stderr '^ +1000 .* cudaLaunchKernel$'
	expect_equal calls "$(call calls cudaLaunchKernel)" 1000
	expect_equal returned "$(call not_returned cudaLaunchKernel)" 0
	expect_equal 'of the driver' "$(call within_runtime cuLaunchKernel)" 1000
	expect_equal failed "$(call failed cudaLaunchKernel)" 0
	python3 - <<-'END'
		import json
		for c in json.load(open("out.json"))["api_calls"]:
		    assert c["shortest_ns"] <= c["mean_ns"] <= c["longest_ns"] <= c["ns"], c
		    assert c["median_ns"] <= c["p99_ns"] <= c["longest_ns"], c
		    assert c["within_runtime"] == 0 or c["interface"] == "driver", c
	END
	expect_line stderr '^Correlation: 1000 matched, 0 unmatched, 0 dropped$'
}

@test "threads, and functions that no other option follows" {
	run_profile -gpu-only --api -o out.json "$workloads/launches" 3000 30
	expect_status 0
	expect_equal calls "$(call calls cudaLaunchKernel)" 3000
	[ "$(call calls cudaStreamCreateWithFlags)$(call calls cudaStreamCreate)" -gt 0 ]
}

@test "bytes, errors and directions" {
	run_profile -gpu-only --api -o out.json -o out.profile "$workloads/gpu_work"
	expect_status 0
	expect_equal bytes "$(call bytes 'cudaMemcpyAsync, device to host')" \
		$(($(call calls 'cudaMemcpyAsync, device to host') * 65536))
	mv out.json first.json
	run_profile -q --from out.profile -o out.json
	expect_status 0
	python3 -c 'import json
assert json.load(open("first.json"))["api_calls"] == json.load(open("out.json"))["api_calls"]'
}

@test "runs are compared, and the gate counts all calls" {
	for run in before after; do
		run_profile -q -gpu-only --api -o $run.profile "$workloads/launches" 300
		expect_status 0
	done
	run_profile --diff before.profile after.profile -o out.json
	expect_status 0
	python3 - <<-'END'
		import json
		calls = {c["name"]: c for c in json.load(open("out.json"))["cuda_calls"]}
		assert calls["cudaLaunchKernel"]["count_after"] == 300
		# the runtime's own are not the program's
		assert "cuLaunchKernel" not in calls
		assert "cudaStreamDestroy" in calls or "cudaStreamCreate" in calls, calls.keys()
	END
	run_profile -q --from after.profile --baseline before.profile --fail-above 100000% --fail-on api \
		--fail-on 'call=cudaLaunchKernel'
	expect_status 0
	run_profile -q -gpu-only -o without.profile "$workloads/launches" 300
	run_profile --diff before.profile without.profile
	expect_line stderr 'was measured with other options'
}

@test "nothing of it is sent or shown unless asked for" {
	run_profile -gpu-only --record raw -o out.json "$workloads/launches" 100
	expect_status 0
	expect_no_line stderr 'CUDA calls:'
	expect_equal lines "$(cat raw* | grep -c '"t":"api"')" 0
	expect_equal table "$(grep -c '"api_calls":' out.json)" 0
	run_profile -cpu-only --api true
	expect_status 125
	expect_line stderr '^profile: --api needs GPU time: not with -cpu-only$'
}

@test "programs that fork" {
	run_profile -gpu-only --api -o out.json "$workloads/forks"
	expect_status 0
	[ "$(call calls cudaLaunchKernel)" -gt 0 ]
}
