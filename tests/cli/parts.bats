#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# GPU work by class of kernel and by operator: roots of --by, tables, answers, the user's classes.

load helpers

setup()
{
	enter_test_folder
	needs_command python3
	captures=$root/tests/captures
}

# gpu_roots PART CAPTURE... [OPTION...]: the sum of each root frame's GPU time in ns, "ROOT NS"
gpu_roots()
{
	local part=$1

	shift
	run_profile -q -gpu-only --unit ns --by "$part" -o out.folded "$@"
	expect_status 0
	python3 - out.folded <<-'END'
		import collections, sys

		sums = collections.Counter()
		for line in open(sys.argv[1]):
		    stack, ns = line.rsplit(" ", 1)
		    sums[stack.split(";")[0]] += int(ns)
		for root, ns in sorted(sums.items()):
		    print(root, ns)
	END
}

# table FILE LIST NAME: "NAME NS" of a list of the summary
table()
{
	python3 - "$@" <<-'END'
		import json, sys

		for row in sorted(json.load(open(sys.argv[1]))[sys.argv[2]], key=lambda row: row[sys.argv[3]]):
		    print(row[sys.argv[3]], row["ns"])
	END
}

# bats test_tags=quick
@test "all GPU time is in one class, in whole runs, parts and merged ranks" {
	local capture=$captures/h200_torch_compile.profile part

	for part in '' '--time 5..20' '--kernel triton' '--my-code'; do
		# shellcheck disable=SC2086 # words
		gpu_roots class --from "$capture" $part >roots
		# shellcheck disable=SC2086
		run_profile -q --from "$capture" -o a.json $part
		expect_status 0
		expect_equal "classes $part" "$(cat roots)" "$(table a.json kernel_classes class)"
		expect_equal "all $part" "$(awk '{ ns += $NF } END { print ns }' roots)" \
			"$(python3 -c 'import json; print(json.load(open("a.json"))["totals"]["gpu_ns"])')"
	done
	"$workloads/rank_captures" . 3 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)'
	gpu_roots class --from cap.*.profile >roots
	run_profile -q --from cap.*.profile -o a.json
	expect_equal 'classes of ranks' "$(cut -d' ' -f1 roots)" "$(printf 'GEMM\ncollective')"
	expect_equal 'times of ranks' "$(cat roots)" "$(table a.json kernel_classes class)"
}

@test "a kernel's class is in JSON, Markdown and answers; the user's go first" {
	local capture=$captures/h200_cpp.profile

	printf 'activation\tgelu\nmy layers  layer_norm\n' >mine.txt
	run_profile -q --from "$capture" --kernel-classes mine.txt -o a.json -o a.md
	expect_status 0
	expect_equal 'classes' "$(table a.json kernel_classes class | sed 's/ [0-9]*$//')" \
		"$(printf '%s\n' GEMM activation 'memcpy and memset' 'my layers' optimizer softmax)"
	expect_line a.md '[|] softmax [|] model::softmax'
	expect_line a.md '[|] my layers [|] model::layer'
	run_profile --from "$capture" --kernel-classes mine.txt --query kernels
	expect_status 0
	expect_line stdout '"class":"activation"'
	expect_line stdout 'look":"profile --from [^ ]* --kernel-classes mine.txt --query '
	run_profile --from "$capture" --query classes
	expect_status 0
	expect_line stdout '"class":"normalization"'
	run_profile --from "$capture" --query operators
	expect_status 0
	expect_line stdout 'No operator is in the profile: run with --ops'
}

@test "wrong classes of the user's are refused before anything runs" {
	printf 'GEMM a\n\nGEMM (\n' >mine.txt
	run_profile --kernel-classes mine.txt -o a.svg touch ran
	expect_status 125
	expect_line stderr '^profile: --kernel-classes: mine.txt:3: '
	expect_no_file ran
	printf 'GEMM  %s\n' "$(printf '%0100000d' 0 | tr 0 '(')" >mine.txt
	run_profile --kernel-classes mine.txt -o a.svg touch ran
	expect_status 125
	expect_line stderr '^profile: --kernel-classes: mine.txt:1: the expression is too long'
	expect_no_file ran
	run_profile --kernel-classes nowhere -o a.svg touch ran
	expect_status 125
	expect_line stderr '^profile: --kernel-classes: nowhere: No such file'
	expect_no_file ran
}

@test "a part of --by that no stack has is named" {
	run_profile --from "$captures/h200_cpp.profile" --by operator,layer-kind -o a.svg
	expect_status 0
	expect_line stderr 'profile: --by operator: no operator is in the profile'
	expect_line stderr 'profile: --by layer: no layer is in the profile; a run has them with --modules'
}
