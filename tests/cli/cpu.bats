# SPDX-License-Identifier: MIT
# CPU samples.

load helpers

setup()
{
	enter_test_folder
	needs_root
}

readonly known_shares='child_work 30
main_work 20
reexec_work 25
thread_work 25'

# shares_of FILE: "PART PERCENT" lines of cpu_mix's parts.
shares_of()
{
	awk 'match($0, /(main|thread|child|reexec)_work/) {
			samples[substr($0, RSTART, RLENGTH)] += $NF
		}
		{ total += $NF }
		END { for (p in samples) printf "%s %.2f\n", p, 100 * samples[p] / total }' "$1" | sort
}

# shares_of_perf FILE: the same from perf's recording, of cpu_mix's own samples.
shares_of_perf()
{
	perf script -f -i "$1" -F comm,ip,sym 2>/dev/null |
		awk -v RS= '/^(cpu_mix|exe) / {
			total++
			if (match($0, /(main|thread|child|reexec)_work/))
				samples[substr($0, RSTART, RLENGTH)]++
		}
		END { for (p in samples) printf "%s %.2f\n", p, 100 * samples[p] / total }' | sort
}

# within_points POINTS A B: the same parts, each within this many points.
within_points()
{
	paste -d ' ' <(echo "$2") <(echo "$3") | awk -v points="$1" '
		$1 != $3 || NF != 4 || $2 - $4 > points || $4 - $2 > points { bad = 1 }
		END { exit NR != 4 || bad }'
}

@test "a program that forks, starts threads and executes itself: known shares, many samples" {
	with_details
	run_profile -cpu-only -F 997 -o out.folded "$workloads/cpu_mix" 5000
	expect_status 0
	expect stdout <<<'main_work 1000 thread_work 1250 child_work 1500 reexec_work 1250'
	expect_folded out.folded
	expect_totals out.folded
	shares_of out.folded
	within_points 3 "$(shares_of out.folded)" "$known_shares"
}

# By chance alone a share of 1000 samples is off by 1.4 points, and the difference of two by 2: five
# times that is allowed.
# bats test_tags=quick
@test "known shares at 50 Hz, like perf record -F 50 -g at the same time" {
	needs_command perf
	perf record -q -F 50 -g -o perf.data true || skip 'perf cannot record here'
	run_command perf record -q -F 50 -g -o perf.data \
		"$profile" -cpu-only -o out.folded "$workloads/cpu_mix" 8000
	expect_status 0
	shares_of out.folded
	within_points 10 "$(shares_of out.folded)" "$known_shares"
	shares_of_perf perf.data
	within_points 10 "$(shares_of out.folded)" "$(shares_of_perf perf.data)"
}

# A clock in step with the program gives one of the functions everything, or, with a cycle of two or
# three ticks, a third or half too much. By chance alone a share of 200 samples is off by 3.5 points,
# and, where the CPU is shared with others, their number by 5 %: five times that is allowed.
# in_step_with COMMAND...: runs in_step below it with various cycles, and looks at the shares.
# in_step_with COMMAND...: for each of ${cycles[@]}
in_step_with()
{
	local cycle

	cp "$workloads/in_step" .
	for cycle in "${cycles[@]}"; do
		# words are arguments
		# shellcheck disable=SC2086
		"$@" ./in_step $cycle 4000
		expect_status 0
		awk -v cycle="$cycle" 'FNR == NR { share = $2; next }
			/work_a/ { a += $NF }
			/work_[ab]/ { all += $NF }
			END {
				print cycle ": " a " of " all ", " share " %"
				off = 100 * a / all - share
				exit all < 150 || all > 250 || off > 18 || off < -18
			}' stdout open/out.folded
		# "2.009 s used, 2.000 s sampled (100 %)"
		awk '/^CPU: / { sub(/.*\(/, ""); share = $0 + 0 }
			END { exit share < 75 || share > 125 }' used
	done
}

@test "programs whose cycle is that of the clock, or a fraction or multiple of it" {
	with_details
	local cycles=('10000 10000' '500 500' '20000 20000' '3000 7000')

	mkdir open
	in_step_with run_profile -cpu-only -o open/out.folded
}

# adds_up FILE: what the kernel charged is in the profile at 50 Hz, as samples or as [not sampled],
# within the two samples of rounding and of a command's first moments.
adds_up()
{
	awk -v all="$(weight_of "$1")" '/^CPU: / {
			print all " samples, used " $2 " s"
			off = all - 50 * $2
			ok = off <= 2 && off >= -2
		}
		END { exit !ok }' used
}

# As in privilege.bats: a plain user, in a folder that it may write to.
as_nobody()
{
	needs_command setpriv
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
		skip 'kernel.perf_event_paranoid is above 2'
	fi
	mkdir -p -m 777 open
	cp "$profile" .
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups ./profile ${details:+"$details"} "$@"
}

# Without root no time in the kernel is sampled, nor are processes of a few milliseconds.
@test "what no sample stands for is in the profile, under its program" {
	with_details
	as_nobody -cpu-only -o open/out.folded -o open/out.json \
		sh -c 'dd if=/dev/zero of=/dev/null bs=1 count=3000000 status=none
			i=0; while [ $i -lt 300 ]; do head -c 3000000 /dev/zero >/dev/null; i=$((i + 1)); done'
	expect_status 0
	cat open/out.folded used
	expect_line open/out.folded '^dd;\[not sampled\] [0-9]+$'
	expect_line open/out.folded '^head;\[not sampled\] [0-9]+$'
	adds_up open/out.folded
	expect_line used '^CPU: .* s sampled \([0-9]+ %\), the rest is \[not sampled\]$'
	expect_line used '^profile: [0-9]+ % of the CPU time has no sample: time in exec and exit, or, '
	# dd ran longest, and head seldom 50 ms
	[ "$(weight_of open/out.folded '^dd;')" -gt 10 ]
	expect_line open/out.json '"cpu_not_sampled_ns": *[1-9]'
}

@test "without root: programs in step with the clock" {
	with_details
	local cycles=('10000 10000' '1459 1459')

	in_step_with as_nobody -cpu-only -o open/out.folded
}

# Each starts clocks of its own. What they lack in samples is time in exec and exit, more where caches are cold. One
# process in four has a sample: 150 in all, give or take 11 by chance.
@test "without root: processes of five milliseconds, and 200 threads" {
	with_details
	cp "$workloads/in_step" "$workloads/many_threads" .
	as_nobody -cpu-only -o open/out.folded sh -c 'i=0
		while [ $i -lt 600 ]; do ./in_step 500 500 5 >/dev/null; i=$((i + 1)); done'
	expect_status 0
	cat used
	awk -v seen="$(weight_of open/out.folded work_)" -v all="$(weight_of open/out.folded)" \
		'BEGIN { print seen " of " all; exit all < 145 || seen < all / 3 || seen > 250 }'
	as_nobody -cpu-only -o open/out.folded ./many_threads 200 4000
	expect_status 0
	cat used
	awk -v seen="$(weight_of open/out.folded 'thread_main;work')" \
		'BEGIN { print seen; exit seen < 130 || seen > 250 }'
}

# Among hundreds of busy threads the profiler must not have to wait for its turn.
@test "the profiler has priority while it samples, and the command has its own" {
	cat >show_priorities <<-'END'
		#!/bin/sh
		nice
		awk '{ print $19 }' "/proc/$PPID/stat"
	END
	chmod 755 show_priorities
	run_command nice -n 3 "$profile" -q -cpu-only -o out.folded ./show_priorities
	expect_status 0
	expect_equal "the command's" "$(head -n 1 stdout)" "$(nice -n 3 nice)"
	expect_equal "the profiler's" "$(tail -n 1 stdout)" -20
	run_command nice -n 3 "$profile" -q -gpu-only -o out.folded ./show_priorities
	expect_equal "the profiler's, without samples" "$(tail -n 1 stdout)" "$(nice -n 3 nice)"
}

@test "with root, 200 threads at 1 kHz: nothing is dropped" {
	with_details
	run_profile -cpu-only -F 1000 -o out.json -o out.folded "$workloads/many_threads" 200 4000
	expect_status 0
	cat used
	expect_line out.json '"cpu_samples_dropped": *0[,}]'
	awk -v seen="$(weight_of out.folded 'thread_main;work')" \
		'BEGIN { print seen; exit seen < 3400 || seen > 4600 }'
}

@test "with root, time in the kernel is sampled" {
	run_profile -cpu-only -o out.folded dd if=/dev/zero of=/dev/null bs=1 count=4000000 status=none
	expect_status 0
	expect_no_line out.folded 'not sampled'
	run_profile -gpu-only -o out.folded "$workloads/inference" 2
	expect_no_line out.folded 'not sampled'
}

# Since Linux 6.16 a process is reported as ended before it gives back its memory.
@test "a process is sampled until it has given back its memory" {
	local python

	# python3 in PATH may be a script, whose short processes may end before they have a whole stack
	python=$(python3 -c 'import sys; print(sys.executable)')
	run_profile -cpu-only -F 997 -o out.folded "$python" -c '
import mmap, os
memory = mmap.mmap(-1, 500 << 20)
memory.write(b"x" * (500 << 20))
os._exit(0)'
	expect_status 0
	expect_line out.folded '^python3(\.[0-9]+)?;.*;do_exit;.*exit_mmap'
	expect_no_line out.folded '^\[truncated\];.*;do_exit;'
	expect_no_line stderr "$ran_on"
}

@test "-cpu-only sets no variable for the command, and traces nothing" {
	with_details
	run_profile -cpu-only -o out.folded env
	expect_status 0
	expect_no_line stdout '^(CUDA_INJECTION64_PATH|PROFILE_)'
	run_profile -cpu-only -o out.folded "$workloads/inference" 20
	expect_status 0
	expect stderr <<-'END'
		Samples: <N> CPU
		Wrote <N> stack<s> (<N> x 20 ms: <N> CPU, 0 GPU) to out.folded
	END
	expect_no_line out.folded '\[GPU_Kernel\]'
	expect_line out.folded ';main;server::InferencePipeline::run;server::'
}

@test "a stack starts at the root, one name per function" {
	run_profile -cpu-only -F 997 -o out.folded "$workloads/cpu_mix" 400
	# the compiler may have put run() into main()
	expect_line out.folded '(^|;)main;(run;)?main_work( |;)'
	expect_line out.folded '(^|;)thread_main;thread_work( |;)'
	expect_line out.folded '(^|;)main;(run;)?child_work( |;)'
	expect_line out.folded '(^|;)main;reexec_work( |;)'
	expect_no_line out.folded '\+0x|0x[0-9a-f]'
}

@test "samples weigh a period, in every unit" {
	with_details
	for unit in samples us ns; do
		run_profile -cpu-only -F 100 --unit $unit -o out.folded "$workloads/cpu_mix" 400
		expect_status 0
		expect_folded out.folded
		expect_totals out.folded
		case $unit in
		samples) period=1 ;;
		us) period=10000 ;;
		ns) period=10000000 ;;
		esac
		expect_equal "total in $unit" "$(weight_of out.folded)" \
			$(($(sed -n "s/^$(cpu_samples '\([0-9]*\)')\$/\1/p" stderr) * period))
	done
}

@test "a program's file that is read slowly: no sample is lost meanwhile" {
	needs_command gcc
	# a disk that takes four seconds for the first bytes of `deep` that the profiler wants
	cat >slow.c <<-'END'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <fcntl.h>
		#include <stdatomic.h>
		#include <stdio.h>
		#include <string.h>
		#include <unistd.h>
		ssize_t pread64(int fd, void *buffer, size_t size, off_t at)
		{
			ssize_t (*real)(int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread64");
			static atomic_int was_read;
			char link[64], path[4096] = "";

			snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
			if (size > 1000 && readlink(link, path, sizeof(path) - 1) > 5 &&
			    strcmp(path + strlen(path) - 5, "/deep") == 0 && !atomic_exchange(&was_read, 1)) {
				close(open("was_slow", O_CREAT | O_WRONLY, 0644));
				sleep(4);
			}
			return real(fd, buffer, size, at);
		}
		ssize_t pread(int fd, void *buffer, size_t size, off_t at)
		{
			return pread64(fd, buffer, size, at);
		}
	END
	cat >deep.c <<-'END'
		#include <pthread.h>
		#include <string.h>
		#include <time.h>
		static volatile int sink;
		static time_t until;
		__attribute__((noinline)) static void burn(char *bytes)
		{
			while (time(0) < until)
				for (int i = 0; i < 100000; i++)
					sink += bytes[i & 255];
		}
		__attribute__((noinline)) static void deep(int left)
		{
			char bytes[1000];

			memset(bytes, left, sizeof(bytes));
			if (left)
				deep(left - 1);
			else
				burn(bytes);
			sink += bytes[5];
		}
		static void *run(void *argument)
		{
			deep(6);
			return argument;
		}
		int main(void)
		{
			pthread_t threads[2];

			until = time(0) + 7;
			for (int i = 0; i < 2; i++)
				pthread_create(&threads[i], 0, run, 0);
			for (int i = 0; i < 2; i++)
				pthread_join(threads[i], 0);
		}
	END
	gcc -O1 -shared -fPIC -o slow.so slow.c -ldl
	gcc -O1 -pthread -o deep deep.c
	LD_PRELOAD=$PWD/slow.so run_profile --strict -cpu-only -freq 1000 -o out.folded ./deep
	[ -e was_slow ]
	expect_status 0
	expect_line out.folded ';run;deep;.*;burn'
}

@test "the profiler itself is not in the profile" {
	run_profile -cpu-only -F 997 -o out.folded "$workloads/cpu_mix" 300
	expect_no_line out.folded 'session_run|run_child|target_start|symbolizer'
}

# The newest name that a thread or process had while its time was spent.
expect_newest_names()
{
	expect_line out.folded '^renamed [0-9]+;by-itself [0-9]+;.*;work[ ;]'
	expect_line out.folded '^renamed [0-9]+;by-another [0-9]+;.*;work[ ;]'
	expect_line out.folded '^renamed [0-9]+;task-[0-9]+ [0-9]+;.*;work[ ;]'
	expect_line out.folded '^forked [0-9]+;forked [0-9]+;.*;work[ ;]'
	[ "$(grep -o ';task-[^;]*' out.folded | sort -u | wc -l)" = 1 ]
	expect_no_line out.folded ';renamed [0-9]+;.*;work[ ;]'
}

@test "processes are called what the dynamic loader, or Python by -m or from an archive, runs" {
	needs_root
	local loader

	loader=$(readelf -l "$profile" | sed -n 's/.*interpreter: \(.*\)]$/\1/p')
	run_profile -cpu-only -F 997 --by process -o out.folded "$loader" "$workloads/renamed"
	expect_status 0
	expect_line out.folded '^renamed [0-9]+;'
	expect_no_line out.folded '^ld-'
	needs_command python3
	mkdir -p pkg
	echo 'sum(range(10**7))' >pkg/__main__.py
	python3 -m zipapp pkg -o app.pyz
	run_profile -cpu-only -F 997 --by process -o out.folded "$(python3 -c 'import sys; print(sys.executable)')" -m pkg
	expect_status 0
	expect_line out.folded '^pkg [0-9]+;'
	run_profile -cpu-only -F 997 --by process -o out.folded "$(python3 -c 'import sys; print(sys.executable)')" app.pyz
	expect_status 0
	expect_line out.folded '^app\.pyz [0-9]+;'
}

@test "threads and processes that are renamed" {
	run_profile -cpu-only -F 997 --by process,thread -o out.folded -o out.profile "$workloads/renamed"
	expect_status 0
	expect_newest_names
	run_profile --from out.profile --format chrome -o out.trace
	expect_status 0
	for name in by-itself by-another forked; do
		grep -q "\"name\":\"$name [0-9]*\"" out.trace || { echo "no $name"; return 1; }
	done
	run_profile --wall -cpu-only --by process,thread -o out.folded "$workloads/renamed"
	expect_status 0
	expect_newest_names
}

@test "a command that exits immediately" {
	run_profile -F 10000 -o out.folded true
	expect_status 0
	expect_folded out.folded
}

@test "thousands of short processes" {
	with_details
	run_profile -cpu-only -F 997 -o out.folded \
		sh -c 'i=0; while [ $i -lt 2000 ]; do (:); i=$((i + 1)); done; exit 9'
	expect_status 9
	expect_folded out.folded
	expect_totals out.folded
	expect_no_line stderr 'not followed'
}

# The command: short processes, every fifth of which uses the GPU. Prints by how many KiB of
# anonymous memory the profiler has grown over 2,000 of them.
readonly come_and_go='
import os, sys, time

def memory():
    for line in open(f"/proc/{os.getppid()}/status"):
        if line.startswith("RssAnon:"):
            return int(line.split()[1])

def start(*command):
    quiet = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    os.waitpid(os.posix_spawn(command[0], command, os.environ, file_actions=quiet), 0)

def burst(n):
    for i in range(n):
        start("/bin/true") if i % 5 else start(sys.argv[1], "1")
    time.sleep(1)

burst(500)
before = memory()
burst(2000)
print(memory() - before)'

@test "2,000 short processes leave no memory behind" {
	with_details
	local grown

	run_command "${in_small_pages[@]}" "$profile" -v -F 199 --by process -o out.folded python3 -c "$come_and_go" "$workloads/launches"
	expect_status 0
	expect_totals out.folded
	expect_line stderr ' 500 GPU kernels '
	grown=$(cat stdout)
	echo "grew by $grown KiB"
	# 3,000 to 8,300, by how many of their mappings are read before they end; 20,000 where each left its mappings behind
	[ "$grown" -lt 11000 ]
}
