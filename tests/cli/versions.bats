# SPDX-License-Identifier: MIT
# CUPTI of other versions, from CUDA 11.8 to one newer than all that are known: record layouts, missing
# functions, refused attributes, shared buffers. All kinds of work stay exact under each.

load helpers

setup()
{
	enter_test_folder
	with_details
	needs_root
	export FAKE_CUDA_STRICT=1
}

# exact_run WORKLOAD ARGUMENTS...: in ns, with --strict; the truth is in totals.
exact_run()
{
	rm -f totals
	FAKE_CUDA_TOTALS=$PWD/totals run_profile --strict -gpu-only --unit ns --raw-names \
		-o out.folded "$@"
	expect_status 0
	expect_folded out.folded
	expect_totals out.folded
	expect_line stderr "^$(correlation '[0-9]+')\$"
	expect_no_line out.folded 'not captured|not seen'
	expect_line work "$all_sums_match"
	expect_no_line work "$odd_work"
	diff <(kernels_of_totals totals) <(kernels_of out.folded)
	diff <(awk '$5 > 0 && $2 ~ /^mem(cpy|set)$/ { ns += $5 } END { print ns + 0 }' totals) \
		<(weight_of out.folded '\[GPU_Mem(cpy|set)')
}

# exact_with FOLDER API_VERSION LIBRARY: kernels, copies, sets, graphs, memory, synchronisation
exact_with()
{
	local uses="s/^profile: process [0-9]* ([^)]*) $uses_cuda; CUPTI \([0-9]*\): \([^;]*\);.*/\1 \2/p"

	export LD_LIBRARY_PATH=$fake_cuda/$1
	run_profile -v -gpu-only -o out.folded "$workloads/launches" 10
	expect_status 0
	expect_equal 'CUPTI in use' "$(sed -n "$uses" stderr)" "$2 $fake_cuda/$1/$3"
	expect_line stderr '^profile: GPU 0: Fake GPU, GPU-10111213-'

	FAKE_CUDA_DEVICES=2 exact_run "$workloads/gpu_work" 3 2 4 20 10
	expect_line work '^  GPU 0  allocations +[0-9]+ '
	expect_line work '^  GPU 0  memcpy PtoP '
	exact_run "$workloads/gpu_work_static" 2 1 3 10 5
	exact_run "$workloads/graphs" families
	exact_run "$workloads/driver_api" 20
	exact_run "$workloads/launches" 3000 3 2 mixed
	run_profile --strict --graph whole -gpu-only --unit ns -o out.folded "$workloads/graphs" capture
	expect_status 0
	expect_line work "^$(gpu_row 0 graphs) +10 +0\.100 ms\$"
	FAKE_CUDA_MPS=1 FAKE_CUDA_MIG=3/1 run_profile -v -gpu-only -o out.folded "$workloads/launches" 10
	expect_line stderr '^profile: GPU 0 MIG 3/1 MPS: Fake GPU, MIG-a0a1a2a3-'
	run_profile --waits -gpu-only --unit ns -o out.folded "$workloads/waits" 1 1
	expect_status 0
	for way in stream device event copy; do # nearly 20 ms, but on a busy machine a thread begins to wait late
		[ "$(weight_of out.folded ";wait_$way;(.*;)?cuda[^;]*;[[]waiting for GPU[]]")" -gt 0 ]
	done
}

@test "CUPTI 11.8" {
	exact_with 11.8 18 libcupti.so.11.8
	run_profile --stalls -gpu-only --unit ns -o out.folded "$workloads/launches" 10
	expect_status 0
	expect_line stderr ': no stalls: they need CUPTI of CUDA 12.4 or later '
	expect_no_line out.folded 'stall:'
}

@test "CUPTI 12.2" {
	exact_with 12.2 20 libcupti.so.12
}

@test "CUPTI 12.4" {
	exact_with 12.4 22 libcupti.so.12
}

@test "CUPTI 12.9" {
	exact_with 12.9 27 libcupti.so.12
}

@test "CUPTI 13.0" {
	exact_with . 130001 libcupti.so.13
}

@test "a CUPTI newer than all that are known" {
	exact_with future 139900 libcupti.so.13
}

@test "kernels within conditional nodes: said by version where CUPTI leaves them out" {
	for version in 12.4:22 12.9:27; do
		LD_LIBRARY_PATH=$fake_cuda/${version%:*} FAKE_CUDA_TOTALS=$PWD/totals run_profile \
			-gpu-only --unit ns --raw-names -o out.folded "$workloads/conditionals" if
		expect_status 0
		expect_totals out.folded
		if [ "${version#*:}" -ge 26 ]; then
			expect_no_line stderr '^profile: '
			expect_equal ns "$(weight_of out.folded '[[]GPU_Kernel[]]')" 18000
		else
			expect_line stderr "^profile: process [0-9]+: this CUPTI does not record some GPU work, .*kernels within conditional nodes of graphs: CUPTI API version ${version#*:} \\($fake_cuda/${version%:*}/libcupti.so.12\\) omits most of them"
			expect_equal ns "$(weight_of out.folded '[[]GPU_Kernel[]]')" 6000
		fi
		rm totals
	done
}

@test "decompression is GPU work, where CUPTI records it" {
	local version

	for version in 12.9 . future; do
		rm -f totals
		LD_LIBRARY_PATH=$fake_cuda/$version FAKE_CUDA_TOTALS=$PWD/totals run_profile --strict -gpu-only --unit ns --raw-names \
			-o out.folded "$workloads/decompress" 20
		expect_status 0
		expect_line work "$all_sums_match"
		expect_line work '^  GPU 0  decompress +20 +[0-9.]+ ms +80\.0 KiB$'
		expect_equal ns "$(weight_of out.folded ';main;decompress;cuMemBatchDecompressAsync;[[]GPU_Decompress[]]')" \
			"$(awk '$2 == "memset" { print $5 }' totals)"
		expect_no_line stderr '^profile: '
	done
	LD_LIBRARY_PATH=$fake_cuda/12.4 run_profile -gpu-only -o out.folded "$workloads/decompress" 20
	expect_status 0
	expect_no_line work decompress
}

# ---- functions of a CUDA to come ----

@test "new functions are followed by their names; one that is like none is said" {
	export LD_LIBRARY_PATH=$fake_cuda/future
	exact_run "$workloads/newer_cuda" 20
	expect_line out.folded ';main;launch;cuLaunchKernelNext;\[GPU_Kernel\]driver_spin 2000000$'
	expect_line out.folded ';main;copy;cuMemcpyHtoDAsync_v4;\[GPU_Memcpy HtoD\] '
	expect_line out.folded ';main;transform;cuTransformAsync;\[GPU_Memset\] '
	expect_equal 'functions said' "$(grep -c '^profile: process [0-9]* calls ' stderr)" 1
	expect_line stderr '^profile: process [0-9]+ calls cuTransformAsync, a CUDA function newer than this profile'

	run_profile --strict --kernels-only -gpu-only --unit ns -o out.folded "$workloads/newer_cuda" 20
	expect_status 0
	expect out.folded <<<'<*>main;launch;cuLaunchKernelNext;[GPU_Kernel]driver_spin 2000000'
}

@test "where this CUPTI does not know them either, their work is counted as unmatched" {
	FAKE_CUDA_TOTALS=$PWD/totals run_profile --strict -gpu-only --unit ns --raw-names -o out.folded \
		"$workloads/newer_cuda" 20
	expect_status 124
	expect_line stderr "^$(correlation 0 60)\$"
	expect_line out.folded '^\[launch not captured\];\[GPU_Kernel\]driver_spin 2000000$'
	expect_totals out.folded
}
