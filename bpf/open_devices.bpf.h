/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Tells whether a process that ends has a device open that every user of the GPU opens: CUDA's
 * driver keeps it open from cuInit to the end. A process that only maps the driver has not.
 *
 * Costs a read for each 64 descriptors that the table has room for, and four for each open one,
 * once in a process's life.
 */
#ifndef BPF_OPEN_DEVICES_BPF_H
#define BPF_OPEN_DEVICES_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "stack_event.h"

/* Character devices, as inode.i_rdev has them; 0: none. Set by the reader. */
const volatile unsigned int gpu_devices[2];

#define FILE_TYPE_CHARACTER 0x2000u /* S_IFCHR */
#define DESCRIPTORS_A_WORD 64
/* More descriptors than 16384 are not looked at. */
#define DESCRIPTOR_WORDS 16
#define DESCRIPTOR_BLOCKS 16

/* Functions that are called in loops are not inlined: each is verified once. 0: to be left. */
struct descriptor_walk {
	__u64 words, files; /* addresses: of the next word of bits, and of its descriptors' files */
	__u64 open, file;   /* the rest of the word before, and the address of its next file */
	__u64 cred;         /* of the process */
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

/* Looks at the next descriptor of a word. */
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

/* Looks at the next 64 descriptors. */
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

/* Looks at the next DESCRIPTOR_WORDS words. */
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
 * Returns flags of STACK_EVENT_CPU_USED. The process has its descriptors still. Where some were not
 * looked at, and the others are not of the device, it is not known.
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
