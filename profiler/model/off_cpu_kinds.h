/* SPDX-License-Identifier: MIT */
/*
 * Names what threads off the CPU wait for. Similar system calls share a name: "poll" or "sleep".
 *
 * Numbers of system calls are those of Linux on x86-64.
 */
#ifndef PROFILER_MODEL_OFF_CPU_KINDS_H
#define PROFILER_MODEL_OFF_CPU_KINDS_H

#include <stdint.h>

enum off_cpu_kind {
	OFF_CPU_OTHER, /* an unlisted system call, or several kinds at once */
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
	OFF_CPU_READ, /* file type unknown or without its own kind below */
	OFF_CPU_RECEIVE,
	OFF_CPU_SEND,
	OFF_CPU_SIGNAL,
	OFF_CPU_SLEEP,
	OFF_CPU_STOPPED,
	OFF_CPU_SYNC,
	OFF_CPU_URING,
	OFF_CPU_WAIT,
	OFF_CPU_WRITE, /* as OFF_CPU_READ */
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
 * Returns the kind of an enum stack_off_cpu_kind or system call `number`. `file_type`: S_IFMT bits
 * of the file that the call reads or writes; 0: unknown.
 */
enum off_cpu_kind off_cpu_kind_of(uint32_t number, uint32_t file_type);

/* Returns a name such as "futex". */
const char *off_cpu_name(enum off_cpu_kind kind);

/* Writes the text of the frame: "[blocked: futex]". Unlisted system calls show their number. */
#define OFF_CPU_FRAME_BYTES 40
void off_cpu_frame(uint32_t number, uint32_t file_type, char text[OFF_CPU_FRAME_BYTES]);

#endif
