#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --counters: hardware counters of some launches. The stand-in's values follow from the launch.

load helpers

setup()
{
	enter_test_folder
	needs_command python3
	export FAKE_CUDA_STRICT=1
}

# value FIELD METRIC [KERNEL]: of the summary
value()
{
	python3 -c '
import json, sys
field, metric, kernel = (sys.argv[1:] + [""])[:3]
for row in json.load(open("out.json"))["hardware_counters"]:
    if row["metric"] == metric and kernel in row["kernel"]:
        print(row[field])
        break' "$@"
}

# bats test_tags=quick
@test "chosen launches are measured, and no GPU time is counted twice" {
	with_details
	run_profile -gpu-only --unit ns --counters sm__ctas_launched.sum,gpu__time_duration.sum -o out.json \
		-o out.folded "$workloads/launches" 1000
	expect_status 0
	expect_line stderr "^$(counters_read 5 1000)\$"
	expect_line stderr "^$(correlation 1000)\$"
	expect_line stderr '^Hardware counters:$'
	expect_equal 'the kernel is above its metrics' "$(grep -c '^  tiny$' stderr)" 1
	expect_line stderr '^ +1 +1 +1 +5 +1000   sm__ctas_launched\.sum$'
	expect_equal measured "$(value measured sm__ctas_launched.sum)" 5
	expect_equal launches "$(value launches sm__ctas_launched.sum)" 1000
	expect_equal mean "$(value mean gpu__time_duration.sum)" 1000
	expect_equal unit "$(value unit gpu__time_duration.sum)" nanosecond
	expect_equal ns "$(awk '{ s += $NF } END { print s }' out.folded)" 1000000
}

@test "a measured launch has the time of the counter, if its record has none" {
	local times

	for times in 0 1; do
		FAKE_CUDA_REPLAY_TIMES=$times run_profile -gpu-only --strict --unit ns --counters sm__ctas_launched.sum \
			--counters-launches all -o out.json -o out.folded "$workloads/durations"
		expect_status 0
		expect_no_line stderr 'no usable timestamps'
		expect_equal metrics "$(python3 -c 'import json
print({row["metric"] for row in json.load(open("out.json"))["hardware_counters"]})')" "{'sm__ctas_launched.sum'}"
		mv out.folded folded.$times
	done
	"$profile" -q -gpu-only --unit ns -o plain.folded "$workloads/durations"
	cmp plain.folded folded.0
	cmp plain.folded folded.1
}

@test "records of further runs are left out" {
	with_details
	FAKE_CUDA_REPLAY_RECORDS=1 run_profile -v -gpu-only --counters default -o out.json "$workloads/launches" 1000
	expect_status 0
	expect_line stderr "^$(correlation 1000)\$"
	expect_line stderr 'CUPTI reported 1000 operations, 1000000 ns$'
	expect_line stderr '40 records of further runs of measured kernels were left out$' # 5 launches, 9 passes: the duration, too
	expect_equal measured "$(value measured dram__bytes.sum)" 5
}

@test "values without a kernel's record are counted" {
	FAKE_CUDA_REPLAY_RECORDS=none run_profile -gpu-only --counters default -o out.json "$workloads/launches" 10
	expect_status 0
	expect_line stderr "^$(counters_read 0 10)\$"
	expect_line stderr '^  4 have counters, but no record$'
}

@test "a number of launches, or all" {
	run_profile -gpu-only --counters sm__ctas_launched.sum --counters-launches 1 -o out.json "$workloads/launches" 10
	expect_equal measured "$(value measured sm__ctas_launched.sum)" 1
	run_profile -gpu-only --counters sm__ctas_launched.sum --counters-launches all -o out.json "$workloads/launches" 10
	expect_equal measured "$(value measured sm__ctas_launched.sum)" 10
}

@test "kernels whose names match" {
	run_profile -gpu-only --counters sm__ctas_launched.sum --counters-kernels '^_Z4tiny' -o out.json "$workloads/launches" 10
	expect_equal measured "$(value measured sm__ctas_launched.sum)" 4
	run_profile -gpu-only --counters sm__ctas_launched.sum --counters-kernels '^tiny' -o out.json "$workloads/launches" 10
	expect_equal measured "$(value measured sm__ctas_launched.sum)" ''
	expect_line stderr '^Hardware counters: none$'
}

@test "timelines have the counters of each launch, also from a capture" {
	needs_command protoc
	run_profile -gpu-only --counters default -o a.perfetto-trace -o a.trace.json -o a.profile \
		"$workloads/launch_shapes" 10
	expect_status 0
	protoc -I "$root/tests/cli" --decode=subset.Trace trace_subset.proto <a.perfetto-trace >a.txt
	python3 "$root/tests/cli/check_traces.py" a.txt a.trace.json >sums
	expect_line sums '^argument dram__bytes\.sum \(byte\) 16$' # of each kernel the 1st, 2nd, 4th, 8th
	expect_line sums '^argument theoretical occupancy % 40$'
	expect_line sums '^fact timeline_counters_lost 0$'
	python3 - <<-'END'
		import json
		for e in json.load(open("a.trace.json"))["traceEvents"]:
		    if e.get("cat") == "kernel" and e["name"] == "full_kernel":
		        a = e["args"]
		        assert (a["grid"], a["block"]) == ([264, 1, 1], [512, 1, 1]), a
		        assert a["dynamic shared memory"] == 102400 and a["theoretical occupancy %"] == 50, a
		        assert (a["occupancy limited by"], a["waves per SM"]) == ("shared memory", 1), a
	END
	run_profile -q --from a.profile -o b.perfetto-trace -o b.trace.json
	cmp a.perfetto-trace b.perfetto-trace
	cmp a.trace.json b.trace.json
}

@test "a capture keeps them" {
	run_profile -gpu-only --counters default -o out.json -o out.profile "$workloads/launches" 1000
	mv out.json first.json
	run_profile -q --from out.profile -o out.json
	expect_status 0
	python3 -c 'import json
assert json.load(open("first.json"))["hardware_counters"] == json.load(open("out.json"))["hardware_counters"]'
	expect_equal metrics "$(python3 -c 'import json; print(len(json.load(open("out.json"))["hardware_counters"]))')" 8
}

@test "threads: each launch is there, and of those measured each value is one kernel's" {
	with_details
	run_profile -gpu-only --counters sm__ctas_launched.sum --counters-launches all -o out.json "$workloads/launches" 600 6 3
	expect_status 0
	expect_line stderr "^$(correlation 600)\$"
	expect_equal most "$(value most sm__ctas_launched.sum)" 1
	[ "$(value measured sm__ctas_launched.sum)" -gt 0 ]
}

@test "what other threads launch meanwhile keeps its times" {
	# kernels and graphs of five threads; each launch that can be measured is
	run_profile -gpu-only --strict --counters dram__bytes.sum --counters-launches all -o out.json "$workloads/gpu_work" 4 2 5
	expect_status 0
	expect_no_line stderr 'no usable timestamps'
	expect_line stderr '^  50 launched graphs$'
	[ "$(value measured dram__bytes.sum work_kernel)" -gt 0 ]
}

@test "threads do not wait again and again for a measured kernel that does not end" {
	with_details
	# each launch would wait 10 s
	run_profile -gpu-only --counters sm__ctas_launched.sum --counters-launches 1 -o out.json "$workloads/launches" 20 1 1 beside
	expect_status 0
	expect_line stderr "^$(correlation 20)\$"
}

@test "while a stream is captured nothing is measured, nor are graphs" {
	run_profile -gpu-only --counters default -o out.json "$workloads/graphs"
	expect_status 0
	expect_line stderr '^  [0-9]+ launched graphs$'
	expect_line stderr '^  [0-9]+ came while a stream was captured$'
	expect_line stderr "^$(counters_read 0 '[0-9]+')\$"
}

@test "launches of the driver, of all kinds" {
	for kind in kernel ex cooperative; do
		run_profile -gpu-only --counters sm__ctas_launched.sum -o out.json "$workloads/launches" 100 1 1 $kind
		expect_status 0
		expect_line stderr "^$(counters_read 5 100)\$"
	done
	run_profile -gpu-only --counters sm__ctas_launched.sum -o out.json "$workloads/driver_api" 100
	expect_status 0
	[ "$(value measured sm__ctas_launched.sum)" -gt 0 ]
}

@test "who may not read them learns why, and the run goes on" {
	with_details
	FAKE_CUDA_COUNTERS_ERROR=35 run_profile -gpu-only --counters default -o out.json "$workloads/launches" 100
	expect_status 0
	expect_line stderr 'hardware counters: this user may not read them .*NVreg_RestrictProfilingToAdminUsers=0'
	expect_line stderr "^$(correlation 100)\$"
	FAKE_CUDA_COUNTERS_ERROR=26 run_profile -gpu-only --counters default -o out.json "$workloads/launches" 100
	expect_line stderr 'hardware counters: another profiler has them'
	FAKE_CUDA_COUNTERS_ERROR=43 run_profile -gpu-only --counters default -o out.json "$workloads/launches" 100
	expect_line stderr 'hardware counters: CUPTI reads none on a MIG instance'
	LD_LIBRARY_PATH=$root/build/tests/fake_cuda/12.4 run_profile -gpu-only --counters default -o out.json \
		"$workloads/launches" 100
	expect_line stderr 'hardware counters: .*has no range profiler: that of CUDA 12.6 or later is needed'
}

@test "names that are too long for a terminal keep their beginning and their end; elsewhere they are whole" {
	PYTHONPATH=$root/tests/cli PYTHONDONTWRITEBYTECODE=1 profile=$profile workload=$workloads/launches \
		timeout "$patience" python3 - >stderr <<-'END'
		import os
		from terminal import Terminal
		t = Terminal([os.environ["profile"], "-gpu-only", "--counters", "default", "-o", "out.json",
		              os.environ["workload"], "100"], rows=60, columns=100)
		assert t.finish() == 0
		print(t.all_text())
	END
	# and no line goes on in the next one
	expect_line stderr '   gpu__compute_memory_throug…ained_elapsed$'
	expect_line stderr '   sm__warps_active\.avg\.pct_o…tained_active$'
	expect_line stderr '   l1tex__t_sector_hit_rate\.pct$'
	run_profile -gpu-only --counters default -o out.json "$workloads/launches" 100
	expect_line stderr '   gpu__compute_memory_throughput\.avg\.pct_of_peak_sustained_elapsed$'
	expect_line stderr '   sm__warps_active\.avg\.pct_of_peak_sustained_active$'
}

@test "a metric that the GPU does not have" {
	run_profile -gpu-only --counters no__such.sum,dram__bytes.sum,dram__bytes -o out.json "$workloads/launches" 100
	expect_status 0
	expect_line stderr "hardware counters: GH100 has no metric 'no__such.sum' .*; --list-counters shows those there are\$"
	expect_line stderr "hardware counters: GH100 has no metric 'dram__bytes': dram__bytes needs one of the endings \.sum \("
	expect_equal mean "$(value mean dram__bytes.sum)" 100000
	run_profile -gpu-only --counters l1tex__t_sector_hit_rate.sum,dram__bytes.sum -o out.json "$workloads/launches" 10
	expect_line stderr "has no metric '[a-z0-9_]*\.sum': l1tex__t_sector_hit_rate needs one of the endings \.pct \("
}

@test "nothing is measured where the GPU has none of the metrics" {
	run_profile -gpu-only --counters no__such.sum -o out.json "$workloads/launches" 100 4
	expect_status 0
	expect_equal messages "$(grep -c 'has no metric' stderr)" 1
	expect_line stderr "^$(counters_read 0 100)\$"
	expect_line stderr '^Hardware counters: none$'
}

@test "several processes" {
	run_profile -gpu-only --counters sm__ctas_launched.sum -o out.json \
		sh -c '"$0" 10; "$0" 10 & wait' "$workloads/launches"
	expect_status 0
	expect_equal measured "$(value measured sm__ctas_launched.sum)" 8
	expect_equal launches "$(value launches sm__ctas_launched.sum)" 20
}

# caller_weight FUNCTION FILE: of the stacks of kernels that it launches
caller_weight()
{
	weight_of "$2" ";$1;cudaLaunchKernel;"
}

@test "--weight: of stacks of which each launch is measured, exact" {
	# the stand-in's DRAM bytes are 100 a nanosecond; one kernel has other times below each caller
	run_profile -gpu-only --counters dram__bytes.sum --counters-launches all --weight dram__bytes.sum \
		-o out.folded -o out.svg -o out.speedscope.json -o out.profile "$workloads/shares" 100
	expect_status 0
	expect_line stderr '^Weight: dram__bytes\.sum, measured at all 402 launches \(100\.0 %\)$'
	expect_line stderr '^  not in it: copies and other work, 12\.5 % of the GPU time$'
	for function in often twice briefly seldom; do
		expect_equal $function "$(caller_weight $function out.folded)" "$(awk -v f=$function '$1 == f { print $2 * 100 }' stdout)"
	done
	expect_equal 'nothing else' "$(weight_of out.folded)" 14600000
	expect_line out.svg '>dram__bytes\.sum by stack, measured at all 402 launches'
	expect_line out.svg '>13\.92 MiB<'
	expect_line out.speedscope.json '"unit":"bytes"'
	mv out.folded first.folded
	run_profile -q --from out.profile --weight dram__bytes.sum -o out.folded
	expect_status 0
	cmp first.folded out.folded
	# the capture has the times all the same
	run_profile -q --from out.profile --unit ns -o out.folded
	expect_equal ns "$(caller_weight often out.folded)" 60000
	# with the options that view other outputs
	run_profile -q --from out.profile --weight dram__bytes.sum --device 0 --kernel longer --by device --trim-to seldom -o out.folded
	expect_line out.folded '^GPU 0[^;]*;seldom;cudaLaunchKernel;\[GPU_Kernel\]longer\([^;]*\) 1600000$'
	expect_equal lines "$(wc -l <out.folded)" 1
}

@test "--weight: other launches have the mean of their stack, or else of their kernel" {
	# measured are the 1st launch, below often, and the 2nd, below twice
	run_profile -gpu-only --counters dram__bytes.sum --counters-launches 2 --counters-kernels shared --weight dram__bytes.sum \
		-o out.folded "$workloads/shares" 100
	expect_status 0
	expect_line stderr '^Weight: dram__bytes\.sum, estimated from 2 of 400 launches \(0\.5 %\)$'
	expect_line stderr '^  not in it: 2 launches of kernels that were not measured, [0-9.]+ % of the GPU time$'
	expect_equal often "$(caller_weight often out.folded)" 6000000
	expect_equal twice "$(caller_weight twice out.folded)" 6000000
	expect_equal briefly "$(caller_weight briefly out.folded)" $((100 * 45000))
	expect_equal 'nothing else' "$(weight_of out.folded)" 16500000
}

@test "--weight: in the metric's unit, and without values" {
	with_details
	run_profile -gpu-only --counters sm__warps_launched.sum,gpu__time_duration.sum --weight sm__warps_launched.sum \
		-o out.svg -o out.speedscope.json -o out.profile "$workloads/launches" 2000
	expect_status 0
	expect_line stderr '^Wrote [0-9]+ frames \(2\.00 k warp\) to out\.svg$'
	expect_line out.svg '>2\.00 k warp<'
	expect_line out.speedscope.json '"unit":"none"'
	run_profile --from out.profile --weight gpu__time_duration.sum -o out.svg -o out.speedscope.json
	expect_line stderr '^Wrote [0-9]+ frames \(2\.000 ms\) to out\.svg$'
	expect_line out.speedscope.json '"unit":"nanoseconds"'
	# a run that may not read counters says so, and comes to its end
	FAKE_CUDA_COUNTERS_ERROR=35 run_profile -gpu-only --counters default --weight dram__bytes.sum -o out.folded -o out.svg \
		-o out.profile "$workloads/launches" 100
	expect_status 0
	expect_line stderr '^Weight: dram__bytes\.sum, of which no launch was measured'
	expect_line stderr '^  not in it: 100 launches of kernels that were not measured, 100\.0 % of the GPU time$'
	expect_line out.svg '>Empty: nothing was measured'
	expect_equal stacks "$(wc -l <out.folded)" 0
	run_profile --from out.profile --weight dram__bytes.sum -o out.svg
	expect_status 125
}

# pprof_weights FILE: its types of values, and the sums of the last of them
pprof_weights()
{
	go tool pprof -raw "$1" 2>errors >raw
	sed -n '/^Samples:/{n;p}' raw
	awk '/^Samples:/ { on = 1; getline; next } /^Locations/ { on = 0 }
		on && /^ +[0-9]+ +[0-9]+:/ { sub(/:.*/, ""); sum += $NF } END { print sum }' raw
}

@test "--weight: pprof has it in place of times" {
	needs_command go
	run_profile -q -gpu-only --alloc --counters dram__bytes.sum,sm__warps_launched.sum --counters-launches all \
		--weight dram__bytes.sum -o out.pb.gz -o out.folded -o out.profile -o out.profiles.pb \
		"$workloads/shares" 100
	expect_status 0
	expect_equal pprof "$(pprof_weights out.pb.gz | tr '\n' ' ')" \
		"operations/count dram__bytes.sum/bytes[dflt] $(weight_of out.folded) "
	run_profile -q --from out.profile --weight sm__warps_launched.sum -o out.pb.gz
	expect_equal unit "$(pprof_weights out.pb.gz | tr '\n' ' ')" \
		'operations/count sm__warps_launched.sum/warp[dflt] 402 '
	grep -q 'dram__bytes\.sum' out.profiles.pb
}

@test "--weight: what cannot be drawn is refused" {
	local sums='only metrics that --counters reads and that end in \.sum can be drawn, for these add up over launches:'

	run_profile --weight dram__bytes.sum touch ran
	expect_status 125
	expect_line stderr '^profile: --weight dram__bytes\.sum is for counters that --counters reads: add --counters$'
	run_profile --counters default --weight lts__t_sector_hit_rate.pct touch ran
	expect_status 125
	expect_line stderr "^profile: --weight lts__t_sector_hit_rate\.pct: $sums dram__bytes\.sum$"
	run_profile --counters dram__bytes.sum.per_second,dram__bytes.avg --weight dram__bytes.sum.per_second touch ran
	expect_line stderr "^profile: --weight dram__bytes\.sum\.per_second: $sums none$"
	run_profile --counters default,sm__warps_launched.sum --weight sm__ctas_launched.sum touch ran
	expect_line stderr "^profile: --weight sm__ctas_launched\.sum: $sums dram__bytes\.sum, sm__warps_launched\.sum$"
	for file in out.json out.perfetto-trace out.trace.json; do
		run_profile --counters default --weight dram__bytes.sum -o $file touch ran
		expect_status 125
		expect_line stderr "^profile: --weight is for formats of stacks .*, not for $file\$"
	done
	run_profile --diff --weight dram__bytes.sum a b
	expect_status 125
	expect_line stderr "^profile: $(whole_run_drawn --diff)\$"
	expect_no_file ran
	run_profile -q -gpu-only -o none.profile "$workloads/launches" 10
	run_profile --from none.profile --weight dram__bytes.sum -o out.svg
	expect_status 125
	expect_line stderr '^profile: --weight dram__bytes\.sum: the run read no counters: --counters$'
	run_profile -q -gpu-only --counters default -o some.profile "$workloads/launches" 10
	for metric in sm__cycles_elapsed.max sm__ctas_launched.sum; do
		run_profile --from some.profile --weight $metric -o out.svg
		expect_status 125
		expect_line stderr "^profile: --weight $metric: only metrics that the run read .*: dram__bytes\.sum$"
	done
	expect_no_file out.svg
}

@test "wrong arguments" {
	run_profile --counters '' true
	expect_status 125
	expect_line stderr '^profile: --counters takes default and names of metrics'
	run_profile --counters 'a b' true
	expect_status 125
	run_profile --counters default -cpu-only true
	expect_line stderr "^profile: $(needs_gpu_time --counters -cpu-only)\$"
	run_profile --counters-kernels x true
	expect_line stderr '^profile: --counters-kernels is for --counters'
	run_profile --counters default --counters-kernels '(' true
	expect_line stderr "^profile: --counters-kernels '\\(': "
	run_profile --counters default --counters-launches 0 true
	expect_line stderr '^profile: --counters-launches takes a number of launches'
	run_profile --chip GH100 true
	expect_line stderr '^profile: --chip is for --list-counters$'
}

@test "the list of metrics" {
	"$profile" --list-counters >list
	expect_line list '^# metrics of GH100: name, type, unit, description$'
	expect_line list '^dram__bytes +counter +byte +# of bytes accessed in DRAM$'
	expect_line list '^#     .pct$'
	"$profile" --list-counters='^dram__bytes$' >list
	expect_equal 'what is above: of this type only' "$(grep '^#' list | grep -c 'names of type')" 1
	expect_line list '^# names of type counter are followed by one of:$'
	"$profile" --list-counters='hit' --chip GH100 >list
	expect_equal lines "$(grep -vc '^#' list)" 2
	run_profile --list-counters=nothing_like_it
	expect_status 125
	expect_equal 'nothing is listed' "$(wc -c <stdout)" 0
	run_profile --list-counters dram
	expect_status 125
	expect_line stderr "^profile: --list-counters runs no command; its pattern follows =: --list-counters='dram'\$"
	run_profile --list-counters --chip XX100
	expect_line stderr "knows no chip 'XX100'; it knows GH100$"
	FAKE_CUDA_DEVICES=0 run_profile --list-counters
	expect_line stderr 'this machine has no GPU that CUDA can use; name a chip: --chip GH100$'
}

@test "without a profiler: lines of JSON in a file" {
	CUDA_INJECTION64_PATH=$("$profile" --print-injection-path) INJECTION_OUTPUT=alone-%p.json \
		INJECTION_METRICS=sm__ctas_launched.sum,no__such.sum INJECTION_VERBOSE=1 "$workloads/launches" 100 >stdout 2>stderr
	expect_equal 'nothing is printed' "$(cat stderr)" ''
	python3 - <<-'END'
		import glob, json
		(path,) = glob.glob("alone-*.json")
		rows = [json.loads(line) for line in open(path)]
		assert path == f"alone-{rows[0]['pid']}.json"
		measured = [r for r in rows if "metrics" in r]
		assert [r["metrics"] for r in measured] == 5 * [{"sm__ctas_launched.sum": 1}], measured
		assert {r["kernel"] for r in measured} == {"_Z4tinyy"}
		assert len({r["correlation"] for r in measured}) == 5
		assert any("no__such.sum" in r.get("error", "") for r in rows)
		assert any("passes" in r.get("note", "") for r in rows)
		assert "graphs" in rows[-1]["not_measured"]
	END
}

@test "without a profiler: each variable" {
	export CUDA_INJECTION64_PATH
	CUDA_INJECTION64_PATH=$("$profile" --print-injection-path)
	INJECTION_OUTPUT=out.json INJECTION_METRICS=default INJECTION_METRICS_LAUNCHES=2 "$workloads/launches" 100
	expect_equal measured "$(grep -c '"metrics"' out.json)" 2
	expect_equal notes "$(grep -c '"note"' out.json)" 0
	INJECTION_OUTPUT=out.json INJECTION_METRICS=default INJECTION_METRICS_KERNELS=other "$workloads/launches" 100
	expect_equal 'appended, and nothing matched' "$(grep -c '"metrics"' out.json)" 2
	while read -r launches measured; do
		rm -f out.json
		INJECTION_OUTPUT=out.json INJECTION_METRICS=default INJECTION_METRICS_LAUNCHES="$launches" \
			"$workloads/launches" 20
		expect_equal "$launches" "$(grep -c '"metrics"' out.json)" "$measured"
		[ "$measured" -gt 0 ] || expect_line out.json "\"error\":\"'$launches' is no number of launches, nor all\""
	done <<-END
		all 20
		0 20
		4294967297 5
		some 0
		-3 0
		5x 0
	END
	rm out.json
	INJECTION_OUTPUT=out.json INJECTION_METRICS=default INJECTION_METRICS_LAUNCHES='' "$workloads/launches" 20
	expect_equal unset "$(grep -c '"metrics"' out.json)" 5
	# only who asks learns that there is no file
	INJECTION_OUTPUT=/nowhere/out.json INJECTION_METRICS=default "$workloads/launches" 100 2>stderr
	INJECTION_METRICS=default "$workloads/launches" 100 2>>stderr
	INJECTION_VERBOSE=1 "$workloads/launches" 100 2>>stderr
	expect_equal 'nothing is printed' "$(cat stderr)" ''
	INJECTION_OUTPUT=/nowhere/out.json INJECTION_METRICS=default INJECTION_VERBOSE=1 "$workloads/launches" 100 2>stderr
	expect_equal unwritable "$(cat stderr)" \
		'profile: cannot write INJECTION_OUTPUT /nowhere/out.json: No such file or directory'
	INJECTION_METRICS=default INJECTION_VERBOSE=1 "$workloads/launches" 100 2>stderr
	expect_line stderr '^profile: INJECTION_METRICS is set, but INJECTION_OUTPUT, the file for them, is not$'
	INJECTION_METRICS=default INJECTION_VERBOSE=1 "$workloads/launches" 100 2>&-
}
