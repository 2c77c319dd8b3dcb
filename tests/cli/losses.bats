# SPDX-License-Identifier: MIT
# Losses are counted and reported; the rest is right.

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_root
}

# bats test_tags=quick
@test "records that CUPTI drops" {
	FAKE_CUDA_DROP_EVERY=10 run_profile -gpu-only --unit ns -o out.folded \
		"$workloads/launches" 1000 2 2
	expect_status 0
	expect stderr <<-END
		Samples: $(launched 1000 900) (0.900 ms)
		$(correlation 900 0 100)
		  100 operations were dropped before reaching the profiler: their GPU time is not in the profile
		Wrote 2 stacks (900000 ns: 0 CPU, 900000 GPU) to out.folded
	END
}

@test "records without times" {
	FAKE_CUDA_ZERO_TIMESTAMP_EVERY=7 run_profile -gpu-only --unit ns -o out.folded \
		"$workloads/launches" 1000 2 2
	expect_status 0
	expect stderr <<-END
		Samples: $(launched 1000 1000) (0.858 ms)
		$(correlation 1000)
		  142 operations have no usable timestamps and count as 0 ns
		  CUPTI of CUDA 13.0 is known to do that after some 25 million records of graph nodes; --graph whole makes fewer
		Wrote 2 stacks (858000 ns: 0 CPU, 858000 GPU) to out.folded
	END
	expect_line work "^$(gpu_row 0 kernels) +1000 +0\.858 ms +142 without times\$"
}

# ends_early STATUS: a run with 6000 launches over seconds whose command dies of a signal.
ends_early()
{
	local kernels

	expect_status "$1"
	expect_line stderr "^$(cpu_samples '[0-9]+'), $(launched '[1-9][0-9]*' '[1-9][0-9]*') "
	expect_line stderr "^profile: $(killed_told '1 traced process')"
	expect_folded out.folded
	expect_totals out.folded
	kernels=$(sed -n 's/^Samples: .*, \([0-9]*\) GPU kernels .*/\1/p' stderr)
	[ "$kernels" -le 6000 ]
	expect_line out.folded ';main;server::InferencePipeline::run;'
	expect_line out.folded ';cudaLaunchKernel;\[GPU_Kernel\]model::gemm<float, 128, 256>'
}

@test "a command that is killed in the middle" {
	FAKE_CUDA_KILL_AFTER=6000 run_profile --unit ns -o out.folded "$workloads/inference" 200
	ends_early $((128 + 9))
}

# bats test_tags=quick
@test "a command that crashes in the middle" {
	FAKE_CUDA_CRASH_AFTER=6000 run_profile --unit ns -o out.folded "$workloads/inference" 200
	ends_early $((128 + 11))
}

# stop_profiler LAUNCHES COMMAND...: stops the profiler, while the command launches, until COMMAND has run.
stop_profiler()
{
	start_profile --strict -gpu-only --unit ns -o out.folded "$workloads/launches" "$1"
	wait_until command_is_traced
	# it has had its answer: only launches take so long
	wait_until used_cpu_seconds "$child" 1
	worker=$(worker_of "$pid")
	kill -STOP "$worker"
	"${@:2}"
	kill -CONT "$worker"
	finish_profile
}

# It could not launch that much if it waited, nor if it kept everything.
launches_on()
{
	sleep 6
	wait_until used_cpu_seconds "$child" 3
}

@test "a stopped profiler: records that the command drops are counted exactly" {
	stop_profiler 5000000 launches_on
	expect_status 124
	expect_line stderr '^profile: profile itself read nothing for [0-9.]+ s \(stopped, or no free CPU\): '
	expect_line stderr '^profile: writes of traced processes lost: [0-9]+$'
	expect_equal launches 5000000 \
		"$(sed -n "s/^$(correlation '\([0-9]*\)' '\([0-9]*\)' '\([0-9]*\)')\$/\1 \2 \3/p" stderr |
			awk '$3 > 0 { print $1 + $2 + $3 }')"
}

@test "a briefly stopped profiler: the command waits, nothing is lost" {
	stop_profiler 3000000 sleep 2
	expect_status 0
	expect_line stderr "^$(correlation 3000000)\$"
	expect_no_line stderr 'read nothing'
}

@test "threads that call exit at the same time: the goodbye still arrives" {
	for threads in 2 5 32; do
		run_profile --strict -gpu-only --unit ns -o out.folded "$workloads/exit_race" "$threads" 200
		expect_status 3
		expect_line stdout "^launches $((200 * threads))\$"
		expect_line stderr "^$(correlation "$((200 * threads))")\$"
		expect_equal 'GPU ns' "$(weight_of out.folded)" $((200000 * threads))
	done
}

# without_gpu_time PATTERN: the run reports this in one such line, and times calls instead.
without_gpu_time()
{
	expect_status 0
	expect stdout <<<'requests 20 kernels 1480 gpu_ns 530800000 cpu_ns 240000000'
	expect_line stderr "$1"
	expect_line stderr "^$(cpu_samples '[0-9]+'), $(launched 0 0) "
	expect_equal 'lines on stderr, but those of calls' "$(grep -vc '^CUDA calls: \|^  .* CPU samples\? fell' stderr)" 4
	expect_line stderr "^$(calls_timed 1500 '1 process'), "
	expect_line out.folded ';main;server::InferencePipeline::run;cudaStreamSynchronize;\[CUDA call, wall time\] '
	expect_no_line out.folded '\[GPU_Kernel\]'
	expect_folded out.folded
}

@test "another profiler already uses CUPTI" {
	FAKE_CUDA_SUBSCRIBE_ERROR=39 run_profile -F 997 -o out.folded "$workloads/inference" 20
	without_gpu_time "^profile: process [0-9]+: $(another_profiler '\(.*/libcupti\.so\.13\)'): $timed_instead\. Turn it off \(.*\) for GPU time\$"
}

@test "CUPTI does not work" {
	FAKE_CUDA_SUBSCRIBE_ERROR=999 run_profile -F 997 -o out.folded "$workloads/inference" 20
	without_gpu_time '^profile: process [0-9]+: CUPTI failed: no GPU time; .*\. cuptiSubscribe: 999 \(.*\)$'
}

@test "no libcupti: the message says where it looked and what to do" {
	needs_command unshare
	unshare -m true 2>/dev/null || skip 'mount namespaces cannot be made here'
	mkdir cuda
	cp -P "$fake_cuda"/libcuda.so* "$fake_cuda"/libcudart.so* cuda
	echo 'no library, but there' >cuda/libcupti.so.13
	# an installed toolkit is out of sight there
	run_command unshare -m sh -ec '
		for d in /usr/local /opt; do [ ! -d $d ] || mount -t tmpfs none $d; done
		work=$1; shift
		export LD_LIBRARY_PATH=$work/cuda CUDA_HOME=/no/such/toolkit
		exec "$@"' sh "$PWD" "$profile" -v -F 997 -o out.folded "$workloads/inference" 20
	if grep -q "CUPTI does not work\|$uses_cuda; CUPTI" stderr; then
		skip 'a libcupti of this system is in its library folders'
	fi
	without_gpu_time "^profile: process [0-9]+ $uses_cuda, but no libcupti was found: no GPU time; .*\. Install CUPTI \(.*\) or set CUDA_HOME\. Looked in: .*/cuda, [^ ]*/cuda/libcupti\.so\.13: [^,]*, .*/no/such/toolkit/.*/usr/local/cuda/"
}

@test "no device" {
	FAKE_CUDA_DEVICES=0 run_profile -o out.folded "$workloads/launches" 10
	expect_status 2
	expect_line stderr 'CUDA error 100: '
	expect_line stderr "^$(cpu_samples '[0-9]+')\$"
	expect_line stderr "^$no_cuda"
}

@test "a process that loads the driver alone, beside one that is traced" {
	needs_command python3
	as_tester "$profile" -v -gpu-only --strict --unit ns -o theirs/out.folded sh -ec '"$0" 10
		python3 -c "import ctypes; ctypes.CDLL(\"libcuda.so.1\")"' "$workloads/launches"
	expect_line stderr "^$(correlation 10)\$"
	expect_no_line stderr '^profile: '
	expect_status 0
}

@test "-cpu-only says nothing of processes that are not traced" {
	run_profile -cpu-only --strict -o out.folded env \
		CUDA_INJECTION64_PATH="$root/build/libprofile_cupti.so" "$workloads/launches" 10
	expect_status 0
	expect_no_line stderr 'CUDA|tracing'
}

@test "a command that removes the private folder" {
	run_profile -o out.folded sh -c 'rm -rf "${PROFILE_PIPE%/*}"; exec "$0" 10' \
		"$workloads/launches"
	expect_status 0
	expect_line stdout '^launches 10 kernels 10 '
	expect_line stderr "^$wrote "
}

@test "a command that puts other files into the private folder" {
	echo precious >precious
	needs_command python3
	run_profile -o out.folded sh -c 'folder=${PROFILE_PIPE%/*}
		python3 -c "import os, sys
for i in range(3000): os.symlink(sys.argv[1], \"%s/ack.%d\" % (sys.argv[2], i))" "$0" "$folder"
		ln -s "$0" "$folder/link"; mkdir "$folder/deep"; ln -s "$0" "$folder/deep/link"
		echo "$folder" >where; exec "$1" 10' "$PWD/precious" "$workloads/launches"
	expect_status 0
	expect_line stderr "^$wrote "
	expect precious <<<precious
	rm -rf "$(cat where)"
}

@test "a command that dies while it waits for the profiler's answer" {
	run_profile -o out.folded timeout -s KILL 0.02 "$workloads/inference" 100
	expect_status $((128 + 9))
	expect_line stderr "^$wrote "
}

@test "a process whose memory never arrives: reported, and the rest is profiled" {
	needs_root
	mount_stuck_file read
	# few samples: its name must not be read before it is stuck; and three seconds of CPU time, for some
	run_profile -cpu-only -F 2 --by process -o out.folded sh -c '
		"$workloads/stuck_memory" mount/file 60000 >ready & echo $! >pid
		while ! [ -s ready ]; do sleep 0.1; done
		until [ "$(cut -d " " -f 14 "/proc/$!/stat")" -ge $((3 * $(getconf CLK_TCK))) ]; do sleep 0.1; done'
	kill -KILL "$(cat pid)"
	expect_status 0
	expect_line stderr '^profile: 1 file or process could not be read in time \(a network or user file system, or a busy machine[?]\): some names are missing$'
	expect_line out.folded '^stuck_memory [0-9]*;.*;main [0-9]*$'
	kill -TERM "$fuse"
	wait "$fuse" || true
}

# on_small_disk SIZE COMMAND...: what it writes into the folder "small" is afterwards in "kept".
on_small_disk()
{
	needs_mount_namespace
	mkdir small kept
	run_command unshare -m sh -c 'mount -t tmpfs -o size=$1 tmpfs small && shift
		status=0; "$@" || status=$?; cp small/* kept; exit $status' sh "$@"
}

@test "a disk with room for the outputs, but not for the whole timeline as well" {
	on_small_disk 460k "$profile" -v --unit ns -o small/x.html -o small/x.folded -o small/x.json \
		-o small/x.profile "$workloads/graphs"
	expect_status 0
	expect_line stderr "^$(not_in_timeline '[0-9]+' 'No space left on device')\$"
	expect_line stderr '^Wrote .* small/x\.html$'
	[ -s kept/x.html ]
	[ -s kept/x.json ]
	"$profile" -q --from kept/x.profile --unit ns -o again.folded
	cmp kept/x.folded again.folded
}

@test "the timeline of a report leaves room for an output that needs none" {
	"$profile" -q -gpu-only -o all.profile "$workloads/launches" 20000
	# half of the disk has room for all launches or all kernels, whichever come first, not for both
	on_small_disk 3m "$profile" --from all.profile --top -o small/x.json
	expect_status 0
	expect_line stderr 'GPU busy at least '
	[ -s kept/x.json ]
}

@test "a timeline makes room for the output that is beside it" {
	"$profile" -q -gpu-only -o all.profile "$workloads/launches" 20000
	on_small_disk 600k "$profile" --from all.profile -o small/x.trace.json -o small/x.folded
	expect_status 0
	expect_line stderr '^profile: [0-9]+ events were left out of the timeline to make room for the outputs$'
	[ -s kept/x.folded ]
	grep -q '"timeline_records_lost": *"\?[1-9]' kept/x.trace.json
}

@test "timelines that were compared make room for the difference" {
	"$profile" -q -gpu-only -o a.profile "$workloads/launches" 20000
	on_small_disk 460k "$profile" --diff a.profile a.profile -o small/d.html -o small/d.svg
	expect_status 0
	[ -s kept/d.html ]
	[ -s kept/d.svg ]
}
