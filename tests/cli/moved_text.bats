# SPDX-License-Identifier: MIT
# Programs that move their text to other memory, to have it in huge pages: names and whole stacks as in their file.

load hosts

setup()
{
	enter_test_folder
	with_details
	needs_root
	targets=()
}

teardown()
{
	for target in "${targets[@]}"; do kill -KILL "$target" 2>/dev/null || true; done
}

readonly ways='fixed mremap named memfd shared pieces segment segment_memfd'

# start_moved ARGUMENTS...: of moves_text; it has moved its text.
start_moved()
{
	start out.moved "$hosts/moves_text" "$@"
	wait_until grep -qx moved out.moved
}

expect_named()
{
	expect_status 0
	expect_line out.folded ';main;(work_moved;)?burn_moved( |;)'
	# a short process may have ended before its moved text was looked at: what it does at its exit is sampled then
	grep -v ';exit;__run_exit_handlers;' out.folded >named
	expect_no_line named '\[jit\]|\[unknown\]|\[moves_text'
}

expect_launches_named()
{
	expect_line out.folded '^_start;(.*;)?main;work_moved;launch_moved;cudaLaunchKernel;\[GPU_Kernel\]from_moved'
	expect_line stacks "^$(whole_launches '100\.0')"
	expect_no_line out.folded '\[jit\];.*\[GPU_Kernel\]'
}

@test "text that is moved while it is profiled" {
	for way in $ways; do
		run_profile --strict -F 499 --unit ns -o out.folded "$hosts/moves_text" "$way" 500
		expect_named
		expect_launches_named
		expect_line stderr " $(launched 50 50) "
	done
}

@test "text that was moved before: attached" {
	for way in $ways; do
		start_moved "$way" 60000
		run_profile -F 499 --unit ns -d 500ms -p "$target" -o out.folded
		expect_named
		expect_launches_named
		kill -KILL "$target"
	done
}

@test "text that was moved, and launches alone: attached, and from the start" {
	for way in fixed segment; do
		start_moved "$way" 60000
		run_profile -gpu-only --unit ns -d 500ms -p "$target" -o out.folded
		expect_status 0
		expect_launches_named
		kill -KILL "$target"
		profile_host "$hosts/moves_text" "$way" 500
		expect_launches
		expect_launches_named
	done
}

@test "text that a parent has moved: its child, and programs that move theirs one after the other" {
	for way in fixed segment memfd; do
		run_profile -F 499 --unit ns -o out.folded "$hosts/moves_text" "$way" 500 child
		expect_named
	done
	start_moved fixed 60000 child
	child=$(pgrep -P "$target")
	targets+=("$child")
	run_profile -F 499 --unit ns -d 500ms -p "$child" -o out.folded
	expect_named
	kill -KILL "$child"
	# shellcheck disable=SC2016
	run_profile -F 499 --unit ns -o out.folded sh -c '"$1" fixed 300; exec "$1" segment_memfd 300' sh "$hosts/moves_text"
	expect_named
}

@test "code that is generated in the place of text is none" {
	run_profile -F 499 --unit ns -o out.folded "$hosts/moves_text" jit 500
	expect_status 0
	expect_line out.folded ';main;(.*;)?\[jit\]( |;)'
	expect_line out.folded ';main;(.*;)?\[jit\];launch_by_generated;cudaLaunchKernel;\[GPU_Kernel\]from_generated'
	expect_no_line out.folded 'unused_code|_moved|hot_text'
	start_moved jit 60000
	run_profile -F 499 --unit ns -d 500ms -p "$target" -o out.folded
	expect_status 0
	expect_line out.folded ';main;(.*;)?\[jit\]( |;)'
	expect_no_line out.folded 'unused_code|_moved|hot_text'
}

@test "launches of programs that end at once, and traces" {
	library=$("$profile" --print-injection-path)
	for way in $ways; do
		profile_host "$hosts/moves_text" "$way" 20
		expect_launches 2
		expect_launches_named
		rm -f run.trace
		run_command env CUDA_INJECTION64_PATH="$library" INJECTION_TRACE=run.trace "$hosts/moves_text" "$way" 10
		expect_status 0
		run_profile --from run.trace --unit ns -o out.folded
		expect_status 0
		expect_launches_named
	done
	rm -f run.trace
	run_command env CUDA_INJECTION64_PATH="$library" INJECTION_TRACE=run.trace "$hosts/moves_text" jit 10
	expect_status 0
	run_profile --from run.trace --unit ns -o out.folded
	expect_status 0
	expect_line out.folded ';main;(.*;)?\[jit\];launch_by_generated;cudaLaunchKernel;\[GPU_Kernel\]from_generated'
}
