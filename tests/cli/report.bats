# SPDX-License-Identifier: MIT
# The end of a run, and --top.

load helpers

setup()
{
	enter_test_folder
}

# Columns do not matter here.
squeeze()
{
	sed -E 's/ +/ /g' "$1" >"$1.squeezed"
	mv "$1.squeezed" "$1"
}

# bats test_tags=quick
@test "--top: times, tables, losses and cost, behind the summary" {
	needs_root
	with_details
	run_profile --top --unit ns -o x.folded "$workloads/inference" 10
	expect_status 0
	squeeze stderr
	# times are converted between clocks: neighbours may overlap by a nanosecond
	expect_line stderr "^$took [0-9.]+ m?s; CPU [0-9.]+ m?s \([0-9.]+ %\), GPU busy 265.(400|399) ms \([0-9.]+ %\), GPU work 265.400 ms \(sum\)\$"
	expect_line stderr '^No GPU worked for '
	expect_line stderr '^ 120 108.000 ms 900.000 us 40.7 % model::gemm<float, 128, 256>$'
	expect_line stderr '^ 360 187.200 ms 520.000 us 70.5 % server::Mlp::forward$'
	expect_line stderr ' own time share total time share function, on the CPU$'
	expect_line stderr '^(Nothing|No time) was lost, and everything was matched.$' # a stack may be cut
	# what it cost is in the summary's last line
	expect_no_line stderr '^While it ran, profile itself used '
	expect_line cost '^Cost: CPU '
}

@test "what a run cost is in its summary, and in the summary as JSON" {
	needs_root
	with_details
	run_profile -F 500 -o x.folded -o x.json "$workloads/launches" 20000 2
	expect_status 0
	expect_line cost '^Cost: CPU .* in the program .*; memory [0-9.]+ MiB, pipe 3.[0-9] MiB$'
	python3 - <<-'EOF'
		import json
		run = json.load(open("x.json"))
		assert 0 < run["library_cpu_ns"] # few launches count for all: one that was disturbed, too
		assert 0 < run["kernel_cpu_ns"] < run["command_cpu_ns"]
		assert run["profiler_cpu_ns"] > 0 and run["profiler_memory_bytes"] > 1 << 20
		assert 20000 * 150 < run["pipe_bytes"] < 20000 * 250
	EOF
}

@test "--top knows who launched where the runtime is linked statically" {
	run_profile -q --top -gpu-only -o x.folded "$workloads/inference_static" 10
	expect_status 0
	squeeze stderr
	expect_line stderr '^ 360 187.200 ms 520.000 us 70.5 % server::Mlp::forward$'
	expect_no_line stderr 'unknown'
	expect_line stderr '^While it ran, profile itself used [0-9.]+ [mu]?s \([0-9.]+ %\) of CPU and [0-9]+ MiB of memory$'
}

@test "--top names losses" {
	needs_root
	FAKE_CUDA_DROP_EVERY=10 run_profile --top --unit ns -o x.folded "$workloads/launches" 100
	expect_status 0
	squeeze stderr
	expect_line stderr '^ 10 GPU operations dropped$'
	expect_no_line stderr ' was lost, and'
}

@test "-q --top: the report and nothing else" {
	needs_root
	run_profile -q --top -o x.folded "$workloads/inference" 3
	expect_status 0
	head -n 1 stderr >first
	expect_line first "^$took "
	expect_no_line stderr "^$wrote "
	expect_no_line stderr '^Samples: '
	run_profile -q -o x.folded "$workloads/inference" 3
	expect_empty stderr
}

@test "a run ends with what ran, a table, what is missing, the price and the files" {
	needs_root
	run_profile -F 500 -o x.folded -o x.html -o x.profile "$workloads/inference" 10
	expect_status 0
	squeeze ending
	head -n 1 ending >first
	# what limits it depends on the machine's load
	expect_line first ': ran [0-9.]+ m?s, exit 0\. (GPU 0|start-up).* [0-9.]+ % of (the steps|the time from|the run).*$'
	expect_line ending '^ 10 steps of [0-9.]+ ms \(8 of 10 take .*; look closer: --from x\.profile --step [0-9] -o step\.html: the slowest one$'
	expect_line ending '^ time share count GPU work, launched by$'
	expect_line ending '^ 108\.000 ms 40\.7 % 120 model::gemm<float, 128, 256>, by server::Mlp::forward$'
	expect_line ending '^ 17\.000 ms 6\.4 % \(4 more\)$'
	expect_line ending '^ total own on the CPU$'
	expect_line ending '^ [0-9.]+ ms \+-[0-9.]+ % [0-9.]+ ms \+-[0-9.]+ % server::Tokenizer::tokenize$'
	expect_line ending '^Complete: nothing lost, .* Price: CPU .* in the program, .* in the operating system, .* in profile$'
	tail -n 2 ending >files
	expect files <<-'END'
		Wrote: x.folded, x.profile
		Report: x.html
	END
	# the verdict with its advice, three findings, 14 lines of the table, three at the end
	test "$(wc -l <ending)" -le 22
	# nothing is wrong, so there is nothing else
	for file in stderr stacks work omitted cost used; do
		expect_empty $file
	done
	# and so it is of a capture
	cp ending of_run
	run_profile --from x.profile -o y.svg
	expect_empty stderr
	squeeze ending
	diff <(grep -v '^Complete\|^Wrote\|^Report' of_run) <(grep -v '^Complete\|^Wrote' ending)
	expect_line ending '^Complete: nothing lost, '
	tail -n 1 ending >files
	expect files <<<'Wrote: y.svg'
	# without GPU work there is no verdict
	run_profile -F 500 -cpu-only -o x.folded "$workloads/inference" 10
	expect_status 0
	squeeze ending
	head -n 1 ending >first
	expect_line first ': ran [0-9.]+ m?s, exit 0\. CPU [0-9.]+ ms$'
}

@test "what is wrong has its details, without -v" {
	needs_root
	FAKE_CUDA_DROP_EVERY=10 run_profile -gpu-only --unit ns -o x.folded "$workloads/launches" 1000
	expect_status 0
	expect stderr <<-END
		Samples: $(launched 1000 900) (0.900 ms)
		$(correlation 900 0 100)
		  100 operations were dropped before reaching the profiler: their GPU time is not in the profile
	END
	expect_line work "$all_sums_match"
	expect_line ending '^Not complete: GPU operations dropped: 100; all stacks whole\. Price: '
	FAKE_CUDA_SUBSCRIBE_ERROR=39 run_profile -gpu-only -o x.folded "$workloads/inference" 3
	expect_status 0
	expect_line stderr "^$(calls_timed 225 '1 process'), "
	expect_line ending '^Not complete: processes without GPU time: 1'
}

@test "how a run ended is said" {
	needs_root
	run_profile -cpu-only -o x.folded sh -c 'exit 7'
	expect_status 7
	expect_line ending '^sh -c .exit 7.: ran [0-9.]+ m?s, exit 7'
	run_profile -cpu-only -o x.folded sh -c 'kill -TERM $$'
	expect_status 143
	expect_line ending ': ran [0-9.]+ m?s, exit 143'
	run_profile -d 0.3 -cpu-only -o x.folded "$workloads/cpu_mix" 2000
	expect_status 0
	expect_line ending ': recorded 300 ms; shown with -d 0\.3\.'
}

@test "on a terminal, a run ends in lines of its width" {
	needs_root
	needs_command script
	on_terminal()
	{
		script -qec "stty cols 90; '$profile' $* '$workloads/inference' 10" /dev/null </dev/null | tr -d '\r' >shown
	}
	on_terminal -o x.folded
	expect_line shown ' GPU work, launched by$'
	expect_line shown '\(4 more\)$'
	expect_line shown '^Wrote: x\.folded$'
	# in 90 columns
	test "$(wc -L <shown)" -le 90
	on_terminal -q -o x.folded
	expect_no_line shown 'launched by|^Complete'
}

@test "stacks that round to nothing are counted, with their time" {
	needs_root
	with_details
	run_profile -gpu-only -o x.folded "$workloads/inference" 3
	expect omitted <<<'  5 more stacks round to 0 (9.420 ms altogether) and are not in it; the sum includes their time'
	cp omitted said
	run_profile -gpu-only --unit us -o all.folded "$workloads/inference" 3
	expect_empty omitted
	# the same stacks are missing, and their time is what was said
	sed 's/ [0-9]*$//' x.folded | sort >there
	while read -r line; do
		grep -qxF -- "${line% *}" there || echo "${line##* }"
	done <all.folded >missing
	test "$(wc -l <missing)" = 5
	expect_equal 'their time' "$(($(paste -sd+ missing)))" 9420
}

# busy WINDOW: the report of that part of x.profile; how long the GPU was busy then, in us, is added to `parts`.
busy()
{
	run_profile -q --top --from x.profile --time "$1" -o x.folded
	expect_status 0
	squeeze stderr
	awk '/^Shown / && sub(/.*, GPU busy /, "") { print $1 * ($2 == "s" ? 1e6 : $2 == "ms" ? 1000 : 1) }' stderr >>parts
}

@test "the report of a capture knows when the GPU was busy, also of a part of it" {
	needs_root
	run_profile -q -F 500 --waits -o x.profile "$workloads/inference" 10
	expect_status 0
	run_profile -q --top --from x.profile -o x.folded
	expect_status 0
	squeeze stderr
	expect_line stderr "^$took .*, GPU busy 265.(400|399) ms \([0-9.]+ %\), GPU work 265.400 ms \(sum\)\$"
	expect_line stderr '^No GPU worked for [0-9.]+ ms \([0-9.]+ %\); longest: [0-9.]+ ms (at [0-9]|from the start)'
	expect_line stderr ' own time share total time share function, while no GPU worked$'
	expect_line stderr '^ 10 [0-9.]+ ms [0-9.]+ ms [0-9.]+ % cudaStreamSynchronize$'
	# the kernels alone take 265 ms: not all of them are in the first 200; none may be
	busy ..200ms
	expect_line stderr "^$took [^,]*\$"
	expect_line stderr '^Shown with --time ..200ms: 200.000 ms(, GPU busy |$)'
	busy 200ms..
	expect_line stderr "^$took [^,]*\$"
	expect_line stderr '^Shown with --time 200ms..: [0-9.]+ m?s, GPU busy [0-9.]+ m?s \([0-9.]+ %\), GPU work '
	expect_equal 'both parts, in units of 10 us' "$(awk '{ us += $1 } END { printf "%.0f", us / 10 }' parts)" 26540
}
