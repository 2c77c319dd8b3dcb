/* SPDX-License-Identifier: MIT */
/*
 * rubbish MODE [ROUNDS=20]: a target that writes into the profiler's pipe, whose path it finds in
 * PROFILE_PIPE, between launches of its own (2 a round, if there is a CUDA driver).
 *
 *   json	broken JSON		types	well-formed lines with wrong types
 *   binary	random bytes, NULs	numbers	huge, negative, fractional numbers
 *   long	lines of 1 MB		deep	arrays nested 100,000 deep
 *   half	a line without its end	names	odd keys, duplicate keys, bad UTF-8, control
 * characters forged	lines that look real, of another process and of times that cannot be flood
 * 40,000 short lines	all	each of these in turn
 *
 * A write that fails (no reader, SIGPIPE ignored) is no error. Prints the launches that succeeded;
 * exits 3 if PROFILE_PIPE is unset, 4 if the pipe cannot be opened.
 */
#define _GNU_SOURCE
#include "ptx.h"
#include "../fake_cuda/cuda_driver_subset.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { BIG = 1 << 20, KERNEL_NS = 10000 };

static struct {
	CUfunction function;
	__typeof__(&cuLaunchKernel) launch;
	__typeof__(&cuCtxSynchronize) synchronize;
} gpu;

static void put(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n <= 0)
			return;
		at += n;
		size -= (size_t)n;
	}
}

static void put_lines(int fd, const char *const *lines)
{
	for (; *lines; lines++) {
		put(fd, *lines, strlen(*lines));
		put(fd, "\n", 1);
	}
}

static void write_json(int fd)
{
	static const char *const lines[] = {
		"{",           "}",    "{\"t\":}",        "{\"t\":\"k\"",     "{\"t\" \"k\"}",
		"[1,2,",       "\"",   "{\"t\":\"k\",}",  "{'t':'k'}",        "nul",
		"{\"t\":tru}", "\\",   "{\"\\u12\":1}",   "{\"t\":\"\\x\"}",  "",
		" ",           "{}{}", "{\"t\":\"k\"} x", "// {\"t\":\"k\"}", NULL,
	};

	put_lines(fd, lines);
}

static void write_types(int fd)
{
	static const char *const lines[] = {
		"null",
		"true",
		"42",
		"\"k\"",
		"[]",
		"{}",
		"[{\"t\":\"k\"}]",
		"{\"t\":null}",
		"{\"t\":7}",
		"{\"t\":[\"k\"]}",
		"{\"t\":{\"k\":1}}",
		"{\"t\":\"k\"}",
		"{\"t\":\"l\"}",
		"{\"t\":\"batch\"}",
		"{\"t\":\"hello\",\"pid\":\"one\",\"v\":[]}",
		"{\"t\":\"k\",\"pid\":{},\"s\":\"now\",\"e\":false,\"c\":[1],\"n\":9}",
		"{\"t\":\"drops\",\"n\":\"many\"}",
		"{\"t\":\"no such type\",\"pid\":1}",
		NULL,
	};

	put_lines(fd, lines);
}

static void write_numbers(int fd)
{
	static const char *const types[] = {"batch", "hello", "l", "k", "drops", "name", "bye"};
	static const char *const numbers[] = {
		"-1",
		"1e999",
		"-1e999",
		"18446744073709551615",
		"18446744073709551616",
		"1e308",
		"0.5",
		"-0",
		"9223372036854775808",
		"99999999999999999999999999999",
		"NaN",
		"0x10",
		"1e-400",
		"007",
	};
	char line[512];

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
			const char *n = numbers[i];
			int len = snprintf(line, sizeof(line),
					   "{\"t\":\"%s\",\"pid\":%s,"
					   "\"id\":\"0123456789abcdef\",\"seq\":%s,\"h\":%s,"
					   "\"s\":%s,\"c\":%s,\"n\":%s,\"d\":%s,\"i\":%s,"
					   "\"v\":[%s],\"g\":[%s],\"kernels\":%s}\n",
					   types[t], n, n, n, n, n, n, n, n, n, n, n);

			put(fd, line, (size_t)len);
		}
	}
}

static void write_binary(int fd)
{
	unsigned char bytes[4096];
	unsigned int x = 1;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		x = x * 1664525u + 1013904223u;
		bytes[i] = (unsigned char)(x >> 24);
	}
	put(fd, bytes, sizeof(bytes));
	put(fd, "\0\0\0\0\n{\"t\":\"k\0\"}\n\n\n", 20);
}

/* A line of `size` bytes: a prefix, a filler, a suffix and the newline. */
static void put_big(int fd, const char *prefix, char filler, const char *suffix, size_t size)
{
	size_t before = strlen(prefix), after = strlen(suffix);
	char *line = malloc(size);

	if (!line)
		return;
	memset(line, filler, size);
	memcpy(line, prefix, before);
	memcpy(line + size - after, suffix, after);
	put(fd, line, size);
	free(line);
}

static void write_long(int fd)
{
	put_big(fd, "{\"t\":\"name\",\"i\":1,\"n\":\"", 'x', "\"}\n", BIG);
	put_big(fd, "", 'y', "\n", BIG);
	put_big(fd, "{", ' ', "}\n", BIG);
}

static void write_deep(int fd)
{
	put_big(fd, "{\"t\":", '[', "\n", 100000);
	put_big(fd, "[", '{', "\n", 100000);
}

static void write_half(int fd)
{
	static const char line[] = "{\"t\":\"k\",\"pid\":";

	put(fd, line, sizeof(line) - 1);
}

static void write_names(int fd)
{
	static const char *const lines[] = {
		"{\"t\":\"k\",\"t\":\"hello\",\"t\":\"bye\"}",
		"{\"t\":\"name\",\"i\":1,\"n\":\"\xff\xfe\xc0\x80\xed\xa0\x80\"}",
		"{\"t\":\"name\",\"i\":1,\"n\":\"a;b c\td\\n\\u0000\\u001b[31m\"}",
		"{\"t\":\"name\",\"i\":1,\"n\":\"\x1b]0;title\x07\"}",
		"{\"t\":\"notice\",\"code\":1,\"detail\":\"%s%s%s%n\"}",
		"{\"\":\"\",\"__proto__\":{},\"t\":\"\"}",
		"{\"t\":\"hello\",\"pid\":1,\"exe\":\"../../../../etc/passwd\"}",
		NULL,
	};

	put_lines(fd, lines);
}

static void write_forged(int fd)
{
	static const char *const lines[] = {
		"{\"t\":\"batch\",\"pid\":1,\"id\":\"0000000000000001\",\"seq\":1}",
		"{\"t\":\"hello\",\"version\":2,\"pid\":1,\"id\":\"0000000000000001\","
		"\"exe\":\"/sbin/init\",\"cupti\":\"\",\"cupti_version\":0,\"clock_offset\":\"0\","
		"\"clock_error\":0,\"libs\":\"\",\"ack\":1}",
		"{\"t\":\"hello\",\"version\":4294967295,\"pid\":2}",
		"{\"t\":\"name\",\"i\":1,\"n\":\"_Z6forgedv\"}",
		"{\"t\":\"l\",\"s\":1,\"h\":1,\"c\":1,\"f\":1}",
		"{\"t\":\"k\",\"n\":1,\"s\":10,\"d\":5,\"c\":1,\"v\":[0,1,7],\"g\":[1,1,1],"
		"\"b\":[1,1,1],\"m\":[0,0],\"r\":16}",
		"{\"t\":\"k\",\"n\":1,\"s\":0,\"d\":\"18446744073709551615\",\"c\":1,"
		"\"v\":[0,1,7],\"g\":[1,1,1],\"b\":[1,1,1],\"m\":[0,0],\"r\":16}",
		"{\"t\":\"drops\",\"kernels\":4294967295,\"launches\":1,\"batches\":1}",
		"{\"t\":\"bye\",\"kernels\":1,\"kernel_ns\":1,\"launches\":1}",
		NULL,
	};

	put_lines(fd, lines);
}

static void write_flood(int fd)
{
	static const char line[] = "{\"t\":\"k\",\"pid\":1}\n";
	char block[(sizeof(line) - 1) * 200];

	for (size_t i = 0; i < 200; i++)
		memcpy(block + i * (sizeof(line) - 1), line, sizeof(line) - 1);
	for (int i = 0; i < 200; i++)
		put(fd, block, sizeof(block));
}

static const struct {
	const char *name;
	void (*write)(int fd);
} modes[] = {
	{"json", write_json},     {"types", write_types}, {"numbers", write_numbers},
	{"binary", write_binary}, {"long", write_long},   {"deep", write_deep},
	{"half", write_half},     {"names", write_names}, {"forged", write_forged},
	{"flood", write_flood},
};

enum { MODES = sizeof(modes) / sizeof(modes[0]) };

/* 0 if there is a driver and everything worked. */
static int gpu_open(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(&cuInit) init;
	__typeof__(&cuDevicePrimaryCtxRetain) retain;
	__typeof__(&cuCtxSetCurrent) set_current;
	__typeof__(&cuModuleLoadData) load;
	__typeof__(&cuModuleGetFunction) get_function;
	CUcontext context;
	CUmodule module;

	if (!library)
		return -1;
	*(void **)&init = dlsym(library, "cuInit");
	*(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
	*(void **)&set_current = dlsym(library, "cuCtxSetCurrent");
	*(void **)&load = dlsym(library, "cuModuleLoadData");
	*(void **)&get_function = dlsym(library, "cuModuleGetFunction");
	*(void **)&gpu.synchronize = dlsym(library, "cuCtxSynchronize");
	*(void **)&gpu.launch = dlsym(library, "cuLaunchKernel");
	if (!init || !retain || !set_current || !load || !get_function || !gpu.synchronize)
		return -1;
	if (init(0) || retain(&context, 0) || set_current(context))
		return -1;
	if (load(&module, PTX_MODULE) || get_function(&gpu.function, module, "driver_spin"))
		return -1;
	return 0;
}

NOINLINE static int honest_launch(void)
{
	unsigned long long ns = KERNEL_NS;
	void *params[] = {&ns};

	if (!gpu.launch || !gpu.function)
		return 0;
	return gpu.launch(gpu.function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL) == 0;
}

static int find_mode(const char *name)
{
	for (int i = 0; i < MODES; i++)
		if (strcmp(name, modes[i].name) == 0)
			return i;
	return strcmp(name, "all") == 0 ? MODES : -1;
}

int main(int argc, char **argv)
{
	const char *path = getenv("PROFILE_PIPE");
	int mode = argc > 1 ? find_mode(argv[1]) : -1;
	int rounds = argc > 2 ? atoi(argv[2]) : 20, launches = 0, fd;

	if (mode < 0) {
		fprintf(stderr, "usage: %s MODE [ROUNDS]\n", argv[0]);
		return 1;
	}
	if (!path)
		return 3;
	signal(SIGPIPE, SIG_IGN);
	if (gpu_open())
		gpu.launch = NULL;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return 4;
	for (int i = 0; i < rounds; i++) {
		launches += honest_launch();
		modes[mode == MODES ? i % MODES : mode].write(fd);
		launches += honest_launch();
	}
	if (launches)
		gpu.synchronize();
	close(fd);
	printf("launches %d\n", launches);
	return 0;
}
