# SPDX-License-Identifier: MIT
# Signals to the profiler and to the command; the profile is written whatever happens.

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_root
}

# start_ready ARGUMENTS...: in the background; returns when the command is ready.
start_ready()
{
	start_profile "$@"
	wait_until grep -qs ready stdout
}

# state_is PID LETTER: as /proc has it; T is stopped.
state_is()
{
	[ "$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status")" = "$2" ]
}

# bats test_tags=quick
@test "SIGINT goes to the command; the profile is written" {
	start_ready -o out.folded "$workloads/exits" sleep
	kill -INT "$pid"
	finish_profile
	expect_status $((128 + 2))
	expect_line stderr '^Wrote [0-9]+ stacks? .* to out\.folded$'
	expect_folded out.folded
}

@test "SIGTERM and SIGHUP likewise" {
	for signal in TERM HUP; do
		rm -f stdout
		start_ready -o out.folded "$workloads/exits" sleep
		kill -$signal "$pid"
		finish_profile
		expect_status $((128 + $(kill -l $signal)))
		expect_line stderr "^$wrote "
	done
}

@test "a command that handles SIGTERM ends in its own way" {
	start_ready -o out.folded "$workloads/exits" ignore-int
	kill -TERM "$pid"
	finish_profile
	expect_status 7
	expect_line stderr "^$wrote "
}

@test "a command that ignores SIGINT continues; a second SIGINT kills it" {
	start_ready -o out.folded "$workloads/exits" ignore-int
	kill -INT "$pid"
	wait_until signals_taken "$pid"
	[ -n "$(child_of "$pid")" ]
	expect_empty stderr
	kill -INT "$pid"
	finish_profile
	expect_status $((128 + 9))
	expect_line stderr '^profile: interrupted again: killing the command$'
	expect_line stderr "^$wrote "
}

@test "other signals reach the command, and end no other process" {
	cat >work <<-'END'
		for s in USR1 USR2 ALRM RTMIN+3; do trap "echo $s" $s; done
		trap 'exit 5' TERM
		echo ready
		while :; do sleep 0.01; done
	END
	start_ready -o out.folded bash work
	for signal in USR1 USR2 ALRM RTMIN+3; do
		kill -s $signal "$pid"
		wait_until grep -qs "^$signal$" stdout
	done
	kill -TERM "$pid"
	finish_profile
	expect_status 5
	expect_line stderr "^$wrote "
}

@test "a signal before the command runs: it does not run, or is ended by it" {
	# the command is at its gate for a moment only: several tries, each a little later
	for delay in 0 0.01 0.02 0.03 0.05 0.07 0.1 0.15 0.2; do
		start_profile -q -o out.folded "$workloads/exits" sleep
		# until then SIGINT is ignored, as for all that a shell puts into the background
		for ((i = 0; i < 100000; i++)); do
			if read -r name <"/proc/$pid/comm" && [ "$name" = profile ]; then break; fi
		done
		sleep $delay
		kill -INT "$pid"
		finish_profile
		expect_status 130
	done
}

# ---- a profiler that does not end ----

# Fills the pipe at stdout: 64 KiB, or until a smaller one blocks.
fill_pipe()
{
	timeout 10 dd if=/dev/zero bs=65536 count=1 status=none || true
}

# stuck_profile ARGUMENTS...: the worker does nothing any more; what a file can do to it that is never
# read. Sets $worker.
stuck_profile()
{
	mkdir -p private
	TMPDIR=$PWD/private start_ready "$@"
	worker=$(worker_of "$pid")
	child=$(child_of "$pid")
	kill -STOP "$worker"
	wait_until state_is "$worker" T
}

@test "a second SIGINT ends even a stuck profiler" {
	stuck_profile -o out.folded "$workloads/exits" ignore-int
	kill -INT "$pid"
	wait_until signals_taken "$pid"
	kill -INT "$pid"
	finish_profile
	expect_status 130
	expect stderr <<<"$gave_up"
	expect_no_file out.folded
	expect_equal 'left in TMPDIR' "$(ls -A private)" ''
	wait_until no_process_with "TMPDIR=$PWD/private"
}

# The worker of the profiler $pid waits for an answer of the file system.
worker_is_stuck()
{
	local worker

	worker=$(worker_of "$pid")
	[ -n "$worker" ] && grep -qs '^request_wait_answer' "/proc/$worker/wchan"
}

@test "a second SIGINT ends even a profiler in an unkillable wait" {
	mount_stuck_file lookup
	start_profile -o mount/file touch has_run
	wait_until worker_is_stuck # it looks for the output
	kill -INT "$pid"
	wait_until signals_taken "$pid"
	kill -INT "$pid"
	finish_profile
	expect_status 130
	expect stderr <<<"$gave_up"
	kill -TERM "$fuse"
	wait "$fuse" || true
	expect_no_file has_run
}

@test "a second SIGINT while the profile is written gives up at once" {
	mkfifo out.folded
	exec 8<>out.folded
	fill_pipe >&8
	start_profile -gpu-only --unit ns -o out.folded "$workloads/launches" 40
	wait_until grep -qs "^$(correlation '.*' '.*' '.*')" stderr
	kill -INT "$pid"
	wait_until grep -qs 'another Ctrl-C gives up$' stderr
	kill -INT "$pid"
	finish_profile
	exec 8>&-
	expect_status 130
	expect_line stderr "^$gave_up\$"
}

@test "the worker is killed: this is reported, and nothing is left" {
	mkdir private
	echo 'old 1' >out.folded
	TMPDIR=$PWD/private start_ready -o out.folded "$workloads/exits" ignore-int
	child_of "$pid" >survivor
	kill -KILL "$(worker_of "$pid")"
	finish_profile
	expect_status 125
	expect stderr <<<"profile: $profiler_killed (out of memory?): no profile was written"
	expect out.folded <<<'old 1'
	expect_equal 'files' "$(find . -name '*profile*' -o -name '.*.folded*')" ''
	expect_equal 'left in TMPDIR' "$(ls -A private)" ''
	kill -TERM "$(cat survivor)" # it goes on
}

# start_job ARGUMENTS...: as start_profile, by a shell with job control: in a group of processes of its
# own. Sets $shell, too, which ends as the profiler does.
start_job()
{
	cat >shell <<-'END'
		set -m
		"$@" >stdout 2>stderr &
		echo $! >job
		wait -f $!
	END
	bash shell "$profile" ${details:+"$details"} "$@" </dev/null 3>&- &
	shell=$!
	wait_until test -s job
	pid=$(cat job)
}

finish_job()
{
	pid=$shell
	finish_profile
}

@test "Ctrl-Z stops the profiler and the command, fg continues them" {
	start_job -gpu-only -o out.folded "$workloads/inference" 150
	wait_until command_is_traced
	kill -TSTP -- "-$pid"
	for id in "$pid" "$(worker_of "$pid")" "$child"; do wait_until state_is "$id" T; done
	kill -CONT -- "-$pid"
	finish_job
	expect_line stderr "^$(correlation 11100)\$"
	expect_status 0
}

@test "SIGINT in the middle of GPU work: nothing of it is lost" {
	cat >work <<-'END'
		trap 'exit 42' INT
		"$1" 40
		echo ready
		while :; do sleep 0.01; done
	END
	start_ready -gpu-only --unit ns -o out.folded bash work "$workloads/launches"
	kill -INT "$pid"
	finish_profile
	expect_status 42
	expect_line stderr "^$(correlation 40)\$"
	expect_equal ns "$(weight_of out.folded)" 40000
}

@test "Ctrl-C at a terminal reaches the command once" {
	needs_command script
	mkfifo keyboard
	status=0
	# exec: a shell that stays in between, as dash does, gets the SIGINT too and dies of it
	timeout -k 5 "$patience" \
		script -qec "exec '$profile' -o out.folded '$workloads/exits' count-int" /dev/null \
		<keyboard >stdout 2>stderr 3>&- &
	local terminal=$!
	exec 9>keyboard
	wait_until grep -qs ready stdout
	printf '\003' >&9
	wait "$terminal" || status=$?
	exec 9>&-
	expect_status 42
	expect_line stdout 'interrupts 1.?$'
	expect_line stdout '^Wrote: out\.folded.?$'
}

@test "SIGINT while the profile is written changes nothing" {
	mkfifo out.folded
	exec 8<>out.folded
	# the profiler stays at its last step until somebody reads
	fill_pipe >&8
	start_profile -gpu-only --unit ns -o out.folded "$workloads/launches" 40
	wait_until grep -qs "^$(correlation '.*' '.*' '.*')" stderr
	kill -INT "$pid"
	wait_until grep -qs '^profile: the profile is being written; another Ctrl-C gives up$' stderr
	exec 7<out.folded 8>&-
	tr -d '\0' <&7 >got
	exec 7>&-
	finish_profile
	expect_status 0
	expect_line stderr "^$wrote "
	expect_equal ns "$(weight_of got)" 40000
}

@test "at a terminal the command's output stands alone until it ends" {
	needs_command script
	status=0
	timeout -k 5 "$patience" script -qec "exec '$profile' -o out.folded '$workloads/inference' 60" \
		/dev/null </dev/null >stdout 2>stderr 3>&- || status=$?
	expect_status 0
	expect_equal 'first line' "$(head -n 1 stdout | tr -d '\r')" \
		'requests 60 kernels 4440 gpu_ns 1592400000 cpu_ns 720000000'
	expect_no_line stdout $'\e'
}

@test "kill -9 of the command: a profile up to then" {
	start_profile -o out.folded "$workloads/inference" 100000
	wait_until command_is_traced
	# of CPU time: samples, and work whose records have arrived
	wait_until used_cpu_seconds "$child" 2
	sleep 2
	kill -KILL "$child"
	finish_profile
	expect_status $((128 + 9))
	expect_line stderr "^$(cpu_samples '[1-9][0-9]*'), $(launched '[1-9][0-9]*' '[1-9][0-9]*')"
	expect_line stderr "^$(correlation '[1-9][0-9]*' '[0-9]+')\$"
	expect_line stderr 'was killed: GPU work of its last 50 ms is missing'
	expect_folded out.folded
	expect_totals out.folded
	expect_line out.folded ';cudaLaunchKernel;\[GPU_Kernel\]model::gemm'
}

@test "kill -9 of the profiler: the command continues undisturbed" {
	mkdir private
	export TMPDIR=$PWD/private
	start_profile -o out.folded "$workloads/inference" 150
	wait_until command_is_traced
	kill -KILL "$pid"
	finish_profile
	expect_status $((128 + 9))
	wait_until grep -qs requests stdout
	expect stdout <<<'requests 150 kernels 11100 gpu_ns 3981000000 cpu_ns 1800000000'
	expect_empty stderr
	wait_until no_process_with "TMPDIR=$TMPDIR"
	expect_equal 'left in TMPDIR' "$(ls -A private)" ''
	expect_no_file out.folded
}

@test "kill -9 of the profiler while it starts leaves no process behind" {
	mkdir private
	# the command is at its gate for a moment only: several tries, each a little later
	for delay in 0.001 0.003 0.005 0.007 0.009 0.012 0.015 0.02 0.025; do
		TMPDIR=$PWD/private start_profile -q -o out.folded true
		sleep $delay
		kill -KILL "$pid" 2>/dev/null || true
		finish_profile
		wait_until no_process_with "TMPDIR=$PWD/private"
	done
}

@test "a stopped and continued command is profiled to its end" {
	start_profile -gpu-only -o out.folded "$workloads/inference" 150
	wait_until command_is_traced
	kill -STOP "$child"
	wait_until state_is "$child" T
	sleep 0.2
	kill -CONT "$child"
	finish_profile
	expect_status 0
	expect_line stderr "^$(correlation 11100)\$"
}

# ---- processes that outlive the command ----

@test "a child that outlives the command and uses the GPU is waited for" {
	cat >work <<-'END'
		"$1" 150 &
		until grep -qs libprofile_cupti /proc/$!/maps; do sleep 0.01; done
		exit 3
	END
	run_profile -gpu-only -o out.folded bash work "$workloads/inference"
	expect_status 3
	expect_line stderr "^$(correlation 11100)\$"
}

@test "Ctrl-C stops waiting for it" {
	cat >work <<-'END'
		"$1" 100000 &
		until grep -qs libprofile_cupti /proc/$!/maps; do sleep 0.01; done
		echo $! >survivor
		exit 3
	END
	start_profile -gpu-only -o out.folded bash work "$workloads/inference"
	wait_until grep -qs "$stops_waiting" stderr
	kill -INT "$pid"
	finish_profile
	expect_status 3
	expect_line stderr "still use the GPU \($(cat survivor)\); waiting for them"
	expect_line stderr "^$wrote "
	kill -KILL "$(cat survivor)"
}

@test "a profiler that is slow at the end does not take that for processes that use the GPU" {
	cat >slow.c <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <errno.h>
		#include <string.h>
		#include <sys/epoll.h>
		#include <time.h>
		int epoll_wait(int fd, struct epoll_event *events, int count, int timeout)
		{
			int (*real)(int, struct epoll_event *, int, int) = dlsym(RTLD_NEXT, "epoll_wait");
			const struct timespec slow = {1, 100000000};
			int n = real(fd, events, count, timeout);

			if (strcmp(program_invocation_short_name, "profile") == 0)
				nanosleep(&slow, 0);
			return n;
		}
	END
	gcc -shared -fPIC -o slow.so slow.c -ldl
	LD_PRELOAD=$PWD/slow.so run_profile -gpu-only -o out.folded true
	expect_status 0
	expect_line stderr 'the command did not use CUDA'
	expect_no_line stderr 'still use the GPU'
}

@test "a daemon that goes on using the GPU: CPU time after the command's end is no part of the total" {
	needs_root
	needs_command g++
	cat >late.cpp <<-'END'
		#include "tests/workloads/gpu.h"
		#include <ctime>
		#include <string>
		#include <sys/wait.h>
		#include <thread>

		GPU_KERNEL(in_daemon)

		static volatile long sum;

		static void burn(double seconds)
		{
			struct timespec now;

			do {
				for (int i = 0; i < 10000; i++)
					sum = sum + i;
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
			} while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < seconds);
		}

		static void launch()
		{
			for (int i = 0; i < 100; i++)
				GPU_CHECK(GPU_LAUNCH(nullptr, 1000, in_daemon));
			GPU_CHECK(cudaDeviceSynchronize());
		}

		/* late HOW COMMAND: works, lets the command end, and works on when it has */
		int main(int, char **argv)
		{
			std::string how = argv[1];
			pid_t command = atoi(argv[2]);

			if (how == "executed") {
				burn(3);
				return 0;
			}
			if (daemon(1, 1) != 0)
				return 1;
			burn(1);
			launch();
			fclose(fopen("ready", "w"));
			while (kill(command, 0) == 0 || access("waited_for", F_OK) != 0)
				usleep(10000);
			if (how == "thread")
				std::thread(burn, 3).join();
			if (how != "thread" && fork() == 0) {
				if (how == "exec")
					execl(argv[0], argv[0], "executed", "0", nullptr);
				burn(3);
				_exit(0);
			}
			while (wait(nullptr) > 0)
				;
			launch();
			return 0;
		}
	END
	g++ -std=gnu++17 -O1 -pthread -I"$root" -o late late.cpp -L"$fake_cuda" -lcudart
	for how in thread fork exec; do
		rm -f ready waited_for
		# shellcheck disable=SC2016 # sh's variables
		start_profile -F 499 -o out.folded -o out.json \
			sh -c './late "$0" $$; while [ ! -e ready ]; do sleep 0.05; done' "$how"
		wait_until grep -qs "$stops_waiting" stderr
		touch waited_for
		finish_profile
		expect_status 0
		expect_line stderr " $(launched 200 200) "
		expect_line stderr "^profile: 1 process $ran_on: CPU time after its end is not in the profile\$"
		expect_no_line stderr 'has no sample|not sampled'
		expect_no_line out.folded 'not sampled'
		# 1 s and what the library and the start take; 4 s were used in all
		jq -e '.processes_cpu_ns >= 1e9 and .processes_cpu_ns < 3e9' out.json
	done
}

@test "a daemon without CUDA is not waited for" {
	run_profile -o out.folded \
		sh -c 'setsid sleep 1000 >/dev/null 2>&1 & echo $! >daemon; exit 4'
	expect_status 4
	kill -KILL "$(cat daemon)" # it was still there
	expect_line stderr "^$wrote "
}

@test "a terminal that hangs up ends the command" {
	needs_command python3
	run_command python3 -c '
import os, pty, sys, time
pid, terminal = pty.fork()
if pid == 0:
	os.execv(sys.argv[1], [sys.argv[1], "-q", "-o", "x.folded", "sh", "-c", "echo $$ >child; exec sleep 600"])
while not (os.path.exists("child") and os.path.getsize("child")):
	time.sleep(0.01)
os.close(terminal)
os.waitpid(pid, 0)
' "$profile"
	expect_status 0
	if kill -0 "$(cat child)" 2>/dev/null; then return 1; fi
}
