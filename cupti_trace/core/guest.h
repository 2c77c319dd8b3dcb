/* SPDX-License-Identifier: MIT */
/*
 * Manners of a guest: what the library leaves as it was in the program's threads.
 *
 * Between guest_enter and guest_leave the thread is not cancelled and runs no signal handler: it
 * would go away, or come back through exit, with a lock of ours held. Signals that came meanwhile
 * are handled at guest_leave; those of faults are not held back. errno is afterwards what it was,
 * and so is the floating-point mode (MXCSR): a program may have inexact results trapped, or ask
 * later which of its own were.
 *
 * For whatever takes a lock, makes a system call or waits in a thread of the program; not for what
 * each launch does, since it costs four system calls. May be nested; only the outermost acts.
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
/* For little that is done often: its time is not measured (overhead.h), which would take longer. */
void guest_enter_briefly(struct guest *guest);
void guest_leave(const struct guest *guest);

/*
 * A write that fails may raise a signal in the thread: SIGPIPE, or SIGXFSZ where a file is as large
 * as it may be. Between guest_enter and guest_leave it waits; guest_take_back removes one that was
 * not pending before the write, as guest_is_pending said.
 */
bool guest_is_pending(int signal);
void guest_take_back(int signal);

/*
 * Opens a file for the library, close-on-exec: a descriptor or -errno. It may be made (O_CREAT),
 * with what the umask leaves of all rights to read and write, where nothing of another user's is in
 * the way (guarded_path.h). It gets a high number: low
 * ones are the program's. It never is, not even for a moment, one of the standard descriptors,
 * should the program have closed them: what another thread prints would get into the file.
 * -EPERM, without a try: guest_is_shut_in.
 */
int guest_open(const char *path, int flags);

/*
 * Closes a descriptor of the library's, unless another thread of the program has closed all of them
 * just now and opened a file of its own there. If it does so between the two calls of this
 * function, it loses that file.
 */
void guest_close(int fd, const struct stat *file);

/* Returns whether a descriptor still is that file of the library's; -1 is none. Notes if not. */
bool guest_still_has(int fd, dev_t device, ino_t inode);

/*
 * Returns whether a seccomp filter has come over this thread since guest_begin: it may kill the
 * program for opening a file, and there is no way to know that beforehand. A filter that was there
 * at the start, as in a container, let CUDA open its files. One more on top of that is noticed by
 * what a program without privilege must set first (PR_SET_NO_NEW_PRIVS), if it was not set before.
 */
void guest_begin(void);
bool guest_is_shut_in(void);

/* Returns whether there is any seccomp filter over this thread, from the start or not. */
bool guest_has_filter(void);

/*
 * What a path that begins with / means for the calling thread: chroot(2), unshare(2) and setns(2)
 * can give it a root folder or mounts of its own. The mount of / has another number in each mount
 * namespace (statx(2), STATX_MNT_ID, since Linux 5.8; 0 before).
 */
struct guest_root {
	uint64_t mount;
	uint64_t device;
	uint64_t inode;
};
struct guest_root guest_root(void);
bool guest_is_in_root(const struct guest_root *root);

/*
 * Returns whether none of the standard descriptors is closed: what opens a descriptor gets another
 * one.
 */
bool guest_has_standard(void);

/*
 * A program that closes all its descriptors closes the library's too, and may have a file of its
 * own under such a number a moment later; Linux has no call that uses or closes a number only if it
 * is a certain file. Who finds that a descriptor of the library's is gone says so here. For a while
 * the library then opens nothing among the program's descriptors: GUEST_APART_FIRST_NS, and
 * GUEST_APART_FACTOR times as long at each further time.
 */
void guest_note_closed(void);
bool guest_is_apart(void);
#define GUEST_APART_FIRST_NS UINT64_C(10000000000)
#define GUEST_APART_FACTOR 4

/*
 * Runs `work` in a thread that has a table of descriptors of its own, empty at first, and lives for
 * this call alone. The caller waits meanwhile, and shares its thread-local storage, errno too. It
 * handles no signal, not even one of a fault: the handler would miss the program's descriptors.
 * Takes some 60 us. Whatever `work` opens is closed at its end. Call between guest_enter and
 * guest_leave. Returns whether it ran: Linux before 5.9 (close_range(2), CLOSE_RANGE_UNSHARE), a
 * seccomp filter or a limit of threads may not allow it.
 */
bool guest_run_apart(void (*work)(void *data), void *data);

/* Runs `work`, which closes what it opens by guest_open: apart if the library is, here if not. */
void guest_run_with_files(void (*work)(void *data), void *data);

#endif
