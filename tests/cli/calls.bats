# SPDX-License-Identifier: MIT
# Where CUPTI cannot be used, CUDA calls are timed instead; a message names other clients of CUPTI.

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_root
	call=';\[CUDA call, wall time\] ' # then the kernel, if it is known
	launch=';\[CUDA call, wall time\]'
}

# expect_call_totals FILE: the totals on stderr agree with the file.
expect_call_totals()
{
	local file=$1 all calls ms

	all=$(weight_of "$file")
	calls=$(weight_of "$file" '\[CUDA call, wall time\][^;]*$')
	ms=$(printf '%d.%03d' $((calls / 1000000)) $((calls / 1000 % 1000)))
	expect_line stderr "^Wrote $(wc -l <"$file") stacks \($all ns: $((all - calls)) CPU, 0 GPU, $calls in CUDA calls\) to "
	# rounded, not cut
	awk -v said="$(sed -n 's/^CUDA calls: .*, \(.*\) ms of wall time$/\1/p' stderr)" -v is="$ms" \
		'BEGIN { exit !(said - is < 0.0011 && is - said < 0.0011) }'
}

# no_longer_than_the_workload_saw: the calls of work() lie within the wall time around them.
no_longer_than_the_workload_saw()
{
	local wall calls

	wall=$(sed -n 's/.* wall_ns //p' stdout)
	calls=$(weight_of out.folded ';work;.*CUDA call')
	if [ "$calls" -gt "$wall" ] || [ "$calls" -eq 0 ]; then
		echo "calls take $calls ns, all of it $wall ns"
		show
		return 1
	fi
}

# bats test_tags=quick
@test "an earlier client of CUPTI: its name is reported, and calls are timed" {
	run_profile -gpu-only --unit ns -o out.folded "$workloads/cupti_client" before 200
	expect_status 0
	expect_line stdout '^subscribe 0 -1 calls 201 '
	expect_line stderr "^profile: process [0-9]+: $(another_profiler '\(CUPTI for the client\)'): $timed_instead\. Turn it off \(.*\) for GPU time\$"
	expect_line stderr "^$(calls_timed 201 '1 process'), [0-9]+\.[0-9]{3} ms of wall time\$"
	expect_line out.folded "^_start;.*;main;work;cudaLaunchKernel${launch}client_kernel [0-9]+$"
	expect_line out.folded "^_start;.*;main;work;cudaDeviceSynchronize$call"
	expect_equal stacks "$(wc -l <out.folded)" 2
	expect_folded out.folded
	expect_call_totals out.folded
	no_longer_than_the_workload_saw
}

@test "merged: CPU samples outside timed calls, none inside" {
	FAKE_CUDA_SUBSCRIBE_ERROR=39 run_profile -F 997 --unit ns -o out.folded "$workloads/inference" 20
	expect_status 0
	expect_line stderr "^$(calls_timed 1500 '1 process'), "
	expect_line out.folded ";main;server::InferencePipeline::run;cudaStreamSynchronize$call"
	expect_line out.folded ";server::Attention::forward;server::Attention::softmax_rows;cudaLaunchKernel${launch}model::softmax<float> [0-9]+$"
	expect_line out.folded ';main;server::InferencePipeline::run;server::Tokenizer::tokenize [0-9]+$'
	expect_no_line out.folded ';cudaStreamSynchronize;cuStreamSynchronize'
	expect_no_line out.folded ';cudaLaunchKernel;.*\[libcuda\.so'
	expect_folded out.folded
	expect_call_totals out.folded
}

@test "a static runtime, and the driver's functions alone" {
	FAKE_CUDA_SUBSCRIBE_ERROR=39 run_profile -gpu-only --unit ns -o out.folded "$workloads/launches_static" 100
	expect_status 0
	expect_line stderr "^$(calls_timed 101 '1 process'), "
	expect_line out.folded ";main;.*;launch_kernel;cudaLaunchKernel${launch}"
	expect_call_totals out.folded
	FAKE_CUDA_SUBSCRIBE_ERROR=39 run_profile -gpu-only --unit ns -o out.folded "$workloads/driver_api"
	expect_status 0
	expect_line out.folded ";main;.*cuLaunchKernel$call"
	expect_no_line out.folded 'cu[A-Z][A-Za-z]*;.*cu[A-Z]'
	expect_call_totals out.folded
}

@test "many threads, by thread" {
	FAKE_CUDA_SUBSCRIBE_ERROR=39 run_profile -gpu-only --unit ns --by process,thread -o out.folded \
		"$workloads/launches" 300 8
	expect_status 0
	expect_line stderr "^$(calls_timed '[0-9]+' '1 process'), "
	expect_equal threads "$(sed 's/;_start.*//; s/;clone3.*//' out.folded | sort -u | grep -c '^launches [0-9]*;')" 8
	expect_call_totals out.folded
}

@test "Python functions make the calls" {
	needs_python
	cat >calls.py <<-END
		import runpy
		def train():
		    runpy.run_path("$BATS_TEST_DIRNAME/../workloads/python_launches.py", run_name="__main__")
		train()
	END
	FAKE_CUDA_SUBSCRIBE_ERROR=39 run_profile -gpu-only --unit ns -o out.folded "$python" calls.py
	expect_line out.folded ";train \(calls\.py\);.*;main \(python_launches\.py\);case_plain \(python_launches\.py\);case_plain\.<locals>\.inner \(python_launches\.py\);launch \(python_launches\.py\);.*;cuLaunchKernel$call"
	expect_call_totals out.folded
}

@test "killed within a call: it counts until then" {
	FAKE_CUDA_KILL_AFTER=600 FAKE_CUDA_SUBSCRIBE_ERROR=39 \
		run_profile -gpu-only --unit ns -o out.folded "$workloads/inference" 200
	expect_status $((128 + 9))
	expect_line stderr '^  1 of them had not returned when their process or the run ended; '
	expect_call_totals out.folded
}

@test "another tool's library replaces ours" {
	run_profile -F 997 --unit ns -o out.folded \
		env CUDA_INJECTION64_PATH=/opt/nsight/libToolsInjection64.so "$workloads/inference" 20
	expect_status 0
	expect_line stderr "^profile: 1 $used_untraced: another tool's injection library in CUDA_INJECTION64_PATH\. "
	expect_line out.folded ";main;server::InferencePipeline::run;cudaStreamSynchronize$call"
	expect_call_totals out.folded
}

@test "a replaced environment" {
	run_profile -F 997 --unit ns -o out.folded \
		env -i "LD_LIBRARY_PATH=$LD_LIBRARY_PATH" "$workloads/inference" 20
	expect_status 0
	expect_line stderr "^profile: 1 $used_untraced: no CUDA_INJECTION64_PATH in the environment\. "
	expect_line out.folded ";main;server::InferencePipeline::run;cudaStreamSynchronize$call"
	expect_call_totals out.folded
}

@test "a program that overwrites its environment is still traced" {
	run_profile -F 997 --strict --unit ns -o out.folded "$workloads/cupti_client" title 2000
	expect_status 0
	expect_no_line stderr '^profile: '
	expect_no_line stderr '^CUDA calls: '
	expect_equal 'GPU ns' "$(weight_of out.folded '\[GPU_Kernel\]')" 40000000
}

@test "a program that claims to be another process sets no probes there" {
	cat >claim <<-'END'
		hello="{\"t\":\"hello\",\"version\":2,\"pid\":$1,\"id\":\"0123456789abcdef\",\"exe\":\"/x\",\"cupti\":\"\",\"cupti_version\":0,\"clock_offset\":\"0\",\"clock_error\":0,\"libs\":\"\",\"ack\":1,\"off\":1}"
		printf '\n{"t":"batch","pid":%d,"id":"0123456789abcdef","seq":0}\n%s\n' "$1" "$hello" >"$PROFILE_PIPE"
	END
	run_profile -v -gpu-only -o out.folded bash claim $$
	expect_status 0
	expect_line stderr "^profile: process $$ \(/x\) sent a hello, but is not a descendant of the command$"
	expect_line stderr "^profile: 1 line in the pipe came from a process that is not the command's and was ignored"
	expect_no_line stderr 'CUDA functions newly probed'
}

@test "one of two processes has CUPTI: one is traced, the other timed" {
	cat >both <<-END
		FAKE_CUDA_SUBSCRIBE_ERROR=39 "$workloads/launches" 50
		"$workloads/launches" 70
	END
	run_profile -gpu-only --unit ns -o out.folded bash both
	expect_status 0
	expect_line stderr "^$(correlation 70)\$"
	expect_line stderr "^$(calls_timed 51 '1 process'), "
	expect_equal 'GPU ns' "$(weight_of out.folded '\[GPU_Kernel\]')" 70000
}

@test "a program executed by one without CUPTI is traced" {
	cat >script <<-END
		import os, subprocess, sys, ctypes
		os.environ["FAKE_CUDA_SUBSCRIBE_ERROR"] = "39"
		cuda = ctypes.CDLL("libcuda.so.1")
		libc = ctypes.CDLL(None)
		libc.setenv(b"FAKE_CUDA_SUBSCRIBE_ERROR", b"39", 1)
		cuda.cuInit(0)
		del os.environ["FAKE_CUDA_SUBSCRIBE_ERROR"]
		os.execv("$workloads/launches", ["launches", "30"])
	END
	needs_python
	run_profile -gpu-only --unit ns -o out.folded "$python" script
	expect_status 0
	expect_line stderr ": $(another_profiler '\(.*\)'): "
	expect_line stderr "^$(correlation 30)\$"
	expect_equal 'GPU ns' "$(weight_of out.folded '\[GPU_Kernel\]')" 30000
	expect_no_line out.folded 'CUDA call'
}

@test "descriptors opened for a process are closed when it ends" {
	cat >many <<-'END'
		for ((i = 0; i < 30; i++)); do "$1" 5 >/dev/null; done
	END
	ulimit -n $((70 + 4 * $(getconf _NPROCESSORS_CONF)))
	FAKE_CUDA_SUBSCRIBE_ERROR=39 run_profile -gpu-only --unit ns -o out.folded \
		bash many "$workloads/launches"
	expect_status 0
	expect_line stderr "^$(calls_timed 180 '30 processes'), "
	expect_equal warnings "$(grep -c '^profile: ' stderr)" 1
	expect_call_totals out.folded
}

@test "--strict: no GPU time is not exact" {
	FAKE_CUDA_SUBSCRIBE_ERROR=39 run_profile --strict -gpu-only -o out.folded "$workloads/launches" 100
	expect_status 124
	expect_line stderr "^$(strict_says 'processes without GPU time' 1)\$"
}

@test "a client of CUPTI that comes second is reported, once" {
	run_profile -gpu-only --strict --unit ns -o out.folded "$workloads/cupti_client" twice 100
	expect_status 0
	expect_line stdout '^subscribe 39 39 calls 101 '
	expect_line stderr '^profile: process [0-9]+: CUPTI refused cupti_client, because it serves one profiler per process\. This profile is complete; the other one has GPU events only without '
	expect_equal notices "$(grep -c 'CUPTI refused' stderr)" 1
	expect_line stderr "^$(correlation 100)\$"
	expect_equal 'GPU ns' "$(weight_of out.folded)" 2000000
}

@test "without root: the message names the missing privilege" {
	needs_command setpriv
	cp "$profile" "$workloads/launches" .
	mkdir -m 777 open
	chmod 755 .
	FAKE_CUDA_SUBSCRIBE_ERROR=39 run_command setpriv --reuid=65534 --regid=65534 --clear-groups \
		./profile --strict -gpu-only -o open/out.folded ./launches 10
	expect_status 124
	expect_line stderr "^$(strict_says 'processes without GPU time' 1)\$"
	expect_line stderr "^profile: process [0-9]+: $(another_profiler '\(.*\)'): no GPU time \(with sudo, the wall time of its CUDA calls would be shown instead\)\. "
	expect_no_line stderr 'CUDA calls: '
}
