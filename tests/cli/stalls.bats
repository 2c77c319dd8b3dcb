#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# --stalls: why warps of kernels stall, below the kernels.

load helpers

setup()
{
	enter_test_folder
	export FAKE_CUDA_STRICT=1
	launches=$workloads/launches
	cubin=$root/build/tests/cubins/lines.cubin
}

# below PATTERN: the ns of stacks that go on so below a kernel
below()
{
	weight_of out.folded "GPU_Kernel\\]$1"
}

@test "the time of a kernel is split by reasons, and stays the same" {
	with_details
	run_profile -gpu-only --stalls --unit ns -o out.folded "$launches" 1000
	expect_status 0
	expect_equal all "$(weight_of out.folded)" 1000000
	expect_equal 'long scoreboard' "$(below 'tiny[^;]*;\[stall: long scoreboard\]$')" 750000
	expect_equal selected "$(below 'tiny[^;]*;\[selected\]$')" 250000
	expect_line stderr "^$(stall_samples 4000), one every 16384 cycles, split 100.0 % of the kernel time; 0.0 % have a source line\$"
	expect_line stderr '^  they are of kernels, not of launches: each launch of a kernel shows the kernel.s mean$'
	expect_line stderr "^$(correlation 1000)\$"
	expect_line stderr '^  750.000 us     75.0 %        long scoreboard   tiny$'
}

@test "source lines and inlined functions" {
	[ -e "$cubin" ] || skip 'no nvcc made a cubin'
	cat >samples <<-'END'
		_Z4tinyy 0x0 wait 1
		_Z4tinyy 0x100 long_scoreboard 8
		_Z4tinyy 0x110 selected 1
	END
	FAKE_CUDA_CUBIN=$cubin FAKE_CUDA_PC_SAMPLES=$PWD/samples run_profile -gpu-only --stalls \
		--unit ns -o out.folded -o out.profile -o out.json -o out.svg -o out.html "$launches" 1000
	expect_status 0
	expect_equal all "$(weight_of out.folded)" 1000000
	expect_equal lines "$(below 'tiny[^;]*(;[^;]*)*;lines.cu:[0-9]*;\[[^;]*\]$')" 1000000
	expect_equal 'long scoreboard' "$(below 'tiny[^;]*(;[^;]*)*;lines.cu:[0-9]*;\[stall: long scoreboard\]$')" 800000
	[ "$(below 'tiny[^;]*;inlined.unsigned int const.*;lines.cu:[0-9]*;')" -gt 0 ]
	expect_line stderr '100.0 % have a source line$'
	expect_line stderr '^ +At: lines.cu:[0-9]* \(100.0 %\)$'
	grep -q 'lines.cu:' out.svg
	# what a capture keeps is all
	mv out.folded first
	run_profile -q --from out.profile --unit ns -o out.folded -o again.json
	expect_status 0
	cmp first out.folded
	python3 -c 'import json
a, b = (json.load(open(f)) for f in ("out.json", "again.json"))
assert a["stalls"] == b["stalls"] and a["kernels"] == b["kernels"], a["kernels"]
assert a["stalls"][0]["reason"] == "long scoreboard" and a["stalls"][0]["ns"] == 800000
assert a["kernels"][0]["calls" if "calls" in a["kernels"][0] else "count"] == 1000'
	# and folded stacks are read again
	run_profile --diff first first
	expect_status 0
	expect_line stderr '^ +1000000 +1000000 .* tiny$'
}

@test "exact: each launch site shows its own stalls" {
	# each round launches tiny in three ways, and a graph of three others
	cat >samples <<-'END'
		_Z4tinyy@0/6 0x10 long_scoreboard 8
		_Z4tinyy@0/6 0x20 selected 2
		_Z4tinyy@1/6 0x10 wait 10
		_Z4tinyy@2/6 0x10 selected 5
		_Z4tinyy@2/6 0x10 wait 5
		_Z13tiny_in_graphy 0x30 math_pipe 2
	END
	FAKE_CUDA_PC_SAMPLES=$PWD/samples run_profile -gpu-only --stalls=exact --unit ns -o out.folded \
		-o out.profile "$launches" 400 1 1 mixed
	expect_status 0
	expect_equal all "$(weight_of out.folded)" 600000
	expect_equal 'kernel: long scoreboard' "$(weight_of out.folded 'launch_kernel.*tiny[^;]*;\[stall: long scoreboard\]$')" 80000
	expect_equal 'kernel: selected' "$(weight_of out.folded 'launch_kernel.*tiny[^;]*;\[selected\]$')" 20000
	expect_equal 'ex: wait' "$(weight_of out.folded 'launch_ex.*tiny[^;]*;\[stall: wait\]$')" 100000
	expect_equal 'cooperative: wait' "$(weight_of out.folded 'launch_cooperative.*tiny[^;]*;\[stall: wait\]$')" 50000
	expect_equal 'cooperative: selected' "$(weight_of out.folded 'launch_cooperative.*tiny[^;]*;\[selected\]$')" 50000
	expect_equal 'graph: the mean' "$(weight_of out.folded 'tiny_in_graph[^;]*;\[stall: math pipe throttle\]$')" 300000
	expect_line stderr "^$(stall_samples 3600), one every 16384 cycles, split 100.0 % of the kernel time; 0.0 % have a source line\$"
	expect_line stderr '^  each launch site shows its own: kernels ran one after the other, '
	expect_line stderr '^  600 samples \(16.7 %\) are of graphs. launches, or of none that is known$'
	expect_line stderr '^  50.0 % of the kernel time is of launches without samples of their own, which show their kernel.s mean$'
	cp out.folded first
	run_profile --from out.profile --unit ns -o out.folded
	expect_status 0
	cmp first out.folded
	# the mean is what --stalls=kernels shows
	FAKE_CUDA_PC_SAMPLES=$PWD/samples run_profile -gpu-only --stalls=exact --stalls=kernels --unit ns \
		-o out.folded "$launches" 400 1 1 mixed
	expect_status 0
	expect_equal all "$(weight_of out.folded)" 600000
	expect_equal 'ex: wait' "$(weight_of out.folded 'launch_ex.*tiny[^;]*;\[stall: wait\]$')" 50000
	expect_line stderr '^  they are of kernels, not of launches: '
}

@test "exact: kernels run one after the other" {
	run_profile -v -gpu-only --stalls=exact -o out.trace.json "$launches" 2000 4 4
	expect_status 0
	# CUPTI's clock is compared with ours again meanwhile, as exactly as the first time, or less on a busy machine
	python3 -c 'import json, re
error = int(re.search(r"clock within (\d+) ns", open("stderr").read())[1]) / 1000
events = json.load(open("out.trace.json"))["traceEvents"]
kernels = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("cat") == "kernel")
assert len(kernels) == 2000
apart = sum(b[0] > a[1] - 2 * error for a, b in zip(kernels, kernels[1:]))
assert apart >= 1990, apart'
}

@test "a comparison says that stalls or counters were measured in one run alone" {
	run_profile -q -gpu-only -o plain.profile "$workloads/launches" 10
	run_profile -q -gpu-only --stalls=exact -o exact.profile "$workloads/launches" 10
	run_profile -q -gpu-only --counters default -o counted.profile "$workloads/launches" 10
	run_profile --diff plain.profile plain.profile -o out.json
	expect_status 0
	expect_no_line stderr 'other options'
	for after in exact counted; do
		run_profile --diff plain.profile $after.profile -o out.json
		expect_status 0
		expect_line stderr "^profile: $after\.profile $other_options"
	done
}

@test "exact: threads, samples that come late, contexts that go" {
	with_details
	FAKE_CUDA_PC_LATE=1 run_profile -gpu-only --stalls=exact --by stream --unit ns -o out.folded "$launches" 400 4 4
	expect_status 0
	expect_equal all "$(weight_of out.folded)" 400000
	expect_equal 'long scoreboard' "$(below 'tiny[^;]*;\[stall: long scoreboard\]$')" 300000
	expect_line stderr "^$(correlation 400)\$"
	expect_no_line stderr 'of none that is known|samples of their own'
	for workload in device_reset forks driver_api; do
		run_profile -gpu-only --stalls=exact --unit ns -o out.folded "$workloads/$workload"
		expect_status 0
		expect_line stderr '^Stalls: .* split 100.0 % of the kernel time'
	done
	run_profile -gpu-only --stalls=launch true
	expect_status 125
	expect_line stderr "^profile: --stalls is kernels or exact, not 'launch'$"
}

@test "instructions, of kernels without lines too" {
	cat >samples <<-'END'
		_Z4tinyy 0xa0 long_scoreboard 6
		_Z4tinyy 0xb0 long_scoreboard 3
		_Z4tinyy 0x0 long_scoreboard 2
		_Z4tinyy 0xc0 long_scoreboard 1
		_Z4tinyy 0xa0 selected 4
	END
	FAKE_CUDA_PC_SAMPLES=$PWD/samples run_profile -gpu-only --stalls --top --unit ns -o out.folded \
		-o out.json -o out.profile "$launches" 1000
	expect_status 0
	expect_line stderr '^ +Instructions: \+0xa0 \(50.0 %\), \+0xb0 \(25.0 %\), \+0x0 \(16.7 %\)$'
	expect_line stderr '^ +Instructions: \+0xa0 \(100.0 %\)$'
	# stacks have none
	expect_equal 'long scoreboard' "$(below 'tiny[^;]*;\[stall: long scoreboard\]$')" 750000
	run_profile -q --from out.profile -o again.json
	expect_status 0
	python3 -c 'import json
a, b = (json.load(open(f))["stalls"] for f in ("out.json", "again.json"))
assert a == b
assert a[0]["lines"] == "" and a[1]["instructions"] == "+0xa0 (100.0 %)", a'
}

@test "a kernel stays one in the tables, by its own time" {
	run_profile -gpu-only --stalls --top -o out.json "$launches" 999 3 2 graph
	expect_status 0
	expect_line stderr '^ +2997 .* tiny_in_graph$'
	run_profile -gpu-only --stalls --by stream --my-code --unit ns -o out.folded "$launches" 400 4 4
	expect_status 0
	expect_equal all "$(weight_of out.folded)" 400000
	expect_equal 'long scoreboard' "$(below 'tiny[^;]*;\[stall: long scoreboard\]$')" 300000
}

@test "what comes only at the end, or in parts, is there" {
	FAKE_CUDA_PC_LATE=1 run_profile -gpu-only --stalls -o out.folded "$launches" 1000
	expect_status 0
	expect_line stderr "^$(stall_samples 4000), .* split 100.0 % "
}

@test "samples that the GPU drops are counted" {
	FAKE_CUDA_PC_DROP_EVERY=4 run_profile -gpu-only --stalls --strict -o out.folded "$launches" 1000
	expect_status 124
	expect_line stderr "^$(stall_samples 3000), "
	expect_line stderr '^  the GPU dropped 1000 samples \(25.0 %\): a longer --stall-period makes fewer$'
	expect_line stderr 'stall samples that the GPU dropped'
}

@test "without permission, or a GPU that can, the run goes on" {
	FAKE_CUDA_PC_ERROR=Enable=35 run_profile -gpu-only --stalls --unit ns -o out.folded "$launches" 1000
	expect_status 0
	expect_line stderr '^profile: process [0-9]*: no stalls: .*NVreg_RestrictProfilingToAdminUsers=0.*CUPTI_ERROR_INSUFFICIENT_PRIVILEGES\)$'
	expect_equal all "$(weight_of out.folded 'GPU_Kernel\]tiny[^;]*$')" 1000000
	for call in Enable GetNumStallReasons GetStallReasons SetConfigurationAttribute; do
		FAKE_CUDA_PC_ERROR=$call=27 run_profile -gpu-only --stalls --unit ns -o out.folded "$launches" 1000
		expect_status 0
		expect_line stderr "^profile: process [0-9]*: no stalls: .*cuptiPCSampling$call: CUPTI_ERROR_NOT_SUPPORTED\\)$"
		expect_equal all "$(weight_of out.folded 'GPU_Kernel\]tiny[^;]*$')" 1000000
	done
	# fetching alone fails: nothing comes, and nothing breaks
	FAKE_CUDA_PC_ERROR=GetData=7 run_profile -gpu-only --stalls --unit ns -o out.folded "$launches" 1000
	expect_status 0
	expect_equal all "$(weight_of out.folded)" 1000000
}

@test "modules and contexts that go, forks and exits" {
	with_details
	for workload in device_reset forks driver_api; do
		run_profile -gpu-only --stalls --unit ns -o out.folded "$workloads/$workload"
		expect_status 0
		expect_line stderr "^$(correlation '[0-9]*')\$"
		expect_line stderr '^Stalls: .* split 100.0 % of the kernel time'
	done
}

@test "the period is a power of two" {
	run_profile -gpu-only --stall-period 1024 -o out.folded "$launches" 10
	expect_status 0
	expect_line stderr "^$(stall_samples 40), one every 1024 cycles"
	for bad in 0 1000 16 4294967296 2k -1; do
		run_profile -gpu-only --stall-period $bad true
		expect_status 125
		expect_line stderr "^profile: --stall-period is a power of two from 32 to 2147483648, not '$bad'$"
	done
	run_profile -cpu-only --stalls true
	expect_status 125
	expect_line stderr "^profile: $(needs_gpu_time --stalls -cpu-only)\$"
}

@test "without --stalls nothing of it is there" {
	run_profile -gpu-only -v --unit ns -o out.folded "$launches" 1000
	expect_status 0
	expect_no_line stderr 'PC samples|Stalls:'
	expect_equal all "$(weight_of out.folded 'GPU_Kernel\]tiny[^;]*$')" 1000000
}

# embedded FILE: the report's lines of source, each as "base name:line text"
embedded()
{
	node --input-type=module -e "
		import {readFileSync} from 'node:fs';
		import {unpackProfile} from '$root/profiler/web/html/data.js';
		const text = readFileSync('$1', 'utf8');
		const {sources} = await unpackProfile(text.match(/id=\"data\">([^<]*)</)[1]);
		for (const {file, state, hasChanged, lines} of sources) {
			const name = file.replace(/.*\//, '');
			console.log(name + ' state ' + state + (hasChanged ? ' changed' : ''));
			for (const [line, text] of lines) console.log(name + ':' + line + ' ' + text);
		}"
}

# A program with a kernel in a file of ours, source/k.cu. Its line table has the file's whole path.
compile_kernel()
{
	needs_command node
	needs_command nvcc
	mkdir -p source
	chmod 755 source
	{
		echo '// </script><script>alert(1)</script>'
		echo '__global__ void tiny(unsigned long long address)'
		echo '{'
		echo '	((unsigned *)address)[threadIdx.x] += 1; // the hot one'
		echo '}'
		seq -f '// %g' 100
	} >source/k.cu
	(cd source && nvcc -lineinfo -cubin -o ../k.cubin k.cu)
	for at in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
		echo "_Z4tinyy 0x${at}0 long_scoreboard 1"
	done >samples
	export FAKE_CUDA_CUBIN=$PWD/k.cubin FAKE_CUDA_PC_SAMPLES=$PWD/samples
}

@test "source: lines around stalls are in the report, and nothing else of the file" {
	compile_kernel
	run_profile -gpu-only --stalls -o out.html -o out.profile "$launches" 100
	expect_status 0
	expect_line ending '^Report: out\.html \(with 2[0-9] lines of 1 source file\)$'
	embedded out.html >lines
	expect_line lines '^k.cu state 0$'
	expect_line lines '^k.cu:1 // </script><script>alert\(1\)</script>$'
	expect_line lines '^k.cu:4 	\(\(unsigned \*\)address\)\[threadIdx.x\] \+= 1; // the hot one$'
	expect_no_line lines '^k.cu:(3[0-9]|[4-9][0-9]|1[0-9][0-9]) '
	expect_no_line out.html 'the hot one|alert'
	# of a capture: as the file is then
	run_profile -q --from out.profile -o again.html
	expect_status 0
	cmp lines <(embedded again.html)
	echo '// other' >source/k.cu
	run_profile -q --from out.profile -o again.html
	expect_status 0
	embedded again.html >lines
	expect_line lines '^k.cu state 0 changed$'
	expect_line lines '^k.cu:1 // other$'
	rm source/k.cu
	run_profile --from out.profile -o again.html
	expect_status 0
	expect_no_line ending 'source file'
	expect_equal gone "$(embedded again.html)" 'k.cu state 1'
}

@test "source: only a file of source is read, and only one that the user may read" {
	compile_kernel
	run_profile -q -gpu-only --stalls -o out.profile "$launches" 100
	expect_status 0
	mv source/k.cu source/k.txt
	ln -s k.txt source/k.cu
	run_profile -q --from out.profile -o out.html
	expect_status 0
	expect_equal 'a link to no source' "$(embedded out.html)" 'k.cu state 2'
	rm source/k.cu
	mkfifo source/k.cu
	run_profile -q --from out.profile -o out.html
	expect_status 0
	expect_equal FIFO "$(embedded out.html)" 'k.cu state 2'
	rm source/k.cu
	needs_root
	mv source/k.txt source/k.cu
	mkdir -m 777 theirs
	chmod 600 source/k.cu
	# under sudo: what the user may read; and as root: what all may
	run_command env SUDO_UID=4249 SUDO_GID=4249 "$profile" -q -gpu-only --stalls -o theirs/out.html "$launches" 100
	expect_status 0
	expect_equal sudo "$(embedded theirs/out.html)" 'k.cu state 1'
	run_profile -q -gpu-only --stalls -o out.html "$launches" 100
	expect_status 0
	expect_equal root "$(embedded out.html)" 'k.cu state 1'
	# folders count, whoever's they are
	chmod 644 source/k.cu
	for owner in 0 4249; do
		chmod 700 source
		chown $owner source
		for how in '' '--from out.profile'; do
			# shellcheck disable=SC2086 # words
			if [ -n "$how" ]; then
				run_profile -q $how -o out.html
			else
				run_profile -q -gpu-only --stalls -o out.html "$launches" 100
			fi
			expect_status 0
			expect_equal "a private folder, $how" "$(embedded out.html)" 'k.cu state 1'
		done
		chmod 711 source
		run_profile -q -gpu-only --stalls -o out.html "$launches" 100
		expect_line <(embedded out.html) '^k.cu state 0$'
	done
	chmod 755 source
	chmod 600 source/k.cu
	chown 0 source
	chown 4249 source/k.cu
	rm theirs/out.html
	run_command env SUDO_UID=4249 SUDO_GID=4249 "$profile" -q -gpu-only --stalls -o theirs/out.html "$launches" 100
	expect_status 0
	expect_line <(embedded theirs/out.html) '^k.cu state 0$'
	chmod 700 source
	rm theirs/out.html
	run_command env SUDO_UID=4249 SUDO_GID=4249 "$profile" -q -gpu-only --stalls -o theirs/out.html "$launches" 100
	expect_status 0
	expect_equal 'its folder' "$(embedded theirs/out.html)" 'k.cu state 1'
}
