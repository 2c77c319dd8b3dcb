# SPDX-License-Identifier: MIT
# --wall: time that threads are off the CPU, by what they wait for.

load helpers

setup()
{
	enter_test_folder
	needs_root
}

# expect_waits FILE PROGRAM_OUTPUT: what the program has measured itself (blocked.c says how). Each
# function has its share of its thread's time within 3 points, all kinds together, and at most that
# much blocked; each thread exists as long as it said within 1 %. A thread that others keep off the
# CPU has longer waits by its own clock, too, and may be kept off it between the clock and the
# function. Where a hypervisor takes the CPU away, a thread that runs has no samples; a sample stands
# for all that the thread has run since the one before, also where that was in another function; and
# a thread that has left its last function may take any time to end.
expect_waits()
{
	awk '
		NR == FNR {
			kind[$1] = $2; gsub("_", " ", kind[$1]); own[$1] = $3; tid[$1] = $4; least[$4] = $5; most[$4] = $6
			next
		}
		{
			t = $0; sub(/;.*/, "", t); sub(/.* /, "", t)
			ns[t] += $NF
			if (index($0, ";wait_often;")) inside[t] += $NF
			is_inside = 0
			for (f in own)
				if (tid[f] == t && index($0, ";" f ";")) {
					is_inside = 1
					with[f] += $NF
					if (index($0, ";[blocked: " kind[f] "]")) blocked[f] += $NF
					else if (index($0, ";[blocked: ") && f != "in_stop") bad = bad f " is blocked in: " $0 "\n"
				}
			if (!is_inside && !index($0, ";[blocked: ")) outside[t] += $NF
		}
		END {
			for (f in own) {
				whole = most[tid[f]]
				functions++
				if (with[f] + outside[tid[f]] < own[f] - 0.03 * whole ||
				    with[f] > own[f] + 0.03 * whole)
					bad = bad f ": " with[f] " of " own[f] "\n"
				if (blocked[f] <= 0 || blocked[f] > with[f])
					bad = bad f " is blocked for " blocked[f] "\n"
			}
			for (t in least)
				if (ns[t] < 0.99 * least[t] || inside[t] > 1.01 * most[t])
					bad = bad "thread " t ": " ns[t] ", " inside[t] ", not " least[t] " to " most[t] "\n"
			printf "%s", bad
			exit bad != "" || functions == 0
		}' "$2" "$1"
}

@test "sleepers, readers, those that poll or wait for a lock: as long as they say themselves" {
	with_details
	run_profile -cpu-only -F 997 --wall --by thread --unit ns -o out.folded "$workloads/blocked"
	expect_status 0
	expect_equal 'functions' "$(wc -l <stdout)" 8
	expect_waits out.folded stdout
	expect_line stderr "^$(wall_of '10 threads'), [0-9.]* s: .* on a CPU, .* blocked \(.*sleep [0-9.]* s.*\), .* runnable\$"
	expect_line stderr '^  [0-9]* switches, [0-9]* with a stack; .* of the others is spread over these$'
	expect_line stderr '^Wrote .* CPU, 0 GPU, [0-9]* off the CPU\) to out.folded$'
}

@test "a process that is stopped, and one that waits for it" {
	run_profile -cpu-only -F 997 --wall --by thread --unit ns -o out.folded "$workloads/blocked" stop
	expect_status 0
	expect_waits out.folded stdout
	expect_line out.folded ';in_stop;.*;\[blocked: wait\] [0-9]*$'
	# its child has a name, too, though it has ended
	expect_no_line out.folded '^\[thread'
}

# The kernel goes on with the sleep in another system call.
@test "a sleep that is stopped is a sleep before and after" {
	run_profile -cpu-only --wall --unit ns -o out.folded sh -c '
		sleep 3600 &
		until grep -q "^230 " /proc/$!/syscall; do :; done
		kill -STOP $!
		until grep -q "^State:.T" /proc/$!/status; do :; done
		kill -CONT $!
		until grep -q "^219 " /proc/$!/syscall; do :; done
		kill $!'
	expect_status 0
	expect_line out.folded 'clock_nanosleep;\[blocked: stopped\] [0-9]*$'
	expect_line out.folded 'clock_nanosleep;\[blocked: sleep\] [0-9]*$'
	expect_no_line out.folded 'system call 219'
}

@test "a thread that is frozen" {
	needs_mount_namespace
	mkdir groups
	run_command unshare -m mount -t cgroup2 none groups
	if [ "$status" != 0 ]; then skip 'cgroups cannot be mounted here'; fi
	# shellcheck disable=SC2016
	run_command unshare -m sh -ec 'mount -t cgroup2 none groups; exec "$@"' sh \
		"$profile" -cpu-only --wall --unit ns -o out.folded sh -c '
			group=groups/profile-test-$$
			mkdir $group || exit 1
			while :; do :; done &
			echo $! >$group/cgroup.procs
			echo 1 >$group/cgroup.freeze
			until grep -q "frozen 1" $group/cgroup.events; do :; done
			echo 0 >$group/cgroup.freeze
			until grep -q "frozen 0" $group/cgroup.events; do :; done
			kill -KILL $!
			wait
			rmdir $group'
	expect_status 0
	expect_line out.folded ';\[blocked: stopped\] [0-9]*$'
}

@test "a system call of the 32-bit ABI is not taken for another" {
	run_profile -cpu-only --wall --unit ns -o out.folded "$workloads/blocked" compat
	if [ "$status" = 139 ]; then skip 'the kernel has no 32-bit ABI'; fi
	expect_status 0
	expect_line out.folded ';in_compat;\[blocked: other\] [0-9]*$'
}

@test "a program that executes another: each has its own waits" {
	run_profile -cpu-only -F 997 --wall --by thread --unit ns -o out.folded "$workloads/blocked" exec
	expect_status 0
	expect_equal 'functions' "$(wc -l <stdout)" 2
	expect_waits out.folded stdout
	expect_line stderr "^$(wall_of '1 thread'), "
}

@test "all time is in the picture once, also in other formats and in a capture" {
	with_details
	run_profile -cpu-only --wall --unit ns -o a.folded -o a.svg -o a.json -o a.pb.gz -o a.html \
		-o a.speedscope.json -o a.profile "$workloads/blocked"
	expect_status 0
	total=$(weight_of a.folded)
	grep -q "^Wrote .*($total ns: " stderr
	run_profile --from a.profile --unit ns -o b.folded
	expect_status 0
	diff a.folded b.folded
	python3 - "$total" <<-'END'
		import json, sys
		t = json.load(open("a.json"))["totals"]
		assert t["cpu_ns"] + t["waiting_ns"] == int(sys.argv[1]), t
		s = json.load(open("a.speedscope.json"))
		assert sum(s["profiles"][0]["weights"]) == int(sys.argv[1])
	END
}

@test "timelines have each longer time off the CPU, by thread, also from a capture" {
	run_profile -cpu-only --wall -o a.trace.json -o a.json -o a.profile "$workloads/blocked"
	expect_status 0
	run_profile --from a.profile -o b.trace.json
	expect_status 0
	python3 - <<-'END'
		import collections, json
		def read(name):
		    rows = collections.defaultdict(list)
		    for e in json.load(open(name))["traceEvents"]:
		        if e.get("cat") == "off_cpu":
		            start = round(e["ts"] * 1000)
		            rows[e["tid"]].append((start, start + round(e["dur"] * 1000), e["name"]))
		    return rows
		rows = read("a.trace.json")
		assert rows == read("b.trace.json")
		assert len(rows) >= 8, rows.keys()
		names = {name for row in rows.values() for _, _, name in row}
		for kind in "sleep", "futex", "read pipe", "poll", "read socket":
		    assert f"[blocked: {kind}]" in names, names
		for row in rows.values(): # a thread is off the CPU once at a time
		    row.sort()
		    assert all(a[1] <= b[0] for a, b in zip(row, row[1:])), row
		t = json.load(open("a.json"))["totals"]
		ns = sum(end - start for row in rows.values() for start, end, _ in row)
		assert 0.5 * t["waiting_ns"] < ns <= t["waiting_ns"], (ns, t)
	END
}

# gil.py: two threads that compute, one that waits for a lock of its own.
write_gil()
{
	cat >gil.py <<-'END'
		import threading
		ready = threading.Lock()
		ready.acquire()
		def compute(n):
		    total = 0
		    for i in range(n):
		        total += i
		    return total
		def wait_for_lock():
		    ready.acquire()
		waiter = threading.Thread(target=wait_for_lock)
		waiter.start()
		workers = [threading.Thread(target=compute, args=(8000000,)) for _ in range(2)]
		for w in workers: w.start()
		for w in workers: w.join()
		ready.release()
		waiter.join()
	END
}

@test "Python threads that wait for the global lock, and for a lock of their own" {
	needs_command python3
	write_gil
	run_profile -cpu-only --wall --unit ns -o out.folded python3 gil.py
	expect_status 0
	expect_line out.folded ';[^;]*compute[^;]*;.*\[blocked: GIL\] [0-9]*$'
	expect_line out.folded ';[^;]*wait_for_lock[^;]*;.*\[blocked: futex\] [0-9]*$'
	expect_line stderr '^Wall: .*GIL [0-9.]* '
	# a thread that computes waits for nothing else
	expect_no_line out.folded ';[^;]*compute[^;]*;.*\[blocked: futex\]'
}

# The profiler is stopped while the program starts, so that it learns late that this is Python.
@test "Python threads that wait for the global lock before the interpreter is known" {
	with_details
	local total

	needs_command python3
	write_gil
	cat >late.sh <<-'END'
		profiler=$PPID
		kill -STOP $profiler
		(sleep 1; kill -CONT $profiler) >/dev/null 2>&1 &
		exec python3 gil.py
	END
	run_profile -cpu-only --wall --unit ns -o out.folded sh late.sh
	expect_status 0
	expect_line out.folded ';take_gil;.*\[blocked: GIL\] [0-9]*$'
	expect_no_line out.folded ';take_gil;.*\[blocked: futex\]'
	expect_line out.folded '\[blocked: futex\] [0-9]*$'
	total=$(awk '{sum += $NF} END {printf "%.0f", sum}' out.folded)
	expect_line stderr "^Wrote .* stacks \\($total ns: "
}

# A thread has sums for so many kinds and places. Many places of one kind leave room for other kinds.
@test "a thread that waits at many places, and then for something else" {
	cat >places.c <<-'END'
		#include <poll.h>
		#include <unistd.h>
		__attribute__((noinline)) static void sleep_at(int depth)
		{
			volatile char room[64];

			room[0] = 0;
			if (depth > 0)
				sleep_at(depth - 1);
			for (int i = 0; i < 5; i++)
				usleep(50);
			room[1] = room[0];
		}
		int main(void)
		{
			int ends[2];
			char byte = 0;

			sleep_at(40);
			if (pipe(ends) != 0)
				return 1;
			for (int i = 0; i < 2000; i++)
				poll(0, 0, 1);
			if (fork() == 0) {
				for (int i = 0; i < 2000 && write(ends[1], &byte, 1) == 1; i++)
					usleep(200);
				return 0;
			}
			close(ends[1]);
			while (read(ends[0], &byte, 1) == 1)
				;
			return 0;
		}
	END
	gcc -O1 -o places places.c
	run_profile --wall -cpu-only --unit ns -o out.folded ./places
	expect_status 0
	expect_line out.folded ';\[blocked: poll\] '
	expect_line out.folded ';\[blocked: read pipe\] '
	expect_no_line out.folded '\[blocked: other\]'
}

@test "with the functions of the kernel that threads wait in" {
	run_profile -cpu-only --wall=kernel --unit ns -o out.folded sleep 0.2
	expect_status 0
	expect_line out.folded ';do_syscall_64;.*nanosleep.*;schedule;__schedule;\[blocked: sleep\] [0-9]*$'
	expect_no_line out.folded '\(bpf\|__traceiter\).*\[blocked: '
	run_profile -cpu-only --wall=user --unit ns -o out.folded sleep 0.2
	expect_status 0
	expect_no_line out.folded '__schedule;\[blocked: '
	run_profile -cpu-only --wall=all -o out.folded true
	expect_status 125
	expect_line stderr "--wall is user or kernel, not 'all'"
}

@test "processes that run on: their waits up to the end of the command" {
	run_profile -cpu-only --wall --unit ns -o out.folded sh -c '
		sleep 30 >/dev/null 2>&1 &
		until grep -q "^230 " /proc/$!/syscall; do :; done
		sleep 0.3
		echo $!'
	expect_status 0
	kill "$(cat stdout)"
	expect_line out.folded '^.*sleep.*;\[blocked: sleep\] [0-9]*$'
	# two of them, and neither for 30 s
	awk '/\[blocked: sleep\]/ { ns += $NF } END { exit !(ns > 500000000 && ns < 25000000000) }' out.folded
}

@test "3,000 threads at once" {
	run_profile -cpu-only --wall --unit ns -o out.folded "$workloads/many_threads" 3000 300
	expect_status 0
	expect_line stderr "^$(wall_of '3001 threads'), "
	expect_no_line stderr 'without times, or only with a part'
}

# Some switches may be hidden from what follows them: those of a protected process, as a virtual machine's agent.
# Who comes after it was asleep until then.
@test "threads that sleep and are followed while they run use as little CPU as they say" {
	cat >sleepers.c <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/resource.h>
		#include <unistd.h>
		static volatile int is_over;
		static void *sleep_on(void *unused)
		{
			while (!is_over)
				usleep(400000);
			return unused;
		}
		int main(void)
		{
			pthread_attr_t small;
			pthread_t thread;
			struct rusage used;

			pthread_attr_init(&small);
			pthread_attr_setstacksize(&small, 65536);
			for (int i = 0; i < 3000; i++)
				if (pthread_create(&thread, &small, sleep_on, NULL) != 0)
					return 1;
			puts("ready");
			fflush(stdout);
			while (access("over", F_OK) != 0)
				usleep(20000);
			getrusage(RUSAGE_SELF, &used);
			printf("used %ld us\n", (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
				used.ru_utime.tv_usec + used.ru_stime.tv_usec);
			return 0;
		}
	END
	gcc -O1 -pthread -o sleepers sleepers.c
	./sleepers >sleepers.out &
	wait_until grep -q ready sleepers.out
	run_profile --wall -cpu-only --unit ns -d 1.5 -p $! -o out.folded
	touch over
	wait $!
	expect_status 0
	# each sleep that is taken for work is 400 ms
	awk -v used="$(sed -n 's/^used \([0-9]*\) us$/\1/p' sleepers.out)" '
		!/\[(blocked: .*|runnable)\] / { ns += $NF }
		END { print used " us used, " ns " ns are below no wait"; exit !(used > 0 && ns < used * 1000 + 300000000) }
	' out.folded
}

@test "with GPU work: its time is as without" {
	run_profile --wall --unit ns -o out.folded "$workloads/launches" 100 4
	expect_status 0
	# what ran while a thread waited is below its wait, too
	expect_equal 'GPU ns' "$(grep ';\[GPU_Kernel\][^;]*$' out.folded | awk '{ ns += $NF } END { print ns }')" 100000
	expect_line out.folded ';\[blocked: '
}

# expect_split FUNCTION CALL [MOST]: the thread's time in the call, waiting for the GPU in whatever
# way, is at most MOST times what the calls took, and that below the function's own kernel is more
# than half of what this ran meanwhile. Without MOST it is at most what they took and all time on a
# CPU: of the few samples any may lie in the call, and stand for the thread's whole CPU time.
expect_split()
{
	local known whole inside below most

	read -r _ known whole < <(grep "^${1#wait_} " stdout)
	inside=$(weight_of out.folded ";$1;$2;.*[[](waiting|spinning) for GPU[]]")
	below=$(weight_of out.folded ";$1;$2;.*[[](waiting|spinning) for GPU[]];[[]GPU_Kernel[]]${1#wait_}_kernel.*;launched at;.*;$1;cudaLaunchKernel")
	most=$((whole + $(sed -n 's/^Wrote .* ns: \([0-9]*\) CPU, .*/\1/p' stderr)))
	if [ $# -gt 2 ]; then
		most=$(($3 * whole))
	fi
	if [ "$below" -le $((known / 2)) ] || [ "$inside" -gt "$most" ]; then
		echo "$1: $below of $known, $inside of $whole"
		show
		return 1
	fi
}

@test "what threads read from, or write to" {
	needs_command python3
	cat >files.py <<-'END'
		import os, threading, time
		# once the first thread waits in a read or a write
		def late(call, *arguments):
		    while open(f"/proc/self/task/{os.getpid()}/syscall").read().split()[0] not in ("0", "1"):
		        time.sleep(0.001)
		    time.sleep(0.05)
		    call(*arguments)
		def run(call, *arguments):
		    thread = threading.Thread(target=late, args=(call, *arguments))
		    thread.start()
		    return thread
		def fifo():
		    os.mkfifo("fifo")
		    writer = os.open("fifo", os.O_RDWR)
		    reader = os.open("fifo", os.O_RDONLY)
		    t = run(os.write, writer, b"x")
		    os.read(reader, 1)
		    t.join()
		def full():
		    out, into = os.pipe()
		    t = run(os.read, out, 1 << 20)
		    os.write(into, bytes(1 << 16) + b"x")
		    t.join()
		def events():
		    fd = os.eventfd(0)
		    t = run(os.eventfd_write, fd, 1)
		    os.eventfd_read(fd)
		    t.join()
		def terminal():
		    master, slave = os.openpty()
		    t = run(os.write, master, b"x\n")
		    os.read(slave, 10)
		    t.join()
		def disk():
		    with open("cold", "wb") as f:
		        f.write(bytes(64 << 20))
		        os.fsync(f.fileno())
		    fd = os.open("cold", os.O_RDONLY)
		    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
		    while os.read(fd, 1 << 20):
		        pass
		time.sleep(1) # until it is known to run Python
		fifo()
		full()
		events()
		terminal()
		disk()
	END
	run_profile -cpu-only --wall --unit ns -o out.folded -o a.profile python3 files.py
	expect_status 0
	expect_line out.folded ';fifo [^;]*;.*read.*\[blocked: read pipe\] [0-9]*$'
	expect_line out.folded ';full [^;]*;.*write.*\[blocked: write pipe\] [0-9]*$'
	expect_line out.folded ';events [^;]*;.*read.*\[blocked: read\] [0-9]*$'
	expect_line out.folded ';terminal [^;]*;.*read.*\[blocked: read device\] [0-9]*$'
	# a file in memory has nothing to wait for
	if [ "$(stat -f -c %T .)" != tmpfs ]; then
		expect_line out.folded ';disk [^;]*;.*read.*\[blocked: read file\] [0-9]*$'
	fi
	expect_line stderr '^Wall: .*read pipe [0-9.]* '
	run_profile --from a.profile -o b.folded
	expect_line stderr '^Wall: .*read pipe [0-9.]* '
}

@test "what ran while threads waited for the GPU, blocked or spinning" {
	with_details
	run_profile --wall --by thread --unit ns -o out.folded -o a.profile "$workloads/waits"
	expect_status 0
	expect_split wait_stream cudaStreamSynchronize
	expect_split wait_device cudaDeviceSynchronize
	expect_split wait_event cudaEventSynchronize
	expect_split wait_copy cudaMemcpy
	expect_split wait_thread cudaStreamSynchronize
	expect_line out.folded ';\[blocked: sleep\];\[waiting for GPU\];\[GPU_Kernel\]'
	expect_line stderr "^$(waits_of '32 calls'), "
	# GPU time is there once, and the rest is the threads' own
	expect_equal 'GPU ns' "$(grep -v 'launched at' out.folded | weight_of - '[[]GPU_Kernel[]]')" 600000000
	total=$(weight_of out.folded)
	grep -q "^Wrote .*($total ns: " stderr
	run_profile --from a.profile --by thread --unit ns -o b.folded
	diff out.folded b.folded
	# --waits beside it changes nothing; and CUDA may spin, with samples that stand for more time
	FAKE_CUDA_SPIN=1 run_profile --wall --waits -F 997 --unit ns -o out.folded "$workloads/waits"
	expect_status 0
	expect_split wait_device cudaDeviceSynchronize 2
	expect_split wait_event cudaEventSynchronize 2
	expect_line out.folded ';\[spinning for GPU\];\[GPU_Kernel\].*;launched at;'
	expect_line stderr '^Wrote .* 6000[0-9]* GPU, '
}

# bats test_tags=quick
@test "short waits for the GPU, which have no stack each" {
	with_details
	run_profile --wall --unit ns -o out.folded "$workloads/waits" 3000 1 30
	expect_status 0
	# nearly all of it is spread: over what ran, too
	expect_line stderr 'switches, [0-9]* with a stack; [0-9.]* m*s of the others is spread'
	awk '/;cuda[A-Za-z]*Synchronize;.*\[blocked: sleep\]/ { ns += $NF }
		/;cuda[A-Za-z]*Synchronize;.*\[blocked: sleep\];\[waiting for GPU\]/ { known += $NF }
		END { exit !(ns > 0 && known > 0.9 * ns) }' out.folded
	grep -q "^Wrote .*($(weight_of out.folded) ns: " stderr
}

@test "threads that the program has not started are in a frame each" {
	run_profile --wall --unit ns -o out.folded "$workloads/launches" 300000 4
	expect_status 0
	expect_line out.folded '^\[threads of profile\];\[blocked: [a-z]*\] [0-9]*$'
	expect_line out.folded '^\[threads of CUPTI and the driver\];\[blocked: [a-z]*\] [0-9]*$'
	expect_no_line out.folded ';\[threads of '
	expect_line stderr '^  in it are [0-9.]* m*s of profile.s own thread, and [0-9.]* m*s of threads of CUPTI and the'
}

@test "threads that only wait for work are below one frame; held up ones and the first one are not" {
	with_details
	run_profile -cpu-only --wall --unit ns -o out.folded -o a.json -o a.profile "$workloads/pools"
	expect_status 0
	expect_line out.folded '^\[idle threads of pools\];.*;pool_worker;.*;\[blocked: futex\] [0-9]*$'
	expect_no_line out.folded '^[^[].*;pool_worker;\(.*;\)*pthread_cond_wait;__futex[^;]*;\[blocked: '
	# alone in the program's own code; at a lock; at a barrier; in the first thread
	expect_line out.folded '^[^[].*;lone_worker;.*;\[blocked: futex\] [0-9]*$'
	expect_line out.folded '^[^[].*;stuck;.*;\[blocked: futex\] [0-9]*$'
	expect_line out.folded '^[^[].*;at_barrier;.*;\[blocked: futex\] [0-9]*$'
	expect_line out.folded '^[^[].*;wait_for_events;.*;\[blocked: epoll\] [0-9]*$'
	expect_no_line out.folded '^\[idle threads.*;\(lone_worker\|stuck\|at_barrier\|wait_for_events\);'
	expect_line stderr '^Idle: 4 threads waited for work for [0-9.]* m*s of the [0-9.]* m*s, below \[idle threads \.\.\.\]$'
	# sums are as they were
	total=$(weight_of out.folded)
	grep -q "^Wrote .*($total ns: " stderr
	run_profile --from a.profile --unit ns -o b.folded
	expect_status 0
	diff out.folded b.folded
	expect_line stderr '^Idle: 4 threads '
}

@test "workers of Python's pools, and threads that wait for a lock of the script" {
	needs_command python3
	cat >pool.py <<-'END'
		import threading, time
		from concurrent.futures import ThreadPoolExecutor
		lock = threading.Lock()
		lock.acquire()
		def held_up():
		    lock.acquire()
		    lock.release()
		threads = [threading.Thread(target=held_up) for _ in range(3)]
		for t in threads: t.start()
		with ThreadPoolExecutor(1) as pool:
		    pool.submit(sum, [1]).result()
		    time.sleep(0.5)
		lock.release()
		for t in threads: t.join()
	END
	run_profile -cpu-only --wall --unit ns -o out.folded python3 pool.py
	expect_status 0
	expect_line out.folded '^\[idle threads of [^;]*\];.*;_worker [^;]*;.*;\[blocked: futex\] [0-9]*$'
	expect_line out.folded '^[^[].*;held_up [^;]*;.*;\[blocked: futex\] [0-9]*$'
	expect_no_line out.folded '^\[idle threads.*;held_up '
}

@test "without it, nothing is off the CPU" {
	run_profile -cpu-only --unit ns -o out.folded "$workloads/blocked"
	expect_status 0
	expect_no_line out.folded '\[(blocked: .*|runnable)\]'
	expect_no_line stderr '^Wall: '
}

@test "what it cannot be used with, and the privilege that it needs" {
	run_profile --wall -gpu-only -o out.folded true
	expect_status 125
	expect_line stderr '^profile: --wall needs CPU samples: not with -gpu-only$'
	needs_command setpriv
	chmod 777 .
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups "$profile" --wall \
		-cpu-only -o out.folded touch ran
	expect_status 125
	expect_line stderr "^profile: --wall: .*; $advice\$"
	expect_no_file ran
}
