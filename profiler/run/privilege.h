/* SPDX-License-Identifier: MIT */
/*
 * What needs privilege, when it is used, and when it is given up.
 *
 * Under sudo the profiler becomes the invoking user for good before it reads the first byte that
 * the target's user could have written, as tcpdump and dumpcap do. sudo, capabilities given to the
 * file (setcap) and no privilege at all are one way through the code: they differ only in what
 * could be opened at the start.
 *
 *   what                                  needs                          when
 *   ------------------------------------  -----------------------------  ----------------------
 *   the user's name and groups looked up  nothing: by a process without  0. before that
 *                                         capabilities (isolated_child.h)
 *   the helper for HTTP started           nothing; the user's            0. before that
 *   limits raised: descriptors up to the  CAP_SYS_RESOURCE for locked    1. first
 *   hard limit, locked memory             memory above the hard limit
 *   the worker's priority raised, while   CAP_SYS_NICE, or RLIMIT_NICE   1. first
 *   it takes CPU samples in
 *   /proc/kallsyms opened; it is read     CAP_SYSLOG, decided when the   1. first
 *   when names are looked up              file is opened
 *   BPF loaded, tracepoints attached      CAP_BPF, CAP_PERFMON           1. first
 *   perf events of all processes, rings;  CAP_PERFMON, CAP_IPC_LOCK      1. first
 *   sampling clocks started
 *   ids, groups and capabilities changed  CAP_SETUID, CAP_SETGID         privilege_become_user
 *   private folder, pipe, output,         nothing: the user's files      2. as the user
 *   recording; the target forked
 *   with -p, --name, --cgroup: a library  CAP_SYS_PTRACE, where Yama     2. as the user
 *   brought into processes                restricts ptrace(2)
 *   BPF maps changed, uprobes attached    CAP_BPF, CAP_PERFMON (before   2. as the user
 *                                         Linux 6.10 CAP_SYS_ADMIN)
 *   privileges of programs that we        no_new_privs would take them   privilege_lock, after
 *   execute                               from the target                the target is forked
 *   names looked up, outputs written      nothing                        3. after
 *                                                                        privilege_drop_all
 *
 * Root that nobody called through sudo, and root with --as-root, stays root with all capabilities:
 * there is no other user to become, and the target is the same user. For it the functions below
 * change nothing else than they state.
 *
 * Other commands than a run or an attach give up file capabilities before they open anything.
 *
 * No process of which a thread has a capability opens a library that it was not linked with: those
 * of NSS, libcurl and CUPTI are opened by processes apart (isolated_child.h, helper.h), or where
 * nothing is left. That holds for root, too.
 *
 * Capabilities belong to a thread: become_user and drop_all change the calling thread only, and a
 * thread gets those of the one that starts it.
 */
#ifndef PROFILER_RUN_PRIVILEGE_H
#define PROFILER_RUN_PRIVILEGE_H

#include <stdbool.h>
#include "profiler/run/identity.h"

/* As far as permitted; too low a limit shows later, as an error of what needs it. */
void privilege_raise_limits(void);

/*
 * Raises the calling thread's priority as far as permitted: among hundreds of busy threads it would
 * have a hundredth of the CPUs, and samples would be dropped.
 */
void privilege_raise_priority(void);

/* A descriptor that shows kernel addresses if we may see them now; -1: none. */
int privilege_open_kallsyms(void);

/*
 * Becomes the user that identity_find found, with CAP_BPF and CAP_PERFMON, if there, permitted and
 * effective, and no other capability in any set but the bounding set. With `traces` also
 * CAP_SYS_PTRACE, for the library that is brought into processes that already run
 * (inject_process.h): Yama lets nobody else trace what is not a child. 0 or -errno.
 */
int privilege_become_user(const struct identity *identity, bool traces);

/* Returns whether the calling thread has CAP_SYS_ADMIN. */
bool privilege_is_admin(void);

/*
 * The calling thread, or a process of one, gives way to the program and to whoever reads its
 * events: it would inherit the priority that those have.
 */
#define PRIVILEGE_LOW_NICE 10
void privilege_lower_priority(void);

/* Gives up the calling thread's capabilities alone: it is one that needs none. 0 or -errno. */
int privilege_drop_thread(void);

/* No program executed from now on gains privilege, and other processes may not look into ours. */
void privilege_lock(void);

/*
 * Gives up the last capabilities. Other processes may not look into ours before that if there
 * were any: what they paid for, open descriptors above all, is still here. 0 or -errno.
 */
int privilege_drop_all(void);

#endif
