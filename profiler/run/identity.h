/* SPDX-License-Identifier: MIT */
/*
 * The user that the profiler becomes and the target runs as.
 *
 * Under sudo (effective uid 0 and SUDO_UID naming someone else) that is the invoking user with all
 * their groups, unless --as-root; otherwise it is the current user.
 */
#ifndef PROFILER_RUN_IDENTITY_H
#define PROFILER_RUN_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct identity_account {
	char name[256]; /* "" when there is no passwd entry */
	char home[1024];
	char shell[256];
};

struct identity {
	bool other;      /* another user: uid and gid must be switched */
	bool keeps_root; /* sudo names a user, and --as-root was given */
	uid_t uid;
	gid_t gid;
	char shown[272]; /* for messages: the name, or "user N" */
	/* of another user */
	struct identity_account account, root;
	const gid_t *groups; /* supplementary ones, for as long as the process lives; NULL: `gid` */
	size_t group_count;
	int lookup_error; /* -errno: neither names nor groups are known; 0: none */
};

#define IDENTITY_TIMEOUT_MS 10000

/*
 * The name and the groups are looked up by a process apart (isolated_child.h): modules of NSS are
 * libraries that profile is not linked with. It has uid 0, so that the user does not decide which
 * groups root takes on. What takes longer than IDENTITY_TIMEOUT_MS is given up.
 *
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
