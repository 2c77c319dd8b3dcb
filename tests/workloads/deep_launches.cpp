/* SPDX-License-Identifier: MIT */
/*
 * deep_launches N [MAPS]: N launches of a tiny kernel from one place, below DEPTH functions, of
 * which every second has a frame pointer. Writes into the file MAPS where the two functions are
 * that it calls right before and after each launch, and /proc/self/maps: so that a tool which sees
 * each instruction knows what belongs to one launch (tests/bench/price). With MAPS the launches are
 * a thread's, whose stack has the same place in its pages wherever the environment's variables end.
 */
#include "gpu.h"

#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

enum { DEPTH = 28, TINY_NS = 1000, PAGE = 4096 };

GPU_KERNEL(tiny)

extern "C" NOINLINE void launch_begins()
{
	asm volatile("");
}

extern "C" NOINLINE void launch_ends()
{
	asm volatile("");
}

static cudaStream_t stream;

NOINLINE static void launch(long n)
{
	for (long i = 0; i < n; i++) {
		launch_begins();
		GPU_CHECK(GPU_LAUNCH(stream, TINY_NS, tiny));
		launch_ends();
	}
}

template <int Depth> struct below {
	NOINLINE static void without_frame_pointer(long n);
	__attribute__((optimize("no-omit-frame-pointer"))) NOINLINE static void
	with_frame_pointer(long n);
};

template <> struct below<0> {
	NOINLINE static void without_frame_pointer(long n)
	{
		launch(n);
		asm volatile("");
	}
};

/* Frames of 64 to 256 bytes, as ordinary functions have. */
template <int Depth> void below<Depth>::without_frame_pointer(long n)
{
	volatile char local[64 + Depth * 5 % 13 * 16];

	local[0] = 1;
	below<Depth - 1>::with_frame_pointer(n);
	local[1] = local[0];
}

template <int Depth> void below<Depth>::with_frame_pointer(long n)
{
	volatile char local[64 + Depth * 5 % 13 * 16];

	local[0] = 1;
	below<Depth - 1>::without_frame_pointer(n);
	local[1] = local[0];
}

template <> void below<1>::with_frame_pointer(long n)
{
	below<0>::without_frame_pointer(n);
	asm volatile("");
}

static int write_maps(const char *path)
{
	FILE *out = fopen(path, "w"), *maps = fopen("/proc/self/maps", "r");
	int c;

	if (!out || !maps)
		return -1;
	fprintf(out, "%p %p\n", (void *)launch_begins, (void *)launch_ends);
	while ((c = getc(maps)) != EOF)
		putc(c, out);
	fclose(maps);
	return fclose(out);
}

/* From the beginning of a page on. */
static void *launch_in_thread(void *n)
{
	volatile char *unused = (char *)alloca((uintptr_t)__builtin_frame_address(0) % PAGE + 1);

	unused[0] = 1;
	below<DEPTH>::without_frame_pointer(*(long *)n);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	long n;

	if (argc < 2) {
		fprintf(stderr, "usage: %s N [MAPS]\n", argv[0]);
		return 1;
	}
	/* the runtime loads the driver here, which loads the library */
	GPU_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	n = atol(argv[1]);
	if (argc > 2) {
		if (write_maps(argv[2]) != 0 ||
		    pthread_create(&thread, NULL, launch_in_thread, &n) != 0 ||
		    pthread_join(thread, NULL) != 0)
			return 2;
	} else {
		below<DEPTH>::without_frame_pointer(n);
	}
	GPU_CHECK(cudaDeviceSynchronize());
	return 0;
}
