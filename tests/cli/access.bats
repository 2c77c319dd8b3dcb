#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Programs of the command's tree that its user may not look into (bpf/access.bpf.h): that they exist and their times
# are shown, and nothing else.

load helpers

readonly hidden='setuid setgid unreadable capable closed'

setup()
{
	enter_test_folder
	needs_root
	needs_command setcap
	needs_command setpriv
	make_programs
}

# Programs that are the same but for their rights; `work`, which runs all of them, and `closed`, which gives up its own.
make_programs()
{
	local name

	for name in open setuid setgid unreadable capable closed; do
		cp "$workloads/secretive" "is_$name"
	done
	chmod 4755 is_setuid
	chgrp 4250 is_setgid
	chmod 2755 is_setgid
	chmod 0711 is_unreadable
	setcap cap_net_raw=ep is_capable 2>/dev/null ||
		skip "this file system keeps no capabilities of files: $(stat -f -c %T .)"
	if findmnt -n -o OPTIONS -T . | grep -q nosuid; then skip 'mounted with nosuid'; fi
	cat >work <<-'END'
		#!/bin/sh
		for name in open setuid setgid unreadable capable; do ./is_$name 300 >/dev/null & done
		./is_closed 300 closed >/dev/null
		wait
	END
	chmod 755 work
}

# bats test_tags=quick
@test "under sudo: of programs with other rights nothing but their times is shown" {
	as_tester "$profile" -q -cpu-only -F 997 --by process -o theirs/out.folded ./work
	expect_status 0
	for name in $hidden; do
		expect_line theirs/out.folded "is_${name}[^;]*;(is_$name;)?\[no access\] "
	done
	expect_line theirs/out.folded '^is_open.*;_start;.*;main;secret_work '
	# nothing else, at their end either
	for name in setuid setgid unreadable capable; do
		expect_no_line theirs/out.folded "^is_${name}[^;]*;is_$name;[^[]"
	done
	expect_no_line theirs/out.folded '^is_closed.*(secret|do_exit)'
}

@test "with file capabilities the same, also where threads wait, and who began them" {
	mkdir -m 777 open
	cp "$profile" .
	setcap cap_bpf,cap_perfmon,cap_syslog=ep ./profile
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -q --wall --thread-origin \
		-F 997 --by process -o open/out.folded ./work
	expect_status 0
	for name in $hidden; do
		expect_line open/out.folded "is_${name}[^;]*;(is_$name;)?\[no access\] "
		expect_line open/out.folded "is_${name}[^;]*;(is_$name;)?\[no access\];\[blocked: "
		expect_no_line open/out.folded "^is_$name.*secret"
		expect_no_line open/out.folded "^is_$name.*\[blocked: (sleep|clock_nanosleep|nanosleep|futex)"
	done
	expect_line open/out.folded '^is_open.*;secret_wait'
}

@test "a recording has neither addresses nor files of such programs" {
	as_tester "$profile" -q -cpu-only -F 997 --save-input theirs/run -o theirs/out.folded ./work
	expect_status 0
	expect_line theirs/run.events '^map .*/is_open$'
	expect_no_line theirs/run.events '/is_(setuid|setgid|unreadable|capable)'
}

@test "root looks into all, and so does --as-root" {
	run_profile -q -cpu-only -F 997 --by process -o out.folded ./work
	expect_status 0
	for name in open $hidden; do
		expect_line out.folded "^is_$name.*;main;secret_work "
	done
	expect_no_line out.folded 'no access'
	as_tester "$profile" -q --as-root -cpu-only -F 997 --by process -o out.folded ./work
	expect_status 0
	expect_no_line out.folded 'no access'
}

@test "a user looks into what runs in a user namespace of that user's" {
	as_tester setpriv --reuid=4242 --regid=4242 --clear-groups unshare -Ur true
	if [ "$status" != 0 ]; then skip 'users may not make user namespaces here'; fi
	as_tester "$profile" -q -cpu-only -F 997 -o theirs/out.folded unshare -Ur ./is_open
	expect_status 0
	expect_line theirs/out.folded ';main;secret_work '
	expect_no_line theirs/out.folded 'no access'
}

@test "a process that was attached to and executes a program with other rights" {
	mkdir -m 777 open
	cp "$profile" .
	setcap cap_bpf,cap_perfmon,cap_sys_ptrace=ep ./profile
	mkfifo -m 666 go
	setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'read -r _ <go; exec ./is_setuid 600' \
		>/dev/null 2>&1 3>&- &
	target=$!
	setpriv --reuid=65534 --regid=65534 --clear-groups env --default-signal=INT ./profile -v -cpu-only -F 997 \
		-p $target -o open/out.folded >stdout 2>stderr </dev/null 3>&- &
	# shellcheck disable=SC2034 # finish_profile takes it
	pid=$!
	wait_until grep -q "attached to process $target" stderr
	echo >go
	finish_profile
	expect_status 0
	expect_line open/out.folded ';?is_setuid;\[no access\] '
	expect_no_line open/out.folded secret
}

@test "processes that the user may not look into are not said to have ended" {
	mkdir -m 777 open
	cp "$profile" .
	setcap cap_bpf,cap_perfmon=ep ./profile
	cp "$(command -v sleep)" sleeps_of_root
	./sleeps_of_root 600 3>&- &
	sleeper=$!
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups ./profile -cpu-only --name sleeps_of_root -d 1 \
		-o open/out.folded
	kill $sleeper
	expect_status 125
	expect_line stderr 'cannot follow the processes: this user cannot inspect them'
}
