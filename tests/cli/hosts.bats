# SPDX-License-Identifier: MIT
# Awkward programs of tests/hosts/: none notices the library in it, and nothing is lost that is not
# counted. Each checks itself; here is what the profile of each must be like.

load helpers

hosts=$root/build/tests/hosts

setup()
{
	enter_test_folder
	needs_root
}

# host NAME LAUNCHES [ARGUMENTS OF PROFILE...]: ends well, and all its launches have their kernels.
host()
{
	local name=$1 launches=$2

	shift 2
	run_profile --strict -gpu-only --unit ns -o out.folded "$@" "$hosts/$name"
	expect_status 0
	expect stdout <<<"launches $launches"
	expect_line stderr "^Correlation: $launches matched, 0 unmatched, 0 dropped\$"
	expect_line work "$all_sums_match"
	expect_no_line stderr '^profile: '
}

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

@test "threads that are cancelled in a launch" {
	host cancelled 40
	host cancelled 40 -launch-stacks uprobe
}

@test "descriptors that the program closes and takes" {
	host descriptors 6000
	expect_equal data mine "$(cat data)"
}

@test "kernels first launched while the profiler reads nothing have their names afterwards" {
	local launches

	host_with_losses stalled 0
	launches=$(sed -n 's/^launches //p' stdout)
	expect_equal launches "$launches" "$(sed -n 's/^Correlation: \([0-9]*\) matched, \([0-9]*\) unmatched, \([0-9]*\) dropped$/\1 \2 \3/p' stderr |
		awk '$3 > 0 { print $1 + $2 + $3 }')"
	expect_line out.folded ';main;launch_during;cudaLaunchKernel;\[GPU_Kernel\]during\(unsigned long long\) [1-9]'
	expect_no_line out.folded 'lost'
}

@test "a clock that is set" {
	host clock_is_set 900
	expect_no_line work ' tracing'
}

@test "exit in a signal handler while the profiler reads nothing" {
	host_with_losses exit_in_handler 7
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
	expect_line stderr "^profile: process [0-9]+ .* uses CUDA; CUPTI 130001: $fake_cuda/libcupti\.so\.13;"
	expect_line stderr '^Correlation: 100 matched, 0 unmatched, 0 dropped$'
}
