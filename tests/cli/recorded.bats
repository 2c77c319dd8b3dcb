#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Captures of real programs on a GPU (tests/captures): each output can be made of them, and all of
# them add up to what the run added up to.

load helpers

setup()
{
	enter_test_folder
	unset LD_LIBRARY_PATH
}

# each NAME: the captures' names
each()
{
	awk 'NR > 1 { print $1 }' "$root/tests/captures/totals"
}

# total NAME COLUMN: what the run added up to
total()
{
	awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$root/tests/captures/totals"
}

# bats test_tags=quick
@test "every capture of a real run has its totals" {
	local count=0

	for name in $(each); do
		run_profile -q --strict --from "$root/tests/captures/$name.profile" --unit ns -o a.folded -o a.json
		expect_status 0
		expect_equal "$name, folded" "$(weight_of a.folded)" \
			$(($(total "$name" 2) + $(total "$name" 3) + $(total "$name" 4)))
		expect_line a.json "\"cpu_ns\":$(total "$name" 2),"
		expect_line a.json "\"gpu_ns\":$(total "$name" 3),"
		expect_line a.json "\"waiting_ns\":$(total "$name" 4),"
		expect_line a.json "\"gpu_kernels\":$(total "$name" 5),"
		count=$((count + 1))
	done
	[ "$count" -gt 3 ]
}

@test "pictures and pages of real runs are well-formed, and hold all time" {
	needs_command python3
	needs_command node
	for name in $(each); do
		run_profile -q --from "$root/tests/captures/$name.profile" -o a.svg -o a.html
		expect_status 0
		python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' a.svg
		node --input-type=module -e "
			import {readFileSync} from 'node:fs';
			import {unpackProfile} from '$root/profiler/web/html/data.js';
			const page = readFileSync('a.html', 'utf8');
			const {rows} = await unpackProfile(page.match(/id=\"data\">([^<]*)</)[1]);
			console.log(rows.ns.reduce((all, ns) => all + ns, 0));" >sum
		expect_equal "$name, page" "$(cat sum)" \
			$(($(total "$name" 2) + $(total "$name" 3) + $(total "$name" 4)))
	done
}

@test "timelines of real runs keep the rules of their formats" {
	needs_command python3
	needs_command protoc
	for name in $(each); do
		run_profile -q --from "$root/tests/captures/$name.profile" -o a.perfetto-trace -o a.trace.json
		expect_status 0
		protoc -I "$root/tests/cli" --decode=subset.Trace trace_subset.proto <a.perfetto-trace >a.txt
		python3 "$root/tests/cli/check_traces.py" a.txt a.trace.json >sums
		expect_line sums "^cpu $(total "$name" 2)\$"
		expect_line sums "^GPU 0 $(total "$name" 3)\$"
	done
}

@test "other programs read real runs" {
	needs_command go
	for name in $(each); do
		run_profile -q --from "$root/tests/captures/$name.profile" -o a.pb.gz
		expect_status 0
		go tool pprof -top -sample_index=gpu a.pb.gz >top 2>errors
		expect_line top '%'
	done
	run_profile -q --from "$root/tests/captures/h200_torch_eager.profile" -o a.pb.gz
	go tool pprof -top -sample_index=gpu a.pb.gz >top 2>errors
	expect_line top 'cutlass::Kernel2<cutlass_80_simt' # pprof leaves names as they are
	expect_no_line top ' \[GPU_Kernel\]cutlass::Kernel2$'
}

# An older version has written it, without what has been counted since.
@test "a real run is read again as it was written" {
	for name in $(each); do
		run_profile -q --from "$root/tests/captures/$name.profile" -o a.profile -o a.json
		expect_status 0
		run_profile -q --from a.profile -o b.profile -o b.json
		expect_status 0
		cmp a.json b.json
		gzip -dc <a.profile >a
		gzip -dc <b.profile >b
		cmp a b
	done
}

@test "the report of a real run" {
	run_profile -q --top --from "$root/tests/captures/h200_torch_eager.profile" -o a.folded
	expect_status 0
	expect_line stderr "^$took .*GPU busy "
	expect_line stderr 'Attention.forward \(train.py\)'
	expect_line stderr '^No time was lost, and everything was matched\.$'
	expect_line stderr '^ +3   stacks cut, which begin at \[truncated\]$'
}

@test "real stacks fold to the functions of their program" {
	for name in $(each); do
		run_profile -q --from "$root/tests/captures/$name.profile" --my-code --names short \
			--unit ns -o a.folded -o a.json
		expect_status 0
		expect_equal "$name" "$(weight_of a.folded)" \
			$(($(total "$name" 2) + $(total "$name" 3) + $(total "$name" 4)))
		expect_line a.json "\"gpu_ns\":$(total "$name" 3),"
		expect_no_line a.folded '_call_impl|at::_ops|c10::impl|_find_and_load|PyEval|(^|;)_start'
	done
	run_profile -q --from "$root/tests/captures/h200_torch_eager.profile" --my-code --names short \
		--unit ns -o a.folded
	expect_line a.folded \
		'^[^;]*;main;train_step;Model.forward;Block.forward;Attention.forward;\[torch\];cudaLaunchKernel;\[GPU_Kernel\][^;]* '
	# GPU work of threads that PyTorch starts
	expect_line a.folded '^\[torch\];(\[libcublas[^;]*;)*cudaLaunchKernelExC;\[GPU_Kernel\]'
	expect_equal 'frames of the deepest launch' "$(grep GPU_Kernel a.folded | grep -v 'launched at' |
		awk -F';' 'NF > most { most = NF } END { print (most < 14) }')" 1
	run_profile -q --from "$root/tests/captures/h200_cpp.profile" --my-code --names short --unit ns -o a.folded
	expect_line a.folded '^main;model::train_step;cudaLaunchKernel;\[GPU_Kernel\]model::matmul<float, 16> '
}
