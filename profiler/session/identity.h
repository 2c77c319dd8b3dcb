/* SPDX-License-Identifier: MIT */
/*
 * Who the target runs as, and who owns what we write.
 *
 * Under sudo (effective uid 0 and SUDO_UID naming someone else) that is the invoking user with all
 * their groups, unless --as-root; otherwise it is whoever we are.
 */
#ifndef PROFILER_SESSION_IDENTITY_H
#define PROFILER_SESSION_IDENTITY_H

#include <stdbool.h>
#include <sys/types.h>

struct identity {
	bool other; /* not ourselves: uid and gid must be switched to */
	uid_t uid;
	gid_t gid;
	char name[256]; /* "" when the user has no passwd entry */
	char home[1024];
	char shell[256];
};

/* 0, or -EINVAL when SUDO_UID or SUDO_GID is not a number. */
int identity_find(struct identity *identity, bool as_root);

/*
 * Becomes that user for good, in a child that is about to exec: supplementary groups, gid, uid.
 * When HOME, USER, LOGNAME and SHELL are root's (sudo sets them) they become the user's. 0 or
 * -errno.
 */
int identity_become(const struct identity *identity);

/* Makes the following file system calls of this thread the user's, and back. */
void identity_enter_files(const struct identity *identity);
void identity_leave_files(const struct identity *identity);

#endif
