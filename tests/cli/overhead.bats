#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# --max-overhead: what launch stacks may take, and what becomes of the launches without one.

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_root
}

# limited_run ARGUMENTS...: a run in ns, with --strict, in which few launches have a stack; nothing
# else is lost, and sums are exact.
limited_run()
{
	rm -f totals
	FAKE_CUDA_TOTALS=$PWD/totals run_profile --strict --max-overhead 0.1 -gpu-only --unit ns \
		--raw-names -o out.folded -o out.json "$@"
	expect_status 0
	[ -s totals ]
	expect_folded out.folded
	expect_no_line stderr '^profile: '
	expect_line stderr "^$(correlation '[0-9]+')\$"
	expect_line work "$all_sums_match"
	diff <(kernels_of_totals totals) <(kernels_of <(grep -v 'waiting for GPU' out.folded))
}

# number NAME: of out.json's launch_stacks.
number()
{
	sed -n "s/^\"launch_stacks\":.*\"$1\":\([0-9]*\).*/\1/p" out.json
}

# spreads: some launches have a stack, most have none, and no work lacks one. Below a wait for the
# GPU stands what ran meanwhile, as it was launched.
spreads()
{
	[ "$(number launches_with_stack)" -gt 0 ]
	[ "$(number launches_without_stack)" -gt 0 ]
	[ "$(number spread_operations)" -gt 0 ]
	expect_no_line <(grep -vF ';[waiting for GPU];' out.folded) 'not sampled|not captured|not seen'
	cat stacks
	expect_line stacks "^$(stacks_sampled '[0-9.]+' '[0-9]+')\$"
	expect_no_line stacks '\[stack not sampled\]'
}

# The functions' own sums, which the program printed, against those of the profile: within five
# standard errors of a stack, and a function has two, of the first thread and of the others.
shares_are_right()
{
	local error=$(($(number standard_error_ns) * 7)) name want got

	while read -r name want; do
		got=$(weight_of out.folded ";$name;[^;]*;[^;]*\$")
		echo "$name: $want, here $got, error $error"
		[ $((got - want)) -le $error ]
		[ $((want - got)) -le $error ]
	done <stdout
	# and that says something
	[ "$error" -gt 0 ]
	[ $((error / 7)) -lt 12000000 ]
}

@test "launches in a loop have their shares" {
	limited_run "$workloads/shares" 100000 2
	spreads
	shares_are_right
}

@test "copies and sets have theirs" {
	limited_run "$workloads/shares" 40000
	spreads
	[ "$(grep -c 'fills;.*GPU_Memset' out.folded)" = 2 ]
	[ "$(weight_of out.folded 'GPU_Memset')" = \
		"$(awk '$2 == "memset" { ns += $5 } END { printf "%.0f", ns }' totals)" ]
}

@test "graphs: nodes have their stacks, and launches their shares" {
	limited_run "$workloads/launches" 120000 2 2 mixed
	spreads
	# 3 nodes in each of 30000 graphs, of 1 us
	[ "$(weight_of out.folded ';launch_graph;.*;make_graph;.*tiny_in_graph')" = 90000000 ]
}

@test "by thread and stream: each keeps what it launched" {
	limited_run --by process,thread,stream "$workloads/launches" 90000 3 2
	spreads
	[ "$(sed 's/^[^;]*;\([^;]*\);.* \([0-9]*\)$/\1 \2/' out.folded |
		awk '{ ns[$2] += $NF } END { n = 0; for (k in ns) n += ns[k] == 30000000; print n }')" = 3 ]
}

@test "with ranges, waits and a timeline" {
	limited_run --nvtx --waits -o out.trace.json -o out.profile "$workloads/shares" 40000
	spreads
	[ "$(grep -c '"cat":"kernel"' out.trace.json)" = 160800 ]
	expect_line out.trace.json '\[stack not sampled\]'
	# a capture has the same
	cp out.json first.json
	run_profile --from out.profile -o out.json -o again.folded --unit ns
	expect_status 0
	grep launch_stacks first.json >first
	grep launch_stacks out.json >second
	diff first second
	diff <(grep -v 'waiting for GPU' out.folded) <(grep -v 'waiting for GPU' again.folded)
}

@test "many threads, and such as launch once" {
	limited_run "$workloads/launches" 3000 3000
	# the first launch of each has a stack
	[ "$(number launches_without_stack)" = 0 ]
	limited_run "$workloads/launches" 300000 1000
	spreads
	[ "$(number launches_with_stack)" -ge 1000 ]
}

@test "programs that fork, and many programs" {
	limited_run "$workloads/forks" 3
	limited_run sh -c 'for i in 1 2 3; do "$workloads/launches" 30000 & done; wait'
	spreads
}

@test "where launches are few, all have a stack" {
	FAKE_CUDA_LAUNCH_NS=200000 run_profile --strict --max-overhead 50 -gpu-only --unit ns \
		-o out.folded -o out.json "$workloads/launches" 300
	expect_status 0
	[ "$(number launches_with_stack)" -ge 300 ]
	[ "$(number launches_without_stack)" = 0 ]
	expect_line stacks "^$(stacks_sampled 100.0 '[0-9]+'): --max-overhead left none out\$"
}

@test "without the option nothing is said of it" {
	run_profile -gpu-only -o out.folded -o out.json "$workloads/launches" 3000
	expect_status 0
	expect_no_line out.json 'launch_stacks'
	expect_no_line stacks 'of their own'
}

@test "it is for stacks taken in the process" {
	for argument in -cpu-only '-launch-stacks=uprobe' '-cuda-lib=/x'; do
		run_profile --max-overhead 2 "$argument" true
		expect_status 125
		expect_line stderr '^profile: --max-overhead needs launch stacks taken in the process: '
	done
	run_profile --max-overhead 0.05 true
	expect_status 125
	expect_line stderr "^profile: --max-overhead takes a percentage from 0.1 to 100, not '0.05'$"
}
