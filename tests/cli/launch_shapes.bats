#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --launch-shapes: how much of the GPU each launch can use, in the report, .json and .html.

load helpers

setup()
{
	enter_test_folder
	workload=$workloads/launch_shapes
}

# shape FIELD KERNEL: of the summary
shape()
{
	python3 -c '
import json, sys
for shape in json.load(open("out.json"))["launch_shapes"]:
    if sys.argv[2] in shape["kernel"]:
        print(shape[sys.argv[1]])' "$1" "$2"
}

# bats test_tags=quick
@test "grids, occupancy and waves, and what could be better where" {
	needs_command python3
	run_profile -gpu-only --launch-shapes -o out.json -o out.html "$workload" 10
	expect_status 0
	expect_line stderr "^$shapes_table\$"
	expect_line stderr '^ +10 +10\.000 ms +25\.0 % +4x8 +16x16 +100\.0 % +warps +0\.03 +0\.0 % +tiny_kernel'
	expect_line stderr 'Advice: 100 of 132 multiprocessors have no block: '
	expect_line stderr 'Launched by: launch_tiny < main <'
	expect_line stderr ' 50\.0 % +shared memory +1\.00 +[0-9.]+ % +full_kernel'
	expect_line stderr 'Advice: the last wave has 1 of 1056 blocks, so 50 % of the GPU idles: '
	expect_line stderr 'Launched by: launch_tail < main <'
	expect_line stderr "Advice: 31 of the 64 threads of a block's warps do nothing: "
	expect_equal calls "$(shape calls tail)" 10
	expect_equal blocks "$(shape blocks tiny)" 32
	expect_equal threads "$(shape threads tiny)" $((32 * 256))
	expect_equal waves "$(shape waves_thousandths tail)" 1001
	expect_equal tail "$(shape blocks_in_last_wave tail)" 1
	# two blocks with 101 KiB each
	expect_equal resident "$(shape blocks_per_multiprocessor full)" 2
	expect_equal limits "$(shape limited_by full)" 'shared memory'
	expect_equal occupancy "$(shape occupancy_permille full)" 500
	expect_equal waves "$(shape waves_thousandths full)" 1000
	expect_equal advice "$(shape advice full)" ''
	expect_equal device "$(shape device odd)" 'GPU 0'
}

@test "launches that are waited for before the next one" {
	needs_command python3
	run_profile -gpu-only --launch-shapes -o out.json -o out.profile "$workload" 40 wait
	expect_status 0
	# a mark that comes when its launch has been sent is lost: seldom
	[ "$(shape waited_for tiny)" -gt 20 ]
	[ "$(shape waited_for odd)" -gt 20 ]
	expect_equal 'never alone' "$(shape waited_for tail)" 0
	[ "$(shape waited_for full)" -le 1 ]
	[[ "$(shape advice odd)" == *' of 40 launches are waited for before the next one: '* ]]
	expect_line stderr 'of 40 launches are waited for before the next one: '
	waited=$(shape waited_for tiny)
	run_profile --from out.profile --launch-shapes -o out.json
	expect_equal captured "$(shape waited_for tiny)" "$waited"
	run_profile -gpu-only --launch-shapes -o out.json "$workload" 20
	expect_equal 'not waited for' "$(shape waited_for odd)" 0
	# nothing of it is sent if nothing shows it
	run_profile -q -gpu-only --save-input raw "$workload" 20 wait
	expect_equal marks "$(cat raw* | grep '"t":"l"' | grep -cE '"x":(1[6-9]|2[0-9]|3[01])')" 0
}

@test "a capture of a run with --launch-shapes has them without the option" {
	needs_command python3
	run_profile -gpu-only --launch-shapes -o out.profile -o run.json "$workload" 10
	run_profile --from out.profile -o out.json
	expect_status 0
	expect_line stderr '^ +10 +10\.000 ms +25\.0 % +4x8 +16x16 +100\.0 % +warps +0\.03 +0\.0 % +tiny_kernel'
	cmp run.json out.json
}

@test "they are in a capture, and for a part of the run, but nowhere unless asked for" {
	needs_command python3
	run_profile -q -gpu-only -o out.profile -o out.json "$workload" 10
	expect_status 0
	expect_equal 'not asked for' "$(grep -c "\"launch_shapes\":" out.json)" 0
	run_profile --from out.profile --top -o out.json
	expect_no_line stderr 'Launch shapes'
	run_profile --from out.profile --launch-shapes --kernel tail_kernel -o out.json
	expect_status 0
	expect_line stderr "^$shapes_table\$"
	expect_equal calls "$(shape calls '')" 10
	expect_equal waves "$(shape waves_thousandths tail)" 1001
}

@test "without a description of the device only the shapes are known" {
	needs_command python3
	FAKE_CUDA_DEVICE_RECORDS=refused run_profile -gpu-only --launch-shapes -o out.json "$workload" 1
	expect_status 0
	expect_equal occupancy "$(shape occupancy_permille full)" 0
	expect_equal threads "$(shape threads full)" $((264 * 512))
	expect_equal advice "$(shape advice tiny)" 'CUPTI did not describe the GPU: occupancy and waves are not known'
}

@test "a run without kernels has none" {
	run_profile -cpu-only --launch-shapes -o out.json true
	expect_status 0
	expect_line stderr "^$shapes_table none\$"
	expect_equal 'none' "$(grep -c '"launch_shapes":\[\]' out.json)" 1
}

@test "runs are compared by launch shape, and the gate takes one" {
	needs_command python3
	needs_command node
	for launches in 10 20; do
		run_profile -q -gpu-only --launch-shapes -o $launches.profile "$workloads/launch_shapes" $launches
		expect_status 0
	done
	run_profile --diff 10.profile 20.profile -o out.json -o out.html
	expect_status 0
	python3 - <<-'END'
		import json
		rows = json.load(open("out.json"))["launch_shapes"]
		shapes = {row["name"].split("]", 1)[-1].split("(")[0] + row["name"][row["name"].index(", grid"):]: row
		          for row in rows}
		assert set(shapes) == {"tiny_kernel, grid 4x8, block 16x16", "tail_kernel, grid 1057, block 256",
		                       "odd_kernel, grid 1320, block 33", "full_kernel, grid 264, block 512"}, set(shapes)
		for row in rows:
		    assert (row["before"], row["after"]) == (10000000, 20000000), row
		    assert (row["count_before"], row["count_after"]) == (10, 20), row
	END
	expect_line stderr ' launch shape$'
	expect_line stderr ' tail_kernel, grid 1057, block 256$'
	page_data out.html 'p.difference.tables.find(t => t.key === "launch_shapes").rows' >rows
	expect_line rows '"tail_kernel, grid 1057, block 256","unit":0,"before":10000000,"after":20000000,"bound":0,"verdict":"more"'
	run_profile -q --from 20.profile --baseline 10.profile --fail-above 50% --fail-on 'shape=tiny.*grid 4x8'
	expect_status 123
	expect_line stderr '^profile: time of shape=tiny.*\(1 matching\) rose by 100\.0 %'
	run_profile -q --from 20.profile --baseline 10.profile --fail-above 150% --fail-on 'shape=grid'
	expect_status 0
	# another shape of the same kernel is not it
	run_profile -q --from 20.profile --baseline 10.profile --fail-above 50% --fail-on 'shape=tiny.*grid 8x4'
	expect_status 125
	expect_line stderr 'nothing has such a name, before or after; --top lists what there is$'
	# not where a run did not ask
	run_profile -q -gpu-only -o without.profile "$workloads/launch_shapes" 10
	run_profile --diff without.profile 20.profile -o out.json
	expect_line stderr "$other_options"
	expect_equal shapes "$(python3 -c 'import json; print(json.load(open("out.json"))["launch_shapes"])')" '[]'
}
