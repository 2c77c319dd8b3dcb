#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Questions to a capture (--query), and the page in Markdown, which has the same findings.

load helpers

setup()
{
	enter_test_folder
	needs_command python3
	captures=$root/tests/captures
}

# field FILE EXPRESSION: of the object d
field()
{
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

# ask CAPTURE QUESTION OPTION...: the answer is in the file `answer`
ask()
{
	local capture=$1 question=$2

	shift 2
	run_profile --from "$capture" --query "$question" "$@"
	expect_status 0
	expect_equal 'stderr' "$(cat stderr)" ''
	cp stdout answer
	[ "$(wc -c <answer)" -le 8192 ]
	expect_equal 'format' "$(field answer 'd["format"], d["version"], d["question"]')" \
		"('profile answer', 1, $(python3 -c 'import sys; print(repr(sys.argv[1]))' "$question"))"
}

@test "figures of answers are those of the summary, also of a part of a run" {
	local name part

	for name in h200_torch_eager options/h200_cpp_all; do
		for part in '' '--time 0.3..9'; do
			# words
			# shellcheck disable=SC2086
			run_profile -q --from "$captures/$name.profile" -o a.json $part
			expect_status 0
			# shellcheck disable=SC2086
			ask "$captures/$name.profile" kernels $part
			cp answer kernels
			# shellcheck disable=SC2086
			ask "$captures/$name.profile" sites $part
			cp answer sites
			# shellcheck disable=SC2086
			ask "$captures/$name.profile" functions $part
			cp answer functions
			# shellcheck disable=SC2086
			ask "$captures/$name.profile" waits $part
			cp answer waits
			# shellcheck disable=SC2086
			ask "$captures/$name.profile" idle $part
			cp answer idle
			# shellcheck disable=SC2086
			ask "$captures/$name.profile" verdict $part
			python3 - <<-'END'
				import json

				def load(name):
				    return json.load(open(name))

				summary, totals = load("a.json"), load("a.json")["totals"]
				for question, rows, keys in [("kernels", "kernels", ["calls", "ns"]),
				                             ("sites", "launch_sites", ["operations", "ns"]),
				                             ("functions", "functions", ["samples", "ns", "total_ns"]),
				                             ("waits", "waits", ["ns"])]:
				    answer = load(question)
				    assert len(answer["rows"]) + answer["left_out"] == len(summary[rows]), question
				    for got, want in zip(answer["rows"], summary[rows]):
				        for key in keys:
				            assert got[key] == want.get(key, 0), (question, got, want)
				assert load("kernels")["sums"]["gpu_ns"] == totals["gpu_ns"]
				assert load("kernels")["sums"]["calls"] == totals["gpu_kernels"]
				assert load("functions")["sums"]["ns"] == totals["cpu_ns"]
				assert load("waits")["sums"]["ns"] == sum(w["ns"] for w in summary["waits"])
				for use, ns in load("idle")["sums"]["run"].items():
				    rows = [row for row in summary["gpu_time"] if row["use"] == use]
				    assert sum(row["run_ns"] for row in rows) == ns, use
				verdict = load("answer")
				assert verdict["sums"]["limit"] == summary["verdict"]["limit"]
				assert [row["claim"] for row in verdict["rows"]] == [f["claim"][:200] for f in summary["findings"]]
			END
		done
	done
}

@test "the commands that answers name work" {
	local question count=0

	cp "$captures/h200_cpp.profile" 'my run.profile'
	for question in verdict kernels sites functions idle waits list; do
		ask 'my run.profile' "$question"
		python3 -c '
import json
d = json.load(open("answer"))
for command in [row["look"] for row in d["rows"][:2] if "look" in row] + d["next"]:
    print(command)' >commands
		while read -r command; do
			echo "$command"
			rm -f looked
			# quoted as for a shell
			(eval "${command/#profile/\"\$profile\" -q}") >looked 2>errors </dev/null || { cat errors; return 1; }
			expect_equal 'messages' "$(cat errors)" ''
			count=$((count + 1))
		done <commands
	done
	[ "$count" -gt 15 ]
	test -s gap.html
	test -s function.html
}

@test "a kernel's stacks are found by its name, the start or a part of it, or its number" {
	ask "$captures/h200_cpp.profile" 'stack model::softmax_forward<float>'
	expect_equal 'by name' "$(field answer 'd["sums"]["matched_by"], d["rows"][0]["calls"]')" "('name', 60)"
	expect_equal 'the launching function' "$(field answer '"model::train_step" in " ".join(d["rows"][0]["frames"])')" True
	ask "$captures/h200_cpp.profile" 'stack model::soft'
	expect_equal 'by its start' "$(field answer 'd["sums"]["matched_by"], d["sums"]["calls"]')" "('start', 60)"
	ask "$captures/h200_cpp.profile" 'stack layer_norm'
	expect_equal 'by a part' "$(field answer 'd["sums"]["matched_by"], d["sums"]["calls"]')" "('part', 60)"
	ask "$captures/h200_cpp.profile" 'stack #1'
	expect_equal 'by number' "$(field answer 'd["sums"]["matched_by"], d["sums"]["calls"]')" "('number', 60)"
	ask "$captures/h200_cpp.profile" "stack nothing like 'it'"
	expect_equal 'none' "$(field answer 'd["sums"]["stacks"], d["rows"]')" '(0, [])'
}

@test "a question compares with another capture" {
	ask "$captures/h200_torch_eager.profile" "compare $captures/h200_torch_loader.profile"
	run_profile -q --diff "$captures/h200_torch_loader.profile" "$captures/h200_torch_eager.profile" -o d.json
	expect_status 0
	expect_equal 'totals' "$(field answer '[(k, d["sums"][k]["before"], d["sums"][k]["difference"]) for k in ("gpu", "cpu", "wall")]')" \
		"$(field d.json '[(k, d["totals"][k]["before"], d["totals"][k]["difference"]) for k in ("gpu", "cpu", "wall")]')"
	ask "$captures/h200_cpp.profile" "compare $captures/h200_cpp.profile"
	expect_equal 'rows of equal runs' "$(field answer 'd["rows"]')" '[]'
	run_profile --from "$captures/h200_cpp.profile" --query 'compare nothing.profile'
	expect_status 125
	expect_line stderr '^profile: cannot read nothing\.profile: No such file or directory$'
	echo 'a;b 1' >x.folded
	run_profile --from "$captures/h200_cpp.profile" --query 'compare x.folded'
	expect_status 125
	expect_line stderr '^profile: x\.folded is not a capture '
}

# bats test_tags=quick
@test "what is no question, or asks nothing that is there, is refused with a list" {
	local question

	for question in kernel '' 'kernels gemm' stack compare; do
		run_profile --from "$captures/h200_cpp.profile" --query "$question"
		expect_status 125
		expect_line stderr "^profile: --query: '$question' is no question; these are:$"
		expect_line stderr '^  verdict +what limits the run, and all findings$'
		expect_line stderr '^  list +these questions$'
		expect_equal 'stdout' "$(cat stdout)" ''
	done
	run_profile --query verdict true
	expect_status 125
	expect_line stderr '^profile: --query asks about a capture: --from FILE\.profile$'
	run_profile --from "$captures/h200_cpp.profile" --query verdict -o a.html
	expect_status 125
	expect_line stderr '^profile: --query answers on stdout, .*: not with -o$'
	[ ! -e a.html ]
	run_profile --from "$captures/h200_cpp.profile" --query verdict --query steps
	expect_status 125
	run_profile --from nothing.profile --query verdict
	expect_status 125
	expect_equal 'stdout' "$(cat stdout)" ''
}

@test "a full disk is an error" {
	run bash -c '"$1" --from "$2" --query kernels >/dev/full' sh "$profile" "$captures/h200_cpp.profile"
	expect_equal 'status' "$status" 125
	[[ $output =~ 'writing the answer: ' ]]
}

@test "ranks that are merged answer together" {
	needs_command python3
	run_profile -q -gpu-only -o 0.profile env RANK=0 WORLD_SIZE=2 "$workloads/launches" 100
	for rank in 0 1; do
		RANK=$rank WORLD_SIZE=2 run_profile -q -gpu-only -o $rank.profile "$workloads/launches" 100
		expect_status 0
	done
	run_profile --from 0.profile 1.profile --query kernels
	expect_status 0
	cp stdout answer
	expect_equal 'calls' "$(field answer 'd["sums"]["calls"], d["sums"]["ns"]')" '(200, 200000)'
	expect_equal 'look' "$(field answer 'd["rows"][0]["look"].startswith("profile --from 0.profile 1.profile --query ")')" True
}

@test "a page in Markdown is short, and names neither arguments nor folders" {
	local name

	for name in h200_cpp h200_torch_eager h200_torch_compile h200_torch_loader; do
		run_profile -q --from "$captures/$name.profile" -o a.md -o a.json
		expect_status 0
		[ "$(wc -c <a.md)" -le 8192 ]
		[ "$(wc -l <a.md)" -le 120 ]
		expect_line a.md '^\*\*Verdict:\*\* '
		expect_line a.md "^# (train|python3 train\.py)$"
		expect_equal "$name, kernel time" "$(sed -n 's/^| computing | .* | \(.*\) |$/\1/p' a.md)" \
			"$(field a.json '"%.3f ms" % (sum(k["ns"] for k in d["kernels"]) / 1e6)')"
		expect_no_line a.md '/opt/|/home/|/tmp/'
	done
	run_profile -q -gpu-only -o run.md -o run.profile "$workloads/launches" 100 4
	expect_status 0
	expect_line run.md '^# launches$'
	expect_line run.md '^It ran for .*, and ended with status 0\.$'
	expect_line run.md '^\| 100 \| 100\.000 us \| 100\.0 % \| 1\.000 us \| other \| tiny \|$'
	expect_line run.md '^Nothing was lost, and everything was matched\.$'
	run_profile -q --from run.profile --format markdown -o -
	expect_status 0
	diff stdout run.md
}
