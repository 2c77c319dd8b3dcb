/* SPDX-License-Identifier: MIT */
/*
 * What threads that are off the CPU wait for, as names for people: system calls that do much the
 * same have one, "poll" or "sleep". The numbers of system calls are those of Linux on x86-64.
 */
#ifndef PROFILER_MODEL_OFF_CPU_KINDS_H
#define PROFILER_MODEL_OFF_CPU_KINDS_H

#include <stddef.h>
#include <stdint.h>

enum off_cpu_kind {
	OFF_CPU_OTHER, /* a system call without a name here, or several kinds at once */
	OFF_CPU_RUNNABLE,
	OFF_CPU_ACCEPT,
	OFF_CPU_CONNECT,
	OFF_CPU_DISK,
	OFF_CPU_EPOLL,
	OFF_CPU_EXIT,
	OFF_CPU_FILE,
	OFF_CPU_FUTEX,
	OFF_CPU_GIL,
	OFF_CPU_IOCTL,
	OFF_CPU_LOCK,
	OFF_CPU_MEMORY,
	OFF_CPU_PAGE_FAULT,
	OFF_CPU_POLL,
	OFF_CPU_READ, /* of something that has no kind of its own below */
	OFF_CPU_RECEIVE,
	OFF_CPU_SEND,
	OFF_CPU_SIGNAL,
	OFF_CPU_SLEEP,
	OFF_CPU_STOPPED,
	OFF_CPU_SYNC,
	OFF_CPU_URING,
	OFF_CPU_WAIT,
	OFF_CPU_WRITE, /* likewise */
	OFF_CPU_READ_DEVICE,
	OFF_CPU_READ_FILE,
	OFF_CPU_READ_PIPE,
	OFF_CPU_READ_SOCKET,
	OFF_CPU_WRITE_DEVICE,
	OFF_CPU_WRITE_FILE,
	OFF_CPU_WRITE_PIPE,
	OFF_CPU_WRITE_SOCKET,
	OFF_CPU_KINDS
};

/*
 * `number`: an enum stack_off_cpu_kind, or a system call's. `file_type`: of what it reads or
 * writes, as S_IFMT in stat(2); 0: unknown.
 */
enum off_cpu_kind off_cpu_kind_of(uint32_t number, uint32_t file_type);

/* "futex" */
const char *off_cpu_name(enum off_cpu_kind kind);

/*
 * The text of its frame, "[blocked: futex]", into `text`: also of system calls without a name, with
 * their number.
 */
#define OFF_CPU_FRAME_BYTES 40
void off_cpu_frame(uint32_t number, uint32_t file_type, char text[OFF_CPU_FRAME_BYTES]);

#endif
