# SPDX-License-Identifier: MIT
# -p, --name, --cgroup: processes that already run. They are not to notice.

load helpers

setup()
{
	enter_test_folder
	needs_root
	cp "$workloads/attach_target" "atd$$" # a name of our own, for --name
	workload=$PWD/atd$$
	targets=()
}

teardown()
{
	for target in "${targets[@]}"; do kill -KILL "$target" 2>/dev/null || true; done
	if [ -n "${group-}" ]; then rmdir "$group/inner" "$group" || true; fi
	if [ -n "${pid-}" ]; then
		# shellcheck disable=SC2046
		kill -KILL $(worker_of "$pid") "$pid" 2>/dev/null || true
	fi
}

# start_target [ARGUMENTS...]: of the workload; sets $target when it runs, and $printed.
start_target()
{
	start "out.${#targets[@]}" "$workload" "$@"
	wait_until grep -qx ready "$printed"
}

# One that launches kernels.
start_launches()
{
	start out.steady "$workloads/steady" 120000
	wait_until grep -q work out.steady
}

# The target ends as if nobody had looked at it.
expect_unharmed()
{
	local status=0

	kill -TERM "$target"
	wait "$target" || status=$?
	if [ "$status" != 7 ] || [ "$(tail -n 1 "$printed")" != ended ]; then
		echo "the target's status is $status"
		cat "$printed"
		return 1
	fi
}

# The profiler $pid has attached to $1 processes.
has_attached()
{
	grep -qE "^profile: $(attached_to "$1 process")(es)?\$" stderr
}

# start_attached COUNT ARGUMENTS...: profile, in the background, until it has attached to so many.
start_attached()
{
	local count=$1

	shift
	start_profile -v -F 997 --unit ns -o out.folded "$@"
	wait_until has_attached "$count"
}

# expect_samples FUNCTION: there are some.
expect_samples()
{
	expect_line out.folded ";main;(.*;)?$1( |;)|;start_thread;run_thread;$1( |;)"
}

# Waits until process $1 has used 300 ms more of CPU time.
burn_some()
{
	local before

	before=$(cpu_ms "$1")
	wait_until burnt "$1" $((before + 300))
}

cpu_ms()
{
	awk '{ sub(/^.*\) /, ""); print ($12 + $13) * 10 }' "/proc/$1/stat"
}

burnt()
{
	[ "$(cpu_ms "$1")" -ge "$2" ]
}

# bats test_tags=quick
@test "one process, for the time of -d: it goes on, and profile ends with 0" {
	start_target
	run_profile -F 997 --unit ns -p "$target" -d 500ms -o out.folded -o out.html -o out.profile
	expect_status 0
	expect_no_line stderr '^profile: '
	expect_samples burn_main
	expect_folded out.folded
	expect_no_line out.folded burn_next
	expect_unharmed
	run_profile --from out.profile --unit ns -o again.folded
	expect_status 0
	cmp out.folded again.folded
}

@test "descendants: those there are, and those that start meanwhile" {
	start_target 3
	start_attached 4 -p "$target" --by process
	kill -USR1 "$target"
	wait_until seen_children 4
	for child in $(children_of "$target"); do burn_some "$child"; done
	kill -INT "$pid"
	finish_profile
	expect_status 0
	expect_samples burn_main
	expect_equal 'children before' \
		"$(sed -n 's/^\([^;]*\);.*;burn_before .*/\1/p' out.folded | sort -u | wc -l)" 3
	expect_equal 'children during' \
		"$(sed -n 's/^\([^;]*\);.*;burn_during .*/\1/p' out.folded | sort -u | wc -l)" 1
	expect_unharmed
}

children_of()
{
	cat "/proc/$1/task/$1/children"
}

seen_children()
{
	[ "$(children_of "$target" | wc -w)" = "$1" ]
}

@test "two processes, with a comma and with two options; a third is not looked at" {
	start_target
	first=$target
	start_target
	other=$target
	start_target 0 1
	for pids in "-p $first,$other" "-p $first -p $other"; do
		# shellcheck disable=SC2086
		run_profile -F 997 --unit ns --by process $pids -d 500ms -o out.folded
		expect_status 0
		expect_line out.folded "^atd$$ $first;"
		expect_line out.folded "^atd$$ $other;"
		expect_no_line out.folded "^atd$$ $target;|burn_thread"
	done
}

@test "a process that executes another program" {
	start_target
	start_attached 1 -p "$target"
	burn_some "$target"
	kill -USR2 "$target"
	wait_until grep -qz next "/proc/$target/cmdline"
	burn_some "$target"
	kill -TERM "$pid"
	finish_profile
	expect_status 0
	expect_samples burn_main
	expect_samples burn_next
	expect_unharmed
}

@test "when all of them have ended, the result is written" {
	start_target 2
	start_attached 3 -p "$target"
	burn_some "$target"
	expect_unharmed
	finish_profile
	expect_status 0
	expect_samples burn_main
	expect_samples burn_before
}

@test "CPU time counts from then on, and adds up" {
	with_details
	start_target 0 2
	burn_some "$target"
	run_profile -F 997 --unit ns -p "$target" -d 1 -o out.folded
	expect_status 0
	# what was used before is as much again: it would lack samples
	used=$(sed -n 's/^CPU: \([0-9.]*\) s used, .*/\1/p' used)
	awk -v used="$used" -v shown="$(weight_of out.folded)" \
		'BEGIN { exit !(used > 0 && shown > 0.9 * used * 1e9 && shown < 1.1 * used * 1e9) }'
}

@test "--wall: threads that sleep since before, too" {
	start_target
	first=$target
	start out.sleep sleep 600
	wait_until grep -qx sleep "/proc/$target/comm"
	run_profile --wall --unit ns --by process -p "$first,$target" -d 1 -o out.folded
	expect_status 0
	expect_line out.folded "^sleep $target;.*;\[blocked: sleep\] [0-9]{9,}$"
	expect_line out.folded "^atd$$ $first;.*;burn_main[ ;]"
	expect_line stderr "^$(wall_of '2 threads'), "
}

@test "--wall: a sleep that a stop has interrupted before" {
	start out.sleep sleep 600
	wait_until grep -q '^230 ' "/proc/$target/syscall"
	kill -STOP "$target"
	wait_until grep -q '^State:.T' "/proc/$target/status"
	kill -CONT "$target"
	wait_until grep -q '^219 ' "/proc/$target/syscall"
	run_profile --wall -cpu-only --unit ns -d 0.2 -p "$target" -o out.folded
	expect_status 0
	expect_line out.folded ';\[blocked: sleep\] [0-9]*$'
	expect_no_line out.folded 'system call'
}

@test "50 threads" {
	start_target 0 50
	run_profile -F 997 --unit ns --by thread -p "$target" -d 3 -o out.folded
	expect_status 0
	expect_samples burn_thread
	threads=$(grep burn_thread out.folded | sed 's/;.*//' | sort -u | wc -l)
	[ "$threads" -ge 25 ] || { echo "only $threads threads were seen"; return 1; }
	expect_unharmed
}

@test "ten times in a row" {
	start_target 2 2
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		run_profile -q -F 997 -p "$target" -d 200ms -o "out.folded"
		expect_status 0
		expect_samples 'burn_(main|before|thread)'
	done
	expect_unharmed
}

@test "short processes that start and end at any moment" {
	cat >starts <<-'END'
		while :; do
			for i in 1 2 3 4; do (: | true) & done
			wait
		done
	END
	start out.starts sh starts
	for _ in 1 2 3 4 5 6 7 8; do
		run_profile -F 997 --unit ns -p "$target" -d 100ms -o out.folded
		expect_status 0
		expect_folded out.folded
	done
	# and some that are gone when we look
	for _ in 1 2 3 4 5 6 7 8; do
		sh -c ':' 3>&- &
		run_profile -q -p $! -d 100ms -o out.folded
		[ "$status" = 0 ] || [ "$status" = 125 ] || expect_status 0
		if [ "$status" = 125 ]; then expect_line stderr '^profile: .*(no process|ended)'; fi
	done
}

@test "--no-inject: calls of CUDA are timed in a process that runs already" {
	start_launches
	run_profile --unit ns --no-inject -p "$target" -d 1 -o out.folded
	expect_status 0
	expect_no_line stderr '^profile: '
	expect_line stderr '^GPU time is not measured with --no-inject; the wall time of CUDA calls is shown instead$'
	expect_line stderr "^$(calls_timed '[1-9][0-9]*' '1 process'), "
	expect_line out.folded ';main;launch_work;cudaLaunchKernel;\[CUDA call, wall time\]steady_work [0-9]+$'
	expect_line out.folded ';main;cudaStreamSynchronize;\[CUDA call, wall time\] [0-9]+$'
	kill -0 "$target"
	expect_no_line "/proc/$target/maps" profile
	run_profile --unit ns -gpu-only --no-inject -p "$target" -d 1 -o out.folded
	expect_status 0
	expect_no_line out.folded 'clock_nanosleep'
	expect_line out.folded ';cudaLaunchKernel;\[CUDA call, wall time\]'
}

@test "Python functions of a process that runs already" {
	needs_python
	cat >busy.py <<-'END'
		def inner():
		    return sum(i * i for i in range(1000))
		def busy():
		    while True:
		        inner()
		print("ready", flush=True)
		busy()
	END
	start out.python "$python" busy.py
	wait_until grep -q ready out.python
	run_profile -F 997 --unit ns -p "$target" -d 1 -o out.folded
	expect_status 0
	expect_line out.folded ';busy \(busy\.py\);inner \(busy\.py\)'
}

@test "--name: as pgrep finds them, and never profile itself" {
	start_target
	first=$target
	start_target
	run_profile -F 997 --unit ns --by process --name "^atd$$\$" -d 500ms -o out.folded
	expect_status 0
	expect_line out.folded "^atd$$ $first;"
	expect_line out.folded "^atd$$ $target;"
	run_profile --name 'no such process here' -d 1 -o none.folded
	expect_status 125
	expect_line stderr "^profile: no process is named like 'no such process here'; its name \(comm\), what it was started as or its title \(argv\[0\]\), and the script or module of an interpreter were compared: ps -eo pid,comm,args shows them$"
	expect_no_file none.folded
	run_profile --name '(' -o none.folded
	expect_status 125
	cp "$profile" "prof$$"
	run_command "./prof$$" --name "prof$$" -d 1 -o none.folded
	expect_status 125
	expect_line stderr '^profile: no process is named like '
}

@test "--name: titles, and the scripts and modules of interpreters" {
	local name

	needs_command python3
	mkdir -p "exp$$"
	cat >"exp$$/titled$$.py" <<-'END'
		import ctypes, sys, time
		# as setproctitle does: over the arguments, and the kernel's name
		if len(sys.argv) > 1:
		    title = sys.argv[1].encode()
		    with open('/proc/self/stat') as f:
		        fields = f.read().rsplit(')', 1)[1].split()
		    start, end = int(fields[45]), int(fields[46])
		    room = end - start
		    libc = ctypes.CDLL(None)
		    ctypes.memmove(start, title[:room - 1] + b'\0' * (room - len(title[:room - 1])), room)
		    libc.prctl(15, title[:15], 0, 0, 0)
		print('ready', flush=True)
		end = time.time() + 600
		while time.time() < end: sum(range(1000))
	END
	: >"exp$$/__init__.py"
	# finds NAME COMMAND...: while the command runs, --name NAME finds it
	finds()
	{
		local name=$1 titled

		shift
		rm -f out.title
		"$@" >out.title 2>&1 </dev/null 3>&- &
		titled=$!
		wait_until grep -q ready out.title
		run_profile -F 997 --no-inject --by process --name "$name" -d 200ms -o out.folded
		kill "$titled"
		wait "$titled" || true
		[ "$status" = 0 ] || { cat stderr; echo "$name" finds not "$*"; return 1; }
		expect_line out.folded " $titled;"
	}
	finds "worker-$$/rank 3" python3 "exp$$/titled$$.py" "worker-$$/rank 3 of a job"
	finds "^/srv/model-$$/x" python3 "exp$$/titled$$.py" "/srv/model-$$/x is a very long title"
	finds "a-long-title-of-$$\$" python3 "exp$$/titled$$.py" "a-long-title-of-$$"
	finds "^titled$$\\.py\$" python3 -u -W ignore "exp$$/titled$$.py"
	finds "^exp$$/titled" python3 "exp$$/titled$$.py"
	finds "$PWD/exp$$/" python3 "$PWD/exp$$/titled$$.py"
	finds "^exp$$\\.titled$$\$" python3 -um "exp$$.titled$$"
	# an argument, and a folder of an absolute path, are no names
	for name in "arg$$" "exp$$"; do
		run_profile -F 997 --no-inject --name "$name" -d 200ms -o out.folded
		expect_status 125
	done
}

@test "--cgroup: its processes, and those of groups in it" {
	local mount

	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$mount" ] || skip 'there is no cgroup2 here'
	group=$mount/profile$$
	mkdir "$group" "$group/inner" 2>/dev/null || skip 'cgroups cannot be made here'
	start_target
	first=$target
	start_target 0 1
	other=$target
	start_target
	echo "$first" >"$group/cgroup.procs"
	echo "$other" >"$group/inner/cgroup.procs"
	for path in "$group" "/profile$$"; do
		run_profile -F 997 --unit ns --by process --cgroup "$path" -d 500ms -o out.folded
		expect_status 0
		expect_line out.folded "^atd$$ $first;"
		expect_line out.folded "^atd$$ $other;"
		expect_no_line out.folded "^atd$$ $target;"
	done
	kill -KILL "$first" "$other"
	wait "$first" "$other" || true
	run_profile --cgroup "$group" -o none.folded
	expect_status 125
	expect_line stderr '^profile: --cgroup .*: the cgroup has no processes$'
	run_profile --cgroup /no/such/group -o none.folded
	expect_status 125
	expect_line stderr '^profile: --cgroup /no/such/group: there is no such cgroup; '
}

@test "processes that cannot be profiled: one line, and status 125" {
	start_target 0 1
	thread=$(cd "/proc/$target/task" && printf '%s\n' * | tail -n 1)
	sh -c 'exit 0' 3>&- &
	gone=$!
	wait "$gone"
	cat >cases <<-END
		-p $gone|there is no process $gone here; ps -e lists those there are, and --name finds one by its name
		-p 2|process 2 (kthreadd) is a kernel thread
		-p $thread|$thread is a thread of process $target: use -p $target
		-p 1,x|-p takes numbers of processes, separated by commas, not '1,x'
		-p 0|-p takes numbers of processes, separated by commas, not '0'
		-p $target -- true|-p profiles processes that already run: no command with it
		-p $target --nvtx|--nvtx needs the start of a command, where NVTX looks for a tool: not with -p
		--name atd --stalls|--stalls needs the start of a command: profile sets CUPTI up for it as contexts begin: not with --name
		-p $target --alloc --no-inject|$(needs_gpu_time --alloc --no-inject)
		--no-inject -- true|--no-inject is for processes that already run: -p, --name or --cgroup
		-p $target --save-input x|--save-input keeps a run from its command's start: not with -p
	END
	while IFS='|' read -r arguments message; do
		# shellcheck disable=SC2086
		run_profile -o none.folded $arguments
		expect_status 125
		expect_equal message "$(head -n 1 stderr)" "profile: $message"
		expect_no_file none.folded
	done <cases
	expect_unharmed
}

@test "under sudo: another user's process only with --as-root" {
	start_target
	as_tester "$profile" -p "$target" -d 200ms -o theirs/out.folded
	expect_status 125
	expect_line stderr "^profile: process $target belongs to root, or has more privileges than this user: permission denied; under sudo, use --as-root$"
	as_tester "$profile" -F 997 --as-root -p "$target" -d 500ms -o theirs/out.folded
	expect_status 0
	cp theirs/out.folded .
	expect_samples burn_main
	expect_unharmed
	start out.theirs setpriv --reuid 4242 --regid 4242 --clear-groups "$workload"
	wait_until grep -q ready out.theirs
	as_tester "$profile" -F 997 -p "$target" -d 500ms -o theirs/own.folded
	expect_status 0
	cp theirs/own.folded out.folded
	expect_samples burn_main
}

# As of a setuid program, which sudo and su are.
@test "under sudo: a program that the user may not read, executed by one of theirs" {
	cp "$workload" unreadable
	chmod 711 unreadable
	mkfifo go
	chmod 666 go
	start out.theirs setpriv --reuid 4242 --regid 4242 --clear-groups \
		sh -c "echo ready; read line <go; exec ./unreadable"
	wait_until grep -qx ready out.theirs
	# in the background of a shell of the tester's
	cat >look.sh <<-END
		"$profile" -v -F 997 -p $target -o theirs/out.folded 2>theirs/stderr &
		until grep -q 'attached to 1' theirs/stderr; do sleep 0.1; done
		echo >go
		until [ "\$(grep -c ready out.theirs)" = 2 ]; do sleep 0.1; done
		until [ "\$(awk '{ print \$14 }' "/proc/$target/stat")" -ge 50 ]; do sleep 0.1; done
		kill -TERM \$! && wait \$!
	END
	as_tester sh look.sh
	expect_status 0
	expect_line theirs/out.folded 'unreadable|burn_main'
	[ "$(awk '{ sum += $NF } END { print sum }' theirs/out.folded)" -gt 10 ]
	kill -KILL "$target"
}

@test "under sudo: another user's process whose first thread has ended, only with --as-root" {
	with_details
	cat >headless.c <<-'END'
		#include <pthread.h>
		static void *burn_main(void *unused)
		{
			for (volatile long i = 0;; i++)
				;
			return unused;
		}
		int main(void)
		{
			pthread_t thread;

			pthread_create(&thread, 0, burn_main, 0);
			pthread_exit(0);
		}
	END
	gcc -O1 -fno-omit-frame-pointer -pthread -o headless headless.c
	start out.headless ./headless
	# the first thread has ended, and has no memory that the kernel could ask about
	wait_until grep -q '^State:.*Z' "/proc/$target/status"
	as_tester "$profile" -p "$target" -d 200ms -o theirs/out.folded
	expect_status 125
	expect_line stderr "^profile: process $target belongs to root, or has more privileges than this user"
	as_tester "$profile" -v -F 997 --as-root -p "$target" -d 2s -o theirs/out.folded
	expect_status 0
	expect_line stderr "^$(cpu_samples '[1-9][0-9]*')"
	# what is mapped is read, which the kernel does not show of the first thread
	expect_line theirs/out.folded '[;]burn_main( |;)'
	expect_no_line theirs/out.folded '[[]unknown[]]'
	kill -KILL "$target"
	start out.headless env LD_PRELOAD="$fake_cuda/libcuda.so.1" ./headless
	wait_until grep -q '^State:.*Z' "/proc/$target/status"
	run_profile -p "$target" -d 200ms -o out.folded
	expect_status 0
	expect_line stderr "^$no_gpu_time process $target continues although its main thread has ended, so its CUDA calls cannot be timed either\$"
}

@test "a user without privilege is told what it needs" {
	start_target
	needs_command setpriv
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups "$profile" -p "$target" -o /dev/null
	expect_status 125
	expect_line stderr "^profile: processes that already run: loading $no_bpf_words; $advice\$"
	expect_unharmed
}

@test "--delay: what it did until then is not looked at" {
	start_target
	start_profile -v --unit ns -F 997 --delay 600 -p "$target" -o none.folded
	wait_until has_worker
	kill -INT "$pid"
	finish_profile
	expect_status 130
	expect_no_file none.folded
	run_profile --unit ns -F 997 --delay 300ms -d 300ms -p "$target" -o out.folded
	expect_status 0
	expect_samples burn_main
	expect_unharmed
}

@test "--delay: the processes end before, and profile does" {
	start_target
	start_profile -v --delay 10000 -p "$target" -o none.folded
	wait_until grep -q "looked at after --delay" stderr
	expect_unharmed
	finish_profile
	expect_status 125
	expect_line stderr '^profile: cannot follow the processes: they have ended$'
	expect_no_file none.folded
	# the same while nobody writes `start`
	start_target
	start_profile -v --control control --delay start -p "$target" -o none.folded
	wait_until grep -q "looked at after --delay" stderr
	expect_unharmed
	finish_profile
	expect_status 125
	expect_no_file none.folded
	expect_no_file control
}

@test "the profiler is killed: nothing of it stays" {
	start_launches
	start_attached 1 -p "$target"
	worker=$(worker_of "$pid")
	kill -KILL "$worker"
	finish_profile
	expect_status 125
	expect_line stderr "^profile: $profiler_killed"
	wait_until more_lines "$(wc -l <out.steady)"
	expect_no_file out.folded
}

has_worker()
{
	[ -n "$(worker_of "$pid")" ]
}

more_lines()
{
	[ "$(wc -l <out.steady)" -gt "$1" ]
}
