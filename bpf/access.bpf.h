/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Decides if the profiler's user may look into a task, as the kernel does for reads of another
 * process's memory: __ptrace_may_access in kernel/ptrace.c, cap_capable in security/commoncap.c. If
 * not, no memory, registers, addresses or system calls of the task leave these programs. Only
 * its existence, name and times do.
 *
 * The user may look into a task if all of these hold:
 *   - its real, effective and saved ids are the user's;
 *   - it has no capability, and is in the profiler's user namespace;
 *   - its program is dumpable: readable, and without rights gained at exec or since.
 * Each condition also holds in a user namespace that the user owns. Root may look into every task.
 */
#ifndef BPF_ACCESS_BPF_H
#define BPF_ACCESS_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define USERNS_LEVELS 33 /* nesting limit: 32 below the first */
#define DUMPABLE_BITS 3  /* in mm->flags: MMF_DUMPABLE_MASK */
#define DUMPABLE_BY_USER 1

/* The profiler's user. Before find_viewer has run, nobody: nothing may be looked into. */
struct {
	__u32 is_known;
	__u32 uid, gid; /* in the first user namespace */
	__u64 userns;   /* address of the profiler's struct user_namespace */
} viewer;

static __always_inline __u32 kernel_id(const void *id)
{
	__u32 value = ~0u;

	bpf_probe_read_kernel(&value, sizeof(value), id);
	return value;
}

#define ID_OF(cred, member) kernel_id(__builtin_preserve_access_index(&(cred)->member))

/* Run by the loader in the profiler's thread, after it has become the user. */
SEC("raw_tp")
int find_viewer(void *ctx)
{
	const struct cred *cred = BPF_CORE_READ(bpf_get_current_task_btf(), real_cred);

	viewer.uid = ID_OF(cred, euid);
	viewer.gid = ID_OF(cred, egid);
	viewer.userns = (__u64)BPF_CORE_READ(cred, user_ns);
	viewer.is_known = 1;
	return 0;
}

/* A walk outwards from a user namespace. Not inlined: verified once rather than per level. */
struct userns_walk {
	__u64 at; /* address of a struct user_namespace; 0: end of the walk */
	__u64 is_owned;
};

__noinline int step_userns_walk(struct userns_walk *w)
{
	const struct user_namespace *ns;
	__u64 parent;

	if (!w)
		return 0;
	ns = (const struct user_namespace *)w->at;
	parent = (__u64)BPF_CORE_READ(ns, parent);
	w->is_owned = parent == viewer.userns && ID_OF(ns, owner) == viewer.uid;
	w->at = parent == viewer.userns ? 0 : parent;
	return w->at != 0;
}

/* Returns 1 if the user owns this user namespace or an ancestor, except the profiler's own. */
__noinline int owns_userns(__u64 address)
{
	struct userns_walk w = {.at = address};

	if (address == viewer.userns)
		return 0;
	for (int i = 0; i < USERNS_LEVELS && step_userns_walk(&w); i++)
		;
	return w.is_owned;
}

/* Compares all ids without branches, each of which the verifier would follow. */
static __always_inline bool has_viewers_ids(const struct cred *cred)
{
	__u32 uids = (ID_OF(cred, uid) ^ viewer.uid) | (ID_OF(cred, euid) ^ viewer.uid) |
		     (ID_OF(cred, suid) ^ viewer.uid);
	__u32 gids = (ID_OF(cred, gid) ^ viewer.gid) | (ID_OF(cred, egid) ^ viewer.gid) |
		     (ID_OF(cred, sgid) ^ viewer.gid);

	return !(uids | gids);
}

static __always_inline bool has_capabilities(const struct cred *cred)
{
	__u64 permitted = ~0ull;

	bpf_core_read(&permitted, sizeof(permitted), &cred->cap_permitted);
	return permitted != 0;
}

/* Reads mm->flags, a structure since Linux 6.18, else a number. Without either: not dumpable. */
static __always_inline bool is_dumpable(struct mm_struct *mm)
{
	struct mm_struct___with_number *older = (void *)mm;
	__u64 flags = 0;

	if (bpf_core_field_exists(mm->flags))
		bpf_core_read(&flags, sizeof(flags), &mm->flags);
	else if (bpf_core_field_exists(older->flags))
		bpf_core_read(&flags, sizeof(flags), &older->flags);
	return (flags & DUMPABLE_BITS) == DUMPABLE_BY_USER;
}

/* A task as a number: functions that are verified once take no trusted pointers. */
struct looked_at {
	__u64 task;
};

__noinline int is_open(const struct looked_at *at)
{
	struct task_struct *task;
	const struct cred *cred;
	struct mm_struct *mm;
	__u64 userns;

	if (!at)
		return 0;
	task = (struct task_struct *)at->task;
	cred = BPF_CORE_READ(task, real_cred);
	userns = (__u64)BPF_CORE_READ(cred, user_ns);
	if ((userns != viewer.userns || !has_viewers_ids(cred) || has_capabilities(cred)) &&
	    !owns_userns(userns))
		return 0;
	mm = BPF_CORE_READ(task, mm);
	return mm && (is_dumpable(mm) || owns_userns((__u64)BPF_CORE_READ(mm, user_ns)));
}

/* Returns true if the user may look into the task. The task must have memory. */
static __always_inline bool may_look_into(const struct task_struct *task)
{
	const struct looked_at at = {(__u64)task};

	return viewer.is_known && (viewer.uid == 0 || is_open(&at));
}

#endif
