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

@test "a snapshot has what was until then, and the result has all" {
	local file

	# words
	# shellcheck disable=SC2046
	start_profile --control control --unit ns -o out.folded -o out.profile -o ./out.html -o - \
		-o p.pb.gz -o t.trace.json -o .hidden -o plain $(two_parts)
	wait_until test -e first
	command_run snapshot
	wait_until grep -qx 'Snapshot 1 is written' stderr
	expect_equal 'GPU ns of the first' "$(gpu_ns out.1.folded)" 100000
	expect_folded out.1.folded
	for file in out.1.html p.1.pb.gz t.1.trace.json .hidden.1 plain.1; do test -s "$file"; done
	"$profile" --from out.1.profile --unit ns -o from.folded 2>/dev/null
	diff from.folded out.1.folded
	touch go
	finish_profile
	expect_status 7
	expect_equal 'GPU ns' "$(gpu_ns out.folded)" 150000
	expect_line stderr ' 150 launches, 150 GPU kernels '
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
		wait_until grep -qx "Snapshot $i is written" stderr
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
	wait_until grep -q '^The command goes on' stderr
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

@test "processes that already run" {
	local target

	needs_root
	"$workloads/attached" >ready </dev/null 3>&- &
	target=$!
	wait_until grep -qx ready ready
	start_profile --control control -o out.folded -p "$target"
	command_run snapshot
	wait_until grep -qx 'Snapshot 1 is written' stderr
	command_run stop
	finish_profile
	expect_status 0
	[ -e out.folded ]
	kill -TERM "$target"
	wait "$target" || status=$?
	expect_status 7
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
	expect_line stderr "unknown command '\?\[31mred'"
	expect_line stderr "unknown command 'snapshot now'"
	expect_equal 'times that a line was too long' "$(grep -c 'a line is too long' stderr)" 1
	kill -TERM "$pid"
	finish_profile
	expect_status 143
	[ -p control ]
}
