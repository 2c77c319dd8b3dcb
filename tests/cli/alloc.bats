#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --alloc: memory at the peak and left, by stack; --weight: drawn.

load helpers

setup()
{
	enter_test_folder
	needs_command python3
	workload=$workloads/memory_use
}

# What the program counted, in the file "said": of the host ("pinned") or the device (""), "peak" or "left".
said_bytes()
{
	sed -n "s/^${1:+$1 }peak \([0-9]*\) left \([0-9]*\)\$/peak \1 left \2/p" said | sed -n "s/.*$2 \([0-9]*\).*/\1/p"
}

# The program's own count, on stdout, is what profile found, to the byte.
expect_same_bytes()
{
	python3 - <<-'END'
		import json
		said, got = {}, {}
		for line in open("stdout"):
		    words = line.split()
		    if words[0] == "peak":
		        device = int(words[1]), int(words[3])
		    elif words[0] == "pinned":
		        pinned = int(words[2]), int(words[4])
		    elif words[0] == "pool":
		        pool = [int(word) for word in words[1:]]
		    else:
		        said[words[0]] = int(words[1]), int(words[2])
		run = json.load(open("out.json"))
		for row in run["allocations"]:
		    if row["memory"].startswith("device"):
		        function = row["allocated_by"].split(" < ")[0]
		        peak, left = got.get(function, (0, 0))
		        got[function] = peak + row["peak_bytes"], left + row["left_bytes"]
		assert said == got and len(said) == 4, (said, got)
		for row in run["memory"]:
		    want = device if row["memory"].startswith("device") else pinned
		    assert (row["peak_bytes"], row["left_bytes"]) == want, (row, want)
		    assert row["unknown_frees"] == 0, row
		    assert row["allocations"] - row["frees"] == row["left"], row
		have = [[row[key + "_bytes"] for key in ("most_held", "most_used", "held_at_peak", "used_at_peak",
		                                         "held_at_end", "used_at_end")] for row in run["memory_pools"]]
		assert have == [pool] and pool[0], (have, pool)
		assert run["allocations_left_out"] == 0 == run["losses"]["allocations_late"]
	END
}

@test "exact to the byte over random programs" {
	with_details
	for seed in 1 2 3 4 5; do
		run_profile -gpu-only --alloc -o out.json "$workload" 1500 $seed
		expect_status 0
		expect_same_bytes
	done
	expect_line work "$all_sums_match"
}

@test "counted once, whatever CUPTI records of physical memory and of graphs" {
	with_details
	for records in create map; do
		FAKE_CUDA_MEMORY_RECORDS=$records run_profile -gpu-only --alloc -o out.json "$workload" 1500 6 2 left
		expect_status 0
		expect_same_bytes
		expect_line work "$all_sums_match"
	done
}

# bats test_tags=quick
@test "threads, and memory that is never freed" {
	run_profile -gpu-only --alloc -o out.json "$workload" 400 7 8 left
	expect_status 0
	expect_same_bytes
	expect_line stderr "^$memory_table\$"
	expect_line stderr '^Allocations:$'
	expect_line stderr '^Memory pools:$'
	expect_line stderr '^( +[0-9.]+ (MiB|KiB|B)){6}   device, GPU 0'
	expect_line stderr 'Allocated by: allocate_virtual < run <'
	grep -q '^peak [0-9]* left [1-9]' stdout
}

@test "what is drawn adds up to the bytes" {
	run_profile -gpu-only --alloc -o out.profile "$workload" 1000 3 1 left
	expect_status 0
	mv stdout said
	for weight in peak left; do
		run_profile --from out.profile --weight $weight -o out.folded -o out.svg -o out.speedscope.json
		expect_status 0
		# of the device and of the host, each by its frame
		expect_equal $weight "$(weight_of out.folded 'GPU_Alloc device]')" "$(said_bytes '' $weight)"
		expect_equal "pinned $weight" "$(weight_of out.folded 'GPU_Alloc pinned host]')" "$(said_bytes pinned $weight)"
		expect_equal "all $weight" "$(weight_of out.folded)" \
			"$(($(said_bytes '' $weight) + $(said_bytes pinned $weight)))"
		expect_line out.svg 'Memory by stack'
		expect_line out.svg ' MiB'
		expect_equal unit "$(grep -c '"unit":"nanoseconds"' out.speedscope.json)" 0
	done
	expect_line out.folded ';allocate_plain;cudaMalloc;\[GPU_Alloc device\] [0-9]+$'
	expect_line out.folded ';allocate_virtual;cuMemCreate;\[GPU_Alloc device\] [0-9]+$'
	expect_line out.folded ';allocate_pinned;cudaMallocHost;\[GPU_Alloc pinned host\] [0-9]+$'
	# and with the options that view other outputs
	run_profile --from out.profile --weight peak --trim-to allocate_plain --names short -o out.folded
	expect_status 0
	expect_line out.folded '^allocate_plain;cudaMalloc;\[GPU_Alloc device\] [0-9]+$'
}

@test "memory is of a process and a device, as GPU work is" {
	run_profile -gpu-only --alloc -o out.profile sh -c "$workload 300 3 1 left >said; $workloads/launches 10 >/dev/null"
	expect_status 0
	run_profile -q --from out.profile --weight left --by process,device -o out.folded
	expect_status 0
	expect_line out.folded '^memory_use [0-9]+;GPU 0;.*;allocate_pinned;cudaMallocHost;'
	expect_no_line out.folded '^launches'
	expect_equal all "$(weight_of out.folded)" "$(($(said_bytes '' left) + $(said_bytes pinned left)))"
	for choice in '--process memory_use' '--device 0' '--device GPU'; do
		run_profile -q --from out.profile --weight left "${choice% *}" "${choice#* }" -o part.folded
		expect_status 0
		expect_equal "$choice" "$(weight_of part.folded)" "$(weight_of out.folded)"
	done
	for choice in '--process launches' '--device 1'; do
		run_profile -q --from out.profile --weight left "${choice% *}" "${choice#* }" -o part.folded
		expect_status 0
		expect_equal "$choice" "$(weight_of part.folded)" 0
	done
}

@test "each allocation has its stack where those of launches are limited" {
	run_profile -gpu-only --alloc --max-overhead 0.1 -o out.json "$workload" 5000 1
	expect_status 0
	expect_same_bytes
}

@test "a reset gives all memory of its context back" {
	run_profile -gpu-only --alloc -o out.json "$workloads/device_reset"
	expect_status 0
	python3 - <<-'END'
		import json
		for row in json.load(open("out.json"))["memory"]:
		    assert row["left_bytes"] == 0, row
	END
}

@test "records that are lost are seen as memory that is left, or as frees of what is not known" {
	FAKE_CUDA_DROP_EVERY=10 run_profile -gpu-only --alloc -o out.json "$workload" 1000 1
	expect_status 0
	expect_line stderr '[1-9][0-9]* dropped$'
}

@test "where it makes no sense it is refused" {
	run_profile -cpu-only --alloc true
	expect_status 125
	expect_line stderr "^profile: $(needs_gpu_time --alloc -cpu-only)\$"
	run_profile -gpu-only --weight peak -o out.json true
	expect_status 125
	expect_line stderr '^profile: --weight is for formats of stacks .*, not for out\.json$'
	run_profile -gpu-only --alloc --weight sideways true
	expect_status 125
	run_profile -gpu-only --kernels-only --alloc true
	expect_status 125
	run_profile -q -gpu-only -o out.profile "$workloads/launches" 10
	run_profile --from out.profile --weight peak -o out.svg
	expect_status 125
	expect_line stderr 'the run did not follow memory: --alloc$'
}

@test "runs are compared, and memory that is not freed any more fails" {
	needs_command node
	run_profile -q -gpu-only --alloc -o before.profile "$workload" 500 3
	run_profile -q -gpu-only --alloc -o after.profile "$workload" 500 3 1 left
	expect_status 0
	cp stdout said
	left=$(($(said_bytes '' left) + $(said_bytes pinned left)))
	run_profile --diff before.profile after.profile -o out.json -o out.html
	expect_status 0
	expect_line stderr '^ +0 B .* memory never freed$'
	expect_equal left "$(python3 -c 'import json
print(json.load(open("out.json"))["totals"]["left"]["after"])')" "$left"
	expect_equal 'left on the page' "$(page_data out.html 'p.difference.tables[0].rows.find(t => t.name === "memory never freed").after')" "$left"
	# by who allocated it: what the program counted for each of its functions
	python3 - <<-'END'
		import json
		said = {}
		for line in open("said"):
		    words = line.split()
		    if words[0] == "pinned":
		        said["pinned host: allocate_pinned"] = int(words[2]), int(words[4])
		    elif words[0] not in ("peak", "pool"):
		        said["device: " + words[0]] = int(words[1]), int(words[2])
		run = json.load(open("out.json"))
		for place, key in enumerate(("memory_at_the_peak", "memory_never_freed")):
		    rows = {row["name"].split("(")[0]: row["after"] for row in run[key]}
		    assert rows == {name: bytes[place] for name, bytes in said.items() if bytes[place]}, (rows, said)
		    assert sum(row["after"] for row in run[key]) == run["totals"]["left" if place else "peak"]["after"]
		assert all(row["before"] == 0 and row["matched_by"] == "new" for row in run["memory_never_freed"])
	END
	page_data out.html 'p.difference.tables.find(t => t.key === "never_freed").rows' >rows
	expect_line rows '"device: [^"]*","unit":1,"before":0,"after":[0-9]+,"bound":0,"verdict":"new"'
	expect_line stderr ' memory never freed, allocated by$'
	run_profile -q --from after.profile --baseline before.profile --fail-above 0% --fail-on left=allocate_plain
	expect_status 123
	expect_line stderr '^profile: memory of left=allocate_plain \(1 matching\) rose \(0 B to .*, above 0%'
	# of one kind of memory
	run_profile -q --from after.profile --baseline before.profile --fail-above 0% --fail-on 'left=^pinned host:'
	expect_status 123
	expect_line stderr '^profile: memory of left=\^pinned host: \(1 matching\) rose \(0 B to .*, above 0%'
	run_profile -q --from after.profile --baseline before.profile --fail-above 0% --fail-on 'left=^managed:'
	expect_status 0
	run_profile -q --from after.profile --baseline before.profile --fail-above 1KiB --fail-on left=no_such_function \
		--fail-on 'peak=.'
	expect_status 0
	run_profile -q --from before.profile --baseline before.profile --fail-above 0% --fail-on left=. --fail-on peak=.
	expect_status 0
	run_profile -q --from after.profile --baseline before.profile --fail-above 1ms --fail-on left=.
	expect_status 125
	run_profile -q --from after.profile --baseline before.profile --fail-above 0% --fail-on left --fail-on peak
	expect_status 123
	expect_line stderr '^profile: memory never freed rose \(0 B to .*, above 0%'
	run_profile -q --from after.profile --baseline before.profile --fail-above 100GiB --fail-on left
	expect_status 0
	run_profile --from before.profile --baseline before.profile --fail-above 0% --fail-on left
	expect_status 0
	expect_line stderr '^memory never freed stayed at 0 B: not above 0%$'
	run_profile -q --from after.profile --baseline before.profile --fail-above 1ms --fail-on left
	expect_status 125
	run_profile -q -gpu-only -o without.profile "$workload" 100
	run_profile -q --from after.profile --baseline without.profile --fail-above 1% --fail-on left
	expect_status 125
	expect_line stderr '^profile: --fail-on left: not all runs have it: --alloc follows memory, before and after$'
}

@test "nothing of it is sent unless asked for" {
	run_profile -gpu-only --save-input raw "$workload" 200
	expect_status 0
	grep -q '"t":"m"' raw*
	expect_equal addresses "$(cat raw* | grep '"t":"m"' | grep -c '"a":')" 0
	expect_equal created "$(cat raw* | grep -c cuMemCreate)" 0
	expect_no_line stderr "^$memory_table\$"
}

@test "all together, with a hundred threads" {
	with_details
	run_profile -gpu-only --alloc --api --launch-shapes --waits --top -o out.json -o out.html -o out.profile \
		"$workload" 30 5 100
	expect_status 0
	expect_same_bytes
	expect_line stderr "^$calls_table\$"
	expect_line stderr "^$shapes_table none\$"
	expect_line work "$all_sums_match"
}
