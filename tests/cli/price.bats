#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# What one launch costs the program, in instructions and memory: so that it cannot creep up. Counted,
# not timed. `tests/bench/price --functions` shows where it goes.

load helpers

setup()
{
	enter_test_folder
	needs_command valgrind
	needs_command setpriv
}

# costs_at_most INSTRUCTIONS CODE-LINES DATA-LINES PAGES CALLBACKS, of what price printed. Lines of data
# are three more or less by where the stack begins, below paths and variables; each page of it but the
# first takes 18 instructions, or 33 with words that are hashed twice (cupti_trace/stack_words.c).
costs_at_most()
{
	local got want

	cat stdout
	read -r -a got <<<"$(sed -n 's/^1 launch: //; s/[^0-9]\+/ /gp' stdout)"
	[ ${#got[@]} = 5 ]
	for want in "$@"; do
		[ "${got[0]}" -le "$want" ] || return 1
		[ "${got[0]}" -gt 0 ]
		got=("${got[@]:1}")
	done
}

@test "one launch with its stack" {
	run_command "$root/tests/bench/price"
	expect_status 0
	costs_at_most 676 34 71 11 2
}

@test "the same where the loader has no room for what the library keeps of threads" {
	GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0 run_command "$root/tests/bench/price"
	expect_status 0
	costs_at_most 718 37 76 15 2
}

@test "one launch without its stack" {
	run_command "$root/tests/bench/price" --no-stacks
	expect_status 0
	costs_at_most 345 24 27 7 4
}

@test "one launch with its stack, where failed calls are sent" {
	run_command "$root/tests/bench/price" --prometheus metrics
	expect_status 0
	costs_at_most 1176 47 79 15 4
}
