# SPDX-License-Identifier: MIT
# What another user (4247) has put in the way of what is written, in folders like /tmp; and FIFOs that nobody
# opens at their other end. The folders are ones that no setting of the kernel (fs.protected_*) covers, too.

load helpers

setup()
{
	needs_root
	enter_test_folder
}

# as_other COMMAND...
as_other()
{
	setpriv --reuid 4247 --regid 4247 --clear-groups "$@"
}

# shared_folder: an empty one, `shared`, that is the other user's, sticky, and open to all
shared_folder()
{
	rm -rf shared
	install -d -m 1777 -o "${1-4247}" shared
}

# expect_refused FILE: what it says of what was in the way, and that nothing ran
expect_refused()
{
	expect_status 125
	expect_line stderr "^profile: .*$1.*: Permission denied: (the file, or a link on the way to it, belongs to another user|the file has several hard links, perhaps made by another user); "
	expect_equal lines "$(wc -l <stderr)" 1
	expect_no_file has_run
}

@test "outputs of all formats: files, FIFOs and links of others are not opened" {
	local file owner

	for owner in 4247 0; do
		for file in x.html x.folded x.svg x.pb.gz x.json x.trace.json x.perfetto-trace x.speedscope.json x.profile; do
			shared_folder $owner
			as_other sh -c "umask 0; : >shared/$file"
			run_profile -cpu-only -o "shared/$file" touch has_run
			expect_refused "$file"
			expect_equal "bytes in $file" "$(stat -c %s "shared/$file")" 0
		done
		for how in 'mkfifo -m 666 x.html' 'ln -s /dev/null x.html' 'ln -s new x.html' 'ln -s / x.html'; do
			shared_folder $owner
			as_other sh -c "cd shared; $how"
			run_profile -cpu-only -o shared/x.html touch has_run
			expect_refused x.html
			expect_no_file shared/new
		done
	done
	# one of a group
	shared_folder 0
	chmod 1770 shared
	chgrp 4247 shared
	as_other sh -c ': >shared/x.html'
	run_profile -cpu-only -o shared/x.html touch has_run
	expect_refused x.html
}

@test "a hard link in a shared folder, and a link out of another user's home" {
	shared_folder 0
	echo precious >mine
	chmod 4755 mine
	ln mine shared/x.folded
	run_profile -cpu-only -o shared/x.folded touch has_run
	expect_refused x.folded
	install -d -o 4247 home
	ln -s "$PWD/mine" home/x.folded
	ln -s "$PWD/new" home/y.folded
	chown -h 4247 home/*
	run_profile -cpu-only -o home/x.folded touch has_run
	expect_refused home/x.folded
	run_profile -cpu-only -o home/y.folded touch has_run
	expect_refused home/y.folded
	expect_no_file new
	expect mine <<<precious
}

@test "the default name, and the user of sudo" {
	shared_folder
	chmod 1777 .
	as_other sh -c 'umask 0; : >shared/merged_trace.folded'
	run_command env -C shared "$profile" -cpu-only touch ../has_run
	expect_refused merged_trace.folded
	run_command env -C shared SUDO_UID=4343 SUDO_GID=4343 "$profile" -cpu-only touch ../has_run
	expect_refused merged_trace.folded
	expect_equal bytes "$(stat -c %s shared/merged_trace.folded)" 0
}

@test "--save-input, --prometheus, --otlp and snapshots, likewise" {
	shared_folder
	as_other sh -c 'umask 0; cd shared; : >r.events; : >m.prom; : >s.json; : >x.1.folded; mkfifo f.pipe'
	run_profile -gpu-only -o x.folded --save-input shared/r "$workloads/launches" 1
	expect_refused 'shared/r\.pipe and \.events'
	run_profile -gpu-only -o x.folded --save-input shared/f "$workloads/launches" 1
	expect_refused 'shared/f\.pipe and \.events'
	run_profile -gpu-only -o x.folded --prometheus shared/m.prom touch has_run
	expect_refused shared/m.prom
	run_profile -gpu-only -o x.folded --otlp shared/s.json touch has_run
	expect_refused shared/s.json
	printf 'until [ -e go ]; do sleep 0.05; done\n' >waits
	start_profile -gpu-only --control control -o shared/x.folded sh -c 'touch first; . ./waits'
	wait_until test -e first
	timeout 60 sh -c 'echo snapshot >control'
	wait_until grep -q 'snapshot 1 could not be written' stderr
	touch go
	finish_profile
	expect_status 0
	expect_line stderr '^profile: cannot write shared/x\.1\.folded: Permission denied: the file, or a link'
	expect_equal bytes "$(cat shared/r.events shared/m.prom shared/s.json shared/x.1.folded)" ''
	[ -f shared/x.folded ]
}

@test "--control takes no FIFO of another user's" {
	shared_folder 0
	as_other sh -c 'umask 0; cd shared; mkfifo control; ln -s control link; ln -s new dangling'
	mkfifo own
	ln own shared/second
	for name in control link dangling second; do
		run_profile -cpu-only --control "shared/$name" -o x.folded touch has_run
		expect_refused "shared/$name"
	done
	[ -p shared/control ]
	expect_no_file shared/new
	# what is ours is used, through a link of ours, too, and what is made goes
	mkfifo shared/mine
	ln -s mine shared/way
	for name in mine way made; do
		run_profile -q -cpu-only --control "shared/$name" -o x.folded true
		expect_status 0
	done
	[ -p shared/mine ]
	expect_no_file shared/made
}

@test "what is one's own is written, and so is what was handed over" {
	shared_folder
	: >shared/x.folded
	ln -s x.folded shared/way.folded
	ln -s new.folded shared/dangling.folded
	chmod 640 shared/x.folded
	for name in x way dangling fresh; do
		run_profile -q -gpu-only --unit ns -o "shared/$name.folded" "$workloads/launches" 10
		expect_status 0
		expect_equal "$name" "$(weight_of "shared/$name.folded")" 10000
	done
	[ -L shared/way.folded ]
	[ -f shared/new.folded ]
	expect_equal rights "$(stat -c %a shared/x.folded)" 640
	# root writes into a user's home, and the file stays the user's
	install -d -o 4247 home
	as_other sh -c ': >home/x.folded; ln -s x.folded home/way.folded'
	run_profile -q -gpu-only --unit ns -o home/way.folded "$workloads/launches" 10
	expect_status 0
	expect_equal ns "$(weight_of home/x.folded)" 10000
	expect_equal owner "$(stat -c %u home/x.folded)" 4247
	# descriptors
	"$profile" -q -gpu-only --unit ns -o /dev/fd/5 -o >(cat >piped) -o /dev/null "$workloads/launches" 10 \
		5>shared/five 2>stderr 3>&-
	wait_until test -s piped
	expect_equal five "$(weight_of shared/five)" 10000
}

@test "temporary names cannot be taken in advance" {
	needs_command strace
	"$profile" -q -gpu-only -o run.profile "$workloads/launches" 5 2>stderr
	: >x.folded
	for run in 1 2; do
		strace -f -e trace=openat,renameat,linkat -o "calls.$run" \
			"$profile" -q --from run.profile -o x.folded
	done
	# one in each run
	grep -ho '"\.profile-[^"]*"' calls.* | sort -u >names
	expect_equal names "$(wc -l <names)" 2
	expect_no_line names '[^"a-f0-9.profile-]'
	expect_equal 'random ones' "$(grep -cE '^"\.profile-[0-9a-f]{16}"$' names)" 2
}

@test "the library writes into no file of another user's" {
	local library=$root/build/libprofile_cupti.so

	shared_folder
	: >mine
	as_other sh -c "umask 0; cd shared; : >theirs; ln -s '$PWD/mine' link; ln -s new dangling"
	for name in theirs link dangling; do
		run_command env CUDA_INJECTION64_PATH="$library" INJECTION_VERBOSE=1 \
			INJECTION_TRACE="$PWD/shared/$name" "$workloads/launches" 1
		expect_status 0
		expect_line stderr "^profile: cannot write INJECTION_TRACE $PWD/shared/$name: "
		run_command env CUDA_INJECTION64_PATH="$library" INJECTION_VERBOSE=1 INJECTION_METRICS=default \
			INJECTION_OUTPUT="$PWD/shared/$name" "$workloads/launches" 1
		expect_status 0
		expect_line stderr "^profile: cannot write INJECTION_OUTPUT $PWD/shared/$name: Permission denied: the file, or a link"
	done
	expect_no_file shared/new
	expect_equal bytes "$(cat mine shared/theirs)" ''
	run_command env CUDA_INJECTION64_PATH="$library" INJECTION_TRACE="$PWD/shared/own" "$workloads/launches" 1
	[ -s shared/own ]
}

@test "the private folder is not made where others can rename it" {
	mkdir -m 777 open
	TMPDIR=$PWD/open run_profile -gpu-only -o x.folded sh -c 'echo "$CUDA_INJECTION64_PATH"'
	expect_status 0
	expect_line stdout '^/tmp/profile-'
	chmod 1777 open
	TMPDIR=$PWD/open run_profile -gpu-only -o x.folded sh -c 'echo "$CUDA_INJECTION64_PATH"'
	expect_line stdout '/open/profile-'
	chmod 700 open
	chown 4247 open
	TMPDIR=$PWD/open run_profile -gpu-only -o x.folded sh -c 'echo "$CUDA_INJECTION64_PATH"'
	expect_line stdout '^/tmp/profile-'
}

@test "the library for programs without the profiler is put into no folder of another user's" {
	shared_folder 0
	install -d -m 755 -o 4247 shared/profile
	run_command env XDG_CACHE_HOME="$PWD/shared" "$profile" --print-injection-path
	expect_status 125
	expect_line stderr '^profile: .*/shared/profile is not used: other users may change what is in it'
	expect_equal files "$(ls shared/profile)" ''
	chown 0 shared/profile
	run_command env XDG_CACHE_HOME="$PWD/shared" "$profile" --print-injection-path
	expect_status 0
	cmp "$(cat stdout)" "$root/build/libprofile_cupti.so"
}

# ---- FIFOs ----

# Fills the pipe on stdout.
fill_pipe()
{
	timeout 10 dd if=/dev/zero bs=65536 count=1 status=none || true
}

# is_gone PID...
is_gone()
{
	local process

	for process; do
		if kill -0 "$process" 2>/dev/null; then return 1; fi
	done
}

waits_for_reader()
{
	grep -qs "^profile: waiting for a reader of the FIFO $1; the command starts when there is one\. Ctrl-C ends this$" stderr
}

@test "an output that nobody reads: one line says so, and each signal ends it" {
	local signal number worker

	mkfifo out.folded
	for signal in TERM INT HUP QUIT; do
		for quiet in -v -q; do
			start_profile $quiet -cpu-only -o out.folded touch has_run
			wait_until waits_for_reader out.folded
			worker=$(worker_of "$pid")
			kill "-$signal" "$pid"
			number=$(kill -l "$signal")
			finish_profile
			expect_status $((128 + number))
			is_gone "$worker"
			expect_equal messages "$(grep -c '^profile: ' stderr)" 1
			expect_no_file has_run
		done
	done
}

@test "an output that nobody reads: nothing stays when the profiler is killed" {
	local worker

	mkfifo out.folded
	start_profile -cpu-only -o out.folded touch has_run
	wait_until waits_for_reader out.folded
	worker=$(worker_of "$pid")
	kill -KILL "$pid"
	finish_profile
	wait_until is_gone "$worker"
	expect_no_file has_run
}

@test "an output that nobody reads any more: nothing stays when the profiler is killed" {
	with_details
	local worker

	mkfifo out.folded
	exec 8<>out.folded
	fill_pipe >&8
	start_profile -gpu-only --unit ns -o out.folded "$workloads/launches" 40
	wait_until grep -qs "^$(correlation '.*' '.*' '.*')" stderr
	worker=$(worker_of "$pid")
	kill -KILL "$pid"
	finish_profile
	wait_until is_gone "$worker"
	exec 8>&-
}

@test "readers that come late get all; the first does not lose its end meanwhile" {
	mkfifo a.folded b.folded
	start_profile -gpu-only --unit ns -o a.folded -o b.folded "$workloads/launches" 10
	wait_until waits_for_reader a.folded
	cat a.folded >a &
	wait_until waits_for_reader b.folded
	cat b.folded >b
	finish_profile
	wait
	expect_status 0
	expect_equal a "$(weight_of a)" 10000
	expect_equal b "$(weight_of b)" 10000
}

@test "spans to a FIFO, and --live, wait in the same way" {
	mkfifo spans
	start_profile -gpu-only -o x.folded --otlp spans touch has_run
	wait_until waits_for_reader spans
	kill -TERM "$pid"
	finish_profile
	expect_status 143
	needs_command python3
	PYTHONPATH=$root/tests/cli PYTHONDONTWRITEBYTECODE=1 timeout "$patience" python3 - 3>&- <<-'END'
	import os
	from terminal import *
	for key, status in ('\x03', 130), (None, 143):
	    t = Terminal([os.environ['profile'], '--live', '-o', 'spans', '--format', 'folded', 'touch', 'has_run'], columns=120)
	    t.wait(lambda: 'waiting for a reader of the FIFO spans' in t.text())
	    if key:
	        t.type(key)
	    else:
	        os.kill(t.pid, signal.SIGTERM)
	    assert t.finish() == status, t.text()
	    assert termios.tcgetattr(t.fd) == t.settings
	END
	expect_no_file has_run
}

@test "what is read from a FIFO that nobody writes is waited for, and a signal ends that" {
	"$profile" -q -gpu-only -o run.profile "$workloads/launches" 10 2>stderr
	mkfifo in
	for how in '--from in -o x.folded' '--diff in run.profile -o x.folded' '-gpu-only --baseline in touch has_run'; do
		# shellcheck disable=SC2086 # words
		start_profile $how
		wait_until grep -qs '^profile: waiting for a writer of the FIFO in\. Ctrl-C ends this$' stderr
		first_child "$pid" >child || true
		kill -TERM "$pid"
		finish_profile
		expect_status 143
		# shellcheck disable=SC2046 # words
		wait_until is_gone $(cat child)
	done
	start_profile --from in --unit ns -o x.folded
	wait_until grep -qs '^profile: waiting for a writer' stderr
	cat run.profile >in
	finish_profile
	expect_status 0
	expect_equal ns "$(weight_of x.folded)" 10000
	# a pipe whose writer is gone already is no such FIFO
	run_profile --from <(:) -o x.folded
	expect_status 125
	expect_no_line stderr waiting
}

@test "metrics into a FIFO wait for nobody" {
	mkfifo metrics
	start_profile -gpu-only -o x.folded --prometheus metrics sh -c 'touch first; until [ -e go ]; do sleep 0.05; done'
	wait_until test -e first
	timeout 60 cat metrics >got
	expect_line got '^# EOF|^# HELP'
	touch go
	finish_profile
	expect_status 125
	expect_line stderr '^profile: writing metrics: nobody reads this FIFO$'
}
