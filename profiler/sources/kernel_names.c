// SPDX-License-Identifier: MIT
#include "profiler/sources/kernel_names.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "bpf/stack_event.h"

struct kernel_names {
	int program;
	pid_t owner;
	char *value;
	size_t bytes; /* length of the mapping */
	const char *name;
};

struct kernel_names *kernel_names_new(int program, int map, size_t at)
{
	struct kernel_names *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return NULL;
	n->owner = getpid();
	n->bytes = at + STACK_KERNEL_NAME_BYTES;
	n->value = mmap(NULL, n->bytes, PROT_READ, MAP_SHARED, map, 0);
	n->program = fcntl(program, F_DUPFD_CLOEXEC, 3);
	if (n->value != MAP_FAILED && n->program >= 0) {
		n->name = n->value + at;
		return n;
	}
	err = errno;
	kernel_names_free(n);
	errno = err;
	return NULL;
}

/* Copies what the kernel wrote: "NAME", "NAME [MODULE]", or an address that has none. */
static int copy_name(const char *from, char *to, size_t size)
{
	const char *end = memchr(from, '\0', STACK_KERNEL_NAME_BYTES);
	size_t length;

	if (!end || end == from || strncmp(from, "0x", 2) == 0)
		return 0;
	length = strcspn(from, " ");
	if (length == 0 || length >= size)
		return 0;
	memcpy(to, from, length);
	to[length] = '\0';
	return 1;
}

int kernel_names_find(void *names, uint64_t address, char *name, size_t size)
{
	const struct kernel_names *n = names;
	uint64_t arguments[] = {address};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
	int err;

	if (getpid() != n->owner)
		return -ECHILD;
	err = bpf_prog_test_run_opts(n->program, &run);
	return err ? err : copy_name(n->name, name, size);
}

void kernel_names_free(struct kernel_names *n)
{
	if (!n)
		return;
	if (n->program >= 0)
		close(n->program);
	if (n->value != MAP_FAILED)
		munmap(n->value, n->bytes);
	free(n);
}
