/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/*
 * Tells whether the user of the profiler may look into a task, by the rule that the kernel has for
 * reading another process's memory (__ptrace_may_access in kernel/ptrace.c, cap_capable in
 * security/commoncap.c). Of a task that the user may not look into, no memory, registers,
 * addresses or system calls leave these programs: only that it exists, its name and its times.
 *
 * The user may look into a task if all of these hold:
 *   - its real, effective and saved ids are the user's;
 *   - it has no capability, and is in the profiler's user namespace;
 *   - its program is dumpable: it is readable, and gained no rights when it was executed or since.
 * Each also holds in a user namespace that the user owns. Root looks into every task.
 */
#ifndef BPF_ACCESS_BPF_H
#define BPF_ACCESS_BPF_H

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define USERNS_LEVELS 33 /* nested user namespaces: the kernel allows 32 below the first */
#define DUMPABLE_BITS 3  /* of mm->flags, MMF_DUMPABLE_MASK */
#define DUMPABLE_BY_USER 1

/* The user of the profiler; before find_viewer has run nobody, who may look into nothing. */
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

/* Run by the loader in the profiler's own thread, when it has become the user. */
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

/* A walk from a user namespace outwards. Not inlined: it is verified once, not for each level. */
struct userns_walk {
	__u64 at; /* address of a struct user_namespace; 0: the walk has ended */
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

/* Returns 1 if the user owns this user namespace, or one around it. Not the profiler's own. */
__noinline int owns_userns(__u64 address)
{
	struct userns_walk w = {.at = address};

	if (address == viewer.userns)
		return 0;
	for (int i = 0; i < USERNS_LEVELS && step_userns_walk(&w); i++)
		;
	return w.is_owned;
}

/* Without branches, each of which the verifier would follow. */
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

/* Linux 6.18 made a structure of the number that holds the flags. Neither is there: not dumpable.
 */
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

/* Returns whether the user may look into the task, which has memory: without, that is not known. */
static __always_inline bool may_look_into(const struct task_struct *task)
{
	const struct looked_at at = {(__u64)task};

	return viewer.is_known && (viewer.uid == 0 || is_open(&at));
}

#endif
