/* SPDX-License-Identifier: MIT */
/*
 * The user that the profiler becomes and the target runs as.
 *
 * Under sudo (effective uid 0 and SUDO_UID naming someone else) that is the invoking user with all
 * their groups, unless --as-root; otherwise it is the current user.
 */
#ifndef PROFILER_SESSION_IDENTITY_H
#define PROFILER_SESSION_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

struct identity {
	bool other;      /* another user: uid and gid must be switched */
	bool keeps_root; /* sudo names a user, and --as-root was given */
	uid_t uid;
	gid_t gid;
	char name[256];  /* "" when the user has no passwd entry */
	char shown[272]; /* for messages: the name, or "user N" */
	char home[1024];
	char shell[256];
};

/*
 * 0; -EINVAL when SUDO_UID or SUDO_GID is not a number; -EPERM when our file is setuid or setgid:
 * whoever may start it would choose SUDO_UID and --as-root.
 */
int identity_find(struct identity *identity, bool as_root);

/*
 * Becomes that user for good: supplementary groups, all gids, all uids (real, effective, saved and
 * that of files). When HOME, USER, LOGNAME and SHELL are root's (sudo sets them) they become the
 * user's. Does nothing for the current user. 0 or -errno.
 */
int identity_become(const struct identity *identity);

#endif
