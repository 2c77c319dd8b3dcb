/* SPDX-License-Identifier: MIT */
/*
 * Provides the kernel's types to a BPF object while libbpf loads it: offsets of members (CO-RE),
 * and numbers of tracepoints, iterators, functions and structures. libbpf then reads no types
 * itself, which would take longer than all else at a program's start (kernel_btf.h).
 *
 *	bpf_types_begin(&types);
 *	... bpf_object__open with types.path as btf_custom_path; choose programs
 *	bpf_types_provide(&types, object);
 *	... bpf_object__load
 *	bpf_types_end(&types);
 *
 * Programs in the sections tp_btf/, iter/ and iter.s/ are loaded with these numbers, which replace
 * the placeholders of stack_event.h in them. Attach them with bpf_program__attach_trace and
 * bpf_program__attach_iter. One object at a time, in one thread: libbpf's handlers of sections
 * belong to the process.
 */
#ifndef PROFILER_SOURCES_BPF_TYPES_H
#define PROFILER_SOURCES_BPF_TYPES_H

#include <stdint.h>
#include "profiler/sources/kernel_btf.h"

#define BPF_TYPES_PATH_BYTES 32

struct bpf_object;

struct bpf_types {
	int file;                        /* the small BTF; -1: none */
	char path[BPF_TYPES_PATH_BYTES]; /* names the file while it is open */
	struct kernel_type *list;        /* owned, with all names */
	uint32_t count, capacity;
};

/* Begins to provide types. Returns 0 or -errno; in any case bpf_types_end follows. */
int bpf_types_begin(struct bpf_types *types);

/*
 * Reads the types that the opened object needs, for programs that are to be loaded. Returns 0 or
 * -errno.
 */
int bpf_types_provide(struct bpf_types *types, struct bpf_object *object);

void bpf_types_end(struct bpf_types *types);

#endif
