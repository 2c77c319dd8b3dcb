# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Shared by the command line tests. A test runs in its own folder, against ./profile and the
# CUDA stand-ins; files named stdout and stderr there hold what the last run printed.

root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
profile=$root/profile
workloads=$root/build/tests/workloads
fake_cuda=$root/build/tests/fake_cuda
export root profile workloads fake_cuda
load messages

# Against hangs alone: on a busy machine what takes 30 seconds elsewhere may take minutes. Nothing is timed against it.
readonly patience=600

# What messages advise where privilege is missing: profiler/base/capability_advice.h, and docs/.
# shellcheck disable=SC2034 # tests use it
readonly setcap_line='setcap cap_bpf,cap_perfmon,cap_syslog=ep profile'
# shellcheck disable=SC2034
readonly advice="run with sudo, or give the file capabilities: $setcap_line"

needs_root()
{
	if [ "$(id -u)" != 0 ]; then
		skip 'needs root: the kernel gives eBPF programs to root only'
	fi
}

needs_command()
{
	if ! command -v "$1" >/dev/null; then skip "$1 is not installed"; fi
}

# Called by each file's setup.
enter_test_folder()
{
	cd "$BATS_TEST_TMPDIR" || return 1
	# other users must get here: some tests run the target as one
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
	export LD_LIBRARY_PATH=$fake_cuda
	unset CUDA_HOME CUDA_PATH CUDA_INJECTION64_PATH SUDO_UID SUDO_GID SUDO_USER
}

# ---- running ----

# with_details: from here on profile is run with -v, so that all details of the summary are there to examine. What -v
# says besides goes to the file `verbose`, unless a run has a -v of its own.
with_details()
{
	details=-v
}
details=

# run_profile ARGUMENTS...: to the end; sets $status and the files stdout and stderr.
run_profile()
{
	run_command "$profile" ${details:+"$details"} "$@"
}

# The same for any command, for example a wrapper of the profiler.
run_command()
{
	status=0
	timeout -k 5 "$patience" "$@" >stdout 2>stderr </dev/null 3>&- || status=$?
	drop_noise "$@"
}

# count_word WORD COMMAND...: how often it is in the command
count_word()
{
	local wanted=$1 word count=0

	shift
	for word in "$@"; do
		if [ "$word" = "$wanted" ]; then count=$((count + 1)); fi
	done
	echo "$count"
}

# Other processes of this machine can cause two lines. The kernel records the mappings of all
# processes in one ring, and a burst can fill it; and on a busy machine samples wait too long.
drop_noise()
{
	local noise='^profile: [0-9]* mapping records\? \(was\|were\) lost: '

	noise+='\|^profile: [0-9]* CPU samples\? \(was\|were\) dropped: the machine was too busy '

	if grep -q "$noise" stderr; then sed -i "/$noise/d" stderr; fi
	if [ -n "$details" ] && [ "$(count_word -v "$@")" = 1 ]; then split_verbose; fi
	if [ "$(count_word -q "$@")" = 0 ]; then split_ending; fi
	split_used
	split_stacks
	split_work
	split_omitted
	split_cost
}

# In the file `verbose`: what -v says besides the details of the summary.
split_verbose()
{
	local one many

	one='process [0-9]+( \(.*\))?:? (uses CUDA; CUPTI |loaded the CUDA driver($|, and cannot be traced: )|runs Python|has CUDA_INJECTION64_PATH=|[0-9]+ (launch|CUDA) functions newly probed|this CUPTI \(CUDA 13\.0\) is known|CUPTI reported [0-9]+ operations|[0-9]+ launch stacks took|PC samples: |counters: |CUPTI did not (name the devices|report which contexts use MPS)|.* has an unknown layout|the library was injected$|not a known process of the command|is left out: )'
	many='attached to |the state of GPUs is (not recorded|recorded no longer): |GPU [0-9][^:]*: |naming and writing took |(the command|the processes) used [0-9.]+ s of CPU in |probe on |[0-9]+ stacks? (is|are) cut in |[0-9]+ records of further runs of measured kernels |the report has no times of single operations|the processes are looked at after |no folder for temporary files'
	grep -E "^profile: ($one|$many)" stderr >verbose || true
	if [ -s verbose ]; then sed -i -E "\\#^profile: ($one|$many)#d" stderr; fi
}

# In the file `ending`: the end of a run, which report.bats examines. Findings and the table are between its
# first line and the next one that does not begin with two spaces.
split_ending()
{
	: >ending
	: >rest
	LC_ALL=C awk '/: (ran|recorded) [0-9.]+ (ns|us|ms|s)([.,;]|$)/ { inside = 1; print >"ending"; next }
		inside && /^  / { print >"ending"; next }
		{ inside = 0 }
		/^(Complete|Not complete|Price|Report|Wrote): / { print >"ending"; next }
		{ print >"rest" }' stderr
	if [ -s ending ]; then cat rest >stderr; fi
	rm rest
}

# In the file `used`: CPU time used and sampled, which cpu.bats examines. How much is not sampled
# depends on the machine.
split_used()
{
	local line='^CPU: \|^profile: [0-9]* % of the CPU time has no sample: '

	grep "$line" stderr >used || true
	if [ -s used ]; then sed -i "/$line/d" stderr; fi
}

# The number of whole stacks depends on the samples: these lines go to the file `stacks`,
# which stacks.bats examines.
split_stacks()
{
	local about_stacks='^Stacks: \|^profile: [0-9]* stacks\? \(is\|are\) cut '

	grep "$about_stacks" stderr >stacks || true
	if [ -s stacks ]; then sed -i "/$about_stacks/d" stderr; fi
}

# In the file `work`: all sums are CUPTI's own.
# shellcheck disable=SC2034 # tests use it
all_sums_match="^  $(own_sums '([0-9]+)' '\1')"

# The table of GPU work goes to the file `work`, which tests of differing sums examine.
split_work()
{
	local table

	table="^GPU work:\$\|^  GPU [0-9]\|^  $(own_sums '.*' '.*')"

	grep "$table" stderr >work || true
	if [ -s work ]; then sed -i "/$table/d" stderr; fi
}

# In the file `omitted`: stacks that round to nothing, which options.bats examines.
split_omitted()
{
	local line='^  [0-9]* more stacks\? rounds\? to 0 '

	grep "$line" stderr >omitted || true
	if [ -s omitted ]; then sed -i "/$line/d" stderr; fi
}

# In the file `cost`: what the run cost, which report.bats examines.
split_cost()
{
	local line='^Cost: '

	grep "$line" stderr >cost || true
	if [ -s cost ]; then sed -i "/$line/d" stderr; fi
}

# Before a command whose memory is measured: none of it is in huge pages, which take more than was touched.
# shellcheck disable=SC2034
readonly in_small_pages=(python3 -c
	'import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); os.execvp(sys.argv[1], sys.argv[1:])')

needs_mount_namespace()
{
	needs_command unshare
	unshare -m true 2>/dev/null || skip 'mount namespaces cannot be made here'
}

# as_tester COMMAND...: as if by sudo of a user "tester" (4242) with three groups.
as_tester()
{
	mkdir -p theirs
	chown 4242:4242 theirs
	{ cat /etc/passwd; echo 'tester:x:4242:4242::/home/tester:/bin/sh'; } >passwd
	{ cat /etc/group; printf '%s\n' tester:x:4242: first:x:4243:tester second:x:4244:tester \
		other:x:4245:; } >group
	needs_mount_namespace
	run_command unshare -m sh -ec '
		mount --bind passwd /etc/passwd
		mount --bind group /etc/group
		exec "$@"' sh env SUDO_UID=4242 SUDO_GID=4242 SUDO_USER=tester HOME=/root USER=root \
		LOGNAME=root "$@"
}

# start_profile ARGUMENTS...: in the background, with the signals of an interactive shell; sets $pid.
# Processes that still run when a test fails are killed in teardown.
start_profile()
{
	rm -f stdout stderr # who waits for a line must not read the run before
	arguments=("$profile" ${details:+"$details"} "$@")
	env --default-signal=INT,QUIT "${arguments[@]}" >stdout 2>stderr </dev/null 3>&- &
	pid=$!
}

# Waits for start_profile's process; sets $status.
finish_profile()
{
	status=0
	wait "$pid" || status=$?
	pid=
	drop_noise "${arguments[@]}"
}

teardown()
{
	if [ -n "${pid-}" ]; then
		# shellcheck disable=SC2046
		kill -KILL $(child_of "$pid") $(worker_of "$pid") "$pid" 2>/dev/null || true
	fi
}

# The profiler has handled the signals sent to it.
signals_taken()
{
	[ "$(awk '/^ShdPnd/ { print $2 }' "/proc/$1/status")" = 0000000000000000 ]
}

# wait_until COMMAND...: polls.
wait_until()
{
	local i

	for ((i = 0; i < patience * 20; i++)); do
		if "$@"; then return 0; fi
		sleep 0.05
	done
	echo "still not so after $patience s: $*"
	return 1
}

# mount_stuck_file MODE: a file in the folder `mount` that never responds; see tests/workloads/stuck_file.c.
# Sets $fuse, which the caller kills.
# shellcheck disable=SC2034
mount_stuck_file()
{
	mkdir mount
	echo old >file
	"$workloads/stuck_file" mount file "$1" >stuck 2>&1 3>&- &
	fuse=$!
	wait_until grep -q . stuck
	if ! grep -qx ready stuck; then skip "$(cat stuck)"; fi
}

# The first child of process $1; nothing while there is none.
first_child()
{
	local children=''

	read -r children _ 2>/dev/null <"/proc/$1/task/$1/children" || true
	echo "$children"
}

# The worker process of the profiler $1, which is its supervisor.
worker_of()
{
	first_child "$1"
}

# start OUTPUT COMMAND...: in the background; sets $target and $printed, and adds to $targets.
# shellcheck disable=SC2034
start()
{
	printed=$1
	shift
	"$@" >"$printed" 2>&1 </dev/null 3>&- &
	target=$!
	targets+=("$target")
}

# The process that the profiler $1 runs; nothing while there is none.
child_of()
{
	local worker child children=''

	worker=$(worker_of "$1")
	if [ -n "$worker" ]; then
		read -r children 2>/dev/null <"/proc/$worker/task/$worker/children" || true
	fi
	for child in $children; do
		if ! grep -qsx profile-helper "/proc/$child/comm"; then
			echo "$child"
			return
		fi
	done
}

# is_traced PID: the injection library is in it.
is_traced()
{
	grep -qs libprofile_cupti "/proc/$1/maps"
}

# The command of the profiler $pid is traced; sets $child.
command_is_traced()
{
	child=$(child_of "$pid")
	[ -n "$child" ] && is_traced "$child"
}

# used_cpu_seconds PID N: the process has used so much CPU time, or has ended. Its name has no space.
used_cpu_seconds()
{
	local ticks

	ticks=$(awk '{ print $14 + $15; exit $3 == "Z" }' "/proc/$1/stat" 2>/dev/null) || return 0
	[ "$ticks" -ge $(($2 * $(getconf CLK_TCK))) ]
}

# no_process_with VARIABLE=VALUE: no process has it in its environment.
no_process_with()
{
	local found

	# a process that has just ended is an error to grep, whatever it found
	found=$(grep -lzsxF -- "$1" /proc/[0-9]*/environ) || true
	[ -z "$found" ]
}

# Interpreters, by path; one of each kind.
find_pythons()
{
	local python

	for python in /usr/bin/python3.{8,9,10,11,12,13,14,15} \
		"${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.{8,9,10,11,12,13,14,15}.*/bin/python3 \
		"$root"/build/python/*/python; do
		if [ -x "$python" ]; then echo "$python"; fi
	done
}

# Sets `python` to an interpreter, or skips.
needs_python()
{
	python=$(find_pythons | head -1)
	if [ -z "$python" ]; then skip 'no Python from 3.8 to 3.15 is installed'; fi
}

# ---- expecting ----

show()
{
	echo "status $status"
	sed 's/^/stdout: /' stdout
	sed 's/^/stderr: /' stderr
}

expect_status()
{
	if [ "$status" != "$1" ]; then
		echo "expected status $1"
		show
		return 1
	fi
}

# expect FILE: its lines are those on stdin, where <N> stands for a whole number, <F> for one with
# a point, <s> for a word's plural or not, and <*> for anything.
expect()
{
	local file=$1 want got i

	mapfile -t want < <(sed -e 's/[][\.*^$+?(){}|]/\\&/g' -e 's/<N>/[0-9]+/g' \
		-e 's/<s>/s?/g' -e 's/<F>/[0-9]+\\.[0-9]+/g' -e 's/<\\\*>/.*/g')
	mapfile -t got <"$file"
	for ((i = 0; i < ${#want[@]} || i < ${#got[@]}; i++)); do
		if ! [[ ${got[i]-} =~ ^${want[i]-}$ ]] || [ $i -ge ${#want[@]} ] ||
			[ $i -ge ${#got[@]} ]; then
			echo "$file, line $((i + 1)): expected '${want[i]-(end)}'"
			show
			return 1
		fi
	done
}

expect_empty()
{
	if [ -s "$1" ]; then
		echo "$1 is not empty"
		show
		return 1
	fi
}

# expect_line FILE PATTERN: a line of it is like PATTERN (extended regular expression).
expect_line()
{
	if ! grep -qE -- "$2" "$1"; then
		echo "no line of $1 matches: $2"
		show
		return 1
	fi
}

expect_no_line()
{
	if grep -E -- "$2" "$1"; then
		echo "a line of $1 matches: $2"
		show
		return 1
	fi
}

expect_no_file()
{
	if [ -e "$1" ]; then
		echo "$1 exists"
		show
		return 1
	fi
}

# page_data FILE EXPRESSION: prints the value of an expression in the page's profile p, as JSON
page_data()
{
	node --input-type=module -e "
		import {readFileSync} from 'node:fs';
		import {unpackProfile} from '$root/profiler/web/html/data.js';
		const p = await unpackProfile(readFileSync('$1', 'utf8').match(/id=\"data\">([^<]*)</)[1]);
		console.log(JSON.stringify($2));"
}

# expect_equal WHAT GOT WANTED
expect_equal()
{
	if [ "$2" != "$3" ]; then
		echo "$1: got '$2', wanted '$3'"
		show
		return 1
	fi
}

# ---- reading profiles ----

# Sum of the weights of lines that match PATTERN (default: all).
weight_of()
{
	awk -v pattern="${2-}" '{ stack = $0; sub(/ [0-9]+$/, "", stack) }
		pattern == "" || stack ~ pattern { sum += $NF } END { printf "%.0f\n", sum }' "$1"
}

# pprof_sum TYPE FILE: of one column of what `pprof -raw` printed
pprof_sum()
{
	awk -v type="$1/" '
		/^Samples:/ { state = 1; next }
		/^Locations/ { state = 0 }
		state == 1 { for (i = 1; i <= NF; i++) if (index($i, type) == 1) column = i; state = 2; next }
		state == 2 && /: / { split($0, halves, ":"); split(halves[1], values, " ")
			sum += values[column] }
		END { printf "%.0f\n", sum }' "$2"
}

# "KERNEL NS" lines of a profile in ns, sorted, summed over stacks.
kernels_of()
{
	sed -n 's/^.*\[GPU_Kernel\]\(.*\) \([0-9]*\)$/\1 \2/p' "$1" |
		awk '{ ns[$1] += $2 } END { for (k in ns) printf "%s %.0f\n", k, ns[k] }' | sort
}

# The same from the stand-ins' ground truth (FAKE_CUDA_TOTALS).
kernels_of_totals()
{
	awk '$2 == "kernel" { ns[$3] += $5 } END { for (k in ns) printf "%s %.0f\n", k, ns[k] }' \
		"$1" | sort
}

# Every line is "stack weight", and lines are in the order of their frames, none twice.
expect_folded()
{
	local stacks

	expect_no_line "$1" '^$|^[^;]* *[^0-9]$|;;|^;|; '
	if grep -vE '^.+ [1-9][0-9]*$' "$1"; then
		echo "not folded stacks: $1"
		return 1
	fi
	stacks=$(sed 's/ [0-9]*$//' "$1" | tr ';' '\001')
	if [ -n "$stacks" ] && ! LC_ALL=C sort -c -u <<<"$stacks"; then
		echo "not sorted, or a stack twice: $1"
		return 1
	fi
}

# The numbers of the last line on stderr are those of the file.
expect_totals()
{
	local file=$1 cpu gpu

	gpu=$(weight_of "$file" '\[GPU_[A-Z][^;]*$')
	cpu=$(($(weight_of "$file") - gpu))
	expect_line stderr "^Wrote $(wc -l <"$file") stacks? \($((cpu + gpu)) ([a-z]+|x [0-9.]+ ms): $cpu CPU, $gpu GPU\) to "
}

# signals_reach_it OPTIONS...: sends signals to profile while it sends what the options ask for; the
# command goes on, and gets them.
signals_reach_it()
{
	cat >goes_on <<-'END'
		trap 'echo >>got' USR1
		trap 'exit 7' TERM
		"$1" 10
		while :; do sleep 0.1; done
	END
	start_profile -gpu-only --unit ns -o a.folded -d 1 "$@" sh goes_on "$workloads/launches"
	# shellcheck disable=SC2154 # of messages.bash
	wait_until grep -q "^$waiting_for " stderr
	kill -USR1 "$pid"
	wait_until test -e got
	kill -TERM "$pid"
	finish_profile
	expect_status 7
	expect_line stderr 'interrupted$'
}
