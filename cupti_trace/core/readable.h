/* SPDX-License-Identifier: MIT */
/*
 * Memory of our own process where a plain load might crash: whether it can be read, and reading it.
 * Another thread may take it away right after.
 */
#ifndef CUPTI_TRACE_CORE_READABLE_H
#define CUPTI_TRACE_CORE_READABLE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "cupti_trace/core/guest.h"

/*
 * Returns whether the eight bytes at `address` can be read. Asks the kernel for a signal mask that
 * lies there to be put to a use that there is not: it reads the mask first, and refuses then.
 * Cheaper than to have memory copied, and no sandbox forbids it, where process_vm_readv may end the
 * program.
 */
static inline bool is_readable(uint64_t address)
{
	int saved_errno = errno;
	bool readable = syscall(SYS_rt_sigprocmask, ~0, address, NULL, 8) == 0 || errno == EINVAL;

	errno = saved_errno;
	return readable;
}

/*
 * process_vm_readv(2): copies pieces, one behind the other, to `to`. Returns how many bytes were
 * copied before one that cannot be read; -1: none. By the calling thread's id: the process's is
 * that of its first thread, which has no memory once it has ended.
 */
static inline ssize_t read_own_memory(void *to, size_t bytes, const struct iovec *pieces,
				      unsigned long count)
{
	struct iovec all = {.iov_base = to, .iov_len = bytes};

	return process_vm_readv((pid_t)syscall(SYS_gettid), &all, 1, pieces, count, 0);
}

/*
 * Copies memory that another thread may unmap meanwhile, by a system call that a seccomp filter may
 * end the program for (guest_is_shut_in). False: not all of it can be read.
 */
static inline bool copy_mapped(uint64_t from, void *to, uint64_t size)
{
	const struct iovec piece = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};

	return read_own_memory(to, size, &piece, 1) == (ssize_t)size;
}

/*
 * Does the same under such a filter, too: there the pages are only asked for before, so it is for
 * memory that stays.
 */
static inline bool copy_own_memory(uint64_t from, void *to, uint64_t size)
{
	const uint64_t page = 4096;

	if (!guest_is_shut_in())
		return copy_mapped(from, to, size);
	for (uint64_t at = from & ~(page - 1); at < from + size; at += page)
		if (!is_readable(at))
			return false;
	memcpy(to, (const void *)(uintptr_t)from, size);
	return true;
}

/*
 * Does the same in less time, where no seccomp filter might end the program for it. To read, the
 * kernel looks up and holds each page that is read, which takes it longer than to copy them. By
 * process_vm_writev we write to ourselves: then it does so with the pages of `to`, and reads as in
 * any system call. Not by that function of libc: in a program built with AddressSanitizer it is
 * another, which ends the program if a piece holds what only its owner may read.
 */
static inline ssize_t gather_own_memory(void *to, size_t bytes, const struct iovec *pieces,
					unsigned long count)
{
	struct iovec all = {.iov_base = to, .iov_len = bytes};

	return syscall(SYS_process_vm_writev, syscall(SYS_gettid), pieces, count, &all, 1UL, 0UL);
}

#endif
