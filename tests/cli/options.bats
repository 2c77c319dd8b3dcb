# SPDX-License-Identifier: MIT
# Options, messages and exit statuses.

load helpers

setup()
{
	enter_test_folder
}

# Enough for CPU samples at 997 Hz.
burn='i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'

# wrong_usage MESSAGE ARGUMENTS...: refused with that line, and the command has not run.
wrong_usage()
{
	local message=$1

	shift
	run_profile "$@"
	expect_status 125
	expect_empty stdout
	printf '%s\n%s\n' "$message" "$try_help" | expect stderr
	expect_no_file has_run
	expect_no_file merged_trace.folded
}

# bats test_tags=quick
@test "--version" {
	run_profile --version
	expect_status 0
	expect stdout <<<'profile <N>.<N>.<N>'
	expect_empty stderr
	run_profile -version
	expect_status 0
}

# bats test_tags=quick
@test "--help names every option" {
	run_profile --help
	expect_status 0
	expect_empty stderr
	for option in '-o, --output FILE' -gpu-only -cpu-only '-F, --freq HZ' '--unit UNIT' --raw-names --inlines --debuginfod \
		'-injection-lib PATH' '-cuda-lib PATH' --as-root --flame -v -q --version '-h, --help' '-v, --verbose' '-q, --quiet'; do
		expect_line stdout "^  .*$option"
	done
	cp stdout long
	run_profile -h
	expect_status 0
	cmp stdout long
}

@test "--help TOPIC explains one topic" {
	run_profile --help
	topics=$(sed -n '/^TOPIC is one of/,/^$/p' stdout | sed 's/TOPIC is one of//' | tr -d ',' | xargs)
	for topic in $topics; do
		run_profile --help "$topic"
		expect_status 0
		expect_empty stderr
		test "$(wc -l <stdout)" -ge 3
		mv stdout "topic_$topic"
	done
	expect_line topic_exit '^  125 '
	expect_line topic_output '^  --unit UNIT '
	expect_line topic_all '^  --unit UNIT '
	expect_line topic_all '^  125 '
	run_profile --help=exit
	cmp stdout topic_exit
	run_profile -o x --help exit
	cmp stdout topic_exit
	run_profile -h nonsense
	expect_status 125
	expect_empty stdout
	expect stderr <<<"profile: no help on 'nonsense'; name an option, or a topic: ${topics// /, }"
	expect_no_file x
}

@test "--help OPTION explains one option" {
	run_profile --help --wall
	expect_status 0
	expect_empty stderr
	expect_line stdout '^  --wall\[=STACKS\] '
	expect_line stdout '^ +STACKS is one of user, kernel$'
	expect_line stdout '^More: profile --help waits, man profile$'
	mv stdout wall
	for word in wall wal --wal -wall; do
		run_profile --help $word
		expect_status 0
		cmp stdout wall
	done
	for word in -F F freq --rate -frequency; do
		run_profile -h $word
		expect_status 0
		expect_line stdout '^  -F, --freq HZ '
		expect_line stdout '^ +Also --frequency, --rate, --sampling-frequency\.$'
	done
	run_profile --help waits # the topic; the option has dashes
	expect_line stdout '^Waiting$'
	run_profile --help --waits
	expect_line stdout '^  --waits '
	run_profile --help --walll
	expect_status 125
	expect stderr <<<"profile: no help on '--walll': did you mean --wall?"
	run_profile --help
	mv stdout overview
	for words in '-vh' '--help -- true' '-hv'; do
		# shellcheck disable=SC2086
		run_profile $words
		cmp stdout overview
	done
}

@test "profile alone says what it is" {
	run_profile
	expect_status 125
	expect_empty stdout
	expect_line stderr '^profile runs a program'
	expect_line stderr '^  sudo profile -o app.html ./app$'
	expect_line stderr 'python3.* train.py$'
	expect_line stderr '^  sudo profile -cpu-only '
	expect_line stderr 'profile --help TOPIC'
	test "$(wc -l <stderr)" -le 16
}

@test "no command" {
	wrong_usage 'profile: no command to run' -q
	wrong_usage 'profile: no command to run' -o x --
	wrong_usage "profile: no command to run: 'x.html' is the argument of -o; the command must follow it" -q -o x.html
	wrong_usage "profile: no command to run: './app' is the argument of --kernel; the command must follow it" --kernel ./app
}

# bats test_tags=quick
@test "unknown options" {
	wrong_usage "<*>profile: unrecognized option '--bogus'" --bogus touch has_run
	wrong_usage "<*>profile: unrecognized option '-bogus'" -bogus touch has_run
	wrong_usage "<*>profile: unrecognized option '-x'" -x touch has_run
	# not --as-root, nor a part of a longer name
	wrong_usage "profile: unrecognized option '-a': <*>" -a touch has_run
	wrong_usage "profile: unrecognized option '-P'" -P 1234
	wrong_usage "profile: unrecognized option '--nvtxx'; did you mean --nvtx?" --nvtxx touch has_run
	wrong_usage "profile: unrecognized option '--gpu': -gpu-only is GPU time alone; CPU and GPU time together need no option" \
		--gpu touch has_run
	wrong_usage "profile: option '--me' is ambiguous: --metrics, --metrics-kernels or --metrics-launches" \
		--me default touch has_run
	wrong_usage "profile: '–o' begins with a typographic dash; type a hyphen: -o" –o x touch has_run
}

@test "options without their value" {
	wrong_usage "profile: option '--freq' requires an argument: HZ" --freq
	wrong_usage "profile: option '-o' requires an argument: FILE" -o
	wrong_usage "profile: option '-o' requires an argument, FILE: the option '--wall' follows it" -o --wall touch has_run
}

@test "names that other profilers have" {
	needs_root
	for options in '--output out.svg' '--output=out.svg' '-output out.svg' '--out out.svg' '--outfile out.svg'; do
		# shellcheck disable=SC2086
		run_profile -q $options --rate 99 touch has_run
		expect_status 0
		[ -e has_run ]
		expect_line out.svg '^<svg'
		rm out.svg has_run
	done
}

@test "an output behind the command is the command's: a hint says how to write it" {
	needs_root
	hint='behind the command'
	run_profile echo x -o a.html
	expect_status 0
	expect stdout <<<'x -o a.html'
	expect_line stderr "^profile: -o a.html follows the command, so it is passed to the command; to set profile's output write: profile \[options\] -o a.html echo x$"
	run_profile true --output=a.svg
	expect_line stderr "^profile: --output=a.svg follows .* write: profile \[options\] --output=a.svg true$"
	for words in '-o out.folded true -o a.html' 'true -o a.json' 'true -o a' 'true -- -o a.html' 'true -o' \
		'-q true -o a.html' 'record -o a.html'; do
		# shellcheck disable=SC2086
		run_profile $words
		if grep "$hint" stderr; then echo "$words"; false; fi
	done
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
	with_details
	needs_root
	for option in -cpu-only --cpu-only; do
		run_profile $option -F 997 -o out.folded sh -c "$burn"
		expect_status 0
		expect stderr <<-'END'
			Samples: <N> CPU
			Wrote <N> stack<s> (<N> x <F> ms: <N> CPU, 0 GPU) to out.folded
		END
	done
}

@test "the command's own options are not parsed" {
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

@test "a command that a signal killed is named with it; one that exits with such a status is not" {
	needs_root
	run_profile -o out.folded "$workloads/exits" segv
	expect_status 139
	expect_line stderr '^profile: the command was killed by SIGSEGV \(11\)$'
	run_profile -o out.folded sh -c 'kill -40 $$'
	expect_status 168
	expect_line stderr '^profile: the command was killed by signal 40$'
	run_profile -o out.folded sh -c 'exit 139'
	expect_status 139
	if grep -q killed stderr; then false; fi
	# after the time of -d, too: then the command goes on without profile's looking
	run_profile -d 100ms -o out.folded sh -c 'sleep 1; kill -TERM $$'
	expect_status 143
	expect_line stderr '^profile: the command was killed by SIGTERM \(15\)$'
}

@test "126: the command cannot be run" {
	needs_root
	echo text >text
	run_profile -o out.folded ./text
	expect_status 126
	expect stderr <<<'profile: cannot run ./text: it has no permission to execute; if it is a program, give it: chmod +x ./text'
	printf '#!/usr/bin/env python3\n' >busy.py
	run_profile -o out.folded ./busy.py --lr '1 2'
	expect_status 126
	expect stderr <<<"profile: cannot run ./busy.py: it has no permission to execute (chmod +x gives it); write: profile [options] python3 ./busy.py --lr '1 2'"
	run_profile -o out.folded /
	expect_status 126
	expect_no_file out.folded
}

@test "126: a script whose interpreter is missing, or ends in CR" {
	needs_root
	printf '#!/no/such/shell -e\necho\n' >missing
	printf '#!/bin/sh\r\necho\r\n' >windows
	chmod 755 missing windows
	run_profile -o out.folded ./missing
	expect_status 126
	expect stderr <<<'profile: cannot run ./missing: its interpreter /no/such/shell does not exist'
	PATH=$PWD:$PATH run_profile -o out.folded windows
	expect_status 126
	expect stderr <<<'profile: cannot run windows: its first line ends in CR LF, as lines do on Windows; save it with LF alone'
	expect_no_file out.folded
}

@test "127: the command is not found" {
	needs_root
	run_profile -o out.folded no-such-command-here
	expect_status 127
	expect stderr <<<'profile: no-such-command-here: command not found'
	printf '#!/usr/bin/env python3\n' >busy.py
	run_profile -o out.folded busy.py
	expect_status 127
	expect stderr <<<'profile: busy.py: command not found: PATH does not lead here; write: profile [options] python3 busy.py'
	run_profile -o out.folded ./no-such-command-here
	expect_status 127
	expect_no_file out.folded
}

# as_nobody ARGUMENTS...: as user nobody, who may read the program and write to the folder `open`
as_nobody()
{
	needs_root
	needs_command setpriv
	cp "$profile" "$workloads/inference" . # wherever the originals are, others may not get there
	mkdir -p open
	chmod 777 open
	run_command setpriv --reuid=65534 --regid=65534 --clear-groups ./profile ${details:+"$details"} "$@"
}

@test "without privileges: Python functions are missing for that, and the line says so" {
	with_details
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip 'kernel.perf_event_paranoid is above 2'
	needs_root
	needs_command setpriv
	for python in "$(command -v python3)" /usr/bin/python3 ''; do
		if [ "$python" ] && setpriv --reuid=65534 --regid=65534 --clear-groups "$python" -c '' 2>/dev/null; then
			break
		fi
	done
	[ "$python" ] || skip 'there is no interpreter that others can run'
	as_nobody -F 997 -o open/out.profile "$python" -c 'for i in range(3000000): sum((i, 1))'
	expect_status 0
	expect_line stacks "^Stacks: [0-9]+ (is|are) without (its|their) Python functions, which profile may not read: $advice$"
	expect_no_line stacks 'interpreter was known'
	run_profile --from open/out.profile -o x.folded # a capture knows it, too
	expect_line stacks "which profile may not read: $advice$"
}

@test "docs and messages have one line for setcap" {
	for file in security troubleshooting; do
		expect_line "$root/docs/$file.md" "$setcap_line"
	done
}

@test "125: launch probes without privileges" {
	as_nobody -launch-stacks uprobe -o open/out.folded touch open/has_run
	expect_status 125
	expect_empty stdout
	expect stderr <<<"$no_bpf; $advice"
	expect_no_file open/has_run
	expect_no_file open/out.folded
}

@test "without privileges: user code is sampled, and one line names what is missing" {
	with_details
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip 'kernel.perf_event_paranoid is above 2'
	as_nobody -F 997 -o open/out.folded ./inference 20
	expect_status 0
	expect stderr <<-END
		$no_bpf; $advice. $going_on CPU samples of user code only, without Python functions
		Samples: <N> CPU, $(launched 1480 1480) (530.800 ms)
		$(correlation 1480)
		Wrote <N> stack<s> (<N> x <F> ms: <N> CPU, 529 GPU) to open/out.folded
	END
	expect_line open/out.folded ';main;server::InferencePipeline::run;server::Tokenizer::tokenize [0-9]+$'
}

# Copies of stacks do not say where a stack ends.
@test "without privileges: stacks of the program and of its loader are whole" {
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip 'kernel.perf_event_paranoid is above 2'
	as_nobody -F 997 -o open/out.folded ./inference 20
	expect_status 0
	expect_line open/out.folded ';main;server::InferencePipeline::run;'
	expect_no_line open/out.folded '\[truncated\].*;server::'
	# samples of a loader are rare: as many programs as it takes
	loads=1
	until grep -qsE '^([^;]*;)?(_start|\[ld-linux[^;]*);' open/loader.folded; do
		loads=$((loads * 2))
		[ $loads -le 65536 ]
		as_nobody -cpu-only -F 4999 -o open/loader.folded sh -c "for i in \$(seq $loads); do /bin/true; done"
		expect_status 0
	done
	expect_no_line open/loader.folded '\[truncated\];.*(_dl_|ld-linux)'
}

@test "root without capabilities has the same limits" {
	needs_root
	needs_command setpriv
	run_command setpriv --bounding-set=-bpf,-perfmon,-sys_admin \
		--inh-caps=-bpf,-perfmon,-sys_admin "$profile" -o out.folded true
	expect_status 0
	expect_line stderr "^$no_bpf; .* $going_on "
}

@test "125: an output in a deleted folder is found before the command runs" {
	needs_root
	mkdir gone
	run_command sh -c 'cd gone && rmdir ../gone && exec "$@"' sh "$profile" -o out.folded touch "$PWD/has_run"
	expect_status 125
	expect stderr <<<'profile: cannot write out.folded: the current folder has been deleted; change to another one (cd), or choose a file with -o that begins with /'
	expect_no_file has_run
}

@test "125: an unwritable output is found before the command runs" {
	needs_root
	run_profile -o no/such/folder/out.folded touch has_run
	expect_status 125
	expect stderr <<<'profile: cannot write no/such/folder/out.folded: the folder no/such/folder does not exist; make it (mkdir -p), or choose another file with -o'
	run_profile -o / touch has_run
	expect_status 125
	expect stderr <<<'profile: cannot write /: Is a directory; choose another file with -o'
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

@test "125: missing libraries" {
	needs_root
	for option in -injection-lib -cupti-lib; do
		run_profile $option /no/such.so touch has_run
		expect_status 125
		expect stderr <<<'profile: -injection-lib /no/such.so: No such file or directory'
	done
	run_profile -cuda-lib /no/such.so touch has_run
	expect_status 125
	expect stderr <<<'profile: -cuda-lib /no/such.so: No such file or directory'
	run_profile -cuda-lib /etc/passwd touch has_run
	expect_status 125
	expect stderr <<<'profile: -cuda-lib /etc/passwd: no CUDA launch function in it'
	expect_no_file has_run
	expect_no_file merged_trace.folded
}

@test "a failed run keeps an earlier profile" {
	needs_root
	echo 'main 1' >out.folded
	run_profile -o out.folded no-such-command-here
	expect_status 127
	expect out.folded <<<'main 1'
}

@test "an old profile stays complete until the new one is, whichever process is killed" {
	needs_root
	local worker

	echo 'main 1' >out.folded
	chmod 604 out.folded
	ln -s out.folded link
	start_profile -o link "$workloads/exits" sleep
	wait_until grep -qs ready stdout
	worker=$(worker_of "$pid")
	child=$(child_of "$pid")
	kill -KILL "$pid" "$worker"
	finish_profile
	kill -KILL "$child"
	expect out.folded <<<'main 1'
	run_profile -q -gpu-only -o link "$workloads/launches" 1000
	expect_status 0
	expect_folded out.folded
	expect_equal mode "$(stat -c %a out.folded)" 604
	expect_equal link "$(readlink link)" out.folded
	expect_equal files "$(find . -type f -name '*[fp]*' | sort | tr '\n' ' ')" './out.folded '
}

@test "a link to a file that does not exist yet" {
	needs_root
	mkdir results
	ln -s results/new.folded link
	run_profile -q -gpu-only --unit ns -o link "$workloads/launches" 10
	expect_status 0
	expect_equal ns "$(weight_of results/new.folded)" 10000
}

@test "/dev/stdout and its aliases are the same as -o -" {
	needs_root
	for path in /dev/stdout /dev/fd/1 /proc/self/fd/1 "$PWD/stdout"; do
		run_profile -q -gpu-only --unit ns -o "$path" "$workloads/launches" 10
		expect_status 0
		expect_folded stdout
		expect_equal ns "$(weight_of stdout)" 10000
		expect stderr <<<'launches 10 kernels 10 threads 1 streams 1 mode kernel'
	done
	# a pipe, as scripts have it
	"$profile" -q -gpu-only --unit ns -o /dev/stdout "$workloads/launches" 10 2>stderr 3>&- |
		cat >got
	expect_equal ns "$(weight_of got)" 10000
}

@test "a reader that goes away: the command is undisturbed, and no message appears" {
	needs_root
	mkfifo out go
	# who opens it for reading is gone before anything is written
	"$profile" -q -gpu-only --unit ns -o - sh -c 'read -r _ <go; "$0" 10; touch has_run' \
		"$workloads/launches" >out 2>stderr 3>&- &
	pid=$!
	: <out
	echo >go
	finish_profile
	cp stderr stdout
	expect_status 141
	expect stderr <<<'launches 10 kernels 10 threads 1 streams 1 mode kernel'
	[ -e has_run ]
}

@test "125: a closed stdout" {
	needs_root
	status=0
	"$profile" -o - touch has_run >&- 2>stderr 3>&- || status=$?
	: >stdout
	expect_status 125
	expect stderr <<<'profile: cannot write -: Bad file descriptor; choose another file with -o'
	expect_no_file has_run
}

@test "the command's name cannot control the terminal" {
	needs_root
	local folder=$'odd\e]0;title\a\x9b31m\n'

	mkdir "$folder"
	cp "$workloads/inference" "$folder"
	run_profile -v -gpu-only -launch-stacks uprobe -o out.folded "$folder/inference" 3
	expect_status 0
	expect_line stderr "^profile: process [0-9]+ \(.*/odd\?\]0;title\?.*31m\?/inference\) $uses_cuda"
	if LC_ALL=C grep -n $'[\x01-\x08\x0b-\x1f\x7f]' stderr; then false; fi
}

@test "the default output is merged_trace.folded" {
	with_details
	needs_root
	run_profile "$workloads/inference" 3
	expect_status 0
	expect stderr <<-END
		Samples: <N> CPU, $(launched 222 222) (79.620 ms)
		$(correlation 222)
		Wrote <N> stack<s> (<N> x 20 ms: <N> CPU, 4 GPU) to merged_trace.folded
	END
	expect_folded merged_trace.folded
	expect_totals merged_trace.folded
}

@test "on a terminal, the default output mentions reports and pictures" {
	needs_command script
	script -qec "'$profile' -cpu-only true" /dev/null >stdout 2>stderr </dev/null
	expect_line stdout 'profile: for a report or a picture in the browser: -o FILE[.]html, -o FILE[.]svg'
	script -qec "'$profile' -cpu-only -o out.folded true" /dev/null >stdout 2>stderr </dev/null
	expect_no_line stdout 'in the browser'
}

@test "-o -: only stacks on stdout, the command's stdout goes to stderr" {
	with_details
	needs_root
	run_profile -gpu-only -o - "$workloads/inference" 3
	expect_status 0
	expect_folded stdout
	expect_equal 'GPU samples' "$(weight_of stdout '\[GPU_Kernel\]')" 4
	expect stderr <<-END
		requests 3 kernels 222 gpu_ns 79620000 cpu_ns 36000000
		Samples: $(launched 222 222) (79.620 ms)
		$(correlation 222)
		Wrote <N> stack<s> (4 x 20 ms: 0 CPU, 4 GPU) to standard output
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

@test "-v shows what CUPTI reported" {
	needs_root
	run_profile -v -gpu-only -launch-stacks uprobe -o out.folded "$workloads/inference" 3
	expect_status 0
	expect_line stderr "^profile: process [0-9]+ \(.*/inference\) $uses_cuda; CUPTI 130001: .*/libcupti\.so\.13; clock within [0-9]+ ns\$"
	expect_line stderr '^profile: probe on cudaLaunchKernel in .*/libcudart\.so\.13 '
	expect_line stderr '^profile: process [0-9]+: CUPTI reported 222 operations, 79620000 ns$'
}

@test "no CUDA in the command" {
	with_details
	needs_root
	run_profile -F 997 -o out.folded sh -c "$burn; echo burnt"
	expect_status 0
	expect stdout <<<burnt
	expect stderr <<-END
		$(cpu_samples '<N>')
		$no_cuda: this profile has CPU time only
		Wrote <N> stack<s> (<N> x <F> ms: <N> CPU, 0 GPU) to out.folded
	END
	run_profile -gpu-only -o out.folded ls -d /
	expect stderr <<-END
		$no_cuda: the profile is empty
		Wrote 0 stacks (0 x 20 ms: 0 CPU, 0 GPU) to out.folded
	END
	expect_empty out.folded
}

@test "help, version and completion say when they cannot be written" {
	for words in --help '--help output' --version '--completion fish'; do
		read -ra words <<<"$words"
		run_command sh -c '"$@" >/dev/full' sh "$profile" "${words[@]}"
		expect_status 125
		expect_line stderr '^profile: writing to standard output: No space left on device$'
		run_command sh -c '"$@" >&-' sh "$profile" "${words[@]}"
		expect_status 125
		expect_line stderr '^profile: writing to standard output: Bad file descriptor$'
	done
}

@test "--stream takes a number, --widths a picture, -o a fifo once" {
	wrong_usage "profile: --stream takes a number, not 'x'" --stream x touch has_run
	wrong_usage "profile: --widths is for the picture of a difference: --diff or --slow-steps with -o FILE.svg or -o FILE.html" \
		--widths before --diff a b -o d.folded
	wrong_usage "profile: --widths is for the picture of a difference: --diff or --slow-steps with -o FILE.svg or -o FILE.html" \
		--widths before touch has_run
	mkfifo fifo
	run_profile -o fifo -o ./fifo touch has_run
	expect_status 125
	expect_line stderr '^profile: -o \./fifo is given twice, or two -o name the same file$'
	expect_no_file has_run
}
