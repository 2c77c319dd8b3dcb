/* SPDX-License-Identifier: MIT */
/*
 * Device code with a line table, for tests of what is read of it: functions inlined in each other
 * and one that is called. The kernel has the name of one in tests/workloads/launches.cpp.
 */
__device__ __forceinline__ unsigned innermost(const unsigned *cells, unsigned at)
{
	return cells[at]; // line of innermost
}

__device__ __forceinline__ unsigned inlined(const unsigned *cells, unsigned at)
{
	return innermost(cells, at) ^ at; // line of inlined
}

__device__ __noinline__ unsigned called(unsigned at)
{
	return at % 1000003 + 7; // line of called
}

__global__ void other(unsigned *cells)
{
	cells[threadIdx.x] = threadIdx.x; // line of other
}

__global__ void tiny(unsigned long long address)
{
	unsigned *cells = (unsigned *)address;
	unsigned at = threadIdx.x;

	for (int i = 0; i < 100; i++)
		at = inlined(cells, at);
	cells[1] = called(at); // line of tiny
}
