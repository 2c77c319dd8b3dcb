# SPDX-License-Identifier: MIT
# Awkward programs: many threads, descriptors, errno, clocks, a profiler that does not read.

load hosts

# host_with_losses NAME STATUS [PATTERN]: ends with this status; its losses are all counted.
host_with_losses()
{
	run_profile -gpu-only --unit ns -o out.folded "$hosts/$1"
	expect_status "$2"
	expect_folded out.folded
}

@test "1,200 threads that hold a buffer each: nothing waits, nothing is lost" {
	host threads 36000
}

@test "10,000 short threads" {
	host short_threads 10000
}

@test "threads with small stacks, and threads that have used theirs up" {
	host small_stacks 8440
	host small_stacks 8440 -launch-stacks uprobe
}

@test "threads that launch while they end" {
	host thread_ends 5800
	host thread_ends 5800 -launch-stacks uprobe
}

@test "threads that are cancelled in a launch" {
	host cancelled 40
	host cancelled 40 -launch-stacks uprobe
}

@test "descriptors that the program closes and takes" {
	host descriptors 6000
	expect_equal data mine "$(cat data)"
}

# Correlation's three numbers are all of the launches.
expect_all_counted()
{
	local launches

	launches=$(sed -n 's/^launches //p' stdout)
	expect_equal launches "$launches" "$(sed -n "s/^$(correlation '\([0-9]*\)' '\([0-9]*\)' '\([0-9]*\)')\$/\1 \2 \3/p" stderr |
		awk '{ print $1 + $2 + $3 }')"
}

@test "descriptors that the program closes again and again while it launches" {
	host_with_losses closes_all 0
	expect_all_counted
	expect_no_line stderr 'without a goodbye'
}

@test "standard descriptors that the program replaces" {
	host reopened 2100
	expect_equal by_freopen one "$(cat by_freopen)"
	expect_equal by_dup2 two "$(cat by_dup2)"
	expect_equal by_close $'three\nfour' "$(cat by_close)"
}

@test "a program that starts with its standard descriptors closed" {
	profile_host sh -c '"$@" <&- >&- 2>&-; echo "status $?"' sh "$hosts/threads"
	expect_status 0
	expect stdout <<<'status 0'
	expect_line stderr "^$(correlation 36000)\$"
	expect_line work "$all_sums_match"
}

@test "a profiler that starts with its standard descriptors closed" {
	run_command sh -c '"$@" <&- >&- 2>&-' sh "$profile" --strict -gpu-only --unit ns \
		-o out.folded sh -c '"$1" 20 50 >program' sh "$hosts/threads"
	expect_status 0
	expect program <<<'launches 1000'
	expect_equal ns "$(weight_of out.folded)" 1000000
	expect_empty stdout
	expect_empty stderr
}

@test "kernels first launched while the profiler reads nothing have their names afterwards" {
	local launches

	host_with_losses stalled 0
	launches=$(sed -n 's/^launches //p' stdout)
	expect_equal launches "$launches" "$(sed -n "s/^$(correlation '\([0-9]*\)' '\([0-9]*\)' '\([0-9]*\)')\$/\1 \2 \3/p" stderr |
		awk '$3 > 0 { print $1 + $2 + $3 }')"
	expect_line out.folded ';main;launch_during;cudaLaunchKernel;\[GPU_Kernel\]during\(unsigned long long\) [1-9]'
	expect_no_line out.folded '\[[^];]*lost[^];]*\]'
}

@test "a clock that is set" {
	host clock_is_set 900
	expect_no_line work ' tracing'
}

@test "a wall clock that another part of the program sees an hour ahead, or behind" {
	profile_host "$hosts/shifted_clock" 3600
	expect_launches 1000
	profile_host "$hosts/shifted_clock" -3600
	expect_launches 1000
}

@test "exit in a signal handler while the profiler reads nothing" {
	host_with_losses exit_in_handler 7
}

@test "a profiler that is stopped for a moment, again and again: nothing is lost" {
	profile_host "$hosts/stopped"
	expect_launches
}

@test "errno in launches" {
	host errno_is_kept 300200
}

@test "a libcupti that cannot be used: the next one is" {
	mkdir first
	cp "$fake_cuda/libcupti.so.13" first/
	export LD_LIBRARY_PATH=$PWD/first:$fake_cuda
	FAKE_CUDA_SUBSCRIBE_ERROR=999 FAKE_CUDA_SUBSCRIBE_ERROR_IN=$PWD/first run_profile -v \
		--strict -gpu-only --unit ns -o out.folded "$workloads/launches" 100
	expect_status 0
	expect_line stderr "^profile: process [0-9]+ .* $uses_cuda; CUPTI 130001: $fake_cuda/libcupti\.so\.13;"
	expect_line stderr "^$(correlation 100)\$"
}
