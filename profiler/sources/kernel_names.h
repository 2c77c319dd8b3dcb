/* SPDX-License-Identifier: MIT */
/*
 * Asks the kernel for the names of its functions, one by one, by a BPF program that was loaded with
 * privilege.
 *
 * A name takes two microseconds. /proc/kallsyms has all of them, which takes the kernel some 40 ms.
 */
#ifndef PROFILER_SOURCES_KERNEL_NAMES_H
#define PROFILER_SOURCES_KERNEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct kernel_names;

/*
 * Uses the program `program`, which takes an address as its argument and writes a name `at` bytes
 * into the only value of the map `map`. Duplicates both descriptors. Returns NULL with errno set.
 */
struct kernel_names *kernel_names_new(int program, int map, size_t at);

/*
 * Finds the name of the function at `address`: a symbolizer_kernel_name. `names`: a struct
 * kernel_names. Returns -ECHILD in a child of the process that made it, for the value is shared.
 */
int kernel_names_find(void *names, uint64_t address, char *name, size_t size);

void kernel_names_free(struct kernel_names *names);

#endif
