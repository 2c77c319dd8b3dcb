#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Comparing runs: --diff, and the check of --baseline and --fail-above.

load helpers

# All tests read the captures of these runs. A launch of the workload is 1000 ns of GPU time.
setup_file()
{
	load helpers
	BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR enter_test_folder
	for launches in 100 104 110; do
		run_profile -q -gpu-only -o "$launches.profile" "$workloads/launches" $launches
		echo "$status" >>statuses
	done
}

setup()
{
	enter_test_folder
	cp "$BATS_FILE_TMPDIR"/{*.profile,statuses} .
	expect_equal 'statuses' "$(tr '\n' ' ' <statuses)" '0 0 0 '
}

# field FILE EXPRESSION: of the object d
field()
{
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

# bats test_tags=quick
@test "two captures are compared" {
	needs_command python3
	run_profile --diff 100.profile 110.profile -o d.svg -o d.folded -o d.json
	expect_status 0
	expect_line stderr '^100\.000 us 110\.000 us +\+10\.000 us +\+10\.0 % +0 ns +GPU time$'
	expect_line stderr '^100\.000 us 110\.000 us +\+10\.000 us +\+10\.0 % +0 ns +tiny$'
	expect_line stderr '^Wrote 1 stack to d\.folded$'
	expect_line d.folded ';launch_kernel.*;\[GPU_Kernel\]tiny\(.*\) 100000 110000$'
	expect_equal 'columns' "$(awk '{ b += $(NF - 1); a += $NF } END { print b, a }' d.folded)" '100000 110000'
	expect_equal 'totals' "$(field d.json 'd["totals"]["gpu"]["difference"], d["totals"]["gpu"]["significant"]')" \
		'(10000, True)'
	expect_equal 'kernels' "$(field d.json '[(k["before"], k["after"], k["matched_by"], k["count_after"]) for k in d["kernels"]]')" \
		"[(100000, 110000, 'name', 110)]"
	expect_line d.svg 'before 100\.0 .*s, after 110\.0 .*s: \+10\.00 .*s \(\+10\.0 %\), beyond the noise of 0 ns'
	expect_line d.svg '<g class="more1"><title>'
}

# build HASH: the kernels of a program as nvcc -rdc=true and clang name them in one build.
build()
{
	cat >"build_$1.py" <<-END
		import ctypes

		cuda = ctypes.CDLL("libcuda.so.1")
		context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
		unit = "_$1_12_rdc_names_cu_main"
		names = [f"__nv_static_30_{unit}__Z13static_kernelPi",
		         f"__nv_static_30_{unit}__ZN41_GLOBAL__N_{unit}11anon_kernelEPi",
		         f"__omp_offloading_10302_$1__Z3fooPi_l12"]
		cuda.cuInit(0)
		cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
		cuda.cuCtxSetCurrent(context)
		cuda.cuModuleLoadData(ctypes.byref(module), "\\n".join(
		    ["FAKE_CUDA_MODULE"] + [name + "=1000" for name in names] + [""]).encode())
		for name in names:
		    cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
		    cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, None)
		cuda.cuCtxSynchronize()
	END
	run_profile -gpu-only --unit ns -o "$1.profile" -o "$1.folded" python3 "build_$1.py"
	expect_status 0
}

@test "kernels that compilers name by a hash of the build have the same row" {
	needs_command python3
	build ce6f4918
	build 4eb551b2
	sed -n 's/.*\(\[GPU_Kernel\]\)/\1/p' ce6f4918.folded | sort >kernels
	expect kernels <<-'END'
		[GPU_Kernel](anonymous namespace)::anon_kernel(int*) 1000
		[GPU_Kernel]foo(int*)::{OpenMP line 12} 1000
		[GPU_Kernel]static_kernel(int*) 1000
	END
	run_profile --diff ce6f4918.profile 4eb551b2.profile -o d.json
	expect_status 0
	expect_equal 'kernels' "$(field d.json 'sorted((k["before"], k["after"]) for k in d["kernels"])')" \
		'[(1000, 1000), (1000, 1000), (1000, 1000)]'
	expect_line stderr ' same +static_kernel$'
	run_profile -gpu-only --raw-names --unit ns -o raw.folded python3 build_4eb551b2.py
	expect_line raw.folded '\[GPU_Kernel\]__nv_static_30__4eb551b2_12_rdc_names_cu_main__Z13static_kernelPi 1000$'
	expect_line raw.folded '\[GPU_Kernel\]__omp_offloading_10302_4eb551b2__Z3fooPi_l12 1000$'
}

@test "a run does not differ from itself" {
	run_profile --diff 100.profile 100.profile -o d.svg
	expect_status 0
	expect_line stderr '0 ns +same +tiny$'
	expect_no_line d.svg '<g class="(more|less|new|gone)'
}

@test "without -o there is the report alone" {
	run_profile --diff 100.profile 110.profile
	expect_status 0
	expect_empty stdout
	expect_no_line stderr "^$wrote"
	expect_no_file merged_trace.folded
}

@test "several runs of each side show their spread" {
	needs_command python3
	run_profile -q --diff 100.profile 104.profile -- 104.profile 110.profile -o d.json
	expect_status 0
	# t(2) = 4.30265, times sqrt((2000^2 * 2 + 3000^2 * 2) / 2), times sqrt(1/2 + 1/2)
	expect_equal 'difference, bound' "$(field d.json '[d["totals"]["gpu"][k] for k in ("difference", "bound", "significant")]')" \
		'[5000, 15514, False]'
	expect_equal 'runs' "$(field d.json 'd["before"]["runs"], d["after"]["runs"]')" '(2, 2)'
}

@test "options may stand anywhere around the files" {
	run_profile -q --diff -o a.folded 100.profile 110.profile
	expect_status 0
	run_profile --diff 100.profile -o b.folded 110.profile -q
	expect_status 0
	run_profile -q -o c.folded --diff 100.profile -- 110.profile
	expect_status 0
	cmp a.folded b.folded
	cmp a.folded c.folded
	expect_empty stderr
}

@test "a part of each run is compared" {
	run_profile -q --diff 100.profile 110.profile --kernel none_such -o d.folded
	expect_status 0
	expect_empty d.folded
}

@test "folded stacks are compared as weights" {
	needs_command python3
	cat >before.folded <<-'END'
		main;f 100
		main;gone 30
		main;[GPU_Kernel]gemm<128, 64>(float*) 50
		main;[GPU_Kernel]triton_poi_fused_add_0 7
	END
	cat >after.folded <<-'END'
		main;f 100
		main;<new>" 40
		main;[GPU_Kernel]gemm<256, 64>(float*) 90
		main;[GPU_Kernel]triton_poi_fused_add_1 7
	END
	run_profile --diff before.folded after.folded -o d.folded -o d.json -o d.svg
	expect_status 0
	expect_line stderr '^Folded stacks have no unit'
	expect d.folded <<-'END'
		main;<new>" 0 40
		main;[GPU_Kernel]gemm<256, 64>(float*) 50 90
		main;[GPU_Kernel]triton_poi_fused_add_1 7 7
		main;f 100 100
		main;gone 30 0
	END
	expect_line stderr '  50 +90 +\+40 +\+80\.0 % +23 +gemm<256, 64>  \(by template: 1 variant before, 1 after\)$'
	expect_line stderr ' same  triton_poi_fused_add_1  \(by numbers: 1 variant before, 1 after\)$|same +triton'
	expect_line stderr ' new +<new>"$'
	expect_line stderr ' gone +gone$'
	expect_equal 'unit' "$(field d.json 'd["unit"]')" weight
	expect_equal 'names' "$(field d.json '[k["names_before"] for k in d["kernels"] if "names_before" in k]')" \
		"[['[GPU_Kernel]gemm<128, 64>(float*)'], ['[GPU_Kernel]triton_poi_fused_add_0']]"
	expect_line d.svg '1 frame of 30 is only in the runs before: --widths before shows it'
	run_profile -q --diff before.folded after.folded --widths before -o d.svg
	expect_line d.svg '<g class="gone"><title>gone'
	expect_no_line d.svg '<title>&lt;new&gt;'
}

@test "runs of different lengths: a line says so, and --normalize compares shares" {
	needs_command python3
	needs_command node
	printf 'main;f 100\nmain;g 100\n' >short.folded
	printf 'main;f 301\nmain;g 299\n' >long.folded
	run_profile --diff short.folded long.folded -o d.json -o d.html -o d.svg
	expect_status 0
	expect_line stderr '^The runs differ in length \(CPU time: 200 before, 600 after\).*--normalize compares shares$'
	expect_equal 'the page' "$(page_data d.html '[p.difference.length, p.facts.get("weight"), p.difference.isNormalized, p.difference.values.map(list => [...list])]')" \
		'["CPU time","weights",false,[[100,100],[301,299]]]'
	expect_equal 'significant' "$(field d.json '[d["normalized"]] + [f["significant"] for f in d["functions"]]')" '[False, True, True]'
	# the root has no colour, whatever it differs by
	expect_line d.svg '"changes":\[200,600,55,4,' # of the kinds, the fifth: no change
	run_profile --diff short.folded long.folded --normalize -o d.json -o d.html -o d.folded
	expect_status 0
	expect_no_line stderr 'differ in length'
	expect_line stderr '^Shares are compared \(--normalize\)'
	expect_line stderr ' 300 +301 +\+1 +\+0\.3 % +.* noise f$'
	expect_equal 'the page' "$(page_data d.html '[p.difference.length, p.difference.isNormalized, p.difference.values.map(list => [...list])]')" \
		'["CPU time",true,[[300,300],[301,299]]]'
	expect_equal 'rows' "$(field d.json 'd["normalized"], sorted((f["name"], f["before"], f["after"], f["significant"], f["q"]) for f in d["functions"])')" \
		"(True, [('f', 300, 301, False, 1), ('g', 300, 299, False, 1)])"
	expect_equal 'sums' "$(awk '{ b += $(NF - 1); a += $NF } END { print b, a }' d.folded)" '600 600'
	# a run is as long as itself
	run_profile --diff long.folded long.folded
	expect_no_line stderr 'differ in length'
}

@test "what cannot be compared is refused in one line" {
	echo 'main 1' >a.folded
	printf 'main 1\nno weight\n' >bad.folded
	head -c 300 100.profile >cut.profile
	for files in '100.profile a.folded' 'a.folded bad.folded' 'cut.profile 100.profile' \
		'100.profile missing' '100.profile /'; do
		# shellcheck disable=SC2086
		run_profile --diff $files -o d.folded
		expect_status 125
		expect_equal 'lines' "$(wc -l <stderr)" 1
		expect_no_file d.folded
	done
	run_profile --diff a.folded bad.folded
	expect_line stderr 'bad\.folded .*line 2'
}

@test "wrong options are explained" {
	local -A wrong=(
		['--diff 100.profile']='--diff compares two files'
		['--diff 100.profile 100.profile 100.profile']='separate before and after with --'
		['--diff 100.profile 100.profile -o d.pb.gz']='writes .html, .svg, .folded or .json, not pprof'
		['--diff 100.profile 100.profile --waits']='--waits is for one run'
		['--diff 100.profile 100.profile --from 100.profile']='--from is for one run'
		['--normalize true']='--normalize is for comparing runs'
		['--diff 100.profile --baseline 100.profile']='--baseline is for one run'
		['--fail-above 5% true']='needs a --baseline'
		['--baseline 100.profile --fail-on gpu true']='--fail-on needs --fail-above'
		['--baseline 100.profile --fail-above 5 true']="not '5'"
		['--baseline 100.profile --fail-above 5% --fail-on kernels true']='it is gpu, cpu'
		['--baseline 100.profile --fail-above 5% --fail-on kernel=( true']='kernel='
	)
	for options in "${!wrong[@]}"; do
		# shellcheck disable=SC2086
		run_profile $options
		expect_status 125
		expect_line stderr "^profile: .*${wrong[$options]//(/\\(}"
	done
}

@test "--open shows the picture" {
	needs_root
	mkdir -p bin
	printf '#!/bin/sh\necho "$1" >"%s/theirs/shown"\n' "$PWD" >bin/xdg-open
	chmod +x bin/xdg-open
	chmod 644 100.profile 110.profile
	export PATH="$PWD/bin:$PATH" DISPLAY=:77
	unset BROWSER WAYLAND_DISPLAY
	as_tester "$profile" -q --diff 100.profile 110.profile -o theirs/d.folded -o theirs/d.svg --open
	expect_status 0
	wait_until test -s theirs/shown
	expect_line theirs/shown 'd\.svg$'
}

@test "a run that is slower than its baseline fails" {
	run_profile -q -gpu-only --baseline 100.profile --fail-above 5% -o x.folded "$workloads/launches" 110
	expect_status 123
	expect stderr <<-'END'
		profile: GPU time rose by 10.0 % (100.000 us to 110.000 us), above 5%; the noise is up to 0 ns
		profile: one baseline does not show how times differ from run to run: give several --baseline
	END
	[ -e x.folded ]
	run_profile -q -gpu-only --baseline 100.profile --fail-above 5% -o x.folded "$workloads/launches" 104
	expect_status 0
	expect_empty stderr
}

@test "a capture is checked as a run is" {
	run_profile --from 110.profile --baseline 100.profile --fail-above 5% -o x.folded
	expect_status 123
	expect_line stderr '^Compared with 100\.profile:$'
	run_profile --from 104.profile --baseline 100.profile --fail-above 5% -o x.folded
	expect_status 0
	expect_line stderr '^GPU time rose by 4\.0 % \(100\.000 us to 104\.000 us\): not above 5%$'
	run_profile -q --from 104.profile --baseline 100.profile --fail-above 3us -o x.folded
	expect_status 123
	run_profile -q --from 100.profile --baseline 110.profile --fail-above 0% -o x.folded
	expect_status 0
	run_profile -q --diff 100.profile 110.profile --fail-above 5%
	expect_status 123
}

@test "a rise within the noise does not fail" {
	run_profile --from 110.profile --baseline 100.profile --baseline 104.profile --fail-above 5% -o x.folded
	expect_status 0
	expect_line stderr '^profile: GPU time rose by 7\.8 % .*, above 5%, but within the noise of 21\.871 us: this does not fail; 2 more baselines would show it$'
	# what passes may be a rise that these baselines would not show
	run_profile --from 104.profile --baseline 100.profile --baseline 110.profile --fail-above 5% -o x.folded
	expect_status 0
	expect_line stderr '^GPU time fell by 1\.0 % \(105\.000 us to 104\.000 us\): not above 5%$'
	expect_line stderr '^profile: GPU time: a rise above 5% may be within the noise, which is up to 54\.[0-9]+ us; more baselines do not help, these runs differ too much: raise --fail-above, or make the machine quieter$'
	printf 'main;hot 50\nmain 50\n' >before.folded
	printf 'main;hot 65\nmain 50\n' >after.folded
	run_profile --diff before.folded after.folded --fail-above 5% --fail-on function=hot
	expect_status 0
	expect_line stderr 'but within the noise of 18: this does not fail; one run has too few samples or operations of it: raise --fail-above$'
}

@test "--fail-on chooses what may fail" {
	run_profile -q --from 110.profile --baseline 100.profile --fail-above 5% --fail-on kernel=tin -o x.folded
	expect_status 123
	expect_line stderr '^profile: time of kernel=tin \(1 matching\) rose by 10\.0 %'
	run_profile -q --from 110.profile --baseline 100.profile --fail-above 5% --fail-on site=launch_kernel -o x.folded
	expect_status 123
	run_profile -q --from 110.profile --baseline 100.profile --fail-above 20% --fail-on gpu --fail-on kernel=. -o x.folded
	expect_status 0
	# what is not there cannot be checked
	run_profile -q --from 110.profile --baseline 100.profile --fail-above 5% --fail-on kernel=none_such -o x.folded
	expect_status 125
	run_profile -q --from 110.profile --baseline 100.profile --fail-above 5% --fail-on cpu -o x.folded
	expect_status 125
	expect_line stderr '^profile: --fail-on cpu: no run has CPU time: -gpu-only, or samples are not permitted, as the summary of the run says; to compare another time: --fail-on gpu$'
	run_profile -q --from 110.profile --baseline 100.profile --fail-above 5% --fail-on waiting -o x.folded
	expect_status 125
	expect_line stderr '^profile: --fail-on waiting: no run has waiting time: --waits or --wall measures it$'
}

@test "--fail-on function= is own time, function-total= that with what it calls" {
	printf '%s\n' 'main;walk 100' 'main;walk;walk;read 300' 'main;walk;visit;walk 100' 'main;other 900' >before.folded
	printf '%s\n' 'main;walk 100' 'main;walk;walk;read 600' 'main;walk;visit;walk 100' 'main;other 900' >after.folded
	run_profile --diff before.folded after.folded --fail-above 5% --fail-on 'function=^walk$'
	expect_status 0
	expect_line stderr '^own time of function=\^walk\$ \(1 matching\) stayed at 200: not above 5%$'
	# each stack once, though the function is in it several times, or several match
	run_profile -q --diff before.folded after.folded --fail-above 5% --fail-on 'function-total=^walk$' --fail-on 'function-total=^(walk|read)$'
	expect_status 123
	expect_line stderr '^profile: total time of function-total=\^walk\$ \(1 matching\) rose by 60\.0 % \(500 to 800\), above 5%'
	expect_line stderr '^profile: total time of .*read.* \(2 matching\) rose by 60\.0 % \(500 to 800\), above 5%'
	run_profile -q --diff before.folded after.folded --fail-above 5% --fail-on 'function-total=^other$'
	expect_status 0
	run_profile -q --diff before.folded after.folded --fail-above 5% --fail-on 'function=^main$'
	expect_status 125
	expect_line stderr '^profile: --fail-on function=\^main\$: no sample fell into .* function-total=REGEX$'
	run_profile -q --diff before.folded after.folded --fail-above 5% --fail-on 'function-total=none'
	expect_status 125
	expect_line stderr ': nothing has such a name, before or after'
}

@test "--fail-on gpu of runs without GPU time: says so" {
	needs_root
	run_profile -q -cpu-only -F 997 -o cpu.profile sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
	run_profile -q --from cpu.profile --baseline cpu.profile --fail-above 5% -o x.folded
	expect_status 125
	expect_line stderr '^profile: --fail-on gpu: no run has GPU time: -cpu-only left it out; to compare another time: --fail-on cpu$'
	run_profile -q -F 997 -o no_cuda.profile sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done'
	run_profile -q --from no_cuda.profile --baseline no_cuda.profile --fail-above 5% --fail-on gpu -o x.folded
	expect_status 125
	expect_line stderr '^profile: --fail-on gpu: no run has GPU time: no process used CUDA, or it was not traced, as the summary of the run says; to compare another time: --fail-on cpu$'
}

@test "--fail-on cpu: the time that the kernel charged, and what baselines tell of it" {
	needs_root
	for times in 1 1 12; do
		run_profile -q -cpu-only -o "cpu$((++number)).profile" sh -c "i=0; while [ \$i -lt ${times}00000 ]; do i=\$((i + 1)); done"
		expect_status 0
	done
	run_profile --from cpu1.profile --baseline cpu1.profile --fail-above 5% --fail-on cpu -o x.folded
	expect_status 0
	expect_line stderr '^CPU time stayed at .*: not above 5%$'
	run_profile -q --from cpu3.profile --baseline cpu1.profile --fail-above 5% --fail-on cpu -o x.folded
	expect_status 123
	expect_line stderr '^profile: CPU time rose by .*, above 5%; the noise is not known from one run$'
	expect_line stderr '^profile: one baseline does not show how times differ from run to run'
	# the spread of these two is larger than any limit
	run_profile --from cpu3.profile --baseline cpu1.profile --baseline cpu3.profile --fail-above 5% --fail-on cpu -o x.folded
	expect_status 0
	expect_line stderr 'within the noise of .*: this does not fail; .*raise --fail-above'
}

@test "--baseline old-*.profile is several words: it takes one" {
	message="--baseline takes one file, and '104.profile' follows it; write --baseline before each: --baseline 100.profile --baseline 104.profile"
	for words in '--from 110.profile --baseline 100.profile 104.profile' '--baseline 100.profile 104.profile true' \
		'--baseline=100.profile 104.profile -q true' '--baseline 100.profile 104.profile --fail-above 5% true' \
		'-p 1 --baseline 100.profile 104.profile'; do
		# shellcheck disable=SC2086
		run_profile $words
		expect_status 125
		expect_line stderr "^profile: $message$"
	done
	cp 100.profile 100.trace
	run_profile --baseline 100.trace 104.trace true
	expect_status 125
	expect_line stderr "'104.trace' follows it; write --baseline before each"
	# --from takes several files, and these are no ranks
	for words in '--from 110.profile 104.profile --baseline 100.profile' \
		'--baseline 100.profile --from 110.profile 104.profile' \
		'--from 110.profile --baseline 100.profile -o x.folded 104.profile'; do
		# shellcheck disable=SC2086
		run_profile $words
		expect_status 125
		expect stderr <<-END
			profile: 110.profile and 104.profile are several runs, and no ranks of one job, which --from merges; to compare with several baselines write --baseline before each: --from 110.profile --baseline 104.profile --baseline 100.profile
			$(not_merged 2 2)
		END
	done
	run_profile --from 110.profile --baseline 104.profile --baseline 100.profile -o x.folded
	expect_status 0
	# each in a job of its own
	for name in a b c; do
		RANK=0 WORLD_SIZE=1 run_profile -q -cpu-only -o $name.profile true
	done
	run_profile --from a.profile b.profile --baseline c.profile -o x.folded
	expect_status 125
	expect_line stderr '^profile: a.profile and b.profile are several runs, .*: --from a.profile --baseline b.profile --baseline c.profile$'
	run_profile --from 110.profile 104.profile -o x.folded
	expect_status 125
	expect_line stderr 'has no rank'
	run_profile --from 110.profile '--baseline=10?.profile' -o x.folded
	expect_status 125
	expect_line stderr '^profile: cannot read 10\?.profile: .*; the shell found no such files, .*: name each file, --baseline before each$'
}

@test "GitHub gets an annotation" {
	run_command env GITHUB_ACTIONS=true "$profile" -q --from 110.profile --baseline 100.profile --fail-above 5% -o x.folded
	expect_status 123
	expect_line stderr '^::error title=Slower than the baseline::GPU time rose by 10\.0 %25 '
	run_profile -q --from 110.profile --baseline 100.profile --fail-above 5% -o x.folded
	expect_no_line stderr '^::error'
}

@test "a bad baseline shows before the command runs" {
	echo 'main 1' >a.folded
	head -c 300 100.profile >cut.profile
	for file in missing.profile a.folded cut.profile /; do
		run_profile --baseline "$file" --fail-above 5% touch ran
		expect_status 125
		expect_equal 'lines' "$(wc -l <stderr)" 1
		expect_line stderr "^profile: .*$file"
		expect_no_file ran
		expect_no_file merged_trace.folded
	done
}

@test "under sudo files are read and written as the user" {
	needs_root
	chmod 644 100.profile 110.profile
	as_tester "$profile" -q --diff 100.profile 110.profile -o theirs/d.svg
	expect_status 0
	expect_equal owner "$(stat -c %u theirs/d.svg)" 4242
	chmod 600 100.profile
	as_tester "$profile" -q --diff 100.profile 110.profile -o theirs/e.svg
	expect_status 125
	as_tester "$profile" -q --baseline 100.profile -o theirs/e.svg touch theirs/ran
	expect_status 125
	expect_line stderr 'cannot read 100\.profile'
	expect_no_file theirs/ran
}

@test "losses are said to make times too small" {
	run_command env FAKE_CUDA_DROP_EVERY=10 "$profile" -q -gpu-only -o lossy.profile "$workloads/launches" 100
	run_profile --diff 100.profile lossy.profile
	expect_status 0
	expect_line stderr '^profile: lossy\.profile lost 10 GPU operations: its times are too small$'
}

@test "a difference is a page that loads nothing" {
	needs_command node
	run_profile --diff 100.profile 100.profile -o d.html --fail-above 5%
	expect_status 0
	expect_line stderr '^GPU time stayed at 100\.000 us: not above 5%$'
	# report and page call equal times the same
	expect_line stderr '0 ns +same +GPU time$'
	expect_equal 'GPU time' "$(page_data d.html 'p.difference.tables[0].rows[0]')" \
		'{"name":"GPU time","unit":0,"before":100000,"after":100000,"bound":0,"verdict":"same"}'
	expect_equal 'sides' "$(page_data d.html 'p.difference.sides.map(side => side.command.replace(/.*[/]/, ""))')" \
		'["launches 100","launches 100"]'
	expect_line d.html "default-src 'none'"
	expect_line d.html '^</html>$'
	expect_no_line d.html '(src|href)="[^#]'
}

@test "a part of the run: what its ends cut is noise" {
	local captures=$root/tests/captures
	run_profile --diff "$captures/h200_torch_eager.profile" "$captures/h200_torch_loader.profile" \
		--time 1..2 --fail-above 5% --fail-on 'function=PyObject_Free' --fail-on wall
	expect_status 0
	expect_line stderr '^profile: own time of function=PyObject_Free .* within the noise of .* ms: this does not fail; -F 299 in all runs or runs 4\.6 times as long would show it$'
	expect_line stderr '^time of the run stayed at 1\.000 s: not above 5%$'
}
