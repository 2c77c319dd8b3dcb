# SPDX-License-Identifier: MIT
# Everything at once: counters, stalls, API and allocation statistics, launch shapes, waits, metrics,
# spans, a pushed profile and the USDT probes, of one run. Each has the same totals as alone.

load helpers

setup()
{
	enter_test_folder
	needs_command python3
	needs_command node
	unset http_proxy https_proxy all_proxy no_proxy SSL_CERT_FILE PROFILE_PUSH_HEADERS
	while read -r name; do unset "$name"; done < <(compgen -e | grep -E '^(OTEL_|TRACE)')
	collector=
	server=
}

teardown()
{
	if [ -n "$collector" ]; then kill "$collector" 2>/dev/null || true; fi
	if [ -n "${keeper-}" ]; then exec {keeper}>&-; fi
	if [ -n "$server" ]; then wait "$server" || true; fi
}

# The servers that spans and profiles go to: $spans and $pushed are their ports.
serve()
{
	mkdir got server
	mkfifo held
	LD_LIBRARY_PATH='' node "$root/tests/cli/collector.cjs" got 3>&- >collector.out 2>&1 &
	collector=$!
	LD_LIBRARY_PATH='' python3 "$root/tests/cli/push_server.py" server <held >served 2>&1 3>&- &
	server=$!
	exec {keeper}>held
	wait_until test -s got/port
	wait_until test -e server/port
	spans=$(cat got/port)
	pushed=$(cat server/port)
}

# of_totals KINDS COLUMN: of the stand-ins' ground truth: 4 operations, 5 ns, 6 bytes
of_totals()
{
	awk -v kinds="$1" -v column="$2" '$2 ~ "^(" kinds ")$" { n += $column } END { printf "%d\n", n }' totals
}

# metric NAME: the sum of the series of --prometheus that begin so
metric()
{
	awk -v begins="profile_$1" 'index($0, begins) == 1 { sum += $NF } END { printf "%.10g\n", sum }' out.prom
}

# fired PROBE: how often
fired()
{
	grep -c "^$1 " fired || true
}

# of_json EXPRESSION: of the summary `s`
of_json()
{
	python3 -c 'import json, sys; s = json.load(open("out.json")); print(eval(sys.argv[1]))' "$1"
}

# everything WORKLOAD...: in `out.*`, with `totals` and `fired`
everything()
{
	PROBE_TRACER=$PWD/fired LD_PRELOAD=$workloads/libprobe_tracer.so FAKE_CUDA_STRICT=1 FAKE_CUDA_TOTALS=$PWD/totals \
		OTEL_EXPORTER_OTLP_PROTOCOL=http/json run_profile -gpu-only --strict --unit ns --counters default \
		--stalls --api --alloc --launch-shapes --waits --prometheus out.prom --otlp "http://127.0.0.1:$spans" \
		--otlp spans.jsonl --push "http://127.0.0.1:$pushed" -o out.folded -o out.json -o out.html \
		-o out.pb.gz -o out.profile "$@"
}

@test "all that can be measured, in one run: each has all of it" {
	serve
	everything "$workloads/gpu_work"
	expect_status 0
	kernels=$(of_totals kernel 4) kernel_ns=$(of_totals kernel 5)
	copies=$(of_totals memcpy 4) copied=$(of_totals memcpy 6)
	[ "$kernels" -gt 0 ] && [ "$copies" -gt 0 ]

	# the profile, its JSON, the metrics, the spans, the pushed profile, the probes
	grep -v '\[waiting for GPU\]' out.folded >gpu.folded || true
	gpu_ns=$((kernel_ns + $(of_totals 'memcpy|memset' 5)))
	expect_equal 'profile: kernels' "$(weight_of gpu.folded '\[GPU_Kernel\]')" "$kernel_ns"
	expect_equal 'profile: all' "$(weight_of gpu.folded '\[GPU_[A-Z]')" "$gpu_ns"
	expect_equal 'JSON: kernels' "$(of_json 'sum(k["calls"] for k in s["kernels"])')" "$kernels"
	expect_equal 'JSON: kernel ns' "$(of_json 'sum(k["ns"] for k in s["kernels"])')" "$kernel_ns"
	expect_equal 'metrics: kernels' "$(metric 'kernel_duration_seconds_count{')" "$kernels"
	expect_equal 'metrics: copies' "$(metric 'copy_bytes_count{')" "$copies"
	expect_equal 'metrics: copied' "$(metric 'copy_bytes_sum{')" "$copied"
	for file in spans.jsonl got/*.jsonl; do cat "$file" >>"${file%%/*}.all"; done
	for list in spans.jsonl.all got.all; do
		expect_equal "$list: kernels" "$(grep -o '"cuda.kernel.name"' $list | wc -l)" "$kernels"
	done
	expect_equal 'spans at the collector' "$(grep -o '"spanId"' got.all | wc -l)" \
		"$(grep -o '"spanId"' spans.jsonl.all | wc -l)"
	expect_equal 'probes: kernels' "$(fired kernel_done)" "$kernels"
	expect_equal 'probes: copies' "$(fired memcpy_done)" "$copies"
	expect_equal 'probes: allocations' "$(fired malloc)" "$(awk '/memory alloc/ { print $4 }' totals)"
	if command -v go >/dev/null; then
		go tool pprof -raw server/profile.1 2>errors >raw
		expect_equal pushed "$(pprof_sum gpu raw)" "$gpu_ns"
	fi

	# what only one option knows
	expect_equal shapes "$(of_json 'sum(r["calls"] for r in s["launch_shapes"])')" "$kernels"
	# those of graphs' nodes are not measured
	expect_equal 'counters: launches' \
		"$(of_json 'sum(r["launches"] for r in s["hardware_counters"] if r["metric"] == "dram__bytes.sum")')" \
		"$(of_json 'sum(k["calls"] for k in s["kernels"] if "node_kernel" not in k["name"])')"
	[ "$(of_json 'sum(r["measured"] for r in s["hardware_counters"])')" -gt 0 ]
	expect_line out.folded '\[GPU_Kernel\][^;]*;.*\[stall: '
	expect_equal 'API: allocations' "$(of_json 'sum(c["calls"] for c in s["api_calls"] if c["function"] == "cudaMalloc")')" \
		"$(grep -c '^malloc .* cudaMalloc ' fired)"
	expect_equal left "$(of_json 'sum(r["left_bytes"] for r in s["memory"])')" \
		"$(($(awk '/memory alloc/ { print $6 }' totals) - $(awk '/memory free/ { print $6 }' totals)))"
	expect_equal waits "$(of_json 's["totals"]["waiting_ns"]')" "$(weight_of out.folded '\[waiting for GPU\]')"

	# and a capture keeps it
	mv out.folded first.folded
	mv out.json first.json
	run_profile -q --from out.profile --unit ns -o out.folded -o out.json
	expect_status 0
	cmp first.folded out.folded
	python3 - <<-'END'
		import json
		first, again = (json.load(open(name)) for name in ("first.json", "out.json"))
		for key in "kernels", "api_calls", "memory", "launch_shapes", "hardware_counters", "stalls":
		    assert key in first and first[key] == again[key], key
	END
}

@test "the same with threads and random allocations" {
	serve
	everything "$workloads/memory_use" 300 7 4 left
	expect_status 0
	cp stdout said
	for what in peak left; do
		expect_equal $what "$(of_json "sum(r['${what}_bytes'] for r in s['memory'] if r['memory'].startswith('device'))")" \
			"$(sed -n "s/^peak \([0-9]*\) left \([0-9]*\)$/peak \1 left \2/p" said | head -n 1 |
				sed "s/.*$what \([0-9]*\).*/\1/")"
	done
	expect_equal 'spans at the collector' "$(cat got/*.jsonl | grep -o '"spanId"' | wc -l)" \
		"$(grep -o '"spanId"' spans.jsonl | wc -l)"
}
