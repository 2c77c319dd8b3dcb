#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# --budget: GPU work is recorded in windows, and what was launched in them stands for the rest.

load helpers

setup()
{
	enter_test_folder
	needs_root
}

# estimate KEY [NAME]: of the row of that name in out.json's estimates; "[all GPU work]"
estimate()
{
	python3 - "$1" "${2:-[all GPU work]}" <<-'END'
		import json, sys
		rows = json.load(open("out.json"))["estimates"]
		print(int(next(r[sys.argv[1]] for r in rows if sys.argv[2] in r["kernel"])))
	END
}

# is_near VALUE TRUTH: within a factor of 1.6; intervals have tests of their own (test_batch_means)
is_near()
{
	echo "$1, true $2"
	[ $((10 * $1)) -ge $((6 * $2)) ]
	[ $((10 * $1)) -le $((16 * $2)) ]
}

# Sums of records are CUPTI's own, and each launch in a window has its records.
nothing_is_lost()
{
	python3 - <<-'END'
		import json
		losses = json.load(open("out.json"))["losses"]
		assert losses.pop("gpu_sums") == losses.pop("gpu_sums_equal") > 0
		assert not any(losses.values()), losses
	END
}

@test "budget: an estimate of the whole, from windows; every output says so" {
	run_profile --budget 10 -gpu-only -o out.json -o out.svg -o out.html -o out.md -o out.profile \
		"$workloads/steady" 6000 5
	expect_status 0
	expect_no_line stderr '^profile: '
	launches=$(grep -c '^work ' stdout)
	is_near "$(estimate ns)" $((launches * 1000000))
	[ "$(estimate windows)" -ge 10 ]
	[ "$(estimate error_ns)" -gt 0 ]
	[ "$(estimate ns steady_work)" -eq "$(estimate ns)" ]
	expect_line stderr '^Estimated GPU time:$'
	grep -q 'GPU time estimated, +-' out.svg
	grep -q 'GPU time estimated, +-' out.md
	grep -q 'GPU time estimated, +-' out.json
	# all kinds of output have the same sum
	[ "$(python3 -c 'import json; d = json.load(open("out.json")); print(d["totals"]["gpu_ns"])')" -eq "$(estimate ns)" ]
	# a capture says all of it again
	mv out.json run.json
	"$profile" -q --from out.profile -o out.json
	for key in ns error_ns at_most_ns windows; do
		diff <(estimate $key) <(mv out.json from.json && cp run.json out.json && estimate $key; mv from.json out.json)
	done
}

@test "budget: work outside of windows is not recorded, and not in the profile" {
	FAKE_CUDA_TOTALS=$PWD/totals run_profile -v --budget 10 -gpu-only -o out.json "$workloads/launches" 2000000
	expect_status 0
	recorded=$(sed -n 's/.* \([0-9]*\) GPU kernels (.*/\1/p' stderr)
	echo "recorded $recorded"
	[ "$recorded" -lt 1600000 ]
	expect_line stderr '^Recorded: [0-9]+ windows?, [0-9.]+ m?s in all \(--budget 10\): GPU times are estimates$'
	nothing_is_lost
}

@test "budget: graphs that were made outside of windows, copies and sets" {
	run_profile --budget 50 -gpu-only -o out.json "$workloads/inference" 150
	expect_status 0
	# 26.54 ms a request
	is_near "$(estimate ns)" $((150 * 26540000))
	nothing_is_lost
	run_profile --budget 50 -gpu-only -o out.json "$workloads/steady" 3000 5 graph
	expect_status 0
	is_near "$(estimate ns in_graph)" $(($(grep -c '^work ' stdout) * 1000000))
	nothing_is_lost
}

@test "budget: what single events need is refused" {
	for options in --strict --api --alloc --wall --waits --idle "--last 5" "--range x" --prometheus=x --steady \
		"--graph whole" "-o x.pftrace" "-o x.trace.json"; do
		# shellcheck disable=SC2086 # several words
		run_profile --budget 1 $options true
		expect_status 125
		expect_line stderr '^profile: (--[a-z-]+ .*: not with --budget|--budget .*)'
	done
	for text in 0 0.01 101 x; do
		run_profile --budget $text true
		expect_status 125
		expect_line stderr "^profile: --budget takes a percentage from 0.1 to 100, not '$text'$"
	done
}

@test "budget: estimates are neither compared nor merged" {
	run_profile -q --budget 50 -gpu-only -o a.profile "$workloads/steady" 500 5
	run_profile --diff a.profile a.profile -o x.html
	[ "$status" -ne 0 ]
	expect_line stderr '^profile: a.profile has estimates \(--budget\), which are not compared: '
	run_profile --from a.profile a.profile -o x.html
	[ "$status" -ne 0 ]
	expect_line stderr '^profile: a.profile has estimates \(--budget\), which are not merged: '
	[ ! -e x.html ]
}

@test "budget: results one after the other, each with windows of its own" {
	run_profile --budget 20 -gpu-only --every 2s -o out-%t.json "$workloads/steady" 7000 5
	expect_status 0
	results=(out-*.json)
	[ ${#results[@]} -ge 3 ]
	sum=0
	for result in "${results[@]}"; do
		cp "$result" out.json
		sum=$((sum + $(estimate ns)))
	done
	is_near $sum $(($(grep -c '^work ' stdout) * 1000000))
}

@test "budget: a run that is too short has no estimate, and says so" {
	run_profile --budget 0.1 -gpu-only -o out.svg -o out.json "$workloads/steady" 300 5
	[ "$status" -eq 0 ] || [ "$status" -eq 5 ]
	grep -q 'too short for an estimate' out.svg
}

@test "budget: processes that end by _exit, and children" {
	for mode in _exit exit; do
		run_profile --budget 50 -gpu-only -o out.json "$workloads/exits" $mode
		expect_no_line stderr 'sanitizer|hang'
	done
	timeout 60 "$profile" -q --budget 50 -gpu-only -o out.json "$workloads/forks" || true
	[ -s out.json ]
}
