/* SPDX-License-Identifier: MIT */
/*
 * jit_reuse [CPU_MS=800]: no CUDA. Generates two functions in turn at one address and runs each,
 * `rare` for a quarter of the CPU time and `frequent` for the rest, and writes a jitdump of them
 * into the working directory, as JIT compilers do (symbolize/jitdump.h).
 */
#include "burn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ROUNDS 20
#define ROOM 4096

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void write_load(FILE *dump, const void *code, uint64_t size, const char *name)
{
	const uint64_t address = (uintptr_t)code, time = now_ns();
	const uint64_t numbers[] = {address, address, size, 0};
	const uint32_t head[] = {0, (uint32_t)(56 + strlen(name) + 1 + size)};
	const uint32_t ids[] = {(uint32_t)getpid(), (uint32_t)getpid()};

	fwrite(head, sizeof(head), 1, dump);
	fwrite(&time, sizeof(time), 1, dump);
	fwrite(ids, sizeof(ids), 1, dump);
	fwrite(numbers, sizeof(numbers), 1, dump);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(code, size, 1, dump);
	fflush(dump);
}

static FILE *open_dump(void)
{
	const uint32_t head[] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
	const uint64_t more[] = {now_ns(), 0};
	char name[64];
	FILE *dump;

	snprintf(name, sizeof(name), "jit-%d.dump", (int)getpid());
	dump = fopen(name, "w+");
	if (!dump || fwrite(head, sizeof(head), 1, dump) != 1 ||
	    fwrite(more, sizeof(more), 1, dump) != 1 || fflush(dump) != 0)
		return NULL;
	/* by this mapping profilers find it */
	if (mmap(NULL, ROOM, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		return NULL;
	return dump;
}

/* A function that counts its argument down: push rbp; mov rbp,rsp; dec rdi; jnz; pop rbp; ret. */
static const unsigned char counting[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff,
					 0xcf, 0x75, 0xfb, 0x5d, 0xc3};

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 800;
	uint64_t quarter = ms * 1000000 / ROUNDS / 4;
	unsigned char *code = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *dump = open_dump();

	if (code == MAP_FAILED || !dump)
		return 1;
	for (int i = 0; i < 2 * ROUNDS; i++) {
		uint64_t end = burn_clock() + quarter * (i % 2 ? 3 : 1);

		memcpy(code, counting, sizeof(counting));
		write_load(dump, code, sizeof(counting), i % 2 ? "frequent" : "rare");
		while (burn_clock() < end)
			((void (*)(uint64_t))(uintptr_t)code)(100000);
	}
	fclose(dump);
	return 0;
}
