# SPDX-License-Identifier: MIT
# A hostile program of an unprivileged user, profiled with sudo: its cost, and that it gains nothing.

load helpers

readonly most_memory=500 # MiB, of the profiler's processes: attack.py's are apart

setup()
{
	enter_test_folder
	needs_root
	needs_command python3
	cp "$BATS_TEST_DIRNAME/../workloads/attack.py" .
	# runs a command; writes the most memory that any process of it used of which its parent knows, MiB, into the file peak
	cat >measure <<-'END'
		import ctypes, resource, subprocess, sys
		ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)  # in no huge pages, which take more than was touched
		status = subprocess.call(sys.argv[1:])
		peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
		open("peak", "w").write(f"{peak}\n")
		sys.exit(status)
	END
}

# attack ARGUMENTS...: profiles attack.py with them, within the time limit
attack()
{
	as_tester python3 measure "$profile" ${details:+"$details"} -gpu-only --waits --api --alloc --launch-shapes --strict --unit ns \
		-o theirs/out.folded python3 attack.py "$@"
	echo "used $(cat peak) MiB"
	[ "$(cat peak)" -le "$most_memory" ]
	expect_folded theirs/out.folded
	# the report's own sign for a name that is cut
	sed -i 's/\xe2\x80\xa6//g' stderr
	if LC_ALL=C grep -n '[^[:print:][:space:]]' stderr theirs/out.folded; then false; fi
}

# The honest work is all there, once.
expect_honest_work()
{
	expect_equal 'ns of work' "$(weight_of theirs/out.folded '^\[launch not captured\];')" 1000000
}

@test "names that take a demangler too long, or expand to gigabytes" {
	attack names
	expect_honest_work
	expect_line theirs/out.folded '\[GPU_Kernel\]f0001<void \(\*\)\(void '
	# too much to be demangled
	expect_line theirs/out.folded '\[GPU_Kernel\]_Z1fIDpsZDpsZ'
}

@test "high and sparse ids" {
	attack ids
	expect_honest_work
	expect_line stderr "^profile: $(malformed 691 lines pipe) were ignored "
}

@test "endless strings" {
	attack strings
	expect_honest_work
	expect_line stderr '^profile: [0-9]+ names, mappings or stacks from the program exceeded the limit and were dropped$'
}

@test "all data that lines can make the profiler keep" {
	with_details
	attack memory
	expect_equal 'ns of work' \
		"$(weight_of theirs/out.folded '\[GPU_Kernel\]\[kernel name lost\]$')" 1000000
	expect_line stderr "^$(correlation 400000 1)\$"
	expect_line stderr '^profile: [0-9]+ names, mappings or stacks from the program exceeded the limit and were dropped$'
}

@test "memory that is allocated from many stacks, and never was" {
	attack allocs
	expect_honest_work
	expect_line stderr "^$memory_table\$"
	expect_line stderr '^ +\([0-9]+ more\)$'
}

@test "functions with long names, called more often than can be" {
	attack calls
	expect_honest_work
	expect_line stderr "^$calls_table\$"
	expect_line stderr '^ +4611686018427387904 .*[?]<b>'
}

@test "line tables that expand to gigabytes, and counters that add up to no number" {
	as_tester python3 measure "$profile" ${details:+"$details"} -gpu-only --stalls --counters m__claims.sum --unit ns -o theirs/out.folded \
		-o theirs/out.profile python3 attack.py cubins
	[ "$(cat peak)" -le "$most_memory" ]
	expect_equal 'ns of work' "$(weight_of theirs/out.folded ';\[GPU_Kernel\]f(;|$)')" 1000000
	expect_line stderr '^  2 line tables of device code could not be read, or are too large$'
	expect_line theirs/out.folded '\[GPU_Kernel\]f;f:1;\[stall: [?]\[31m<b> \] 33333[0-9]$'
	cp theirs/out.folded first
	as_tester "$profile" -q --from theirs/out.profile --unit ns -o theirs/out.folded
	expect_status 0
	cmp first theirs/out.folded
	as_tester "$profile" --from theirs/out.profile --weight m__claims.sum -o theirs/out.folded -o theirs/out.svg
	expect_status 0
	expect_line stderr '^profile: m__claims\.sum: the values of 1 stack are larger than a GPU counts, and were cut$'
	expect_equal cut "$(weight_of theirs/out.folded)" 4611686018427387904
}

@test "samples of launches that never come" {
	with_details
	as_tester python3 measure "$profile" ${details:+"$details"} -gpu-only --stalls=exact --unit ns -o theirs/out.folded \
		python3 attack.py samples
	echo "used $(cat peak) MiB"
	[ "$(cat peak)" -le "$most_memory" ]
	expect_equal 'ns of work' "$(weight_of theirs/out.folded '\[GPU_Kernel\]f;\[stall: wait\]$')" 1000000
	expect_line stderr "^$(correlation 0 1)\$"
	expect_line stderr "^  [0-9]+ samples \\([0-9.]+ %\\) are of graphs' launches, or of none that is known\$"
}

@test "counts of losses that add up to 0" {
	with_details
	attack drops
	expect_status 124
	expect_honest_work
	expect_line stderr "^$(correlation 0 1 18446744073709551615)\$"
	expect_line stderr "^$(strict_says 'GPU operations dropped' 18446744073709551615)\$"
}

# Two kernels and a wait of 2^61 - 1 ns fit, two copies of 2^62 bytes, and one sum of 2^63 ns; not the honest
# sum after that.
@test "times, bytes and sums that add up to little" {
	with_details
	attack totals
	expect_status 124
	# beyond 2^53, weights in the file are right to 16 digits
	expect_line theirs/out.folded '\[GPU_Kernel\]honest 100000[01]$'
	expect_line theirs/out.folded '^\[launch not captured\];\[GPU_Kernel\]forged 46116860184273879[0-9]{2}$'
	expect_line stderr "^Samples: $(launched 0 3) \(4611686018428\.38[0-9] ms\)\$"
	expect_line stderr "^$(waits_of '1 call'), 2305843009213\.69[0-9] ms\$"
	expect_line stderr "^profile: $(malformed 17 lines pipe) were ignored \(0 too long\); the first began: \{\"t\":\"w\","
	expect_line stderr "^$(strict_says 'malformed lines from programs' 17)\$"
	expect_line stderr "^$(strict_says 'GPU operations sent that did not arrive' 7)\$"
}

@test "characters that change the order of a line" {
	attack order
	expect_honest_work
	expect_line theirs/out.folded '\[GPU_Kernel\]a[?]gnp[.]exe[?][?][?] '
	expect_line stderr "^profile: process [0-9]+: $(another_profiler '[(]x[?][?]y[)]'): "
}

# foreign PID: GPU work of that process is refused and counted, and --strict does not pass.
foreign()
{
	attack pid "$1"
	expect_status 124
	expect_empty theirs/out.folded
	expect_line stderr '^profile: 5 lines in the pipe came from processes that are not the command.s and were ignored; '
	expect_line stderr "^$(strict_says 'lines from programs that are not in the profile' 5)\$"
}

@test "GPU work of process 1" {
	foreign 1
}

@test "GPU work of another user's process" {
	setpriv --reuid 4243 --regid 4243 --clear-groups sleep 600 3>&- &
	foreign $!
	kill $!
}

@test "GPU work of the user's own process outside the command" {
	setpriv --reuid 4242 --regid 4242 --clear-groups sleep 600 3>&- &
	foreign $!
	kill $!
}

@test "GPU work of the profiler itself" {
	as_tester "$profile" -gpu-only --strict -o theirs/out.folded sh -c 'python3 attack.py pid $PPID; true'
	expect_status 124
	expect_empty theirs/out.folded
	expect_line stderr '^profile: 5 lines in the pipe came from processes that are not the command.s and were ignored; '
}

@test "writers that never stop: Ctrl-C ends the profiler" {
	start_profile -gpu-only -o out.folded python3 attack.py endless
	wait_until grep -qs "$stops_waiting" stderr
	kill -INT "$pid"
	finish_profile
	expect_status 0
	kill -- "-$(cat stdout)" 2>/dev/null || true
	expect_folded out.folded
	expect_line stderr "^profile: $(malformed '[0-9]+' lines pipe) were ignored "
}

@test "what the profiler has open is not for the user's other processes, at no time" {
	cat >thief.py <<-'END'
		# Holds up the exec of ./program, and asks for the descriptors of who executes it.
		import ctypes, fcntl, os, signal, time
		signal.signal(signal.SIGIO, signal.SIG_IGN)
		fd = os.open("program", os.O_RDONLY)
		fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
		open("ready", "w")
		libc = ctypes.CDLL(None, use_errno=True)
		found, deadline = None, time.time() + 60
		while not found and time.time() < deadline:
		    for pid in filter(str.isdigit, os.listdir("/proc")):
		        try:
		            status = open(f"/proc/{pid}/status").read()
		        except OSError:
		            continue
		        if ("profile-worker" in status and "Uid:\t4242" in status
		                and "CapEff:\t0000000000000000" in status and "NoNewPrivs:\t0" in status):
		            found = int(pid)
		pidfd = os.pidfd_open(found)
		taken = sum(libc.syscall(438, pidfd, i, 0) >= 0 for i in range(200)) # pidfd_getfd
		try:
		    open(f"/proc/{found}/mem", "rb")
		    taken += 1
		except OSError:
		    pass
		print("taken", taken, flush=True)
		fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
	END
	as_tester true
	cp /bin/true theirs/program
	chown 4242:4242 theirs/program
	(cd theirs && exec setpriv --reuid 4242 --regid 4242 --clear-groups --inh-caps=-all \
		/usr/bin/python3 ../thief.py) >taken 3>&- &
	wait_until test -e theirs/ready
	as_tester "$profile" -q -o theirs/out.folded theirs/program
	expect_status 0
	wait $!
	expect taken <<<'taken 0'
}

@test "a private folder that never answers: two SIGINTs end the profiler" {
	mkdir private
	TMPDIR=$PWD/private start_profile -gpu-only -o out.folded sh -c \
		'dirname "$PROFILE_PIPE"; trap "" INT; kill -STOP $PPID; while :; do sleep 1; done'
	wait_until test -s stdout
	echo old >file
	"$workloads/stuck_file" "$(cat stdout)" file none >stuck 2>&1 3>&- &
	fuse=$!
	wait_until grep -q . stuck
	if ! grep -qx ready stuck; then skip "$(cat stuck)"; fi
	kill -USR1 "$fuse" # answers nothing from now on
	kill -INT "$pid"
	wait_until signals_taken "$pid"
	kill -INT "$pid"
	finish_profile
	expect_status 130
	expect_line stderr "^$gave_up\$"
	kill -TERM "$fuse"
	wait "$fuse" || true
}

@test "a terminal whose output is stopped: two SIGINTs end the profiler" {
	cat >terminal.py <<-'END'
		# Runs the profiler at a terminal; its command stops the output. Prints how it ended.
		import os, pty, sys, time
		pid, fd = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], sys.argv[1:])
		while not os.path.exists("stopped"):
		    time.sleep(0.01)
		for i in range(300):
		    time.sleep(0.2)
		    os.write(fd, b"\x03")
		    ended, status = os.waitpid(pid, os.WNOHANG)
		    if ended:
		        print(os.waitstatus_to_exitcode(status))
		        break
	END
	cat >stop.py <<-'END'
		import os, signal, termios
		signal.signal(signal.SIGINT, signal.SIG_IGN)
		os.kill(os.getppid(), signal.SIGSTOP)
		termios.tcflow(0, termios.TCOOFF)
		open("stopped", "w")
		while True:
		    signal.pause()
	END
	run_command python3 terminal.py "$profile" -o out.folded python3 stop.py
	expect_status 0
	expect stdout <<<130
}
