# SPDX-License-Identifier: MIT
# Traces: what the library alone writes (INJECTION_TRACE), and what --from makes of them.

load helpers

setup()
{
	enter_test_folder
	unset NVTX_INJECTION64_PATH INJECTION_METRICS INJECTION_OUTPUT INJECTION_VERBOSE
	library=$root/build/libprofile_cupti.so
}

# alone COMMAND...: without a profiler, into run.trace.
alone()
{
	run_command env CUDA_INJECTION64_PATH="$library" INJECTION_TRACE="${trace-run.trace}" "$@"
}

# read_trace OPTIONS...: nothing but what is expected is said.
read_trace()
{
	run_profile --from "${trace-run.trace}" --unit ns "$@"
	expect_status 0
}

# expect_kernels N: all have their launches, and nothing is lost.
expect_kernels()
{
	expect_line stderr "^Samples: $(launched "$1" "$1") "
	expect_line stderr "^$(correlation "$1")\$"
	expect_line work "$all_sums_match"
	expect_no_line stderr '^profile: '
}

# bats test_tags=quick
@test "a trace has what a profiler would have seen" {
	with_details
	for program in "inference 10" "gpu_work 3 1 1" graphs "launches 3000 4 2"; do
		rm -f run.trace
		# shellcheck disable=SC2086 # words
		alone "$workloads/"$program
		expect_status 0
		expect_empty stderr
		# shellcheck disable=SC2086
		run_profile --strict -gpu-only --unit ns -o live.folded "$workloads/"$program
		expect_status 0
		grep -v "^$wrote" stderr >live
		mv work live.work
		read_trace --strict -o out.folded
		expect_line stderr '^A trace, written without a profiler: no CPU samples in it$'
		diff live.folded out.folded
		diff live.work work
		diff <(grep '^Samples\|^Correlation' live) <(grep '^Samples\|^Correlation' stderr)
	done
}

@test "every format, and captures, which need the trace no more" {
	with_details
	alone "$workloads/inference" 3
	formats=(profile folded html json perfetto-trace pftrace trace.json speedscope.json svg pb.gz)
	read_trace "${formats[@]/#/-oa.}"
	expect_kernels 222
	# what has a format of its own is none of another's
	expect_equal 'stacks as text' "$(grep -l ';\[GPU_Kernel\].* [0-9]*$' a.*)" a.folded
	mv stderr of_trace
	rm run.trace
	run_profile --from a.profile --unit ns "${formats[@]/#/-ob.}"
	expect_status 0
	for format in "${formats[@]}"; do cmp "a.$format" "b.$format"; done
	expect_equal 'the summary' "$(grep -v '^Wrote' stderr)" "$(grep -v '^Wrote' of_trace)"
	python3 - <<-'END'
		import json
		run = json.load(open("a.json"))
		assert run["command"].endswith("inference 3"), run["command"]
	END
}

@test "names are looked up when it is read" {
	alone "$workloads/inference" 1
	read_trace -o out.folded --raw-names
	expect_line out.folded '\[GPU_Kernel\]_ZN5model4gemmIfLi128ELi256EEEvy [0-9]+$'
	read_trace -o inlined.folded --inlines -o out.profile
	run_profile --from out.profile --inlines -o out.folded
	expect_status 125
	expect stderr <<<'profile: --inlines: the names in a capture are those of its run'
}

@test "native functions are named by the program's own files, on whatever machine" {
	cp "$workloads/launches" app
	alone ./app 10
	read_trace -o here.folded
	expect_line here.folded ';main;.*;launch_all;'
	# a copy has another inode
	cp app copy
	mv copy app
	read_trace -o copied.folded
	cmp here.folded copied.folded
	expect_no_line stderr '^profile: '
	# another program, in the same file
	cp "$workloads/inference" other
	cat other >app
	read_trace -o out.folded
	expect_line out.folded ';\[app\];'
	expect_no_line out.folded 'launch_all|server'
	expect_line stderr "^profile: 1 file of the program is not here, or changed since \\($PWD/app\\): its functions have no names$"
	expect_equal ns "$(weight_of out.folded)" 10000
}

@test "from standard input, compared, and in part" {
	alone "$workloads/inference" 3
	cp run.trace before.trace
	run_profile --from - --unit ns -o - --kernel softmax
	expect_status 125 # nothing is there
	run_command sh -c '"$0" -q --from - --unit ns -o - --kernel softmax <run.trace' "$profile"
	expect_status 0
	expect_line stdout 'model::softmax'
	expect_no_line stdout 'gemm'
	run_profile --diff before.trace run.trace -o diff.folded
	expect_status 0
	run_profile --from run.trace --baseline before.trace --fail-above 1%
	expect_status 0
}

@test "a report says only what is known" {
	alone "$workloads/inference" 3
	read_trace --top
	expect_line stderr "^$took [0-9.]+ m?s, GPU busy 79\.620 ms "
	expect_line stderr '^The library used [0-9.]+ [mu]s \([0-9.]+ %\) of CPU in the program$'
	expect_line stderr '^Nothing was lost, and everything was matched\.$'
	expect_no_line stderr 'profile itself'
}

@test "%p, and several programs in one file" {
	with_details
	trace='each-%p.trace' alone sh -c '"$0" 10; "$0" 20' "$workloads/launches"
	expect_status 0
	files=(each-*.trace)
	expect_equal files "${#files[@]}" 2
	alone sh -c '"$0" 1000 4 2 & "$0" 2000 4 2; wait; exec "$0" 30' "$workloads/launches"
	expect_status 0
	read_trace -o out.folded --by process
	expect_kernels 3030
	expect_equal processes "$(cut -d';' -f1 out.folded | sort -u | grep -c '^launches ')" 3
}

# workers of one program: five processes, two of which run at once
make_workers()
{
	trace='app-%p.trace' alone sh -c '"$0" 10; "$0" 20 & "$0" 40 4 2; wait; "$0" 80; exec "$0" 160' \
		"$workloads/launches"
	expect_status 0
	workers=(app-*.trace)
	expect_equal files "${#workers[@]}" 5
}

@test "traces of one program's workers are its processes" {
	with_details
	make_workers
	run_profile --strict --from "${workers[@]}" --unit ns --by process -o out.folded -o out.json
	expect_status 0
	expect_line stderr '^5 traces, as processes of one program:$'
	expect_kernels 310
	for file in "${workers[@]}"; do
		trace=$file read_trace -o one.folded --by process
		cat one.folded >>want
	done
	diff <(sort want) <(sort out.folded)
	expect_equal processes "$(cut -d';' -f1 out.folded | sort -u | grep -cE '^launches [0-9]+$')" 5
	expect_equal ranks "$(jq 'has("ranks")' out.json)" false
	# the order is not that of the shell's *
	run_profile --from "${workers[4]}" "${workers[2]}" "${workers[0]}" "${workers[3]}" "${workers[1]}" \
		--unit ns --by process -o other.folded -o other.json
	expect_status 0
	diff <(sort out.folded) <(sort other.folded)
	expect_equal command "$(jq .command other.json)" "$(jq .command out.json)"
	[[ $(jq -r .command out.json) = */launches\ 10 ]]
}

@test "workers' traces share one clock" {
	make_workers
	run_profile -q --from "${workers[@]}" -o all.trace.json
	expect_status 0
	for file in "${workers[@]}"; do run_profile -q --from "$file" -o "$file.json"; done
	python3 - all.trace.json "${workers[@]/%/.json}" <<-'END'
		import json, re, sys
		def times(path):
		    # of each process: when its kernels began and how long they took
		    events = json.load(open(path))["traceEvents"]
		    names = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
		    found = {}
		    for e in events:
		        if e.get("ph") == "X" and e["name"].startswith("tiny"):
		            found.setdefault(names[e["pid"]], []).append((e["ts"], e["dur"]))
		    return {name: sorted(list) for name, list in found.items()}
		whole = times(sys.argv[1])
		parts = [part for path in sys.argv[2:] for part in times(path).items()]
		assert sum(map(len, whole.values())) == 310, {n: len(l) for n, l in whole.items()}
		for name, kernels in parts:
		    of_it = [k for n, k in whole.items() if n == name]
		    assert len(of_it) == 1, (name, list(whole))
		    # each from its own start: the distances are the same
		    first = kernels[0][0], of_it[0][0][0]
		    for own, merged in zip(kernels, of_it[0]):
		        assert abs((own[0] - first[0]) - (merged[0] - first[1])) < 0.01, (name, own, merged)
		        assert own[1] == merged[1]
		# the first program had ended when the last began
		order = sorted(whole.values(), key=lambda list: list[0][0])
		assert len(order[0]) == 10 and len(order[-2]) == 80 and len(order[-1]) == 160
		assert order[0][-1][0] < min(list[0][0] for list in order[1:])
		assert max(list[-1][0] for list in order[:-1]) < order[-1][0][0]
	END
}

@test "what is in several traces counts once" {
	with_details
	make_workers
	cat "${workers[@]}" >all.trace
	head -c 3000 all.trace >begun.trace
	run_profile --from all.trace begun.trace "${workers[1]}" "${workers[1]}" --unit ns -o out.folded
	expect_status 0
	expect_line stderr "^Samples: $(launched 310 310) "
	expect_line stderr '^profile: [0-9]+ writes of the traces are in them more than once, '
	expect_equal ns "$(weight_of out.folded)" 310000
	# through pipes, which can be read only once
	run_command bash -c '"$0" --from <(cat "$1") - --unit ns -o out.folded <"$2"' \
		"$profile" "${workers[0]}" "${workers[1]}"
	expect_status 0
	trace=${workers[0]} read_trace -o first.folded
	trace=${workers[1]} read_trace -o second.folded
	expect_equal ns "$(weight_of out.folded)" $(($(weight_of first.folded) + $(weight_of second.folded)))
}

@test "losses of workers are summed, and files that are no traces all named" {
	make_workers
	for file in "${workers[1]}" "${workers[3]}"; do
		head -c $(($(stat -c %s "$file") - 150)) "$file" >short
		mv short "$file"
	done
	run_profile --from "${workers[@]}" --unit ns -o out.folded
	expect_status 0
	expect_line stderr "^profile: $(no_goodbye '2 traced processes') "
	run_profile --strict --from "${workers[@]}" --unit ns -o out.folded
	expect_status 124
	said_by 7 /x/app /x/app | head -c 100 >begun.trace
	run_profile --from "${workers[0]}" begun.trace missing.trace "${workers[2]}" -o none.folded
	expect_status 125
	expect_line stderr '^profile: begun.trace is not a trace: it has no hello message$'
	expect_line stderr '^profile: cannot read missing.trace: '
	expect_line stderr "^$(not_merged 2 4)\$"
	expect_no_file none.folded
}

@test "traces of processes with one pid, and of other clocks" {
	said_by 7 /x/app /x/app >one.trace
	said_by 7 /x/app /x/app | sed 's/00000000000000aa/00000000000000bb/' >two.trace
	run_profile --from one.trace two.trace --unit ns --by process -o out.folded
	expect_status 0
	expect_equal ns "$(weight_of out.folded)" 14
	alone "$workloads/launches" 10
	sed 's/"boot":"[0-9a-f]*-/"boot":"00000000-/; s/"id":"[0-9a-f]*"/"id":"00000000000000aa"/' run.trace >other.trace
	run_profile --from run.trace other.trace -o none.folded
	expect_status 125
	expect_line stderr '^profile: run.trace and other.trace are of two machines, or of two starts of one, .*; set RANK and WORLD_SIZE '
	expect_no_file none.folded
}

@test "workers of ranks, and of none beside them" {
	for rank in 0 1 1; do
		trace='rank-%p.trace' alone env RANK=$rank WORLD_SIZE=2 "$workloads/launches" $((10 + rank))
	done
	run_profile --from rank-*.trace --unit ns --by rank,process -o out.folded
	expect_status 0
	expect_line stderr "^$(ranks_of 2 2)\$"
	expect_equal 'processes' "$(cut -d';' -f1,2 out.folded | sort -u | grep -c '^\[rank [01]\];rank [01]: launches ')" 3
	expect_equal ns "$(weight_of out.folded)" 32000
	trace=alone.trace alone "$workloads/launches" 5
	run_profile --from rank-*.trace alone.trace -o none.folded
	expect_status 125
	expect_line stderr '^profile: alone.trace has no rank, '
	expect_line stderr "^$(not_merged 1 4)\$"
}

@test "processes in traces are named by the script that they run" {
	needs_python
	cp "$root/tests/workloads/python_launches.py" worker.py
	trace='app-%p.trace' alone python3 ./worker.py
	expect_status 0
	trace='app-%p.trace' alone python3 ./worker.py
	run_profile --from app-*.trace --by process -o out.folded --unit ns
	expect_status 0
	expect_equal processes "$(cut -d';' -f1 out.folded | sort -u | grep -cE '^worker\.py [0-9]+$')" 2
}

@test "the ranks of a job" {
	with_details
	for rank in 0 1; do
		trace=rank-$rank.trace alone env RANK=$rank WORLD_SIZE=2 "$workloads/launches" $((10 + rank))
	done
	run_profile --from rank-0.trace rank-1.trace --unit ns --by rank -o out.folded
	expect_status 0
	expect_line stderr "^Samples: $(launched 21 21) "
	expect_equal 'rank 0' "$(sed -n 's/^\[rank 0\];.* //p' out.folded)" 10000
	expect_equal 'rank 1' "$(sed -n 's/^\[rank 1\];.* //p' out.folded)" 11000
}

@test "a child of fork writes nothing, and its parent goes on" {
	alone "$workloads/forks"
	expect_status 0
	cp stdout said
	run_profile --strict -gpu-only --unit ns -o live.folded "$workloads/forks"
	read_trace --strict -o out.folded
	diff live.folded out.folded
}

@test "the program changes its directory, and closes all descriptors" {
	with_details
	mkdir elsewhere
	alone sh -c 'cd elsewhere; "$0" 10' "$workloads/launches"
	expect_no_file run.trace
	trace=elsewhere/run.trace read_trace -o out.folded
	expect_kernels 10
	alone "$root/build/tests/hosts/closes_all"
	expect_status 0
	launches=$(sed -n 's/^launches //p' stdout)
	[ "$launches" -gt 0 ]
	read_trace -o out.folded
	expect_line stderr "^Samples: $(launched '[0-9]*' '[0-9]*')"
}

@test "programs that must not notice it" {
	with_details
	for host in descriptors errno_is_kept fork_handlers forked sandboxed small_stacks; do
		rm -f run.trace
		alone "$root/build/tests/hosts/$host"
		expect_status 0
		launches=$(sed -n 's/^launches //p' stdout)
		expect stdout <<<"launches $launches"
		expect_empty stderr
		read_trace --strict -o out.folded
		expect_kernels "$launches"
	done
}

@test "a program that is killed, or crashes" {
	with_details
	for how in FAKE_CUDA_KILL_AFTER FAKE_CUDA_CRASH_AFTER; do
		rm -f run.trace
		alone env "$how=3000" "$workloads/inference" 100
		[ "$status" -ge 128 ]
		read_trace -o out.folded
		expect_line stderr "^profile: $(no_goodbye '1 traced process') "
		expect_line stderr "^Samples: $(launched '[1-9][0-9]*' '[1-9][0-9]*') "
		expect_line out.folded ';main;server::InferencePipeline::run;'
	done
}

@test "a file that is cut anywhere is read up to there" {
	alone "$workloads/launches" 500
	size=$(stat -c %s run.trace)
	for at in 1 40 300 600 5000 $((size / 2)) $((size - 1)); do
		head -c "$at" run.trace >cut.trace
		run_profile --from cut.trace --unit ns -o out.folded
		if [ "$at" -lt 600 ]; then
			expect_status 125
			expect stderr <<<'profile: cut.trace is not a trace: it has no hello message'
		else
			expect_status 0
			expect_line stderr "^profile: $(no_goodbye '1 traced process') "
		fi
	done
}

@test "no room: the program goes on, and what is lost is said" {
	run_command sh -c 'ulimit -f 16; CUDA_INJECTION64_PATH=$1 INJECTION_TRACE=run.trace INJECTION_VERBOSE=1 "$0" 3000' \
		"$workloads/launches" "$library"
	expect_status 0
	expect_line stdout '^launches 3000 '
	expect stderr <<<"profile: cannot write INJECTION_TRACE $PWD/run.trace: File too large"
	[ "$(stat -c %s run.trace)" -le 16384 ]
	read_trace -o out.folded
	expect_line stderr "^profile: $(no_goodbye '1 traced process') \(killed, or the disk full\?\): "
	run_profile --strict --from run.trace -o out.folded
	expect_status 124
}

@test "a file that is removed or replaced: the program goes on, and it is said" {
	alone env INJECTION_VERBOSE=1 "$root/build/tests/hosts/loses_trace" remove
	expect_status 0
	expect stderr <<<"profile: cannot write INJECTION_TRACE $PWD/run.trace: No such file or directory"
	alone env INJECTION_VERBOSE=1 "$root/build/tests/hosts/loses_trace" replace
	expect_status 0
	expect stderr <<<"profile: cannot write INJECTION_TRACE $PWD/run.trace: another file has its name now"
	expect run.trace <<<theirs
	rm run.trace
	alone "$root/build/tests/hosts/loses_trace" remove
	expect_status 0
	expect_empty stderr
	# its own file under the number of stderr, which it checks
	alone env INJECTION_VERBOSE=1 "$root/build/tests/hosts/loses_trace" remove own-stderr
	expect_status 0
	expect_empty stderr
}

@test "nobody reads what is said of a file" {
	trace=/nowhere/run.trace alone env INJECTION_VERBOSE=1 python3 -c '
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
sys.exit(abs(subprocess.run(sys.argv[1:], stderr=writer).returncode))' "$workloads/launches" 10
	expect_status 0
	expect_line stdout '^launches 10 '
}

@test "a program that executes others, which use the GPU as well" {
	with_details
	alone "$root/build/tests/hosts/executes" 3
	expect_status 0
	read_trace -o out.folded
	# of an image that was replaced no work is lost that it waited for
	expect_line stderr "^Samples: $(launched 30 30) "
	expect_line stderr "^profile: $(no_goodbye '2 traced processes') "
}

@test "a program with more privilege than its user has writes none" {
	needs_root
	cp "$root/build/tests/hosts/executes" app
	cp "$library" library.so
	chmod 755 library.so
	chmod 777 .
	for mode in 0755 4755; do
		rm -f run.trace
		chown 4242 app
		chmod "$mode" app
		library=$PWD/library.so alone env INJECTION_VERBOSE=1 ./app 1
		expect_status 0
		expect_line stdout '^launches 10$'
		expect_empty stderr
		[ "$mode" = 4755 ] || expect_line run.trace '"t":"hello"'
	done
	expect_no_file run.trace
}

@test "what is no trace is left alone" {
	echo precious >run.trace
	alone env INJECTION_VERBOSE=1 "$workloads/launches" 10
	expect_status 0
	expect stderr <<<'profile: cannot write INJECTION_TRACE run.trace: it exists and is not a trace'
	expect run.trace <<<precious
	rm run.trace
	ln -s target run.trace
	alone env INJECTION_VERBOSE=1 "$workloads/launches" 10
	expect_status 0
	expect stderr <<<'profile: cannot write INJECTION_TRACE run.trace: Too many levels of symbolic links'
	expect_no_file target
	rm run.trace
	mkfifo run.trace
	alone env INJECTION_VERBOSE=1 "$workloads/launches" 10
	expect_status 0
	expect stderr <<<'profile: cannot write INJECTION_TRACE run.trace: it is not a regular file'
	trace=/nowhere/run.trace alone env INJECTION_VERBOSE=1 "$workloads/launches" 10
	expect_status 0
	expect stderr <<<'profile: cannot write INJECTION_TRACE /nowhere/run.trace: No such file or directory'
	# only who asks learns it
	trace=/nowhere/run.trace alone "$workloads/launches" 10
	expect_status 0
	expect_empty stderr
}

@test "an empty file is as good as none, and a trace goes on" {
	with_details
	: >run.trace
	alone "$workloads/launches" 10
	alone "$workloads/launches" 20
	read_trace -o out.folded
	expect_kernels 30
}

@test "where there is a profiler, it gets everything" {
	with_details
	INJECTION_TRACE=run.trace run_profile --strict -gpu-only --unit ns -o out.folded "$workloads/launches" 100
	expect_status 0
	expect_line stderr "^$(correlation 100)\$"
	expect_no_file run.trace
}

@test "hardware counters go into the trace" {
	alone env INJECTION_METRICS=sm__ctas_launched.sum INJECTION_METRICS_LAUNCHES=3 INJECTION_OUTPUT=out.json \
		"$workloads/launches" 100
	expect_status 0
	expect_no_file out.json
	read_trace -o out.folded -o out.json
	expect_line stderr "^$(counters_read 3 100)\$"
	expect_line out.json 'sm__ctas_launched.sum'
}

@test "NVTX ranges" {
	alone env NVTX_INJECTION64_PATH="$library" "$workloads/nvtx_ranges"
	expect_status 0
	read_trace -o out.folded
	expect_line out.folded ';main;outer;nvtx:outer;between;inner;nvtx:inner;cudaLaunchKernel;\[GPU_Kernel\]nested'
}

@test "Python functions" {
	needs_python
	alone python3 "$root/tests/workloads/python_launches.py"
	expect_status 0
	read_trace -o out.folded
	expect_line out.folded 'python_launches\.py'
}

@test "where CUPTI cannot be used the trace says why" {
	alone "$workloads/cupti_client" before 20
	read_trace -o out.folded
	expect_line stderr '^profile: process [0-9]+: another .*CUPTI'
}

# said_by PID EXE: a trace of a program that says so.
said_by()
{
	local id=00000000000000aa

	printf '\n{"t":"batch","pid":%s,"id":"%s","seq":0}\n' "$1" "$id"
	printf '{"t":"hello","version":2,"pid":%s,"id":"%s","exe":"%s","cupti":"","cupti_version":130001,"clock_offset":"0","clock_error":1,"libs":"","ack":0}\n' "$1" "$id" "$2"
	printf '{"t":"code","s":"1000","e":"2000","o":"0","ino":"1","dev":[0,0],"p":"%s"}\n' "$3"
	printf '{"t":"stack","i":1,"whole":1,"f":"cudaLaunchKernel","a":"1100"}\n'
	printf '{"t":"name","i":1,"n":"k"}\n{"t":"l","s":1000,"h":5,"c":1,"f":1,"k":1}\n'
	printf '{"t":"k","n":1,"s":2000,"d":7,"c":1,"v":[0,1,1],"g":[1,1,1],"b":[1,1,1],"m":[0,0],"r":1}\n'
}

@test "a hostile trace: pids are not looked up, and no device or FIFO is opened" {
	mkfifo fifo
	for path in "$PWD/fifo" /dev/zero /dev/ptmx /proc/self/mem /proc/kmsg ../../etc/passwd ''; do
		said_by 1 "/x/$(printf 'evil\\u001b[31m')" "$path" >run.trace
		read_trace -o out.folded --by process,thread
		expect_line out.folded '^evil\?\[31m 1;\[thread 5\];.*;\[GPU_Kernel\]k 7$'
	done
}

@test "a .trace.json that viewers in browsers cannot read is said to be one" {
	# 150,000 kernels with names of 3,500 characters: some 550 MB, which go nowhere
	said_by 1 /x/app /x/app | sed '/"t":"name"/,$d' >run.trace
	python3 - >>run.trace <<-'END'
		print('{"t":"name","i":1,"n":"%s"}' % ("k" * 3500))
		for i in range(150000):
		    print('{"t":"k","n":1,"s":%d,"d":7,"c":%d,"v":[0,1,1],"g":[1,1,1],"b":[1,1,1],"m":[0,0],"r":1}'
		          % (2000 + 10 * i, i + 1))
	END
	ln -s /dev/null big.trace.json
	read_trace -o big.trace.json
	expect_line stderr '^profile: big\.trace\.json has 5[0-9][0-9] MB, and viewers in browsers read 500 at most; the same takes a third or less as -o big\.perfetto-trace$'
	run_command bash -c '"$0" --from run.trace --format chrome -o - 2>stderr.txt | wc -c' "$profile"
	expect_line stderr.txt "^profile: standard output has $(($(cat stdout) / 1000000)) MB, .* as -o FILE\.perfetto-trace\$"
	read_trace -o big.trace.json -o small.pftrace
	expect_line stderr '^profile: big\.trace\.json has 5[0-9][0-9] MB, .*: small\.pftrace has the same$'
	# less than that
	head -n 100000 run.trace >short.trace
	run_profile --from short.trace -o big.trace.json
	expect_status 0
	expect_no_line stderr ' MB, and viewers'
}

@test "rubbish behind the first line, and programs without a hello" {
	{ echo; head -c 100000 /dev/urandom; } >run.trace
	run_profile --from run.trace -o out.folded
	expect_status 125
	expect stderr <<<'profile: run.trace is not a trace: it has no hello message'
	{ said_by 7 /x/app /x/app; head -c 100000 /dev/urandom; printf '\n{"t":"batch","pid":8,"id":"00000000000000bb","seq":0}\n{"t":"name","i":1,"n":"k"}\n'; } >run.trace
	read_trace --top -o out.folded
	expect_line out.folded ';\[GPU_Kernel\]k 7$'
	expect_line stderr "^profile: $(malformed '[0-9]+' lines trace) were ignored "
	expect_line stderr '^ +[0-9]+   malformed lines from programs$'
	expect_line stderr '^profile: 1 line in the trace came from a process that said no hello and was ignored; '
}

@test "programs of another start of the machine are left out" {
	with_details
	alone "$workloads/launches" 10
	sed 's/"boot":"[0-9a-f]*-/"boot":"00000000-/; s/"id":"[0-9a-f]*"/"id":"00000000000000aa"/' run.trace >other.trace
	cat other.trace >>run.trace
	read_trace -o out.folded
	expect_line stderr "^Samples: $(launched 10 10) "
	expect_line stderr '^profile: 1 program of the trace ran after another start of the machine, '
}
