#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Stacks through code without call-frame information, and what they end at: assembler, other C
# libraries, other languages.

load helpers

setup()
{
	needs_root
	enter_test_folder
	unset LD_LIBRARY_PATH
}

# sample COMMAND...: CPU samples in out.folded
sample()
{
	run_profile -v -cpu-only -F 499 -o out.folded "$@"
	expect_status 0
	cat stacks
	grep 'cut in' stderr || true
}

# whole_at_least PERCENT
whole_at_least()
{
	awk -v least="$1" '/^Stacks: .* % of CPU samples are whole/ { found = 1; good = $2 >= least }
		END { exit !(found && good) }' stacks
}

# like PATTERN: the weight of the stacks that match it, without those of exec and exit, which have only
# kernel functions; awk -v would take the pattern's backslashes away
like()
{
	pattern=$1 awk '{ stack = $0; sub(/ [0-9]+$/, "", stack) }
		stack ~ /^[^;]*;(entry_SYSCALL_64[^;]*|asm_[^;]*|\[kernel\])(;|$)/ { next }
		stack ~ ENVIRON["pattern"] { sum += $NF } END { printf "%d\n", sum }' out.folded
}

# share_at_least PERCENT PATTERN: of all weight, in stacks that match it
share_at_least()
{
	local all some

	all=$(like '')
	some=$(like "$2")
	if [ $((100 * some)) -lt $(($1 * all)) ]; then
		echo "$some of $all match $2"
		awk '{ print $NF, $0 }' out.folded | sort -rn | head -5
		return 1
	fi
}

# kernels.S as OpenBLAS has them: pushes, large buffers that nothing wrote to, rbp for data.
make_kernels()
{
	cat >kernels.S <<-'END'
			.text
			.globl by_pushes, by_buffer, by_data, as_leaf, calls_back
			.balign 64
		by_pushes:
			push %rbp
			push %rbx
			push %r12
			push %r13
			mov %rdi, %rbp
		1:	imul $77, %rax, %rax
			dec %rbp
			jnz 1b
			pop %r13
			pop %r12
			pop %rbx
			pop %rbp
			ret
			.balign 64
		by_buffer:
			push %rbp
			push %rbx
			mov %rsp, %rbx
			sub $28672, %rsp
			and $-4096, %rsp
			mov %rdi, %rbp
		1:	imul $77, %rax, %rax
			dec %rbp
			jnz 1b
			mov %rbx, %rsp
			pop %rbx
			pop %rbp
			ret
			.balign 64
		by_data:	# rbp points at two words that look like a frame
			push %rbp
			push %rbx
			lea fake(%rip), %rax
			push %rax
			lea 8(%rsp), %rax
			push %rax
			mov %rsp, %rbp
		1:	imul $77, %rax, %rax
			dec %rdi
			jnz 1b
			add $16, %rsp
			pop %rbx
			pop %rbp
			ret
			.balign 64
		as_leaf:
			imul $77, %rax, %rax
			dec %rdi
			jnz as_leaf
			ret
			.balign 64
		calls_back:	# (n, function)
			push %rbp
			push %r14
			sub $4104, %rsp
			mov $5, %ebp
			call *%rsi
			add $4104, %rsp
			pop %r14
			pop %rbp
			ret
			.data
		fake:	.quad 0
			.section .note.GNU-stack,"",@progbits
	END
	cat >kernels.c <<-'END'
		#include <string.h>
		#include <stdio.h>
		#include <time.h>
		typedef void (*kernel)(unsigned long n, void (*f)(unsigned long));
		void by_pushes(unsigned long, void (*)(unsigned long));
		void by_buffer(unsigned long, void (*)(unsigned long));
		void by_data(unsigned long, void (*)(unsigned long));
		void as_leaf(unsigned long, void (*)(unsigned long));
		void calls_back(unsigned long, void (*)(unsigned long));
		volatile unsigned long sink;
		#define N __attribute__((noinline, noclone))
		/* leaves return addresses in the stack that the kernels take */
		N static void litter(int depth)
		{
			volatile char room[700];
			room[depth] = 1;
			if (depth)
				litter(depth - 1);
			else
				sink += (unsigned long)snprintf((char *)room, 700, "%g", 1.5);
			sink += (unsigned long)room[depth];
		}
		N static void back(unsigned long n)
		{
			for (unsigned long i = 0; i < n; i++)
				sink = sink + i;
		}
		N static void direct_pushes(unsigned long n) { by_pushes(n, back); sink++; }
		N static void direct_buffer(unsigned long n) { by_buffer(n, back); sink++; }
		N static void direct_data(unsigned long n) { by_data(n, back); sink++; }
		N static void direct_leaf(unsigned long n) { as_leaf(n, back); sink++; }
		N static void direct_back(unsigned long n) { calls_back(n / 4, back); sink++; }
		N static void indirect(kernel k, unsigned long n) { k(n, back); sink++; }
		N static void middle(unsigned long n)
		{
			static volatile kernel kernels[] = {by_pushes, by_buffer, by_data, as_leaf};
			volatile char room[100];
			room[5] = 1;
			for (int i = 0; i < 4; i++) {
				litter(40);
				indirect(kernels[i], n);
			}
			litter(40);
			direct_pushes(n);
			direct_buffer(n);
			direct_data(n);
			direct_leaf(n);
			direct_back(n);
			sink += (unsigned long)room[5];
		}
		int main(void)
		{
			for (int i = 0; i < 5; i++)
				middle(30000000);
			return 0;
		}
	END
	"${CC:-cc}" "$@" -o kernels kernels.c kernels.S
}

# expect_kernels PERCENT: each kernel below the function that called it, and nothing else.
expect_kernels()
{
	local start='^_start;(__libc_start_main[^;]*;)?(__libc_start_call_main;|\[libc\.so\.6[^];]*\];)?main;middle;'

	for kernel in by_pushes by_buffer by_data as_leaf; do
		expect_line out.folded "${start}indirect;$kernel [0-9]+$"
		expect_line out.folded "${start}direct_${kernel#*_};$kernel [0-9]+$"
	done
	expect_line out.folded "${start}direct_back;calls_back;back [0-9]+$"
	share_at_least "$1" "${start}(indirect;(by_pushes|by_buffer|by_data|as_leaf)|direct_(pushes;by_pushes|buffer;by_buffer|data;by_data|leaf;as_leaf|back;calls_back;back))(;|$)"
}

# Where the stack begins decides whether the buffer holds what a call through a pointer in snprintf
# left. It fits as well, so some stacks are guessed; they are right all the same.
@test "assembler without call-frame information, called from C without frame pointers" {
	make_kernels -O2
	sample ./kernels
	whole_at_least 80
	expect_kernels 98
}

# bats test_tags=quick
@test "the same called from C with frame pointers" {
	make_kernels -O2 -fno-omit-frame-pointer
	sample ./kernels
	whole_at_least 80
	expect_kernels 98
}

# What earlier calls of the loader left in the buffer may fit as well: then it is a guess.
@test "the same in a static program without a search table: right, or a guess" {
	local wrong

	make_kernels -O2 -static
	objcopy --rename-section .eh_frame_hdr=.unused kernels
	sample ./kernels
	whole_at_least 80
	wrong=$(like 'by_[a-z]*$')
	wrong=$((wrong - $(like ';(indirect;by_[a-z]*|direct_([a-z]*);by_[a-z]*)$')))
	[ "$wrong" -le "$(sed -n 's/^Stacks: \([0-9]*\) .* guessed: .*/\1/p' stacks | grep . || echo 0)" ]
}

# Its frame pointer is popped there, and the row says where it was.
@test "returns of small functions with frame pointers" {
	local cc options

	cat >returns.c <<-'END'
		#include <time.h>
		#define LEAF(n) __attribute__((noinline)) static long n(long a, long b) { return a * b + 1; }
		LEAF(one) LEAF(two)
		long (*volatile f)(long, long) = one, (*volatile g)(long, long) = two;
		__attribute__((noinline)) static long inner(long n)
		{
			long s = 0;
			for (long i = 0; i < n; i++)
				s += f(s, i) + g(i, s);
			return s;
		}
		__attribute__((noinline)) static long outer(long n) { return inner(n) + 1; }
		int main(void)
		{
			long s = 0;
			while (clock() < CLOCKS_PER_SEC)
				s += outer(100000);
			return s == 42;
		}
	END
	for cc in gcc clang; do
		for options in -O0 '-O2 -fno-omit-frame-pointer'; do
			# shellcheck disable=SC2086
			$cc $options -o returns returns.c
			sample ./returns
			whole_at_least 99
			share_at_least 99 '^_start;([^;]*;)*main;(outer;inner;(one|two)(;|$)|outer;inner(;|$)|clock)'
			expect_line out.folded ';outer;inner;(one|two) [0-9]+$'
		done
	done
}

# Further up are calls of other functions, which are no callers.
@test "C without call-frame information, and a buffer that nothing wrote to" {
	cat >buffer.c <<-'END'
		#include <pthread.h>
		#include <time.h>
		#define FN __attribute__((noinline)) void
		static volatile long sink;
		FN first(void);
		FN second(void);
		FN third(void);
		FN burn(void);
		FN first(void) { second(); sink++; }
		FN second(void) { volatile char big[12000]; big[0] = 1; third(); sink += big[0]; }
		FN third(void) { burn(); sink++; }
		FN burn(void) { for (long i = 0; i < 100000; i++) sink = sink * 31 + i; }
		static void *run(void *arg) { while (clock() < CLOCKS_PER_SEC) first(); return arg; }
		int main(void)
		{
			pthread_t thread;
			pthread_create(&thread, 0, run, 0);
			return pthread_join(thread, 0);
		}
	END
	gcc -O2 -fno-toplevel-reorder -fno-asynchronous-unwind-tables -pthread -o buffer buffer.c
	sample ./buffer
	whole_at_least 97
	share_at_least 97 '^clone3?;start_thread;run;(first;(second;(third;(burn)?)?)?|clock)'
	expect_line out.folded ';run;first;second;third;burn [0-9]+$'
}

@test "numpy's matrix products in OpenBLAS" {
	local python=/usr/bin/python3

	if ! "$python" -c 'import numpy' 2>/dev/null; then skip 'numpy is not installed'; fi
	if ! ldconfig -p | grep -q libopenblas; then skip 'OpenBLAS is not installed'; fi
	cat >product.py <<-'END'
		import numpy, time
		a = numpy.random.rand(500, 500)
		end = time.process_time() + 2
		while time.process_time() < end: a @ a
	END
	for core in Haswell Zen Prescott; do
		OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=$core sample "$python" product.py
		whole_at_least 95
		expect_line out.folded "^_start;.*<module> \(product\.py\);.*;cblas_dgemm;[^;]*;dgemm_kernel_${core^^} [0-9]+$"
	done
}

@test "_start without call-frame information in a static program" {
	cat >bare.S <<-'END'
			.text
			.globl _start
		_start:	xor %ebp, %ebp
			mov %rsp, %rdi
			and $-16, %rsp
			call begin
	END
	echo '	.section .note.GNU-stack,"",@progbits' >>bare.S
	cat >begin.c <<-'END'
		static volatile unsigned long sink;
		__attribute__((noinline)) static void burn(void)
		{
			for (unsigned long i = 0; i < 1500000000; i++)
				sink = sink + i;
		}
		void begin(void);
		void begin(void)
		{
			burn();
			__asm__ volatile("syscall" : : "a"(60), "D"(0));
		}
	END
	"${CC:-cc}" -O1 -static -nostdlib -nostartfiles -fno-stack-protector -o bare bare.S begin.c
	sample ./bare
	whole_at_least 100
	share_at_least 100 '^_start;begin(;burn)?(;|$)'
}

burner()
{
	cat >burner.c <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <string.h>
		volatile unsigned long sink;
		static char from[1 << 16], to[1 << 16];
		#define N __attribute__((noinline, noclone))
		N static void burn(void)
		{
			for (unsigned long i = 0; i < 200000000; i++)
				sink = sink + i;
		}
		N static void copies(void)
		{
			for (int i = 0; i < 150000; i++) {
				memcpy(to, from, sizeof(to));
				sink += (unsigned long)to[i % 100];
			}
		}
		N static void prints(void)
		{
			char text[200];
			for (int i = 0; i < 600000; i++)
				sink += (unsigned long)snprintf(text, 200, "%d %s %g", i, "x", i * 1.5);
		}
		N static void work(void) { burn(); copies(); prints(); sink++; }
		static void *thread(void *p) { work(); return p; }
		int main(void)
		{
			pthread_t t;
			pthread_create(&t, 0, thread, 0);
			work();
			pthread_join(t, 0);
			return 0;
		}
	END
}

@test "threads of glibc, shared and static" {
	burner
	for how in -O2 '-O2 -static'; do
		# shellcheck disable=SC2086
		"${CC:-cc}" $how -pthread -o burner burner.c
		sample ./burner
		whole_at_least 99
		share_at_least 99 '^(_start;__libc_start_main[^;]*;.*main;work|(__)?clone3?;(start_thread|\[libc\.so\.6[^];]*\]);thread;work)(;|$)'
	done
}

# What the library's functions call each other for is not certain where it is not said.
@test "threads of musl, which has no call-frame information" {
	needs_command musl-gcc
	burner
	for how in -O2 '-O2 -static' '-O2 -fno-omit-frame-pointer'; do
		# shellcheck disable=SC2086
		musl-gcc $how -o burner burner.c
		sample ./burner
		expect_no_line out.folded '^memcpy'
		expect_line out.folded '^(libc_start_main_stage2|\[libc\.so[^];]*\]|\[ld-musl[^;]*);main;work;copies;memcpy '
		expect_line out.folded '^(start|\[libc\.so[^];]*\]|\[ld-musl[^;]*);thread;work;copies;memcpy '
		# what begins elsewhere is a guess, of the library's functions about each other
		share_at_least 90 '^(\[truncated\]|([^;]*;)?(libc_start_main_stage2;main|start;thread|\[(libc\.so|ld-musl)[^;]*\];(main|thread));work)(;|$)'
		whole_at_least 50
	done
}

# One process in 256 has such a stack.
@test "a stack that begins at a border of pages" {
	needs_command musl-gcc
	cat >border.c <<-'END'
		#include <stdint.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/personality.h>
		#include <unistd.h>
		volatile unsigned long sink;
		__attribute__((noinline, noclone)) static void burn(void)
		{
			for (unsigned long i = 0; i < 300000000; i++)
				sink = sink + i;
		}
		int main(int count, char **arguments)
		{
			(void)count;
			size_t below = (uintptr_t)(arguments - 1) % 4096; /* where the kernel put the count */
			static char filling[1 << 14] = "1";
			if (below != 0) { /* again, with so much more above it */
				const char *last = getenv("FILLING");
				size_t length = last ? strlen(last) + below : 1;
				if (length >= sizeof(filling))
					return 1;
				memset(filling, '1', length);
				setenv("FILLING", filling, 1);
				personality(ADDR_NO_RANDOMIZE);
				execv("/proc/self/exe", arguments);
			}
			printf("%zu\n", below);
			burn();
			return 0;
		}
	END
	musl-gcc -O2 -static -o border border.c
	sample ./border
	expect_line stdout '^0$'
	whole_at_least 99
	share_at_least 99 '^libc_start_main_stage2;main(;|$)'
}

@test "goroutines end in goexit, and nothing is left out" {
	needs_command go
	cat >burner.go <<-'END'
		package main

		import "sync"

		var sink uint64

		//go:noinline
		func leaf(n uint64) uint64 {
			for i := uint64(0); i < 300000000; i++ {
				n = n*6364136223846793005 + i
			}
			return n
		}

		//go:noinline
		func middle(n uint64) uint64 { var room [50]uint64; room[n%50] = leaf(n); return room[3] + 1 }

		func main() {
			var all sync.WaitGroup
			for i := uint64(0); i < 3; i++ {
				all.Add(1)
				go func(i uint64) { defer all.Done(); sink += middle(i) }(i)
			}
			all.Wait()
		}
	END
	GO111MODULE=off GOFLAGS='' GOCACHE=$root/build/go go build -o burner burner.go
	sample ./burner
	whole_at_least 97
	share_at_least 90 '^runtime\.goexit[^;]*;main\.main\.func2;main\.main\.func1;main\.middle;main\.leaf(;|$)'
	for mode in '' -buildmode=pie '-buildmode=pie -linkmode=external'; do
		# shellcheck disable=SC2086
		GO111MODULE=off GOFLAGS='' GOCACHE=$root/build/go go build ${mode%-linkmode*} \
			-ldflags="-s -w ${mode#*pie}" -o stripped burner.go ||
			skip "go cannot link: $mode"
		sample ./stripped
		whole_at_least 97
		share_at_least 90 '^runtime\.goexit[^;]*;main\.main\.func2;main\.main\.func1;main\.middle;main\.leaf(;|$)'
	done
}

@test "threads of Rust and of Java" {
	if ! command -v rustc >/dev/null && ! command -v java >/dev/null; then
		skip 'neither rustc nor java is installed'
	fi
	if command -v rustc >/dev/null; then
		cat >burner.rs <<-'END'
			use std::hint::black_box;
			#[inline(never)]
			fn burn() { for i in 0..300000000u64 { black_box(i); } }
			fn main() {
				let thread = std::thread::spawn(|| { burn(); black_box(0); });
				burn();
				thread.join().unwrap();
			}
		END
		rustc -O -o burner burner.rs
		sample ./burner
		whole_at_least 98
		share_at_least 90 '^(_start;__libc_start_main.*;main;.*;burner::main;|(__)?clone3?;(start_thread|\[libc\.so\.6[^];]*\]);.*;)burner::burn(;|$)'
	fi
	if command -v java >/dev/null && java -version 2>/dev/null; then
		cat >Burner.java <<-'END'
			public class Burner {
				static volatile long sink;
				static void burn() { for (long i = 0; i < 300000000L; i++) sink += i; }
				public static void main(String[] a) { burn(); }
			}
		END
		sample java -Xint -XX:+PreserveFramePointer Burner.java
		expect_no_line out.folded '^\[jit\]'
		whole_at_least 90
	fi
}

@test "-v says why stacks are cut, and where" {
	make_kernels -O2
	cat >lost.S <<-'END'
			.text
			.globl lost
		lost:	# a stack of its own, on which nothing calls
			push %rbp
			mov %rsp, %rbx
			lea area+60000(%rip), %rsp
			xor %ebp, %ebp
		1:	dec %rdi
			jnz 1b
			mov %rbx, %rsp
			pop %rbp
			ret
			.bss
			.balign 4096
		area:	.skip 65536
			.section .note.GNU-stack,"",@progbits
	END
	cat >cut.c <<-'END'
		void lost(unsigned long);
		int main(void) { __asm__ volatile("" ::: "rbx"); lost(2000000000); return 0; }
	END
	"${CC:-cc}" -O2 -o cut cut.c lost.S
	sample ./cut
	expect_line stacks '^profile: [0-9]+ stacks are cut in .*/cut: no call-frame information, and no caller to be found$'
	run_profile -cpu-only -F 499 -o out.json ./cut
	expect_status 0
	expect_line out.json '"stacks_cut_no_information":[1-9][0-9]*'
	expect_no_line stacks 'cut in'
}

# awk has no {6}
levels='descend;descend;descend;descend;descend;descend;deep_work'

# in_handlers CASE PATTERN: a handler on an alternate stack, below what PATTERN matches
in_handlers()
{
	sample "$workloads/handlers" "$1"
	share_at_least 98 "$2;.*raise.*;on_signal;(.*;)?in_handler(;|$)"
	whole_at_least 98
}

@test "a signal's handler on an alternate stack, and all that it interrupts" {
	local case

	for case in apart below nested large; do
		in_handlers $case ";main;run;$levels"
	done
	share_at_least 98 ';on_signal;with_much_stack;in_handler(;|$)'
	in_handlers within ";main;run_within;run;$levels"
	in_handlers thread ";start_thread;run;$levels"
	in_handlers coroutine "^in_coroutine;run;$levels"
}

@test "a stack that has overflowed, whose pointer leads nowhere" {
	sample "$workloads/handlers" overflow
	share_at_least 98 ';start_thread;run;(overflow;)+.*;on_signal;in_handler(;|$)'
	whole_at_least 98
}

@test "an alternate stack that is in use without a signal" {
	sample "$workloads/handlers" unused
	share_at_least 98 ";main;(run_unused;)?$levels;in_handler(;|$)"
	whole_at_least 98
}

@test "interrupted stack pointers that are none: cut at the signal, and nothing else is read" {
	local case

	for case in kernel null code; do
		sample "$workloads/handlers" $case
		share_at_least 98 '^\[truncated\];(.*;)?on_signal;with_stack_pointer;in_handler(;|$)'
	done
}
