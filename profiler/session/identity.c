// SPDX-License-Identifier: MIT
#include "profiler/session/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse_id(const char *text, uint32_t *id)
{
	char *end;
	unsigned long value;

	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	/* (uid_t)-1 means "leave as it is" to the set*id calls */
	if (errno || *end || value >= UINT32_MAX)
		return false;
	*id = (uint32_t)value;
	return true;
}

int identity_find(struct identity *identity, bool as_root)
{
	const char *sudo_uid = getenv("SUDO_UID");
	const struct passwd *user;
	uint32_t uid, gid;

	memset(identity, 0, sizeof(*identity));
	identity->uid = geteuid();
	identity->gid = getegid();
	if (getuid() != identity->uid || getgid() != identity->gid)
		return -EPERM;
	identity->keeps_root = identity->uid == 0 && sudo_uid && as_root;
	if (identity->uid != 0 || !sudo_uid || as_root)
		return 0;
	if (!parse_id(sudo_uid, &uid) || !parse_id(getenv("SUDO_GID"), &gid))
		return -EINVAL;
	if (uid == 0)
		return 0;
	identity->other = true;
	identity->uid = uid;
	identity->gid = gid;
	user = getpwuid(uid);
	snprintf(identity->shown, sizeof(identity->shown), "user %u", uid);
	if (user) {
		snprintf(identity->shown, sizeof(identity->shown), "%s", user->pw_name);
		snprintf(identity->name, sizeof(identity->name), "%s", user->pw_name);
		snprintf(identity->home, sizeof(identity->home), "%s", user->pw_dir);
		snprintf(identity->shell, sizeof(identity->shell), "%s", user->pw_shell);
	}
	return 0;
}

/* Replaces what sudo set to root's own; what the user passed on purpose stays. */
static void restore_variable(const char *name, const char *roots, const char *users)
{
	const char *value = getenv(name);

	if (value && users[0] && roots && strcmp(value, roots) == 0)
		setenv(name, users, 1);
}

static void restore_environment(const struct identity *identity)
{
	const struct passwd *root = getpwuid(0);

	if (!root)
		return;
	restore_variable("HOME", root->pw_dir, identity->home);
	restore_variable("USER", root->pw_name, identity->name);
	restore_variable("LOGNAME", root->pw_name, identity->name);
	restore_variable("SHELL", root->pw_shell, identity->shell);
}

int identity_become(const struct identity *identity)
{
	gid_t gid = identity->gid;

	if (!identity->other)
		return 0;
	restore_environment(identity);
	if (identity->name[0] ? initgroups(identity->name, gid) : setgroups(1, &gid))
		return -errno;
	if (setresgid(gid, gid, gid) != 0)
		return -errno;
	if (setresuid(identity->uid, identity->uid, identity->uid) != 0)
		return -errno;
	return 0;
}
