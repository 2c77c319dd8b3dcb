/* SPDX-License-Identifier: MIT */
/*
 * Finds types in the running kernel's BTF by name, and makes a small BTF of those that a BPF object
 * needs for CO-RE.
 *
 * libbpf searches all of the kernel's types, some 100,000, for each structure of an object, and
 * copies them before. One pass over the file and a BTF of some hundred types take a tenth of the
 * time.
 *
 * Format: Documentation/bpf/btf.rst and linux/btf.h. All offsets are checked. Kinds of types newer
 * than BTF_KIND_ENUM64 are refused, for their size is not known.
 */
#ifndef PROFILER_SOURCES_KERNEL_BTF_H
#define PROFILER_SOURCES_KERNEL_BTF_H

#include <stddef.h>
#include <stdint.h>

struct kernel_btf;

/* A type to be found. */
struct kernel_type {
	const char *name; /* not owned */
	uint32_t kind;    /* BTF_KIND_... */
	uint32_t id;      /* set by kernel_btf_find; 0: not found */
};

/*
 * Maps the BTF at `path`, or reads it where the kernel cannot map it (before Linux 6.16). Returns
 * 0, or -errno; -EINVAL: not valid. The caller closes `*btf`.
 */
int kernel_btf_open(const char *path, struct kernel_btf **btf);

/* Uses `size` bytes of BTF at `data`, which stay the caller's, and must outlive `*btf`. */
int kernel_btf_open_memory(const void *data, size_t size, struct kernel_btf **btf);

/*
 * Finds types by name and kind, in one pass. Of types with one name and kind the first is `id`, and
 * all are part of kernel_btf_reduce's result. Returns 0 or -ENOMEM.
 */
int kernel_btf_find(struct kernel_btf *btf, struct kernel_type *types, uint32_t count);

/*
 * Makes a BTF of the structures and unions that the last kernel_btf_find found, with the types of
 * their members. Pointers in it point to void, and enumerations have no values. Ids differ from the
 * kernel's. Returns 0, or -errno. The caller frees `*data`.
 */
int kernel_btf_reduce(const struct kernel_btf *btf, void **data, size_t *size);

void kernel_btf_close(struct kernel_btf *btf);

#endif
