# SPDX-License-Identifier: MIT
# GPU work other than kernels, graph nodes, the places of work, and exact sums.

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_root
}

# exact_run ARGUMENTS...: a run in ns, with --strict, that lost nothing, and the ground truth.
exact_run()
{
	rm -f totals
	FAKE_CUDA_TOTALS=$PWD/totals run_profile --strict -gpu-only --unit ns --raw-names \
		-o out.folded "$@"
	expect_status 0
	[ -s totals ]
	expect_folded out.folded
	expect_totals out.folded
	expect_no_line stderr '^profile: '
	expect_line stderr "^$(correlation '[0-9]+')\$"
	expect_no_line out.folded 'not captured|not seen'
	expect_line work "$all_sums_match"
	expect_no_line work "$odd_work"
}

# "KIND NS" of copies and sets, in the profile and in the ground truth, summed over processes.
other_work_of()
{
	sed -n 's/^.*;\[GPU_\(Mem[^]]*\)\] \([0-9]*\)$/\1 \2/p' "$1" |
		awk '{ n = $NF; sub(/ [0-9]+$/, ""); ns[$0] += n }
			END { for (k in ns) printf "%s %.0f\n", k, ns[k] }' | sort
}

other_work_of_totals()
{
	awk '$2 == "memcpy" { ns["Memcpy " $3] += $5 } $2 == "memset" { ns["Memset"] += $5 }
		END { for (k in ns) printf "%s %.0f\n", k, ns[k] }' "$1" | sort
}

# The table's rows of kernels, copies and sets as "WORD COUNT BYTES", of all devices, and the same
# from the ground truth.
rows_of()
{
	sed 's/^  GPU [0-9].*  \(kernels\|memcpy\|memset\) /GPU N \1 /' "$1" |
		awk 'function word() { return $3 == "memcpy" ? "memcpy " $4 : $3 }
		$1 == "GPU" && $3 ~ /^(kernels|memcpy|memset)$/ {
			at = $3 == "memcpy" ? 5 : 4; count[word()] += $at }
		END { for (k in count) printf "%s %.0f\n", k, count[k] }' | sort
}

rows_of_totals()
{
	awk '$2 == "kernel" { count["kernels"] += $4 } $2 == "memcpy" { count["memcpy " $3] += $4 }
		$2 == "memset" { count["memset"] += $4 }
		END { for (k in count) printf "%s %.0f\n", k, count[k] }' "$1" | sort
}

# To the nanosecond and the operation, by kind. Bytes are checked against CUPTI's sums in the run.
equal_to_truth()
{
	diff <(kernels_of_totals totals) <(kernels_of out.folded)
	diff <(other_work_of_totals totals) <(other_work_of out.folded)
	diff <(rows_of_totals totals) <(rows_of work)
}

# streams_of: "PID DEVICE CONTEXT STREAM kernel|memcpy|memset NS" lines of a profile by process,
# device, context and stream, and of the ground truth.
streams_of()
{
	sed -n 's/^[^;]* \([0-9]*\);GPU \([0-9]*\);context \([0-9]*\);stream \([0-9]*\);.*;\[GPU_\([A-Za-z]*\).* \([0-9]*\)$/\1 \2 \3 \4 \5 \6/p' "$1" |
		awk '{ ns[$1 " " $2 " " $3 " " $4 " " tolower($5)] += $6 }
			END { for (k in ns) printf "%s %.0f\n", k, ns[k] }' | sort
}

streams_of_totals()
{
	awk '$2 == "sum" && $7 > 0 { printf "%s %s %s %s %s %s\n", $1, $3, $4, $5, $6, $8 }' "$1" | sort
}

# ---- copies, sets, allocations ----

# bats test_tags=quick
@test "kernels, copies and sets: every nanosecond, by kind" {
	exact_run "$workloads/gpu_work"
	expect stdout <<<'kernels 10320 memcpys 1330 memsets 370 graph_nodes 10100 allocations 51 releases 51'
	equal_to_truth
	exact_run "$workloads/gpu_work" 1 3 7 11 13
	equal_to_truth
	exact_run "$workloads/gpu_work" 0 1 0 1 1
	equal_to_truth
}

@test "two devices, and copies between them" {
	FAKE_CUDA_DEVICES=2 exact_run "$workloads/gpu_work" 4 2 10 50 20
	equal_to_truth
	expect_line out.folded ';main;(work;)?(use_peers;)?copy_peer;cudaMemcpyPeerAsync;\[GPU_Memcpy PtoP\] [0-9]+$'
	expect_line out.folded ';copy_staged;cudaMemcpyPeerAsync;\[GPU_Memcpy DtoH\] [0-9]+$'
	expect_line out.folded ';copy_staged;cudaMemcpyPeerAsync;\[GPU_Memcpy HtoD\] [0-9]+$'
	expect_line work '^  GPU 0  memcpy PtoP +10 +[0-9.]+ ms +640\.0 KiB$'
	expect_line work '^  GPU 0  memcpy DtoH +130 .* 10 between GPUs, through host memory$'
	expect_line work '^  GPU 1  memcpy HtoD +130 .* 10 between GPUs, through host memory$'
	expect_equal staged "$(grep -c 'through host' work)" 2
}

@test "a child process does the same work: both are counted" {
	exact_run "$workloads/gpu_work" 2 2 5 20 5 fork
	equal_to_truth
	expect_equal processes "$(cut -d' ' -f1 totals | sort -u | wc -l)" 2
}

@test "the static runtime: the same" {
	exact_run "$workloads/gpu_work_static" 3 2 5 20 5
	equal_to_truth
	kernels_of out.folded >kernels
	other_work_of out.folded >others
	exact_run "$workloads/gpu_work" 3 2 5 20 5
	diff kernels <(kernels_of out.folded)
	diff others <(other_work_of out.folded)
}

@test "the same with a drifting clock and slow copies" {
	FAKE_CUDA_DRIFT_PPM=300 exact_run "$workloads/gpu_work" 2 2 5 20 5
	equal_to_truth
	FAKE_CUDA_COPY_NS=1000000 exact_run "$workloads/gpu_work" 1 1 2 3 2
	equal_to_truth
}

@test "launch stacks by uprobe: copies have stacks too" {
	exact_run -launch-stacks uprobe "$workloads/gpu_work" 2 2 5 20 5
	equal_to_truth
	expect_line out.folded ';thread_main;(.*;)?copy_pinned;cudaMemcpyAsync;\[GPU_Memcpy HtoD\] '
}

@test "work is under the call that started it" {
	exact_run "$workloads/gpu_work" 1 1 3 4 2
	sed 's/^.*;\(main\|thread_main\);//' out.folded | sed 's/^work;//; s/^use_graph;//' | sort >short
	expect short <<-'END'
		make_graph;capture_left;cudaLaunchKernel;[GPU_Kernel]_Z11node_kernely 4000
		make_graph;capture_left;cudaMemcpyAsync;[GPU_Memcpy HtoD] 17106
		make_graph;capture_right;cudaLaunchKernel;[GPU_Kernel]_Z11node_kernely 4000
		make_graph;capture_right;cudaMemsetAsync;[GPU_Memset] 17106
		work_rounds;use_driver;cuLaunchKernel;[GPU_Kernel]driver_spin 15000
		work_rounds;use_driver;cuMemcpyDtoHAsync_v2;[GPU_Memcpy DtoH] 15828
		work_rounds;use_driver;cuMemcpyHtoDAsync_v2;[GPU_Memcpy HtoD] 15828
		work_rounds;use_driver;cuMemsetD8Async;[GPU_Memset] 25659
		work_rounds;use_runtime;copy_pageable;cudaMemcpyAsync;[GPU_Memcpy DtoH] 25659
		work_rounds;use_runtime;copy_pageable;cudaMemcpyAsync;[GPU_Memcpy HtoD] 25659
		work_rounds;use_runtime;copy_pinned;cudaMemcpyAsync;[GPU_Memcpy DtoD] 25659
		work_rounds;use_runtime;copy_pinned;cudaMemcpyAsync;[GPU_Memcpy DtoH] 25659
		work_rounds;use_runtime;copy_pinned;cudaMemcpyAsync;[GPU_Memcpy HtoD] 25659
		work_rounds;use_runtime;copy_rectangle;cudaMemcpy2DAsync;[GPU_Memcpy DtoD] 10914
		work_rounds;use_runtime;cudaLaunchKernel;[GPU_Kernel]_Z11work_kernely 15000
		work_rounds;use_runtime;cudaMemsetAsync;[GPU_Memset] 25659
	END
}

@test "the table of GPU work, line by line" {
	FAKE_CUDA_DEVICES=2 exact_run "$workloads/gpu_work" 2 1 10 4 3
	expect work <<-END
		GPU work:
		  GPU 0  kernels                32        0.112 ms
		  GPU 0  memcpy HtoD            33        0.249 ms       1.8 MiB
		  GPU 0  memcpy DtoH            40        0.309 ms       2.2 MiB  10 between GPUs, through host memory
		  GPU 0  memcpy DtoD            20        0.122 ms     800.0 KiB
		  GPU 0  memcpy PtoP            10        0.086 ms     640.0 KiB
		  GPU 0  memset                 23        0.197 ms       1.4 MiB
		  GPU 0  allocations             7                     448.0 KiB
		  GPU 0  frees                   7                     448.0 KiB
		  GPU 1  kernels                20        0.100 ms
		  GPU 1  memcpy HtoD            40        0.309 ms       2.2 MiB  10 between GPUs, through host memory
		  GPU 1  memcpy DtoH            30        0.224 ms       1.6 MiB
		  GPU 1  memcpy DtoD            20        0.122 ms     800.0 KiB
		  GPU 1  memset                 20        0.171 ms       1.2 MiB
		  GPU 1  allocations             4                     256.0 KiB
		  GPU 1  frees                   4                     256.0 KiB
		  $(own_sums 20 20)
	END
	expect stderr <<-END
		Samples: $(launched 47 52) (0.212 ms)
		$(correlation 288)
		Wrote 19 stacks (2001128 ns: 0 CPU, 2001128 GPU) to out.folded
	END
}

@test "70,000 streams: each sum is compared" {
	run_profile -gpu-only --unit ns -o out.folded "$workloads/launches" 70000 1 70000
	expect_status 0
	expect_line work "^  $(own_sums 70000 70000)\$"
	expect_no_line work 'not compared|differs'
}

@test "--kernels-only: the kernels' part, and nothing else" {
	exact_run "$workloads/gpu_work" 3 2 5 20 5
	grep '\[GPU_Kernel\]' out.folded >kernels
	exact_run --kernels-only "$workloads/gpu_work" 3 2 5 20 5
	diff kernels out.folded
	expect_no_line work 'memcpy|memset|alloc|frees'
}

# ---- graphs ----

# under_captures: the workload's own words "MODE FUNCTION KERNELS", kernels of 2 us each, are those
# of the profile.
under_captures()
{
	local mode function kernels all=0

	while read -r mode function kernels; do
		expect_equal "ns of $mode under $function" "$(weight_of out.folded \
			"captured at[]];.*;run_$mode;(.*;)?$function;.*[[]GPU_Kernel[]]")" "${kernels}000" || {
			cat out.folded
			return 1
		}
		all=$((all + kernels))
	done < <(awk '{ print $1, $2, 2 * $3 }' stdout)
	[ "$all" -gt 0 ]
	expect_equal 'ns of all kernels' "$(weight_of out.folded '[[]GPU_Kernel[]]')" "${all}000"
}

@test "every graph node under the call that created it" {
	for mode in capture explicit clone child update reinstantiate requeue threads families all; do
		exact_run "$workloads/graphs" "$mode"
		expect_line stdout '^[a-z]+ [a-z_]+ [1-9]'
		under_captures
		equal_to_truth
	done
	exact_run "$workloads/graphs_static" all
	under_captures
}

# A new graph gets the ids of the one destroyed last. With a late GPU all launched work runs
# when its ids are others'.
@test "the same with reused graph numbers, however late the work runs" {
	export FAKE_CUDA_REUSE_NODE_IDS=1
	for mode in capture explicit clone child update reinstantiate requeue threads; do
		exact_run "$workloads/graphs" "$mode"
		under_captures
		equal_to_truth
	done
	exact_run -launch-stacks uprobe "$workloads/graphs" requeue
	under_captures
	export FAKE_CUDA_LATENCY_NS=50000000
	for mode in requeue threads; do
		exact_run "$workloads/graphs" "$mode"
		under_captures
		equal_to_truth
	done
	run_profile --waits -gpu-only --unit ns --raw-names -o out.folded "$workloads/graphs" requeue
	expect_status 0
	# but for a few ns by which clocks differ
	for stack in left:299000 right:199000; do
		[ "$(weight_of out.folded "waiting for GPU.*;[[]graph node captured at[]];.*;capture_${stack%:*};")" \
			-gt "${stack#*:}" ]
	done
}

@test "copies and sets of a graph under the calls that added them" {
	exact_run "$workloads/graphs" explicit
	for made in 'cudaGraphAddMemcpyNode1D;[[]GPU_Memcpy HtoD[]]' \
		'cudaGraphAddMemsetNode;[[]GPU_Memset[]]'; do
		expect_equal "$made" "$(weight_of out.folded \
			";replay;cudaGraphLaunch;[[]graph node captured at[]];.*;run_explicit;(.*;)?$made\$")" 24090
	done
}

@test "nodes whose creation was not seen: reported, and nothing is lost" {
	FAKE_CUDA_HIDE_NODES=1 FAKE_CUDA_TOTALS=$PWD/totals run_profile --strict -gpu-only --unit ns \
		--raw-names -o out.folded "$workloads/graphs" capture
	expect_status 0
	equal_to_truth
	expect_line stderr '^  50 operations are of graph nodes that were made before tracing or out of sight$'
	expect_no_line stderr '^profile: --strict'
	expect_line out.folded ';replay;cudaGraphLaunch;\[graph node, capture not seen\];\[GPU_Kernel\]'
}

@test "--graph whole: one operation per launch" {
	exact_run --graph whole "$workloads/graphs" capture
	expect out.folded <<<'<*>main;run_capture;run;replay;cudaGraphLaunch;[GPU_Graph] 100000'
	expect_line work "^$(gpu_row 0 graphs) +10 +0\.100 ms\$"
	exact_run --graph whole "$workloads/gpu_work" 1 1 3 4 25
	expect_line work "^$(gpu_row 0 graphs) +25 "
	expect_line work "^$(gpu_row 0 kernels) +6 "
	expect_no_line out.folded 'captured at|node_kernel'
	exact_run --graph node "$workloads/graphs" capture
	under_captures
}

# conditions_of FUNCTION: the part of a stack that says where the conditional nodes around it were made
conditions_of()
{
	case $1 in
	*_before | *_behind) ;;
	add_inner) echo 'make_condition;add_conditional;cudaGraphAddNode;[[]graph node captured at[]];[^[]*make_inner;add_conditional;cudaGraphAddNode;[[]graph node captured at[]];' ;;
	*) echo 'make_condition;add_conditional;cudaGraphAddNode;[[]graph node captured at[]];' ;;
	esac
}

# Each kernel below its launch, then where the conditional nodes around it were made, then its own.
under_conditions()
{
	local mode function kernels all=0

	while read -r mode function kernels; do
		expect_equal "ns of $mode under $function" "$(weight_of out.folded \
			";run_$mode;.*;cudaGraphLaunch;[[]graph node captured at[]];[^[]*$(conditions_of "$function")[^[]*;run_$mode;(new_graph;)?$function;[^[]*[[]GPU_Kernel[]]")" "$((2 * kernels))000"
		all=$((all + 2 * kernels))
	done < <(awk '{ print $1, $2, $3 }' stdout)
	[ "$all" -gt 0 ]
	expect_equal 'ns of all kernels' "$(weight_of out.folded '[[]GPU_Kernel[]]')" "${all}000"
}

@test "kernels within conditional nodes: under the launch, the conditional node, their own" {
	for mode in if while switch nested captured only two all; do
		exact_run "$workloads/conditionals" "$mode"
		expect_line stdout '^[a-z]+ [a-z_0-9]+ [1-9]'
		under_conditions
		equal_to_truth
		expect_no_line out.folded 'launched by a kernel'
	done
	# their records may have the correlation id of no launch, or of none
	FAKE_CUDA_BODY_CORRELATION=1073741824 exact_run "$workloads/conditionals" all
	under_conditions
	FAKE_CUDA_REUSE_NODE_IDS=1 exact_run "$workloads/conditionals" all
	under_conditions
	exact_run -launch-stacks uprobe "$workloads/conditionals" all
	under_conditions
	exact_run "$workloads/conditionals" nested 500
	under_conditions
}

@test "two executable graphs of one: each launch has its own kernels" {
	exact_run "$workloads/conditionals" two 5
	expect_equal first "$(weight_of out.folded ';launch_first;cudaGraphLaunch;')" 60000
	expect_equal second "$(weight_of out.folded ';launch_second;cudaGraphLaunch;')" 120000
}

# ---- places of work ----

@test "--by process, device, context and stream: as CUPTI numbers them, to the nanosecond" {
	FAKE_CUDA_DEVICES=2 exact_run --by process,device,context,stream "$workloads/gpu_work" 4 2 5 20 5 fork
	streams_of out.folded >streams
	diff <(streams_of_totals totals) streams
	[ "$(wc -l <streams)" -gt 30 ]
	expect_no_line out.folded '^\[process'
}

@test "--by: the parts in the given order" {
	local run='1 1 1 4 3'

	# shellcheck disable=SC2086
	while read -r parts pattern; do
		exact_run --by "$parts" "$workloads/gpu_work" $run
		expect_equal "lines by $parts" "$(grep -cE "^$pattern;(_start|clone3|.*start_thread|__libc|.*main)" out.folded)" \
			"$(wc -l <out.folded)"
	done <<-'END'
		stream,context,device stream [0-9]+;context [0-9]+;GPU 0
		device GPU 0
		device,process GPU 0;gpu_work [0-9]+
		process,thread gpu_work [0-9]+;(gpu_work|.thread) [0-9]+]?
		thread,stream (gpu_work|.thread) [0-9]+]?;stream [0-9]+
	END
}

@test "--by thread: each launching thread separately" {
	exact_run --by thread "$workloads/gpu_work" 3 1 2 4 3
	expect_equal threads "$(cut -d';' -f1 out.folded | sort -u | wc -l)" 4
	cut -d';' -f1 out.folded | sort -u | while read -r thread; do
		case $(grep -cF "$thread;" out.folded) in
		4) expect_equal ns "$(grep -F "$thread;" out.folded | weight_of - node_kernel)" 12000 ;;
		12) expect_equal ns "$(grep -F "$thread;" out.folded | weight_of - work_kernel)" 10000 ;;
		*) false ;;
		esac
	done
}

@test "--by process: CPU samples and GPU work under one frame" {
	run_profile -F 997 --by process,device -o out.folded "$workloads/inference" 20
	expect_status 0
	expect_equal processes "$(cut -d';' -f1 out.folded | sort -u | grep -c .)" 1
	expect_line out.folded '^inference [0-9]+;(_start;|main;|.*;main;).*tokenize'
	expect_line out.folded '^inference [0-9]+;GPU 0;.*\[GPU_Kernel\]'
}

@test "--by process: each of several programs, even long after its end" {
	cat >several <<-'END'
		"$1" 10; "$2" 10; "$1" 10; sleep 0.2
	END
	exact_run --by process sh several "$workloads/launches" "$workloads/driver_api"
	cut -d';' -f1 out.folded | sort -u | sed 's/[0-9]*$/N/' | sort >names
	expect names <<-'END'
		driver_api N
		launches N
		launches N
	END
}

# ---- device names ----

# called LABEL: all work of a run by device is under it.
called()
{
	exact_run --by device "$workloads/gpu_work" 1 1 1 4 3
	expect_equal devices "$(cut -d';' -f1 out.folded | sort -u)" "$1"
	equal_to_truth
}

@test "--by device: MIG instances and MPS, as CUPTI reports them" {
	called 'GPU 0'
	FAKE_CUDA_MIG=3/0 called 'GPU 0 MIG 3/0'
	FAKE_CUDA_MPS=1 called 'GPU 0 MPS'
	FAKE_CUDA_MIG=13/2 FAKE_CUDA_MPS=1 called 'GPU 0 MIG 13/2 MPS'
	FAKE_CUDA_MIG=3/0 FAKE_CUDA_DEVICES=2 exact_run --by device,stream "$workloads/gpu_work" 2 2 1 4 3
	cut -d';' -f1 out.folded | sort -u >names
	expect names <<-'END'
		GPU 0 MIG 3/0
		GPU 1
	END
}

@test "--by device: even if its record arrives last" {
	FAKE_CUDA_MIG=3/0 FAKE_CUDA_MPS=1 FAKE_CUDA_DEVICE_RECORDS=late called 'GPU 0 MIG 3/0 MPS'
}

@test "--by device: even if CUPTI started too late for its record and must be queried" {
	FAKE_CUDA_MIG=3/0 FAKE_CUDA_MPS=1 FAKE_CUDA_DEVICE_RECORDS=dumped called 'GPU 0 MIG 3/0 MPS'
	# at work, too, not only at the end
	FAKE_CUDA_MIG=3/0 FAKE_CUDA_DEVICE_RECORDS=dumped FAKE_CUDA_KILL_AFTER=6000 run_profile \
		-gpu-only --unit ns --by device -o out.folded "$workloads/inference" 200
	expect_status $((128 + 9))
	expect_equal devices "$(cut -d';' -f1 out.folded | sort -u)" 'GPU 0 MIG 3/0'
}

@test "--by device: each process has its own numbers" {
	cat >several <<-'END'
		FAKE_CUDA_MIG=1/0 "$1" 10; FAKE_CUDA_MIG=2/0 "$1" 10; exec "$1" 10
	END
	exact_run --by device sh several "$workloads/launches"
	cut -d';' -f1 out.folded | sort -u >names
	expect names <<-'END'
		GPU 0
		GPU 0 MIG 1/0
		GPU 0 MIG 2/0
	END
	# one process, two programs
	exact_run --by device bash -c 'FAKE_CUDA_MIG=1/0 "$0" 10; FAKE_CUDA_MIG=4/0 exec "$0" 10' \
		"$workloads/launches"
	expect_equal ns "$(weight_of out.folded '^GPU 0 MIG 4/0;')" 10000
}

# one process for each GPU, as launchers of jobs start them
each_its_gpu()
{
	cat >each <<-'END'
		for gpu in "$@"; do CUDA_VISIBLE_DEVICES=$gpu "$app" 10 & done; wait
	END
	FAKE_CUDA_DEVICES=2 app=$workloads/launches exact_run --by device -o out.json -o out.html "${options[@]}" \
		-- bash each "$@"
	cut -d';' -f1 out.folded | sort -u >names
}

@test "--by device: processes that each see one GPU as number 0" {
	options=(--prometheus out.prom -o out.trace.json -o out.profile)
	each_its_gpu 0 1
	expect names <<-'END'
		GPU 0 (10111213-1415-1617-1819-1a1b1c1d1e00)
		GPU 0 (10111213-1415-1617-1819-1a1b1c1d1e01)
	END
	# the stand-in's GPUs differ in the last byte of their UUIDs
	for gpu in 0 1; do
		uuid=GPU-10111213-1415-1617-1819-1a1b1c1d1e0$gpu
		expect_equal "ns of GPU $gpu" "$(weight_of out.folded "1e0$gpu);")" 10000
		expect_equal "JSON of GPU $gpu" "$(node -p '
			JSON.parse(require("fs").readFileSync("out.json")).gpu_work.
			filter((row) => row.uuid === process.argv[1]).
			map((row) => [row.kind, row.ns, row.operations, row.gpu.includes(row.uuid.slice(4))].join(" ")).join()' \
			"$uuid")" 'kernels 10000 10 true'
		expect_line work "GPU 0 \\(${uuid#GPU-}\\)  kernels +10 "
		grep -q "profile_kernel_duration_seconds_count{.*device=\"0\",uuid=\"$uuid\",.*} 10\$" out.prom
		grep -q "GPU 0 (${uuid#GPU-})" out.trace.json
	done
	run_profile -q --from out.profile --unit ns --by device -o again.folded
	cmp out.folded again.folded
	run_profile -q --from out.profile --unit ns --device 1e01 --by device -o part.folded
	expect_equal 'the second' "$(cut -d';' -f1 part.folded | sort -u)" "$(tail -n 1 names)"
}

@test "--by device: processes that see one GPU, and the same GPUs in another order" {
	options=()
	each_its_gpu 1 1
	expect_equal names "$(cat names)" 'GPU 0'
	each_its_gpu 0,1 1,0
	expect_equal names "$(wc -l <names)" 2
}

@test "no record of devices, or an unreadable one: numbers, and a message with -v" {
	for how in refused other; do
		FAKE_CUDA_MIG=3/0 FAKE_CUDA_DEVICE_RECORDS=$how called 'GPU 0'
		FAKE_CUDA_DEVICE_RECORDS=$how run_profile -v --strict -gpu-only -o out.folded \
			"$workloads/launches" 10
		expect_status 0
		expect_line stderr '^profile: GPU 0: CUPTI did not report its name$'
		expect_line stderr '^profile: process [0-9]+: .*(did not name the devices|has an unknown layout)'
	done
}

@test "-v lists the devices that were used" {
	FAKE_CUDA_DEVICES=3 FAKE_CUDA_MIG=3/0 run_profile -v -gpu-only -o out.folded \
		"$workloads/gpu_work" 2 2 1 4 3
	expect_status 0
	# on a busy machine operations are read before the description of their device
	grep '^profile: GPU ' stderr | grep -v 'CUPTI did not report its name' >devices
	expect devices <<-'END'
		profile: GPU 0 MIG 3/0: Fake GPU, MIG-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadae00
		profile: GPU 1: Fake GPU, GPU-10111213-1415-1617-1819-1a1b1c1d1e01
	END
}

# ---- --strict ----

# not_exact REASON ARGUMENTS...: exits with 124 and this reason; without --strict, with STATUS.
not_exact()
{
	local own=$1 reason=$2

	shift 2
	run_profile --strict -gpu-only --unit ns -o out.folded "$@"
	expect_status 124
	expect_line stderr "^profile: --strict: $reason\$"
	expect_line stderr "^$wrote "
	run_profile -gpu-only --unit ns -o out.folded "$@"
	expect_status "$own"
	expect_no_line stderr '^profile: --strict'
}

@test "--strict: dropped records" {
	FAKE_CUDA_DROP_EVERY=10 not_exact 0 'GPU operations dropped: 6' \
		"$workloads/gpu_work" 1 1 3 4 3
	expect_line work "$all_sums_match" # of what it reported
}

@test "--strict: records without usable times" {
	FAKE_CUDA_ZERO_TIMESTAMP_EVERY=10 not_exact 0 'GPU operations without usable timestamps: 6' \
		"$workloads/gpu_work" 1 1 3 4 3
	expect_line work "$all_sums_match"
	# an instant cannot end before it starts, so here are none
	FAKE_CUDA_REVERSE_TIMESTAMP_EVERY=10 not_exact 0 'GPU operations without usable timestamps: 10' \
		"$workloads/launches" 100
	expect_line work "^$(gpu_row 0 kernels) +100 +0\.090 ms +10 without times\$"
	expect_line work "$all_sums_match"
}

@test "--strict: a killed target" {
	FAKE_CUDA_KILL_AFTER=6 not_exact 137 'traced processes that were killed: 1' \
		"$workloads/gpu_work" 1 1 3 4 3
	expect_no_line work 'not the same'
}

@test "--strict: launches whose records never came" {
	FAKE_CUDA_LOSE_EVERY=10 not_exact 0 'kernel launches without a record of their kernel: 10' \
		"$workloads/launches" 100
	expect_line stderr '^  10 kernel launches have no record: the kernels had not ended when tracing did, or their records were lost$'
	expect_line work "$all_sums_match"
	# records that are known to be lost are not said twice
	FAKE_CUDA_DROP_EVERY=10 not_exact 0 'GPU operations dropped: 10' "$workloads/launches" 100
	expect_no_line stderr 'have no record'
}

@test "--strict: copies and sets whose records never came; graph launches are said" {
	FAKE_CUDA_LOSE_EVERY=1 not_exact 0 'copies and sets without a record: 27' \
		"$workloads/gpu_work" 1 1 3 4 2
	expect_line stderr '^  27 copies and sets have no record: they had not ended when tracing did, or their records were lost$'
	expect_line stderr '^  2 graph launches have no record at all: of empty graphs, not ended, or lost$'
	FAKE_CUDA_LOSE_EVERY=1 run_profile --strict --kernels-only -gpu-only -o out.folded \
		"$workloads/gpu_work" 1 1 3 4 2
	expect_no_line stderr 'copies'
	# known losses are not said twice
	FAKE_CUDA_DROP_EVERY=1 run_profile -gpu-only -o out.folded "$workloads/gpu_work" 1 1 3 4 2
	expect_no_line stderr 'cop(y|ies).*no record|graph launch.*no record'
}

# Launches that fail or are captured have no record; nor, perhaps, those without a kernel.
@test "--strict: launches that need no record" {
	exact_run "$workloads/launches" 40 2 2 refused
	expect stdout <<<'launches 40 kernels 40 threads 2 streams 2 mode refused'
	exact_run -launch-stacks uprobe "$workloads/launches" 40 2 2 refused
	for mode in graph mixed; do
		exact_run "$workloads/launches" 40 2 2 $mode
		exact_run --graph whole "$workloads/launches" 40 2 2 $mode
	done
	for mode in capture explicit clone child update reinstantiate; do
		exact_run --graph whole "$workloads/graphs" $mode
	done
	exact_run --kernels-only --graph whole "$workloads/gpu_work" 1 2 3 4 3
}

@test "kernels still running when the command was killed" {
	start_profile --strict -gpu-only -o out.folded "$workloads/launches" 5 1 1 endless
	wait_until grep -qs ready stdout
	kill -INT "$pid"
	finish_profile
	expect_status 124
	expect_line stderr '^  5 kernel launches have no record: the kernels had not ended when tracing did, or their records were lost$'
	expect_line stderr "^$(strict_says 'kernel launches without a record of their kernel' 5)\$"
	expect_empty work
}

@test "operations before and after tracing: reported, and in the profile once" {
	FAKE_CUDA_EARLY_EVERY=10 exact_run "$workloads/launches" 100
	equal_to_truth
	expect_line work "^$(gpu_row 0 kernels) +100 +0\.100 ms +10 before tracing \(0\.010 ms\)\$"
	FAKE_CUDA_LATE_EVERY=20 exact_run "$workloads/launches" 100
	equal_to_truth
	expect_line work "^$(gpu_row 0 kernels) +100 +0\.100 ms +5 after tracing \(0\.005 ms\)\$"
	FAKE_CUDA_EARLY_EVERY=2 FAKE_CUDA_LATE_EVERY=1 exact_run --kernels-only "$workloads/launches" 10
	expect_line work "^$(gpu_row 0 kernels) +10 +0\.010 ms +5 before tracing \(0\.005 ms\)  5 after tracing \(0\.005 ms\)\$"
	FAKE_CUDA_DRIFT_PPM=300 exact_run "$workloads/gpu_work" 2 2 5 20 5
	expect_no_line work 'tracing'
}

@test "--strict: rubbish in the pipe" {
	not_exact 0 'malformed lines from programs: [0-9]+' "$workloads/rubbish" json 20
	expect_line work "$all_sums_match"
}

@test "--strict: work whose launch has no stack" {
	strip -o stripped "$workloads/launches_static"
	FAKE_CUDA_INTERNAL_DRIVER_CALLS=1 not_exact 0 \
		'GPU operations not matched with a launch: 400' \
		-launch-stacks uprobe ./stripped 400
	expect_line work "^$(gpu_row 0 kernels) +400 +0\.400 ms +400 unmatched \(0\.400 ms\)\$"
}

@test "--strict: the command's own status if everything is exact" {
	run_profile --strict -gpu-only -o out.folded sh -c '"$0" 1 1 1 1 1; exit 3' \
		"$workloads/gpu_work"
	expect_status 3
	run_profile --strict -cpu-only -o out.folded sh -c 'exit 4'
	expect_status 4
	run_profile --strict -o out.folded true
	expect_status 0
	run_profile --strict -o out.folded "$workloads/inference" 5
	expect_status 0
}

@test "invalid options" {
	for by in bad 'process,bad' 'device,device' ',' 'process,' ',process' Process ''; do
		run_profile --by "$by" -o out.folded true
		expect_status 125
		expect stderr <<-END
			profile: --by takes rank, process, thread, device, context, stream, class, operator, layer, layer-kind, each at most once, separated by commas, not '$by'
			$try_help
		END
	done
	for graph in bad nodes '' Graph; do
		run_profile --graph "$graph" -o out.folded true
		expect_status 125
		expect stderr <<-END
			profile: --graph is one of node, whole, device, not '$graph'
			$try_help
		END
	done
	expect_no_file out.folded
}
