#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Stacks are whole: without frame pointers, in samples and launches, with and without privileges.

load helpers

setup()
{
	enter_test_folder
}

# percent KIND: of whole stacks, from the summary
percent()
{
	sed -n "s/^Stacks: \([0-9.]*\) % of $1 are whole.*/\1/p" stacks
}

at_least()
{
	awk -v is="$2" -v least="$3" 'BEGIN { exit !(is != "" && is + 0 >= least) }' || {
		echo "$1: $2, should be at least $3"
		return 1
	}
}

# leaf_share FILE FUNCTION: percent of all weight in stacks with that frame
leaf_share()
{
	awk -v f=";$2[; ]" '{ n = $NF; all += n } $0 ~ f { some += n } END { printf "%.1f", 100 * some / all }' "$1"
}

@test "CPU samples of a program without frame pointers: whole, in order, in known shares" {
	with_details
	needs_root
	run_profile -cpu-only -F 997 -o out.folded "$workloads/no_frame_pointers" 3000
	expect_status 0
	cat stacks
	at_least 'whole stacks' "$(percent 'CPU samples')" 99
	for leaf in in_template in_virtual in_function in_catch in_handler in_recursion; do
		share=$(leaf_share out.folded $leaf)
		awk -v s="$share" 'BEGIN { exit !(s > 13.6 && s < 19.7) }' || {
			echo "$leaf: $share %, should be 16.7"
			return 1
		}
	done
	start='^_start;__libc_start_main[^;]*;(__libc_start_call_main;|\[libc\.so\.6[^];]*\];)?main;'
	nested='Nested<unsigned int, 8>::call;Nested<unsigned int, 7>::call;Nested<unsigned int, 6>::call'
	expect_line out.folded "$start$nested.*;Nested<unsigned int, 0>::call;in_template[; ]"
	expect_line out.folded "${start}Circle::draw;in_virtual[; ]"
	expect_line out.folded "${start}.*;in_function[; ]"
	expect_line out.folded "${start}catcher;in_catch[; ]"
	expect_line out.folded "${start}.*raise.*;on_signal;in_handler[; ]"
	expect_line out.folded "${start}(recurse;){61}in_recursion[; ]"
}

# the_same_by_uprobe WORKLOAD ARGUMENTS...: whole launch stacks, as those taken in the process
the_same_by_uprobe()
{
	local how

	for how in inprocess uprobe; do
		run_profile -gpu-only --unit ns -launch-stacks $how -o $how.folded "$@"
		expect_status 0
		expect_line stderr "^$(correlation '[0-9]+')\$"
		expect_line stacks "^$(whole_launches 100.0), "
		sort $how.folded >$how.stacks
	done
	[ -s uprobe.stacks ]
	diff inprocess.stacks uprobe.stacks
}

# bats test_tags=quick
@test "launch stacks are the same in the process and by uprobe" {
	with_details
	needs_root
	the_same_by_uprobe "$workloads/pyramid" 2
	the_same_by_uprobe "$workloads/launches" 50
	the_same_by_uprobe "$workloads/launches_static" 50
	the_same_by_uprobe "$workloads/driver_api"
}

needs_return_probes()
{
	needs_root
	[ -e /sys/bus/event_source/devices/uprobe ] || skip 'the kernel has no uprobes'
	case $(uname -r) in
	6.11.* | 6.12.* | 6.13.*) skip 'return probes can kill processes on this kernel' ;;
	esac
}

# watch_returns FILE PATTERN: as another tracer does, of all functions whose names are like that.
# In all processes that map the file, so it must be the test's own. Until stop_watching, or the
# test's end.
watch_returns()
{
	local offsets input name=${1##*/}

	mapfile -t offsets < <({ nm "$1"; nm -D --without-symbol-versions "$1"; } 2>/dev/null |
		awk -v like="$2" 'toupper($2) == "T" && $3 ~ like { print $1 }' | sort -u)
	[ ${#offsets[@]} -gt 0 ]
	mkfifo "$name.watched"
	"$workloads/return_probes" "$(readlink -f "$1")" "${offsets[@]}" <"$name.watched" >"$name.watching" 3>&- &
	watchers+=($!)
	exec {input}>"$name.watched"
	inputs+=("$input")
	rm "$name.watched"
	wait_until grep -q ready "$name.watching"
}

stop_watching()
{
	local input

	for input in "${inputs[@]}"; do exec {input}>&-; done
	wait "${watchers[@]}"
	inputs=() watchers=()
}

# each takes the kernel a tenth of a second to remove
readonly watched_functions='^cu(da)?(LaunchKernel|GraphLaunch|GraphAddKernelNode|GraphAddNode)$'

# as_if_unwatched WORKLOAD [OPTION...]: the same 15 stacks whether returns are watched or not
as_if_unwatched()
{
	run_profile -gpu-only --unit ns --raw-names "${@:2}" -o unwatched.folded "$workloads/$1" all
	expect_status 0
	expect_equal "stacks of $*" "$(wc -l <unwatched.folded)" 15
	watch_returns cuda/libcudart.so.13 "$watched_functions"
	watch_returns cuda/libcuda.so.1 "$watched_functions"
	run_profile -gpu-only --unit ns --raw-names "${@:2}" -o watched.folded "$workloads/$1" all
	stop_watching
	expect_status 0
	expect_line stacks "^$(whole_launches 100.0), "
	diff <(sort unwatched.folded) <(sort watched.folded)
}

@test "return probes of another tracer on CUDA's functions change no stack" {
	with_details
	needs_return_probes
	cp -a "$fake_cuda" cuda
	export LD_LIBRARY_PATH=$PWD/cuda
	for workload in conditionals conditionals_frameless; do
		as_if_unwatched "$workload"
		as_if_unwatched "$workload" -launch-stacks uprobe
	done
}

@test "return probes of another tracer on a program's functions change no CPU sample" {
	with_details
	needs_return_probes
	cp "$workloads/no_frame_pointers" program
	# those that no exception leaves: it would not get past a return probe
	watch_returns program 'in_(template|virtual|function|recursion|handler)'
	run_profile -cpu-only -F 997 -o out.folded ./program 3000
	stop_watching
	expect_status 0
	at_least 'whole stacks' "$(percent 'CPU samples')" 99
	expect_no_line out.folded '[[]uprobes[]];in_'
	expect_line out.folded ';main;.*;Nested<unsigned int, 0>::call;in_template[; ]'
	expect_line out.folded ';main;Circle::draw;in_virtual[; ]'
	expect_line out.folded ';on_signal;in_handler[; ]'
	expect_line out.folded ';main;(recurse;){61}in_recursion[; ]'
}

@test "launch stacks are whole, and the summary says how they were captured" {
	with_details
	needs_root
	run_profile -gpu-only -o out.folded "$workloads/inference" 5
	expect stacks <<<"$(whole_launches 100.0), taken in the process"
	run_profile -gpu-only -launch-stacks uprobe -o out.folded "$workloads/inference" 5
	expect stacks <<<"$(whole_launches 100.0), taken by uprobes on 16 functions"
}

@test "-gpu-only needs no privilege" {
	with_details
	needs_root
	needs_command setpriv
	cp "$profile" "$workloads/inference" .
	chmod 755 profile inference
	mkdir open
	chmod 777 open
	run_command setpriv --reuid 65534 --regid 65534 --clear-groups \
		./profile -v -gpu-only --unit ns -o open/out.folded ./inference 20
	expect_status 0
	expect stderr <<-END
		Samples: $(launched 1480 1480) (530.800 ms)
		$(correlation 1480)
		Wrote 8 stacks (530800000 ns: 0 CPU, 530800000 GPU) to open/out.folded
	END
	expect stacks <<<"$(whole_launches 100.0), taken in the process"
	run_profile -gpu-only --unit ns -o root.folded "$workloads/inference" 20
	diff root.folded open/out.folded
}

@test "a launch in a program that exits before its stack is read" {
	needs_root
	run_profile -gpu-only --unit ns -o out.folded "$workloads/forks"
	expect_status 0
	if grep -q 'unknown' out.folded; then
		cat out.folded
		return 1
	fi
	expect_line out.folded ';main;exec_child_launches;cudaLaunchKernel;'
}

@test "deep recursion is visibly truncated" {
	with_details
	needs_root
	cat >deep.c <<-'END'
		#include <stdlib.h>
		volatile unsigned long sink;
		__attribute__((noinline)) static void burn(void)
		{
			for (unsigned long i = 0; i < 400000000; i++)
				sink = sink + i;
		}
		__attribute__((noinline)) static void down(int n)
		{
			volatile char room[1000];
			room[n % 1000] = 1;
			if (n)
				down(n - 1);
			else
				burn();
			sink = sink + (unsigned long)room[n % 1000];
		}
		int main(void)
		{
			down(1000);
			return 0;
		}
	END
	gcc -O1 -o deep deep.c
	run_profile -cpu-only -o out.folded ./deep
	expect_status 0
	expect_line out.folded '^\[truncated\];(down;){50}.*;burn [0-9]+$'
	expect_line stacks '^profile: [0-9]+ stacks? (is|are) cut '
}

@test "--inlines: inlined functions are frames of their own, and are not without it" {
	needs_root
	cat >inlines.c <<-'END'
		volatile unsigned long sink;
		#define INLINE __attribute__((always_inline)) static inline
		INLINE void inner(void) { for (unsigned long i = 0; i < 300000000; i++) sink += i; }
		INLINE void middle(void) { inner(); }
		__attribute__((noinline)) void outer(void) { middle(); }
		int main(void) { outer(); return 0; }
	END
	"${CC:-cc}" -O2 -g -o inlines inlines.c
	run_profile -cpu-only -F 997 -o plain.folded ./inlines
	expect_status 0
	expect_line plain.folded ';main;outer '
	expect_no_line plain.folded 'middle|inner'
	run_profile -cpu-only -F 997 --inlines -o inlines.folded ./inlines
	expect_status 0
	expect_line inlines.folded ';main;outer;middle;inner '
	strip inlines
	run_profile -cpu-only -F 997 --inlines -o stripped.folded ./inlines
	expect_status 0
	expect_line stripped.folded ';\[inlines\+0x[0-9a-f]+\] '
}

# The files are gone with the namespace when names are looked up.
@test "separate debug files in the mount namespace of a container: names and inlined functions" {
	local place

	needs_root
	needs_command objcopy
	unshare -m true 2>/dev/null || skip 'mount namespaces cannot be made here'
	mkdir box
	cat >boxed.c <<-'END'
		volatile unsigned long sink;
		__attribute__((always_inline)) static inline void inner(void)
		{ for (unsigned long i = 0; i < 300000000; i++) sink += i; }
		__attribute__((noinline)) static void outer(void) { inner(); sink++; }
		int main(void) { outer(); return 0; }
	END
	"${CC:-cc}" -O2 -g -Wl,--build-id=0x1122334455667788 -o whole boxed.c
	objcopy --only-keep-debug whole boxed.debug
	strip -o boxed whole
	objcopy --add-gnu-debuglink=boxed.debug boxed
	mv boxed.debug files.debug
	for place in boxed.debug .debug/boxed.debug /usr/lib/debug/.build-id/11/22334455667788.debug; do
		run_profile -cpu-only -F 997 --inlines -o box.folded unshare -m sh -ec '
			work=$PWD; mount -t tmpfs none box; cp boxed box; cd box
			[ "${1#/}" = "$1" ] || { mkdir -p /usr/lib/debug; mount -t tmpfs none /usr/lib/debug; }
			mkdir -p "$(dirname "$1")"; cp "$work/files.debug" "$1"; exec ./boxed' sh "$place"
		expect_status 0
		expect_line box.folded ';main;outer;inner '
	done
}

# Built with all of its symbols removed: names are those of the table that its runtime needs.
@test "a stripped Go program has names, linked by Go and by the C compiler" {
	local mode

	needs_command go
	mkdir go && cd go
	cat >main.go <<-'END'
		package main

		import "os"

		type counter struct{ sum int }

		//go:noinline
		func (c *counter) spin(n int) {
			for i := 0; i < n; i++ {
				c.sum = c.sum*31 + i
			}
		}

		func main() {
			c := &counter{}
			for i := 0; i < 100; i++ {
				c.spin(4000000)
			}
			if c.sum == 1 {
				os.Exit(1)
			}
		}
	END
	export GO111MODULE=off GOFLAGS='' GOTOOLCHAIN=local HOME=$PWD GOCACHE=$PWD/cache
	for mode in '' -buildmode=pie '-buildmode=pie -linkmode=external'; do
		# shellcheck disable=SC2086
		go build ${mode%-linkmode*} -ldflags="-s -w ${mode#*pie}" -o program main.go ||
			skip "go cannot link: $mode"
		run_profile -q -cpu-only -F 997 -o out.folded --unit ns ./program
		expect_status 0
		expect_line out.folded 'main\.\(\*counter\)\.spin '
		# below it there may be the assembler by which C starts threads of Go
		expect_no_line out.folded '\[program\].*;main\.|(^|;)main\..*\[program\]'
	done
}

@test "generated code of Node has names, from its perf map and from its jitdump" {
	needs_command node
	cat >spin.js <<-'END'
		function turning(n) { return n < 2 ? n : turning(n - 1) + turning(n - 2) }
		const end = Date.now() + 700
		while (Date.now() < end) turning(22)
	END
	run_profile -q -cpu-only -F 997 -o map.folded node --perf-basic-prof spin.js
	expect_status 0
	expect_line map.folded 'turning .*spin\.js:1'
	run_profile -q -cpu-only -F 997 -o dump.folded node --perf-prof spin.js
	expect_status 0
	# elsewhere its folder is the working directory, too
	[ -n "$(compgen -G 'jit-*.dump')" ] || skip "this Node writes no jitdump"
	expect_line dump.folded 'turning .*spin\.js:1'
}

@test "generated code at an address that is used again has the name of its time" {
	local rare

	run_profile -q -cpu-only -F 997 -o reuse.folded --unit ns "$workloads/jit_reuse" 1600
	expect_status 0
	rare=$(awk '/;rare / { rare += $NF } /;(rare|frequent) / { all += $NF }
		END { print int(100 * rare / all + 0.5) }' reuse.folded)
	echo "rare: $rare %"
	[ "$rare" -ge 20 ] && [ "$rare" -le 30 ]
	expect_no_line reuse.folded '\[jit\]'
}

# expect_generated_stacks LAYOUT: jit_program's three stacks are whole, of as much time each. Its functions keep data
# in rbp and old return addresses in their frames. What runs before its record is read may be guessed.
expect_generated_stacks()
{
	run_profile -cpu-only -F 997 -o "$1.folded" --unit ns "$workloads/jit_program" "$1" 1800
	expect_status 0
	awk '/;leaf[; ]/ { all += $NF }
		/;through_first;first;between;inner;leaf[; ]/ { first += $NF }
		/;through_moved;first;between;inner;leaf[; ]/ { moved += $NF }
		/;through_second;second;between;inner;leaf[; ]/ { second += $NF }
		END {
			printf "%d %d %d of %d\n", first, moved, second, all
			exit !(first > all / 4 && moved > all / 4 && second > all / 4 &&
				first + moved + second > 0.9 * all)
		}' "$1.folded"
}

@test "generated code without frame pointers: stacks are whole by the call-frame information of its jitdump" {
	for layout in perf spec placed; do
		echo "$layout"
		expect_generated_stacks $layout
		expect_no_line stderr 'of call-frame information in jitdumps'
	done
}

@test "malformed call-frame information in a jitdump is counted, and the rest of it used" {
	expect_generated_stacks hostile
	expect_line stderr '32 records of call-frame information in jitdumps are malformed'
}

# Written at its end: it is found though the process is gone when names are looked up.
@test "generated code of Java has names, from the perf map that it leaves" {
	needs_command java
	cat >Spin.java <<-'END'
		public class Spin {
			static int turning(int n) { return n < 2 ? n : turning(n - 1) + turning(n - 2); }
			public static void main(String[] arguments) {
				long end = System.currentTimeMillis() + 1500;
				while (System.currentTimeMillis() < end)
					turning(22);
			}
		}
	END
	run_profile -q -cpu-only -F 499 -o java.folded java -XX:+UnlockDiagnosticVMOptions \
		-XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer Spin.java
	[ "$status" = 0 ] || skip "this Java has no -XX:+DumpPerfMapAtExit"
	expect_line java.folded 'Spin\.turning'
}

@test "functions of Cython, D and OCaml have readable names" {
	needs_command gcc
	mkdir folder
	# names that their compilers make
	cat >other.c <<-'END'
		#include <time.h>
		#define NAMED(name) __asm__(name) __attribute__((noinline, noclone))
		static volatile unsigned long sum;
		void work(void) NAMED("camlUnit__work_12");
		void in_d(void) NAMED("_D2dd__T1STiZQf__T4workVAyaa3_686f74ZQtMFNbNiNfiZm");
		void method(void) NAMED("__pyx_pw_3cyx_4node_1meth");
		void work(void)
		{
			struct timespec t;
			do {
				for (int i = 0; i < 100000; i++) sum += i;
				clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
			} while (t.tv_sec == 0 && t.tv_nsec < 300000000);
			sum++;
		}
		void in_d(void) { work(); sum++; }
		void method(void) { in_d(); sum++; }
		int main(void) { method(); return 0; }
	END
	gcc -O1 -o folder/cyx other.c
	run_profile -cpu-only -F 500 -o out.folded folder/cyx
	expect_status 0
	expect_line out.folded ';main;node\.meth \(cyx\.pyx\);dd\.S!\(int\)\.S\.work!\("hot"\)\.work;Unit\.work_12 '
}

@test "what Cython compiled" {
	local include python=/usr/bin/python3

	needs_command gcc
	needs_command cython3
	include=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
	if [ ! -e "$include/Python.h" ]; then skip 'no headers of Python are installed'; fi
	cat >cyx.pyx <<-'END'
		# cython: language_level=3
		import time
		cdef double inner(long n):
		    cdef double s = 0
		    cdef long i
		    for i in range(n):
		        s += i * 0.5
		    return s
		class K:
		    def meth(self, double seconds):
		        end = time.process_time() + seconds
		        while time.process_time() < end:
		            inner(100000)
	END
	cython3 cyx.pyx
	gcc -w -O2 -fPIC -shared -I"$include" cyx.c -o cyx.so
	run_profile -cpu-only -F 500 -o out.folded "$python" -c 'import cyx; cyx.K().meth(0.3)'
	expect_status 0
	expect_line out.folded ';K\.meth \(cyx\.pyx\)'
	expect_no_line out.folded '__pyx_p[wf]_'
}
