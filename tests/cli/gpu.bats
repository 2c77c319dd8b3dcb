# SPDX-License-Identifier: MIT
# GPU work under the stacks that launched it: every kernel counted once, every nanosecond kept.

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_root
}

# all_matched LAUNCHES KERNELS: the summary reports exactly this, without losses.
all_matched()
{
	expect_status 0
	expect_line stderr "^Samples: ([0-9]+ CPU, )?$(launched "$1" "$2") \("
	expect_line stderr "^$(correlation "$2")\$"
	expect_no_line stderr '^profile: |^  '
	expect_line work "$all_sums_match"
	expect_no_line work "$odd_work"
	expect_folded out.folded
	expect_totals out.folded
	expect_no_line out.folded 'launch not captured'
}

# equal_to_truth: kernel by kernel, to the nanosecond, the stand-ins' ground truth.
equal_to_truth()
{
	[ -s totals ]
	diff <(kernels_of_totals totals) <(kernels_of out.folded)
}

# exact ARGUMENTS...: a run in ns with the ground truth beside it.
exact()
{
	rm -f totals
	FAKE_CUDA_TOTALS=$PWD/totals run_profile -gpu-only --unit ns --raw-names -o out.folded "$@"
	expect_status 0
	equal_to_truth
}

exact_of_four_threads()
{
	run_profile -gpu-only --unit ns -o out.folded "$workloads/launches" 100000 4 4
	all_matched 100000 100000
	expect_equal 'GPU ns' "$(weight_of out.folded)" 100000000
	expect out.folded <<-'END'
		<*>;main;thread_main;launch_all;launch_kernel;cudaLaunchKernel;[GPU_Kernel]tiny(unsigned long long) 25000000
		<*>;thread_main;launch_all;launch_kernel;cudaLaunchKernel;[GPU_Kernel]tiny(unsigned long long) 75000000
	END
}

@test "100,000 launches by 4 threads on 4 streams each" {
	exact_of_four_threads
}

@test "the same where the loader has no room for what the library keeps of threads" {
	GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0 exact_of_four_threads
}

@test "the same, merged with CPU samples" {
	run_profile -o out.folded "$workloads/launches" 100000 4 4
	all_matched 100000 100000
	expect_equal 'GPU samples' "$(weight_of out.folded '\[GPU_Kernel\]')" 5
}

# bats test_tags=quick
@test "each kind of launch, with shared and static runtime" {
	while read -r mode launches kernels function made; do
		for program in launches launches_static; do
			run_profile -gpu-only --unit ns -o out.folded \
				"$workloads/$program" 4000 2 2 "$mode"
			all_matched "$launches" "$kernels"
			expect_equal "ns of $program $mode" "$(weight_of out.folded)" "${kernels}000"
			expect_equal "ns under $function" \
				"$(weight_of out.folded ";$function;${made}[[]GPU_Kernel[]]")" "${kernels}000"
		done
	done <<-'END'
		kernel 4000 4000 cudaLaunchKernel
		ex 4000 4000 cudaLaunchKernelExC
		cooperative 4000 4000 cudaLaunchCooperativeKernel
		graph [0-9]+ 12000 cudaGraphLaunch [[]graph.node.captured.at[]];.*;cudaLaunchKernel;
	END
}

@test "all kinds of launches in turn" {
	exact "$workloads/launches" 4000 2 2 mixed
	for function in cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel; do
		expect_equal "ns under $function" \
			"$(grep -v ';cudaGraphLaunch;' out.folded | weight_of - ";$function;")" 1000000
	done
	expect_equal 'ns under cudaGraphLaunch' "$(weight_of out.folded ';cudaGraphLaunch;')" 3000000
}

@test "a runtime that bypasses the driver's exported symbols" {
	export FAKE_CUDA_INTERNAL_DRIVER_CALLS=1
	for program in launches launches_static; do
		run_profile -gpu-only --unit ns -o out.folded "$workloads/$program" 4000 2 2
		all_matched 4000 4000
		expect_equal ns "$(weight_of out.folded ';cudaLaunchKernel;')" 4000000
	done
}

@test "a stripped program with a static runtime: stacks come from the driver call" {
	strip -o stripped "$workloads/launches_static"
	run_profile -gpu-only -launch-stacks uprobe --unit ns -o out.folded ./stripped 4000 2 2
	all_matched 4000 4000
	expect_equal ns "$(weight_of out.folded ';cuLaunchKernel;')" 4000000
	expect_line out.folded '\[stripped\+0x[0-9a-f]+\];cuLaunchKernel;'
}

@test "the same with stacks that are taken in the process" {
	strip -o stripped "$workloads/launches_static"
	run_profile -gpu-only --unit ns -o out.folded ./stripped 4000 2 2
	all_matched 4000 4000
	expect_equal ns "$(weight_of out.folded ';cuLaunchKernel;')" 4000000
	expect_line out.folded '\[stripped\+0x[0-9a-f]+\];cuLaunchKernel;'
}

@test "a stripped program with nothing to probe: [launch not captured], time kept" {
	strip -o stripped "$workloads/launches_static"
	FAKE_CUDA_INTERNAL_DRIVER_CALLS=1 run_profile -gpu-only -launch-stacks uprobe \
		--unit ns -o out.folded ./stripped 4000 2 2
	expect_status 0
	expect stderr <<-END
		Samples: $(launched 4000 4000) (4.000 ms)
		$(correlation 0 4000)
		  unmatched operations ran 4.000 ms and are under [launch not captured]
		Wrote 1 stack (4000000 ns: 0 CPU, 4000000 GPU) to out.folded
	END
	expect out.folded <<<'[launch not captured];[GPU_Kernel]tiny(unsigned long long) 4000000'
}

@test "a program that uses only the driver API" {
	run_profile -gpu-only --unit ns -o out.folded "$workloads/driver_api" 100
	all_matched 200 200
	expect out.folded <<-'END'
		<*>main;launch_spin;cuLaunchKernel;[GPU_Kernel]driver_spin 10000000
		<*>main;launch_wait;cuLaunchKernelEx;[GPU_Kernel]driver_wait 3000000
	END
}

@test "a sample program: every kernel under the function that launched it" {
	for program in inference inference_static; do
		run_profile -gpu-only --unit ns -o out.folded "$workloads/$program" 20
		all_matched 1480 1480
		sed 's/^.*;main;server::InferencePipeline::run;//' out.folded >short
		expect short <<-'END'
			server::InferencePipeline::embed;cudaLaunchKernel;[GPU_Kernel]model::embedding_lookup(unsigned long long) 6000000
			server::InferencePipeline::logits;cudaLaunchKernel;[GPU_Kernel]model::top_k_logits(unsigned long long) 4000000
			server::TransformerLayer::forward;cudaLaunchKernel;[GPU_Kernel]model::layer_norm<float>(unsigned long long) 9600000
			server::TransformerLayer::forward;server::Attention::forward;cudaLaunchKernel;[GPU_Kernel]model::attention_scores<float, 64>(unsigned long long) 108000000
			server::TransformerLayer::forward;server::Attention::forward;server::Attention::softmax_rows;cudaLaunchKernel;[GPU_Kernel]model::softmax<float>(unsigned long long) 28800000
			server::TransformerLayer::forward;server::Mlp::forward;cudaLaunchKernel;[GPU_Kernel]model::gelu(unsigned long long) 14400000
			server::TransformerLayer::forward;server::Mlp::forward;cudaLaunchKernel;[GPU_Kernel]model::gemm<float, 128, 256>(unsigned long long) 216000000
			server::TransformerLayer::forward;server::Mlp::forward;cudaLaunchKernel;[GPU_Kernel]model::gemm<float, 64, 64>(unsigned long long) 144000000
		END
	done
}

@test "merged: CPU samples and kernels in one tree" {
	run_profile -o out.folded "$workloads/inference" 60
	all_matched 4440 4440
	expect_equal 'GPU samples' "$(weight_of out.folded '\[GPU_Kernel\]')" 80
	expect_line out.folded ';main;server::InferencePipeline::run;server::Tokenizer::tokenize(;.*)? [0-9]+$'
	expect_line out.folded ';server::Mlp::forward;cudaLaunchKernel;\[GPU_Kernel\]model::gemm<float, 128, 256>\(unsigned long long\) [0-9]+$'
}

@test "stacks of 5 to 60 frames" {
	run_profile -gpu-only --unit ns -o out.folded "$workloads/pyramid" 10
	all_matched 120 120
	awk '{
		split($0, parts, /;launch_at</)
		depth = gsub(/;climb/, "", parts[1])
		level = parts[2] + 0
		if (depth != level || $NF != 10 * level * 2000 || $0 !~ "Kernel.step<" level ">")
			bad = 1
	} END { exit NR != 12 || bad }' out.folded
}

@test "CUDA and fork: each process has its own work, none twice" {
	run_profile -gpu-only --unit ns -o out.folded "$workloads/forks"
	all_matched 32 32
	expect out.folded <<-'END'
		<*>main;early_child_launches;cudaLaunchKernel;[GPU_Kernel]early_child_kernel(unsigned long long) 250000
		<*>main;exec_child_launches;cudaLaunchKernel;[GPU_Kernel]exec_child_kernel(unsigned long long) 350000
		<*>main;parent_launches;cudaLaunchKernel;[GPU_Kernel]parent_kernel(unsigned long long) 1000000
	END
	run_profile -F 997 -o out.folded "$workloads/forks"
	expect_line out.folded 'main;plain_child;plain_child_work'
}

@test "cudaDeviceReset loses nothing" {
	run_profile -gpu-only --unit ns -o out.folded "$workloads/device_reset" 100
	all_matched 400 400
	expect out.folded <<-'END'
		<*>main;launch_after_reset;cudaLaunchKernel;[GPU_Kernel]after_reset(unsigned long long) 4000000
		<*>main;launch_before_reset;cudaLaunchKernel;[GPU_Kernel]before_reset(unsigned long long) 4000000
	END
}

@test "a program that calls execve: both programs are in the profile" {
	run_profile -gpu-only --unit ns -o out.folded \
		bash -c '"$1" 30; exec "$2" 10' bash "$workloads/launches" "$workloads/driver_api"
	all_matched 50 50
}

# ids_of TYPE: "PID ID" of each line of this type in run.pipe
ids_of()
{
	sed -n "s/^{\"t\":\"$1\",.*\"pid\":\([0-9]*\),\"id\":\"\([0-9a-f]\{16\}\)\".*/\1 \2/p" run.pipe
}

@test "in the pipe each program has its own id, even after exec" {
	needs_command python3
	cat >both.py <<-'END'
		import ctypes, os, sys
		if ctypes.CDLL("libcuda.so.1").cuInit(0) == 0:
		    os.execv(sys.argv[1], [sys.argv[1], "10"])
	END
	run_profile -gpu-only --save-input run -o out.folded \
		bash -c '"$1" && python3 both.py "$2"' bash "$workloads/forks" "$workloads/launches"
	expect_status 0
	# three processes that fork, and two programs in one process
	expect_equal 'programs' "$(ids_of hello | wc -l)" 5
	expect_equal 'ids' "$(ids_of hello | cut -d' ' -f2 | sort -u | wc -l)" 5
	expect_equal 'processes' "$(ids_of hello | cut -d' ' -f1 | sort -u | wc -l)" 4
	expect_equal 'who writes' "$(ids_of batch | sort -u)" "$(ids_of hello | sort)"
	expect_equal 'hellos with namespace and start' \
		"$(grep -cE '"t":"hello".*"ns":[1-9][0-9]*,"started":[1-9][0-9]*,' run.pipe)" 5
}

# launch_ends: "LAUNCHES ENDS LONG" of run.pipe, LONG being the ends of calls of 2 ms or more. Fails
# unless each end belongs to its thread's last launch, which had ended before the thread's next.
launch_ends()
{
	awk -F'[:,}]' '
		/^{"t":"l",/ {
			bad += $4 < left[$6]
			began[$6] = $4; id[$6] = $8; open[$6] = 1; launches++
		}
		/^{"t":"ld",/ {
			bad += !open[$4] || id[$4] != $6
			left[$4] = began[$4] + $8; open[$4] = 0; ends++; long += $8 >= 2000000
		}
		END { print launches + 0, ends + 0, long + 0; exit bad > 0 }' run.pipe
}

# Runs a command whose library is also asked for ends of launches.
# shellcheck disable=SC2016
readonly timed=(sh -c 'PROFILE_TRACE_CONFIG="$PROFILE_TRACE_CONFIG timeline" exec "$@"' sh)

@test "ends of launches: only if requested, one each" {
	run_profile -gpu-only --unit ns --save-input run -o out.folded "$workloads/launches" 1000 4 2 mixed
	expect_equal 'launches, ends' "$(launch_ends)" '1012 0 0'
	cp out.folded without.folded
	run_profile -gpu-only --unit ns --save-input run -o out.folded \
		"${timed[@]}" "$workloads/launches" 1000 4 2 mixed
	all_matched 1012 1496
	expect_equal 'launches, ends' "$(launch_ends | cut -d' ' -f1,2)" '1012 1012'
	diff without.folded out.folded
	# copies, sets, allocations, graphs; beside waits, and by the driver alone
	run_profile -gpu-only --waits --save-input run -o out.folded \
		"${timed[@]}" "$workloads/gpu_work" 3 2 2
	expect_status 0
	launch_ends >ends
	awk '$1 < 50 || $1 != $2 { exit 1 }' ends
	run_profile -gpu-only --save-input run -o out.folded "${timed[@]}" "$workloads/driver_api" 50
	launch_ends >ends
	awk '$1 < 50 || $1 != $2 { exit 1 }' ends
}

@test "ends of launches that stay in the driver: full duration, and none if the thread was cancelled" {
	FAKE_CUDA_LAUNCH_NS=2000000 run_profile -gpu-only --unit ns --save-input run \
		-o out.folded "${timed[@]}" "$workloads/launches" 12 4 1 cancelled
	all_matched 12 12
	expect_equal 'launches, ends, long ones' "$(launch_ends)" '12 9 9'
}

@test "several processes at once" {
	cat >work <<-'END'
		for i in 1 2 3 4 5 6; do "$1" 5000 2 2 & done
		wait
	END
	run_profile -gpu-only --unit ns -o out.folded bash work "$workloads/launches"
	all_matched 30000 30000
	expect_equal ns "$(weight_of out.folded)" 30000000
}

@test "GPU time is the device's, to the nanosecond, kernel by kernel" {
	exact "$workloads/durations" 10
	exact "$workloads/inference" 10
	exact "$workloads/inference_static" 10
	exact "$workloads/launches" 5000 4 2 graph
	exact "$workloads/driver_api" 50
	exact "$workloads/forks"
	exact "$workloads/device_reset" 50
	exact "$workloads/pyramid" 5
}

@test "the same when CUPTI's clock drifts or is offset, or kernels start late" {
	for ppm in 300 -300; do
		FAKE_CUDA_DRIFT_PPM=$ppm exact "$workloads/durations" 10
		expect_line out.folded ';main;run_8;launch_8;cudaLaunchKernel;'
	done
	FAKE_CUDA_CLOCK_OFFSET_NS=0 exact "$workloads/inference" 5
	FAKE_CUDA_LATENCY_NS=3000000 exact "$workloads/inference" 5
	FAKE_CUDA_DEVICES=4 exact "$workloads/inference" 5
}

@test "with drift every launch still finds its stack" {
	FAKE_CUDA_DRIFT_PPM=300 run_profile -gpu-only --unit ns -o out.folded \
		"$workloads/inference" 60
	all_matched 4440 4440
}

@test "--unit samples and us: rounded, but the total is true" {
	run_profile -gpu-only --unit us -o out.folded "$workloads/inference" 20
	all_matched 1480 1480
	expect_equal us "$(weight_of out.folded)" 530800
	run_profile -gpu-only -F 1000 -o out.folded "$workloads/inference" 20
	expect_equal samples "$(weight_of out.folded)" 531
	# 26.54 samples
	run_profile -gpu-only -o out.folded "$workloads/inference" 20
	expect_equal samples "$(weight_of out.folded)" 27
}

@test "--raw-names" {
	run_profile -gpu-only --unit ns --raw-names -o out.folded "$workloads/inference" 1
	expect_line out.folded '\[GPU_Kernel\]_ZN5model4gemmIfLi128ELi256EEEvy [0-9]+$'
}

@test "-cuda-lib: a runtime named on the command line" {
	run_profile -gpu-only --unit ns -cuda-lib "$fake_cuda/libcudart.so.13" -o out.folded \
		"$workloads/launches" 1000
	all_matched 1000 1000
}

@test "-injection-lib: another injection library" {
	cp "$root/build/libprofile_cupti.so" other.so
	run_profile -v -gpu-only --unit ns -injection-lib "$PWD/other.so" -o out.folded \
		sh -c 'echo "$CUDA_INJECTION64_PATH"; exec "$0" 1000' "$workloads/launches"
	expect_status 0
	expect_line stdout "^$PWD/other\\.so\$"
	expect_line stderr "^$(correlation 1000)\$"
}

@test "flamegraph.pl reads the output" {
	local tool=/usr/share/perl5/Devel/NYTProf/flamegraph.pl

	tool=$(command -v flamegraph.pl || echo "$tool")
	[ -e "$tool" ] || skip 'flamegraph.pl is not installed'
	run_profile -o out.folded "$workloads/inference" 60
	perl "$tool" out.folded >out.svg 2>warnings
	cat warnings
	[ ! -s warnings ]
	# kernels are there, escaped, and all samples are counted
	grep -qE 'GPU_Kernel\]model::gemm(&lt;|\()float, 128, 256(&gt;|\))\(unsigned long long\) \(' out.svg
	grep -q ">all ($(weight_of out.folded) samples, 100%)<" out.svg
}

@test "device code that launches kernels is reported" {
	run_profile -gpu-only --unit ns -o out.folded "$workloads/driver_api" 10 device_launch
	expect_status 0
	expect_line stderr '^profile: process [0-9]+ has device code that launches kernels from kernels: '
	run_profile -gpu-only --unit ns -o out.folded "$workloads/driver_api" 10
	expect_no_line stderr 'from kernels'
}
