/* SPDX-License-Identifier: MIT */
/*
 * Holds the rules for privilege: what needs it, when it is used, and when it is given up.
 * Under sudo the profiler becomes the invoking user for good before it reads the first byte that
 * the target's user could have written. tcpdump and dumpcap do so, too. sudo, file capabilities
 * (setcap) and no privilege at all take one path through the code. They differ only in what could
 * be opened at the start.
 *
 *   step                                  needs                          when
 *   ------------------------------------  -----------------------------  ----------------------
 *   user's name and groups looked up      nothing; by an isolated child  0. before that
 *                                         (isolated_child.h)
 *   the helper for HTTP started           nothing; the user's            0. before that
 *   limits raised: descriptors up to the  CAP_SYS_RESOURCE for locked    1. first
 *   hard limit, locked memory             memory above the hard limit
 *   the worker's priority raised, while   CAP_SYS_NICE, or RLIMIT_NICE   1. first
 *   it takes CPU samples in
 *   /proc/kallsyms opened; it is read     CAP_SYSLOG, decided when the   1. first
 *   when names are looked up, if BPF      file is opened
 *   cannot be asked for them
 *   BPF loaded, tracepoints attached      CAP_BPF, CAP_PERFMON           1. first
 *   perf events of all processes, rings;  CAP_PERFMON, CAP_IPC_LOCK      1. first
 *   sampling clocks started
 *   ids, groups and capabilities changed  CAP_SETUID, CAP_SETGID         privilege_become_user
 *   private folder, pipe, output,         nothing: the user's files      2. as the user
 *   recording; the target forked
 *   with -p, --name, --cgroup: library    CAP_SYS_PTRACE, where Yama     2. as the user
 *   injected into processes               restricts ptrace(2)
 *   BPF maps changed, uprobes attached    CAP_BPF, CAP_PERFMON (before   2. as the user
 *                                         Linux 6.10 CAP_SYS_ADMIN)
 *   privileges of programs that we        no_new_privs would take them   privilege_lock, after
 *   execute                               from the target                the target is forked
 *   names looked up, outputs written      nothing                        3. after
 *                                                                        privilege_drop_all
 *
 * Root without sudo, or with --as-root, stays root with all capabilities: there is no other user to
 * become. Then the functions below have no effect beyond what they document.
 *
 * Commands that neither run nor attach give up file capabilities before they open anything.
 *
 * No process with a capability in any thread opens a library that it does not link, not even as
 * root. NSS modules and libcurl are opened by isolated children (isolated_child.h, helper.h). CUPTI
 * is opened where no privilege is left.
 *
 * Capabilities belong to a thread. privilege_become_user and privilege_drop_all change the calling
 * thread only. A new thread inherits the capabilities of its creator.
 */
#ifndef PROFILER_RUN_PRIVILEGE_H
#define PROFILER_RUN_PRIVILEGE_H

#include <stdbool.h>
#include "profiler/run/identity.h"

/* Raises limits as far as permitted. A limit that stays too low shows later as an error. */
void privilege_raise_limits(void);

/*
 * Raises the calling thread's priority as far as permitted. Otherwise a thread among hundreds of
 * busy ones would get a hundredth of the CPUs, and samples would be dropped.
 */
void privilege_raise_priority(void);

/* Returns a descriptor of /proc/kallsyms, with addresses if permitted now. Returns -1 on error. */
int privilege_open_kallsyms(void);

/*
 * Becomes the user that identity_find found. Keeps CAP_BPF and CAP_PERFMON, if permitted, in the
 * permitted and effective sets. No other capability stays, except in the bounding set. `traces`
 * also keeps CAP_SYS_PTRACE, to inject the library into running processes (inject_process.h): Yama
 * lets nobody else trace a process that is not a child. Returns 0 or -errno.
 */
int privilege_become_user(const struct identity *identity, bool traces);

/* Returns whether the calling thread has CAP_SYS_ADMIN. */
bool privilege_is_admin(void);

/*
 * Lowers the priority of the calling thread or single-threaded process. Otherwise it would inherit
 * the raised priority of the thread that reads events.
 */
#define PRIVILEGE_LOW_NICE 10
void privilege_lower_priority(void);

/* Drops the calling thread's capabilities, for a thread that needs none. Returns 0 or -errno. */
int privilege_drop_thread(void);

/* Denies privileges to programs executed later, and inspection by other processes. */
void privilege_lock(void);

/*
 * Gives up the last capabilities. If there were any, first denies inspection by other processes:
 * descriptors that needed privilege are still open. Returns 0 or -errno.
 */
int privilege_drop_all(void);

#endif
