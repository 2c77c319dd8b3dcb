/* SPDX-License-Identifier: MIT */
/*
 * Finds the user that the profiler becomes and that the target runs as.
 *
 * Under sudo (effective uid 0, SUDO_UID of another user) this is the invoking user with all groups.
 * Otherwise, or with --as-root, this is the current user.
 */
#ifndef PROFILER_RUN_IDENTITY_H
#define PROFILER_RUN_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct identity_account {
	char name[256]; /* "": no passwd entry */
	char home[1024];
	char shell[256];
};

struct identity {
	bool other;      /* another user: uid and gid must be switched */
	bool keeps_root; /* --as-root under sudo */
	uid_t uid;
	gid_t gid;
	char shown[272]; /* for messages: name, or "user N" */
	/* set for another user only */
	struct identity_account account, root;
	const gid_t *groups; /* supplementary; valid until the process ends; NULL: only `gid` */
	size_t group_count;
	int lookup_error; /* -errno if names and groups are unknown; else 0 */
};

#define IDENTITY_TIMEOUT_MS 10000

/*
 * Finds the user. An isolated child looks up name and groups (isolated_child.h), because NSS
 * modules are libraries that profile does not link. The child has uid 0, so the user cannot choose
 * the groups that root takes on. The timeout is IDENTITY_TIMEOUT_MS.
 *
 * Returns 0, -EINVAL if SUDO_UID or SUDO_GID is no number, or -EPERM if profile's file is setuid or
 * setgid: its caller could choose SUDO_UID and --as-root.
 */
int identity_find(struct identity *identity, bool as_root);

/*
 * Becomes the user for good: supplementary groups, then all gids and uids (real, effective, saved,
 * file system). HOME, USER, LOGNAME and SHELL become the user's where sudo set them to root's. Does
 * nothing for the current user. Returns 0 or -errno.
 */
int identity_become(const struct identity *identity);

#endif
