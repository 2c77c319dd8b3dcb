# SPDX-License-Identifier: MIT
# Awkward programs: what they do with their process, and what else is in it.

load hosts

@test "fork without exec: children are refused, nothing of theirs is in the profile" {
	profile_host "$hosts/forked"
	expect_launches
	expect_line out.folded ';launch_in_parent;cudaLaunchKernel;\[GPU_Kernel\]in_parent'
	expect_no_line out.folded in_child
}

@test "handlers of fork that launch" {
	profile_host "$hosts/fork_handlers"
	expect_launches
	expect_line out.folded '\[GPU_Kernel\]in_handler'
}

@test "a program that becomes another user while it launches" {
	profile_host "$hosts/other_user"
	expect_launches
	expect_line stacks "^$(stacks_of '100\.0') "
}

@test "vfork and posix_spawn: each child is a program of its own" {
	profile_host "$hosts/vforked"
	expect_launches
	expect_line out.folded '\[GPU_Kernel\]in_child.* 100000$'
	expect_line work "^  $(own_sums 21 21)"
}

@test "a program that executes itself in its place: only the last one has an end" {
	run_profile -gpu-only --unit ns -o out.folded "$hosts/executes" 3
	expect_status 0
	expect stdout <<<'launches 30'
	expect_line stderr "^$(correlation 30)\$"
	expect_line stderr "^$(exits_told '2 traced processes'): "
}

@test "a program that locks itself out of the pipe: it is said since when" {
	run_profile -gpu-only --unit ns -o out.folded "$hosts/locked_out"
	expect_status 3
	expect stdout <<<'launches 160'
	expect_line out.folded '\[GPU_Kernel\]before.* 10000$'
	expect_line stderr '^profile: process [0-9]* \(locked_out\): nothing came from it in its last [1-9][0-9.]* s: '
	run_profile --strict -gpu-only -o out.folded "$hosts/locked_out"
	expect_status 124
}

@test "a daemon that closes all descriptors" {
	# shellcheck disable=SC2016
	profile_host sh -c '"$1" "$PWD/done"; while [ ! -e done ]; do sleep 0.05; done; cat done' \
		sh "$hosts/daemon"
	expect_launches 1500
	expect stdout <<<'launches 1500'
}

@test "a daemon that closes all descriptors, and works on when the command has ended" {
	# shellcheck disable=SC2016
	profile_host sh -c '"$1" "$PWD/done" $$; while [ ! -e done ]; do sleep 0.05; done; cat done' \
		sh "$hosts/daemon"
	expect_launches 2000
	expect stdout <<<'launches 2000'
}

@test "libcuda in several namespaces of the loader, each with a C library of its own" {
	profile_host "$hosts/namespaces"
	expect_launches 400
	expect_line work "^  $(own_sums 4 4)"
	expect_no_line stderr '^profile: '
}

@test "a program that names itself by writing over its arguments and environment" {
	host titled 900
}

@test "a sandbox without open and clone" {
	host sandboxed 300
	profile_host "$hosts/sandboxed" kill
	expect_launches 300
}

@test "a sandbox that kills, and all descriptors closed: the program ends as alone" {
	run_profile -gpu-only --unit ns -o out.folded "$hosts/sandboxed" kill closed
	expect_status 0
	expect stdout <<<'launches 300'
	expect_line out.folded '\[GPU_Kernel\]before.* 99000$'
	expect_line stderr 'traced process ended (without a goodbye|by _exit or exec)'
}

@test "another root" {
	mkdir empty
	profile_host "$hosts/sandboxed" "$PWD/empty"
	expect_launches 300
	expect_line stacks "^$(stacks_of '100\.0') "
	expect_line out.folded ';main;(launch_inside;){100}cudaLaunchKernel;\[GPU_Kernel\]inside'
}

# The process's mappings are known all the same.
@test "another root, or a sandbox, before the first launch" {
	mkdir empty
	for how in "$PWD/empty" kill; do
		profile_host "$hosts/sandboxed" "$how" first
		expect_launches 200
		expect_line stacks "^$(stacks_of '100\.0') "
		expect_line out.folded ';main;(launch_inside;){100}cudaLaunchKernel;\[GPU_Kernel\]inside'
		expect_no_line out.folded '\[unknown\]'
	done
}

@test "a process that goes on without its first thread, and then starts CUDA" {
	host first_thread_ends 300
	expect_line out.folded ';go_on;launch_alone;cudaLaunchKernel;\[GPU_Kernel\]tiny'
}

@test "floating-point exceptions that end the program" {
	host traps_inexact 20000
	host traps_inexact 20000 --max-overhead 1
}

# sanitized NAME OPTIONS
sanitized()
{
	if [ ! -e "$hosts/short_threads_$1" ]; then
		skip "the compiler has no runtime of -fsanitize=$1"
	fi
	env "$2" "$hosts/short_threads_$1" 2000 >alone 2>&1 || skip "it does not run here: $(tail -1 alone)"
	export "${2?}"
	profile_host "$hosts/short_threads_$1" 2000
	expect_launches 2000
	expect_no_line stderr Sanitizer
}

@test "a program with AddressSanitizer" {
	sanitized address ASAN_OPTIONS=detect_leaks=1
}

@test "a program with ThreadSanitizer" {
	sanitized thread TSAN_OPTIONS=halt_on_error=0
}

# allocator NAME: a program that has it preloaded
allocator()
{
	local library

	library=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -n "s/.*\\<$1.* => //p" | head -1)
	if [ -z "$library" ]; then skip "$1 is not installed"; fi
	profile_host env LD_PRELOAD="$library" "$hosts/thread_ends"
	expect_launches 5800
	profile_host env LD_PRELOAD="$library" "$hosts/short_threads"
	expect_launches 10000
}

@test "jemalloc" {
	allocator 'libjemalloc\.so'
}

@test "tcmalloc" {
	allocator 'libtcmalloc[a-z_]*\.so'
}
