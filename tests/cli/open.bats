#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --open: the written file in the user's browser.

load helpers

setup()
{
	enter_test_folder
	mkdir -p bin
	cat >bin/xdg-open <<-'END'
		#!/bin/sh
		{ id -u; echo "$@"; grep NoNewPrivs /proc/self/status; ls -l /proc/$$/fd; } >"$BROWSER_LOG"
		echo noise
		echo noise >&2
		exit ${BROWSER_STATUS:-0}
	END
	sed 's/noise/other/' bin/xdg-open >bin/browser
	chmod 755 . bin bin/xdg-open bin/browser
	export PATH="$PWD/bin:$PATH" DISPLAY=:77 BROWSER_LOG="$PWD/theirs/log"
	unset BROWSER WAYLAND_DISPLAY
}

# As a user does, with sudo.
open_as_tester()
{
	as_tester "$profile" -cpu-only -q --open -o theirs/out.html "$workloads/cpu_mix" 50
}

@test "the report is opened by the user, with its whole path" {
	needs_root
	open_as_tester
	expect_status 0
	expect_line theirs/log '^4242$'
	expect_line theirs/log "^$(realpath theirs/out.html)\$"
	expect_no_line stderr noise
	expect_no_line stdout noise
	expect_no_line stderr 'cannot open'
}

@test "what is opened may gain privilege, and inherits no descriptor" {
	needs_root
	exec 9<"$profile"
	open_as_tester
	exec 9<&-
	expect_status 0
	expect_line theirs/log '^NoNewPrivs:	0$'
	expect_no_line theirs/log ' 9 -> '
	expect_equal 'standard descriptors' "$(grep -c '/dev/null' theirs/log)" 3
}

@test "the first of several, a picture too, and BROWSER ahead of xdg-open" {
	needs_root
	BROWSER=browser:other as_tester "$profile" -cpu-only -q --open -o theirs/a.folded \
		-o theirs/b.svg -o theirs/c.html "$workloads/cpu_mix" 50
	expect_status 0
	expect_line theirs/log '/theirs/b.svg$'
	expect_no_line stderr other
}

@test "a browser that fails is reported, with the file" {
	needs_root
	BROWSER_STATUS=3 open_as_tester
	expect_status 0
	expect_line stderr '^profile: cannot open theirs/out.html: xdg-open ended with status 3$'
	BROWSER=/nowhere/browser open_as_tester
	expect_status 0
	expect_line stderr '^profile: cannot open theirs/out.html: /nowhere/browser: No such file or directory$'
}

@test "nobody waits for a browser that stays" {
	needs_root
	printf '#!/bin/sh\necho $$ >"%s"\nexec sleep 300\n' "$PWD/theirs/pid" >bin/xdg-open
	open_as_tester
	expect_status 0
	expect_no_line stderr 'cannot open'
	pid=$(cat theirs/pid) # ends in teardown
	kill -0 "$pid"
}

@test "without a display, and as root, the file is named instead" {
	needs_root
	DISPLAY='' open_as_tester
	expect_status 0
	expect_line stderr '^profile: cannot open theirs/out.html: there is no display'
	expect_no_file theirs/log
	run_profile -q -cpu-only --open -o out.html "$workloads/cpu_mix" 50
	expect_status 0
	expect_line stderr '^profile: not opening out.html: profile runs as root'
	expect_no_file theirs/log
}

@test "a report of a run that is over" {
	needs_root
	as_tester "$profile" -cpu-only -q -o theirs/x.profile "$workloads/cpu_mix" 50
	expect_status 0
	as_tester "$profile" -q --open --from theirs/x.profile -o theirs/out.html
	expect_status 0
	expect_line theirs/log '^4242$'
	expect_line theirs/log '/theirs/out.html$'
}

@test "there must be a file to open" {
	run_profile --open -o - --format html true
	expect_status 125
	expect_line stderr '^profile: --open needs a file that a browser shows'
	run_profile --open true
	expect_status 125
}
