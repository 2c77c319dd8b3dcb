# SPDX-License-Identifier: MIT
# Options, messages and exit statuses.

load helpers

setup()
{
	enter_test_folder
}

# wrong_usage MESSAGE ARGUMENTS...: refused with that line, and the command has not run.
wrong_usage()
{
	local message=$1

	shift
	run_profile "$@"
	expect_status 125
	expect_empty stdout
	printf '%s\n%s\n' "$message" "Try 'profile --help'." | expect stderr
	expect_no_file has_run
	expect_no_file merged_trace.folded
}

@test "--version" {
	run_profile --version
	expect_status 0
	expect stdout <<<'profile <N>.<N>.<N>'
	expect_empty stderr
	run_profile -version
	expect_status 0
}

@test "--help names every option" {
	run_profile --help
	expect_status 0
	expect_empty stderr
	for option in '-o FILE' -gpu-only -cpu-only '-F, --freq HZ' '--unit UNIT' --raw-names --inlines \
		'-cupti-lib PATH' '-cuda-lib PATH' --as-root -v -q --version '-h, --help'; do
		expect_line stdout "^  .*$option"
	done
	cp stdout long
	run_profile -h
	expect_status 0
	cmp stdout long
}

@test "no command" {
	wrong_usage 'profile: no command to run'
	wrong_usage 'profile: no command to run' -o x --
}

@test "unknown options" {
	wrong_usage "<*>profile: unrecognized option '--bogus'" --bogus touch has_run
	wrong_usage "<*>profile: unrecognized option '-bogus'" -bogus touch has_run
	wrong_usage "<*>profile: unrecognized option '-x'" -x touch has_run
}

@test "options without their value" {
	wrong_usage "<*>profile: option '--freq' requires an argument" --freq
	wrong_usage "<*>profile: option requires an argument -- 'o'" -o
}

@test "bad numbers" {
	for number in 0 -1 abc 50x '' 1.5 0x32 10001 99999999999999999999 ' 50'; do
		wrong_usage "profile: -F takes a whole number of Hz from 1 to 10000, not '$number'" \
			-F "$number" touch has_run
	done
}

@test "bad unit" {
	wrong_usage "profile: --unit is one of samples, us, ns, not 'years'" \
		--unit years touch has_run
}

@test "-gpu-only and -cpu-only exclude each other" {
	wrong_usage 'profile: -gpu-only and -cpu-only exclude each other; leave both out for the merged profile' \
		-gpu-only -cpu-only touch has_run
}

@test "one dash or two" {
	needs_root
	for option in -cpu-only --cpu-only; do
		run_profile $option -o out.folded true
		expect_status 0
		expect stderr <<-'END'
			Samples: <N> CPU
			Wrote <N> stacks (<N> samples: <N> CPU, 0 GPU) to out.folded
		END
	done
}

@test "the command's own options are left alone" {
	needs_root
	run_profile -q -o out.folded printf '%s|' -q --version -o -- x
	expect_status 0
	expect stdout <<<'-q|--version|-o|--|x|'
	run_profile -q -o out.folded -- printf '%s|' -- -F
	expect stdout <<<'--|-F|'
}

@test "exit statuses of the command are passed on" {
	needs_root
	for want in 0 1 3 37 125 126 127 255; do
		run_profile -q -o out.folded "$workloads/exits" $want
		expect_status $want
		expect_empty stdout
		expect_empty stderr
	done
	run_profile -q -o out.folded "$workloads/exits" _exit
	expect_status 5
}

@test "128 + the signal that killed the command" {
	needs_root
	run_profile -q -o out.folded "$workloads/exits" segv
	expect_status $((128 + 11))
	run_profile -q -o out.folded "$workloads/exits" abort
	expect_status $((128 + 6))
	run_profile -q -o out.folded "$workloads/exits" kill
	expect_status $((128 + 9))
	expect_empty stderr
	[ -e out.folded ]
}

@test "126: the command cannot be run" {
	needs_root
	echo text >text
	run_profile -o out.folded ./text
	expect_status 126
	expect stderr <<<'profile: cannot run ./text: Permission denied'
	run_profile -o out.folded /
	expect_status 126
	expect_no_file out.folded
}

@test "127: the command is not found" {
	needs_root
	run_profile -o out.folded no-such-command-here
	expect_status 127
	expect stderr <<<'profile: no-such-command-here: command not found'
	run_profile -o out.folded ./no-such-command-here
	expect_status 127
	expect_no_file out.folded
}

# as_nobody ARGUMENTS...: where nobody may read the program and write to the folder `open`
as_nobody()
{
	needs_root
	needs_command setpriv
	cp "$profile" "$workloads/inference" . # wherever the originals are, others may not get there
	mkdir -p open
	chmod 777 open
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups ./profile "$@"
}

@test "125: launch probes without privileges" {
	as_nobody -launch-stacks uprobe -o open/out.folded touch open/has_run
	expect_status 125
	expect_empty stdout
	expect stderr <<<'profile: loading eBPF programs is not permitted; run with sudo, or give the binary CAP_BPF and CAP_PERFMON'
	expect_no_file open/has_run
	expect_no_file open/out.folded
}

@test "without privileges: user code is sampled, and what is missing is said in one line" {
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip 'kernel.perf_event_paranoid is above 2'
	as_nobody -F 997 -o open/out.folded ./inference 20
	expect_status 0
	expect stderr <<-'END'
		profile: loading eBPF programs is not permitted; run with sudo, or give the binary CAP_BPF and CAP_PERFMON. Going on with CPU samples of user code only
		Samples: <N> CPU, 1480 launches, 1480 GPU kernels (530.800 ms)
		Correlation: 1480 matched, 0 unmatched, 0 dropped
		Wrote <N> stacks (<N> samples: <N> CPU, 529 GPU) to open/out.folded
	END
	expect_line stacks '^Stacks: (100.0|99\.[0-9]) % of CPU samples are whole'
	expect_line open/out.folded ';main;server::InferencePipeline::run;server::Tokenizer::tokenize [0-9]+$'
}

@test "root without capabilities does no better" {
	needs_root
	needs_command setpriv
	run_command setpriv --bounding-set=-bpf,-perfmon,-sys_admin \
		--inh-caps=-bpf,-perfmon,-sys_admin "$profile" -o out.folded true
	expect_status 0
	expect_line stderr '^profile: loading eBPF programs is not permitted; .* Going on with '
}

@test "125: the output cannot be written, found out before the command runs" {
	needs_root
	run_profile -o no/such/folder/out.folded touch has_run
	expect_status 125
	expect stderr <<<'profile: cannot write no/such/folder/out.folded: No such file or directory; give another file with -o'
	run_profile -o / touch has_run
	expect_status 125
	expect stderr <<<'profile: cannot write /: Is a directory; give another file with -o'
	wrong_usage 'profile: -o needs a file name, or - for stdout' -o '' touch has_run
	expect_no_file has_run
}

@test "125: the output fills the disk" {
	needs_root
	[ -c /dev/full ] || skip 'no /dev/full'
	run_profile -o /dev/full "$workloads/inference" 3
	expect_status 125
	expect_line stderr '^profile: writing /dev/full: No space left on device'
}

@test "125: libraries that are not there" {
	needs_root
	run_profile -cupti-lib /no/such.so touch has_run
	expect_status 125
	expect stderr <<<'profile: -cupti-lib /no/such.so: No such file or directory'
	run_profile -cuda-lib /no/such.so touch has_run
	expect_status 125
	expect stderr <<<'profile: -cuda-lib /no/such.so: No such file or directory'
	run_profile -cuda-lib /etc/passwd touch has_run
	expect_status 125
	expect stderr <<<'profile: -cuda-lib /etc/passwd: no CUDA launch function in it'
	expect_no_file has_run
	expect_no_file merged_trace.folded
}

@test "a failed run leaves an earlier profile alone" {
	needs_root
	echo 'main 1' >out.folded
	run_profile -o out.folded no-such-command-here
	expect_status 127
	expect out.folded <<<'main 1'
}

@test "the default output is merged_trace.folded" {
	needs_root
	run_profile "$workloads/inference" 3
	expect_status 0
	expect stderr <<-'END'
		Samples: <N> CPU, 222 launches, 222 GPU kernels (79.620 ms)
		Correlation: 222 matched, 0 unmatched, 0 dropped
		Wrote <N> stacks (<N> samples: <N> CPU, 4 GPU) to merged_trace.folded
	END
	expect_folded merged_trace.folded
	expect_totals merged_trace.folded
}

@test "-o -: stdout has the stacks alone, the command's stdout goes to stderr" {
	needs_root
	run_profile -gpu-only -o - "$workloads/inference" 3
	expect_status 0
	expect_folded stdout
	expect_equal 'GPU samples' "$(weight_of stdout '\[GPU_Kernel\]')" 4
	expect stderr <<-'END'
		requests 3 kernels 222 gpu_ns 79620000 cpu_ns 36000000
		Samples: 222 launches, 222 GPU kernels (79.620 ms)
		Correlation: 222 matched, 0 unmatched, 0 dropped
		Wrote <N> stacks (4 samples: 0 CPU, 4 GPU) to standard output
	END
}

@test "-q is silent" {
	needs_root
	run_profile -q -o out.folded "$workloads/inference" 3
	expect_status 0
	expect_empty stderr
	expect stdout <<<'requests 3 kernels 222 gpu_ns 79620000 cpu_ns 36000000'
	run_profile -q -o out.folded ls -d /
	expect_empty stderr
}

@test "-v says what CUPTI reported" {
	needs_root
	run_profile -v -gpu-only -launch-stacks uprobe -o out.folded "$workloads/inference" 3
	expect_status 0
	expect_line stderr '^profile: process [0-9]+ \(.*/inference\) uses CUDA; CUPTI 130001: .*/libcupti\.so\.13; clock within [0-9]+ ns$'
	expect_line stderr '^profile: probe on cudaLaunchKernel in .*/libcudart\.so\.13 '
	expect_line stderr '^profile: process [0-9]+: CUPTI reported 222 operations, 79620000 ns$'
}

@test "no CUDA in the command" {
	needs_root
	run_profile -o out.folded ls -d /
	expect_status 0
	expect stdout <<</
	expect stderr <<-'END'
		Samples: <N> CPU, 0 launches, 0 GPU kernels (0.000 ms)
		Correlation: 0 matched, 0 unmatched, 0 dropped
		profile: the command did not use CUDA: this is its CPU profile alone
		Wrote <N> stacks (<N> samples: <N> CPU, 0 GPU) to out.folded
	END
	run_profile -gpu-only -o out.folded ls -d /
	expect stderr <<-'END'
		Samples: 0 launches, 0 GPU kernels (0.000 ms)
		Correlation: 0 matched, 0 unmatched, 0 dropped
		profile: the command did not use CUDA: the profile is empty
		Wrote 0 stacks (0 samples: 0 CPU, 0 GPU) to out.folded
	END
	expect_empty out.folded
}
