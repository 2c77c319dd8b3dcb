/* SPDX-License-Identifier: MIT */
/*
 * Reads memory of our own process where a plain load might crash, and tests whether it can be read.
 * Another thread may unmap the memory right after.
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
 * Returns whether the eight bytes at `address` can be read. Asks the kernel for an invalid
 * operation on a signal mask there: the kernel reads the mask first, then refuses. Cheaper than
 * having memory copied, and no sandbox forbids it, whereas process_vm_readv may end the program.
 */
static inline bool is_readable(uint64_t address)
{
	int saved_errno = errno;
	bool readable = syscall(SYS_rt_sigprocmask, ~0, address, NULL, 8) == 0 || errno == EINVAL;

	errno = saved_errno;
	return readable;
}

/*
 * Copies pieces one after the other to `to` by process_vm_readv(2). Returns the number of bytes
 * before one that cannot be read, or -1. Uses the calling thread's id: the process id is that of
 * its first thread, which has no memory once it has ended.
 */
static inline ssize_t read_own_memory(void *to, size_t bytes, const struct iovec *pieces,
				      unsigned long count)
{
	struct iovec all = {.iov_base = to, .iov_len = bytes};

	return process_vm_readv((pid_t)syscall(SYS_gettid), &all, 1, pieces, count, 0);
}

/*
 * Copies memory that another thread may unmap meanwhile. Returns false if not all of it can be
 * read. A seccomp filter may end the program for this system call (guest_is_sandboxed).
 */
static inline bool copy_mapped(uint64_t from, void *to, uint64_t size)
{
	const struct iovec piece = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};

	return read_own_memory(to, size, &piece, 1) == (ssize_t)size;
}

/*
 * Copies memory that stays mapped. Under a seccomp filter it only tests the pages first, then
 * copies directly. Returns false if not all of it can be read.
 */
static inline bool copy_own_memory(uint64_t from, void *to, uint64_t size)
{
	const uint64_t page = 4096;

	if (!guest_is_sandboxed())
		return copy_mapped(from, to, size);
	for (uint64_t at = from & ~(page - 1); at < from + size; at += page)
		if (!is_readable(at))
			return false;
	memcpy(to, (const void *)(uintptr_t)from, size);
	return true;
}

/*
 * Copies as read_own_memory does, but faster; not allowed under a seccomp filter that may end the
 * program for it. To read, the kernel looks up and pins each page, which takes longer than copying.
 * process_vm_writev to ourselves pins only the pages of `to`, and reads as any system call does.
 * Bypasses libc: AddressSanitizer replaces that function, and ends the program if a piece holds
 * poisoned memory.
 */
static inline ssize_t gather_own_memory(void *to, size_t bytes, const struct iovec *pieces,
					unsigned long count)
{
	struct iovec all = {.iov_base = to, .iov_len = bytes};

	return syscall(SYS_process_vm_writev, syscall(SYS_gettid), pieces, count, &all, 1UL, 0UL);
}

#endif
