#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs whose processes end without exit handlers, as workers of Python's multiprocessing do: all that they waited for is in
# the profile. (tests/cli/hosts_ends.bats has the ways in which one process may end.)

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_python
	export FAKE_CUDA_STRICT=1
}

# workers METHOD KIND: three workers, ten kernels of 1 ms each; all of them are there.
workers()
{
	run_profile -gpu-only --unit ns -o out.folded "$python" "$root/tests/workloads/python_workers.py" "$1" "$2"
	expect_status 0
	expect stdout <<<30
	expect_line stderr "^$(correlation 30)\$"
	expect_no_line stderr 'no record'
	expect_equal ns "$(weight_of out.folded)" 30000000
}

# bats test_tags=quick
@test "processes of multiprocessing: fork, spawn, forkserver" {
	for method in fork spawn forkserver; do
		workers $method process
	done
	run_profile --strict -gpu-only -o out.folded "$python" "$root/tests/workloads/python_workers.py" fork process
	expect_status 0
	expect_line stderr "^$(exits_told '3 traced processes'): "
}

@test "its pools, which kill their workers, and daemons that are killed" {
	for method in fork spawn forkserver; do
		workers $method pool
		workers $method daemon
	done
}

@test "executors of concurrent.futures" {
	for method in fork spawn forkserver; do
		workers $method futures
	done
}
