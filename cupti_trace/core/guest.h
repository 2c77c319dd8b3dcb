/* SPDX-License-Identifier: MIT */
/*
 * Preserves the state of the program's threads while the library works in them.
 *
 * Between guest_enter and guest_leave the thread is not cancelled and runs no signal handler.
 * Otherwise the thread might disappear with a lock of ours held, or reenter us through exit.
 * Signals that arrive meanwhile are handled at guest_leave; those of faults are not blocked. errno
 * and the floating-point mode (MXCSR) are restored. A program may trap inexact results, or test
 * later which of its own were inexact.
 *
 * Required around whatever takes a lock, makes a system call or waits in a thread of the program.
 * Not for the path of each launch: it costs four system calls. Calls may be nested; only the
 * outermost acts.
 */
#ifndef CUPTI_TRACE_CORE_GUEST_H
#define CUPTI_TRACE_CORE_GUEST_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include "cupti_trace/core/overhead.h"

struct guest {
	bool is_outermost;
	int cancel_state;
	int error;
	uint32_t float_mode;
	sigset_t signals;
	bool is_measured;
	struct overhead_mark mark;
};

void guest_enter(struct guest *guest);
/*
 * Enters for short and frequent work. Its time is not measured (overhead.h), as measuring would
 * take longer.
 */
void guest_enter_briefly(struct guest *guest);
void guest_leave(const struct guest *guest);

/*
 * Returns whether a signal is pending. A failing write may raise SIGPIPE, or SIGXFSZ for a file at
 * its size limit. Between guest_enter and guest_leave the signal stays pending. guest_take_back
 * removes it, unless guest_is_pending was true before the write.
 */
bool guest_is_pending(int signal);
void guest_take_back(int signal);

/*
 * Opens a file for the library, close-on-exec. Returns a descriptor or -errno; -EPERM without a try
 * if guest_is_sandboxed. With O_CREAT the file gets read and write permission for all, less the
 * umask. guarded_path.h tells what happens if another user's file is in the way.
 *
 * The descriptor has a high number, as low ones are the program's. It is never a standard
 * descriptor, even for a moment: if the program has closed those, another thread's output would get
 * into the file.
 */
int guest_open(const char *path, int flags);

/*
 * Closes a descriptor of the library, unless the program has just closed it and opened its own file
 * there. If that happens between the two system calls of this function, the program loses its file.
 */
void guest_close(int fd, const struct stat *file);

/*
 * Returns whether a descriptor still is this file of the library; -1 is none. Calls
 * guest_note_closed if not.
 */
bool guest_still_has(int fd, dev_t device, ino_t inode);

/*
 * Returns whether a seccomp filter was installed in this thread since guest_begin. Such a filter
 * may kill the program for opening a file, and there is no way to know. A filter that was there at
 * the start, as in a container, let CUDA open its files. A further filter on top of one is detected
 * by PR_SET_NO_NEW_PRIVS, which a program without privilege must set first. It is missed if that
 * was set before.
 */
void guest_begin(void);
bool guest_is_sandboxed(void);

/* Returns whether any seccomp filter applies to this thread, even from the start. */
bool guest_has_filter(void);

/*
 * The meaning of absolute paths in the calling thread. chroot(2), unshare(2) and setns(2) can give
 * a thread a root folder or mounts of its own. The mount id of / differs between mount namespaces
 * (statx(2), STATX_MNT_ID, since Linux 5.8; 0 before).
 */
struct guest_root {
	uint64_t mount;
	uint64_t device;
	uint64_t inode;
};
struct guest_root guest_root(void);
bool guest_is_in_root(const struct guest_root *root);

/*
 * Returns whether all standard descriptors are open, so that a new descriptor cannot be one of
 * them.
 */
bool guest_has_standard(void);

/*
 * Notes that a descriptor of the library is gone. A program that closes all its descriptors closes
 * the library's too. It may open a file under such a number a moment later. Linux cannot use or
 * close a number only if it is a certain file. So for a while the library opens nothing in the
 * program's descriptor table: GUEST_ISOLATED_FIRST_NS, multiplied by GUEST_ISOLATED_FACTOR each
 * time.
 */
void guest_note_closed(void);
bool guest_is_isolated(void);
#define GUEST_ISOLATED_FIRST_NS UINT64_C(10000000000)
#define GUEST_ISOLATED_FACTOR 4

/*
 * Runs `work` in a thread with an empty descriptor table of its own, for this call alone. Takes
 * some 60 us. The caller waits, and shares its thread-local storage, including errno. The thread
 * blocks all signals, even those of faults: a handler would miss the program's descriptors.
 * Descriptors that `work` opens are closed at its end. Call between guest_enter and guest_leave.
 * Returns false if `work` did not run: Linux before 5.9 lacks CLOSE_RANGE_UNSHARE, and a seccomp
 * filter or a limit of threads may forbid it.
 */
bool guest_run_isolated(void (*work)(void *data), void *data);

/*
 * Runs `work`, which closes what it opens by guest_open. Uses guest_run_isolated while
 * guest_is_isolated, and runs it here otherwise.
 */
void guest_run_with_files(void (*work)(void *data), void *data);

#endif
