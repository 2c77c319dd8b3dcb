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

# bats test_tags=quick
@test "all calls are counted, once in each interface" {
	with_details
	run_profile -gpu-only --api -o out.json "$workloads/launches" 1000
	expect_status 0
	expect_line stderr "^$calls_table\$"
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
	expect_line stderr "^$(correlation 1000)\$"
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

@test "a function that tells an earlier error has not failed" {
	run_profile -gpu-only --api -o out.json "$workloads/memory_use" 1000
	expect_status 0
	[ "$(call failed cudaMalloc)" -gt 0 ]
	expect_equal calls "$(call calls cudaGetLastError)" "$(call failed cudaMalloc)"
	expect_equal failed "$(call failed cudaGetLastError)" 0
}

@test "where a part is shown, headings say which tables are of the whole run" {
	run_profile -gpu-only --api --launch-shapes -o out.profile "$workloads/launches" 300
	expect_status 0
	expect_line stderr "^$calls_table\$"
	run_profile --from out.profile --time 0..1ms -o out.html
	expect_status 0
	expect_line stderr '^CUDA calls \(whole run\):$'
	expect_line stderr "^$shapes_table"
	needs_command node
	node --input-type=module -e "
		import {readFileSync} from 'node:fs';
		import {unpackProfile} from '$root/profiler/web/html/data.js';
		const {figures} = await unpackProfile(readFileSync('out.html', 'utf8').match(/id=\"data\">([^<]*)</)[1]);
		console.log(figures.map(({title}) => title).join('; '));" >titles
	expect_line titles 'Launch shapes; CUDA calls \(whole run\)'
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
	expect_line stderr "$other_options"
}

@test "nothing of it is sent or shown unless asked for" {
	run_profile -gpu-only --save-input raw -o out.json "$workloads/launches" 100
	expect_status 0
	expect_no_line stderr "$calls_table"
	expect_equal lines "$(cat raw* | grep -c '"t":"api"')" 0
	expect_equal table "$(grep -c '"api_calls":' out.json)" 0
	run_profile -cpu-only --api true
	expect_status 125
	expect_line stderr "^profile: $(needs_gpu_time --api -cpu-only)\$"
}

@test "programs that fork" {
	run_profile -gpu-only --api -o out.json "$workloads/forks"
	expect_status 0
	[ "$(call calls cudaLaunchKernel)" -gt 0 ]
}

@test "errors are compared by call and error, and the gate counts them" {
	needs_command node
	local program limit

	cat >failing.py <<-'END'
		import ctypes, sys
		cuda = ctypes.CDLL("libcuda.so.1")
		device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
		assert cuda.cuInit(0) == 0
		assert cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
		assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
		assert cuda.cuCtxSetCurrent(context) == 0
		assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(100)) == 0
		for _ in range(int(sys.argv[1])):
		    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(0)) == 1
		for _ in range(int(sys.argv[2])):
		    assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 60)) == 2
		    assert cuda.cuMemFree_v2(ctypes.c_uint64(12345)) == 1
	END
	program=$(python3 -c 'import sys; print(sys.executable)')
	run_profile -q -gpu-only --api -o before.profile "$program" failing.py 1 0
	expect_status 0
	run_profile -q -gpu-only --api -o after.profile "$program" failing.py 3 2
	expect_status 0
	run_profile --diff before.profile after.profile -o out.json -o out.html
	expect_status 0
	expect_line stderr '^ +1 +7 +\+6 .* CUDA calls that failed$'
	expect_line stderr '^ +0 +2 +\+2 +0  new +cuMemAlloc_v2: CUDA_ERROR_OUT_OF'
	page_data out.html 'p.difference.tables.find(t => t.key === "cuda_errors").rows' >rows
	expect_line rows '"cuMemAlloc_v2: CUDA_ERROR_INVALID_VALUE","unit":2,"before":1,"after":3,"bound":0,"verdict":"more"'
	python3 - <<-'END'
		import json
		run = json.load(open("out.json"))
		assert {e["name"]: (e["before"], e["after"], e["significant"]) for e in run["cuda_errors"]} == {
		    "cuMemAlloc_v2: CUDA_ERROR_INVALID_VALUE": (1, 3, True),
		    "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY": (0, 2, True),
		    "cuMemFree_v2: CUDA_ERROR_INVALID_VALUE": (0, 2, True)}
		assert (run["totals"]["errors"]["before"], run["totals"]["errors"]["after"]) == (1, 7)
	END
	for limit in '0% errors 123' '5errors errors 123' '6errors errors 0' '1errors errors=OUT_OF_MEMORY 123' \
		'2errors errors=OUT_OF_MEMORY 0' '0% errors=cuLaunch 0' '1ms errors 125' '1KiB errors=. 125' \
		'1errors gpu 125'; do
		# shellcheck disable=SC2086
		set -- $limit
		echo "$limit"
		run_profile -q --from after.profile --baseline before.profile --fail-above "$1" --fail-on "$2"
		expect_status "$3"
	done
	expect_line stderr '^profile: --fail-on gpu: --fail-above 1errors is not a limit of time$'
	# before the command runs
	run_profile -q --baseline before.profile --fail-above 1ms --fail-on errors touch ran
	expect_status 125
	[ ! -e ran ]
	# a run that did not count them has none that are gone
	run_profile -q -gpu-only -o without.profile "$program" failing.py 1 0
	run_profile --diff after.profile without.profile -o out.json
	python3 -c 'import json; assert json.load(open("out.json"))["cuda_errors"] == []'
	run_profile -q --from after.profile --baseline without.profile --fail-above 0% --fail-on errors
	expect_status 125
	expect_line stderr '^profile: --fail-on errors: not all runs counted errors, from start to end: --api does$'
}

@test "an error counts once, where the runtime and the driver are both called" {
	local program

	cat >failing.py <<-'END'
		import ctypes
		cuda, runtime = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libcudart.so")
		memory = ctypes.c_uint64()
		for _ in range(3):
		    assert runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(1 << 60)) == 2
		assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(100)) == 0
	END
	program=$(python3 -c 'import sys; print(sys.executable)')
	run_profile -q -gpu-only --api -o out.profile -o out.json "$program" failing.py
	expect_status 0
	expect_equal calls "$(call calls cuMemAlloc_v2)" 4
	expect_equal within "$(call within_runtime cuMemAlloc_v2)" 3
	expect_equal failed "$(call failed cudaMalloc) $(call failed cuMemAlloc_v2)" '3 0'
	run_profile --diff out.profile out.profile -o out.json
	python3 -c 'import json; assert json.load(open("out.json"))["totals"]["errors"]["after"] == 3'
}

@test "asking for work that is not ready is no failure in a comparison" {
	local program

	cat >polling.py <<-'END'
		import ctypes, sys
		cuda = ctypes.CDLL("libcudart.so")
		memory, event, ms = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
		assert cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(100)) == 0
		assert cuda.cudaEventCreate(ctypes.byref(event)) == 0
		assert cuda.cudaMemsetAsync(memory, 0, ctypes.c_size_t(100), None) == 0
		assert cuda.cudaEventRecord(event, None) == 0
		for _ in range(int(sys.argv[1])):
		    cuda.cudaEventElapsedTime(ctypes.byref(ms), event, event)
	END
	program=$(python3 -c 'import sys; print(sys.executable)')
	for count in 1 100; do
		FAKE_CUDA_COPY_NS=2000000000 run_profile -gpu-only --api -o "$count.profile" "$program" polling.py "$count"
		expect_status 0
		expect_line stderr '^ +Errors: [0-9]+ cudaErrorNotReady$'
	done
	run_profile --from 100.profile --baseline 1.profile --fail-above 0% --fail-on errors
	expect_status 0
	run_profile --diff 1.profile 100.profile -o out.json
	python3 -c 'import json; assert json.load(open("out.json"))["cuda_errors"] == []'
}
