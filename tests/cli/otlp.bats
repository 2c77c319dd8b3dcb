# SPDX-License-Identifier: MIT
# --otlp: every call and operation is a span, once, in files and at a collector, which gets them while
# the run goes on; what is lost is counted, and the run stays what it was.

load helpers

setup()
{
	enter_test_folder
	package=${OTLP_PACKAGE:-$(npm root -g 2>/dev/null || true)/@opentelemetry/otlp-transformer}
	while read -r name; do unset "$name"; done < <(compgen -e | grep -E '^(OTEL_|TRACE)')
	collector=
}

teardown()
{
	if [ -n "$collector" ]; then kill "$collector" 2>/dev/null || true; fi
	if [ -n "${pid-}" ]; then
		# shellcheck disable=SC2046
		kill -KILL $(child_of "$pid") $(worker_of "$pid") "$pid" 2>/dev/null || true
	fi
}

needs_schema()
{
	needs_command node
	if ! [ -e "$package/build/src/generated/root.js" ]; then
		skip 'the npm package @opentelemetry/otlp-transformer@0.208.0 is not installed: see docs/testing.md'
	fi
}

# read_spans FILE...: in the file `spans`, what they add up to, if they are as the schema says.
read_spans()
{
	LD_LIBRARY_PATH='' node "$root/tests/cli/read_spans.cjs" "$package" "$@" >spans
}

# start_collector ANSWER...: sets $collector, its pid, and $url, and makes the folder `got`
start_collector()
{
	needs_command node
	mkdir got
	LD_LIBRARY_PATH='' node "$root/tests/cli/collector.cjs" got "$@" 3>&- >collector.out 2>&1 &
	collector=$!
	for ((i = 0; i < 10 * patience; i++)); do
		if [ -s got/port ]; then break; fi
		sleep 0.1
	done
	url=http://127.0.0.1:$(cat got/port)
}

# The collector has got a request.
has_got()
{
	[ -s got/log ]
}

# How many spans of OTLP JSON are in files.
count_spans()
{
	cat "$@" 2>/dev/null | grep -o '"spanId"' | wc -l
}

# The collector has so many spans of OTLP JSON, or more.
has_spans()
{
	[ "$(count_spans got/*.jsonl)" -ge "$1" ]
}

# 100 launches and, when the file `go` is there, 50 more, in a process of their own each time.
two_parts()
{
	printf '%s 100\ntouch first\nuntil [ -e go ]; do sleep 0.05; done\n%s 50\nexit 7\n' \
		"$workloads/launches" "$workloads/launches" >two_parts
	echo 'sh two_parts'
}

# What was read, without what files alone have: the number of requests is their own, and so are links.
spans_of_both()
{
	grep -Ev '^(requests|links?|links_dropped|links_wrong) ' spans
}

# The collector has got what is in out.jsonl, which was written at the end: the same spans, once.
expect_the_same_as_in_the_file()
{
	read_spans out.jsonl
	spans_of_both >written
	read_spans got/*.pb
	diff written <(spans_of_both)
}

# The sum of a column of the stand-ins' ground truth, for kinds of work.
of_totals()
{
	awk -v kinds="$1" -v column="$2" '$2 ~ "^(" kinds ")$" { n += $column } END { printf "%d\n", n }' totals
}

# All that the stand-ins did is among the spans that were read, and has its launch.
expect_all_work()
{
	expect_equal kernels "$(sed -n 's/^kernels //p' spans)" \
		"$(of_totals kernel 4) $(of_totals kernel 5)"
	expect_equal copies "$(awk '/^memcpy/ { n += $2; ns += $3 } END { print n, ns }' spans)" \
		"$(of_totals memcpy 4) $(of_totals memcpy 5)"
	expect_equal sets "$(sed -n 's/^memset //p' spans)" \
		"$(of_totals memset 4) $(of_totals memset 5)"
	expect_equal 'GPU time' "$(sed -n 's/^operations [0-9]* //p' spans)" \
		"$(weight_of out.folded '\[GPU_[A-Z][^;]*$')"
	expect_equal linked "$(sed -n 's/^linked //p' spans)" "$(sed -n 's/^operations \([0-9]*\) .*/\1/p' spans)"
	expect_equal spans "$(sed -n 's/^spans //p' spans)" \
		"$(awk '/^(launch|wait|call|operations) / { n += $2 } END { print n + 1 }' spans)"
}

# bats test_tags=quick
@test "all calls and operations are spans, in JSON and in protocol buffers, and from a capture" {
	with_details
	needs_schema
	FAKE_CUDA_TOTALS=$PWD/totals run_profile -gpu-only --waits --unit ns -o out.folded \
		-o out.profile --otlp out.jsonl --otlp out.pb "$workloads/gpu_work"
	expect_status 0
	read_spans out.jsonl
	expect_all_work
	expect_equal waits "$(sed -n 's/^waited //p' spans)" \
		"$(sed -n 's/^Wrote .* \([0-9]*\) waiting) to out.folded$/\1/p' stderr)"
	expect_line stderr "^Wrote $(sed -n 's/^spans //p' spans) spans \(.*\) to out.jsonl\$"
	expect_line spans '^processes 1$'
	expect_line spans '^flags 259$'
	expect_line spans '^exit 0$'
	expect_line spans '^status $'
	expect_line spans '^stacks 0$'
	expect_line spans '^parent $'
	expect_line spans "^host $(uname -n)\$"
	expect_line spans '^service gpu_work$'
	expect_line spans "^command \[\"$workloads/gpu_work\"\]\$"
	grep -v '^requests ' spans >json
	read_spans out.pb
	grep -v '^requests ' spans >protobuf
	diff json protobuf
	# another trace of the same run
	run_profile --from out.profile --otlp again.jsonl
	expect_status 0
	expect_no_file merged_trace.folded
	read_spans again.jsonl
	grep -v '^requests \|^trace \|^tree ' spans >again
	diff <(grep -v '^trace \|^tree ' json) again
	expect_no_line json "^$(grep '^trace ' spans)\$"
}

@test "calls that fail have the status and the error's name, others none" {
	needs_schema
	start_collector 200
	run_profile -gpu-only --waits -o out.profile --otlp out.jsonl --otlp out.pb --otlp "$url" \
		"$workloads/launches" 20 4 2 refused
	expect_status 0
	read_spans out.jsonl
	expect_line spans '^failed 20$'
	expect_equal failures "$(grep '^failure ' spans)" 'failure cudaLaunchKernel cudaErrorInvalidValue'
	expect_line spans '^status $'
	spans_of_both >json
	read_spans out.pb
	diff json <(spans_of_both)
	read_spans got/*.pb
	diff json <(spans_of_both)
	run_profile --from out.profile --otlp again.jsonl
	expect_status 0
	read_spans again.jsonl
	diff <(grep '^fail' json) <(grep '^fail' spans)
}

@test "waits are linked to the operation that they waited for" {
	needs_schema
	start_collector 200
	run_profile -gpu-only --waits -o out.profile --otlp out.jsonl --otlp out.pb --otlp "$url" \
		"$workloads/waits" 3 2 300000
	expect_status 0
	read_spans out.jsonl
	# each is the one that the definition says. A busy machine may wait only when all has ended.
	expect_line spans '^links_wrong 0$'
	expect_line spans '^links [1-9]'
	expect_no_line spans '^link [^ ]* (event|copy|device)_kernel '
	expect_no_line spans '^link cudaDeviceSynchronize '
	grep '^link' spans >json
	read_spans out.pb
	diff json <(grep '^link' spans)
	# while the run goes on, none is certain: each of the 9 waits for a stream says so
	read_spans got/*.pb
	expect_line spans '^links 0$'
	expect_line spans '^links_dropped 9$'
	# of a part, or with losses, none is certain either
	run_profile --from out.profile --time 0.. --otlp part.jsonl
	expect_status 0
	read_spans part.jsonl
	expect_line spans '^links 0$'
	expect_line spans '^links_dropped 9$'
	run_profile --from out.profile --otlp again.jsonl
	expect_status 0
	read_spans again.jsonl
	diff json <(grep '^link' spans)
}

@test "waits for graphs and for many operations have links" {
	needs_schema
	run_profile -gpu-only --waits -o out.folded --otlp out.jsonl "$workloads/inference" 10
	expect_status 0
	read_spans out.jsonl
	expect_line spans '^links_wrong 0$'
	# 74 operations each, of which many end during the call
	expect_line spans '^link cudaStreamSynchronize '
	run_profile -gpu-only --waits -o out.folded --otlp out.jsonl "$workloads/graphs" threads
	expect_status 0
	read_spans out.jsonl
	expect_line spans '^links_wrong 0$'
}

@test "calls have their stacks with --otlp-stacks, and parts of a run have their spans" {
	needs_schema
	run_profile -gpu-only -o out.profile --otlp-stacks --otlp out.jsonl "$workloads/launches" 100
	expect_status 0
	read_spans out.jsonl
	expect_line spans '^spans 201$'
	expect_line spans '^stacks 100$'
	expect_line out.jsonl '"code.stacktrace","value":\{"stringValue":"cudaLaunchKernel\\u000a([^"]*\\u000a)?main'
	run_profile --from out.profile --kernel nothing_is_called_so --otlp out.jsonl
	expect_status 0
	read_spans out.jsonl
	expect_line spans '^operations 0 0$'
}

@test "the spans are part of the caller's trace" {
	needs_schema
	local trace=4bf92f3577b34da6a3ce929d0e0e4736 parent=00f067aa0ba902b7

	TRACEPARENT=00-$trace-$parent-01 TRACESTATE=rojo=00f067,congo=t61 \
		run_profile -gpu-only -o out.folded --otlp out.pb "$workloads/launches" 10
	expect_status 0
	read_spans out.pb
	expect_line spans "^trace $trace\$"
	expect_line spans "^parent $parent\$"
	expect_line spans '^state rojo=00f067,congo=t61$'
	expect_line spans '^flags 769$'
	# a state is nothing without a parent
	TRACEPARENT=00-${trace^^}-$parent-01 TRACESTATE=rojo=00f067 \
		run_profile -gpu-only -o out.folded --otlp out.pb "$workloads/launches" 10
	expect_status 0
	expect_line stderr '^profile: TRACEPARENT is not a trace context of W3C, '
	read_spans out.pb
	expect_no_line spans "^trace $trace\$"
	expect_line spans '^parent $'
	expect_line spans '^state $'
	# nobody records a trace that is not sampled
	TRACEPARENT=00-$trace-$parent-00 \
		run_profile -gpu-only --strict -o out.folded --otlp out.pb "$workloads/launches" 10
	expect_status 0
	expect_line stderr '^profile: the trace in TRACEPARENT is not sampled: there will be no spans'
	expect_empty out.pb
}

@test "the environment names the service and describes the resource" {
	needs_schema
	OTEL_SERVICE_NAME=trainer OTEL_RESOURCE_ATTRIBUTES='service.name=x,host.name=n%2C7, team = a%20b,' \
		run_profile -gpu-only -o out.folded --otlp out.jsonl "$workloads/launches" 10
	expect_status 0
	read_spans out.jsonl
	expect_line spans '^service trainer$'
	expect_line spans '^host n,7$'
	expect_line spans '^resource .*,team,'
	expect_line out.jsonl '"key":"team","value":\{"stringValue":"a b"\}'
	OTEL_RESOURCE_ATTRIBUTES='service.name=x,nothing' \
		run_profile -gpu-only -o out.folded --otlp out.jsonl "$workloads/launches" 10
	expect_status 0
	expect_line stderr '^profile: OTEL_RESOURCE_ATTRIBUTES is not a list of key=value'
	read_spans out.jsonl
	expect_line spans '^service launches$'
}

@test "each process is a resource, and the run has the command's exit status" {
	needs_schema
	run_profile -gpu-only -o out.folded --otlp out.pb "$workloads/forks"
	expect_status 0
	read_spans out.pb
	expect_line spans '^processes 3$'
	expect_line spans '^kernels 32 1600000$'
	expect_line spans '^linked 32$'
	run_profile -gpu-only -o out.folded -o out.profile --otlp out.pb sh -c 'echo $$ >pid; exit 3' sh "it's" ''
	expect_status 3
	read_spans out.pb
	expect_line spans '^spans 1$'
	expect_line spans '^exit 3$'
	expect_line spans '^status 2 exit status 3$'
	expect_line spans "^pid $(cat pid)\$"
	expect_line spans '^command \["sh","-c","echo \$\$ >pid; exit 3","sh","it.s",""\]$'
	grep -v '^trace \|^tree ' spans >live
	run_profile --from out.profile --otlp out.pb
	expect_status 0
	read_spans out.pb
	diff live <(grep -v '^trace \|^tree ' spans)
	run_profile -gpu-only -o out.folded --otlp out.pb sh -c 'kill -SEGV $$'
	expect_status 139
	read_spans out.pb
	expect_line spans '^exit 139$'
}

@test "hostile words and names become valid text" {
	needs_schema
	run_profile -gpu-only -o out.folded --otlp out.jsonl --otlp out.pb \
		sh -c ': "$0" "$@"; exit 0' $'a\xff\x01\n"\\' "$(head -c 3000 /dev/zero | tr '\0' '\342')"
	expect_status 0
	read_spans out.jsonl
	expect_line spans '^command \["sh",.*"a\?\?\?\\"'
	read_spans out.pb
}

@test "a collector gets every span, once" {
	needs_schema
	start_collector 200
	FAKE_CUDA_TOTALS=$PWD/totals run_profile -gpu-only --strict --unit ns -o out.folded \
		--otlp out.jsonl --otlp "$url" "$workloads/gpu_work"
	expect_status 0
	read_spans out.jsonl
	expect_all_work
	expect_equal 'bad requests' "$(grep -cv '^200 POST /v1/traces application/x-protobuf - profile/[0-9.]* - ' got/log || true)" 0
	expect_the_same_as_in_the_file
	expect_line stderr "^Sent $(sed -n 's/^spans //p' spans) spans \(.* in $(grep -c . got/log) requests\) to $url/v1/traces\$"
}

listens_or_ended()
{
	[ -s store/port ] || ! kill -0 "$collector"
}

# start_receiver PACKAGE: sets $collector, its pid, and makes the folder `store`, with its port
start_receiver()
{
	mkdir store
	LD_LIBRARY_PATH='' node "$root/tests/cli/receiver.cjs" "$1" store 3>&- >receiver.out 2>&1 &
	collector=$!
	wait_until listens_or_ended
}

@test "a receiver that others wrote has every span, once, below its call, with its status" {
	local receiver=${RECEIVER_PACKAGE:-$(npm root -g 2>/dev/null || true)/@genkit-ai/telemetry-server} port

	needs_command node
	needs_command python3
	if ! [ -e "$receiver/package.json" ]; then
		skip 'the npm package @genkit-ai/telemetry-server is not installed: see docs/testing.md'
	fi
	start_receiver "$receiver"
	port=$(cat store/port)
	OTEL_EXPORTER_OTLP_PROTOCOL=http/json run_profile -gpu-only --strict --waits -o /dev/null --otlp out.jsonl \
		--otlp "http://127.0.0.1:$port/api/otlp" "$workloads/launches" 20 4 2 refused
	expect_status 0
	python3 - <<-'END' >want
		import json
		for line in open("out.jsonl"):
		    for resource in json.loads(line)["resourceSpans"]:
		        for scope in resource["scopeSpans"]:
		            for s in scope["spans"]:
		                print(s["spanId"], s.get("parentSpanId") or "-", s.get("status", {}).get("code", 0), s["name"])
		                open("trace", "w").write(s["traceId"])
	END
	LD_LIBRARY_PATH='' node "$root/tests/cli/receiver.cjs" "$receiver" "$(cat trace)" "$port" >got
	[ "$(wc -l <want)" -gt 60 ]
	expect_equal 'failed calls' "$(grep -c ' 2 cudaLaunchKernel$' got)" 20
	diff <(sort want) <(sort got)
	expect_line stderr "^Sent $(wc -l <want) spans "
}

@test "OTEL_SDK_DISABLED: nothing is sent, files are written" {
	needs_schema
	start_collector 200
	OTEL_SDK_DISABLED=TRUE run_profile -gpu-only --strict -o out.profile --otlp out.jsonl --otlp "$url" \
		"$workloads/launches" 10
	expect_status 0
	expect_line stderr '^No spans are sent: OTEL_SDK_DISABLED is true$'
	expect_no_line stderr '^Sent '
	expect_equal 'requests' "$(cat got/log got/*.jsonl 2>/dev/null | grep -c . || true)" 0
	read_spans out.jsonl
	expect_line spans '^kernels 10 '
	OTEL_SDK_DISABLED=true run_command "$profile" --from out.profile --otlp env
	expect_status 0
	expect_line stderr '^No spans are sent: OTEL_SDK_DISABLED is true$'
}

@test "the environment says how a collector is reached" {
	needs_schema
	start_collector 200
	OTEL_EXPORTER_OTLP_ENDPOINT=$url/base/ OTEL_EXPORTER_OTLP_PROTOCOL=http/json \
		OTEL_EXPORTER_OTLP_COMPRESSION=gzip OTEL_EXPORTER_OTLP_HEADERS=X-Key=a%20secret \
		run_profile -gpu-only -o out.profile --otlp env "$workloads/launches" 1000
	expect_status 0
	expect_equal 'bad requests' "$(grep -cv '^200 POST /base/v1/traces application/json gzip profile/[0-9.]* a secret ' got/log || true)" 0
	expect_no_line stderr secret
	read_spans got/*.jsonl
	expect_line spans '^kernels 1000 '
	expect_line spans '^linked 1000$'
	rm got/*.jsonl got/log
	# the variables of traces take precedence, and a URL on the command line over theirs
	OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=$url/as/it/is OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 \
		OTEL_EXPORTER_OTLP_PROTOCOL=http/json OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf \
		run_profile --from out.profile --otlp env
	expect_status 0
	expect_line got/log '^200 POST /as/it/is application/x-protobuf - '
	OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 run_profile --from out.profile --otlp "$url/mine"
	expect_status 0
	expect_line got/log '^200 POST /mine application/x-protobuf - '
}

@test "what cannot be sent to is said before the command runs" {
	run_profile -gpu-only --otlp env touch ran
	expect_status 125
	expect stderr <<-'END'
		profile: --otlp env: OTEL_EXPORTER_OTLP_ENDPOINT is not set
	END
	OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318 run_profile -gpu-only --otlp env touch ran
	expect_status 125
	expect_line stderr '^profile: --otlp: the URL: it must begin with http:// or https://$'
	OTEL_EXPORTER_OTLP_PROTOCOL=grpc run_profile -gpu-only --otlp http://127.0.0.1:1 touch ran
	expect_status 125
	expect_line stderr '^profile: OTEL_EXPORTER_OTLP_PROTOCOL: profile sends http/protobuf or http/json'
	OTEL_EXPORTER_OTLP_HEADERS=nothing run_profile -gpu-only --otlp http://127.0.0.1:1 touch ran
	expect_status 125
	expect_line stderr '^profile: --otlp: the headers: '
	run_profile -gpu-only --otlp nowhere/out.jsonl touch ran
	expect_status 125
	expect_line stderr '^profile: cannot write nowhere/out.jsonl: '
	expect_no_file ran
	expect_no_file merged_trace.folded
}

@test "a collector gets what it would at the end, whatever the program does" {
	local work

	needs_schema
	start_collector 200
	for work in 'waits 2' 'graphs' 'conditionals' 'forks' 'driver_api' 'durations' 'memory_use' \
		'launches 30 3 2 mixed' 'launches 30 3 2 refused' 'launches 20 4 1 cancelled' 'device_reset'; do
		rm -f got/*.pb got/log
		# words
		# shellcheck disable=SC2086
		run_profile -gpu-only --waits --alloc --unit ns -o out.folded --otlp out.jsonl --otlp "$url" \
			"$workloads/"$work
		echo "$work"
		expect_the_same_as_in_the_file
		expect_no_line stderr 'did not arrive'
	done
	# a part of the run: those launched before it are not known
	rm -f got/*.pb got/log
	run_profile -gpu-only --unit ns --delay 200ms -d 400ms -o out.folded --otlp out.jsonl --otlp "$url" \
		"$workloads/steady" 1000
	expect_the_same_as_in_the_file
	expect_equal 'GPU time' "$(sed -n 's/^operations [0-9]* //p' spans)" "$(weight_of out.folded)"
}

@test "spans arrive while the program runs, each once, and the run's at its end" {
	needs_schema
	start_collector 200
	# words
	# shellcheck disable=SC2046
	OTEL_EXPORTER_OTLP_PROTOCOL=http/json start_profile -gpu-only --strict --unit ns -o out.folded \
		--otlp out.jsonl --otlp "$url" $(two_parts)
	wait_until has_spans 200
	[ -e first ]
	[ ! -e out.jsonl ]
	expect_equal 'spans of the run' "$(cat got/*.jsonl | grep -c 'process.exit.code' || true)" 0
	touch go
	finish_profile
	expect_status 7
	expect_equal 'GPU time' "$(weight_of out.folded)" 150000
	read_spans out.jsonl
	spans_of_both >written
	expect_line written '^spans 301$'
	expect_line written '^linked 150$'
	expect_line written '^exit 7$'
	read_spans got/*.jsonl
	diff written <(spans_of_both)
	expect_line stderr "^Sent 301 spans \(.* in $(grep -c . got/log) requests\) to "
}

@test "a process is followed while it launches, and when we attach to it" {
	needs_command node
	start_collector 200
	OTEL_EXPORTER_OTLP_PROTOCOL=http/json start_profile -gpu-only -o out.folded --otlp "$url" \
		"$workloads/steady" 1000000000
	wait_until has_spans 40
	# which make and send requests
	expect_equal 'threads that give way' "$(sed 's/.*) //' "/proc/$(worker_of "$pid")"/task/*/stat |
		awk '$17 == 10' | grep -c .)" 2
	kill -INT "$pid"
	finish_profile
	expect_status 130
	expect_equal unknown "$(cat got/*.jsonl | grep -c launch_unknown || true)" 0
	expect_no_line stderr 'did not arrive'
	if [ "$(id -u)" != 0 ]; then return; fi
	rm -f got/*.jsonl got/log
	"$workloads/steady" 1000000000 >steady.out 2>&1 3>&- &
	local target=$!
	wait_until grep -q work steady.out
	OTEL_EXPORTER_OTLP_PROTOCOL=http/json start_profile -gpu-only -o out.folded --otlp "$url" -p "$target"
	wait_until has_spans 40
	kill -INT "$pid"
	finish_profile
	kill "$target"
	expect_status 0
	expect_line stderr "^Sent $(count_spans got/*.jsonl) spans "
}

@test "what is sent at the end alone: stacks of calls, and parts of a run" {
	needs_schema
	start_collector 200
	run_profile -gpu-only --otlp-stacks -o out.folded --otlp "$url" "$workloads/launches" 100
	expect_status 0
	expect_line stderr '^With --otlp-stacks, spans are sent when the run is over$'
	read_spans got/*.pb
	expect_line spans '^spans 201$'
	expect_line spans '^stacks 100$'
	rm got/*.pb
	run_profile -gpu-only --kernel nothing_is_called_so -o out.folded --otlp "$url" "$workloads/launches" 100
	expect_status 0
	expect_line stderr '^With a part of the run, spans are sent when the run is over$'
	read_spans got/*.pb
	expect_line spans '^operations 0 0$'
}

@test "a snapshot sends nothing" {
	needs_schema
	start_collector 200
	# words
	# shellcheck disable=SC2046
	start_profile -gpu-only --unit ns --control control -o out.folded --otlp "$url" $(two_parts)
	wait_until test -e first
	timeout 60 sh -c 'echo snapshot >control'
	wait_until grep -q "^$(snapshot_written 1)" stderr
	touch go
	finish_profile
	expect_status 7
	expect_equal 'GPU time then' "$(weight_of out.1.folded)" 100000
	read_spans got/*.pb
	expect_line spans '^spans 301$'
	expect_line stderr '^Sent 301 spans '
}

@test "a busy collector gets all of it later" {
	needs_schema
	start_collector 429/1 close 503 200 502 200
	run_profile -gpu-only --strict -o out.folded --otlp "$url" "$workloads/launches" 800
	expect_status 0
	expect_line stderr "^Sent 1601 spans \(.* in $(grep -c '^200' got/log) requests\) to "
	read_spans got/*.pb
	expect_line spans '^spans 1601$'
	expect_equal requests "$(awk '{ printf "%s ", $1 }' got/log | cut -c 1-33)" '429 close 503 200 502 200 200 200'
}

@test "an answer that is cut counts by its status: spans are not sent twice" {
	needs_schema
	start_collector cut/200
	run_profile -gpu-only --otlp "$url" --otlp out.jsonl "$workloads/launches" 600
	expect_status 0
	expect_line stderr '^Sent 1201 spans '
	expect_no_line stderr 'did not arrive'
	expect_equal requests "$(wc -l <got/log)" "$(sed -n 's/^Sent 1201 .* in \([0-9]*\) requests.*/\1/p' stderr)"
	expect_the_same_as_in_the_file
	kill "$collector"
	mv got first
	start_collector cut/400
	run_profile -gpu-only --otlp "$url" "$workloads/launches" 600
	expect_status 0
	expect_line stderr '^profile: 1201 spans did not arrive: .* answered 400$'
}

# Ten minutes for a request: nothing but the limit of an answer ends it.
@test "a collector whose answers drip for ever gets the spans, once, and holds nobody" {
	needs_schema
	start_collector drip/body
	OTEL_EXPORTER_OTLP_TIMEOUT=600000 \
		run_profile -gpu-only --otlp "$url" --otlp out.jsonl "$workloads/launches" 600
	expect_status 0
	expect_line stderr '^Sent 1201 spans '
	expect_no_line stderr 'did not arrive'
	expect_equal requests "$(wc -l <got/log)" "$(sed -n 's/^Sent 1201 .* in \([0-9]*\) requests.*/\1/p' stderr)"
	expect_the_same_as_in_the_file
	kill "$collector"
	mv got first
	start_collector drip/header
	OTEL_EXPORTER_OTLP_TIMEOUT=300 run_profile -gpu-only --otlp "$url" "$workloads/launches" 10
	expect_status 0
	expect_line stderr '^profile: 21 spans did not arrive: .*: no answer in time, 5 times$'
}

@test "a killed helper costs the spans, is said, and nothing else" {
	local helper

	start_collector 200
	# words
	# shellcheck disable=SC2046
	start_profile -gpu-only --unit ns --strict -o out.folded --otlp "$url" $(two_parts)
	wait_until test -e first
	helper=$(pgrep -x -P "$(worker_of "$pid")" profile-helper)
	kill -KILL "$helper"
	touch go
	finish_profile
	expect_status 124
	expect_equal 'GPU time' "$(weight_of out.folded)" 150000
	expect_line stderr '^profile: [0-9]+ spans did not arrive: .*: profile-helper, the process that sends, has ended$'
}

@test "a slow collector gets all of it" {
	needs_schema
	start_collector slow/700
	run_profile -gpu-only --strict -o out.folded --otlp "$url" "$workloads/launches" 2000
	expect_status 0
	read_spans got/*.pb
	expect_line spans '^spans 4001$'
}

@test "spans that a collector refuses are counted, and the run is what it was" {
	local there

	start_collector 200 400 refused/1 200
	OTEL_EXPORTER_OTLP_PROTOCOL=http/json \
		run_profile -gpu-only -o out.folded --otlp "$url" true
	expect_status 0
	expect_no_line stderr 'did not arrive'
	expect_equal requests "$(grep -c . got/log)" 1
	rm got/0001.jsonl
	OTEL_EXPORTER_OTLP_PROTOCOL=http/json \
		run_profile -gpu-only -o out.folded --otlp "$url" sh -c '"$1" 600; exit 9' sh "$workloads/launches"
	expect_status 9
	# the first request was refused, and one span of the second
	there=$(count_spans got/*.jsonl)
	[ "$there" -lt 1201 ]
	expect_line stderr "^Sent $((there - 1)) spans \(.* in $(grep -c '^refused\|^200' <(tail -n +2 got/log)) requests\) to "
	expect_line stderr "^profile: $((1201 - there + 1)) spans did not arrive: .*/v1/traces answered 400 \(status 400\)\$"
}

@test "spans that a collector refuses in a compressed answer are counted" {
	local requests

	start_collector zipped/1
	run_profile -gpu-only -o out.folded --otlp "$url" "$workloads/launches" 10
	expect_status 0
	requests=$(grep -c . got/log)
	expect_line stderr "^profile: $requests spans did not arrive: the collector refused them\$"
}

@test "a collector that answers with a page accepts nothing" {
	start_collector page
	run_profile -gpu-only -o out.folded --otlp "$url" "$workloads/launches" 10
	expect_status 0
	expect_line stderr '^profile: 21 spans did not arrive: .*/v1/traces answered with a page for browsers: it takes nothing at this path$'
}

@test "a collector that refuses all is reported while the program runs" {
	start_collector 400
	# words
	# shellcheck disable=SC2046
	start_profile -gpu-only -o out.folded --otlp "$url" $(two_parts)
	wait_until grep -q '^profile: spans do not arrive: ' stderr
	touch go
	finish_profile
	expect_status 7
	expect_equal reports "$(grep -c '^profile: spans do not arrive: .* answered 400 (status 400); others are still sent$' stderr)" 1
	expect_line stderr '^profile: 301 spans did not arrive: .* answered 400 '
}

@test "--strict: what did not arrive is a loss" {
	local requests

	start_collector refused/1
	run_profile -gpu-only --strict -o out.folded --otlp "$url" "$workloads/launches" 10
	expect_status 124
	requests=$(grep -c . got/log)
	expect_line stderr "^profile: $requests spans did not arrive: the collector refused them\$"
	expect_line stderr "^$(strict_says 'spans that did not arrive' "$requests")\$"
	rm -r got
	kill "$collector"
	start_collector 401
	run_profile -gpu-only --strict -o out.folded --otlp "$url" "$workloads/launches" 10
	expect_status 124
	expect_line stderr '^profile: 21 spans did not arrive: .* answered 401: credentials are missing or wrong'
}

@test "a collector that goes away, or is not there, costs its spans and nothing else" {
	local there

	start_collector 200 end
	OTEL_EXPORTER_OTLP_PROTOCOL=http/json \
		run_profile -gpu-only --unit ns -o out.folded --otlp "$url" "$workloads/launches" 600
	expect_status 0
	expect_line stdout '^launches 600 kernels 600 '
	expect_equal 'GPU time' "$(weight_of out.folded)" 600000
	there=$(count_spans got/0001.jsonl)
	[ "$there" -ge 1 ]
	expect_line stderr "^Sent $there spans? \(.* in 1 request\) to "
	expect_line stderr "^profile: $((1201 - there)) spans did not arrive: $url/v1/traces: .*, 5 times\$"
	run_profile -gpu-only -o out.folded --otlp "$url" "$workloads/launches" 10
	expect_status 0
	expect_line stderr '^Sent 0 spans \(0 B in 0 requests\) to '
	expect_line stderr '^profile: 21 spans did not arrive: '
}

@test "a collector that never answers neither stops the program nor fills the memory" {
	with_details
	start_collector never
	FAKE_CUDA_TOTALS=$PWD/totals OTEL_EXPORTER_OTLP_TIMEOUT=600000 start_profile -gpu-only --unit ns \
		-o out.folded --otlp "$url" sh -c '"$1" 300000; touch ended' sh "$workloads/launches"
	wait_until test -e ended
	wait_until grep -q '^Wrote .* to out.folded$' stderr
	expect_line stdout '^launches 300000 kernels 300000 '
	expect_equal 'GPU time' "$(weight_of out.folded)" 300000000
	wait_until grep -q "^$waiting_for " stderr
	kill -INT "$pid"
	finish_profile
	expect_status 0
	expect_line stderr '^profile: 600001 spans did not arrive: interrupted$'
}

@test "Ctrl-C while a collector does not answer ends the sending; the outputs are there" {
	start_collector never
	start_profile -gpu-only --unit ns -o out.folded --otlp out.jsonl --otlp "$url" "$workloads/launches" 10
	wait_until has_got
	wait_until grep -q "^$waiting_for " stderr
	kill -INT "$pid"
	finish_profile
	expect_status 0
	expect_line stderr "^Waiting for $url/v1/traces to take the spans; Ctrl-C ends that\$"
	expect_line stderr '^profile: 21 spans did not arrive: interrupted$'
	expect_equal 'GPU time' "$(weight_of out.folded)" 10000
	expect_equal 'spans there' "$(count_spans out.jsonl)" 21
}

@test "a command that goes on gets its signals while spans are sent" {
	start_collector never
	signals_reach_it --otlp "$url"
}

@test "under sudo the user sends the spans, and root never does for another user" {
	needs_root
	needs_schema
	start_collector 200
	as_tester "$profile" -gpu-only -o theirs/out.folded --otlp "$url" "$workloads/launches" 10
	expect_status 0
	read_spans got/*.pb
	expect_line spans '^linked 10$'
	as_tester "$profile" --as-root -gpu-only -o theirs/out.folded --otlp "$url" touch theirs/ran
	expect_status 125
	expect_line stderr '^profile: --otlp: spans are not sent by root on behalf of another user: '
	expect_no_file theirs/ran
}
