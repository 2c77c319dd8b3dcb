# shellcheck shell=bash
# Awkward programs (tests/hosts/) on a real GPU: sourced by `correctness` and `hosts`, after lib.sh.
# shellcheck disable=SC2154 # lib.sh sets profile, out
#
# Each runs alone first: what CUDA itself does not survive here is skipped, with how it ended.
# HOSTS_DIR and HOSTS_LIBRARIES: folders of built programs and of CUDA's libraries; of the stand-ins
# to try this script without a GPU. HOST_PATIENCE: seconds for each program.

hosts=${HOSTS_DIR:-build/tests/hosts/gpu}
host_libraries=${HOSTS_LIBRARIES:-${libs-}}
host_patience=${HOST_PATIENCE:-300} # s

# host_alone NAME ARGUMENTS...: NAME.alone, NAME.alone_status
host_alone() {
	local name=$1 status=0
	shift
	(cd "$out" && LD_LIBRARY_PATH=$host_libraries timeout -k 5 "$host_patience" "$@" >"$name.alone" \
		2>"$name.alone_log" </dev/null) 2>/dev/null || status=$?
	echo "$status" >"$out/$name.alone_status"
}

# host_profiled NAME OPTIONS... -- ARGUMENTS...: NAME.log, NAME.stdout, NAME.folded, NAME.status
host_profiled() {
	local name=$1 options=() status=0
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	(cd "$out" && LD_LIBRARY_PATH=$host_libraries timeout -k 5 "$host_patience" "$host_profile" -v -gpu-only \
		--unit ns -o "$name.folded" "${options[@]}" "$@" >"$name.stdout" 2>"$name.log" \
		</dev/null) || status=$?
	echo "$status" >"$out/$name.status"
	echo "-- $name: status $status, $(tail -n 1 "$out/$name.stdout" | tr '\n' ' ')" \
		"$(correlation "$out/$name.log")"
}

# runs_alone NAME STATUS: else it is skipped
runs_alone() {
	local status
	status=$(cat "$out/$1.alone_status")
	[ "$status" = "$2" ] && return
	skip "host $1" "does not run alone here: status $status$(tail -n 1 "$out/$1.alone_log" |
		cut -c1-60 | sed 's/^\(.\)/, \1/')"
	return 1
}

# launches_of NAME: "launches kernels", from the summary
launches_of() {
	sed -n 's/^Samples: \([0-9]*\) launch[es]*, \([0-9]*\) GPU kernels\? .*/\1 \2/p' "$out/$1.log"
}

# exact_host NAME[:LABEL] [OPTIONS... --] ARGUMENTS...: nothing is lost or unmatched, and it launched
# what it says.
exact_host() {
	local program=${1%%:*} name=$1 options=(--strict) count
	name=${name//:/_}
	shift
	while [[ ${1-} == -* ]]; do
		[ "$1" = -- ] && shift && break
		options+=("$1" "$2")
		shift 2
	done
	host_alone "$name" "$hosts/$program" "$@"
	runs_alone "$name" 0 || return 0
	host_profiled "$name" "${options[@]}" -- "$hosts/$program" "$@"
	count=$(sed -n 's/^launches //p' "$out/$name.stdout")
	check "host $name: --strict" 0 "$(cat "$out/$name.status")"
	check "host $name: launches, kernels" "$count $count" "$(launches_of "$name")"
	check "host $name: ns in the file = ns CUPTI reported" "$(reported "$out/$name.log")" \
		"$(gpu_sum "$out/$name.folded")"
}

# ending_host NAME[:LABEL] STATUS ARGUMENTS...: ends as it does alone.
ending_host() {
	local program=${1%%:*} name=${1//:/_} status=$2
	shift 2
	host_alone "$name" "$hosts/$program" "$@"
	runs_alone "$name" "$status" || return 0
	host_profiled "$name" -- "$hosts/$program" "$@"
	check "host $name: exit status" "$status" "$(cat "$out/$name.status")"
}

# lossy_host: the same, and the summary says what is missing.
lossy_host() {
	local name=${1//:/_}
	ending_host "$@"
	[ -e "$out/$name.status" ] || return 0
	check_true "host $name: the summary says what is missing" "$(launches_of "$name")" \
		"$(awk '/^Samples: / { l = $2; k = $4 } / kernel launch(es)? ha(s|ve) no record/ { n = $1 }
			/^Correlation: / { d = $6 }
			END { print l + 0 " <= " k + n + d " && " k + 0 " > 0" }' "$out/$name.log")"
}

# The profiler is killed at random moments: the program's results are what they were.
killed_profiler() {
	local i well=0 ended
	host_alone outlives "$hosts/outlives"
	runs_alone outlives 0 || return 0
	for ((i = 0; i < 20; i++)); do
		# shellcheck disable=SC2016
		ended=$(
			exec 2>/dev/null
			cd "$out" || exit
			LD_LIBRARY_PATH=$host_libraries "$host_profile" -q -gpu-only -o killed.folded sh -c \
				'echo started; : >started; "$@"; echo "status $?"' sh "$hosts/outlives" \
				</dev/null &
			pid=$!
			while [ ! -e started ]; do sleep 0.01; done
			rm -f started
			sleep "$(awk -v r="$RANDOM" 'BEGIN { print r / 32768 }')"
			# shellcheck disable=SC2046 # there may be none
			kill -KILL $(worker_of $pid) $pid
		)
		[ "${ended//$'\n'/ }" = "started launches 6000 status 0" ] && well=$((well + 1))
	done
	check "host outlives: ends well, of 20 whose profiler is killed" 20 "$well"
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
	host_libraries=$host_libraries:$hosts

	exact_host threads
	exact_host threads:3000 3000 30
	exact_host short_threads
	exact_host thread_ends
	exact_host cancelled
	exact_host cancelled:uprobe -launch-stacks uprobe --
	exact_host descriptors
	exact_host reopened
	exact_host errno_is_kept
	exact_host stopped
	exact_host forked
	exact_host vforked 3
	exact_host titled
	exact_host sandboxed
	exact_host constructor "$hosts/constructor_plugin.so"
	exact_host data_in_rbp 5000
	exact_host coroutines 500 1000
	exact_host fibers
	exact_host foreign_stack
	exact_host altstack
	exact_host modules "$hosts/modules_plugin.so"
	exact_host modules:uprobe -launch-stacks uprobe -- "$hosts/modules_plugin.so"
	exact_host unloaded "$hosts/unloaded_first_plugin.so" "$hosts/unloaded_second_plugin.so"
	exact_host outlives
	ending_host late_work 0 "$hosts/late_work_plugin.so"
	ending_host exit_in_handler 7
	ending_host busy_to_the_end 0
	lossy_host stalled 0
	lossy_host leaves:_exit 5 _exit
	lossy_host leaves:abort 134 abort
	lossy_host leaves:overflow 139 overflow
	lossy_host leaves:caught 5 caught
	lossy_host leaves:quick_exit 5 quick_exit
	killed_profiler
}
