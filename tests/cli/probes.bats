# SPDX-License-Identifier: MIT
# The USDT probes of the injection library: by a tracer in the program (tests/workloads/probe_tracer.c),
# and by bpftrace.

load helpers

setup()
{
	enter_test_folder
	library=$root/build/libprofile_cupti.so
}

# traced COMMAND...: with the library, a tracer and no profiler; what fires is in the file `fired`.
traced()
{
	run_command env CUDA_INJECTION64_PATH="$library" PROBE_TRACER="$PWD/fired" \
		LD_PRELOAD="$workloads/libprobe_tracer.so" FAKE_CUDA_STRICT=1 \
		FAKE_CUDA_TOTALS="$PWD/totals" "$@"
}

# count PROBE [PATTERN]: how often it fired, with lines like that.
count()
{
	grep -cE "^$1 .*${2-}" fired || true
}

@test "the file's notes: ten probes, with semaphores in its data" {
	readelf -n "$library" | sed -n "/stapsdt/,\$p" >notes
	sed -n 's/^ *Name: //p' notes | sort >names
	expect names <<-END
		api_error
		free
		kernel_done
		launch
		malloc
		memcpy
		memcpy_done
		memset_done
		notice
		sync
	END
	expect_equal providers "$(sed -n 's/^ *Provider: //p' notes | sort -u)" cuda
	expect_no_line notes 'Semaphore: 0x0*$'
	expect_equal places "$(sed -n 's/.*Semaphore: //p' notes | sort -u | wc -l)" 10
	# the kernel counts in the file's own pages
	readelf -SW "$library" >sections
	expect_line sections ' \.probes +PROGBITS .* WA '
	# each is a no-op of five bytes
	objdump -d "$library" >code
	while read -r place; do
		expect_line code "^ *$(printf '%x' "$place"):[[:space:]]+0f 1f 44 00 00 "
	done < <(sed -n 's/.*Location: \(0x[0-9a-f]*\),.*/\1/p' notes)
}

@test "all work and all memory calls fire once, runtime and driver" {
	traced "$workloads/gpu_work"
	expect_status 0
	expect_equal kernels "$(count kernel_done)" "$(awk '$2 == "kernel" { n += $4 } END { print n }' totals)"
	expect_equal copies "$(count memcpy_done)" "$(awk '$2 == "memcpy" { n += $4 } END { print n }' totals)"
	expect_equal bytes "$(awk '$1 == "memcpy_done" { n += $5 } END { print n }' fired)" \
		"$(awk '$2 == "memcpy" { n += $6 } END { print n }' totals)"
	expect_equal time "$(awk '$1 == "kernel_done" { n += $8 - $7 } END { print n }' fired)" \
		"$(awk '$2 == "kernel" { n += $5 } END { print n }' totals)"
	expect_equal sets "$(count memset_done)" "$(awk '$2 == "memset" { n += $4 } END { print n }' totals)"
	expect_equal allocations "$(count malloc)" "$(awk '/memory alloc/ { print $4 }' totals)"
	expect_equal allocated "$(awk '$1 == "malloc" { n += $5 } END { print n }' fired)" \
		"$(awk '/memory alloc/ { print $6 }' totals)"
	expect_equal releases "$(count free)" "$(awk '/memory free/ { print $4 }' totals)"
	# what was allocated is what is released, in this order
	awk '$1 == "malloc" { live[$6]++ } $1 == "free" && !live[$5]-- { bad = 1 } END { exit bad }' fired
	# none by the driver's call inside
	expect_equal launches "$(count launch)" 570
	expect_equal 'of the driver' "$(count launch ' cuLaunchKernel ')" 160
}

@test "a launch says what and how: kernel, grid and block, by each way to launch" {
	traced "$workloads/launches" 40 1 1 mixed
	expect_status 0
	one=281479271677953 # 1 + (1 << 32) + (1 << 48)
	for call in cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel; do
		expect_equal "$call" "$(count launch " $call _Z4tinyy $one $one [0-9]+\$")" 10
	done
	expect_equal graphs "$(count launch ' cudaGraphLaunch - 0 0 [0-9]+$')" 10
	# each kernel has the id of its launch
	expect_equal unmatched "$(awk '$1 == "launch" { launched[$3] = 1 }
		$1 == "kernel_done" && !launched[$3] { n++ } END { print n + 0 }' <(sort -r fired))" 0
}

@test "errors fire with their code, once for runtime and driver" {
	traced "$workloads/launches" 20 4 2 refused
	expect_status 0
	expect_equal errors "$(count api_error)" 20
	expect_equal launches "$(count api_error ' cudaLaunchKernel 1$')" 20
}

@test "an error fires once, and not again where the program asks for it" {
	traced "$workloads/memory_use" 1000
	expect_status 0
	[ "$(count api_error ' cudaMalloc ')" -gt 0 ]
	expect_equal told "$(count api_error ' cudaGetLastError ')" 0
}

@test "waits fire at their end, with the stream and the time" {
	traced "$workloads/waits" 3
	expect_status 0
	expect_line fired '^sync [0-9]+ [0-9]+ cudaDeviceSynchronize [0-9]+ [0-9]+ 0$'
	expect_line fired '^sync [0-9]+ [0-9]+ cudaStreamSynchronize [0-9]+ [0-9]+ [1-9][0-9]*$'
	awk '$1 == "sync" && $6 < $5 { exit 1 }' fired
}

@test "stacks by frame pointers are whole in programs that have none" {
	traced env PROBE_TRACER_STACKS=1 PROBE_TRACER_ONLY=launch "$workloads/deep_launches" 20
	expect_status 0
	expect_equal whole "$(count launch ' < .* __libc_start_main  \?$')" "$(count launch)"
	[ "$(count launch)" -gt 0 ]
}

@test "one probe alone, and one that is attached while the program runs" {
	PROBE_TRACER_ONLY=memset_done traced "$workloads/gpu_work"
	expect_status 0
	expect_equal sets "$(wc -l <fired)" "$(awk '$2 == "memset" { n += $4 } END { print n }' totals)"
	# a busy machine takes longer to come to where launches are made
	for late in 300 600 1200 2400 4800 9600; do
		rm -f fired
		PROBE_TRACER_LATE=$late traced "$workloads/inference" $((late / 5))
		expect_status 0
		launches=$(awk '$2 ~ /^[0-9]+$/ { n += $2 } END { print n }' totals)
		if [ "$(count launch)" -gt 0 ] && [ "$(count launch)" -lt "$launches" ]; then break; fi
	done
	[ "$(count launch)" -gt 0 ]
	[ "$(count kernel_done)" -gt 0 ]
	[ "$(count launch)" -lt "$launches" ]
}

# has_both FILE: launches and kernels
has_both()
{
	grep -q '^launch ' "$1" && grep -q '^kernel_done ' "$1"
}

fired_again()
{
	sed '1,/^again$/d' fired >second && has_both second
}

@test "a tracer that comes a second time sees calls again" {
	# likewise, and for the records of kernels
	for ms in 500 2000 8000 32000; do
		rm -f fired
		# shellcheck disable=SC2016
		PROBE_TRACER_AGAIN=$ms PROBE_TRACER_ONLY=launch,kernel_done \
			traced sh -c 'echo $$ >id; exec "$0" 600000' "$workloads/steady" 3>&- &
		wait_until fired_again
		kill -KILL "$(cat id)"
		wait
		sed '/^again$/,$d' fired >first
		if has_both first; then break; fi
	done
	has_both first
	expect_line fired '^again$'
}

@test "without tracers the library leaves CUPTI to others" {
	run_command env CUDA_INJECTION64_PATH="$library" "$workloads/cupti_client" before 20
	expect_status 0
	expect_line stdout '^subscribe 0 '
	run_command env CUDA_INJECTION64_PATH="$library" "$workloads/launches" 200 4
	expect_status 0
	expect_empty stderr
}

@test "where CUPTI cannot be used, a notice says why, and the program runs" {
	FAKE_CUDA_SUBSCRIBE_ERROR=999 traced "$workloads/launches" 20
	expect_status 0
	expect fired <<-END
		notice <N> cuptiSubscribe: 999 (CUPTI_ERROR_UNKNOWN)
	END
}

@test "children of fork, device resets" {
	traced "$workloads/forks" 3
	expect_status 0
	expect_equal kernels "$(count kernel_done)" \
		"$(awk '$2 == "kernel" { n += $4 } END { print n }' totals)"
	rm fired totals
	traced "$workloads/device_reset"
	expect_status 0
	expect_equal kernels "$(count kernel_done)" \
		"$(awk '$2 == "kernel" { n += $4 } END { print n }' totals)"
}

@test "beside the profiler: both see all" {
	run_profile -gpu-only --unit ns -o out.folded env PROBE_TRACER="$PWD/fired" \
		LD_PRELOAD="$workloads/libprobe_tracer.so" FAKE_CUDA_TOTALS="$PWD/totals" \
		"$workloads/gpu_work"
	expect_status 0
	kernels_of_totals totals >wanted
	expect wanted <<<"$(awk '$1 == "kernel_done" { ns[$4] += $8 - $7 }
		END { for (k in ns) printf "%s %.0f\n", k, ns[k] }' fired | sort)"
	expect_equal time "$(weight_of out.folded)" \
		"$(awk '$2 ~ /kernel|memcpy|memset/ { ns += $5 } END { print ns }' totals)"
	expect_equal errors "$(count api_error)" 0
}

# start_bpftrace READY ARGUMENTS...: sets $pid; returns when it prints a line that begins with READY,
# which scripts do at intervals once they are attached.
start_bpftrace()
{
	bpftrace "${@:2}" >traced 2>&1 </dev/null 3>&- &
	pid=$!
	wait_until grep -q "^$1" traced
}

# script NAME [LINE]: that of docs/probes as script.bt, which says when it is ready, with a further line
script()
{
	cat "$root/docs/probes/$1.bt" - >script.bt <<-END
		interval:ms:100 { printf("ready\n"); }
		${2-}
	END
}

stop_bpftrace()
{
	kill -INT "$pid"
	wait "$pid" || true
	pid=
}

needs_bpftrace()
{
	needs_root
	needs_command bpftrace
}

@test "bpftrace: launches per second by name" {
	needs_bpftrace
	start_bpftrace '[0-9][0-9]:' "$root/docs/probes/launches.bt" "$library"
	run_command env CUDA_INJECTION64_PATH="$library" "$workloads/launches" 40 1 1 mixed
	expect_status 0
	stop_bpftrace
	expect_equal kernels "$(awk '/_Z4tinyy/ { n += $NF } END { print n }' traced)" 30
	expect_equal graphs "$(awk '/cudaGraphLaunch/ { n += $NF } END { print n }' traced)" 10
}

@test "bpftrace: durations of kernels and copies" {
	needs_bpftrace
	script kernel_durations
	start_bpftrace ready script.bt "$library"
	run_command env CUDA_INJECTION64_PATH="$library" FAKE_CUDA_TOTALS="$PWD/totals" "$workloads/gpu_work"
	expect_status 0
	stop_bpftrace
	expect_line traced '^@kernel_us\[_Z11node_kernely\]'
	expect_line traced '^\[1\] +10000 '
	expect_line traced '^@copy_us\[HtoD\]'
}

@test "bpftrace: bytes allocated by the program's stack" {
	needs_bpftrace
	# the process is held at its first release, so that its names can be looked up
	script allocations 'usdt:$1:cuda:free { printf("held\n"); signal("SIGSTOP"); }'
	start_bpftrace ready --unsafe script.bt "$library"
	CUDA_INJECTION64_PATH=$library "$workloads/gpu_work" 1 1 1 >stdout 2>stderr </dev/null 3>&- &
	held=$!
	wait_until grep -q '^held' traced
	stop_bpftrace
	kill -KILL "$held"
	wait "$held" || true
	cat traced # shown if one of these fails
	expect_line traced '^    cudaMalloc\+'
	# of the thread that is the first to release, which has allocated before
	expect_line traced '^    (thread_)?main(\(void\*\))?\+'
	expect_line traced '^, gpu_work\]: [1-9][0-9]*$'
}

@test "bpftrace comes and goes while the program runs" {
	needs_bpftrace
	FAKE_CUDA_STRICT=1 CUDA_INJECTION64_PATH=$library "$workloads/inference" 100000 \
		>stdout 2>stderr </dev/null 3>&- &
	held=$!
	wait_until is_traced "$held"
	for round in 1 2; do
		timeout "$patience" bpftrace -e "usdt:$library:cuda:kernel_done /pid == $held/ { @done = count(); exit(); }" \
			>"traced$round" 2>&1 </dev/null 3>&-
		expect_line "traced$round" '^@done: [1-9]'
	done
	kill -0 "$held"
	kill -KILL "$held"
	wait "$held" || true
	expect_empty stderr
}

# ---- where the library is ----

@test "--print-injection-path: a copy in the user's cache, made once, repaired" {
	run_command env -u XDG_CACHE_HOME HOME="$PWD" "$profile" --print-injection-path
	expect_status 0
	expect_empty stderr
	path=$(cat stdout)
	expect_line stdout "^$PWD/\.cache/profile/libprofile_cupti-[0-9a-f]{16}\.so\$"
	cmp "$path" "$library"
	before=$(stat -c %i "$path")
	run_command env XDG_CACHE_HOME="$PWD/.cache" HOME=/nowhere "$profile" --print-injection-path
	expect_equal path "$(cat stdout)" "$path"
	expect_equal inode "$(stat -c %i "$path")" "$before"
	echo rubbish >"$path"
	run_command env HOME="$PWD" XDG_CACHE_HOME= "$profile" --print-injection-path
	expect_status 0
	cmp "$path" "$library"
	expect_equal files "$(find .cache -type f)" "${path#"$PWD"/}"
}

# copy N DAYS: one of another build, last used so many days ago.
copy()
{
	local path

	path=$PWD/.cache/profile/libprofile_cupti-$(printf %016x "$1").so
	echo "$1" >"$path"
	touch -d "$2 days ago" "$path"
}

copies()
{
	(cd .cache/profile && find . -mindepth 1 ! -name "${path##*/}" -printf '%f\n' | sed 's/^libprofile_cupti-0*//' | sort)
}

@test "--print-injection-path: of other builds those stay that were used last, or are in use" {
	run_command env -u XDG_CACHE_HOME HOME="$PWD" "$profile" --print-injection-path
	expect_status 0
	path=$(cat stdout)
	for i in 1 2 3 4 5 6 7 8 9; do copy $i $((i + 2)); done
	copy 10 400
	copy 11 500
	copy 12 0
	echo half >.cache/profile/libprofile_cupti-000000000000000d.so.abcdef
	touch -d '3 days ago' .cache/profile/libprofile_cupti-000000000000000d.so.abcdef
	echo mine >victim
	ln -s "$PWD/victim" .cache/profile/libprofile_cupti-000000000000000e.so
	touch -d '9 years ago' victim .cache/profile/libprofile_cupti-000000000000000f.so.old
	run_command env -u XDG_CACHE_HOME HOME="$PWD" "$profile" --print-injection-path # its copy is there: none goes
	expect_equal number "$(copies | wc -l)" 15
	rm "$path"
	exec 9<.cache/profile/libprofile_cupti-000000000000000a.so
	touch -a -d '400 days ago' .cache/profile/libprofile_cupti-000000000000000a.so
	run_command env -u XDG_CACHE_HOME HOME="$PWD" "$profile" --print-injection-path
	exec 9<&-
	expect_status 0
	expect_empty stderr
	cmp "$path" "$library"
	# the file system may not say who has a file open
	if [ -e .cache/profile/libprofile_cupti-000000000000000b.so ]; then skip 'there are no leases here'; fi
	expect_equal copies "$(copies | tr '\n' ' ')" '1.so 2.so 3.so 4.so 5.so 6.so 7.so a.so c.so e.so f.so.old '
	expect_equal victim "$(cat victim)" mine
}

@test "--print-injection-path: nothing goes in a folder that others may write, or that is a link" {
	mkdir -p .cache/profile
	path=none
	for i in 1 2 3 4 5 6 7 8 9 10; do copy $i 100; done
	chmod 777 .cache/profile
	run_command env -u XDG_CACHE_HOME HOME="$PWD" "$profile" --print-injection-path
	expect_status 125
	expect_line stderr 'is not used: other users may change what is in it'
	expect_equal number "$(copies | wc -l)" 10
	chmod 755 .cache/profile
	mv .cache/profile elsewhere
	ln -s ../elsewhere .cache/profile
	run_command env -u XDG_CACHE_HOME HOME="$PWD" "$profile" --print-injection-path
	expect_status 0
	expect_equal number "$(find elsewhere -type f | wc -l)" 11
}

@test "--print-injection-path: the installed library, unless it is another version's" {
	mkdir -p p/bin p/lib/profile-injection
	cp "$profile" p/bin/
	cp "$library" p/lib/profile-injection/
	run_command p/bin/profile --print-injection-path
	expect_status 0
	expect stdout <<<"$PWD/p/lib/profile-injection/libprofile_cupti.so"
	strip p/lib/profile-injection/libprofile_cupti.so # as packages do
	run_command p/bin/profile --print-injection-path
	expect stdout <<<"$PWD/p/lib/profile-injection/libprofile_cupti.so"
	library=$PWD/p/lib/profile-injection/libprofile_cupti.so
	traced "$workloads/launches" 20
	expect_equal launches "$(count launch)" 20
	printf x | dd of=p/lib/profile-injection/libprofile_cupti.so bs=1 seek=40000 conv=notrunc status=none
	run_command env -u XDG_CACHE_HOME HOME="$PWD" p/bin/profile --print-injection-path
	expect_status 0
	expect_line stdout "^$PWD/\.cache/profile/"
}

@test "--print-injection-path: no folder" {
	run_command env -u XDG_CACHE_HOME HOME= "$profile" --print-injection-path
	expect_status 125
	expect stderr <<<'profile: there is no folder for the library: HOME is not set'
	run_command env -u XDG_CACHE_HOME HOME=/proc "$profile" --print-injection-path
	expect_status 125
	expect_line stderr '^profile: cannot make /proc/\.cache: '
}

@test "--print-injection-path under sudo: the user's cache, the user's file" {
	needs_root
	as_tester env HOME="$PWD/theirs" "$profile" --print-injection-path
	expect_status 0
	expect_equal owner "$(stat -c %u "$(cat stdout)")" 4242
}
