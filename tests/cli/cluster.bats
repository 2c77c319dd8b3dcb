#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# What docs/cluster.md says of containers and nodes: which capabilities are enough, and what is left without them.

load helpers

# Those that Docker and Kubernetes give to root in a container.
readonly container=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap

setup()
{
	enter_test_folder
	needs_root
	needs_command setpriv
	mkdir -p open
	chmod 777 open
}

# in_container CAPABILITIES COMMAND...: as root with these and no others; others are out of reach.
in_container()
{
	local capabilities=$1 keep=''
	local -a names

	shift
	IFS=, read -ra names <<<"$capabilities"
	for name in "${names[@]}"; do
		if [ -n "$name" ]; then keep+=,+$name; fi
	done
	run_command setpriv --inh-caps=-all --ambient-caps=-all "--bounding-set=-all$keep" "$@"
}

# A copy that has file capabilities, in ./profile_with.
give_capabilities()
{
	needs_command setcap
	cp "$profile" profile_with
	chmod 755 profile_with
	setcap "$1=ep" profile_with || skip 'files have no capabilities here'
}

# as_user [OPTIONS OF SETPRIV] COMMAND...: setpriv itself keeps what it has until it executes
as_user()
{
	local -a options=()

	while [[ $1 == --* ]]; do
		options+=("$1")
		shift
	done
	# shellcheck disable=SC2016 # for sh
	run_command setpriv --reuid=4777 --regid=4777 --clear-groups "${options[@]}" \
		sh -c 'exec "$@"' sh "$@"
}

# Refuses system calls by their numbers, as the filters of containers do.
make_filter()
{
	needs_command python3
	[ "$(uname -m)" = x86_64 ] || skip 'numbers of system calls are those of x86-64'
	cat >refuse <<-'END'
		import ctypes, os, struct, sys
		program = [(0x20, 0, 0, 0)]
		for number in sys.argv[1].split(","):
		    program += [(0x15, 0, 1, int(number)), (0x06, 0, 0, 0x00050001)]
		program += [(0x06, 0, 0, 0x7fff0000)]
		code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i) for i in program))
		header = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
		libc = ctypes.CDLL(None)
		if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.create_string_buffer(header), 0, 0):
		    sys.exit("no filter")
		os.execv(sys.argv[2], sys.argv[2:])
	END
}

@test "a container with CAP_BPF and CAP_PERFMON has all CPU samples" {
	with_details
	in_container "$container,bpf,perfmon" "$profile" -v -F 997 -o out.folded \
		"$workloads/cpu_mix" 100
	expect_status 0
	expect_no_line stderr 'not permitted'
	expect_no_line stderr 'user code only'
	expect_line stderr "^$(cpu_samples '[1-9][0-9]*')\$"
	# no other one is needed
	in_container bpf,perfmon "$profile" --wall -o two.folded "$workloads/blocked"
	expect_no_line stderr 'not permitted'
	expect_line two.folded '\[blocked'
}

@test "a container without them: says so, with GPU time" {
	for more in '' ,bpf ,perfmon; do
		in_container "$container$more" "$profile" --unit ns -o out.folded \
			"$workloads/inference" 3
		expect_status 0
		expect_line stderr "^$no_bpf; .* $going_on "
		expect_equal 'GPU ns' "$(weight_of out.folded '\[GPU_')" 79620000
		expect_line out.folded ';\[GPU_Kernel\]model::gemm'
	done
}

@test "a filter that refuses bpf and perf_event_open: GPU time alone" {
	make_filter
	run_command python3 refuse 298,321 "$profile" --unit ns -o out.folded "$workloads/inference" 3
	expect_status 0
	expect_line stderr "$going_on GPU time only\$"
	expect_equal 'GPU ns' "$(weight_of out.folded '\[GPU_')" 79620000
	# bpf alone
	run_command python3 refuse 321 "$profile" -F 997 -o cpu.folded "$workloads/cpu_mix" 100
	expect_status 0
	expect_line stderr "$no_bpf_words"
}

@test "another user in a container: capabilities of the file, unless nothing may be gained" {
	give_capabilities cap_bpf,cap_perfmon
	as_user ./profile_with -F 997 -o open/out.folded "$workloads/cpu_mix" 100
	expect_status 0
	expect_no_line stderr 'not permitted'
	as_user --no-new-privs ./profile_with -o open/less.folded true
	expect_line stderr "^$no_bpf"
	# that are out of reach there
	as_user --bounding-set=-bpf,-perfmon ./profile_with -o open/none.folded true
	expect_line stderr 'Operation not permitted'
	[ ! -e open/none.folded ]
}

# What ranks run, one after the other: each says that it runs, then waits for the gate.
make_ranks()
{
	give_capabilities cap_bpf,cap_perfmon
	cat >rank <<-'END'
		#!/bin/sh
		: >"open/runs.$RANK"
		until [ -e open/gate ]; do sleep 0.1; done
	END
	cat >ranks <<-'END'
		#!/bin/bash
		# ranks LIMIT: eight of them at once, each with so many KiB to lock; then one more
		ulimit -l "$1"
		for rank in 0 1 2 3 4 5 6 7; do
			RANK=$rank ./profile_with -q -o 'open/cap.%r.profile' ./rank 2>open/$rank.err &
			pid=$!
			until [ -e "open/runs.$rank" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.1; done
		done
		RANK=8 ./profile_with -q -o 'open/cap.%r.profile' true
		status=$?
		: >open/gate
		wait
		cat open/*.err
		exit $status
	END
	chmod 755 rank ranks
}

@test "profilers of one user share what it may lock" {
	make_ranks
	# 32 KiB and a page for each CPU, and some room
	as_user ./ranks $((64 * $(getconf _NPROCESSORS_CONF)))
	expect_status 0
	expect_no_line stdout .
	expect_no_line stderr .
	expect_equal captures "$(find open -name 'cap.*' | wc -l)" 9
}

@test "too low a limit of locked memory is named" {
	make_ranks
	as_user ./ranks 0
	expect_status 125
	expect_line stderr 'the limit of locked memory is too low; raise it .ulimit -l., run with sudo, or'
}
