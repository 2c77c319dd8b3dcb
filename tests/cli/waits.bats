# SPDX-License-Identifier: MIT
# --waits: time in calls that wait for the GPU, by operation.

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_root
	workload=$workloads/waits
}

# waits ARGUMENTS...: a run in ns; all reported numbers agree.
waits()
{
	run_profile --unit ns --waits -o out.folded "$@"
	expect_status 0
	expect_no_line stderr '^profile: '
	expect_folded out.folded
	expect_wait_totals out.folded
	expect_line work "$all_sums_match"
}

# The three kinds of weights of the last line on stderr are those of the file, the calls' sum, too.
expect_wait_totals()
{
	local file=$1 all wait gpu ms

	all=$(weight_of "$file")
	wait=$(weight_of "$file" '\[waiting for GPU\]')
	gpu=$(grep -v '\[waiting for GPU\]' "$file" | weight_of - '\[GPU_[A-Z][^;]*$')
	ms=$(printf '%d.%03d' $((wait / 1000000)) $((wait / 1000 % 1000)))
	expect_line stderr "^Wrote $(wc -l <"$file") stacks \($all ns: $((all - wait - gpu)) CPU, $gpu GPU, $wait waiting\) to "
	# rounded, not cut; what was CPU time is apart
	expect_line stderr "^$(waits_of '[0-9]+ calls?'), [0-9]+\.[0-9]{3} ms\$"
	awk -v said="$(sed -n 's/^Waits: .*, \(.*\) ms$/\1/p' stderr)" -v is="$ms" \
		'BEGIN { exit !(said - is < 0.0011 && is - said < 0.0011) }'
}

# between WAY PATTERN: the weight of PATTERN is at most what the workload's calls took, and more than
# half of what its kernels ran meanwhile.
between()
{
	local way known wall weight

	read -r way known wall < <(grep "^$1 " stdout)
	weight=$(weight_of out.folded "$2")
	if [ "$weight" -gt "$wall" ] || [ "$weight" -le $((known / 2)) ]; then
		echo "$way: $weight ns are not between $known and $wall"
		show
		return 1
	fi
}

expect_each_way()
{
	local way

	between stream ';wait_stream;cudaStreamSynchronize;[[]waiting for GPU[]]'
	between device ';wait_device;cudaDeviceSynchronize;[[]waiting for GPU[]]'
	between event ';wait_event;cudaEventSynchronize;[[]waiting for GPU[]]'
	between copy ';wait_copy;cudaMemcpy;[[]waiting for GPU[]]'
	between thread ';wait_thread;cudaStreamSynchronize;[[]waiting for GPU[]]'
	# and nearly all of it while that kernel ran, which was launched just before
	for way in stream device event copy thread; do
		between "$way" ";wait_$way;[^;]*;[[]waiting for GPU[]];[[]GPU_Kernel[]]${way}_kernel.*;launched at;.*;wait_$way;cudaLaunchKernel"
	done
	expect_line stderr "^$(waits_of '32 calls'), "
	expect_line out.folded ';main;cudaMalloc;\[waiting for GPU\] [0-9]+$'
	expect_line out.folded ';main;cudaFree;\[waiting for GPU\] [0-9]+$'
	# a driver's call inside a runtime's is a part of that one
	expect_no_line out.folded ';cu[A-Z][A-Za-z_0-9]*;\[waiting for GPU\]'
}

# bats test_tags=quick
@test "each way to wait, shared and static runtime" {
	for program in waits waits_static; do
		waits -gpu-only "$workloads/$program"
		expect_each_way
		expect_equal 'ns of kernels' "$(grep -v 'waiting for GPU' out.folded |
			weight_of - '[[]GPU_Kernel[]]')" 600000000
	done
}

@test "merged with CPU samples, and with launch stacks by uprobe" {
	waits "$workload"
	expect_each_way
	waits -gpu-only -launch-stacks uprobe "$workload"
	expect_each_way
}

@test "--by thread and process: a wait belongs to its thread" {
	waits -gpu-only --by process,thread "$workload" 2 3
	# a thread that has ended before its waits are taken in is "[thread N]"
	expect_equal 'threads that wait' "$(grep -o '^waits [0-9]*;[^;]*;.*;thread_main;wait_thread;cudaStreamSynchronize;\[waiting for GPU\];' out.folded |
		cut -d';' -f2 | sort -u | wc -l)" 3
	between thread '^waits [0-9]+;[^;]+;.*;wait_thread;cudaStreamSynchronize;[[]waiting for GPU[]]'
	# in each line, what was waited for is the thread's own
	expect_no_line out.folded ';wait_thread;cudaStreamSynchronize;.*launched at;.*;wait_(stream|device|event|copy);'
}

@test "several processes" {
	cat >work <<-'END'
		for i in 1 2 3; do "$1" 2 1 & done
		wait
	END
	waits -gpu-only bash work "$workload"
	expect_line stderr "^$(waits_of '36 calls'), "
	expect_line stderr "^$(correlation 36)\$"
}

@test "waits through the driver API" {
	waits -gpu-only "$workloads/driver_api" 20
	expect_line out.folded ';main;[^;]*cu[A-Z][A-Za-z]*Synchronize;\[waiting for GPU\]|;cu(Ctx|Stream)Synchronize;\[waiting for GPU\]'
}

@test "units: waits add up separately" {
	run_profile -gpu-only --waits -o out.folded "$workload"
	expect_status 0
	expect_line stderr "^Wrote [0-9]+ stacks \([0-9]+ x 20 ms: 0 CPU, 30 GPU, $(weight_of out.folded 'waiting for GPU') waiting\) to "
}

@test "threads that never return from waiting" {
	# the last kernel is waited for when the process ends
	waits -gpu-only --kernels-only "$workload" 1 1
	run_profile -gpu-only --unit ns --waits -o out.folded sh -c '
		"$0" 500 1 &
		until grep -qs libprofile_cupti /proc/$!/maps; do sleep 0.01; done
		sleep 1
		kill -KILL $!' "$workload"
	expect_line stderr '^Waits: [0-9]+ calls'
	expect_folded out.folded
}

@test "the call that creates the context does not wait for the GPU" {
	local wait

	# that takes a second in cudaMalloc; behind it, the call itself is short
	FAKE_CUDA_CONTEXT_NS=1000000000 waits -gpu-only "$workload" 1 1
	expect_line out.folded ';main;cudaMalloc;\[waiting for GPU\] [0-9]+$'
	wait=$(weight_of out.folded ';main;cudaMalloc;[[]waiting for GPU[]]')
	if [ "$wait" -ge 1000000000 ]; then
		echo "$wait ns of a wait in cudaMalloc"
		show
		return 1
	fi
}

@test "-gpu-only of a capture is GPU time and nothing else, in all outputs" {
	local gpu

	run_profile --waits -o all.profile "$workload" 1 1
	run_profile --from all.profile -gpu-only --unit ns -o gpu.folded -o gpu.json -o gpu.svg -o gpu.speedscope.json
	expect_status 0
	gpu=$(weight_of gpu.folded)
	expect_equal 'GPU time' "$gpu" "$(run_profile --from all.profile --unit ns -o - && grep -v '\[waiting for GPU\]\|\[spinning' stdout |
		weight_of - '\[GPU_[A-Z][^;]*$')"
	run_profile --from all.profile -gpu-only --unit ns -o gpu.folded
	expect_line stderr "^Wrote [0-9]+ stacks \($gpu ns: 0 CPU, $gpu GPU, 0 waiting\) to gpu\.folded$"
	expect_no_line gpu.folded 'waiting|spinning'
	expect_line gpu.json "\"gpu_ns\": *$gpu,"
	expect_line gpu.json '"waiting_ns": *0,'
	expect_line gpu.svg "class=\"sum\".* data-ns=\"$gpu\""
	expect_line gpu.svg '>GPU time by stack · '
	# a run that was asked for waits has them, and says so
	run_profile -gpu-only --waits --unit ns -o gpu.svg "$workload" 1 1
	expect_line gpu.svg '>GPU time, waiting by stack · '
}

@test "a thread that spins for the GPU: CPU time, below what it spins for, and no wait" {
	local spun wait

	FAKE_CUDA_SPIN=1 waits -F 997 "$workload"
	# what was on a CPU and what was not are the time of the calls, as the workload measures it
	expect_line stderr '^  and [0-9.]+ ms in them on a CPU, computing or spinning, which is CPU time$'
	expect_line out.folded ';\[spinning for GPU\];\[GPU_Kernel\].*;launched at;.*;cudaLaunchKernel [0-9]+$'
	spun=$(sed -n 's/^  and \([0-9]*\)\.\([0-9]*\) ms in them on a CPU.*/\1\2/p' stderr)
	wait=$(weight_of out.folded ';wait_[a-z]*;.*[[]waiting for GPU[]]')
	awk -v on="$spun" -v off="$wait" 'NR > 0 && $1 != "threads" { wall += $3 }
		END { exit !(on * 1000 + off < wall + 5e6) }' stdout # and cudaMalloc, cudaFree
	# without samples, nothing else has that time
	FAKE_CUDA_SPIN=1 waits -gpu-only "$workload"
	expect_each_way
	expect_no_line stderr 'on a CPU, computing'
	expect_no_line out.folded 'spinning'
}

@test "no waits without --waits" {
	run_profile -gpu-only --unit ns -o out.folded "$workload"
	expect_status 0
	expect_no_line out.folded '\[waiting|launched at|cuda[A-Za-z]*Synchronize'
	expect_no_line stderr 'wait|Wait'
	expect_totals out.folded
	details='' run_profile -gpu-only -o out.folded sh -c 'echo "$PROFILE_TRACE_CONFIG"'
	expect stdout <<<'stacks waited devices'
}

@test "not with -cpu-only" {
	run_profile -cpu-only --waits touch has_run
	expect_status 125
	expect_line stderr "^profile: $(needs_gpu_time --waits -cpu-only)\$"
	expect_no_file has_run
}
