// SPDX-License-Identifier: MIT
#include "profiler/model/work_names.h"

#include "profiler/model/memory_use.h"

static const struct {
	const char *frame, *word;
} names[] = {
	[GPU_WORK_KERNEL] = {"[GPU_Kernel]", "kernels"},
	[GPU_WORK_MEMCPY_OTHER] = {"[GPU_Memcpy]", "memcpy"},
	[GPU_WORK_MEMCPY_HTOD] = {"[GPU_Memcpy HtoD]", "memcpy HtoD"},
	[GPU_WORK_MEMCPY_DTOH] = {"[GPU_Memcpy DtoH]", "memcpy DtoH"},
	[GPU_WORK_MEMCPY_HTOA] = {"[GPU_Memcpy HtoA]", "memcpy HtoA"},
	[GPU_WORK_MEMCPY_ATOH] = {"[GPU_Memcpy AtoH]", "memcpy AtoH"},
	[GPU_WORK_MEMCPY_ATOA] = {"[GPU_Memcpy AtoA]", "memcpy AtoA"},
	[GPU_WORK_MEMCPY_ATOD] = {"[GPU_Memcpy AtoD]", "memcpy AtoD"},
	[GPU_WORK_MEMCPY_DTOA] = {"[GPU_Memcpy DtoA]", "memcpy DtoA"},
	[GPU_WORK_MEMCPY_DTOD] = {"[GPU_Memcpy DtoD]", "memcpy DtoD"},
	[GPU_WORK_MEMCPY_HTOH] = {"[GPU_Memcpy HtoH]", "memcpy HtoH"},
	[GPU_WORK_MEMCPY_PTOP] = {"[GPU_Memcpy PtoP]", "memcpy PtoP"},
	[GPU_WORK_MEMSET] = {"[GPU_Memset]", "memset"},
	[GPU_WORK_GRAPH] = {"[GPU_Graph]", "graphs"},
	[GPU_WORK_UVM_HTOD] = {"[GPU_UVM HtoD]", "UVM HtoD"},
	[GPU_WORK_UVM_DTOH] = {"[GPU_UVM DtoH]", "UVM DtoH"},
	[GPU_WORK_UVM_DTOD] = {"[GPU_UVM DtoD]", "UVM DtoD"},
	[GPU_WORK_UVM_GPU_FAULTS] = {"[GPU_UVM page faults]", "UVM GPU faults"},
	[GPU_WORK_UVM_CPU_FAULT] = {"[GPU_UVM CPU page fault]", "UVM CPU faults"},
	[GPU_WORK_UVM_OTHER] = {"[GPU_UVM]", "UVM other"},
	[GPU_WORK_ALLOC] = {"[GPU_Alloc]", "allocations"},
	[GPU_WORK_FREE] = {"[GPU_Free]", "frees"},
	[GPU_WORK_DECOMPRESS] = {"[GPU_Decompress]", "decompress"},
	[GPU_WORK_DEVICE_GRAPH] = {"[GPU_Graph, launched by a kernel]", "device graphs"},
};

_Static_assert(sizeof(names) / sizeof(names[0]) == GPU_WORKS, "one a kind");

const char *work_frame(unsigned int work)
{
	return work < GPU_WORKS ? names[work].frame : "[GPU]";
}

const char *work_allocation_frame(unsigned int kind)
{
	static const char *const frames[MEMORY_KINDS] = {[MEMORY_OF_DEVICE] = "[GPU_Alloc device]",
							 [MEMORY_MANAGED] = "[GPU_Alloc managed]",
							 [MEMORY_OF_HOST] =
								 "[GPU_Alloc pinned host]"};

	return kind < MEMORY_KINDS ? frames[kind] : names[GPU_WORK_ALLOC].frame;
}

const char *work_word(unsigned int work)
{
	return work < GPU_WORKS ? names[work].word : "other";
}
