/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Checks if a process that ends has a device open that every GPU user opens. The CUDA driver keeps
 * it open from cuInit to the end. A process that only maps the driver does not.
 *
 * Runs once per process. Costs a read per 64 descriptors of the table, and four per open
 * descriptor.
 */
#ifndef BPF_OPEN_DEVICES_BPF_H
#define BPF_OPEN_DEVICES_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "stack_event.h"

/* Character devices as in inode.i_rdev; 0: none. Set by the reader. */
const volatile unsigned int gpu_devices[2];

#define FILE_TYPE_CHARACTER 0x2000u /* S_IFCHR */
#define DESCRIPTORS_A_WORD 64
/* Only the first 16384 descriptors are checked. */
#define DESCRIPTOR_WORDS 16
#define DESCRIPTOR_BLOCKS 16

/* Functions called in loops are not inlined: each is verified once. They return 0 to stop. */
struct descriptor_walk {
	__u64 words, files; /* addresses of the next word of bits and of its files */
	__u64 open, file;   /* remaining bits of the current word, address of the next file */
	__u64 cred;         /* the process's */
	__u32 left;         /* words */
	__u32 has, opened;
};

static __always_inline void look_at_file(struct descriptor_walk *w, struct file *file)
{
	__u32 device;

	if ((BPF_CORE_READ(file, f_inode, i_mode) & STACK_EVENT_FILE_TYPE) != FILE_TYPE_CHARACTER)
		return;
	device = BPF_CORE_READ(file, f_inode, i_rdev);
	if (!device || (device != gpu_devices[0] && device != gpu_devices[1]))
		return;
	w->has = 1;
	w->opened += (__u64)BPF_CORE_READ(file, f_cred) == w->cred;
}

/* Checks the next descriptor of a word. */
__noinline int look_at_descriptor(struct descriptor_walk *w)
{
	struct file *file = 0;

	if (!w)
		return 0;
	if (w->open & 1 && !bpf_probe_read_kernel(&file, sizeof(file), (void *)w->file) && file)
		look_at_file(w, file);
	w->file += sizeof(file);
	w->open >>= 1;
	return w->open != 0;
}

/* Checks the next 64 descriptors. */
__noinline int look_at_word(struct descriptor_walk *w)
{
	if (!w || !w->left || w->opened >= STACK_EVENT_OPENED_MAX ||
	    bpf_probe_read_kernel(&w->open, sizeof(w->open), (void *)w->words))
		return 0;
	w->file = w->files;
	for (int i = 0; i < DESCRIPTORS_A_WORD && look_at_descriptor(w); i++)
		;
	w->files += DESCRIPTORS_A_WORD * sizeof(struct file *);
	w->words += sizeof(w->open);
	w->left--;
	return 1;
}

/* Checks the next DESCRIPTOR_WORDS words. */
__noinline int look_at_block(struct descriptor_walk *w)
{
	int i = 0;

	if (!w)
		return 0;
	for (; i < DESCRIPTOR_WORDS && look_at_word(w); i++)
		;
	return i == DESCRIPTOR_WORDS;
}

/*
 * Returns flags of STACK_EVENT_CPU_USED. The process must still have its descriptors. Returns 0,
 * for unknown, if some were not checked and the others are not GPU devices.
 */
static __always_inline __u32 open_devices_of(struct task_struct *task)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct descriptor_walk w = {
		.words = (__u64)BPF_CORE_READ(table, open_fds),
		.files = (__u64)BPF_CORE_READ(table, fd),
		.cred = (__u64)BPF_CORE_READ(task, cred),
		.left = BPF_CORE_READ(table, max_fds) / DESCRIPTORS_A_WORD,
	};

	if (!gpu_devices[0] && !gpu_devices[1])
		return 0;
	for (int i = 0; i < DESCRIPTOR_BLOCKS && look_at_block(&w); i++)
		;
	if (w.left && !w.has)
		return 0;
	if (w.opened > STACK_EVENT_OPENED_MAX)
		w.opened = STACK_EVENT_OPENED_MAX;
	return STACK_EVENT_LOOKED | (w.has ? STACK_EVENT_HAS_GPU : 0) |
	       w.opened << STACK_EVENT_OPENED_AT;
}

#endif
