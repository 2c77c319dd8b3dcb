/* SPDX-License-Identifier: MIT */
/*
 * data_in_rbp [LAUNCHES=20000] [WHAT=0] [MAPPINGS=0]: launches from code that was generated at run
 * time and has no call-frame information, and in which rbp points to data on the stack that looks
 * like a frame: another one at each launch, its return address in no mapping. As just-in-time
 * compilers do that use rbp like any other register. The program has so many mappings of code more.
 * If WHAT is 1 rbp holds a number, if it is 2 a frame pointer, as a compiler's code has it, and if
 * it is 3 the return address is in a function of this program, but behind no call.
 *
 * Prints the ns that a launch takes. All launches have the same stack: it ends at the generated
 * code, but is whole with frame pointers.
 */
#include "../workloads/gpu.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

GPU_KERNEL(from_generated_code)

NOINLINE static void launch()
{
	GPU_CHECK(GPU_LAUNCH(0, 100, from_generated_code));
}

/* void (void (*function)(void), void *rbp) */
static const unsigned char code[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xf5, /* mov %rsi, %rbp */
	0xff, 0xd7,       /* call *%rdi */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};

static const unsigned char code_with_frame_pointer[] = {
	0x55,             /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0xff, 0xd7,       /* call *%rdi */
	0x5d,             /* pop %rbp */
	0xc3,             /* ret */
};
static_assert(sizeof(code) == sizeof(code_with_frame_pointer), "copied alike");

typedef void (*generated_fn)(void (*)(), void *);

/* As many mappings of their own: every other page is code. */
static int add_mappings(int count)
{
	size_t page = 4096, size = (size_t)count * 2 * page;
	char *at =
		count ? (char *)mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
		      : nullptr;

	for (int i = 0; i < count; i++)
		if (at == MAP_FAILED ||
		    mprotect(at + (size_t)i * 2 * page, page, PROT_READ | PROT_EXEC) != 0)
			return -1;
	return 0;
}

static double now_ns()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long launches = argc > 1 ? atol(argv[1]) : 20000;
	long what = argc > 2 ? atol(argv[2]) : 0;
	uint64_t random = 1;
	uint64_t frame[2];
	double start;
	void *page =
		mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || add_mappings(argc > 3 ? atoi(argv[3]) : 0) != 0)
		return 1;
	memcpy(page, what == 2 ? code_with_frame_pointer : code, sizeof(code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0)
		return 1;
	GPU_CHECK(cudaDeviceSynchronize());
	start = now_ns();
	for (long i = 0; i < launches; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		frame[0] = (uint64_t)(uintptr_t)frame;
		frame[1] = random >> 18; /* below 2^46: nothing is mapped there, but for chance */
		if (what == 3)
			frame[1] = (uint64_t)(uintptr_t)launch + random % 4;
		((generated_fn)page)(launch, what == 0 || what == 3 ? (void *)frame
								    : (void *)(uintptr_t)random);
	}
	fprintf(stderr, "data_in_rbp: %.0f ns a launch\n", (now_ns() - start) / (double)launches);
	GPU_CHECK(cudaDeviceSynchronize());
	printf("launches %ld\n", launches);
	return 0;
}
