# SPDX-License-Identifier: MIT
# One run in all formats: other people's programs read them, and all add up to the same nanoseconds.

load helpers

# The run takes a while, so that all tests read the files of one.
setup_file()
{
	load helpers
	if [ "$(id -u)" != 0 ]; then return; fi
	BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR enter_test_folder
	with_details
	run_profile -F 997 --waits --unit ns -o a.folded -o a.pb.gz -o a.speedscope.json \
		-o a.perfetto-trace -o a.trace.json "$workloads/inference" 20
	echo "$status" >status
}

setup()
{
	needs_root
	enter_test_folder
	cp "$BATS_FILE_TMPDIR"/{a.*,stdout,stderr,status} .
	status=$(cat status)
	expect_status 0
	# without the stand-ins: what follows are programs of this machine
	unset LD_LIBRARY_PATH
}

# The nanoseconds of a kind, as the summary reports them for the folded stacks.
in_summary()
{
	sed -n "s/^Wrote .* ns:.* \([0-9][0-9]*\) $1\b.*) to a.folded\$/\1/p" stderr
}

# Reads NAME.perfetto-trace and NAME.trace.json by the rules of their formats, to the file `sums`.
check_traces()
{
	needs_command python3
	needs_command protoc
	protoc -I "$root/tests/cli" --decode=subset.Trace trace_subset.proto \
		<"$1.perfetto-trace" >"$1.txt"
	python3 "$root/tests/cli/check_traces.py" "$1.txt" "$1.trace.json" >sums
}

# The same of a program that is run here.
trace_of()
{
	LD_LIBRARY_PATH=$fake_cuda run_profile -F 997 --waits --nvtx -o b.perfetto-trace \
		-o b.trace.json "$@"
	expect_status 0
	check_traces b
}

needs_pprof()
{
	needs_command go
	go tool pprof -raw a.pb.gz >raw 2>errors || {
		cat errors
		return 1
	}
}

# bats test_tags=quick
@test "the summary has a line for each file" {
	sed -n '/^Wrote/p' stderr >written
	expect written <<-'END'
		Wrote <N> stacks (<N> ns: <N> CPU, <N> GPU, <N> waiting) to a.folded
		Wrote <N> rows (<F> s: <F> s CPU, <F> s GPU, <F> s waiting) to a.pb.gz
		Wrote <N> stacks (<F> s: <F> s CPU, <F> s GPU, <F> s waiting) to a.speedscope.json
		Wrote <N> events (<F> s: <F> s CPU, <F> s GPU, <F> s waiting) to a.perfetto-trace
		Wrote <N> events (<F> s: <F> s CPU, <F> s GPU, <F> s waiting) to a.trace.json
	END
}

# bats test_tags=quick
@test "the JSON is well-formed, and adds up" {
	needs_command python3
	python3 -m json.tool a.speedscope.json >/dev/null
	python3 - >sums <<-'END'
		import json
		file = json.load(open("a.speedscope.json"))
		for profile in file["profiles"]:
		    assert len(profile["samples"]) == len(profile["weights"])
		    assert sum(profile["weights"]) == profile["endValue"]
		    assert all(0 <= f < len(file["shared"]["frames"]) for s in profile["samples"] for f in s)
		kinds = {}
		for profile in file["profiles"]:
		    kind = profile["name"].split(":")[0].split(",")[0]
		    kinds[kind] = kinds.get(kind, 0) + profile["endValue"]
		print(*(kinds[kind] for kind in ("All", "CPU", "GPU", "Waiting")))
	END
	expect_equal sums "$(cat sums)" \
		"$(weight_of a.folded) $(in_summary CPU) $(in_summary GPU) $(in_summary waiting)"
}

@test "each thread and stream has a profile in the JSON" {
	expect_line a.speedscope.json '"name":"CPU: inference [0-9]+, inference [0-9]+"'
	expect_line a.speedscope.json '"name":"GPU: inference [0-9]+, GPU 0, context 1, stream [0-9]+"'
	# what a thread waited for is known as sums
	expect_line a.speedscope.json '"name":"Waiting: inference [0-9]+, inference [0-9]+, by stack"'
}

@test "samples in the JSON are in order of time, as in the timeline" {
	needs_command python3
	LD_LIBRARY_PATH=$fake_cuda run_profile -gpu-only -o t.speedscope.json -o t.trace.json -o t.profile "$workloads/inference" 3
	run_profile -q --from t.profile --by device -o by.speedscope.json
	python3 - <<-'END'
		import json
		events = json.load(open("t.trace.json"))
		events = events["traceEvents"] if isinstance(events, dict) else events
		work = sorted((e["ts"], e["name"], round(e["dur"] * 1000)) for e in events if e.get("cat") == "kernel")
		merged = []
		for _, name, ns in work:
		    if merged and merged[-1][0] == name:
		        merged[-1][1] += ns
		    else:
		        merged.append([name, ns])
		assert len(merged) > 20, (len(merged), events[:3])
		for file in "t.speedscope.json", "by.speedscope.json":
		    file = json.load(open(file))
		    frames = [f["name"] for f in file["shared"]["frames"]]
		    for profile in file["profiles"]:
		        assert profile["type"] == "sampled" and not profile["name"].endswith("by stack"), profile["name"]
		        listed = []
		        for stack, ns in zip(profile["samples"], profile["weights"]):
		            full = frames[stack[-1]]
		            name = max((m for m, _ in merged if full.startswith("[GPU_Kernel]" + m)), key=len)
		            if listed and name == listed[-1][0]:
		                listed[-1][1] += ns
		            else:
		                listed.append([name, ns])
		        assert listed == merged, (listed[:5], merged[:5])
	END
	# of a part without moments, none is claimed
	run_profile -q --from t.profile -gpu-only -o part.speedscope.json
	expect_line part.speedscope.json '"name":"All"'
	run_profile -q -o w.speedscope.json -cpu-only --wall sleep 0.1
	expect_line w.speedscope.json '"name":"All, by stack"'
}

@test "go tool pprof reads the same times" {
	needs_pprof
	expect_equal 'CPU ns' "$(pprof_sum cpu raw)" "$(in_summary CPU)"
	expect_equal 'GPU ns' "$(pprof_sum gpu raw)" "$(in_summary GPU)"
	expect_equal 'waiting ns' "$(pprof_sum waiting raw)" "$(in_summary waiting)"
	expect_equal operations "$(pprof_sum operations raw)" 1480
	expect_line raw 'gpu/nanoseconds\[dflt\]'
	expect_line raw '^PeriodType: cpu nanoseconds$'
}

@test "go tool pprof shows functions, labels and build ids" {
	needs_pprof
	go tool pprof -top -sample_index=gpu a.pb.gz >top 2>&1
	expect_line top '^File: inference$'
	expect_line top '^Type: gpu$'
	expect_line top ' \[GPU_Kernel\]model::gemm'
	expect_line top ' server::Attention::forward$'
	go tool pprof -top -sample_index=cpu -tagfocus='kind=cpu' a.pb.gz >top 2>&1
	expect_line top ' server::Tokenizer::tokenize$'
	go tool pprof -tags a.pb.gz >tags 2>&1
	for key in kind process pid thread tid device context stream; do
		expect_line tags "^ $key: Total "
	done
	expect_line tags ': GPU 0$'
	build_id=$(readelf -n "$workloads/inference" | sed -n 's/.*Build ID: //p')
	expect_line raw "^[0-9]+: 0x0/0x[0-9a-f]+/0x0 $workloads/inference $build_id +\\[FN\\]"
}

@test "speedscope imports all three" {
	package=${SPEEDSCOPE_PACKAGE:-$(npm root -g 2>/dev/null || true)/speedscope}
	needs_command node
	if ! [ -d "$package/dist/release" ]; then
		skip 'the npm package speedscope is not installed: see docs/testing.md'
	fi
	node "$root/tests/cli/read_speedscope.cjs" "$package" a.folded a.pb.gz a.speedscope.json >imported
	all=$(weight_of a.folded)
	expect_line imported "^a.folded	1	$all	none	"
	expect_line imported "^a.pb.gz	1	$(in_summary GPU)	nanoseconds	"
	expect_line imported "^a.speedscope.json	[0-9]+	$all	nanoseconds	[0-9]+	All, by stack\$"
	expect_line imported "^a.speedscope.json	[0-9]+	$(in_summary GPU)	nanoseconds	[0-9]+	GPU: "
}

@test "calls that fail have the error's name in timelines, also from a capture" {
	trace_of -o a.profile "$workloads/launches" 20 4 2 refused
	expect_line sums '^argument error 20$'
	expect_equal 'JSON' "$(grep -o '"error":"[^"]*"' b.trace.json | sort | uniq -c | tr -s ' ')" \
		' 20 "error":"cudaErrorInvalidValue"'
	run_profile --from a.profile -o again.trace.json
	expect_equal 'from a capture' "$(grep -c '"error":"cudaErrorInvalidValue"' again.trace.json)" \
		"$(grep -c '"error":"cudaErrorInvalidValue"' b.trace.json)"
}

@test "protoc and python read the same timeline" {
	check_traces a
	expect_line sums "^cpu $(in_summary CPU)\$"
	expect_line sums "^GPU 0 $(in_summary GPU)\$"
	expect_line sums '^slices 2980$'
	expect_line sums '^flows 1480$'
	expect_line sums '^argument theoretical occupancy % 1480$'
	expect_line sums "^fact waiting_ns $(in_summary waiting)\$"
	expect_line sums "^fact gpu_ns_of_the_run $(in_summary GPU)\$"
	expect_line sums "^fact command $workloads/inference 20\$"
	expect_line sums '^fact timeline_records_lost 0$'
}

@test "a timeline connects a graph's launch with all its nodes" {
	trace_of "$workloads/graphs"
	expect_line sums '^flows [0-9]+$'
	expect_equal operations "$(sed -n 's/^flows //p' sums)" \
		"$(sed -n 's/^fact gpu_operations //p' sums)"
	expect_equal 'GPU ns' "$(sed -n 's/^GPU 0 //p' sums)" \
		"$(sed -n 's/^fact gpu_ns_of_the_run //p' sums)"
}

@test "a timeline has all kinds of work, of all processes" {
	trace_of "$workloads/gpu_work"
	expect_line sums '^argument memory bandwidth \(GB/s\) [1-9][0-9]*$'
	expect_equal 'GPU ns' "$(awk '/^GPU / { sum += $3 } END { printf "%.0f", sum }' sums)" \
		"$(sed -n 's/^fact gpu_ns_of_the_run //p' sums)"
	trace_of "$workloads/forks"
	expect_equal 'GPU ns' "$(awk '/^GPU / { sum += $3 } END { printf "%.0f", sum }' sums)" \
		"$(sed -n 's/^fact gpu_ns_of_the_run //p' sums)"
}

@test "a timeline shows NVTX ranges that launches were in" {
	trace_of "$workloads/nvtx_ranges"
	sed -n 's/^range //p' sums | LC_ALL=C sort >ranges # two threads are in any order
	expect ranges <<-'END'
		nvtx:before CUDA
		nvtx:color; 1
		nvtx:direct
		nvtx:größe Ж
		nvtx:inner
		nvtx:one
		nvtx:outer
		nvtx:started
		nvtx:train:forward
		nvtx:two
	END
}

@test "a timeline says what is missing" {
	FAKE_CUDA_DROP_EVERY=10 trace_of "$workloads/launches" 1000
	expect_line sums '^fact gpu_operations_dropped 100$'
	expect_line sums '^fact gpu_operations 900$'
	expect_line sums '^flows 900$'
	FAKE_CUDA_ZERO_TIMESTAMP_EVERY=7 trace_of "$workloads/launches" 1000
	expect_line sums '^fact gpu_operations_without_times 142$'
}

@test "a timeline of timed calls, of CPU samples alone, of nothing, of a part of a run" {
	FAKE_CUDA_SUBSCRIBE_ERROR=39 trace_of "$workloads/inference" 20
	expect_line sums '^slices 1500$'
	expect_line sums '^fact timed_calls_ns [1-9][0-9]*$'
	trace_of "$workloads/cpu_mix"
	expect_line sums '^cpu [1-9][0-9]*$'
	expect_line sums '^slices 0$'
	trace_of -gpu-only true
	expect_line sums '^cpu 0$'
	expect_line sums '^slices 0$'
	trace_of --device 0 "$workloads/launches" 100
	expect_line sums '^fact part --device 0$'
	expect_line sums '^slices 100$'
	expect_line sums '^flows 0$'
	expect_line sums '^cpu 0$'
}

@test "catapult, the code of chrome://tracing, imports the timeline" {
	package=${BIGRIG_PACKAGE:-$(npm root -g 2>/dev/null || true)/bigrig}
	needs_command node
	if ! [ -d "$package/lib/third_party/tracing" ]; then
		skip 'the npm package bigrig is not installed: see docs/testing.md'
	fi
	node "$root/tests/cli/read_catapult.cjs" "$package" a.trace.json >imported
	expect_line imported '^flows 1480 bound 1480$'
	expect_line imported "^samples $(($(in_summary CPU) / 1003009))\$"
	expect_line imported '^deepest 0$'
	expect_line imported "^GPU 0 of inference [0-9]+ $(in_summary GPU)\$"
	expect_line imported '^counter operations running,queued$'
	expect_line imported '^sample .*<server::InferencePipeline::run<main<'
}
