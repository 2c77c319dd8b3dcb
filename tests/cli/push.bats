# SPDX-License-Identifier: MIT
# --push: what arrives is the profile, all of it; what does not arrive is said, in bounded time.

load helpers

setup_file()
{
	export LD_LIBRARY_PATH=$fake_cuda
	"$profile" -q -gpu-only --unit ns -o "$BATS_FILE_TMPDIR/run.folded" -o "$BATS_FILE_TMPDIR/run.pb.gz" \
		-o "$BATS_FILE_TMPDIR/run.profile" "$workloads/gpu_work" >/dev/null 2>&1
}

setup()
{
	enter_test_folder
	needs_command python3
	unset http_proxy https_proxy all_proxy no_proxy SSL_CERT_FILE OTEL_SERVICE_NAME PROFILE_PUSH_HEADERS
	push_from --push http://127.0.0.1:1/ --push file:///
	if grep -q 'needs libcurl' stderr; then skip 'libcurl is not installed'; fi
}

teardown()
{
	if [ -n "${keeper-}" ]; then exec {keeper}>&-; fi
	if [ -n "${server-}" ]; then wait "$server" || true; fi
	if [ -n "${pid-}" ]; then kill -KILL "$pid" 2>/dev/null || true; fi
}

# serve [ARGUMENTS OF push_server.py...]: until the test ends, in the folder `server`; sets $port.
serve()
{
	mkdir server
	mkfifo held
	python3 "$root/tests/cli/push_server.py" server "$@" <held >served 2>&1 3>&- &
	server=$!
	exec {keeper}>held
	wait_until test -e server/port
	port=$(cat server/port)
}

# The run of the file's setup is pushed.
push_from()
{
	run_profile --from "$BATS_FILE_TMPDIR/run.profile" "$@"
}

# folded_of FILE: the stacks of GPU time of a profile of pprof, as folded stacks.
folded_of()
{
	go tool pprof -traces -unit ns -sample_index=gpu "$1" 2>errors | tr -d '\r' >traces
	awk '
		function put() { if (stack != "") print stack, value; stack = "" }
		/^-----------\+/ { put(); value = ""; next }
		/^ +[a-z]+: *[^ ]/ && value == "" && !/^ *[0-9]/ { next }
		{
			line = $0
			if (value == "" && match(line, /^ *[0-9]+ns +/)) {
				value = line; sub(/^ */, "", value); sub(/ns .*/, "", value)
				line = substr(line, RLENGTH + 1)
			} else sub(/^ +/, "", line)
			if (value != "") stack = stack == "" ? line : line ";" stack
		}
		END { put() }' traces
}

# sum_of FILE TYPE: of a profile of pprof
sum_of()
{
	go tool pprof -raw "$1" 2>errors >raw
	pprof_sum "$2" raw
}

# ---- what arrives ----

# bats test_tags=quick
@test "Pyroscope gets all times, with name, labels and time in the query" {
	needs_command go
	serve
	push_from --push "http://127.0.0.1:$port" --push-label env=test --push-label region=a/b
	expect_status 0
	expect_line stderr "^Pushed the profile of gpu_work to http://127\.0\.0\.1:$port/ingest \([0-9.]+ Ki?B\)$"
	expect_line server/requests '^/ingest\?name=gpu_work%7Benv%3Dtest%2Cregion%3Da%2Fb%7D&from=[0-9]{10}&until=[0-9]{10}&format=pprof&spyName=profile '
	expect_line server/requests ' content-type=application/octet-stream'
	expect_equal 'GPU ns' "$(sum_of server/profile.1 gpu)" "$(weight_of "$BATS_FILE_TMPDIR/run.folded")"
	expect_equal operations "$(sum_of server/profile.1 operations)" "$(sum_of "$BATS_FILE_TMPDIR/run.pb.gz" operations)"
	expect_equal bytes "$(sum_of server/profile.1 copied)" "$(sum_of "$BATS_FILE_TMPDIR/run.pb.gz" copied)"
	# an engine keeps a series for each combination of labels
	go tool pprof -tags server/profile.1 >tags 2>&1
	expect_line tags ' device: Total '
	expect_line tags ' kind: Total '
	expect_no_line tags ' (thread|tid|pid|process|stream|context): Total '
	# nothing else is written
	expect_no_file merged_trace.folded
}

@test "a run is pushed as a capture is" {
	with_details
	needs_command go
	serve
	run_profile -gpu-only --unit ns -o a.folded --push "http://127.0.0.1:$port/" "$workloads/launches" 1000
	expect_status 0
	expect_equal 'GPU ns' "$(sum_of server/profile.1 gpu)" 1000000
	expect_line stderr '^Wrote 1 stack '
	expect_line stderr '^Pushed the profile of launches to '
}

@test "Parca gets the same by gRPC-Web" {
	needs_command go
	serve
	OTEL_SERVICE_NAME='a b' push_from --push "parca+http://127.0.0.1:$port/base/" --push-label env=test
	expect_status 0
	expect_line server/requests '^/base/parca\.profilestore\.v1alpha1\.ProfileStoreService/WriteRaw '
	expect_line server/requests '^labels __name__=process_cpu env=test service_name=a b$'
	expect_equal 'GPU ns' "$(sum_of server/profile.1 gpu)" "$(weight_of "$BATS_FILE_TMPDIR/run.folded")"
}

@test "Parca's own client reads the request" {
	package=${PARCA_CLIENT_PACKAGE:-$(npm root -g 2>/dev/null || true)/@parca/client}
	needs_command node
	if ! [ -d "$package" ]; then skip 'the npm package @parca/client is not installed: see docs/testing.md'; fi
	serve
	push_from --push "parca+http://127.0.0.1:$port" --push-label env=test
	expect_status 0
	node "$root/tests/cli/read_parca.mjs" "$package" server/body.1 server/profile.1 >parsed
	expect parsed <<-'END'
		normalized true
		__name__=process_cpu
		service_name=gpu_work
		env=test
		profile as it is
	END
}

@test "a collector gets OpenTelemetry's profiles, with every stack to the nanosecond" {
	serve
	push_from --push "otlp+http://127.0.0.1:$port" --push-label env=test
	expect_status 0
	expect_line server/requests '^/v1development/profiles .* content-encoding=gzip'
	python3 "$root/tests/cli/read_otlp_profiles.py" server/profile.1 >said
	expect_line said '^resource service\.name=gpu_work$'
	expect_line said '^resource env=test$'
	expect_line said "^type gpu nanoseconds $(weight_of "$BATS_FILE_TMPDIR/run.folded")\$"
	expect_line said '^attribute gpu cuda\.device=GPU 0 '
	sed -n 's/^stack gpu //p' said | LC_ALL=C sort >read.stacks
	LC_ALL=C sort "$BATS_FILE_TMPDIR/run.folded" >folded.stacks
	diff folded.stacks read.stacks
}

@test "a file has OpenTelemetry's profiles of all threads and streams, by the numbers of the release" {
	with_details
	run_profile -o a.profiles.pb -o a.folded --unit ns --waits "$workloads/inference" 20
	expect_status 0
	expect_line stderr '^Wrote [0-9]+ rows \(.*\) to a\.profiles\.pb$'
	python3 "$root/tests/cli/read_otlp_profiles.py" a.profiles.pb >said
	for kind in GPU waiting; do
		expect_line said "^type $(tr '[:upper:]' '[:lower:]' <<<$kind) nanoseconds $(sed -n \
			"s/^Wrote .* ns:.* \([0-9][0-9]*\) $kind\b.*) to a.folded\$/\1/p" stderr)\$"
	done
	for key in process.pid thread.id thread.name cuda.device cuda.context cuda.stream; do
		expect_line said "^attribute gpu $key="
	done
	# those of times are the folded ones
	LC_ALL=C sort a.folded >folded.stacks
	grep -E '^stack (cpu|gpu|waiting|cuda_calls) ' said | sed 's/^stack [a-z_]* //' | awk '{
		value = $NF; sub(/ [0-9]+$/, ""); sum[$0] += value
	} END { for (stack in sum) printf "%s %.0f\n", stack, sum[stack] }' | LC_ALL=C sort >read.stacks
	diff folded.stacks read.stacks
	if command -v protoc >/dev/null; then
		protoc -I "$root/tests/cli" --decode=subset.ProfilesData otlp_profiles_subset.proto \
			<a.profiles.pb >decoded
		expect_no_line decoded '^ *[0-9]+[:{ ]'
	fi
}

@test "a part of a run is pushed as outputs show it" {
	needs_command go
	serve
	push_from --push "http://127.0.0.1:$port" --kernel node_kernel -o part.pb.gz
	expect_status 0
	[ "$(sum_of server/profile.1 gpu)" -gt 0 ]
	expect_equal 'GPU ns' "$(sum_of server/profile.1 gpu)" "$(sum_of part.pb.gz gpu)"
}

@test "an empty profile is not pushed" {
	serve
	run_profile -gpu-only -o a.folded --push "http://127.0.0.1:$port" true
	expect_status 0
	expect_line stderr '^profile: the profile is empty: nothing is pushed$'
	expect_empty server/requests
}

@test "several engines get it" {
	serve
	push_from --push "http://127.0.0.1:$port" --push "pyroscope+http://127.0.0.1:$port/ingest" \
		--push "otlp+http://127.0.0.1:$port/v1development/profiles"
	expect_status 0
	expect_equal requests "$(sed 's/[? ].*//' server/requests | sort)" $'/ingest\n/ingest\n/v1development/profiles'
	[ -s server/profile.3 ]
}

# ---- credentials ----

@test "credentials arrive, and are neither shown nor passed to the command" {
	serve
	PROFILE_PUSH_HEADERS='Authorization=Bearer%20hunter22,X-Scope-OrgID=team' run_profile -v \
		-o a.folded -o a.json --push "http://127.0.0.1:$port/?key=hunter33" \
		sh -c 'env; exec "$0" 10' "$workloads/launches"
	expect_status 0
	expect_line stdout '^PROFILE_PIPE='
	expect_line server/requests '^/ingest\?key=hunter33&name=sh'
	expect_line server/requests ' authorization=Bearer hunter22 x-scope-orgid=team( |$)'
	expect_no_line stdout hunter
	expect_no_line stderr hunter
	expect_no_line a.json hunter
	push_from --push "http://me:hunter44@127.0.0.1:$port"
	expect_status 0
	expect_line server/requests ' authorization=Basic bWU6aHVudGVyNDQ='
	expect_no_line stderr hunter
}

@test "credentials are not shown in errors either" {
	serve status=401
	PROFILE_PUSH_HEADERS=X-Key=hunter22 push_from --push "http://me:hunter44@127.0.0.1:$port?a=hunter55"
	expect_status 125
	expect_line stderr "^profile: the profile was not pushed: http://127\.0\.0\.1:$port/ingest answered 401: credentials are missing or wrong\$"
	PROFILE_PUSH_HEADERS=X-Key push_from --push "http://127.0.0.1:$port"
	expect_status 125
	expect_line stderr "^profile: --push: the headers: a field has no '='\$"
	PROFILE_PUSH_HEADERS=X-Key=a%0d%0ab push_from --push "http://127.0.0.1:$port"
	expect_status 125
	expect_line stderr 'control character$'
	expect_no_line stderr hunter
}

# ---- what does not arrive ----

# expect_refused ATTEMPTS PATTERN: so many requests, and a line on stderr
expect_refused()
{
	expect_status 125
	expect_line stderr "^profile: the profile was not pushed: http://127\.0\.0\.1:$port/ingest$2\$"
	expect_equal requests "$(wc -l <server/requests)" "$1"
}

@test "refusals are final and said: 400" {
	serve status=400
	push_from --push "http://127.0.0.1:$port" -o a.folded
	expect_refused 1 ' answered 400 \(not today\)'
	# the outputs are there all the same
	[ -s a.folded ]
}

@test "refusals are final and said: 413" {
	serve status=413
	push_from --push "http://127.0.0.1:$port"
	expect_refused 1 ' answered 413: it takes no body of this size \(not today\)'
}

@test "a run that is not pushed has the command's status, but with --strict" {
	serve status=400
	run_profile -gpu-only --unit ns -o a.folded --push "http://127.0.0.1:$port" \
		sh -c '"$0" 10; exit 3' "$workloads/launches"
	expect_status 3
	expect_line stderr '^profile: the profile was not pushed: '
	[ -s a.folded ]
	run_profile -gpu-only --unit ns -o a.folded --strict --push "http://127.0.0.1:$port" \
		"$workloads/launches" 10
	expect_status 124
	expect_line stderr "^$(strict_says 'engines that did not take the profile' 1)\$"
}

@test "busy servers are asked again: 429 and 503, then taken" {
	serve times=2,status=503:1
	push_from --push "http://127.0.0.1:$port"
	expect_status 0
	expect_equal requests "$(wc -l <server/requests)" 3
	[ -s server/profile.1 ]
}

@test "busy servers are not asked for ever" {
	serve status=429
	push_from --push "http://127.0.0.1:$port"
	expect_refused 5 ' answered 429: it is busy \(not today\), 5 times'
}

@test "a server that asks for more time than there is" {
	serve status=503:3000
	push_from --push "http://127.0.0.1:$port"
	expect_refused 1 ' answered 503: .*, and asks for a pause of 3000 s'
}

@test "a server that closes" {
	serve closing
	push_from --push "http://127.0.0.1:$port"
	expect_refused 5 ': Empty reply from server, 5 times'
}

@test "an answer without an end counts by its status" {
	serve endless
	push_from --push "http://127.0.0.1:$port"
	expect_status 0
	expect_equal requests "$(wc -l <server/requests)" 1
}

@test "an answer that drips for ever counts by its status" {
	serve drip
	push_from --push "http://127.0.0.1:$port"
	expect_status 0
	expect_equal requests "$(wc -l <server/requests)" 1
}

@test "a redirect is not followed" {
	serve redirect=file:///etc/passwd
	push_from --push "http://127.0.0.1:$port"
	expect_refused 1 ' answered 307: a redirect, which is not followed; give the URL that it leads to'
}

@test "a server that is no engine" {
	serve page
	push_from --push "http://127.0.0.1:$port"
	expect_refused 1 ' answered with a page for browsers: .*'
	push_from --push "parca+http://127.0.0.1:$port"
	expect_status 125
	expect_line stderr ' answered with a page for browsers: '
	push_from --push "otlp+http://127.0.0.1:$port"
	expect_status 125
	push_from --push "otlp+http://127.0.0.1:$port/v1/traces"
	expect_status 125
}

@test "gRPC's refusals, and OTLP's" {
	serve 'grpc=3:invalid%20profile%1b'
	push_from --push "parca+http://127.0.0.1:$port"
	expect_status 125
	expect_line stderr 'WriteRaw refused it: gRPC status 3, invalid profile\?$'
}

@test "credentials that a server repeats in its refusal are not shown" {
	serve 'grpc=16:unknown%20token%20hunter2'
	PROFILE_PUSH_HEADERS='Authorization=Bearer hunter2' push_from --push "parca+http://127.0.0.1:$port"
	expect_status 125
	expect_line stderr 'WriteRaw refused it, in words that are not shown: they may hold credentials$'
	expect_no_line stderr 'hunter2'
}

@test "OTLP's partial success is a refusal" {
	serve 'partial=1:too old'
	push_from --push "otlp+http://127.0.0.1:$port"
	expect_status 125
	expect_line stderr '/v1development/profiles refused profiles: too old$'
}

@test "nobody listens, and a name that does not resolve" {
	push_from --push http://127.0.0.1:1
	expect_status 125
	expect_line stderr '^profile: the profile was not pushed: http://127\.0\.0\.1:1/ingest: .*onnect.*, 5 times$'
	push_from --push http://no.such.host.invalid
	expect_status 125
	expect_line stderr '^profile: the profile was not pushed: http://no\.such\.host\.invalid/ingest: '
}

@test "of a capture, one Ctrl-C ends the waiting for a silent server" {
	serve silent
	start_profile --from "$BATS_FILE_TMPDIR/run.profile" --push "http://127.0.0.1:$port"
	wait_until grep -q . server/requests
	kill -INT "$pid"
	finish_profile
	[ "$status" != 0 ]
}

@test "of a run, one Ctrl-C ends it, and the outputs are there" {
	serve silent
	start_profile -gpu-only --unit ns -o a.folded --push "http://127.0.0.1:$port" "$workloads/launches" 10
	wait_until grep -q "^$waiting_for " stderr
	kill -INT "$pid"
	finish_profile
	expect_status 0
	expect_line stderr "^Waiting for http://127\.0\.0\.1:$port/ingest to take the profile; Ctrl-C ends that\$"
	expect_line stderr "^profile: the profile was not pushed: http://127\.0\.0\.1:$port/ingest: interrupted\$"
	expect_no_line stderr 'no profile was written'
	[ -s a.folded ]
}

@test "a command that goes on gets its signals while the profile is pushed" {
	serve silent
	signals_reach_it --push "http://127.0.0.1:$port"
}

# ---- where to ----

@test "IPv6" {
	serve --ipv6
	push_from --push "http://[::1]:$port"
	expect_status 0
	[ -s server/profile.1 ]
}

@test "https: a certificate that is not trusted is refused, one of SSL_CERT_FILE is taken" {
	needs_command openssl
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 2 \
		-subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 >made 2>&1
	serve --tls certificate.pem key.pem
	push_from --push "https://127.0.0.1:$port"
	expect_status 125
	expect_line stderr '^profile: the profile was not pushed: https://.*/ingest: .*certificate'
	expect_empty server/requests
	SSL_CERT_FILE=certificate.pem push_from --push "https://127.0.0.1:$port"
	expect_status 0
	[ -s server/profile.1 ]
}

@test "proxies of the environment are used" {
	serve
	http_proxy=http://127.0.0.1:$port push_from --push http://no.such.host.invalid/x
	expect_status 0
	expect_line server/requests '^http://no\.such\.host\.invalid/x/ingest\?'
}

@test "mistakes are said before the command runs" {
	for url in file:///etc/passwd ftp://host host 'http://ho st' http://host:x other+http://host; do
		run_profile -o a.folded --push "$url" touch ran
		expect_status 125
		expect_line stderr '^profile: --push takes the URL of an engine that keeps profiles: '
		expect_no_file ran
		expect_no_file a.folded
	done
	for label in a =b 1a=b a=b,c 'a={' service_name=x __name__=x a=; do
		run_profile --push http://127.0.0.1:1 --push-label "$label" touch ran
		expect_status 125
		expect_line stderr '^profile: --push-label '
		expect_no_file ran
	done
	run_profile --push-label a=b touch ran
	expect_line stderr 'push-label is for --push$'
	run_profile --push http://127.0.0.1:1 --weight peak touch ran
	expect_line stderr "^profile: $(whole_run_drawn --push)\$"
	expect_no_file ran
}

@test "not as root on behalf of another user" {
	needs_root
	as_tester "$profile" --as-root -o theirs/a.folded --push http://127.0.0.1:1 touch theirs/ran
	expect_status 125
	expect_line stderr '^profile: --push is not for root on behalf of another user: not with --as-root'
	expect_no_file theirs/ran
}

@test "without libcurl, profile runs, and --push says what to install" {
	mkdir none
	touch none/libcurl.so.4 none/libcurl-gnutls.so.4 none/libcurl-nss.so.4
	LD_LIBRARY_PATH=none run_profile --version
	expect_status 0
	LD_LIBRARY_PATH=none:$fake_cuda push_from --push http://127.0.0.1:1
	expect_status 125
	expect_line stderr '^profile: --push: sending over HTTP needs libcurl: install libcurl4 '
}
