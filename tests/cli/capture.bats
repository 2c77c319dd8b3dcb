#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# Captures: -o FILE.profile, and all that --from makes of one.

load helpers

# All tests read the files of one run.
setup_file()
{
	load helpers
	if [ "$(id -u)" != 0 ]; then return; fi
	BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR enter_test_folder
	with_details
	run_profile -F 997 --waits --unit ns -o a.profile -o a.folded -o a.json -o a.svg -o a.pb.gz \
		-o a.speedscope.json -o a.html "$workloads/inference" 20
	echo "$status" >status
}

setup()
{
	needs_root
	enter_test_folder
	with_details
	cp "$BATS_FILE_TMPDIR"/{a.*,stderr,status} .
	status=$(cat status)
	expect_status 0
}

# bats test_tags=quick
@test "a capture writes every format as the run did" {
	mv stderr of_run
	run_profile --from a.profile --unit ns -o b.folded -o b.json -o b.svg -o b.pb.gz \
		-o b.speedscope.json -o b.html -o b.profile
	expect_status 0
	for format in folded json svg pb.gz speedscope.json html profile; do
		cmp "a.$format" "b.$format"
	done
	expect_line of_run '^Samples: '
	expect_equal 'the summary' "$(grep -v '^Wrote' stderr)" "$(grep -v '^Wrote' of_run)"
}

@test "a capture needs no name, and no privilege" {
	run_command sh -c 'cat a.profile | setpriv --reuid=4242 --regid=4242 --clear-groups "$0" -q --from - --unit ns -o -' \
		"$profile"
	expect_status 0
	cmp stdout a.folded
}

@test "under sudo the outputs are the user's" {
	chmod 644 a.profile
	as_tester "$profile" -q --from a.profile -o theirs/b.folded
	expect_status 0
	expect_equal owner "$(stat -c %u theirs/b.folded)" 4242
}

# weight of all stacks that a part of the run has
part()
{
	run_profile -q --from a.profile --unit ns -o - "$@"
	expect_status 0
	awk '{ sum += $NF } END { printf "%.0f\n", sum }' stdout
}

@test "times that adjoin add up to the run" {
	local all=0

	for time in ..100ms 100ms..0.25 0.25..0.4 400ms..; do all=$((all + $(part --time $time))); done
	expect_equal 'all parts' "$all" "$(weight_of a.folded)"
}

@test "kinds, places and kernels can be told apart" {
	expect_equal 'GPU' "$(part -gpu-only)" "$(grep -v 'waiting for GPU\|spinning for GPU' a.folded | weight_of - '\[GPU_[A-Z][^;]*$')"
	expect_equal 'CPU, GPU and waiting' \
		$(($(part -cpu-only) + $(part -gpu-only) + $(weight_of a.folded '\[waiting for GPU\]'))) "$(weight_of a.folded)"
	expect_equal 'another process' "$(part --process 1)" 0
	expect_equal 'the process' "$(part --process inference)" "$(weight_of a.folded)"
	expect_equal 'kernels' "$(part --kernel softmax)" \
		"$(awk '/\[GPU_Kernel\][^;]*softmax/ { sum += $NF } END { printf "%.0f", sum }' a.folded)"
	expect_equal 'the device' "$(part --device 0)" "$(part --device 'GPU 0')"
	part --device 0 --by device
	expect_line stdout '^GPU 0;_start;'
	expect_no_line stdout '^_start'
}

@test "stacks with a frame, and those without it" {
	local all with without

	all=$(weight_of a.folded)
	with=$(part --under 'softmax|^train_step')
	without=$(part --not-under 'softmax|^train_step')
	[ "$with" -gt 0 ] && [ "$without" -gt 0 ]
	expect_equal 'both' $((with + without)) "$all"
	expect_equal 'with, of that without' "$(part --under main --not-under 'softmax|^train_step')" \
		"$(grep 'main' a.folded | grep -v 'softmax\|;train_step' | weight_of -)"
	run_profile --from a.profile -gpu-only --under softmax -o part.folded
	expect_line ending 'shown with -gpu-only --under softmax\. GPU [0-9.]+ m?s of [0-9.]+ m?s$'
	expect_no_line stderr 'no frame'
	run_profile --from a.profile --under no_such_name -o part.folded
	expect_status 0
	expect_line stderr "^profile: --under: no frame in the profile matches 'no_such_name'\$"
}

@test "a run can be viewed in part as well" {
	run_profile -q -gpu-only --unit ns --kernel none_such -o part.folded -o whole.profile "$workloads/launches" 100
	expect_status 0
	expect_equal 'the part' "$(weight_of part.folded)" 0
	run_profile -q --from whole.profile --unit ns -o whole.folded
	expect_equal 'the whole' "$(weight_of whole.folded)" 100000
}

@test "an output says that it shows a part" {
	run_profile -q --from a.profile --time 0..0.2 --stream 7 -o b.json -o b.svg
	expect_status 0
	expect_line b.json '"shown":"--time 0..0.2 --stream 7"'
	expect_line b.svg '· with --time 0..0.2 --stream 7 ·'
	details='' run_profile --from a.profile --time 0..0.2 -o c.profile -o b.folded
	expect_line ending '^Wrote: c\.profile \(the whole run\), b\.folded$'
	run_profile -v --from a.profile --time 0..0.2 -o c.profile -o b.folded
	expect_line stderr '^  it holds the whole run, not only the part that other outputs show$'
	[ "$(grep -c 'it holds the whole run' stderr)" = 1 ]
}

@test "what is no capture is refused in one line" {
	head -c 3000 a.profile >cut.profile
	{ cat a.profile; echo; } >longer.profile
	gzip -c a.folded >other.gz
	for file in cut.profile longer.profile other.gz a.folded missing.profile /; do
		run_profile --from "$file" -o b.folded
		expect_status 125
		expect_equal 'lines' "$(wc -l <stderr)" 1
		expect_line stderr "^profile: .*$file"
	done
	[ ! -e b.folded ]
}

@test "--strict knows what a run lost" {
	run_profile -q --from a.profile --strict -o b.folded
	expect_status 0
	run_command env FAKE_CUDA_DROP_EVERY=10 "$profile" -q -gpu-only -o lossy.profile "$workloads/launches" 100
	run_profile -q --from lossy.profile --strict -o b.folded
	expect_status 124
	expect_line stderr '^profile: --strict: ' # the reason, whatever -q says
}

@test "options of a run need a run" {
	run_profile --from a.profile --waits -o b.folded
	expect_status 125
	expect_line stderr "$(of_a_run --waits)"
	run_profile --from a.profile true
	expect_status 125
	expect_line stderr '^profile: cannot read true: .*; --from takes captures and traces, and runs no command$'
}

@test "outputs are written even if nobody reads the messages" {
	run_command sh -c '"$0" --from a.profile --top -o b.folded 2>&1 | true; "$0" -q --diff a.profile a.profile -o c.folded 2>&1 | true' "$profile"
	[ -s b.folded ]
	[ -s c.folded ]
}

@test "a report needs no folder to write into" {
	needs_command setpriv
	chmod 644 a.profile
	mkdir -m 755 closed
	run_command env -C closed setpriv --reuid=4242 --regid=4242 --clear-groups "$profile" -q \
		--from ../a.profile --top --time 0..
	expect_status 0
	expect_line stderr "^$took "
}

@test "--time says when events of the run were lost" {
	needs_mount_namespace
	mkdir small
	run_command unshare -m sh -c 'mount -t tmpfs -o size=64k tmpfs small && cd small &&
		exec "$0" -q -gpu-only --time 0.. -o - --format json "$1" 20000' "$profile" "$workloads/launches"
	expect_status 125
	expect_line stderr 'events of the run were not kept, and with --time'
	expect_no_line stdout '"timeline_records_lost":0'
}

@test "a part holds no names of what it leaves out" {
	printf '#!/bin/sh\n"$workloads/inference" 20\nexec "$workloads/launches" 100\n' >both
	chmod +x both
	run_profile -q -o all.profile ./both
	run_profile -q --from all.profile -o all.pb.gz -o all.speedscope.json
	zcat all.pb.gz >all.pb
	grep -aq softmax all.pb
	grep -q softmax all.speedscope.json
	run_profile -q --from all.profile --process launches -o part.pb.gz -o part.speedscope.json \
		-o part.perfetto-trace -o part.trace.json -o part.json -o part.svg
	expect_status 0
	zcat part.pb.gz >part.pb
	grep -aq launches part.pb
	for file in part.pb part.*json part.perfetto-trace part.svg; do
		! grep -aq 'softmax\|inference' "$file" || { echo "in $file"; false; }
	done
}

@test "a comparison or a report of a capture alone writes no file" {
	rm -f merged_trace.folded
	run_profile -q --from a.profile --baseline a.profile --fail-above 5%
	expect_status 0
	run_profile --from a.profile --baseline a.profile
	expect_status 0
	expect_line stderr '^Compared with a\.profile:$'
	run_profile --from a.profile --top
	expect_status 0
	expect_line stderr '^While it ran, profile itself used [0-9.]+ [mu]?s '
	expect_no_file merged_trace.folded
}

@test "a device goes by its name and UUID, too" {
	run_profile -v --from a.profile -o all.folded
	name=$(sed -n 's/^profile: GPU 0: \(.*\), GPU-.*/\1/p' stderr)
	uuid=$(sed -n 's/^profile: GPU 0: .*, \(GPU-.*\)/\1/p' stderr)
	[ -n "$name" ] && [ -n "$uuid" ]
	expect_equal 'by name' "$(part --device "${name#* }")" "$(part --device 0)"
	expect_equal 'by UUID' "$(part --device "$uuid")" "$(part --device 0)"
	[ "$(part --device 0)" -gt 0 ]
	expect_equal 'another' "$(part --device 'none such')" 0
}

@test "an empty picture says why it is empty" {
	run_profile -q --from a.profile --kernel nothere -o empty.svg
	expect_status 0
	expect_line empty.svg '>Empty: nothing of the run is left .* with --kernel nothere '
}
