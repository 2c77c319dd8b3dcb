# SPDX-License-Identifier: MIT
# Signals to the profiler and to the command; the profile is written whatever happens.

load helpers

setup()
{
	enter_test_folder
	needs_root
}

# start_ready ARGUMENTS...: in the background; returns when the command says that it is ready.
start_ready()
{
	start_profile "$@"
	wait_until grep -qs ready stdout
}

# The profiler has taken the signals that were sent to it.
signals_taken()
{
	[ "$(awk '/^ShdPnd/ { print $2 }' "/proc/$1/status")" = 0000000000000000 ]
}

@test "SIGINT goes to the command; the profile is written" {
	start_ready -o out.folded "$workloads/exits" sleep
	kill -INT "$pid"
	finish_profile
	expect_status $((128 + 2))
	expect_line stderr '^Wrote [0-9]+ stacks .* to out\.folded$'
	expect_folded out.folded
}

@test "SIGTERM and SIGHUP likewise" {
	for signal in TERM HUP; do
		rm -f stdout
		start_ready -o out.folded "$workloads/exits" sleep
		kill -$signal "$pid"
		finish_profile
		expect_status $((128 + $(kill -l $signal)))
		expect_line stderr '^Wrote '
	done
}

@test "a command that handles SIGTERM ends as it likes" {
	start_ready -o out.folded "$workloads/exits" ignore-int
	kill -TERM "$pid"
	finish_profile
	expect_status 7
	expect_line stderr '^Wrote '
}

@test "a command that ignores SIGINT goes on; a second SIGINT kills it" {
	start_ready -o out.folded "$workloads/exits" ignore-int
	kill -INT "$pid"
	wait_until signals_taken "$pid"
	[ -n "$(child_of "$pid")" ]
	expect_empty stderr
	kill -INT "$pid"
	finish_profile
	expect_status $((128 + 9))
	expect_line stderr '^profile: interrupted again: killing the target$'
	expect_line stderr '^Wrote '
}

@test "SIGINT in the middle of GPU work: nothing of it is lost" {
	cat >work <<-'END'
		trap 'exit 42' INT
		"$1" 40
		echo ready
		while :; do sleep 0.01; done
	END
	start_ready -gpu-only --unit ns -o out.folded bash work "$workloads/launches"
	kill -INT "$pid"
	finish_profile
	expect_status 42
	expect_line stderr '^Correlation: 40 matched, 0 unmatched, 0 dropped$'
	expect_equal ns "$(weight_of out.folded)" 40000
}

@test "Ctrl-C at a terminal reaches the command once" {
	needs_command script
	mkfifo keyboard
	status=0
	# exec: a shell that stays in between, as dash does, gets the SIGINT too and dies of it
	timeout -k 5 "$patience" \
		script -qec "exec '$profile' -o out.folded '$workloads/exits' count-int" /dev/null \
		<keyboard >stdout 2>stderr 3>&- &
	local terminal=$!
	exec 9>keyboard
	wait_until grep -qs ready stdout
	printf '\003' >&9
	wait "$terminal" || status=$?
	exec 9>&-
	expect_status 42
	expect_line stdout 'interrupts 1.?$'
	expect_line stdout 'Wrote '
}

@test "SIGINT while the profile is written changes nothing" {
	mkfifo out.folded
	exec 8<>out.folded
	# a full pipe: the profiler stays at its last step until somebody reads
	timeout 1 dd if=/dev/zero bs=4096 status=none >&8 || true
	start_profile -gpu-only --unit ns -o out.folded "$workloads/launches" 40
	wait_until grep -qs '^Correlation: ' stderr
	kill -INT "$pid"
	exec 7<out.folded 8>&-
	tr -d '\0' <&7 >got
	exec 7>&-
	finish_profile
	expect_status 0
	expect_line stderr '^Wrote '
	expect_equal ns "$(weight_of got)" 40000
}

@test "a status line at a terminal, none elsewhere" {
	needs_command script
	status=0
	timeout -k 5 "$patience" script -qec "exec '$profile' -o out.folded '$workloads/inference' 60" \
		/dev/null </dev/null >stdout 2>stderr 3>&- || status=$?
	expect_status 0
	expect_line stdout '\[00:0[0-9]\] [0-9]+ CPU samples, [0-9]+ launches, [0-9]+ GPU operations, 0 dropped'
	run_profile -o out.folded "$workloads/inference" 60
	expect_no_line stderr 'CPU samples, [0-9]+ launches'
}

@test "kill -9 of the command: the profile of what came before" {
	start_profile -o out.folded "$workloads/inference" 100000
	wait_until command_is_traced
	sleep 3
	kill -KILL "$child"
	finish_profile
	expect_status $((128 + 9))
	expect_line stderr '^Samples: [1-9][0-9]* CPU, [1-9][0-9]* launches, [1-9][0-9]* GPU kernels'
	expect_line stderr '^Correlation: [1-9][0-9]* matched, [0-9]+ unmatched, 0 dropped$'
	expect_line stderr 'ended without a goodbye \(killed\?\): up to its last second of GPU work is missing$'
	expect_folded out.folded
	expect_totals out.folded
	expect_line out.folded ';cudaLaunchKernel;\[GPU_Kernel\]model::gemm'
}

@test "kill -9 of the profiler: the command goes on undisturbed" {
	mkdir private
	export TMPDIR=$PWD/private
	start_profile -o out.folded "$workloads/inference" 60
	wait_until command_is_traced
	kill -KILL "$pid"
	finish_profile
	expect_status $((128 + 9))
	wait_until grep -qs requests stdout
	expect stdout <<<'requests 60 kernels 4440 gpu_ns 1592400000 cpu_ns 720000000'
	expect_empty stderr
}

@test "kill -9 of the profiler while it starts leaves no process behind" {
	mkdir private
	# the command is at its gate for a moment only: several tries, each a little later
	for delay in 0.001 0.003 0.005 0.007 0.009 0.012 0.015 0.02 0.025; do
		TMPDIR=$PWD/private start_profile -q -o out.folded true
		sleep $delay
		kill -KILL "$pid" 2>/dev/null || true
		finish_profile
		wait_until no_process_with "TMPDIR=$PWD/private"
	done
}

@test "a stopped and continued command is profiled to its end" {
	start_profile -gpu-only -o out.folded "$workloads/inference" 20
	wait_until command_is_traced
	kill -STOP "$child"
	sleep 0.2
	kill -CONT "$child"
	finish_profile
	expect_status 0
	expect_line stderr '^Correlation: 1480 matched, 0 unmatched, 0 dropped$'
}

# ---- processes that outlive the command ----

@test "a child that outlives the command and uses the GPU is waited for" {
	cat >work <<-'END'
		"$1" 60 &
		until grep -qs libprofile_cupti /proc/$!/maps; do sleep 0.01; done
		exit 3
	END
	run_profile -gpu-only -o out.folded bash work "$workloads/inference"
	expect_status 3
	expect_line stderr '^Correlation: 4440 matched, 0 unmatched, 0 dropped$'
}

@test "Ctrl-C stops waiting for it" {
	cat >work <<-'END'
		"$1" 100000 &
		until grep -qs libprofile_cupti /proc/$!/maps; do sleep 0.01; done
		echo $! >survivor
		exit 3
	END
	start_profile -gpu-only -o out.folded bash work "$workloads/inference"
	wait_until grep -qs 'Ctrl-C stops waiting' stderr
	kill -INT "$pid"
	finish_profile
	expect_status 3
	expect_line stderr "still use the GPU \($(cat survivor)\); waiting for them"
	expect_line stderr '^Wrote '
	kill -KILL "$(cat survivor)"
}

@test "a daemon without CUDA is not waited for" {
	run_profile -o out.folded \
		sh -c 'setsid sleep 1000 >/dev/null 2>&1 & echo $! >daemon; exit 4'
	expect_status 4
	kill -KILL "$(cat daemon)" # it was still there
	expect_line stderr '^Wrote '
}
