# SPDX-License-Identifier: MIT
# --delay and -d: a part of a run is recorded. The workload says when its work ran, and when
# recording began and ended; each piece of work takes 1 ms of the GPU, exactly.

load helpers

setup()
{
	enter_test_folder
	with_details
	workload=$workloads/steady
}

# record ARGUMENTS... -- STEADY-ARGUMENTS...: in ns; nothing is lost.
record()
{
	local options=()

	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	run_profile --unit ns --strict -o out.folded "${options[@]}" "$workload" "$@"
	expect_no_line stderr '^profile: '
	expect_folded out.folded
}

# The work of the last run that began in what was recorded is in the profile, and nothing else.
# Of work during which that began or ended, it is not known whether it did.
expect_work()
{
	local ns sure maybe

	read -r sure maybe < <(awk '
		$1 == "window" && !n { from = $2; to = $3 }
		$1 == "work" { n++ }
		$1 == "work" && $2 >= from && (!to || $3 < to) { sure++ }
		$1 == "work" && $3 >= from && (!to || $2 < to) { maybe++ }
		END { printf "%d %d\n", sure, maybe }' stdout)
	ns=$(weight_of out.folded '\[GPU_Kernel\]')
	if [ $((ns % 1000000)) != 0 ] || [ $((ns / 1000000)) -lt "$sure" ] ||
		[ $((ns / 1000000)) -gt "$maybe" ]; then
		echo "$ns ns of work, between $sure and $maybe ms are expected"
		show
		return 1
	fi
	expect_line stderr "[ ,]$((ns / 1000000)) GPU kernels? \($((ns / 1000000)).000 ms\)$"
}

# expect_left_out before|"just after": some work was.
expect_left_out()
{
	expect_line stderr "^  [1-9][0-9]* GPU operations? began $1( recording ended)? \([1-9][0-9]*\.000 ms\): left out$"
}

# The same of work that the program saw begin then: a busy machine may have run it so late that there was none. Records
# are read for half a second after the end; work is looked for in half of that. It has a line if it is half of what was
# recorded: 200 operations of 1 ms are that of 300 ms.
expect_seen_left_out()
{
	local seen

	seen=$(awk -v when="$1" '
		$1 == "window" && !n { from = $2; to = $3 }
		$1 == "work" { n++ }
		$1 == "work" && (when == "before" ? $3 < from : $2 >= to && $3 < to + 250000000) { seen++ }
		END { print (when == "before" ? seen + 0 : seen >= 200) }' stdout)
	if [ "$seen" != 0 ]; then expect_left_out "$1"; fi
}

# bats test_tags=quick
@test "a part in the middle of a run" {
	record -gpu-only --delay 0.4 -d 300ms -- 1500
	expect_status 0
	expect_work
	expect_line work "$all_sums_match"
	expect_line stderr '^Recorded: 300.000 ms, from 400.000 ms after the command.s start$'
	expect_seen_left_out before
	expect_seen_left_out 'just after'
	expect_line stderr "^$goes_on; profile ends when it does\$"
	expect_no_line out.folded 'not captured|before recording'
}

@test "from a time on, to the end" {
	record -gpu-only --delay 500ms -- 1000
	expect_status 0
	expect_work
	expect_no_line stderr 'just after|goes on'
}

# Long before it, stacks are not taken and launches are not logged.
@test "what is long before is counted, not recorded" {
	record -gpu-only --delay 2s -d 200ms -- 2500 5
	expect_status 0
	expect_work
	# with the stacks in the kernel, too
	if [ "$(id -u)" = 0 ]; then
		record -gpu-only -launch-stacks uprobe --delay 2s -d 200ms -- 2500 5
		expect_status 0
		expect_work
	fi
}

@test "work that was launched long before, in a queue" {
	record -gpu-only --delay 2.5s -d 200ms -- 3500 20 ahead
	expect_status 0
	# the GPU had no pause; one may begin at an edge, which is known within the error of clocks
	case $(weight_of out.folded) in
	199000000 | 200000000 | 201000000) ;;
	*)
		show
		return 1
		;;
	esac
	expect_line out.folded '^\[launched before recording\];\[GPU_Kernel\]steady_work'
	expect_line stderr 'launched before launches were recorded \([0-9]+\.000 ms\): under \[launched before recording\]$'
	expect_line stderr '^  [0-9]+ launches are left out: their work had not ended when recording did$'
	expect_left_out before
	expect_left_out 'just after'
}

@test "a graph that was made before is below the stack that made it" {
	record -gpu-only --delay 1500ms -d 300ms -- 2000 20 graph
	expect_status 0
	expect_work
	expect_no_line out.folded 'not seen'
	expect_line out.folded ';cudaGraphLaunch;\[graph node captured at\];.*;make_graph;capture_work;cudaLaunchKernel;\[GPU_Kernel\]in_graph'
}

# The result is there before the program ends, whose status comes after it.
@test "the command goes on, and gives the exit status" {
	start_profile -gpu-only --unit ns --strict -d 2s -o out.folded "$workload" 3600000 20 endless
	wait_until grep -q "$goes_on" stderr
	expect_folded out.folded
	expect_line stderr '^  1 launch is left out: its work had not ended when recording did$'
	child=$(child_of "$pid")
	kill -0 "$child"
	wait_until signals_taken "$pid"
	# its tracing has ended, and its pipe and the library's folder stay until it ends
	wait_until eval '! grep -qsx profile-flush "/proc/$child"/task/*/comm'
	kill -TERM "$pid"
	finish_profile
	expect_equal status "$status" 143
	no_process_with PROFILE_PIPE
}

@test "programs that start later share the time" {
	record -gpu-only --delay 700ms -d 300ms -- 800 20 again
	expect_status 0
	expect_work
	# and those after it are not traced, nor missed
	record -gpu-only -d 200ms -- 1200 20 again
	expect_status 0
	expect_work
	expect_line work "$all_sums_match"
}

@test "memory is followed from the start" {
	record -gpu-only --alloc --delay 1500ms -d 300ms -- 2200 20 memory
	expect_status 0
	expect_line stderr '^ *1\.0 MiB +[^ ]+ [mu]?s +1\.0 MiB +[12] .* device, GPU 0'
	expect_no_line stderr 'followed|too late'
}

@test "memory is followed to the end of what is recorded" {
	record -gpu-only --alloc --delay 300ms -d 300ms -o out.json -- 1500 20 memory
	expect_status 0
	python3 - <<-'END'
		import json
		lines = [line.split() for line in open("stdout")]
		end = int(next(line[2] for line in lines if line[0] == "window"))
		work = [(int(line[1]), int(line[2])) for line in lines if line[0] == "work"]
		(row,) = json.load(open("out.json"))["memory"]
		# each piece of work allocates once, and one allocation comes before
		least = 1 + sum(after < end for before, after in work)
		most = 1 + sum(before < end for before, after in work)
		assert least <= row["allocations"] <= most, (least, row, most, len(work))
	END
}

@test "waits and calls are those of the time that is recorded" {
	local n

	record -gpu-only --waits --api --delay 1500ms -d 300ms -- 2200
	expect_status 0
	n=$(sed -n 's/^Samples: .* \([0-9]*\) GPU kernels.*/\1/p' stderr)
	if [ "$n" = 0 ]; then skip 'the machine is too busy: the program did not run in time'; fi
	expect_line stderr "^ +($((n - 1))|$n|$((n + 1))) .* cudaLaunchKernel$"
	expect_line stderr "^Waits: ($((n - 1))|$n|$((n + 1))) calls?, "
}

@test "captures, reports and metrics have the part" {
	record -gpu-only --delay 400ms -d 1s --top -o out.profile --prometheus out.prom -- 2000
	expect_status 0
	expect_work
	expect_line stderr '^Shown with --delay 400ms -d 1s: 1.000 s, GPU busy [0-9.]+ ms'
	expect_equal metrics "$(awk '/^profile_kernel_duration_seconds_count/ { n += $NF } END { print n }' out.prom)" \
		$(($(weight_of out.folded) / 1000000))
	run_profile --unit ns --from out.profile --time 0.. -o again.folded -o again.json
	expect_status 0
	cmp out.folded again.folded
	expect_line again.json '"shown":"--delay 400ms -d 1s --time 0..",'
}

@test "CPU samples of the part alone" {
	needs_root
	run_profile -cpu-only -F 200 --delay 500ms -d 1s -o out.profile -o out.json "$workloads/cpu_mix" 4000
	expect_status 0
	expect_line stderr '^Recorded: 1.000 s, from 500.000 ms after'
	run_profile --from out.profile --unit ns -o all.folded
	run_profile --from out.profile --time ..0.5 --unit ns -o before.folded
	run_profile --from out.profile --time 1.51.. --unit ns -o after.folded
	expect_equal before "$(weight_of before.folded)" 0
	expect_equal after "$(weight_of after.folded)" 0
	[ "$(weight_of all.folded)" -gt 0 ]
	# samples and what has none add up to what was used then, but for what may be chance
	used=$(grep -oE '"command_cpu_ns":[0-9]+' out.json | cut -d: -f2)
	echo "used $used, shown $(weight_of all.folded)"
	# 0: the machine was so busy that clocks were read late
	[ "$used" = 0 ] || [ "$(weight_of all.folded)" -gt $((used - 200000000)) ]
}

@test "a command that ends before" {
	run_profile -gpu-only --delay 1m -o out.folded "$workload" 100
	expect_status 0
	expect_line stderr "^$(ended_early '.*')\$"
	expect_empty out.folded
	run_profile --delay 1m -o out.folded sh -c 'exit 5'
	expect_status 5
	expect_line stderr 'before --delay had passed: nothing was recorded$'
	# interrupted, as by Ctrl-C
	start_profile -gpu-only --strict --delay 100m -o out.folded "$workload" 3600000
	wait_until command_is_traced
	kill -INT "$pid"
	finish_profile
	expect_equal status "$status" 130
	expect_line stderr 'before --delay had passed: nothing was recorded$'
}

@test "what is no time is refused" {
	for time in 0 -1 x 1..2 ''; do
		run_profile -d "$time" true
		expect_status 125
		expect_line stderr '^profile: --duration takes a time above 0, '
		run_profile --delay "$time" true
		expect_status 125
		expect_line stderr '^profile: --delay takes a time above 0, '
	done
}
