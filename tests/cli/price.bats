#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# What one launch costs the program, in instructions and memory: so that it cannot creep up. Counted,
# not timed. `tests/bench/price --functions` shows where it goes. price itself says which clock there is.

load helpers

setup()
{
	enter_test_folder
	needs_command valgrind
	needs_command setpriv
	needs_mount_namespace
	[ -e /sys/devices/system/clocksource/clocksource0/available_clocksource ] || skip 'the kernel lists no clock sources'
}

# costs INSTRUCTIONS CODE-LINES DATA-LINES PAGES CALLBACKS, as measured: of what price printed, no number is larger by
# more than 5 %, but pages by one, which other versions of libc may divide otherwise. Callbacks are exact.
costs()
{
	local got want=("$@") i most

	cat stdout
	expect_status 0
	read -r -a got <<<"$(sed -n 's/^1 launch: //; s/[^0-9]\+/ /gp' stdout)"
	expect_equal numbers ${#got[@]} 5
	for i in 0 1 2 3; do
		most=$((i == 3 ? want[i] + 1 : want[i] + want[i] / 20))
		echo "${got[i]} of ${want[i]}, at most $most"
		[ "${got[i]}" -gt 0 ] && [ "${got[i]}" -le "$most" ] || return 1
	done
	expect_equal callbacks "${got[4]}" "${want[4]}"
}

@test "one launch with its stack" {
	run_command "$root/tests/bench/price"
	costs 652 32 65 11 2
}

@test "the same where the processor's counter is not trusted" {
	run_command "$root/tests/bench/price" --clock
	costs 727 40 70 14 2
}

@test "the same where the loader has no room for what the library keeps of threads" {
	GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0 run_command "$root/tests/bench/price"
	costs 694 35 70 15 2
}

@test "one launch without its stack" {
	run_command "$root/tests/bench/price" --no-stacks
	costs 322 20 22 5 4
}

@test "one launch with its stack, where failed calls are sent" {
	run_command "$root/tests/bench/price" --prometheus metrics
	costs 1161 46 75 14 4
}

@test "the same by a clock: its reading alone is dearer" {
	run_command "$root/tests/bench/price" --clock --prometheus metrics
	costs 1242 55 78 16 4
}
