# shellcheck shell=bash
# Awkward programs (tests/hosts/) on a real GPU: sourced by `correctness` and `hosts`, after lib.sh.
# shellcheck disable=SC2154 # lib.sh sets profile, out
#
# Each runs alone first: what CUDA itself does not survive here is skipped, with how it ended. Several
# run at once, each in a folder of its own, $out/hosts/NAME, which keeps what its last round left.
#
# HOSTS="NAME..."  only these: programs (leaves), or one of their runs (leaves:abort)
# TIMES=N          so many rounds of each, or until one fails; every second round with -gpu-only, the
#                  others with CPU samples, and some with more options (host_rounds)
# JOBS=N           how many run at once (default: one on each processor)
# HOST_PATIENCE=N  seconds for each run of a program (default 300)
# HOSTS_DIR, HOSTS_LIBRARIES: folders of built programs and of CUDA's libraries; of the stand-ins to
# try this without a GPU

hosts=${HOSTS_DIR:-build/tests/hosts/gpu}
host_libraries=${HOSTS_LIBRARIES:-${libs-}}
host_patience=${HOST_PATIENCE:-300} # s
host_times=${TIMES:-1}
host_jobs=${JOBS:-$(nproc)}
# the options of rounds, in turn
host_rounds=(
	'-gpu-only'
	''
	'-gpu-only --waits --api --alloc --nvtx'
	'--waits --api --alloc --nvtx'
)
host_names=() # that were started, "NAME" or "NAME_LABEL"

# host_alone NAME ARGUMENTS...: NAME.alone, NAME.alone_status
host_alone() {
	local name=$1 status=0
	shift
	LD_LIBRARY_PATH=$host_libraries timeout -k 5 "$host_patience" "$@" >"$name.alone" \
		2>"$name.alone_log" </dev/null || status=$?
	echo "$status" >"$name.alone_status"
} 2>/dev/null # what bash says of a program that was killed

# host_profiled NAME OPTIONS... -- ARGUMENTS...: NAME.log, NAME.stdout, NAME.folded, NAME.status
host_profiled() {
	local name=$1 options status=0
	read -ra options <<<"$host_options"
	shift
	while [ "$1" != -- ]; do
		# there are no ranges of launches whose stacks are taken elsewhere
		[ "$1" != uprobe ] || options=("${options[@]/--nvtx/--waits}")
		options+=("$1")
		shift
	done
	shift
	LD_LIBRARY_PATH=$host_libraries timeout --preserve-status -k 5 "$host_patience" "$host_profile" -v \
		--unit ns -o "$name.folded" "${options[@]}" "$@" >"$name.stdout" 2>"$name.log" \
		</dev/null || status=$?
	echo "$status" >"$name.status"
	echo "-- $name $host_options: status $status, $(tail -n 1 "$name.stdout" | tr '\n' ' ')" \
		"$(correlation "$name.log")"
}

# runs_alone NAME STATUS: else it is skipped
runs_alone() {
	local status
	status=$(cat "$1.alone_status")
	[ "$status" = "$2" ] && return
	skip "host $1" "does not run alone here: status $status$(tail -n 1 "$1.alone_log" |
		cut -c1-60 | sed 's/^\(.\)/, \1/')"
	return 1
}

# Only in the first round: in later ones it is known.
host_runs_alone() {
	local name=$1 status=$2
	shift 2
	[ "$host_round" -gt 1 ] || host_alone "$name" "$@"
	runs_alone "$name" "$status"
}

# same_output NAME: a program prints what it prints alone, but for numbers.
same_output() {
	check "host $1: prints what it prints alone" "$(sed 's/[0-9]\+/N/g' "$1.alone")" \
		"$(sed 's/[0-9]\+/N/g' "$1.stdout")"
}

# launches_of NAME: "launches kernels", from the summary
launches_of() {
	sed -n 's/^Samples: \(.* CPU, \)\?\([0-9]*\) launch[es]*, \([0-9]*\) GPU kernels\? .*/\2 \3/p' "$1.log"
}

# take_options [OPTIONS... --] ARGUMENTS...: into `options` and `arguments`
take_options() {
	options=()
	while [[ ${1-} == -* ]]; do
		[ "$1" = -- ] && shift && break
		options+=("$1" "$2")
		shift 2
	done
	arguments=("$@")
}

# host_exact NAME[:LABEL] [OPTIONS... --] ARGUMENTS...: nothing is lost or unmatched, and it launched
# what it says.
host_exact() {
	local program=${1%%:*} name=${1//:/_} options arguments count
	take_options "${@:2}"
	host_runs_alone "$name" 0 "$hosts/$program" "${arguments[@]}" || return 0
	host_profiled "$name" --strict "${options[@]}" -- "$hosts/$program" "${arguments[@]}"
	count=$(sed -n 's/^launches //p' "$name.stdout")
	check "host $name: --strict" 0 "$(cat "$name.status")"
	check "host $name: launches, kernels" "$count $count" "$(launches_of "$name")"
	check "host $name: ns in the file = ns CUPTI reported" "$(reported "$name.log")" \
		"$(gpu_sum "$name.folded")"
	same_output "$name"
}

# host_ending NAME[:LABEL] STATUS [OPTIONS... --] ARGUMENTS...: ends as it does alone.
host_ending() {
	local program=${1%%:*} name=${1//:/_} status=$2 options arguments
	take_options "${@:3}"
	host_runs_alone "$name" "$status" "$hosts/$program" "${arguments[@]}" || return 0
	host_profiled "$name" "${options[@]}" -- "$hosts/$program" "${arguments[@]}"
	check "host $name: exit status" "$status" "$(cat "$name.status")"
	same_output "$name"
}

# host_lossy: the same, and the summary says what is missing.
host_lossy() {
	local name=${1//:/_}
	host_ending "$@"
	[ -e "$name.status" ] || return 0
	check_true "host $name: the summary says what is missing" "$(launches_of "$name")" \
		"$(awk '/^Samples: / { sub(/[0-9]* CPU, /, ""); l = $2; k = $4 }
			/^ *[0-9]+ kernel launch(es)? ha(s|ve) no record/ { n = $1 }
			/^Correlation: / { d = $6 }
			END { print l + 0 " <= " k + n + d " && " k + 0 " > 0" }' "$name.log")"
}

# host_counted NAME[:LABEL] [OPTIONS... --] ARGUMENTS...: ends well, and each launch is matched, unmatched or dropped.
host_counted() {
	local name=${1//:/_} program=$1
	shift
	host_lossy "$program" 0 "$@"
	[ -e "$name.status" ] || return 0
	check "host $name: all launches are counted" "$(sed -n 's/^launches //p' "$name.stdout")" \
		"$(correlation "$name.log" | awk '{ print $1 + $2 + $3 }')"
}

# host_daemon NAME[:LABEL] [PID]: one that works on when what started it has ended. For "PID" it gets that of
# the command, and works on when that has ended, too.
host_daemon() {
	local name=${1//:/_} count
	# shellcheck disable=SC2016
	host_profiled "$name" --strict -- sh -c \
		'"$1" "$PWD/done" ${2:+$$}; while [ ! -e done ]; do sleep 0.05; done; cat done; rm done' sh \
		"$hosts/daemon" "${@:2}"
	count=$(sed -n 's/^launches //p' "$name.stdout")
	check "host $name: --strict" 0 "$(cat "$name.status")"
	check "host $name: launches, kernels" "$count $count" "$(launches_of "$name")"
}

# The profiler is killed at random moments: the program's results are what they were.
host_killed() {
	local name=${1//:/_} i well=0 ended times=20
	[ "$host_times" -eq 1 ] || times=4
	host_runs_alone "$name" 0 "$hosts/outlives" || return 0
	for ((i = 0; i < times; i++)); do
		# shellcheck disable=SC2016,SC2086
		ended=$(
			exec 2>/dev/null
			LD_LIBRARY_PATH=$host_libraries "$host_profile" -q $host_options -o killed.folded sh -c \
				'echo started; : >started; "$@"; echo "status $?"' sh "$hosts/outlives" \
				</dev/null &
			pid=$!
			while [ ! -e started ]; do sleep 0.01; done
			rm -f started
			sleep "$(awk -v r="$RANDOM" 'BEGIN { print r / 32768 }')"
			# shellcheck disable=SC2046 # there may be none
			kill -KILL $(worker_of $pid) $pid
		)
		ended=${ended//$'\n'/ }
		if [ "$ended" = "started launches 6000 status 0" ]; then
			well=$((well + 1))
		else
			echo "-- $name $host_options: ended with: $ended"
		fi
	done
	check "host $name: ends well, of $times whose profiler is killed" "$times" "$well"
}

# What is in a file that is the program's, after each round; NAME as in host_NAMEs.
host_files() {
	case $1 in
	descriptors) check "host $1: its file" mine "$(cat data)" ;;
	reopened) check "host $1: its files" 'one two three four ' "$(cat by_freopen by_dup2 by_close | tr '\n' ' ')" ;;
	esac
}

# run_round KIND NAME...
run_round() {
	local program=${2%%:*}
	host_options=${host_rounds[(host_round - 1) % ${#host_rounds[@]}]}
	if [ ! -x "$hosts/$program" ]; then
		skip "host ${2//:/_}" 'is not built: make hosts, or make hosts_gpu'
		return
	fi
	"host_$1" "${@:2}"
	[ "$skipped" -gt 0 ] || host_files "$program"
}

# run_rounds KIND NAME...: all, or until one fails. Leaves in the file `rows` what is to be in the table, and
# in `output` what each round gave.
run_rounds() {
	local name=${2//:/_} first longest=0 began
	rows=() passed=0 failed=0 skipped=0
	for ((host_round = 1; host_round <= host_times; host_round++)); do
		began=$SECONDS
		run_round "$@"
		[ $((SECONDS - began)) -le "$longest" ] || longest=$((SECONDS - began))
		[ $((failed + skipped)) -eq 0 ] || break
	done >output 2>&1
	if [ "$host_times" -gt 1 ] && [ "$skipped" -eq 0 ]; then
		first=$(printf '%s\n' "${rows[@]}" | grep -m 1 '^FAILED' | tr -s ' ')
		rows=() passed=0
		if [ "$failed" -eq 0 ]; then
			passed=1
			add_row ok "host $name" "$host_times of $host_times rounds; the longest took $longest s"
		else
			failed=1
			add_row FAILED "host $name" "round $host_round: ${first#FAILED }; see $PWD"
		fi
	else
		cat output
	fi
	{
		echo "$passed $failed $skipped"
		printf '%s\n' "${rows[@]}"
	} >rows
}

# What make is to build for HOSTS
gpu_host_targets() {
	local name file
	[ -n "${HOSTS-}" ] || echo hosts_gpu
	for name in ${HOSTS-}; do
		for file in tests/hosts/"${name%%:*}"{,_plugin,_*_plugin}.cpp; do
			[ ! -e "$file" ] || basename "$file" .cpp | sed 's,_plugin$,&.so,; s,^,build/tests/hosts/gpu/,'
		done
	done
}

# start KIND NAME[:LABEL] ...: host_KIND with the rest, when there is room
start() {
	local name=${2//:/_} folder
	case " ${HOSTS:-$2} " in
	*" $2 "* | *" ${2%%:*} "*) ;;
	*) return ;;
	esac
	while [ "$(jobs -rp | wc -l)" -ge "$host_jobs" ]; do wait -n; done
	folder=$out/hosts/$name
	rm -rf "$folder"
	mkdir -p "$folder" || exit
	(cd "$folder" && run_rounds "$@") &
	host_names+=("$name")
}

# Waits for all that were started, and adds their rows to the table.
collect_hosts() {
	local name counts row
	wait
	if [ ${#host_names[@]} -eq 0 ]; then
		echo "no host has such a name: HOSTS=$HOSTS" >&2
		exit 2
	fi
	for name in "${host_names[@]}"; do
		{
			read -ra counts
			while IFS= read -r row; do
				[ -z "$row" ] || rows+=("$row")
			done
		} <"$out/hosts/$name/rows"
		passed=$((passed + counts[0]))
		failed=$((failed + counts[1]))
		skipped=$((skipped + counts[2]))
	done
}

check_all_hosts() {
	case $profile in
	/*) host_profile=$profile ;;
	*) host_profile=$root/$profile ;;
	esac
	case $hosts in
	/*) ;;
	*) hosts=$root/$hosts ;;
	esac
	host_libraries=$(tr : '\n' <<<"$host_libraries" | xargs -r realpath -m | tr '\n' :)$hosts
	mkdir -p "$out/hosts/empty"

	# what takes long comes first
	start exact modules:stopped -launch-stacks uprobe -- "$hosts/modules_plugin.so" 200 stopped
	start killed outlives:killed
	start counted stalled
	start exact threads
	start exact threads:3000 3000 30
	start exact short_threads
	start exact short_threads_address 2000
	start exact short_threads_thread 2000
	start exact thread_ends
	start exact small_stacks
	# its threads launch from deep stacks at once: more than the kernel has room for
	start counted small_stacks:uprobe -launch-stacks uprobe --
	start exact cancelled
	start exact cancelled:uprobe -launch-stacks uprobe --
	start exact descriptors
	start counted closes_all
	start exact reopened
	start exact errno_is_kept
	start exact clock_is_set
	start exact shifted_clock:ahead 3600
	start exact shifted_clock:behind -- -3600
	start exact stopped
	start exact forked
	start exact fork_handlers
	start exact vforked 3
	start daemon daemon
	start daemon daemon:later PID
	start exact namespaces
	start exact other_user
	start exact titled
	start exact sandboxed
	start exact sandboxed:kill kill
	start exact sandboxed:root "$out/hosts/empty"
	start exact sandboxed:first "$out/hosts/empty" first
	start exact first_thread_ends
	start exact traps_inexact
	start exact guarded_stack
	start exact stale_words
	start exact variable_frames
	start exact constructor "$hosts/constructor_plugin.so"
	start exact data_in_rbp 5000
	start exact data_in_rbp:frames 5000 2
	start exact data_in_rbp:like_frames 5000 3
	start exact coroutines 500 1000
	start exact fibers
	start exact foreign_stack
	start exact cgo
	start exact altstack
	start exact paged
	start exact modules "$hosts/modules_plugin.so"
	start exact modules:uprobe -launch-stacks uprobe -- "$hosts/modules_plugin.so"
	start exact unloaded "$hosts/unloaded_first_plugin.so" "$hosts/unloaded_second_plugin.so"
	start exact swapped "$hosts/swapped_first_plugin.so" "$hosts/swapped_second_plugin.so"
	start exact many_ways "$hosts/many_ways_plugin.so"
	start exact outlives
	start ending late_work 0 "$hosts/late_work_plugin.so"
	start ending exit_in_handler 7
	start ending busy_to_the_end 0
	start lossy leaves:_exit 5 _exit
	start lossy leaves:abort 134 abort
	start lossy leaves:overflow 139 overflow
	start lossy leaves:caught 5 caught
	start lossy leaves:quick_exit 5 quick_exit
	collect_hosts
}
