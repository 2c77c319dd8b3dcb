// SPDX-License-Identifier: MIT
#include "profiler/model/off_cpu_kinds.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "bpf/stack_event.h"
#include "profiler/model/pseudo_frames.h"

/* missing from older headers */
#define CALL_CLONE3 435
#define CALL_EPOLL_PWAIT2 441
#define CALL_FUTEX_WAITV 449
#define CALL_FUTEX_WAIT 455

/* By system call, or enum stack_off_cpu_kind. */
static const uint8_t kinds[] = {
	[SYS_accept] = OFF_CPU_ACCEPT,
	[SYS_accept4] = OFF_CPU_ACCEPT,
	[SYS_connect] = OFF_CPU_CONNECT,
	[SYS_epoll_wait] = OFF_CPU_EPOLL,
	[SYS_epoll_pwait] = OFF_CPU_EPOLL,
	[CALL_EPOLL_PWAIT2] = OFF_CPU_EPOLL,
	[SYS_exit] = OFF_CPU_EXIT,
	[SYS_exit_group] = OFF_CPU_EXIT,
	[SYS_open] = OFF_CPU_FILE,
	[SYS_openat] = OFF_CPU_FILE,
	[SYS_close] = OFF_CPU_FILE,
	[SYS_stat] = OFF_CPU_FILE,
	[SYS_newfstatat] = OFF_CPU_FILE,
	[SYS_statx] = OFF_CPU_FILE,
	[SYS_getdents64] = OFF_CPU_FILE,
	[SYS_rename] = OFF_CPU_FILE,
	[SYS_unlink] = OFF_CPU_FILE,
	[SYS_unlinkat] = OFF_CPU_FILE,
	[SYS_execve] = OFF_CPU_FILE,
	[SYS_futex] = OFF_CPU_FUTEX,
	[CALL_FUTEX_WAITV] = OFF_CPU_FUTEX,
	[CALL_FUTEX_WAIT] = OFF_CPU_FUTEX,
	[SYS_ioctl] = OFF_CPU_IOCTL,
	[SYS_flock] = OFF_CPU_LOCK,
	[SYS_fcntl] = OFF_CPU_LOCK,
	[SYS_semop] = OFF_CPU_LOCK,
	[SYS_semtimedop] = OFF_CPU_LOCK,
	[SYS_brk] = OFF_CPU_MEMORY,
	[SYS_mmap] = OFF_CPU_MEMORY,
	[SYS_munmap] = OFF_CPU_MEMORY,
	[SYS_mprotect] = OFF_CPU_MEMORY,
	[SYS_madvise] = OFF_CPU_MEMORY,
	[SYS_mlock] = OFF_CPU_MEMORY,
	[SYS_poll] = OFF_CPU_POLL,
	[SYS_ppoll] = OFF_CPU_POLL,
	[SYS_select] = OFF_CPU_POLL,
	[SYS_pselect6] = OFF_CPU_POLL,
	[SYS_read] = OFF_CPU_READ,
	[SYS_readv] = OFF_CPU_READ,
	[SYS_pread64] = OFF_CPU_READ,
	[SYS_preadv] = OFF_CPU_READ,
	[SYS_preadv2] = OFF_CPU_READ,
	[SYS_recvfrom] = OFF_CPU_RECEIVE,
	[SYS_recvmsg] = OFF_CPU_RECEIVE,
	[SYS_recvmmsg] = OFF_CPU_RECEIVE,
	[SYS_mq_timedreceive] = OFF_CPU_RECEIVE,
	[SYS_msgrcv] = OFF_CPU_RECEIVE,
	[SYS_sendto] = OFF_CPU_SEND,
	[SYS_sendmsg] = OFF_CPU_SEND,
	[SYS_sendmmsg] = OFF_CPU_SEND,
	[SYS_sendfile] = OFF_CPU_SEND,
	[SYS_splice] = OFF_CPU_SEND,
	[SYS_mq_timedsend] = OFF_CPU_SEND,
	[SYS_msgsnd] = OFF_CPU_SEND,
	[SYS_pause] = OFF_CPU_SIGNAL,
	[SYS_rt_sigsuspend] = OFF_CPU_SIGNAL,
	[SYS_rt_sigtimedwait] = OFF_CPU_SIGNAL,
	[SYS_nanosleep] = OFF_CPU_SLEEP,
	[SYS_clock_nanosleep] = OFF_CPU_SLEEP,
	[SYS_sync] = OFF_CPU_SYNC,
	[SYS_fsync] = OFF_CPU_SYNC,
	[SYS_fdatasync] = OFF_CPU_SYNC,
	[SYS_msync] = OFF_CPU_SYNC,
	[SYS_sync_file_range] = OFF_CPU_SYNC,
	[SYS_io_getevents] = OFF_CPU_URING,
	[SYS_io_uring_enter] = OFF_CPU_URING,
	[SYS_wait4] = OFF_CPU_WAIT,
	[SYS_waitid] = OFF_CPU_WAIT,
	[SYS_vfork] = OFF_CPU_WAIT,
	[SYS_clone] = OFF_CPU_WAIT, /* posix_spawn: until the child has called exec */
	[CALL_CLONE3] = OFF_CPU_WAIT,
	[SYS_write] = OFF_CPU_WRITE,
	[SYS_writev] = OFF_CPU_WRITE,
	[SYS_pwrite64] = OFF_CPU_WRITE,
	[SYS_pwritev] = OFF_CPU_WRITE,
	[SYS_pwritev2] = OFF_CPU_WRITE,
	[STACK_OFF_CPU_RUNNABLE] = OFF_CPU_RUNNABLE,
	[STACK_OFF_CPU_NEW] = OFF_CPU_RUNNABLE,
	[STACK_OFF_CPU_DISK] = OFF_CPU_DISK,
	[STACK_OFF_CPU_PAGE_FAULT] = OFF_CPU_PAGE_FAULT,
	[STACK_OFF_CPU_STOPPED] = OFF_CPU_STOPPED,
	[STACK_OFF_CPU_EXITING] = OFF_CPU_EXIT,
	[STACK_OFF_CPU_GIL] = OFF_CPU_GIL,
};

static const char *const names[OFF_CPU_KINDS] = {
	[OFF_CPU_OTHER] = "other",
	[OFF_CPU_RUNNABLE] = "runnable",
	[OFF_CPU_ACCEPT] = "accept",
	[OFF_CPU_CONNECT] = "connect",
	[OFF_CPU_DISK] = "disk",
	[OFF_CPU_EPOLL] = "epoll",
	[OFF_CPU_EXIT] = "exit",
	[OFF_CPU_FILE] = "file",
	[OFF_CPU_FUTEX] = "futex",
	[OFF_CPU_GIL] = "GIL",
	[OFF_CPU_IOCTL] = "ioctl",
	[OFF_CPU_LOCK] = "lock",
	[OFF_CPU_MEMORY] = "memory",
	[OFF_CPU_PAGE_FAULT] = "page fault",
	[OFF_CPU_POLL] = "poll",
	[OFF_CPU_READ] = "read",
	[OFF_CPU_RECEIVE] = "receive",
	[OFF_CPU_SEND] = "send",
	[OFF_CPU_SIGNAL] = "signal",
	[OFF_CPU_SLEEP] = "sleep",
	[OFF_CPU_STOPPED] = "stopped",
	[OFF_CPU_SYNC] = "sync",
	[OFF_CPU_URING] = "io_uring",
	[OFF_CPU_WAIT] = "wait",
	[OFF_CPU_WRITE] = "write",
	[OFF_CPU_READ_DEVICE] = "read device",
	[OFF_CPU_READ_FILE] = "read file",
	[OFF_CPU_READ_PIPE] = "read pipe",
	[OFF_CPU_READ_SOCKET] = "read socket",
	[OFF_CPU_WRITE_DEVICE] = "write device",
	[OFF_CPU_WRITE_FILE] = "write file",
	[OFF_CPU_WRITE_PIPE] = "write pipe",
	[OFF_CPU_WRITE_SOCKET] = "write socket",
};

/* Returns the kind of a read or write by file type. Event descriptors and the like have none. */
static enum off_cpu_kind kind_by_file(bool writes, uint32_t file_type)
{
	switch (file_type) {
	case S_IFREG:
		return writes ? OFF_CPU_WRITE_FILE : OFF_CPU_READ_FILE;
	case S_IFIFO:
		return writes ? OFF_CPU_WRITE_PIPE : OFF_CPU_READ_PIPE;
	case S_IFSOCK:
		return writes ? OFF_CPU_WRITE_SOCKET : OFF_CPU_READ_SOCKET;
	case S_IFCHR:
	case S_IFBLK:
		return writes ? OFF_CPU_WRITE_DEVICE : OFF_CPU_READ_DEVICE;
	default:
		return writes ? OFF_CPU_WRITE : OFF_CPU_READ;
	}
}

enum off_cpu_kind off_cpu_kind_of(uint32_t number, uint32_t file_type)
{
	enum off_cpu_kind kind =
		number < sizeof(kinds) ? (enum off_cpu_kind)kinds[number] : OFF_CPU_OTHER;

	return kind == OFF_CPU_READ || kind == OFF_CPU_WRITE
		       ? kind_by_file(kind == OFF_CPU_WRITE, file_type)
		       : kind;
}

const char *off_cpu_name(enum off_cpu_kind kind)
{
	return names[kind];
}

void off_cpu_frame(uint32_t number, uint32_t file_type, char text[OFF_CPU_FRAME_BYTES])
{
	enum off_cpu_kind kind = off_cpu_kind_of(number, file_type);

	if (kind == OFF_CPU_RUNNABLE)
		snprintf(text, OFF_CPU_FRAME_BYTES, PSEUDO_RUNNABLE);
	else if (kind == OFF_CPU_OTHER && number < STACK_OFF_CPU_CALLS)
		snprintf(text, OFF_CPU_FRAME_BYTES, PSEUDO_BLOCKED "system call %u]", number);
	else
		snprintf(text, OFF_CPU_FRAME_BYTES, PSEUDO_BLOCKED "%s]", names[kind]);
}
