# SPDX-License-Identifier: MIT
# Processes that run already, and whose files or memory never answer: profile ends by itself, names them, and
# records the others. A run that would not end is ended by run_profile, and has another status then.

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_root
	export FAKE_CUDA_STRICT=1
	servers=() targets=()
}

# First who serves the files: until then those who wait for them cannot be killed.
teardown()
{
	for server in "${servers[@]}"; do kill -TERM "$server" 2>/dev/null || true; done
	for target in "${targets[@]}"; do kill -KILL "$target" 2>/dev/null || true; done
}

# serve FOLDER FILE MODE: sets $fuse.
serve()
{
	mkdir -p "$1"
	"$workloads/stuck_file" "$1" "$2" "$3" >served 2>&1 3>&- &
	fuse=$!
	servers+=("$fuse")
	wait_until grep -q . served
	if ! grep -qx ready served; then skip "$(cat served)"; fi
}

start_steady()
{
	start "$1" env LD_LIBRARY_PATH="$2$fake_cuda" "${3-$workloads/steady}" 600000
	wait_until grep -q work "$1"
}

# The server answers no more.
mute()
{
	kill -USR1 "$fuse"
}

has_lines()
{
	[ "$(wc -l <"$1")" -ge "$2" ]
}

# run_beside_stuck REASON: profiles $target, which is stuck, and a process that answers. The first is named with the reason, and counts
# as one without GPU time; the other's work is whole; nothing of profile stays when the file system has ended.
run_beside_stuck()
{
	local stuck=$target

	start_steady out.other ''
	run_command env "STUCK_TEST=$BATS_TEST_TMPDIR" \
		"$profile" -v --strict --unit ns --by process -p "$stuck,$target" -d 1 -o out.folded
	expect_status 124
	expect_line stderr "^$no_gpu_time $1"
	expect_line stderr "^$(strict_says 'processes without GPU time' 1)\$"
	expect_line stderr "^$(correlation '[1-9][0-9]*')\$"
	expect_line work "$all_sums_match"
	expect_line out.folded "steady.$target;.*steady_work"
	grep -q '^State:.[^Tt]' "/proc/$stuck/status"
	grep -qx 'TracerPid:	0' "/proc/$stuck/status"
	kill -TERM "$fuse"
	wait_until no_process_with "STUCK_TEST=$BATS_TEST_TMPDIR"
}

@test "the process's folder for temporary files" {
	needs_mount_namespace
	mkdir apart
	echo x >file
	start out.steady unshare -m --propagation private sh -c "
		'$workloads/stuck_file' apart file none >served 2>&1 &
		echo \$! >server
		until grep -q . served; do sleep 0.01; done
		exec '$workloads/steady' 600000"
	wait_until grep -q . served
	if ! grep -qx ready served; then skip "$(cat served)"; fi
	fuse=$(cat server)
	servers+=("$fuse")
	wait_until grep -q work out.steady
	mute
	export TMPDIR=$PWD/apart
	run_beside_stuck "process $target has a root folder, or a folder for temporary files, that does not answer "
}

@test "its program" {
	cp "$workloads/steady" steady
	serve mount steady none
	start_steady out.steady '' mount/steady
	mute
	run_beside_stuck "process $target has a program file that does not answer "
}

@test "its C library" {
	libc=$(ldd "$workloads/steady" | sed -n 's/.*libc\.so\.6 => \([^ ]*\).*/\1/p')
	if [ -z "$libc" ]; then skip 'there is no libc.so.6'; fi
	cp -L "$libc" libc.so.6
	serve mount libc.so.6 none
	start_steady out.steady "$PWD/mount:"
	mute
	# which of its pages are there, and where its loader waits, is chance
	run_beside_stuck "process $target (has memory that does not answer|has a mapped file that does not answer|was busy at) "
}

@test "its libcudart, beside which CUPTI is looked for" {
	cp -L "$fake_cuda/libcudart.so.13" libcudart.so.13
	serve mount libcudart.so.13 none
	start_steady out.steady "$PWD/mount:"
	mute
	run_beside_stuck "$not_begun in process $target \\(it is stopped, or waits for a file that does not answer: "
}

@test "one thread executes a program that never comes" {
	printf '%s\n' '#include <pthread.h>' '#include <stdio.h>' '#include <unistd.h>' \
		'static void *run(void *path) { execl(path, path, (char *)0); return 0; }' \
		'int main(int argc, char **argv) { pthread_t t; pthread_create(&t, 0, run, argv[1]);' \
		'puts("ready"); fflush(stdout); for (;;) pause(); }' >executes.c
	cc -o executes executes.c -lpthread
	serve mount executes read
	start out.executes env LD_PRELOAD="$fake_cuda/libcuda.so.1" ./executes mount/executes
	wait_until grep -qx ready out.executes
	wait_until grep -qs request_wait_answer "/proc/$target/task/"*/wchan
	run_beside_stuck "process $target does not answer: a thread of it holds a lock, "
}

@test "until Ctrl-C: it ends then, with its result" {
	cp "$workloads/steady" steady
	serve mount steady none
	start_steady out.steady '' mount/steady
	mute
	start_profile -p "$target" -o out.folded
	wait_until grep -qs 'has a program file that does not answer ' stderr
	kill -INT "$pid"
	finish_profile
	expect_status 0
	expect_line stderr '^Wrote [0-9]* stacks? .* to out.folded$'
}

@test "stopped meanwhile: its library is waited for, but not for ever" {
	start_steady out.steady ''
	start_profile -v --unit ns -p "$target" -d 3 -o out.folded
	wait_until grep -qs "$uses_cuda; CUPTI" stderr
	done=$(wc -l <out.steady)
	wait_until has_lines out.steady $((done + 40))
	kill -STOP "$target"
	finish_profile
	expect_status 0
	kill -CONT "$target"
	expect_line out.folded 'launch_work;.*steady_work'
}
