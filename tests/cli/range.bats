# SPDX-License-Identifier: MIT
# --range: what is recorded is chosen by NVTX ranges, or by cudaProfilerStart and cudaProfilerStop.

load helpers

setup()
{
	enter_test_folder
	with_details
	unset NVTX_INJECTION64_PATH
}

# in_ranges OPTIONS... -- COMMAND...: nothing is lost.
in_ranges()
{
	run_profile -gpu-only --unit ns --strict -o out.folded "$@"
	expect_status 0
	expect_line work "$all_sums_match"
}

# Of each kernel's functions, the outermost and the last one.
shown()
{
	sed 's/^.*;main;/main;/; s/^.*;in_thread;/in_thread;/; s/(unsigned long long)//' out.folded
}

# bats test_tags=quick
@test "what is launched in an NVTX range, pushed or started, of any domain" {
	in_ranges --range direct "$workloads/nvtx_ranges"
	expect_line stdout '^0 1 1 0 -2$'
	expect_equal direct "$(shown)" 'main;launch_direct;cudaLaunchKernel;[GPU_Kernel]direct 1000'
	expect_line stderr '^Recorded: what was in the range direct, which was entered 1 time$'
	expect_line stderr '^  11 GPU operations were launched outside \(0.011 ms\): left out$'
	expect_line stderr '^Samples: 1 launch, 1 GPU kernel \(0.001 ms\)$'
	in_ranges --range train:forward "$workloads/nvtx_ranges"
	expect_equal guarded "$(shown)" \
		'main;with_guard;deep_guarded;deep_guarded;deep_guarded;cudaLaunchKernel;[GPU_Kernel]guarded 1000'
	in_ranges --range started "$workloads/nvtx_ranges"
	expect_equal started "$(shown)" 'main;start_and_end;cudaLaunchKernel;[GPU_Kernel]started 1000'
	in_ranges --range 'before CUDA' "$workloads/nvtx_ranges"
	expect_equal before "$(shown)" 'main;cudaLaunchKernel;[GPU_Kernel]before 1000'
}

@test "nested ranges count once, several names add up" {
	in_ranges --range outer --range inner --range direct --range outer "$workloads/nvtx_ranges"
	expect_equal 'both' "$(shown | sort)" "$(sort <<-'END'
		main;launch_direct;cudaLaunchKernel;[GPU_Kernel]direct 1000
		main;outer;between;inner;cudaLaunchKernel;[GPU_Kernel]nested 1000
	END
	)"
	expect_line stderr '^Recorded: what was in the range outer,inner,direct,outer, which was entered 2 times$'
}

@test "--nvtx still shows all ranges" {
	in_ranges --nvtx --range outer "$workloads/nvtx_ranges"
	expect_equal nested "$(shown)" \
		'main;outer;nvtx:outer;between;inner;nvtx:inner;cudaLaunchKernel;[GPU_Kernel]nested 1000'
}

@test "between cudaProfilerStart and cudaProfilerStop, whichever thread launches" {
	in_ranges --range cudaProfilerApi -o out.profile -o out.trace.json "$workloads/in_range" 3
	expect_equal inside "$(weight_of out.folded 'GPU_Kernel\]inside')" 15000
	expect_no_line out.folded '\[GPU_Kernel\]outside|_outside[; ]|not captured'
	expect_line stderr '^Recorded: what was in the range cudaProfilerApi, which was entered 3 times$'
	expect_line stderr '^  16 GPU operations were launched outside \(0.016 ms\): left out$'
	expect_line stderr " $(launched 15 15) "
	run_profile --from out.profile --unit ns -o from.folded -o from.json
	cmp out.folded from.folded
	expect_line from.json '"shown":"--range cudaProfilerApi",'
}

@test "a range that stays open" {
	in_ranges --range cudaProfilerApi "$workloads/in_range" 2 open
	expect_equal inside "$(weight_of out.folded 'GPU_Kernel\]inside')" 10000
	expect_no_line out.folded '\[GPU_Kernel\]outside|_outside[; ]'
}

@test "a range that one thread starts and another one ends" {
	needs_command g++
	cat >handed.cpp <<-'END'
		#include "tests/workloads/gpu.h"
		#include "tests/fake_cuda/fake_nvtx.h"
		#include <thread>

		GPU_KERNEL(outside)
		GPU_KERNEL(inside)

		static uint64_t ranges[3];

		static void launch(bool is_inside)
		{
			if (is_inside)
				GPU_CHECK(GPU_LAUNCH(0, 1000, inside));
			else
				GPU_CHECK(GPU_LAUNCH(0, 1000, outside));
		}

		int main()
		{
			for (int i = 0; i < 3; i++) {
				launch(i > 0);
				std::thread([i] { ranges[i] = nvtxRangeStartA("step"); }).join();
			}
			/* a thread that has the number of one before it, and ranges of its own */
			std::thread([] {
				nvtxRangeEnd(nvtxRangeStartA("step"));
				nvtxRangeStartA("other");
			}).join();
			for (int i = 0; i < 3; i++) {
				launch(true);
				std::thread([i] { nvtxRangeEnd(ranges[i]); }).join();
				nvtxRangeEnd(ranges[i]);
			}
			launch(false);
			std::thread([] { nvtxRangePushA("step"); }).join();
			launch(false);
			return cudaDeviceSynchronize() != cudaSuccess;
		}
	END
	g++ -std=gnu++17 -O1 -pthread -I"$root" -o handed handed.cpp -L"$fake_cuda" -lcudart -l:libnvToolsExt.so.1 -ldl
	in_ranges --range step ./handed
	expect_equal inside "$(weight_of out.folded 'GPU_Kernel\]inside')" 5000
	expect_no_line out.folded '\[GPU_Kernel\]outside'
	expect_line stderr '^Recorded: what was in the range step, which was entered 2 times$'
	expect_line stderr '^  3 GPU operations were launched outside '
}

@test "CPU samples are those of the process meanwhile" {
	needs_root
	run_profile --unit ns -F 500 --range cudaProfilerApi -o out.folded "$workloads/in_range" 5
	expect_status 0
	expect_equal inside "$(weight_of out.folded 'GPU_Kernel\]inside')" 25000
	[ "$(weight_of out.folded ';burn_inside')" -gt 0 ]
	expect_no_line out.folded 'burn_outside|\[not sampled'
}

@test "with --last, and in snapshots" {
	in_ranges --range cudaProfilerApi --last 1m "$workloads/in_range" 2
	expect_equal inside "$(weight_of out.folded 'GPU_Kernel\]inside')" 10000
	expect_no_line out.folded '\[GPU_Kernel\]outside|_outside[; ]'
}

@test "a range that nobody enters" {
	run_profile -gpu-only --range nowhere --range cudaProfilerApi -o out.folded "$workloads/launches" 10
	expect_status 0
	expect_line stderr '^profile: no process entered the range nowhere,cudaProfilerApi: nothing was recorded$'
	expect_line stderr '^  10 GPU operations were launched outside '
	expect_empty out.folded
	# one line says so, and none of those that contradict it
	run_profile --range nowhere -o out.folded true
	expect_line stderr '^profile: no process entered the range nowhere: nothing was recorded$'
	expect_no_line stderr 'did not use CUDA|CPU time only'
}

@test "a range that nobody enters: the message has those that were entered" {
	for option in '' --nvtx; do
		# shellcheck disable=SC2086 # words
		run_profile -gpu-only $option --range forwards -o out.folded "$workloads/nvtx_ranges"
		expect_status 0
		expect_line stderr '^profile: no process entered the range forwards: nothing was recorded; these were entered: (.*, )?train:forward(, |$)'
		expect_line stderr '; these were entered: (.*, )?outer(, |$)'
		expect_no_line stderr '; these were entered: .*forwards'
	done
}

@test "more ranges than the message has room for, and unreadable names" {
	needs_command g++
	cat >many.cpp <<-'END'
		#include "tests/workloads/gpu.h"
		#include "tests/fake_cuda/fake_nvtx.h"
		#include <string>

		GPU_KERNEL(outside)

		int main()
		{
			for (int i = 0; i < 3000; i++) {
				nvtxRangePushA(("a\033[31m" + std::string(i % 2, ',') + std::to_string(i)).c_str());
				GPU_CHECK(GPU_LAUNCH(0, 1000, outside));
				nvtxRangePop();
			}
			return cudaDeviceSynchronize() != cudaSuccess;
		}
	END
	g++ -std=gnu++17 -O1 -I"$root" -o many many.cpp -L"$fake_cuda" -lcudart -l:libnvToolsExt.so.1 -ldl
	run_profile -gpu-only --range step -o out.folded ./many
	expect_status 0
	expect_line stderr '; these were entered: a\?\[31m0, a\?\[31m,1, a\?\[31m2, a\?\[31m,3, a\?\[31m4, a\?\[31m,5, a\?\[31m6, a\?\[31m,7, \.\.\.$'
}

@test "the message says which of several processes entered the range" {
	# three that never do, one that does, and one that does no work
	in_ranges --range cudaProfilerApi sh -c \
		"for n in 1 2 3; do '$workloads/launches' 10 & done; '$workloads/in_range' 2; true; wait"
	expect_line stderr '^Recorded: what was in the range cudaProfilerApi, which was entered 2 times, by 1 of 4 processes: in_range [0-9]+$'
	expect_line stderr '^  3 processes never entered a range: all of their GPU work is among these$'
	expect_line stderr '^  43 GPU operations were launched outside '
	in_ranges --range cudaProfilerApi sh -c "'$workloads/in_range' 1 & '$workloads/in_range' 1 & '$workloads/launches' 5; wait"
	expect_line stderr ', by 2 of 3 processes: in_range [0-9]+, in_range [0-9]+$'
	expect_line stderr '^  1 process never entered a range: all of its GPU work is among these$'
	in_ranges --range cudaProfilerApi sh -c "'$workloads/in_range' 1 & '$workloads/in_range' 1; wait"
	expect_line stderr ', by 2 of 2 processes: in_range '
	expect_no_line stderr 'never entered'
	run_profile -gpu-only --range cudaProfilerApi -o out.folded sh -c "'$workloads/launches' 5; '$workloads/launches' 5"
	expect_line stderr '^profile: no process entered the range cudaProfilerApi: nothing was recorded$'
}

@test "many processes enter the range" {
	in_ranges --range cudaProfilerApi sh -c "for n in 1 2 3 4 5 6 7 8 9 10; do '$workloads/in_range' 1; done"
	expect_line stderr ', by 10 of 10 processes: (in_range [0-9]+, ){8}\.\.\.$'
}

@test "a process that starts others in the range is not they" {
	needs_python
	cp "$root/tests/workloads/python_launches.py" worker.py
	in_ranges --range cudaProfilerApi sh -c "'$workloads/in_range' 1; python3 worker.py"
	expect_line stderr ', by 1 of 2 processes: in_range [0-9]+$'
}

@test "several processes choose for themselves" {
	in_ranges --range cudaProfilerApi --by process sh -c \
		"'$workloads/in_range' 1 & '$workloads/launches' 10; wait"
	expect_equal inside "$(weight_of out.folded 'GPU_Kernel\]inside')" 5000
	expect_no_line out.folded '^launches|\[GPU_Kernel\]outside|_outside[; ]'
}

@test "what it does not go with" {
	local option

	for option in --wall --idle --alloc --api --stalls '--counters default'; do
		# words
		# shellcheck disable=SC2086
		run_profile $option --range a true
		expect_status 125
		expect_line stderr "^profile: ${option%% *} is of a whole run: not with --range$"
	done
	run_profile --range a --delay 1 true
	expect_status 125
	expect_line stderr '^profile: --range says when to record: not with --delay or -d$'
	run_profile --range a -cpu-only true
	expect_status 125
	run_profile --range '' true
	expect_status 125
	expect_line stderr '^profile: --range takes the name of an NVTX range, or cudaProfilerApi$'
	run_profile --range a -p 1
	expect_status 125
}
