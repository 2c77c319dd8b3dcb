# SPDX-License-Identifier: MIT
# --last: the last seconds of a run, at its end and at snapshots. The workload says when its work ran; each piece of
# work takes 1 ms of the GPU, exactly.

load helpers

setup()
{
	enter_test_folder
	with_details
	workload=$workloads/steady
}

monotonic_ns()
{
	python3 -c 'import time; print(time.monotonic_ns())'
}

gpu_ns()
{
	weight_of "$1" '\[GPU_Kernel\]'
}

# expect_last FILE SECONDS FROM TO: the file has the work of that long before a moment between FROM and TO, in ns, and no
# other. Of work during which that began or ended, it is not known whether it did.
expect_last()
{
	local ns sure maybe

	read -r sure maybe < <(awk -v last="$2" -v from="$3" -v to="$4" '
		BEGIN { last *= 1e9 }
		$1 == "work" && $2 >= to - last && $3 < from { sure++ }
		$1 == "work" && $3 >= from - last && $2 < to { maybe++ }
		END { printf "%d %d\n", sure, maybe }' stdout)
	ns=$(gpu_ns "$1")
	echo "$1: $ns ns of work, between $sure and $maybe ms are expected"
	[ $((ns % 1000000)) = 0 ] && [ $((ns / 1000000)) -ge "$sure" ] && [ $((ns / 1000000)) -le "$maybe" ]
}

# expect_within FILE.trace.json SECONDS: all work began within so long.
expect_within()
{
	python3 - "$1" "$2" <<-'END'
		import json, sys
		starts = [e["ts"] for e in json.load(open(sys.argv[1]))["traceEvents"] if e.get("cat") == "kernel" and "ts" in e]
		print(len(starts), "kernels")
		sys.exit(not starts or max(starts) - min(starts) >= float(sys.argv[2]) * 1e6)
	END
}

# bats test_tags=quick
@test "the result has the last seconds before the end" {
	local last left

	run_profile --unit ns --strict --last 1 -o out.folded -o out.profile -o out.trace.json -o out.html "$workload" 3000
	expect_status 0
	expect_no_line stderr '^profile: '
	last=$(awk '$1 == "work" { last = $3 } END { print last }' stdout)
	expect_last out.folded 1 "$last" "$(monotonic_ns)"
	expect_within out.trace.json 1
	expect_line stderr '^Recorded: the last 1.000 s, from [1-9][0-9.]* s after the command.s start$'
	# nothing is in neither
	left=$(sed -n 's/^  \([0-9]*\) GPU operations began before (\1.000 ms): left out$/\1/p' stderr)
	expect_equal 'work in all' $((left + $(gpu_ns out.folded) / 1000000)) "$(grep -c ^work stdout)"
	expect_line stderr "[ ,]$(launched $(($(gpu_ns out.folded) / 1000000)) $(($(gpu_ns out.folded) / 1000000))) "
	expect_line work "$all_sums_match"
	run_profile --from out.profile --unit ns -o from.folded -o from.trace.json -o from.json
	expect_status 0
	cmp out.folded from.folded
	expect_within from.trace.json 1
	expect_line from.json '"shown":"--last 1",'
}

@test "a run that is shorter is there as a whole" {
	run_profile --unit ns --strict --last 10m --waits -o out.folded "$workload" 300
	expect_status 0
	expect_no_line stderr 'left out|^profile: '
	expect_line stderr "[ ,]$(grep -c ^work stdout) GPU kernels \\($(grep -c ^work stdout).000 ms\\)$"
	expect_line stderr "^$(waits_of '[1-9][0-9]* calls?'), "
	expect_line out.folded ';\[waiting for GPU\];\[GPU_Kernel\]steady_work'
}

@test "a signal and the FIFO take snapshots of the seconds before them" {
	local from

	start_profile --unit ns --control control --last 500ms -o out.folded -o out.trace.json -o out.profile "$workload" 3600000
	wait_until grep -q work stdout
	from=$(monotonic_ns)
	kill -USR2 "$pid"
	wait_until grep -q "^$(snapshot_written 1)" stderr
	monotonic_ns >first
	set -- "$from"
	from=$(monotonic_ns)
	timeout 60 sh -c 'echo snapshot >control'
	wait_until grep -q "^$(snapshot_written 2)" stderr
	monotonic_ns >second
	set -- "$@" "$from"
	# the program has not got it, and its output comes in blocks
	wait_until has_printed_after "$(monotonic_ns)"
	expect_last out.1.folded 0.5 "$1" "$(cat first)"
	expect_last out.2.folded 0.5 "$2" "$(cat second)"
	expect_within out.1.trace.json 0.5
	expect_within out.2.trace.json 0.5
	"$profile" --from out.2.profile --unit ns -o from.folded 2>/dev/null
	cmp from.folded out.2.folded
	kill -TERM "$(child_of "$pid")"
	finish_profile
	expect_status 143
	expect_line stderr '^Recorded: the last 500.000 ms, '
}

has_printed_after()
{
	awk -v time="$1" '$1 == "work" && $2 > time { found = 1 } END { exit !found }' stdout
}

# The command ends while it is awaited that all of the snapshot has been reported.
@test "a snapshot just before the end" {
	start_profile --unit ns --last 1m -o out.folded "$workload" 3600000
	wait_until grep -q work stdout
	kill -USR2 "$pid"
	kill -INT "$pid"
	finish_profile
	expect_status 130
	expect_line stderr "^$(snapshot_written 1): out\.1\.folded\$"
	[ "$(gpu_ns out.1.folded)" -le "$(gpu_ns out.folded)" ]
	[ "$(gpu_ns out.folded)" -gt 0 ]
}

@test "a program that is killed" {
	start_profile --unit ns --last 1m -o out.folded "$workload" 3600000
	wait_until grep -q work stdout
	kill -KILL "$(child_of "$pid")"
	finish_profile
	expect_status 137
	[ "$(gpu_ns out.folded)" -gt 0 ]
}

@test "what has not ended at the moment of a snapshot is counted" {
	start_profile --unit ns --last 1m -o out.folded -o out.profile "$workload" 3600000 20 endless
	wait_until grep -q work stdout
	kill -USR2 "$pid"
	wait_until grep -q "^$(snapshot_written 1)" stderr
	expect_no_line out.1.folded '\[GPU_Kernel\]endless'
	run_profile --from out.1.profile -o again.json
	kill -KILL "$(child_of "$pid")"
	finish_profile
	expect_status 137
}

# By names of processes that have ended meanwhile.
@test "processes that have ended keep their names" {
	run_profile --unit ns --last 1m --by process,thread -o out.folded sh -c \
		"for i in 1 2 3; do '$workloads/launches' 10; done; exec '$workloads/launches' 20"
	expect_status 0
	expect_equal 'GPU ns' "$(gpu_ns out.folded)" 50000
	expect_equal 'processes' "$(grep -o '^launches [0-9]*' out.folded | sort -u | wc -l)" 4
}

@test "nothing happened" {
	start_profile --last 200ms -o out.folded "$workloads/exits" sleep
	wait_until grep -qs ready stdout stderr
	kill -USR2 "$pid"
	wait_until grep -q "^$(snapshot_written 1)" stderr
	kill -TERM "$pid"
	finish_profile
	expect_status 143
	[ -e out.1.folded ]
	expect_no_line out.1.folded GPU_Kernel
}

@test "-d and stop end the last seconds, too" {
	local n

	run_profile -gpu-only --unit ns -d 1500ms --last 500ms -o out.folded "$workload" 2500
	expect_status 0
	expect_line stderr '^Recorded: the last 500.000 ms, from 1.000 s after the command.s start$'
	n=$(awk '$1 == "window" { end = $3 } $1 == "work" && $3 >= end - 500000000 && $2 < end { n++ } END { print n + 0 }' stdout)
	[ $(($(gpu_ns out.folded) / 1000000)) -le "$n" ]
}

@test "processes that already run" {
	local target

	needs_root
	"$workloads/attach_target" >ready </dev/null 3>&- &
	target=$!
	wait_until grep -qx ready ready
	start_profile -v --last 1m -o out.folded -p "$target"
	wait_until grep -q "$(attached_to '1 process')" stderr
	kill -USR2 "$pid"
	wait_until grep -q "^$(snapshot_written 1)" stderr
	kill -INT "$pid"
	finish_profile
	expect_status 0
	[ -e out.folded ]
	expect_line stderr '^Recorded: the last [0-9.]* m?s, from .* after the beginning$'
	kill -TERM "$target"
	wait "$target" || status=$?
}

# in_two_parts OPTIONS... -- FIRST... -- SECOND...: runs two commands one after the other, the second one alone in the
# last 3 s, and takes a snapshot between them (out.1.*). Skips where the second one takes longer than that.
in_two_parts()
{
	local options=() first=()

	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	while [ "$1" != -- ]; do first+=("$1"); shift; done
	shift
	printf '%q ' "${first[@]}" >first
	printf '%q ' "$@" >second
	rm -f between go
	start_profile --unit ns --last 3 "${options[@]}" sh -c '. ./first >said.1; touch between
		until [ -e go ]; do sleep 0.02; done; . ./second >said'
	wait_until is_between
	kill -USR2 "$pid"
	wait_until grep -q "^$(snapshot_written 1)" stderr
	sleep 3.2 # what came until then is not in the last 3 s
	set -- "$(monotonic_ns)"
	touch go
	finish_profile
	expect_status 0
	if [ $(($(monotonic_ns) - $1)) -gt 2900000000 ]; then skip 'the machine is too busy: the second part took 3 s'; fi
}

is_between()
{
	[ -e between ] || ! kill -0 "$pid"
}

# api_call FILE FIELD FUNCTION
api_call()
{
	python3 -c 'import json, sys
print([c[sys.argv[2]] for c in json.load(open(sys.argv[1]))["api_calls"] if c["function"] == sys.argv[3]])' "$@"
}

@test "calls of CUDA are those of the last seconds" {
	in_two_parts -gpu-only --api -o out.json -o out.profile -- "$workloads/launches" 500 -- "$workloads/launches" 1000
	expect_equal calls "$(api_call out.json calls cudaLaunchKernel)" '[1000]'
	expect_equal 'within the runtime' "$(api_call out.json within_runtime cuLaunchKernel)" '[1000]'
	expect_equal returned "$(api_call out.json not_returned cudaLaunchKernel)" '[0]'
	expect_equal 'before' "$(api_call out.1.json calls cudaLaunchKernel)" '[500]'
	python3 - <<-'END'
		import json
		for c in json.load(open("out.json"))["api_calls"]:
		    assert 0 < c["shortest_ns"] <= c["mean_ns"] <= c["longest_ns"] <= c["ns"], c
		    assert c["median_ns"] <= c["p99_ns"] <= c["longest_ns"], c
	END
	"$profile" -q --from out.profile -o again.json
	expect_equal 'of the capture' "$(api_call again.json calls cudaLaunchKernel)" '[1000]'
}

# hardware FILE FIELD
hardware()
{
	python3 -c 'import json, sys
print([row[sys.argv[2]] for row in json.load(open(sys.argv[1]))["hardware_counters"]])' "$@"
}

# with_values FILE.trace.json: how many kernels have counters
with_values()
{
	python3 -c 'import json, sys
print(sum("sm__ctas_launched.sum (block)" in e.get("args", {}) for e in json.load(open(sys.argv[1]))["traceEvents"]))' "$1"
}

@test "counters are of the kernels of the last seconds" {
	FAKE_CUDA_STRICT=1 in_two_parts -gpu-only --counters sm__ctas_launched.sum --counters-launches all -o out.json \
		-o out.folded -o out.trace.json -- "$workloads/launches" 500 -- "$workloads/launches" 1000
	expect_line stderr "^$(counters_read 1000 1000)\$"
	expect_equal measured "$(hardware out.json measured)" '[1000]'
	expect_equal launches "$(hardware out.json launches)" '[1000]'
	expect_equal mean "$(hardware out.json mean)" '[1]'
	expect_equal before "$(hardware out.1.json measured)" '[500]'
	expect_equal 'GPU ns' "$(gpu_ns out.folded)" 1000000
	expect_equal 'launches with values' "$(with_values out.trace.json)" 1000
}

# below FILE PATTERN: the ns of stacks that go on so below a kernel
below()
{
	weight_of "$1" "GPU_Kernel\\]$2"
}

@test "stalls split the kernels of the last seconds" {
	local how

	printf '_Z4tinyy 0x10 wait 9\n' >samples
	for how in kernels exact; do
		# the first part has other reasons
		in_two_parts -gpu-only --stalls=$how -o out.folded -- env FAKE_CUDA_PC_SAMPLES="$PWD/samples" \
			"$workloads/launches" 500 -- "$workloads/launches" 1000
		expect_equal all "$(weight_of out.folded)" 1000000
		expect_equal 'long scoreboard' "$(below out.folded 'tiny[^;]*;\[stall: long scoreboard\]$')" 750000
		expect_equal selected "$(below out.folded 'tiny[^;]*;\[selected\]$')" 250000
		expect_line stderr "^$(stall_samples 4000), "
		expect_equal before "$(below out.1.folded 'tiny[^;]*;\[stall: wait\]$')" 500000
	done
}

@test "memory is what the last seconds had, to the byte" {
	in_two_parts -gpu-only --alloc -o out.json -- "$workloads/memory_use" 500 1 -- "$workloads/memory_use" 1500 2
	python3 - <<-'END'
		import json
		for said, file in ("said.1", "out.1.json"), ("said", "out.json"):
		    words = {line.split()[0]: line.split() for line in open(said)}
		    run = json.load(open(file))
		    assert len(run["memory"]) == 2, run["memory"]
		    for row in run["memory"]:
		        is_device = row["memory"].startswith("device")
		        w = words["peak" if is_device else "pinned"]
		        want = (int(w[1]), int(w[3])) if is_device else (int(w[2]), int(w[4]))
		        assert (row["peak_bytes"], row["left_bytes"]) == want, (row, want)
		        assert row["unknown_frees"] == 0 and row["allocations"] - row["frees"] == row["left"], row
		    assert run["allocations_left_out"] == 0 == run["losses"]["allocations_late"]
	END
}

@test "memory that was allocated before is in the peak" {
	local last

	run_profile --unit ns --last 1 --alloc -o out.json -o out.folded "$workload" 3000 20 memory
	expect_status 0
	last=$(awk '$1 == "work" { last = $3 } END { print last }' stdout)
	expect_last out.folded 1 "$last" "$(monotonic_ns)"
	python3 - "$(gpu_ns out.folded)" <<-'END'
		import json, sys
		row, = json.load(open("out.json"))["memory"]
		assert row["peak_bytes"] == (1 << 20) + (1 << 10) and row["left_bytes"] == 1 << 20, row
		assert row["allocations"] * 1024 == row["allocated_bytes"], row
		assert abs(row["allocations"] - int(sys.argv[1]) // 1000000) <= 1, row # the ends of the part
	END
}

@test "work without a stack is shared among the stacks of the last seconds" {
	needs_root
	in_two_parts -gpu-only --strict --raw-names --max-overhead 0.1 -o out.folded -o out.json -- "$workloads/launches" 9000 -- \
		env FAKE_CUDA_TOTALS="$PWD/totals" "$workloads/shares" 30000
	expect_line stacks "^$(stacks_sampled '[0-9.]+' '[0-9]+')"
	expect_no_line out.folded '\[stack not taken\]'
	diff <(kernels_of_totals totals) <(kernels_of out.folded)
}

# The first part's work is none of it, and its idle time neither.
@test "idle time of the last seconds and work are all of them" {
	needs_root
	in_two_parts --idle -o out.json -o out.folded -- "$workloads/launches" 500 -- "$workload" 300
	expect_line stderr '^GPU idle: 1 GPU, [0-9.]* s of 3.000 s '
	expect_equal 'idle and busy ns' $(($(weight_of out.folded '^\[GPU 0 idle\]') + $(gpu_ns out.folded))) 3000000000
}

@test "what keeps all of a run is refused" {
	run_profile --wall --last 5 -o out.folded true
	expect_status 125
	expect_line stderr '^profile: --wall accounts for all time of each thread from its start: not with --last$'
	run_profile --save-input x --last 5 -o out.folded true
	expect_status 125
	expect_line stderr '^profile: --save-input keeps all of a run, and grows with it: not with --last$'
	for option in 0 -1 x; do
		run_profile --last "$option" true
		expect_status 125
		expect_line stderr '^profile: --last takes a time above 0, '
	done
	run_profile --from run.profile --last 5
	expect_status 125
}

# Otherwise signals are the command's.
@test "without --last the signal goes to the command" {
	start_profile -o out.folded "$workload" 3600000
	wait_until grep -q work stdout
	kill -USR2 "$pid"
	finish_profile
	expect_status 140
}
