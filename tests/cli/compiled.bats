#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Kernels of Triton and TorchInductor: where they are defined, what was fused into them, and what is compiling or
# autotuning. The workload writes files that are laid out as theirs.

load helpers

setup()
{
	enter_test_folder
	needs_command jq
	needs_python
	script=$root/tests/workloads/python_compiled.py
}

# record ARGUMENTS...: of the workload, which writes its files to ./made
record()
{
	run_profile -gpu-only --unit ns "$@" "$python" "$script" "$PWD/made"
	expect_status 0
	expect_no_line stderr '^profile: '
}

# fact KERNEL KEY: of the answer about kernels
fact()
{
	jq -r --arg name "[GPU_Kernel]$1" --arg key "$2" '.rows[] | select(.name == $name) | .[$key]' answer
}

expect_definitions()
{
	expect_equal operators "$(fact triton_poi_fused_add_0 operators)" 'aten.add, aten.gelu'
	expect_equal nodes "$(fact triton_poi_fused_add_0 source_nodes)" 'linear, gelu'
	expect_equal defined "$(fact triton_poi_fused_add_0 defined)" "$PWD/made/ab/cab.py:$generated_line"
	expect_equal definitions "$(fact triton_poi_fused_add_0 definitions)" 2
	expect_equal 'defined by the user' "$(fact scale defined)" "$PWD/made/left/kernels.py:$own_line"
	expect_equal 'operators of the user' "$(fact scale operators)" null
	expect_equal lost "$(fact lost definition_unknown)" 'no file of the stack that launched it has it'
	expect_equal 'not of Triton' "$(fact plain defined) $(fact plain definition_unknown)" 'null null'
}

line_of()
{
	grep -n "$1" "$2" | head -1 | cut -d: -f1
}

@test "definitions and fused operators, also from a capture when the files are gone" {
	record -o out.profile -o out.json -o out.md -o out.html
	generated_line=$(line_of '^def triton_poi_fused_add_0' made/ab/cab.py)
	own_line=$(line_of '^def scale' made/left/kernels.py)
	mv made gone
	"$profile" --from out.profile --query kernels >answer
	expect_definitions
	jq '.kernels | {rows: .}' out.json >answer
	expect_definitions
	run_profile --from out.profile -o again.json -o again.md
	expect_status 0
	jq '.kernels | {rows: .}' again.json >answer
	expect_definitions
	expect_line again.md 'triton.*poi.*; fused: aten.add, aten.gelu; defined: .*/made/ab/cab.py:'
	expect_line out.md 'triton.*poi.*; fused: aten.add, aten.gelu; defined: .*/made/ab/cab.py:'
	# the other module's kernel of this name has a row of its own, with the one launch
	expect_equal 'rows' "$(jq -c '[.kernel_definitions[] | select(.operators == "aten.add") | [.calls, .ns, .file]]' again.json)" \
		"[[1,1000,\"$PWD/made/cd/ccd.py\"]]"
}

@test "merged ranks have the definitions of all" {
	RANK=0 WORLD_SIZE=2 record -o 0.profile
	RANK=1 WORLD_SIZE=2 record -o 1.profile
	run_profile --from 0.profile 1.profile -o merged.json
	expect_status 0
	expect_equal 'merged' "$(jq -c '[.kernel_definitions[] | select(.operators == "aten.add") | .calls]' merged.json)" '[2]'
	expect_equal 'kernel' "$(jq -r '.kernels[0].operators' merged.json)" 'aten.add, aten.gelu'
}

@test "files with relative names are those below the working directory" {
	run_profile -gpu-only -o out.json "$python" "$script" made
	expect_status 0
	expect_equal defined "$(jq -r '.kernels[] | select(.name == "[GPU_Kernel]scale").defined' out.json)" \
		"made/left/kernels.py:$(line_of '^def scale' made/left/kernels.py)"
}

@test "trials are below [autotuning], compiling below [compiling], and nothing is lost" {
	record -o out.profile -o out.folded
	expect_equal 'autotuning' "$(weight_of out.folded ';\[autotuning\];.*GPU_Kernel')" 9000
	expect_equal 'all' "$(weight_of out.folded)" 17000
	run_profile --from out.profile --unit ns --under '\[autotuning\]' -o trials.folded
	expect_equal 'trials' "$(weight_of trials.folded)" 9000
	run_profile --from out.profile --unit ns --not-under '\[autotuning\]' -o rest.folded
	expect_equal 'the rest' "$(weight_of rest.folded)" 8000
	run_profile --from out.profile --unit ns --my-code -o mine.folded
	expect_equal 'folded' "$(weight_of mine.folded)" 17000
	expect_equal 'folded trials' "$(weight_of mine.folded ';\[autotuning\]')" 9000
	# a trial's launch site is still the function that launches it
	run_profile --from out.profile -o out.json
	expect_equal 'sites' "$(jq -r '[.launch_sites[].short_name] | unique | join(" ")' out.json)" launch
}

@test "CPU time of compiling is below its mark" {
	run_profile -cpu-only -F 200 --unit ns -o out.folded "$python" "$script" "$PWD/made"
	expect_status 0
	expect_line out.folded ';\[autotuning\];(Autotuner\.)?_bench .*;\[compiling\];compile \(compiler.py\)'
	expect_no_line out.folded '\[compiling\].*\[compiling\]'
}

@test "modules that are too large, no text or unreadable are said" {
	cat >spoil <<-'END'
		#!/bin/sh
		"$@"
		case $SPOIL in
		large) dd if=/dev/zero bs=1M count=9 2>/dev/null | tr '\0' '#' >made/ab/cab.py ;;
		bytes) printf '\377\0' >made/ab/cab.py ;;
		fifo) rm made/ab/cab.py && mkfifo made/ab/cab.py ;;
		gone) rm made/ab/cab.py ;;
		link) ln -sf /etc/passwd made/ab/cab.py ;;
		esac
	END
	chmod 755 spoil
	for SPOIL in large bytes fifo gone link; do
		case $SPOIL in
		large) reason='a file of its stack is too large' ;;
		bytes) reason='a file of its stack is not text' ;;
		gone) reason='a file of its stack is gone, or may not be read' ;;
		*) reason='a file of its stack is not read' ;;
		esac
		export SPOIL
		run_profile -gpu-only -o out.json ./spoil "$python" "$script" "$PWD/made"
		expect_status 0
		expect_equal "$SPOIL" "$(jq -r '.kernel_definitions[] | select(.calls == 8) | .unknown' out.json)" "$reason"
		rm -r made
	done
}

@test "root reads only what everybody may read" {
	needs_root
	cat >hide <<-'END'
		#!/bin/sh
		"$@"
		chmod 600 made/ab/cab.py
	END
	chmod 755 hide
	run_profile -gpu-only -o out.json ./hide "$python" "$script" "$PWD/made"
	expect_status 0
	expect_equal hidden "$(jq -r '.kernel_definitions[] | select(.calls == 8) | .unknown' out.json)" \
		'a file of its stack is gone, or may not be read'
}
