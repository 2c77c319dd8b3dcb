# SPDX-License-Identifier: MIT
# Many runs in a row leave nothing on the machine: no process, folder, pipe, probe, program or link.
# Others may profile at the same time: only our own things are checked, or transient ones.

load helpers

setup()
{
	enter_test_folder
	needs_root
	mkdir private
	export TMPDIR=$PWD/private
}

bpftool()
{
	local tool

	for tool in "$(type -P bpftool)" /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool; do
		if "$tool" version >/dev/null 2>&1; then
			"$tool" "$@"
			return
		fi
	done
	return 1
}

# bpf_ids KIND: of all loaded objects, one per line.
bpf_ids()
{
	bpftool "$1" show | sed -n 's/^\([0-9][0-9]*\): .*/\1/p' | sort
}

# gone KIND BEFORE AFTER: objects new in AFTER no longer exist. Ids are not reused.
gone()
{
	[ -z "$(comm -13 "$2" "$3" | comm -12 - <(bpf_ids "$1"))" ]
}

trace_probes()
{
	cat /sys/kernel/tracing/uprobe_events /sys/kernel/debug/tracing/uprobe_events 2>/dev/null |
		sort -u
}

# Processes with our TMPDIR, except this test's own.
others_with_our_folder()
{
	local file id name

	grep -lzsxF -- "TMPDIR=$TMPDIR" /proc/[0-9]*/environ | while IFS= read -r file; do
		id=${file//[!0-9]/}
		name=$(cat "/proc/$id/comm" 2>/dev/null) || continue
		case $name in
		bash | bats* | grep | cat | sh) ;;
		*) echo "$id $name" ;;
		esac
	done
}

@test "40 runs in every mode, ended in every way" {
	local i kinds=0

	for kind in prog link map; do
		if bpf_ids $kind >before.$kind; then kinds=$((kinds + 1)); fi
	done
	[ "$kinds" = 3 ] || skip 'no bpftool that works'
	trace_probes >before.probes
	for ((i = 0; i < 40; i++)); do
		case $((i % 10)) in
		0) run_profile -o out.folded true && expect_status 0 ;;
		1) run_profile -cpu-only -o out.folded true && expect_status 0 ;;
		2) run_profile -gpu-only -o out.folded "$workloads/launches" 100 && expect_status 0 ;;
		3) run_profile -o out.folded "$workloads/inference" 1 && expect_status 0 ;;
		4) run_profile -o out.folded no-such-command && expect_status 127 ;;
		5) run_profile -o out.folded "$workloads/exits" segv && expect_status 139 ;;
		6) FAKE_CUDA_KILL_AFTER=20 run_profile -o out.folded "$workloads/launches" 100 &&
			expect_status 137 ;;
		7) start_profile -o out.folded "$workloads/exits" sleep
			wait_until grep -qs ready stdout
			kill -TERM "$pid"
			finish_profile
			expect_status 143 ;;
		8) run_profile -o no/such/folder true && expect_status 125 ;;
		9) run_profile -o out.folded "$workloads/forks" && expect_status 0 ;;
		esac
	done
	expect_equal 'left in TMPDIR' "$(ls -A private)" ''
	for kind in prog link map; do bpf_ids $kind >after.$kind; done
	for kind in prog link map; do
		wait_until gone $kind before.$kind after.$kind
	done
	trace_probes >after.probes
	expect_equal 'new trace probes' "$(comm -13 before.probes after.probes)" ''
	expect_equal processes "$(others_with_our_folder)" ''
}

@test "the kernel and the next run clean up after a killed run" {
	for kind in prog link map; do bpf_ids $kind >before.$kind || skip 'no bpftool that works'; done
	start_profile -o out.folded "$workloads/inference" 150
	wait_until command_is_traced
	kill -KILL "$pid"
	finish_profile
	wait_until no_process_with "PROFILE_PIPE=$(echo "$TMPDIR"/profile-*/gpu.pipe)"
	for kind in prog link map; do bpf_ids $kind >after.$kind; done
	for kind in prog link map; do
		wait_until gone $kind before.$kind after.$kind
	done
}
