// SPDX-License-Identifier: MIT
#include "profiler/run/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "profiler/run/capabilities.h"

void privilege_raise_limits(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 && getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_MEMLOCK, &limit);
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

void privilege_raise_priority(void)
{
	int now = getpriority(PRIO_PROCESS, 0);

	for (int nice = -20; nice < now && setpriority(PRIO_PROCESS, 0, nice) != 0; nice++)
		;
}

void privilege_lower_priority(void)
{
	setpriority(PRIO_PROCESS, 0, PRIVILEGE_LOW_NICE);
}

int privilege_open_kallsyms(void)
{
	return open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
}

static bool stays_root(const struct identity *identity)
{
	return !identity->other && geteuid() == 0;
}

int privilege_become_user(const struct identity *identity, bool traces)
{
	uint64_t kept = CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON) |
			(traces ? CAPABILITY(CAP_SYS_PTRACE) : 0);
	int err;

	if (stays_root(identity))
		return 0;
	/* otherwise a change from user 0 would clear all capabilities */
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
		return -errno;
	err = identity_become(identity);
	if (!err)
		err = capabilities_keep(kept);
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	/*
	 * The change of ids made us undumpable. The target, forked next, would inherit that, and
	 * its perf events would be refused. Until privilege_lock, the two capabilities protect us
	 * from processes with fewer.
	 */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	return err;
}

bool privilege_is_admin(void)
{
	return capabilities_effective() & CAPABILITY(CAP_SYS_ADMIN);
}

void privilege_lock(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int privilege_drop_thread(void)
{
	return geteuid() == 0 ? 0 : capabilities_keep(0);
}

int privilege_drop_all(void)
{
	if (geteuid() == 0)
		return 0;
	/* without capabilities, the target's perf events need it to be dumpable */
	if (capabilities_effective())
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return capabilities_keep(0);
}
