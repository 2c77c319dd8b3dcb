# SPDX-License-Identifier: MIT
# Awkward programs and moments: how a program ends, and how the profiler does.

load hosts

# leaves HOW STATUS: it ends as without a profiler.
leaves()
{
	run_profile -gpu-only --unit ns -o out.folded "$hosts/leaves" "$1"
	expect_status "$2"
	expect stdout <<<'launches 1000'
	expect_no_line stderr 'fake'
}

# expect_told HOW MESSAGE: what was launched and not waited for is missing, which the summary says, and --strict.
expect_told()
{
	expect_line stderr "$2"
	# "Samples: N launches, M GPU kernels", "K kernel launches have no record"
	awk '/^Samples: / { launches = $2; kernels = $4 }
		/^  [0-9]+ kernel launch(es)? ha(s|ve) no record/ { missing = $1 }
		END { exit !(kernels >= 2000 && launches == kernels + missing) }' stderr || { show; return 1; }
	expect_equal ns "$(weight_of out.folded)" \
		"$(sed -n 's/^Samples: .* \([0-9]*\) GPU kernels .*/\1/p' stderr)000"
	status=0
	timeout -k 5 "$patience" "$profile" -v --strict -gpu-only -o out.folded "$hosts/leaves" "$1" \
		>stdout 2>stderr </dev/null 3>&- || status=$?
	expect_status 124
}

# All that a synchronizing call had returned for is there.
expect_all()
{
	expect_line stderr "^$(correlation 2000)\$"
	expect_no_line stderr 'no record'
	expect_equal ns "$(weight_of out.folded)" 2000000
}

exited="^$(exits_told '1 traced process'): what it launched in the last 50 ms and did not wait for is"
killed="^profile: $(killed_told '1 traced process')"

@test "_exit: all that was waited for is there" {
	leaves _exit 5
	expect_all
	expect_line stderr "$exited"
	run_profile --strict -gpu-only -o out.folded "$hosts/leaves" _exit
	expect_status 5
}

@test "quick_exit: nothing is missing" {
	leaves quick_exit 5
	expect_all
	expect_line work "$all_sums_match"
	expect_no_line stderr '^profile: '
}

@test "a system call that ends the process, exec, abort and a signal: all that was waited for is there" {
	leaves exit_group 5
	expect_all
	expect_line stderr "$exited"
	leaves exec 0
	expect_all
	expect_line stderr "$exited"
	leaves abort 134
	expect_all
	expect_line stderr "$killed"
	leaves term 143
	expect_all
	expect_line stderr "$killed"
	leaves kill 137
	expect_all
	expect_line stderr "$killed"
}

@test "a stack that is used up: the summary says what is missing" {
	leaves overflow 139
	expect_told overflow "$killed"
}

@test "a stack that is used up, and a handler on another: the summary says what is missing" {
	leaves caught 5
	expect_told caught "$(exits_told '1 traced process')[:,] "
}

# on_small_disk COMMAND...: 64 KiB in the folder `small`
on_small_disk()
{
	needs_mount_namespace
	mkdir -p small
	# shellcheck disable=SC2016
	run_command unshare -m sh -ec 'mount -t tmpfs -o size=64k tmpfs small
		status=0
		"$@" || status=$?
		ls small
		exit "$status"' sh "$@"
}

@test "a full disk: the program does not notice, and profile says so" {
	on_small_disk "$profile" -gpu-only -o small/out.html sh -c '"$1" 3000; echo "status $?"' sh \
		"$hosts/short_threads"
	expect_status 125
	# nothing is left on the disk
	expect stdout <<-'end'
		launches 3000
		status 0
	end
	expect_line stderr "^$(not_in_timeline '[0-9]+' 'No space left on device')\$"
	expect_line stderr '^profile: writing small/out.html: No space left on device$'
}

@test "a full disk, and a recording" {
	on_small_disk "$profile" -v -gpu-only --unit ns --save-input small/run -o out.folded \
		"$hosts/short_threads" 3000
	expect_status 0
	expect stdout <<-'end'
		launches 3000
		run.events
		run.pipe
	end
	expect_line stderr '^profile: the recording is incomplete: No space left on device$'
	expect_line stderr "^$(correlation 3000)\$"
	expect_equal ns "$(weight_of out.folded)" 3000000
}

# kill_at_some_moment WHEN COMMAND...: of the whole run if WHEN is "any", else once the command has
# started. Prints what the command prints. What captures that returns when nothing of it runs.
kill_at_some_moment()
{
	local when=$1 mark=started.$BASHPID profiler worker

	shift
	# shellcheck disable=SC2016
	"$profile" -q -gpu-only -o "out.$BASHPID.folded" sh -c 'echo started; : >"$0"; "$@"; echo "status $?"' \
		"$mark" "$@" 2>/dev/null 3>&- &
	profiler=$!
	while [ "$when" != any ] && [ ! -e "$mark" ]; do sleep 0.01; done
	sleep "0.$(printf %03d $((RANDOM % 200)))"
	worker=$(worker_of "$profiler")
	case $((RANDOM % 3)) in
	0) kill -KILL "$profiler" ;;
	1) kill -KILL ${worker:+"$worker"} ;;
	2) kill -KILL ${worker:+"$worker"} "$profiler" ;;
	esac 2>/dev/null
	wait "$profiler" || true
}

# 25 times; a line for each in the file $1
kill_many()
{
	local i text when=(started any)

	for ((i = 0; i < 25; i++)); do
		text=$(kill_at_some_moment "${when[i % 2]}" "$hosts/outlives" 2>&1)
		echo "${text//$'\n'/ }"
	done >"ends.$1"
}

@test "a profiler that is killed, 100 times: the program's results are what they were" {
	local i

	for i in 1 2 3 4; do kill_many "$i" & done
	wait
	expect_equal runs "$(cat ends.* | wc -l)" 100
	# it ended well; or it never started, which can only be where that was not waited for
	if grep -vxE '|started launches 6000 status 0' ends.*; then return 1; fi
	[ "$(cat ends.* | grep -c '^started ')" -ge 50 ]
}
