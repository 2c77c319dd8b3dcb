# shellcheck shell=bash
# Runs that take longer to start than to measure: the next ones start while one measures.
#
# Each run is started early and waits at its gate, a FIFO, before the part that counts
# (train_gate.py). Gates open in order, one when the run before has measured or has ended. So one
# run measures at a time; meanwhile others import, and what has measured ends. A run that hangs is
# killed when it has had its patience, counted from its gate's opening, so it costs no other run's.
#
# Whoever sources this defines three functions, each called with a run's number and the run:
#   gate_start NUMBER RUN GATE   becomes the run (exec), in a process of its own
#   gate_measured NUMBER RUN     succeeds when the next may measure
#   gate_take NUMBER RUN         takes what it measured; called in order
gate_pids=()

gate_end() {
	[ ${#gate_pids[@]} = 0 ] || kill "${gate_pids[@]}" 2>/dev/null
}
trap gate_end EXIT

# gate_await PID PATIENCE NUMBER RUN
gate_await() {
	local end=$((SECONDS + $2))
	while kill -0 "$1" 2>/dev/null && ! gate_measured "$3" "$4"; do
		if ((SECONDS > end)); then
			kill "$1"
			wait "$1"
			break
		fi
		sleep 0.05
	done 2>/dev/null
}

# gate_runs FOLDER AHEAD PATIENCE RUN...: at most AHEAD runs prepare while one measures; PATIENCE in s.
# Gates are in FOLDER.
gate_runs() {
	local folder=$1 ahead=$2 patience=$3 at started=0 gates=() gate
	shift 3
	for ((at = 1; at <= $#; at++)); do
		while ((started < $# && started < at + ahead)); do
			((++started))
			rm -f "$folder/gate.$started"
			mkfifo "$folder/gate.$started" || return
			# read and write: neither end waits for the other
			exec {gate}<>"$folder/gate.$started"
			gates[started]=$gate
			gate_start "$started" "${!started}" "$folder/gate.$started" {gate}>&- &
			gate_pids[started]=$!
		done
		echo >&"${gates[at]}"
		gate_await "${gate_pids[at]}" "$patience" "$at" "${!at}"
		gate_take "$at" "${!at}"
		gate=${gates[at]}
		exec {gate}>&-
	done
	wait "${gate_pids[@]}" 2>/dev/null
	gate_pids=()
	rm -f "$folder"/gate.*
}
