# SPDX-License-Identifier: MIT
# GPU time of processes that already run: the library is injected, and leaves. ROUNDS says how often.

load helpers

setup()
{
	enter_test_folder
	needs_root
	export FAKE_CUDA_STRICT=1
	targets=()
}

teardown()
{
	for target in "${targets[@]}"; do kill -KILL "$target" 2>/dev/null || true; done
	if [ -n "${pid-}" ]; then
		# shellcheck disable=SC2046
		kill -KILL $(worker_of "$pid") "$pid" 2>/dev/null || true
	fi
}

start_steady()
{
	start out.steady "$workloads/steady" 600000 "$@"
	wait_until grep -q work out.steady
}

# Threads that allocate, load libraries, take signals, fork and launch, until the pipe `end` is closed.
start_restless()
{
	mkfifo end
	"$workloads/restless" 32 <end >out.restless 2>&1 3>&- &
	target=$!
	targets+=("$target")
	exec 8>end
	wait_until grep -q ready out.restless
}

# It reports faults of its own: system calls that failed.
expect_undisturbed()
{
	local status=0

	exec 8>&-
	wait "$target" || status=$?
	if [ "$status" != 0 ]; then
		cat out.restless
		return 1
	fi
}

first_number()
{
	sed -nE "s/$1/\\1/p" stderr | head -n 1
}

# Each operation that CUPTI reported is in the profile, or came after. All have their launches, but for those that were
# launched when the library had not begun.
expect_whole()
{
	local all recorded after unmatched

	expect_status 0
	expect_line work "$all_sums_match"
	all=$(first_number '.*CUPTI reported ([0-9]+) operations.*')
	recorded=$(first_number '^Samples: .* ([0-9]+) GPU kernels? .*')
	after=$(first_number '^  ([0-9]+) GPU operations? began just after .*')
	unmatched=$(first_number "^$(correlation '[0-9]+' '([0-9]+)')")
	[ "$recorded" -gt 0 ]
	[ "$unmatched" -le 64 ]
	expect_equal operations "$all" "$((recorded + ${after:-0}))"
}

more_lines()
{
	[ "$(wc -l <out.steady)" -gt "$1" ]
}

# more_lines_of FILE: than when it was first asked about.
more_lines_of()
{
	local -n counted=lines_${1//./_}

	: "${counted:=$(wc -l <"$1")}"
	[ "$(wc -l <"$1")" -gt "$counted" ]
}

# look ARGUMENTS...: profile, from its library's hello for some work.
look()
{
	start_profile -v --unit ns -p "$target" -o out.folded "$@"
	wait_until grep -q "$uses_cuda" stderr
	sleep 0.5
	if [ -e out.steady ]; then wait_until more_lines "$(wc -l <out.steady)"; fi
	kill -INT "$pid"
	finish_profile
}

is_left()
{
	! grep -q profile-at-work "/proc/$1/maps"
}

@test "attached again and again: each time all of the GPU work in the window" {
	with_details
	start_restless
	for ((i = 0; i < ${ROUNDS:-10}; i++)); do
		look
		expect_whole
		expect_line out.folded 'restless_work'
		is_left "$target"
	done
	expect_undisturbed
}

# CUPTI 13.0 keeps threads in the calls of the runtime in which it was left, and so does the stand-in.
@test "attached again to threads that are always in a call: each operation under its function" {
	FAKE_CUDA_LAUNCH_NS=200000 start out.alternating "$workloads/alternating"
	for options in '' --waits '-o out.trace.json' ''; do
		# shellcheck disable=SC2086 # words
		run_profile -v --unit ns -gpu-only -p "$target" -d 400ms $options -o out.folded
		expect_status 0
		expect_line work "$all_sums_match"
		grep -E ';\[GPU_(Kernel|Memset)\]' out.folded >work.folded
		expect_line work.folded ';call_one;cudaLaunchKernel;\[GPU_Kernel\]one'
		expect_line work.folded ';call_two;cudaLaunchKernel;\[GPU_Kernel\]two'
		expect_line work.folded ';call_set;cudaMemsetAsync;\[GPU_Memset\]'
		expect_equal "those elsewhere" '' \
			"$(grep -Ev '^\[launched before recording\]|;call_(one;.*\]one|two;.*\]two|set;.*Memset\])' work.folded)"
	done
}

@test "attached to threads that --api has left in a call: each operation under another's function is counted" {
	with_details
	FAKE_CUDA_LAUNCH_NS=1000000 start out.alternating "$workloads/alternating"
	run_profile -gpu-only -p "$target" -d 400ms --api -o out.folded
	expect_status 0
	run_profile -v --unit ns -gpu-only -p "$target" -d 400ms -o out.folded
	expect_status 0
	expect_line work "$all_sums_match"
	expect_line out.folded ';call_(one;.*\]two|two;.*\]one|set;.*\](one|two))\('
	expect_line stderr '^  [0-9]{3,} launches have the correlation id of another, '
}

# bats test_tags=quick
@test "until the time of -d is over" {
	start_steady
	run_profile -v --unit ns -gpu-only -p "$target" -d 10 -o out.folded
	expect_whole
	expect_line out.folded ';main;launch_work;.*steady_work'
	kill -0 "$target"
	is_left "$target"
}

@test "the library leaves when all of the work has arrived" {
	start_steady
	run_profile -v --unit ns -gpu-only -p "$target" -d 1 -o out.folded
	expect_whole
	expect_line stderr '^profile: all of the recorded work has arrived: libraries leave$'
	is_left "$target"
}

@test "--idle: the GPU's idle time is that of the launching thread, and adds up with its work" {
	local idle asleep over

	start_steady
	run_profile -v --unit ns --idle -p "$target" -d 2 -o out.folded -o out.json
	expect_whole
	expect_line stderr '^GPU idle: 1 GPU, '
	idle=$(awk '/^\[GPU 0 idle\];/ { ns += $NF } END { printf "%.0f", ns }' out.folded)
	asleep=$(awk '/^\[GPU 0 idle\];.*;main;.*\[blocked: sleep\]/ { ns += $NF } END { printf "%.0f", ns }' out.folded)
	[ "$asleep" -gt "$((idle / 2))" ]
	over=$((idle + $(jq '[.gpu_work[].ns] | add' out.json) - $(jq .elapsed_ns out.json)))
	[ "$over" -ge 0 ]
	[ "$over" -le 1000000 ]
	is_left "$target"
}

# CUPTI waits for a busy GPU when it is asked for first.
@test "CUPTI begins late: what is recorded begins with it, and lasts as long as was asked for" {
	FAKE_CUDA_SUBSCRIBE_MS=2500 start_steady
	run_profile -v --unit ns -p "$target" -d 2 -o out.folded
	expect_whole
	expect_line stderr "^Waiting for CUPTI to begin in process $target\$"
	expect_line stderr '^Recorded: 2\.[0-9]+ s$'
}

@test "CUPTI begins in one process before another: their calls and operations are of the same time" {
	local launches calls

	FAKE_CUDA_SUBSCRIBE_MS=2500 start out.slow "$workloads/steady" 600000
	start_steady
	run_profile -v --unit ns --api -p "${targets[0]},$target" -d 1 -o out.folded
	expect_status 0
	expect_line work "$all_sums_match"
	launches=$(first_number '^Samples: .* ([0-9]+) launches, .*')
	calls=$(first_number '^ *([0-9]+) .* cudaLaunchKernel$')
	# a library learns up to 50 ms later that recording is over
	[ "$launches" -gt 10 ]
	[ "$calls" -ge "$launches" ]
	[ "$calls" -lt $((launches * 3 / 2)) ]
}

@test "CUPTI begins too late: what is recorded begins without it, and calls are timed until it has" {
	FAKE_CUDA_SUBSCRIBE_MS=11000 start_steady
	run_profile -v --strict --unit ns -p "$target" -d 2 -o out.folded
	expect_status 124
	expect_line work "$all_sums_match"
	expect_line stderr "^$(strict_says 'processes without GPU time' 1)\$"
	expect_line stderr "^$no_gpu_time $not_begun in process $target within 10 s; its CUDA calls are timed until it has\$"
	expect_line stderr "^profile: process $target: CUPTI has begun; from now on its GPU time is measured\$"
	expect_line stderr "^$(calls_timed '[1-9][0-9]*' '1 process'), "
	expect_line out.folded ';main;.*;cudaLaunchKernel;\[CUDA call, wall time\]'
	expect_line stderr '^Recorded: 2\.[0-9]+ s$'
}

@test "CUPTI begins after the end: nothing is recorded, and the next one attaches" {
	with_details
	FAKE_CUDA_SUBSCRIBE_MS=1500 start_steady
	start_profile -p "$target" -d 10 -o none.folded
	wait_until grep -q profile-at-work "/proc/$target/maps"
	kill -INT "$pid"
	finish_profile
	expect_status 0
	expect_line stderr '^profile: nothing was recorded: the run ended before CUPTI had started'
	wait_until is_left "$target"
	look
	expect_whole
}

# start_slow_shell COMMANDS: CUPTI never begins in it. It runs COMMANDS when the pipe `go` is written to.
start_slow_shell()
{
	mkfifo go
	FAKE_CUDA_SUBSCRIBE_MS=600000 start out.slow env LD_PRELOAD="$fake_cuda/libcuda.so.1" \
		sh -c "exec 9<>go; echo ready; read line <&9; unset LD_PRELOAD; $1"
	wait_until grep -q ready out.slow
}

@test "a process executes another program before CUPTI has begun: it is waited for no longer" {
	start_slow_shell 'exec sleep 600'
	start_profile -v -p "$target" -d 0.5 -o out.folded
	wait_until grep -q 'the library was injected' stderr
	echo >go
	finish_profile
	expect_status 0
	expect_no_line stderr "$not_begun|had loaded CUDA"
}

@test "a process ends before CUPTI has begun: the others are recorded, and nothing is missing" {
	start_slow_shell 'exit'
	start_steady
	start_profile -v --unit ns -p "${targets[0]},$target" -d 0.5 -o out.folded
	wait_until grep -q "process ${targets[0]}: the library was injected" stderr
	wait_until grep -q " $uses_cuda" stderr
	echo >go
	finish_profile
	expect_status 0
	expect_line work "$all_sums_match"
	expect_line out.folded ';main;launch_work;.*steady_work'
	expect_no_line stderr "$not_begun|had loaded CUDA"
}

@test "processes that start all the time, and in which CUPTI never begins, are not waited for" {
	# shellcheck disable=SC2016 # of the shell
	FAKE_CUDA_SUBSCRIBE_MS=600000 start out.many setsid sh -c 'for i in 1 2 3 4; do
		(while :; do "$workloads/steady" 300; done) & done; wait'
	wait_until grep -q work out.many
	run_profile -v -p "$target" -d 0.5 -o out.folded
	kill -KILL -- "-$target"
	expect_status 0
	expect_no_line stderr "$not_begun"
}

@test "a snapshot before CUPTI has begun: nothing is in it, not even time" {
	start_slow_shell 'exit'
	start_profile -v -p "$target" -o out.profile
	wait_until grep -q 'the library was injected' stderr
	kill -USR2 "$pid"
	wait_until grep -q "^$(snapshot_written 1)" stderr
	echo >go
	finish_profile
	expect_status 0
	run_profile --from out.1.profile -o out.folded
	expect_status 0
	expect_line stderr 'the processes used 0.000 s of CPU in 0.000 s'
}

@test "--last, and CUPTI has not begun: a line says that nothing was recorded, and not why else" {
	start_slow_shell 'exit'
	start_profile -v -p "$target" --last 2 -o out.folded
	wait_until grep -q 'the library was injected' stderr
	echo >go
	finish_profile
	expect_status 0
	expect_line stderr '^profile: nothing was recorded: the run ended before CUPTI had started'
	expect_no_line stderr 'before --delay had passed'
}

@test "the profiler is killed, and the next one attaches" {
	start_restless
	for ((i = 0; i < 2; i++)); do
		start_profile -v -p "$target" -o none.folded
		wait_until grep -q 'was injected' stderr
		kill -KILL "$(worker_of "$pid")"
		finish_profile
		expect_status 125
		wait_until is_left "$target"
	done
	look
	expect_whole
	expect_undisturbed
}

@test "at any moment of a program's start and end" {
	for ((i = 0; i < ${ROUNDS:-8}; i++)); do
		start "out.$i" "$workloads/steady" $((50 + RANDOM % 300)) 1
		sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
		run_profile -v --unit ns -p "$target" -d 200ms -o out.folded
		# it may have ended before
		[ "$status" = 0 ] || [ "$status" = 125 ] || expect_status 0
		target_status=0
		wait "$target" || target_status=$?
		expect_equal "its status" "$target_status" 0
	done
}

@test "what needs GPU time" {
	start_steady 20 memory
	look --waits --api --alloc --launch-shapes --prometheus out.prom --max-overhead 50
	expect_status 0
	expect_line stderr '^Waits: [1-9]'
	expect_line stderr ' cudaLaunchKernel$'
	expect_line stderr ' device, GPU 0'
	expect_line stderr '^ +[1-9][0-9]* .* steady_work$'
	expect_line out.prom '^profile_.*steady_work'
	look --graph whole --unified-memory --kernels-only
	expect_status 0
	expect_line out.folded 'steady_work'
}

@test "spans are the attached program's" {
	start_steady 20
	look --otlp spans.json
	expect_status 0
	expect_line stderr '^Recorded: [1-9]'
	expect_line spans.json '"service.name","value":\{"stringValue":"steady"\}'
	expect_line spans.json '"process.executable.name","value":\{"stringValue":"steady"\}'
	expect_line spans.json '"stringValue":".*/steady"\},\{"stringValue":"600000"\},\{"stringValue":"20"\}\]'
}

@test "--wall: the library's threads are not the program's" {
	start_steady 20
	look --wall
	expect_status 0
	expect_line out.folded '^\[threads of profile\];\[blocked: '
	# a sample of their CPU time is where it fell
	if grep -E '^clone3.*flusher_main.*[[](blocked|runnable)' out.folded; then return 1; fi
}

# Its threads end as we do, and work is under way when it comes and when it goes.
@test "--strict with --wall: nothing is lost at arriving and leaving" {
	with_details
	local i

	start_steady 2
	for ((i = 0; i < 4; i++)); do
		look --wall --strict
		expect_status 0
		expect_no_line stderr 'without times'
		expect_line stderr "^$(correlation '[1-9][0-9]*')\$"
	done
}

# The library takes half a second to leave, in which threads go on. That is not in the profile.
@test "--wall: threads that switch all the time are as long as one that sleeps" {
	local i

	cat >yields.c <<-'END'
		#include <dlfcn.h>
		#include <pthread.h>
		#include <sched.h>
		#include <stdio.h>
		#include <unistd.h>
		static void *yield(void *unused)
		{
			for (;;)
				sched_yield();
			return unused;
		}
		int main(void)
		{
			pthread_t thread;

			if (!dlopen("libcuda.so.1", RTLD_NOW))
				return 1;
			for (long i = 2 * sysconf(_SC_NPROCESSORS_ONLN); i > 0; i--)
				if (pthread_create(&thread, NULL, yield, NULL) != 0)
					return 1;
			puts("ready");
			fflush(stdout);
			pause();
			return 0;
		}
	END
	gcc -O1 -pthread -o yields yields.c
	start out.yields ./yields
	wait_until grep -q ready out.yields
	ls "/proc/$target/task" >threads
	for ((i = 0; i < 3; i++)); do
		run_profile -v --wall --by thread --unit ns -p "$target" -d 0.4 -o out.folded
		expect_status 0
		expect_line stderr 'the library was injected$'
		awk 'NR == FNR { ns["yields " $1] = 0; next }
			{ thread = $0; sub(/;.*/, "", thread) }
			thread in ns { ns[thread] += $NF }
			END {
				for (thread in ns) {
					print thread, ns[thread]
					if (!threads++ || ns[thread] > most) most = ns[thread]
					if (threads == 1 || ns[thread] < least) least = ns[thread]
				}
				exit !(threads > 2 && least > 0 && most < 1.25 * least)
			}' threads out.folded
	done
}

@test "a graph that was made before" {
	with_details
	start_steady 20 graph
	look
	expect_whole
	expect_line stderr '^  [1-9][0-9]* operations? (is|are) of graph nodes that were made before tracing or out of sight$'
	expect_line out.folded ';\[graph node, capture not seen\]'
}

@test "a program that is executed by one that runs already" {
	start out.later sh -c "sleep 1; '$workloads/steady' 600000 & wait"
	look
	expect_status 0
	expect_line out.folded 'steady_work'
	pkill -KILL -P "$target"
}

# A process that ends, or executes another program, as the library comes.
write_leaver()
{
	cat >leaver.c <<-'END'
		#include <dlfcn.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>

		static void *sleep_on(void *unused)
		{
			for (;;)
				pause();
			return unused;
		}

		static int is_there(const char *name)
		{
			static char line[4096];
			FILE *maps = fopen("/proc/self/maps", "r");
			int found = 0;

			while (!found && maps && fgets(line, sizeof(line), maps))
				found = strstr(line, name) != NULL;
			if (maps)
				fclose(maps);
			return found;
		}

		int main(int argc, char **argv)
		{
			pthread_t thread;
			void *driver = dlopen("libcuda.so.1", RTLD_NOW);
			int (*begin)(unsigned int);

			if (!driver || argc < 3)
				return 1;
			*(void **)&begin = dlsym(driver, "cuInit");
			if (!begin || begin(0) != 0 || pthread_create(&thread, NULL, sleep_on, NULL))
				return 1;
			puts("ready");
			fflush(stdout);
			while (!is_there("profile-at-work"))
				;
			for (volatile long left = 1000 * atol(argv[1]); left > 0; left--)
				;
			if (strcmp(argv[2], "exit") == 0)
				_exit(7);
			execv(argv[2], argv + 2);
			return 1;
		}
	END
	gcc -O1 -pthread -o leaver leaver.c
}

@test "a process that ends as the library comes is counted" {
	local i

	write_leaver
	for ((i = 0; i < 8; i++)); do
		start "out.$i" ./leaver $((i * 50)) exit
		wait_until grep -q ready "out.$i"
		run_profile -v -p "$target" -d 10 -o out.folded
		expect_status 0
		# it has no GPU time, or has said that it uses CUDA
		expect_line stderr " $uses_cuda|^profile: 1 process had loaded CUDA and ended, .* is missing\$"
	done
}

@test "a process that executes another program as the library comes" {
	local i

	for ((i = 0; i < ${ROUNDS:-10}; i++)); do
		start out.steady env LD_PRELOAD="$fake_cuda/libcuda.so.1" \
			sh -c "sleep 0.$((10 + 3 * i)); exec '$workloads/steady' 600000"
		start_profile -v --unit ns -p "$target" -o out.folded
		wait_until grep -q "^profile: process $target (.*/steady) $uses_cuda" stderr
		kill -INT "$pid"
		finish_profile
		expect_status 0
		expect_no_line stderr "^$no_gpu_time process $target "
		kill -KILL "$target"
	done
}

@test "children that end before the library can be injected are counted" {
	mkfifo go
	start out.short sh -c "read line <go; for i in 1 2 3; do '$workloads/launches' 100; done; echo finished; sleep 600"
	start_profile -v -p "$target" -o out.folded
	wait_until grep -q 'attached to' stderr
	echo >go
	wait_until grep -q finished out.short
	kill -INT "$pid"
	finish_profile
	expect_status 0
	pkill -KILL -P "$target"
	# each of the three: it had ended, or the library came when it ran already
	local missed late timed
	missed=$(first_number '^profile: ([0-9]+) process(es)? had loaded CUDA and ended, .*: (its|their) GPU time, if any, is missing$')
	late=$(first_number '^profile: ([0-9]+) process(es)? that started meanwhile .*: GPU time from before is missing$')
	timed=$(grep -c "^$no_gpu_time process " stderr || true)
	expect_equal processes "$((${missed:-0} + ${late:-0} + timed))" 3
}

# The driver is known from the one that uses it.
@test "children that have loaded the driver and do not use it lack nothing" {
	start_steady 20
	mkfifo go again
	start out.short sh -c "read line <go; for i in 1 2 3 4 5; do LD_PRELOAD='$fake_cuda/libcuda.so.1' /bin/true; done; echo finished
		read line <again; '$workloads/launches' 100; echo used; sleep 600"
	start_profile -v --strict -p "${targets[0]},$target" -o out.folded
	wait_until grep -q "$uses_cuda" stderr
	echo >go
	wait_until grep -q finished out.short
	sleep 0.2
	kill -INT "$pid"
	finish_profile
	expect_status 0
	expect_no_line stderr 'had loaded CUDA and ended'
	# one that does is counted, wherever it was met
	start_profile -v -p "${targets[0]},$target" -o out.folded
	wait_until grep -q "$uses_cuda" stderr
	echo >again
	wait_until grep -q used out.short
	kill -INT "$pid"
	finish_profile
	pkill -KILL -P "$target"
	expect_line stderr "^profile: (1 process (had loaded CUDA and ended|that started meanwhile)|no GPU time: process )"
}

@test "where it cannot be injected, calls are timed" {
	needs_command setpriv
	start out.theirs setpriv --reuid 4242 --regid 4242 --clear-groups "$workloads/steady" 600000
	wait_until grep -q work out.theirs
	run_profile --unit ns -p "$target" -d 1 -o out.folded
	expect_status 0
	expect_line stderr "^$no_gpu_time process $target runs as another user, .*; its CUDA calls are timed instead$"
	expect_line out.folded 'cudaLaunchKernel;\[CUDA call, wall time\]steady_work [0-9]+$'
}

@test "a frozen process is left as it was" {
	needs_mount_namespace
	mkdir groups
	run_command unshare -m mount -t cgroup2 none groups
	if [ "$status" != 0 ]; then skip 'cgroups cannot be mounted here'; fi
	# shellcheck disable=SC2016
	run_command unshare -m sh -ec '
		mount -t cgroup2 none groups
		"$workloads/steady" 600000 20 >out.steady &
		group=groups/profile-test-$$
		trap "kill -KILL $!; wait; rmdir $group" EXIT
		mkdir $group
		until grep -q work out.steady; do sleep 0.1; done
		ls /proc/$!/fd >before
		echo $! >$group/cgroup.procs
		# it may be frozen within a call of CUDA, and on a busy machine the time to find a thread
		# may be over before one has been tried
		for try in 1 2 3 4 5 6 7 8 9 10; do
			echo 1 >$group/cgroup.freeze
			until grep -q "frozen 1" $group/cgroup.events; do :; done
			"$profile" -p $! -d 1 -o out.folded 2>tried || exit
			! grep -q "no thread that sleeps where the library could be loaded" tried || {
				echo 0 >$group/cgroup.freeze
				sleep 0.1
				continue
			}
			break
		done
		cat tried >&2
		echo 0 >$group/cgroup.freeze
		lines=$(wc -l <out.steady)
		until [ $(wc -l <out.steady) -gt $((lines + 2)) ]; do sleep 0.1; done
		ls /proc/$!/fd >after'
	expect_status 0
	expect_line stderr "^$no_gpu_time process [0-9]* has a thread that sleeps, but runs nothing: it may be frozen; "
	diff before after
}

@test "processes that never sleep: calls are timed, and none waits for another" {
	start out.1 nice -n 10 "$workloads/steady" 600000 10 awake
	start out.2 nice -n 10 "$workloads/steady" 600000 10 awake
	wait_until grep -q work out.1
	wait_until grep -q work out.2
	start_profile --unit ns -p "${targets[0]},${targets[1]}" -o out.folded
	for each in "${targets[@]}"; do
		wait_until grep -q "^$no_gpu_time process $each has no thread that sleeps where the library could be loaded; its CUDA calls are timed instead$" stderr
	done
	wait_until more_lines_of out.1
	wait_until more_lines_of out.2
	kill -INT "$pid"
	finish_profile
	expect_status 0
	expect_line stderr '^CUDA calls: [1-9]'
	expect_line out.folded 'cudaLaunchKernel;\[CUDA call, wall time\]steady_work [0-9]+$'
}

@test "one profiler at a time: the other one times calls" {
	start_steady
	start_profile -v --unit ns -p "$target" -o first.folded
	wait_until grep -q "$uses_cuda" stderr
	run_command "$profile" --unit ns -p "$target" -d 4 -o out.folded
	expect_status 0
	expect_line stderr "^$no_gpu_time process $target is being profiled already; its CUDA calls are timed instead$"
	kill -INT "$pid"
	wait "$pid"
	pid=
	expect_line first.folded ';launch_work;.*steady_work'
}

@test "under sudo: the user's own processes" {
	needs_command setpriv
	start out.theirs setpriv --reuid 4242 --regid 4242 --clear-groups "$workloads/steady" 600000
	wait_until grep -q work out.theirs
	as_tester "$profile" -v --unit ns -p "$target" -d 4 -o theirs/out.folded
	expect_whole
	expect_line theirs/out.folded ';launch_work;.*steady_work'
}

@test "a process that sees other files: calls are timed" {
	needs_mount_namespace
	mkdir apart
	start out.apart unshare -m sh -c "mount -t tmpfs none apart; exec '$workloads/steady' 600000"
	wait_until grep -q work out.apart
	TMPDIR=$PWD/apart run_profile --unit ns -p "$target" -d 1 -o out.folded
	expect_status 0
	expect_line stderr "^$no_gpu_time process $target sees other files .*; its CUDA calls are timed instead$"
	kill -0 "$target"
}
