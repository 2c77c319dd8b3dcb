# SPDX-License-Identifier: MIT
# Collectives of NCCL by name and size, from its NVTX ranges (docs/layers.md).

load helpers

setup()
{
	enter_test_folder
	unset NVTX_INJECTION64_PATH
	workload=$workloads/nccl_calls
}

trace()
{
	run_profile -gpu-only --unit ns --nvtx -o out.folded -o out.profile "$@"
	expect_status 0
	expect_folded out.folded
}

# "RANGE;... = NS" of each kernel.
ranges()
{
	grep -o 'nvtx:NCCL:.*' out.folded | sed 's/;cudaLaunchKernel;[^;]* \([0-9]*\)$/ = \1/' | LC_ALL=C sort
}

# bats test_tags=quick
@test "collectives and groups by name, size, ranks and communicator" {
	trace "$workload"
	ranges >frames
	expect frames <<-'END'
		nvtx:NCCL:ncclAllGather 1 MiB, 8 ranks, comm 3f2a91c0 = 100000
		nvtx:NCCL:ncclAllGatherV = 3000
		nvtx:NCCL:ncclAllReduce 1 KiB, comm 77000001 = 1000
		nvtx:NCCL:ncclAllReduce 64 MiB sum, 8 ranks, comm 3f2a91c0 = 3000000
		nvtx:NCCL:ncclBroadcast 12345 B root 2, 8 ranks, comm 3f2a91c0 = 10000
		nvtx:NCCL:ncclGroupEnd: 7 x Send 4 MiB + 7 x Recv 21000 B in all, 8 ranks, comm 3f2a91c0 = 500000
		nvtx:NCCL:ncclGroupEnd: AllReduce 1 MiB sum + AllGather 1 KiB, several comms = 20000
		nvtx:NCCL:ncclGroupEnd: AllReduce 64 MiB sum, 8 ranks, comm 3f2a91c0 = 1000000
		nvtx:NCCL:ncclReduceScatter 1 MiB avg, 8 ranks, comm 3f2a91c0 = 200000
		nvtx:NCCL:ncclSend 2 MiB to 1, 8 ranks, comm 3f2a91c0 = 50000
	END
}

# field NAME KEY FILE: a member of an operation's row
field()
{
	python3 - "$@" <<-'END'
		import json, sys
		rows = json.load(open(sys.argv[3]))["rows"]
		print(next((r.get(sys.argv[2]) for r in rows if r["operation"] == sys.argv[1]), "no row"))
	END
}

@test "collectives by size, with bandwidths, of a run and from its capture" {
	needs_command python3
	run_profile -gpu-only --nvtx -o out.json -o out.md -o out.profile "$workload"
	expect_status 0
	expect_line stderr '^Collectives by size:$'
	expect_line stderr '^ +4 +4\.000 ms +64\.0 MiB +8 +67\.11 +117\.44 +sum +AllReduce$'
	expect_line out.md '^\| 4 \| 4\.000 ms \| 64\.0 MiB \| 67\.1 \| 117\.4 \| AllReduce sum \|$'
	expect_line out.json '"collective_calls"'
	run_profile --from out.profile --query collectives
	expect_status 0
	cp stdout answer
	expect_equal bytes 67108864 "$(field AllReduce bytes answer)"
	expect_equal executions 4 "$(field AllReduce executions answer)"
	expect_equal bus 117.440512 "$(field AllReduce bus_gb_per_s answer)"
	expect_equal 'all ranks' 83.88608 "$(field AllGather algorithm_gb_per_s answer)"
	expect_equal broadcast 1.2345 "$(field Broadcast bus_gb_per_s answer)"
	expect_equal group 29360128 "$(field '7 x Send 4 MiB + 7 x Recv 21000 B in all' bytes answer)"
	expect_equal mixed None "$(field 'AllReduce 1 MiB sum + AllGather 1 KiB' bus_gb_per_s answer)"
	expect_equal unknown None "$(field AllGatherV bytes answer)"
	run_profile --from out.profile --under '^nvtx:NCCL:ncclAllReduce 64 MiB sum' --query collectives
	expect_line stdout '"sums":\{"collectives":1,"ns":3000000\}'
}

@test "launches of a CUDA graph are executions" {
	trace "$workload" graph
	run_profile --from out.profile --query collectives
	expect_line stdout '"operation":"AllReduce","reduction":"sum","bytes":1048576,"ranks":8,"executions":5,"ns":350000,'
}

@test "without --nvtx a question for collectives says what to do" {
	run_profile -gpu-only -o out.profile "$workload"
	run_profile --from out.profile --query collectives
	expect_status 0
	expect_line stdout '"answer":"Collectives have no names and sizes: run with --nvtx\."'
	expect_line stdout '"sums":\{"collectives":0,"ns":0\}'
}

@test "NCCL before 2.25, whose payloads have no communicator" {
	trace "$workload" old
	ranges >frames
	expect frames <<-'END'
		nvtx:NCCL:ncclAllReduce 64 MiB sum = 1000000
		nvtx:NCCL:ncclBroadcast 12345 B root 0 = 1000000
		nvtx:NCCL:ncclSend 1 MiB to 1;nvtx:NCCL:ncclGroupEnd = 1000000
	END
}

@test "collectives in a CUDA graph have the sizes of the capture" {
	trace "$workload" graph
	expect_equal ns "$(weight_of out.folded 'cudaGraphLaunch;\[graph node captured at\];.*;nvtx:NCCL:ncclAllReduce 1 MiB sum, 8 ranks, comm 3f2a91c0;')" 350000
}

@test "more sizes than there are names: further ones have none, and other names keep theirs" {
	trace "$workload" sizes
	expect_line stderr '^profile: [0-9]+ NVTX ranges have N in place of the numbers in their names'
	expect_equal all "$(weight_of out.folded ';nvtx:NCCL:ncclAllReduce [0-9N]+ ([KM]i)?B sum, ')" 20000000
	expect_line out.folded ';nvtx:NCCL:ncclAllReduce N B sum, N ranks, comm N;'
	expect_line out.folded ';nvtx:NCCL:ncclBroadcast 4 MiB root 0, 8 ranks, comm 3f2a91c0;'
}

@test "wrong payloads and schemas do no harm" {
	trace "$workload" hostile
	expect_equal ns "$(weight_of out.folded ';nvtx:NCCL:ncclAllReduce 8 MiB sum,.* comm 3f2a91c0;')" 1000000
}

@test "--range names NCCL's function" {
	run_profile -gpu-only --unit ns --nvtx --range NCCL:ncclAllReduce -o out.folded "$workload"
	expect_status 0
	expect_equal ns "$(weight_of out.folded)" 3001000
	expect_equal reduced "$(weight_of out.folded ';nvtx:NCCL:ncclAllReduce ')" 3001000
}

@test "without --nvtx nothing changes" {
	run_profile -gpu-only --unit ns -o out.folded "$workload"
	expect_status 0
	expect_no_line out.folded 'nvtx:'
	expect_equal ns "$(weight_of out.folded)" 4884000
}
