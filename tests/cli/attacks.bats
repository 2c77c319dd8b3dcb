# SPDX-License-Identifier: MIT
# A hostile program of a user without rights, profiled with sudo: what it costs, and what it gains.

load helpers

readonly most_memory=500 # MiB, of the profiler and of all it starts

setup()
{
	enter_test_folder
	needs_root
	needs_command python3
	cp "$BATS_TEST_DIRNAME/../workloads/attack.py" .
	# runs a command; writes the most memory that any process of it used, MiB, into the file peak
	cat >measure <<-'END'
		import resource, subprocess, sys
		status = subprocess.call(sys.argv[1:])
		peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
		open("peak", "w").write(f"{peak}\n")
		sys.exit(status)
	END
}

# attack ARGUMENTS...: profiles attack.py with them, within the bound
attack()
{
	as_tester python3 measure "$profile" -gpu-only --waits --strict --unit ns \
		-o theirs/out.folded python3 attack.py "$@"
	echo "used $(cat peak) MiB"
	[ "$(cat peak)" -le "$most_memory" ]
	expect_folded theirs/out.folded
	if LC_ALL=C grep -n '[^[:print:][:space:]]' stderr theirs/out.folded; then false; fi
}

# The honest work is all there, once.
expect_honest_work()
{
	expect_equal 'ns of work' "$(weight_of theirs/out.folded '^\[launch not captured\];')" 1000000
}

@test "names that keep a demangler busy, or make gigabytes" {
	attack names
	expect_honest_work
	expect_line theirs/out.folded '\[GPU_Kernel\]f0001<void \(\*\)\(void '
	# too much to be demangled
	expect_line theirs/out.folded '\[GPU_Kernel\]_Z1fIDpsZDpsZ'
}

@test "ids that are high and sparse" {
	attack ids
	expect_honest_work
	expect_line stderr '^profile: 634 malformed lines in the pipe were ignored '
}

@test "strings without end" {
	attack strings
	expect_honest_work
	expect_line stderr '^profile: [0-9]+ names, mappings or stacks from the program exceeded the limit and were dropped$'
}

@test "everything that lines can make the profiler keep" {
	attack memory
	expect_equal 'ns of work' \
		"$(weight_of theirs/out.folded '\[GPU_Kernel\]\[kernel name lost\]$')" 1000000
	expect_line stderr '^Correlation: 400000 matched, 1 unmatched, 0 dropped$'
	expect_line stderr '^profile: [0-9]+ names, mappings or stacks from the program exceeded the limit and were dropped$'
}

# foreign PID: GPU work of that process is refused and counted, and --strict does not pass.
foreign()
{
	attack pid "$1"
	expect_status 124
	expect_empty theirs/out.folded
	expect_line stderr '^profile: 5 lines in the pipe came from processes that are not the command.s and were ignored; '
	expect_line stderr '^profile: --strict: 5 lines in the pipe came from processes that are not the command.s$'
}

@test "GPU work of process 1" {
	foreign 1
}

@test "GPU work of another user's process" {
	setpriv --reuid 4243 --regid 4243 --clear-groups sleep 600 3>&- &
	foreign $!
	kill $!
}

@test "GPU work of a process of the user's own that the command did not start" {
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

@test "a writer that never stops: Ctrl-C ends the profiler" {
	start_profile -gpu-only -o out.folded python3 attack.py endless
	wait_until grep -qs 'Ctrl-C stops waiting' stderr
	kill -INT "$pid"
	finish_profile
	expect_status 0
	kill "$(cat stdout)" 2>/dev/null || true
	expect_folded out.folded
	expect_line stderr '^profile: [0-9]+ malformed lines in the pipe were ignored '
}
