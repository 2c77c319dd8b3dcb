# SPDX-License-Identifier: MIT
# --nvtx: NVTX ranges as frames of launch stacks.

load helpers

setup()
{
	enter_test_folder
	unset NVTX_INJECTION64_PATH
	workload=$workloads/nvtx_ranges
	script=$root/tests/workloads/python_nvtx.py
}

trace()
{
	run_profile -gpu-only --unit ns --nvtx -o out.folded "$@"
	expect_status 0
	expect_no_line stderr '^profile: '
	expect_folded out.folded
}

# The expected stacks of the workload's kernels.
expect_ranges()
{
	expect_line stdout '^0 1 1 0 -2$'
	expect out.folded <<-'END'
		<*>;main;launch_direct;nvtx:direct;cudaLaunchKernel;[GPU_Kernel]direct(unsigned long long) 1000
		<*>;main;launch_plain;cudaLaunchKernel;[GPU_Kernel]plain(unsigned long long) 2000
		<*>;main;nvtx:before CUDA;cudaLaunchKernel;[GPU_Kernel]before(unsigned long long) 1000
		<*>;main;outer;nvtx:outer;between;inner;nvtx:inner;cudaLaunchKernel;[GPU_Kernel]nested(unsigned long long) 1000
		<*>;main;start_and_end;cudaLaunchKernel;[GPU_Kernel]ended(unsigned long long) 1000
		<*>;main;start_and_end;nvtx:started;cudaLaunchKernel;[GPU_Kernel]started(unsigned long long) 1000
		<*>;main;with_color;nvtx:color: 1;cudaLaunchKernel;[GPU_Kernel]colored(unsigned long long) 1000
		<*>;main;with_color;nvtx:größe Ж;cudaLaunchKernel;[GPU_Kernel]wide(unsigned long long) 1000
		<*>;main;with_guard;nvtx:train:forward;deep_guarded;deep_guarded;deep_guarded;cudaLaunchKernel;[GPU_Kernel]guarded(unsigned long long) 1000
		<*>;in_thread;nvtx:one;cudaLaunchKernel;[GPU_Kernel]threaded(unsigned long long) 1000
		<*>;in_thread;nvtx:two;cudaLaunchKernel;[GPU_Kernel]threaded(unsigned long long) 1000
	END
}

# bats test_tags=quick
@test "ranges of all kinds, inside the functions that opened them" {
	trace "$workload"
	expect_ranges
}

@test "NVTX 2, which uses another entry point" {
	FAKE_NVTX_VERSION=2 trace "$workload"
	expect_ranges
}

# NCCL opens ranges with attributes and closes them with a payload; NVIDIA's headers are in the program.
@test "ranges that are closed with a payload, by NVTX's own headers" {
	local include=${CUDA_HOME:-/usr/local/cuda}/include

	needs_command g++
	[ -e "$include/nvtx3/nvToolsExtPayload.h" ] || skip "no NVTX headers in $include"
	cat >payload.cpp <<-'END'
		#include <nvtx3/nvToolsExtPayload.h>
		#include "tests/workloads/gpu.h"
		#include <cstring>

		GPU_KERNEL(inside)
		GPU_KERNEL(after)

		static nvtxEventAttributes_t attributes(nvtxStringHandle_t name)
		{
			nvtxEventAttributes_t a;

			memset(&a, 0, sizeof(a));
			a.version = NVTX_VERSION;
			a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
			a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
			a.message.registered = name;
			return a;
		}

		int main()
		{
			nvtxDomainHandle_t nccl = nvtxDomainCreateA("NCCL");
			nvtxStringHandle_t name = nvtxDomainRegisterStringA(nccl, "ncclCommInitRankConfig");
			nvtxPayloadSchemaEntry_t entries[1] = {};
			nvtxPayloadSchemaAttr_t schema = {};
			nvtxEventAttributes_t a = attributes(name);
			int rank = 5;

			entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_INT;
			schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
					   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
					   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
					   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
			schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
			schema.entries = entries;
			schema.numEntries = 1;
			schema.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 7;
			nvtxPayloadData_t data = {nvtxPayloadSchemaRegister(nccl, &schema), sizeof(rank), &rank};
			nvtxDomainRangePushEx(nccl, &a);
			GPU_CHECK(GPU_LAUNCH(nullptr, 1000, inside));
			int depth = nvtxRangePopPayload(nccl, &data, 1);
			printf("%d %d\n", data.schemaId == schema.schemaId, depth);
			nvtxRangeId_t range = nvtxDomainRangeStartEx(nccl, &a);
			GPU_CHECK(GPU_LAUNCH(nullptr, 2000, inside));
			nvtxRangeEndPayload(nccl, range, &data, 1);
			struct { int rank; const char *text; } event = {5, "in the payload"};
			nvtxPayloadSchemaEntry_t parts[2] = {};
			parts[0].type = NVTX_PAYLOAD_ENTRY_TYPE_INT;
			parts[1].type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING;
			parts[1].flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE;
			schema.fieldMask &= ~(uint64_t)NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
			schema.entries = parts;
			schema.numEntries = 2;
			nvtxPayloadData_t named = {nvtxPayloadSchemaRegister(nccl, &schema), sizeof(event), &event};
			nvtxRangePushPayload(nccl, &named, 1);
			GPU_CHECK(GPU_LAUNCH(nullptr, 5000, inside));
			nvtxRangePopPayload(nccl, &data, 1);
			GPU_CHECK(GPU_LAUNCH(nullptr, 4000, after));
			printf("%d\n", nvtxRangePopPayload(nccl, &data, 1));
			return cudaDeviceSynchronize() != cudaSuccess;
		}
	END
	g++ -std=gnu++17 -O1 -pthread -I"$root" -isystem "$include" -o payload payload.cpp \
		-L"$fake_cuda" -lcudart -ldl
	trace ./payload
	expect_equal stdout "$(cat stdout)" $'1 0\n-2'
	expect out.folded <<-'END'
		<*>;main;cudaLaunchKernel;[GPU_Kernel]after(unsigned long long) 4000
		<*>;main;nvtx:NCCL:in the payload;cudaLaunchKernel;[GPU_Kernel]inside(unsigned long long) 5000
		<*>;main;nvtx:NCCL:ncclCommInitRankConfig;cudaLaunchKernel;[GPU_Kernel]inside(unsigned long long) 3000
	END
}

# many COUNT: as many launches, each in a range of a name of its own, then ten in "decode".
many()
{
	needs_command g++
	cat >many.cpp <<-'END'
		#include "tests/workloads/gpu.h"
		#include "tests/fake_cuda/fake_nvtx.h"
		#include <cstdlib>
		#include <string>

		GPU_KERNEL(warm)
		GPU_KERNEL(interesting)

		static std::string name(int i, bool is_word)
		{
			std::string text = "request ";

			if (!is_word)
				return text + std::to_string(i);
			for (; i > 0; i /= 20)
				text += (char)('a' + i % 20);
			return text;
		}

		int main(int, char **argv)
		{
			nvtxRangePushA("serve");
			for (int i = 0; i < atoi(argv[1]); i++) {
				nvtxRangePushA(name(i, argv[2]).c_str());
				GPU_CHECK(GPU_LAUNCH(nullptr, 1000, warm));
				nvtxRangePop();
			}
			for (int i = 0; i < 10; i++) {
				nvtxRangePushA("decode");
				GPU_CHECK(GPU_LAUNCH(nullptr, 1000000, interesting));
				nvtxRangePop();
			}
			return cudaDeviceSynchronize() != cudaSuccess;
		}
	END
	g++ -std=gnu++17 -O1 -pthread -I"$root" -o many many.cpp -L"$fake_cuda" -lcudart -l:libnvToolsExt.so.1 -ldl
	run_profile -gpu-only --unit ns --nvtx --strict -o out.folded -o out.json ./many "$@"
}

@test "more numbered names than there is room for leave room for the names that come later" {
	many 40000
	expect_status 0
	expect_equal decode "$(weight_of out.folded ';main;nvtx:serve;nvtx:decode;cudaLaunchKernel;')" 10000000
	expect_equal requests "$(weight_of out.folded ';main;nvtx:serve;nvtx:request [0-9N]+;cudaLaunchKernel;')" 40000000
	expect_line out.folded ';nvtx:serve;nvtx:request 0;'
	expect_line out.folded ';nvtx:serve;nvtx:request N;'
	expect_line stderr '^profile: [0-9]+ NVTX ranges have N in place of the numbers in their names: too many names differ in these alone$'
	expect_line out.json '"nvtx_ranges_without_name":0,'
}

@test "names past the limit are counted, and are a loss" {
	many 40000 words
	expect_status 124
	expect_line stderr '^profile: 23627 ranges went past a limit of --nvtx or --ops: they are not in stacks by their names$'
	expect_line stderr '^profile: --strict: ranges past a limit, without their names: 23627$'
	expect_equal rest "$(weight_of out.folded ';main;nvtx:serve;nvtx:\[too many NVTX ranges\];cudaLaunchKernel;')" 33617000
	expect_equal all "$(weight_of out.folded ';main;nvtx:serve;nvtx:[^;]*;cudaLaunchKernel;')" 50000000
}

@test "no ranges without --nvtx" {
	run_profile -gpu-only --unit ns -o out.folded "$workload"
	expect_status 0
	expect_line stdout '^-2 -2 -2 -2 -2$'
	expect_no_line out.folded 'nvtx:'
	expect_equal ns "$(weight_of out.folded)" 12000
}

@test "the user's own NVTX tool is kept" {
	NVTX_INJECTION64_PATH=/nowhere/tool.so run_profile -gpu-only --unit ns --nvtx \
		-o out.folded "$workload"
	expect_status 0
	expect_line stderr '^profile: NVTX_INJECTION64_PATH is set to /nowhere/tool.so and stays: no NVTX ranges in this profile$'
	expect_no_line out.folded 'nvtx:'
	expect_equal ns "$(weight_of out.folded)" 12000
}

@test "CPU samples have no ranges, and are unaffected" {
	needs_root
	run_profile --nvtx --unit ns -o out.folded "$workload"
	expect_status 0
	expect_equal 'GPU ns' "$(weight_of out.folded 'GPU_Kernel')" 12000
	expect_line out.folded ';nvtx:train:forward;'
}

@test "--nvtx needs stacks from the process" {
	run_profile -cpu-only --nvtx true
	expect_status 125
	expect_line stderr '^profile: --nvtx needs launch stacks taken in the process'
}

# "KERNEL: FRAME > FRAME", Python frames and ranges only, names without their scope.
python_frames()
{
	awk -F ';' '{
		frames = ""
		for (i = 1; i < NF; i++) {
			if ($i ~ / \(python_nvtx.py\)$/) {
				sub(/ \(.*/, "", $i); sub(/.*\./, "", $i)
			} else if ($i !~ /^nvtx:/) continue
			if ($i == "<module>" || $i == "descend") continue
			frames = frames (frames == "" ? "" : " > ") $i
		}
		sub(/.*\[GPU_Kernel\]/, "", $NF); sub(/ [0-9]*$/, "", $NF)
		print $NF ": " frames
	}' "$1" | LC_ALL=C sort
}

@test "ranges that Python functions open, their helpers and context managers" {
	local python found=

	while read -r python; do
		found=1
		echo "$python"
		trace "$python" "$script"
		python_frames out.folded >frames
		expect frames <<-'END'
			closed: main > nvtx:before CUDA > case_closed > launch
			direct: main > nvtx:before CUDA > case_direct > nvtx:direct > launch
			left: main > nvtx:before CUDA > case_left > nvtx:left > open_and_launch > launch
			left: main > nvtx:before CUDA > case_left > open_and_launch > nvtx:left > launch
			nested: main > nvtx:before CUDA > case_nested > nvtx:step > nvtx:forward > layer > nvtx:layer > launch
			recursion: main > nvtx:before CUDA > case_recursion > nvtx:top > launch
			sorted: main > nvtx:before CUDA > case_sorted > nvtx:sort > key > nvtx:key > launch
			thread: work > nvtx:worker > launch
		END
		expect_line out.folded ';case_recursion \([^;]*;nvtx:top;descend \('
	done < <(find_pythons)
	[ -n "$found" ] || skip 'no Python from 3.8 to 3.15 is installed'
}

@test "the same with line numbers and the interpreter's own frames" {
	local python

	python=$(find_pythons | head -n 1)
	[ -n "$python" ] || skip 'no Python from 3.8 to 3.15 is installed'
	trace --native-python --python-lines "$python" "$script"
	expect_line out.folded ';layer \(python_nvtx.py:[0-9]+\);nvtx:layer;(.*;)?launch \(python_nvtx.py:[0-9]+\);'
	expect_line out.folded ';main \(python_nvtx.py:[0-9]+\);nvtx:before CUDA;'
	expect_equal ns "$(weight_of out.folded)" 8000
}

@test "stacks with ranges are recognized: few are walked" {
	local walked

	run_profile -gpu-only -v --nvtx -o out.folded "$workloads/nvtx_steps" 200
	expect_status 0
	walked=$(sed -n 's/.*: [0-9]* launch stacks took [0-9]* ns each; \([0-9]*\) were walked$/\1/p' stderr)
	[ -n "$walked" ]
	[ "$walked" -lt 100 ] # of 1423
}
