// SPDX-License-Identifier: MIT
#include "profiler/run/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "profiler/run/isolated_child.h"

#define GROUPS_MAX 65536 /* the kernel's limit */

/* Shared with the isolated child, which fills in the results. */
struct lookup {
	uid_t uid; /* input */
	gid_t gid;
	struct identity_account user, root;
	int group_count;
	gid_t groups[GROUPS_MAX];
};

static bool parse_id(const char *text, uint32_t *id)
{
	char *end;
	unsigned long value;

	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	/* the set*id calls take (uid_t)-1 as "unchanged" */
	if (errno || *end || value >= UINT32_MAX)
		return false;
	*id = (uint32_t)value;
	return true;
}

static void look_up_account(uid_t uid, struct identity_account *account)
{
	const struct passwd *found = getpwuid(uid);

	if (!found)
		return;
	snprintf(account->name, sizeof(account->name), "%s", found->pw_name);
	snprintf(account->home, sizeof(account->home), "%s", found->pw_dir);
	snprintf(account->shell, sizeof(account->shell), "%s", found->pw_shell);
}

static void look_up(void *shared)
{
	struct lookup *l = shared;
	int count = GROUPS_MAX;

	look_up_account(0, &l->root);
	look_up_account(l->uid, &l->user);
	if (l->user.name[0] && getgrouplist(l->user.name, l->gid, l->groups, &count) > 0)
		l->group_count = count;
}

static void *new_memory(size_t size, int kind)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/*
 * Copies the result into private memory, since later children run as the user. Returns 0 or
 * -errno.
 */
static int take_lookup(struct identity *identity, const struct lookup *l)
{
	size_t count = l->group_count > 0 ? (size_t)l->group_count : 0;
	gid_t *groups;

	if (count > GROUPS_MAX)
		return -EINVAL;
	groups = count ? new_memory(count * sizeof(*groups), MAP_PRIVATE) : NULL;
	if (count && !groups)
		return -errno;
	for (size_t i = 0; i < count; i++)
		groups[i] = l->groups[i];
	identity->groups = groups;
	identity->group_count = count;
	identity->account = l->user;
	identity->root = l->root;
	if (l->user.name[0])
		snprintf(identity->shown, sizeof(identity->shown), "%s", l->user.name);
	return 0;
}

static int look_up_user(struct identity *identity)
{
	struct lookup *l = new_memory(sizeof(*l), MAP_SHARED);
	int err;

	if (!l)
		return -errno;
	l->uid = identity->uid;
	l->gid = identity->gid;
	err = isolated_child_run(look_up, l, IDENTITY_TIMEOUT_MS);
	if (!err)
		err = take_lookup(identity, l);
	munmap(l, sizeof(*l));
	return err;
}

int identity_find(struct identity *identity, bool as_root)
{
	const char *sudo_uid = getenv("SUDO_UID");
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
	snprintf(identity->shown, sizeof(identity->shown), "user %u", uid);
	identity->lookup_error = look_up_user(identity);
	return 0;
}

/* Replaces a variable that sudo set to root's value. Other values are the user's choice. */
static void restore_variable(const char *name, const char *roots, const char *users)
{
	const char *value = getenv(name);

	if (value && users[0] && roots && strcmp(value, roots) == 0)
		setenv(name, users, 1);
}

static void restore_environment(const struct identity *identity)
{
	const struct identity_account *root = &identity->root, *user = &identity->account;

	if (!root->name[0])
		return;
	restore_variable("HOME", root->home, user->home);
	restore_variable("USER", root->name, user->name);
	restore_variable("LOGNAME", root->name, user->name);
	restore_variable("SHELL", root->shell, user->shell);
}

int identity_become(const struct identity *identity)
{
	gid_t gid = identity->gid;

	if (!identity->other)
		return 0;
	restore_environment(identity);
	if ((identity->groups ? setgroups(identity->group_count, identity->groups)
			      : setgroups(1, &gid)) != 0 ||
	    setresgid(gid, gid, gid) != 0 ||
	    setresuid(identity->uid, identity->uid, identity->uid) != 0)
		return -errno;
	return 0;
}
