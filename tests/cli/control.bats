# SPDX-License-Identifier: MIT
# --control: snapshots of a run that goes on, and its end from outside.

load helpers

setup()
{
	enter_test_folder
}

# 100 us of the GPU and, when the file `go` is there, 50 more, in a process of their own each time.
two_parts()
{
	printf '%s 100\ntouch first\nuntil [ -e go ]; do sleep 0.05; done\n%s 50\nexit 7\n' \
		"$workloads/launches" "$workloads/launches" >two_parts
	echo 'sh two_parts'
}

# command TEXT...: to the FIFO; it is there once the run has begun.
command_run()
{
	wait_until test -p control
	timeout 60 sh -c 'printf "%s\n" "$@" >control' sh "$@"
}

gpu_ns()
{
	weight_of "$1" '\[GPU_Kernel\]'
}

has_printed_after()
{
	awk -v time="$1" '$1 == "work" && $2 > time { found = 1 } END { exit !found }' stdout
}

# bats test_tags=quick
@test "a snapshot has what was until then, and the result has all" {
	with_details
	local file

	# words
	# shellcheck disable=SC2046
	start_profile --control control --unit ns -o out.folded -o out.profile -o ./out.html -o - \
		-o p.pb.gz -o t.trace.json -o .hidden -o plain $(two_parts)
	wait_until test -e first
	command_run snapshot
	wait_until grep -qx "$(snapshot_written 1): out.1.folded, out.1.profile, ./out.1.html, p.1.pb.gz, t.1.trace.json, .hidden.1, plain.1" stderr
	expect_equal 'GPU ns of the first' "$(gpu_ns out.1.folded)" 100000
	expect_folded out.1.folded
	for file in out.1.html p.1.pb.gz t.1.trace.json .hidden.1 plain.1; do test -s "$file"; done
	"$profile" --from out.1.profile --unit ns -o from.folded 2>/dev/null
	diff from.folded out.1.folded
	touch go
	finish_profile
	expect_status 7
	expect_equal 'GPU ns' "$(gpu_ns out.folded)" 150000
	expect_line stderr " $(launched 150 150) "
	expect_no_line stderr '^profile: '
	expect_equal 'GPU ns on stdout, in samples' "$(grep -c GPU_Kernel stdout)" "$(grep -c GPU_Kernel out.folded)"
	[ ! -e control ]
	[ ! -e out.2.folded ]
}

# Its launches are counted by the program itself.
@test "snapshots of a program that launches meanwhile take nothing from it, nor from the next" {
	local last=0 now i

	start_profile --control control --unit ns -o out.folded "$workloads/steady" 3000
	for i in 1 2 3; do
		command_run snapshot
		wait_until grep -qx "$(snapshot_written "$i"): out.$i.folded" stderr
		now=$(gpu_ns "out.$i.folded")
		echo "$now ns after $last"
		[ "$now" -ge "$last" ]
		last=$now
	done
	finish_profile
	expect_status 0
	now=$(gpu_ns out.folded)
	[ "$now" -ge "$last" ]
	expect_equal 'work' "$now" $(($(grep -c ^work stdout) * 1000000))
	expect_no_line stderr '^profile: '
}

@test "stop: what began before is in the result as a whole, and the command goes on" {
	local before after ns

	start_profile --control control --unit ns -o out.folded "$workloads/steady" 1000000
	wait_until grep -q work stdout
	before=$(python3 -c 'import time; print(time.monotonic_ns())')
	command_run stop
	wait_until grep -q "^$goes_on" stderr
	after=$(python3 -c 'import time; print(time.monotonic_ns())')
	expect_folded out.folded
	wait_until has_printed_after "$after" # in blocks
	read -r least most < <(awk -v before="$before" -v after="$after" '
		$1 == "work" && $3 < before { least++ }
		$1 == "work" && $2 < after { most++ }
		END { printf "%d %d\n", least, most + 1 }' stdout)
	ns=$(gpu_ns out.folded)
	echo "$ns ns, between $least and $most ms are expected"
	[ $((ns / 1000000)) -ge "$least" ] && [ $((ns / 1000000)) -le "$most" ]
	[ "$least" -gt 0 ]
	kill -TERM "$(child_of "$pid")"
	finish_profile
	expect_status 143
}

now_ns()
{
	python3 -c 'import time; print(time.monotonic_ns())'
}

# work_between FIRST-FROM LAST-FROM FIRST-TO LAST-TO: the GPU time of out.folded is that of the work in a part that began
# and ended between these times.
work_between()
{
	local ns least most

	read -r least most < <(awk -v from1="$1" -v from2="$2" -v to1="$3" -v to2="$4" '
		$1 == "work" && $2 >= from2 && $3 < to1 { least++ }
		$1 == "work" && $3 >= from1 && $2 < to2 { most++ }
		END { printf "%d %d\n", least, most + 1 }' stdout)
	ns=$(gpu_ns out.folded)
	echo "$ns ns, between $least and $most ms are expected"
	[ $((ns % 1000000)) = 0 ]
	[ $((ns / 1000000)) -ge "$least" ] && [ $((ns / 1000000)) -le "$most" ]
}

# Programs learn of it within 100 ms: so much later it begins.
@test "start, stop: what began between is in the result, and nothing before" {
	local times=()

	start_profile -gpu-only --control control --delay start --unit ns -o out.folded -o out.profile \
		"$workloads/steady" 1000000
	wait_until grep -q work stdout
	times+=($(($(now_ns) + 100000000)))
	command_run start
	wait_until grep -qx 'Recording begins' stderr
	times+=($(($(now_ns) + 100000000)))
	wait_until has_printed_after "$((times[1] + 1000000000))"
	command_run snapshot
	wait_until grep -q "^$(snapshot_written 1)" stderr
	times+=("$(now_ns)")
	command_run start stop start
	wait_until grep -q "^$goes_on" stderr
	times+=("$(now_ns)")
	wait_until has_printed_after "${times[3]}"
	expect_folded out.folded
	work_between "${times[@]}"
	[ "$(gpu_ns out.1.folded)" -gt 0 ]
	[ "$(gpu_ns out.1.folded)" -le "$(gpu_ns out.folded)" ]
	expect_line stderr '^profile: start: recording has already started$'
	expect_line stderr '^profile: start: recording has ended; a run can be recorded only once$'
	expect_line stderr '^Recorded: [0-9.]+ m?s, from [0-9.]+ m?s after the command.s start$'
	expect_line stderr '^  [0-9]+ GPU operations? began before '
	kill -TERM "$(child_of "$pid")"
	finish_profile
	expect_status 143
}

@test "start ends the time of --delay early, and -d counts from there" {
	start_profile --control control --delay 60m -d 1s --unit ns -o out.folded \
		"$workloads/steady" 1000000 2
	wait_until grep -q work stdout # in blocks
	command_run start
	wait_until grep -q "^$goes_on" stderr
	kill -TERM "$(child_of "$pid")"
	finish_profile
	expect_status 143
	expect_folded out.folded
	expect_line stderr '^Recorded: 1\.000 s, from [0-9.]+ m?s after the command.s start$'
	[ "$(gpu_ns out.folded)" -gt 0 ]
}

@test "a program that starts after start is told, and one after stop is left alone" {
	with_details
	needs_root
	printf 'until [ -e go ]; do sleep 0.05; done\n%s 100\ntouch first\nuntil [ -e on ]; do sleep 0.05; done\n%s 50\nexit 7\n' \
		"$workloads/launches" "$workloads/launches" >parts
	start_profile --control control --delay start --unit ns -o out.folded sh parts
	command_run start
	wait_until grep -qx 'Recording begins' stderr
	sleep 0.2 # until it has begun
	touch go
	wait_until test -e first
	command_run stop
	wait_until grep -q "^$goes_on" stderr
	touch on
	finish_profile
	expect_status 7
	expect_equal 'GPU ns' "$(gpu_ns out.folded)" 100000
	expect_line stderr " $(launched 100 100) "
	expect_no_line stderr '^profile: '
}

@test "start that nobody says, or can say" {
	start_profile --control control --delay start -d 1 --strict -o out.folded "$workloads/launches" 10
	finish_profile
	expect_line stderr "^$(ended_early '.*')\$"
	expect_empty out.folded
	run_profile --delay start -o out.folded true
	expect_status 125
	expect_line stderr '^profile: --delay start waits for the line `start` in a FIFO: name one with --control$'
}

@test "start for processes that already run" {
	local target

	needs_root
	"$workloads/attach_target" >ready </dev/null 3>&- &
	target=$!
	wait_until grep -qx ready ready
	start_profile --control control --delay start --unit ns -o out.folded -p "$target"
	command_run snapshot stop
	wait_until grep -q 'nothing is recorded yet: write `start`, or press Ctrl-C' stderr
	[ ! -e out.1.folded ]
	command_run start
	wait_until grep -qx 'Recording begins' stderr
	command_run start
	wait_until grep -q 'start: recording has already started' stderr
	command_run stop
	finish_profile
	expect_status 0
	[ -e out.folded ]
	start_profile --control control --delay start -o none.folded -p "$target"
	wait_until test -p control
	kill -INT "$pid"
	finish_profile
	expect_status 130
	[ ! -e none.folded ]
	kill -TERM "$target"
	wait "$target" || status=$?
	expect_status 7
}

@test "processes that already run" {
	local target

	needs_root
	"$workloads/attach_target" >ready </dev/null 3>&- &
	target=$!
	wait_until grep -qx ready ready
	start_profile --control control -o out.folded -p "$target"
	command_run snapshot
	wait_until grep -q "^$(snapshot_written 1)" stderr
	command_run stop
	finish_profile
	expect_status 0
	[ -e out.folded ]
	kill -TERM "$target"
	wait "$target" || status=$?
	expect_status 7
}

@test "questions about a run that goes on" {
	with_details
	# words
	# shellcheck disable=SC2046
	start_profile --control control --unit ns -o out.folded $(two_parts)
	wait_until test -e first
	command_run 'query kernels'
	wait_until grep -qx "$(answer_written 1): out.1.kernels.json" stderr
	command_run 'query stack tiny'
	wait_until grep -qx "$(answer_written 2): out.2.stack.json" stderr
	command_run 'query compare /etc/passwd' 'query rm -r' query
	wait_until grep -q "unknown command 'query'" stderr
	touch go
	finish_profile
	expect_status 7
	python3 - <<-'END'
		import json
		kernels = json.load(open("out.1.kernels.json"))
		assert kernels["question"] == "kernels"
		assert kernels["sums"]["ns"] == 100000, kernels
		assert json.load(open("out.2.stack.json"))["question"] == "stack tiny"
	END
	expect_equal 'GPU ns' "$(gpu_ns out.folded)" 150000
	expect_line stderr "^profile: --control: 'compare /etc/passwd' reads another file"
	expect_line stderr "^profile: --control: unknown question 'rm -r'"
	[ -z "$(find . -name 'out.3*')" ]
}

@test "what is no command, and no FIFO" {
	echo precious >file
	ln -s file link
	for path in file link . no/such/folder; do
		run_profile --control "$path" -o out.folded true
		expect_status 125
		expect_line stderr '^profile: --control: '
	done
	expect_equal 'the file' "$(cat file)" precious
	[ ! -e out.folded ]

	mkfifo -m 600 control
	start_profile --control control -o - "$workloads/exits" sleep
	wait_until grep -qs ready stdout stderr
	head -c 300000 /dev/zero | tr '\0' x | timeout 60 sh -c 'cat >control'
	command_run '' $'\033[31mred' 'snapshot now' snapshot
	wait_until grep -q 'no snapshot: there is no output but standard output' stderr
	expect_line stderr "unknown command '\?\[31mred': start, snapshot, query QUESTION or stop$"
	expect_line stderr "unknown command 'snapshot now'"
	expect_equal 'times that a line was too long' "$(grep -c 'a line is too long' stderr)" 1
	kill -TERM "$pid"
	finish_profile
	expect_status 143
	[ -p control ]
}
